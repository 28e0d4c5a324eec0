"""The reports of an audit: well-formed, complete in themselves, and with no number that audit.json has not.

`report_test.py PROGRAM`: what writes the three reports of an audit.json into a folder.
"""
import copy
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from html_page import Page
from page_rules import broken_rules
from style_sheet import luminance, schemes

PROGRAM = sys.argv.pop(1)
GOLDEN = json.loads(pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"], "tests/engine/report/audit.json")
                    .read_text(encoding="utf-8"))
AUDITS = 20  # random ones
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?")


def reports(audit):
    """(HTML, Markdown, XML) of an audit."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "audit.json").write_text(json.dumps(audit), encoding="utf-8")
        subprocess.run([PROGRAM, path / "audit.json", folder], check=True)
        return tuple((path / name).read_text(encoding="utf-8") for name in ("report.html", "report.md", "junit.xml"))


def percent(share):
    value = 100.0 * share
    if value == 0 or value >= 0.1:
        return f"{value:.2f} %"
    return f"{value:.1e} %" if value < 0.001 else f"{value:.4f} %"


def leaves(value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def numbers_of(audit):
    """Every number that a report may show, as it stands there."""
    shown = set()
    for leaf in leaves(audit):
        if isinstance(leaf, str):
            shown.update(NUMBER.findall(leaf))
        elif isinstance(leaf, (int, float)) and not isinstance(leaf, bool):
            shown.update(NUMBER.findall(f"{leaf:,} {leaf} {percent(leaf)} {leaf:.3f} {leaf:.1f} {100 * leaf:g} {leaf:.2f}"))
    return shown


def shares_of(audit):
    """What the page must say of every share."""
    for one in audit["sets"]:
        rows, plausible, domain = one["rows"], one["plausible"], one["domain"]
        yield f"{percent(rows['share'])} {rows['affected']:,} of {rows['count']:,}, counted"
        if plausible:
            yield (f"{percent(plausible['share'])} {percent(plausible['low'])} to {percent(plausible['high'])} with "
                   f"{100 * plausible['confidence']:g} % confidence; {plausible['affected']:,} of "
                   f"{plausible['people']:,} drawn")
        range_of = f"{percent(domain['low'])} to {percent(domain['high'])}" if domain["low"] != domain["high"] else ""
        yield f"{percent(domain['share'])} {range_of}".strip()
        yield f"all {domain['groups']:,} profiles counted" if domain["source"] == "count" else "a sample of "
        for rule in one["rules"]:
            yield (f"{rule['affected']:,} of {rule['rows']:,} people there are affected ({percent(rule['precision'])}); "
                   f"they are {percent(rule['coverage'])} of all affected")
        for worst in one["worst"]:
            yield f"{worst['value']} {percent(worst['share'])} {worst['affected']:,} of {worst['rows']:,}"
        for finding in one["findings"]:
            yield f"Severity {finding['severity']:.3f}."


def random_audit(seed):
    """The golden audit with other numbers throughout."""
    chance = random.Random(seed)

    def other(value):
        if isinstance(value, dict):
            return {key: item if key in ("class", "confidence", "policy", "codes", "line") else other(item)
                    for key, item in value.items()}
        if isinstance(value, list):
            return [other(item) for item in value]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        return chance.randrange(1, 10**9) if isinstance(value, int) else chance.random()

    return other(copy.deepcopy(GOLDEN))


def visible(page):
    return re.sub(r"\s+", " ", " ".join(page.text))


class Html(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.source = reports(GOLDEN)[0]
        cls.page = Page(cls.source)

    def test_keeps_every_rule_of_pages(self):
        self.assertEqual([], broken_rules(self.source))
        self.assertNotEqual([], Page("<p><b></p></b>").problems)
        self.assertNotEqual([], Page("<p>").problems)

    def test_steps_of_maps_differ_without_colours(self):
        for scheme in schemes(self.page):
            steps = [luminance(scheme.colour(f"var(--h{step})")) for step in range(6)]
            self.assertIn(steps, (sorted(steps), sorted(steps, reverse=True)), scheme.name)

    def test_every_value_is_shown_as_it_is(self):
        text = visible(self.page)
        for words in (GOLDEN["model"], "\"R&D\" <lead>", "Westen's end", *GOLDEN["reproduce"]):
            self.assertIn(words, text)


class Numbers(unittest.TestCase):
    def test_are_those_of_the_audit(self):
        first = random.randrange(10**6)
        print("seeds", first, "to", first + AUDITS - 1)
        for audit in [GOLDEN, *(random_audit(first + i) for i in range(AUDITS))]:
            source, markdown, junit = reports(audit)
            text = visible(Page(source))
            for words in shares_of(audit):
                self.assertTrue(words in text, f"the page does not say '{words}'")
            # Numbers of people, marks of a scale, how many are left out, "0 is none".
            own = {str(number) for number in range(0, 101)} | set(NUMBER.findall(" ".join(re.findall(
                r"scale(?: [\d.]+ %)+", text))))
            known = numbers_of(audit) | own
            for name, shown in (("html", text), ("md", markdown.replace("&#64;", "")),
                                ("xml", "".join(xml.etree.ElementTree.fromstring(junit).itertext()))):
                unknown = [number for number in NUMBER.findall(shown) if number.strip(",") not in known]
                self.assertEqual([], unknown[:5], name)


class Junit(unittest.TestCase):
    def test_is_xml_that_counts_right(self):
        root = xml.etree.ElementTree.fromstring(reports(GOLDEN)[2])
        self.assertEqual("testsuites", root.tag)
        suite = root.find("testsuite")
        self.assertEqual(len(suite.findall("testcase")), int(suite.get("tests")))
        self.assertEqual(len(suite.findall("testcase/failure")), int(suite.get("failures")))
        self.assertIn(GOLDEN["model"], suite.get("name"))


class Markdown(unittest.TestCase):
    def test_tables_have_as_many_cells_in_each_line(self):
        rows = 0
        for block in re.findall(r"(?:^\|.*\n)+", reports(GOLDEN)[1], re.MULTILINE):
            cells = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            self.assertEqual(1, len(cells), block)
            rows += len(block.splitlines())
        self.assertGreater(rows, 30)


if __name__ == "__main__":
    unittest.main()
