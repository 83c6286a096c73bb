"""Operators with bodies, and those of sequences, optionals and maps: problems that are small graphs."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx.helper as oh
import onnx.parser

from draw import array, axis_of, broadcastable, chance, i64, makes, pick, shape
from problem import Problem

BINARY = ["Add", "Sub", "Mul", "Max", "Min"]
ELEMENTS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double", np.dtype(np.int64): "int64", np.dtype(bool): "bool"}


@dataclasses.dataclass
class GraphProblem(Problem):
    """As ONNX's text: a body in which `x0`, `x1`, … are the inputs and `y0`, … the outputs."""

    text: str = ""
    types: tuple[str, ...] = ()  # of outputs, where the text of one is not enough: "seq(float[])"
    of_many_nodes = True

    def _type(self, i, value):
        if isinstance(value, list):
            return f"seq({ELEMENTS[value[0].dtype]}[])"
        return f"{ELEMENTS[value.dtype]}[{', '.join(f'd{i}_{a}' for a in range(value.ndim))}]"

    def model(self):
        inputs = ", ".join(f"{self._type(i, v)} x{i}" for i, v in enumerate(self.inputs))
        outputs = ", ".join(f"{t} y{i}" for i, t in enumerate(self.types))
        return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {self.opset}]> g ({inputs}) => ({outputs}) {{ {self.text} }}')

    def __str__(self):
        return super().__str__() + " " + self.text


def steps(rng, values, out, operators=BINARY):
    """One to three of these over values of one shape, of which the last gives `out`."""
    lines, known = [], list(values)
    for k in range(int(rng.integers(1, 4))):
        lines.append(f"{out}_{k} = {pick(rng, operators)} ({pick(rng, known)}, {pick(rng, known)})")
        known.append(f"{out}_{k}")
    return "\n".join([*lines, f"{out} = Neg ({known[-1]})"])


def numbers(rng, s, dtype=None):
    return array(rng, dtype or pick(rng, [np.float32, np.float64, np.int64]), s, 0)


@makes("If")
def branch(op, rng):
    s = shape(rng, 0, 3)
    x = [numbers(rng, s, np.float32), numbers(rng, s, np.float32)]
    outer = steps(rng, ["x0", "x1"], "a")
    inner = _if("r", "x2", [f"side{k} () => (float[] r{k}) {{ {steps(rng, ['x0', 'x1', 'a'], f'r{k}')} }}" for k in range(2)])
    if chance(rng, 0.6):
        return GraphProblem(op, [*x, np.array(chance(rng, 0.5))], text=f"{outer}\n{inner}\ny0 = Identity (r)", types=("float[]",))
    nested = _if("y0", "x3", [f"outside () => (float[] r) {{ {inner} }}", "other () => (float[] e) { e = Identity (a) }"])
    return GraphProblem(op, [*x, *(np.array(chance(rng, 0.5)) for _ in range(2))], text=f"{outer}\n{nested}", types=("float[]",))


def _if(out, condition, sides):
    return f"{out} = If <then_branch = {sides[0]}, else_branch = {sides[1]}> ({condition})"


@makes("Loop")
def loop(op, rng):
    s, most = shape(rng, 0, 2), int(rng.integers(0, 6))
    dtype = pick(rng, [np.float32, np.int64])
    t, given, until = ELEMENTS[np.dtype(dtype)], chance(rng, 0.7), int(rng.integers(0, 7))
    start, outer = numbers(rng, s, dtype), numbers(rng, s, dtype)
    operators = BINARY if dtype == np.float32 else BINARY[:3]  # ONNX Runtime compares the lower half of large numbers
    # Without a count the condition ends it.
    keep = "go = Less (i, x4)" if not given or chance(rng, 0.5) else "go = Identity (before)"
    body = f"{keep}\n{steps(rng, ['v', 'x1'], 'v1', operators)}\nkept = {pick(rng, operators)} (v, v1)\nwhole = Identity (i)"
    counted = chance(rng, 0.7)
    last, out = (", int64 whole", ", y2") if counted else ("", "")
    text = (f"y0, y1{out} = Loop <body = b (int64 i, bool before, {t}[] v) => (bool go, {t}[] v1, {t}[] kept{last}) {{ {body} }}> "
            f"({'x2' if given else ''}, x3, x0)")  # fmt: skip
    inputs = [start, outer, np.array(most, np.int64), np.array(chance(rng, 0.85)), np.array(until, np.int64)]
    types = (f"{t}[]", f"{t}[]", "int64[]")[: 2 + counted]
    return GraphProblem(op, inputs, text=text, outputs=len(types), types=types)


