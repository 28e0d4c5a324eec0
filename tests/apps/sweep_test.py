"""fairlane sweep as a person uses it: cells are what their commands write by themselves, each is done once, however it is
cut up, and what fails is named."""
import csv
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.environ["FAIRLANE_BINARY"]
DEMO = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"], "configs", "demo").resolve()
PLAN = """\
subjects: [census.yaml]
protected: [gender, [age, gender]]
commands: [run, enumerate, {command: verify, options: [--cells, "fairify:2"]}]
methods: [eidig, themis]
seeds: [1, 2]
set: {global.num: 60, local.num: 40}
output: {dir: out}
"""
CONFIG = """\
model: census.safetensors
data: census.csv
domain: census.domain.yaml
protected: [race]
"""
# Members and columns that differ between equal sweeps.
TIMED = ("instances_per_second",)


class Sweep(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        for name in ("census.csv", "census.domain.yaml", "census.safetensors"):
            shutil.copy(DEMO / name, self.folder / name)
        (self.folder / "census.yaml").write_text(CONFIG, encoding="utf-8")
        self.write_plan(PLAN)

    def write_plan(self, text):
        (self.folder / "plan.yaml").write_text(text, encoding="utf-8")

    def fairlane(self, *words, code=0):
        done = subprocess.run([BINARY, *words], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(code, done.returncode, f"{words}: {done.stdout}{done.stderr}")
        if code >= 64:
            self.assertEqual(1, done.stderr.count("fairlane: error: "), done.stderr)
        return done

    def rows(self, out="out", name="sweep.csv"):
        with open(self.folder / out / name, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def files(self, out="out"):
        """Results of all cells: path -> bytes, less times."""
        found = {}
        for path in sorted((self.folder / out / "cells").rglob("*")):
            if path.is_file():
                found[str(path.relative_to(self.folder / out))] = self.untimed(path)
        return found

    @staticmethod
    def untimed(path):
        if path.suffix != ".json" or path.name == "manifest.json":
            return path.read_bytes()
        content = json.loads(path.read_text(encoding="utf-8"))
        content.pop("timing", None)
        return content

    def expect_equal(self, out):
        self.assertEqual((self.folder / "out/sweep.csv").read_bytes(), (self.folder / out / "sweep.csv").read_bytes())
        self.assertEqual(self.untimed(self.folder / "out/sweep.json"), self.untimed(self.folder / out / "sweep.json"))
        self.assertEqual(self.files(), self.files(out))
        for mine, other in zip(self.rows(name="methods.csv"), self.rows(out, "methods.csv"), strict=True):
            self.assertEqual({key: value for key, value in mine.items() if not key.startswith(TIMED)},
                             {key: value for key, value in other.items() if not key.startswith(TIMED)})

    def test_cells_are_what_their_commands_write(self):
        self.fairlane("sweep", "plan.yaml")
        cells = json.loads(self.fairlane("sweep", "plan", "plan.yaml", "--json").stdout)["cells"]
        self.assertEqual(2 * (2 * 2 + 1 + 1), len(cells))
        for cell in cells:
            self.assertEqual("done", cell["state"])
            # As deep as the sweep's, since a manifest's paths are relative to its directory.
            place = pathlib.Path("hand", "cells", cell["cell"][:2], cell["cell"])
            self.fairlane(*cell["words"], "--out", place, "--quiet")
        self.assertEqual(self.files(), self.files("hand"))

    def test_pages_are_left_out_where_that_is_said(self):
        def pages():
            return {path.parent.name == "out" for path in (self.folder / "out").rglob("report.html")}

        plan = "subjects: [census.yaml]\nset: {global.num: 10, local.num: 10}\n"
        self.write_plan(plan + "output: {dir: out}\n")
        self.fairlane("sweep", "plan.yaml")
        self.assertEqual({True, False}, pages())
        self.write_plan(plan + "output: {dir: out, report: false}\n")
        self.fairlane("sweep", "plan.yaml")
        self.assertEqual({False}, pages(), "an old page would not be of these cells")
        shutil.rmtree(self.folder / "out")
        self.fairlane("sweep", "plan.yaml")
        self.assertEqual({False}, pages())
        shutil.rmtree(self.folder / "out")
        self.write_plan(plan.replace("10}", "10, output.report: false}") + "output: {dir: out}\n")
        self.fairlane("sweep", "plan.yaml")
        self.assertEqual({True}, pages())
        self.write_plan(plan + "output: {dir: out, report: perhaps}\n")
        self.assertIn("plan.yaml:3:28: output.report is 'perhaps', expected true or false",
                      self.fairlane("sweep", "plan.yaml", code=78).stderr)

    def test_figures_are_those_of_the_results(self):
        self.fairlane("sweep", "plan.yaml")
        for row in self.rows():
            place = self.folder / "out" / "cells" / row["cell"][:2] / row["cell"]
            summary = json.loads((place / "summary.json").read_text(encoding="utf-8"))
            if row["command"] == "verify":
                self.assertEqual(summary["cells"]["sat"], int(row["cells_sat"]))
                self.assertEqual(summary["cells"]["unsat"], int(row["cells_unsat"]))
            else:
                self.assertEqual(summary["counts"]["unique_groups"], int(row["unique_groups"]))
                self.assertEqual(summary["success_rate"], float(row["success_rate"]))
        timing = self.rows(name="timing.csv")
        self.assertEqual(len(self.rows()), len(timing))
        self.assertTrue(all(float(row["peak_gflops"]) > 0 and float(row["seconds"]) > 0 for row in timing))
        means = {(row["protected"], row["method"]): float(row["unique_groups_mean"]) for row in self.rows(name="methods.csv")}
        for (protected, method), mean in means.items():
            own = [int(row["unique_groups"]) for row in self.rows()
                   if row["command"] == "run" and (row["protected"], row["method"]) == (protected, method)]
            self.assertEqual(2, len(own))
            self.assertAlmostEqual(sum(own) / 2, mean)

    def test_compare_has_its_speed(self):
        self.write_plan("subjects: [census.yaml]\nprotected: [gender]\ncommands: [{command: compare, options: [--repeats, '2']}]\n"
                        "methods: [eidig, themis]\nset: {budget.evaluations: 3000}\noutput: {dir: out}\n")
        self.fairlane("sweep", "plan.yaml")
        cell = self.rows()[0]["cell"]
        result = json.loads((self.folder / "out/cells" / cell[:2] / cell / "compare.json").read_text(encoding="utf-8"))
        for row in self.rows(name="timing.csv"):
            seconds = result["timing"]["methods"][row["method"]]["search_seconds"]["mean"]
            self.assertEqual(f"{seconds:.6g}", row["search_seconds"])
            self.assertGreater(float(row["evaluations_per_second"]), 0)

    def test_every_command_that_evaluates_has_its_rate(self):
        self.write_plan("subjects: [census.yaml]\nprotected: [gender]\ncommands: [run, enumerate, estimate]\n"
                        "set: {global.num: 20, local.num: 20}\noutput: {dir: out}\n")
        self.fairlane("sweep", "plan.yaml")
        for row in self.rows(name="timing.csv"):
            self.assertGreater(float(row["evaluations_per_second"]), 0, row["command"])

    def test_a_worker_that_crashes_is_told_by_its_signal(self):
        self.write_plan("subjects: [census.yaml]\nprotected: [gender]\nset: {global.num: 1800, local.num: 1000000}\n"
                        "output: {dir: out}\n")
        # For the CPU, so that the first child is a worker, and none that looks for GPUs.
        process = subprocess.Popen([BINARY, "sweep", "plan.yaml", "--workers", "1", "--backend", "cpu"], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = time.monotonic() + 60
        while not (found := children.read_text(encoding="utf-8").split()) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(int(found[0]), signal.SIGSEGV)
        said = process.communicate(timeout=60)[1]
        self.assertEqual(3, process.returncode, said)
        self.assertIn("was ended by signal 11 (Segmentation fault) (exit code 139)", said)

    def test_names_with_line_ends_stay_in_a_line_of_a_table(self):
        self.write_plan('subjects: [census.yaml]\nprotected: [gender]\nsettings: [{name: "two\\nlines|", local.num: 10}]\n'
                        "set: {global.num: 20}\noutput: {dir: out}\n")
        self.fairlane("sweep", "plan.yaml")
        self.assertIn("| census | run | gender | two lines\\| |", (self.folder / "out/tables.md").read_text(encoding="utf-8"))
        self.assertEqual("two\nlines|", self.rows()[0]["settings"])

    def test_parts_make_the_whole(self):
        self.fairlane("sweep", "plan.yaml", "--workers", "1", "--threads", "1")
        for part in (3, 1, 2):
            self.fairlane("sweep", "run", "plan.yaml", "--out", "parts", "--shard", f"{part}/3")
        self.fairlane("sweep", "merge", "plan.yaml", "--out", "parts")
        self.expect_equal("parts")

    def test_a_plan_that_grows_keeps_what_is_done(self):
        self.fairlane("sweep", "plan.yaml")
        before = {row["cell"]: row for row in self.rows()}
        made = {path: path.stat().st_ino for path in (self.folder / "out/cells").rglob("DONE")}
        self.write_plan(PLAN.replace("seeds: [1, 2]", "seeds: [3, 2, 1]"))
        status = json.loads(self.fairlane("sweep", "status", "plan.yaml", "--json").stdout)
        self.assertEqual((16, 12, 4), (status["cells"], status["done"], status["waiting"]))
        self.fairlane("sweep", "plan.yaml")
        after = {row["cell"]: row for row in self.rows()}
        self.assertEqual(before, {cell: after[cell] for cell in before})
        for path, inode in made.items():
            self.assertEqual(inode, path.stat().st_ino, path)

    def test_a_cell_alone(self):
        cells = json.loads(self.fairlane("sweep", "plan", "plan.yaml", "--json").stdout)["cells"]
        self.fairlane("sweep", "run", "plan.yaml", "--cell", cells[3]["cell"])
        status = json.loads(self.fairlane("sweep", "status", "plan.yaml", "--json").stdout)
        self.assertEqual(1, status["done"])
        self.assertIn("sweep merge PLAN", self.fairlane("inspect", "out", code=66).stderr)
        self.fairlane("sweep", "merge", "plan.yaml", code=3)
        self.assertIn("1 of 12 cells are done", self.fairlane("inspect", "out").stdout)
        self.assertEqual(["done"], [row["state"] for row in self.rows() if row["cell"] == cells[3]["cell"]])

    def test_a_failure_is_named_and_stops_nobody(self):
        (self.folder / "bad.safetensors").write_bytes(b"no network")
        self.write_plan("subjects: [{config: census.yaml, models: [bad.safetensors, census.safetensors]}]\n"
                        "protected: [gender]\nset: {global.num: 20, local.num: 20}\noutput: {dir: out}\n")
        said = self.fairlane("sweep", "plan.yaml", code=3)
        self.assertIn("census/bad", said.stdout)
        self.assertIn("bad.safetensors", said.stdout)
        states = {row["subject"]: (row["state"], row["exit"]) for row in self.rows()}
        self.assertEqual({"census/bad": ("failed", "65"), "census/census": ("done", "0")}, states)
        # A network in its place is another cell, and all is done.
        shutil.copy(self.folder / "census.safetensors", self.folder / "bad.safetensors")
        self.fairlane("sweep", "plan.yaml")

    def test_metrics(self):
        self.fairlane("sweep", "run", "plan.yaml", "--metrics", "sweep.prom")
        text = (self.folder / "sweep.prom").read_text(encoding="utf-8")
        self.assertIn('fairlane_sweep_cells{sweep="out",state="done"} 12\n', text)
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (TYPE|HELP) fairlane_\w+ .+|# EOF|fairlane_\w+\{\w+="[^"]*"(,\w+="[^"]*")*\} [\d.]+)$')

    def test_metrics_that_cannot_be_written_are_noticed_first(self):
        said = self.fairlane("sweep", "run", "plan.yaml", "--metrics", "nowhere/sweep.prom", code=74)
        self.assertIn("nowhere/sweep.prom", said.stderr)
        self.assertEqual([], list((self.folder / "out/cells").iterdir()))

    def test_a_part_says_how_to_go_on(self):
        said = self.fairlane("sweep", "run", "plan.yaml", "--out", "a b", "--shard", "1/2")
        self.assertIn("`fairlane sweep merge plan.yaml --out 'a b'` makes the tables", said.stdout)

    def test_options_of_a_plan(self):
        many = "fairify:" + "1" * 100_000  # more than a pipe holds
        self.write_plan("subjects: [census.yaml]\nprotected: [gender]\ncommands: [{command: verify, options: [--quantify]}, "
                        f"{{command: verify, options: [--cells, '{many}']}}]\noutput: {{dir: out}}\n")
        self.fairlane("sweep", "plan.yaml", code=3)
        lacking, long = self.rows()
        self.assertEqual("64", lacking["exit"])
        self.assertNotIn("--overwrite", lacking["error"])
        self.assertIn("--cells", long["error"])

    def test_a_terminal_shows_cells(self):
        self.write_plan(PLAN.replace("global.num: 60, local.num: 40", "global.num: 1800, local.num: 3000"))
        leader, follower = pty.openpty()
        process = subprocess.Popen([BINARY, "sweep", "plan.yaml"], cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=follower, env={**os.environ, "TERM": "xterm"})
        os.close(follower)
        shown = b""
        try:
            while chunk := os.read(leader, 4096):
                shown += chunk
        except OSError:
            pass  # the end of a pseudo-terminal
        os.close(leader)
        self.assertEqual(0, process.wait(timeout=120))
        self.assertRegex(shown.decode(), r"\d+ of 12 cells done")
        self.assertRegex(shown.decode(), r"cpu \d +\S+ s +(run|enumerate|verify) census")

    def test_programs_as_models(self):
        (self.folder / "model.py").write_text(
            "import sys\nprint('fairlane-exec 1', flush=True)\n", encoding="utf-8")
        self.write_plan("subjects: [{config: census.yaml, models: ['exec:python3 model.py']}]\n"
                        "protected: [gender]\noutput: {dir: out}\n")
        self.fairlane("sweep", "plan.yaml", code=3)
        self.assertEqual(["78"], [row["exit"] for row in self.rows()])
        self.assertIn("--allow-exec", self.rows()[0]["error"])

    def test_wrong_use(self):
        self.write_plan(PLAN)
        for words, code, said in (
                (("sweep",), 64, "ACTION"),
                (("sweep", "rnu", "plan.yaml"), 64, "did you mean 'run'"),
                (("sweep", "run"), 64, "PLAN"),
                (("sweep", "plan", "plan.yaml", "--shard", "1/2"), 64, "--shard is of `fairlane sweep run`"),
                (("sweep", "run", "plan.yaml", "--shard", "3/2"), 64, "1..2"),
                (("sweep", "run", "plan.yaml", "--cell", "zz"), 64, "0 of the plan's 12 cells"),
                (("sweep", "run", "plan.yaml", "--memory", "7"), 64, "at least 1M"),
                (("sweep", "run", "plan.yaml", "--backend", "cuda"), 69, "cuda"),
                (("sweep", "run", "plan.yaml", "--mpi"), (64, 69), "mpi"),
                (("sweep", "submit", "plan.yaml"), 64, "--slurm"),
                (("sweep", "run", "missing.yaml"), 66, "missing.yaml"),
                (("sweep", "status", "plan.yaml"), 66, "no sweep has begun"),
                (("sweep", "merge", "plan.yaml"), 66, "no sweep has begun"),
                (("sweep", "run", "census.yaml"), 78, "census.yaml:1:1: unknown key 'model'")):
            done = subprocess.run([BINARY, *words], cwd=self.folder, capture_output=True, text=True, check=False)
            codes = code if isinstance(code, tuple) else (code,)
            self.assertIn(done.returncode, codes, f"{words}: {done.stderr}")
            self.assertIn(said.lower(), done.stderr.lower(), words)
            self.assertEqual(1, done.stderr.count("\n"), done.stderr)
        self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    sys.exit(unittest.main())
