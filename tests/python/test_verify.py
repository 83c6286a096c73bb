"""lathe.verify, as far as its words come through; tests/verify/verify_test.cc plants faults."""

import numpy as np
import onnx
import onnx.helper as oh
import pytest

import lathe

FLOAT = onnx.TensorProto.FLOAT


def model():
    graph = oh.make_graph(
        [oh.make_node("Exp", ["x"], ["e"]), oh.make_node("Neg", ["e"], ["y"])],
        "g",
        [oh.make_tensor_value_info("x", FLOAT, ["n", 3])],
        [oh.make_tensor_value_info("y", FLOAT, ["n", 3])],
    )
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8).SerializeToString()


def test_a_healthy_model():
    report = lathe.verify(model(), inputs={"x": np.zeros((5, 3), np.float32)}, levels=["none", "all"], threads=1)
    assert report["fault"] is None and report["untried"] == []
    assert {t["level"] for t in report["trials"]} == {"none", "all"}
    assert report["trials"][0]["values"] == "recorded"
    assert all(t["difference"] < 1e-4 and not t["amplified"] for t in report["trials"])


def test_sizes():
    assert len(lathe.verify(model(), sizes={"n": 4})["trials"]) == 4 * 8


def test_words_that_are_wrong():
    with pytest.raises(ValueError):
        lathe.verify(model(), levels=["most"])
    with pytest.raises(lathe.Error) as e:
        lathe.verify(model(), seconds=1e-9)
    assert e.value.code == "E4202"
