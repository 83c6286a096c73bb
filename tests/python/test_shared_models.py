"""Models by other people with answers, through Python: every case, stateful ones fed step by step."""

import json

import numpy as np
import pytest

import lathe
from support import SHARED, Tolerance, shared, standard


def _folders():
    root = SHARED / "models"
    found = sorted(p.parent for pattern in ("*/meta.json", "micro/*/meta.json") for p in root.glob(pattern))
    return [pytest.param(p, id=p.name) for p in found if standard(json.loads((p / "meta.json").read_text()))]


def from_json(j):
    kind = j["type"]
    if kind == "none":
        return None
    if kind == "tensor":
        dtype = object if j["dtype"] == "string" else j["dtype"]
        return np.array(j["data"], dtype=dtype).reshape(j["shape"])
    if kind == "sequence":
        return [from_json(item) for item in j["items"]]
    return dict(zip(j["keys"], j["values"]))


def read(path):
    return np.load(path) if path.suffix == ".npy" else from_json(json.loads(path.read_text()))


def same(got, want, tolerance):
    if isinstance(want, list):
        assert len(got) == len(want)
        for a, b in zip(got, want):
            same(a, b, tolerance)
    elif want is None or isinstance(want, dict):
        assert got == want
    elif any(limits := tolerance.of(want.dtype)):
        np.testing.assert_allclose(got, want, rtol=limits[0], atol=limits[1])
        assert got.shape == want.shape
    else:
        np.testing.assert_array_equal(got, want)
        assert got.shape == want.shape


def run_case(engine, folder, meta, case, state):
    inputs = {name: read(folder / path) for name, path in case["inputs"].items()}
    inputs.update(state)
    outputs = engine.run(inputs)
    for name, path in case["outputs"].items():
        same(outputs[name], read(folder / path), Tolerance(meta, folder.name, name))
    return outputs


@pytest.mark.parametrize("folder", _folders())
def test_model(folder):
    meta = json.loads((folder / "meta.json").read_text())
    engine = lathe.build(folder / "model.onnx")
    cases, done = {c["id"]: c for c in meta["cases"]}, set()
    for sequence in meta.get("sequences", ()):
        state = {}
        for case in sequence["cases"]:
            outputs = run_case(engine, folder, meta, cases[case], state)
            state = {into: outputs[out] for out, into in sequence["feedback"].items()}
            done.add(case)
    for case in cases.values():
        if case["id"] not in done:
            run_case(engine, folder, meta, case, {})


def test_the_models_are_there():
    shared("models", "mnist_8", "model.onnx")
    assert len(_folders()) > 700
