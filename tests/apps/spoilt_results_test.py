"""Our own result files, cut short or edited: one line that names the file, exit 65, and no word of the library that
parses them. Where what stands in them is well-formed but wrong, `check` says so (76)."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"])
BINARY = os.environ["FAIRLANE_BINARY"]
CONFIG = SOURCE / "configs" / "tiny.yaml"
DATA, INTEGRITY = 65, 76
RANGES = [word for name, most in (("age", 1), ("education", 2), ("occupation", 1)) for word in
          ("--range", f"{name}=1..{most}")]


def fairlane(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, check=False)


class SpoiltResults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.make("run", "run", CONFIG)
        cls.make("walk", "enumerate", CONFIG)
        cls.make("compared", "compare", CONFIG, "--set", "budget.evaluations=500", "--repeats", "2", "--methods",
                 "eidig,margin")
        for shard in ("1/2", "2/2"):
            cls.make(f"shard{shard[0]}", "enumerate", CONFIG, *RANGES, "--shard", shard)

    @classmethod
    def make(cls, name, *command):
        done = fairlane(*command, "--out", cls.folder / name, "--quiet")
        assert done.returncode == 0, done.stderr

    def expect(self, code, parts, outcome):
        self.assertEqual(code, outcome.returncode, outcome.stderr)
        errors = [line for line in outcome.stderr.splitlines() if not line.startswith("fairlane: info: ")]
        self.assertEqual(1, len(errors), outcome.stderr)
        for part in ("fairlane: error: ", *parts):
            self.assertIn(part, errors[0])
        for word in ("json.exception", "[json", "parse error", "syntax error", "type must be"):
            self.assertNotIn(word, outcome.stderr)

    def spoilt(self, name, file, change):
        """A copy of results with one file changed."""
        copy = self.folder / "spoilt"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.folder / name, copy)
        text = (copy / file).read_text(encoding="utf-8")
        (copy / file).write_text(change(text), encoding="utf-8")
        return copy

    def test_what_is_malformed_is_bad_data(self):
        changes = {
            "empty": lambda text: "",
            "cut": lambda text: text[:len(text) // 2],
            "text": lambda text: "hello",
            "list": lambda text: "[1, 2]",
            "null": lambda text: "null",
            "without members": lambda text: "{}",
            "wrong types": lambda text: json.dumps({key: 3 for key in json.loads(text)}),
            "twice": lambda text: text.replace("{", '{"config": 1, "config": 2, ', 1),
        }
        readers = {
            ("run", "manifest.json"): lambda spoilt: (
                ("check", spoilt), ("inspect", spoilt), ("inspect", spoilt, "--json"),
                ("run", spoilt / "manifest.json", "--out", self.folder / "again")),
            ("run", "summary.json"): lambda spoilt: (
                ("check", spoilt), ("inspect", spoilt), ("inspect", spoilt, "--json")),
            ("walk", "manifest.json"): lambda spoilt: (
                ("inspect", spoilt), ("run", CONFIG, "--against", spoilt, "--out", self.folder / "against")),
            ("walk", "summary.json"): lambda spoilt: (
                ("inspect", spoilt), ("run", CONFIG, "--against", spoilt, "--out", self.folder / "against")),
            ("compared", "manifest.json"): lambda spoilt: (("inspect", spoilt),),
            ("compared", "compare.json"): lambda spoilt: (("inspect", spoilt), ("inspect", spoilt, "--json")),
            ("shard1", "manifest.json"): lambda spoilt: self.merges(spoilt),
            ("shard1", "counts.json"): lambda spoilt: self.merges(spoilt),
        }
        for (name, file), commands in readers.items():
            for what, change in changes.items():
                # A manifest of other JSON is well-formed: not that of the shard, or of no enumeration.
                if (name, file) in (("shard1", "manifest.json"), ("walk", "manifest.json")) and \
                        what in ("without members", "wrong types", "null"):
                    continue
                spoilt = self.spoilt(name, file, change)
                for command in commands(spoilt):
                    with self.subTest(results=name, file=file, change=what, command=command[0]):
                        self.expect(DATA, [file], fairlane(*command))

    def merges(self, spoilt):
        return (("enumerate", CONFIG, *RANGES, "--merge", spoilt, self.folder / "shard2", "--out",
                 self.folder / "merged"),)

    def test_instances_that_are_none(self):
        for what, change in (("empty", lambda text: ""), ("another header", lambda text: "a,b\n1,2\n"),
                             ("half a header", lambda text: text[:20])):
            spoilt = self.spoilt("run", "instances.csv", change)
            for command in ("check", "inspect"):
                with self.subTest(what=what, command=command):
                    self.expect(DATA, ["instances.csv:1"], fairlane(command, spoilt))
        cut = self.spoilt("run", "instances.csv", lambda text: text[:len(text) // 2])
        self.expect(INTEGRITY, ["instances.csv:", "do not hold"], fairlane("check", cut))

    def test_a_summary_that_contradicts_is_no_pair_that_fails(self):
        def more(text):
            summary = json.loads(text)
            summary["counts"]["unique_instances"] += 1
            return json.dumps(summary)

        spoilt = self.spoilt("run", "summary.json", more)
        outcome = fairlane("check", spoilt)
        self.expect(INTEGRITY, ["the summary does not hold: ", "unique_instances"], outcome)
        self.assertNotIn("pairs do not hold", outcome.stderr)
        self.assertIn("contradictions", outcome.stdout)
        counts = json.loads(fairlane("check", spoilt, "--json").stdout)
        self.assertEqual(0, counts["failed"])
        self.assertEqual(counts["instances"], counts["confirmed"])
        self.assertLess(0, counts["contradictions"])


if __name__ == "__main__":
    unittest.main()
