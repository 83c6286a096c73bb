#!/usr/bin/env python3
"""Compares the test cases of two builds: what one has and the other lacks.

    python tools/compare_test_lists.py build/before build/after [--renamed OLD=NEW]...

Every program of GoogleTest in BUILD/tests is asked for its list. A case is Suite.Name, whichever program it is in;
`--renamed` is a regular expression and its replacement for the names of the first build. Exit code 1 if a case of the first
build is missing in the second.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys


def cases(build):
    """Returns how often each Suite.Name is in the programs of a build."""
    found = collections.Counter()
    for program in sorted((build / "tests").iterdir()):
        if not program.name.endswith("_test") or not os.access(program, os.X_OK) or program.is_dir():
            continue
        listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
        suite = ""
        for line in listed.splitlines():
            name = line.split("#")[0].strip()
            if line.startswith("  "):
                found[suite + name] += 1
            elif name.endswith("."):
                suite = name
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--renamed", action="append", default=[], metavar="OLD=NEW")
    options = parser.parse_args()
    before, after = cases(options.before), cases(options.after)
    for rule in options.renamed:
        old, new = rule.split("=", 1)
        renamed = collections.Counter()
        for name, count in before.items():
            renamed[re.sub(old, new, name)] += count
        before = renamed
    missing = before - after
    for name in sorted(missing):
        print(f"missing: {name}")
    for name in sorted(after - before):
        print(f"new: {name}")
    print(f"{before.total()} cases before, {after.total()} after, {missing.total()} missing")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
