"""Which folder may include what, where each library of others may be named, and that no two headers
define a type of the same name: where both are used the linker takes one for the other, without a word.

Besides checking the project, it plants one violation of each kind in a temporary tree, so that a
rule that has stopped working is noticed.

The table of folders in docs/architecture.md says the same: `dependency_rules_test.py --update` writes its third column.
"""
import fnmatch
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUFFIXES = {".h", ".hpp", ".cuh", ".cpp", ".cu"}
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.MULTILINE)

FOLDERS = ("base", "kernels", "models", "engine", "apps", "tests", "bench")
# Tests and benchmarks look into everything and may use every library except CUDA.
UNRESTRICTED = ("tests/", "bench/")

# Files of this pattern may include our own headers of these; the first match decides. In a pattern
# '*' crosses folders.
CORE = ("base/*", "kernels/core/*")
# What the engine asks of a backend, a header for each noun.
FACES = ("kernels/arithmetic.h", "kernels/backend.h", "kernels/devices.h", "kernels/lane_block.h",
         "kernels/row_describer.h", "kernels/visits.h", "kernels/walker.h")
KERNELS = (*CORE, "kernels/layout/*", *FACES, "kernels/k_means.h")
# What every format of models shares.
MODELS = (*CORE, "models/model.h", "models/network.h", "models/layer_chain.h", "models/improbable.h",
          "models/data/*")
