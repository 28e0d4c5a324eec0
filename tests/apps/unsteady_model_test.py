"""A program that answers equal rows differently: the run says so in one line, exit 76, and calls nothing a bug."""
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ["FAIRLANE_BINARY"]
CHILD = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"]) / "tests" / "models" / "exec" / "child.py"


class UnsteadyModel(unittest.TestCase):
    def test_it_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "domain.yaml").write_text(
                "attributes:\n  - {name: age, low: 0, high: 99}\n  - {name: sex, low: 0, high: 1}\n", encoding="utf-8")
            command = shlex.join([sys.executable, "-B", str(CHILD), "forgets"])
            (root / "config.yaml").write_text(
                f"model: \"exec:{command}\"\ndomain: domain.yaml\nprotected: [sex]\nmethod: themis\n"
                "global: {num: 80}\noutput: {dir: out}\n", encoding="utf-8")
            done = subprocess.run([BINARY, "run", "config.yaml", "--allow-exec", "--exec-children", "1", "--quiet"],
                                  capture_output=True, text=True, cwd=root)
            self.assertEqual(76, done.returncode, done.stderr)
            self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
            self.assertIn("answers equal rows differently", done.stderr)
            self.assertIn("child.py", done.stderr)
            self.assertNotIn("bug", done.stderr)
            self.assertFalse((root / "out" / "DONE").exists())


if __name__ == "__main__":
    unittest.main()
