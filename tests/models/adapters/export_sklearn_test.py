"""export_sklearn.py ends every failure with one line and an exit code of its own, never with a traceback.

Small modules stand for numpy and scikit-learn, so that the test needs neither.
"""
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"]) / "models" / "adapters" / "export_sklearn.py"
MODELS = """
import warnings
class RandomForestClassifier:
    pass
class Pipeline:
    pass
class Strange:
    pass
"""


class ExportSklearn(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "numpy.py").write_text("", encoding="utf-8")
        (self.folder / "sklearn.py").write_text("__version__ = '1.0'\n", encoding="utf-8")
        (self.folder / "joblib.py").write_text("from pickle import load\n", encoding="utf-8")
        (self.folder / "planted_models.py").write_text(MODELS, encoding="utf-8")
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        sys.modules.pop("planted_models", None)
        import planted_models
        self.models = planted_models

    def save(self, model):
        (self.folder / "model.joblib").write_bytes(pickle.dumps(model))

    def export(self, *arguments, code, says, lines=1):
        done = subprocess.run([sys.executable, "-B", str(SCRIPT), *arguments], capture_output=True, text=True,
                              cwd=self.folder, env=os.environ | {"PYTHONPATH": str(self.folder)})
        self.assertEqual(code, done.returncode, done.stderr)
        self.assertEqual("", done.stdout)
        self.assertEqual(lines, len(done.stderr.splitlines()), done.stderr)
        for part in ("export_sklearn: error: ", *says):
            self.assertIn(part, done.stderr)

    def test_usage(self):
        self.export(code=64, says=["MODEL.joblib MODEL.json"])

    def test_a_missing_file_and_a_folder(self):
        self.export("none.joblib", "m.json", code=66, says=["none.joblib", "is no file"])
        self.export(".", "m.json", code=66, says=["is no file"])

    def test_a_wrong_file(self):
        (self.folder / "model.joblib").write_text("age,sex\n1,2\n", encoding="utf-8")
        self.export("model.joblib", "m.json", code=65, says=["model.joblib: cannot be loaded (UnpicklingError"])
        (self.folder / "model.joblib").write_bytes(b"")
        self.export("model.joblib", "m.json", code=65, says=["EOFError"])

    def test_an_unsupported_model(self):
        self.save(self.models.Strange())
        self.export("model.joblib", "m.json", code=65, says=["Strange: expected one of DecisionTreeClassifier"])
        self.save({"model": 1})
        self.export("model.joblib", "m.json", code=65, says=["dict: expected one of"])
        self.save(self.models.Pipeline())
        self.export("model.joblib", "m.json", code=65, says=["Pipeline", "fairlane_adapter.py"])
        self.save(self.models.RandomForestClassifier())
        self.export("model.joblib", "m.json", code=65, says=["RandomForestClassifier: is not fitted"])

    def test_a_missing_library(self):
        self.save(self.models.Strange())
        (self.folder / "planted_models.py").write_text("import a_library_that_is_not_there\n", encoding="utf-8")
        self.export("model.joblib", "m.json", code=69, says=["a_library_that_is_not_there"])
        (self.folder / "numpy.py").write_text("raise ImportError('no numpy')\n", encoding="utf-8")
        self.export("model.joblib", "m.json", code=69, says=["no numpy; install numpy"])

    def test_another_version(self):
        (self.folder / "model.joblib").write_bytes(  # a class that there is no more
            pickle.dumps(self.models.Strange()).replace(b"Strange", b"Removed"))
        self.export("model.joblib", "m.json", code=65, says=["cannot be loaded (AttributeError"])
        model = self.models.RandomForestClassifier()
        model.classes_ = [0, 1]  # and nothing of what this version keeps
        self.save(model)
        self.export("model.joblib", "m.json", code=69, says=["as scikit-learn 1.0 keeps it", "estimators_"])

    def test_a_warning_is_one_line_too(self):
        (self.folder / "planted_models.py").write_text(
            MODELS.replace("class RandomForestClassifier:\n    pass",
                           "class RandomForestClassifier:\n    def __setstate__(self, state):\n"
                           "        warnings.warn('saved by 0.1,\\nnow 1.0')\n"), encoding="utf-8")
        model = self.models.RandomForestClassifier()
        model.classes_ = [0, 1]
        self.save(model)
        self.export("model.joblib", "m.json", code=65, lines=2, says=["warning: model.joblib: saved by 0.1, now 1.0"])

    def test_a_place_that_cannot_be_written(self):
        sys.modules.pop("planted_models", None)
        (self.folder / "planted_models.py").write_text(
            "class RandomForestClassifier:\n    classes_, n_features_in_, estimators_ = [0, 1], 1, []\n",
            encoding="utf-8")
        import planted_models
        self.save(planted_models.RandomForestClassifier())
        self.export("model.joblib", "none/m.json", code=73, says=["none/m.json: cannot be written"])


if __name__ == "__main__":
    unittest.main()
