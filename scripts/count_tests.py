"""Sums up ctest's JUnit file: each skipped test with its reason, each failed one with the end of what
it wrote, then 'N passed, N failed, ...'.

A shard counts as the tests in the file that GoogleTest wrote of it, beside ctest's:
shards/NAME.xml. A shard that failed without one, or with none in it that failed, is one failure.

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


def outcomes_of_ctest(case):
    """The one (outcome, name, output) of a test of ctest's."""
    name, output = case.get("name"), case.findtext("system-out") or ""
    skipped = case.find("skipped")
    if case.get("status") == "run":
        return [("passed", name, output)]
    if skipped is not None and SKIPPED.match(skipped.get("message", "")):
        return [("skipped", name, output)]
    return [("failed", name, output)]


def outcomes_of_shard(case, path):
    """(outcome, name, output) of each test of a shard."""
    found = []
    for test in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{test.get('classname')}.{test.get('name')}"
        if test.get("status") != "run":
            continue
        if test.find("failure") is not None:
            found.append(("failed", name, "\n".join(f.text or "" for f in test.iter("failure"))))
        elif test.find("skipped") is not None:
            message = test.find("skipped").get("message", "")
            found.append(("skipped", name, message.split("\n", 1)[-1]))
        else:
            found.append(("passed", name, ""))
    own = outcomes_of_ctest(case)
    if own[0][0] == "failed" and not any(outcome == "failed" for outcome, _, _ in found):
        found += own
    return found


def main():
    path = pathlib.Path(sys.argv[1])
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    cases = ElementTree.parse(path).getroot().iter("testcase") if path.exists() else ()
    failures = []
    for case in cases:
        shard = path.parent / "shards" / f"{case.get('name')}.xml"
        outcomes = outcomes_of_shard(case, shard) if shard.exists() else outcomes_of_ctest(case)
        for outcome, name, output in outcomes:
            counts[outcome] += 1
            if outcome == "skipped":
                print(f"skipped: {name}: {reason(output)}")
            elif outcome == "failed":
                failures.append((name, output))
    for name, output in failures:
        print(f"failed: {name}")
        for line in output.splitlines()[-LAST_LINES:]:
            print(f"    {line}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


sys.exit(main())
