"""fairlane.audit asks the program as its command line says, and shows what it has written."""
import html.parser
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from people import BINARY, ROOT, decide, lacks, numpy, people

import fairlane

PERSON = {"sex": "Female", "age": "24-31", "line": "3"}
RESULT = {
    "command": "audit", "rows": 1500, "agreement": 0.9, "policy": {"share": "rows", "above": 0.05,
                                                                   "met": True},
    "verdict": {"level": "differs", "text": "The model treats people differently by sex."},
    "sets": [
        {"name": "sex", "protected": ["sex"],
         "rows": {"count": 1500, "affected": 150, "share": 0.1, "undefined": 0},
         "plausible": {"people": 10000, "affected": 900, "share": 0.09, "low": 0.085,
                       "high": 0.096, "confidence": 0.95},
         "domain": None, "severity": {"mean": 0.3, "max": 0.9},
         "preferences": [{"better": ["Male"], "worse": ["Female"], "rows": 150,
                          "reverse_rows": 0}],
         "worst": [{"attribute": "job", "value": "nurse", "rows": 400, "affected": 90,
                    "share": 0.225}],
         "rules": [{"text": "job is nurse", "conditions": [], "rows": 400, "affected": 90,
                    "precision": 0.225, "coverage": 0.6}],
         "findings": [{"source": "row", "line": 17, "codes": {}, "words": PERSON,
                       "changed": [{"attribute": "sex", "from": "Female", "to": "Male"}],
                       "decision": {"class": 0, "word": "granted", "score": 0.21},
                       "other": {"class": 1, "word": "refused", "score": 0.77},
                       "severity": 0.56,
                       "plausibility": {"distance": 0.02, "distance_percentile": 40.0,
                                        "surprise": 12.3, "surprise_percentile": 61.0}},
                      {"source": "search", "line": None, "codes": {}, "words": PERSON,
                       "changed": [{"attribute": "sex", "from": "Female", "to": "Male"}],
                       "decision": {"class": 0, "word": "granted", "score": None},
                       "other": {"class": 1, "word": "refused", "score": None},
                       "severity": None, "plausibility": None}],
         "not_examined": []},
        {"name": "age", "protected": ["age"],
         "rows": {"count": 1500, "affected": 0, "share": 0.0, "undefined": 0},
         "plausible": None, "domain": {"share": 0.0, "low": 0.0, "high": 0.0, "source": "count"},
         "severity": None, "preferences": [], "worst": [], "rules": [], "findings": None}]}

# Stands for the program: keeps its arguments, asks the model for two rows, writes a result.
PROGRAM = """#!{python}
import json, pathlib, re, shlex, struct, subprocess, sys
arguments = sys.argv[1:]
options = dict(re.match("--([^=]+)=?(.*)", one).groups() for one in arguments[2:])
text = pathlib.Path(arguments[1]).read_text(encoding="utf-8")
command = json.loads(re.search("^model: (.*)$", text, re.MULTILINE)[1])
words = shlex.split(command.removeprefix("exec:"))
child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
inputs = 9
child.stdin.write(struct.pack("<8sIII", b"FAIRLANE", 1, inputs, 8))
child.stdin.flush()
hello = struct.unpack("<8sIII", child.stdout.read(20))
child.stdin.write(struct.pack("<II18f", 5, 2, *[0.0] * 18))
child.stdin.flush()
answer = struct.unpack("<IIii", child.stdout.read(16))
child.stdin.close()
rest = child.stdout.read()
out = pathlib.Path(options["out"])
out.mkdir(parents=True)
(out / "asked.json").write_text(json.dumps([arguments, hello[1:], answer, len(rest),
                                            child.wait()]))
result = pathlib.Path({result!r}).read_text(encoding="utf-8")
(out / "audit.json").write_text(result, encoding="utf-8")
(out / "report.html").write_text("<html><p class=\\"x\\">caf\\u00e9 &amp; <b>\\"</b></p></html>",
                                 encoding="utf-8")
(out / "DONE").write_text("")
print(result)
sys.exit(1)
"""


