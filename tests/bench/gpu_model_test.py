"""The model of GPU costs (bench/gpu_model): what it reads, sums up and predicts, on runs small enough to
reckon by hand. It needs no GPU, no simulator and no compiler."""
import collections
import json
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("FAIRLANE_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "bench" / "gpu_model"))

from constants import Constants
from estimate import Estimator, straight_line, without
from measure import between_setup_and_end, read_instances
from run_costs import CLASSES, MEASURES, Event, count, difference, read_run, short_name, split_findings
from sass import Sass, class_of, not_of, ptx_of, ptx_target, read_listing, read_ptxas
from source_lines import UNKNOWN, by_line, places_of, profile_text
from subjects import random_network

COLUMNS = [*CLASSES, *MEASURES]
HEAD = ["grid", "threads", "shared", "items", "most", "per_step", "longest", "critical", "critical_far"]
LANES = "void fairlane::run_lanes<fairlane::StepLanes>(fairlane::StepLanes, fairlane::Range)"
TILES = "void fairlane::run_tiles<fairlane::ClassifyTiles, 2, true>(fairlane::ClassifyTiles)"
GATHER = "void fairlane::run_lanes<fairlane::GatherSlots>(fairlane::GatherSlots, fairlane::Range)"


def counts(**given):
    return [given.get(name, 0) for name in COLUMNS]


def kernel(number, name, rows):
    sums = [sum(column) for column in zip(*(row[1] for row in rows))]
    return {"id": number, "symbol": f"k{number}", "name": name, "sums": sums, "lines": [[10, 7, 70]],
            "rows": [[*head, *of_row] for head, of_row in rows]}


def write_run(kernels, trace, multiprocessors=1, head=HEAD):
    file = tempfile.NamedTemporaryFile("w", suffix=".json", delete=False, encoding="utf-8")
    with file:
        json.dump({"multiprocessors": multiprocessors, "columns": COLUMNS, "row_head": head,
                   "kernels": kernels, "trace": trace, "calls": {}}, file)
    try:
        return read_run(file.name)
    finally:
        os.unlink(file.name)


def one_launch(name=LANES, grid=8, threads=256, shared=0, items=-1, per_step=0, longest=0, critical=0, far=0,
               alone=None, **given):
    """The only launch of a run."""
    head = [grid, threads, shared, items, items, per_step, longest, critical, far]
    names = HEAD if alone is None else [*HEAD, "alone"]
    row = head if alone is None else [*head, alone]
    return write_run([kernel(0, name, [(row, counts(**given))])], [["L", 0]], head=names).events[0].launch


class Reading(unittest.TestCase):
    def test_launches_get_their_rows_in_the_order_of_the_trace(self):
        rows = [([1, 256, 0, -1, -1, 0, 5, 50, 70], counts(ffma=3, issue=4)),
                ([2, 256, 0, -1, -1, 0, 6, 60, 80], counts(ffma=5, issue=6))]
        run = write_run([kernel(0, LANES, rows)], [["H", 64], ["L", 0], ["L", 0], ["L", 0]])
        launches = [event.launch for event in run.events if event.launch]
        self.assertEqual([(1, 3), (2, 5)], [(launch.grid, launch.count["ffma"]) for launch in launches])
        self.assertEqual(60, launches[1].alone)  # where nobody says it, the longest warp

    def test_names(self):
        self.assertEqual("StepLanes", short_name(LANES))
        self.assertEqual("ClassifyTiles/2", short_name(TILES))
        self.assertEqual("ClassifyTiles/2 off chip", short_name(TILES.replace("true", "false")))
        self.assertEqual("DeviceSelect", short_name("void cub::DeviceSelect<int>(int*)"))

    def test_waits_copies_and_bytes_are_counted(self):
        row = ([1, 32, 0, -1, -1, 0, 1, 1, 1], counts(integer=9, sectors_load=2))
        run = write_run([kernel(0, LANES, [row])],
                        [["H", 100], ["R", 0], ["E", 0], ["L", 0], ["D", 8], ["R", 0], ["E", 0], ["d", 4],
                         ["S", 0], ["Z", 16], ["A", 1], ["F", 0]])
        sums = count(run.events)
        expected = {"launches": 1, "copies": 3, "bytes to the device": 100, "bytes to the host": 12,
                    "round trips": 3, "memsets": 1, "allocations": 2, "integer": 9, "sectors_load": 2}
        self.assertEqual(expected, {name: number for name, number in sums.items() if number})
        self.assertEqual(0, difference(sums, sums)["launches"])

    def test_findings_begin_behind_the_last_kernel_of_the_search(self):
        row = ([1, 32, 0, -1, -1, 0, 1, 1, 1], counts())
        helper = "void cub::DeviceSelectSweepKernel<int>(int*)"
        run = write_run([kernel(0, LANES, [row]), kernel(1, GATHER, [row]), kernel(2, helper, [row, row])],
                        [["L", 2], ["L", 0], ["D", 4], ["L", 2], ["L", 1], ["D", 9]])
        search, findings = split_findings(run.events, ["GatherSlots"], ["DeviceSelect"])
        self.assertEqual([2, 4], [len(search), len(findings)])
        self.assertEqual(["L", "D"], [event.kind for event in between_setup_and_end(run.events)[-2:]])

    def test_origins_come_in_the_order_of_their_seeds(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "instances.csv")
            path.write_text("a,b,pair_a,seed\n1,2,0,7\n3,4,0,5\n", encoding="utf-8")
            self.assertEqual((["a", "b"], [["3", "4"], ["1", "2"]]), read_instances(path))


class Predicting(unittest.TestCase):
    def setUp(self):
        self.constants = Constants()
        self.estimator = Estimator(self.constants, "H100", 700)
        self.clock = self.constants.chips["H100"].clock * 1e3  # cycles of a microsecond

    def bounds(self, launch, sms=1, lanes=1000):
        return self.estimator.bounds(launch, sms, lanes)

    def test_issue_is_shared_by_schedulers_and_multiprocessors(self):
        launch = one_launch(grid=8, issue=8000)
        self.assertAlmostEqual(8000 / 4 / self.clock, self.bounds(launch)["issue"])
        self.assertAlmostEqual(8000 / 2 / 4 / self.clock, self.bounds(launch, sms=2)["issue"])
        lonely = one_launch(grid=1, threads=32, issue=8000)
        self.assertAlmostEqual(8000 / self.clock, self.bounds(lonely)["issue"])

    def test_blocks_without_work_do_not_help(self):
        launch = one_launch(TILES, grid=8, threads=512, items=100, per_step=64, issue=8000)
        self.assertAlmostEqual(8000 / 2 / self.clock, self.bounds(launch, sms=8)["issue"])

    def test_memory_is_a_share_of_the_chip(self):
        launch = one_launch(grid=8, sectors_load=1_000_000)
        chip = self.constants.chips["H100"]
        by_port = 32e6 / 64 / self.clock
        by_hbm, by_l2 = (32e6 / (bandwidth / 132) / 1e6 for bandwidth in (chip.hbm, chip.l2))
        self.assertAlmostEqual(max(by_hbm, by_port), self.bounds(launch, lanes=1 << 20)["memory"])
        self.assertAlmostEqual(max(by_l2, by_port), self.bounds(launch)["memory"])

    def test_a_block_with_barriers_is_as_slow_as_its_stages(self):
        launch = one_launch(grid=2, threads=512, shared=1 << 16, critical=1000, alone=1500, issue=4000)
        bounds = self.bounds(launch)
        self.assertAlmostEqual(1500 / self.clock, bounds["block"])
        self.assertAlmostEqual(1000 / self.clock, bounds["latency"])
        self.assertAlmostEqual(4000 / 4 / self.clock, bounds["issue"])

    def test_memory_behind_l2_answers_later(self):
        launch = one_launch(grid=8, critical=1000, far=1300)
        self.assertAlmostEqual(1000 / self.clock, self.bounds(launch)["latency"])
        self.assertAlmostEqual(1300 / self.clock, self.bounds(launch, lanes=1 << 20)["latency"])

    def test_shared_memory_and_registers_make_waves(self):
        wide = one_launch(grid=6, threads=512, shared=100 << 10, critical=1000)
        self.assertAlmostEqual(3 * 1000 / self.clock, self.bounds(wide)["latency"])
        self.estimator.registers = {"k0": 128}
        heavy = one_launch(grid=6, threads=512, shared=1024, critical=1000)
        self.assertAlmostEqual(6 * 1000 / self.clock, self.bounds(heavy)["latency"])

    def test_a_round_is_the_difference_of_two_runs(self):
        rows = [([8, 256, 0, -1, -1, 0, 1, 1000 * n, 1500 * n], counts(issue=100)) for n in (1, 2, 3)]
        long = write_run([kernel(0, LANES, rows)], [["L", 0]] * 3).events
        short = write_run([kernel(0, LANES, rows[:1])], [["L", 0]]).events
        part = without(*(self.estimator.parts(events, 1, 1000) for events in (long, short)))["StepLanes"]
        self.assertEqual(2, part.launches)
        self.assertAlmostEqual(5000 / self.clock, part.us)
        self.assertEqual("latency", part.what.most_common(1)[0][0])

    def test_host(self):
        gaps, waits = self.estimator.host_us({"launches": 4, "copies": 1, "memsets": 1, "round trips": 2}, 5e4, 2.5)
        self.assertAlmostEqual(10.0, gaps)
        self.assertAlmostEqual(2 * 2.5 + 2 * 12.0 + 1.0, waits)

    def test_lines(self):
        self.assertEqual((3.0, 2.0), straight_line([(1, 5), (2, 7), (3, 9)]))
        self.assertEqual((4.0, 0.0), straight_line([(1, 5), (2, 3)]))
        self.assertEqual((0.0, 1.8), straight_line([(1, 1), (2, 4)]))  # no less than nothing
        self.assertEqual((0.0, 3.0), straight_line([(2, 6)]))

    def test_every_constant_has_unit_and_source(self):
        for group in ("multiprocessor", "host", "memory", *self.constants.data["chips"]):
            for name, entry in (self.constants.data.get(group) or self.constants.data["chips"][group]).items():
                self.assertEqual({"value", "unit", "source"}, set(entry), f"{group}.{name}")
                self.assertTrue(entry["source"], f"{group}.{name}")


class ReadingSass(unittest.TestCase):
    LISTING = """//--------------------- .text.k0 --------------------------
k0:
	//## File "x", line 10
        /*0000*/                   FFMA R0, R1, R2, R0 ;
        /*0010*/                   FFMA R0, R1, R2, R0 ;
	//## File "x", line 11
        /*0020*/              @!P0 IMAD.MOV.U32 R4, RZ, RZ, R5 ;
$k0$__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath:
	//## File "x", line 10
        /*0030*/                   FADD.FTZ R0, R1, R2 ;
"""

    def test_instructions_count_as_often_as_their_line(self):
        sass = Sass.__new__(Sass)
        sass.code = read_listing(self.LISTING.splitlines())
        run = write_run([kernel(0, LANES, [([1, 32, 0, -1, -1, 0, 1, 1, 1], counts(ffma=7, issue=9))])], [["L", 0]])
        # Line 10 ran 7 times and was unrolled: twice 7 is twice too many.
        self.assertEqual({"ffma": 7, "move": 0}, dict(sass.mixes(run)["k0"]))

    def test_predictions_follow_the_mix(self):
        launch = one_launch(grid=8, ffma=10, integer=10, issue=20)
        estimator = Estimator(Constants(), "H200", 700, {"k0": collections.Counter(ffma=10, integer=30)})
        issued, made = estimator.instructions(launch)
        self.assertEqual((40.0, 10.0, 30.0), (issued, made["ffma"], made["integer"]))

    def test_instructions_come_from_lines_of_source(self):
        ptx = (".version 8.0\n.visible .entry k()\nadd.s32\n.loc 1 20 3\nfma.rn.f32\n"
               ".loc 2 7 1, function_name $L_x, inlined_at 1 21 5\nfma.rn.f32\n"
               '.file 1 "/somewhere/walk.h"\n.file 2 "pack.h"\n')
        places = places_of(ptx)
        self.assertEqual([UNKNOWN, "walk.h:20", "pack.h:7 < walk.h:21"], [places[i] for i in (2, 4, 6)])
        listing = ["//----- .text.k -----", "k:"]
        for address, (line, op) in enumerate([(3, "IADD3 R0, R1"), (5, "FFMA R2, R3"), (7, "FFMA R2, R3")]):
            listing += [f"//## File \"x\", line {line}", f"        /*{16 * address:04x}*/    {op} ;"]
        code = read_listing(listing)["k"]
        executed = collections.namedtuple("Executed", "lines")([[3, 2, 9], [5, 4, 9], [7, 10, 9]])
        found = by_line(executed, code, places)
        self.assertEqual({UNKNOWN: {"integer": 2}, "walk.h:20": {"ffma": 4}, "pack.h:7 < walk.h:21": {"ffma": 10}},
                         {place: dict(classes) for place, classes in found.items()})
        first = profile_text("k", found, 2, 1).splitlines()[1]
        self.assertEqual("     62.5 %  pack.h:7 < walk.h:21  (ffma 5)", first)

    def test_classes(self):
        named = {"FFMA": "ffma", "IMAD.MOV.U32": "move", "IMAD.WIDE": "imad", "ISETP.GE": "integer",
                 "LDS.128": "shared_load", "LDG.E": "global_load", "BAR.SYNC": "sync", "BRA": "branch",
                 "MUFU.RCP": "convert_special"}
        self.assertEqual(named, {op: class_of(op) for op in named})

    def test_ptxas_and_objects(self):
        said = ("ptxas info    : Compiling entry function 'k0' for 'sm_90'\n"
                "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
                "ptxas info    : Used 70 registers, used 1 barriers\n")
        registers, spills = read_ptxas(said)
        self.assertEqual(({"k0": 70}, {"k0": 16}), (registers, dict(spills)))
        ptx = "\n.version 9.0\n.target sm_90\n.entry k0"
        self.assertEqual(ptx, ptx_of(b"\x7fELF\0\0" + ptx.encode() + b"\0more"))
        self.assertEqual("9.0 sm_90", ptx_target(ptx))
        self.assertEqual("", ptx_of(b"\x7fELF"))

    def test_objects_of_another_build_are_told(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            objects = [folder / "a.cu.o", folder / "b.cu.o"]
            for path, kernel_name in zip(objects, ("k0", "k1")):
                path.write_bytes(b"\x7fELF\0\0\n.version 9.0\n.entry " + kernel_name.encode() + b"\0more")
            program = folder / "program"
            program.write_bytes(b"code\0\n.version 9.0\n.entry k0\0code")
            self.assertEqual(objects[1:], not_of(program, objects))


class Subjects(unittest.TestCase):
    def test_a_random_network_is_the_same_everywhere(self):
        with tempfile.TemporaryDirectory() as folder:
            subject = {"shape": [2, 3, 1], "codes": [3, 4], "seed": 1, "samples": 9}
            keys = random_network(subject, pathlib.Path(folder))
            blob = pathlib.Path(keys["model"]).read_bytes()
            domain = json.loads(pathlib.Path(keys["domain"]).read_text(encoding="utf-8"))
        size = int.from_bytes(blob[:8], "little")
        header = json.loads(blob[8:8 + size])
        self.assertEqual([0, 0, 4 * (2 * 3 + 3 + 3 + 1)],
                         [size % 8, header["layers.0.weight"]["data_offsets"][0], len(blob) - 8 - size])
        self.assertEqual([True, False], [attribute["protected"] for attribute in domain["attributes"]])


if __name__ == "__main__":
    unittest.main()
