"""Exports from Python: what the library brings, and architectures and configurations that a user derives."""

import json
import pathlib
import struct

import numpy as np
import pytest

import lathe
from lathe import exporters, nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/data/exporter"


def write_checkpoint(to, config, tensors):
    to.mkdir()
    (to / "config.json").write_text(json.dumps(config))
    header, data = {}, b""
    for name, a in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(a.shape), "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.astype(np.float32).tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (to / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_export(tmp_path):
    report = exporters.export(FIXTURES / "bert", tmp_path / "out", reference=FIXTURES / "bert/model.io-0.safetensors", threads=1)
    assert report["task"] == "feature-extraction" and report["opset"] == 18
    assert set(report["files"]) == {"config.json", "model.onnx"}
    assert len(report["validation"]["model.onnx"]["runs"]) == 6
    assert report["recorded"]["outputs"]["last_hidden_state"]["engine_ulps"] < 100
    engine = lathe.build(tmp_path / "out/model.onnx", threads=1)
    ids = np.ones((2, 3), np.int64)
    assert engine.run({"input_ids": ids, "attention_mask": ids, "token_type_ids": ids})["last_hidden_state"].shape == (2, 3, 16)


def test_options(tmp_path):
    report = exporters.main_export(
        FIXTURES / "bert_classes", tmp_path / "out", task="sequence-classification", dtype="fp16", opset=20, optimize="O1",
        no_dynamic_axes=True, batch_size=3, sequence_length=4, engine=True, do_validation=False, threads=1,
    )
    assert report["task"] == "text-classification" and not report["validation"]
    (logits,) = lathe.load(tmp_path / "out/model.lathe").outputs
    assert logits.name == "logits" and logits.shape[0] == 3


def test_errors(tmp_path):
    with pytest.raises(lathe.Error, match="near to it: fill-mask"):
        exporters.export(FIXTURES / "bert", tmp_path / "out", task="fil-mask")
    with pytest.raises(lathe.Error, match="it does feature-extraction"):
        exporters.export(FIXTURES / "bert", tmp_path / "out", task="text-generation")
    with pytest.raises(lathe.Error, match="the name of a size"):
        exporters.export(FIXTURES / "bert", tmp_path / "out", batch=3)
    assert not (tmp_path / "out").exists()


def test_tasks():
    tasks = exporters.TasksManager()
    assert "fill-mask" in tasks.get_all_tasks()
    assert tasks.map_from_synonym("causal-lm") == "text-generation"
    assert "roberta" in tasks.model_types()
    assert "fill-mask" in tasks.get_supported_tasks_for_model_type("bert")
    assert "bert" in tasks.get_supported_model_type_for_task("fill-mask")
    assert tasks.infer_task_from_model(FIXTURES / "bert_fill_mask") == "fill-mask"
    with pytest.raises(lathe.Error, match="bert"):
        tasks.get_supported_tasks_for_model_type("berd")


class BagOnnxConfig(exporters.TextEncoderOnnxConfig):
    NORMALIZED_CONFIG = {"vocab_size": "words"}
    ATOL_FOR_VALIDATION = 1e-4
    DUMMY_INPUTS = ["scale"]

    @property
    def inputs(self):
        return {"input_ids": {0: "batch_size", 1: "sequence_length"}, "scale": {0: "batch_size"}}

    @property
    def values_override(self):
        return {"exported": True}

    def make_dummy_input(self, name, batch_size, sequence_length, seed):
        return np.full((batch_size, 1), 0.5 + seed, np.float32)


class Bag(exporters.Model):
    def parameters(self):
        return {"embed.weight": (self.config["words"], self.config["size"])}

    def forward(self, network, inputs, weights):
        rows = network.add_gather(weights["embed.weight"], inputs["input_ids"], axis=0)
        return {"logits": network.add_reduce(rows, "avg", [1]) * inputs["scale"]}


def test_an_architecture_and_a_configuration_of_the_users_own(tmp_path):
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    config = {"model_type": "bag", "architectures": ["BagForSequenceClassification"], "words": 4, "size": 2, "pad_token_id": 0}
    write_checkpoint(tmp_path / "bag", config, {"embed.weight": rows})
    tasks = exporters.TasksManager()
    tasks.register("bag", "text-classification")(BagOnnxConfig)
    tasks.register("bag", "text-classification")(Bag)
    report = exporters.export(tmp_path / "bag", tmp_path / "out", tasks=tasks, threads=1)
    assert len(report["validation"]["model.onnx"]["runs"]) == 6
    assert json.loads((tmp_path / "out/config.json").read_text())["exported"] is True
    engine = lathe.build(tmp_path / "out/model.onnx", threads=1)
    got = engine.run({"input_ids": np.array([[0, 3]]), "scale": np.array([[2]], np.float32)})["logits"]
    assert got.tolist() == [[6, 8]]
    with pytest.raises(lathe.Error):
        exporters.export(tmp_path / "bag", tmp_path / "again")  # the library's own manager does not know it


