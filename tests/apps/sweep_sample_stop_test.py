"""A sweep that is stopped while a run, whose search is done, takes its sample: the run ends without the share of the
domain, and the same command again finds it as if nobody had stopped it."""
import json
import pathlib
import shutil
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
ATTEMPTS = 12  # to meet the sample, which takes most of the time
DONE, STOPPED = 0, 75


def has_no_share(out):
    """Whether the cell has ended without its sample."""
    return any(json.loads(path.read_bytes())["domain_share"]["share"] is None
               for path in out.glob("cells/*/*/summary.json"))


class SweepSampleStop(unittest.TestCase):
    def stop_after(self, seconds, jobs, out):
        """Returns the exit code, and what was said, of a sweep that is stopped so long after its cell begins."""
        with subprocess.Popen(jobs.command("sweep", out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True) as process:
            self.addCleanup(process.kill)
            wait_until(lambda: any(out.glob("cells/*/*/.partial")) or process.poll() is not None)
            time.sleep(seconds)
            process.terminate()
            said = communicate(process)
        return process.returncode, said

    def stop_in_sample(self, jobs, out, whole_seconds):
        """Halves the time in which the sample may begin and end, until a stop meets it."""
        low, high = 0.0, 2.0 * whole_seconds
        for _ in range(ATTEMPTS):
            shutil.rmtree(out, ignore_errors=True)
            seconds = low + (high - low) / 3.0
            code, said = self.stop_after(seconds, jobs, out)
            if code == STOPPED and has_no_share(out):
                return said
            low, high = (seconds, high) if code == STOPPED else (low, seconds)
        return self.fail(f"no stop met the sample, the last one after {seconds} s: {code} {said}")

    def test_a_stop_during_the_sample(self):
        with tempfile.TemporaryDirectory() as folder:
            jobs = Jobs(folder)
            (jobs.folder / "plan.yaml").write_text(PLAN, encoding="utf-8")
            out, whole = pathlib.Path(folder, "out"), pathlib.Path(folder, "whole")
            begin = time.monotonic()
            self.assertEqual(DONE, jobs.run("sweep", whole).returncode)
            said = self.stop_in_sample(jobs, out, time.monotonic() - begin)
            self.assertEqual(1, said.count("\n"), said)
            self.assertEqual({}, Acknowledged(out).cells)
            again = jobs.run("sweep", out)
            self.assertEqual((DONE, ""), (again.returncode, again.stderr))
            self.assertIsNone(difference(out, whole))


if __name__ == "__main__":
    unittest.main()
