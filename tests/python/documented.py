"""Public calls, read from headers and from the package, and which of them the documents' examples use."""

import re

from support import ROOT

# What the examples of these are compiled or run by: lathe_examples in tests/CMakeLists.txt, and tests of this folder.
CPP_DOCUMENTS = ("network", "layers", "checkpoints", "refit", "modules", "export", "tokenizer")
PYTHON_DOCUMENTS = ("network", "layers", "refit", "modules", "export")
HEADERS = ("network.h", "layers.h", "refit.h", "inspector.h", "builder.h", "exporters.h", "safetensors.h")


def headers():
    folder = ROOT / "include/lathe"
    return [folder / name for name in HEADERS] + sorted(folder.glob("nn/*.h")) + sorted(folder.glob("exporters/*.h"))


def examples(documents, language):
    text = ""
    for name in documents:
        path = ROOT / "docs" / f"{name}.md"
        text += "\n".join(re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.M | re.S))
    return text


def public_calls(path):
    """"Class::method" and "function" of a header."""
    code = re.sub(r"//[^\n]*", "", path.read_text())
    code = re.sub(r'"(?:\\.|[^"\\])*"', '""', code)
    code = re.sub(r"^\s*#.*$", "", code, flags=re.M)
    calls, scopes = set(), []  # (name or None of a namespace, is public)
    statement = ""
    i, depth = 0, 0
    while i < len(code):
        c = code[i]
        if c == "{":
            head = statement.strip()
            kind = re.match(r"(?:template\s*<.*?>\s*)?(class|struct|namespace)\s+(?:LATHE_API\s+)?([\w:]+)?", head, re.S)
            if kind and "(" not in head:
                scopes.append((None if kind[1] == "namespace" else kind[2], kind[1] != "class", kind[2] == "detail" or kind[2] is None))
                statement = ""
                i += 1
                continue
            level = 0  # a function's body, an initialiser, an enumeration: skipped
            while True:
                level += {"{": 1, "}": -1}.get(code[i], 0)
                i += 1
                if not level:
                    break
            if "(" in head and re.match(r"\s*(?!\s*[;,)=.])", code[i:]) and not code[i:].lstrip().startswith((";", ",", ")")):
                _note(head, scopes, calls)
                statement = ""
            else:
                statement += "{}"
            continue
        if c == "}":
            scopes.pop()
            statement = ""
        elif c == ";":
            _note(statement, scopes, calls)
            statement = ""
        elif c == ":" and statement.strip() in ("public", "private", "protected"):
            name, _, hidden = scopes[-1]
            scopes[-1] = (name, statement.strip() == "public", hidden)
            statement = ""
        else:
            statement += c
        i += 1
    return calls


def _note(statement, scopes, calls):
    if any(hidden for name, _, hidden in scopes if name) or not all(public for _, public, _ in scopes):
        return
    if re.match(r"\s*(?:friend|using|typedef|static_assert|enum|extern template)\b", statement) or "= delete" in statement:
        return
    before = re.sub(r"template\s*<[^<>]*(?:<[^<>]*>[^<>]*)*>", "", statement)
    before = re.sub(r"\b(?:requires|noexcept|explicit)\s*\([^()]*\)", "", before)
    at = re.search(r"(~?\b\w+)\s*\(", before)
    if not at or at[1].startswith("~") or re.search(r"\boperator\b", before[: at.end()]):
        return
    if "=" in before[: at.start()]:  # a field with a default
        return
    if at[1] in ("function", "bool", "begin", "end"):  # std::function<bool()>; what `for` uses
        return
    owner = next((name for name, _, _ in reversed(scopes) if name), None)
    if owner != at[1]:  # constructors come with what is done to their objects
        calls.add(f"{owner}::{at[1]}" if owner else at[1])
