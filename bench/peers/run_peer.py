#!/usr/bin/env python3
"""Runs the authors' EIDIG, ADF or MAFT program and `fairlane run` side by side, and prints one table.

The program comes from a checkout that you name; nothing of it is part of this project. Both sides get the same network,
domain, protected attributes, seed rows and steps. What the program reports is then held to our definitions: inputs inside
the domain whose similar set has another label, by TensorFlow's own outputs, each counted once.

    bench/peers/run_peer.py --program maft --checkout ~/MAFT --config config.yaml --seeds 100 --local 100

eidig and adf are in github.com/LingfengZhang98/EIDIG (EIDIG.py; ADF.py, the re-implementation that our `adf` follows), all
three in github.com/wangzh1998/MAFT. Needed are TensorFlow with Keras 2 (2.15 or older), scikit-learn and a Keras HDF5
network with one sigmoid output. Exit codes: 77 skipped, with the reason in one line (no TensorFlow, no checkout); 1 ours
failed.
"""
import argparse
import csv
import importlib
import inspect
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = {"eidig": "EIDIG", "adf": "ADF", "maft": "MAFT"}
SKIPPED = 77
ROWS_AT_ONCE = 1 << 14  # inputs evaluated by one call
NO_BUDGET = [word for limit in ("seeds", "iterations", "evaluations", "instances", "seconds")
             for word in ("--set", f"budget.{limit}=")]


class Skip(Exception):
    """Why nothing was run."""


