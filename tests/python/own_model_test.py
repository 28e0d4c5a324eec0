"""The page for people who have a model holds: each of its blocks runs where its library is there."""
import ast
import importlib.util
import os
import re
import sys
import unittest

from people import ROOT

import fairlane

TEXT = (ROOT / "docs" / "own_model.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def missing(block):
    """Modules that a block imports and that are not installed."""
    names = set()
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.Import):
            names.update(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
    if "xgboost" in names:
        names.add("sklearn")  # its classifiers are scikit-learn's
    if "keras" in names:  # it cannot train by itself
        backends = [one for one in ("tensorflow", "jax", "torch") if importlib.util.find_spec(one)]
        if not backends:
            return ["a backend of keras"]
        os.environ.setdefault("KERAS_BACKEND", backends[0])
    tops = {name.split(".")[0] for name in names}
    return sorted(name for name in tops if importlib.util.find_spec(name) is None)


class Page(unittest.TestCase):
    def test_every_section_runs(self):
        _, *sections = re.split(r"^## ", TEXT, flags=re.MULTILINE)
        first = BLOCK.findall(TEXT.split("\n## ")[0])
        self.assertEqual((1, 4), (len(first), len(sections)))
        for section in sections:
            title = section.splitlines()[0]
            block = "\n".join(BLOCK.findall(section))
            self.assertNotEqual("", block)
            with self.subTest(title):
                absent = missing(block)
                if absent:
                    print(f"not run: {title}: not installed for {sys.executable}: "
                          f"{', '.join(absent)}", file=sys.stderr)
                    continue
                names = {}
                exec(compile(first[0], "docs/own_model.md", "exec"), names)
                exec(compile(block, f"docs/own_model.md: {title}", "exec"), names)
                audit = names["audit"]
                self.assertIsInstance(audit, fairlane.Audit)
                # All of them prefer men, as the decisions that they learnt from.
                self.assertIn(audit.json["decision"]["favourable"]["word"], ("1", "granted"))
                self.assertGreater(audit.shares.loc["sex", "affected"], 0)
                self.assertEqual("male", audit.preferences["better"][0])
        self.assertIs(False, names["audit"].passed)


if __name__ == "__main__":
    unittest.main()
