"""docs/reference/operators.md, made of what the library says of itself, and what is missing of the onnx package's schemas:

    python tests/python/support_table.py
"""

from __future__ import annotations

import collections
import pathlib

import onnx.defs

import lathe

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "operators.md"
DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")
# Types by what they are called where there are many.
GROUPS = (
    ("integers", ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")),
    ("float8", ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")),
    ("complex", ("complex64", "complex128")),
)


def schemas():
    """{(domain, name): {version: schema}} of what is not deprecated there."""
    found = collections.defaultdict(dict)
    for s in onnx.defs.get_all_schemas_with_history():
        if s.domain in DOMAINS and not s.deprecated:
            found[s.domain, s.name][s.since_version] = s
    return found


def shown(domain, name):
    return f"{domain}.{name}" if domain else name


def type_text(name):
    """A signature's "seq(float)" as the onnx package has it: "seq(tensor(float))"."""
    kind, _, inner = name.partition("(")
    if not inner:
        return f"tensor({name})"
    if kind == "map":
        key, value = inner[:-1].split(",")
        return f"map({key.strip()}, {value.strip()})"
    return f"{kind}({type_text(inner[:-1])})"


def missing():
    """Lines that say what the schemas allow and the library does not: operators, versions, types."""
    ours = {(op["domain"], op["name"]): op for op in lathe.operators()}
    lines = []
    for (domain, name), versions in sorted(schemas().items()):
        op = ours.get((domain, name))
        if op is None:
            lines.append(f"{shown(domain, name)}: not there")
            continue
        if not any(k["backend"] == "reference" for k in op["kernels"]) and not op["versions"][-1]["deprecated"]:
            if name not in ("Constant", "Gradient"):  # become a constant, and other operators, at import
                lines.append(f"{shown(domain, name)}: no reference kernel")
        declared = {v["since"]: v for v in op["versions"]}
        for since, schema in sorted(versions.items()):
            if since not in declared:
                lines.append(f"{shown(domain, name)}-{since}: not there")
                continue
            mine = {type_text(t) for types in declared[since]["types"].values() for t in types}
            for constraint in schema.type_constraints:
                for t in sorted(set(constraint.allowed_type_strs) - mine):
                    lines.append(f"{shown(domain, name)}-{since}: {constraint.type_param_str} of {t}")
    return lines


def grouped(types):
    """"float double bfloat16 integers": groups where all of one are there."""
    left, words = list(types), []
    for word, members in GROUPS:
        if all(m in left for m in members):
            left = [t for t in left if t not in members]
            words.append(word)
    return " ".join(left + words)


def page():
    ops = lathe.operators()
    lines = [
        "# Operators",
        "",
        "What the library says of itself (`lathe ops NAME`, or `lathe ops --json`), written down by `python tests/python/support_table.py`.",
        "Every operator computes every type of every version with its reference kernel. Models of older versions are brought into the",
        "newest one when they are read. *Fast* are the types of the first type variable that other kernels take as well, in ordinary",
        "shapes; which kernel a node gets in a model, and why no other, is what `lathe inspect --steps` says.",
        "",
    ]
    absent = missing()
    lines += ["Missing of the standard:", "", *(f"- {line}" for line in absent), ""] if absent else ["Nothing of the standard is missing.", ""]
    for component in sorted({op["component"] for op in ops} - {None}):
        names = ", ".join(op["name"] for op in ops if op["component"] == component)
        lines += [f"Needs the optional component `{component}` ([components.md](components.md)): {names}.", ""]
    names = ", ".join(op["name"] for op in ops if op["differentiable"])
    lines += [
        "`ai.onnx.preview.training.Gradient` becomes ordinary operators when a file is read: the derivative of the sum of all elements of y, in",
        "the same graph. What it gives may be the y of another Gradient. Any operators may give what does not depend on xs, and those of",
        "integers and booleans whatever depends on them; between xs and y of floats may stand:",
        "",
        f"{names}.",
        "",
    ]
    lines += ["*Folder* is where all of an operator is, under `src/ops`.", ""]
    lines += ["| operator | folder | version | types | fast |", "|---|---|---|---|---|"]
    for op in ops:
        for i, v in enumerate(op["versions"]):
            newest = i == len(op["versions"]) - 1
            types = "ended" if v["deprecated"] else "; ".join(f"{name}: {grouped(t)}" for name, t in v["types"].items()) or "–"
            fast = grouped(op["fast"]) if newest else ""
            lines.append(f"| {shown(op['domain'], op['name'])} | {op['folder']} | {v['since']} | {types} | {fast} |")
    return "\n".join(lines) + "\n"


def main():
    new = DOCUMENT.with_suffix(".md.tmp")
    new.write_text(page())
    new.rename(DOCUMENT)
    print("\n".join(missing()) or "nothing is missing")


if __name__ == "__main__":
    main()
