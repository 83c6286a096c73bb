"""Models by other people with answers, through Python: every case, stateful ones fed step by step."""

import json
import subprocess

import numpy as np
import pytest

import lathe
from lathe.compat import onnxruntime
from support import SHARED, WAITING, Tolerance, built_tool, model_folders, shared

FOLDERS = model_folders()


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
    elif isinstance(want, dict):
        assert list(got) == list(want)
        same(np.array(list(got.values()), np.float32), np.array(list(want.values()), np.float32), tolerance)
    elif want is None:
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


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
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


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_model_through_compat(folder):
    """Programs written for ONNX Runtime; what is not a plain tensor they give in other forms."""
    meta = json.loads((folder / "meta.json").read_text())
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    for case in meta["cases"]:
        if not all(f.endswith(".npy") for f in {**case["inputs"], **case["outputs"]}.values()):
            continue
        outputs = session.run(list(case["outputs"]), {name: read(folder / path) for name, path in case["inputs"].items()})
        for (name, path), got in zip(case["outputs"].items(), outputs):
            same(got, read(folder / path), Tolerance(meta, folder.name, name))


OTHER_DOMAINS = [f for f in FOLDERS if any("::" in op for op in json.loads((f / "meta.json").read_text())["ops"])]


@pytest.mark.parametrize("folder", OTHER_DOMAINS, ids=lambda f: f.name)
def test_model_through_the_command(folder, tmp_path):
    meta = json.loads((folder / "meta.json").read_text())
    for case in meta["cases"]:
        given = [word for name, path in case["inputs"].items() for word in ("--input", f"{name}={folder / path}")]
        command = [built_tool("lathe", "cli"), "run", folder / "model.onnx", *given, "--output-dir", tmp_path]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran.stderr
        for name, path in case["outputs"].items():
            stem = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
            (written,) = (f for f in (tmp_path / f"{stem}.npy", tmp_path / f"{stem}.json") if f.exists())
            same(read(written), read(folder / path), Tolerance(meta, folder.name, name))


@pytest.mark.parametrize("name, operator", WAITING.items())
def test_what_waits_says_for_what(name, operator):
    folders = [f for f in (SHARED / "models" / name, SHARED / "models" / "micro" / name) if f.exists()]
    with pytest.raises(lathe.Error, match=f"'{operator.rsplit('.', 1)[1]}'") as e:
        lathe.build(shared(folders[0] if folders else name) / "model.onnx")
    assert e.value.code == "E2301"


def test_the_models_are_there():
    shared("models", "mnist_8", "model.onnx")
    assert len(FOLDERS) > 700
