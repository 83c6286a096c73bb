#!/usr/bin/env python3
"""Applies the table of renames beside this file to a checkout; `--check` lists what is left of the old words.

A line of the table: kind, old, new and path globs, apart by two spaces or more. `[group] Subject` begins a group.
Kinds:
  identifier  a regular expression for a whole identifier. It is replaced in code; in comments, strings and documents
              only where it cannot be an English word (it has an underscore, a digit or an inner capital).
  code        a regular expression, replaced in code only
  comment     a regular expression, replaced in comments, docstrings and the prose of documents
  string      a regular expression, replaced in string literals and in the code of documents
  text        a regular expression, replaced wherever it stands
  file        a path; the file is moved, and what names its path is changed
  folder      the same for a folder
  target      a name of CMake, replaced wherever it stands as a whole identifier
Applying it twice changes nothing: no new name matches an old one. Globs that begin with ! exclude.
"""

import argparse
import fnmatch
import pathlib
import re
import subprocess
import sys

TABLE = pathlib.Path(__file__).with_name("rename_words.txt")
AREAS = ("src", "include", "cli", "python", "tests", "tools", "bench", "cmake", "scripts", "docs", "examples",
         "CMakeLists.txt", "CMakePresets.json", "README.md", "pyproject.toml", ".ci")
LEFT_ALONE = ("tests/data/*", "tests/*/corpus/*", "tests/corpus/*", "tests/lint/*", "tools/rename_words.*", "tools/move_folders.*", "examples/digits/*.onnx")
ENDINGS = (".cc", ".h", ".cpp", ".inc", ".py", ".pyi", ".md", ".txt", ".cmake", ".fbs", ".in", ".map", ".json", ".html", ".toml", "")

CPP = re.compile(r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>R"(?P<mark>[^(\s"]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*")'
                 r"|(?P<char>(?<![0-9a-zA-Z_])'(?:\\.[^'\n]*|[^'\\\n])')", re.S)
PYTHON = re.compile(r'(?P<comment>#[^\n]*|(?<=\n)[ \t]*[rb]?"""(?:\\.|.)*?""")|(?P<string>[rbfuRBFU]{0,2}(?:"""(?:\\.|.)*?"""'
                    r"|'''(?:\\.|.)*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'))", re.S)
HASH = re.compile(r"(?P<comment>(?<![^\s(])#[^\n]*)")
MARKDOWN = re.compile(r"(?P<fence>^```.*?^```[^\n]*$)|(?P<tick>`[^`\n]+`)", re.S | re.M)
BRACES = re.compile(r"\{[^{}]*\}")


def language(path):
    name = path.rsplit("/", 1)[-1]
    if name.endswith((".cc", ".h", ".cpp", ".inc", ".fbs")):
        return "cpp"
    if name.endswith((".py", ".pyi")):
        return "python"
    if name.endswith(".md"):
        return "markdown"
    return "hash"


def pieces(text, path):
    """Yields (kind, text): code, comment, string; documents yield `ticked` for code that they quote."""
    kind_of = language(path)
    pattern = {"cpp": CPP, "python": PYTHON, "markdown": MARKDOWN, "hash": HASH}[kind_of]
    other = "comment" if kind_of == "markdown" else "code"
    at = 0
    for found in pattern.finditer(text):
        if found.start() > at:
            yield other, text[at:found.start()]
        at = found.end()
        piece = found.group()
        if kind_of == "markdown":
            yield "ticked", piece
        elif found.groupdict().get("comment"):
            yield "comment", piece
        elif kind_of == "python" and re.match(r"[rR]?[fF]", piece):
            inner = 0
            for brace in BRACES.finditer(piece):
                yield "string", piece[inner:brace.start()]
                yield "code", brace.group()
                inner = brace.end()
            yield "string", piece[inner:]
        elif found.groupdict().get("char"):
            yield "char", piece
        else:
            yield "string", piece
    if at < len(text):
        yield other, text[at:]


