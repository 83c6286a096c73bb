"""Problems of our own in every type that an operator allows, for test_every_type.py: where no case of others carries a type."""

from __future__ import annotations

import itertools

import numpy as np
import onnx.helper as oh
import onnx.numpy_helper

import every_type
import lathe
from every_type import BACKENDS, NEWEST, dtype, element, number, run, same, value, wanted


class Probe:
    """The types that the problems of one operator reach, and what went wrong."""

    def __init__(self, domain, op):
        self.domain, self.op, self.reached, self.wrong = domain, op, set(), []

    def check(self, what, solve, *reaches):
        """`solve` of a backend: whether it is right."""
        for backend in BACKENDS:
            try:
                fault = None if solve(backend) else "another answer"
            except lathe.Error as e:
                fault = str(e)
            if fault:
                self.wrong.append(f"{what}, {backend}: {fault}")
                return
        self.reached.update(reaches)

    def kinds(self, variable):
        return sorted(t for v, t in wanted(NEWEST[self.domain, self.op]) if v == variable)

    def tensors(self, variable):
        return [t for t in self.kinds(variable) if t.startswith("tensor(")]


PROBES = {}


def probe(*ops, domain=""):
    def register(f):
        PROBES.update({(domain, op): f for op in ops})
        return f

    return register


def node(op, inputs, outputs, domain="", **attributes):
    return oh.make_node(op, inputs, outputs, domain=domain, **attributes)


def body(nodes, inputs, outputs):
    """Inputs and outputs by name: type."""
    sides = [[oh.make_value_info(n, every_type.type_proto(t)) for n, t in side.items()] for side in (inputs, outputs)]
    return oh.make_graph(nodes, "body", *sides)


TRUE = ("tensor(bool)", np.array(True))


def i64(v):
    return "tensor(int64)", np.array(v)


def initial(name, v):
    return onnx.numpy_helper.from_array(np.asarray(v), name)


@probe("Identity")
def identity(p):
    for t in p.kinds("V"):
        p.check(t, lambda b: same(run([node("Identity", ["x"], ["y"])], {"x": (t, value(t))}, ["y"], b)[0], value(t)), ("V", t))


def passing(t, x, y):
    """Nodes that give what they take; Identity has no optionals and sequences of narrow types."""
    if ("V", t) in wanted(NEWEST["", "Identity"]):
        return [node("Identity", [x], [y])]
    first, second = ("OptionalGetElement", "Optional") if t.startswith("optional(") else ("Optional", "OptionalGetElement")
    return [node(first, [x], [f"{y}_inner"]), node(second, [f"{y}_inner"], [y])]


@probe("If")
def if_(p):
    p.reached.add(("B", "tensor(bool)"))  # the condition of each
    for t in p.kinds("V"):
        sides = [body(passing(t, "x", o), {}, {o: t}) for o in ("then", "else")]
        nodes = [node("If", ["c"], ["y"], then_branch=sides[0], else_branch=sides[1])]
        p.check(t, lambda b: same(run(nodes, {"c": TRUE, "x": (t, value(t))}, ["y"], b)[0], value(t)), ("V", t))


@probe("Loop")
def loop(p):
    p.reached |= {("B", "tensor(bool)"), ("I", "tensor(int64)")}
    for t in p.kinds("V"):
        tensor = t.startswith("tensor(")
        steps = [node("Identity", ["c"], ["c2"]), *passing(t, "s", "s2")] + ([node("Identity", ["s"], ["each"])] if tensor else [])
        inner = body(steps, {"i": "tensor(int64)", "c": "tensor(bool)", "s": t}, {"c2": "tensor(bool)", "s2": t, **({"each": t} if tensor else {})})
        outputs = ["y", "all"] if tensor else ["y"]
        want = [value(t), np.stack([value(t)] * 2)] if tensor else [value(t)]
        given = {"n": i64(2), "c": TRUE, "x": (t, value(t))}
        p.check(t, lambda b: same(run([node("Loop", ["n", "c", "x"], outputs, body=inner)], given, outputs, b), want), ("V", t))


