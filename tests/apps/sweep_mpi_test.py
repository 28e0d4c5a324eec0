"""A sweep on the ranks of an MPI job: the bytes of one process, whoever had which cell."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from mpi_ranks import RANKS  # noqa: E402

BINARY = pathlib.Path(os.environ["FAIRLANE_BINARY"])
SUBJECT = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"], "configs", "tiny.yaml").resolve()
PLAN = """\
subjects: [{subject}]
protected: all
commands: [run, enumerate]
methods: [eidig, themis]
seeds: [1, 2]
set: {{global.num: 60, local.num: 40}}
output: {{dir: out}}
"""


class SweepMpi(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.write_plan(PLAN)

    def write_plan(self, text):
        (self.folder / "plan.yaml").write_text(text.format(subject=SUBJECT), encoding="utf-8")

    def mpirun(self, ranks, *words):
        return ["mpirun", "-n", str(ranks), BINARY, "sweep", "run", "plan.yaml", "--mpi", *words]

    def fairlane(self, *words):
        subprocess.run([BINARY, "sweep", *words], cwd=self.folder, stdout=subprocess.DEVNULL, check=True)

    def files(self, out):
        found = {}
        for path in sorted((self.folder / out).rglob("*")):
            name = str(path.relative_to(self.folder / out))
            if not path.is_file() or name.startswith(("journal", "timing", "tables", "methods")):
                continue
            if path.suffix == ".json" and path.name != "manifest.json":
                found[name] = json.loads(path.read_text(encoding="utf-8"))
                found[name].pop("timing", None)
            else:
                found[name] = path.read_bytes()
        return found

    def test_equals_one_process(self):
        self.fairlane("run", "plan.yaml", "--out", "one")
        for ranks in (2, 4):
            out = f"ranks-{ranks}"
            done = subprocess.run(self.mpirun(ranks, "--out", out), cwd=self.folder, env=RANKS,
                                  capture_output=True, text=True, timeout=200, check=False)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertIn("35 of 35 cells", done.stdout)
            self.assertEqual(self.files("one"), self.files(out))
            timing = (self.folder / out / "timing.csv").read_text(encoding="utf-8")
            for rank in range(ranks):
                self.assertIn(f",rank {rank},", timing, "every rank has had a cell")

    def test_a_rank_that_is_killed_is_no_loss(self):
        self.fairlane("run", "plan.yaml", "--out", "one")
        process = subprocess.Popen(self.mpirun(3, "--out", "out"), cwd=self.folder, env=RANKS,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 60
        while process.poll() is None and not list((self.folder / "out").glob("cells/*/*/DONE")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)  # mpirun and its ranks
        process.wait()
        deadline = time.monotonic() + 60
        while True:  # until those that mpirun has left have noticed
            done = subprocess.run([BINARY, "sweep", "run", "plan.yaml"], cwd=self.folder, capture_output=True, text=True,
                                  check=False)
            if done.returncode == 0 or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(self.files("one"), self.files("out"))

    def test_an_error_ends_all_ranks(self):
        (self.folder / "plan.yaml").write_text("subject: []\n", encoding="utf-8")
        done = subprocess.run(self.mpirun(3), cwd=self.folder, env=RANKS, capture_output=True, text=True,
                              timeout=100, check=False)
        self.assertEqual(78, done.returncode, done.stderr)
        self.assertEqual(1, done.stderr.count("fairlane: error:"), done.stderr)
        self.assertIn("did you mean 'subjects'", done.stderr)


def why_not():
    if shutil.which("mpirun") is None:
        return "there is no mpirun"
    if not (BINARY.parent / "fairlane_mpi.so").exists():
        return "this build has no MPI plug-in"
    return ""


if __name__ == "__main__":
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
