"""Public calls, read from headers and from the package, and which of them the documents' examples use."""

import inspect
import re
import sys
import threading
import types

from support import ROOT

sys.path.insert(0, str(ROOT / "tests/documents"))
from document_examples import examples  # noqa: E402

# The examples of these documents are compiled and run by lathe_examples in tests/CMakeLists.txt, and by
# test_documented.py.
BOTH = "guide/network guide/layers reference/checkpoints guide/refit guide/modules guide/export reference/tokenizer reference/chat-templates guide/run guide/profile guide/quickstart guide/generate"
CPP_DOCUMENTS = [*BOTH.split(), "internals/runtime", "internals/add-a-device"]
PYTHON_DOCUMENTS = [*BOTH.split(), "guide/python"]
HEADERS = (
    "network.h layers.h refit.h inspector.h builder.h exporters.h safetensors.h engine.h state.h build_options.h shape_profile.h run_control.h executor.h "
    "io_info.h memory_info.h step_info.h timing_cache.h checkpoint.h tokenizer.h chat_template.h profile.h generate.h sampling.h"
).split()


def headers():
    folder = ROOT / "include/lathe"
    return [folder / name for name in HEADERS] + sorted(folder.glob("nn/*.h")) + sorted(folder.glob("exporters/*.h"))


def blocks(document, language):
    """The examples of a document, one by one."""
    return examples((ROOT / "docs" / f"{document}.md").read_text(), language)


class Declarations:
    """The declarations of a header: `calls` ("Class::method" and "function") and `fields`, each with the words of its
    type, `bases` of classes, and aliases. Overriding methods are the calls that they override; constructors come with
    what is done to their objects."""

    def __init__(self, path):
        self.calls, self.bases, self.aliases, self.fields = {}, {}, {}, {}
        code = re.sub(r"//[^\n]*", "", path.read_text())
        code = re.sub(r'"(?:\\.|[^"\\])*"', '""', code)
        code = re.sub(r"^\s*#.*$", "", code, flags=re.M)
        scopes = []  # (name or None of a namespace, is public, is hidden)
        statement = ""
        i = 0
        while i < len(code):
            c = code[i]
            if c == "{":
                head = statement.strip()
                kind = re.match(r"(?:template\s*<.*?>\s*)?(class|struct|namespace)\s+(?:LATHE_API\s+)?([\w:]+)?(.*)", head, re.S)
                if kind and "(" not in head:
                    scopes.append((None if kind[1] == "namespace" else kind[2], kind[1] != "class", kind[2] == "detail" or kind[2] is None))
                    if kind[1] != "namespace" and kind[2]:
                        self.bases[kind[2]] = re.findall(r"public\s+(?:\w+::)*(\w+)", kind[3])
                    statement = ""
                    i += 1
                    continue
                level = 0  # a function's body, an initializer, an enumeration: skipped
                while True:
                    level += {"{": 1, "}": -1}.get(code[i], 0)
                    i += 1
                    if not level:
                        break
                if "(" in head and not code[i:].lstrip().startswith((";", ",", ")", "=", ".")):
                    self._note(head, scopes)
                    statement = ""
                else:
                    statement += "{}"
                continue
            if c == "}":
                scopes.pop()
                statement = ""
            elif c == ";":
                self._note(statement, scopes)
                statement = ""
            elif c == ":" and statement.strip() in ("public", "private", "protected"):
                name, _, hidden = scopes[-1]
                scopes[-1] = (name, statement.strip() == "public", hidden)
                statement = ""
            else:
                statement += c
            i += 1

    def _note(self, statement, scopes):
        if any(hidden for name, _, hidden in scopes if name) or not all(public for _, public, _ in scopes):
            return
        alias = re.match(r"\s*using\s+(\w+)\s*=\s*(?:\w+::)*(\w+)", statement)
        if alias:
            self.aliases[alias[1]] = alias[2]
        if re.match(r"\s*(?:friend|using|typedef|static_assert|enum|extern template)\b", statement) or "= delete" in statement:
            return
        before = re.sub(r"template\s*<[^<>]*(?:<[^<>]*>[^<>]*)*>", "", statement)
        before = re.sub(r"\b(?:requires|noexcept|explicit)\s*\([^()]*\)", "", before)
        at = re.search(r"(~?\b\w+)\s*\(", before)
        field = re.match(r"([^(=]*?)(\w+)\s*(?:=|\{|$)", before)
        if not at and field:
            self.fields[field[2]] = re.findall(r"\w+", field[1])
        if not at or at[1].startswith("~") or re.search(r"\boperator\b", before[: at.end()]):
            return
        if re.search(r"=|::\s*$|\bfunction<", before[: at.start()]):  # fields, and what is told apart by its template's argument
            return
        if at[1] in ("function", "begin", "end"):  # std::function; what `for` uses
            return
        if re.search(r"\)[\s\w]*\boverride\b", before):
            return
        owner = next((name for name, _, _ in reversed(scopes) if name), None)
        if owner != at[1]:
            words = re.findall(r"\w+", before[: at.start()])
            self.calls[f"{owner}::{at[1]}" if owner else at[1]] = words


