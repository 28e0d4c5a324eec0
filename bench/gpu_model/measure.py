"""Runs cases on the simulated program and counts what their phases cost.

What a step costs is the difference of two runs that are equal but for their number of rounds
(`local.num`, `global.max_iter`; of a frontier's waves, whose size is theirs, `budget.iterations`): whatever begins and ends a run falls out, and nothing needs to be
known of the kernels that a round consists of, or of how many rounds a launch does. How many steps
there were is what summary.json says. What brings the findings to the host at the end is counted apart.
"""
import csv
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess

from constants import Constants
from run_costs import count, difference, read_run, split_findings
from subjects import configuration

MOST_SEEDS = 1 << 22  # from which origins are looked for
WAVE_TESTS = 8         # of an origin, where nothing is known of more
WAVES = 768            # that a frontier's search has: local.num times global.num tests
GROWING = 8            # of them, the first ones: each has more origins than the one before


class Failed(Exception):
    """A run that ended badly; the message is its last line."""


@dataclasses.dataclass
class Slice:
    """What a phase of some rounds cost on a simulated GPU.

    lanes     under way on the chip that this is a slice of, lanes_here: in the slice
    rounds    between the shorter and the longer run; 1 of a walk
    steps     lane-steps, lane-iterations or groups
    runs      [(sign, run, events of the search)]: the longer run, and where there is one the shorter
    sums      of those events; findings: of what brings findings to the host
    """
    multiprocessors: int
    lanes: int
    lanes_here: int
    rounds: int
    steps: int
    runs: list
    sums: dict
    findings: dict