def literal_in(pattern):
    """The longest text outside of groups that every match has: what lacks it need not be searched."""
    runs, depth, at = [""], 0, 0
    while at < len(pattern):
        c, literal = pattern[at], None
        if c == "\\":
            literal, at = (None if pattern[at + 1].isalnum() else pattern[at + 1]), at + 1
        elif c == "[":
            at = pattern.index("]", at + 2)
        elif c in "()":
            depth += 1 if c == "(" else -1
        elif c == "|" and depth == 0:
            return ""
        elif c not in "^$.|?*+{}":
            literal = c
        at += 1
        if literal is None or depth or pattern[at:at + 1] in ("?", "*", "{"):
            runs.append("")
        else:
            runs[-1] += literal
    return max(runs, key=len)


def any_of(globs):
    return re.compile("|".join(map(fnmatch.translate, globs))) if globs else None


def is_no_english(name):
    return bool(re.search(r"_|\d|[a-z][A-Z]", name))


class Row:
    def __init__(self, group, kind, old, new, globs):
        self.group, self.kind, self.old, self.new = group, kind, old, new
        self.globs = any_of([g for g in globs if not g.startswith("!")])
        self.excluded = any_of([g[1:] for g in globs if g.startswith("!")])
        self.count = 0
        self.anchored = bool(re.search(r"(?<!\\)[$^]", old))  # perhaps to a piece, not to the file
        self.literal = literal_in(old) if kind not in ("file", "folder") else pathlib.PurePath(old).name
        if kind in ("identifier", "target"):
            self.pattern = re.compile(rf"(?<![A-Za-z0-9_])(?:{old})(?![A-Za-z0-9_])")
        elif kind in ("file", "folder"):
            short = re.sub(r"^(src|tests|include)/", "", old)
            self.new_short = re.sub(r"^(src|tests|include)/", "", new)
            end = r"(?![\w])" if kind == "file" else r"(?=/)"
            self.pattern = re.compile(rf"(?<![\w./-]){re.escape(short)}{end}|(?<![\w.-]){re.escape(old)}(?![\w])|(?<=\.\./){re.escape(old)}(?![\w])")
        else:
            self.pattern = re.compile(old)

    def applies(self, paths):
        if self.excluded and any(map(self.excluded.match, paths)):
            return False
        return not self.globs or any(map(self.globs.match, paths))

    def renamed(self, kind, text):
        if self.kind in ("file", "folder"):
            return self.count_in(text, lambda m: self.new if m.group() == self.old else self.new_short)
        if self.kind in ("text", "target"):
            return self.count_in(text, lambda m: m.expand(self.new))
        if self.kind == "identifier":
            if kind in ("code", "ticked"):
                return self.count_in(text, lambda m: m.expand(self.new))
            return self.count_in(text, lambda m: m.expand(self.new) if is_no_english(m.group()) else m.group())
        if self.kind == kind or (self.kind in ("string", "code") and kind == "ticked"):
            return self.count_in(text, lambda m: m.expand(self.new))
        return text

    def count_in(self, text, make):
        def one(found):
            made = make(found)
            self.count += made != found.group()
            return made
        return self.pattern.sub(one, text)


