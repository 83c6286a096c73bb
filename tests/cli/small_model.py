"""A small model that the answers are known of."""

import numpy as np
import onnx
import onnx.helper as oh

FLOAT = onnx.TensorProto.FLOAT


def small_model():
    """y = relu(x @ w + b): x is [batch, 3]."""
    w = np.arange(12, dtype=np.float32).reshape(3, 4) / 10
    graph = oh.make_graph(
        [
            oh.make_node("MatMul", ["x", "w"], ["product"], name="multiply"),
            oh.make_node("Add", ["product", "b"], ["sum"], name="shift"),
            oh.make_node("Relu", ["sum"], ["y"], name="clip"),
        ],
        "small",
        [oh.make_tensor_value_info("x", FLOAT, ["batch", 3])],
        [oh.make_tensor_value_info("y", FLOAT, ["batch", 4])],
        [onnx.numpy_helper.from_array(w, "w"), onnx.numpy_helper.from_array(np.full(4, -0.5, np.float32), "b")],
    )
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8)


def small_answer(x):
    w = np.arange(12, dtype=np.float32).reshape(3, 4) / 10
    return np.maximum(x @ w - 0.5, 0)
