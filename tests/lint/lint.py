#!/usr/bin/env python3
"""Refuses retired names and phrases (tests/lint/retired.txt) and files that clang-format would change.

    python tests/lint/lint.py [ROOT]    exit code 1 when something is found, with what to write in its place

Only files that git tracks are looked at: sources, tests, tools, scripts and documents, no data.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

LIST = pathlib.Path(__file__).with_name("retired.txt")
READ = re.compile(r"\.(cc|h|cpp|inc|py|pyi|md|cmake|fbs|in|txt|html|toml)$|^scripts/")
LEFT_ALONE = re.compile(r"^(tests/data/|tests/lint/)|/corpus/|/data/")
FORMATTER = 14  # versions differ in what they make of the same style
FORMATTED = re.compile(r"\.(cc|h|cpp)$")


def tracked(root):
    """The files that git knows; in an unpacked archive, all that are not built."""
    command = ["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        paths = done.stdout.split("\0") if done.returncode == 0 else None
    except FileNotFoundError:
        paths = None
    if paths is None:
        built = {"build", ".venv", "__pycache__"}
        paths = [p.relative_to(root).as_posix() for p in sorted(root.rglob("*")) if not built & {*p.relative_to(root).parts}]
    return [p for p in paths if p and not LEFT_ALONE.search(p) and (root / p).is_file()]


def retired():
    """[(pattern, what to write)]: a line is a regular expression and a replacement, two spaces or more between them."""
    lines = (line.rstrip() for line in LIST.read_text().splitlines())
    return [tuple(re.split(r"\s{2,}", line, maxsplit=1)) for line in lines if line and not line.startswith("#")]


def retired_names(root, paths):
    texts = {path: (root / path).read_text(errors="replace") for path in paths if READ.search(path)}
    whole = re.compile(r"\\b\(\?:(.*)\)\\b$")  # a row for whole identifiers
    rows = [(pattern, whole.match(pattern), new) for pattern, new in retired()]
    # Each identifier of the project is tested once; only the rest is searched for in every file.
    used = {path: set(re.findall(r"\w+", text)) for path, text in texts.items()}
    some = re.compile("|".join(f"(?:{name[1]})" for _, name, _ in rows if name))
    old = {word for word in set().union(*used.values()) if some.fullmatch(word)}
    found = []
    for path, text in texts.items():
        here = used[path] & old
        for pattern, name, new in rows:
            if name and not any(re.fullmatch(name[1], word) for word in here):
                continue
            for m in re.finditer(pattern, text):
                found.append(f"{path}:{text.count(chr(10), 0, m.start()) + 1}: {m.group()!r} is retired: {m.expand(new)}")
    return found


def badly_formatted(root, paths):
    beside = pathlib.Path(sys.executable).with_name("clang-format")  # of a virtual environment
    tool = str(beside) if beside.exists() else shutil.which("clang-format")
    version = tool and subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    if not version or f"version {FORMATTER}." not in version:
        return [f"the sources are formatted by clang-format {FORMATTER}: pip install clang-format=={FORMATTER}.0.6"]
    sources = [p for p in paths if FORMATTED.search(p)]

    def check(some):
        done = subprocess.run([tool, "--dry-run", "-Werror", *some], cwd=root, capture_output=True, text=True)
        return {line.split(":")[0] for line in done.stderr.splitlines() if "error:" in line}

    pieces = [sources[i : i + 40] for i in range(0, len(sources), 40)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        return [f"{path}: clang-format -i {path}" for path in sorted(set().union(*threads.map(check, pieces)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parents[2], type=pathlib.Path)
    parser.add_argument("--no-format", action="store_true", help="only names and phrases")
    options = parser.parse_args()
    paths = tracked(options.root)
    found = retired_names(options.root, paths)
    if not options.no_format:
        found += badly_formatted(options.root, paths)
    print("\n".join(found) or f"{len(paths)} files: no retired names")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
