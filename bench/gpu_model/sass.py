"""Reads what ptxas made of the kernels: SASS listings of nvdisasm, registers and spills of ptxas -v.

The tools come with CUDA or by pip (nvidia-cuda-cuobjdump, nvidia-cuda-nvdisasm).
"""
import collections
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sysconfig

FETCHED = pathlib.Path(__file__).resolve().parents[2] / "build" / "python"

CLASS_OF = {
    "FFMA": "ffma", "FADD": "fadd_fmul", "FMUL": "fadd_fmul",
    **dict.fromkeys(("DADD", "DMUL", "DFMA", "DSETP"), "fp64"),
    **dict.fromkeys(("IMAD", "UIMAD"), "imad"),
    **dict.fromkeys(("MUFU", "I2F", "F2I", "I2FP", "POPC", "FLO", "BREV", "F2F", "FRND", "FCHK", "S2R",
                     "S2UR", "R2UR", "CS2R"), "convert_special"),
    **dict.fromkeys(("BRA", "EXIT", "CALL", "RET", "BRX", "BSSY", "BSYNC", "BREAK", "WARPSYNC", "YIELD",
                     "JMP"), "branch"),
    **dict.fromkeys(("BAR", "SHFL", "VOTE", "VOTEU", "MATCH", "REDUX", "NANOSLEEP", "DEPBAR"), "sync"),
    "LDS": "shared_load", "LDSM": "shared_load", "STS": "shared_store", "LDL": "local_load",
    "STL": "local_store", "LDG": "global_load", "LD": "global_load", "STG": "global_store",
    "ST": "global_store",
    **dict.fromkeys(("ATOM", "ATOMG", "ATOMS", "RED", "UATOMG"), "atomic"),
    **dict.fromkeys(("MOV", "UMOV", "LDC", "ULDC"), "move"),
    **dict.fromkeys(("NOP", "MEMBAR", "ERRBAR", "CCTL", "FENCE"), "other"),
}
# Of these there are as many in SASS as in PTX, unless ptxas unrolled a loop.
ANCHORS = ("ffma", "fadd_fmul", "shared_load", "shared_store", "global_load", "global_store")
SECTION = re.compile(r"\.text\.([^\s,\"]+)")
LABEL = re.compile(r"([.$\w]+):\s*$")
LINE = re.compile(r"//## .*line (\d+)")
CODE = re.compile(r"\s*/\*([0-9a-f]+)\*/\s+(@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);")
LEAVES = ("BRA", "EXIT", "RET", "BRX", "JMP")  # nothing goes on behind them, unless a predicate guards them
TARGET = re.compile(r"`\(([.$\w]+)\)")


class NoTool(Exception):
    """A tool that is not on this machine; the message says where it was looked for."""


@dataclasses.dataclass
class Instruction:
    """line: of the PTX that it was made from, 0 where not known. guarded: by a predicate. slow: in a
    function of rare cases that ptxas added, such as a division's. strayed: only reached by a warp whose
    threads have parted where they are to vote together"""
    address: int
    op: str
    operands: str
    line: int
    guarded: bool
    slow: bool
    strayed: bool = False


@dataclasses.dataclass
class Code:
    """instructions in their order; labels {label: index of the instruction behind it}"""
    instructions: list
    labels: dict


def find_tool(name):
    """Its path: FAIRLANE_CUDA_TOOLS, PATH, CUDA's own folder, or what scripts/setup or pip installs."""
    sites = [FETCHED, pathlib.Path(sysconfig.get_paths()["purelib"])]
    homes = [os.environ.get("FAIRLANE_CUDA_TOOLS", ""), os.path.dirname(shutil.which(name) or ""),
             *(os.path.join(os.environ.get(home, ""), "bin") for home in ("CUDA_HOME", "CUDA_PATH")),
             "/usr/local/cuda/bin", *(str(home) for site in sites for home in sorted(site.glob("nvidia/*/bin")))]
    for home in homes:
        path = pathlib.Path(home) / name
        if home and os.access(path, os.X_OK):
            return str(path)
    raise NoTool(f"no {name}: not in FAIRLANE_CUDA_TOOLS, PATH, CUDA_HOME or /usr/local/cuda/bin; "
                 f"python3 -m pip install nvidia-cuda-{name}")


def class_of(op):
    head = op.split(".")[0]
    if op.startswith("IMAD.MOV"):
        return "move"
    return CLASS_OF.get(head, "integer")


def read_listing(lines):
    """{kernel: Code} of what `nvdisasm -c` (with -gp: and its lines of PTX) printed."""
    kernels, code, line, slow = {}, None, 0, False
    for text in lines:
        if "//-----" in text:
            section = SECTION.search(text)
            code = kernels.setdefault(section.group(1), Code([], {})) if section else None
            line, slow = 0, False
            continue
        if code is None:
            continue
        label, said, made = LABEL.match(text), LINE.search(text), CODE.match(text)
        if label:
            code.labels[label.group(1)] = len(code.instructions)
            if not label.group(1).startswith(".L"):
                slow = "__internal_" in text or "__cuda_sm" in text
        elif said:
            line = int(said.group(1))
        elif made:
            code.instructions.append(Instruction(int(made.group(1), 16), made.group(3), made.group(4).strip(),
                                                 line, made.group(2) is not None, slow))
    for code in kernels.values():
        mark_strayed(code)
    return kernels


