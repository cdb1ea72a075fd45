"""Prints `N passed, N failed, N skipped` from CTest's JUnit file; the last line of scripts/test and .ci/run.

    count_tests.py CTEST.xml CTEST_STATUS [NAME=STATUS ...]

NAME=STATUS counts a step beside CTest by its exit code: 0 passed, 77 skipped, anything else failed. Every skip is listed with its test, so that none hides. Exit 1 when a test failed, when none passed, or when
ctest itself ended badly although the file shows no failure (a crash of the runner is not green).
"""

import sys
import xml.etree.ElementTree as ElementTree


def count(path):
    cases = ElementTree.parse(path).getroot().iter("testcase")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    names = {"failed": [], "skipped": []}
    for case in cases:
        # CTest writes status run, fail, disabled or notrun; anything but run is looked at by its child.
        if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            state = "skipped" if case.find("failure") is None else "failed"
        elif case.find("failure") is not None or case.get("status") == "fail":
            state = "failed"
        else:
            state = "passed"
        counts[state] += 1
        if state in names:
            names[state].append(case.get("name"))
    return counts, names


def add_steps(words, counts, names):
    """Counts each NAME=STATUS."""
    for word in words:
        name, status = word.rsplit("=", 1)
        state = {0: "passed", 77: "skipped"}.get(int(status), "failed")
        counts[state] += 1
        if state in names:
            names[state].append(name)


def main():
    path, ctest_status = sys.argv[1], int(sys.argv[2])
    try:
        counts, names = count(path)
    except (OSError, ElementTree.ParseError) as error:
        print(f"count_tests: {path}: {error}", file=sys.stderr)
        print("0 passed, 1 failed, 0 skipped")
        return 1
    failed_in_ctest = counts["failed"]
    add_steps(sys.argv[3:], counts, names)
    for state in ("skipped", "failed"):
        for name in names[state]:
            print(f"{state}: {name}")
    if ctest_status != 0 and failed_in_ctest == 0:
        print(f"count_tests: ctest ended with {ctest_status} although no test failed", file=sys.stderr)
        counts["failed"] += 1
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
