"""`lathe verify`: healthy models, and a planted fault that is named, cut out, and fails again."""

import re
import shlex

import numpy as np
import onnx
import onnx.helper as oh
import pytest

DOUBLE = onnx.TensorProto.DOUBLE


def test_a_healthy_model(lathe):
    done = lathe("verify", "model.onnx")
    assert done.returncode == 0, done.stderr
    assert "batch=17" in done.stdout and "non-finite" in done.stdout
    assert "128 comparisons" in done.stdout  # 4 levels, 4 sizes, 8 kinds of values
    assert not done.stderr


def test_json(lathe):
    done = lathe("verify", "model.onnx", "--inputs", "inputs", "--level", "basic", "--json")
    assert done.returncode == 0 and done.json["equal"] is True and done.json["untried"] == []
    first = done.json["trials"][0]
    assert first["shapes"] == first["values"] == "recorded" and first["level"] == "basic"
    assert {t["level"] for t in done.json["trials"]} == {"basic"}
    assert all(t["difference"] < 1e-4 and not t["amplified"] for t in done.json["trials"])


def test_given_sizes(lathe):
    done = lathe("verify", "model.onnx", "--shape", "x=5x3", "--level", "all", "--json")
    assert len(done.json["trials"]) == 8


def test_time_is_limited(lathe):
    done = lathe("verify", "model.onnx", "--seconds", "1e-9", "--json")
    assert done.returncode == 1 and done.json["error"]["code"] == "E4202"


@pytest.fixture
def plugin(binary):
    path = binary.parents[1] / "tests" / "broken_kernel.so"
    assert path.exists(), "build the target plugin_broken_kernel"
    return path


@pytest.fixture
def hard(place):
    """y = sigmoid(hardmax(-x · w))."""
    w = onnx.numpy_helper.from_array(np.arange(12, dtype=np.float64).reshape(3, 4) % 5, "w")
    graph = oh.make_graph(
        [
            oh.make_node("Neg", ["x"], ["n"], name="negate"),
            oh.make_node("MatMul", ["n", "w"], ["m"], name="multiply"),
            oh.make_node("Hardmax", ["m"], ["h"], name="choose"),
            oh.make_node("Sigmoid", ["h"], ["y"], name="squash"),
        ],
        "hard",
        [oh.make_tensor_value_info("x", DOUBLE, ["batch", 3])],
        [oh.make_tensor_value_info("y", DOUBLE, ["batch", 4])],
        [w],
    )
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8), place / "hard.onnx")
    return "hard.onnx"


def test_a_broken_kernel_is_named_and_fails_again(lathe, place, plugin, hard):
    assert lathe("verify", hard).returncode == 0
    done = lathe("verify", hard, "--plugin", plugin)
    assert done.returncode == 1
    sentence, command = done.stderr.splitlines()
    assert re.match(r'lathe: error E9001: verify, node "choose" \(Hardmax\): expected h\[0, \d\] = 1, got 0 ', sentence)
    assert "hardmax.broken" in sentence

    model = onnx.load(place / "hard.reproduce" / "reproduce.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [n.op_type for n in model.graph.node] == ["Hardmax"]
    expected = np.load(place / "hard.reproduce" / "expected_0.npy")
    given = np.load(place / "hard.reproduce" / "input_0.npy")
    assert (expected.argmax(-1) == given.argmax(-1)).all()

    again = shlex.split(command.split(": ", 1)[1])
    assert again[:2] == ["lathe", "run"]
    assert lathe(*again[1:]).returncode == 1
    healthy = [a for i, a in enumerate(again) if a != "--plugin" and again[i - 1] != "--plugin"]
    assert lathe(*healthy[1:]).returncode == 0, "without the broken kernel it is as expected"


def test_a_fault_as_json(lathe, place, plugin, hard):
    done = lathe("verify", hard, "--plugin", plugin, "--output", "wrong", "--json")
    assert done.returncode == 1
    fault = done.json["fault"]
    assert fault["kind"] == "kernel" and fault["kernel"] == "hardmax.broken" and fault["nodes"] == ["choose"]
    assert fault["reproduction"]["directory"] == "wrong" and fault["reproduction"]["confirmed"] is True
    assert done.json["error"]["operator"] == "Hardmax" and done.json["error"]["code"] == "E9001"
    assert done.json["equal"] is False
    assert (place / "wrong" / "reproduce.onnx").exists()


def arithmetic(place, nodes, element=onnx.TensorProto.FLOAT, constants=None):
    """x and w, [2, 3] each, to y."""
    graph = oh.make_graph(
        nodes, "g", [oh.make_tensor_value_info(n, element, [2, 3]) for n in ("x", "w")], [oh.make_tensor_value_info("y", element, [2, 3])],
        [onnx.numpy_helper.from_array(v, n) for n, v in (constants or {}).items()],
    )  # fmt: skip
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=8), place / "formula.onnx")


