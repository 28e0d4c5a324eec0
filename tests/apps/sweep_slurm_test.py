"""A sweep on a real Slurm of two nodes: nodes that die, elements that are stopped or cancelled. In the end all cells are
done, with the bytes of one process. See slurm_cluster.py."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from slurm_cluster import CannotStart, Cluster  # noqa: E402

BINARY = os.path.abspath(os.environ["FAIRLANE_BINARY"])
SUBJECT = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"], "configs", "tiny.yaml").resolve()
SKIPPED = 77
PATIENCE = 100  # seconds, for what takes ten
ELEMENTS = 4
CELLS = 8
# What one process takes for all cells: an element is at work for some seconds.
WHOLE_SECONDS = 16
TRIAL_STEPS = 5000  # a second, or less
PLAN = """\
subjects: [{subject}]
commands: [run]
protected: [[age], [gender]]
methods: [eidig, adf]
seeds: [1, 2]
set: {{global.num: 1800, local.num: {steps}}}
"""


def cell_files(out):
    """The findings of every cell that is done: the cell's path -> bytes."""
    return {done.parent.relative_to(out).as_posix(): (done.parent / "instances.csv").read_bytes()
            for done in out.glob("cells/*/*/DONE")}


class SweepSlurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Slurm's own files want a path without blanks; a sweep's path is to be no problem.
        own = tempfile.TemporaryDirectory()
        cls.addClassCleanup(own.cleanup)
        work = tempfile.TemporaryDirectory()
        cls.addClassCleanup(work.cleanup)
        cls.folder = pathlib.Path(work.name, "it's 100% a sweep")
        cls.folder.mkdir()
        cls.plan = cls.folder / "plan.yaml"
        seconds = cls.run_whole(cls.folder / "trial", TRIAL_STEPS)
        cls.whole = cls.folder / "whole"
        cls.run_whole(cls.whole, int(TRIAL_STEPS * max(1.0, WHOLE_SECONDS / seconds)))
        cls.cluster = Cluster(own.name)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    @classmethod
    def run_whole(cls, out, steps):
        """Writes the plan and runs it in one process. Returns the seconds that it took."""
        cls.plan.write_text(PLAN.format(subject=SUBJECT, steps=steps), encoding="utf-8")
        begin = time.monotonic()
        subprocess.run([BINARY, "sweep", "run", cls.plan, "--out", out, "--threads", "1"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
        return time.monotonic() - begin

    def setUp(self):
        self.out = self.folder / self._testMethodName

    def run(self, result=None):
        """With the logs behind a test that failed."""
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > before:
            for log in sorted((self.out / "slurm").glob("*.log")):
                print(f"--- {log.name}\n{log.read_text(encoding='utf-8')}", file=sys.stderr)
            print(self.cluster.logs(), file=sys.stderr)

    def submit(self):
        done = self.cluster.run(BINARY, "sweep", "submit", str(self.plan), "--out", str(self.out), "--slurm",
                                "--elements", str(ELEMENTS), "--gpus", "--threads", "1", "--json")
        jobs = json.loads(done.stdout)
        self.array, self.merge = str(jobs["array"]), str(jobs["merge"])

    def elements(self):
        """What has not ended of the array."""
        return self.cluster.jobs(self.array)

    def wait_until(self, holds, what):
        deadline = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), deadline, f"not within {PATIENCE} s: {what}; {self.elements()}")
            time.sleep(0.05)

    def wait_until_all_work(self):
        """Every element has begun a cell or two, and none has ended."""
        def work():
            elements = self.elements()
            self.assertEqual(ELEMENTS, len(elements), "an element ended before it could be disturbed")
            return all(one["state"] == "RUNNING" for one in elements) and \
                len(list(self.out.glob("cells/*/*"))) >= ELEMENTS

        self.wait_until(work, "all elements work")
        self.assertLess(len(cell_files(self.out)), CELLS)

    def wait_until_ended(self):
        self.wait_until(lambda: not self.cluster.jobs(self.array, self.merge), "array and merge have ended")

    def said(self, element):
        return (self.out / "slurm" / f"element-{element}.log").read_text(encoding="utf-8")

    def state(self, job):
        shown = self.cluster.run("scontrol", "--oneliner", "show", "job", job).stdout
        words = dict(word.split("=", 1) for word in shown.split() if "=" in word)
        return words["JobState"], words["ExitCode"]

    def expect_whole(self):
        self.assertEqual(("COMPLETED", "0:0"), self.state(self.merge))
        expected = cell_files(self.whole)
        self.assertEqual(CELLS, len(expected))
        self.assertEqual(expected, cell_files(self.out))
        self.assertEqual((self.whole / "sweep.csv").read_bytes(), (self.out / "sweep.csv").read_bytes())

    def test_a_node_dies(self):
        self.submit()
        self.wait_until_all_work()
        hit = [one["element"] for one in self.elements() if one["node"] == "node1"]
        self.assertEqual(2, len(hit), "each node has two GPUs")
        self.cluster.kill_node("node1")
        self.addCleanup(self.cluster.start_node, "node1")
        self.wait_until_ended()
        for element in hit:
            self.assertIn(f"element {element} of {ELEMENTS} on node2, restart 1\n", self.said(element))
        self.expect_whole()

    def test_a_stopped_element_goes_on(self):
        self.submit()
        self.wait_until_all_work()
        # What Slurm sends two minutes before the end of an element's time.
        self.cluster.run("scancel", "--signal=TERM", "--batch", f"{self.array}_2")
        # What it sends where an element is to make room for another: to fairlane, too.
        self.cluster.run("scancel", "--signal=TERM", "--full", f"{self.array}_3")
        self.wait_until_ended()
        for element in range(1, ELEMENTS + 1):
            times = 1 if element in (2, 3) else 0
            self.assertEqual(times, self.said(element).count(f"element {element} is queued again"), element)
            self.assertEqual(times, self.said(element).count(", restart 1\n"), element)
        self.expect_whole()

    def test_a_cancelled_element_stays_so(self):
        self.submit()
        self.wait_until_all_work()
        self.cluster.run("scancel", f"{self.array}_1")
        self.wait_until_ended()
        self.assertEqual("CANCELLED", self.state(f"{self.array}_1")[0])
        self.assertEqual(("FAILED", "3:0"), self.state(self.merge))
        self.assertNotIn("is queued again", self.said(1))
        self.assertLess(len(cell_files(self.out)), CELLS)
        self.submit()
        self.wait_until_ended()
        self.expect_whole()


if __name__ == "__main__":
    try:
        with tempfile.TemporaryDirectory() as trial:
            cluster = Cluster(trial)
            try:
                cluster.start()
            finally:
                cluster.stop()
    except CannotStart as problem:
        print(f"skipped: no Slurm here: {problem}")
        sys.exit(SKIPPED)
    unittest.main()
