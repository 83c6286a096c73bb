"""States on the command line."""

import numpy as np
import onnx
import pytest

MODEL = """<ir_version: 10, opset_import: ["": 24]> g (float[batch,2,seq,3] x, float[batch,2,past,3] past_key)
  => (float[batch,2,total,3] y, float[batch,2,total,3] present_key) { present_key = Concat<axis = 2>(past_key, x) y = Neg(present_key) }"""


@pytest.fixture
def model(tmp_path):
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.full((1, 2, 1, 3), 2, np.float32))
    np.save(tmp_path / "past.npy", np.full((1, 2, 4, 3), 1, np.float32))
    return tmp_path / "m.onnx"


@pytest.mark.parametrize("states", ["auto", "past_*=present_*"])
def test_a_run_shows_states_after_it(lathe, model, tmp_path, states):
    files = ["--input", f"x={tmp_path}/x.npy", "--input", f"past_key={tmp_path}/past.npy"]
    said = lathe("run", "--states", states, model, *files, "--output-dir", tmp_path / "out", "--json").json
    assert [o["name"] for o in said["outputs"]] == ["y", "present_key"]
    present = np.load(tmp_path / "out" / "present_key.npy")
    assert present.shape == (1, 2, 5, 3) and (present[:, :, :4] == 1).all() and (present[:, :, 4:] == 2).all()


def test_plans_say_which_inputs_are_states(lathe, model, tmp_path):
    assert lathe("build", model, "-o", tmp_path / "m.lathe", "--states=auto", "--state-capacity", 9).returncode == 0
    said = lathe("inspect", tmp_path / "m.lathe", "--json").json
    assert [i["state"] for i in said["inputs"]] == [None, "present_key"]
    shape = ["--shape", "batch=1", "--shape", "seq=1", "--shape", "past=8"]
    assert lathe("bench", tmp_path / "m.lathe", *shape, "--seconds", 0.05, "--json").json["runs"] > 1
    refused = lathe("run", tmp_path / "m.lathe", "--shape", "batch=1", "--shape", "seq=1", "--shape", "past=9")
    assert refused.returncode != 0 and "E4106" in refused.stderr


def test_what_is_no_pair_is_refused(lathe, model):
    refused = lathe("build", model, "--states", "past_key")
    assert refused.returncode != 0 and "--states INPUT=OUTPUT" in refused.stderr
    assert "E3008" in lathe("build", model, "--states", "no=pair").stderr
