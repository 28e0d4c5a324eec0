"""What gpu-check measures and prints of speed, without a GPU: its runs on the CPU, its table with made-up figures."""
import argparse
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BINARY = os.path.abspath(os.environ["FAIRLANE_BINARY"])
ROOT = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"]).resolve()
sys.path.insert(0, str(ROOT / "scripts"))

import gpu_check
import gpu_speed

EIDIG = "census age, EIDIG, local"
RANDOM = "13-64-32-16-8-4-1, 9 variants, EIDIG, local"


def search(config, backend, out, extra=(), limit=60, verb="run"):
    """As Check has it."""
    command = [BINARY, verb, str(config), "--backend", backend, "--out", str(out), "--json", "--quiet",
               *map(str, extra)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    if done.returncode != 0:
        return None, done.returncode, done.stderr.strip(), 0.0
    return json.loads(done.stdout), 0, "", 0.0


def made_up(config, _backend, _out, extra=(), _limit=60, verb="run"):
    """A GPU that takes 1 s for 10^8 local steps or groups, and half a second beside each run."""
    keys = json.loads(pathlib.Path(config).read_text(encoding="utf-8"))
    origins = keys["global"]["num"] // 2
    steps = 50_000_000 if verb == "enumerate" else origins * keys["local"]["num"]
    return {"counts": {"global_unique": origins, "global_found": origins, "groups": steps, "unique_instances": 7},
            "timing": {"search_seconds": 0.25 + steps / 1e8, "total_seconds": 0.75 + steps / 1e8}}, 0, "", 0.0


class Predicted(unittest.TestCase):
    def setUp(self):
        self.path = ROOT / "bench" / "results" / "gpu-model.json"
        self.predictions = gpu_speed.Predictions(self.path)

    def test_the_models_figures_are_found_by_case_chip_and_lanes(self):
        cases = {case["name"]: case for case in json.loads(self.path.read_text(encoding="utf-8"))["cases"]}
        for name in (EIDIG, RANDOM):
            for at in cases[name]["predictions"]:
                self.assertEqual(at["steps_per_second"], self.predictions.rate(name, at["chip"], at["lanes"]))
        self.assertGreater(self.predictions.rate("census age, walk", "H200", None), 0)
        self.assertIsNone(self.predictions.rate(EIDIG, "H200", 4_194_304))
        self.assertIsNone(self.predictions.rate(EIDIG, None, 1_000))

    def test_a_gpus_name_says_the_chip(self):
        named = {"NVIDIA H200": "H200", "NVIDIA H100 80GB HBM3": "H100", "NVIDIA A100-SXM4-80GB": None}
        self.assertEqual(named, {name: self.predictions.chip(name) for name in named})

    def test_every_case_is_the_models(self):
        listed = {case["name"] for case in gpu_speed.listed_cases()["cases"]}
        names = {name for names in (*gpu_speed.CASES, gpu_speed.WALKS) for name in names}
        self.assertEqual(set(), names - listed)

    def test_the_table(self):
        rows = [gpu_speed.with_prediction(EIDIG, {"lanes": 1_048_576, "measured": 3.2e9}, self.predictions, "H200"),
                gpu_speed.with_prediction(EIDIG, {"lanes": 4_194_304, "measured": 950e3}, self.predictions, "H200"),
                gpu_speed.with_prediction("census age, walk", {"lanes": None, "measured": 12.0}, None, None)]
        rows[0].update(predicted=1.6e9, ratio=2.0)
        self.assertEqual(["case                          lanes  measured  predicted  ratio",
                          "census age, EIDIG, local  1,048,576     3.2 G      1.6 G   2.00",
                          "census age, EIDIG, local  4,194,304     950 k          -      -",
                          "census age, walk                all        12          -      -"],
                         gpu_speed.table(rows))

    def test_few_origins_are_not_held_against_many(self):
        few = {"lanes": 65_536, "origins": 5_000, "measured": 1e6}
        self.assertIsNone(gpu_speed.with_prediction(EIDIG, few, self.predictions, "H200")["predicted"])

    def test_the_ratio_is_measured_by_predicted(self):
        predicted = self.predictions.rate(RANDOM, "H100", 1_000)
        row = gpu_speed.with_prediction(RANDOM, {"lanes": 1_000, "measured": predicted / 4}, self.predictions, "H100")
        self.assertEqual((predicted, 0.25), (row["predicted"], row["ratio"]))


class Measured(unittest.TestCase):
    """On the CPU, with the program as it is."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        absent = os.environ.get("FAIRLANE_BENCHMARKS")
        os.environ["FAIRLANE_BENCHMARKS"] = str(self.out / "none")
        self.addCleanup(lambda: os.environ.pop("FAIRLANE_BENCHMARKS") if absent is None
                        else os.environ.update(FAIRLANE_BENCHMARKS=absent))
        self.listed = gpu_speed.listed_cases()
        self.speed = gpu_speed.Speed(search, self.out, "cpu")

    def test_without_benchmarks_the_demo_is_taken(self):
        self.assertEqual("demo age, EIDIG, local",
                         gpu_speed.first_there(gpu_speed.CASES[0], self.out, self.listed)[0])
        with self.assertRaises(gpu_speed.Failed):
            gpu_speed.first_there([EIDIG], self.out, self.listed)

    def test_phases_runs_and_walks(self):
        for names in gpu_speed.CASES:
            name, keys = gpu_speed.first_there(names, self.out, self.listed)
            with self.subTest(name):
                rate = self.speed.rate_of_findings(keys)
                self.assertTrue(0.0 < rate <= 1.0)
                phase = self.speed.local_phase(keys, rate, lanes=100, steps=10_000)
                self.assertTrue(60 <= phase["origins"] <= 140, phase)
                self.assertEqual(phase["origins"] * 100, phase["local_steps"])
                self.assertAlmostEqual(phase["local_steps"] / phase["local_seconds"], phase["measured"])
                run = self.speed.whole_run(keys, rate, lanes=100, local=50)
                self.assertGreaterEqual(run["times_the_search"], 1.0)
        _, keys = gpu_speed.first_there(gpu_speed.WALKS, self.out, self.listed)
        self.assertEqual(6_750, self.speed.walk(keys, ("--shard", "1/8"))["groups"])

    def test_a_failed_run_says_why(self):
        _, keys = gpu_speed.first_there(gpu_speed.CASES[0], self.out, self.listed)
        with self.assertRaisesRegex(gpu_speed.Failed, "no.such"):
            self.speed.rate_of_findings({**keys, "model": str(self.out / "no.such")})

    def test_the_step_of_gpu_check(self):
        arguments = argparse.Namespace(out=self.out / "check", limit=600.0, quick=False, predict=False,
                                       binary=pathlib.Path(BINARY).parent)
        check = gpu_check.Check(arguments)
        check.search = made_up
        check.result["cuda"] = {"devices": [{"name": "NVIDIA H200"}]}
        with contextlib.redirect_stdout(io.StringIO()) as text:
            check.speed()
        said = text.getvalue()
        steps = json.loads((self.out / "check" / "result.json").read_text(encoding="utf-8"))["steps"]
        self.assertEqual(2 * (len(gpu_speed.LANES) + 2) + 1, len(steps))
        self.assertTrue(all(step["passed"] for step in steps), said)
        self.assertTrue(all(abs(step["measured"] / 1e8 - 1.0) < 0.3 for step in steps
                            if step.get("local_seconds")), said)
        self.assertEqual(3, sum(step["ratio"] is not None for step in steps if step["case"] == RANDOM), said)
        self.assertIn("measured  predicted  ratio", said)


if __name__ == "__main__":
    unittest.main()