@makes("Scan")
def scan(op, rng):
    length, s = int(rng.integers(1, 6)), shape(rng, 1, 2, 0)
    axes = [int(rng.integers(-(len(s) + 1), len(s) + 1)) for _ in range(2)]
    xs = [numbers(rng, tuple(np.insert(s, a % (len(s) + 1), length)), np.float32) for a in axes]
    out_axis = int(rng.integers(-(len(s) + 1), len(s) + 1))
    dims = ", ".join(f"s{a}" for a in range(len(s)))
    body = f"{steps(rng, ['state', 'a', 'b'], 'next')}\nrow = {pick(rng, BINARY)} (state, b)"
    attributes = [
        "num_scan_inputs = 2",
        f"scan_input_axes = [{axes[0]}, {axes[1]}]",
        f"scan_input_directions = [{int(rng.integers(2))}, {int(rng.integers(2))}]",
        f"scan_output_axes = [{out_axis}]",
        f"scan_output_directions = [{int(rng.integers(2))}]",
        f"body = b (float[{dims}] state, float[{dims}] a, float[{dims}] b) => (float[{dims}] next, float[{dims}] row) {{ {body} }}",
    ]
    return GraphProblem(op, [numbers(rng, s, np.float32), *xs], text=f"y0, y1 = Scan <{', '.join(attributes)}> (x0, x1, x2)", outputs=2, types=("float[]", "float[]"))


@makes("SequenceMap")
def sequence_map(op, rng):
    s, count = shape(rng, 0, 2), int(rng.integers(1, 4))
    items = [[numbers(rng, s, np.float32) for _ in range(count)] for _ in range(2)]
    second, other = ("x1", items[1]) if chance(rng, 0.5) else ("x1", items[1][0])
    body = f"{steps(rng, ['a', 'b'], 'r')}\nt = Abs (a)"
    text = f"y0, y1 = SequenceMap <body = m (float[] a, float[] b) => (float[] r, float[] t) {{ {body} }}> (x0, {second})"
    return GraphProblem(op, [items[0], other], text=text, outputs=2, types=("seq(float[])", "seq(float[])"))


@makes("SequenceConstruct", "SequenceEmpty")
def made_sequences(op, rng):
    s, count = shape(rng, 0, 3), int(rng.integers(1, 4))
    items = [numbers(rng, s, np.float32) for _ in range(count)]
    names = ", ".join(f"x{i}" for i in range(count))
    if op == "SequenceConstruct":
        return GraphProblem(op, items, text=f"y0 = SequenceConstruct ({names})", types=("seq(float[])",))
    made = [*(f"s{i}" for i in range(count)), "y0"]
    text = "\n".join(["s0 = SequenceEmpty <dtype = 1> ()", *(f"{made[i + 1]} = SequenceInsert ({made[i]}, x{i})" for i in range(count))])
    return GraphProblem(op, items, text=text + f"\ny1 = SequenceLength ({pick(rng, made)})", outputs=2, types=("seq(float[])", "int64"))


@makes("Optional", "OptionalHasElement", "OptionalGetElement")
def optionals(op, rng):
    dtype = pick(rng, [np.float32, np.int64])
    t = ELEMENTS[np.dtype(dtype)]
    value = numbers(rng, shape(rng, 0, 3), dtype)
    inner = f"{t}[]"
    if chance(rng, 0.4):
        value, inner = [value, value], f"seq({t}[])"
    if op != "Optional" and chance(rng, 0.3):  # since 18 also of what is no optional
        out = "bool" if op == "OptionalHasElement" else inner
        return GraphProblem(op, [value], text=f"y0 = {op} (x0)", opset=18, types=(out,))
    filled = chance(rng, 0.7) or op == "OptionalGetElement"
    made = "o = Optional (x0)" if filled else f"o = Optional <type = {inner}> ()"
    if op == "OptionalHasElement" or op == "Optional" and (not filled or chance(rng, 0.5)):
        return GraphProblem(op, [value], text=f"{made}\ny0 = OptionalHasElement (o)\ny1 = Identity (x0)", outputs=2, opset=18, types=("bool", inner))
    return GraphProblem(op, [value], text=f"{made}\ny0 = OptionalGetElement (o)", opset=18, types=(inner,))