@probe("Scan")
def scan(p):
    for t in p.kinds("V"):
        x = number(t, [[1], [0], [1]])
        inner = body([node("Identity", ["s"], ["s2"]), node("Identity", ["e"], ["each"])], {"s": t, "e": t}, {"s2": t, "each": t})
        given = {"k": (t, x[0]), "x": (t, x)}
        p.check(t, lambda b: same(run([node("Scan", ["k", "x"], ["y", "all"], body=inner, num_scan_inputs=1)], given, ["y", "all"], b), [x[0], x]), ("V", t))


def of(t):
    return t[t.index("(") + 1 : -1]


@probe("SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceErase", "SequenceAt", "SequenceLength", "ConcatFromSequence", "SplitToSequence", "SequenceMap")
def sequences(p):
    """For every type: a sequence is built of two, one removed, one inserted, and so on, by the operator under test."""
    for t in p.kinds("S"):
        x, other = number(of(t), [1, 0, 1]), number(of(t), [0, 1, 0])
        given = {"x": (of(t), x), "other": (of(t), other), "s": (t, [x, other])}
        empty = [node("SequenceEmpty", [], ["e"], dtype=element(of(t))), node("SequenceInsert", ["e", "x"], ["y"])]
        inner = body([node("Identity", ["a"], ["b"])], {"a": of(t)}, {"b": of(t)})
        problems = {
            "SequenceConstruct": [([node("SequenceConstruct", ["x", "other"], ["y"])], [x, other])],
            "SequenceEmpty": [(empty, [x])],
            "SequenceInsert": [([node("SequenceInsert", ["s", "other", i], ["y"])], [other, x, other]) for i in ("zero", "zero32")],
            "SequenceErase": [([node("SequenceErase", ["s", i], ["y"])], [other]) for i in ("zero", "zero32")],
            "SequenceAt": [([node("SequenceAt", ["s", i], ["y"])], x) for i in ("zero", "zero32")],
            "SequenceLength": [([node("SequenceLength", ["s"], ["y"])], np.array(2))],
            "ConcatFromSequence": [([node("ConcatFromSequence", ["s"], ["y"], axis=0)], np.concatenate([x, other]))],
            "SplitToSequence": [([node("SplitToSequence", ["x", n], ["y"])], [x[:2], x[2:]]) for n in ("two", "two32")],
            "SequenceMap": [([node("SequenceMap", ["s"], ["y"], body=inner)], [x, other])],
        }[p.op]
        constants = [initial("zero", np.int64(0)), initial("zero32", np.int32(0)), initial("two", np.int64(2)), initial("two32", np.int32(2))]
        for nodes, want in problems:
            # The scalars of positions stand beside what they do not concern: all of them are inputs of no other node.
            used = {n: v for n, v in given.items() if any(n in one.input for one in nodes)}
            names = {n for one in nodes for n in one.input}
            kept = [c for c in constants if c.name in names]
            reaches = {("S", t), ("T", of(t)), ("V", t), ("V", of(t)), ("I", "tensor(int32)" if any(c.name.endswith("32") for c in kept) else "tensor(int64)")}
            p.check(t, lambda b: same(run(nodes, used, ["y"], b, kept)[0], want), *(reaches & wanted(NEWEST["", p.op])))
    if p.op == "SequenceMap":  # a tensor beside the sequence is the same for every item
        for t in p.tensors("V"):
            x = number(t, [1, 0, 1])
            inner = body([node("Identity", ["c"], ["b"])], {"a": t, "c": t}, {"b": t})
            p.check(t, lambda b: same(run([node("SequenceMap", ["s", "x"], ["y"], body=inner)], {"s": (f"seq({t})", [x]), "x": (t, x)}, ["y"], b)[0], [x]), ("V", t))


