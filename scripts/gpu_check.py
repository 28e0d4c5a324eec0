"""Everything that only a GPU can show: tests, parity with the CPU byte for byte, speed.

On a machine with the libraries (no GPU is needed there):
  cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=90-real      # of the GPU: 80, 90, 100, ...
  cmake --build --preset cuda
  scripts/gpu-check --pack dist/gpu                           # binaries and the libraries they load
On the machine with the GPU, from a copy of the checkout with dist/gpu (python3 and an NVIDIA driver
are all it needs; shared/benchmarks beside the checkout adds the published networks):
  scripts/gpu-check --out gpu-check
With --simulate, on any machine with a build of preset cuda: every method on every kind of subject on the simulator of
GPUs, and the jobs of tests/signatures; half an hour and more.
Nothing stops at a failure: gpu-check/result.json has everything, the table on stdout a line per step.
Exit code: 0 all passed, 1 a check failed, 69 no GPU.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import gpu_speed

ROOT = pathlib.Path(__file__).resolve().parents[1]
METHODS = ("eidig", "adf", "maft", "margin", "themis")
COMPARED = ("manifest.json", "instances.csv", "global.csv", "values.csv", "pairs.csv")
PACKED = "dist/gpu"
BUILT = "build/cuda"
SIMULATED = "fairlane-gpusim"
TESTS = ("fairlane_tests", "tests/fairlane_tests")  # as packed, as built
# The C library belongs to the machine that runs the program.
SYSTEM_LIBRARIES = re.compile(r"(ld-linux|libc\.|libm\.|libpthread\.|libdl\.|librt\.|libresolv\.|libcuda\.)")
NO_GPU = 69
PREDICTIONS = "bench/results/gpu-model.json"
QUICK_STEPS = ("tests", "parity", "walks")
STEPS = (*QUICK_STEPS, "speed", "bench", "sanitizer")
SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
SANITIZED = (("run", "eidig"), ("run", "maft"), ("run", "margin"), ("run", "themis"), ("enumerate", "eidig"))
KEPT_OUTPUT = 4000  # characters of a failed step's output


class Check:
    """Runs the steps and keeps what they say."""

    def __init__(self, arguments):
        self.out = pathlib.Path(arguments.out).resolve()
        self.end = time.monotonic() + arguments.limit
        self.quick = arguments.quick
        self.predict = arguments.predict
        self.folder = pathlib.Path(arguments.binary).resolve()
        self.fairlane = self.folder / "fairlane"
        self.benchmarks = next((p for p in (ROOT / "shared" / "benchmarks", ROOT.parent / "shared" / "benchmarks")
                                if (p / "models").is_dir()), None)
        self.result = {"arguments": sys.argv[1:], "benchmarks": self.benchmarks is not None, "steps": []}
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)

    def left(self):
        return self.end - time.monotonic()

    def environment(self):
        environment = dict(os.environ, NO_COLOR="1")
        environment["LD_LIBRARY_PATH"] = f"{self.folder / 'libs'}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
        if self.benchmarks:
            environment["FAIRLANE_BENCHMARKS"] = str(self.benchmarks)
        return environment

    def run(self, command, limit):
        """(exit code, stdout, stderr, seconds); code None when the step's time was over."""
        command = [str(part) for part in command]
        start = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, cwd=ROOT,
                                  env=self.environment(), timeout=max(1.0, min(limit, self.left())))
            code, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as expired:
            code, out, err = None, text_of(expired.stdout), text_of(expired.stderr)
        except OSError as error:
            code, out, err = 127, "", str(error)
        return code, out, err, time.monotonic() - start

    def note(self, name, passed, seconds, detail, **facts):
        """passed: True, False, or None for a step that was left out."""
        step = {"name": name, "passed": passed, "seconds": round(seconds, 3), "detail": detail, **facts}
        self.result["steps"].append(step)
        word = {True: "passed", False: "FAILED", None: "left out"}[passed]
        print(f"{word:<9} {name:<34} {seconds:8.1f} s  {detail}", flush=True)
        (self.out / "result.json").write_text(json.dumps(self.result, indent=1) + "\n", encoding="utf-8")

    def command(self, name, command, limit, detail=lambda out, err: ""):
        if self.left() < 2:
            self.note(name, None, 0.0, "no time left")
            return None
        code, out, err, seconds = self.run(command, limit)
        (self.out / f"{name.replace(' ', '-')}.log").write_text(out + err, encoding="utf-8")
        facts = {"command": [str(part) for part in command], "code": code}
        if code != 0:
            facts["output"] = (out + err)[-KEPT_OUTPUT:]
        said = "out of time" if code is None else detail(out, err) if code == 0 else last_line(err or out)
        self.note(name, code == 0, seconds, said, **facts)
        return out if code == 0 else None

    def guarded(self, step, *arguments):
        """A step that trips over its own feet is a failed one, and the next follows."""
        try:
            return step(*arguments)
        except (KeyError, ValueError, OSError, gpu_speed.Failed) as error:
            self.note(step.__name__, False, 0.0, f"{type(error).__name__}: {error}")
            return None

    # --- the steps ------------------------------------------------------------------------------

    def devices(self):
        out = self.command("devices", [self.fairlane, "devices", "--json"], 60)
        if out is None:
            return False
        cuda = json.loads(out)["cuda"]
        self.result["cpu"] = json.loads(out)["cpu"]
        self.result["cuda"] = cuda
        code, smi, _, _ = self.run(["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.limit",
                                    "--format=csv,noheader"], 30)
        self.result["nvidia_smi"] = smi.strip() if code == 0 else None
        for gpu in cuda["devices"]:
            print(f"          cuda:{gpu['index']} {gpu['name']}, {gpu['multiprocessors']} multiprocessors, "
                  f"{gpu['clock_ghz']:.2f} GHz, driver for CUDA {gpu['driver']}")
        if cuda["problem"]:
            print(f"          {cuda['problem']}")
        return not cuda["problem"]

    def tests(self):
        tests = next((self.folder / p for p in TESTS if (self.folder / p).exists()), self.folder / TESTS[0])
        self.command("gpu tests", [tests, "--gtest_filter=*Gpu*:Cuda*", "--gtest_brief=1"], 300,
                     lambda out, _: last_line(out))

    def subjects(self):
        """(name, keys of a configuration) of every subject."""
        demo = ROOT / "configs" / "demo"
        base = {"data": str(demo / "census.csv"), "domain": str(demo / "census.domain.yaml"),
                "model": str(demo / "census.safetensors")}
        for protected in (["gender"], ["race"], ["age", "race", "gender"]):
            yield "demo " + "+".join(protected), {**base, "protected": protected}
        if not self.benchmarks:
            return
        data, models = self.benchmarks / "data", self.benchmarks / "models"
        for seeds in sorted((self.benchmarks / "golden").glob("*.seeds.csv")):
            name, selection = seeds.name.split(".")[:2]
            yield f"{name} {selection}", {
                "data": str(data / f"{name}.csv"), "domain": str(data / f"{name}.domain.yaml"),
                "model": str(models / f"{name}.h5"), "protected": selection.split("+")}

    def write_config(self, name, keys):
        path = self.out / f"{name.replace(' ', '-')}.yaml"
        path.write_text(json.dumps(keys), encoding="utf-8")  # JSON is YAML
        return path

    def search(self, config, backend, out, extra=(), limit=60, verb="run"):
        """(summary or None, exit code, message, seconds) of one `fairlane run`, or of another verb."""
        command = [self.fairlane, verb, config, "--backend", backend, "--out", out, "--json", "--quiet", *extra]
        code, text, err, seconds = self.run(command, limit)
        if code != 0:
            return None, code, "out of time" if code is None else last_line(err), seconds
        return json.loads(text), code, "", seconds

    def parity(self):
        batches = ("",) if self.quick else ("", "777", "100000")
        subjects = list(self.subjects())
        cases = [(subject, method) for subject in (subjects[:1] if self.quick else subjects) for method in METHODS]
        share = max(20.0, 0.3 * self.left())
        stop = time.monotonic() + share
        different, ran, start = [], 0, time.monotonic()
        for (name, keys), method in cases:
            if time.monotonic() > stop:
                break
            keys = {**keys, "method": method, "seed": 7, "global": {"num": 300}, "local": {"num": 200},
                    "output": {"dir": "unused", "format": "csv", "trace": True}}
            config = self.write_config("parity", keys)
            reference = self.out / "parity-cpu"
            shutil.rmtree(reference, ignore_errors=True)
            expected, _, message, _ = self.search(config, "cpu", reference)
            for batch in batches:
                other = self.out / "parity-cuda"
                shutil.rmtree(other, ignore_errors=True)
                found, _, problem, _ = self.search(config, "cuda", other, ("--batch", batch) if batch else ())
                ran += 1
                differs = compare(expected, found, reference, other) if expected and found else [message or problem]
                if differs:
                    different.append({"case": f"{name} {method} batch {batch or 'chosen'}", "differs": differs})
        left_out = len(cases) * len(batches) - ran
        detail = f"{ran - len(different)} of {ran} cases equal" + (f", {left_out} left out" if left_out else "")
        if different:
            detail += f"; {different[0]['case']}: {', '.join(different[0]['differs'])}"
        self.note("parity with the CPU", ran > 0 and not different, time.monotonic() - start, detail, cases=ran,
                  left_out=left_out, different=different)

    def walks(self):
        """enumerate on GPU and CPU: equal, and how much faster."""
        for name, keys in list(self.subjects())[:1 if self.quick else None]:
            if self.left() < 60:
                self.note(f"enumerate {name}", None, 0.0, "no time left")
                continue
            config = self.write_config("walk", {**keys, "output": {"dir": "unused"}})
            sample = ("--instances", "1000")
            # The CPU walks a part only, where the whole would take it minutes.
            part = sample if "demo" in name else (*sample, "--shard", "1/200")
            reference, other = self.out / "walk-cpu", self.out / "walk-cuda"
            for folder in (reference, other):
                shutil.rmtree(folder, ignore_errors=True)
            expected, _, message, _ = self.search(config, "cpu", reference, part, verb="enumerate")
            found, _, problem, _ = self.search(config, "cuda", other, part, verb="enumerate")
            differs = compare(expected, found, reference, other) if expected and found else [message or problem]
            whole, _, failure, seconds = self.search(config, "cuda", self.out / "walk-whole", limit=60,
                                                     verb="enumerate") if "census" in name else (None, 0, "", 0.0)
            detail = ("equal to the CPU" if not differs else ", ".join(differs)) + failure
            facts = {}
            if whole:
                rate = whole["counts"]["inputs"] / whole["timing"]["search_seconds"]
                detail += f"; {whole['counts']['inputs']:,} inputs in {whole['timing']['search_seconds']:.2f} s"
                facts = {"inputs_per_second": rate, "summary": whole}
            self.note(f"enumerate {name}", not differs and not failure, seconds, detail, **facts)

    def speed(self):
        """Local phases alone and whole runs, beside what the model predicts of them."""
        rows, listed = [], gpu_speed.listed_cases()
        predictions = self.predictions()
        chip = predictions and predictions.chip(self.result["cuda"]["devices"][0]["name"])
        speed = gpu_speed.Speed(self.search, self.out)

        def measure(name, case, what):
            """what() as a step and a row of the table; None where it failed or there is no time."""
            if self.left() < 20:
                self.note(name, None, 0.0, "no time left")
                return None
            start = time.monotonic()
            try:
                measured = what()
            except gpu_speed.Failed as problem:
                self.note(name, False, time.monotonic() - start, str(problem))
                return None
            row = gpu_speed.with_prediction(case, measured, predictions, chip)
            rows.append(row)
            detail = f"{gpu_speed.per_second(row['measured'])}/s, predicted {gpu_speed.per_second(row['predicted'])}/s"
            if "times_the_search" in row:
                detail += f"; {row['total_seconds']:.2f} s in all, {row['times_the_search']:.2f} times the search"
            self.note(name, True, time.monotonic() - start, detail, **row)
            return measured

        for names in gpu_speed.CASES:
            case, keys = gpu_speed.first_there(names, self.out, listed)
            short = case.partition(",")[0]
            try:
                rate = speed.rate_of_findings(keys)
            except gpu_speed.Failed as problem:
                self.note(f"rate of findings, {short}", False, 0.0, str(problem))
                continue
            for lanes in gpu_speed.LANES:
                measure(f"{short}, {lanes:,} lanes", case,
                        lambda keys=keys, rate=rate, lanes=lanes: speed.local_phase(keys, rate, lanes))
            for lanes in (gpu_speed.LANES[0], gpu_speed.LARGE_LANES):
                measure(f"{short}, whole run of {lanes:,}", f"{case.removesuffix(', local')}, whole run",
                        lambda keys=keys, rate=rate, lanes=lanes: speed.whole_run(keys, rate, lanes,
                                                                                  gpu_speed.LARGE_LOCAL))
        case, keys = gpu_speed.first_there(gpu_speed.WALKS, self.out, listed)
        measure(case, case, lambda: speed.walk(keys))
        print("\n".join(f"          {line}" for line in gpu_speed.table(rows)), flush=True)

    def predictions(self):
        """The model's: computed here where --predict says so, else those of bench/results."""
        path = ROOT / PREDICTIONS
        if self.predict:
            path = self.out / "gpu-model.json"
            names = [name for names in (*gpu_speed.CASES, gpu_speed.WALKS) for name in names]
            objects = self.folder / "CMakeFiles" / "fairlane_cuda.dir"
            self.command("predictions", [sys.executable, "-B", ROOT / "bench" / "gpu_model", "--fairlane",
                                         self.folder / SIMULATED, "--objects", objects, "--json", path,
                                         *(part for name in names for part in ("--only", name))], self.left())
        try:
            return gpu_speed.Predictions(path)
        except (OSError, ValueError, KeyError) as error:
            self.note("predictions", None, 0.0, f"{path}: {error}")
            return None

    def bench(self):
        _, keys = gpu_speed.first_there(gpu_speed.CASES[0], self.out, gpu_speed.listed_cases())
        config = self.write_config("bench", {**keys, "global": {"num": 20000, "seeding": "uniform"},
                                             "local": {"num": 100}})
        self.command("bench", [self.fairlane, "bench", config, "--repetitions", "3", "--backend", "cuda", "--json"],
                     120, lambda out, _: bench_line(json.loads(out)))
        self.command("bench of networks", [self.fairlane, "bench", "--quick", "--json"], 30)

    def sanitizer(self):
        places = [shutil.which("compute-sanitizer"), "/usr/local/cuda/bin/compute-sanitizer"]
        tool = next((p for p in places if p and pathlib.Path(p).exists()), None)
        if tool is None:
            self.note("compute-sanitizer", None, 0.0, "not on this machine")
            return
        config = self.write_config("sanitizer", {**dict(self.subjects())["demo gender"], "seed": 3,
                                                 "global": {"num": 40}, "local": {"num": 10},
                                                 "output": {"dir": "unused", "format": "csv"}})
        for check in SANITIZERS:
            for verb, method in SANITIZED:
                out = self.out / "sanitizer"
                shutil.rmtree(out, ignore_errors=True)
                self.command(f"{check} {verb} {method}", [
                    tool, "--tool", check, "--error-exitcode", "99", self.fairlane, verb, config, "--backend", "cuda",
                    "--out", out, "--set", f"method={method}", "--quiet"], 60, lambda out, err: last_line(out))


