"""The simulator computes what is right, and notices what is wrong: a kernel with a planted fault of each kind.

Skips where the build has no simulator.

Usage: gpusim_selftest_test.py [PROGRAM], PROGRAM is gpusim_selftest.
"""
import os
import subprocess
import sys
import unittest

SEEDS = ("1", "2", "3")
RIGHT = ("sums", "arithmetic", "words", "vectors", "async_copies", "votes", "barriers", "teams", "shared_atomics",
         "fenced", "acquired", "scoped_atomics", "grids", "symbols", "streams", "attributes", "waited")
# What must be said of a case.
FAULTS = {
    "no_barrier": "race, ",
    "one_place": "race, write after write",
    "read_first": "race, write after read",
    "no_warp_barrier": "race, ",
    "unfenced": "race, read after write",
    "past_the_end": "lies in no allocation (write)",
    "over_the_end": "run over the end of an allocation",
    "nowhere": "lies in no allocation (write)",
    "freed": "lies in no allocation (write)",
    "misaligned": "misaligned global address",
    "past_shared": "shared address",
    "past_local": "local address",
    "unwritten": "read of what nobody wrote",
    "unwritten_shared": "read of what nobody wrote",
    "unwritten_copy": "has bytes that nobody wrote",
    "half_a_warp": "DEADLOCK",
    "two_barriers": "threads of a block met at different barriers",
    "other_team": "race, ",
    "half_of_a_team": "a barrier that other threads met at",
    "foreign_mask": "a lane outside of the mask that it gives",
    "ended_lanes": "a mask names lanes that have ended",
    "from_outside": "shfl from a lane that takes no part",
    "trapped": "FAULT: trap",
    "other_space": "cvta.to of an address of another space",
    "unknown": "an unknown instruction",
    "long_copy": "a copy of 2052 bytes runs over the end",
    "refused": "a launch that cannot be",
}


class Selftest(unittest.TestCase):
    program = None

    def say(self, case, **environment):
        """(exit status, everything that was printed)"""
        checks = {"GPUSIM_RACE": "1", "GPUSIM_RANDOM": "1"}
        done = subprocess.run([self.program, case], capture_output=True, text=True, check=False,
                              env={**os.environ, **checks, **environment})
        return done.returncode, done.stdout + done.stderr

    def test_every_case_is_expected_to_do_something(self):
        listed = subprocess.run([self.program], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(sorted(listed), sorted([*RIGHT, *FAULTS]))

    def test_what_is_right_is_right_in_any_order(self):
        for case in RIGHT:
            for seed in SEEDS if case != "waited" else ():
                with self.subTest(case, seed=seed):
                    self.assertEqual((0, "right\n"), self.say(case, GPUSIM_SEED=seed))
            with self.subTest(case, order="one after the other"):
                self.assertEqual((0, "right\n"), self.say(case, GPUSIM_RANDOM="0"))

    def test_faults_are_named(self):
        for case, text in FAULTS.items():
            with self.subTest(case):
                self.assertIn(text, self.say(case)[1])

    def test_who_does_not_wait_sees_what_was_there(self):
        self.assertEqual((0, "right\n"), self.say("waited", GPUSIM_RANDOM="0"))
        self.assertEqual((1, "wrong\n"), self.say("waited", GPUSIM_RANDOM="0", GPUSIM_LAZY="0"))


def main():
    if len(sys.argv) < 2:
        print("this build has no simulator of GPUs")
        return 77
    Selftest.program = sys.argv[1]
    return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1


sys.exit(main())
