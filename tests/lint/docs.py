#!/usr/bin/env python3
"""Checks the documents: length of lines and pages, number of words, links, that examples show nothing of the tests,
that the tests which are named exist, that classes have the members which are named, and sources the functions.

    docs.py [ROOT]

Generated pages, and what is between `<!-- generated -->` and `<!-- /generated -->`, are exempt from the limits on lines and words.
"""

import pathlib
import re
import sys
import unicodedata

MOST_COLUMNS = 140
MOST_WORDS = 45_000
MOST_LINES = {
    "docs/performance.md": 150,
    "docs/guide/quickstart.md": 60,
    "docs/internals/architecture.md": 120,
    "docs/internals/from-file-to-step.md": 100,
    "docs/internals/glossary.md": 150,
}
FRAGMENTS = {"bench/results/page.md"}  # a part of docs/performance.md, whose links start from there
GENERATED = {"docs/reference/operators.md", "docs/reference/scoreboard.md", "docs/performance.md"}
OF_THE_TESTS = re.compile(r"\brequire\(|\bfolder\b")


def documents(root):
    """{path from the root: text} of all documents."""
    files = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "bench").rglob("*.md")]
    pages = {str(p.relative_to(root)): p.read_text() for p in sorted(files)}
    return {name: text for name, text in pages.items() if name not in FRAGMENTS}


def written(text):
    """What readers see of the parts written by hand."""
    text = re.sub(r"^<!-- generated -->\n.*?^<!-- /generated -->$", "", text, flags=re.M | re.S)
    return re.sub(r"<!--.*?-->", "", text, flags=re.S)


def prose(text):
    """(number, line) of what is neither code nor table nor hidden."""
    hidden = lambda m: "\n" * m[0].count("\n")
    text = re.sub(r"^<!-- generated -->\n.*?^<!-- /generated -->$", hidden, text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", hidden, text, flags=re.S)
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith("|"):
            yield number, line


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    found = {}
    for _, line in prose(text):
        if heading := re.match(r"#+ +(.*?) *#*$", line):
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower().replace("`", "")
            kept = [c for c in title if c in " -_" or unicodedata.category(c)[0] in "LN"]
            slug = "".join(kept).replace(" ", "-")
            found[slug] = found.get(slug, 0) + 1
    return {slug if i == 0 else f"{slug}-{i}" for slug, n in found.items() for i in range(n)}


def links(text):
    """(number, target) of the links of a page that are not in code."""
    for number, line in enumerate(re.sub(r"^```.*?^```$", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S).splitlines(), 1):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            yield number, target


def long_lines(pages):
    return [
        f"{name}:{number}: {len(line)} columns, {MOST_COLUMNS} at most"
        for name, text in pages.items()
        if name not in GENERATED
        for number, line in prose(text)
        if len(line) > MOST_COLUMNS
    ]


def long_pages(pages):
    return [
        f"{name}: {lines} lines, {most} at most"
        for name, most in MOST_LINES.items()
        if (lines := pages.get(name, "").count("\n")) > most
    ]


def words(pages):
    """{page: words written by hand}; a word has a letter or a digit."""
    return {
        name: sum(any(c.isalnum() for c in word) for word in written(text).split()) for name, text in pages.items() if name not in GENERATED
    }


def broken_links(root, pages):
    faults = []
    for name, text in pages.items():
        for number, target in links(text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            to = (root / name).parent / path if path else root / name
            if not to.exists():
                faults.append(f"{name}:{number}: no file {target}")
            elif anchor and anchor not in anchors(to.read_text()):
                faults.append(f"{name}:{number}: no heading {target}")
    return faults


def shown_harness(pages):
    """Examples in C++ that show what only the tests have."""
    return [
        f"{name}: {line.strip()}"
        for name, text in pages.items()
        for block in re.findall(r"^```cpp\n(.*?)^```", text, re.M | re.S)
        for line in block.splitlines()
        if OF_THE_TESTS.search(line)
    ]


def unknown_tests(root, pages):
    """Tests in C++ that a page names and that are neither a source below tests/ nor one of the programs, which are its folders."""
    sources = {p.relative_to(root / "tests").with_suffix("").as_posix() for p in (root / "tests").rglob("*_test.cc")}
    known = sources | {source.rpartition("/")[2] for source in sources}
    known |= {source.rpartition("/")[0].replace("/", "_") + "_test" for source in sources}
    return [
        f"{name}:{number}: no test {test}"
        for name, text in pages.items()
        for number, line in enumerate(text.splitlines(), 1)
        for test in re.findall(r"(?<![\w./*`])`?([a-z][\w/]*_test)\b(?![\w.(])", line)
        if not test.startswith("test_") and test.removeprefix("tests/") not in known
    ]


def unknown_members(root, pages):
    """Members (`Class::member`) that a page names of a class of the project whose sources do not have them. A class has what it
    includes in its midst, a file *.def, too."""
    sources = [p.read_text() for folder in ("src", "include", "cli", "python") for end in ("h", "cc") for p in (root / folder).rglob(f"*.{end}")]
    sources = [s + "".join((root / "src" / d).read_text() for d in set(re.findall(r'#include "([\w/]+\.def)"', s))) for s in sources]
    declared = {}
    for source in sources:
        for name in set(re.findall(r"\b(?:class|struct) (?:LATHE_API )?(\w+)\b(?!;)", source)):
            declared.setdefault(name, set()).update(re.findall(r"\w+", source))
    return [
        f"{page}:{number}: no member {name}::{member}"
        for page, text in pages.items()
        for number, line in enumerate(text.splitlines(), 1)
        for name, member in re.findall(r"\b([A-Z]\w*)::(\w+)", line)
        if member not in declared.get(name, {member})
    ]


def unknown_functions(root, pages):
    """Rows of tables that end with a function and its source, which does not define it."""
    sources = {}

    def defines(source, function):
        if source not in sources:
            sources[source] = (root / source).read_text() if (root / source).is_file() else ""
        return re.search(rf"^\S.*\b{function}\(", sources[source], re.M) is not None

    return [
        f"{page}:{number}: no function {function} in {source}"
        for page, text in pages.items()
        for number, line in enumerate(text.splitlines(), 1)
        for function, source in re.findall(r"\| `([\w:]+)` \| `(src/[\w/]+\.(?:cc|h))` \|$", line)
        if not defines(source, function)
    ]


def check(root):
    pages = documents(root)
    faults = long_lines(pages) + long_pages(pages) + broken_links(root, pages) + shown_harness(pages) + unknown_tests(root, pages)
    faults += unknown_members(root, pages) + unknown_functions(root, pages)
    total = sum(words(pages).values())
    if total > MOST_WORDS:
        faults.append(f"{total} words, {MOST_WORDS} at most: " + ", ".join(f"{name} {n}" for name, n in sorted(words(pages).items(), key=lambda w: -w[1])))
    return faults


if __name__ == "__main__":
    faults = check(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    print("\n".join(faults))
    sys.exit(bool(faults))
