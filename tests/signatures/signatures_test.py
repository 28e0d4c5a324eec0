"""Fixes what the whole program finds: one table of small jobs, and a digest of what each of them writes.

signatures.json is the table. A job has a name, the commands that a person could type in a folder with the subjects of
subjects.py, the executions that must agree on it, and the signature of what its last command wrote. A refactoring
changes no signature. A commit that changes one on purpose says so, and why, in its message; nothing but

    FAIRLANE_BINARY=build/cpu/fairlane FAIRLANE_SOURCE_DIR=. python3 -B tests/signatures/signatures_test.py --update

writes them. With `--show NAME...` it prints what is digested for a job, so that two binaries can be compared by diff;
with `--execution "--backend cuda"` every job runs so, instead of with its executions. Other arguments are unittest's,
such as `-k margin`.

Digested are the files of findings and counts as they are, and the fields below of the JSON files: keys that are added
to them change nothing. Not part of a signature: times, texts for people, paths but for their last part, and results
that depend on the clock.
"""
import argparse
import copy
import csv
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

from subjects import write_subjects

BINARY = os.path.abspath(os.environ["FAIRLANE_BINARY"])
SOURCE = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"]).resolve()
TABLE = pathlib.Path(__file__).resolve().with_name("signatures.json")

# Executions by name: what a job's `also` lists, beside the first one, with which every job runs. What begins with -- is
# taken as it is.
FIRST = "best"
EXECUTIONS = {
    "best": "--backend cpu --threads 2",
    "one": "--backend cpu --threads 1 --batch 1",
    "some": "--backend cpu --threads 3 --batch 29",
    "portable": "--backend cpu:portable --threads 2 --batch 64",
    "avx2": "--backend cpu:avx2 --threads 3 --batch 7",
    "avx512": "--backend cpu:avx512 --threads 1 --batch 100",
}
INSTRUCTION_SET = "--backend cpu:"

# What of which JSON file is digested; NAME[] is every entry of a list. What is absent leaves no trace.
COUNTS = ("groups", "inputs", "samples", "hits", "global_seeds", "global_found", "global_unique", "unique_instances",
          "unique_groups", "unique_generated", "iterations", "model_evaluations")
HEAD = ("method", "scores", "protected", "variants", *(f"counts.{count}" for count in COUNTS), "undefined")
MEASURES = ("unique_groups", "unique_instances", "unique_generated", "success_rate", "iterations", "model_evaluations",
            "evaluations_per_instance", "value_coverage", "mean_distance", "recall_instances", "recall_groups")
STATISTICS = ("mean", "sd", "min", "max", "p", "p_holm", "a12")
INTERVAL = ("share", "low", "high")
SUMMARY_FIELDS = {
    "run": (*HEAD, "arithmetic", "success_rate", "evaluations_per_instance", "severity.mean", "severity.max",
            "recall.instances", "recall.groups", "recall.instances_per_million_evaluations", "path_coverage.covered",
            "path_coverage.paths", "budget", "signature"),
    "enumerate": (*HEAD, "success_rate", "evaluations_per_instance", "group_rate",
                  *(f"subsets[].{key}" for key in ("protected", "groups", "unique_groups", "unique_instances", "rate")),
                  *(f"treatment[].{key}" for key in ("attribute", "greater", "lesser", "pairs")),
                  *(f"positive[].{key}" for key in ("values", "positive", "rate")),
                  "severity_histogram[].from", "severity_histogram[].groups",
                  "written.unique_instances", "written.unique_groups", "signature"),
    "estimate": (*HEAD, "of", "confidence", *(f"success_rate.{key}" for key in INTERVAL),
                 *(f"causal_score.{key}" for key in INTERVAL), *(f"group_score.{key}" for key in INTERVAL),
                 *(f"trials.{key}" for key in ("trials", "samples", "mean", "half_width")),
                 "sets.above", "sets.largest_set", "sets.too_large",
                 *(f"sets.{which}[].{key}" for which in ("found", "undecided")
                   for key in ("protected", "share", "samples"))),
    "compare": ("protected", "variants", "budget.evaluations", "budget.iterations", "repeats", "reference",
                "methods[].method", "methods[].ran_out_of_inputs",
                *(f"methods[].measures.{measure}.{key}" for measure in MEASURES for key in STATISTICS),
                *(f"trials[].{key}" for key in ("method", "seed", "rounds", "ended_by", "global_seeds", "global_found",
                                                "undefined", *MEASURES))),
    "check": ("instances", "confirmed", "marginal", "failed"),
}
CONFIG = {
    "": ("model", "model_folder", "data", "domain", "protected[].name", "protected[].values", "out_of_domain",
         "threshold", "method", "seed"),
    "global.": ("num", "clusters", "max_iter", "step", "decay", "seeding", "seeds"),
    "local.": ("num", "step", "update_interval", "epsilon"),
    "gradient.": ("perturbation_size",),
    "aequitas.": ("acceptance", "lanes"),
    "sg.": ("t1", "t2", "samples", "frontier", "surrogate", "neighbours", "solver", "order"),
    "budget.": ("seeds", "iterations", "evaluations", "instances", "seconds"),
    "output.": ("dir", "format", "trace", "path_coverage"),
}
MANIFEST_FIELDS = (
    *(f"config.{section}{key}" for section, keys in CONFIG.items() for key in keys),
    *(f"inputs.{file}.sha256" for file in ("model", "data", "domain", "seeds")), "arithmetic", "scores",
    *(f"enumerate.{key}" for key in ("ranges", "from_data", "rows", "shard", "instances")),
    "compare.methods", "compare.repeats", "compare.against.unique_instances", "compare.against.unique_groups")
