"""A sweep that is stopped saves its cells, also where its workers are sent the same signal, as schedulers do."""
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

BINARY = os.environ["FAIRLANE_BINARY"]
SUBJECT = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"], "configs", "tiny.yaml").resolve()
PATIENCE = 60  # seconds
# A cell of hours.
PLAN = """\
subjects: [{subject}]
commands: [run]
methods: [eidig, adf]
set: {{global.num: 1800, local.num: 1000000000}}
"""


def children(process):
    """The processes that one has started."""
    path = pathlib.Path("/proc", str(process), "task", str(process), "children")
    return [int(word) for word in path.read_text(encoding="utf-8").split()]


class SweepStop(unittest.TestCase):
    def start(self, **options):
        """A sweep of two cells side by side, which have begun. Returns its process and directory."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        folder = pathlib.Path(temporary.name)
        plan = folder / "plan.yaml"
        plan.write_text(PLAN.format(subject=SUBJECT), encoding="utf-8")
        process = subprocess.Popen([BINARY, "sweep", "run", plan, "--out", folder / "out", "--workers", "2",
                                    "--checkpoint", "0.05"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True, **options)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + PATIENCE
        while len(self.states(folder / "out")) < 2:
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return process, folder / "out"

    @staticmethod
    def states(out):
        """The saved states: path -> when it was written."""
        return {path: path.stat().st_mtime_ns for path in out.glob("cells/*/*/.partial/state")}

    def expect_saved(self, process):
        _, said = process.communicate(timeout=PATIENCE)
        self.assertEqual(75, process.returncode, said)
        self.assertIn("states are saved", said)

    def test_everybody_is_asked(self):
        process, out = self.start()
        workers = children(process.pid)
        self.assertEqual(2, len(workers))
        # Held, so that no state is written that was not asked for.
        for one in workers:
            os.kill(one, signal.SIGSTOP)
        before = self.states(out)
        for one in (*workers, process.pid):
            os.kill(one, signal.SIGINT)
        time.sleep(0.3)  # until it has asked its workers once more
        for one in workers:
            os.kill(one, signal.SIGCONT)
        self.expect_saved(process)
        after = self.states(out)
        self.assertEqual(sorted(before), sorted(after))
        for path, written in after.items():
            self.assertGreater(written, before[path], path)

    def test_without_a_terminal(self):
        process, _ = self.start(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        self.assertIsNone(process.poll(), "nohup is heeded")
        process.send_signal(signal.SIGTERM)
        self.expect_saved(process)


if __name__ == "__main__":
    unittest.main()
