"""Ctrl-C: the first stops a run at once and in order, with exit code 130 and nothing half written."""
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

BINARY = os.environ["FAIRLANE_BINARY"]
CONFIGS = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"], "configs")
PATIENCE = 60  # seconds; a run that does not stop would take hours


class Interrupt(unittest.TestCase):
    def test_first_interrupt(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "out")
            command = [BINARY, "run", CONFIGS / "tiny.yaml", "--out", out, "--threads", "2",
                       "--set", "global.num=5000", "--set", "local.num=2000000000"]
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            try:
                # The search has begun when the backend has been announced.
                line = process.stderr.readline()
                self.assertIn("backend", line)
                time.sleep(0.2)
                process.send_signal(signal.SIGINT)
                _, rest = process.communicate(timeout=PATIENCE)
            finally:
                process.kill()
            self.assertEqual(130, process.returncode, rest)
            self.assertEqual(1, rest.count("\n"), rest)
            self.assertTrue(rest.startswith("fairlane: error: "), rest)
            self.assertFalse((out / "DONE").exists())


if __name__ == "__main__":
    unittest.main()