def node(op, inputs, output, **attributes):
    return oh.make_node(op, inputs.split(), [output], name=output, **attributes)


FORMULAS = {
    "one by": [node("Div", "one w", "r"), node("Mul", "x r", "y")],
    "reciprocal": [node("Reciprocal", "w", "r"), node("Mul", "x r", "y")],
    "reciprocal first": [node("Reciprocal", "w", "r"), node("Mul", "r x", "y")],
    "clipped": [node("Reciprocal", "w", "r"), node("Mul", "x r", "p"), node("Clip", "p zero one", "y")],
    "division": [node("Div", "x w", "y")],
    "twice": [node("Div", "one w", "r"), node("Div", "one r", "q"), node("Mul", "x q", "y")],
    "root": [node("Sqrt", "w", "s"), node("Div", "one s", "r"), node("Mul", "x r", "y")],
    "squares": [node("Mul", "w w", "s"), node("Reciprocal", "s", "r"), node("Mul", "x r", "y")],
    "logarithm": [node("Log", "w", "l"), node("Mul", "x l", "y")],
    "exponential": [node("Exp", "w", "e"), node("Log", "e", "l"), node("Mul", "x l", "y")],
    "power": [node("Pow", "w minus", "p"), node("Mul", "x p", "y")],
    "power of both": [node("Pow", "x w", "y")],
    "sigmoid": [node("Neg", "w", "n"), node("Exp", "n", "e"), node("Add", "e one", "a"), node("Div", "x a", "y")],
    "a little beside much": [node("Add", "one x", "a"), node("Reciprocal", "many", "r"), node("Add", "r a", "u"), node("Sub", "u w", "s"), node("Sub", "s one", "y")],
    "remainder": [node("Mod", "x w", "y", fmod=1)],
    "arc cosine": [node("Acosh", "w", "a"), node("Div", "x a", "y")],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("name", FORMULAS)
def test_inputs_are_ones_that_the_formulas_bear(lathe, place, name, dtype):
    element = oh.np_dtype_to_tensor_dtype(np.dtype(dtype))
    used = {n for step in FORMULAS[name] for n in step.input}
    constants = {n: np.array(v, dtype) for n, v in (("one", 1), ("zero", 0), ("minus", -1.5), ("many", 1e4)) if n in used}
    arithmetic(place, FORMULAS[name], element, constants)
    done = lathe("verify", "formula.onnx")
    assert done.returncode == 0, done.stderr
    assert "report it" not in done.stderr + done.stdout


@pytest.mark.parametrize("op", ["Div", "Mod"])
@pytest.mark.parametrize("element", ["INT32", "INT64", "UINT8", "INT8", "UINT32"])
def test_whole_numbers_are_divided_by_others_than_zero(lathe, place, op, element):
    arithmetic(place, [node(op, "x w", "y")], getattr(onnx.TensorProto, element))
    done = lathe("verify", "formula.onnx")
    assert done.returncode == 0, done.stderr
