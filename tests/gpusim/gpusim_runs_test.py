"""Whole runs on the simulated GPU write what runs on the CPU write, byte for byte, and nothing is reported.

Skips where the build has no simulator. The long list of cases is for people: `scripts/gpu-check --simulate`.

Usage: gpusim_runs_test.py [PROGRAM [--part N/M]] [--only TEXT], PROGRAM is fairlane-gpusim.
"""
import argparse
import os
import sys
import tempfile
import unittest

from whole_runs import METHODS, SUBJECTS, WAYS, Runner, short_list


class Runs(unittest.TestCase):
    program = None
    part, parts = 1, 1
    only = ""

    def test_the_list_has_everything(self):
        runs = [case for case in short_list() if case.verb == "run"]
        self.assertEqual(set(METHODS), {case.method for case in runs})
        self.assertEqual(set(SUBJECTS), {case.subject for case in runs})
        self.assertEqual(set(WAYS), {case.way for case in runs})

    def test_runs_are_the_cpus(self):
        cases = [case for case in short_list()[self.part - 1::self.parts] if self.only in case.name]
        with tempfile.TemporaryDirectory() as folder:
            runner = Runner(os.environ["FAIRLANE_BINARY"], self.program, folder, os.environ["FAIRLANE_SOURCE_DIR"])
            for case in cases:
                with self.subTest(case.name):
                    self.assertEqual([], runner.problems(case))
        if not self.only:
            self.assertEqual({"fused", "wide"}, runner.routes)


    def test_differences_are_named(self):
        case = short_list()[0]
        with tempfile.TemporaryDirectory() as folder:
            runner = Runner(os.environ["FAIRLANE_BINARY"], self.program, folder, os.environ["FAIRLANE_SOURCE_DIR"])
            self.assertEqual([], runner.problems(case))
            found = runner.folder / "cuda"
            (found / "instances.csv").write_bytes((found / "instances.csv").read_bytes()[:-2])
            (found / "global.csv").unlink()
            self.assertEqual(["global.csv", "instances.csv", "signature"],
                             runner.differences({"signature": 1, "timing": 2}, {"signature": 3, "timing": 4}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    if arguments.program is None:
        print("this build has no simulator of GPUs")
        return 77
    Runs.program, Runs.only = arguments.program, arguments.only
    Runs.part, Runs.parts = map(int, arguments.part.split("/"))
    return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1


sys.exit(main())