def read_table(table):
    rows, group, subjects = [], "", {}
    for number, line in enumerate(table.read_text().splitlines(), 1):
        line = line.rstrip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            group, _, subject = line[1:].partition("]")
            subjects[group] = subject.strip()
            continue
        fields = re.split(r"\s{2,}", line)
        if len(fields) < 3 or fields[0] not in ("identifier", "code", "comment", "string", "text", "file", "folder", "target"):
            sys.exit(f"{table.name}:{number}: {line}")
        new = "" if fields[2] == "<nothing>" else fields[2]
        rows.append(Row(group, fields[0], fields[1], new, fields[3].split() if len(fields) > 3 else []))
    return rows, subjects


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=".", type=pathlib.Path)
    parser.add_argument("--table", default=TABLE, type=pathlib.Path)
    parser.add_argument("--group", action="append", help="only these groups")
    parser.add_argument("--check", action="store_true", help="list what would change; change nothing")
    parser.add_argument("--met", action="store_true", help="list files that had a new name before")
    parser.add_argument("--groups", action="store_true", help="list the groups and their subjects")
    options = parser.parse_args()
    rows, subjects = read_table(options.table)
    if options.groups:
        for group, subject in subjects.items():
            print(f"{group}\t{subject}")
        return 0
    moves = [(r.kind, r.old, r.new) for r in rows if r.kind in ("file", "folder")]
    rows = [r for r in rows if not options.group or r.group in options.group]
    git = ["git", "-C", str(options.root)]

    def listed():
        out = subprocess.run([*git, "ls-files", "--", *AREAS], capture_output=True, text=True, check=True).stdout
        return [p for p in out.splitlines() if not any(fnmatch.fnmatch(p, g) for g in LEFT_ALONE)
                and pathlib.PurePath(p).suffix in ENDINGS and (options.root / p).is_file()]

    for row in rows:
        if row.kind not in ("file", "folder"):
            continue
        if (options.root / row.old).exists():
            row.count += 1
            if not options.check:
                (options.root / row.new).parent.mkdir(parents=True, exist_ok=True)
                subprocess.run([*git, "mv", row.old, row.new], check=True)
    def names(path):
        """What the file is called now, and was before each of the moves: globs may use any of these."""
        all_names = [path]
        for kind, old, new in reversed(moves):
            if kind == "file" and path == new:
                path = old
            elif kind == "folder" and path.startswith(new + "/"):
                path = old + path[len(new):]
            else:
                continue
            all_names.append(path)
        return all_names

    # Documents and comments also name files without their folder, where that is enough.
    paths = listed()
    there = {pathlib.PurePath(p).name for p in paths}
    bare = {pathlib.PurePath(r.old).name: pathlib.PurePath(r.new).name for r in rows if r.kind == "file"}
    bare = {old: new for old, new in bare.items() if old not in there}
    bare_pattern = re.compile(r"(?<![\w/.])(?:" + "|".join(map(re.escape, bare)) + r")(?!\w)") if bare else None
    places, met = {}, []
    for path in paths:
        file = options.root / path
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            continue
        after, known_as, parts = text, names(path), None
        for row in rows:
            if row.literal not in after or not (row.anchored or row.pattern.search(after)) or not row.applies(known_as):
                continue
            if parts is None:
                parts = list(pieces(text, path))
            had = row.count
            if row.kind in ("identifier", "code") and re.fullmatch(r"\w+", row.new):
                # Whoever reads the diff looks at these first: the file had the new name already.
                whole = re.compile(rf"(?<!\w){row.new}(?!\w)")
                if any(kind == "code" and whole.search(piece) for kind, piece in pieces(text, path)):
                    met.append(f"{path}: {row.old} -> {row.new}")
            parts = [(kind, row.renamed(kind, piece)) for kind, piece in parts]
            if row.count > had:
                places.setdefault(id(row), []).append(path)
                after = "".join(piece for _, piece in parts)
        if bare_pattern:
            after = bare_pattern.sub(lambda m: bare[m.group()], after)
        if after != text and not options.check:
            file.write_text(after)
    for row in rows:
        if row.count or not options.check:
            print(f"{row.count:5}  {row.group:12} {row.kind:10} {row.old}  {row.new}")
            if options.check:
                print("".join(f"         {p}\n" for p in places.get(id(row), [])), end="")
    if options.met:
        print("\n".join(["", "The new name was there before:", *met]))
    return int(options.check and any(r.count for r in rows))


if __name__ == "__main__":
    sys.exit(main())
