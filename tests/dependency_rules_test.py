"""Which folder may include what (README.md, Layout), where each library of others may be named, and that no two headers
define a type of the same name: where both are used the linker takes one for the other, without a word.

Besides checking the project, it plants one violation of each kind in a temporary tree, so that a
rule that has stopped working is noticed.
"""
import fnmatch
import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUFFIXES = {".h", ".hpp", ".cuh", ".cpp", ".cu"}
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.MULTILINE)

FOLDERS = ("kernels", "models", "engine", "apps", "tests", "bench")
# Tests and benchmarks look into everything and may use every library except CUDA.
UNRESTRICTED = ("tests/", "bench/")

# Files of this pattern may include our own headers of these; the first match decides. In a pattern
# '*' crosses folders.
KERNELS = ("kernels/core/*", "kernels/backend.h", "kernels/plan.h", "kernels/walk_plan.h",
           "kernels/k_means.h")
OWN_HEADERS = (
    ("kernels/core/*", ("kernels/core/*",)),
    ("kernels/bounds/*", ("kernels/core/*", "kernels/bounds/*")),
    ("kernels/cpu/*", (*KERNELS, "kernels/cpu/*")),
    ("kernels/device/*", (*KERNELS, "kernels/device/*")),
    ("kernels/cuda/*", (*KERNELS, "kernels/device/*", "kernels/cuda/*")),
    ("kernels/*", ("kernels/*",)),
    ("models/torch/*", ("models/torch/*",)),  # a library of its own: plugin_api.h is all it shares
    ("models/*", ("kernels/core/*", "models/*")),
    ("engine/*", (*KERNELS, "kernels/bounds/*", "models/*", "engine/*")),
    ("apps/*", (*KERNELS, "models/*", "engine/*", "bench/bench.h", "apps/*")),
)

# Prefix of a library's headers: the files that may name it. First match decides.
LIBRARIES = {
    "hwy/": ("kernels/cpu/*",),
    "immintrin.h": ("kernels/cpu/*",),
    "arm_neon.h": ("kernels/cpu/*",),
    "boost/math/": ("engine/binomial_interval.cpp",),
    "CLI/": ("apps/*",),
    "spdlog/": ("apps/*",),
    "yaml-cpp/": ("*_yaml.cpp",),
    "hdf5": (),  # only tests write such files; models/hdf5_file.cpp reads them itself
    "H5": (),
    "openssl/": ("engine/sha256.cpp",),
    "zlib.h": ("models/zip_archive.cpp",),
    "torch/": ("models/torch/*",),
    "ATen/": ("models/torch/*",),
    "c10/": ("models/torch/*",),
    "nlohmann/": ("models/*", "engine/*", "apps/*", "kernels/cuda/*"),
    "fmt/": ("models/*", "engine/*", "apps/*"),
    "gtest/": (),
    "gmock/": (),
    "benchmark/": (),
}
CUDA = ("cuda", "cublas", "curand", "cooperative_groups", "cub/", "thrust/", "nv/", "nvtx", "nvml")
# Of the libraries that come with CUDA, these may be named in one file only.
ONE_FILE = {"cuBLAS": ("cublas",), "Thrust/CUB": ("cub/", "thrust/")}

