"""Reads what a simulated run counted: the JSON that the simulator writes to GPUSIM_COST.

A run is a list of events in the order in which the host asked for them: launches, each with what its
kernel executed, copies, waits and allocations. Everything else here is sums over events.
"""
import collections
import dataclasses
import json
import re

CLASSES = ("ffma", "fadd_fmul", "fp64", "imad", "integer", "convert_special", "move", "branch", "sync",
           "shared_load", "shared_store", "local_load", "local_store", "global_load", "global_store",
           "atomic", "other")
SECTORS = ("sectors_load", "sectors_store", "sectors_atomic")
WAVEFRONTS = ("wavefronts_load", "wavefronts_store")
MEASURES = ("issue", *WAVEFRONTS, *SECTORS)


@dataclasses.dataclass
class Kernel:
    """lines  [[line of the PTX, times executed, cycles]]; ptx  {class or measure: sum over the run}"""
    name: str
    symbol: str
    tiles: bool
    lines: list
    ptx: dict


@dataclasses.dataclass
class Launch:
    """What one launch took.

    items     indices that its kernel worked on, -1 where nobody knows
    per_step  of them a block (of a tile kernel: a warp) takes at once
    longest   instructions of the longest warp
    critical  cycles of the slowest warp, were it alone; critical_far: where global memory lies behind L2
    alone     cycles of the longest block, were it alone on its multiprocessor
    count     {class or measure: warp instructions, wavefronts or sectors}
    """
    kernel: Kernel
    grid: int
    threads: int
    shared: int
    items: int
    per_step: int
    longest: int
    critical: int
    critical_far: int
    alone: int
    count: dict


@dataclasses.dataclass
class Event:
    """kind: L launch, H D h d copies (h and d: of memory that is not pinned), Z memset, R event, E wait
    for it, S synchronise, A F P Q memory taken and given back, I its size asked for; value: bytes."""
    kind: str
    value: int
    launch: Launch = None


@dataclasses.dataclass
class Run:
    multiprocessors: int
    kernels: list
    events: list


def short_name(name):
    """A kernel's name for people: what run_lanes or run_tiles runs, or the template's own name."""
    shape = re.search(r"run_\w+<(?:fairlane::)?(\w+)(?:, (\d), (\w+))?", name)
    if shape:
        where = "" if shape.group(3) == "true" else " off chip"
        return shape.group(1) + (f"/{shape.group(2)}{where}" if shape.group(2) else "")
    own = re.search(r"(\w+)<", name) or re.search(r"(\w+)\(", name)
    return own.group(1) if own else name


def read_run(path):
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    kernels, rows = [], {}
    for entry in data["kernels"]:
        kernel = Kernel(short_name(entry["name"]), entry["symbol"], "run_tiles<" in entry["name"],
                        entry["lines"], dict(zip(data["columns"], entry["sums"])))
        kernels.append(kernel)
        head = data["row_head"]
        rows[entry["id"]] = iter([launch_of(kernel, dict(zip(head, row)), row[len(head):], data["columns"])
                                  for row in entry["rows"]])
    # What was asked for after the last wait was never executed.
    events = [Event(kind, value, next(rows[value], None) if kind == "L" and value in rows else None)
              for kind, value in data["trace"]]
    return Run(data["multiprocessors"], kernels, [e for e in events if e.kind != "L" or e.launch])


def launch_of(kernel, head, counts, columns):
    return Launch(kernel, head["grid"], head["threads"], head["shared"], head["items"], head["per_step"],
                  head["longest"], head["critical"], head["critical_far"],
                  head.get("alone", head["critical"]),
                  dict(zip(columns, counts)))


def is_helper(name, helpers):
    return name.startswith(tuple(helpers))


def split_findings(events, findings, helpers):
    """(events of the search, events that bring its findings to the host): the second begin behind the
    last kernel that is neither of `findings` nor a helper that both use."""
    last = -1
    for at, event in enumerate(events):
        if event.launch and not is_helper(event.launch.kernel.name, (*findings, *helpers)):
            last = at
    return events[:last + 1], events[last + 1:]


def count(events):
    """Sums over events: launches, waits, copies, bytes, and what the kernels executed."""
    sums = collections.Counter()
    previous = before = ""
    for event in events:
        kind, value = event.kind, event.value
        if kind == "L":
            sums["launches"] += 1
            sums.update({name: event.launch.count[name] for name in (*CLASSES, *MEASURES)})
        elif kind in "HhDd":
            way = "to the device" if kind in "Hh" else "to the host"
            sums["copies"] += 1
            sums[f"bytes {way}"] += value
        elif kind == "Z":
            sums["memsets"] += 1
        elif kind in "AFPQ":
            sums["allocations"] += 1
        # A wait for an event behind a copy to the host is a round trip; other waits are for copies of
        # pinned memory on their way, which is hardly ever busy.
        if kind in "dS" or (kind == "E" and previous == "R" and before in ("D", "d")):
            sums["round trips"] += 1
        before, previous = previous, kind
    return sums


def difference(more, less):
    """Sums of one run without those of a shorter one."""
    out = collections.Counter(more)
    out.subtract(less)
    return out
