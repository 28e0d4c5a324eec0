"""What ptxas made of the kernels keeps to the numerical contract, and its inner loops stay dense.

For every kernel of ours and every architecture of the build, as nvdisasm shows it:
  FTZ    no float arithmetic that flushes subnormals to zero. Allowed are: F2I, part of an integer division
         by reciprocal, whose operand is none; comparisons with infinity or of a number with itself, which
         ask for infinities and NaN; and the functions of rare cases that ptxas adds to divisions and roots
         (__internal_, __cuda_sm), which treat infinities and NaN so
  FMNMX  only as a clamp: .NAN, which keeps NaN, with a bound that is a constant; a relu is one, which turns
         -0 into +0, as nothing shows. One of two registers might drop a NaN.
         Kernels that ask whether one of two margins is not positive may compare their minimum with 0: a NaN
         that it drops would not have been below 0 either; and one kernel clamps wanted steps, of which those
         that are no number count as the longest, by every backend's definition of a minimum
  loops  in inner loops of multiply-adds (at least 32 FFMA, at least 40 % of the instructions), loads for each
         FFMA stay within sass_budget.json: of a kernel's largest loop and of its worst, on any architecture
Skips where the build has no CUDA or the machine no cuobjdump and nvdisasm.

Usage: sass_test.py [--update] [FOLDER], FOLDER with the objects of fairlane_cuda. --update writes what was
measured as the new budget.
"""
import json
import pathlib
import re
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2] / "bench" / "gpu_model"), str(HERE)]

from kernel_budget_test import kernel_name
from sass import NoTool, assemble, branch_target, command, find_tool, ptx_of, read_listing

BUDGET = HERE / "sass_budget.json"
SKIPPED = 77
LEAST_FFMA, LEAST_SHARE = 32, 0.4
LOADS = ("LDS", "LDG", "LD")
LARGEST, WORST = "largest_loop", "worst_loop"
COMPARE_MINIMA = ("MarkStale", "MarginRounds")
CLAMP_NAN_TO_A_BOUND = ("PlanLattice",)
SAME = re.compile(r"(?:[!-]|\.reuse|\|)")


def cubins(path, folder):
    """Files of machine code of an object: what it holds, or what ptxas makes of its PTX."""
    folder.mkdir()
    command([find_tool("cuobjdump"), "-xelf", "all", path.resolve()], folder)
    found = sorted(folder.glob("*.cubin"))
    ptx = "" if found else ptx_of(path.read_bytes())
    return [assemble(ptx, folder / path.name, find_tool("ptxas"))] if ptx else found


def read_kernels(objects):
    """[(kernel's name, architecture, Code)] of our kernels."""
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        for path in objects:
            for cubin in cubins(path, pathlib.Path(temporary) / path.name):
                text = command([find_tool("nvdisasm"), "-c", cubin])
                architecture = re.search(r"\.target\s+(\w+)", text).group(1)
                found += [(kernel_name(symbol), architecture, code)
                          for symbol, code in read_listing(text.splitlines()).items() if kernel_name(symbol)]
    return found


def flushes(made):
    """Whether an instruction flushes a subnormal that matters."""
    if ".FTZ" not in made.op or made.slow or made.op.startswith("F2I."):
        return False
    operands = [SAME.sub("", text.strip()) for text in made.operands.split(",")]
    tests = made.op.startswith(("FSETP.", "FSET.")) and ("INF" in made.operands or operands[2] == operands[3])
    return not tests


def clamps(made):
    """Whether one of the two operands of a minimum or maximum is a constant."""
    operands = [text.strip() for text in made.operands.split(",")]
    return len([text for text in operands[1:3] if not re.match(r"[-|]*R\d", text)]) == 1


def decides_by_maximum(made):
    """Whether a minimum or maximum is anything but a clamp that keeps NaN."""
    return made.op.startswith("FMNMX") and not (".NAN" in made.op and clamps(made))


def decides_by_more_than_clamps(made):
    return made.op.startswith("FMNMX") and not clamps(made)


def dense_loops(code):
    """[(FFMA, loads)] of the inner loops of multiply-adds."""
    loops = []
    for last, made in enumerate(code.instructions):
        first = branch_target(code, made)
        if first is not None and first <= last:
            loops.append((first, last))
    inner = [(a, b) for a, b in loops if not any((c, d) != (a, b) and c >= a and d <= b for c, d in loops)]
    found = []
    for first, last in inner:
        heads = [made.op.split(".")[0] for made in code.instructions[first:last + 1]]
        ffma = heads.count("FFMA")
        if ffma >= max(LEAST_FFMA, LEAST_SHARE * len(heads)):
            found.append((ffma, sum(heads.count(head) for head in LOADS)))
    return found


def ratios(kernels):
    """{kernel: {"largest_loop", "worst_loop": loads for each FFMA}}, on whichever architecture most."""
    found = {}
    for name, _, code in kernels:
        loops = dense_loops(code)
        if not loops:
            continue
        most = max(ffma for ffma, _ in loops)
        of_one = {LARGEST: max(loads / ffma for ffma, loads in loops if ffma == most),
                  WORST: max(loads / ffma for ffma, loads in loops)}
        entry = found.setdefault(name, {LARGEST: 0.0, WORST: 0.0})
        for which, ratio in of_one.items():
            entry[which] = max(entry[which], round(ratio, 3))
    return found


