"""Ctrl-C, SIGTERM and SIGKILL: the same command run again goes on, and ends with the bytes of a run left alone."""
import fcntl
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import termios
import time
import unittest

from sturdy_jobs import is_sanitized

BINARY = os.environ["FAIRLANE_BINARY"]
CONFIGS = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"], "configs")
PATIENCE = 60  # seconds; a run that does not stop would take hours
GOES_ON = "goes on from the saved state"
SEEDS = 300 if is_sanitized() else 1800


def command(out, *arguments):
    """A run of about a second, in many small batches so that some are always done."""
    return [BINARY, "run", CONFIGS / "tiny.yaml", "--out", out, "--threads", "2", "--batch", "8",
            "--set", "protected=[age]", "--set", f"global.num={SEEDS}", "--set", "local.num=20000",
            "--set", "output.trace=true", *arguments]


class Interrupt(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name, "out")
        self.whole = pathlib.Path(folder.name, "whole")
        self.state = self.out / ".partial" / "state"

    def start(self, *arguments):
        process = subprocess.Popen(command(self.out, *arguments), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        # The search begins when the backend has been announced.
        self.assertIn("backend", process.stderr.readline())
        return process

    def saved(self):
        """What tells one state from the next; None without any."""
        return self.state.stat().st_ino if self.state.exists() else None

    def wait_for_state(self, process, before):
        while process.poll() is None and self.saved() == before:
            time.sleep(0.001)

    def start_with_a_state(self):
        """Has saved something of its own, however fast or busy the machine is."""
        before = self.saved()
        process = self.start("--checkpoint", "0.01")
        self.wait_for_state(process, before)
        return process

    def expect_whole(self):
        subprocess.run(command(self.whole, "--quiet"), stdout=subprocess.DEVNULL, check=True)
        for name in ("instances.csv", "global.csv", "manifest.json", "DONE"):
            self.assertEqual((self.whole / name).read_bytes(), (self.out / name).read_bytes(), name)
        self.assertFalse(self.state.parent.exists())

    def test_first_signal_saves(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start_with_a_state()
            process.send_signal(number)
            _, rest = process.communicate(timeout=PATIENCE)
            self.assertEqual(75, process.returncode, rest)
            line = rest.splitlines()[-1]
            self.assertTrue(line.startswith("fairlane: error: stopped; state saved in "), rest)
            self.assertFalse((self.out / "DONE").exists())
            self.assertTrue(self.state.exists())
        done = subprocess.run(command(self.out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=True)
        self.assertIn(GOES_ON, done.stderr)
        self.expect_whole()

    def test_second_signal_ends_at_once(self):
        process = self.start()
        process.send_signal(signal.SIGSTOP)  # so that both arrive
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        _, rest = process.communicate(timeout=PATIENCE)
        # Nothing more from the program; AddressSanitizer may remark on a thread that the signal met while it began.
        said = [line for line in rest.splitlines() if line.startswith("fairlane")]
        self.assertEqual((130, []), (process.returncode, said))

    def test_a_terminal_that_closes_hurries_nobody(self):
        process = self.start()
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGCONT)
        _, rest = process.communicate(timeout=PATIENCE)
        self.assertEqual(75, process.returncode, rest)
        self.assertTrue(self.state.exists())

    def test_nohup_is_heeded(self):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

        done = subprocess.Popen(command(self.out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                preexec_fn=ignore)
        self.assertIn("backend", done.stderr.readline())
        done.send_signal(signal.SIGHUP)
        _, rest = done.communicate(timeout=PATIENCE)
        self.assertEqual(0, done.returncode, rest)

    def test_a_lost_terminal_saves(self):
        """The pseudo-terminal goes while a run draws its progress there."""
        leader, follower = os.openpty()
        process = subprocess.Popen(command(self.out, "--checkpoint", "0.01"), stdin=follower, stdout=follower, stderr=follower,
                                   start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(follower, termios.TIOCSCTTY, 0))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.close(follower)
        said = b""
        while b"backend" not in said:
            said += os.read(leader, 4096)
        self.wait_for_state(process, None)
        os.close(leader)
        self.assertEqual(75, process.wait(timeout=PATIENCE))
        self.assertTrue(self.state.exists())

    def test_kills(self):
        chance = random.Random(8)
        went_on = 0
        for _ in range(6):
            process = self.start_with_a_state()
            time.sleep(chance.uniform(0.0, 0.03))  # also while the next one is written
            process.kill()
            _, rest = process.communicate(timeout=PATIENCE)
            went_on += GOES_ON in rest
            if process.returncode == 0:
                break
        subprocess.run(command(self.out, "--quiet"), stdout=subprocess.DEVNULL, check=True)
        self.assertGreater(went_on, 0)
        self.expect_whole()

    def test_kills_while_shards_are_written(self):
        shards = ("--set", "output.format=npy", "--set", "output.columns=labels", "--set", "output.shard_rows=200")
        chance = random.Random(9)
        wrote = 0
        for _ in range(6):
            process = self.start(*shards)
            written = chance.randrange(12)  # files that are there, or begun, when it is killed
            while process.poll() is None and not (self.out / ".partial" / f"instances-{written:05}.npy").exists():
                time.sleep(0.0005)
            process.kill()
            process.communicate(timeout=PATIENCE)
            wrote += process.returncode != 0
        subprocess.run(command(self.out, *shards, "--quiet", "--overwrite"), stdout=subprocess.DEVNULL, check=True)
        subprocess.run(command(self.whole, *shards, "--quiet"), stdout=subprocess.DEVNULL, check=True)
        self.assertGreater(wrote, 0)
        names = sorted(path.name for path in self.whole.iterdir())
        self.assertGreater(len([name for name in names if name.endswith(".npy")]), 12)
        self.assertEqual(names, sorted(path.name for path in self.out.iterdir()))
        for name in names:
            if name != "summary.json":
                self.assertEqual((self.whole / name).read_bytes(), (self.out / name).read_bytes(), name)

    def test_nothing_is_saved_where_inputs_are_counted(self):
        process = self.start("--set", "budget.instances=1000000000", "--set", "local.num=2000000000")
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=PATIENCE)
        self.assertEqual(130, process.returncode, rest)
        self.assertEqual(1, rest.count("\n"), rest)
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
