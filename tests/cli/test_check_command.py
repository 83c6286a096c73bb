"""`lathe check` beside onnx.checker: what is wrong with a file whatever its operators mean."""

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from small_model import FLOAT

BOOL, INT64 = onnx.TensorProto.BOOL, onnx.TensorProto.INT64


def vi(name, element=FLOAT, shape=(2,)):
    return oh.make_tensor_value_info(name, element, shape)


def ones(name, shape=(2,)):
    return onnx.numpy_helper.from_array(np.ones(shape, np.float32), name)


def neg(x, y):
    return oh.make_node("Neg", [x], [y])


def model(nodes, inputs=("x",), outputs=("y",), initializers=(), ir=8, opsets=(("", 17),), functions=()):
    graph = oh.make_graph(nodes, "g", [vi(n) if isinstance(n, str) else n for n in inputs], [vi(n) for n in outputs], list(initializers))
    return oh.make_model(graph, opset_imports=[oh.make_opsetid(*o) for o in opsets], ir_version=ir, functions=list(functions))


def branches(then_nodes, then_initializers=(), initializers=(), then_output="t"):
    then = oh.make_graph(then_nodes, "then", [], [vi(then_output)], list(then_initializers))
    other = oh.make_graph([neg("x", "e")], "else", [], [vi("e")])
    nodes = [oh.make_node("Abs", ["x"], ["a"]), oh.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    return model([*nodes, oh.make_node("Add", ["y", "a"], ["z"])], ["x", vi("c", BOOL, [])], ["z"], initializers)


def nested(name):
    """A branch within a branch gives `name`."""
    inner = oh.make_graph([neg("x", name), neg(name, "i")], "inner", [], [vi("i")])
    other = oh.make_graph([neg("x", "o")], "other", [], [vi("o")])
    return branches([neg("x", "q"), oh.make_node("If", ["c"], ["r"], then_branch=inner, else_branch=other), oh.make_node("Add", ["r", "q"], ["t"])])


def loop(body_input="s", body_name="n"):
    body = oh.make_graph(
        [oh.make_node("Identity", ["going"], ["on"]), neg(body_input, body_name), neg(body_name, "s_out")],
        "body", [vi("i", INT64, []), vi("going", BOOL, []), vi(body_input)], [vi("on", BOOL, []), vi("s_out")],
    )  # fmt: skip
    nodes = [oh.make_node("Abs", ["x"], ["a"]), oh.make_node("Loop", ["count", "", "a"], ["y"], body=body)]
    return model(nodes, ["x", vi("count", INT64, [])])


def untyped(ir=8, inside=False):
    node = oh.make_node("LeakyRelu", ["x"], ["t" if inside else "y"], alpha=0.5)
    node.attribute[0].ClearField("type")
    made = branches([node]) if inside else model([node])
    made.ir_version = ir
    return made


def function(opsets, nodes, model_opsets=(("", 17), ("my", 1)), called=True):
    f = oh.make_function("my", "F", ["a"], ["b"], nodes, [oh.make_opsetid(*o) for o in opsets])
    call = oh.make_node("F", ["x"], ["y"], domain="my") if called else neg("x", "y")
    return model([call], opsets=model_opsets, functions=[f])


def function_with_branch(opsets):
    then, other = (oh.make_graph([oh.make_node("G", ["a"], [n], domain="other")], n, [], [vi(n)]) for n in ("t", "e"))
    g = oh.make_function("other", "G", ["p"], ["q"], [neg("p", "q")], [oh.make_opsetid("", 17)])
    nodes = [oh.make_node("ReduceSum", ["a"], ["s"], keepdims=0), oh.make_node("Cast", ["s"], ["c"], to=BOOL), oh.make_node("If", ["c"], ["b"], then_branch=then, else_branch=other)]
    made = function(opsets, nodes, (("", 17), ("my", 1), ("other", 1)))
    made.functions.append(g)
    return made


CASES = {  # what it is, and the code; nothing: valid
    "an output of an earlier node": (branches([neg("x", "a"), neg("a", "t")]), "E2202"),
    "an input": (branches([neg("a", "x"), neg("x", "t")]), "E2202"),
    "an initializer": (branches([neg("x", "w"), neg("w", "t")], (), [ones("w")]), "E2202"),
    "the output of a branch": (branches([neg("x", "a")], then_output="a"), "E2202"),
    "two graphs further in": (nested("a"), "E2202"),
    "one graph further in": (nested("q"), "E2202"),
    "in a loop": (loop(body_name="a"), "E2202"),
    "names of both branches": (branches([neg("x", "e"), neg("e", "t")]), None),
    "an initializer in a branch": (branches([neg("w", "t")], [ones("w")]), None),
    "a loop": (loop(), None),
    "attribute": (untyped(), "E2304"),
    "attribute in a branch": (untyped(inside=True), "E2304"),
    "attribute of IR version 3": (untyped(3), "E2304"),
    "function without imports": (function([], [neg("a", "b")]), "E2003"),
    "function with others": (function([("my", 1)], [neg("a", "b")]), "E2003"),
    "function that nobody calls": (function([], [neg("a", "b")], (("", 17),), False), "E2003"),
    "function with all it needs": (function([("", 17)], [neg("a", "b")]), None),
    "function with a branch": (function_with_branch([("", 17), ("other", 1)]), None),
    "function with a branch of another domain": (function_with_branch([("", 17)]), "E2003"),
}


@pytest.mark.parametrize("name", CASES)
def test_says_what_onnx_checker_says(lathe, place, name):
    made, code = CASES[name]
    onnx.save(made, place / "made.onnx")
    if code:
        with pytest.raises(onnx.checker.ValidationError):
            onnx.checker.check_model(made)
    else:
        onnx.checker.check_model(made)
    done = lathe("check", "made.onnx", "--json")
    found = [f for f in done.json["findings"] if f["severity"] == "error"]
    assert done.returncode == (1 if code else 0), found
    assert {f["code"] for f in found} == ({code} if code else set()), found
    assert all(f["remedy"] and f["stage"] == "check" for f in found)


def test_the_first_ir_version_had_no_types(lathe, place):
    made = untyped(1)
    made.ClearField("opset_import")
    onnx.save(made, place / "made.onnx")
    findings = lathe("check", "made.onnx", "--json").json["findings"]
    assert not any("say their type" in f["expected"] for f in findings)


def unread(lathe, place, made):
    onnx.save(made, place / "made.onnx")
    findings = lathe("check", "made.onnx", "--json").json["findings"]
    return [f["node"] for f in findings if f["severity"] == "warning" and f["remedy"] == "remove it"]


@pytest.mark.parametrize("domain", ["", "my.ops", "com.microsoft", "ai.onnx.ml"])
def test_what_an_unknown_operator_reads_is_read(lathe, place, domain):
    opsets = [("", 17)] + ([(domain, 1)] if domain else [])
    nodes = [oh.make_node("Foo", ["x", "w"], ["m"], domain=domain), oh.make_node("Add", ["m", "v"], ["y"])]
    assert unread(lathe, place, model(nodes, initializers=[ones("w"), ones("v"), ones("idle")], opsets=opsets)) == ["idle"]
    inner = branches([oh.make_node("Foo", ["w"], ["t"], domain=domain)], initializers=[ones("w"), ones("idle")])
    if domain:
        inner.opset_import.append(oh.make_opsetid(domain, 1))
    assert unread(lathe, place, inner) == ["idle"]


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_weights_of_low_bit_are_read(lathe, place, bits):
    """A node that an import replaces still counts as a reader of its inputs in the file."""
    rng = np.random.default_rng(1)
    per_block = 32 * bits // 8
    initializers = [
        onnx.numpy_helper.from_array(rng.integers(0, 255, (5, 3, per_block), np.uint8), "b"),
        ones("scales", (5, 3)),
        onnx.numpy_helper.from_array(rng.integers(0, 255, (5, (3 * bits + 7) // 8), np.uint8), "zeros"),
        ones("idle"),
    ]
    node = oh.make_node("MatMulNBits", ["x", "b", "scales", "zeros"], ["y"], domain="com.microsoft", K=96, N=5, bits=bits, block_size=32)
    graph = oh.make_graph([node], "g", [vi("x", FLOAT, ["n", 96])], [vi("y", FLOAT, ["n", 5])], initializers)
    made = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17), oh.make_opsetid("com.microsoft", 1)], ir_version=8)
    assert unread(lathe, place, made) == ["idle"]


def test_what_nothing_reads_is_said(lathe, place):
    made = model([neg("x", "y")], ["x", "idle"], initializers=[ones("w"), ones("idle")])
    made.graph.sparse_initializer.append(
        onnx.helper.make_sparse_tensor(ones("sparse", (1,)), onnx.numpy_helper.from_array(np.array([0], np.int64), "at"), [2])
    )
    assert unread(lathe, place, made) == ["idle", "w", "sparse"]
    # An input that is an output too is not unused.
    assert unread(lathe, place, model([neg("x", "y")], ["x", "through"], ["y", "through"])) == []
