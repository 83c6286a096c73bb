"""ai.onnx.preview.training.Gradient: every rule against differences of the function itself, in float64."""

import math

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper
import pytest

import lathe

DOUBLE = onnx.TensorProto.DOUBLE
TRAINING = "ai.onnx.preview.training"


def constant(name, value):
    return oh.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(np.asarray(value), name))


def build(nodes, inputs, outputs, opset=22):
    graph = oh.make_graph(
        nodes,
        "g",
        [oh.make_tensor_value_info(name, DOUBLE, shape) for name, shape in inputs],
        [oh.make_empty_tensor_value_info(name) if isinstance(name, str) else name for name in outputs],
    )
    opsets = [oh.make_opsetid("", opset), oh.make_opsetid(TRAINING, 1), oh.make_opsetid("com.microsoft", 1)]
    return lathe.build(oh.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())


def typed(names):
    return [oh.make_tensor_value_info(n, DOUBLE, None) for n in names]


def differences(f, x, step=1e-6):
    """d f(x) / dx for f to a number, element by element."""
    slopes = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        moved = [x.copy(), x.copy()]
        moved[0][i] += step
        moved[1][i] -= step
        slopes[i] = (f(moved[0]) - f(moved[1])) / (2 * step)
    return slopes


def check(nodes, values, symbolic=False, opset=22, tolerance=2e-5):
    """`nodes` make "y" of the values' names. Weighted, so that no two elements of y count the same."""
    names = list(values)
    gradients = [f"d{n}" for n in names]
    weigh = [
        oh.make_node("Shape", ["y"], ["y_shape"]),
        oh.make_node("Size", ["y"], ["y_size"]),
        constant("zero_", np.int64(0)),
        constant("one_", np.int64(1)),
        oh.make_node("Range", ["zero_", "y_size", "one_"], ["y_numbers"]),
        oh.make_node("Reshape", ["y_numbers", "y_shape"], ["y_places"]),
        oh.make_node("Cast", ["y_places"], ["y_reals"], to=DOUBLE),
        constant("half_", 0.5),
        oh.make_node("Mul", ["y_reals", "half_"], ["y_steps"]),
        oh.make_node("Cos", ["y_steps"], ["weights"]),
        oh.make_node("Mul", ["y", "weights"], ["z"]),
    ]
    gradient = oh.make_node("Gradient", names, gradients, domain=TRAINING, xs=names, y="z")
    shapes = [(n, [f"{n}_{k}" for k in range(v.ndim)] if symbolic else v.shape) for n, v in values.items()]
    engine = build([*nodes, *weigh, gradient], shapes, typed(["z", *gradients]), opset)
    got = engine.run(values)
    for n, v in values.items():
        expected = differences(lambda x: engine.run({**values, n: x})["z"].sum(), v)
        np.testing.assert_allclose(got[f"d{n}"], expected, rtol=tolerance, atol=tolerance, err_msg=n)
        assert got[f"d{n}"].shape == v.shape
    return engine


def real(*shape, seed=0, low=-2.0, high=2.0, away=0.05):
    """Random, and no number near a whole one, where many functions have corners."""
    x = np.random.default_rng([seed, *shape]).uniform(low, high, shape)
    near = np.abs(x - np.round(x)) < away
    return np.where(near, x + 3 * away, x)


UNARY = {
    **dict.fromkeys("Abs Asinh Atan Cos Cosh Erf Exp Identity Mish Neg Sigmoid Sin Sinh Softplus Softsign Tanh".split(), (-2, 2)),
    **dict.fromkeys("Celu Elu Gelu HardSigmoid HardSwish LeakyRelu Relu Selu ThresholdedRelu".split(), (-4, 4)),
    **dict.fromkeys("Acos Asin Atanh".split(), (-0.85, 0.85)),
    **dict.fromkeys("Log Sqrt Reciprocal".split(), (0.3, 3)),
    "Acosh": (1.2, 3),
    "Tan": (-1.2, 1.2),
}


