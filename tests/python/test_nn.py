"""lathe.nn: modules, parameters, binding, building, refitting, architectures and exports of one's own."""

import gc
import json
import re

import numpy as np
import onnx
import onnxruntime
import pytest

import lathe
from lathe import exporters, nn
from support import ROOT

RNG = np.random.default_rng(5)


def fill(module):
    for name, parameter in module.named_parameters().items():
        value = RNG.standard_normal(parameter.shape).astype(np.float32)
        parameter.value = np.abs(value) + 0.5 if name.endswith("running_var") else value
    return module


def same_bits(a, b):
    return a.shape == b.shape and a.tobytes() == b.tobytes()


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.proj = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.proj(nn.gelu(self.fc(x)))


class GptLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.attention, self.mlp = nn.RmsNorm(4), nn.Attention(4, 2, causal=True), FeedForward()

    def forward(self, x):
        return x + self.mlp(self.attention(self.norm(x))[0])


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.layers = [GptLayer() for _ in range(2)]
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def gpt_network(gpt):
    return nn.build_network(gpt, {"ids": ("int64", ("N", "L"))}, outputs=["logits"], name="gpt")


def test_bound_layer_by_layer_built_run_refitted_and_run_again(tmp_path):
    gpt = Gpt()
    assert "embed.weight" in gpt.named_parameters() and gpt.aliases() == {"embed.weight": ["head.weight"]}
    one, other = (
        {name: RNG.standard_normal(p.shape).astype(np.float32) for name, p in gpt.named_parameters().items()} for _ in "ab"
    )
    lathe.save_safetensors(tmp_path / "one.safetensors", one)
    lathe.save_safetensors(tmp_path / "other.safetensors", other)
    for name, value in one.items():
        np.save(tmp_path / f"{name}.npy", value)
    for i, layer in enumerate(gpt.layers):
        layer.mlp.fc.weight.value = lathe.from_file(tmp_path / f"layers.{i}.mlp.fc.weight.npy")
        layer.mlp.fc.bias.value = one[f"layers.{i}.mlp.fc.bias"]
        for name in ("mlp.proj", "attention.q_proj", "attention.k_proj", "attention.v_proj", "attention.out_proj"):
            for kind in ("weight", "bias"):
                gpt.parameter(f"layers.{i}.{name}.{kind}").value = one[f"layers.{i}.{name}.{kind}"]
    with pytest.raises(lathe.Error, match=r"3 without: 'embed.weight', 'layers.0.norm.weight', 'layers.1.norm.weight'"):
        gpt_network(gpt)
    for name in gpt.unbound():
        gpt.parameter(name).value = one[name]

    config = lathe.BuilderConfig(refit=True, threads=1)
    engine = lathe.Builder().build_engine(gpt_network(gpt), config)
    context, ids = engine.create_context(), {"ids": np.array([[1, 2, 3], [9, 0, 4]])}
    first = np.array(context.run(ids)["logits"])
    refitter = lathe.Refitter(engine)
    assert set(gpt.named_parameters()) <= set(refitter.all())
    assert refitter.set_named_weights(lathe.Checkpoint(tmp_path / "other.safetensors")) == []
    assert not set(gpt.named_parameters()) & set(refitter.missing())
    refitter.refit()
    second = np.array(context.run(ids)["logits"])
    assert not same_bits(first, second)
    anew = Gpt()
    assert anew.bind(tmp_path / "other.safetensors")["bound"] == len(other)
    assert same_bits(second, lathe.Builder().build_engine(gpt_network(anew), config).run(ids)["logits"])
    lathe.Builder().refit_engine(engine, lathe.Checkpoint(tmp_path / "one.safetensors"))
    assert same_bits(first, np.array(context.run(ids)["logits"]))


