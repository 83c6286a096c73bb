"""Every family of a network's calls: built in Python, run, compared with NumPy; saved, checked, and run by others."""

import numpy as np
import onnx
import onnxruntime
import pytest

import lathe
import network_compute_cases  # noqa: F401  (each enters its cases)
import network_movement_cases  # noqa: F401
import network_option_cases  # noqa: F401
from network_case import CASES


def compare(got, want):
    want = np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype.kind == want.dtype.kind
    np.testing.assert_allclose(
        got, want, rtol=2e-5 if got.dtype.kind == "f" else 0, atol=2e-5 if got.dtype.kind == "f" else 0
    )


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_the_engine_does_what_numpy_does(case):
    outputs = lathe.Builder().build_engine(case.network()).run(case.inputs)
    expected = case.expected()
    assert len(outputs) == len(expected)
    for got, want in zip(outputs.values(), expected):
        compare(got, want)


def layers(network):
    return [(layer.name, layer.kind, layer.operators, layer.dtype) for layer in network.layers]


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_saved_it_is_valid_and_the_same_for_others(case, tmp_path):
    network = case.network()
    network.save(tmp_path / "model.onnx")
    model = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    ours = lathe.Builder().build_engine(network).run(case.inputs)
    again = lathe.build(tmp_path / "model.onnx").run(case.inputs)
    for name, value in ours.items():
        assert again[name].tobytes() == value.tobytes()
    assert layers(lathe.Parser().parse(tmp_path / "model.onnx")) == layers(network)
    if not case.peer:
        return
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    given = {i.name: case.inputs[i.name] for i in session.get_inputs()}
    for name, theirs in zip(ours, session.run(list(ours), given)):
        compare(ours[name], theirs)
