"""A `fairlane prepare` that is killed at any instant leaves a whole file or none, and the same command run again writes
the bytes of one that was left alone, and removes what the killed one had begun."""
import os
import pathlib
import random
import subprocess
import tempfile
import time
import unittest

BINARY = os.path.abspath(os.environ["FAIRLANE_BINARY"])
DOMAIN = """label: y
attributes:
  - {name: a, bins: [-1, 9, 99, 999, 100000]}
  - {name: b, categories: [red, green, blue], missing: mode}
"""
ROWS, KILLS, SEED = 100_000, 12, 14


class PrepareInterrupt(unittest.TestCase):
    def test_killed_at_any_instant(self):
        draw = random.Random(SEED)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "d.yaml").write_text(DOMAIN)
            words = ["red", "green", "blue", ""]
            (folder / "raw.csv").write_text("a,b,y\n" + "".join(
                f"{draw.randrange(100_000)},{draw.choice(words)},{draw.randrange(2)}\n" for _ in range(ROWS)))

            def start(*arguments):
                return subprocess.Popen([BINARY, "prepare", *arguments, "--domain", "d.yaml", "--quiet"], cwd=folder,
                                        stdout=subprocess.DEVNULL)

            begun = time.monotonic()
            self.assertEqual(0, start("raw.csv", "--out", "whole.csv").wait())
            seconds = time.monotonic() - begun
            whole = (folder / "whole.csv").read_bytes()
            self.assertEqual(0, start("whole.csv", "--decode", "--out", "words.csv").wait())
            decoded = (folder / "words.csv").read_bytes()
            for kill in range(KILLS):
                decodes = kill % 2 == 1
                arguments = ("whole.csv", "--decode", "--out", "out.csv") if decodes else ("raw.csv", "--out", "out.csv")
                wanted = decoded if decodes else whole
                child = start(*arguments)
                time.sleep(seconds * draw.random())
                child.kill()
                child.wait()
                out = folder / "out.csv"
                if out.exists():
                    self.assertEqual(wanted, out.read_bytes(), f"kill {kill} of seed {SEED}")
                self.assertEqual(0, start(*arguments, "--force").wait())
                self.assertEqual(wanted, out.read_bytes(), f"kill {kill} of seed {SEED}")
                self.assertEqual([], list(folder.glob("*.partial")), f"kill {kill} of seed {SEED}")
                out.unlink()


if __name__ == "__main__":
    unittest.main()