@probe("Optional")
def optional(p):
    for t in p.kinds("V"):
        kind = f"optional({t})"
        p.check(t, lambda b: same(run([node("Optional", ["x"], ["y"])], {"x": (t, value(t))}, ["y"], b)[0], value(t)), ("V", t))
        p.check(kind, lambda b: run([node("Optional", [], ["y"], type=every_type.type_proto(t))], {}, ["y"], b)[0] is None, ("O", kind))


@probe("OptionalGetElement", "OptionalHasElement")
def optional_elements(p):
    for t in p.kinds("O"):
        inner = of(t) if t.startswith("optional(") else t
        want = value(inner) if p.op == "OptionalGetElement" else np.array(True)
        p.check(t, lambda b: same(run([node(p.op, ["x"], ["y"])], {"x": (t, value(t))}, ["y"], b)[0], want), ("O", t), ("V", inner), ("B", "tensor(bool)"))


def casts(s, d):
    """1, 0 and 1 of one type in the other, by NumPy."""
    zero_is = 1 if "float8e8m0" in s or "float8e8m0" in d else 0  # a type of powers of two
    x = number(s, [1, zero_is, 1])
    x = np.array(["1", str(zero_is), "1"], object) if s == "tensor(string)" else x
    if d == "tensor(string)":
        return x, [number("tensor(int64)", [1, zero_is, 1])]
    return x, number(d, [1, zero_is, 1])


def cast_right(got, want):
    if isinstance(want, list):
        return got.dtype == object and [True if v == "True" else float(v) for v in got] == want[0].tolist()
    return same(got, want)


@probe("Cast", "CastLike")
def cast(p):
    """Every type into every type."""
    targets = p.tensors("T2")
    for s in p.tensors("T1"):
        for d in targets:
            x, want = casts(s, d)
            if "complex" in s + d and s != d and not ("complex" in s and "complex" in d):
                continue
            if p.op == "Cast":
                nodes, given = [node("Cast", ["x"], ["y"], to=element(d))], {"x": (s, x)}
            else:
                nodes, given = [node("CastLike", ["x", "like"], ["y"])], {"x": (s, x), "like": (d, number(d, [1]))}
            p.check(f"{s} to {d}", lambda b: cast_right(run(nodes, given, ["y"], b)[0], want), ("T1", s), ("T2", d))


def bits(t):
    return {"int4": 4, "uint4": 4, "float4e2m1": 4, "int2": 2, "uint2": 2, "float6e2m3": 6, "float6e3m2": 6}.get(of(t), dtype(t).itemsize * 8)


@probe("BitCast")
def bit_cast(p):
    for s in p.tensors("T1"):
        for d in p.tensors("T2"):
            if bits(s) == bits(d):
                x = number(s, [1, 0, 1])
                p.check(f"{s} as {d}", lambda b: same(run([node("BitCast", ["x"], ["y"], to=element(d))], {"x": (s, x)}, ["y"], b)[0], x.view(dtype(d))), ("T1", s), ("T2", d))


@probe("Constant")
def constant(p):
    for t in p.tensors("T"):
        p.check(t, lambda b: same(run([node("Constant", [], ["y"], value=initial("v", value(t)))], {}, ["y"], b)[0], value(t)), ("T", t))


@probe("ConstantOfShape")
def constant_of_shape(p):
    for t in p.tensors("T2"):
        p.check(t, lambda b: same(run([node("ConstantOfShape", ["x"], ["y"], value=initial("v", number(t, [1])))], {"x": i64([3])}, ["y"], b)[0], number(t, [1, 1, 1])), ("T1", "tensor(int64)"), ("T2", t))


@probe("EyeLike")
def eye_like(p):
    for t in p.tensors("T2"):
        p.check(t, lambda b: same(run([node("EyeLike", ["x"], ["y"], dtype=element(t))], {"x": ("tensor(float)", np.zeros((2, 3), np.float32))}, ["y"], b)[0], number(t, np.eye(2, 3))), ("T2", t))


