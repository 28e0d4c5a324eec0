"""The notebook of the documentation holds: its cells run from top to end, with their asserts.

By nbclient, in a kernel of this interpreter, where nbclient and ipykernel are installed; otherwise
cell after cell in one namespace of this process. The test says which.
"""
import ast
import json
import os
import sys
import tempfile
import unittest

from people import ROOT, lacks

PATH = ROOT / "docs" / "audit.ipynb"
SECONDS = 120  # of a cell


def codes(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def execute(cells):
    """Runs cells in one namespace. Returns the value of each one's last expression."""
    names, shown = {"__name__": "__main__"}, []
    for number, text in enumerate(cells):
        tree = ast.parse(text, f"cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), names)
        value = None
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
        shown.append("" if value is None else getattr(value, "_repr_html_", value.__repr__)())
    return shown


class Notebook(unittest.TestCase):
    def setUp(self):
        self.notebook = json.loads(PATH.read_text(encoding="utf-8"))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_it_is_small_and_has_no_outputs(self):
        self.assertLess(PATH.stat().st_size, 20000)
        for cell in self.notebook["cells"]:
            self.assertEqual([], cell.get("outputs", []))
            self.assertIsNone(cell.get("execution_count"))

    def check(self, shown):
        self.assertEqual(len(codes(self.notebook)), len(shown))
        self.assertEqual(1, sum("<iframe sandbox" in text for text in shown))
        self.assertIn("ModelError", shown[-1])
        self.assertIn("raised ZeroDivisionError", shown[-1])

    def test_its_cells_run_in_one_namespace(self):
        print("executed in one namespace by", sys.executable)
        self.check(execute(codes(self.notebook)))

    @lacks("nbclient", "ipykernel")
    def test_its_cells_run_in_a_kernel(self):
        import nbclient
        import nbformat

        print("executed by nbclient in a kernel of", sys.executable)
        os.environ["PYTHONPATH"] = str(ROOT / "python")
        self.addCleanup(os.environ.pop, "PYTHONPATH")
        notebook = nbformat.read(PATH, as_version=4)
        nbclient.NotebookClient(notebook, timeout=SECONDS, kernel_name="python3").execute()
        shown = []
        for cell in notebook.cells:
            if cell.cell_type == "code":
                data = [one.data for one in cell.outputs if one.output_type == "execute_result"]
                shown.append("".join(one.get("text/html", one["text/plain"]) for one in data))
        self.check(shown)

    def test_a_cell_that_does_not_hold_is_seen(self):
        with self.assertRaises(AssertionError):
            execute([*codes(self.notebook)[:1], "assert len(people) == 0"])


if __name__ == "__main__":
    unittest.main()
