"""Sums up ctest's JUnit file: each skipped test with its reason, each failed one with the end of what
it wrote, then 'N passed, N failed, ...'.

Exits with 1 if a test failed or none ran.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

# What ctest writes for a test that skipped itself; every other reason for not running is a failure.
SKIPPED = re.compile(r"^SKIP_(RETURN_CODE|REGULAR_EXPRESSION_MATCHED)")

LAST_LINES = 20  # of what a failed test wrote


def reason(output):
    """The line that says why: the one after GoogleTest's 'Skipped', else the last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for here, following in zip(lines, lines[1:]):
        if here.endswith(": Skipped"):
            return following
    return lines[-1] if lines else "no reason given"


def main():
    path = pathlib.Path(sys.argv[1])
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    cases = ElementTree.parse(path).getroot().iter("testcase") if path.exists() else ()
    failures = []
    for case in cases:
        skipped = case.find("skipped")
        if case.get("status") == "run":
            outcome = "passed"
        elif skipped is not None and SKIPPED.match(skipped.get("message", "")):
            outcome = "skipped"
            print(f"skipped: {case.get('name')}: {reason(case.findtext('system-out') or '')}")
        else:
            outcome = "failed"
            failures.append(case)
        counts[outcome] += 1
    for case in failures:
        print(f"failed: {case.get('name')}")
        for line in (case.findtext("system-out") or "").splitlines()[-LAST_LINES:]:
            print(f"    {line}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


sys.exit(main())
