"""Predicts what launches take on a chip, from what a simulated slice of that chip executed.

A slice is a simulated GPU of few multiprocessors with as many lanes for each as the chip would have:
1,048,576 lanes on 132 multiprocessors are 7,944 on one. The program lays its grids out for the slice
as it would for the chip, so that a multiprocessor's blocks, their lanes and their rounds are the
chip's, whether a step is fourteen launches or a block keeps its lanes for a hundred steps. What a
launch takes is read off its own row; nothing is fitted to a kernel's shape. The slice's
multiprocessors get their share of the chip's L2 and HBM.

A launch takes the greatest of
  issue    warp instructions, 1 a cycle and scheduler; where fewer warps are there, fewer schedulers
  fma      FFMA, FADD, FMUL and twice IMAD, 4 a cycle
  alu      integer, select, compare, and 4 times conversions and special functions, 2 a cycle
  lsu      wavefronts of shared memory and accesses of global and local memory, 1 a cycle
  memory   sectors x 32 bytes over the slice's share of L2 or HBM, or over the ports of its multiprocessors
  latency  the slowest warp as if it were alone, with its waits at barriers, times the waves of blocks; where
           the lanes' state does not fit in L2, with global memory that answers later
  block    the slowest block as if it had its multiprocessor for itself, times the waves of blocks

The last is there for kernels whose blocks keep their lanes for many rounds, with barriers between the
stages of a round. From barrier to barrier a block takes as long as its longest warp alone or, where that
is more, as its schedulers need to issue what its warps have: block = sum over stages of
max(longest warp, instructions of the busiest of four schedulers). Blocks that share a multiprocessor
fill each other's gaps, so that a round of all of them takes max(issue of all resident blocks, one block);
a launch is the sum of its rounds on both sides. That is a lower bound: blocks that are in the same stage
at the same time fill no gaps. Occupancy is the least of what threads, registers, shared memory and the
grid allow. A simulator that does not say `alone` is taken to say `critical`.
"""
import collections
import dataclasses
import math

from run_costs import CLASSES, SECTORS, WAVEFRONTS

# Classes whose number in SASS follows their own number in PTX; the others follow all instructions.
OWN = ("ffma", "shared_load", "shared_store", "global_load", "global_store")


@dataclasses.dataclass
class Part:
    """What one kernel adds to a step. bounds {bound: microseconds}"""
    us: float = 0.0
    launches: float = 0.0
    bounds: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    what: collections.Counter = dataclasses.field(default_factory=collections.Counter)


