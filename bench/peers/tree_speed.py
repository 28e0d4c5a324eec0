#!/usr/bin/env python3
"""Times ensembles of trees in `fairlane run` against the prediction of the library that trained them, in turns.

    bench/peers/tree_speed.py --data census.csv --protected age [--rows 200000] [--repeats 7] [--threads 1]

XGBoost, LightGBM and scikit-learn, those that are installed, are trained on the table (integer columns, the label last).
Fairlane's rate is `method: themis`: model evaluations over the search's seconds, drawing and deciding included. A library's
is its prediction alone, on as many uniform rows within the table's ranges as one repeat of ours evaluates. Exit code 77:
skipped, with the reason in one line.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def xgboost_model(rows, labels, folder, threads):
    import xgboost
    model = xgboost.XGBClassifier(n_estimators=100, max_depth=6, n_jobs=threads).fit(rows, labels)
    model.save_model(folder / "xgboost.json")
    return folder / "xgboost.json", model.get_booster().inplace_predict


def lightgbm_model(rows, labels, folder, threads):
    import lightgbm
    model = lightgbm.LGBMClassifier(n_estimators=100, n_jobs=threads, verbose=-1).fit(rows, labels)
    model.booster_.save_model(folder / "lightgbm.txt")
    return folder / "lightgbm.txt", lambda x: model.booster_.predict(x, num_threads=threads)


def sklearn_model(rows, labels, folder, threads):
    from sklearn.ensemble import RandomForestClassifier
    sys.path.insert(0, str(ROOT / "models" / "adapters"))
    from export_sklearn import export
    model = RandomForestClassifier(n_estimators=100, n_jobs=threads, random_state=1).fit(rows, labels)
    export(model, folder / "sklearn.json")
    return folder / "sklearn.json", model.predict_proba


MODELS = {"xgboost": ("XGBoost, 100 x depth 6", xgboost_model),
          "lightgbm": ("LightGBM, 100 x 31 leaves", lightgbm_model),
          "sklearn": ("RandomForest, 100 unpruned", sklearn_model)}


def fairlane(binary, *arguments):
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or f"{binary} exited with {done.returncode}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--protected", required=True)
    parser.add_argument("--rows", type=int, default=200_000, help="profiles that one repeat draws")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--binary", default=ROOT / "build" / "cpu" / "fairlane")
    options = parser.parse_args()
    found = [name for name in MODELS if importlib.util.find_spec(name)]
    if not found:
        print("skipped: neither xgboost, lightgbm nor scikit-learn is installed for", sys.executable)
        return SKIPPED
    import numpy
    table = numpy.loadtxt(options.data, delimiter=",", skiprows=1)
    rows, labels = table[:, :-1], table[:, -1].astype(int)
    print(f"{os.cpu_count()} cores, {options.threads} of them used; rates in 1,000 rows a second, median (least to most) of "
          f"{options.repeats}")
    for name in found:
        title, train = MODELS[name]
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            path, predict = train(rows, labels, folder, options.threads)
            config = folder / "run.yaml"
            fairlane(options.binary, "init", path, options.data, "--protected", options.protected,
                     "--out", config, "--quiet")
            ours, theirs = [], []
            for repeat in range(options.repeats):
                fairlane(options.binary, "run", config, "--threads", options.threads, "--quiet", "--overwrite",
                         "--set", "method=themis", "--set", f"global.num={options.rows}",
                         "--seed", repeat, "--out", folder / "out")
                done = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
                count = done["counts"]["model_evaluations"]
                ours.append(count / done["timing"]["search_seconds"] / 1e3)
                random = numpy.random.default_rng(repeat)
                sample = random.integers(rows.min(0), rows.max(0), (count, rows.shape[1]),
                                         endpoint=True).astype(numpy.float32)
                start = time.perf_counter()
                predict(sample)
                theirs.append(count / (time.perf_counter() - start) / 1e3)
            rate = {who: f"{statistics.median(all_):,.0f} ({min(all_):,.0f} to {max(all_):,.0f})"
                    for who, all_ in (("fairlane", ours), ("library", theirs))}
            ratio = statistics.median(a / b for a, b in zip(ours, theirs))
            print(f"{title:28} fairlane {rate['fairlane']:28} library {rate['library']:28} ratio {ratio:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
