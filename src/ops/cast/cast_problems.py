"""Problems of Cast, CastLike and BitCast."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh

from draw import FLOATS, INTS, NUMBERS, array, makes, pick, shape
from known import attribute, differs, has_nan
from problem import ORT, REFERENCE, Problem, never_narrow
from slopes import Slope, one, real, slopes
from tolerances import held_to
from versions import form, names_type_of

NARROW = [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz]


@makes("Cast", "CastLike")
def cast(op, rng):
    source, target = pick(rng, NUMBERS + [bool, object] + NARROW), pick(rng, NUMBERS + [bool, object] + NARROW)
    if source is object:
        texts = ["1", "-2", "3.5", "1e3", "0", "100"] if target not in INTS and target is not bool else ["1", "0", "100", "7"]
        if target in FLOATS:
            texts += ["INF", "-inf", "NaN", "+1"]
        x = rng.choice(np.array(texts, object), shape(rng, largest=8))
    else:
        x = array(rng, np.float32 if source in NARROW else source, shape(rng, largest=8), 0.5, -40, 40)
        if (np.dtype(source).kind == "f" or source in NARROW) and target in INTS:  # out of range is not defined
            x = np.clip(np.nan_to_num(x, nan=0, posinf=7, neginf=-7), 0 if np.dtype(target).kind == "u" else -99, 99)
        x = x.astype(source)
    t = np.dtype(target)
    attributes = {"saturate": int(rng.integers(2))} if target in NARROW[1:] else {}
    if op == "Cast":
        to = oh.np_dtype_to_tensor_dtype(t) if t.kind != "O" else 8
        return Problem(op, [x], {"to": to, **attributes}, opset=19)
    return Problem(op, [x, np.zeros(1, t) if t.kind != "O" else np.array([""], object)], attributes, opset=19)


@makes("BitCast")
def bit_cast(op, rng):
    source, target = pick(rng, [(np.float32, 6), (np.int32, 1), (np.int64, 11), (np.uint8, 3), (np.float16, 5)])
    return Problem(op, [array(rng, source, shape(rng))], {"to": target}, opset=26)


never_narrow("BitCast")


@form("Cast")
def types_that_an_attribute_names(q, since):
    number = q.attributes.get("to")
    if not names_type_of(q.op, "T2", since, number):
        return False
    if since == 1:
        q.attributes["to"] = onnx.TensorProto.DataType.Name(number)
    if since < 19 and "saturate" in q.attributes:
        return False
    return None


held_to(0, "Cast CastLike")

differs("Cast CastLike", REFERENCE, "strings", lambda p: any(v.dtype.kind == "O" for v in p.inputs) or attribute(p, "to") == 8,
        "NumPy's text of numbers, and Python's truth of text")  # fmt: skip
differs("Cast CastLike", REFERENCE, "NaN to integers", has_nan, "not defined")
differs("Cast CastLike", ORT, "float8", lambda p: attribute(p, "to") in range(17, 24), "is given as plain bytes")


@slopes("Cast", "CastLike")
def derivatives(op):
    """In one type, as differences need it; test_gradient.py has two."""
    yield one(op, {"x": real(3)}, to=onnx.TensorProto.DOUBLE) if op == "Cast" else Slope([oh.make_node(op, ["x", "x"], ["y"])], {"x": real(3)})