SYSTEM = re.compile(
    r"[a-z_]+"  # C++ standard library
    r"|(sys|linux)/[a-z_]+\.h"
    r"|(cpuid|dirent|dlfcn|errno|fcntl|fenv|poll|pthread|pwd|sched|signal|spawn|termios|time|unistd)\.h"
)


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def sources(root):
    """Every source file below the folders, as (path from the root, text)."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def own_violation(file, header):
    if file.startswith(UNRESTRICTED):
        return None
    allowed = next(headers for pattern, headers in OWN_HEADERS if matches(file, (pattern,)))
    return None if matches(header, allowed) else "may include only " + ", ".join(allowed)


def foreign_violation(file, header):
    if header.startswith(CUDA):
        return None if file.startswith("kernels/cuda/") else "CUDA belongs under kernels/cuda"
    if file.startswith(UNRESTRICTED):
        return None
    for prefix, allowed in LIBRARIES.items():
        if header.startswith(prefix):
            where = ", ".join(allowed) or "tests and bench"
            return None if matches(file, allowed) else f"belongs in {where}"
    return None if SYSTEM.fullmatch(header) else "unknown library; add it to LIBRARIES"


def violations(root):
    """One line per forbidden include of the tree below root."""
    found = []
    users = {name: [] for name in ONE_FILE}
    for file, text in sources(root):
        if file.endswith((".cu", ".cuh")) and not file.startswith("kernels/cuda/"):
            found.append(f"{file}: CUDA sources belong under kernels/cuda")
        for match in INCLUDE.finditer(text):
            quote, header = match.groups()
            line = text.count("\n", 0, match.start()) + 1
            if header.split("/")[0] in FOLDERS:
                problem = own_violation(file, header)
            elif quote == '"':
                problem = "our own headers are named from the root, others' in angle brackets"
            else:
                problem = foreign_violation(file, header)
            if problem:
                found.append(f"{file}:{line}: {header}: {problem}")
            for name, prefixes in ONE_FILE.items():
                if header.startswith(prefixes) and file not in users[name]:
                    users[name].append(file)
    found += [f"{name} is named in {len(files)} files, expected one: {', '.join(files)}"
              for name, files in users.items() if len(files) > 1]
    return found


TYPE = re.compile(r"^(?:namespace ([\w:]+) \{|(?:struct|class|enum class|union) (\w+)\b[^;\n]*)$", re.MULTILINE)


def twins(files):
    """One line per type that two headers of files, (path, text) each, define in the same namespace."""
    places = {}
    for file, text in files:
        namespace = ""
        for match in TYPE.finditer(text):
            if match[1]:
                namespace = match[1]
            elif file.endswith(".h"):
                places.setdefault(f"{namespace}::{match[2]}", []).append(file)
    return [f"{name}: {', '.join(files)}" for name, files in places.items() if len(files) > 1]


class Tree(unittest.TestCase):
    def test_a_type_is_defined_once(self):
        found = [(file, text) for file, text in sources(ROOT) if not file.startswith("kernels/cpu/isa_")]
        self.assertEqual([], twins(found))
        header = "namespace fairlane {\nstruct Interval {\n};\n}\n"
        self.assertEqual(["fairlane::Interval: a.h, b.h"], twins([("a.h", header), ("b.h", header)]))
        self.assertEqual([], twins([("a.h", header), ("b.h", header.replace("fairlane", "fairlane::onnx"))]))
        self.assertEqual([], twins([("a.h", header), ("b.h", "namespace fairlane {\nstruct Interval;\n}\n")]))

    def test_the_project_keeps_the_rules(self):
        scanned = {file.split("/")[0] for file, _ in sources(ROOT)}
        self.assertLessEqual({"kernels", "models", "engine", "apps"}, scanned, "nothing to scan")
        self.assertEqual([], violations(ROOT))


class Rules(unittest.TestCase):
    """Each case is a tree of one or more files with one include each."""

    def check(self, includes):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for file, include in includes.items():
                path = root / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"// A comment.\n#include {include}\n", encoding="utf-8")
            return violations(root)

    def test_forbidden(self):
        for file, include in (
            ("kernels/core/lane.h", '"kernels/backend.h"'),
            ("kernels/core/lane.h", "<hwy/highway.h>"),
            ("kernels/core/lane.h", "<fmt/core.h>"),
            ("kernels/backend.h", '"models/network.h"'),
            ("kernels/backend.cpp", '"engine/search.h"'),
            ("kernels/bounds/box.cpp", '"kernels/backend.h"'),
            ("kernels/cpu/backend.cpp", '"kernels/bounds/box.h"'),
            ("kernels/cpu/backend.cpp", '"kernels/cuda/backend.hpp"'),
            ("kernels/cpu/backend.cpp", '"apps/args.h"'),
            ("kernels/cpu/backend.cpp", "<cuda_runtime.h>"),
            ("kernels/cpu/backend.cpp", '"kernels/device/device.h"'),
            ("kernels/device/block.cpp", '"kernels/cuda/device.h"'),
            ("kernels/device/block.cpp", '"kernels/cpu/cpu_block.h"'),
            ("kernels/device/block.h", "<cuda_runtime.h>"),
            ("kernels/device/step.cuh", '"kernels/core/lane.h"'),
            ("kernels/cuda/launch.cuh", '"engine/search.h"'),
            ("kernels/cuda/launch.cuh", "<fmt/core.h>"),
            ("engine/search.cpp", '"kernels/device/device.h"'),
            ("kernels/cpu/step.cu", '"kernels/core/lane.h"'),
            ("models/network.cpp", '"kernels/backend.h"'),
            ("models/network.cpp", '"engine/search.h"'),
            ("models/network.cpp", "<hdf5.h>"),
            ("models/network.cpp", "<yaml-cpp/yaml.h>"),
            ("models/network.cpp", '"network.h"'),
            ("models/network.cpp", '"../kernels/backend.h"'),
            ("models/network.cpp", "<kernels/backend.h>"),
            ("models/network.cpp", "<arrow/api.h>"),
            ("models/network.cpp", "<torch/script.h>"),
            ("models/torch/search.cpp", '"models/network.h"'),
            ("models/torch/search.cpp", '"kernels/core/error.h"'),
            ("engine/search.cpp", '"kernels/cpu/backend.h"'),
            ("engine/search.cpp", '"apps/args.h"'),
            ("engine/search.cpp", "<openssl/evp.h>"),
            ("models/network.cpp", "<zlib.h>"),
            ("engine/search.cpp", "<torch/script.h>"),
            ("engine/search.cpp", "<spdlog/spdlog.h>"),
            ("engine/search.cpp", "<CLI/CLI.hpp>"),
            ("engine/search.cpp", "<gtest/gtest.h>"),
            ("apps/run.cpp", '"kernels/cpu/backend.h"'),
            ("apps/run.cpp", '"tests/fixture.h"'),
            ("apps/run.cpp", "<yaml-cpp/yaml.h>"),
            ("apps/run.cpp", "<cub/cub.cuh>"),
            ("tests/kernels/a_test.cpp", "<cuda_runtime.h>"),
        ):
            with self.subTest(file=file, include=include):
                self.assertEqual(1, len(self.check({file: include})))

    def test_one_file_for_a_library(self):
        for include in ("<cublas_v2.h>", "<cub/device/device_select.cuh>"):
            files = {f"kernels/cuda/{name}.cu": include for name in ("wide", "fused")}
            self.assertEqual(1, len(self.check(files)))

    def test_allowed(self):
        for file, include in (
            ("kernels/core/lane.h", "<bit>"),
            ("kernels/core/lane.h", '"kernels/core/views.h"'),
            ("kernels/backend.cpp", '"kernels/cpu/backend.h"'),
            ("kernels/bounds/box.cpp", '"kernels/core/views.h"'),
            ("engine/search.cpp", '"kernels/bounds/box.h"'),
            ("kernels/cpu/pack_hwy.h", "<hwy/highway.h>"),
            ("kernels/cuda/wide.cu", "<cublas_v2.h>"),
            ("kernels/cuda/launch.cuh", '"kernels/device/device.h"'),
            ("kernels/cuda/launch.cuh", "<cuda_runtime_api.h>"),
            ("kernels/device/block.cpp", '"kernels/core/error.h"'),
            ("kernels/device/block.cpp", '"kernels/backend.h"'),
            ("tests/models/h5_writer.h", "<hdf5.h>"),
            ("models/domain_yaml.cpp", "<yaml-cpp/yaml.h>"),
            ("models/network.cpp", '"kernels/core/error.h"'),
            ("models/torch_plugin.cpp", '"models/torch/plugin_api.h"'),
            ("models/torch/search.cpp", "<torch/torch.h>"),
            ("engine/search.cpp", '"kernels/backend.h"'),
            ("engine/sha256.cpp", "<openssl/evp.h>"),
            ("engine/write.cpp", "<sys/stat.h>"),
            ("apps/main.cpp", "<CLI/CLI.hpp>"),
            ("apps/config_yaml.cpp", "<yaml-cpp/yaml.h>"),
            ("tests/kernels/a_test.cpp", "<gtest/gtest.h>"),
            ("tests/kernels/a_test.cpp", '"kernels/cpu/backend.h"'),
        ):
            with self.subTest(file=file, include=include):
                self.assertEqual([], self.check({file: include}))


if __name__ == "__main__":
    unittest.main()