def simulate(check, only):
    """The long list of tests/gpusim, and the signatures, on the simulated GPU."""
    sys.path.insert(0, str(ROOT / "tests" / "gpusim"))
    from whole_runs import Runner, long_list
    program = check.folder / SIMULATED
    runner = Runner(check.fairlane, program, check.out, ROOT)
    for case in long_list():
        if only not in case.name:
            continue
        if check.left() < 2:
            check.note(case.name, None, 0.0, "no time left")
            continue
        start = time.monotonic()
        problems = runner.problems(case)
        check.note(case.name, not problems, time.monotonic() - start, problems[0] if problems else "equal",
                   problems=problems)
    if only in "signatures":
        environment = ["env", f"FAIRLANE_BINARY={program}", f"FAIRLANE_SOURCE_DIR={ROOT}"]
        check.command("signatures", [*environment, sys.executable, "-B", ROOT / "tests/signatures/signatures_test.py",
                                     "--execution", "--backend cuda"], check.left())


def text_of(output):
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def bench_line(result):
    rates = [f"{way['backend']}: {way['local_steps_per_second'] / 1e6:.1f} M local steps/s"
             for way in result["search"] if way["threads"] == 0]
    return "; ".join(rates) + f"; {result.get('gpu_speedup', 0.0):.1f} times the CPU"


