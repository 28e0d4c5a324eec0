"""The schema that `fairlane config --schema` prints: it is one, takes every configuration of the project, and refuses
what `fairlane run` refuses."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
    import yaml
except ImportError as error:
    print(f"SKIPPED: {error}: the schema was not checked")
    sys.exit(77)

SOURCE = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"])
BINARY = os.environ["FAIRLANE_BINARY"]
LEAST = "model: nowhere.h5\ndomain: nowhere.yaml\nprotected: [age]\noutput: {dir: out}\n"
REFUSED, NOT_FOUND = 78, 66  # of run: the configuration, and one that is fine but has no files

GOOD = """
threshold: 0.25
data: null
data: x.csv
protected: age
protected: {race: [0, 4], sex: }
protected: [age, {race: [0, 4]}]
out_of_domain: clip
method: maft-nonvec
seed: 18446744073709551615
arithmetic: fast
global:
global: {num: 1, step: 2.0, decay: 0, seeding: all, seeds: null}
local: {num: 0, update_interval: inf, epsilon: 1.0e-3}
local: {update_interval: 0}
gradient: {perturbation_size: 0.5}
aequitas: {acceptance: reset, lanes: 1}
sg: {t1: 1, t2: null, samples: 100000, frontier: 65536, surrogate: cached, neighbours: local, solver: lowest}
sg: {t2: 0.5, order: confidence}
expga: {rank: null, samples: 100000, populations: 1000000}
expga: {rank: 7}
budget: {seeds: null, iterations: 1, evaluations: 9007199254740993, instances: 5, seconds: 0.5}
output: {dir: o, format: npy, trace: true, path_coverage: false}
"""
BAD = """
metod: eidig
threshold: 0
threshold: 1
threshold: null
threshold: half
protected: []
protected: {}
protected: [[age]]
protected: {race: [0]}
protected: {race: [0, 0]}
protected: {race: 0}
protected: {race: [0, 16777217]}
out_of_domain: dorp
method: eidgi
method: null
seed: -1
seed: 18446744073709551616
seed: "1"
arithmetic: exactly
global: 20
global: {nmu: 20}
global: {num: 0}
global: {num: 4294967296}
global: {num: 1.5}
global: {num: null}
global: {clusters: 10001}
global: {max_iter: 1000001}
global: {step: 0.5}
global: {step: 0}
global: {step: 16777217}
global: {decay: 1.5}
global: {seeding: null}
local: {num: -1}
local: {num: 2147483648}
local: {update_interval: soon}
local: {update_interval: -1}
local: {epsilon: 0}
gradient: {perturbation_size: 1.0e+39}
aequitas: {lanes: 0}
sg: {t1: -0.1}
sg: {t2: 2}
sg: {samples: 100001}
sg: {frontier: 65537}
sg: {surrogate: cashed}
expga: {rank: 0}
expga: {samples: 0}
expga: {populations: null}
budget: {seeds: 0}
budget: {seconds: 0}
budget: {seconds: .inf}
budget: {iterations: 1.5}
output: {dir: o, format: cvs}
output: {dir: o, trace: 1}
output: {dir: ""}
"""


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = subprocess.run([BINARY, "config", "--schema"], capture_output=True, text=True, check=True)
        cls.schema = json.loads(done.stdout)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def test_it_is_a_schema(self):
        self.assertEqual("https://json-schema.org/draft/2020-12/schema", self.schema["$schema"])
        jsonschema.Draft202012Validator.check_schema(self.schema)

    def test_defaults_are_valid(self):
        checked = 0
        for properties in (self.schema["properties"],
                           *(p["properties"] for p in self.schema["properties"].values() if "properties" in p)):
            for name, row in properties.items():
                if "default" in row:
                    with self.subTest(key=name):
                        jsonschema.Draft202012Validator(row).validate(row["default"])
                    checked += 1
        self.assertGreater(checked, 30)

    def test_it_takes_the_projects_configurations(self):
        files = [path for path in sorted((SOURCE / "configs").rglob("*.yaml"))
                 if not path.name.endswith((".domain.yaml", ".sweep.yaml"))]
        self.assertGreater(len(files), 6)
        for path in files:
            with self.subTest(path=path.name):
                self.validator.validate(yaml.safe_load(path.read_text(encoding="utf-8")))

    def test_it_refuses_what_run_refuses(self):
        for lines, code in ((GOOD, NOT_FOUND), (BAD, REFUSED)):
            for line in lines.strip().splitlines():
                key = line.split(":")[0]
                rest = "".join(f"{least}\n" for least in LEAST.splitlines() if not least.startswith(key + ":"))
                with self.subTest(line=line), tempfile.TemporaryDirectory() as folder:
                    config = pathlib.Path(folder) / "c.yaml"
                    config.write_text(rest + line + "\n", encoding="utf-8")
                    done = subprocess.run([BINARY, "run", str(config)], capture_output=True, text=True, check=False)
                    self.assertEqual(code, done.returncode, done.stderr)
                    valid = self.validator.is_valid(yaml.safe_load(rest + line))
                    self.assertEqual(code == NOT_FOUND, valid)

    def test_what_is_required(self):
        for key in ("model", "domain", "protected"):
            least = {"model": "m", "domain": "d", "protected": "a"}
            self.assertTrue(self.validator.is_valid(least))
            del least[key]
            self.assertFalse(self.validator.is_valid(least), key)


if __name__ == "__main__":
    sys.exit(unittest.main())
