"""scripts/count_tests.py: what passed, failed and was skipped, in tests of their own and in shards."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"]) / "scripts" / "count_tests.py"

PASSED = '<testcase name="{}" status="run"><system-out>fine</system-out></testcase>'
FAILED = '<testcase name="{}" status="fail"><failure message=""/><system-out>{}</system-out></testcase>'
SKIPPED = ('<testcase name="{}" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
           "<system-out>{}</system-out></testcase>")
NOT_RUN = '<testcase name="{}" status="notrun"><skipped message="Unable to find executable"/></testcase>'
OF_SHARD = '<testcase classname="Suite" name="{}" status="run">{}</testcase>'
LEFT_OUT = '<testcase classname="Suite" name="Other" status="notrun" result="suppressed"/>'


def outcome(cases, shards=None):
    """Exit status and printed lines for ctest's cases and {name: GoogleTest's cases}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "tests.xml").write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="utf-8")
        (root / "shards").mkdir()
        for name, of_shard in (shards or {}).items():
            (root / "shards" / f"{name}.xml").write_text(
                f"<testsuites><testsuite>{''.join(of_shard)}</testsuite></testsuites>", encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", SCRIPT, root / "tests.xml"], capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()


class CountTests(unittest.TestCase):
    def test_tests_count_by_themselves(self):
        cases = [PASSED.format("a"), SKIPPED.format("b", "no GPU"), FAILED.format("c", "1 is not 2"), NOT_RUN.format("d")]
        self.assertEqual((1, ["skipped: b: no GPU", "failed: c", "    1 is not 2", "failed: d",
                              "1 passed, 2 failed, 1 skipped"]), outcome(cases))
        self.assertEqual((0, ["1 passed, 0 failed, 0 skipped"]), outcome(cases[:1]))

    def test_nothing_that_passed_is_a_failure(self):
        self.assertEqual(1, outcome([])[0])
        self.assertEqual(1, outcome([SKIPPED.format("b", "no GPU")])[0])
        self.assertEqual(1, outcome([PASSED.format("s")], {"s": [LEFT_OUT]})[0])

    def test_a_shard_counts_as_its_tests(self):
        shard = [OF_SHARD.format("A", ""), OF_SHARD.format("B", '<skipped message="at.cpp:1&#x0A;no data"/>'), LEFT_OUT]
        self.assertEqual((0, ["skipped: Suite.B: no data", "2 passed, 0 failed, 1 skipped"]),
                         outcome([PASSED.format("s"), PASSED.format("a")], {"s": shard}))

    def test_what_failed_in_a_shard_is_named(self):
        shard = [OF_SHARD.format("A", ""), OF_SHARD.format("B", "<failure>1 is not 2</failure>")]
        self.assertEqual((1, ["failed: Suite.B", "    1 is not 2", "1 passed, 1 failed, 0 skipped"]),
                         outcome([FAILED.format("s", "all of it")], {"s": shard}))

    def test_a_shard_that_ends_badly_failed(self):
        self.assertEqual((1, ["failed: s", "    killed", "0 passed, 1 failed, 0 skipped"]),
                         outcome([FAILED.format("s", "killed")]))
        self.assertEqual((1, ["failed: s", "    a leak", "1 passed, 1 failed, 0 skipped"]),
                         outcome([FAILED.format("s", "a leak")], {"s": [OF_SHARD.format("A", "")]}))


if __name__ == "__main__":
    unittest.main()
