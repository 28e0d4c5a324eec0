"""Nothing that the linker may share leaks out of an object compiled for one instruction set.

An inline function (say, of std::) is emitted as a weak symbol by every object that uses it, and the
linker keeps one copy for the whole program. If that copy came from isa_avx512.cpp, every machine
would run AVX-512 code. So each symbol that could be merged has to carry the instruction set in its
name.

Usage: isa_symbols_test.py --nm NM OBJECT...
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# Weak functions and objects, and unique ones (static members of templates, inline variables).
MERGED = {"W", "V", "u"}
# Constants are the same bytes under all flags; so are tables of functions, whose targets are
# symbols themselves.
CONSTANT_SECTIONS = re.compile(r"\.(rodata|data\.rel\.ro|srodata)(\.|$)")
# Made by compilers: the personality's address, and the call of std::terminate.
HARMLESS = re.compile(
    r"DW\.ref\.__gxx_personality_v0|__clang_call_terminate"
    r"|__odr_asan.*|(__)?(asan|tsan|ubsan)[._].*"
)
# Highway's own namespace of each target (hwy/detect_targets.h).
HIGHWAY = {
    "avx2": "N_AVX2",
    "avx512": "N_AVX3",
    "neon": "N_NEON",
    "portable": "N_(SSE2|SCALAR|EMU128)",
}


def isa_of(path):
    """'avx2' for .../isa_avx2.cpp.o."""
    match = re.match(r"isa_([a-z0-9]+)\.", pathlib.Path(path).name)
    if not match or match.group(1) not in HIGHWAY:
        sys.exit(f"{path}: expected the object of isa_NAME.cpp, NAME one of {', '.join(HIGHWAY)}")
    return match.group(1)


def leaks(nm, path):
    """Demangled names of the symbols of an object that other objects could pick up."""
    isa = isa_of(path)
    tag = re.compile(rf"\b(isa_{isa}|{HIGHWAY[isa]})\b")
    command = [nm, "-C", "--defined-only", "--format=sysv", path]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        # Name|Value|Class|Type|Size|Line|Section
        fields = [field.strip() for field in line.rsplit("|", 6)]
        if len(fields) < 7 or fields[2] not in MERGED:
            continue
        name, section = fields[0], fields[6]
        if not (tag.search(name) or HARMLESS.fullmatch(name) or CONSTANT_SECTIONS.match(section)):
            yield name


def self_test(nm, compiler):
    """A leak is seen, and code under the right name is not one."""
    inline = (
        "inline __attribute__((noinline)) int twice(int x) {"
        " static int calls = 0; return x * 2 + ++calls; }"
    )
    for namespace, expected in (("other", True), ("isa_avx512", True), ("isa_avx2", False)):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "isa_avx2.cpp")
            source.write_text(
                f"namespace {namespace} {{ {inline} }}\n"
                f"int use(int x) {{ return {namespace}::twice(x); }}\n",
                encoding="utf-8",
            )
            compiled = source.with_suffix(".cpp.o")
            subprocess.run([compiler, "-c", str(source), "-o", str(compiled)], check=True)
            if bool(list(leaks(nm, compiled))) != expected:
                sys.exit(f"self-test: an inline function in {namespace}: expected leak {expected}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("objects", nargs="+")
    arguments = parser.parse_args()
    self_test(arguments.nm, arguments.compiler)
    found = [f"{path}: {name}" for path in arguments.objects for name in leaks(arguments.nm, path)]
    if found:
        print(*found, sep="\n")
        print(
            f"{len(found)} symbols could be shared with code for other machines: "
            "make them always-inline, or put them into the instruction set's namespace"
        )
        return 1
    print(f"{len(arguments.objects)} objects share nothing")
    return 0


sys.exit(main())
