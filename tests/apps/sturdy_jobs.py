"""Jobs of about a second each, or a tenth of it, that tests kill and starve, and what must hold of their directories at
every moment."""
import contextlib
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import sweep_journal

BINARY = os.environ["FAIRLANE_BINARY"]
CONFIGS = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"], "configs")
DEMO = CONFIGS / "demo"
PATIENCE = 240  # seconds; a command that does not end would take hours
JOBS = ("run", "enumerate", "verify", "quantify", "sweep")

# Of a sweep: cells of every kind, some of which save states, for a little more than two acknowledgements, one a second.
LONG_PLAN = """\
output: {dir: unused}
protected: [[gender], [age]]
set: {global.num: 600, local.num: 12000}
cells:
  - {subjects: [tiny.yaml], commands: [run], methods: [eidig, adf], seeds: [1, 2]}
  - {subjects: [tiny.yaml], commands: [verify, {command: estimate, options: [--error, "0.02"]}]}
  - {subjects: [walk.yaml], commands: [enumerate]}
"""
QUICK_PLAN = """\
output: {dir: unused}
subjects: [tiny.yaml]
protected: [[gender], [age]]
methods: [eidig, adf]
"""
QUICK_CELLS = 4


def widened(times, count):
    """The demo's domain with so many attributes of so many times their values."""
    text = re.sub(r", categories: \[[^]]*\]", "", (DEMO / "census.domain.yaml").read_text(encoding="utf-8"))
    lines, done = [], 0
    for line in text.splitlines():
        if "high:" in line and "protected: true" not in line and done < count:
            line = re.sub(r"high: (\d+)", lambda m: f"high: {(int(m[1]) + 1) * times - 1}", line)
            done += 1
        lines.append(line)
    return "\n".join(lines) + "\n"


def is_sanitized():
    """Whether the program is built with a sanitizer, which makes it ten times as slow."""
    binary = pathlib.Path(BINARY).read_bytes()
    return b"__asan_init" in binary or b"__tsan_init" in binary


