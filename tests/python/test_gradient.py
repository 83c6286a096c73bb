"""ai.onnx.preview.training.Gradient: every rule against differences of the function itself, in float64. The functions are those of the
operators' folders (slopes, in src/ops/<folder>/<folder>_problems.py)."""

import math
import pathlib
import sys

import numpy as np
import onnx
import onnx.helper as oh
import pytest

import lathe

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "differential"))
import generators  # noqa: E402, F401  (each folder enters its functions)
import slopes  # noqa: E402
from slopes import DOUBLE, constant, real  # noqa: E402

TRAINING = "ai.onnx.preview.training"


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


@pytest.mark.parametrize("op, number", [(op, number) for op in sorted(slopes.ALL) for number in range(len(slopes.of(op)))])
def test_rule(op, number):
    slope = slopes.of(op)[number]
    check(slope.nodes, slope.values, slope.symbolic, slope.opset)


def test_every_rule_has_functions():
    assert set(slopes.ALL) == {op["name"] for op in lathe.operators() if op["differentiable"]}


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


def test_casts():
    nodes = [oh.make_node("Cast", ["x"], ["f"], to=onnx.TensorProto.FLOAT), oh.make_node("CastLike", ["f", "x"], ["y"]), oh.make_node("Mul", ["y", "x"], ["z"])]
    x = np.float32(real(3)).astype(np.float64)
    got = build([*nodes, gradient(y="z")], [("x", [3])], typed(["dx"])).run({"x": x})["dx"]
    np.testing.assert_allclose(got, 2 * x, rtol=1e-7)


def test_dropout():
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
    """Gradient is replaced by ordinary operators, which the onnx package's own reference runs."""
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
