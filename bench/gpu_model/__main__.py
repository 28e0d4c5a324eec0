"""Counts what simulated GPU runs cost, and predicts the same runs on real chips.

  python3 bench/gpu_model --fairlane build/cuda/fairlane-gpusim [--objects FOLDER] [--only TEXT]...

--fairlane is the program linked with the simulator of GPUs (CMake: FAIRLANE_GPUSIM). --objects is the
folder of its kernels' objects (build/cuda/CMakeFiles/fairlane_cuda.dir/kernels/cuda): then ptxas and
nvdisasm say what the PTX becomes, and predictions are of SASS; --profile says which lines of source
that comes from (FAIRLANE_GPUSIM_LINES). Counts are exact and repeatable; predictions are the model's
(constants.json), and no GPU has confirmed them.
"""
import argparse
import collections
import json
import pathlib
import sys
import tempfile

from constants import Constants
from estimate import Estimator, straight_line, without
from measure import Bench, Failed
from run_costs import CLASSES, SECTORS, WAVEFRONTS, count
from sass import NoTool, Sass, not_of
from source_lines import by_line, places_of, profile_text
from subjects import Absent

HERE = pathlib.Path(__file__).resolve().parent
MILLION = 1_000_000
SHOWN = 6            # kernels of a prediction that people see
LEAST_SHARE = 0.01  # of a round that a kernel takes which is named at all


def main():
    arguments = parse()
    listed = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
    constants = Constants()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.out or temporary)
        bench = Bench(arguments.fairlane, folder, listed)
        sass = read_sass(arguments, folder)
        results, failed = [], False
        for case in listed["cases"]:
            if arguments.only and not any(text in case["name"] for text in arguments.only):
                continue
            try:
                result, last = one_case(bench, case, constants, sass, arguments)
            except Absent as absent:
                print(f"\n## {case['name']}: left out: {absent}", flush=True)
                continue
            except Failed as problem:
                print(f"\n## {case['name']}: failed: {problem}", flush=True)
                failed = True
                continue
            print(text_of(result), flush=True)
            if arguments.profile and sass:
                print(profile_of(last, sass, arguments.profile), flush=True)
            results.append(result)
    if arguments.json:
        write(pathlib.Path(arguments.json), constants, sass, results)
    print("\nPredictions are the model's; what is least sure of them:")
    for line in constants.weakest:
        print(f"  {line}")
    return 1 if failed else 0


def read_sass(arguments, folder):
    """What ptxas makes of the objects, or None, with the reason on stderr."""
    if not arguments.objects:
        return None
    objects = sorted(pathlib.Path(arguments.objects).rglob("*.cu.o"))
    strangers = not_of(arguments.fairlane, objects)
    if strangers:
        raise SystemExit(f"gpu_model: {strangers[0]}: its PTX is not what {arguments.fairlane} executes; build both "
                         "together (target fairlane-gpusim)")
    try:
        return Sass(objects, folder)
    except NoTool as problem:
        print(f"counts stay those of PTX: {problem}", file=sys.stderr)
        return None


def one_case(bench, case, constants, sass, arguments):
    """Everything about a case as JSON has it, and the last slice of it that was counted."""
    chips = arguments.chip or list(constants.chips)
    size = constants.chips[chips[0]].multiprocessors
    if any(constants.chips[chip].multiprocessors != size for chip in chips):
        raise Failed("the chips of one call must have the same number of multiprocessors")
    if case["phase"] == "walk":
        wanted = [bench.measure_walk(case, 1, size, shard) for shard in case["shards"]]
        shown = wanted[:1]
    else:
        slices = [at for at in bench.listed["slices"] if at["lanes"] <= case.get("most_lanes", at["lanes"])
                  and at["lanes"] in (arguments.lanes or [at["lanes"]])]
        wanted = shown = [bench.measure(case, at["lanes"], at["multiprocessors"], size, arguments.rounds)
                          for at in slices]
    moved = straight_line([(part.lanes_here, bytes_of(part.sums) / part.rounds) for part in wanted])
    out = {"name": case["name"], "phase": case["phase"], "bytes": moved, "counts": counts_of(wanted[-1]),
           "spills": spills_of(wanted[-1], sass), "predictions": []}
    for part in shown:
        for chip in chips:
            out["predictions"].append(predict(part, constants, chip, sass, case, moved))
    return out, shown[-1]


