"""GGUF files that are exported keep their bits in standard ONNX: ONNX Runtime computes with them what it computes with the
same numbers as floats, and so does Lathe."""
import numpy as np
import pytest

import lathe
from lathe import exporters

gguf = pytest.importorskip("gguf")
onnxruntime = pytest.importorskip("onnxruntime")

SIZE, INNER, WORDS, LAYERS, HEADS, GROUPS = 64, 128, 80, 2, 4, 2


def write_model(path, kind, add=lambda writer: None, words=WORDS):
    """A Llama of random weights; matrices are in blocks of `kind`, which gguf makes. `add` gives it further metadata."""
    random = np.random.default_rng(3)
    w = gguf.GGUFWriter(path, "llama")
    w.add_block_count(LAYERS)
    w.add_context_length(64)
    w.add_embedding_length(SIZE)
    w.add_feed_forward_length(INNER)
    w.add_head_count(HEADS)
    w.add_head_count_kv(GROUPS)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_freq_base(10000.0)
    add(w)

    def matrix(name, rows, columns):
        floats = random.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)
        w.add_tensor(name, gguf.quantize(floats, kind), raw_dtype=kind)

    def norm(name):
        w.add_tensor(name, random.normal(1, 0.1, SIZE).astype(np.float32))

    matrix("token_embd.weight", words, SIZE)
    norm("output_norm.weight")
    for i in range(LAYERS):
        norm(f"blk.{i}.attn_norm.weight")
        norm(f"blk.{i}.ffn_norm.weight")
        matrix(f"blk.{i}.attn_q.weight", SIZE, SIZE)
        matrix(f"blk.{i}.attn_k.weight", SIZE * GROUPS // HEADS, SIZE)
        matrix(f"blk.{i}.attn_v.weight", SIZE * GROUPS // HEADS, SIZE)
        matrix(f"blk.{i}.attn_output.weight", SIZE, SIZE)
        matrix(f"blk.{i}.ffn_gate.weight", INNER, SIZE)
        matrix(f"blk.{i}.ffn_up.weight", INNER, SIZE)
        matrix(f"blk.{i}.ffn_down.weight", SIZE, INNER)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"])
def test_bits_in_onnx_runtime(tmp_path, kind):
    write_model(tmp_path / "m.gguf", gguf.GGMLQuantizationType[kind])
    made = {}
    for name, options in {"bits": {}, "floats": {"widen_weights": True}}.items():
        report = exporters.export(tmp_path / "m.gguf", tmp_path / name, "text-generation-with-past", **options)
        assert report["task"] == "text-generation-with-past" and report["opset"] == (21 if name == "bits" else 18)
        made[name] = tmp_path / name / "model.onnx"
    assert made["bits"].stat().st_size < made["floats"].stat().st_size * 0.6
    length = 7
    feeds = {
        "input_ids": (np.arange(2 * length).reshape(2, length) * 5 + 1) % WORDS,
        "attention_mask": np.ones((2, length), np.int64),
        "position_ids": np.tile(np.arange(length), (2, 1)),
    }
    for i in range(LAYERS):
        for side in ("key", "value"):
            feeds[f"past_key_values.{i}.{side}"] = np.zeros((2, GROUPS, 0, SIZE // HEADS), np.float32)
    session = {name: onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]) for name, path in made.items()}
    feeds = {i.name: feeds[i.name] for i in session["bits"].get_inputs()}
    want = session["floats"].run(["logits"], feeds)[0]
    assert np.isfinite(want).all() and want.std() > 0.1
    np.testing.assert_allclose(session["bits"].run(["logits"], feeds)[0], want, rtol=2e-4, atol=2e-4)
    for path in made.values():
        got = lathe.build(path).run(feeds)["logits"]
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)