def test_parameters_say_what_does_not_fit(tmp_path):
    gpt = Gpt()
    fc = gpt.layers[1].mlp.fc
    with pytest.raises(lathe.Error, match=r"expected float32\[8, 4\], got float32\[4, 8\]"):
        fc.weight.value = np.zeros((4, 8), np.float32)
    with pytest.raises(lathe.Error, match="float64"):
        fc.weight.value = np.zeros((8, 4))
    assert not fc.weight.bound and fc.weight.dtype == "float32" and fc.weight.shape == (8, 4)
    with pytest.raises(lathe.Error):
        fc.weight.value
    weight = np.ones((8, 4), np.float32)
    fc.weight.value = weight
    assert np.shares_memory(fc.weight.value, weight) and repr(fc.weight).endswith("float32[8, 4]>")
    fc.bias.value = [0] * 8
    fc.bias.reset()
    assert not fc.bias.bound
    with pytest.raises(lathe.Error, match="layers.1.mlp.fc.bias"):
        gpt.parameter("layers.1.mlp.fc.bis")
    with pytest.raises(AttributeError):
        fc.wieght
    with pytest.raises(AttributeError):
        fc.wieght = nn.Parameter("float32", (8, 4))
    for module, name in ((fc, "weight"), (nn.Mlp(4, 8), "fc1"), (Heads(), "factor")):  # what one writes by mistake
        with pytest.raises(TypeError, match=".value"):
            setattr(module, name, np.zeros((8, 4), np.float32))
    assert list(gpt.named_modules())[:3] == ["", "embed", "layers.0"]
    assert gpt.named_modules()["layers.1"] is gpt.layers[1] and gpt.named_modules()[""] is gpt
    fc.weight.dtype = "float16"
    assert not fc.weight.bound
    lathe.save_safetensors(tmp_path / "some.safetensors", {"embed.weight": np.zeros((10, 4), np.float32), "step": np.zeros(1)})
    report = gpt.bind(tmp_path / "some.safetensors", allow_missing=True)
    assert report["bound"] == 1 and report["unexpected"] == ["step"] and "layers.0.norm.weight" in report["missing"]
    with pytest.raises(lathe.Error, match="missing: 'layers.0.norm.weight'"):
        gpt.bind(tmp_path / "some.safetensors")
    assert gpt.to("float16").embed.weight.dtype == "float16"


def test_modules_live_and_die_as_python_objects_do():
    norm = nn.Mlp(4, 8).fc1  # what it is a part of is nobody's any more
    gc.collect()
    assert norm.weight.shape == (8, 4)
    native = FeedForward()._native
    gc.collect()
    assert native.named_parameters() == []
    layers = nn.ModelRegistry().make(json.loads((ROOT / "tests/data/exporter/bert/config.json").read_text()), "fill-mask").bert
    gc.collect()
    assert layers.encoder.layer[0].output.dense.weight.shape and len(layers.encoder.layer) >= 1


CALLS = {
    "Activation": (lambda: nn.Activation("gelu_new"), [(2, 3)]),
    "Attention": (lambda: nn.Attention(8, 4, groups=2, causal=True, window=2, rope={"theta": 100.0}), [(2, 3, 8)]),
    "AvgPool": (lambda: nn.AvgPool(3, stride=2, padding=1), [(2, 2, 7)]),
    "BatchNorm": (lambda: nn.BatchNorm(3), [(2, 3, 4)]),
    "Cast": (lambda: nn.Cast("float64"), [(2, 3)]),
    "Conv1d": (lambda: nn.Conv1d(2, 4, 3, padding=1), [(2, 2, 5)]),
    "Conv2d": (lambda: nn.Conv2d(4, 4, (3, 1), groups=2), [(2, 4, 5, 5)]),
    "Conv3d": (lambda: nn.Conv3d(1, 2, 2, bias=False), [(1, 1, 3, 4, 4)]),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(2, 3, 3, stride=2, output_padding=1, padding=1), [(1, 2, 3, 3)]),
    "Embedding": (lambda: nn.Embedding(7, 4), [np.array([[0, 6], [3, 3]])]),
    "GatedMlp": (lambda: nn.GatedMlp(4, 6), [(2, 4)]),
    "GlobalAvgPool": (lambda: nn.GlobalAvgPool(), [(2, 3, 4, 5)]),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), [(2, 4, 3)]),
    "Gru": (lambda: nn.Gru(3, 2), [(4, 2, 3), (1, 2, 2)]),
    "LayerNorm": (lambda: nn.LayerNorm((3, 4)), [(2, 3, 4)]),
    "Linear": (lambda: nn.Linear(4, 3, transposed=True), [(2, 4)]),
    "Lora": (lambda: nn.Lora(nn.Linear(4, 3), 2, 4), [(2, 4)]),
    "Lstm": (lambda: nn.Lstm(3, 2, layers=2, bidirectional=True, batch_first=True), [(2, 4, 3)]),
    "MaxPool": (lambda: nn.MaxPool((2, 2)), [(1, 2, 4, 6)]),
    "Mlp": (lambda: nn.Mlp(4, 6, activation="silu"), [(2, 4)]),
    "RmsNorm": (lambda: nn.RmsNorm(4, plus_one=True), [(2, 4)]),
}


class Rotated(nn.Module):
    """A Rope by itself."""

    def __init__(self):
        super().__init__()
        self.rope = nn.Rope(8, partial=0.5, interleaved=True)

    def forward(self, x, positions):
        return self.rope(x, self.rope.angles(positions))