class Interface:
    """All headers together: enough to say of which class a call in an example is."""

    def __init__(self, paths):
        self.returns, self.bases, self.aliases, self.fields = {}, {}, {}, {}
        for path in paths:
            read = Declarations(path)
            self.returns |= read.calls
            self.bases |= read.bases
            self.aliases |= read.aliases
            self.fields |= read.fields
        self.owners = {}
        for call in self.returns:
            owner, _, name = call.rpartition("::")
            self.owners.setdefault(name, set()).add(owner)

    def with_bases(self, name):
        found, todo = [], [name]
        while todo:
            one = todo.pop()
            one = self.aliases.get(one, one)
            found.append(one)
            todo += self.bases.get(one, [])
        return found

    def class_in(self, words):
        """The last class that is named: what is in a vector, an optional or a shared pointer stands for that."""
        known = [w for w in words if w in self.bases or self.aliases.get(w) in self.bases]
        return known[-1] if known else None

    def used(self, example):
        """The calls of an example, "Class::method" and "function"."""
        code = re.sub(r"//[^\n]*", "", example)
        code = re.sub(r'R"\((?:.|\n)*?\)"', '""', code)
        code = re.sub(r'"(?:\\.|[^"\\])*"', '""', code)
        self.bases |= {m[1]: re.findall(r"(?:\w+::)*(\w+)\s*$", m[2]) for m in re.finditer(r"\b(?:struct|class)\s+(\w+)\s*:\s*(?:public\s+)?([\w:]+)", code)}
        variables, found = self._variables(code), set()
        for m in re.finditer(r"\b(?:(\w+)(?:<[^<>;(){}]*>)?::)?(\w+)\s*(?:<[\w:<>, ]*>)?\s*\(", code):
            name, qualifier = m[2], m[1]
            if name not in self.owners:
                continue
            before = code[: m.start()].rstrip()
            if before.endswith((".", "->")):
                receiver = self._type_before(before[: -2 if before.endswith("->") else -1], variables)
            elif qualifier in self.bases or qualifier in self.aliases:
                receiver = qualifier
            else:
                receiver = self._class_around(code, m.start()) if "" not in self.owners[name] else None
                if receiver is None and "" in self.owners[name]:
                    found.add(name)
                if receiver is None:
                    continue
            if receiver is None:
                if len(self.owners[name]) == 1 and before.endswith((".", "->")):
                    found.add(f"{next(iter(self.owners[name]))}::{name}")
                continue
            found |= {f"{owner}::{name}" for owner in self.with_bases(receiver) if owner in self.owners[name]}
        return found

    def _class_around(self, code, at):
        """The class of the example that a method is defined in, or whose own methods are called."""
        around = None
        for m in re.finditer(r"\b(?:struct|class)\s+(\w+)[^;{]*\{", code[:at]):
            level, i = 1, m.end()
            while i < at and level:
                level += {"{": 1, "}": -1}.get(code[i], 0)
                i += 1
            if level:
                around = m[1]
        return around

    def _variables(self, code):
        variables = {}
        for m in re.finditer(r"\b(?:(\w+)::)?(\w+)(<[\w:<>, ]*>)?\s*[&*]?\s+(\w+)\b|\b(?:(\w+)::)?(\w+)(<[\w:<>, ]*>)?\s*[&*]\s*(\w+)\b", code):
            known = self.class_in([m[2] or m[6]]) or self.class_in(re.findall(r"\w+", m[3] or m[7] or ""))
            if known:
                variables.setdefault(m[4] or m[8], known)
        # Variables that are assigned or looped over, in order, because later ones depend on earlier ones.
        for m in re.finditer(r"\b(\w+)\s*(?:=(?!=)|(?<!:):(?!:))", code):
            if m[1] in variables:
                continue
            level, i = 0, m.end()
            while i < len(code) and (level or code[i] not in ",;)"):
                level += (code[i] in "({[") - (code[i] in ")}]")
                i += 1
            value = code[m.end() : i].strip()
            made = re.match(r"std::make_\w+<([\w:]+)>", value)
            known = self.class_in(re.findall(r"\w+", made[1])) if made else self._type_before(value, variables)
            if known:
                variables[m[1]] = known
        return variables

    def _type_before(self, code, variables):
        """The class of the expression that the text ends with."""
        code = code.rstrip()
        if code.endswith((")", "]", "}")):
            opening = {")": "(", "]": "[", "}": "{"}[code[-1]]
            level, i = 0, len(code)
            while i and (level or i == len(code)):
                i -= 1
                level += (code[i] == code[len(code) - 1]) - (code[i] == opening)
            head = code[:i].rstrip()
            if opening == "[":
                return self._type_before(head, variables)
            m = re.search(r"(?:(\w+)\s*(?:<[\w:<>, ]*>)?::)?(\w+)\s*(<[\w:<>,&* ]*>)?$", head)
            if not m:  # only parentheses, or a cast's
                return self._type_before(code[i + 1 : -1], variables) if opening == "(" else None
            name = m[2]
            if self.class_in([name]):  # made here
                return name
            if name.endswith("_cast"):
                return self.class_in(re.findall(r"\w+", m[3] or ""))
            before = head[: m.start()].rstrip()
            receiver = m[1] and self.class_in([m[1]])
            if before.endswith((".", "->")):
                receiver = self._type_before(before[: -2 if before.endswith("->") else -1], variables)
                if name in ("at", "front", "back", "value", "find", "begin") and not any(f"{o}::{name}" in self.returns for o in self.with_bases(receiver or "")):
                    return receiver
            if receiver:
                words = next((self.returns[f"{o}::{name}"] for o in self.with_bases(receiver) if f"{o}::{name}" in self.returns), [])
            elif len(self.owners.get(name, ())) == 1:
                words = self.returns.get(f"{next(iter(self.owners[name]))}::{name}".removeprefix("::"), [])
            else:
                words = []
            return self.class_in(words)
        m = re.search(r"(\w+)$", code)  # a variable or a field
        return (variables.get(m[1]) or self.class_in(self.fields.get(m[1], []))) if m else None


