"""Commands whose work the ranks of mpirun share: the same files as those of one process, one line and one exit code for an
error on any rank, and states from which any number of ranks goes on."""
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from mpi_ranks import FAIRLANE, RANKS, mpirun, need_mpi  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
TINY = ROOT / "configs" / "tiny.yaml"
DEMO = ROOT / "configs" / "demo"

# The demo's network over wider codes than it was trained on: so many groups that they are dealt out.
WIDE = """name: wide
label: approved
attributes:
  - {name: age, low: 1, high: 4, protected: true}
  - {name: education, low: 1, high: 17}
  - {name: occupation, low: 0, high: 20}
  - {name: marital, low: 0, high: 8}
  - {name: region, low: 0, high: 12}
  - {name: race, low: 0, high: 4, protected: true}
  - {name: gender, low: 0, high: 1, protected: true}
  - {name: hours, low: 1, high: 9}
  - {name: experience, low: 1, high: %d}
"""
SMALL, LARGE = 17, 150


def wide_config(folder, last):
    (folder / "wide.domain.yaml").write_text(WIDE % last, encoding="utf-8")
    config = folder / "wide.yaml"
    config.write_text(f"""model: {DEMO}/census.safetensors
domain: wide.domain.yaml
protected: [gender]
method: eidig
output: {{dir: out}}
""", encoding="utf-8")
    return config