@probe("HannWindow", "HammingWindow", "BlackmanWindow")
def windows(p):
    """The symmetric one of 5 is 0 at the ends, 1/2 or nearly, and 1; in whole numbers what is left after the point is cut."""
    window = {"HannWindow": np.hanning(5), "HammingWindow": None, "BlackmanWindow": np.blackman(5)}[p.op]
    if window is None:  # the standard's coefficients are 25/46 and 21/46
        window = 25 / 46 - 21 / 46 * np.cos(2 * np.pi * np.arange(5) / 4)
    for t in p.tensors("T2"):
        got = lambda b: run([node(p.op, ["x"], ["y"], output_datatype=element(t), periodic=0)], {"x": i64(5)}, ["y"], b)[0]  # noqa: E731
        near = lambda y: y.dtype == dtype(t) and np.abs(y.astype(np.float64) - window).max() < (1 if dtype(t).kind in "iu" else 1e-2)  # noqa: E731
        p.check(t, lambda b: near(got(b)), ("T2", t))


@probe("MelWeightMatrix")
def mel(p):
    """`output_datatype` and the type of the edges; float is the suite's."""
    def matrix(b, to, edges):
        given = {"n": i64(8), "d": i64(16), "r": i64(8192), "low": (edges, number(edges, 0)), "high": (edges, number(edges, 4096))}
        return run([node("MelWeightMatrix", list(given), ["y"], output_datatype=element(to))], given, ["y"], b)[0]

    FLOAT = "tensor(float)"
    for t in p.tensors("T3"):
        want = every_type.as_kind(matrix("reference", FLOAT, FLOAT).astype(np.float64), t)
        p.check(t, lambda b: np.allclose(matrix(b, t, FLOAT).astype(np.float64), want.astype(np.float64), atol=1e-2) and matrix(b, t, FLOAT).dtype == dtype(t), ("T3", t))
    for t in p.tensors("T2"):
        p.check(t, lambda b: np.allclose(matrix(b, FLOAT, t), matrix("reference", FLOAT, FLOAT), atol=1e-6), ("T2", t))


@probe("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial")
def random(p):
    """One seed gives the same numbers in every type, rounded to it."""
    seed = {"seed": 3.0}
    names = p.kinds("T2") if p.op[-4:] == "Like" or p.op in ("Bernoulli", "Multinomial") else p.kinds("T")
    takes = [] if p.op in ("RandomNormal", "RandomUniform") else p.kinds("T1")

    def draw(b, to, kind):
        attributes = {"sample_size": 4} if p.op == "Multinomial" else {"shape": [4]} if not takes else {}
        given = {} if kind is None else {"x": (kind, number(kind, [[0, 1, 1, 0]]))}
        if p.op == "Bernoulli":
            given = {"x": (kind, np.full((1, 4), 0.5).astype(dtype(kind)))}
        return run([node(p.op, list(given), ["y"], dtype=element(to), **seed, **attributes)], given, ["y"], b)[0]

    first = "tensor(float)" if "tensor(float)" in takes else None
    base = "tensor(float)" if "tensor(float)" in names else "tensor(int64)"
    want = draw("reference", base, first)
    agree = lambda y, t: y.dtype == dtype(t) and every_type.difference(y, want, t) is None  # noqa: E731
    variable = "T2" if takes else "T"
    for t in names:
        p.check(t, lambda b: agree(draw(b, t, first), t), (variable, t))
    for t in takes:
        p.check(t, lambda b: agree(draw(b, base, t), base), ("T1", t))


@probe("LayerNormalization")
def layer_norm(p):
    """The statistics' type is stash_type's."""
    x = np.array([[1, 2, 3, 6]], np.float32)
    want = [3, 1 / np.sqrt(np.var(x) + 1e-5)]
    for t in p.tensors("U"):
        def right(b):
            got = run([node("LayerNormalization", ["x", "s"], ["y", "mean", "d"], stash_type=element(t))], {"x": ("tensor(float)", x), "s": ("tensor(float)", np.ones(4, np.float32))}, ["mean", "d"], b)
            return all(v.dtype == dtype(t) and abs(float(v.reshape(())) - w) < 1e-2 for v, w in zip(got, want))

        p.check(t, right, ("U", t))