def profile_of(part, sass, shown):
    """The lines of source of the kernel that executes most in the longer run of a slice, for people."""
    run = part.runs[0][1]
    mixes = sass.mixes(run)
    kernel = max((k for k in run.kernels if k.symbol in mixes), key=lambda k: mixes[k.symbol].total())
    places = places_of(sass.ptx[kernel.symbol])
    return profile_text(kernel.name, by_line(kernel, sass.code[kernel.symbol], places), part.steps, shown)


def write(path, constants, sass, results):
    """The figures as JSON, a line for each case."""
    cases = ",\n".join(json.dumps(rounded(result)) for result in results)
    assembled = json.dumps(sass.target if sass else None)
    path.write_text(f'{{"predictions": "the model\'s; no GPU has confirmed them", "sass_of_ptx": {assembled},\n'
                    f'"constants": {json.dumps(constants.data)},\n"cases": [\n{cases}\n]}}\n', encoding="utf-8")


def rounded(value):
    """JSON whose numbers have as many digits as they are worth."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(inner) for inner in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def bytes_of(sums):
    return sums["bytes to the device"] + sums["bytes to the host"]


def counts_of(part):
    """Counts per round, per lane-step and, of what brings findings to the host, per lane-step."""
    per_round = ("launches", "round trips", "copies", "memsets", "allocations")
    per_step = ("bytes to the device", "bytes to the host", *CLASSES, *WAVEFRONTS, *SECTORS)
    return {"multiprocessors": part.multiprocessors, "lanes": part.lanes_here, "rounds": part.rounds,
            "steps": part.steps, "launches_of_the_longer_run": count(part.runs[0][2])["launches"],
            "per_round": {name: part.sums[name] / part.rounds for name in per_round},
            "per_step": {name: part.sums[name] / part.steps for name in per_step},
            "findings": {"launches": part.findings.get("launches", 0),
                         "bytes_per_step": bytes_of(collections.Counter(part.findings)) / part.steps}}


def spills_of(part, sass):
    """{kernel: bytes that ptxas spilled} of the kernels that ran."""
    if not sass:
        return {}
    return {kernel.name: sass.spills[kernel.symbol] for _, run, _ in part.runs for kernel in run.kernels
            if sass.spills[kernel.symbol] > 0}


def predict(part, constants, chip, sass, case, moved):
    """One round on a chip: microseconds, lane-steps a second, and what bounds each kernel."""
    state_bytes = case.get("state_bytes", constants.memory.state_bytes)
    parts = []
    for _, run, events in part.runs:
        estimator = Estimator(constants, chip, state_bytes, sass.mixes(run) if sass else None,
                              sass.registers if sass else None)
        parts.append(estimator.parts(events, part.multiprocessors, part.lanes))
    kernels = without(parts[0], parts[1]) if len(parts) > 1 else parts[0]
    scale = estimator.chip.multiprocessors / part.multiprocessors
    over_pcie = (moved[0] + moved[1] * part.lanes) * part.rounds
    us = sum(kernel.us for kernel in kernels.values())
    gaps, waits = estimator.host_us(part.sums, over_pcie, constants.host.launch_gap)
    in_graph, _ = estimator.host_us(part.sums, over_pcie, constants.host.graph_gap)
    total = us + gaps + waits
    return {
        "chip": chip, "lanes": part.lanes, "multiprocessors_simulated": part.multiprocessors,
        "us_per_round": total / part.rounds, "kernels_us": us / part.rounds, "gaps_us": gaps / part.rounds,
        "host_us": waits / part.rounds, "steps_per_second": part.steps * scale / total * MILLION,
        "steps_per_second_in_a_graph": part.steps * scale / (total - gaps + in_graph) * MILLION,
        "kernels": {name: {"us": kernel.us / part.rounds, "launches": kernel.launches / part.rounds,
                           "bound_by": kernel.what.most_common(1)[0][0],
                           "bounds_us": {b: v / part.rounds for b, v in kernel.bounds.items()}}
                    for name, kernel in sorted(kernels.items(), key=lambda item: -item[1].us)
                    if kernel.us >= LEAST_SHARE * total}}


def text_of(result):
    """A case for people."""
    counts, walk = result["counts"], result["phase"] == "walk"
    per, step = ("call", "group") if walk else ("round", "lane-step")
    steps = counts["per_step"]
    lines = [f"\n## {result['name']}",
             f"counted: {counts['lanes']:,} lanes on {counts['multiprocessors']} multiprocessors, "
             f"{counts['rounds']} rounds, {counts['steps']:,} {step}s",
             f"  a {per}: " + ", ".join(f"{value:.3g} {name}" for name, value in counts["per_round"].items()) +
             f"; {counts['launches_of_the_longer_run']} launches in the longer run",
             f"  over PCIe: {result['bytes'][0]:.4g} bytes a {per} and {result['bytes'][1]:.3g} a lane; findings at "
             f"the end {counts['findings']['bytes_per_step']:.3g} a {step}",
             f"  PTX warp instructions per {'10^6' if walk else '1,000'} {step}s: " + ", ".join(
                 f"{name} {steps[name] * (MILLION if walk else 1000):.4g}" for name in CLASSES if steps[name] > 0),
             f"  wavefronts of shared memory a {step}: {sum(steps[n] for n in WAVEFRONTS):.3g}; sectors of global "
             f"memory: {sum(steps[n] for n in SECTORS):.3g}",
             "  spilled: " + (", ".join(f"{name} {value} bytes" for name, value in result["spills"].items())
                              or "nothing that is known of")]
    for at in result["predictions"]:
        kernels = ", ".join(f"{name} {kernel['us']:.3g} ({kernel['bound_by']})"
                            for name, kernel in list(at["kernels"].items())[:SHOWN])
        rate = (f"{1e12 / at['steps_per_second']:8.1f} us per 10^6 groups" if walk
                else f"{at['steps_per_second']:10.3g} {step}s/s")
        lines.append(f"  {at['chip']} {at['lanes']:>9,}: {at['us_per_round']:8.1f} us a {per} = kernels "
                     f"{at['kernels_us']:.1f} + gaps {at['gaps_us']:.1f} + host {at['host_us']:.1f}; {rate}; "
                     f"us: {kernels}")
    return "\n".join(lines)


def parse():
    parser = argparse.ArgumentParser(prog="bench/gpu_model", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fairlane", required=True, help="the program linked with the simulator")
    parser.add_argument("--objects", metavar="FOLDER", help="objects of its kernels, for counts of SASS")
    parser.add_argument("--only", action="append", metavar="TEXT", help="cases with this in their name")
    parser.add_argument("--lanes", type=int, action="append", help="of the slices in cases.json, these")
    parser.add_argument("--chip", action="append", help="of constants.json; all, unless given")
    parser.add_argument("--rounds", type=int, nargs=2, metavar=("A", "B"),
                        help="a round is the difference of a run of B and a run of A, divided")
    parser.add_argument("--profile", type=int, metavar="N", help="of each case, the N lines of source that cost most")
    parser.add_argument("--out", metavar="FOLDER", help="keeps configurations, the last run and what ptxas made there")
    parser.add_argument("--json", metavar="FILE", help="writes everything there, too")
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.fairlane).is_file():
        parser.error(f"--fairlane {arguments.fairlane}: no such file")
    if arguments.profile and not arguments.objects:
        parser.error("--profile is of machine instructions: name their objects by --objects")
    return arguments


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as problem:
        sys.exit(f"bench/gpu_model: {problem}")
