#!/usr/bin/env python3
"""EIDIG in PyTorch, all lanes in lockstep: the performance baseline that Fairlane is held against.

Written from the published algorithm (global and local phase as in DESIGN.md, section 4), as fast as
PyTorch's own operations allow without writing kernels:

- lanes are the last dimension, so a layer is one `W @ h` over every lane and every variant;
- the similar set shares the first layer: one product over the attributes that are not tested, plus
  a table of one column for each combination of the tested ones;
- everything runs under `torch.inference_mode`; gradients are taken only at the lanes that need one,
  gathered into one batch, by the chain rule written out over whole layers: the same bits as
  autograd (`--autograd`) in half its time;
- inputs are found again by mixed-radix integer keys, made distinct once at the end;
- lanes go in one batch, or in several of `--batch` lanes where these fit the cache better.

One JSON line goes to stdout. `--golden` checks the results instead of measuring.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

CODE_DIR = Path(__file__).resolve().parent
DEFAULT_BENCHMARKS = CODE_DIR.parents[1].parent / "shared" / "benchmarks"

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_DATA, EXIT_NO_INPUT = 0, 1, 64, 65, 66

MAX_TESTS = 10  # global phase: tests per seed (the papers' max_iter)
DECAY = 0.5  # global phase: momentum
EPSILON = 1.0e-6  # local phase: attribute weights 1 / (|g1| + |g2| + epsilon)
DRAW_BLOCK = 64  # steps whose random numbers are drawn together

GOLDEN_AGREEMENT = 0.995  # share of golden seeds that must match exactly
GOLDEN_LOCAL_SEEDS = 5  # runs averaged for the golden local phase, as many as the authors' side
GOLDEN_SD = 4.0  # tolerance on the mean, in standard deviations of the authors' runs ...
GOLDEN_SD_FLOOR = 0.03  # ... which count as at least this share of their mean


class _Parser(argparse.ArgumentParser):
    """Leaves with the project's exit code for wrong usage."""

    def error(self, message: str) -> NoReturn:
        print(f"torch_lockstep: {message}", file=sys.stderr)
        sys.exit(EXIT_USAGE)


def _parse_arguments() -> argparse.Namespace:
    parser = _Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--benchmarks", type=Path, default=DEFAULT_BENCHMARKS, metavar="DIR",
                        help="folder with data/, models/, golden/ (default ../shared/benchmarks)")
    parser.add_argument("--subject", default="census",
                        help="census, bank or credit of that folder (default census)")
    parser.add_argument("--model", type=Path, help="Keras .h5 (default: the subject's)")
    parser.add_argument("--data", type=Path, help="dataset (default: the subject's)")
    parser.add_argument("--domain", type=Path, help="domain file (default: the subject's)")
    parser.add_argument("--protected", default="age", metavar="A[,B]",
                        help="attributes tested together (default age)")
    parser.add_argument("--seeds", type=int, default=1000, metavar="N",
                        help="rows drawn uniformly, with replacement (default 1000)")
    parser.add_argument("--seeds-file", type=Path, metavar="CSV", help="start from these rows")
    parser.add_argument("--local", type=int, default=1000, metavar="N",
                        help="local steps per global IDI (default 1000)")
    parser.add_argument("--interval", default="5",
                        help="steps between refreshed weights, or inf (default 5)")
    parser.add_argument("--seed", type=int, default=42, help="random seed (default 42)")
    parser.add_argument("--batch", type=int, default=0, metavar="B",
                        help="lanes in one batch (default 0: all)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    parser.add_argument("--repeat", type=int, default=3, metavar="R",
                        help="timed repeats; the median counts (default 3)")
    parser.add_argument("--device", default="cpu", help="torch device: cpu or cuda (default cpu)")
    parser.add_argument("--autograd", action="store_true",
                        help="gradients from autograd: slower, the same bits")
    parser.add_argument("--golden", type=Path, nargs="+", metavar="DIR[/NAME]",
                        help="check against DIR/NAME.global.csv and .local.json, or all in DIR")
    args = parser.parse_args()
    if args.interval == "inf":
        args.interval = math.inf
    else:
        try:
            args.interval = int(args.interval)
        except ValueError:
            parser.error(f"--interval: expected a whole number or inf, got '{args.interval}'")
    if args.device.split(":")[0] not in ("cpu", "cuda"):
        parser.error(f"--device: expected cpu, cuda or cuda:N, got '{args.device}'")
    lows = {"seeds": 1, "local": 0, "interval": 1, "batch": 0, "threads": 1, "repeat": 1}
    for name, low in lows.items():
        if getattr(args, name) < low:
            parser.error(f"--{name}: expected at least {low}, got {getattr(args, name)}")
    return args