def clipped(kind, values):
    """Small whole numbers, saturated where the type has integers of few bits or no signs."""
    kinds = {"int2": (-2, 1), "uint2": (0, 3), "int4": (-8, 7), "uint4": (0, 15)}
    low, high = kinds.get(of(kind), (0, 255) if of(kind).startswith("uint") else (-128, 127))
    return number(kind, np.clip(values, low, high))


@probe("QuantizeLinear")
def quantize(p):
    """A scale of 2: exact in every type."""
    x, two, whole = np.array([2, 4, -2, 0]), np.array(2), np.array([1, 2, -1, 0])
    for t in p.tensors("T1"):
        for scale in p.tensors("T2"):
            given = {"x": (t, number(t, x)), "s": (scale, number(scale, two))}
            p.check(f"{t} by {scale}", lambda b: same(run([node(p.op, ["x", "s"], ["y"])], given, ["y"], b)[0], clipped("tensor(uint8)", whole)), ("T1", t), ("T2", scale))
    for t in p.tensors("T3"):
        given = {"x": ("tensor(float)", x.astype(np.float32)), "s": ("tensor(float)", two.astype(np.float32)), "z": (t, number(t, 0))}
        p.check(t, lambda b: same(run([node(p.op, ["x", "s", "z"], ["y"])], given, ["y"], b)[0], clipped(t, whole)), ("T3", t))


@probe("DequantizeLinear")
def dequantize(p):
    for t in p.tensors("T1"):
        for scale in p.tensors("T2"):
            for to in p.tensors("T3"):
                given = {"x": (t, number(t, [1, 0, 1])), "s": (scale, number(scale, 2)), "z": (t, number(t, 0))}
                solve = lambda b: same(run([node(p.op, ["x", "s", "z"], ["y"], output_dtype=element(to))], given, ["y"], b)[0], number(to, [2, 0, 2]))  # noqa: E731
                p.check(f"{t} by {scale} to {to}", solve, ("T1", t), ("T2", scale), ("T3", to))


@probe("QLinearMatMul", "QLinearConv", "ConvInteger", "MatMulInteger")
def quantized_products(p):
    """2 times 3, of scales 1: 6."""
    outputs = p.tensors("T3") if p.op.startswith("QLinear") else ["tensor(int32)"]
    scales = itertools.cycle(p.tensors("TS") or ["tensor(float)"])
    shape = (1, 1, 1, 1) if "Conv" in p.op else (1, 1)
    for t in p.tensors("T1"):
        for u in p.tensors("T2"):
            for to in outputs:
                scale = next(scales)
                one = (scale, number(scale, 1))
                x, w, y = (t, number(t, np.full(shape, 2))), (u, number(u, np.full(shape, 3))), number(to, np.full(shape, 6))
                zeros = (t, number(t, 0)), (u, number(u, 0)), (to, number(to, 0))
                if p.op.startswith("QLinear"):
                    given = {"x": x, "xs": one, "xz": zeros[0], "w": w, "ws": one, "wz": zeros[1], "ys": one, "yz": zeros[2]}
                else:
                    given = {"x": x, "w": w, "xz": zeros[0], "wz": zeros[1]}
                reaches = {("T1", t), ("T2", u), ("T3", to), ("TS", scale)}
                if p.op == "QLinearConv":
                    given["bias"], y, reaches = ("tensor(int32)", np.array([4], np.int32)), number(to, np.full(shape, 10)), reaches | {("T4", "tensor(int32)")}
                p.check(f"{t} by {u} to {to}", lambda b: same(run([node(p.op, list(given), ["y"])], given, ["y"], b)[0], y), *reaches)


