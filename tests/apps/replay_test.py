"""A run that the clock ended is repeated from its manifest, byte for byte, with other threads and batches."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"])
BINARY = os.environ["FAIRLANE_BINARY"]


class Replay(unittest.TestCase):
    def run_fairlane(self, *arguments):
        return subprocess.run([BINARY, "run", *arguments, "--quiet"], capture_output=True, text=True, check=False)

    def test_same_bytes(self):
        demo = SOURCE / "configs" / "demo"
        for method in ("eidig", "margin", "themis"):
            with self.subTest(method=method), tempfile.TemporaryDirectory() as folder:
                first = pathlib.Path(folder) / "first"
                again = pathlib.Path(folder) / "again"
                done = self.run_fairlane(str(demo / "config.yaml"), "--out", str(first), "--set", f"method={method}",
                                         "--set", "budget.seconds=0.1", "--set", "global.num=100000",
                                         "--set", "global.seeding=uniform", "--set", "local.num=20000")
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                done = self.run_fairlane(str(first / "manifest.json"), "--out", str(again), "--threads", "3",
                                         "--batch", "7")
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                self.assertEqual((first / "instances.csv").read_bytes(), (again / "instances.csv").read_bytes())

    def test_clock_ends_no_repetition(self):
        demo = SOURCE / "configs" / "demo"
        for method in ("eidig", "themis"):
            with self.subTest(method=method), tempfile.TemporaryDirectory() as folder:
                first = pathlib.Path(folder) / "first"
                again = pathlib.Path(folder) / "again"
                done = self.run_fairlane(str(demo / "config.yaml"), "--out", str(first), "--set", f"method={method}",
                                         "--set", "budget.seconds=1000", "--set", "budget.instances=20")
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                self.assertEqual("instances", json.loads((first / "summary.json").read_text())["budget"])
                # as on a machine that is too slow
                manifest = json.loads((first / "manifest.json").read_text())
                self.assertEqual(1000, manifest["config"]["budget"]["seconds"])
                manifest["config"]["budget"]["seconds"] = 0.000001
                (first / "manifest.json").write_text(json.dumps(manifest))
                done = self.run_fairlane(str(first / "manifest.json"), "--out", str(again))
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                self.assertEqual((first / "instances.csv").read_bytes(), (again / "instances.csv").read_bytes())

    def test_is_repeated_as_it_is(self):
        done = self.run_fairlane("manifest.json", "--seed", "1")
        self.assertEqual(64, done.returncode)
        self.assertEqual(1, done.stderr.count("\n"))


if __name__ == "__main__":
    sys.exit(unittest.main())
