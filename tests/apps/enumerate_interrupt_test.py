"""Ctrl-C and SIGKILL during `enumerate`: the same command run again goes on, and ends with the bytes of one left alone."""
import os
import pathlib
import random
import re
import signal
import subprocess
import tempfile
import time
import unittest

BINARY = os.environ["FAIRLANE_BINARY"]
DEMO = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"], "configs", "demo")
PATIENCE = 120  # seconds
GOES_ON = "going on after"
WIDER = 4  # values of each attribute, times what the demo's domain has: an enumeration of some seconds


class EnumerateInterrupt(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.out = self.folder / "out"
        self.state = self.out / ".partial" / "state"
        domain = (DEMO / "census.domain.yaml").read_text(encoding="utf-8")
        domain = re.sub(r", categories: \[[^]]*\]", "", domain)
        lines, widened = [], 0
        for line in domain.splitlines():
            if "high:" in line and "protected: true" not in line and widened < 5:
                line = re.sub(r"high: (\d+)", lambda m: f"high: {(int(m[1]) + 1) * WIDER - 1}", line)
                widened += 1
            lines.append(line)
        (self.folder / "domain.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (self.folder / "walk.yaml").write_text(
            f"model: {DEMO / 'census.safetensors'}\ndomain: domain.yaml\nprotected: [gender]\n"
            "method: themis\noutput: {dir: unused}\n", encoding="utf-8")

    def command(self, out, *arguments):
        return [BINARY, "enumerate", self.folder / "walk.yaml", "--out", out, "--backend", "cpu", "--threads", "2",
                "--instances", "500", *arguments]

    def start(self, *arguments):
        process = subprocess.Popen(self.command(self.out, *arguments), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def expect_whole(self):
        whole = self.folder / "whole"
        subprocess.run(self.command(whole, "--quiet"), stdout=subprocess.DEVNULL, check=True)
        for name in ("instances.csv", "values.csv", "pairs.csv", "manifest.json", "DONE"):
            self.assertEqual((whole / name).read_bytes(), (self.out / name).read_bytes(), name)
        self.assertFalse(self.state.parent.exists())

    def test_kills_and_signals(self):
        chance = random.Random(5)
        went_on = 0
        for turn in range(8):
            before = self.state.stat().st_ino if self.state.exists() else None
            process = self.start("--checkpoint", "0.01")
            deadline = time.monotonic() + PATIENCE
            while process.poll() is None and time.monotonic() < deadline and (
                    not self.state.exists() or self.state.stat().st_ino == before):
                time.sleep(0.002)
            # The first is killed as soon as its first state is there, while most of it is still to come: however
            # fast the machine, the next one has something to go on from.
            if turn > 0:
                time.sleep(chance.uniform(0.0, 0.3))
            process.send_signal(signal.SIGKILL if turn % 2 == 0 else signal.SIGINT)
            _, rest = process.communicate(timeout=PATIENCE)
            went_on += GOES_ON in rest
            self.assertIn(process.returncode, (0, 75, -signal.SIGKILL), rest)
            if process.returncode == 0:
                break
        if process.returncode != 0:
            last = subprocess.run(self.command(self.out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  check=True)
            went_on += GOES_ON in last.stderr
        self.assertGreater(went_on, 0)
        self.expect_whole()


if __name__ == "__main__":
    unittest.main()