def test_what_a_class_inherits():
    config = {"model_type": "mine", "hidden_size": 8, "num_attention_heads": 2, "depth": 1, "vocab_size": 9}

    class Mine(exporters.TextDecoderWithPositionIdsOnnxConfig):
        NORMALIZED_CONFIG = {"num_layers": "depth"}

        @property
        def outputs(self):
            return super().outputs | {"surprise": {0: "batch_size"}}

    mine = Mine(config, task="text-generation", use_past=True, use_past_in_inputs=True)
    assert list(mine.inputs) == ["input_ids", "attention_mask", "past_key_values.0.key", "past_key_values.0.value", "position_ids"]
    assert mine.inputs["attention_mask"][1] == "past_sequence_length + sequence_length"
    assert list(mine.outputs) == ["logits", "present.0.key", "present.0.value", "surprise"]
    made = mine.generate_dummy_inputs(batch_size=3, sequence_length=4)
    assert made["past_key_values.0.key"].shape == (3, 2, 4, 4) and made["attention_mask"].shape == (3, 8)
    with pytest.raises(lathe.Error, match="inputs"):
        exporters.TextEncoderOnnxConfig(config).inputs


def test_generators_patches_and_orders_of_the_users_own_are_exported(tmp_path):
    """Whole numbers of another type, an input that a generator of one's own makes, and a module that something else stands for."""
    tasks = exporters.TasksManager()

    class Weights(exporters.DummyInputGenerator):
        SUPPORTED_INPUT_NAMES = ("weights",)

        def generate(self, name, int_dtype="int64", float_dtype="float32"):
            return self.random_float_tensor((self.batch_size, self.sequence_length), dtype=float_dtype)

    @tasks.register("bag", "feature-extraction")
    class BagOnnxConfig(exporters.TextEncoderOnnxConfig):
        DUMMY_INPUT_GENERATOR_CLASSES = ("DummyTextInputGenerator", Weights)
        FORWARD_ARGUMENTS = ("weights", "input_ids")

        @property
        def inputs(self):
            text = {0: "batch_size", 1: "sequence_length"}
            return {"input_ids": text, "weights": text}

        @property
        def outputs(self):
            return {"last_hidden_state": {0: "batch_size", 1: "sequence_length"}}

        @property
        def patching_specs(self):
            return {"head": lambda network, x: network.add_unary(x, "neg")}

    @tasks.register("bag", "feature-extraction")
    class Bag(nn.Model):
        def __init__(self, config, task):
            super().__init__()
            self.embed, self.head = nn.Embedding(config["vocab_size"], 4), nn.Linear(4, 4, bias=False)

        def forward(self, network, inputs):
            x = self.embed(inputs["input_ids"])
            weights = network.add_unsqueeze(inputs["weights"], (2,))
            return {"last_hidden_state": self.head(x * weights)}

    (tmp_path / "bag").mkdir()
    config = {"model_type": "bag", "architectures": ["BagModel"], "vocab_size": 11, "hidden_size": 4}
    (tmp_path / "bag" / "config.json").write_text(json.dumps(config))
    embed = np.arange(44, dtype=np.float32).reshape(11, 4)
    lathe.save_safetensors(tmp_path / "bag" / "model.safetensors", {"embed.weight": embed, "head.weight": np.eye(4, dtype=np.float32)})
    for int_dtype in ("int64", "int32", "int8"):
        report = exporters.export(tmp_path / "bag", tmp_path / int_dtype, int_dtype=int_dtype, tasks=tasks, threads=1)
        assert len(report["validation"]["model.onnx"]["runs"]) == 6
        engine = lathe.build(tmp_path / int_dtype / "model.onnx", threads=1)
        assert [(io.name, io.dtype) for io in engine.inputs] == [("weights", "float32"), ("input_ids", int_dtype)]
        ids, weights = np.array([[1, 2]], int_dtype), np.array([[1, 3]], np.float32)
        assert engine.run([weights, ids])["last_hidden_state"].tolist() == [[(-embed[1]).tolist(), (-3 * embed[2]).tolist()]]


@pytest.mark.parametrize("int_dtype", ["int32", "int8"])
@pytest.mark.parametrize("fixture", "roberta_classes mpnet gpt2_past llama_classes t5_past bart_classes mbart_past whisper_past clip donut_past trocr_printed deit_roberta".split())
def test_every_architecture_takes_other_whole_numbers(tmp_path, fixture, int_dtype):
    report = exporters.export(FIXTURES / fixture, tmp_path / "out", int_dtype=int_dtype, threads=1)
    for file, validation in report["validation"].items():
        assert validation["runs"]
        assert {io.dtype for io in lathe.build(tmp_path / "out" / file, threads=1).inputs} <= {int_dtype, "float32", "bool"}


@pytest.mark.parametrize("int_dtype", ["int32", "int8"])
def test_inputs_of_other_whole_numbers(tmp_path, int_dtype):
    wide = exporters.export(FIXTURES / "bert", tmp_path / "wide", threads=1)
    report = exporters.export(FIXTURES / "bert", tmp_path / "narrow", int_dtype=int_dtype, threads=1)
    assert report["validation"]["model.onnx"]["runs"] and report["opset"] == wide["opset"]
    engines = [lathe.build(tmp_path / name / "model.onnx", threads=1) for name in ("wide", "narrow")]
    assert {io.dtype for io in engines[1].inputs} == {int_dtype}
    ids = np.array([[1, 5, 7, 2]])
    answers = [
        engine.run({io.name: (ids if io.name == "input_ids" else np.ones_like(ids) * (io.name == "attention_mask")).astype(io.dtype) for io in engine.inputs})
        for engine in engines
    ]
    for name, value in answers[0].items():
        assert answers[1][name].tobytes() == value.tobytes()
