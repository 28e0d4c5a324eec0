"""Whole runs on the CPU and on the simulated GPU, compared byte for byte: what gpusim_runs_test.py and gpu-check share."""
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "signatures"))
from subjects import write_subjects  # noqa: E402

METHODS = ("eidig", "adf", "maft", "maft-nonvec", "margin", "themis", "aequitas-random", "aequitas-semi",
           "aequitas-fully", "expga")
# By name: how the simulator and the program run.
WAYS = {
    "small batches": ({}, ("--batch", "64")),
    "chosen batch": ({}, ()),
    "random order": ({"GPUSIM_RANDOM": "1", "GPUSIM_SEED": "7"}, ("--batch", "64")),
    "races": ({"GPUSIM_RACE": "1", "GPUSIM_RANDOM": "1", "GPUSIM_SEED": "3"}, ("--batch", "96")),
    "teams of warps": ({"GPUSIM_SHARED": "65536", "GPUSIM_RACE": "1", "GPUSIM_RANDOM": "1"}, ("--batch", "64")),
    "16 KiB shared": ({"GPUSIM_SHARED": "16384"}, ("--batch", "64")),
    "2 KiB shared": ({"GPUSIM_SHARED": "2048", "GPUSIM_RACE": "1"}, ("--batch", "64")),
    "two devices": ({"GPUSIM_DEVICES": "2"}, ("--batch", "32")),
    "three devices": ({"GPUSIM_DEVICES": "3", "GPUSIM_RANDOM": "1"}, ("--batch", "16")),
}
# Subjects of tests/signatures/subjects.py, with what of them is tested: one and several protected attributes, a list of
# values, a wide network, every encoding, several outputs, gated activations, undefined outputs, keys of several words.
SUBJECTS = {
    "one attribute": ("census", "protected=[gender]"),
    "three attributes": ("census", "protected=[age, race, gender]"),
    "list of values": ("census", "protected={race: [0, 4], gender: [0, 1]}"),
    "wide network": ("many_units", "protected=[gender]"),
    "encodings": ("encoded", "protected=[sex, race]"),
    "several outputs": ("classes", "protected=[e, f]"),
    "gated": ("gated", "protected=[e]"),
    "undefined": ("undefined", "protected=[e]"),
    "keys of two words": ("beyond", "protected=[group]"),
    "keys of many words": ("vast", "protected=[group, sex]"),
}
# These have hidden layers of straight lines, and so bounds on a GPU; --cells of them.
VERIFIED = {"one attribute": "fairify:3", "three attributes": "fairify:3", "list of values": "fairify:3"}
# Shares of so few groups that all of them are evaluated, on the device.
SHARES = ["--quantify", "30", "--range", "education=3..4", "--range", "occupation=0..1", "--range", "marital=0..1",
          "--range", "region=0..1", "--range", "hours=2..3", "--range", "experience=1..2"]
# Of these a part is walked, or nothing: the whole domain is too large.
TOO_LARGE = ("encodings", "keys of two words", "keys of many words")
SHARDS = {"wide network": "1/40"}
# Kinds of reports that are no faults, each with its reason.
BENIGN = {}
PATIENCE = 280  # seconds of one run


