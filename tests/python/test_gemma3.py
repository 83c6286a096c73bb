"""Gemma 3 as a checkpoint and as GGUF against a reference in float64, past its window, for prompts cut anywhere."""

import json

import gemma3_reference as reference
import numpy as np
import pytest

import lathe
from lathe import exporters

gguf = pytest.importorskip("gguf")

CONFIG = {
    "model_type": "gemma3_text",
    "architectures": ["Gemma3ForCausalLM"],
    "hidden_size": 32,
    "num_hidden_layers": 7,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "rms_norm_eps": 1e-6,
    "hidden_activation": "gelu_pytorch_tanh",
    "sliding_window": 5,
    "sliding_window_pattern": 6,
    "rope_theta": 1e6,
    "rope_local_base_freq": 1e4,
    "query_pre_attn_scalar": 16,
    "max_position_embeddings": 64,
    "vocab_size": 61,
    "torch_dtype": "float32",
}
CAPS = {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0, "query_pre_attn_scalar": 24}
IDS = [(7 * i * i + 3) % 61 for i in range(23)]
PARTS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "post_ffw_norm": "post_feedforward_layernorm",
}


def shape_of(part):
    size, inner, heads, groups, head = 32, 48, 4 * 16, 2 * 16, 16
    return {
        "self_attn.q_proj": (heads, size),
        "self_attn.k_proj": (groups, size),
        "self_attn.v_proj": (groups, size),
        "self_attn.o_proj": (size, heads),
        "self_attn.q_norm": (head,),
        "self_attn.k_norm": (head,),
        "mlp.gate_proj": (inner, size),
        "mlp.up_proj": (inner, size),
        "mlp.down_proj": (size, inner),
    }.get(part, (size,))


def gguf_name(name):
    """The name that a GGUF file has for a tensor of a checkpoint."""
    if not name.startswith("model.layers."):
        return {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}[name]
    _, _, number, rest = name.split(".", 3)
    part = next(ours for ours, theirs in PARTS.items() if theirs + ".weight" == rest)
    return f"blk.{number}.{part}.weight"


@pytest.fixture(scope="module")
def weights():
    random = np.random.default_rng(11)
    shapes = {"model.embed_tokens.weight": (61, 32), "model.norm.weight": (32,)}
    for i in range(CONFIG["num_hidden_layers"]):
        shapes |= {f"model.layers.{i}.{part}.weight": shape_of(part) for part in PARTS.values()}
    return {
        # Powers of two and their multiples: 1 can be added to a norm and taken away again.
        name: np.round(random.normal(0, 0.3, shape) * 4096).astype(np.float32) / 4096
        for name, shape in shapes.items()
    }


def write_checkpoint(folder, config, tensors):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    header, data = {}, b""
    for name, t in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [len(data), len(data) + t.nbytes]}
        data += t.tobytes()
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    return folder


def write_gguf(path, config, tensors):
    w = gguf.GGUFWriter(path, "gemma3")
    w.add_block_count(config["num_hidden_layers"])
    w.add_context_length(config["max_position_embeddings"])
    w.add_embedding_length(config["hidden_size"])
    w.add_feed_forward_length(config["intermediate_size"])
    w.add_head_count(config["num_attention_heads"])
    w.add_head_count_kv(config["num_key_value_heads"])
    w.add_key_length(config["head_dim"])
    w.add_value_length(config["head_dim"])
    w.add_layer_norm_rms_eps(config["rms_norm_eps"])
    w.add_rope_freq_base(config["rope_theta"])
    w.add_sliding_window(config["sliding_window"])
    for name, t in tensors.items():
        w.add_tensor(gguf_name(name), t + 1 if "norm" in name else t)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return path


@pytest.mark.parametrize("form", ["checkpoint", "caps", "gguf"])
def test_past_the_window_in_any_pieces(tmp_path, weights, form):
    config = CONFIG | (CAPS if form == "caps" else {})
    source = (
        write_gguf(tmp_path / "m.gguf", config, weights)
        if form == "gguf"
        else write_checkpoint(tmp_path / "checkpoint", config, weights)
    )
    report = exporters.export(source, tmp_path / "out")
    assert report["model_type"] == "gemma3_text" and report["task"] == "text-generation-with-past"
    assert not report["unexpected"]
    want = reference.logits(config, weights.__getitem__, IDS)
    assert np.abs(want - reference.logits(config | {"sliding_window": 64}, weights.__getitem__, IDS)).max() > 1e-2
    context = lathe.build(tmp_path / "out" / "model.onnx").create_context()
    for lengths in ([23], [1] * 23, [4, 1, 6, 12], [5, 18], [6, 17], [22, 1]):
        got = reference.in_pieces(context, config, IDS, lengths)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=str(lengths))


def test_what_is_refused(tmp_path, weights):
    for change, said in (
        ({"use_bidirectional_attention": True}, "use_bidirectional_attention"),
        ({"layer_types": ["full_attention"]}, "layer_types"),
        ({"layer_types": ["full_attentoin"] * 7}, "full_attention"),
        ({"sliding_window": 0}, "sliding_window"),
    ):
        folder = tmp_path / f"{said}{len(str(change))}"
        write_checkpoint(folder, CONFIG | change, weights)
        with pytest.raises(lathe.Error, match=said):
            exporters.export(folder, tmp_path / "out")