# BLAS and OpenMP read these when they are loaded, hence before torch is imported.
ARGS = _parse_arguments() if __name__ == "__main__" else None
if ARGS is not None:
    for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[_variable] = str(ARGS.threads)

import h5py  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import yaml  # noqa: E402
from torch import Tensor  # noqa: E402


class InputError(Exception):
    """A file says something that this program cannot use."""


@dataclass(frozen=True)
class Domain:
    """The inputs' attributes, in the model's order."""

    names: list[str]
    low: np.ndarray  # [attributes] int64
    high: np.ndarray  # [attributes] int64


def read_domain(path: Path) -> Domain:
    """Reads names and bounds from a domain file."""
    attributes = yaml.safe_load(path.read_text(encoding="utf-8"))["attributes"]
    for attribute in attributes:
        for key in ("name", "low", "high"):
            if key not in attribute:
                raise InputError(f"{path}: attribute {attribute}: no '{key}'")
    return Domain([a["name"] for a in attributes],
                  np.array([a["low"] for a in attributes], dtype=np.int64),
                  np.array([a["high"] for a in attributes], dtype=np.int64))


def read_rows(path: Path, names: list[str]) -> np.ndarray:
    """Returns the named columns of a CSV file, [rows, names] int64."""
    with path.open(newline="", encoding="utf-8") as file:
        header = next(csv.reader(file))
    missing = [name for name in names if name not in header]
    if missing:
        raise InputError(f"{path}: no column '{missing[0]}'")
    table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2,
                       usecols=[header.index(name) for name in names])
    return table.astype(np.int64)