@pytest.mark.parametrize("op", UNARY)
def test_unary(op):
    low, high = UNARY[op]
    check([oh.make_node(op, ["x"], ["y"])], {"x": real(3, 7, low=low, high=high)}, opset=28)  # Celu knew float alone before


@pytest.mark.parametrize(
    "op, attributes",
    [("Celu", {"alpha": 1.7}), ("Elu", {"alpha": 0.4}), ("Selu", {"alpha": 1.2, "gamma": 0.7}), ("LeakyRelu", {"alpha": 0.3}),
     ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}), ("ThresholdedRelu", {"alpha": 0.35}), ("Gelu", {"approximate": "tanh"})],
)  # fmt: skip
def test_attributes_of_activations(op, attributes):
    check([oh.make_node(op, ["x"], ["y"], **attributes)], {"x": real(20, low=-4, high=4)}, opset=28)


def test_swish():
    check([oh.make_node("Swish", ["x"], ["y"], alpha=1.3)], {"x": real(9)}, opset=24)


@pytest.mark.parametrize("op", ["Ceil", "Floor", "Round", "Sign"])
def test_steps_have_no_slope(op):
    check([oh.make_node(op, ["x"], ["s"]), oh.make_node("Mul", ["s", "x"], ["y"])], {"x": real(8)})


SHAPES = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((), (2, 2)), ((2, 1), (2, 1))]


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Mean"])
def test_broadcast_operands_get_sums(op, shapes, symbolic):
    low = 0.3 if op in ("Div", "Pow") else -2
    a, b = (real(*s, seed=i, low=low) for i, s in enumerate(shapes))
    check([oh.make_node(op, ["a", "b"], ["y"])], {"a": a, "b": b}, symbolic)


def test_ties_share_and_whole_powers_are_whole():
    engine = build(
        [
            constant("three", np.array([3, 0, 2], np.int64)),
            oh.make_node("Pow", ["x", "three"], ["p"]),
            oh.make_node("Max", ["x", "x2"], ["m"]),
            oh.make_node("Gradient", ["x"], ["dp"], domain=TRAINING, xs=["x"], y="p"),
            oh.make_node("Gradient", ["x", "x2"], ["dm", "dm2"], domain=TRAINING, xs=["x", "x2"], y="m"),
        ],
        [("x", [3]), ("x2", [3])],
        typed(["dp", "dm", "dm2"]),
    )
    got = engine.run({"x": np.array([-2.0, 0, 0]), "x2": np.array([-2.0, 1, -1])})
    np.testing.assert_allclose(got["dp"], [12, 0, 0])
    np.testing.assert_allclose(got["dm"], [0.5, 0, 1])
    np.testing.assert_allclose(got["dm2"], [0.5, 1, 0])


def test_choices():
    check([oh.make_node("PRelu", ["x", "slope"], ["y"])], {"x": real(4, 3), "slope": real(3, seed=1)})
    check([constant("low", -0.7), constant("high", 0.9), oh.make_node("Clip", ["x", "low", "high"], ["y"])], {"x": real(4, 3)})
    check([oh.make_node("Clip", ["x", "low", "high"], ["y"])], {"x": real(12), "low": np.array(-0.72), "high": np.array(0.93)})
    check([oh.make_node("Clip", ["x", "", "high"], ["y"])], {"x": real(12), "high": np.array(0.93)})
    check(
        [constant("c", np.array([True, False, True])), oh.make_node("Where", ["c", "a", "b"], ["y"])],
        {"a": real(2, 3), "b": real(1, seed=1)},
    )


def test_casts():
    nodes = [oh.make_node("Cast", ["x"], ["f"], to=onnx.TensorProto.FLOAT), oh.make_node("CastLike", ["f", "x"], ["y"]), oh.make_node("Mul", ["y", "x"], ["z"])]
    x = np.float32(real(3)).astype(np.float64)
    got = build([*nodes, gradient(y="z")], [("x", [3])], typed(["dx"])).run({"x": x})["dx"]
    np.testing.assert_allclose(got, 2 * x, rtol=1e-7)