def over_budget(found, budget):
    none = {LARGEST: -1.0, WORST: -1.0}
    problems = [f"{name}: {ratio} loads for each FFMA of its {which.replace('_', ' ')}, budget "
                f"{budget[name][which] if name in budget else 'none'}"
                for name in sorted(found) for which, ratio in found[name].items()
                if ratio > budget.get(name, none)[which]]
    return problems + [f"{name}: has a budget, but no inner loop" for name in sorted(set(budget) - set(found))]


def offences(kernels, wrong):
    return [f"{name} for {architecture}: {made.op} {made.operands}"
            for name, architecture, code in kernels for made in code.instructions if wrong(made)]


class Sass(unittest.TestCase):
    kernels = None

    def test_nothing_flushes(self):
        self.assertFalse("\n".join(offences(self.kernels, flushes)))

    def test_no_maximum_decides(self):
        rest = [kernel for kernel in self.kernels if not kernel[0].startswith(COMPARE_MINIMA)]
        clamping = [kernel for kernel in rest if kernel[0].startswith(CLAMP_NAN_TO_A_BOUND)]
        others = [kernel for kernel in rest if kernel not in clamping]
        self.assertFalse("\n".join(offences(others, decides_by_maximum)))
        self.assertFalse("\n".join(offences(clamping, decides_by_more_than_clamps)))

    def test_inner_loops_keep_to_their_budget(self):
        budget = json.loads(BUDGET.read_text(encoding="utf-8"))
        self.assertFalse("\n".join(over_budget(ratios(self.kernels), budget)))

    LISTING = """//--------------------- .text.k --------------------------
k:
.L_x_1:
        /*0000*/                   LDS.128 R4, [R2] ;
{ffma}        /*0300*/               @P0 BRA `(.L_x_1) ;
        /*0310*/                   FMNMX.NAN R1, R1.reuse, -104, !PT ;
        /*0320*/                   FSETP.NEU.FTZ.AND P0, PT, |R0|.reuse, +INF , PT ;
        /*0330*/                   F2I.FTZ.U32.TRUNC.NTZ R3, R2 ;
{planted}        /*0350*/                   EXIT ;
$k$__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath:
        /*0360*/                   FADD.FTZ R0, R1, R2 ;
"""

    def listing(self, planted=""):
        ffma = "".join(f"        /*{16 * (i + 1):04x}*/                   FFMA R8, R4, R5, R8 ;\n" for i in range(32))
        line = f"        /*0340*/                   {planted} ;\n" if planted else ""
        return [("k", "sm_90", read_listing(self.LISTING.format(ffma=ffma, planted=line).splitlines())["k"])]

    def test_offences_are_found(self):
        clean = self.listing()
        self.assertEqual([], offences(clean, flushes) + offences(clean, decides_by_maximum))
        for planted in ("FFMA.FTZ R0, R1, R2, R3", "FSETP.GT.FTZ.AND P0, PT, R1, R2, PT", "FADD.FTZ R0, R1, R2"):
            self.assertEqual(1, len(offences(self.listing(planted), flushes)), planted)
        for planted in ("FMNMX R1, R1, 15, PT", "FMNMX R1, RZ, R2, !PT", "FMNMX.NAN R1, R2, R3, PT"):
            self.assertEqual(1, len(offences(self.listing(planted), decides_by_maximum)), planted)
        self.assertEqual(1, len(offences(self.listing("FMNMX R1, R2, R3, PT"), decides_by_more_than_clamps)))
        relu = self.listing("FMNMX.NAN R1, RZ, R2, !PT")
        self.assertEqual([], offences(relu, decides_by_maximum))

    def test_what_only_parted_threads_reach_is_found(self):
        votes = """//--------------------- .text.k --------------------------
k:
        /*0000*/                   BRA.DIV UR4, `(.L_x_2) ;
        /*0010*/                   VOTE.ANY P0, P0 ;
.L_x_1:
        /*0020*/               @P0 BRA `(.L_x_3) ;
        /*0030*/                   EXIT ;
.L_x_2:
        /*0040*/                   WARPSYNC.COLLECTIVE R5, `(.L_x_4) ;
.L_x_4:
        /*0050*/                   BRA `(.L_x_1) ;
.L_x_3:
        /*0060*/                   EXIT ;
"""
        code = read_listing(votes.splitlines())["k"]
        self.assertEqual([False] * 4 + [True] * 2 + [False], [made.strayed for made in code.instructions])

    def test_loops_are_found(self):
        found = ratios(self.listing())
        self.assertEqual({"k": {LARGEST: 0.031, WORST: 0.031}}, found)
        self.assertEqual([], over_budget(found, found))
        self.assertEqual(1, len(over_budget(found, {"k": {LARGEST: 0.03, WORST: 1.0}})))
        self.assertEqual(3, len(over_budget(found, {"another": {LARGEST: 1.0, WORST: 1.0}})))


def update(kernels):
    found = ratios(kernels)
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found))
    BUDGET.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    if not arguments:
        print("this build has no CUDA backend")
        return SKIPPED
    try:
        Sass.kernels = read_kernels(sorted(pathlib.Path(arguments[0]).rglob("*.cu.o")))
    except NoTool as problem:
        print(problem)
        return SKIPPED
    if "--update" in sys.argv:
        update(Sass.kernels)
        return 0
    if not Sass.kernels:
        print(f"{arguments[0]}: no kernel of ours in any object")
        return 1
    return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
