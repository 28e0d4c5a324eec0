"""What gpu-check measures of speed, beside what bench/gpu_model predicts of the same.

A case is EIDIG on a subject of bench/gpu_model/cases.json: census age (the demo where the benchmarks are absent) and
a network of random weights, 13-64-32-16-8-4-1 with 9 variants. Its local phase alone is the difference of two runs
that are equal but for their local steps; a whole run is everything from start to end.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench" / "gpu_model"))

from subjects import Absent, configuration  # noqa: E402

LANES = (1_000, 65_536, 1_048_576, 4_194_304)
CASES = (("census age, EIDIG, local", "demo age, EIDIG, local"), ("13-64-32-16-8-4-1, 9 variants, EIDIG, local",))
WALKS = ("census age, walk", "demo age, walk")
LARGE_LANES = 1_000_000  # of a whole run of 10^9 local steps
LARGE_LOCAL = 1_000
PHASE_STEPS = 100_000_000  # of a local phase alone: long next to what begins and ends a run
LEAST_ROUNDS, MOST_ROUNDS = 32, 10_000
RATE_SEEDS = 20_000  # from which it is learnt how many seeds lead to an origin
MOST_SEEDS = 1 << 26  # few of a small domain's seeds lead to an origin that is new
LEAST_SHARE = 0.8  # of the lanes that must have an origin, so that a prediction is of the same
MOST_SECONDS = 90  # that a run may take
HEAD = ("case", "lanes", "measured", "predicted", "ratio")


class Failed(Exception):
    """A run that ended badly; the message is its last line."""


class Predictions:
    """The model's lane-steps a second: bench/results/gpu-model.json, or what bench/gpu_model has just written."""

    def __init__(self, path):
        data = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        self.chips = list(data["constants"]["chips"])
        self.rates = {(case["name"], at["chip"], at["lanes"]): at["steps_per_second"]
                      for case in data["cases"] for at in case["predictions"]}
        self.walks = {(case["name"], at["chip"]): at["steps_per_second"]
                      for case in data["cases"] if case["phase"] == "walk" for at in case["predictions"]}

    def chip(self, device):
        """The chip of the model that a GPU's name, such as "NVIDIA H200", says; None of any other."""
        return next((chip for chip in self.chips if chip in device.split()), None)

    def rate(self, case, chip, lanes):
        """None where nothing is predicted. lanes: None of a walk"""
        return self.walks.get((case, chip)) if lanes is None else self.rates.get((case, chip, lanes))


def listed_cases():
    return json.loads((ROOT / "bench" / "gpu_model" / "cases.json").read_text(encoding="utf-8"))


def first_there(names, folder, listed):
    """(name, keys of its configuration) of the first case whose files are on this machine."""
    by_name = {case["name"]: case for case in listed["cases"]}
    for name in names:
        case = by_name[name]
        try:
            subject = configuration(listed["subjects"][case["subject"]], folder)
        except Absent:
            continue
        return name, {**subject, "protected": case["protected"], "method": case.get("method", "eidig"), "seed": 42,
                      "output": {"dir": "unused", "format": "none"}}
    raise Failed(f"{names[-1]}: its files are absent")


class Speed:
    """Measures with a `search(config, backend, out, extra, limit, verb)`, as Check has it.

    out      folder for configurations and results
    backend  "cuda"; tests take "cpu"
    """

    def __init__(self, search, out, backend="cuda"):
        self.search = search
        self.out = out
        self.backend = backend

    def run(self, keys, num, local, extra=(), verb="run"):
        keys = {**keys, "global": {"num": num, "seeding": "uniform"}, "local": {"num": local}}
        config = self.out / "speed.yaml"
        config.write_text(json.dumps(keys), encoding="utf-8")  # JSON is YAML
        summary, code, message, _ = self.search(config, self.backend, self.out / "speed", (*extra, "--overwrite"),
                                                MOST_SECONDS, verb)
        if summary is None:
            raise Failed(message or f"exit code {code}")
        return summary

    def rate_of_findings(self, keys):
        """Share of uniform seeds from which a local search starts."""
        found = self.run(keys, RATE_SEEDS, 0)["counts"]["global_found"]
        if found == 0:
            raise Failed(f"no origin in {RATE_SEEDS} seeds")
        return found / RATE_SEEDS

    def local_phase(self, keys, rate, lanes, steps=PHASE_STEPS):
        """A local phase of so many lanes alone: lane-steps a second, and what they are made of."""
        num, local = min(MOST_SEEDS, int(lanes / rate) + 1), min(MOST_ROUNDS, max(LEAST_ROUNDS, steps // lanes))
        batch = ("--batch", lanes)
        without, whole = (self.run(keys, num, rounds, batch) for rounds in (0, local))
        taken = whole["counts"]["global_unique"] * local
        seconds = max(whole["timing"]["search_seconds"] - without["timing"]["search_seconds"], 1e-9)
        return {"lanes": lanes, "origins": whole["counts"]["global_unique"], "local_steps": taken,
                "local_seconds": seconds, "global_seconds": without["timing"]["search_seconds"],
                "measured": taken / seconds}

    def whole_run(self, keys, rate, lanes, local):
        """A run from start to end: its search's lane-steps a second, and its time beside the search's."""
        summary = self.run(keys, min(MOST_SEEDS, int(lanes / rate) + 1), local)
        steps = summary["counts"]["global_unique"] * local
        timing = summary["timing"]
        return {"lanes": lanes, "local_steps": steps, "search_seconds": timing["search_seconds"],
                "total_seconds": timing["total_seconds"], "measured": steps / max(timing["search_seconds"], 1e-9),
                "times_the_search": timing["total_seconds"] / max(timing["search_seconds"], 1e-9),
                "unique_instances": summary["counts"]["unique_instances"]}

    def walk(self, keys, extra=()):
        """A walk of the whole domain without proofs: groups a second."""
        summary = self.run(keys, 1, 0, ("--no-skip", *extra), "enumerate")
        groups, seconds = summary["counts"]["groups"], max(summary["timing"]["search_seconds"], 1e-9)
        return {"lanes": None, "groups": groups, "search_seconds": seconds, "measured": groups / seconds}


def per_second(rate):
    """9.11 M, 1.5 G; - where nobody knows."""
    if rate is None:
        return "-"
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= size:
            return f"{rate / size:.3g} {unit}"
    return f"{rate:.3g}"


def with_prediction(case, measured, predictions, chip):
    """A row of the table: what was measured, the model's prediction, and measured / predicted."""
    lanes = measured["lanes"]
    is_alike = lanes is None or measured.get("origins", lanes) >= LEAST_SHARE * lanes
    predicted = predictions.rate(case, chip, lanes) if predictions and is_alike else None
    return {"case": case, **measured, "predicted": predicted,
            "ratio": measured["measured"] / predicted if predicted else None}


def table(rows):
    """Lines for people: lane-steps (of a walk: groups) a second, measured and predicted."""
    lines = [HEAD]
    for row in rows:
        lines.append((row["case"], "all" if row["lanes"] is None else f"{row['lanes']:,}",
                      per_second(row["measured"]), per_second(row["predicted"]),
                      "-" if row["ratio"] is None else f"{row['ratio']:.2f}"))
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return ["  ".join(text.ljust(width) if column == 0 else text.rjust(width)
                      for column, (text, width) in enumerate(zip(line, widths))) for line in lines]
