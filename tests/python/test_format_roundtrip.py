"""Every model at hand through Lathe and back, compared field by field with what the onnx package reads."""

import subprocess

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from support import built_tool, shared


@pytest.fixture(scope="module")
def tool():
    return built_tool("onnx_roundtrip")


@pytest.fixture(scope="module")
def models():
    found = sorted(shared().rglob("*.onnx"))
    assert len(found) > 2000
    return found


def convert(tool, how, pairs):
    """Runs the tool over (from, to); returns the errors by source."""
    lines = "".join(f"{a}\t{b}\n" for a, b in pairs)
    done = subprocess.run([tool, how], input=lines, capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert len(said) == len(pairs), "the tool died at " + str(pairs[len(said)][0])
    return {str(a): line for (a, _), line in zip(pairs, said) if line != "ok"}


def targets(models, folder, suffix):
    folder.mkdir(exist_ok=True)
    return [(m, folder / f"{i}{suffix}") for i, m in enumerate(models)]


def inner(message):
    """The messages in a message's fields, with the fields' names."""
    for field, value in message.ListFields():
        if field.message_type is not None:
            for m in value if field.is_repeated else [value]:
                yield field.name, m


def has_external(message):
    if isinstance(message, onnx.TensorProto):
        return message.data_location == onnx.TensorProto.EXTERNAL
    return any(has_external(m) for _, m in inner(message))


def test_bytes_are_lossless(tool, models, tmp_path):
    pairs = targets(models, tmp_path / "bytes", ".onnx")
    assert convert(tool, "bytes", pairs) == {}
    for source, target in pairs:
        before = onnx.load(source, load_external_data=False)
        if has_external(before):
            before, after = onnx.load(source), onnx.load(target)
            assert tensors(before) == tensors(after), source
        else:
            after = onnx.load(target, load_external_data=False)
            assert before == after, source
            assert before.SerializeToString(deterministic=True) == target.read_bytes(), source
        target.unlink()


def test_tensor_files_are_lossless(tool, tmp_path):
    files = sorted(shared().rglob("node/**/input_*.pb"))[:3000]
    assert files
    pairs = targets(files, tmp_path / "pb", ".pb")
    assert convert(tool, "bytes", pairs) == {}
    for source, target in pairs:
        before, after = onnx.TensorProto(), onnx.TensorProto()
        before.ParseFromString(source.read_bytes())
        after.ParseFromString(target.read_bytes())
        assert before == after, source


def test_data_goes_out_and_comes_back(tool, models, tmp_path):
    models = [m for m in models if m.stat().st_size > 4096][:150]
    out = targets(models, tmp_path / "out", ".onnx")
    assert convert(tool, "external", out) == {}
    back = targets([b for _, b in out], tmp_path / "back", ".onnx")
    assert convert(tool, "single", back) == {}
    for (source, moved), (_, returned) in zip(out, back):
        before = tensors(onnx.load(source))
        assert before == tensors(onnx.load(moved)), source
        assert before == tensors(onnx.load(returned)), source
        assert not has_external(onnx.load(returned, load_external_data=False))


def tensors(message):
    """Name, type, dims and bytes of all tensors, in order."""
    if isinstance(message, onnx.TensorProto):
        return [(message.name, message.data_type, tuple(message.dims), data_of(message))]
    return [t for _, m in inner(message) for t in tensors(m)]


def data_of(t):
    if t.data_type == onnx.TensorProto.STRING:
        return tuple(t.string_data)
    return np.ascontiguousarray(numpy_helper.to_array(t)).tobytes()


# Fields that the text format lacks.
NOT_IN_TEXT = {
    onnx.ModelProto: ["training_info", "configuration"],
    onnx.GraphProto: ["doc_string", "metadata_props", "quantization_annotation"],
    onnx.NodeProto: ["doc_string", "metadata_props", "device_configurations"],
    onnx.FunctionProto: ["metadata_props"],
    onnx.AttributeProto: ["doc_string"],
    onnx.ValueInfoProto: ["doc_string", "metadata_props"],
    onnx.TensorProto: ["doc_string", "metadata_props"],
    onnx.TypeProto: ["denotation"],
    onnx.TensorShapeProto.Dimension: ["denotation"],
}


def plain(message, lost):
    """The message without what text loses, tensors as raw data, absent texts as empty ones."""
    for name in NOT_IN_TEXT.get(type(message), []) + lost.get(type(message), []):
        message.ClearField(name)
    message.DiscardUnknownFields()
    if isinstance(message, onnx.AttributeProto) and message.type == 0:
        only = [f.name for f, _ in message.ListFields() if f.name not in ("name", "type")]
        kinds = {"i": 2, "f": 1, "s": 3, "t": 4, "g": 5, "ints": 7, "floats": 6, "strings": 8, "tensors": 9}
        message.type = kinds.get(only[0], 0) if only else 0
    for field, value in message.ListFields():
        if field.message_type is None and not field.is_repeated and field.name not in ("i", "f", "s"):
            if value in ("", 0) and not field.containing_oneof:
                message.ClearField(field.name)
    if isinstance(message, onnx.TensorProto):
        if message.data_location != onnx.TensorProto.EXTERNAL and message.data_type != onnx.TensorProto.STRING:
            raw = data_of(message)
            for name in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
                message.ClearField(name)
            message.raw_data = raw
        message.ClearField("data_location") if not message.external_data else None
    for _, m in inner(message):
        plain(m, lost)
    return message


def load_plain(path, lost=None):
    return plain(onnx.load(path, load_external_data=False), lost or {})


def test_text_keeps_what_it_can_say(tool, models, tmp_path):
    models = [m for m in models if m.stat().st_size < 300_000 and not has_external(onnx.load(m, load_external_data=False))]
    assert len(models) > 2000
    as_text = targets(models, tmp_path / "text", ".onnxtxt")
    assert convert(tool, "text", as_text) == {}
    back = targets([b for _, b in as_text], tmp_path / "back", ".onnx")
    assert convert(tool, "bytes", back) == {}
    for source, (_, returned) in zip(models, back):
        assert load_plain(source) == load_plain(returned), source


def is_utf8(text):
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def said_by_onnx(model):
    """Whether the onnx package's text says all of the model: it leaves out sparse tensors and lists of messages,
    prints no packed types, has no escapes for strings that are no UTF-8, and cannot read names of attributes and
    operators that are no identifiers."""
    packed = {onnx.TensorProto.INT4, onnx.TensorProto.UINT4, onnx.TensorProto.INT2, onnx.TensorProto.UINT2,
              onnx.TensorProto.FLOAT4E2M1, onnx.TensorProto.FLOAT6E2M3, onnx.TensorProto.FLOAT6E3M2,
              onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128}
    if isinstance(model, onnx.TensorProto):
        return model.data_type not in packed
    if isinstance(model, (onnx.SparseTensorProto, onnx.FunctionProto)):
        return False
    if isinstance(model, onnx.AttributeProto):
        if model.tensors or model.graphs or model.type_protos or not model.name.isidentifier() or not model.type:
            return False
        if not all(is_utf8(text) for text in (model.s, *model.strings)):
            return False
        if model.HasField("g") and not model.g.name.isidentifier():
            return False
    if isinstance(model, onnx.NodeProto):
        if not (model.op_type.isidentifier() and all(p.isidentifier() for p in model.domain.split(".") if model.domain)):
            return False
    return all(said_by_onnx(m) for _, m in inner(model))


def test_text_is_that_of_the_onnx_package(tool, models, tmp_path):
    models = [m for m in models if m.stat().st_size < 20_000][:1500]
    loaded = [(m, onnx.load(m, load_external_data=False)) for m in models]
    loaded = [(m, p) for m, p in loaded if said_by_onnx(p) and not has_external(p)]
    assert len(loaded) > 800

    # Theirs, read by us.
    (tmp_path / "theirs").mkdir()
    pairs = []
    for i, (_, proto) in enumerate(loaded):
        text = tmp_path / "theirs" / f"{i}.onnxtxt"
        text.write_text(onnx.printer.to_text(proto))
        pairs.append((text, text.with_suffix(".onnx")))
    assert convert(tool, "bytes", pairs) == {}
    for (source, _), (_, target) in zip(loaded, pairs):
        assert load_plain(source) == load_plain(target), source

    # Ours, read by them.
    ours = targets([m for m, _ in loaded], tmp_path / "ours", ".onnxtxt")
    assert convert(tool, "text", ours) == {}
    for source, text in ours:
        assert plain(onnx.parser.parse_model(text.read_text()), {}) == load_plain(source), source
