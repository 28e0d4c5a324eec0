"""A sweep on two simulated GPUs: a worker for each, and the bytes of the CPU.

Skips where the build has no simulator. Usage: gpusim_sweep_test.py [PROGRAM], PROGRAM is fairlane-gpusim.
"""
import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SUBJECT = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"], "configs", "tiny.yaml").resolve()
PLAN = """\
subjects: [{subject}]
protected: [gender, age]
commands: [run, verify]
methods: [eidig, themis]
seeds: [1, 2]
set: {{global.num: 20, local.num: 10}}
output: {{dir: out}}
"""


class GpuSweep(unittest.TestCase):
    program = None

    def sweep(self, folder, *words):
        done = subprocess.run([self.program, "sweep", "run", "plan.yaml", *words], cwd=folder, capture_output=True,
                              text=True, env={**os.environ, "GPUSIM_DEVICES": "2"}, timeout=280, check=False)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_gives_the_cpus_bytes(self):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            (folder / "plan.yaml").write_text(PLAN.format(subject=SUBJECT), encoding="utf-8")
            self.sweep(folder, "--backend", "cpu", "--out", "cpu")
            self.sweep(folder, "--backend", "cuda:all", "--out", "gpu")
            self.assertEqual((folder / "cpu/sweep.csv").read_bytes(), (folder / "gpu/sweep.csv").read_bytes())
            for path in sorted((folder / "cpu/cells").rglob("*.csv")):
                self.assertEqual(path.read_bytes(), (folder / "gpu" / path.relative_to(folder / "cpu")).read_bytes(), path)
            with open(folder / "gpu/timing.csv", encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual({"gpu 0", "gpu 1"}, {row["worker"] for row in rows})
            self.assertFalse({row["device"] for row in rows if row["device"].startswith("cpu")})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("this build has no simulator of GPUs")
        sys.exit(77)
    GpuSweep.program = sys.argv.pop()
    unittest.main()
