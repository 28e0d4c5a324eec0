"""A sweep's journal that is damaged, cut short, of others, or in use: nothing acknowledged is lost without a word."""
import json
import math
import random
import subprocess
import tempfile
import unittest

import sweep_journal
from sturdy_jobs import (BINARY, PATIENCE, QUICK_CELLS, QUICK_PLAN, Acknowledged, Jobs, communicate, difference,
                         is_sanitized, wait_until)

DONE, OUTPUT, STOPPED, DAMAGED = 0, 73, 75, 76
STEP = 40 if is_sanitized() else 7  # between two lengths to which a text is cut
WHOLE_RUNS = 3 if is_sanitized() else 10  # of those lengths, with which a sweep goes on to its end
SEED = random.SystemRandom().randrange(1 << 32)


class SweepJournal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print("seed", SEED)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.jobs = Jobs(folder.name, is_quick=True)
        cls.whole, cls.out = cls.jobs.folder / "whole", cls.jobs.folder / "out"
        cls.journal = cls.out / "journal" / "all.log"
        for out in (cls.whole, cls.out):
            assert cls.jobs.run("sweep", out).returncode == DONE
        results = [record.value for record in sweep_journal.read(cls.journal).records if record.kind == "RESULT"]
        assert len(results) == QUICK_CELLS
        # Each cell with an acknowledgement of its own.
        cls.bytes = sweep_journal.packed([value for result in results for value in (
            {"kind": "STARTED", "cell": result["cell"], "worker": "cpu 1"}, result, {"kind": "COMMIT"})])

    def setUp(self):
        self.chance = random.Random(SEED)
        self.journal.write_bytes(self.bytes)
        self.records = sweep_journal.read(self.journal).records
        self.assertEqual(3 * QUICK_CELLS, len(self.records))

    def expect_damaged(self, data):
        """One line names the file, which stays as it is."""
        self.journal.write_bytes(data)
        done = self.jobs.run("sweep", self.out)
        self.assertEqual(DAMAGED, done.returncode, done.stderr)
        self.assertEqual(1, done.stderr.count("\n"), done.stderr)
        self.assertIn(str(self.journal), done.stderr)
        self.assertEqual(data, self.journal.read_bytes())

    def expect_goes_on(self, data):
        self.journal.write_bytes(data)
        acknowledged = Acknowledged(self.out)
        done = self.jobs.run("sweep", self.out)
        self.assertEqual((DONE, ""), (done.returncode, done.stderr))
        self.assertIsNone(acknowledged.problem())
        self.assertIsNone(difference(self.out, self.whole))
        self.assertEqual(QUICK_CELLS, len(set(sweep_journal.read(self.journal).finished())))

    def done_by_status(self):
        done = subprocess.run([BINARY, "sweep", "status", self.jobs.folder / "plan.yaml", "--out", self.out, "--json"],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(DONE, done.returncode, done.stderr)
        return json.loads(done.stdout)["done"]

    def test_what_we_write_is_what_they_write(self):
        self.expect_goes_on(self.bytes)
        self.assertEqual(self.bytes, self.journal.read_bytes())  # nothing was left to do

    def test_a_flipped_bit(self):
        places = [(0, at) for at in (0, len(sweep_journal.FORMAT) - 1)]
        for record in self.records:
            begin, text = record.at, record.at + sweep_journal.HEAD.size
            places += [(record.number, at) for at in (begin, begin + 3, begin + 4, begin + 11, begin + 12, text,
                                                      self.chance.randrange(text, record.end), record.end - 1)]
        for number, at in places:
            damaged = bytearray(self.bytes)
            damaged[at] ^= 1 << self.chance.randrange(8)
            with self.subTest(record=number, at=at):
                self.expect_damaged(bytes(damaged))

    def test_a_torn_tail(self):
        result, commit = self.records[-2:]
        text = result.at + sweep_journal.HEAD.size
        lengths = [*range(result.at, text), *range(text, result.end, STEP), *range(result.end, commit.end)]
        whole = set(self.chance.sample(lengths, WHOLE_RUNS)) | {result.at, result.end, commit.end - 1}
        for length in lengths:
            with self.subTest(length=length):
                self.journal.write_bytes(self.bytes[:length])
                self.assertEqual(QUICK_CELLS - 1, self.done_by_status())
                self.assertEqual(self.bytes[:length], self.journal.read_bytes())  # who looks changes nothing
                if length in whole:
                    self.expect_goes_on(self.bytes[:length])

    def test_a_tail_that_never_reached_the_disk(self):
        """After a loss of power, blocks at the end of a file may hold zeros."""
        result, commit = self.records[-2:]
        for begin in (result.at, result.at + 5, result.at + sweep_journal.HEAD.size, result.end - 1, commit.at,
                      commit.at + 6, commit.end - 1):
            with self.subTest(begin=begin):
                self.expect_goes_on(self.bytes[:begin] + bytes(len(self.bytes) - begin))

    def test_a_first_line_that_is_not_whole(self):
        for length in range(len(sweep_journal.FORMAT)):
            self.journal.write_bytes(self.bytes[:length])
            self.assertEqual(0, self.done_by_status())
        for length in (0, 5, len(sweep_journal.FORMAT)):
            self.expect_goes_on(self.bytes[:length])

    def test_what_is_no_journal(self):
        for data in (b"x", b"fairlane sweep journal 2\n" + self.bytes[len(sweep_journal.FORMAT):],
                     self.bytes[len(sweep_journal.FORMAT):], bytes(100), self.chance.randbytes(1000)):
            with self.subTest(data=data[:30]):
                self.expect_damaged(data)

    def test_records_that_do_not_belong_there(self):
        group = self.records[-3].at
        last_but_one = self.records[-6].at
        for name, data in {"twice": self.bytes + self.bytes[group:],
                           "one lacks": self.bytes[:last_but_one] + self.bytes[group:], "no JSON": None,
                           "another kind of value": None}.items():
            if data is None:
                text = b"nothing" if name == "no JSON" else b"[1]"
                number = self.records[-1].number + 1
                crc = sweep_journal.crc32c(number.to_bytes(8, "little") + text)
                data = self.bytes + sweep_journal.HEAD.pack(len(text), number, crc) + text
            with self.subTest(name):
                self.expect_damaged(data)

    def test_only_one_process_at_a_time(self):
        held = self.jobs.folder / "held"
        words = self.jobs.command("sweep", held) + ["--workers", "1"]
        (self.jobs.folder / "plan.yaml").write_text(QUICK_PLAN + "set: {local.num: 20000, global.num: 4000}\n")
        self.addCleanup((self.jobs.folder / "plan.yaml").write_text, QUICK_PLAN)
        first = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(communicate, first)
        self.addCleanup(first.kill)
        self.assertTrue(wait_until(lambda: (held / "cells").exists() and any((held / "cells").iterdir())))
        holder = (held / "journal" / "all.log.holder").read_text().strip()
        self.assertIn(f"process {first.pid} ", holder)
        second = self.jobs.run("sweep", held)
        self.assertEqual(OUTPUT, second.returncode, second.stderr)
        self.assertEqual(1, second.stderr.count("\n"), second.stderr)
        self.assertIn(holder, second.stderr)
        self.assertIsNone(first.poll())
        first.terminate()
        said = communicate(first)
        self.assertEqual(STOPPED, first.returncode, said)
        self.assertEqual(1, said.count("\n"), said)
        self.assertEqual([], self.jobs.workers())

    def test_what_another_process_has_done(self):
        """One has all cells, and gets to this one last; another has it alone, and is done with it first."""
        with tempfile.TemporaryDirectory() as folder:
            jobs = Jobs(folder)
            plan, out = jobs.folder / "plan.yaml", jobs.folder / "out"
            said = subprocess.run([BINARY, "sweep", "plan", plan, "--out", out, "--json"], capture_output=True,
                                  text=True, timeout=PATIENCE, check=True)
            cells = json.loads(said.stdout)["cells"]
            last = min(cells, key=lambda cell: cell["expected_evaluations"] or math.inf)["cell"]
            words = [*jobs.command("sweep", out), "--workers", "1"]
            with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as first:
                self.addCleanup(first.kill)
                self.assertTrue(wait_until(lambda: (out / "cells").exists() and any((out / "cells").iterdir())))
                self.assertEqual(DONE, jobs.run("sweep", out, arguments=("--cell", last)).returncode)
                acknowledged = Acknowledged(out)
                self.assertIn(last, acknowledged.cells)
                self.assertIsNone(first.poll())
                said = communicate(first)
            self.assertEqual((DONE, ""), (first.returncode, said))
            self.assertIsNone(acknowledged.problem())


if __name__ == "__main__":
    unittest.main()