PATHS = {f"config.{key}" for key in ("model", "model_folder", "data", "domain", "global.seeds")}
COLUMNS = {
    "compare.csv": ("method", "seed", "rounds", "ended_by", "global_seeds", "global_found", *MEASURES),
    "summary.csv": ("method", "repeats", "ran_out_of_inputs",
                    *(f"{measure}_{key}" for measure in MEASURES for key in STATISTICS)),
}
FILES = ("instances.csv", "instances.npy", "instances.json", "global.csv", "values.csv", "pairs.csv")
SHOWN_WHEN_WRONG = ("summary", "manifest")  # parts of a few dozen lines
# Intervals come from functions of the C library, whose last digits may differ.
ESTIMATE_DIGITS = 9


def digest(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:16]


def values_at(value, path):
    """The values that a path of keys leads to; none where a key is absent."""
    key, _, rest = path.partition(".")
    name = key.removesuffix("[]")
    if not isinstance(value, dict) or name not in value:
        return []
    found = value[name] if key.endswith("[]") else [value[name]]
    return found if not rest else [leaf for entry in found for leaf in values_at(entry, rest)]


def rounded(value):
    return float(f"{value:.{ESTIMATE_DIGITS}g}") if isinstance(value, float) else value


def last_part(path):
    is_path = isinstance(path, str) and not path.startswith("exec:")
    return pathlib.PurePosixPath(path).name if is_path else path


def fields_text(value, fields, change=lambda path, leaf: leaf):
    """A line for every field that is there: what is digested, as a person reads it."""
    lines = []
    for path in fields:
        for leaf in values_at(value, path):
            lines.append(f"{path} = {json.dumps(change(path, leaf), sort_keys=True)}\n")
    return "".join(lines)


def summary_text(verb, summary, fields=None):
    change = (lambda _, leaf: rounded(leaf)) if verb == "estimate" else (lambda _, leaf: leaf)
    return fields_text(summary, fields or SUMMARY_FIELDS[verb], change)


def manifest_text(manifest):
    return fields_text(manifest, MANIFEST_FIELDS,
                       lambda path, leaf: last_part(leaf) if path in PATHS else leaf)


