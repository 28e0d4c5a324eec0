"""Random `kill -9` over run, enumerate, verify and sweep, and SIGTERM for a sweep: nothing half is ever visible, and the
same command again ends with the bytes of one that was left alone; no acknowledged cell of a sweep is done again.

`--points 200` is the long list, `--seed N` repeats one.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

import meddler
from sturdy_jobs import (JOBS, Acknowledged, Jobs, communicate, difference, files_of, is_sanitized, problem_of,
                         wait_until)

POINTS = 40
SECONDS = 55          # after which no point is begun where --points is not given
CHANCE_OF_ANOTHER = 0.35  # that what goes on is killed, too
GONE_SECONDS = 10     # in which a sweep's workers are gone
REPORTS = ("sweep.csv", "methods.csv", "verify.csv", "tables.md", "sweep.json", "timing.csv",
           "report.html")
DONE, PARTLY, STOPPED, KILLED = 0, 3, 75, -signal.SIGKILL


def require(holds, *said):
    if not holds:
        raise AssertionError(" ".join(map(str, said)))


def holds_journal(out, process):
    """Whether a sweep has begun, by what it writes beside its journal."""
    path = out / "journal" / "all.log.holder"
    return path.exists() and f"process {process.pid} on" in path.read_text(encoding="utf-8")


class Kills:
    def __init__(self, folder, chance, shim):
        self.folder, self.chance, self.shim = folder, chance, shim
        self.jobs = Jobs(folder, is_quick=is_sanitized())
        self.mark = folder / "mark"
        self.whole, self.seconds = {}, {}
        self.changes = {}  # a guess at how many a job makes, by job and role
        self.counts = collections.Counter()

    def leave_alone(self, job):
        """The reference: the same job, which nobody kills."""
        out = self.folder / f"whole-{job}"
        begin = time.monotonic()
        done = self.jobs.run(job, out)
        self.seconds[job] = time.monotonic() - begin
        require(done.returncode == DONE and not done.stderr, job, "alone:", done.returncode, done.stderr)
        self.whole[job] = out

    def kill_by_time(self, job, out):
        """Returns whether it struck, what was said, and the exit code."""
        process = self.jobs.start(job, out)
        time.sleep(self.chance.uniform(0.0, self.seconds[job]))
        process.send_signal(signal.SIGKILL)
        said = communicate(process)
        return process.returncode == KILLED, said, process.returncode

    def kill_by_change(self, job, out, role):
        """At a change of a file, of which a write is half done."""
        guess = self.changes.get((job, role), 40.0)
        number = self.chance.randint(1, int(guess))
        self.mark.unlink(missing_ok=True)
        process = self.jobs.start(job, out, meddler.environment(self.shim, self.mark, die=number, role=role))
        said = communicate(process)
        self.changes[job, role] = max(10.0, guess * (1.2 if self.mark.exists() else 0.8))
        return self.mark.exists(), said, process.returncode

    def kill_a_worker(self, out):
        process = self.jobs.start("sweep", out)
        time.sleep(self.chance.uniform(0.0, self.seconds["sweep"]))
        workers = self.jobs.workers()
        if workers:
            os.kill(self.chance.choice(workers), signal.SIGKILL)
        return bool(workers), communicate(process), process.returncode

    def stop(self, out):
        """No kill: SIGTERM, upon which cells save their states."""
        process = self.jobs.start("sweep", out)
        wait_until(lambda: holds_journal(out, process) or process.poll() is not None)
        time.sleep(self.chance.uniform(0.0, self.seconds["sweep"]))
        process.terminate()
        said = communicate(process)
        has_stopped = process.returncode == STOPPED and said.count("\n") == 1
        if process.returncode == -signal.SIGTERM and (out / "sweep.json").exists():
            return False, said, DONE  # it had done all, and was leaving
        return has_stopped, "" if has_stopped else said, process.returncode

    def kill(self, job, out):
        """Kills once, in one of the ways; returns what it was called, whether it struck, and whether only workers."""
        ways = ["time"]
        if self.shim:
            ways += ["change"]
        if job == "sweep":
            ways += ["stop", "worker"] + (["change of a worker"] if self.shim else [])
        way = self.chance.choice(ways)
        if way == "time":
            struck, said, code = self.kill_by_time(job, out)
        elif way == "stop":
            struck, said, code = self.stop(out)
        elif way == "worker":
            struck, said, code = self.kill_a_worker(out)
        else:
            role = None if job != "sweep" else "worker" if way.endswith("worker") else "other"
            struck, said, code = self.kill_by_change(job, out, role)
        of_workers = way.endswith("worker")
        allowed = (DONE, PARTLY if of_workers else STOPPED if way == "stop" else KILLED)
        require(code in allowed, way, "ended with", code, said)
        require(not said, way, "said", said)
        return way, struck, of_workers and code == PARTLY

    def look(self, job, out, has_failed_cells, was_stopped):
        """At once after a kill."""
        if job == "sweep":
            require(wait_until(lambda: not self.jobs.workers(), GONE_SECONDS), "workers survive:", self.jobs.workers())
        if not out.exists():
            return
        if has_failed_cells:
            self.look_at_failed_cells(out)
        require(not (problem := problem_of(out, self.whole[job], was_stopped)), problem)

    def look_at_failed_cells(self, out):
        """They are reported, the others went on, and the tables are whole. Removes the tables, which differ."""
        require(all((out / name).exists() for name in REPORTS), "tables lack")
        counts = json.loads((out / "sweep.json").read_bytes())["counts"]
        require(counts["failed"] > 0 and counts["done"] + counts["failed"] == counts["cells"], counts)
        for name in REPORTS:
            require((out / name).read_bytes().endswith(b"\n"), name, "does not end with a line")
            (out / name).unlink()

    def life(self, job, most):
        """A directory from its first kill to its end; at most so many kills. Returns how many struck."""
        out = self.folder / "out"
        struck, was_stopped = 0, False
        while struck < most:
            acknowledged = Acknowledged(out)
            way, has_struck, has_failed_cells = self.kill(job, out)
            self.counts[job, way] += has_struck
            self.counts["cells acknowledged before a kill"] += len(acknowledged.cells)
            struck += has_struck
            was_stopped = was_stopped or way == "stop"
            self.look(job, out, has_failed_cells, was_stopped)
            require(not (problem := acknowledged.problem()), problem)
            if not has_struck or self.chance.random() > CHANCE_OF_ANOTHER:
                break
        acknowledged = Acknowledged(out)
        self.counts["cells acknowledged after a kill"] += len(acknowledged.cells)
        done = self.jobs.run(job, out)
        require(done.returncode == DONE and not done.stderr, "again:", done.returncode, done.stderr)
        require(not (problem := acknowledged.problem()), problem)
        require(not (problem := difference(out, self.whole[job])), "at the end:", problem)
        shutil.rmtree(out)
        return struck


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments = parser.parse_args()
    print("seed", arguments.seed, flush=True)
    most = arguments.points or POINTS
    with tempfile.TemporaryDirectory() as folder:
        shim, why_not = meddler.build(folder)
        if why_not:
            print("killed by time only:", why_not)
        kills = Kills(pathlib.Path(folder), random.Random(arguments.seed), shim)
        begin = time.monotonic()
        for job in JOBS:
            kills.leave_alone(job)
        struck = lives = 0
        while struck < most and (arguments.points or lives < len(JOBS) or time.monotonic() - begin < SECONDS):
            job = JOBS[lives % len(JOBS)]
            try:
                struck += kills.life(job, most - struck)
            except AssertionError as error:
                print(f"point {struck + 1}, {job}: {error}\n{sorted(files_of(kills.folder / 'out'))}")
                return 1
            lives += 1
    for what, count in sorted(kills.counts.items(), key=str):
        print(f"{count:5}  {what if isinstance(what, str) else ': '.join(what)}")
    print(f"{struck} kills in {lives} lives, {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
