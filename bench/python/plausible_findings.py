#!/usr/bin/env python3
"""How plausible the findings of `fairlane run` are, and what they cost, with and without `plausibility`.

    bench/python/plausible_findings.py CONFIG.yaml [--fairlane build/cpu/fairlane] [--methods eidig,adf,margin]
        [--protected age] [--steer 5:0,0:1] [--percentile 95] [--findings 4000] [--set local.num=100 ...]

For each method a run as configured, and one for each AT_LEAST:WEIGHT of --steer. A line each: distinct findings, the share of them whose
surprise is within the percentile of the table's own rows, the share whose worse percentile (surprise or distance) is, and model
evaluations per finding. The measures are written out from their definitions here (docs/commands/audit.md), not asked of the
program: the Chow-Liu tree of the table's columns, and Gower's distance to the nearest row. Distances are those of at most
--findings findings and as many rows, evenly spaced. Attributes have at most 64 codes. Needs NumPy; exit code 77: skipped.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
MOST_CODES = 64


class Tree:
    """The Chow-Liu tree of a table of codes counted from 0, each pair of codes one half more often than it occurs."""

    def __init__(self, np, table, counts):
        self.np = np
        width = table.shape[1]
        shares = {}
        information = np.zeros((width, width))
        for a in range(width):
            for b in range(a + 1, width):
                pairs = self.count(table, counts, a, b)
                share = pairs / pairs.sum()
                expected = share.sum(1, keepdims=True) * share.sum(0, keepdims=True)
                information[a, b] = information[b, a] = (share * np.log(share / expected)).sum()
                shares[a, b], shares[b, a] = pairs, pairs.T
        edges = sorted(((-information[a, b], a, b) for a in range(width) for b in range(a + 1, width)))
        part = list(range(width))
        neighbours = [[] for _ in range(width)]
        for _, a, b in edges:
            if part[a] != part[b]:
                part = [part[a] if p == part[b] else p for p in part]
                neighbours[a].append(b)
                neighbours[b].append(a)
        root = np.bincount(table[:, 0], minlength=counts[0]) + 0.5
        self.parts = [(0, None, -np.log(root / root.sum()))]
        seen, order = {0}, [0]
        for a in order:
            for b in neighbours[a]:
                if b not in seen:
                    seen.add(b)
                    order.append(b)
                    pairs = shares[a, b]
                    self.parts.append((b, a, -np.log(pairs / pairs.sum(1, keepdims=True))))

    def count(self, table, counts, a, b):
        cells = self.np.bincount(table[:, a] * counts[b] + table[:, b], minlength=counts[a] * counts[b])
        return cells.reshape(counts[a], counts[b]) + 0.5

    def surprise(self, rows):
        """Whole steps of 2^-16 nats, each part rounded."""
        total = self.np.zeros(len(rows), dtype=self.np.int64)
        for a, parent, nats in self.parts:
            steps = self.np.rint(nats * 65536).astype(self.np.int64)
            total += steps[rows[:, a]] if parent is None else steps[rows[:, parent], rows[:, a]]
        return total


def nearest(np, table, rows, nominal, ranges, own):
    """Gower distance of rows to the nearest row of the table; of the table's own rows (own) to another one."""
    distances = []
    for row in rows:
        sums = np.zeros(len(table), dtype=np.float32)
        for a in range(table.shape[1]):
            apart = np.abs(table[:, a] - row[a])
            if ranges[a] > 0:
                sums += (apart != 0) if nominal[a] else apart / ranges[a]
        sums /= sum(r > 0 for r in ranges)
        distances.append(np.partition(sums, 1)[1] if own else sums.min())
    return np.round(np.array(distances), 5)


def evenly(np, rows, most):
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(int)]


def percentiles(np, own, values):
    own = np.sort(own)
    return 100.0 * np.searchsorted(own, values, side="right") / len(own)