def test_dropout():
    check([oh.make_node("Dropout", ["x"], ["y"])], {"x": real(5)})
    nodes = [
        constant("ratio", 0.4),
        constant("training", True),
        oh.make_node("Dropout", ["x", "ratio", "training"], ["y", "mask"], seed=3),
    ]
    engine = build(
        [*nodes, oh.make_node("Gradient", ["x"], ["dx"], domain=TRAINING, xs=["x"], y="y")],
        [("x", [50])],
        [*typed(["y", "dx"]), oh.make_tensor_value_info("mask", onnx.TensorProto.BOOL, [50])],
    )
    x = real(50)
    got = engine.run({"x": x})
    np.testing.assert_allclose(got["dx"], got["mask"] / 0.6)
    np.testing.assert_allclose(got["dx"] * x, got["y"])


REDUCTIONS = "ReduceSum ReduceMean ReduceMax ReduceMin ReduceSumSquare ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp".split()


@pytest.mark.parametrize("axes", [None, [0], [-1, 0], [1]], ids=str)
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions(op, keepdims, axes):
    inputs, nodes = ["x"], []
    if axes is not None:
        nodes, inputs = [constant("axes", np.array(axes, np.int64))], ["x", "axes"]
    check([*nodes, oh.make_node(op, inputs, ["y"], keepdims=keepdims)], {"x": real(2, 3, 4, low=0.3)})
    if axes is not None:  # as an attribute, in an older version
        check([oh.make_node(op, ["x"], ["y"], keepdims=keepdims, axes=axes)], {"x": real(2, 3, 4, low=0.3)}, opset=11)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax(op, axis):
    check([oh.make_node(op, ["x"], ["y"], axis=axis)], {"x": real(2, 3, 4)})
    check([oh.make_node(op, ["x"], ["y"], axis=1)], {"x": real(2, 3, 4)}, opset=11)


@pytest.mark.parametrize("attributes", [{}, {"reverse": 1}, {"exclusive": 1}, {"reverse": 1, "exclusive": 1}], ids=str)
def test_cumulative_sum(attributes):
    check([constant("axis", np.int64(1)), oh.make_node("CumSum", ["x", "axis"], ["y"], **attributes)], {"x": real(2, 4)})


MATRICES = [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4)), ((2, 1, 2, 3), (4, 3, 2)), ((3,), (2, 3, 4)), ((2, 4, 3), (3,))]


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("shapes", MATRICES, ids=str)
def test_matmul(shapes, symbolic):
    a, b = (real(*s, seed=i) for i, s in enumerate(shapes))
    check([oh.make_node("MatMul", ["a", "b"], ["y"])], {"a": a, "b": b}, symbolic)


@pytest.mark.parametrize("ta", [0, 1])
@pytest.mark.parametrize("tb", [0, 1])
def test_gemm(ta, tb):
    a, b = real(2, 3), real(3, 4, seed=1)
    values = {"a": a.T.copy() if ta else a, "b": b.T.copy() if tb else b, "c": real(4, seed=2)}
    check([oh.make_node("Gemm", ["a", "b", "c"], ["y"], alpha=0.5, beta=1.5, transA=ta, transB=tb)], values)


CONVOLUTIONS = [
    ((2, 3, 7), (4, 3, 3), {}),
    ((1, 2, 6, 7), (3, 2, 3, 2), {"strides": [2, 3], "pads": [1, 0, 2, 1]}),
    ((2, 4, 8, 6), (6, 2, 3, 3), {"group": 2, "dilations": [2, 1], "strides": [1, 2], "pads": [1, 1, 1, 1]}),
    ((1, 3, 9), (3, 1, 2), {"group": 3, "strides": [4]}),
    ((1, 1, 4, 4, 3), (2, 1, 2, 2, 2), {"auto_pad": "VALID"}),
]


