"""The schemas in docs/schemas describe what the commands write, all of it, and refuse anything else."""
import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from census_folder import census_folder

try:
    import jsonschema
except ImportError:
    jsonschema = None

BINARY = os.environ["FAIRLANE_BINARY"]
SOURCE = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"])
SCHEMAS = SOURCE / "docs/schemas"
CONSTRAINTS = """constraints:
  - {from_data: [education, occupation]}
  - {if: {age: 18-29}, then: {experience: {at_most: 3}}}
  - {if: {gender: female, occupation: manual}, then: {hours: 2}}
  - {sum: {age: 1, education: 1, experience: -1}, at_least: 2}
"""
CONFIG = "model: census.safetensors\ndata: census.csv\ndomain: census.domain.yaml\nprotected: [age, gender]\n"
TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
}
KEYWORDS = {"$schema", "$defs", "$ref", "title", "description", "type", "properties", "required", "additionalProperties",
            "items", "enum", "const", "anyOf", "minimum", "maximum"}


def problems(schema, value, root, path="$"):
    """What in a value is not as the schema says; keywords that are not known here are problems, too."""
    yield from (f"{path}: unknown keyword {word}" for word in set(schema) - KEYWORDS)
    if "$ref" in schema:
        yield from problems(root["$defs"][schema["$ref"].removeprefix("#/$defs/")], value, root, path)
    if "anyOf" in schema and all(list(problems(one, value, root, path)) for one in schema["anyOf"]):
        yield f"{path}: none of the alternatives"
    kinds = schema.get("type", list(TYPES))
    if not any(TYPES[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield f"{path}: {value!r} is not {kinds}"
        return
    if "enum" in schema and value not in schema["enum"] or "const" in schema and value != schema["const"]:
        yield f"{path}: {value!r} is no such word"
    if TYPES["number"](value) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{path}: {value} is out of range"
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            yield from problems(schema["items"], item, root, f"{path}[{i}]")
    if isinstance(value, dict):
        yield from (f"{path}.{key}: is missing" for key in schema.get("required", []) if key not in value)
        others = schema.get("additionalProperties", True)
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, others)
            if inner is False:
                yield f"{path}.{key}: is not described"
            elif isinstance(inner, dict):
                yield from problems(inner, item, root, f"{path}.{key}")


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = census_folder(cls, CONFIG)
        cls.audit = cls.written("audit.json", "audit", "census.yaml", "--time", "5", "--fail-above", "rows:0.9")
        assert any(one["findings"] and one["rules"] for one in cls.audit["sets"])
        cls.verified = cls.written("summary.json", "verify", "census.yaml")
        cls.enumerated = cls.written("summary.json", "enumerate", "census.yaml")
        cls.run_summary = cls.written("summary.json", "run", "census.yaml", "--set", "global.num=50", "--set", "local.num=50")

    @classmethod
    def written(cls, file, *words, out="out"):
        subprocess.run([BINARY, *words, "--out", out, "--overwrite", "--quiet"], cwd=cls.folder, check=True,
                       stdout=subprocess.DEVNULL)
        value = json.loads((cls.folder / out / file).read_text(encoding="utf-8"))
        shutil.rmtree(cls.folder / out)
        return value

    @staticmethod
    def schema(name):
        return json.loads((SCHEMAS / name).read_text(encoding="utf-8"))

    def expect_valid(self, name, value):
        schema = self.schema(name)
        self.assertEqual([], list(problems(schema, value, schema)))
        if jsonschema is not None:
            validator = jsonschema.validators.validator_for(schema)
            validator.check_schema(schema)
            validator(schema).validate(value)

    def test_an_audit_is_as_described(self):
        self.expect_valid("audit.schema.json", self.audit)
        golden = json.loads((SOURCE / "tests/engine/report/audit.json").read_text(encoding="utf-8"))
        self.expect_valid("audit.schema.json", golden)

    def test_a_summary_is_as_described(self):
        self.expect_valid("run_summary.schema.json", self.run_summary)
        for options in (["--samples", "0"], ["--set", "budget.evaluations=300"], ["--set", "output.columns=inputs"],
                        ["--set", "protected=[race]", "--set", "output.path_coverage=true"]):
            words = ["run", "census.yaml", "--set", "global.num=20", "--set", "local.num=20", *options]
            self.expect_valid("run_summary.schema.json", self.written("summary.json", *words))

    def constrain(self):
        domain = self.folder / "census.domain.yaml"
        text = domain.read_text(encoding="utf-8")
        self.addCleanup(domain.write_text, text, encoding="utf-8")
        domain.write_text(text + CONSTRAINTS, encoding="utf-8")

    def test_a_verification_is_as_described(self):
        name = "verify_summary.schema.json"
        words = ["verify", "census.yaml", "--set", "protected=[gender]"]
        self.assertNotIn("empty_cells", self.described(name, *words, "--cells", "fairify:3"))
        self.described(name, *words, "--relax", "hours=1", "--where", "education + hours <= 4")
        self.described(name, *words, "--margin", "0.001", "--range", "hours=2..3")
        shares = self.described(name, *words, "--quantify", "50")
        self.constrain()
        self.assertIn("empty_cells", self.described(name, *words, "--cells", "fairify:2"))
        constrained = self.described(name, *words, "--quantify", "50")
        self.assertLess(constrained["shares"]["groups"], shares["shares"]["groups"])

    def test_an_enumeration_is_as_described(self):
        name = "enumerate_summary.schema.json"
        for options in (["--set", "protected=[gender]"], ["--set", "protected=[age, race, gender]"],
                        ["--set", "output.format=none"], ["--range", "hours=2..3"]):
            self.assertNotIn("infeasible", self.described(name, "enumerate", "census.yaml", *options))
        self.constrain()
        for options in (["--set", "protected=[gender]"], ["--set", "protected=[age, race, gender]"]):
            self.assertGreater(self.described(name, "enumerate", "census.yaml", *options)["infeasible"], 0)

    def described(self, name, *words):
        value = self.written("summary.json", *words)
        self.expect_valid(name, value)
        return value

    def test_whatever_is_missing_or_added_is_refused(self):
        for name, value in (("audit.schema.json", self.audit), ("run_summary.schema.json", self.run_summary),
                            ("verify_summary.schema.json", self.verified),
                            ("enumerate_summary.schema.json", self.enumerated)):
            schema = self.schema(name)
            refused = 0
            for key in schema["required"]:
                changed = copy.deepcopy(value)
                del changed[key]
                refused += bool(list(problems(schema, changed, schema)))
                changed = copy.deepcopy(value)
                changed[key] = {"unheard": "of"}
                refused += bool(list(problems(schema, changed, schema)))
            self.assertEqual(2 * len(schema["required"]), refused)
            self.assertNotEqual([], list(problems(schema, {**value, "more": 1}, schema)))

    def test_the_guide_names_every_member(self):
        guide = (SOURCE / "docs/reports.md").read_text(encoding="utf-8")
        guide = guide[guide.index("## `audit.json`"):]
        schema = self.schema("audit.schema.json")
        named = set(re.findall(r"`([a-z_]+)`", guide))
        for part in (schema, schema["$defs"]["set"], schema["$defs"]["finding"]):
            self.assertEqual(set(), set(part["properties"]) - named)


if __name__ == "__main__":
    unittest.main()