def compare(expected, found, reference, other):
    """What differs between two runs that should be equal."""
    names = [name for name in COMPARED if (reference / name).exists() or (other / name).exists()]
    differs = [name for name in names if not same_bytes(reference / name, other / name)]
    strip = [{key: value for key, value in summary.items() if key != "timing"} for summary in (expected, found)]
    return differs + [key for key in strip[0] if strip[0][key] != strip[1].get(key)]


def same_bytes(a, b):
    return a.exists() and b.exists() and a.read_bytes() == b.read_bytes()


def pack(folder, built):
    """Copies the programs and the libraries they load to a folder that can be carried."""
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "libs").mkdir(parents=True)
    for program in (built / "fairlane", built / TESTS[1]):
        copy = folder / program.name
        shutil.copy2(program, copy)
        if shutil.which("strip"):
            subprocess.run(["strip", str(copy)], check=True)
        listing = subprocess.run(["ldd", str(program)], check=True, capture_output=True, text=True).stdout
        for name, path in re.findall(r"(\S+) => (/\S+)", listing):
            if not SYSTEM_LIBRARIES.match(name):
                shutil.copy2(path, folder / "libs" / name)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size / 2**20:.1f} MiB")


def build(folder):
    """Configures and builds for the GPU of this machine."""
    commands = (["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "-DFAIRLANE_CUDA=ON",
                 "-DCMAKE_CUDA_ARCHITECTURES=native"], ["cmake", "--build", str(folder)])
    for command in commands:
        subprocess.run(command, check=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="gpu-check", help="folder for result.json and the logs (default: gpu-check)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--binary", metavar="DIR", help=f"programs to check (default: {PACKED}, else {BUILT})")
    where.add_argument("--build", metavar="DIR", help="build there first, with the libraries of this machine")
    where.add_argument("--pack", metavar="DIR", help=f"only collect {BUILT} and its libraries in DIR")
    parser.add_argument("--skip-build", action="store_true", help="with --build: take what is there")
    parser.add_argument("--quick", action="store_true", help="tests and a few parity cases only")
    parser.add_argument("--only", action="append", choices=STEPS, help="this step, of all; may be given again")
    parser.add_argument("--predict", action="store_true",
                        help=f"let the model predict by a build with the simulator, instead of {PREDICTIONS}")
    parser.add_argument("--simulate", nargs="?", const="", metavar="TEXT",
                        help="run on the simulator of GPUs, all cases or those with TEXT in their name")
    parser.add_argument("--limit", type=float, help="seconds for everything (default: 540, with --simulate 4 hours)")
    arguments = parser.parse_args()
    if arguments.limit is None:
        arguments.limit = 540.0 if arguments.simulate is None else 4 * 3600.0
    return arguments