def columns_text(file, columns):
    """The named columns of a CSV file, those that it has."""
    with open(file, newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    present = [column for column in columns if column in rows[0]]
    return "".join(",".join(values) + "\n" for values in
                   [present, *([row[column] for column in present] for row in rows)])


def found_by(verb, summary):
    """How much was found: the one number of a signature that means something to a person."""
    if verb == "compare":
        return sum(trial["unique_instances"] for trial in summary["trials"])
    if verb == "check":
        return summary["confirmed"]
    return summary["counts"]["hits" if verb == "estimate" else "unique_instances"]


class Output:
    """What a command wrote.

    parts  what is digested, by name: texts, and the bytes of files
    """

    def __init__(self, verb, folder, stdout, fields=None):
        self.parts = {}
        if verb in ("estimate", "check"):
            self.summary = json.loads(stdout)
        else:
            name = "compare.json" if verb == "compare" else "summary.json"
            self.summary = json.loads((folder / name).read_text(encoding="utf-8"))
            self.manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            self.parts["manifest"] = manifest_text(self.manifest)
        self.found = found_by(verb, self.summary)
        self.parts["summary"] = summary_text(verb, self.summary, fields)
        for name in FILES:
            if (folder / name).exists():
                self.parts[name] = (folder / name).read_bytes()
        for name, columns in COLUMNS.items():
            if (folder / name).exists():
                self.parts[name] = columns_text(folder / name, columns)

    def signature(self):
        return {"found": self.found} | {name: digest(part) for name, part in sorted(self.parts.items())}

    def text(self, names=None):
        """What is digested, of these parts or of all; of other files than CSV only the size."""
        text = ""
        for name, part in sorted(self.parts.items()):
            if names is not None and name not in names:
                continue
            if isinstance(part, bytes):
                part = part.decode() if name.endswith(".csv") else f"{len(part)} bytes\n"
            text += f"--- {name}\n{part}"
        return text


class Workplace:
    """A temporary folder with the subjects, in which jobs run."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="fairlane-signatures-")
        self.path = pathlib.Path(self.folder.name)
        self.inputs = self.path / "inputs"
        self.inputs.mkdir()
        write_subjects(self.inputs, SOURCE)
        devices = subprocess.run([BINARY, "devices", "--json"], capture_output=True, text=True, check=True)
        self.instruction_sets = json.loads(devices.stdout)["cpu"]["instruction_sets"]

    def close(self):
        self.folder.cleanup()

    def lacks(self, options):
        """The instruction set that these options name and this processor lacks."""
        at = options.find(INSTRUCTION_SET)
        name = options[at + len(INSTRUCTION_SET):].split()[0] if at >= 0 else ""
        return name if name and name not in self.instruction_sets else None

    def run(self, job, options):
        """What the last command of a job wrote. Throws RuntimeError where one fails."""
        out = pathlib.Path(tempfile.mkdtemp(dir=self.path))
        try:
            for number, command in enumerate(job["commands"], 1):
                verb, *words = [str(out / word[1:]) if word[0] == "@" else word for word in shlex.split(command)]
                if verb != "check":
                    words += ["--out", str(out / str(number)), *shlex.split(options)]
                if verb in ("estimate", "check"):
                    words.append("--json")
                done = subprocess.run([BINARY, verb, *words, "--quiet"], cwd=self.inputs, capture_output=True,
                                      text=True, check=False)
                if done.returncode != 0 and not job.get("any_exit"):
                    raise RuntimeError(f"{command}: exit code {done.returncode}\n{done.stderr}")
            return Output(verb, out / str(number), done.stdout, job.get("fields"))
        finally:
            shutil.rmtree(out)


WORKPLACE = None
LEFT_OUT = []


def setUpModule():
    global WORKPLACE
    WORKPLACE = Workplace()


def tearDownModule():
    WORKPLACE.close()
    for name in sorted(set(LEFT_OUT)):
        print(f"left out: {LEFT_OUT.count(name)} executions on {name}, which this processor lacks")


def options_of(execution):
    return execution if execution.startswith("--") else EXECUTIONS[execution]


def executions_of(job):
    return [FIRST, *job.get("also", ())]


def read_table():
    return json.loads(TABLE.read_text(encoding="utf-8"))["jobs"]


def table_text(jobs):
    """The file: a line for every command, and for every other entry of a job."""
    def lines(job):
        for key, value in job.items():
            if key == "commands":
                yield '"commands": [' + (",\n" + " " * 15).join(json.dumps(command) for command in value) + "]"
            else:
                yield f"{json.dumps(key)}: {json.dumps(value)}"
    texts = ["  {" + ",\n   ".join(lines(job)) + "}" for job in jobs]
    return '{"jobs": [\n' + ",\n".join(texts) + "\n]}\n"


class Signatures(unittest.TestCase):
    """A test for every execution of every job; see add_tests."""
    maxDiff = None

    def compare_with_table(self, job, options):
        lacks = WORKPLACE.lacks(options)
        if lacks:
            LEFT_OUT.append(lacks)
            self.skipTest(f"this processor lacks {lacks}")
        output = WORKPLACE.run(job, options)
        expected, signature = job["signature"], output.signature()
        if expected == signature:
            return
        wrong = {name for name in SHOWN_WHEN_WRONG if expected.get(name) != signature.get(name)}
        self.assertEqual(expected, signature, f"{output.text(wrong)}{TABLE.name}: {job['name']} differs; compare what "
                         "--show prints with what it prints for a binary that you trust")


def add_tests(instead, first, step):
    for job in read_table()[first::step]:
        for execution in [instead] if instead else executions_of(job):
            def test(self, job=job, options=options_of(execution)):
                self.compare_with_table(job, options)
            setattr(Signatures, f"test_{job['name']}, {execution}", test)


class Table(unittest.TestCase):
    def setUp(self):
        self.jobs = read_table()

    def test_is_written_by_update_alone(self):
        self.assertEqual(table_text(self.jobs), TABLE.read_text(encoding="utf-8"))

    def test_names_are_unique(self):
        names = [job["name"] for job in self.jobs]
        self.assertEqual(sorted(set(names)), sorted(names))

    def test_most_jobs_find_something(self):
        empty = [job["name"] for job in self.jobs if job["signature"]["found"] == 0]
        self.assertLessEqual(len(empty), 2, empty)

    def test_every_method_and_command_is_there(self):
        commands = " ".join(command for job in self.jobs for command in job["commands"])
        for method in ("themis", "aequitas-random", "aequitas-semi", "aequitas-fully", "sg", "adf", "eidig", "maft",
                       "maft-nonvec", "grft", "expga", "margin", "margin-walk"):
            self.assertIn(f"method={method} ", commands + " ")
        for verb in SUMMARY_FIELDS:
            self.assertTrue(any(job["commands"][-1].startswith(verb + " ") for job in self.jobs), verb)


def changed(value):
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    return ["x"] if value is None else None


def set_field(value, path):
    """Changes the first value at a path, if there is one; whether there was."""
    key, _, rest = path.partition(".")
    name = key.removesuffix("[]")
    if not isinstance(value, dict) or name not in value or (key.endswith("[]") and not value[name]):
        return False
    owner, at = (value[name], 0) if key.endswith("[]") else (value, name)
    if rest:
        return set_field(owner[at], rest)
    owner[at] = changed(owner[at])
    return True


def with_additions(value):
    """A copy with one more key in every map."""
    if isinstance(value, dict):
        return {"added": 1, **{key: with_additions(entry) for key, entry in value.items()}}
    return [with_additions(entry) for entry in value] if isinstance(value, list) else value


class WhatASignatureSees(unittest.TestCase):
    """That the test can fail: what must change a digest does, and what must not does not."""
    JOBS = {
        "run": ["enumerate census.yaml", "run census.yaml --against @1 --set output.path_coverage=true"],
        "enumerate": ["enumerate census.yaml --set protected=[age,race] --range education=3 --instances 9"],
        "estimate": ["estimate small_h5.yaml --samples 99 --trials 2 --search-above 0.4 --largest-set 1"],
        "compare": ["compare small_h5.yaml --methods margin,themis --repeats 2 --set budget.iterations=50"],
        "check": ["run small_h5.yaml", "check @1"],
    }

    def output(self, verb, more=""):
        commands = self.JOBS[verb]
        return WORKPLACE.run({"commands": [*commands[:-1], commands[-1] + more]}, EXECUTIONS[FIRST])

    def assert_sees(self, value, fields, text, case):
        """Every field that is there, and nothing that is added."""
        before, seen = text(value), 0
        for path in fields:
            other = copy.deepcopy(value)
            if set_field(other, path):
                seen += 1
                self.assertNotEqual(digest(before), digest(text(other)), f"{case}: {path}")
        # The keys of maps that are digested whole are names of attributes.
        whole = [path for path in fields if any(isinstance(leaf, (dict, list)) for leaf in values_at(value, path))]
        added = with_additions(value)
        unlisted = [path for path in fields if path not in whole]
        self.assertEqual(fields_text(value, unlisted), fields_text(added, unlisted), case)
        return seen

    def test_every_field(self):
        for verb, fields in SUMMARY_FIELDS.items():
            output = self.output(verb)
            seen = self.assert_sees(output.summary, fields, lambda value, verb=verb: summary_text(verb, value), verb)
            self.assertGreaterEqual(seen, 4 if verb == "check" else 15, verb)
            if verb in ("run", "enumerate", "compare"):
                seen = self.assert_sees(output.manifest, MANIFEST_FIELDS, manifest_text, verb)
                self.assertGreaterEqual(seen, 40, verb)

    def test_seed(self):
        one, other = self.output("run").signature(), self.output("run", " --seed 43").signature()
        for part in ("summary", "manifest", "instances.csv"):
            self.assertNotEqual(one[part], other[part], part)

    def test_one_byte_of_a_file(self):
        output = self.output("run")
        before = output.signature()
        data = bytearray(output.parts["instances.csv"])
        data[-2] ^= 1
        output.parts["instances.csv"] = bytes(data)
        self.assertEqual(["instances.csv"], [name for name, part in output.signature().items() if part != before[name]])

    def test_neither_time_nor_version_nor_folder(self):
        output = self.output("run")
        summary, manifest = copy.deepcopy(output.summary), copy.deepcopy(output.manifest)
        summary["timing"]["total_seconds"] += 1
        manifest["fairlane"] = "99.0"
        manifest["config"]["data"] = "/elsewhere/census.csv"
        self.assertEqual(summary_text("run", output.summary), summary_text("run", summary))
        self.assertEqual(manifest_text(output.manifest), manifest_text(manifest))

    def test_columns_of_a_comparison(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "compare.csv"
            texts = []
            for line in ("margin,1,7,0.5", "margin,1,7,0.25", "margin,1,8,0.5"):
                file.write_text(f"method,seed,unique_groups,search_seconds\n{line}\n", encoding="utf-8")
                texts.append(columns_text(file, COLUMNS["compare.csv"]))
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_an_instruction_set_that_the_processor_lacks(self):
        self.assertEqual("mmx", WORKPLACE.lacks("--backend cpu:mmx --threads 1"))
        self.assertIsNone(WORKPLACE.lacks("--backend cpu:portable"))
        self.assertIsNone(WORKPLACE.lacks(EXECUTIONS[FIRST]))


def update():
    """Writes the table anew; every job's executions must agree."""
    jobs = read_table()
    for job in jobs:
        signatures = {}
        for execution in executions_of(job):
            if WORKPLACE.lacks(options_of(execution)):
                print(f"{job['name']}: {execution} is left out: this processor lacks it")
                continue
            signatures[execution] = WORKPLACE.run(job, options_of(execution)).signature()
        first = signatures[FIRST]
        for execution, signature in signatures.items():
            if signature != first:
                sys.exit(f"{job['name']}: {FIRST} and {execution} differ: {first}, {signature}; nothing is written")
        if job.get("signature") != first:
            print(f"{job['name']}: {job.get('signature', 'new')} -> {first}")
        job["signature"] = first
    TABLE.write_text(table_text(jobs), encoding="utf-8")


def show(names, execution):
    jobs = {job["name"]: job for job in read_table()}
    for name in names:
        print(f"=== {name}\n{WORKPLACE.run(jobs[name], options_of(execution)).text()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="rewrite the signatures in the table")
    parser.add_argument("--show", nargs="+", metavar="NAME", help="print what is digested for these jobs")
    parser.add_argument("--execution", metavar="OPTIONS", help="run every job so")
    parser.add_argument("--part", metavar="K/N", default="1/1", help="every Nth job, from the Kth on; ctest's entries")
    arguments, rest = parser.parse_known_args()
    if not arguments.update and not arguments.show:
        part, parts = map(int, arguments.part.split("/"))
        add_tests(arguments.execution, part - 1, parts)
        unittest.main(argv=[sys.argv[0], *rest], defaultTest=None if part == 1 else "Signatures")
    setUpModule()
    try:
        if arguments.update:
            update()
        else:
            show(arguments.show, arguments.execution or FIRST)
    finally:
        tearDownModule()


if __name__ == "__main__":
    main()