@makes("Constant")
def constant(op, rng):
    kind = pick(rng, ["value", "value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings"])
    value = array(rng, pick(rng, [np.float32, np.float64, np.float16, np.int8, np.int64, bool]), shape(rng))
    given = {
        "value": oh.make_tensor("t", oh.np_dtype_to_tensor_dtype(value.dtype), value.shape, value.tobytes(), raw=True),
        "value_float": float(rng.normal()),
        "value_floats": [float(v) for v in rng.normal(size=rng.integers(1, 4))],
        "value_int": int(rng.integers(-9, 9)),
        "value_ints": [int(v) for v in rng.integers(-9, 9, rng.integers(1, 4))],
        "value_string": pick(rng, ["", "a", "Ä b"]),
        "value_strings": [pick(rng, ["", "a", "Ä b"]) for _ in range(rng.integers(1, 4))],
    }[kind]
    return Problem(op, [], {kind: given}, opset=13)


@makes("Dropout")
def dropout(op, rng):
    """Not training, where nothing is random."""
    x = array(rng, pick(rng, [np.float32, np.float64, np.float16]), shape(rng))
    ratio = np.asarray(rng.uniform(0, 0.9), np.float32) if chance(rng, 0.6) else None
    training = np.array(False) if chance(rng, 0.5) else None
    return Problem(op, [x, ratio, training], {"seed": 3} if chance(rng, 0.5) else {}, pick(rng, [1, 2]), 13)


@makes("Upsample")
def upsample(op, rng):
    s = (1, int(rng.integers(1, 3)), int(rng.integers(1, 6)), int(rng.integers(1, 6)))
    scales = np.array([1, 1, pick(rng, [1.0, 1.5, 2.0, 3.0]), pick(rng, [1.0, 1.5, 2.0, 2.7])], np.float32)
    return Problem(op, [array(rng, np.float32, s, 0), scales], {"mode": pick(rng, ["nearest", "linear"])}, opset=9, constant=(1,))


@makes("Scatter")
def scatter(op, rng):
    s = shape(rng, 1, 3, 0)
    axis = axis_of(rng, len(s))
    part = tuple(int(rng.integers(1, d + 1)) for d in s)
    # Each place once: which of two writes wins is not said.
    order = np.argsort(rng.random((*part[: axis % len(s)], s[axis], *part[axis % len(s) + 1 :])), axis=axis)
    indices = i64(np.take(order, range(part[axis]), axis=axis))
    dtype = pick(rng, [np.float32, np.int64, np.float64])
    return Problem(op, [array(rng, dtype, s), indices, array(rng, dtype, part)], {"axis": axis}, opset=9)