@pytest.mark.parametrize("x, w, attributes", CONVOLUTIONS, ids=str)
def test_convolution(x, w, attributes):
    values = {"x": real(*x), "w": real(*w, seed=1), "b": real(w[0], seed=2)}
    check([oh.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)], values)


@pytest.mark.parametrize(
    "x, w, attributes",
    [
        ((2, 3, 4), (3, 2, 3), {}),
        ((1, 4, 3, 4), (4, 2, 3, 2), {"group": 2, "strides": [2, 3], "pads": [1, 0, 1, 1], "output_padding": [1, 2]}),
        ((1, 2, 5), (2, 2, 3), {"dilations": [2]}),
    ],
    ids=str,
)
def test_transposed_convolution(x, w, attributes):
    outputs = w[1] * attributes.get("group", 1)
    values = {"x": real(*x), "w": real(*w, seed=1), "b": real(outputs, seed=2)}
    check([oh.make_node("ConvTranspose", ["x", "w", "b"], ["y"], **attributes)], values)


def test_pools():
    values = {"x": real(2, 3, 6, 5)}
    check([oh.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])], values)
    average = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    check([oh.make_node("AveragePool", ["x"], ["y"], **average)], values)
    check([oh.make_node("AveragePool", ["x"], ["y"], count_include_pad=1, **average)], values)
    check([oh.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], dilations=[2, 1], strides=[3, 2])], values)
    check([oh.make_node("GlobalAveragePool", ["x"], ["y"])], values)
    check([oh.make_node("GlobalMaxPool", ["x"], ["y"])], values)


def test_normalisations():
    values = {"x": real(2, 3, 4), "scale": real(4, seed=1), "bias": real(4, seed=2)}
    check([oh.make_node("LayerNormalization", ["x", "scale", "bias"], ["y"])], values)
    wide = {"x": real(2, 3, 4), "scale": real(3, 4, seed=1)}
    check([oh.make_node("LayerNormalization", ["x", "scale"], ["y"], axis=1, epsilon=0.1)], wide)
    check([oh.make_node("RMSNormalization", ["x", "scale"], ["y"], axis=1)], wide, opset=23)
    statistics = [constant("mean", real(3, seed=5)), constant("variance", real(3, seed=6, low=0.3))]
    batch = {"x": real(2, 3, 4), "scale": real(3, seed=1), "bias": real(3, seed=2)}
    check([*statistics, oh.make_node("BatchNormalization", ["x", "scale", "bias", "mean", "variance"], ["y"])], batch)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [None, -100, 1])
@pytest.mark.parametrize("op", ["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"])
def test_losses(op, ignored, weighted, reduction):
    labels = np.array([[0, 2], [1, 1], [2, 0]])
    if ignored is not None:
        labels[0, 1] = ignored
    nodes, inputs = [constant("labels", labels)], ["x", "labels"]
    if weighted:
        nodes, inputs = [*nodes, constant("w", np.array([0.5, 2.0, 3.0]))], [*inputs, "w"]
    attributes = {"reduction": reduction} if ignored is None else {"reduction": reduction, "ignore_index": ignored}
    check([*nodes, oh.make_node(op, inputs, ["y"], **attributes)], {"x": real(3, 3, 2)})


def ints(*values):
    return np.array(values, np.int64)


