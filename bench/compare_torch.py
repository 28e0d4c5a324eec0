#!/usr/bin/env python3
"""Fairlane beside the PyTorch baseline, in turn in one run: IDIs per second of EIDIG on one subject, and their ratio.

usage: bench/compare_torch.py [--benchmarks DIR] [--subject census] [--protected age] [--seeds 10000] [--local 1000]
                              [--threads 1] [--rounds 5] [--python PYTHON] [--file RESULT.json] [-- torch arguments]

Each round runs both programs once (the baseline warms up first by itself); medians over the rounds. PYTHON is the
interpreter whose torch is measured. Exit code 1 when a program fails.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def run_json(command: list[str]) -> dict:
    """Runs a program whose last line of output (or whole output) is JSON."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed ({done.returncode}): {done.stderr.strip()}")
    text = done.stdout.strip()
    return json.loads(text if text.startswith("{\n") else text.splitlines()[-1])


def main() -> int:
    arguments = sys.argv[1:]
    extra = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, extra = arguments[:at], arguments[at + 1:]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--benchmarks", default=str(ROOT.parent / "shared" / "benchmarks"))
    parser.add_argument("--subject", default="census")
    parser.add_argument("--protected", default="age")
    parser.add_argument("--seeds", type=int, default=10000)
    parser.add_argument("--local", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--binary", default=str(ROOT / "build" / "cpu" / "fairlane"))
    parser.add_argument("--file", help="write the figures to this JSON file")
    options = parser.parse_args(arguments)

    folder = pathlib.Path(options.benchmarks)
    protected = options.protected.split(",")
    with tempfile.TemporaryDirectory() as scratch:
        config = pathlib.Path(scratch) / "bench.yaml"
        config.write_text(json.dumps({  # YAML is a superset of JSON
            "model": str(folder / "models" / f"{options.subject}.h5"),
            "data": str(folder / "data" / f"{options.subject}.csv"),
            "domain": str(folder / "data" / f"{options.subject}.domain.yaml"),
            "protected": protected, "method": "eidig",
            "global": {"num": options.seeds}, "local": {"num": options.local},
            "output": {"dir": str(pathlib.Path(scratch) / "out"), "format": "none"}}), encoding="utf-8")
        fairlane_command = [options.binary, "bench", str(config), "--repetitions", "3", "--json",
                            "--threads", str(options.threads)]
        torch_command = [options.python, str(ROOT / "bench" / "peers" / "torch_lockstep.py"),
                         "--benchmarks", str(folder), "--subject", options.subject, "--protected", options.protected,
                         "--seeds", str(options.seeds), "--local", str(options.local),
                         "--threads", str(options.threads), "--repeat", "1", *extra]
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(run_json(fairlane_command)["search"][-1])
            theirs.append(run_json(torch_command))

    def middle(rows: list[dict], key: str) -> float:
        return statistics.median(row[key] for row in rows)

    ratios = [a["instances_per_second"] / b["idi_per_second"] for a, b in zip(ours, theirs)]
    result = {
        "subject": options.subject, "protected": protected, "seeds": options.seeds, "local": options.local,
        "threads": options.threads, "rounds": options.rounds,
        "fairlane": {key: middle(ours, key) for key in
                     ("instances_per_second", "local_steps_per_second", "search_seconds", "unique_instances",
                      "evaluations_per_instance", "peak_gflops")},
        "torch": {"version": theirs[0].get("torch"), "blas": theirs[0].get("blas"),
                  **{key: middle(theirs, key) for key in
                     ("idi_per_second", "steps_per_second", "search_seconds", "unique_instances")}},
        "ratio": statistics.median(ratios), "ratio_least": min(ratios), "ratio_most": max(ratios),
    }
    print(json.dumps(result, indent=2))
    if options.file:
        pathlib.Path(options.file).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
