"""What simulated runs of the demo cost stays within cost_budget.json.

Launches, blocking round trips, bytes over PCIe, warp instructions of every class, wavefronts of shared
memory and sectors of global memory, as bench/gpu_model counts them: exact numbers, the same on every
machine, of the PTX that the compiler made. A budget holds for one version of PTX and one architecture;
with another the test is skipped. Skips where the build has no simulator of GPUs.

Usage: cost_budget_test.py [--update] [FAIRLANE FOLDER], FAIRLANE the program linked with the simulator,
FOLDER its kernels' objects. --update writes what was counted as the new budget: for a change that costs
less, or more on purpose; the commit says which.
"""
import json
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "bench" / "gpu_model"))

from measure import Bench
from run_costs import CLASSES, SECTORS, WAVEFRONTS
from sass import ptx_of, ptx_target

BUDGET = HERE / "cost_budget.json"
SKIPPED = 77
SUBJECT = "demo"  # needs nothing beside the checkout
LANES, MULTIPROCESSORS = 512, 2
ROUNDS = {"local": (4, 36), "waves": (3, 4), "global": (1, 4)}
WALK = "1/32"
HOST = ("launches", "round trips", "copies", "memsets", "allocations", "bytes to the device", "bytes to the host")
FINDINGS = ("launches", "round trips", "bytes to the host")
HINT = "cost_budget_test.py --update FAIRLANE FOLDER writes what was counted as the budget"


def counts(part):
    """{what: number} of a slice, without what is 0."""
    named = {name: part.sums[name] for name in (*HOST, *CLASSES, *WAVEFRONTS, *SECTORS)}
    named.update({f"findings: {name}": part.findings.get(name, 0) for name in FINDINGS})
    return {"steps": part.steps, **{name: number for name, number in named.items() if number}}


def measure(fairlane):
    """{case: counts} of every case of the demo."""
    listed = json.loads((ROOT / "bench" / "gpu_model" / "cases.json").read_text(encoding="utf-8"))
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(fairlane, folder, listed)
        for case in listed["cases"]:
            if case["subject"] != SUBJECT:
                continue
            if case["phase"] == "walk":
                part = bench.measure_walk(case, MULTIPROCESSORS, MULTIPROCESSORS, WALK)
            else:
                part = bench.measure(case, LANES, MULTIPROCESSORS, MULTIPROCESSORS, ROUNDS[case["phase"]])
            found[case["name"]] = counts(part)
    return found


def compare(found, budget):
    """(problems, notes): what costs more than it may, or has no budget; what costs less."""
    problems, notes = [], []
    for case in sorted({*found, *budget}):
        if case not in found or case not in budget:
            where = "budget" if case in budget else "list of cases"
            problems.append(f"{case}: only in the {where}")
            continue
        counted, allowed = found[case], budget[case]
        if counted["steps"] != allowed["steps"]:
            problems.append(f"{case}: {counted['steps']} lane-steps, budget of {allowed['steps']}: another search")
            continue
        for what in dict.fromkeys((*allowed, *counted)):
            number, most = counted.get(what, 0), allowed.get(what, 0)
            if number != most:
                (problems if number > most else notes).append(f"{case}: {number} {what}, budget {most}")
    return problems, notes


def target_of(folder):
    """Version and architecture of the PTX in the objects of a folder; '' where they have none."""
    targets = {ptx_target(ptx_of(path.read_bytes())) for path in pathlib.Path(folder).rglob("*.cu.o")}
    return targets.pop() if len(targets) == 1 else ""


class Budget(unittest.TestCase):
    fairlane = None

    def test_costs_keep_to_it(self):
        budget = json.loads(BUDGET.read_text(encoding="utf-8"))["cases"]
        problems, notes = compare(measure(self.fairlane), budget)
        for line in notes:
            print(f"less: {line}")
        if notes:
            print(f"{len(notes)} counts are below their budget; {HINT}")
        self.assertFalse(problems, "\n".join(["", *problems, HINT]))

    def test_comparing(self):
        budget = {"a": {"steps": 8, "launches": 14, "ffma": 100}}
        self.assertEqual(([], []), compare(budget, budget))
        more = {"a": {"steps": 8, "launches": 15, "ffma": 99, "atomic": 1}}
        problems, notes = compare(more, budget)
        self.assertEqual(["a: 15 launches, budget 14", "a: 1 atomic, budget 0"], problems)
        self.assertEqual(["a: 99 ffma, budget 100"], notes)
        self.assertEqual(1, len(compare({"a": {"steps": 9, "launches": 1, "ffma": 1}}, budget)[0]))
        self.assertEqual(2, len(compare({"b": {"steps": 8}}, budget)[0]))


def update(found, target):
    cases = ",\n".join(f"  {json.dumps(name)}: {json.dumps(counted)}" for name, counted in found.items())
    BUDGET.write_text(f'{{"ptx": {json.dumps(target)}, "cases": {{\n{cases}\n}}}}\n', encoding="utf-8")


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    if not arguments:
        print("this build has no simulator of GPUs (FAIRLANE_GPUSIM)")
        return SKIPPED
    Budget.fairlane, folder = arguments
    target = target_of(folder)
    if "--update" in sys.argv:
        update(measure(Budget.fairlane), target)
        return 0
    budget = json.loads(BUDGET.read_text(encoding="utf-8"))["ptx"]
    if target != budget:
        print(f"the budget is of PTX {budget}, this build has {target or 'none that is the same in all objects'}")
        return SKIPPED
    return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