MOVEMENTS = {
    "reshape": ([constant("s", ints(4, -1))], "Reshape", ["x", "s"], {}),
    "flatten": ([], "Flatten", ["x"], {"axis": 2}),
    "squeeze": ([constant("a", ints(1))], "Squeeze", ["x", "a"], {}),
    "unsqueeze": ([constant("a", ints(0, 3))], "Unsqueeze", ["x", "a"], {}),
    "transpose": ([], "Transpose", ["x"], {"perm": [2, 0, 1]}),
    "transpose all": ([], "Transpose", ["x"], {}),
    "expand": ([constant("s", ints(2, 2, 3, 4))], "Expand", ["x", "s"], {}),
    "tile": ([constant("r", ints(2, 1, 3))], "Tile", ["x", "r"], {}),
    "slice": ([constant("b", ints(-1, 2)), constant("e", ints(-9, 3)), constant("a", ints(2, 0)), constant("s", ints(-2, 1))], "Slice", ["x", "b", "e", "a", "s"], {}),
    "gather": ([constant("i", np.array([[2, 0], [2, -1]]))], "Gather", ["x", "i"], {"axis": 2}),
    "gather elements": ([constant("i", np.array([[[0, 1]], [[1, 1]]]))], "GatherElements", ["x", "i"], {"axis": 2}),
    "gather nd": ([constant("i", np.array([[1, 0], [1, 0], [0, 0]]))], "GatherND", ["x", "i"], {}),
    "pad": ([constant("p", ints(1, 0, 2, 0, 1, -1))], "Pad", ["x", "p"], {}),
    "pad with a number": ([constant("p", ints(1, 0, 2, 0, 1, 0)), constant("v", 1.5)], "Pad", ["x", "p", "v"], {}),
    "pad by reflection": ([constant("p", ints(1, 0, 2, 0, 0, 3))], "Pad", ["x", "p"], {"mode": "reflect"}),
    "trilu": ([], "Trilu", ["x"], {"upper": 0}),
    "compress": ([constant("c", np.array([True, False, False, True]))], "Compress", ["x", "c"], {"axis": 2}),
    "reverse sequence": ([constant("n", ints(2))], "ReverseSequence", ["x", "n"], {}),
    "centre": ([constant("s", ints(2, 1, 6))], "CenterCropPad", ["x", "s"], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVEMENTS)
def test_movement(name):
    nodes, op, inputs, attributes = MOVEMENTS[name]
    check([*nodes, oh.make_node(op, inputs, ["y"], **attributes)], {"x": real(2, 1, 4)})


def test_space_and_depth():
    check([oh.make_node("DepthToSpace", ["x"], ["y"], blocksize=2)], {"x": real(1, 4, 2, 3)})
    check([oh.make_node("SpaceToDepth", ["x"], ["y"], blocksize=2)], {"x": real(1, 2, 4, 2)})


@pytest.mark.parametrize("symbolic", [False, True])
def test_joining_and_splitting(symbolic):
    values = {"a": real(2, 3), "b": real(2, 1, seed=1), "c": real(2, 2, seed=2)}
    check([oh.make_node("Concat", ["a", "b", "c"], ["y"], axis=-1)], values, symbolic)
    nodes = [
        constant("sizes", ints(1, 3, 2)),
        oh.make_node("Split", ["x", "sizes"], ["first", "", "last"], axis=1),
        oh.make_node("MatMul", ["last", "turned"], ["y"]),
        oh.make_node("Transpose", ["first"], ["turned_"], perm=[1, 0]),
        oh.make_node("Concat", ["turned_", "turned_"], ["turned"], axis=0),
    ]
    check([nodes[0], nodes[1], nodes[3], nodes[4], nodes[2]], {"x": real(2, 6)}, symbolic)


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_scattering(reduction):
    values = {"x": real(3, 4), "u": real(2, 2, seed=1)}
    places = constant("i", np.array([[0, 2], [1, 0]]))
    check([places, oh.make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=1, reduction=reduction)], values)
    rows = constant("i", np.array([[2, 1], [0, 3]]))
    check([rows, oh.make_node("ScatterND", ["x", "i", "u"], ["y"], reduction=reduction)], {"x": values["x"], "u": real(2, seed=2)})


