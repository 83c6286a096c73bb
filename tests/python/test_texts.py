"""Texts on their way in and out: NumPy's own kinds of them, and names of files that are no UTF-8."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import lathe


def _identity(name: str = "same") -> bytes:
    x, y = (helper.make_tensor_value_info(n, TensorProto.STRING, ["n"]) for n in "xy")
    node = helper.make_node("Identity", ["x"], ["y"], name=name)
    return helper.make_model(
        helper.make_graph([node], "texts", [x], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    ).SerializeToString()


@pytest.mark.parametrize("dtype", ["<U40", ">U40", object, "S80"])
def test_arrays_of_texts_are_what_they_say(dtype):
    texts = [f"Übergröße {i} · 日本語 · {'x' * (i % 7)}" for i in range(50)]
    given = [t.encode() for t in texts] if dtype == "S80" else texts
    got = lathe.build(_identity()).run({"x": np.array(given, dtype=dtype)})["y"]
    assert [g.decode() if isinstance(g, bytes) else g for g in got.tolist()] == texts


def test_subclasses_of_str_are_texts():
    class Name(str):
        def __str__(self):
            return "".join(["made", " ", "anew ", str.__str__(self)])

    got = lathe.build(_identity()).run({"x": np.array([Name(f"ä{i}") for i in range(20)], dtype=object)})["y"]
    assert all(g.endswith(f"ä{i}") for i, g in enumerate(got.tolist()))


def test_bytes_that_are_no_utf8_come_back():
    engine = lathe.build(_identity())
    given = np.array([b"\xff\xfe", b"plain"], dtype=object)
    back = engine.run({"x": given})["y"]
    again = engine.run({"x": back})["y"]
    assert again.tolist() == back.tolist()
    assert back[0].encode("utf-8", "surrogateescape") == b"\xff\xfe"


def test_errors_name_what_is_no_utf8():
    model = onnx.load_from_string(_identity("NAME"))
    model.graph.node[0].op_type = "Identitie"
    data = model.SerializeToString().replace(b"NAME", b"\xff\xfe\xfd\xfc")
    with pytest.raises(lathe.Error) as caught:
        lathe.build(data)
    assert caught.value.code.startswith("E")
    assert str(caught.value).encode()