def has_audit():
    return subprocess.run([BINARY, "audit", "--help"], capture_output=True).returncode == 0


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Shown(Folder):
    def audit(self, **options):
        result = self.folder / "result.json"
        result.write_text(json.dumps(RESULT), encoding="utf-8")
        program = self.folder / "program"
        program.write_text(PROGRAM.format(python=sys.executable, result=str(result)),
                           encoding="utf-8")
        program.chmod(0o755)
        with mock.patch.dict(os.environ, FAIRLANE_BINARY=str(program)):
            return fairlane.audit(decide, people(), decide(people()), ["sex", "age"], **options)

    def test_the_program_is_asked(self):
        audit = self.audit(time=7, fail_above=0.05, favourable="granted", threads=1)
        arguments, hello, answer, rest, code = json.loads(
            (audit.directory / "asked.json").read_text(encoding="utf-8"))
        self.assertEqual(["audit", str(audit.subject.config)], arguments[:2])
        for option in ("--json", "--quiet", "--time=7", "--fail-above=0.05", "--threads=1",
                       "--favourable=granted", "--allow-exec", f"--out={audit.directory}"):
            self.assertIn(option, arguments)
        self.assertEqual([1, 2, 2], hello)  # version, labels, two of them
        self.assertEqual([5, 2], answer[:2])
        self.assertEqual(audit.subject.labels(numpy.zeros((2, 9), int)).tolist(), answer[2:])
        self.assertEqual((0, 0), (rest, code))
        self.assertFalse(audit.passed)

    def test_frames(self):
        audit = self.audit()
        self.assertEqual(RESULT, audit.json)
        shares = audit.shares
        self.assertEqual(["sex", "age"], shares.index.tolist())
        self.assertEqual((150, 0.1, 0.085, 0.9), tuple(shares.loc["sex", [
            "affected", "share", "plausible_low", "severity_max"]]))
        self.assertTrue(numpy.isnan(shares.loc["age", "plausible_share"]))
        self.assertEqual("count", shares.loc["age", "domain_source"])
        findings = audit.findings
        self.assertEqual(["granted", "granted"], findings["decision"].tolist())
        self.assertEqual("sex: Female to Male", findings["changed"][0])
        self.assertEqual(61.0, findings["implausibility"][0])
        # An attribute may have the name of one of the other columns.
        self.assertEqual(("3", 17), (findings["line"][0], findings["line_"][0]))
        self.assertTrue(findings["line_"].isna()[1])
        self.assertEqual(people().index[15], findings["row"][0])
        self.assertEqual(("sex", "job is nurse", 0.225),
                         tuple(audit.rules.loc[0, ["set", "text", "precision"]]))
        self.assertEqual(("Male", "Female", 150),
                         tuple(audit.preferences.loc[0, ["better", "worse", "rows"]]))
        self.assertEqual("nurse", audit.worst.loc[0, "value"])
        self.assertIn("150 of 1,500 rows (10.00 %)", repr(audit))
        self.assertTrue(repr(audit).startswith("The model treats people differently by sex."))

    def test_nothing_found_is_empty_frames(self):
        result = self.folder / "audit.json"
        nothing = {**RESULT, "sets": RESULT["sets"][1:]}
        result.write_text(json.dumps(nothing), encoding="utf-8")
        audit = fairlane.Audit(self.folder)
        for frame in (audit.findings, audit.rules, audit.preferences, audit.worst):
            self.assertEqual(0, len(frame))
            self.assertIn("set", frame.columns)

    def test_the_report_in_a_notebook(self):
        audit = self.audit()
        report = audit.report()
        self.assertEqual(str(audit.directory / "report.html"), os.fspath(report))
        shown = []

        class Frame(html.parser.HTMLParser):
            def handle_starttag(self, tag, attributes):
                shown.append((tag, dict(attributes)))

        Frame().feed(audit._repr_html_())
        self.assertEqual(["iframe"], [tag for tag, _ in shown])
        self.assertEqual(report.path.read_text(encoding="utf-8"), shown[0][1]["srcdoc"])

    def test_files_live_as_long_as_the_audit(self):
        audit = self.audit()
        directory = audit.directory
        self.assertTrue(directory.is_dir())
        del audit
        self.assertFalse(directory.parent.exists())
        kept = self.audit(out=self.folder / "kept").directory
        self.assertEqual(self.folder / "kept" / "audit", kept)
        self.assertTrue((kept / "DONE").is_file())
        with self.assertRaisesRegex(fairlane.OutputError, "holds the results of another audit"):
            self.audit(out=self.folder / "kept")

    def test_what_is_wrong_is_said(self):
        for message, options in (("time: is 0, expected seconds above 0", {"time": 0}),
                                 ("favourable: is 'yes', expected one of the classes granted, "
                                  "refused", {"favourable": "yes"})):
            with self.assertRaisesRegex(fairlane.UsageError, message):
                self.audit(**options)
        with self.assertRaisesRegex(fairlane.ResultsError, "not the output of a finished audit"):
            fairlane.Audit(self.folder)