@probe("RNN", "GRU", "LSTM")
def recurrent(p):
    """Lengths that are those of all steps change nothing."""
    size = {"RNN": 1, "GRU": 3, "LSTM": 4}[p.op]
    given = {"x": ("tensor(float)", np.ones((2, 1, 3), np.float32)), "w": ("tensor(float)", np.full((1, 2 * size, 3), 0.1, np.float32)), "r": ("tensor(float)", np.full((1, 2 * size, 2), 0.1, np.float32))}
    whole = {**given, "n": ("tensor(int32)", np.array([2], np.int32))}
    for t in p.tensors("T1"):
        p.check(t, lambda b: np.allclose(*(run([node(p.op, inputs, ["y"], hidden_size=2)], g, ["y"], b)[0] for inputs, g in ((["x", "w", "r"], given), (["x", "w", "r", "", "n"], whole)))), ("T1", t))


@probe("TfIdfVectorizer")
def tf_idf(p):
    x = np.array(["a", "c", "a"], object)
    attributes = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0], "ngram_indexes": [0, 1], "pool_strings": ["a", "b"]}
    p.check("strings", lambda b: same(run([node(p.op, ["x"], ["y"], **attributes)], {"x": ("tensor(string)", x)}, ["y"], b)[0], np.array([2, 0], np.float32)), ("T", "tensor(string)"))


TRAINING, ML = "ai.onnx.preview.training", "ai.onnx.ml"


@probe("Gradient", domain=TRAINING)
def gradient(p):
    """y = x · z, whose derivative is z, in any type of z; for complex z its size is used instead."""
    def info(name, t):
        return oh.make_tensor_value_info(name, element(t), [3])

    def derivative(b, t, z):
        """The derivative of a product of x, in type t, and z."""
        size = [node("Size", ["z"], ["n"]), node("Cast", ["n"], ["w"], to=element(t))]
        nodes = [*(size if "complex" in z else [node("Cast", ["z"], ["w"], to=element(t))]), node("Mul", ["x", "w"], ["y"]), node("Gradient", ["x", "z"], ["dx"], domain=TRAINING, xs=["x"], zs=["z"], y="y")]
        given = number(z, [1, 0, 1]) if z != "tensor(string)" else np.array(["1", "0", "1"], object)
        graph = oh.make_graph(nodes, "g", [info("x", t), info("z", z)], [onnx.ValueInfoProto(name="dx")])
        model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 22), oh.make_opsetid(TRAINING, 1)], ir_version=10)
        return lathe.build(model.SerializeToString(), backend=b).run({"x": number(t, [2, 3, 1]), "z": given})["dx"]

    for t in p.tensors("T2"):
        p.check(t, lambda b: same(derivative(b, t, t), number(t, [1, 0, 1])), ("T2", t), ("T1", t))
    for z in p.tensors("T1"):
        want = [3, 3, 3] if "complex" in z else [1, 0, 1]
        p.check(z, lambda b: same(derivative(b, "tensor(float)", z), number("tensor(float)", want)), ("T1", z))


@probe("OneHotEncoder", domain=ML)
def one_hot_encoder(p):
    x = np.array(["b", "x"], object)
    want = np.array([[0, 1], [0, 0]], np.float32)
    p.check("strings", lambda b: same(run([node(p.op, ["x"], ["y"], domain=ML, cats_strings=["a", "b"], zeros=1)], {"x": ("tensor(string)", x)}, ["y"], b, domain=ML, version=1)[0], want), ("T", "tensor(string)"))


@probe("CategoryMapper", domain=ML)
def category_mapper(p):
    texts, numbers = np.array(["b", "x"], object), np.array([7, 9])
    attributes = {"cats_strings": ["a", "b"], "cats_int64s": [8, 7], "default_string": "none", "default_int64": -1}
    for s, d, x, want in (("tensor(string)", "tensor(int64)", texts, np.array([7, -1])), ("tensor(int64)", "tensor(string)", numbers, np.array(["b", "none"], object))):
        p.check(f"{s} to {d}", lambda b: same(run([node(p.op, ["x"], ["y"], domain=ML, **attributes)], {"x": (s, x)}, ["y"], b, domain=ML, version=1)[0], want), ("T1", s), ("T2", d))