class Case:
    def __init__(self, subject, verb, way, method="eidig"):
        self.subject, self.verb, self.way, self.method = subject, verb, way, method
        self.name = f"{subject}, {method if verb == 'run' else verb}, {way}"

    def exits(self):
        """Exit codes of a run that did what it was asked for: a few boxes leave cells unknown."""
        return (0, 3) if self.verb == "verify" else (0,)  # "shares" decides its only cell

    def arguments(self, folder):
        config, protected = SUBJECTS[self.subject]
        verb = "verify" if self.verb == "shares" else self.verb
        words = [verb, pathlib.Path(folder, f"{config}.yaml"), "--json", "--set", protected]
        if self.verb == "enumerate":
            return [*words, "--instances", "200", "--shard", SHARDS.get(self.subject, "1/1")]
        if self.verb == "verify":
            return [*words, "--cells", VERIFIED[self.subject], "--boxes", "20"]
        if self.verb == "shares":
            return words + SHARES
        settings = {"method": self.method, "seed": 7, "global.num": 30, "local.num": 8, "aequitas.lanes": 20,
                    "output.format": "csv", "output.trace": "true"}
        return words + [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def short_list():
    """Every method in every way, and every subject in some of them."""
    cases = []
    subjects, ways = itertools.cycle(SUBJECTS), itertools.cycle(WAYS)
    for method in METHODS:
        for _ in range(5):
            cases.append(Case(next(subjects), "run", next(ways), method))
    for subject in SUBJECTS:
        cases.append(Case(subject, "run", next(ways), "eidig"))
        if subject not in TOO_LARGE:
            cases.append(Case(subject, "enumerate", next(ways)))
        if subject in VERIFIED:
            cases += [Case(subject, verb, next(ways)) for verb in ("verify", "shares")]
    return cases + [Case(subject, "enumerate", "races") for subject in ("one attribute", "several outputs")]


def long_list():
    """Every method on every subject in every way."""
    cases = [Case(subject, "run", way, method) for subject in SUBJECTS for way in WAYS for method in METHODS]
    cases += [Case(subject, verb, way) for subject in VERIFIED for way in WAYS for verb in ("verify", "shares")]
    return cases + [Case(subject, "enumerate", way) for subject in SUBJECTS for way in WAYS
                    if subject not in TOO_LARGE]


class Runner:
    """Runs cases in a folder of their own."""

    def __init__(self, cpu, gpu, folder, source):
        """cpu, gpu: programs; source: the checkout"""
        self.cpu, self.gpu, self.folder = cpu, gpu, pathlib.Path(folder)
        self.subjects = self.folder / "subjects"
        self.subjects.mkdir()
        write_subjects(self.subjects, source)
        self.routes = set()

    def run(self, program, backend, case, extra, environment):
        """(summary, stderr), or the error's text and stderr"""
        out = self.folder / backend.split(":")[0]
        shutil.rmtree(out, ignore_errors=True)
        command = [program, *case.arguments(self.subjects), "--backend", backend, "--out", out, *extra]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace", check=False,
                              env={**os.environ, **environment}, timeout=PATIENCE)
        if done.returncode not in case.exits():
            return f"exit status {done.returncode}: {done.stderr[-1500:]}", done.stderr
        return json.loads(done.stdout), done.stderr

    def problems(self, case):
        """What is wrong with a case, a line each."""
        environment, extra = WAYS[case.way]
        expected, _ = self.run(self.cpu, "cpu", case, extra, {})
        if isinstance(expected, str):
            return [f"on the CPU: {expected}"]
        found, said = self.run(self.gpu, "cuda:all", case, extra, environment)
        if isinstance(found, str):
            return [found]
        self.routes |= {route for route in ("fused", "wide") if f"{route} route" in said}
        reports = [line for line in said.splitlines()
                   if line.startswith("gpusim:") and not any(kind in line for kind in BENIGN)]
        return self.differences(expected, found) + reports

    def differences(self, expected, found):
        """Names of files and keys that are not the same."""
        left, right = self.folder / "cpu", self.folder / "cuda"
        names = sorted({path.name for folder in (left, right) for path in folder.iterdir()})
        differ = [name for name in names if not self.same(left / name, right / name)]
        ignored = ("timing", "out", "execution", "backend", "device")
        return differ + [key for key in expected if key not in ignored and expected[key] != found.get(key)]

    @staticmethod
    def same(left, right):
        if not left.exists() or not right.exists():
            return False
        if left.suffix == ".csv" or left.name == "manifest.json":
            return left.read_bytes() == right.read_bytes()
        return True
