"""A model that is a program, from the command line: searched, checked, refused where it is not allowed, stopped where it fails."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ["FAIRLANE_BINARY"]
ROOT = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"])
DEMO, ADAPTERS = ROOT / "configs" / "demo", ROOT / "models" / "adapters"

try:
    import numpy  # noqa: F401
except ImportError:
    print("numpy is not installed for", sys.executable)
    sys.exit(77)


def adapter(function):
    return f"exec:{sys.executable} -B '{ADAPTERS / 'fairlane_adapter.py'}' '{function}'"


class ExecModel(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def fairlane(self, *arguments):
        return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True,
                              cwd=self.folder)

    def run_model(self, model, *arguments, method="themis", allow=("--allow-exec",)):
        config = self.folder / "config.yaml"
        config.write_text(f"""
model: {json.dumps(model)}
data: {DEMO / "census.csv"}
domain: {DEMO / "census.domain.yaml"}
protected: [gender]
method: {method}
global: {{num: 2000}}
local: {{num: 10}}
output: {{dir: out}}
""", encoding="utf-8")
        return self.fairlane("run", config, "--threads", 2, *allow, *arguments)

    def test_findings_are_those_of_the_rule_and_hold(self):
        model = adapter(ADAPTERS / "example_rule.py:approve")
        done = self.run_model(model)
        self.assertEqual(0, done.returncode, done.stderr)
        summary = json.loads((self.folder / "out" / "summary.json").read_text(encoding="utf-8"))
        self.assertEqual("labels", summary["scores"])
        lines = (self.folder / "out" / "instances.csv").read_text(encoding="utf-8").splitlines()
        columns = lines[0].split(",")
        self.assertGreater(len(lines), 10)
        for line in lines[1:]:  # planted: women with a degree in technical work or above need more
            person = dict(zip(columns, line.split(",")))
            self.assertGreaterEqual(int(person["education"]), 4)
            self.assertGreaterEqual(int(person["occupation"]), 3)
        checked = self.fairlane("check", "out", "--allow-exec")
        self.assertEqual(0, checked.returncode, checked.stderr)
        self.assertIn("asked again", checked.stdout)

    def test_is_sampled_only_where_that_is_asked_for(self):
        model = adapter(ADAPTERS / "example_rule.py:approve")
        shares = {}
        for name, flags in {"unasked": (), "asked": ("--samples", 300), "judged": ("--fail-above", 0.9)}.items():
            done = self.run_model(model, "--out", name, *flags)
            self.assertEqual(0, done.returncode, done.stderr)
            shares[name] = json.loads((self.folder / name / "summary.json").read_text(encoding="utf-8"))["domain_share"]
            self.assertEqual(name == "unasked", "share of the domain    not measured" in done.stdout, done.stdout)
        self.assertIsNone(shares["unasked"]["share"])
        self.assertEqual(300, shares["asked"]["groups"])
        self.assertLess(shares["judged"]["high"], 0.9)

    def test_a_table_without_labels_is_told_of(self):
        model = adapter(ADAPTERS / "example_rule.py:approve")
        rows = [line.rsplit(",", 1)[0] for line in (DEMO / "census.csv").read_text(encoding="utf-8").splitlines()]
        self.folder.joinpath("many.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
        self.folder.joinpath("two.csv").write_text("\n".join(row.rsplit(",", 2)[0] for row in rows) + "\n", encoding="utf-8")
        taken = ("does not tell how many inputs it takes, so that the last column of {}, {}, was taken for the label: "
                 "--label names another, and a table without labels needs a domain file and a configuration that are written "
                 "by hand\n")
        for command, *flags in ["audit", "--time", "1", "--out", "results"], ["init", "--out", "results.yaml"]:
            for table, protected, code, said in (
                    ("many.csv", "gender", 65, "error: many.csv: the label column 'experience' holds 5 different cells"),
                    ("many.csv", "gender", 65, taken.format("many.csv", "'experience'")),
                    ("two.csv", "race", 69, "not enough values to unpack (expected 9, got 6)"),
                    ("two.csv", "race", 69, taken.format("two.csv", "'gender'")),
                    ("two.csv", "gender", 64, "error: --protected: column 'gender' of two.csv is the label, expected an "
                                              "attribute; --label names another label\n")):
                done = self.fairlane(command, model, table, *flags, "--protected", protected, "--allow-exec", "--quiet")
                self.assertEqual(code, done.returncode, done.stderr)
                self.assertIn(said, done.stderr)
                self.assertEqual(1, done.stderr.count("\n"), done.stderr)
        self.assertEqual({"many.csv", "two.csv"}, {path.name for path in self.folder.iterdir()})

    def test_needs_permission(self):
        done = self.run_model("exec:touch trace", allow=())
        self.assertEqual(78, done.returncode, done.stderr)
        self.assertIn("--allow-exec", done.stderr)
        self.assertFalse((self.folder / "trace").exists())

    def test_children_change_nothing(self):
        model = adapter(ADAPTERS / "example_rule.py:approve")
        found = []
        for children in (1, 3):
            done = self.run_model(model, "--exec-children", children, "--out", f"{children}")
            self.assertEqual(0, done.returncode, done.stderr)
            found.append([(self.folder / f"{children}" / file).read_bytes()
                          for file in ("instances.csv", "manifest.json")])
        self.assertEqual(*found)

    def test_a_child_that_hangs_is_given_up(self):
        (self.folder / "model.py").write_text(
            "import os, time\n"
            "def decide(rows):\n"
            "    with open(f'child-{os.getpid()}', 'w'):\n"
            "        pass\n"
            "    if not os.path.exists('mended'):\n"
            "        time.sleep(1000)\n"
            "    return (rows[:, 6] > 0).astype(int)\n"
            "decide.kind, decide.outputs = 'labels', 2\n", encoding="utf-8")
        patience = "--exec-timeout", 0.5, "--exec-children", 1
        done = self.run_model(adapter("model.py:decide"), *patience, method="maft")
        self.assertEqual(75, done.returncode, done.stderr)
        self.assertIn("child 1 of 1 owes its answer to batch 1", done.stderr)
        self.assertIn("for 0.5 s, so it was killed", done.stderr)
        self.assertIn("--exec-timeout", done.stderr)
        self.assertEqual(1, len(list(self.folder.glob("child-*"))))
        (self.folder / "mended").touch()
        done = self.run_model(adapter("model.py:decide"), method="maft")
        self.assertEqual(0, done.returncode, done.stderr)
        (self.folder / "mended").unlink()
        checked = self.fairlane("check", "out", "--allow-exec", *patience)
        self.assertEqual(75, checked.returncode, checked.stderr)
        self.assertIn("for 0.5 s", checked.stderr)

    def test_a_failure_on_the_way_stops_the_run(self):
        (self.folder / "model.py").write_text(
            "import os\n"
            "def decide(rows):\n"
            "    if rows.any() and not os.path.exists('mended'):\n"
            "        raise ValueError('not yet')\n"
            "    return (rows[:, 6] > 0).astype(int)\n"
            "decide.kind = 'labels'\n", encoding="utf-8")
        done = self.run_model(adapter("model.py:decide"), method="maft")
        self.assertEqual(75, done.returncode, done.stderr)
        self.assertIn("ValueError: not yet", done.stderr)
        (self.folder / "mended").touch()
        done = self.run_model(adapter("model.py:decide"), method="maft")
        self.assertEqual(0, done.returncode, done.stderr)


if __name__ == "__main__":
    unittest.main()
