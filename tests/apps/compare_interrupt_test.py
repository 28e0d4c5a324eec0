"""SIGKILL during `compare`: the same command goes on and ends as one left alone; the files can be read by others."""
import csv
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

BINARY = os.environ["FAIRLANE_BINARY"]
CONFIG = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"], "configs", "demo", "config.yaml")
PATIENCE = 120  # seconds
REPEATS = 12


class CompareInterrupt(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def command(self, out):
        return [BINARY, "compare", CONFIG, "--out", self.folder / out, "--backend", "cpu", "--threads", "2", "--methods",
                "eidig,margin", "--repeats", str(REPEATS), "--set", "budget.evaluations=60000"]

    def rows(self, out):
        with open(self.folder / out / "compare.csv", encoding="utf-8", newline="") as file:
            return [{name: value for name, value in row.items() if not name.endswith("_seconds")}
                    for row in csv.DictReader(file)]

    def test_a_kill(self):
        state = self.folder / "out" / ".partial" / "state"
        process = subprocess.Popen(self.command("out"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + PATIENCE
        # At once, while most trials are still to come.
        while process.poll() is None and not state.exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        last = subprocess.run(self.command("out"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
        if process.returncode != 0:
            self.assertIn("goes on from the saved state", last.stderr)
        subprocess.run([*self.command("whole"), "--quiet"], stdout=subprocess.DEVNULL, check=True)
        self.assertEqual(self.rows("whole"), self.rows("out"))
        for name in ("manifest.json", "compare.svg", "curves.csv", "curves.svg", "DONE"):
            self.assertEqual((self.folder / "whole" / name).read_bytes(), (self.folder / "out" / name).read_bytes(), name)
        self.check_files()

    def check_files(self):
        """CSV and JSON say the same, and the chart is a picture without scripts."""
        out = self.folder / "out"
        document = json.loads((out / "compare.json").read_text(encoding="utf-8"))
        rows = self.rows("out")
        self.assertEqual(2 * REPEATS, len(rows))
        for trial, row in zip(document["trials"], rows):
            for name in ("method", "seed", "unique_groups", "model_evaluations", "mean_distance"):
                self.assertEqual(str(trial[name]), row[name])
        with open(out / "summary.csv", encoding="utf-8", newline="") as file:
            summary = list(csv.DictReader(file))
        self.assertEqual(["eidig", "margin"], [row["method"] for row in summary])
        for method, row in zip(document["methods"], summary):
            mean = method["measures"]["unique_instances"]["mean"]
            self.assertAlmostEqual(mean, float(row["unique_instances_mean"]))
        chart = xml.etree.ElementTree.parse(out / "compare.svg").getroot()
        tags = {element.tag.rsplit("}", 1)[1] for element in chart.iter()}
        self.assertEqual({"svg", "title", "style", "text", "line", "circle", "rect"}, tags)
        dots = [element for element in chart.iter() if element.tag.endswith("circle")]
        self.assertEqual(2 * 2 * REPEATS, len(dots), "a dot for each trial in both panels")
        self.check_curves(document)

    def check_curves(self, document):
        """The table of curves and their picture show what compare.json says."""
        out = self.folder / "out"
        with open(out / "curves.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        points = document["curve_points"]
        self.assertEqual(2 * REPEATS * points, len(rows))
        expected = [{"method": trial["method"], "seed": str(trial["seed"]), "point": str(i + 1),
                     **{name: str(values[i]) for name, values in trial["curve"].items()}}
                    for trial in document["trials"] for i in range(points)]
        self.assertEqual(expected, rows)
        for m, method in enumerate(document["methods"]):
            of_method = [trial["curve"]["unique_groups"] for trial in document["trials"][m * REPEATS:(m + 1) * REPEATS]]
            for mean, values in zip(method["curve"]["unique_groups"], zip(*of_method)):
                self.assertAlmostEqual(mean, sum(values) / REPEATS)
        chart = xml.etree.ElementTree.parse(out / "curves.svg").getroot()
        tags = {element.tag.rsplit("}", 1)[1] for element in chart.iter()}
        self.assertEqual({"svg", "title", "style", "text", "line", "polygon", "polyline"}, tags)
        bands = [element for element in chart.iter() if element.tag.endswith("polygon")]
        self.assertEqual(2 * 2, len(bands), "a band for each method in both panels")


if __name__ == "__main__":
    unittest.main()