def contents(folder):
    """Every file below a folder, summary.json without its timing."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            continue
        files[str(path.relative_to(folder))] = path.read_bytes()
    summary = json.loads(files["summary.json"])
    del summary["timing"]
    files["summary.json"] = summary
    return files


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def done(self, run, code=0, lines=0):
        self.assertEqual(run.returncode, code, run.stderr)
        errors = [line for line in run.stderr.splitlines() if "fairlane: info:" not in line]
        self.assertEqual(len(errors), lines, run.stderr)
        return errors[0] if errors else ""

    def same(self, *words, ranks=(2, 4)):
        """`fairlane WORDS` writes the same by one process and by ranks."""
        one = self.folder / "one"
        alone = subprocess.run([FAIRLANE, *map(str, words), "--overwrite", "--quiet", "--out", one],
                               capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        self.done(alone)
        expected = contents(one)
        for n in ranks:
            with self.subTest(words=words, ranks=n):
                many = self.folder / f"many{n}"
                shutil.rmtree(many, ignore_errors=True)
                shared = mpirun(n, FAIRLANE, *words, "--mpi", "--out", many)
                self.done(shared)
                self.assertEqual(shared.stdout.count("Results are in"), 1)  # only rank 0 speaks
                found = contents(many)
                self.assertEqual(sorted(found), sorted(expected))
                for name, content in expected.items():
                    self.assertTrue(found[name] == content, f"{name} differs")
        return expected


class Enumerations(Case):
    def test_files_are_those_of_one_process(self):
        for instances in ("none", "all", "100"):
            self.same("enumerate", TINY, "--instances", instances, ranks=(2,))
        self.same("enumerate", TINY, "--instances", "all", "--shard", "2/3", ranks=(2,))

    def test_what_is_dealt_out_adds_up(self):
        config = wide_config(self.folder, SMALL)
        for flags in ((), ("--no-skip",)):
            self.same("enumerate", config, "--instances", "1000", *flags)

    def test_a_stopped_walk_goes_on_with_any_number_of_ranks(self):
        config = wide_config(self.folder, LARGE)
        out = self.folder / "out"
        words = [FAIRLANE, "enumerate", config, "--no-skip", "--instances", "500", "--out", out]
        stops = 0
        for ranks, sent in ((3, signal.SIGUSR1), (2, signal.SIGTERM)):
            process = subprocess.Popen(["mpirun", "--quiet", "-n", str(ranks), *map(str, words), "--mpi"], env=RANKS,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                       text=True)
            said = ""
            for line in process.stderr:  # the walk has begun where it says how long it takes
                said += line
                if "groups of 2 inputs each" in line:
                    time.sleep(0.3)
                    process.send_signal(sent)
                    break
            said += process.communicate(timeout=120)[1]
            if process.returncode == 0:
                continue  # faster than the signal
            stops += 1
            # mpirun answers SIGTERM with 1, whatever its ranks return.
            self.assertEqual(process.returncode, 75 if sent == signal.SIGUSR1 else 1, said)
            self.assertEqual(said.count("fairlane: error:"), 1, said)
            self.assertIn("their state is saved", said)
            self.assertTrue((out / ".partial" / "state").exists(), said)
        self.assertGreater(stops, 0)
        end = subprocess.run(list(map(str, [*words, "--quiet"])), capture_output=True, text=True, check=False)
        self.done(end)
        found = contents(out)
        shutil.rmtree(out)
        self.done(subprocess.run(list(map(str, [*words[:3], *words[4:], "--quiet"])), capture_output=True, text=True,
                                 check=False))
        self.assertTrue(contents(out) == found)


class Runs(Case):
    def test_files_are_those_of_one_process(self):
        for method in ("eidig", "margin"):
            files = self.same("run", TINY, "--set", f"method={method}", "--set", "output.trace=true")
            self.assertGreater(files["instances.csv"].count(b"\n"), 100)
        for method in ("adf", "maft", "maft-nonvec", "margin-walk"):
            self.same("run", TINY, "--set", f"method={method}", ranks=(3,))

    def test_other_formats_budgets_and_the_demo(self):
        self.same("run", TINY, "--set", "output.format=npy", ranks=(2,))
        self.same("run", TINY, "--set", "budget.iterations=1500", ranks=(2,))
        self.same("run", TINY, "--set", "budget.evaluations=4000", "--set", "method=margin", ranks=(2,))
        self.same("run", DEMO / "config.yaml", ranks=(4,))

    def test_a_manifest_is_repeated(self):
        expected = self.same("run", TINY, ranks=())
        again = self.folder / "again"
        self.done(mpirun(2, FAIRLANE, "run", self.folder / "one" / "manifest.json", "--mpi", "--out", again))
        found = contents(again)
        self.assertEqual(found["instances.csv"], expected["instances.csv"])
        self.assertEqual(found["summary.json"], expected["summary.json"])

    def test_a_signal_ends_all(self):
        out = self.folder / "out"
        process = subprocess.Popen(["mpirun", "--quiet", "-n", "2", str(FAIRLANE), "run", str(TINY), "--mpi", "--out",
                                    str(out), "--set", "global.num=5000", "--set", "local.num=1000000"], env=RANKS,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = ""
        for line in process.stderr:
            said += line
            if "backend:" in line:
                time.sleep(0.5)
                process.send_signal(signal.SIGUSR1)
                break
        said += process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, 130, said)
        self.assertEqual(said.count("fairlane: error: interrupted; nothing was written"), 1, said)
        self.assertFalse(out.exists())


class WrongUse(Case):
    def test_without_mpirun(self):
        for command in ("run", "enumerate"):
            alone = subprocess.run([FAIRLANE, command, TINY, "--mpi"], env={
                k: v for k, v in RANKS.items() if not k.startswith(("OMPI_COMM", "PMI"))}, capture_output=True, text=True,
                check=False)
            self.assertIn("expected to be started by mpirun", self.done(alone, 64, 1))

    def test_without_the_plug_in(self):
        alone = subprocess.run([FAIRLANE, "run", TINY, "--mpi"], env={**RANKS, "FAIRLANE_PLUGIN_DIR": str(self.folder)},
                               capture_output=True, text=True, check=False)
        self.assertIn("FAIRLANE_MPI=ON", self.done(alone, 69, 1))

    def test_what_cannot_be_shared(self):
        out = self.folder / "out"
        for words, code, why in (
                (("run", TINY, "--set", "method=themis"), 78, "cannot be shared by ranks"),
                (("run", TINY, "--set", "budget.instances=5"), 78, "budget.instances"),
                (("run", TINY, "--checkpoint", "10"), 64, "--checkpoint"),
                (("enumerate", TINY, "--merge", "a", "b"), 64, "--merge"),
                (("run", self.folder / "none.yaml"), 66, "no such file"),
                (("run", TINY, "--set", "global.nums=5"), 78, "global.nums")):
            with self.subTest(words=words):
                line = self.done(mpirun(3, FAIRLANE, *words, "--mpi", "--out", out), code, 1)
                self.assertIn(why, line)
                self.assertFalse(out.exists())

    def test_an_error_on_one_rank_ends_all(self):
        out = self.folder / "out"
        for rank in (0, 1, 2):
            for command, settings, code, why in (
                    ("run", "--set model=/nowhere/missing.safetensors", 66, "missing.safetensors"),
                    ("enumerate", "--set model=/nowhere/missing.safetensors", 66, "missing.safetensors"),
                    ("run", "--seed 7", 76, "rank 0" if rank == 0 else f"rank {rank}"),
                    ("enumerate", "--seed 7", 76, "rank 0" if rank == 0 else f"rank {rank}")):
                with self.subTest(rank=rank, command=command, code=code):
                    script = self.folder / "rank.sh"
                    own = f'if [ "$OMPI_COMM_WORLD_RANK" = {rank} ]; then more="{settings}"; fi'
                    script.write_text(f"{own}\nexec {FAIRLANE} {command} {TINY} --mpi --out {out} $more\n",
                                      encoding="utf-8")
                    began = time.monotonic()
                    line = self.done(mpirun(3, "bash", script), code, 1)
                    self.assertIn(why, line)
                    self.assertLess(time.monotonic() - began, 60)
                    self.assertFalse(out.exists())

    def test_a_rank_that_is_killed_ends_all(self):
        script = self.folder / "rank.sh"
        script.write_text(f"""if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then ( sleep 1; kill -KILL $$ ) & fi
exec {FAIRLANE} run {TINY} --mpi --out {self.folder / 'out'} --set global.num=5000 --set local.num=1000000 --quiet
""", encoding="utf-8")
        began = time.monotonic()
        killed = mpirun(3, "bash", script)
        self.assertNotEqual(killed.returncode, 0)
        self.assertLess(time.monotonic() - began, 100)


PARTS = {"1/3": "Enumerations", "2/3": "Runs", "3/3": "WrongUse"}  # entries of ctest

if __name__ == "__main__":
    need_mpi()
    if sys.argv[1:2] == ["--part"]:
        sys.argv[1:3] = [PARTS[sys.argv[2]]]
    unittest.main(verbosity=2)