TORCH_HOST = ("models/torch/layers.h", "models/torch/loader.h", "models/torch/plugin_api.h")
ENGINE = (*KERNELS, "kernels/boxes/*", "models/*")
JOB = (*ENGINE, "engine/config/*", "engine/subject/*", "engine/record/*", "engine/job/*")
OWN_HEADERS = (
    ("base/*", ("base/*",)),
    ("kernels/core/*", ("kernels/core/*",)),
    ("kernels/boxes/*", (*CORE, "kernels/boxes/*")),
    ("kernels/layout/*", (*CORE, "kernels/layout/*")),
    ("kernels/rounds/*", (*CORE, "kernels/rounds/*", "kernels/visits.h")),
    ("kernels/cpu/*", (*KERNELS, "kernels/boxes/*", "kernels/rounds/*", "kernels/cpu/*")),
    ("kernels/device/*", (*KERNELS, "kernels/boxes/*", "kernels/rounds/*", "kernels/device/*")),
    ("kernels/cuda/*", (*KERNELS, "kernels/boxes/*", "kernels/rounds/*", "kernels/device/*", "kernels/cuda/*")),
    ("kernels/*", ("base/*", "kernels/*")),
    # A library of its own, which holds the baseline of bench/ too: plugin_api.h is all it shares.
    ("models/torch/plugin/*", ("models/torch/plugin/*", "models/torch/plugin_api.h", "bench/torch/*")),
    ("models/data/*", (*CORE, "models/data/*", "models/network.h")),
    *((f"models/{kind}/*", (*MODELS, f"models/{kind}/*"))
      for kind in ("keras", "onnx", "tensorflow", "trees", "exec", "torch")),
    ("models/train/*", (*MODELS, *TORCH_HOST, "models/train/*")),
    ("models/*", (*CORE, "models/*")),
    # Only the table of keys asks for the methods' and recipes' names.
    ("engine/config/config_keys.cpp", (*ENGINE, "engine/config/*", "engine/retrain/recipe.h",
                                       "engine/search/method.h")),
    ("engine/config/*", (*ENGINE, "engine/config/*")),
    ("engine/subject/*", (*ENGINE, "engine/config/*", "engine/subject/*", "engine/plausibility/surprise_bound.h")),
    ("engine/record/*", (*CORE, "kernels/layout/*", "kernels/visits.h", "engine/record/*")),
    ("engine/job/*", ("base/*", "engine/job/*")),
    ("engine/search/*", (*JOB, "engine/ranks/*", "engine/search/*")),
    ("engine/tables/*", ("base/*", "engine/tables/*")),
    ("engine/ranks/*", ("base/*", "engine/ranks/*")),
    ("engine/results/*", (*JOB, "engine/ranks/*", "engine/search/*", "engine/tables/*", "engine/plausibility/*",
                          "engine/learning/electorate.h", "engine/results/*")),
    ("engine/count/*", (*JOB, "engine/ranks/*", "engine/search/*", "engine/results/*", "engine/verify/boxes/*",
                        "engine/verify/ensembles/*", "engine/count/*")),
    ("engine/learning/*", (*ENGINE, "engine/config/*", "engine/subject/*", "engine/job/checkpoint.h",
                           "engine/learning/*")),
    ("engine/train/*", (*JOB, "engine/search/*", "engine/results/*", "engine/count/*", "engine/learning/*",
                        "engine/train/*")),
    ("engine/retrain/*", (*JOB, "engine/search/*", "engine/results/*", "engine/count/*", "engine/learning/*",
                          "engine/train/*", "engine/retrain/*")),
    ("engine/compare/*", (*JOB, "engine/search/*", "engine/results/*", "engine/pictures/*",
                          "engine/compare/*")),
    ("engine/check/*", (*ENGINE, "engine/config/*", "engine/subject/*", "engine/results/*",
                        "engine/check/*")),
    ("engine/verify/boxes/*", (*ENGINE, "engine/job/checkpoint.h", "engine/verify/boxes/*")),
    ("engine/verify/counting/*", (*ENGINE, "engine/verify/boxes/*", "engine/verify/counting/*")),
    ("engine/verify/ensembles/*", (*ENGINE, "engine/verify/boxes/*", "engine/verify/counting/*",
                                   "engine/verify/ensembles/*")),
    ("engine/verify/deciders/*", (*ENGINE, "engine/config/*", "engine/subject/*",
                                  "engine/count/group_counts.h", "engine/verify/boxes/*",
                                  "engine/verify/counting/*", "engine/verify/ensembles/*",
                                  "engine/verify/deciders/*")),
    ("engine/verify/*", (*JOB, "engine/search/*", "engine/results/*", "engine/count/region.h",
                         "engine/count/binomial_interval.h", "engine/check/*", "engine/verify/*")),
    # Shares with what it checks readers, how a query is cut into cells and the interval of a share, but
    # nothing that proves.
    ("engine/recheck/*", (*JOB, "engine/results/*", "engine/check/*", "engine/verify/boxes/*",
                          "engine/verify/certificate.h", "engine/verify/recorded_query.h",
                          "engine/verify/against.h", "engine/count/binomial_interval.h", "engine/recheck/*")),
    ("engine/audit/*", (*JOB, "engine/search/*", "engine/results/*", "engine/count/*", "engine/plausibility/*",
                        "engine/report/*", "engine/audit/*")),
    ("engine/pictures/*", ("base/*", "engine/pictures/*")),
    ("engine/digest/*", (*JOB, "engine/search/*", "engine/results/*", "engine/tables/*", "engine/plausibility/*",
                         "engine/digest/*")),
    ("engine/report/*", ("base/*", "engine/pictures/*", "engine/digest/results_digest.h", "engine/report/*")),
    ("engine/plausibility/*", (*CORE, "models/data/*", "engine/plausibility/*")),
    ("engine/sweep/*", (*JOB, "engine/search/*", "engine/ranks/*", "engine/sweep/*")),
    ("apps/init/*", (*ENGINE, "engine/check/*", "engine/subject/*",
                     "engine/config/config_reference.h", "engine/config/config_yaml.h", "apps/files.h",
                     "apps/init/*")),
    ("apps/*", (*ENGINE, "engine/*", "bench/bench.h", "apps/*")),
    ("bench/torch/*", ("bench/torch/*", "models/torch/plugin_api.h")),
)

# Prefix of a library's headers: the files that may name it. First match decides.
TORCH = ("models/torch/plugin/*", "bench/torch/*")
LIBRARIES = {
    "hwy/": ("kernels/cpu/*",),
    "immintrin.h": ("kernels/cpu/*",),
    "arm_neon.h": ("kernels/cpu/*",),
    "boost/multiprecision/": ("engine/recheck/exact_label.cpp",),
    "boost/math/": ("engine/count/binomial_interval.cpp",),
    "CLI/": ("apps/arguments.cpp",),
    "spdlog/": ("apps/console.cpp",),
    "yaml-cpp/": ("base/formats/strict_yaml.cpp",),
    "hdf5": ("models/keras/h5_writer.cpp",),  # writes; models/keras/hdf5_file.cpp reads by itself
    "H5": (),
    "openssl/": ("base/sha256.cpp",),
    "zlib.h": ("base/formats/zip_archive.cpp",),
    "torch/": TORCH,
    "ATen/": TORCH,
    "c10/": TORCH,
    "opencv2/": ("models/torch/plugin/forest.*",),
    "nanoflann.hpp": ("engine/learning/nearest_neighbours.cpp",),
    "nlohmann/": ("base/formats/json.cpp", "base/formats/strict_json.cpp"),
    "fmt/": ("base/*", "models/*", "engine/*", "apps/*"),
    "arrow/": ("engine/tables/plugin/*",),
    "parquet/": ("engine/tables/plugin/*",),
    "mpi.h": ("engine/ranks/plugin/*",),
    "gtest/": (),
    "gmock/": (),
    "benchmark/": (),
}
# Where CUDA may be named: the backend, and the simulator of its runtime.
CUDA_FOLDERS = ("kernels/cuda/*", "tests/gpusim/*")
CUDA = ("cuda", "cublas", "curand", "cooperative_groups", "cub/", "thrust/", "nv/", "nvtx", "nvml")
# Of the libraries that come with CUDA, these may be named in one file only.
ONE_FILE = {"cuBLAS": ("cublas",), "Thrust/CUB": ("cub/", "thrust/")}

