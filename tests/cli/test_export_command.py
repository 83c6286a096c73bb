"""`lathe export`: a small BERT becomes files that were run."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import onnx
import pytest

from conftest import ROOT, read_safetensors, write_safetensors

FIXTURES = ROOT / "tests/data/exporter"


def opset_of(model):
    return next(o.version for o in model.opset_import if not o.domain)


def shape_of(value):
    return [d.dim_value or d.dim_param for d in value.type.tensor_type.shape.dim]


def changed_copy(fixture, to, **values):
    """The checkpoint with other values in config.json; None takes one out."""
    to.mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copy(FIXTURES / fixture / name, to / name)
    config = json.loads((to / "config.json").read_text()) | values
    (to / "config.json").write_text(json.dumps({k: v for k, v in config.items() if v is not None}))
    return to


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


def test_weights_that_are_not_used_or_not_tied_are_named(lathe, place):
    changed_copy("bert_fill_mask", place / "own")
    weights = read_safetensors(place / "own/model.safetensors")
    bias = weights["cls.predictions.bias"]
    weights["cls.predictions.decoder.bias"] = bias + np.float32(1)
    weights["cls.predictions.decoder.weight"] = weights["bert.embeddings.word_embeddings.weight"][::-1]
    weights["somebody.else"] = bias
    write_safetensors(place / "own/model.safetensors", weights)
    done = lathe("export", "own", "-o", "named")
    assert done.returncode == 0, done.stderr
    assert "warning: not used: cls.predictions.bias, somebody.else\n" in done.stdout
    assert "warning: not tied, as the checkpoint has weights of their own: cls.predictions.decoder.weight\n" in done.stdout
    done = lathe("export", "own", "-o", "again", "--json")
    assert done.json["unexpected"] == ["cls.predictions.bias", "somebody.else"]
    assert done.json["untied"] == ["cls.predictions.decoder.weight"]


def test_numbers_that_no_model_has_are_refused_first(lathe, place):
    changed_copy("gpt2_past", place / "deep", n_layer=2**31)
    done = lathe("export", "deep", "-o", "none")
    assert done.returncode == 2 and "'n_layer' from 0 to 4096, got 2147483648" in done.stderr
    assert not (place / "none").exists()


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


@pytest.mark.parametrize("level", ["O1", "O2", "O3"])
@pytest.mark.parametrize("fixture", ["bert_classes", "t5_past"])
def test_optimized_files_are_of_the_opset_that_is_told(lathe, place, fixture, level):
    found = {}
    for name, asked in (("usual", ()), ("asked", ("--opset", "18"))):
        done = lathe("export", FIXTURES / fixture, "-o", name, "--optimize", level, *asked, "--validation-seconds", "5", "--json")
        assert done.returncode == 0, done.stderr
        models = [onnx.load(f) for f in sorted((place / name).glob("*.onnx"))]
        assert len(models) == (4 if fixture == "t5_past" else 1)
        assert {opset_of(m) for m in models} == {done.json["opset"]}
        for m in models:
            onnx.checker.check_model(m, full_check=True)
        found[name] = {n.op_type for m in models for n in m.graph.node}
        if asked or level == "O1":
            assert done.json["opset"] == 18
    newer = {"Attention", "RMSNormalization", "Gelu"}
    assert bool(found["usual"] & newer) == (level != "O1")
    assert not found["asked"] & newer


def test_one_file_or_decoders_that_are_not_merged(lathe, place):
    done = lathe("export", FIXTURES / "t5_past", "-o", "whole", "--monolith", "--validation-seconds", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert done.json["task"] == "text2text-generation"
    assert sorted(os.listdir(place / "whole")) == ["config.json", "model.onnx"]
    both = lathe("export", FIXTURES / "t5_past", "-o", "both", "--monolith", "--task", "text2text-generation-with-past")
    assert both.returncode == 2 and "--monolith" in both.stderr
    apart = lathe("export", FIXTURES / "t5_past", "-o", "apart", "--no-post-process", "--no-validation")
    assert apart.returncode == 0, apart.stderr
    assert sorted(f.stem for f in (place / "apart").glob("*.onnx")) == ["decoder_model", "decoder_with_past_model", "encoder_model"]
    assert not (place / "both").exists()


def test_a_legacy_decoder_is_two_files(lathe, place):
    done = lathe("export", FIXTURES / "gpt2_past", "-o", "out", "--legacy", "--validation-seconds", "1")
    assert done.returncode == 0, done.stderr
    assert sorted(f.stem for f in (place / "out").glob("*.onnx")) == ["decoder_model", "decoder_with_past_model"]
    first, second = (onnx.load(place / f"out/decoder_{name}model.onnx") for name in ("", "with_past_"))
    assert not any("past" in i.name for i in first.graph.input)
    assert any("past" in i.name for i in second.graph.input)


def test_bfloat16(lathe, place):
    done = lathe("export", FIXTURES / "bert_classes", "-o", "out", "--dtype", "bf16", "--json")
    assert done.returncode == 0, done.stderr
    model = onnx.load(place / "out/model.onnx")
    assert model.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16
    assert {w.data_type for w in model.graph.initializer} >= {onnx.TensorProto.BFLOAT16}
    assert onnx.TensorProto.FLOAT not in {w.data_type for w in model.graph.initializer if len(w.dims) == 2}


def test_a_difference_is_told_or_refused(lathe, place):
    """Halves differ by more than the configuration's tolerance: told; and by more than was asked for: refused."""
    arguments = ("export", FIXTURES / "bert_classes", "-o", "out", "--dtype", "bf16", "--json")
    done = lathe(*arguments)
    assert any(run["beyond_atol"] for run in done.json["validation"]["model.onnx"]["runs"])
    assert "more than the config's atol" in lathe(*arguments[:-1]).stdout
    wide = lathe(*arguments, "--atol", "1")
    assert wide.returncode == 0
    assert not any(run["beyond_atol"] for run in wide.json["validation"]["model.onnx"]["runs"])
    shutil.rmtree(place / "out")
    narrow = lathe(*arguments, "--atol", "1e-6")
    assert narrow.returncode == 1
    assert narrow.json["error"]["code"] == "E4102" and "--atol" in narrow.json["error"]["remedy"]
    assert "1e-06" in narrow.json["error"]["expected"]
    assert not (place / "out").exists()


