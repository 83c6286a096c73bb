import numpy as np
import onnx
import onnx.helper as oh
import pytest

from support import FLOAT, make_model


@pytest.fixture
def linear():
    """y = x @ w + b: x is [batch, 3], w [3, 4]."""
    w = np.arange(12, dtype=np.float32).reshape(3, 4) / 10
    b = np.full(4, -0.5, np.float32)
    model = make_model(
        [oh.make_node("MatMul", ["x", "w"], ["product"]), oh.make_node("Add", ["product", "b"], ["y"])],
        [("x", FLOAT, ["batch", 3])],
        [("y", FLOAT, ["batch", 4])],
        [onnx.numpy_helper.from_array(w, "w"), onnx.numpy_helper.from_array(b, "b")],
    )
    return model, lambda x: x @ w + b