class Jobs:
    """Configurations in a folder, and the command lines of the jobs.

    checkpoint: seconds between two states
    """

    def __init__(self, folder, is_quick=False, checkpoint="0.01"):
        self.folder = pathlib.Path(folder)
        self.is_quick, self.checkpoint = is_quick, checkpoint
        for name, times, count in (("walk", 2 if is_quick else 4, 4), ("boxes", 2, 3)):
            (self.folder / f"{name}.domain.yaml").write_text(widened(times, count), encoding="utf-8")
            (self.folder / f"{name}.yaml").write_text(
                f"model: {DEMO / 'census.safetensors'}\ndomain: {name}.domain.yaml\nprotected: [gender]\n"
                "method: themis\noutput: {dir: unused}\n", encoding="utf-8")
        tiny = (CONFIGS / "tiny.yaml").read_text(encoding="utf-8").replace("demo/", f"{DEMO}/")
        (self.folder / "tiny.yaml").write_text(tiny, encoding="utf-8")
        (self.folder / "plan.yaml").write_text(QUICK_PLAN if is_quick else LONG_PLAN, encoding="utf-8")

    def command(self, job, out):
        """The words of a command line; threads are two, so that a machine of more behaves alike."""
        seeds, steps = (200, 1000) if self.is_quick else (1400, 8000)
        words = {
            "run": ["run", "tiny.yaml", "--batch", "8", "--set", "protected=[age]",
                    "--set", f"global.num={seeds}", "--set", f"local.num={steps}",
                    "--set", "output.trace=true"],
            "enumerate": ["enumerate", "walk.yaml", "--instances", "500"],
            "verify": ["verify", "boxes.yaml", "--cells", f"fairify:{4 if self.is_quick else 2}"],
            "quantify": ["verify", "boxes.yaml", "--quantify", "2000" if self.is_quick else "40000"],
            "sweep": ["sweep", "plan.yaml"],
        }[job]
        backend = ["--backend", "cpu"]
        return [BINARY, words[0], str(self.folder / words[1]), *words[2:], "--out", str(out), *backend,
                "--threads", "2", "--quiet", "--checkpoint", self.checkpoint]

    def start(self, job, out, environment=None):
        return subprocess.Popen(self.command(job, out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                env=dict(os.environ, **(environment or {})))

    def run(self, job, out, environment=None, arguments=()):
        return subprocess.run([*self.command(job, out), *arguments], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, env=dict(os.environ, **(environment or {})),
                              timeout=PATIENCE, check=False)

    def workers(self):
        """The processes of workers of a sweep of this folder, which is where they work."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if b"work" in words and os.readlink(entry / "cwd") == str(self.folder.resolve()):
                    found.append(int(entry.name))
        return found


def communicate(process):
    """What a process says until its end; it is killed where that does not come."""
    try:
        return process.communicate(timeout=PATIENCE)[1]
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.communicate()


def wait_until(holds, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.005)
    return holds()


def timeless(path, less_share=False):
    """The bytes of a file less what tells the time: what must be equal in equal jobs.
    less_share: nor the share of the domain, without which a run ends that is asked to stop while it samples, nor the
    page that tells it"""
    data = path.read_bytes()
    if less_share and path.name == "report.html":
        return b""
    if path.suffix == ".json":
        value = json.loads(data)
        value.pop("timing", None)
        if less_share and path.name == "summary.json":
            value.pop("domain_share", None)
        return json.dumps(value).encode()
    if path.name == "timing.csv":
        return b""
    if path.name == "methods.csv":
        rows = list(csv.DictReader(io.StringIO(data.decode())))
        return json.dumps([{k: v for k, v in row.items() if "per_second" not in k} for row in rows]).encode()
    if path.name == "tables.md":
        sections = [part for part in data.decode().split("\n## ") if "per second" not in part.splitlines()[0]]
        return "\n".join(re.sub(r"\|[^|]*\|$", "|", line) if "verified" in part else line
                         for part in sections for line in part.splitlines()).encode()
    return data


def files_of(out):
    """What is visible under a final name, by its path in the directory."""
    found = {}
    for folder, names, files in os.walk(out):
        if ".partial" in names:
            names.remove(".partial")
        for name in files:
            path = pathlib.Path(folder, name)
            found[str(path.relative_to(out))] = path
    return found


def results_problem(folder, names, whole):
    """What is wrong with a directory of results. names: of its files; whole: those of one that was left alone."""
    if "DONE" in names and set(names) != set(whole):
        return (f"DONE is there, and {sorted(set(whole) - set(names))} lack, "
                f"{sorted(set(names) - set(whole))} are too many")
    if "instances.json" in names:
        index = json.loads((folder / "instances.json").read_bytes())
        for entry in index["files"]:
            there = hashlib.sha256((folder / entry["name"]).read_bytes()).hexdigest()
            if there != entry["sha256"]:
                return f"{entry['name']} has not the digest of instances.json"
    return None


def problem_of(out, whole, was_stopped=False):
    """What is wrong with what a job has made so far, beside one that was left alone; None: every file under a final
    name is whole, as it will be at the end, and DONE is only where everything is.
    was_stopped: a sweep asked its workers to stop"""
    out, whole = pathlib.Path(out), pathlib.Path(whole)
    here, there = files_of(out), files_of(whole)
    for name, path in here.items():
        if re.fullmatch(r"journal/[^/]*\.log(\.holder)?", name):
            continue
        if name not in there:
            return f"{name} is no name of a result"
        try:
            if timeless(path, was_stopped) != timeless(there[name], was_stopped):
                return f"{name} differs"
        except (ValueError, UnicodeDecodeError) as error:
            return f"{name} is not whole: {error}"
        if path.suffix in (".csv", ".txt", ".json") and not path.read_bytes().endswith(b"\n"):
            return f"{name} does not end with a line"
    for folder in {str(pathlib.PurePath(name).parent) for name in here if name.endswith("manifest.json")}:
        inside = [pathlib.PurePath(name).name for name in here if str(pathlib.PurePath(name).parent) == folder]
        expected = [pathlib.PurePath(name).name for name in there if str(pathlib.PurePath(name).parent) == folder]
        problem = results_problem(out / folder, inside, expected)
        if problem:
            return f"{folder}: {problem}"
    return None


def difference(out, whole, but=None):
    """How a finished job differs from one that was left alone, in names or bytes; None: it does not.
    but: the beginning of names that one may have and the other not."""
    here, there = ({name for name in files_of(pathlib.Path(each)) if not but or not name.startswith(but)}
                   for each in (out, whole))
    if here != there:
        return f"{sorted(there - here)} lack, {sorted(here - there)} are too many"
    left = [os.path.join(folder, ".partial") for folder, names, _ in os.walk(out) if ".partial" in names]
    return f"{left} are left" if left else problem_of(out, whole)


def marks(folder):
    """What tells whether anything was done again in a folder: the identity and the time of all that is in it."""
    paths = [folder, *sorted(folder.iterdir())]
    return [(path.name, path.stat().st_ino, path.stat().st_mtime_ns) for path in paths]


class Acknowledged:
    """The cells that a sweep has acknowledged in any of its journals, with what their directories look like."""

    def __init__(self, out):
        self.out = pathlib.Path(out)
        self.numbers, self.cells = {}, {}  # of the last COMMIT by journal; by cell
        for name, contents in self.journals().items():
            self.numbers[name] = contents.number
            for cell in contents.finished():
                self.cells[cell] = marks(self.folder(cell))

    def journals(self):
        return {path.name: sweep_journal.read(path) for path in sorted((self.out / "journal").glob("*.log"))}

    def folder(self, cell):
        return self.out / "cells" / cell[:2] / cell

    def problem(self):
        """What was done again since; None: nothing was."""
        for cell, before in self.cells.items():
            if not (self.folder(cell) / "DONE").exists():
                return f"{cell} is acknowledged, and not there"
            if marks(self.folder(cell)) != before:
                return f"the directory of {cell} has changed since it was acknowledged"
        now = self.journals()
        lost = set(self.cells) - {cell for contents in now.values() for cell in contents.finished()}
        if lost:
            return f"{sorted(lost)} are no longer acknowledged"
        for name, contents in now.items():
            for record in contents.records:
                is_new = record.number > self.numbers.get(name, 0)
                if is_new and record.kind == "STARTED" and record.value["cell"] in self.cells:
                    return f"{record.value['cell']} was begun again after it was acknowledged"
        return None
