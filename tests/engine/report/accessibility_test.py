"""Every page that a command writes keeps the rules of page_rules.py, and each rule is broken by a page that is spoilt for it."""
import os
import subprocess
import unittest

from census_folder import NO_LIBTORCH, SMALL_CONFIG, census_folder
from page_rules import MOST_BYTES, RULES, broken_rules

BINARY = os.environ["FAIRLANE_BINARY"]
CONFIG = SMALL_CONFIG + "retrain: {candidates: 2, accuracy_lost: 1, f1_lost: 1, check_evaluations: 5000}\n"
PLAN = "subjects: [census.yaml]\nprotected: [[gender]]\ncommands: [run, verify]\noutput: {dir: sweep}\n"
ALL_FAIR = ["--set", "protected=[race]"]
RESULTS = {
    "run": ["run", "--set", "output.trace=true"],
    "run-symbolic": ["run", "--set", "method=sg", "--set", "budget.evaluations=3000"],
    "enumerate": ["enumerate", "--instances", "100"],
    "enumerate-fair": ["enumerate", *ALL_FAIR],
    "estimate": ["estimate", "--error", "0.01"],
    "compare": ["compare", "--methods", "eidig,themis", "--repeats", "2", "--set", "budget.evaluations=5000"],
    "verify": ["verify", "--cells", "fairify:3"],
    "verify-fair": ["verify", *ALL_FAIR],
    "audit": ["audit", "--time", "1"],
    "audit-fair": ["audit", *ALL_FAIR, "--time", "1"],
    "audit-of-many": ["audit", "--set", "protected=[age, race, gender]", "--time", "1"],
}
# What spoils a page of two results, by the rule that it breaks: (a part, what takes its place).
SPOILT = {
    "closed_in_order": ("</p>\n</div>\n</header>", "</div>\n</p>\n</header>"),
    "needs_nothing_else": ("body{", "body{background-image:url(paper.png);"),
    "fits_a_mail": ("</main>", f"<p>{'x' * MOST_BYTES}</p></main>"),
    "language_is_named": ('<html lang="en">', "<html>"),
    "has_one_title": ("</title>", "</title><title>Another</title>"),
    "can_be_enlarged": ("initial-scale=1", "initial-scale=1, maximum-scale=1"),
    "has_one_of_each_landmark": ("</main>", "</main><main><p>More</p></main>"),
    "is_within_landmarks": ("</main>", "</main><p>Apart</p>"),
    "landmarks_have_names_of_their_own": ('<section id="words" aria-labelledby="words-title">', '<section id="words">'),
    "headings_are_in_order": ("</h2>", "</h2><h4>Too deep</h4>"),
    "ids_are_unique": ("<p>", '<p id="main">'),
    "what_is_referred_to_is_there": ('href="#overview"', 'href="#gone"'),
    "links_have_texts": ("</main>", '<a href="#main"></a></main>'),
    "pictures_are_named_or_hidden": ('aria-hidden="true" focusable="false"', 'role="img" focusable="false"'),
    "what_is_hidden_takes_no_focus": ("<nav ", '<nav aria-hidden="true" '),
    "tables_say_what_their_cells_are": ('<th scope="row">', "<th>"),
    "lists_hold_items": ("<ul>", "<ul><p>No item</p>"),
    "focus_follows_the_page": ("<p>", '<p tabindex="1">'),
    "what_scrolls_takes_the_focus": ('<div class="wide" role="group" tabindex="0"', '<div class="wide" role="group"'),
    "texts_stand_out": ("--soft:#545d68", "--soft:#7f8a95"),
}
ALSO_SPOILT = {
    "needs_nothing_else": ("</main>", '<img src="logo.png" alt="Logo"></main>'),
    "what_is_referred_to_is_there": ('aria-labelledby="words-title"', 'aria-labelledby="gone" aria-label="Words"'),
    "headings_are_in_order": ("</main>", "<h1>A second one</h1></main>"),
    "landmarks_have_names_of_their_own": ("</main>", "".join(2 * ['<section aria-label="More"><p>x</p></section>']) + "</main>"),
    "pictures_are_named_or_hidden": ("</main>", '<svg viewBox="0 0 1 1"></svg></main>'),
    "tables_say_what_their_cells_are": ("<caption>", "<caption></caption><caption>"),
    "texts_stand_out": ("--soft:#a4aeb9", "--soft:#626c77"),  # in the dark
}


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = census_folder(cls, CONFIG)
        (cls.folder / "plan.yaml").write_text(PLAN, encoding="utf-8")
        for out, (command, *options) in RESULTS.items():
            cls.fairlane(command, "census.yaml", "--out", out, *options, "--quiet")
        cls.fairlane("sweep", "run", "plan.yaml", "--quiet")
        cls.dirs = [*RESULTS, "sweep"]

    @classmethod
    def fairlane(cls, *words, codes=(0,)):
        done = subprocess.run([BINARY, *words], cwd=cls.folder, capture_output=True, text=True, check=False)
        if done.returncode not in codes:
            raise AssertionError(f"{words}: {done.returncode}: {done.stdout}{done.stderr}")
        return done

    @classmethod
    def page(cls, path):
        return (cls.folder / path).read_text(encoding="utf-8")

    @classmethod
    def page_of(cls, *dirs):
        cls.fairlane("report", *dirs, "--out", "several.html")
        return cls.page("several.html")

    def test_pages_of_commands_keep_all_rules(self):
        for one in self.dirs:
            with self.subTest(one):
                self.assertEqual([], broken_rules(self.page(f"{one}/report.html")))

    def test_a_page_of_several_results_keeps_all_rules(self):
        self.assertEqual([], broken_rules(self.page_of(*self.dirs)))

    def test_pages_of_retrained_models_keep_all_rules(self):
        for out, options in {"taken": ["--set", "retrain.recipe=unaware"], "exported": ["--export"],
                             "none-better": ["--set", "retrain.accuracy_lost=0"]}.items():
            done = self.fairlane("retrain", "census.yaml", "--out", out, *options, "--quiet", codes=(0, 3, NO_LIBTORCH))
            if done.returncode == NO_LIBTORCH:
                self.skipTest(done.stderr.strip())
            with self.subTest(out):
                self.assertEqual([], broken_rules(self.page(f"{out}/report.html")))

    def test_each_rule_is_broken_by_a_page_that_is_spoilt_for_it(self):
        self.assertEqual({rule.__name__ for rule in RULES}, set(SPOILT))
        whole = self.page_of("run-symbolic", "compare")
        for rule, (part, other) in [*SPOILT.items(), *ALSO_SPOILT.items()]:
            with self.subTest(rule=rule, part=part):
                self.assertIn(part, whole)
                broken = broken_rules(whole.replace(part, other, 1))
                self.assertEqual({rule}, {name for name, _ in broken}, broken)


if __name__ == "__main__":
    unittest.main()