class Estimator:
    """A chip, and what is known of the kernels beside their counts.

    mixes      {kernel symbol: instructions by class, of SASS, over the run}, or nothing: counts are PTX's
    registers  {kernel symbol: registers of a thread}
    """

    def __init__(self, constants, chip, state_bytes, mixes=None, registers=None):
        self.chip = constants.chips[chip]
        self.unit = constants.multiprocessor
        self.host = constants.host
        self.memory = constants.memory
        self.state_bytes = state_bytes
        self.mixes = mixes or {}
        self.registers = registers or {}

    def instructions(self, launch):
        """(issued, by class) of SASS where that is known; else PTX, its issue a guess by instruction."""
        mix = self.mixes.get(launch.kernel.symbol)
        whole, count = launch.kernel.ptx, launch.count
        if not mix or whole["issue"] == 0:
            return count["issue"], count
        scale = count["issue"] / whole["issue"]
        made = {c: (mix.get(c, 0) * count[c] / whole[c] if c in OWN and whole[c] > 0
                    else mix.get(c, 0) * scale) for c in CLASSES}
        return sum(made.values()), made

    def resident(self, launch, active, used):
        """Blocks of a launch that a multiprocessor holds at once."""
        limits = [self.unit.warps * 32 // launch.threads, self.unit.blocks, math.ceil(active / used)]
        if launch.shared > 0:
            limits.append(self.unit.shared // (launch.shared + self.unit.block_shared))
        registers = self.registers.get(launch.kernel.symbol)
        if registers:
            limits.append(self.unit.registers // (registers * launch.threads))
        return max(1, min(limits))

    def bounds(self, launch, sms, lanes):
        """{bound: microseconds} of a launch on a slice of `sms` multiprocessors of a chip that has
        `lanes` lanes under way."""
        issued, by_class = self.instructions(launch)
        count = launch.count
        active, busy = busy_blocks(launch)
        used = min(sms, active)
        resident = self.resident(launch, active, used)
        schedulers = min(self.unit.schedulers, max(1.0, resident * busy))
        waves = max(1, math.ceil(active / (used * resident)))
        in_l2 = self.state_bytes * lanes < self.memory.l2_share * self.chip.l2_size * 2**20
        share = sms / self.chip.multiprocessors
        bytes_moved = sum(count[c] for c in SECTORS) * self.memory.sector
        accesses = sum(by_class[c] for c in ("global_load", "global_store", "atomic", "local_load",
                                             "local_store"))
        fma = by_class["ffma"] + by_class["fadd_fmul"] + self.unit.imad_cycles * by_class["imad"]
        alu = by_class["integer"] + self.unit.special_cycles * by_class["convert_special"]
        bandwidth = (self.chip.l2 if in_l2 else self.chip.hbm) * share
        return {
            "issue": self.us(issued / used / schedulers),
            "fma": self.us(fma / used / self.unit.fma_pipes),
            "alu": self.us(alu / used / self.unit.alu_pipes),
            "lsu": self.us((sum(count[c] for c in WAVEFRONTS) + accesses) / used),
            "memory": max(bytes_moved / bandwidth / 1e6,
                          self.us(bytes_moved / self.unit.memory_port / used)),
            "latency": self.us((launch.critical if in_l2 else launch.critical_far) * waves),
            "block": self.us(launch.alone * waves),
        }

    def us(self, cycles):
        return cycles / self.chip.clock / 1e3

    def parts(self, events, sms, lanes):
        """{kernel: Part} of the launches among events."""
        parts = collections.OrderedDict()
        for event in events:
            if not event.launch:
                continue
            part = parts.setdefault(event.launch.kernel.name, Part())
            bounds = self.bounds(event.launch, sms, lanes)
            what = max(bounds, key=bounds.get)
            part.us += bounds[what]
            part.launches += 1
            part.what[what] += bounds[what]
            part.bounds.update(bounds)
        return parts

    def host_us(self, sums, bytes_moved, gap):
        """Microseconds that launches, copies and waits add: (gaps, copies and waits)."""
        copies = (sums["copies"] + sums["memsets"]) * self.host.copy
        trips = sums["round trips"] * self.host.round_trip
        return sums["launches"] * gap, copies + trips + bytes_moved / self.host.pcie / 1e3


def busy_blocks(launch):
    """(blocks that find work, warps of each that do), where the launch says how much work there is."""
    warps = max(1, launch.threads // 32)
    if launch.items < 0:
        return launch.grid, warps
    pieces = max(1, math.ceil(launch.items / max(launch.per_step, 1)))
    active = min(launch.grid, pieces)
    return active, min(warps, pieces / active) if launch.kernel.tiles else warps


def without(more, less):
    """{kernel: Part} of a run without those of a shorter one."""
    out = collections.OrderedDict()
    for name in [*more, *(n for n in less if n not in more)]:
        a, b = more.get(name, Part()), less.get(name, Part())
        part = Part(a.us - b.us, a.launches - b.launches)
        for mine, of_a, of_b in ((part.bounds, a.bounds, b.bounds), (part.what, a.what, b.what)):
            mine.update(of_a)
            mine.subtract(of_b)
        out[name] = part
    return out


def straight_line(points):
    """(constant, slope), both at least 0, of the line that fits [(x, y)] best; through 0 where all x are one.

    So what one slice of lanes moves is taken to grow with the lanes: at worst too much, never too little."""
    n = len(points)
    mean_x, mean_y = (sum(p[i] for p in points) / n for i in (0, 1))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread > 0 else mean_y / mean_x
    constant = mean_y - slope * mean_x
    if constant < 0:
        constant, slope = 0.0, sum(x * y for x, y in points) / sum(x * x for x, _ in points)
    return (mean_y, 0.0) if slope < 0 else (constant, slope)
