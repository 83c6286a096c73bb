"""Every type that the newest version of an operator allows, in every place where it allows it: both backends compute it, and the
answer is that of the same numbers in a wide type, or NumPy's. What the onnx package's suite has a case of counts as reached; what
nothing reaches is a failure, but for the list of what has no meaning, and that is refused."""

import collections
import json
import subprocess

import numpy as np
import onnx
import pytest

import every_type
import lathe
import suite_cases
import support_table
from every_type import BACKENDS, NEWEST, kind_of, wanted
from support import built_tool
from test_op_cases import read
from type_probes import PROBES, Probe

pytestmark = pytest.mark.filterwarnings("ignore")
ENOUGH = 3  # cases that carry a type


def _mode(case, default):
    return next((a.s.decode() for a in case.node.attribute if a.name == "mode"), default)


def _between(default):
    return lambda case: _mode(case, default) != "nearest"


def _reduces(*how):
    return lambda case: any(a.name == "reduction" and a.s in how for a in case.node.attribute)


def _has(*names):
    return lambda case: any(a.name in names for a in case.node.attribute)


BETWEEN = "there is nothing between two of them"
NO_SUM = "texts do not add up"
# Types that the schemas allow but that have no meaning: in which nodes, and why.
SENSELESS = {
    ("", "Col2Im", "T", "tensor(string)"): (lambda case: True, NO_SUM),
    ("", "GridSample", "T1", "tensor(string)"): (_between("linear"), BETWEEN),
    ("", "Resize", "T1", "tensor(string)"): (_between("nearest"), BETWEEN),
    **{("", op, "T", "tensor(string)"): (_reduces(b"add", b"mul", b"min", b"max"), NO_SUM) for op in ("ScatterElements", "ScatterND")},
    **{("", op, "T", f"tensor({t})"): (_reduces(b"min", b"max"), "complex numbers have no order") for op in ("ScatterElements", "ScatterND") for t in ("complex64", "complex128")},
    ("", "TfIdfVectorizer", "T", "tensor(string)"): (_has("pool_int64s"), "no text is in a pool of numbers"),
    ("ai.onnx.ml", "OneHotEncoder", "T", "tensor(string)"): (_has("cats_int64s"), "no text is a category that is a number"),
}


# ── Cases of others


@pytest.fixture(scope="module")
def singles(tmp_path_factory):
    """(cases of one node by operator, what the suite reaches by operator): of the newest versions alone."""
    history = support_table.schemas()
    cases, reached = collections.defaultdict(list), collections.defaultdict(set)

    def add(name, model, inputs, outputs):
        found = every_type.single(name, model, inputs, history)
        if found is None:
            return
        case, schema = found
        key = (schema.domain, schema.name)
        if schema.since_version != NEWEST[key].since_version:
            return
        cases[key].append(case)
        sides = ((case.node.input, schema.inputs, [case.values.get(n) for n in case.node.input]), (case.node.output, schema.outputs, outputs or []))
        for names, parameters, values in sides:
            for i, (n, v) in enumerate(zip(names, values)):
                if n and isinstance(v, np.ndarray) and outputs is not None:
                    reached[key].add((every_type.parameter(parameters, i).type_str, kind_of(v)))

    for c in suite_cases.all_cases().values():
        for inputs, outputs in c.sets[:1]:
            add(c.name, c.model, inputs, outputs)
    folder = tmp_path_factory.mktemp("cases")
    subprocess.run([built_tool("op_cases"), folder], check=True)
    for k, c in enumerate(json.loads((folder / "cases.json").read_text())):
        at = folder / str(k)
        add(c["name"], onnx.load(at / "model.onnx"), [read(at / f"input_{i}.pb", kind) for i, kind in enumerate(c["inputs"])], None)
    return cases, reached


def try_case(case, schema, variable, kind, reached):
    """None: it does not fit. Else (whether it agrees, what is wrong); with types of outputs added to `reached`."""
    carried = every_type.carried(case, schema, variable, kind)
    if carried is None:
        return None
    narrow, wide, _ = carried
    types = {(variable, kind)}
    try:
        want = case.run(wide, "reference")
    except lathe.Error:
        return None  # not with these numbers
    for backend in BACKENDS:
        try:
            got = case.run(narrow, backend)
        except lathe.Error as e:
            return False, f"{case.name}, {backend}: {e}"
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            if isinstance(g, np.ndarray):
                types.add((every_type.parameter(schema.outputs, i).type_str, kind_of(g)))
            if wrong := every_type.difference(g, w, kind, case.turn):
                return False, f"{case.name}, {backend}, output {i}: {wrong}"
    reached |= types
    return True, None


def carry_all(key, schema, cases, reached):
    """Returns what is wrong; adds to `reached`."""
    wrong = []
    inputs = {p.type_str for p in schema.inputs}
    for variable, kind in sorted(wanted(schema) - reached):
        senseless, _ = SENSELESS.get((*key, variable, kind), (lambda case: False, ""))
        if variable not in inputs or not kind.startswith("tensor("):
            continue
        agreeing = 0
        for case in cases:
            if agreeing == ENOUGH:
                break
            if senseless(case):
                continue
            tried = try_case(case, schema, variable, kind, reached)
            if tried and not tried[0]:
                wrong.append(f"{variable} of {kind}: {tried[1]}")
            agreeing += bool(tried and tried[0])
    return wrong


# Cases cannot be carried over to these operators: two type variables depend on each other, or numbers are drawn.
BY_HAND = {"Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike", "BitCast", "Cast", "CastLike", "SequenceInsert", "LabelEncoder", "OptionalHasElement", "OptionalGetElement", "Identity", "SequenceMap", "QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul", "CategoryMapper"}


@pytest.mark.parametrize("key", sorted(NEWEST), ids=lambda k: ".".join(filter(None, k)))
def test_every_type(key, singles):
    cases, suite = singles
    schema, reached = NEWEST[key], set(suite[key])
    wrong = [] if key[1] in BY_HAND else carry_all(key, schema, cases[key], reached)
    if key in PROBES:
        p = Probe(*key)
        PROBES[key](p)
        wrong += p.wrong
        reached |= p.reached
    assert not wrong, "\n".join(wrong)
    missing = wanted(schema) - reached
    assert sorted(missing) == [(v, t) for d, n, v, t in sorted(NEVER) if (d, n) == key]


NEVER = {("", "Col2Im", "T", "tensor(string)")}  # of what is senseless, what no other mode gives a meaning to


@pytest.mark.parametrize("entry", sorted(SENSELESS), ids=lambda e: ".".join(filter(None, e)))
def test_senseless_is_refused(entry, singles):
    domain, op, variable, kind = entry
    cases, _ = singles
    met = [c for c in cases[domain, op] if SENSELESS[entry][0](c)]
    tried = 0
    for case in met:
        carried = every_type.carried(case, NEWEST[domain, op], variable, kind)
        if carried is None:
            continue
        for backend in BACKENDS:
            with pytest.raises(lathe.Error) as e:
                case.run(carried[0], backend)
            assert e.value.code.startswith("E2"), e.value
        tried += 1
    assert tried, "no case"