class Called:
    """Notes which functions of Python run while it lasts, and which of them are written in a document: those override."""

    def __enter__(self):
        self.codes, self.written = set(), set()

        def note(frame, event, _):
            if event == "call":
                self.codes.add(frame.f_code)
                if frame.f_code.co_filename.startswith("docs/"):
                    self.written.add(frame.f_code.co_name)

        threading.setprofile(note)
        sys.setprofile(note)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        threading.setprofile(None)

    def missing(self, name, what, text):
        """Functions and methods of the package that did not run; those without Python code count where `text` has them."""
        if not inspect.isclass(what):
            named = re.search(rf"\b{name}\b", text)  # functions that are made by one have its code all together
            return [] if named and what.__code__ in self.codes else [name]
        members = {}
        for one in reversed(what.__mro__):
            if one.__module__.startswith("lathe"):
                members |= vars(one)
        missing = []
        for member, value in members.items():
            if member.startswith("_") or member in self.written:
                continue
            parts = (value.fget, value.fset) if isinstance(value, property) else [getattr(value, "__func__", value)]
            for part in parts:
                code = getattr(part, "__code__", None)
                if isinstance(code, types.CodeType):
                    if code not in self.codes:
                        missing.append(f"{name}.{member}")
                elif callable(part) and not inspect.isclass(part) and not re.search(rf"\.{member}\b", text):
                    missing.append(f"{name}.{member}")
        return missing
