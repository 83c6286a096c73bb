#!/usr/bin/env python3
"""Lists the public C++ declarations that have no docstring, and fails where there are any.

    tests/lint/docstrings.py [FILE or DIRECTORY ...]      (include/lathe by default)

A docstring is a `///` comment that ends on the line before the declaration, or a comment behind it on one of
its own lines, as fields of structs have it. Counted are, in namespaces and in public sections of classes:
functions, classes, structs, unions, enums, aliases, constants and data members. Overloads that stand directly
below each other share the docstring of the first. Not counted are

- what has no meaning of its own: forward declarations, explicit specializations, using-declarations, friends
  that are classes, `= default` and `= delete`, namespaces called `detail`;
- overriders, which mean what the function that they override means;
- enumerators, which the docstring of their enum or a comment behind them explains.

The parser knows as much of C++ as these headers use. It prints `file:line: name` for each and the total. Comments
that begin as a fragment, with What, Of, Where, Is or Does, are printed and counted too.
"""

import bisect
import pathlib
import re
import sys

DECLARATION_KEYWORDS = re.compile(r"^(?:friend\b|using\b|typedef\b|static_assert\b|extern\s+template\b)")
TYPE_HEAD = re.compile(r"^(?:template\s*<.*>\s*)?(?:typedef\s+)?(enum\s+(?:class|struct)|enum|class|struct|union)\b(.*)$",
                       re.S)


class Comments:
    """Which lines of a file hold a docstring, and which have a comment behind code."""

    def __init__(self):
        self.docstring = set()  # lines that consist of a `///` comment
        self.trailing = set()  # lines with a comment behind code


def blank_comments(text):
    """Returns the text with comments, literals and preprocessor lines blanked, and the Comments."""
    out, comments = [], Comments()
    i, line, n = 0, 1, len(text)
    line_has_code = False

    def blank(upto):
        nonlocal i, line, line_has_code
        while i < n and i < upto:
            if text[i] == "\n":
                out.append("\n")
                line += 1
                line_has_code = False
            else:
                out.append(" ")
            i += 1

    while i < n:
        c = text[i]
        if text.startswith("//", i):
            end = text.find("\n", i)
            end = n if end < 0 else end
            if line_has_code:
                comments.trailing.add(line)
            elif text.startswith("///", i):
                comments.docstring.add(line)
            blank(end)
        elif text.startswith("/*", i):
            end = text.find("*/", i + 2)
            blank(n if end < 0 else end + 2)
        elif c == "#" and not line_has_code:
            end = i
            while True:
                end = text.find("\n", end)
                if end < 0:
                    end = n
                    break
                if text[end - 1] != "\\":
                    break
                end += 1
            blank(end)
        elif text.startswith('R"', i):
            tag = text[i + 2:text.index("(", i)]
            line_has_code = True
            out.append('"')
            i += 1
            blank(text.index(")" + tag + '"', i) + len(tag) + 1)
            out.append('"')
            i += 1
        elif c == '"' or (c == "'" and not (i and text[i - 1].isdigit())):
            line_has_code = True
            out.append(c)
            i += 1
            while i < n and text[i] != c:
                step = 2 if text[i] == "\\" else 1
                out.append(" " * step)
                i += step
            out.append(c)
            i += 1
        else:
            if c == "\n":
                line += 1
                line_has_code = False
            elif not c.isspace():
                line_has_code = True
            out.append(c)
            i += 1
    return "".join(out), comments


def matching(text, i):
    """The index behind the bracket that closes the one at i."""
    close = {"{": "}", "(": ")", "[": "]"}[text[i]]
    depth = 0
    for k in range(i, len(text)):
        if text[k] == text[i]:
            depth += 1
        elif text[k] == close:
            depth -= 1
            if depth == 0:
                return k + 1
    raise ValueError("unbalanced " + text[i])


class Declaration:
    def __init__(self, name, line, first, last):
        self.name = name
        self.line = line  # where it begins
        self.first, self.last = first, last  # lines of its head, on which a comment behind counts
        self.end = last  # last line of all, body included
        self.documented = False
        self.counted = True