@probe("LabelEncoder", domain=ML)
def label_encoder(p):
    for s in p.tensors("T1"):
        for d in p.tensors("T2"):
            nodes = [node("LabelEncoder", ["x"], ["y"], domain=ML, keys_tensor=initial("k", number(s, [1, 2])), values_tensor=initial("v", number(d, [5, 7])), default_tensor=initial("d", number(d, [9])))]
            given = {"x": (s, number(s, [2, 3, 1]))}
            p.check(f"{s} to {d}", lambda b: same(run(nodes, given, ["y"], b, domain=ML, version=4)[0], number(d, [7, 9, 5])), ("T1", s), ("T2", d))


@probe("LinearClassifier", "SVMClassifier", domain=ML)
def classifiers(p):
    """Linear: the second class where x is positive. As in libsvm, coefficients of the first class of a pair are positive."""
    linear = p.op == "LinearClassifier"
    for t in p.tensors("T2"):
        labels = {"classlabels_ints": [4, 5]} if t == "tensor(int64)" else {"classlabels_strings": ["4", "5"]}
        if linear:
            weights = {"coefficients": [-1.0, 1.0], "intercepts": [0.0, 0.0]}
        else:
            weights = {"coefficients": [1.0, -1.0], "support_vectors": [-1.0, 1.0], "vectors_per_class": [1, 1], "rho": [0.0], "kernel_type": "LINEAR"}
        for s in p.tensors("T1"):
            x = number(s, [[2], [-2]])
            p.check(f"{s}, {t}", lambda b: same(run([node(p.op, ["x"], ["y", "z"], domain=ML, **weights, **labels)], {"x": (s, x)}, ["y", "z"], b, domain=ML, version=1)[0], number(t, [5, 4])), ("T1", s), ("T2", t))


@probe("CastMap", domain=ML)
def cast_map(p):
    for s in p.kinds("T1"):
        for d in p.tensors("T2"):
            text = s.endswith("string)")
            x = {0: "3", 2: "4"} if text else {0: 3.0, 2: 4.0}
            to = {"tensor(float)": "TO_FLOAT", "tensor(int64)": "TO_INT64", "tensor(string)": "TO_STRING"}[d]
            right = lambda y: y.dtype == dtype(d) and [float(v) for v in y.reshape(-1)] == [3, 4]  # noqa: E731
            p.check(f"{s} to {d}", lambda b: right(run([node("CastMap", ["x"], ["y"], domain=ML, cast_to=to)], {"x": (s, x)}, ["y"], b, domain=ML, version=1)[0]), ("T1", s), ("T2", d))


@probe("DictVectorizer", domain=ML)
def dict_vectorizer(p):
    for s in p.kinds("T1"):
        key, held = (part.strip() for part in of(s).split(","))
        vocabulary = {"string_vocabulary": ["a", "b", "c"]} if key == "string" else {"int64_vocabulary": [0, 1, 2]}
        one = {"string": "7", "int64": 7}.get(held, 7.0)
        x = {("c" if key == "string" else 2): one}
        want = number(f"tensor({held})", [[0, 0, 7]])
        p.check(s, lambda b: same(run([node("DictVectorizer", ["x"], ["y"], domain=ML, **vocabulary)], {"x": (s, x)}, ["y"], b, domain=ML, version=1)[0], want), ("T1", s), ("T2", f"tensor({held})"))


@probe("ZipMap", domain=ML)
def zip_map(p):
    for t, labels, keys in (("seq(map(int64, float))", {"classlabels_int64s": [4, 5]}, [4, 5]), ("seq(map(string, float))", {"classlabels_strings": ["a", "b"]}, ["a", "b"])):
        want = [dict(zip(keys, row)) for row in ([1.0, 0.0], [2.0, 3.0])]
        x = np.array([[1, 0], [2, 3]], np.float32)
        p.check(t, lambda b: run([node("ZipMap", ["x"], ["y"], domain=ML, **labels)], {"x": ("tensor(float)", x)}, ["y"], b, domain=ML, version=1)[0] == want, ("T", t))