class Heads(nn.Module):
    """The functions that Attention consists of."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter("float32", (8, 2))
        self.factor = nn.Parameter("float32", (8,))

    def forward(self, x, padding):
        length = self.op("Shape", x, start=1, end=2)
        mask = nn.attention_mask(self, length, length, padding=padding, causal=True, window=2)
        bias = nn.relative_bias(self, self.bias, length, length, buckets=8, max_distance=16)
        bias = bias + nn.alibi_bias(self, 2, length, queries=length)
        q = nn.split_heads(self, x, 2)
        y = nn.attend(self, q, q, q, mask=mask + bias, scale=0.3, softcap=4)
        return nn.activate(self, "tanh", self.op("Mul", nn.merge_heads(self, y), self.factor))


CALLS["Rope"] = (Rotated, [(2, 2, 3, 8), np.array([[0, 1, 2], [5, 6, 7]])])
CALLS["functions"] = (Heads, [(2, 3, 8), np.array([[1, 1, 1], [1, 1, 0]])])


@pytest.mark.parametrize("name", CALLS)
def test_every_layer_computes_the_same_in_other_runtimes(name, tmp_path):
    make, inputs = CALLS[name]
    module = fill(make())
    arrays = [x if isinstance(x, np.ndarray) else RNG.standard_normal(x).astype(np.float32) for x in inputs]
    specs = {f"x{i}": (a.dtype, a.shape) for i, a in enumerate(arrays)}
    network = nn.build_network(module, specs)
    given = dict(zip(specs, arrays))
    ours = lathe.Builder().build_engine(network, lathe.BuilderConfig(threads=1)).run(given)
    network.save(tmp_path / "m.onnx", opset=18)
    onnx.checker.check_model(onnx.load(tmp_path / "m.onnx"), full_check=True)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    assert ours and [o.name for o in session.get_outputs()] == list(ours)
    for (output, got), want in zip(ours.items(), session.run(None, given)):
        assert got.dtype == want.dtype and got.shape == want.shape, output
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5, err_msg=output)


def test_every_layer_of_the_library_is_here():
    declared = set()
    for header in ("layers", "attention"):
        text = (ROOT / f"include/lathe/nn/{header}.h").read_text()
        declared |= set(re.findall(r"class LATHE_API (\w+) : public Module", text))
        declared |= set(re.findall(r"class LATHE_API (\w+) : public Recurrent", text))
        declared |= set(re.findall(r"using (\w+) = Conv<", text))
    declared -= {"Conv", "Recurrent"}
    assert declared == set(CALLS) - {"functions"} and declared < set(nn.__all__)


def test_emission_names_and_substitutes():
    gpt = fill(Gpt())
    network = lathe.Network()
    ids = network.add_input("ids", "int64", ("N", "L"))
    with nn.Emission(network, gpt, prefix="text.", substitutes={"text.layers.*.mlp": lambda net, x: net.add_identity(x)}):
        network.mark_output(gpt(ids), "logits")
    assert network.find_layer("/text/layers.1/norm/Mul") is not None or network.find_tensor("text.layers.1.norm.weight") is not None
    assert network.find_tensor("text.embed.weight") is not None


class Doubler(nn.Model):
    base_prefix = "body."
    other_parts = [("body.", "stack.")]

    def __init__(self, config, task):
        super().__init__()
        self.body = [nn.Linear(config["hidden_size"], config["hidden_size"], bias=False) for _ in range(config["layers"])]

    def forward(self, network, inputs):
        x = network.add_cast(inputs["input_ids"], "float32")
        for layer in self.body:
            x = nn.relu(layer(x * inputs["factor"]))
        return {"last_hidden_state": x}


def test_ties_give_way_to_the_file_and_what_is_not_taken_is_named(tmp_path):
    def bound(name, **weights):
        net = nn.Mlp(2, 2, bias=False)
        net.fc2.weight = net.fc1.weight
        lathe.save_safetensors(tmp_path / name, {k.replace("_", "."): np.full((2, 2), v, np.float32) for k, v in weights.items()})
        return net, net.bind(tmp_path / name, other_parts={"fc": "layers."})

    net, report = bound("same", fc1_weight=1, fc2_weight=1)
    assert report["untied"] == report["unexpected"] == [] and net.fc1.weight == net.fc2.weight
    net, report = bound("own", fc1_weight=1, fc2_weight=2)
    assert report["untied"] == ["fc2.weight"] and report["unexpected"] == [] and report["bound"] == 2
    assert net.fc1.weight.value[0, 0] == 1 and net.fc2.weight.value[0, 0] == 2
    net, report = bound("other", layers_1_weight=3)
    assert report["bound"] == 1 and net.fc2.weight.value[0, 0] == 3
    net, report = bound("both", fc1_weight=1, layers_1_weight=3)
    assert report["unexpected"] == ["layers.1.weight"] and net.fc1.weight.value[0, 0] == 1


CONFIG = {"model_type": "doubler", "hidden_size": 4, "layers": 2}


def test_registries_have_the_librarys_models_and_ones_own(tmp_path):
    registry = nn.ModelRegistry()
    registry.add("doubler", ["feature-extraction"], Doubler)
    assert {"bert", "gpt2", "doubler"} <= set(registry.model_types()) and registry.tasks("doubler") == ["feature-extraction"]
    model = registry.make(CONFIG, "feature-extraction")
    fill(model)
    specs = {"input_ids": ("int64", ("N", 4)), "factor": ("float32", ())}
    engine = lathe.Builder().build_engine(nn.build_network(model, specs))
    x, factor = np.array([[1, -2, 3, 4]]), np.float32(0.5)
    want = x.astype(np.float32)
    for layer in model.body:
        want = np.maximum((want * factor) @ layer.weight.value.T, 0)
    got = engine.run({"input_ids": x, "factor": np.array(factor)})["last_hidden_state"]
    np.testing.assert_allclose(got, want, rtol=1e-5)
    bert = registry.make(ROOT / "tests/data/exporter/bert_fill_mask", "fill-mask")
    assert isinstance(bert, nn.Model) and bert.unbound()
    assert bert.bind(ROOT / "tests/data/exporter/bert_fill_mask")["missing"] == [] == bert.unbound()
    names = ("input_ids", "attention_mask", "token_type_ids")
    network = nn.build_network(bert, {name: ("int64", ("N", "L")) for name in names})
    assert network.outputs[0].name == "logits"
    with pytest.raises(lathe.Error, match="'bert'"):
        registry.make({"model_type": "bret"}, "fill-mask")


def test_an_architecture_of_modules_is_exported(tmp_path):
    tasks = exporters.TasksManager()

    @tasks.register("doubler", "feature-extraction")
    class DoublerOnnxConfig(exporters.TextEncoderOnnxConfig):
        NORMALIZED_CONFIG = {"num_layers": "layers"}

        @property
        def inputs(self):
            return {"input_ids": {0: "batch_size", 1: "sequence_length"}}

    class Doubled(Doubler):
        def forward(self, network, inputs):
            x = network.add_cast(network.add_unsqueeze(inputs["input_ids"], (2,)), "float32")
            x = network.add_expand(x, ("batch_size", "sequence_length", 4))
            for layer in self.body:
                x = nn.relu(layer(x))
            return {"last_hidden_state": x}

    tasks.register("doubler", "feature-extraction")(Doubled)
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    (checkpoint / "config.json").write_text(json.dumps({**CONFIG, "architectures": ["DoublerModel"], "vocab_size": 9}))
    weights = {f"body.{i}.weight": RNG.standard_normal((4, 4)).astype(np.float32) for i in range(2)}
    lathe.save_safetensors(checkpoint / "model.safetensors", weights)
    report = exporters.export(checkpoint, tmp_path / "out", task="feature-extraction", tasks=tasks, threads=1)
    assert report["files"]["model.onnx"] > 0 and report["unexpected"] == []
    x = np.array([[1, 5, 2]])
    want = np.repeat(x[:, :, None], 4, 2).astype(np.float32)
    for weight in weights.values():
        want = np.maximum(want @ weight.T, 0)
    got = lathe.build(tmp_path / "out/model.onnx").run({"input_ids": x})["last_hidden_state"]
    np.testing.assert_allclose(got, want, rtol=1e-4)


def test_checkpoints(tmp_path):
    arrays = {"a.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "steps": np.array([3], np.int64)}
    lathe.save_safetensors(tmp_path / "c.safetensors", arrays, {"format": "pt"})
    checkpoint = lathe.Checkpoint(tmp_path / "c.safetensors")
    assert checkpoint.names() == list(arrays) and checkpoint.format == "safetensors" and "steps" in checkpoint
    assert checkpoint.metadata() == {"format": "pt"} and checkpoint.tied() == [] and "b" not in checkpoint
    for name, value in arrays.items():
        assert same_bits(checkpoint[name], value)
        assert same_bits(np.from_dlpack(lathe.from_file(tmp_path / "c.safetensors", name)), value)
    with pytest.raises(lathe.Error, match="'steps'"):
        checkpoint["step"]
    with pytest.raises(lathe.Error):
        lathe.save_safetensors(tmp_path / "s.safetensors", {"words": np.array(["a"])})
    assert not (tmp_path / "s.safetensors").exists()
