"""A sweep that is stopped while a run, whose search is done, takes its sample: the run ends without the share of the
domain, and the same command again finds it as if nobody had stopped it."""
import pathlib
import subprocess
import tempfile
import time
import unittest

from sturdy_jobs import Acknowledged, Jobs, communicate, difference, wait_until

PLAN = """\
output: {dir: unused}
subjects: [walk.yaml]
commands: [{command: run, options: [--samples, "2000000"]}]
set: {global.num: 100}
"""
SEARCH_SECONDS = 0.5  # the sample takes more than twice as long
DONE, STOPPED = 0, 75


class SweepSampleStop(unittest.TestCase):
    def test_a_stop_during_the_sample(self):
        with tempfile.TemporaryDirectory() as folder:
            jobs = Jobs(folder)
            (jobs.folder / "plan.yaml").write_text(PLAN, encoding="utf-8")
            out, whole = pathlib.Path(folder, "out"), pathlib.Path(folder, "whole")
            self.assertEqual(DONE, jobs.run("sweep", whole).returncode)
            with subprocess.Popen(jobs.command("sweep", out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  text=True) as process:
                self.addCleanup(process.kill)
                self.assertTrue(wait_until(lambda: any(out.glob("cells/*/*/.partial"))))
                time.sleep(SEARCH_SECONDS)
                process.terminate()
                said = communicate(process)
            self.assertEqual((STOPPED, 1), (process.returncode, said.count("\n")), said)
            self.assertEqual({}, Acknowledged(out).cells)
            again = jobs.run("sweep", out)
            self.assertEqual((DONE, ""), (again.returncode, again.stderr))
            self.assertIsNone(difference(out, whole))


if __name__ == "__main__":
    unittest.main()