class Parser:
    def __init__(self, text):
        self.text, self.comments = blank_comments(text)
        self.newlines = [i for i, c in enumerate(self.text) if c == "\n"]
        self.missing = []

    def line_of(self, i):
        return bisect.bisect_left(self.newlines, i) + 1

    def documented(self, d):
        return d.line - 1 in self.comments.docstring or any(
            k in self.comments.trailing for k in range(d.first, d.last + 1))

    def run(self):
        self.scope(0, len(self.text), public=True, class_name=None)
        self.missing.sort(key=lambda d: d.line)
        return self.missing

    def scope(self, i, end, public, class_name):
        """Reads the declarations of a namespace or, with a class_name, of a class."""
        previous = None
        text = self.text
        while True:
            while i < end and (text[i].isspace() or text[i] == ";"):
                i += 1
            if i >= end:
                return
            access = re.compile(r"(public|protected|private)\s*:(?!:)").match(text, i)
            if class_name and access:
                public = access.group(1) == "public"
                i = access.end()
                previous = None
                continue
            i, d = self.declaration(i, end, public, class_name)
            if d is None:
                continue
            d.documented = self.documented(d)
            if (not d.documented and previous is not None and previous.documented
                    and previous.name == d.name and previous.end + 1 >= d.line):
                d.documented = True
            if public and d.counted and not d.documented:
                self.missing.append(d)
            previous = d

    def declaration(self, i, end, public, class_name):
        """Reads the declaration that begins at i; returns the index behind it, and it or nothing."""
        text, start = self.text, i
        space = re.compile(r"(inline\s+)?namespace\b([^{;=]*)\{").match(text, i)
        if space:
            behind = matching(text, space.end() - 1)
            if "detail" not in space.group(2).strip().split("::"):
                self.scope(space.end(), behind - 1, True, None)
            return behind, None
        linkage = re.compile(r'extern\s+"[^"]*"\s*\{').match(text, i)
        if linkage:
            behind = matching(text, linkage.end() - 1)
            self.scope(linkage.end(), behind - 1, True, None)
            return behind, None

        angle, equals, group, colon = 0, -1, -1, -1
        body = -1
        while i < end:
            c = text[i]
            if c == "(":
                if angle == 0 and equals < 0 and group < 0:
                    if re.search(r"operator\s*$", text[start:i]):  # operator()
                        i = matching(text, i)
                        continue
                    group = i
                i = matching(text, i)
                continue
            if c == "[":
                i = matching(text, i)
                continue
            if c == "<" and equals < 0 and not re.search(r"operator\s*<?$", text[start:i]):
                angle += 1
            elif c == ">" and equals < 0 and angle > 0 and text[i - 1] != "-":
                angle -= 1
            elif c == "=" and angle == 0 and equals < 0 and not re.search(r"operator\s*\W*$", text[start:i]):
                equals = i
            elif c == ":" and angle == 0 and group >= 0 and equals < 0 and text[i + 1] != ":" and text[i - 1] != ":":
                colon = i
            elif c == ";" and angle == 0:
                break
            elif c == "{" and angle == 0:
                head = text[start:i]
                kind = TYPE_HEAD.match(head) if equals < 0 and group < 0 else None
                if kind or "alignas" in head and TYPE_HEAD.match(re.sub(r"alignas\([^)]*\)", "", head)):
                    return self.type_definition(start, i, end, public)
                if group >= 0 and equals < 0:
                    before = text[start:i].rstrip()
                    if colon < 0 or before[-1] in ")}":
                        body = i
                        i = matching(text, i)
                        break
                i = matching(text, i)
                continue
            i += 1

        head = text[start:body if body >= 0 else i]
        behind = i if body >= 0 else i + 1
        first, last = self.line_of(start), self.line_of((body if body >= 0 else i) - 1)
        # A comment behind a body counts where the whole body stands on the line.
        if body >= 0 and self.line_of(behind - 1) == self.line_of(body):
            last = self.line_of(behind - 1)
        if body < 0:
            last = self.line_of(i)
        d = Declaration("", first, first, last)
        d.end = self.line_of(behind - 1)
        flat = " ".join(head.split())
        d.counted = self.counts(flat, group >= 0)
        d.name = self.name_of(text[start:], group - start if group >= 0 else -1, flat, class_name)
        return behind, d

    def type_definition(self, start, brace, end, public):
        text = self.text
        kind = TYPE_HEAD.match(re.sub(r"alignas\([^)]*\)", "", text[start:brace]))
        words = re.sub(r"\[\[.*?\]\]", " ", kind.group(2))
        base = re.split(r"(?<!:):(?!:)", words)[0]
        names = re.findall(r"[A-Za-z_][\w:]*", re.sub(r"<.*>", "", base))
        names = [w for w in names if w not in ("final", "LATHE_API")]
        name = names[-1] if names else "(unnamed)"
        behind = matching(text, brace)
        first = self.line_of(start)
        d = Declaration(name, first, first, self.line_of(brace))
        d.end = self.line_of(behind)
        d.counted = not re.match(r"template\s*<\s*>", text[start:brace])
        if not kind.group(1).startswith("enum") and public and d.counted:
            self.scope(brace + 1, behind - 1, kind.group(1) != "class", name)
        semicolon = text.find(";", behind - 1)
        return (semicolon + 1 if semicolon >= 0 else end), d

    @staticmethod
    def counts(head, function):
        if re.search(r"=\s*(default|delete)$", head):
            return False
        if re.match(r"(?:template\s*<\s*>|extern\s+template\b|static_assert\b)", head):
            return False
        if re.match(r"friend\s+(class|struct|union)\b", head):
            return False
        if re.match(r"(?:template\s*<[^;]*>\s*)?(?:class|struct|union|enum)\b[^(){}=]*$", head):
            return False  # a forward declaration
        if re.match(r"using\b[^=]*$", head):
            return False
        if function and re.search(r"\)[^()]*\b(?:override|final)\b", head):
            return False
        return True

    @staticmethod
    def name_of(text, group, flat, class_name):
        alias = re.match(r"(?:template\s*<.*?>\s*)?using\s+(\w+)\s*=", flat)
        if alias:
            return alias.group(1)
        if group >= 0:
            found = re.search(r"(operator\s*(?:\(\)|\[\]|[^\s\w(]+|[\w:<>,&*\s]+)|~?\s*[A-Za-z_]\w*)\s*$", text[:group])
            return re.sub(r"\s+", " ", found.group(1)).strip() if found else flat
        head = re.split(r"[={;]", flat)[0]
        plain = re.sub(r"<[^<>]*>", " ", re.sub(r"<[^<>]*>", " ", re.sub(r"<[^<>]*>", " ", head)))
        found = re.findall(r"[A-Za-z_]\w*", re.sub(r"\[[^\]]*\]", " ", plain.split(",")[0]))
        return found[-1] if found else flat