def test_the_padding_token_of_a_classifier(lathe, place):
    changed_copy("gpt2_classes", place / "unsaid", pad_token_id=None)
    done = lathe("export", "unsaid", "-o", "out")
    assert done.returncode == 2 and "--pad-token-id" in done.stderr
    assert not (place / "out").exists()
    said = lathe("export", "unsaid", "-o", "out", "--pad-token-id", "5", "--validation-seconds", "2")
    assert said.returncode == 0, said.stderr
    assert json.loads((place / "out/config.json").read_text())["pad_token_id"] == 5
    constants = [onnx.numpy_helper.to_array(w) for w in onnx.load(place / "out/model.onnx").graph.initializer]
    assert any(c.size == 1 and c.dtype == "int64" and c.item() == 5 for c in constants)


@pytest.mark.parametrize(
    ("fixture", "arguments", "name", "shape"),
    [
        ("bert_choices", ("--num-choices", "3"), "input_ids", [2, 3, 16]),
        ("bert", ("--batch-size", "5", "--sequence-length", "7"), "attention_mask", [5, 7]),
        ("resnet", ("--height", "40", "--width", "56"), "pixel_values", [2, 3, 40, 56]),
    ],
)
def test_sizes_of_made_up_inputs(lathe, place, fixture, arguments, name, shape):
    done = lathe("export", FIXTURES / fixture, "-o", "out", "--no-dynamic-axes", *arguments, "--validation-seconds", "2")
    assert done.returncode == 0, done.stderr
    assert {i.name: shape_of(i) for i in onnx.load(place / "out/model.onnx").graph.input}[name] == shape


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("absent", "-o", "out"), 2, "E1001"),
        (("org/absent", "-o", "out"), 2, "nothing is downloaded"),
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


def hold_up(command, folder):
    """Stops a command for more than a second when it writes the weights."""
    while command.poll() is None and not list(folder.rglob("model.onnx")):
        time.sleep(0.001)
    command.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    command.send_signal(signal.SIGCONT)


def all_shown(terminal):
    shown = b""
    try:
        while more := os.read(terminal, 1 << 16):
            shown += more
    except OSError:  # how Linux tells that nobody writes any more
        pass
    os.close(terminal)
    return shown


def test_a_bar_on_a_terminal_shows_the_bytes(binary, place):
    """For a second it says nothing: the command is held up when the weights are written. It may be done with them before
    that; then it shows nothing, and is tried again."""
    for attempt in range(10):
        folder = place / f"made{attempt}"
        folder.mkdir()
        ours, theirs = pty.openpty()
        arguments = [str(binary), "export", "checkpoint", "-o", f"{folder.name}/out", "--batch-size", "64"]
        command = subprocess.Popen(arguments, cwd=place, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        hold_up(command, folder)
        shown = all_shown(ours)
        assert command.wait(60) == 0
        if shown:
            break
    assert re.search(rb"lathe: exporting checkpoint: (?:writing|validating) model\.onnx, ([0-9.]+ [KMG]?i?B) of \1 100 %", shown), shown
    assert shown.endswith(b"\r\033[K")