def run(arguments, method, at_least, weight, out):
    command = [arguments.fairlane, "run", arguments.config, "--out", out, "--json", "--quiet",
               "--set", f"method={method}", "--set", f"plausibility.at_least={at_least}",
               "--set", f"plausibility.weight={weight}",
               "--set", "output.format=csv"]
    for setting in arguments.set:
        command += ["--set", setting]
    if arguments.protected:
        command += ["--set", f"protected=[{arguments.protected}]"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or f"fairlane exited with {done.returncode}")
    return json.loads(done.stdout)["counts"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("--fairlane", default="build/cpu/fairlane")
    parser.add_argument("--methods", default="eidig,adf,margin")
    parser.add_argument("--protected", default="")
    parser.add_argument("--steer", default="5:0", metavar="AT_LEAST:WEIGHT,...")
    parser.add_argument("--percentile", type=float, default=95.0)
    parser.add_argument("--findings", type=int, default=4000)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    ways = [(0.0, 0.0)] + [tuple(map(float, way.split(":"))) for way in arguments.steer.split(",")]
    try:
        import numpy as np
    except ImportError:
        print("skipped: needs NumPy")
        sys.exit(SKIPPED)

    with tempfile.TemporaryDirectory() as folder:
        out = str(pathlib.Path(folder) / "out")
        figures = []
        table = None
        for method in arguments.methods.split(","):
            for at_least, weight in ways:
                place = f"{out}-{method}-{at_least}-{weight}"
                counts = run(arguments, method, at_least, weight, place)
                if table is None:
                    manifest = json.loads((pathlib.Path(place) / "manifest.json").read_text())["config"]
                    data = pathlib.Path(place) / manifest["data"]
                    domain = pathlib.Path(place) / manifest["domain"]
                    table, measure = measures(np, data, domain, arguments)
                with open(pathlib.Path(place) / "instances.csv", newline="") as file:
                    reader = csv.reader(file)
                    next(reader)
                    found = np.array([row[:table.shape[1]] for row in reader], dtype=np.int64)
                within, both = measure(found)
                figures.append((method, at_least, weight, len(found), within, both,
                                counts["model_evaluations"] / len(found)))
        print("method    at_least  weight  findings  surprise within  both within  evaluations a finding")
        for method, at_least, weight, found, within, both, cost in figures:
            print(f"{method:8}  {at_least:8g}  {weight:6g}  {found:8}  {within:14.1%}  {both:11.1%}  {cost:21.2f}")


def measures(np, data, domain, arguments):
    """The table, and a function from findings to both shares."""
    from re import findall
    names, lows, nominal = [], [], []
    for line in domain.read_text().splitlines():
        for name, low in findall(r"name: *([^,]+), low: *(-?\d+)", line):
            names.append(name)
            lows.append(int(low))
            nominal.append("categories:" in line and "bins:" not in line)
    highs = [int(h) for h in findall(r"high: *(-?\d+)", domain.read_text())]
    counts = [high - low + 1 for low, high in zip(lows, highs)]
    if max(counts) > MOST_CODES:
        sys.exit(f"{domain}: an attribute of more than {MOST_CODES} codes, expected at most so many")
    with open(data, newline="") as file:
        rows = list(csv.reader(file))
    columns = [rows[0].index(name) for name in names]
    table = np.array([[row[c] for c in columns] for row in rows[1:]], dtype=np.int64) - np.array(lows)
    tree = Tree(np, table, counts)
    own_surprise = tree.surprise(table)
    ranges = [count - 1 for count in counts]
    own_distance = nearest(np, table, evenly(np, table, arguments.findings), nominal, ranges, True)

    def measure(found):
        found = found - np.array(lows)
        surprise = percentiles(np, own_surprise, tree.surprise(found))
        some = evenly(np, found, arguments.findings)
        distance = percentiles(np, own_distance, nearest(np, table, some, nominal, ranges, False))
        worse = np.maximum(percentiles(np, own_surprise, tree.surprise(some)), distance)
        return (surprise <= arguments.percentile).mean(), (worse <= arguments.percentile).mean()

    return table, measure


if __name__ == "__main__":
    main()
