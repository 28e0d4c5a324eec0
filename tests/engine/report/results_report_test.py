"""`fairlane report`: a page of what each command wrote, complete in itself, with the numbers of the results; the same bytes as
the command itself wrote; bounded however much there is."""
import collections
import csv
import json
import os
import re
import shutil
import subprocess
import unittest

from census_folder import census_folder
from html_page import Page
from page_rules import MOST_BYTES

BINARY = os.environ["FAIRLANE_BINARY"]
CONFIG = """\
model: census.safetensors
data: census.csv
domain: census.domain.yaml
protected: [gender]
method: eidig
global: {num: 100}
local: {num: 100}
"""
PLAN = """\
subjects: [census.yaml]
protected: all-singles
commands: [run, enumerate, verify]
output: {dir: swept}
"""
COMMANDS = {
    "run": ["--set", "output.trace=true"],
    "enumerate": ["--instances", "100"],
    "estimate": ["--error", "0.01"],
    "compare": ["--methods", "eidig,themis", "--repeats", "2", "--set", "budget.evaluations=5000"],
    "verify": ["--cells", "fairify:3"],
}


def percent(share):
    value = 100.0 * share
    if value == 0 or value >= 0.1:
        return f"{value:.2f} %"
    return f"{value:.1e} %" if value < 0.001 else f"{value:.4f} %"


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = census_folder(cls, CONFIG)
        (cls.folder / "plan.yaml").write_text(PLAN, encoding="utf-8")
        for command, options in COMMANDS.items():
            cls.fairlane(command, "census.yaml", "--out", command, *options, "--quiet")
        cls.fairlane("sweep", "run", "plan.yaml", "--quiet")

    @classmethod
    def fairlane(cls, *words, code=0):
        done = subprocess.run([BINARY, *words], cwd=cls.folder, capture_output=True, text=True, check=False)
        if done.returncode != code:
            raise AssertionError(f"{words}: {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def page(self, *dirs):
        out = self.folder / "page.html"
        self.fairlane("report", *dirs, "--out", out)
        self.source = out.read_text(encoding="utf-8")
        page = Page(self.source)
        self.assertEqual([], page.problems)
        return page

    def text_of(self, *dirs):
        return re.sub(r"\s+", " ", " ".join(self.page(*dirs).text))

    def json_of(self, path):
        return json.loads((self.folder / path).read_text(encoding="utf-8"))

    def test_commands_write_the_page_that_report_makes(self):
        for command in [*COMMANDS, "swept"]:
            path = self.folder / command / "report.html"
            written = path.read_bytes()
            path.unlink()
            self.fairlane("report", command)
            self.assertEqual(written, path.read_bytes(), command)

    def test_only_pages_are_replaced(self):
        findings = (self.folder / "run/instances.csv").read_bytes()
        refused = self.fairlane("report", "run", "--out", "run/instances.csv", code=73)
        self.assertIn("run/instances.csv: is a file, but not a page of results", refused.stderr)
        self.assertEqual(findings, (self.folder / "run/instances.csv").read_bytes())
        for _ in range(2):  # the second one replaces a page
            self.fairlane("report", "run", "--out", "again.html")

    def test_a_weight_is_told(self):
        told = self.fairlane("run", "census.yaml", "--out", "weighed", "--set", "plausibility.weight=2", "--samples", "0")
        self.assertIn("2 a nat of surprise", told.stdout)
        self.assertEqual({"weight": 2.0}, self.json_of("weighed/summary.json")["plausibility"])
        self.assertIn("preferred plausible inputs (plausibility.weight: 2)", self.text_of("weighed"))

    def test_equal_results_have_equal_pages_without_times(self):
        self.fairlane("run", "census.yaml", "--out", "run-again", *COMMANDS["run"], "--quiet", "--threads", "1")
        self.assertEqual((self.folder / "run/report.html").read_bytes(),
                         (self.folder / "run-again/report.html").read_bytes())

    def test_no_page_where_none_is_wanted(self):
        self.fairlane("estimate", "census.yaml", "--out", "bare", "--set", "output.report=false", "--error", "0.01")
        self.assertFalse((self.folder / "bare/report.html").exists())

    def test_a_run_says_how_much_exactly_or_estimated(self):
        summary, text = self.json_of("run/summary.json"), self.text_of("run")
        share = summary["domain_share"]
        for words in (f"the decision about {summary['counts']['unique_groups']:,} profiles "
                      f"({summary['counts']['unique_instances']:,} inputs) changes that eidig found",
                      f"{percent(share['share'])} {percent(share['low'])} to {percent(share['high'])} with 95 % confidence, "
                      f"by a sample of {share['groups']:,} profiles",
                      self.json_of("run/manifest.json")["inputs"]["model"]["sha256"], summary["signature"]):
            self.assertIn(words, text)

    def rows(self, path="run/instances.csv"):
        with open(self.folder / path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_the_map_counts_every_finding(self):
        rows, index = self.rows(), self.json_of("run/instances.json")
        text = self.text_of("run")
        where = text[text.index("How many of the"):text.index("A search goes where")]
        for column in index["columns"]:
            if column["holds"] != "attribute":
                continue
            counts = collections.Counter(row[column["name"]] for row in rows)
            tiles = " ".join(f"{word} {counts[code]:,}" for code, word in column["words"].items())
            self.assertIn(f"{column['name']} {tiles}", where)

    def test_pairs_are_those_with_the_widest_gap_and_profiles_come_once(self):
        widest = {}
        for row in self.rows():
            profile = tuple(value for name, value in row.items() if name in
                            ("age", "education", "occupation", "marital", "region", "race", "hours", "experience"))
            gap = abs(float(row["score"]) - float(row["pair_score"]))
            widest[profile] = max(gap, widest.get(profile, 0.0))
        expected = [f"{gap:.3f}" for gap in sorted(widest.values(), reverse=True)[:10]]
        self.assertEqual(expected, re.findall(r"Difference of the pair (\d\.\d+)\.", self.text_of("run")))
        self.assertNotIn("Severity", self.text_of("run"))

    def test_directions_add_up_to_the_findings(self):
        text = self.text_of("run")
        self.assertIn(f"gender female gender male approved = 0, approved = 1 {len(self.rows()):,}", text)

    def test_arrays_have_the_page_of_the_csv_but_for_their_format(self):
        self.fairlane("run", "census.yaml", "--out", "arrays", *COMMANDS["run"], "--set", "output.format=npy", "--quiet")
        text = (self.folder / "arrays/report.html").read_text(encoding="utf-8")
        same = text.replace("&quot;format&quot;: &quot;npy&quot;", "&quot;format&quot;: &quot;csv&quot;")
        self.assertEqual((self.folder / "run/report.html").read_text(encoding="utf-8"), same)

    def test_values_of_an_enumeration_have_shares(self):
        text = self.text_of("enumerate")
        with open(self.folder / "enumerate/values.csv", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                count, of = int(row["discriminatory_groups"]), int(row["groups"])
                self.assertIn(f"{percent(count / of)} {count:,} of {of:,}", text)

    def test_where_nobody_is_affected_there_is_a_proof_and_no_map(self):
        self.fairlane("enumerate", "census.yaml", "--out", "race", "--set", "protected=[race]", "--quiet")
        text = self.text_of("race")
        self.assertIn("Proven fair", text)
        self.assertNotIn("0 of 27,000", text)
        self.fairlane("verify", "census.yaml", "--out", "race-proof", "--set", "protected=[race]", "--quiet")
        self.assertIn("nobody&#39;s decision changes: that is proven for all inputs", self.page("race-proof") and self.source)

    def test_a_limited_region_is_no_proof_of_all(self):
        self.fairlane("enumerate", "census.yaml", "--out", "part", "--set", "protected=[race]", "--range", "age=1..2", "--quiet")
        text = self.text_of("part")
        self.assertNotIn("Proven fair", text)
        self.assertIn("Nothing but the inputs with age 1 to 2 was examined.", text)

    def test_a_shard_counts_without_shares(self):
        self.fairlane("enumerate", "census.yaml", "--out", "shard", "--shard", "2/2", "--quiet")
        text = self.text_of("shard")
        self.assertIn("How many affected profiles have each value", text)
        self.assertIn("Nothing but the inputs of part 2 of 2 was examined.", text)

    def test_a_budget_that_ended_a_search_is_a_limit(self):
        self.fairlane("run", "census.yaml", "--out", "short", "--set", "budget.evaluations=500", "--samples", "0", "--quiet")
        text = self.text_of("short")
        self.assertIn("its budget of evaluations was spent", text)
        self.assertIn("The share of all possible inputs was not measured.", text)

    def test_cells_and_methods_are_in_tables(self):
        cells = self.json_of("verify/summary.json")["cells"]
        all_cells = sum(cells.values())
        text = self.text_of("verify")
        for verdict in cells:
            self.assertIn(f"({verdict}) {percent(cells[verdict] / all_cells)} {cells[verdict]:,} of {all_cells:,}", text)
        text = self.text_of("compare")
        for method in self.json_of("compare/compare.json")["methods"]:
            measures = method["measures"]["unique_groups"]
            self.assertIn(f"{method['method']} {measures['mean']:.4g} {measures['min']:.4g} to {measures['max']:.4g}", text)
        self.assertEqual(2, self.page("compare") and self.source.count("<polyline"))
        text = self.text_of("swept")
        for cell in self.json_of("swept/sweep.json")["cells"]:
            self.assertIn(cell["cell"][:8], text)

    def test_an_audit_beside_others_says_how_to_repeat_it_and_of_whom_its_share_is(self):
        self.fairlane("audit", "census.yaml", "--time", "1", "--out", "audited", "--quiet", "--seed", "7")
        audit = self.json_of("audited/audit.json")
        text = self.text_of("audited", "run")
        self.assertIn(" ".join(audit["reproduce"]), text)
        self.assertIn("fairlane audit census.yaml --time 1 --seed 7 --out audited", text)
        self.assertNotIn("favourable: &quot;", self.source)
        name, share = audit["sets"][-1]["name"], audit["sets"][-1]["rows"]["share"]
        self.assertIn(f"Decisions differ {percent(share)} of people in the table, by {name}", text)

    def test_codes_stand_where_the_domain_is_gone_and_findings_keep_their_words(self):
        shutil.copytree(self.folder / "run", self.folder / "moved/run")
        self.assertIn("the domain file census.domain.yaml cannot be read any more", self.text_of("moved/run"))
        self.assertIn("part-time", self.text_of("moved/run"))

    def test_a_directory_without_done_says_so(self):
        shutil.copytree(self.folder / "run", self.folder / "undone")
        (self.folder / "undone/DONE").unlink()
        self.assertIn("The command did not finish", self.text_of("undone"))

    def test_many_results_are_cut_to_two_megabytes(self):
        page = self.page(*["run"] * 150)
        self.assertLess(len(self.source.encode()), MOST_BYTES)
        self.assertRegex(" ".join(page.text), r"more are in the other directories")

    def test_what_is_spoilt_is_named(self):
        for name, file, code in (("cut", "instances.csv", 65), ("gone", "summary.json", 66), ("broken", "summary.json", 65)):
            shutil.copytree(self.folder / "run", self.folder / name)
            path = self.folder / name / file
            (self.folder / name / "report.html").unlink()
            if name == "gone":
                path.unlink()
            else:
                path.write_bytes(path.read_bytes()[:-20])
            done = self.fairlane("report", name, code=code)
            self.assertRegex(done.stderr, rf"^fairlane: error: {name}/{file}[^\n]*\n$")
            self.assertFalse((self.folder / name / "report.html").exists())

    def test_other_rows_than_are_listed_are_refused(self):
        shutil.copytree(self.folder / "run", self.folder / "one-less")
        path = self.folder / "one-less/instances.csv"
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:2] + lines[3:]))
        message = (f"fairlane: error: one-less/instances.csv: has {len(lines) - 2} rows, "
                   f"expected {len(lines) - 1} as instances.json lists\n")
        for words in (["report", "one-less"], ["inspect", "one-less", "--sort", "severity"]):
            self.assertEqual(message, self.fairlane(*words, code=76).stderr)
        (self.folder / "one-less/instances.json").unlink()
        for words in (["report", "one-less"], ["inspect", "one-less", "--sort", "severity"]):
            self.assertRegex(self.fairlane(*words, code=76).stderr,
                             r"^fairlane: error: one-less/instances.json: no such file, expected [^\n]*\n$")


if __name__ == "__main__":
    unittest.main()
