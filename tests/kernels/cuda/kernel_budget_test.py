"""Registers, stack and shared memory of every kernel stay within kernel_budget.json.

The build keeps what ptxas said about each object in OBJECT.ptxas (cmake/keep_ptxas_log.sh). A kernel's
budget holds for every architecture: the most registers of a thread and, where not zero, bytes of
stack and of static shared memory. Skips where the build has no CUDA.

Usage: kernel_budget_test.py [--update] [FOLDER], FOLDER with the objects of fairlane_cuda. --update writes
what was measured as the new budget.
"""
import json
import pathlib
import re
import sys
import tempfile
import unittest

BUDGET = pathlib.Path(__file__).with_name("kernel_budget.json")
ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\w+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(.*)")
SHARED = re.compile(r"(\d+) bytes smem")
LANES = re.compile(r"_ZN8fairlane9run_lanesINS_\d+(\w+?)EEEv")
TOGETHER = re.compile(r"_ZN8fairlane18run_lanes_togetherINS_\d+(\w+?)EEEv")
TILES = re.compile(r"_ZN8fairlane9run_tilesINS_\d+(\w+?)ELi(\d)ELb([01])EEEv")
ROUNDS = re.compile(r"_ZN8fairlane10run_roundsINS_(\w+?)ELi(\d)EEEv")
WALKS = re.compile(r"_ZN8fairlane8run_walkINS_\d+(\w+?)EEEv")
BLOCKS = re.compile(r"_ZN8fairlane10run_blocksINS_11DenseBlocksILi(\d+)ELi(\d+)ELi(\d+)ELi(\d+)E")
ZERO = {"stack": 0, "spills": 0, "shared": 0}


def identifiers(mangled):
    """Names in a mangled one, each behind its length: 14WeightedRoundsINS_13GradientTilesE."""
    names = []
    at = 0
    while number := re.compile(r"\d+").search(mangled, at):
        at = number.end() + int(number.group())
        names.append(mangled[number.end():at])
    return names


def kernel_name(symbol):
    """A kernel's name for people; None for those of libraries, whose needs are not ours to choose."""
    lanes = LANES.match(symbol)
    if lanes:
        return lanes.group(1)
    together = TOGETHER.match(symbol)
    if together:
        return f"{together.group(1)}, a warp each"
    tiles = TILES.match(symbol)
    if tiles:
        where = "on chip" if tiles.group(3) == "1" else "anywhere"
        return f"{tiles.group(1)}, packs {tiles.group(2)}, {where}"
    rounds = ROUNDS.match(symbol)
    if rounds:
        how = {"0": "spread"}.get(rounds.group(2), f"members {rounds.group(2)}")
        *kernel, pack = identifiers(rounds.group(1))
        return f"{' of '.join(kernel)}, {how}{', by teams' if pack == 'TeamPack' else ''}"
    walks = WALKS.match(symbol)
    if walks:
        return walks.group(1)
    blocks = BLOCKS.match(symbol)
    if blocks:
        quads = [int(number) for number in blocks.groups()]
        return f"DenseBlocks, {4 * quads[0] * quads[1]} x {4 * quads[2] * quads[3]}"
    return symbol if "fairlane" in symbol and "cub" not in symbol else None


def needs(text):
    """{(kernel, architecture): needs} from what ptxas -v printed. Lines about a function that a kernel
    calls follow the kernel's own, so spills count wherever they are."""
    found = {}
    current = None
    for line in text.splitlines():
        entry = ENTRY.search(line)
        if entry:
            name = kernel_name(entry.group(1))
            current = found.setdefault((name, entry.group(2)), {"registers": 0, **ZERO}) if name else None
        elif current is not None:
            stack, used = STACK.search(line), USED.search(line)
            if stack:
                current["stack"] = max(current["stack"], int(stack.group(1)))
                current["spills"] = max(current["spills"], int(stack.group(2)), int(stack.group(3)))
            elif used:
                shared = SHARED.search(used.group(2))
                current["registers"] = int(used.group(1))
                current["shared"] = int(shared.group(1)) if shared else 0
    return found


def read_logs(folder):
    logs = sorted(pathlib.Path(folder).rglob("*.cu.o.ptxas"))
    found = {}
    for log in logs:
        found.update(needs(log.read_text(encoding="utf-8")))
    return found


def over_budget(found, budget):
    """One line per kernel that needs more than it may, has no budget, or has one and is gone."""
    problems = []
    for (name, architecture), measured in sorted(found.items()):
        allowed = budget.get(name)
        if allowed is None:
            problems.append(f"{name}: has no budget; measured for sm_{architecture}: {measured}")
            continue
        for what, value in measured.items():
            if value > allowed.get(what, 0):
                problems.append(f"{name}: {value} {what} for sm_{architecture}, budget {allowed.get(what, 0)}")
    gone = sorted(set(budget) - {name for name, _ in found})
    return problems + [f"{name}: has a budget, but is no kernel of this build" for name in gone]


def update(found):
    budget = {}
    for (name, _), measured in found.items():
        line = budget.setdefault(name, {})
        for what, value in measured.items():
            if value > line.get(what, 0):
                line[what] = value
    lines = [f"  {json.dumps(name)}: {json.dumps(budget[name])}" for name in sorted(budget)]
    BUDGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


class Budget(unittest.TestCase):
    folder = None

    def test_kernels_keep_to_it(self):
        found = read_logs(self.folder)
        self.assertTrue(found, f"{self.folder}: no kernel in any *.ptxas")
        self.assertEqual([], over_budget(found, json.loads(BUDGET.read_text(encoding="utf-8"))))

    LOG = """ptxas info    : Compiling entry function '_ZN8fairlane9run_tilesINS_4WalkELi2ELb1EEEvT_' for 'sm_90'
ptxas info    : Function properties for _ZN8fairlane9run_tilesINS_4WalkELi2ELb1EEEvT_
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 70 registers, used 1 barriers, 1024 bytes smem
ptxas info    : Function properties for _ZN8fairlane6callee
    8 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads
"""

    def test_what_ptxas_says_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "a.cu.o.ptxas").write_text(self.LOG, encoding="utf-8")
            found = read_logs(folder)
        name = "Walk, packs 2, on chip"
        measured = {"registers": 70, "stack": 8, "spills": 4, "shared": 1024}
        self.assertEqual({(name, "90"): measured}, found)
        self.assertEqual([], over_budget(found, {name: measured}))
        self.assertEqual(1, len(over_budget(found, {name: {**measured, "registers": 69}})))
        self.assertEqual(3, len(over_budget(found, {name: {"registers": 70}})))
        self.assertEqual(2, len(over_budget(found, {"another": measured})))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    if not arguments:
        print("this build has no CUDA backend")
        return 77
    Budget.folder = arguments[0]
    if "--update" in sys.argv:
        update(read_logs(Budget.folder))
        return 0
    return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
