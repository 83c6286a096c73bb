"""The onnx package's own backend suite, run through lathe.backend. The categories simple (except training),
real, pytorch-converted and pytorch-operator must pass whole; the node category's score is printed and may not fall."""

import unittest

import numpy as np
import onnx.backend.test
import onnx.helper as oh
import pytest

import lathe.backend
from support import FLOAT, make_model

# Gradient is a training operator (ai.onnx.preview.training).
TRAINING = ("test_gradient_of_add_cpu", "test_gradient_of_add_and_mul_cpu")
NODE_FLOOR = 0.89

WHOLE = (
    "OnnxBackendSimpleModelTest",
    "OnnxBackendRealModelTest",
    "OnnxBackendPyTorchConvertedModelTest",
    "OnnxBackendPyTorchOperatorModelTest",
)
_cases = onnx.backend.test.BackendTest(lathe.backend, __name__).test_cases


def _names(case):
    return [n for n in dir(case) if n.startswith("test_") and n.endswith("_cpu") and n not in TRAINING]


@pytest.fixture(autouse=True)
def _models_in_a_directory_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNX_HOME", str(tmp_path))
    monkeypatch.delenv("ONNX_MODELS", raising=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "case, name", [pytest.param(_cases[c], n, id=n) for c in WHOLE for n in _names(_cases[c])]
)
def test_case(case, name):
    result = unittest.TestResult()
    case(name).run(result)
    for _, trace in result.errors + result.failures:
        pytest.fail(trace, pytrace=False)
    assert not result.skipped
    assert result.testsRun == 1


def test_whole_categories_are_there():
    counts = {name: len(_names(_cases[name])) for name in WHOLE}
    assert all(counts.values()), counts


@pytest.mark.filterwarnings("ignore")
def test_node_score(capfd):
    case = _cases["OnnxBackendNodeModelTest"]
    names, failed = _names(case), []
    for name in names:
        result = unittest.TestResult()
        case(name).run(result)
        if not result.wasSuccessful():
            failed.append(name.removesuffix("_cpu"))
    passed = len(names) - len(failed)
    with capfd.disabled():
        print(f"\nonnx backend suite, node category: {passed} of {len(names)} ({100 * passed / len(names):.1f} %)")
        print("  not passing: " + ", ".join(failed))
    assert passed / len(names) >= NODE_FLOOR


def test_run_node_and_run_model():
    x = np.array([[1, -2], [3, 4]], np.float32)
    (y,) = lathe.backend.run_node(oh.make_node("Relu", ["x"], ["y"]), [x])
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    coerced = oh.make_node("Softmax", ["x"], ["y"])  # opset 9 flattens before the last axis, 13 does not
    (y,) = lathe.backend.run_node(coerced, [x.reshape(1, 2, 2)], opset_version=9)
    np.testing.assert_allclose(y.sum(), 1, rtol=1e-6)
    model = make_model(
        [oh.make_node("Neg", ["x"], ["y"])], [("x", FLOAT, [2, 2])], [("y", FLOAT, [2, 2])]
    )
    outputs = lathe.backend.run_model(model, [x])
    np.testing.assert_array_equal(outputs.y, -x)
    np.testing.assert_array_equal(lathe.backend.prepare(model, threads=1).run({"x": x})["y"], -x)


def test_devices():
    assert lathe.backend.supports_device("CPU") and not lathe.backend.supports_device("CUDA:0")
    with pytest.raises(ValueError):
        lathe.backend.prepare(make_model([], [], []), "CUDA")