def test_a_network():
    """A value read by many, constants, a path that ends in integers, and a value that y does not depend on."""
    nodes = [
        constant("w", real(4, 5, seed=3)),
        oh.make_node("MatMul", ["x", "w"], ["h"]),
        oh.make_node("Tanh", ["h"], ["t"]),
        oh.make_node("Shape", ["h"], ["s"]),
        oh.make_node("Expand", ["b", "s"], ["bs"]),
        oh.make_node("Add", ["t", "bs"], ["sum"]),
        oh.make_node("Mul", ["sum", "t"], ["product"]),
        oh.make_node("ReduceMean", ["product"], ["m"], keepdims=0),
        oh.make_node("Sub", ["product", "m"], ["y"]),
    ]
    check(nodes, {"x": real(3, 4), "b": real(1, seed=1), "other": real(2, 2, seed=2)})


def test_second_derivatives():
    engine = build(
        [
            oh.make_node("Sin", ["x"], ["s"]),
            oh.make_node("Mul", ["s", "x"], ["y"]),
            oh.make_node("Gradient", ["x"], ["d1"], domain=TRAINING, xs=["x"], y="y"),
            oh.make_node("Gradient", ["x"], ["d2"], domain=TRAINING, xs=["x"], y="d1"),
            oh.make_node("Gradient", ["x"], ["d3"], domain=TRAINING, xs=["x"], y="d2"),
        ],
        [("x", ["n"])],
        typed(["d1", "d2", "d3"]),
    )
    x = real(6)
    got = engine.run({"x": x})
    np.testing.assert_allclose(got["d1"], np.sin(x) + x * np.cos(x), rtol=1e-12)
    np.testing.assert_allclose(got["d2"], 2 * np.cos(x) - x * np.sin(x), rtol=1e-12)
    np.testing.assert_allclose(got["d3"], -3 * np.sin(x) - x * np.cos(x), rtol=1e-12)


def test_at_other_values_with_respect_to_inner_ones_and_with_some_held():
    """h = x * x, y = h * z: at another h, y and its derivatives are those of that h; zs get none; outputs may be left out."""
    engine = build(
        [
            oh.make_node("Mul", ["x", "x"], ["h"]),
            oh.make_node("Mul", ["h", "z"], ["p"]),
            oh.make_node("Mul", ["p", "p"], ["y"]),
            oh.make_node("Gradient", ["h1", "z"], ["dh", "dz"], domain=TRAINING, xs=["h", "z"], y="y"),
            oh.make_node("Gradient", ["h", "z"], ["dh_only"], domain=TRAINING, xs=["h"], zs=["z"], y="y"),
            oh.make_node("Gradient", ["x", "z"], ["", "dz_only"], domain=TRAINING, xs=["x", "z"], y="y"),
        ],
        [("x", [2]), ("z", [2]), ("h1", [2])],
        typed(["y", "dh", "dz", "dh_only", "dz_only"]),
    )
    x, z, h1 = np.array([2.0, 3]), np.array([5.0, 7]), np.array([11.0, 13])
    got = engine.run({"x": x, "z": z, "h1": h1})
    np.testing.assert_allclose(got["y"], (x * x * z) ** 2)
    np.testing.assert_allclose(got["dh"], 2 * h1 * z * z)
    np.testing.assert_allclose(got["dz"], 2 * h1 * h1 * z)
    np.testing.assert_allclose(got["dh_only"], 2 * x**2 * z * z)
    np.testing.assert_allclose(got["dz_only"], 2 * x**4 * z)


def test_float16_and_float32():
    for kind, dtype in ((onnx.TensorProto.FLOAT, np.float32), (onnx.TensorProto.FLOAT16, np.float16)):
        nodes = [
            oh.make_node("Gelu", ["x"], ["y"]),
            oh.make_node("Gradient", ["x"], ["dx"], domain=TRAINING, xs=["x"], y="y"),
        ]
        tensors = [oh.make_tensor_value_info(n, kind, [5]) for n in ("x", "dx")]
        graph = oh.make_graph(nodes, "g", tensors[:1], tensors[1:])
        model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 20), oh.make_opsetid(TRAINING, 1)])
        x = np.array([-2, -0.5, 0, 0.5, 2], dtype)
        got = lathe.build(model.SerializeToString()).run({"x": x})["dx"]
        assert got.dtype == dtype
        # The normal distribution's integral, and x times its density.
        want = [(1 + math.erf(v / 2**0.5)) / 2 + v * math.exp(-v * v / 2) / (2 * math.pi) ** 0.5 for v in x]
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-3 if dtype == np.float16 else 1e-6)


