"""Errors reach Python as `lathe.Error`, whatever bytes they quote, and say what to do."""

import onnx
import onnx.helper as oh
import pytest

import lathe
import lathe.onnx
from support import FLOAT, make_model


def model_with(attribute, odd):
    """One operator that does not take this text."""
    name, op, inputs = attribute
    node = oh.make_node(op, inputs, ["y"], **{name: b"P" * len(odd)})
    made = make_model([node], [(n, FLOAT, [1, 1, 4, 4]) for n in inputs], [("y", FLOAT, None)], opset=20)
    data = made.SerializeToString()
    assert data.count(b"P" * len(odd)) == 1
    return data.replace(b"P" * len(odd), odd)


def relu():
    return make_model([oh.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, [2])], [("y", FLOAT, [2])])


ODD = (b"\xff\xfeodd\x80", b"\xc3(\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"half\xe4\xb8", b"\x00null")
ATTRIBUTES = (("mode", "Resize", ["x"]), ("auto_pad", "MaxPool", ["x"]), ("direction", "LSTM", ["x"]), ("padding_mode", "GridSample", ["x"]), ("equation", "Einsum", ["x"]), ("approximate", "Gelu", ["x"]), ("to_nobody", "Relu", ["x"]))


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda a: a[0])
def test_bytes_that_are_no_text(attribute, odd):
    data = model_with(attribute, odd)
    with pytest.raises(lathe.Error) as told:
        lathe.build(data)
    assert isinstance(str(told.value), str) and told.value.code.startswith("E") and told.value.code != "E9001"
    assert all(isinstance(str(finding), str) and isinstance(finding.got, str) for finding in lathe.onnx.check(data))


def test_plans_and_models_are_told_apart(tmp_path):
    data = relu().SerializeToString()
    (tmp_path / "model.onnx").write_bytes(data)
    plan = tmp_path / "model.lathe"
    lathe.build(data).save(plan)
    for wrong in (plan, plan.read_bytes()):
        with pytest.raises(lathe.Error, match=r"a plan, which is built already.*lathe\.load\(\)"):
            lathe.build(wrong)
    with pytest.raises(lathe.Error, match=r"lathe\.build\(\)"):
        lathe.load(tmp_path / "model.onnx")
    with pytest.raises(lathe.Error, match="a plan"):
        lathe.onnx.check(plan)


def test_plug_ins_are_paths(tmp_path, monkeypatch):
    data = relu().SerializeToString()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(lathe.Error, match=r"\./libm\.so\.6"):
        lathe.build(data, plugins=["libm.so.6"])


def test_the_control_group_limits_memory():
    allowed = lathe.system_info()["memory_limit"]
    data = make_model([oh.make_node("ConstantOfShape", ["n"], ["y"])], [("n", onnx.TensorProto.INT64, [1])], [("y", FLOAT, None)])
    engine = lathe.build(data.SerializeToString())
    if not allowed or allowed > 1 << 44:
        pytest.skip("no control group limits it")
    with pytest.raises(lathe.Error, match="E4105"):
        engine.run({"n": [allowed // 4 + 1]})
