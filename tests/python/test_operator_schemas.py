"""Every version of every operator against the onnx package's own definitions: inputs, outputs, how many of each, attributes
with their defaults, and the types that are allowed."""

import re

import onnx.defs
import pytest

import lathe

OPTIONS = {
    onnx.defs.OpSchema.FormalParameterOption.Single: "",
    onnx.defs.OpSchema.FormalParameterOption.Optional: "?",
    onnx.defs.OpSchema.FormalParameterOption.Variadic: "*",
}
KINDS = {"sparse": "SPARSE_TENSOR", "type": "TYPE_PROTO"}


def _split(text, separator=","):
    """At the top level of parentheses, brackets and quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        quoted ^= c == "'"
        depth += (c in "([{") - (c in ")]}")
        if c == separator and not depth and not quoted:
            parts.append(text[start:i].strip())
            start = i + 1
    return [p for p in [*parts, text[start:].strip()] if p]


def _onnx_type(name):
    """"seq(float)" → "seq(tensor(float))"."""
    kind, _, inner = name.partition("(")
    if not inner:
        return f"tensor({name})"
    if kind == "map":
        key, value = _split(inner[:-1])
        return f"map({key},{_onnx_type(value)})"
    return f"{kind}({_onnx_type(inner[:-1])})"


def _parameters(text, types):
    found = []
    for part in _split(text):
        head, kind = part.split(":", 1)
        name, arity, least = re.fullmatch(r"(\w+)([?*~]?)(\d*)", head.strip()).groups()
        kind = kind.strip()
        allowed = {_onnx_type(t) for t in types.get(kind, [kind])}
        count = int(least or 0) if arity in ("*", "~") else 1
        found.append((name, allowed, "*" if arity == "~" else arity, count, arity != "~"))
    return found


def _value(text):
    if text.startswith("["):
        return [_value(part) for part in _split(text[1:-1])]
    if text.startswith("'"):
        return text[1:-1]
    return float(text)


def _attributes(text):
    found = {}
    for part in _split(text):
        name, rest = part.split(":", 1)
        kind, _, default = (p.strip() for p in rest.partition("="))
        required = kind.endswith("!")
        kind = kind.rstrip("!")
        found[name.strip()] = (KINDS.get(kind, kind.upper()), required, _value(default) if default else None)
    return found


def ours(version):
    text = version["signature"]
    m = re.fullmatch(r"\((.*?)\)\s*->\s*\((.*?)\)\s*(?:\{(.*?)\})?\s*(?:\[(.*)\])?", text, re.S)
    return _parameters(m[1], version["types"]), _parameters(m[2], version["types"]), _attributes(m[3] or "")


def _their_parameters(parameters):
    return [
        (p.name.rstrip("."), set(p.types), OPTIONS[p.option], p.min_arity if OPTIONS[p.option] == "*" else 1, p.is_homogeneous)
        for p in parameters
    ]


def _their_attributes(schema):
    found = {}
    for name, a in schema.attributes.items():
        value = onnx.helper.get_attribute_value(a.default_value) if a.default_value.name else None
        if isinstance(value, bytes):
            value = value.decode()
        if isinstance(value, list):
            value = [v.decode() if isinstance(v, bytes) else v for v in value]
        found[name] = (a.type.name, a.required, value)
    return found


def theirs(schema):
    return _their_parameters(schema.inputs), _their_parameters(schema.outputs), _their_attributes(schema)


HISTORY = {}
for _schema in onnx.defs.get_all_schemas_with_history():
    HISTORY.setdefault((_schema.domain, _schema.name), {})[_schema.since_version] = _schema
OPERATORS = [op for op in lathe.operators() if (op["domain"], op["name"]) in HISTORY]


# Operators and versions that ONNX Runtime writes into the standard's domain, so that files have them.
EXTENSIONS = {"SimplifiedLayerNormalization"}
# The version of FlexAttention is the one that it has in memory.
EXTRA_VERSIONS = {"LayerNormalization": {1}, "FlexAttention": {1000000}}
# The standard ended these versions: files that hold them are upgraded, or read as before.
ENDED_BUT_READ = {("GroupNormalization", 18), ("TreeEnsembleClassifier", 5), ("TreeEnsembleRegressor", 5)}


def test_operators_are_there():
    assert len(OPERATORS) > 220
    assert {op["name"] for op in lathe.operators() if op["domain"] == "" and op not in OPERATORS} == EXTENSIONS


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op["name"])
def test_versions(op):
    history = HISTORY[op["domain"], op["name"]]
    declared = {v["since"]: v for v in op["versions"]}
    assert set(declared) == set(history) | EXTRA_VERSIONS.get(op["name"], set())
    for since in history:
        version, ended = declared[since], (op["name"], since) in ENDED_BUT_READ
        assert version["deprecated"] == (history[since].deprecated and not ended), since
        if version["deprecated"]:
            continue
        for side, mine, real in zip(("inputs", "outputs", "attributes"), ours(version), theirs(history[since])):
            assert mine == real, f"{side} of {op['name']}-{since}"