def tree(rng, features, depth, targets):
    """Lists of a TreeEnsemble's nodes and leaves, the root first."""
    nodes = {k: [] for k in ("featureids", "splits", "modes", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")}
    leaves = {"targetids": [], "weights": []}

    def leaf():
        leaves["targetids"].append(int(rng.integers(targets)))
        leaves["weights"].append(float(np.float32(rng.normal())))
        return len(leaves["weights"]) - 1

    def node(left):
        at = len(nodes["splits"])
        for k in nodes:
            nodes[k].append(0)
        nodes["featureids"][at] = int(rng.integers(features))
        nodes["splits"][at] = float(np.float32(rng.normal()))
        nodes["modes"][at] = int(rng.integers(6))  # ≤ < ≥ > = ≠
        for side in ("true", "false"):
            ends = left <= 0 or chance(rng, 0.3)
            nodes[side + "leafs"][at] = int(ends)
            nodes[side + "nodeids"][at] = leaf() if ends else node(left - 1)
        return at

    node(depth)
    return nodes, leaves


@makes("TreeEnsemble")
def tree_ensemble(op, rng):
    features, targets, dtype = int(rng.integers(1, 4)), int(rng.integers(1, 4)), pick(rng, [np.float32, np.float64])
    nodes, leaves = tree(rng, features, int(rng.integers(0, 4)), targets)
    element = oh.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def tensor(values, kind):
        return oh.make_tensor("t", kind, [len(values)], values)

    attributes = {
        "n_targets": targets,
        "aggregate_function": int(rng.integers(4)),
        "post_transform": int(pick(rng, [0, 0, 0, 1, 2])),
        "tree_roots": [0],
        "nodes_featureids": nodes["featureids"],
        "nodes_splits": tensor(nodes["splits"], element),
        "nodes_modes": tensor(nodes["modes"], 2),
        "nodes_truenodeids": nodes["truenodeids"],
        "nodes_falsenodeids": nodes["falsenodeids"],
        "nodes_trueleafs": nodes["trueleafs"],
        "nodes_falseleafs": nodes["falseleafs"],
        "leaf_targetids": leaves["targetids"],
        "leaf_weights": tensor(leaves["weights"], element),
    }
    x = array(rng, dtype, (int(rng.integers(1, 5)), features), 0)
    return Problem(op, [x], attributes, opset=5, domain="ai.onnx.ml")


@makes("FlexAttention")
def flex_attention(op, rng):
    batch, groups, shared, length, total, size, value = (int(rng.integers(1, 4)) for _ in range(7))
    q = array(rng, np.float32, (batch, groups * shared, length, size), 0, -1, 1)
    k, v = (array(rng, np.float32, (batch, groups, total, n), 0, -1, 1) for n in (size, value))
    return Problem(op, [q, k, v], {"scale": float(rng.uniform(0.1, 1))} if chance(rng, 0.5) else {}, opset=1, domain="ai.onnx.preview")


@dataclasses.dataclass
class MapProblem(Problem):
    """One node of ai.onnx.ml beside a map."""

    domain: str = "ai.onnx.ml"
    key: int = 7
    value: int = 1
    of_many_nodes = True

    def model(self):
        number = isinstance(self.inputs[0], dict)
        if number:
            given = oh.make_value_info("x0", oh.make_map_type_proto(self.key, oh.make_tensor_type_proto(self.value, None)))
        else:
            given = oh.make_tensor_value_info("x0", 1, ["n", "c"])
        node = oh.make_node(self.op, ["x0"], ["y0"], domain="ai.onnx.ml", **self.attributes)
        out = oh.make_empty_tensor_value_info("y0")
        return oh.make_model_gen_version(oh.make_graph([node], "g", [given], [out]), opset_imports=[oh.make_opsetid("ai.onnx.ml", 1), oh.make_opsetid("", 13)])

    def __str__(self):
        return f"{self.op}({self.inputs[0]}) {self.attributes}"


@makes("CastMap", "DictVectorizer", "ZipMap")
def maps(op, rng):
    texts = ["a", "b", "c", "Ä"]
    if op == "ZipMap":
        classes = int(rng.integers(1, 5))
        labels = {"classlabels_strings": texts[:classes]} if chance(rng, 0.5) else {"classlabels_int64s": [int(v) for v in rng.permutation(9)[:classes]]}
        return MapProblem(op, [array(rng, np.float32, (int(rng.integers(1, 4)), classes), 0)], labels)
    if op == "CastMap":
        keys = sorted(int(k) for k in rng.permutation(6)[: rng.integers(1, 5)])
        sparse = chance(rng, 0.5)
        attributes = {"cast_to": pick(rng, ["TO_FLOAT", "TO_INT64"]), "map_form": "SPARSE" if sparse else "DENSE"}
        if sparse:
            attributes["max_map"] = 6
        return MapProblem(op, [{k: float(np.float32(rng.integers(-4, 5))) for k in keys}], attributes)
    strings = chance(rng, 0.5)
    keys = [pick(rng, texts) for _ in range(3)] if strings else [int(rng.integers(4)) for _ in range(3)]
    vocabulary = {"string_vocabulary": texts} if strings else {"int64_vocabulary": [3, 1, 0, 2]}
    return MapProblem(op, [{k: float(np.float32(rng.normal())) for k in keys}], vocabulary, key=8 if strings else 7)