def read_keras(path: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns (kernel [in, out], bias [out]) of each Dense layer; ReLU inside, one sigmoid last."""
    layers: list[tuple[np.ndarray, np.ndarray]] = []
    with h5py.File(path, "r") as file:
        config = json.loads(file.attrs["model_config"])["config"]
        specs = config["layers"] if isinstance(config, dict) else config
        specs = [s for s in specs if s["class_name"] != "InputLayer"]
        for index, spec in enumerate(specs):
            name = spec["config"]["name"]
            expected = "sigmoid" if index + 1 == len(specs) else "relu"
            activation = spec["config"].get("activation")
            if spec["class_name"] != "Dense" or activation != expected:
                raise InputError(f"{path}: layer '{name}': {spec['class_name']} with {activation}, "
                                 f"expected Dense with {expected}")
            group = file["model_weights"][name]
            weights = {n.decode().rsplit("/", 1)[-1]: np.asarray(group[n.decode()], np.float32)
                       for n in (w if isinstance(w, bytes) else w.encode()
                                 for w in group.attrs["weight_names"])}
            kernel = weights["kernel:0"]
            layers.append((kernel, weights.get("bias:0", np.zeros(kernel.shape[1], np.float32))))
    if layers[-1][0].shape[1] != 1:
        raise InputError(f"{path}: {layers[-1][0].shape[1]} outputs, expected 1")
    return layers


class Subject:
    """A network split at its first layer into tested ("protected") and free attributes."""

    def __init__(self, layers: list[tuple[np.ndarray, np.ndarray]], domain: Domain,
                 protected: list[str], device: torch.device, autograd: bool = False) -> None:
        """Throws InputError if an attribute is unknown or the network's input does not fit."""
        for name in protected:
            if name not in domain.names:
                raise InputError(f"--protected: no attribute '{name}' in {domain.names}")
        if layers[0][0].shape[0] != len(domain.names):
            raise InputError(f"the network takes {layers[0][0].shape[0]} inputs, the domain has "
                             f"{len(domain.names)} attributes")
        self.tested = [i for i, name in enumerate(domain.names) if name in protected]
        self.free = [i for i in range(len(domain.names)) if i not in self.tested]
        self.domain = domain
        self.device = device
        self.autograd = autograd
        values = [range(domain.low[i], domain.high[i] + 1) for i in self.tested]
        self.variants = np.array(list(itertools.product(*values)), dtype=np.int64)

        def constant(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        kernel, bias = layers[0]
        self.first = constant(kernel[self.free].T)  # [hidden, free]
        self.offsets = constant(  # [hidden, variants]: tested attributes and bias
            (self.variants.astype(np.float32) @ kernel[self.tested] + bias).T)
        self.rest = [(constant(b[:, None]), constant(k.T)) for k, b in layers[1:]]
        self.first_back = constant(kernel[self.free])
        self.rest_back = [constant(k) for k, _ in reversed(layers[1:])]
        self.low = constant(domain.low[self.free].astype(np.float32))  # [free]
        self.high = constant(domain.high[self.free].astype(np.float32))  # [free]
        # key = (free attributes, mixed radix) * variants + own variant
        sizes = (domain.high - domain.low + 1)[self.free].tolist()
        strides = [math.prod(sizes[i + 1:]) * len(self.variants) for i in range(len(sizes))]
        self.key_limit = math.prod(sizes) * len(self.variants)
        if self.key_limit >= 2**63:
            raise InputError(f"the domain has {self.key_limit} inputs, more than a 64-bit key")
        self.strides = constant(np.array(strides, dtype=np.int64))  # [free]

    def split(self, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        """Returns rows as (free attributes [free, lanes] float32, own variant [lanes] int64)."""
        own = np.zeros(len(rows), dtype=np.int64)
        for i in self.tested:
            low, high = self.domain.low[i], self.domain.high[i]
            own = own * (high - low + 1) + (rows[:, i] - low)
        free = np.ascontiguousarray(rows[:, self.free].T.astype(np.float32))
        return torch.from_numpy(free).to(self.device), torch.from_numpy(own).to(self.device)

    def join(self, free: Tensor, own: Tensor) -> np.ndarray:
        """Inverse of split: [lanes, attributes] int64."""
        rows = np.empty((free.shape[1], len(self.domain.names)), dtype=np.int64)
        rows[:, self.free] = free.cpu().numpy().T
        rows[:, self.tested] = self.variants[own.cpu().numpy()]
        return rows

    def keys(self, free: Tensor, own: Tensor) -> Tensor:
        """Returns each lane's key, [lanes] int64."""
        digits = (free - self.low[:, None]).long()
        return (digits * self.strides[:, None]).sum(0) + own

    def _tail(self, hidden: Tensor) -> Tensor:
        for bias, weight in self.rest:
            hidden = torch.addmm(bias, weight, hidden.relu_())
        return hidden

    def logits(self, free: Tensor) -> Tensor:
        """Returns the logits of every variant of every lane, [variants, lanes]."""
        lanes, count = free.shape[1], self.offsets.shape[1]
        hidden = (self.first @ free)[:, None, :] + self.offsets[:, :, None]
        return self._tail(hidden.view(-1, count * lanes)).view(count, lanes)

    def gradients(self, free: Tensor, own: Tensor, partner: Tensor) -> tuple[Tensor, Tensor]:
        """Returns dp/dx at each lane's own and partner variant, and p there: 2 lanes side by side.

        gradients  [free, 2 * lanes]; probabilities [2 * lanes].
        """
        if self.autograd:
            return self._autograd_gradients(free, own, partner)
        hidden = self.first @ free
        variant = torch.cat((own, partner))
        hidden = torch.cat((hidden, hidden), 1).add_(self.offsets.index_select(1, variant)).relu_()
        active = [hidden]
        for bias, weight in self.rest[:-1]:
            active.append(torch.addmm(bias, weight, active[-1]).relu_())
        bias, weight = self.rest[-1]
        p = torch.addmm(bias, weight, active[-1]).sigmoid_()
        gradient = (1 - p).mul_(p)  # of the sigmoid
        for weight, after in zip(self.rest_back, reversed(active)):
            gradient = torch.ops.aten.threshold_backward(weight @ gradient, after, 0)
        return self.first_back @ gradient, p.view(-1)

    def _autograd_gradients(self, free: Tensor, own: Tensor,
                            partner: Tensor) -> tuple[Tensor, Tensor]:
        """The same, the same bits, from autograd: through the sum of the outputs."""
        with torch.inference_mode(False), torch.enable_grad():
            leaf = torch.cat((free, free), 1).requires_grad_()
            hidden = self.first @ leaf + self.offsets[:, torch.cat((own, partner))]
            p = torch.sigmoid(self._tail(hidden)).view(-1)
            (gradient,) = torch.autograd.grad(p.sum(), leaf)
        return gradient, p.detach()


def discriminates(logits: Tensor) -> Tensor:
    """Returns which lanes have variants with different labels, [lanes] bool."""
    return (logits.amax(0) > 0) & (logits.amin(0) <= 0)


def farthest_partner(logits: Tensor, own: Tensor) -> Tensor:
    """Returns the variant with the largest output difference, first one wins, own if all equal."""
    p = torch.sigmoid(logits)
    distance = (p.gather(0, own[None]) - p).square_()
    best, partner = distance.max(0)
    return torch.where(best > 0, partner, own)


@dataclass
class GlobalTrace:
    """What the global phase did with each seed."""

    free: Tensor  # [free, seeds] float32, last input
    own: Tensor  # [seeds] int64, own variant
    found: Tensor  # [seeds] bool
    tests: Tensor  # [seeds] int64


@torch.inference_mode()
def global_phase(subject: Subject, free: Tensor, own: Tensor) -> GlobalTrace:
    """Walks every seed towards a first IDI, all at once; lanes that found one leave the batch."""
    count, device = free.shape[1], subject.device
    trace = GlobalTrace(free.clone(), own, torch.zeros(count, dtype=torch.bool, device=device),
                        torch.full((count,), MAX_TESTS, device=device))
    low, high = subject.low[:, None], subject.high[:, None]
    lanes = torch.arange(count, device=device)
    momentum = free.new_zeros(free.shape[0], 2, count)
    for test in range(1, MAX_TESTS + 1):
        logits = subject.logits(free)
        hit = discriminates(logits)
        trace.found[lanes[hit]] = True
        trace.tests[lanes[hit]] = test
        keep = (~hit).nonzero().squeeze(1)
        if keep.numel() == 0:
            break
        lanes, free, own = lanes[keep], free[:, keep], own[keep]
        logits = logits[:, keep]
        gradient, p = subject.gradients(free, own, farthest_partner(logits, own))
        gradient = torch.where(p > 0.5, gradient, -gradient).view(-1, 2, lanes.numel())
        momentum = momentum[:, :, keep].mul_(DECAY).add_(gradient)
        sign = momentum.sign()
        step = torch.where(sign[:, 0] == sign[:, 1], sign[:, 0], torch.zeros_like(sign[:, 0]))
        free = torch.clamp(free - step, low, high)
        trace.free[:, lanes] = free
    return trace


def cumulated_weights(gradient: Tensor) -> Tensor:
    """Returns each lane's running sum of attribute probabilities, [lanes, free]; the last is 1.

    gradient  [free, 2 * lanes], at the lane and at its partner.
    """
    lanes = gradient.shape[1] // 2
    size = gradient.abs_()
    weight = (size[:, :lanes] + size[:, lanes:]).add_(EPSILON).reciprocal_()
    total = weight.cumsum(0)
    return total.div_(total[-1].clone()).t().contiguous()


@torch.inference_mode()
def local_phase(subject: Subject, start: Tensor, own: Tensor, steps: int, interval: float,
                generator: torch.Generator) -> list[Tensor]:
    """Searches around one batch of global IDIs; returns the keys of the IDIs met, with repeats."""
    count, device = start.shape[1], subject.device
    start_partner = farthest_partner(subject.logits(start), own)
    start_keys = subject.keys(start, own)
    start_weights = cumulated_weights(subject.gradients(start, own, start_partner)[0])
    free, keys, weights = start, start_keys, start_weights
    streak = torch.zeros(count, dtype=torch.int64, device=device)
    columns = torch.arange(count, device=device)
    met: list[Tensor] = []
    for step in range(steps):
        row = step % DRAW_BLOCK
        if row == 0:
            block = min(DRAW_BLOCK, steps - step)
            draws = torch.rand((block, count, 1), generator=generator, device=device)
            signs = torch.randint(0, 2, (block, count), generator=generator, device=device)
            signs = signs.float().mul_(2).sub_(1)
        attribute = torch.searchsorted(weights, draws[row], right=True).squeeze_(1)
        cell = (attribute * count).add_(columns)
        old = free.take(cell)
        new = torch.clamp(old + signs[row], subject.low.take(attribute),
                          subject.high.take(attribute))
        moved = free.clone()
        moved.view(-1).scatter_(0, cell, new)
        moved_keys = (new - old).long().mul_(subject.strides.take(attribute)).add_(keys)

        logits = subject.logits(moved)
        hit = discriminates(logits)
        free = torch.where(hit, moved, start)
        keys = torch.where(hit, moved_keys, start_keys)
        met.append(keys)  # a miss repeats the start, which is an IDI and counted anyway
        weights = torch.where(hit[:, None], weights, start_weights)
        streak = (streak + 1).mul_(hit)
        due = (streak >= interval).nonzero().squeeze(1)
        if due.numel():
            some, some_own = logits.index_select(1, due) > 0, own.index_select(0, due)
            other = some != some.gather(0, some_own[None])
            luck = torch.rand(other.shape, generator=generator, device=device).add_(1)
            partner = luck.mul_(other).argmax(0)  # uniform over the members with another label
            gradient, _ = subject.gradients(free.index_select(1, due), some_own, partner)
            weights.index_copy_(0, due, cumulated_weights(gradient))
            streak.index_fill_(0, due, 0)
    return met


@dataclass(frozen=True)
class Result:
    """Counts of one search."""

    global_found: int
    global_unique: int
    global_tests: int
    local_steps: int
    unique_instances: int
    unique_groups: int


def distinct(subject: Subject, keys: Tensor) -> tuple[int, int]:
    """Returns the numbers of distinct inputs and of distinct groups among the keys."""
    variants = len(subject.variants)
    if keys.device.type != "cpu":
        unique = torch.unique(keys)
        return unique.numel(), torch.unique_consecutive(unique // variants).numel()
    array = keys.numpy()
    if subject.key_limit <= 2**32:  # numpy sorts 32-bit keys several times as fast
        array = array.astype(np.uint32)
    array = np.sort(array)  # faster than np.unique, which newer versions do by hashing
    groups = array // array.dtype.type(variants)
    return _runs(array), _runs(groups)


def _runs(values: np.ndarray) -> int:
    """Returns the number of distinct values in a sorted array."""
    return int(np.count_nonzero(values[1:] != values[:-1])) + min(len(values), 1)


def search(subject: Subject, rows: np.ndarray, steps: int, interval: float, batch: int,
           seed: int) -> Result:
    """Runs both phases from the seed rows, [seeds, attributes], and counts."""
    generator = torch.Generator(device=subject.device).manual_seed(seed)
    free, own = subject.split(rows)
    width = batch or max(len(rows), 1)
    traces = [global_phase(subject, f, o) for f, o in zip(free.split(width, 1), own.split(width))]
    found = torch.cat([t.found for t in traces])
    start, start_own = torch.cat([t.free for t in traces], 1)[:, found], own[found]
    keys = subject.keys(start, start_own)
    met = [keys]
    if keys.numel():
        # Equal keys are equal inputs: any of them may stand for its key.
        unique, inverse = torch.unique(keys, return_inverse=True)
        first = inverse.new_empty(unique.numel())
        first[inverse] = torch.arange(keys.numel(), device=subject.device)
        start, start_own = start[:, first], start_own[first]
        # Batches of equal width: a short last one would run at a poor rate.
        parts = -(-first.numel() // width)
        for f, o in zip(start.tensor_split(parts, 1), start_own.tensor_split(parts)):
            met += local_phase(subject, f.contiguous(), o, steps, interval, generator)
    instances, groups = distinct(subject, torch.cat(met))
    tests = int(sum(int(t.tests.sum()) for t in traces))
    return Result(int(found.sum()), start.shape[1], tests, start.shape[1] * steps,
                  instances, groups)


def blas_name() -> str:
    """Names the BLAS that torch multiplies matrices with on the CPU."""
    if torch.backends.mkl.is_available():
        return "mkl"
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8").lower()
    except OSError:
        return "unknown"
    return next((name for name in ("openblas", "blis") if name in maps), "reference")


def load_subject(args: argparse.Namespace, name: str, protected: list[str]) -> Subject:
    """Reads network and domain: the given files, or the named ones of the benchmark folder."""
    model = args.model or args.benchmarks / "models" / f"{name}.h5"
    domain = args.domain or args.benchmarks / "data" / f"{name}.domain.yaml"
    return Subject(read_keras(model), read_domain(domain), protected, torch.device(args.device),
                   args.autograd)


def measure(args: argparse.Namespace) -> int:
    """Times the search and prints one JSON line."""
    protected = args.protected.split(",")
    subject = load_subject(args, args.subject, protected)
    names = subject.domain.names
    if args.seeds_file:
        rows = read_rows(args.seeds_file, names)
    else:
        rows = read_rows(args.data or args.benchmarks / "data" / f"{args.subject}.csv", names)
        rows = rows[np.random.default_rng(args.seed).integers(0, len(rows), args.seeds)]
    outside = ((rows < subject.domain.low) | (rows > subject.domain.high)).any(1)
    if outside.any():
        raise InputError(f"{int(outside.sum())} seed rows lie outside the domain, the first is "
                         f"row {int(outside.argmax())}")
    search(subject, rows[:100], min(args.local, 100), args.interval, args.batch, args.seed)
    seconds: list[float] = []
    cpu_seconds: list[float] = []  # a busy machine shows as a difference between the two
    for _ in range(args.repeat):
        begin, cpu_begin = time.perf_counter(), time.process_time()
        result = search(subject, rows, args.local, args.interval, args.batch, args.seed)
        seconds.append(time.perf_counter() - begin)  # counts are on the host: nothing is pending
        cpu_seconds.append(time.process_time() - cpu_begin)
    median = statistics.median(seconds)
    print(json.dumps({
        "impl": "torch-lockstep", "torch": torch.__version__, "device": args.device,
        "blas": blas_name(), "threads": args.threads, "batch": args.batch,
        "subject": args.model.stem if args.model else args.subject, "protected": protected,
        "seeds": len(rows), "local": args.local,
        "interval": "inf" if args.interval == math.inf else args.interval,
        "global_found": result.global_found, "global_unique": result.global_unique,
        "iterations": result.global_tests + result.local_steps,
        "unique_instances": result.unique_instances, "unique_groups": result.unique_groups,
        "search_seconds": round(median, 6),
        "cpu_seconds": round(statistics.median(cpu_seconds), 6),
        "all_seconds": [round(s, 6) for s in seconds],
        "idi_per_second": round(result.unique_instances / median),
        "steps_per_second": round(result.local_steps / median)}))
    return EXIT_OK


def check_golden(args: argparse.Namespace, prefix: Path) -> bool:
    """Compares one golden case, DIR/SUBJECT.PROTECTED; prints a line per check."""
    name, protected = prefix.name.split(".", 1)
    subject = load_subject(args, name, protected.split("+"))
    names = subject.domain.names
    seeds = read_rows(prefix.with_name(prefix.name + ".seeds.csv"), names)
    with prefix.with_name(prefix.name + ".global.csv").open(newline="", encoding="utf-8") as file:
        golden = np.array([[int(row[c]) for c in ("seed", "found", "iterations", *names)]
                           for row in csv.DictReader(file) if row["method"] == "eidig"])
    local = json.loads(prefix.with_name(prefix.name + ".local.json").read_text(encoding="utf-8"))

    trace = global_phase(subject, *subject.split(seeds))
    ours = np.column_stack([np.arange(len(seeds)), trace.found.cpu().numpy(),
                            trace.tests.cpu().numpy(), subject.join(trace.free, trace.own)])
    agree = int((ours[golden[:, 0]] == golden).all(1).sum())
    passed = len(golden) > 0 and agree >= GOLDEN_AGREEMENT * len(golden)
    print(f"{'pass' if passed else 'FAIL'} {prefix.name} global: {agree} of {len(golden)} seeds")
    for method, interval in (("eidig-5", 5), ("eidig-inf", math.inf)):
        if method not in local:
            continue
        theirs = local[method]["unique_instances"]
        mean, sd = statistics.mean(theirs), statistics.stdev(theirs)
        found = [search(subject, seeds, local[method]["local_num"], interval, args.batch,
                        args.seed + i).unique_instances for i in range(GOLDEN_LOCAL_SEEDS)]
        difference = statistics.mean(found) - mean
        within = abs(difference) <= GOLDEN_SD * max(sd, GOLDEN_SD_FLOOR * mean)
        print(f"{'pass' if within else 'FAIL'} {prefix.name} {method}: {statistics.mean(found):.1f}"
              f" unique IDIs, authors {mean:.1f} (sd {sd:.1f}): {difference / mean:+.2%}, "
              f"{difference / sd:+.1f} sd")
        passed = passed and within
    return passed


def validate(args: argparse.Namespace) -> int:
    """Checks golden cases; the exit code says whether all passed."""
    prefixes: list[Path] = []
    for path in args.golden:
        if path.is_dir():
            prefixes += [p.with_name(p.name[:-len(".seeds.csv")])
                         for p in sorted(path.glob("*.seeds.csv"))]
        else:
            prefixes.append(path)
    if not prefixes:
        raise FileNotFoundError(f"no golden cases in {', '.join(map(str, args.golden))}")
    failed = [p.name for p in prefixes if not check_golden(args, p)]
    print(f"{len(prefixes) - len(failed)} of {len(prefixes)} golden cases pass")
    return EXIT_FAILED if failed else EXIT_OK


def main(args: argparse.Namespace) -> int:
    """Runs what the command line asks for."""
    torch.set_num_threads(args.threads)
    if args.device != "cpu" and not torch.cuda.is_available():
        print(f"torch_lockstep: --device {args.device}: this torch finds no device",
              file=sys.stderr)
        return EXIT_USAGE
    if args.device == "cpu" and blas_name() == "reference":
        print("torch_lockstep: warning: torch uses the reference BLAS, several times slower than "
              "OpenBLAS: not a fair baseline (install libopenblas0)", file=sys.stderr)
    try:
        return validate(args) if args.golden else measure(args)
    except FileNotFoundError as error:
        print(f"torch_lockstep: {error}", file=sys.stderr)
        return EXIT_NO_INPUT
    except (InputError, yaml.YAMLError, ValueError, KeyError) as error:
        print(f"torch_lockstep: {error}", file=sys.stderr)
        return EXIT_DATA


if __name__ == "__main__":
    sys.exit(main(ARGS))
