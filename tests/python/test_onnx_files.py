"""lathe.onnx: models as files."""

import numpy as np
import onnx
import pytest

import lathe


def test_load_save_and_bytes_are_lossless(linear, tmp_path):
    linear[0].metadata_props.add(key="author", value="someone")
    data = linear[0].SerializeToString()
    model = lathe.onnx.load(data)
    assert onnx.ModelProto.FromString(model.to_bytes()) == linear[0]
    assert (model.opset_import, model.ir_version, model.graph_name) == ({"": 17}, 8, "test")
    assert model.metadata == {"author": "someone"} and model.initializers == ["w", "b"]
    model.save(tmp_path / "out.onnx")
    assert onnx.load(tmp_path / "out.onnx") == linear[0]


def test_external_data_and_text(linear, tmp_path):
    model = lathe.onnx.load(linear[0].SerializeToString())
    model.save(tmp_path / "out.onnx", data="external", external_threshold=0)
    assert (tmp_path / "out.onnx.data").exists()
    loaded = onnx.load(tmp_path / "out.onnx")
    np.testing.assert_array_equal(
        onnx.numpy_helper.to_array(loaded.graph.initializer[0]),
        onnx.numpy_helper.to_array(linear[0].graph.initializer[0]),
    )
    assert "MatMul (x, w)" in lathe.onnx.to_text(model)


def test_check(linear):
    assert lathe.onnx.check(linear[0].SerializeToString()) == []
    linear[0].graph.node[0].op_type = "MatMull"
    linear[0].graph.node[1].input[1] = "nowhere"
    findings = lathe.onnx.check(linear[0].SerializeToString())
    assert len(findings) >= 2
    assert {"E2301", "E2203"} <= {f.code for f in findings}
    assert all(f.severity in ("error", "warning") and str(f).startswith("lathe: ") for f in findings)


def test_inspect_and_normalize(linear):
    summary = lathe.onnx.inspect(linear[0].SerializeToString(), {"batch": 4})
    assert summary["operators"] == {"Add": 1, "MatMul": 1} and summary["parameters"] == 16
    assert summary["flops"] == 2 * 4 * 3 * 4 + 4 * 4
    normal = lathe.onnx.normalize(linear[0].SerializeToString())
    onnx.checker.check_model(onnx.ModelProto.FromString(normal.to_bytes()), full_check=True)


def test_a_broken_file(tmp_path):
    (tmp_path / "broken.onnx").write_bytes(b"\xff" * 10)
    with pytest.raises(lathe.Error) as e:
        lathe.onnx.load(tmp_path / "broken.onnx")
    assert e.value.code.startswith("E11")
