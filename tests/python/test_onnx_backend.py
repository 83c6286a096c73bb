"""The onnx package's own backend suite, run through lathe.backend: what passes and what does not is what docs/reference/scoreboard.md
says."""

import numpy as np
import onnx.backend.test.runner
import onnx.helper as oh
import pytest

import lathe.backend
import scoreboard
import suite_cases
from support import FLOAT, make_model

_cases = scoreboard.python_cases()
_counts, _not_passing = scoreboard.documented()


@pytest.fixture(autouse=True)
def _models_in_a_directory_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNX_HOME", str(tmp_path))
    monkeypatch.delenv("ONNX_MODELS", raising=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case, name", [pytest.param(*c, id=c[1]) for cases in _cases.values() for c in cases])
def test_case(case, name):
    trouble = scoreboard.run_case(case, name)
    if name.removesuffix("_cpu") in _not_passing:
        assert trouble, "it passes: run `python tests/python/scoreboard.py` again"
    elif trouble:
        pytest.fail(trouble, pytrace=False)


@pytest.mark.parametrize("kind", scoreboard.CATEGORIES)
def test_document_counts_the_cases(kind):
    names = {name.removesuffix("_cpu") for _, name in _cases[kind]}
    assert names, "no cases"
    assert _counts[kind][0] == (len(names - _not_passing), len(names))


def test_cases_not_passing_are_cases():
    assert _not_passing <= {name.removesuffix("_cpu") for cases in _cases.values() for _, name in cases}


def test_a_scalar_in_a_sequence_never_passes():
    """The expected results of test_loop16_seq_none are not similar even to themselves."""
    _, expected = suite_cases.all_cases()["test_loop16_seq_none"].sets[0]
    with pytest.raises(TypeError):
        onnx.backend.test.runner.Runner.assert_similar_outputs(expected, expected, 1e-3, 1e-7)


def test_exclusions_are_the_cases_that_nobody_can_meet():
    assert set(scoreboard.EXCLUSIONS) == {"test_bernoulli" + s for s in ("", "_double", "_seed", "_expanded", "_double_expanded", "_seed_expanded")}


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
