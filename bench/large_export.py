#!/usr/bin/env python3
"""Measures the export of a checkpoint of a billion parameters: seconds and resident memory of `lathe export`.

    python bench/large_export.py [--dtype F32|BF16] [--random] [--folder DIR] [OPTION OF lathe export…]

The checkpoint is a Llama of 22 layers (1.1 billion parameters). Weights are holes of the file unless --random, which writes them (they are
then in the page cache, as after a download); --folder says on which disk. LATHE_CLI names the command."""
import argparse
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HIDDEN, INNER, LAYERS, VOCABULARY, KEYS = 2048, 5632, 22, 32000, 256
CONFIG = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": HIDDEN, "intermediate_size": INNER,
    "num_hidden_layers": LAYERS, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": VOCABULARY,
    "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": False,
}


def tensors():
    yield "model.embed_tokens.weight", (VOCABULARY, HIDDEN)
    for i in range(LAYERS):
        layer = f"model.layers.{i}."
        yield layer + "input_layernorm.weight", (HIDDEN,)
        yield layer + "post_attention_layernorm.weight", (HIDDEN,)
        for name, rows in (("q", HIDDEN), ("k", KEYS), ("v", KEYS), ("o", HIDDEN)):
            yield f"{layer}self_attn.{name}_proj.weight", (rows, HIDDEN)
        yield layer + "mlp.gate_proj.weight", (INNER, HIDDEN)
        yield layer + "mlp.up_proj.weight", (INNER, HIDDEN)
        yield layer + "mlp.down_proj.weight", (HIDDEN, INNER)
    yield "model.norm.weight", (HIDDEN,)
    yield "lm_head.weight", (VOCABULARY, HIDDEN)


def write(folder, dtype, random):
    header, at = {}, 0
    for name, shape in tensors():
        size = {"F32": 4, "BF16": 2, "F16": 2}[dtype]
        for d in shape:
            size *= d
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    with open(folder / "model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        piece = os.urandom(1 << 24) if random else b""
        for _ in range(at // len(piece) if piece else 0):
            f.write(piece)
        f.truncate(8 + len(text) + at)
    return at


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--dtype", choices=("F32", "BF16", "F16"), default="F32")
    arguments.add_argument("--random", action="store_true")
    arguments.add_argument("--folder", type=pathlib.Path)
    known, others = arguments.parse_known_args()
    folder = pathlib.Path(tempfile.mkdtemp(dir=known.folder, prefix="large_export"))
    try:
        (folder / "checkpoint").mkdir()
        size = write(folder / "checkpoint", known.dtype, known.random)
        cli = os.environ.get("LATHE_CLI", ROOT / "build/release/cli/lathe")
        start = time.monotonic()
        child = subprocess.Popen([cli, "export", folder / "checkpoint", "-o", folder / "out", "--task", "text-generation-with-past", *others])
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.monotonic() - start
        print(f"{size / 1e9:.1f} GB of {known.dtype}{' (random)' if known.random else ' (holes)'}: {seconds:.2f} s, "
              f"{used.ru_maxrss / 1024:.0f} MiB resident at most, {used.ru_utime + used.ru_stime:.2f} s of CPU")
        return os.waitstatus_to_exitcode(status)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    raise SystemExit(main())