class Page(Folder):
    def test_the_page_holds(self):
        text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        names = {}
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)
        for block in re.findall("^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            if not has_audit():
                block = re.sub("^audit.*$", "", block, flags=re.MULTILINE)
            exec(compile(block, "docs/python.md", "exec"), names)
        self.assertGreater(len(names["outcome"].findings), 0)

    def test_the_page_names_all_options(self):
        text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        for name, parameter in inspect.signature(fairlane.audit).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY:
                default = repr(parameter.default).replace("'", '"')
                shown = name if default in ("None", "False") else f"{name}={default}"
                self.assertRegex(text, rf"\W{re.escape(shown)}\W", name)
        for name in fairlane.__all__:
            kind = getattr(fairlane, name)
            if inspect.isclass(kind) and issubclass(kind, fairlane.Error):
                if kind is not fairlane.ResultsError:
                    prefix = "fairlane." if name == "Error" else ""
                    self.assertIn(f"`{prefix}{name}`", text)


@unittest.skipUnless(has_audit(), "this fairlane has no command audit")
class Whole(Folder):
    def check(self, model, own):
        """Every row has the label that `own` gives it, and whoever is affected is counted."""
        table = people()
        draw = fairlane.prepare(model, table, protected=["sex", "owner"])
        audit = fairlane.audit(model, table, own(draw.frame()), ["sex", "owner"], time=5,
                               threads=1, out=self.folder / "audit", favourable="granted",
                               fail_above=0.001)
        self.assertEqual(1.0, audit.json["agreement"])
        self.assertFalse(audit.passed)
        codes = draw.codes
        for place, name in ((0, "sex"), (6, "owner")):
            self.assertEqual(name, draw.attributes[place].name)
            other = codes.copy()
            other[:, place] = 1 - other[:, place]
            affected = int((own(draw.frame(codes)) != own(draw.frame(other))).sum())
            self.assertEqual(affected, audit.shares.loc[name, "affected"])
            self.assertEqual(len(table), audit.shares.loc[name, "rows"])
        self.assertGreater(len(audit.findings), 0)
        self.assertTrue({"sex", "age", "changed", "decision", "severity"}
                        <= set(audit.findings.columns))
        self.assertLessEqual(set(audit.findings["decision"]), {"granted", "refused"})
        rows = audit.findings[audit.findings["source"] == "row"]
        self.assertGreater(len(rows), 0)
        words = draw.words().set_axis(table.index)
        for _, finding in rows.iterrows():
            for name in words:
                self.assertEqual(words.loc[finding["row"], name], finding[name])
        self.assertTrue(re.search("<html", audit.report().path.read_text(encoding="utf-8")))

    def test_a_function(self):
        self.check(decide, decide)

    @lacks("sklearn")
    def test_a_pipeline(self):
        from sklearn.compose import make_column_transformer
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder

        table = people()
        columns = make_column_transformer(
            (OneHotEncoder(handle_unknown="error"), ["sex", "job", "district", "owner"]),
            (SimpleImputer(), ["age", "income", "children", "rate", "points"]))
        model = make_pipeline(columns, RandomForestClassifier(20, random_state=1))
        model.fit(table, decide(table))
        self.check(model, model.predict)

    def test_who_does_not_exist_counts_nowhere(self):
        table = people()
        constraints = [{"if": {"job": "nurse"}, "then": {"sex": "Female"}},
                       {"from_data": ("children", "points")}]
        audit = fairlane.audit(decide, table, protected="sex", constraints=constraints, time=5,
                               threads=1)
        men = (table["sex"] == "Male").to_numpy()
        nurses = (table["job"] == "nurse").to_numpy()
        other = table.assign(sex=numpy.where(men, "Female", "Male"))
        own = fairlane.prepare(decide, table, protected="sex")
        flipped = own.codes.copy()
        flipped[:, 0] = 1 - flipped[:, 0]
        self.assertEqual(other["sex"].tolist(), own.frame(flipped)["sex"].tolist())
        differ = decide(own.frame()) != decide(own.frame(flipped))
        self.assertGreater((differ & nurses).sum(), 0)
        shares = audit.shares.loc["sex"]
        self.assertEqual((~(men & nurses)).sum(), shares["rows"])
        self.assertEqual((differ & ~nurses).sum(), shares["affected"])
        self.assertGreater(len(audit.findings), 0)
        self.assertNotIn("nurse", audit.findings["job"].tolist())
        for wrong in ("Wife", {"if": {}, "then": {}}, ["x"], [{"from_data": {1, 2}}]):
            with self.assertRaisesRegex(fairlane.UsageError, "^constraints: "):
                fairlane.prepare(decide, table, protected="sex", constraints=wrong)
        with self.assertRaises(fairlane.Error) as caught:
            fairlane.audit(decide, table, protected="sex", time=1,
                           constraints=[{"if": {"job": "pilot"}, "then": {"sex": "Female"}}])
        self.assertEqual(78, caught.exception.exit_code)
        self.assertIn("pilot", str(caught.exception))

    def test_a_wrong_favourable_share_is_the_programs_error(self):
        with self.assertRaises(fairlane.Error) as caught:
            fairlane.audit(decide, people(200), protected="sex", time=1, fail_above="none:2")
        self.assertIn(caught.exception.exit_code, (64, 78))


if __name__ == "__main__":
    unittest.main()
