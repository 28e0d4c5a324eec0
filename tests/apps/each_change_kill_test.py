"""Dead at the N-th change of a file, for every N: nothing half is visible, and the same command again ends with the
bytes of one that was left alone."""
import pathlib
import shutil
import signal
import tempfile
import time
import unittest

import meddler
from sturdy_jobs import Acknowledged, Jobs, difference, problem_of, wait_until

CASES = (("run", None), ("quantify", None), ("sweep", "other"))  # with the processes that die
CHANGES = 500      # there are fewer
GONE_SECONDS = 10  # in which a sweep's workers are gone
SECONDS = 40       # of all; what comes later is only looked at at every fourth change
DONE, KILLED = 0, -signal.SIGKILL


class EachChange(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.shim = meddler.require(self.folder)
        self.jobs = Jobs(self.folder, is_quick=True)

    def die_at(self, job, role, number, whole):
        """Whether there were so many changes."""
        out, mark = self.folder / "out", self.folder / "mark"
        mark.unlink(missing_ok=True)
        try:
            done = self.jobs.run(job, out, meddler.environment(self.shim, mark, die=number, role=role))
            died = mark.exists()
            self.assertEqual((KILLED if died else DONE, ""), (done.returncode, done.stderr))
            self.assertTrue(wait_until(lambda: not self.jobs.workers(), GONE_SECONDS), "workers survive")
            if out.exists():
                self.assertIsNone(problem_of(out, whole))
            acknowledged = Acknowledged(out)
            again = self.jobs.run(job, out)
            self.assertEqual((DONE, ""), (again.returncode, again.stderr))
            self.assertIsNone(acknowledged.problem())
            self.assertIsNone(difference(out, whole))
        finally:
            shutil.rmtree(out, ignore_errors=True)
        return died

    def test_each_change(self):
        for job, role in CASES:
            whole = self.folder / f"whole-{job}"
            self.assertEqual(DONE, self.jobs.run(job, whole).returncode)
            begin, number, deaths = time.monotonic(), 1, 0
            while number < CHANGES:
                with self.subTest(job=job, number=number):
                    if not self.die_at(job, role, number, whole):
                        break
                deaths += 1
                number += 1 if time.monotonic() - begin < SECONDS / len(CASES) else 4
            print(f"{job}: died at {deaths} of {number - 1} changes", flush=True)
            self.assertGreater(deaths, 10)


if __name__ == "__main__":
    unittest.main()