def missing_docstrings(text):
    """Returns (line, name) of each public declaration in the text of a header that lacks a docstring."""
    return [(d.line, d.name) for d in Parser(text).run()]


def fragments(text):
    """Returns (line, first words) of each comment that begins with a word that makes it a fragment."""
    found, before = [], False
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.match(r"(.*?)//+ ?(.*)$", line)
        whole = bool(comment) and not comment.group(1).strip()
        if comment and not (whole and before):
            start = re.match(r"(?:What|Of|Where|Is|Does)\b(?: \S+){0,3}", comment.group(2), 0 if whole else re.I)
            if start and '"' not in comment.group(1):
                found.append((number, start.group(0)))
        before = whole
    return found


def headers_of(paths):
    for p in paths:
        p = pathlib.Path(p)
        yield from sorted(p.rglob("*.h")) if p.is_dir() else [p]


def main(arguments):
    root = pathlib.Path(__file__).resolve().parents[2]
    total = total_fragments = 0
    for header in headers_of(arguments or [root / "include" / "lathe"]):
        text = header.read_text(encoding="utf-8")
        shown = header.resolve()
        shown = shown.relative_to(root) if shown.is_relative_to(root) else header
        for line, name in missing_docstrings(text):
            print(f"{shown}:{line}: {name}")
            total += 1
        for line, start in fragments(text):
            print(f"{shown}:{line}: a comment that begins '{start}'")
            total_fragments += 1
    print(f"{total} public declarations without a docstring, {total_fragments} comments that begin as fragments")
    return 1 if total or total_fragments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
