"""Fixtures: the command, and a directory with the files that the examples in --help name."""

import base64
import json
import os
import pathlib
import shutil
import struct
import subprocess

import numpy as np
import onnx
import pytest

from small_model import small_answer, small_model

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _binary():
    if "LATHE_CLI" in os.environ:
        return pathlib.Path(os.environ["LATHE_CLI"])
    return next((p for preset in ("release", "dev", "debug") if (p := ROOT / "build" / preset / "cli/lathe").exists()), None)


@pytest.fixture(scope="session")
def binary():
    path = _binary()
    assert path and path.exists(), "build the target lathe_cli, or set LATHE_CLI"
    return path


def write_safetensors(path, tensors):
    """Lists or arrays of float32, in this order."""
    header, data = {}, b""
    for name, values in tensors.items():
        array = np.asarray(values, "<f4")
        piece = array.tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_gguf(path, metadata, tensors):
    """`metadata` are (key, number of the type, bytes), `tensors` (name, NumPy's order of sizes, number of the type, bytes)."""

    def text(s):
        return struct.pack("<Q", len(s.encode())) + s.encode()

    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, kind, value in metadata:
        header += text(key) + struct.pack("<I", kind) + value
    data = b""
    for name, shape, kind, elements in tensors:
        data += b"\0" * (-len(data) % 32)
        header += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1]) + struct.pack("<IQ", kind, len(data))
        data += elements
    path.write_bytes(header + b"\0" * (-len(header) % 32) + data)


def write_small_gguf(path):
    string, array, uint32 = 8, 9, 4
    texts = b"".join(struct.pack("<Q", 1) + c.encode() for c in "abcdefghijklmnopqrstuvwxyz")
    write_gguf(
        path,
        [
            ("general.architecture", string, struct.pack("<Q", 5) + b"llama"),
            ("llama.context_length", uint32, struct.pack("<I", 2048)),
            ("tokenizer.ggml.model", string, struct.pack("<Q", 4) + b"gpt2"),
            ("tokenizer.ggml.tokens", array, struct.pack("<IQ", string, 26) + texts),
            ("no.text", string, struct.pack("<Q", 2) + b"\xff\xfe"),
        ],
        [("w", (2, 3), 0, b"\0" * 24), ("q", (2, 64), 2, b"\0" * 72)],
    )


def read_safetensors(path):
    """Arrays of float32 by their names."""
    file = path.read_bytes()
    (length,) = struct.unpack("<Q", file[:8])
    header, data = json.loads(file[8 : 8 + length]), file[8 + length :]
    header.pop("__metadata__", None)
    return {n: np.frombuffer(data[slice(*t["data_offsets"])], "<f4").reshape(t["shape"]) for n, t in header.items()}


def timing_cache(cpu):
    problems = {"Op() -> float32 {} for avx2": {"chosen": "a", "microseconds": {"a": 2.5, "b": 3}}}
    machine = {"cpu": cpu, "features": ["avx2"], "lathe": "0.0.1", "problems": problems}
    return {"format": "lathe timing cache", "version": 1, "machines": [machine]}


@pytest.fixture
def place(tmp_path):
    """model.onnx, x.npy, inputs/x.npy, expected/y.npy, weights.npz, timings.json, others.json, model.safetensors,
    model.gguf; checkpoint/, a small BERT, and recorded.safetensors, what PyTorch makes of it; tokenizer.json of a few words;
    decoder/, a language model of a few words, words.txt, and conversation.json; own.tiktoken, ranks of bytes and "ab"."""
    onnx.save(small_model(), tmp_path / "model.onnx")
    x = np.array([[1, -2, 3], [0.5, 0.25, -1]], np.float32)
    for name in ("inputs", "expected"):
        (tmp_path / name).mkdir()
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "inputs" / "x.npy", x)
    np.save(tmp_path / "expected" / "y.npy", small_answer(x))
    weights = {"w": np.full((3, 4), 0.25, np.float32), "b": np.arange(4, dtype=np.float32), "extra": np.zeros(2)}
    np.savez(tmp_path / "weights.npz", **weights)
    write_safetensors(tmp_path / "model.safetensors", {"w": [1.5, 2.5], "b": [0.5]})
    write_small_gguf(tmp_path / "model.gguf")
    bert = ROOT / "tests/data/exporter/bert"
    (tmp_path / "checkpoint").mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copy(bert / name, tmp_path / "checkpoint" / name)
    shutil.copy(bert / "model.io-0.safetensors", tmp_path / "recorded.safetensors")
    shutil.copy(ROOT / "tests/data/tokenizer/tokenizer.json", tmp_path / "tokenizer.json")
    shutil.copytree(ROOT / "tests/data/decoder", tmp_path / "decoder")
    (tmp_path / "words.txt").write_text(" ".join(f"w{i * 7 % 32}" for i in range(40)))
    (tmp_path / "conversation.json").write_text('[{"role": "user", "content": "w3 w4"}]')
    ranks = [bytes([b]) for b in range(256)] + [b"ab"]
    (tmp_path / "own.tiktoken").write_text("".join(f"{base64.b64encode(t).decode()} {i}\n" for i, t in enumerate(ranks)))
    for name in ("timings", "others"):
        (tmp_path / f"{name}.json").write_text(json.dumps(timing_cache(name)))
    return tmp_path


@pytest.fixture
def lathe(binary, place):
    """Runs the command in `place`: lathe("run", "model.onnx") → CompletedProcess, with .json when --json is given."""

    def run(*arguments, timeout=60, **options):
        done = subprocess.run(
            [str(binary), *map(str, arguments)], cwd=place, capture_output=True, text=True, timeout=timeout, **options
        )
        done.json = json.loads(done.stdout) if "--json" in arguments and "--help" not in arguments and done.stdout else None
        return done

    return run
