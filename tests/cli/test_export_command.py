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
    assert "E1204" in done.stderr and not (place / "out").exists()


def test_a_missing_shard(lathe, place):
    folder = place / "checkpoint"
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    shards = {"a.weight": "model-00001-of-00002.safetensors", "b.weight": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    done = lathe("export", "checkpoint", "-o", "out")
    assert done.returncode == 2 and "E1001" in done.stderr
    assert "model-00002-of-00002.safetensors" in done.stderr
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("hidden_act", "gelu_neww", "near to it: 'gelu_new'"),
        ("position_embedding_type", "relativ_key", "near to it: 'relative_key'"),
        ("num_hidden_layers", "two", "num_hidden_layers"),
        ("hidden_size", None, "hidden_size"),
    ],
)
def test_config_values_that_are_not_known(lathe, place, key, value, says):
    file = place / "checkpoint/config.json"
    config = json.loads(file.read_text()) | {key: value}
    file.write_text(json.dumps(config))
    done = lathe("export", "checkpoint", "-o", "out")
    assert done.returncode == 2 and "E6001" in done.stderr
    assert says in done.stderr, done.stderr
    assert not (place / "out").exists()


def test_large_weights_are_not_run_unless_asked(lathe, place):
    done = lathe("export", "checkpoint", "-o", "out", "--validation-memory", "0.00001")
    assert done.returncode == 0, done.stderr
    assert "not run" in done.stdout and "--validation-memory" in done.stdout
    assert lathe("check", "out/model.onnx").returncode == 0


def test_what_was_there_is_replaced_and_the_rest_kept(lathe, place):
    (place / "out").mkdir()
    (place / "out/model.onnx").write_text("old")
    (place / "out/notes.txt").write_text("mine")
    assert lathe("export", "checkpoint", "-o", "out", "--validation-seconds", "1").returncode == 0
    assert sorted(os.listdir(place / "out")) == ["config.json", "model.onnx", "notes.txt"]
    assert lathe("check", "out/model.onnx").returncode == 0
