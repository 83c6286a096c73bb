"""`lathe export`: a small BERT becomes files that were run."""

import json
import os

import onnx
import pytest


def test_for_people(lathe, place):
    done = lathe("export", "checkpoint", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "bert for feature-extraction, opset 18" in done.stdout
    assert "6 runs agree with float64" in done.stdout
    assert sorted(os.listdir(place / "out")) == ["config.json", "model.onnx"]
    model = onnx.load(place / "out/model.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [i.name for i in model.graph.input] == ["input_ids", "attention_mask", "token_type_ids"]
    dims = [d.dim_param for d in model.graph.output[0].type.tensor_type.shape.dim]
    assert dims[:2] == ["batch_size", "sequence_length"]


def test_for_programs(lathe):
    done = lathe("export", "checkpoint", "-o", "out", "--reference", "recorded.safetensors", "--engine", "--json")
    assert done.returncode == 0, done.stderr
    assert done.json["task"] == "feature-extraction" and done.json["opset"] == 18
    assert {f["name"] for f in done.json["files"]} == {"config.json", "model.onnx", "model.lathe"}
    assert len(done.json["validation"]["model.onnx"]["runs"]) == 6
    assert done.json["recorded"]["outputs"][0]["engine_ulps"] < 100
    assert lathe("check", "out/model.onnx").returncode == 0


def test_options(lathe, place):
    done = lathe("export", "checkpoint", "-o", "out", "--no-dynamic-axes", "--batch-size", "3", "--sequence-length", "4",
                 "--opset", "20", "--dtype", "fp16", "--optimize", "O1", "--json")
    assert done.returncode == 0, done.stderr
    model = onnx.load(place / "out/model.onnx")
    assert [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim] == [3, 4]
    assert model.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT16


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("absent", "-o", "out"), 2, "E1001"),
        (("checkpoint",), 2, "--output"),
        (("checkpoint", "-o", "out", "--task", "fil-mask"), 2, "near to it: fill-mask"),
        (("checkpoint", "-o", "out", "--task", "text-generation"), 2, "it does feature-extraction"),
        (("checkpoint", "-o", "out", "--optimize", "O4"), 2, "O4"),
        (("checkpoint", "-o", "out", "--dtype", "int8"), 2, "dtype"),
        (("checkpoint", "-o", "out", "--ulps", "0", "--atol", "0"), 1, "units in the last place"),
        (("checkpoint", "-o", "model.onnx"), 2, "E1004"),
    ],
)
def test_faults(lathe, place, arguments, code, says):
    done = lathe("export", *arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert not (place / "out").exists()
    assert not [f for f in os.listdir(place) if f.endswith(".tmp")]


def test_an_unsupported_architecture_names_the_nearest(lathe, place):
    file = place / "checkpoint/config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"model_type": "berd"}))
    done = lathe("export", "checkpoint", "-o", "out", "--json")
    assert done.returncode == 2
    assert "near to it: bert" in done.json["error"]["remedy"]


def test_a_truncated_checkpoint(lathe, place):
    file = place / "checkpoint/model.safetensors"
    file.write_bytes(file.read_bytes()[:-8])
    done = lathe("export", "checkpoint", "-o", "out")
    assert done.returncode == 1 and "model.safetensors" in done.stderr