def arguments_of(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, choices=sorted(MODULES))
    parser.add_argument("--checkout", required=True, type=pathlib.Path, help="the folder with the program's .py files")
    parser.add_argument("--config", required=True, type=pathlib.Path, help="a configuration of ours")
    parser.add_argument("--seeds", type=int, default=100, help="seed rows, drawn from the data (default: 100)")
    parser.add_argument("--local", type=int, default=100, help="local steps around each first finding (default: 100)")
    parser.add_argument("--seed", type=int, default=42, help="of every random number (default: 42)")
    parser.add_argument("--fairlane", default=os.environ.get("FAIRLANE_BINARY", ROOT / "build" / "cpu" / "fairlane"),
                        type=pathlib.Path, help="our program (default: build/cpu/fairlane)")
    parser.add_argument("--threads", type=int, default=1, help="of ours (default: 1)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    return parser.parse_args(argv)


def load_program(arguments):
    """The peer's module and TensorFlow. Raises Skip."""
    module = MODULES[arguments.program]
    if not (arguments.checkout / f"{module}.py").is_file():
        raise Skip(f"{arguments.checkout} has no {module}.py; name a checkout of the program")
    sys.dont_write_bytecode = True  # the checkout stays as it is
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.path.insert(0, str(arguments.checkout.resolve()))
    try:
        tensorflow = importlib.import_module("tensorflow")
    except ImportError as error:
        raise Skip(f"TensorFlow cannot be imported: {error}") from None
    try:
        return importlib.import_module(module), tensorflow
    except ImportError as error:
        raise Skip(f"{module}.py cannot be imported: {error}") from None


def fairlane(arguments, *words):
    """What our program prints, as JSON."""
    done = subprocess.run([arguments.fairlane, *map(str, words), "--json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or f"{arguments.fairlane}: exit code {done.returncode}")
    return json.loads(done.stdout)


def seed_rows(table, names, bounds, arguments):
    """Rows of the table inside the domain, without replacement; all of them where there are no more."""
    with open(table, encoding="utf-8", newline="") as file:
        rows = [[int(row[name]) for name in names] for row in csv.DictReader(file)]
    rows = [row for row in rows if all(low <= value <= high for value, (low, high) in zip(row, bounds))]
    chosen = random.Random(arguments.seed).sample(rows, min(arguments.seeds, len(rows)))
    return rows, chosen


def run_ours(arguments, folder, names, seeds):
    """summary.json of our method of that name, from the same rows."""
    table = folder / "seeds.csv"
    with open(table, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *seeds])
    return fairlane(arguments, "run", arguments.config, "--out", folder / "ours", "--backend", "cpu", "--threads",
                    arguments.threads, "--quiet", "--seed", arguments.seed, "--set", f"method={arguments.program}",
                    "--set", f"global.seeds={table}", "--set", f"global.num={len(seeds)}", "--set",
                    f"local.num={arguments.local}", "--set", "output.format=none", *NO_BUDGET)


def called(function, given):
    """Calls a function of the peer with those of the given arguments that it takes."""
    return function(**{name: given[name] for name in inspect.signature(function).parameters if name in given})


def run_theirs(module, model, given):
    """Both phases of the peer's program: its findings, everything it generated, its steps and seconds.

    The phases are called one by one, as its own complete function does, because that one fails when the local phase finds
    nothing, and because the local phase overwrites the global findings that it is handed (EIDIG.py, 66 and 87).
    """
    import numpy as np
    start = time.perf_counter()
    found, generated, steps = called(module.global_generation, {**given, "model": model})
    findings, inputs = [found], [generated]
    if len(found) > 0:
        found, generated, more = called(module.local_generation,
                                        {**given, "model": model, "g_id": np.array(found, copy=True)})
        findings.append(found)
        inputs.append(generated)
        steps += more
    seconds = time.perf_counter() - start
    as_rows = lambda parts: {tuple(map(float, row)) for part in parts for row in part}
    return as_rows(findings), as_rows(inputs), int(steps), seconds


def is_valid(row, bounds):
    return all(value == int(value) and low <= value <= high for value, (low, high) in zip(row, bounds))


def labels_of(model, rows):
    import numpy as np
    outputs = np.asarray(model(np.asarray(rows, dtype=np.float32))).reshape(len(rows), -1)
    return outputs[:, 0] > 0.5


def hold(rows, columns, values, model):
    """Those of the rows whose similar set has another label."""
    combinations = list(itertools.product(*values))
    holding = []
    at_once = max(1, ROWS_AT_ONCE // (len(combinations) + 1))
    for first in range(0, len(rows), at_once):
        part = rows[first:first + at_once]
        inputs = []
        for row in part:
            inputs.append(row)
            for combination in combinations:
                member = list(row)
                for column, value in zip(columns, combination):
                    member[column] = value
                inputs.append(tuple(member))
        labels = labels_of(model, inputs).reshape(len(part), -1)
        holding += [row for row, own in zip(part, labels) if (own != own[0]).any()]
    return holding


def measured(instances, groups, generated, steps, seconds):
    return {"unique_groups": groups, "unique_instances": instances, "unique_generated": generated,
            "success_rate": instances / generated if generated else 0.0, "iterations": steps,
            "search_seconds": seconds}


def compare(arguments):
    module, tensorflow = load_program(arguments)
    import numpy as np
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        # Our program reads the configuration: its manifest has every key, with paths from the output directory.
        fairlane(arguments, "run", arguments.config, "--out", folder / "read", "--quiet", "--backend", "cpu", "--set",
                 "method=themis", "--set", "global.num=1", "--set", "output.format=none", *NO_BUDGET)
        config = json.loads((folder / "read" / "manifest.json").read_text(encoding="utf-8"))["config"]
        path_of = lambda key: (folder / "read" / config[key]).resolve()
        if config["data"] is None:
            sys.exit(f"{arguments.config}: names no data to draw seeds from")
        if config["threshold"] != 0.5:
            sys.exit(f"{arguments.config}: threshold is {config['threshold']}, but the programs know only 0.5")
        network = path_of("model")
        domain = fairlane(arguments, "inspect", path_of("data"), path_of("domain"))["attributes"]
        names = [attribute["name"] for attribute in domain]
        bounds = [(attribute["low"], attribute["high"]) for attribute in domain]
        columns = [names.index(attribute["name"]) for attribute in config["protected"]]
        values = [attribute["values"] for attribute in config["protected"]]
        for column, compared in zip(columns, values):
            low, high = bounds[column]
            if compared != list(range(low, high + 1)):
                sys.exit(f"{arguments.config}: compares some values of {names[column]}; the programs know only all")
        rows, seeds = seed_rows(path_of("data"), names, bounds, arguments)
        ours = run_ours(arguments, folder, names, seeds)

    np.random.seed(arguments.seed % 2**32)
    tensorflow.random.set_seed(arguments.seed)
    model = tensorflow.keras.models.load_model(str(network))
    interval = config["local"]["update_interval"]
    given = {"X": np.array(rows, dtype=float), "seeds": np.array(seeds, dtype=float), "num_attribs": len(names),
             "protected_attribs": columns, "constraint": np.array(bounds), "decay": config["global"]["decay"],
             "max_iter": config["global"]["max_iter"], "s_g": config["global"]["step"], "s_l": config["local"]["step"],
             "l_num": arguments.local, "update_interval": arguments.local + 1 if interval == "inf" else interval,
             "epsilon": config["local"]["epsilon"], "perturbation_size": config["gradient"]["perturbation_size"]}
    found, generated, steps, seconds = run_theirs(module, model, given)
    inside = sorted(row for row in found if is_valid(row, bounds))
    holding = hold(inside, columns, values, model)
    groups = {tuple(value for i, value in enumerate(row) if i not in columns) for row in holding}
    counts = ours["counts"]
    return {"program": arguments.program, "protected": [names[column] for column in columns], "seeds": len(seeds),
            "local": arguments.local, "seed": arguments.seed,
            "theirs": {**measured(len(holding), len(groups), len(generated | {tuple(map(float, s)) for s in seeds}),
                                  steps, seconds),
                       "reported": len(found), "outside_the_domain": len(found) - len(inside),
                       "no_idi": len(inside) - len(holding)},
            "ours": measured(counts["unique_instances"], counts["unique_groups"], counts["unique_generated"],
                             counts["iterations"], ours["timing"]["search_seconds"])}


def table_of(result):
    lines = [f"{result['program']} for {', '.join(result['protected'])}: {result['seeds']} seeds, "
             f"{result['local']} local steps", "",
             f"{'':<8}{'groups':>10}{'IDIs':>10}{'success':>10}{'steps':>12}{'search':>12}{'IDIs/s':>14}"]
    for side in ("theirs", "ours"):
        row = result[side]
        rate = row["unique_instances"] / row["search_seconds"] if row["search_seconds"] > 0 else 0.0
        lines.append(f"{side:<8}{row['unique_groups']:>10,}{row['unique_instances']:>10,}"
                     f"{row['success_rate']:>9.1%} {row['iterations']:>11,}{row['search_seconds']:>10.3f} s{rate:>14,.1f}")
    theirs = result["theirs"]
    if theirs["reported"] > theirs["unique_instances"]:
        lines += ["", f"Of {theirs['reported']:,} that it reports {theirs['outside_the_domain']:,} lie outside the domain "
                      f"and {theirs['no_idi']:,} are no IDIs."]
    return "\n".join(lines)


def main(argv):
    arguments = arguments_of(argv)
    try:
        result = compare(arguments)
    except Skip as reason:
        print(f"skipped: {reason}", file=sys.stderr)
        return SKIPPED
    print(json.dumps(result, indent=2) if arguments.json else table_of(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
