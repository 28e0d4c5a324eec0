"""A disk that refuses to flush: for the N-th flush of a process, one line and exit code 74, and the same command again
ends with the bytes of one that was left alone."""
import pathlib
import tempfile
import unittest

import meddler
from sturdy_jobs import JOBS, Acknowledged, Jobs, difference, problem_of

FLUSHES = 30           # at most; then the rest is left out
OFTEN = (1, 2, 3, 5, 8)  # flushes that fail where a state is saved now and then
DONE, FAILED = 0, 74


class FailingFlush(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.shim = meddler.require(cls.folder)
        cls.seldom, cls.often = (Jobs(cls.folder, is_quick=True, checkpoint=each) for each in ("300", "0.01"))
        cls.whole = {}
        for job in JOBS:
            cls.whole[job] = cls.folder / f"whole-{job}"
            done = cls.seldom.run(job, cls.whole[job])
            assert done.returncode == DONE, done.stderr

    def begin_sweep(self, out):
        """One cell is done and acknowledged."""
        cell = sorted(path.name for path in self.whole["sweep"].glob("cells/*/*"))[0]
        self.assertEqual(DONE, self.seldom.run("sweep", out, arguments=("--cell", cell)).returncode)

    def fail_once(self, jobs, job, number, role):
        """Whether the flush was there to fail, and the exit code."""
        out, mark = self.folder / f"{job}-{role}-{jobs.checkpoint}-{number}", self.folder / "mark"
        mark.unlink(missing_ok=True)
        if job == "sweep":
            self.begin_sweep(out)
        acknowledged = Acknowledged(out)
        self.assertEqual(job == "sweep", len(acknowledged.cells) == 1)
        done = jobs.run(job, out, meddler.environment(self.shim, mark, fail=number, role=role))
        if not mark.exists():
            self.assertEqual((DONE, ""), (done.returncode, done.stderr))
        elif done.returncode == DONE:
            self.assertEqual("", done.stderr)  # a state that could not be saved; the work went on
        else:
            self.assertEqual((FAILED, 1), (done.returncode, done.stderr.count("\n")), done.stderr)
            self.assertIn("flushed to disk: ", done.stderr)
        if out.exists():
            self.assertIsNone(problem_of(out, self.whole[job], was_stopped=job == "sweep"))
        self.assertIsNone(acknowledged.problem())
        acknowledged = Acknowledged(out)
        again = jobs.run(job, out)
        self.assertEqual((DONE, ""), (again.returncode, again.stderr))
        self.assertIsNone(acknowledged.problem())
        self.assertIsNone(difference(out, self.whole[job], "journal/cell-"))
        return mark.exists(), done.returncode

    def test_each_flush(self):
        for job in JOBS:
            for role in ("worker", "other") if job == "sweep" else (None,):
                ends = []
                for number in range(1, FLUSHES + 1):
                    with self.subTest(job=job, role=role, number=number):
                        failed, code = self.fail_once(self.seldom, job, number, role)
                        if not failed:
                            break
                        ends.append(code)
                print(f"{job}{f', {role}' if role else ''}: {len(ends)} flushes failed", flush=True)
                self.assertIn(FAILED, ends)

    def test_a_state_that_is_not_saved(self):
        for job in ("run", "enumerate", "verify"):
            for number in OFTEN:
                with self.subTest(job=job, number=number):
                    self.fail_once(self.often, job, number, None)


if __name__ == "__main__":
    unittest.main()