def mark_strayed(code):
    """Marks what only `BRA.DIV` leads to: the same votes again, for threads that come one by one. Where
    there are jumps to addresses in registers, every label may be one."""
    aims = [[code.labels[name] for name in TARGET.findall(made.operands) if name in code.labels]
            for made in code.instructions]
    anywhere = any(made.op.startswith(("BRX", "JMX")) for made in code.instructions)
    open_ends = [0, *(at for name, at in code.labels.items() if anywhere or not name.startswith(".L"))]
    reached = [False] * len(code.instructions)
    while open_ends:
        at = open_ends.pop()
        while at < len(reached) and not reached[at]:
            reached[at] = True
            made = code.instructions[at]
            at += 1
            if made.op == "BRA.DIV":
                continue
            open_ends += aims[at - 1]
            if made.op.split(".")[0] in LEAVES and not made.guarded:
                break
    for made, seen in zip(code.instructions, reached):
        made.strayed = not seen


def branch_target(code, made):
    """Index of the instruction that a branch goes to; None for every other instruction."""
    target = TARGET.search(made.operands) if made.op.startswith("BRA") else None
    return code.labels.get(target.group(1)) if target else None


def read_ptxas(text):
    """({kernel: registers}, {kernel: bytes spilled}) of what `ptxas -v` printed. Lines about a function
    that a kernel calls follow the kernel's own."""
    registers, spills, name = {}, collections.Counter(), None
    for line in text.splitlines():
        entry = re.search(r"Compiling entry function '(\S+)'", line)
        used = re.search(r"Used (\d+) registers", line)
        spilled = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line)
        if entry:
            name = entry.group(1)
        elif used and name:
            registers[name] = int(used.group(1))
        elif spilled and name:
            spills[name] = max(spills[name], int(spilled.group(1)) + int(spilled.group(2)))
    return registers, spills


def ptx_of(blob):
    """The PTX in an object file, or '': there is any only where it was compiled with
    --compress-mode=none for a virtual architecture."""
    at = blob.find(b"\n.version ")
    if at < 0:
        return ""
    return blob[blob.rfind(b"\0", 0, at) + 1:blob.find(b"\0", at)].decode()


def not_of(program, objects):
    """Those of the objects whose PTX is not what a program executes: they were built apart."""
    blob = pathlib.Path(program).read_bytes()
    return [path for path in objects if ptx_of(path.read_bytes()).encode() not in blob]


def ptx_target(ptx):
    """'9.0 sm_90': version of the language and architecture, on which counts depend."""
    found = re.search(r"\.version (\S+)\s+\.target (\w+)", ptx)
    return " ".join(found.groups()) if found else ""


def executed(kernel, code):
    """Each instruction of a kernel and how often it ran: as often as its line of PTX, but for what is slow
    or strayed."""
    times = collections.Counter()
    for line, count, _ in kernel.lines:
        times[line] = max(times[line], count)
    return [(made, times[made.line]) for made in code.instructions if not made.slow and not made.strayed]


class Sass:
    """What ptxas makes of the PTX in objects: the PTX that the simulator executes.

    code {kernel: Code}; registers, spills {kernel: number}; ptx {kernel: the PTX that it was made from}
    """

    def __init__(self, objects, folder):
        self.code, self.registers, self.spills, self.target = {}, {}, collections.Counter(), ""
        self.ptx = {}
        ptxas, nvdisasm = find_tool("ptxas"), find_tool("nvdisasm")
        for path in objects:
            ptx = ptx_of(path.read_bytes())
            if not ptx:
                raise NoTool(f"{path}: no PTX; compile with --compress-mode=none for a virtual architecture")
            self.target = ptx_target(ptx)
            cubin = assemble(ptx, folder / path.name, ptxas)
            registers, spills = read_ptxas(cubin.with_suffix(".log").read_text(encoding="utf-8"))
            self.registers.update(registers)
            self.spills.update(spills)
            code = read_listing(command([nvdisasm, "-c", "-gp", cubin]).splitlines())
            self.code.update(code)
            self.ptx.update(dict.fromkeys(code, ptx))

    def mixes(self, run):
        """{kernel: executed instructions by class}: each as often as its line of PTX.

        Warps are taken to vote together, as those of the simulator do.
        A loop that ptxas unrolled has a line several times, each executed that much less often: loads,
        stores and multiply-adds, of which there must be as many as in PTX, say how much too many that is.
        """
        return {kernel.symbol: self.mix(kernel) for kernel in run.kernels if kernel.symbol in self.code}

    def mix(self, kernel):
        sums = collections.Counter()
        for made, times in executed(kernel, self.code[kernel.symbol]):
            sums[class_of(made.op)] += times
        wanted, found = (sum(of[c] for c in ANCHORS) for of in (kernel.ptx, sums))
        if 0 < wanted < found:
            sums = collections.Counter({c: n * wanted // found for c, n in sums.items()})
        return sums


def assemble(ptx, stem, ptxas):
    """STEM.cubin, made from the PTX unless it is there already; STEM.log is what ptxas said."""
    source, cubin, log = (stem.with_suffix(suffix) for suffix in (".ptx", ".cubin", ".log"))
    if not log.exists() or source.read_text(encoding="utf-8") != ptx:
        source.write_text(ptx, encoding="utf-8")
        arch = ptx_target(ptx).split()[1]
        said = command([ptxas, f"-arch={arch}", "-v", "-lineinfo", source, "-o", cubin])
        log.write_text(said, encoding="utf-8")
    return cubin


def command(words, folder=None):
    """What a tool printed on both of its outputs."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode != 0:
        raise NoTool(f"{words[0]} failed: {done.stderr.strip()[:300]}")
    return done.stdout + done.stderr