def main():
    arguments = parse()
    if arguments.pack:
        pack(arguments.pack, ROOT / BUILT)
        return 0
    if arguments.build:
        if not arguments.skip_build:
            build(arguments.build)
        arguments.binary = arguments.build
    if not arguments.binary:
        arguments.binary = ROOT / (PACKED if (ROOT / PACKED / "fairlane").exists() else BUILT)
    check = Check(arguments)
    if not check.fairlane.exists():
        sys.exit(f"{check.fairlane}: no such program; --help says how to get one")
    if arguments.simulate is not None:
        if not (check.folder / SIMULATED).exists():
            sys.exit(f"{check.folder / SIMULATED}: no such program; preset cuda builds it")
        simulate(check, arguments.simulate)
        return finish(check, True)
    usable = check.guarded(check.devices)
    if usable:
        for step in QUICK_STEPS if arguments.quick else STEPS:
            if not arguments.only or step in arguments.only:
                check.guarded(getattr(check, step))
    return finish(check, usable)


def finish(check, usable):
    failed = [step["name"] for step in check.result["steps"] if step["passed"] is False]
    print(f"{check.out / 'result.json'}: {len(check.result['steps'])} steps, {len(failed)} failed")
    return 1 if failed else 0 if usable else NO_GPU


if __name__ == "__main__":
    sys.exit(main())