class Bench:
    """Runs the simulated program.

    fairlane  the program, linked with the simulator instead of the CUDA runtime
    folder    for configurations and results
    listed    cases.json
    """

    def __init__(self, fairlane, folder, listed):
        self.fairlane = pathlib.Path(fairlane).resolve()
        self.folder = pathlib.Path(folder).resolve()
        self.listed = listed
        self.far = round(100 * Constants().multiprocessor.hbm_latency)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.keys = {}
        self.origins = {}

    def subject(self, name):
        if name not in self.keys:
            self.keys[name] = configuration(self.listed["subjects"][name], self.folder)
        return self.keys[name]

    def case_keys(self, case):
        return {**self.subject(case["subject"]), "protected": case["protected"], "seed": 42,
                "method": case.get("method", "eidig"), "output": {"dir": "unused", "format": "none"}}

    def run(self, keys, backend, arguments=(), verb="run", environment=None):
        """Summary of one run."""
        config, out = self.folder / "config.yaml", self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        config.write_text(json.dumps(keys), encoding="utf-8")  # JSON is YAML
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GPUSIM_")}
        done = subprocess.run([str(self.fairlane), verb, str(config), "--backend", backend, "--out", str(out),
                               "--json", "--quiet", *arguments], capture_output=True, text=True,
                              errors="replace", check=False, env={**clean, **(environment or {})})
        if done.returncode != 0:
            raise Failed((done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1])
        return json.loads(done.stdout)

    def simulate(self, keys, multiprocessors, arguments=(), verb="run"):
        """(Run, summary) of a run on so many simulated multiprocessors. Reads of memory that nobody
        wrote are not looked for: that is the tests' work, and takes half of the time."""
        costs = self.folder / "costs.json"
        environment = {"GPUSIM_COST": str(costs), "GPUSIM_SMS": str(multiprocessors), "GPUSIM_INIT": "0",
                       "GPUSIM_FAR": str(self.far)}
        summary = self.run(keys, "cuda", arguments, verb, environment)
        return read_run(costs), summary

    def origin_file(self, case, lanes):
        """A table of that many inputs from which the method's local phase starts: what its global phase
        finds from uniform seeds, by the CPU."""
        key = (case["subject"], *case["protected"], case["method"])
        header, rows = self.origins.get(key, ([], []))
        seeds = max(4 * lanes, 1000)
        while len(rows) < lanes:
            keys = self.case_keys(case)
            keys["output"]["format"] = "csv"
            keys.update({"global": {"num": seeds, "seeding": "uniform"}, "local": {"num": 0}})
            self.run(keys, "cpu", ("--threads", "1"))
            header, rows = read_instances(self.folder / "out" / "instances.csv")
            if len(rows) < lanes and seeds >= MOST_SEEDS:
                raise Failed(f"{case['name']}: {seeds} seeds lead to {len(rows)} origins, {lanes} are needed")
            seeds *= 4
        self.origins[key] = header, rows
        path = self.folder / "origins.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows[:lanes]])
        return path

    def measure(self, case, lanes, multiprocessors, chip_multiprocessors, rounds=None):
        """The slice of a chip with so many lanes that has so many of its multiprocessors."""
        here = max(1, round(lanes * multiprocessors / chip_multiprocessors))
        if case["phase"] == "walk":
            return self.measure_walk(case, multiprocessors, chip_multiprocessors)
        local = case["phase"] != "global"
        keys = self.case_keys(case)
        origins = str(self.origin_file(case, here)) if local else None
        found = []
        fewer, more = rounds or self.listed["rounds"][case["phase"]]
        for number in (fewer, more):
            if local:
                keys.update({"global": {"num": here, "seeds": origins, "max_iter": 1}, "local": {"num": number}})
                if case["phase"] == "waves":
                    # The last one of the longer run has as many origins as it shall; either ends within its last.
                    before = number * (number - 1) / 2
                    keys.update({"local": {"num": WAVE_TESTS * WAVES * GROWING // more},
                                 "budget": {"iterations": round(WAVE_TESTS * here / more * (before + number / 2))}})
            else:
                keys.update({"global": {"num": here, "seeding": "uniform", "max_iter": number},
                             "local": {"num": 0}})
            found.append(self.simulate(keys, multiprocessors))
        (short, less), (long, rest) = found
        steps = rest["counts"]["iterations"] - less["counts"]["iterations"]
        return self.slice_of([(1, long), (-1, short)], multiprocessors, lanes, here, more - fewer, steps)

    def measure_walk(self, case, multiprocessors, chip_multiprocessors, shard=None):
        run, summary = self.simulate(self.case_keys(case), multiprocessors,
                                     ("--no-skip", "--shard", shard or case["shards"][0]), "enumerate")
        groups = summary["counts"]["groups"]
        lanes = groups * chip_multiprocessors // multiprocessors
        run.events = between_setup_and_end(run.events)
        return self.slice_of([(1, run)], multiprocessors, lanes, groups, 1, groups, cut=False)

    def slice_of(self, runs, multiprocessors, lanes, here, rounds, steps, cut=True):
        kept, sums, findings = [], {}, {}
        for sign, run in runs:
            search, end = run.events, []
            if cut:
                search, end = split_findings(run.events, self.listed["findings_kernels"],
                                             self.listed["helper_kernels"])
            kept.append((sign, run, search))
            sums = count(search) if sign > 0 else difference(sums, count(search))
            findings = count(end) if sign > 0 else difference(findings, count(end))
        return Slice(multiprocessors, lanes, here, rounds, steps, kept, sums, findings)


def between_setup_and_end(events):
    """A walk's events from its first launch to its last copy."""
    last = max(at for at, event in enumerate(events) if event.launch or event.kind in "Dd")
    first = next(at for at, event in enumerate(events) if event.launch)
    return events[first:last + 3]  # with the event behind the copy, and the wait for it


def read_instances(path):
    """(names of the attributes, rows in the order of their seeds) of what a global phase found."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    width = next(at for at, name in enumerate(header) if name.startswith("pair_"))
    seed = header.index("seed")
    rows.sort(key=lambda row: int(row[seed]))
    return header[:width], [row[:width] for row in rows]