SYSTEM = re.compile(
    r"[a-z_]+"  # C++ standard library
    r"|(sys|linux)/[a-z_]+\.h"
    r"|(cpuid|dirent|dlfcn|errno|fcntl|fenv|glob|poll|pthread|pwd|sched|signal|spawn|termios|time|unistd)\.h"
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
    if file.startswith(UNRESTRICTED) and not file.startswith("bench/torch/"):
        return None
    allowed = next((headers for pattern, headers in OWN_HEADERS if matches(file, (pattern,))), None)
    if allowed is None:
        return "no rule for this folder; add one to OWN_HEADERS"
    return None if matches(header, allowed) else "may include only " + ", ".join(allowed)


def foreign_violation(file, header):
    if header.startswith(CUDA):
        return None if matches(file, CUDA_FOLDERS) else "CUDA belongs under kernels/cuda"
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
        if file.endswith((".cu", ".cuh")) and not matches(file, CUDA_FOLDERS):
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


THREAD = re.compile(r"\bstd::(?:jthread|thread|async)\b(?!::)")
# Everything else has its threads from a pool. Beside it: the line that a terminal shows, and a
# library of its own.
THREAD_STARTERS = ("base/threads/thread_pool.h", "apps/progress.h", "apps/progress.cpp", "models/torch/plugin/*")


def thread_starters(files):
    """Those of files, (path, text) each, that start threads of their own though they should not."""
    return [file for file, text in files if THREAD.search(text)
            and not file.startswith(UNRESTRICTED) and not matches(file, THREAD_STARTERS)]


ARCHITECTURE = ROOT / "docs" / "architecture.md"
# A row of its table: folder, what it holds, what its files may include beside themselves.
ROW = re.compile(r"^\| `([\w/]+/)` \| (.+) \| (.*) \|$", re.MULTILINE)


FACES = tuple(one for one in KERNELS if re.fullmatch(r"kernels/\w+\.h", one))


def described(patterns, folder):
    """The headers of these patterns in words; those of folder itself are left out, and what another includes."""
    rest = [one for one in patterns if one != folder + "*"
            and not any(one != other and fnmatch.fnmatchcase(one, other) for other in patterns)]
    words = [f"`{one.removesuffix('*')}`" for one in dict.fromkeys(rest)]
    if set(FACES) <= set(rest):  # all of them in a few words
        words = [word for word in words if word.strip("`") not in FACES] + ["the headers of `kernels/` itself"]
    return ", ".join(words) or "nothing else"


def documented_rules():
    """What the third column must say: folder -> words."""
    rules = {pattern.removesuffix("*"): described(headers, pattern.removesuffix("*"))
             for pattern, headers in OWN_HEADERS if pattern.endswith("/*")}  # of folders, not of single files
    return rules | {folder: "everything" for folder in UNRESTRICTED}


def with_rules(page):
    """The page with the third column as the rules have it."""
    rules = documented_rules()
    return ROW.sub(lambda row: f"| `{row[1]}` | {row[2]} | {rules.get(row[1], row[3])} |", page)


TYPE = re.compile(r"^(?:namespace ([\w:]+) \{|(?:struct|class|enum class|union) (?:alignas\(.*\) )?"
                  r"(\w+)\b[^;\n]*)$", re.MULTILINE)


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


# Folders in which a file's header is its only face, and carries its name; but for the parts of one
# class, and the plug-in, whose face is plugin_api.h.
FACED = ("base/", "engine/", "models/")
PARTS = ("engine/search/lockstep/*_phase.cpp", "engine/search/lockstep/saved_state.cpp",
         "engine/search/lockstep/frontier_*.cpp",
         "engine/search/lockstep/shared_search.cpp",
         "engine/search/genetic/*_phase.cpp", "*/plugin/plugin.cpp")


def faceless(files):
    """Those of files, paths, that have no header of their name."""
    names = set(files)
    return [file for file in files if file.startswith(FACED) and file.endswith(".cpp")
            and not matches(file, PARTS) and file.removesuffix("cpp") + "h" not in names]


class Tree(unittest.TestCase):
    def test_a_source_has_a_header_of_its_name(self):
        self.assertEqual([], faceless([file for file, _ in sources(ROOT)]))
        self.assertEqual(["base/a.cpp"], faceless(["base/a.cpp", "base/b.cpp", "base/b.h"]))
        self.assertEqual([], faceless(["apps/main.cpp", "engine/search/lockstep/x_phase.cpp"]))

    def test_a_type_is_defined_once(self):
        found = [(file, text) for file, text in sources(ROOT) if not file.startswith("kernels/cpu/isa_")]
        self.assertEqual([], twins(found))
        header = "namespace fairlane {\nstruct Interval {\n};\n}\n"
        self.assertEqual(["fairlane::Interval: a.h, b.h"], twins([("a.h", header), ("b.h", header)]))
        aligned = header.replace("Interval", "alignas(kPair * sizeof(float)) Interval")
        self.assertEqual(["fairlane::Interval: a.h, b.h"], twins([("a.h", header), ("b.h", aligned)]))
        self.assertEqual([], twins([("a.h", header), ("b.h", header.replace("fairlane", "fairlane::onnx"))]))
        self.assertEqual([], twins([("a.h", header), ("b.h", "namespace fairlane {\nstruct Interval;\n}\n")]))

    def test_threads_are_started_in_one_place(self):
        self.assertEqual([], thread_starters(sources(ROOT)))
        self.assertEqual(["kernels/a.cpp"], thread_starters([("kernels/a.cpp", "std::jthread other(work);")]))
        self.assertEqual(["engine/a.cpp"], thread_starters([("engine/a.cpp", "std::vector<std::thread> others;")]))
        self.assertEqual([], thread_starters([("engine/a.cpp", "std::this_thread::yield(); std::thread::id me;")]))

    def test_the_project_keeps_the_rules(self):
        scanned = {file.split("/")[0] for file, _ in sources(ROOT)}
        self.assertLessEqual({"base", "kernels", "models", "engine", "apps"}, scanned, "nothing to scan")
        self.assertEqual([], violations(ROOT))

    def test_the_architecture_page_has_the_rules(self):
        page = ARCHITECTURE.read_text(encoding="utf-8")
        hint = "run tests/dependency_rules_test.py --update, and say what a new folder holds"
        rows = {row[1]: row[3] for row in ROW.finditer(page)}
        self.assertEqual(documented_rules(), rows, hint)
        for folder in rows:
            self.assertTrue((ROOT / folder).is_dir(), f"docs/architecture.md: {folder} is no folder")
        stale = page.replace("| `kernels/core/` |", "| `kernels/lanes/` |")
        self.assertNotEqual(documented_rules(), {row[1]: row[3] for row in ROW.finditer(stale)})
        self.assertEqual("`base/`, the headers of `kernels/` itself", described(("base/*", *FACES), "own/"))
        self.assertEqual("`base/`, `a/b.h`", described(("base/*", "base/text.h", "a/b.h", "own/*"), "own/"))


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
            ("base/text.cpp", '"kernels/core/pack.h"'),
            ("base/text.cpp", '"models/network.h"'),
            ("kernels/core/lane.h", '"kernels/backend.h"'),
            ("kernels/layout/plan.cpp", '"kernels/device/device.h"'),
            ("kernels/rounds/state.h", '"kernels/device/device.h"'),
            ("kernels/device/scored/describer.cpp", '"kernels/cuda/device.h"'),
            ("models/data/csv.cpp", '"models/keras/config.h"'),
            ("models/keras/h5.cpp", '"models/onnx/graph.h"'),
            ("models/onnx/onnx.cpp", '"models/trees/trees.h"'),
            ("models/tensorflow/bundle.cpp", '"models/keras/hdf5_file.h"'),
            ("models/trees/trees.cpp", '"models/exec/child.h"'),
            ("models/exec/child.cpp", '"models/torch/loader.h"'),
            ("models/torch/loader.cpp", '"models/exec/child.h"'),
            ("bench/torch/search.cpp", '"engine/search/search.h"'),
            ("engine/config/run_config.h", '"engine/search/search.h"'),
            ("engine/config/config_keys.h", '"engine/search/method.h"'),
            ("engine/config/config_keys.cpp", '"engine/search/search.h"'),
            ("engine/subject/subject.cpp", '"engine/search/search.h"'),
            ("engine/record/findings.cpp", '"engine/config/run_config.h"'),
            ("engine/job/checkpoint.cpp", '"engine/count/walk_search.h"'),
            ("engine/job/job.h", '"engine/search/search.h"'),
            ("engine/job/job.h", '"engine/config/run_config.h"'),
            ("engine/search/search.cpp", '"engine/results/run.h"'),
            ("engine/search/symbolic/tree.cpp", '"engine/count/estimate.h"'),
            ("engine/results/manifest.cpp", '"engine/count/estimate.h"'),
            ("engine/count/estimate.cpp", '"engine/compare/compare.h"'),
            ("engine/compare/compare.cpp", '"engine/count/estimate.h"'),
            ("engine/check/check.cpp", '"engine/search/search.h"'),
            ("engine/recheck/leaf_prover.h", '"engine/verify/deciders/lane_bounds.h"'),
            ("engine/verify/boxes/cells.cpp", '"engine/verify/deciders/box_decider.h"'),
            ("engine/verify/counting/half_space.cpp", '"engine/verify/deciders/lane_bounds.h"'),
            ("engine/verify/deciders/box_decider.cpp", '"engine/verify/verify.h"'),
            ("engine/pictures/chart.cpp", '"engine/compare/compare.h"'),
            ("kernels/core/lane.h", "<hwy/highway.h>"),
            ("kernels/core/lane.h", "<fmt/core.h>"),
            ("kernels/backend.h", '"models/network.h"'),
            ("kernels/backend.cpp", '"engine/search.h"'),
            ("kernels/boxes/box.cpp", '"kernels/backend.h"'),
            ("kernels/cpu/backend.cpp", '"engine/verify/box.h"'),
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
            ("engine/search/search.cpp", '"kernels/device/device.h"'),
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
            ("models/torch/plugin/search.cpp", '"models/network.h"'),
            ("models/torch/plugin/search.cpp", '"base/error.h"'),
            ("engine/search/search.cpp", '"kernels/cpu/backend.h"'),
            ("engine/search/search.cpp", '"apps/args.h"'),
            ("engine/search.cpp", "<openssl/evp.h>"),
            ("models/network.cpp", "<zlib.h>"),
            ("engine/search.cpp", "<torch/script.h>"),
            ("engine/search.cpp", "<spdlog/spdlog.h>"),
            ("apps/commands/run.cpp", "<CLI/CLI.hpp>"),
            ("apps/commands/run.cpp", "<spdlog/spdlog.h>"),
            ("engine/results/manifest.cpp", "<nlohmann/json.hpp>"),
            ("engine/search.cpp", "<gtest/gtest.h>"),
            ("apps/run.cpp", '"kernels/cpu/backend.h"'),
            ("apps/run.cpp", '"tests/fixture.h"'),
            ("apps/init/trials.cpp", '"apps/console.h"'),
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
            ("kernels/boxes/box.cpp", '"kernels/core/views.h"'),
            ("engine/count/walk_skip.cpp", '"kernels/boxes/box.h"'),
            ("kernels/cpu/pack_hwy.h", "<hwy/highway.h>"),
            ("kernels/cuda/wide.cu", "<cublas_v2.h>"),
            ("kernels/cuda/launch.cuh", '"kernels/device/device.h"'),
            ("kernels/cuda/launch.cuh", "<cuda_runtime_api.h>"),
            ("kernels/device/block.cpp", '"base/error.h"'),
            ("kernels/device/block.cpp", '"kernels/backend.h"'),
            ("tests/models/h5_writer.h", "<hdf5.h>"),
            ("models/network.cpp", '"base/error.h"'),
            ("models/torch/loader.cpp", '"models/torch/plugin_api.h"'),
            ("models/torch/plugin/search.cpp", "<torch/torch.h>"),
            ("engine/search/search.cpp", '"kernels/backend.h"'),
            ("base/sha256.cpp", "<openssl/evp.h>"),
            ("engine/write.cpp", "<sys/stat.h>"),
            ("apps/arguments.cpp", "<CLI/CLI.hpp>"),
            ("base/formats/strict_yaml.cpp", "<yaml-cpp/yaml.h>"),
            ("tests/kernels/a_test.cpp", "<gtest/gtest.h>"),
            ("tests/kernels/a_test.cpp", '"kernels/cpu/backend.h"'),
        ):
            with self.subTest(file=file, include=include):
                self.assertEqual([], self.check({file: include}))


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        ARCHITECTURE.write_text(with_rules(ARCHITECTURE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        unittest.main()
