"""The page of a model that was trained again: the numbers of summary.json, also where nothing was taken or trained."""
import json
import os
import subprocess
import sys
import unittest

from census_folder import NO_LIBTORCH, SMALL_CONFIG, census_folder
from html_page import Page

BINARY = os.environ["FAIRLANE_BINARY"]
CONFIG = SMALL_CONFIG + "retrain: {candidates: 2, check_evaluations: 5000}\n"
# What is retrained, and the exit code: 3 where no candidate is better.
RESULTS = {
    "taken": (0, ["--set", "retrain.recipe=unaware", "--set", "retrain.accuracy_lost=1", "--set", "retrain.f1_lost=1"]),
    "none": (3, ["--set", "retrain.accuracy_lost=0", "--set", "retrain.recipe=eidig"]),
    "exported": (0, ["--export", "--set", "retrain.recipe=eidig"]),
}


def percent(share):
    return f"{100 * share:.2f} %" if share == 0 or share >= 0.001 else f"{100 * share:.4f} %"


def cells_of(table):
    """{head of a row: its cells}"""
    rows = [[cell.text() for cell in row if cell.tag in ("th", "td")] for row in table if row.tag == "tr"]
    return {row[0]: row[1:] for row in rows}


class RetrainReport(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = census_folder(cls, CONFIG)
        cls.summaries, cls.pages = {}, {}
        for out, (code, options) in RESULTS.items():
            done = cls.fairlane("retrain", "census.yaml", "--out", out, *options, "--quiet")
            if done.returncode == NO_LIBTORCH:
                print(done.stderr.strip())
                sys.exit(77)
            if done.returncode != code:
                raise AssertionError(f"{out}: {done.returncode}: {done.stdout}{done.stderr}")
            cls.summaries[out] = json.loads((cls.folder / out / "summary.json").read_text(encoding="utf-8"))
            cls.pages[out] = Page((cls.folder / out / "report.html").read_text(encoding="utf-8"))

    @classmethod
    def fairlane(cls, *words):
        return subprocess.run([BINARY, *words], cwd=cls.folder, capture_output=True, text=True, check=False)

    def text(self, out):
        return " ".join(" ".join(self.pages[out].text).split())

    def tables(self, out):
        """{caption: rows}"""
        return {table.children()[0].text(): cells_of(table) for table in self.pages[out].find("table")}

    def test_is_the_page_that_report_makes(self):
        for out, page in self.pages.items():
            (self.folder / out / "report.html").unlink()
            done = self.fairlane("report", out)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual(page.source, (self.folder / out / "report.html").read_text(encoding="utf-8"))

    def test_says_whether_the_model_is_fairer(self):
        headings = {out: page.find("h1")[0].text() for out, page in self.pages.items()}
        self.assertEqual({"taken": "A fairer model", "none": "No candidate is better", "exported": "Rows to learn from"},
                         headings)
        before, after = (self.summaries["taken"][side]["fairness"]["joint"] for side in ("before", "after"))
        self.assertLess(after["share"], before["share"])
        self.assertIn(f"With nothing changed but age and gender, the decision changed for {percent(before['share'])} of all "
                      f"inputs before, and for {percent(after['share'])} after.", self.text("taken"))
        before = self.summaries["none"]["before"]["fairness"]["joint"]
        self.assertIsNone(self.summaries["none"]["taken"])
        self.assertIn(f"the decision changes for {percent(before['share'])} of all inputs of the original; none of the "
                      "candidates is fairer", self.text("none"))

    def test_both_models_stand_side_by_side(self):
        for out in ("taken", "none"):
            rows = next(rows for caption, rows in self.tables(out).items() if caption.startswith("The original"))
            sides = [self.summaries[out]["before"], self.summaries[out]["after"]]
            self.assertEqual(["before", "after"], rows.pop("measure"))
            expected = {"affected, of all inputs": lambda side: percent(side["fairness"]["joint"]["share"]),
                        "profiles that margin finds": lambda side: f"{side['fairness']['margin']['unique_groups']:,}",
                        **{f"{title}, held out": lambda side, name=name: percent(side["test"][name])
                           for title, name in (("accuracy", "accuracy"), ("F1", "f1"), ("AUC", "auc"))}}
            for kind, words in ("subsets", " alone"), ("others", " (not aimed at)"):
                for i, one in enumerate(sides[0]["fairness"].get(kind) or []):
                    def share(side, kind=kind, i=i):
                        found = side["fairness"][kind][i]["share"]
                        return percent(found["share"] if isinstance(found, dict) else found)
                    expected[f"by {' and '.join(one['protected'])}{words}"] = share
            self.assertIn("by gender alone", expected)
            self.assertIn("by race (not aimed at)", expected)
            self.assertEqual({name: ["-" if side is None else value(side) for side in sides]
                              for name, value in expected.items()}, rows)

    def test_every_candidate_is_listed(self):
        for out in ("taken", "none"):
            summary = self.summaries[out]
            rows = self.tables(out)["Candidates: what each came to"]
            rows.pop("candidate")
            self.assertEqual([str(i + 1) for i in range(len(summary["candidates"]))], list(rows))
            for i, one in enumerate(summary["candidates"]):
                outcome = "taken" if i == summary["taken"] else "no other is as fair and as accurate" if one["is_pareto"] else ""
                self.assertEqual([outcome, str(one["round"] + 1), f"{one['consistency']:g}", f"{one['added_rows']:,}",
                                  percent(one["domain_share"]["share"]), percent(one["validation"]["accuracy"]),
                                  percent(one["test"]["accuracy"])], rows[str(i + 1)])

    def test_what_became_worse_is_a_limit(self):
        before, after = (self.summaries["taken"][side]["fairness"]["others"] for side in ("before", "after"))
        worse = [(old, new) for old, new in zip(before, after, strict=True) if new["share"]["share"] > old["share"]["share"]]
        self.assertEqual(len(worse), self.text("taken").count(" more are affected than before: "))
        for old, new in worse:
            self.assertIn(f"By {new['protected'][0]} more are affected than before: {percent(new['share']['share'])} of all "
                          f"inputs, not {percent(old['share']['share'])}.", self.text("taken"))

    def test_rows_and_inputs_are_counted(self):
        for out in ("taken", "none"):
            rows = self.summaries[out]["rows"]
            self.assertIn(f"{rows['train']:,} learnt from, {rows['validation']:,} for validation, {rows['test']:,} held out",
                          self.text(out))
        exported = self.summaries["exported"]["exported"]
        self.assertIn(f"rows of the table {exported['rows']:,} rows added {exported['added_rows']:,}", self.text("exported"))
        self.assertEqual({}, self.tables("exported"))
        for out in RESULTS:
            manifest = json.loads((self.folder / out / "manifest.json").read_text(encoding="utf-8"))
            for kind in "model", "data", "domain":
                self.assertIn(manifest["inputs"][kind]["sha256"], self.text(out))


if __name__ == "__main__":
    unittest.main()