def gradient(names=("x",), outputs=("dx",), inputs=("x",), **attributes):
    return oh.make_node("Gradient", list(inputs), list(outputs), "slope", domain=TRAINING, xs=list(names), **{"y": "y", **attributes})


@pytest.mark.parametrize(
    "nodes, sentence",
    [
        ([oh.make_node("Det", ["x"], ["y"], "volume"), gradient()], 'E2308.*node "volume" \\(Det\\): expected an operator whose derivative is known'),
        ([oh.make_node("Neg", ["x"], ["y"]), gradient(y="Y")], "E2308.*slope.*Gradient.*'Y'.*did you mean 'y'"),
        ([oh.make_node("Neg", ["x"], ["y"]), gradient(names=["nobody"])], "E2308.*'nobody'"),
        ([oh.make_node("Neg", ["x"], ["y"]), gradient(names=["x", "y"])], "E2303.*an input for each of the 2 names"),
        ([oh.make_node("Neg", ["x"], ["y"]), gradient(outputs=["dx", "more"])], "E2303.*at most an output for each of the 1 names"),
        ([oh.make_node("Shape", ["x"], ["y"]), gradient()], "E2305.*xs and y of floats.*'y' of type int64"),
        ([oh.make_node("Neg", ["x"], ["y"]), oh.make_node("Gradient", ["x"], ["dx"], domain=TRAINING, xs=["x"])], "E2304.*y"),
        (
            [oh.make_node("Conv", ["x", "x"], ["y"], auto_pad="SAME_UPPER"), gradient()],
            "E2308.*explicit pads.*SAME_UPPER",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(nodes, sentence):
    with pytest.raises(lathe.Error, match=sentence):
        build(nodes, [("x", [1, 1, 3, 3])], typed(["dx"]))


def test_nodes_in_any_order():
    nodes = [gradient(), oh.make_node("Sin", ["h"], ["y"]), oh.make_node("Mul", ["x", "x"], ["h"])]
    x = real(4)
    got = build(nodes, [("x", [4])], typed(["dx"])).run({"x": x})["dx"]
    np.testing.assert_allclose(got, 2 * x * np.cos(x * x), rtol=1e-12)


def test_a_derivative_saved_is_a_model_of_the_standard(tmp_path):
    """What Gradient became is written as ordinary operators, which the onnx package's own reference runs."""
    from onnx.reference import ReferenceEvaluator

    nodes = [oh.make_node("MatMul", ["x", "w"], ["h"]), oh.make_node("Softmax", ["h"], ["y"], axis=-1)]
    values = {"x": real(2, 3), "w": real(3, 4, seed=1)}
    graph = oh.make_graph(
        [*nodes, gradient(["x", "w"], ["dx", "dw"], ["x", "w"])],
        "g",
        [oh.make_tensor_value_info(n, DOUBLE, v.shape) for n, v in values.items()],
        typed(["dx", "dw"]),
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18), oh.make_opsetid(TRAINING, 1)])
    plain = lathe.onnx.load(model.SerializeToString())
    path = tmp_path / "plain.onnx"
    lathe.onnx.normalize(plain).save(path)
    assert "Gradient" not in {n.op_type for n in onnx.load(path).graph.node}
    for got, want in zip(ReferenceEvaluator(str(path)).run(None, values), lathe.build(path).run(values).values()):
        np.testing.assert_allclose(got, want, atol=1e-12)
