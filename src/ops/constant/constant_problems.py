"""Problems of what makes tensors."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.helper as oh

from draw import array, chance, i64, makes, maybe_constant, pick, shape
from problem import REFERENCE, Problem
from tolerances import LARGEST, held_to, looser, sized
from versions import form, names_type_of, places_from_the_front


@makes("Constant")
def constant(op, rng):
    kind = pick(rng, ["value", "value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings"])
    value = array(rng, pick(rng, [np.float32, np.float64, np.float16, np.int8, np.int64, bool]), shape(rng))
    given = {
        "value": oh.make_tensor("t", oh.np_dtype_to_tensor_dtype(value.dtype), value.shape, value.tobytes(), raw=True),
        "value_float": float(rng.normal()),
        "value_floats": [float(v) for v in rng.normal(size=rng.integers(1, 4))],
        "value_int": int(rng.integers(-9, 9)),
        "value_ints": [int(v) for v in rng.integers(-9, 9, rng.integers(1, 4))],
        "value_string": pick(rng, ["", "a", "Ä b"]),
        "value_strings": [pick(rng, ["", "a", "Ä b"]) for _ in range(rng.integers(1, 4))],
    }[kind]
    return Problem(op, [], {kind: given}, opset=13)


@makes("EyeLike", "OneHot", "Range", "ConstantOfShape")
def made(op, rng):
    if op == "EyeLike":
        return Problem(op, [array(rng, pick(rng, [np.float32, np.int32]), shape(rng, 2, 2))], {"k": int(rng.integers(-6, 7))})
    if op == "OneHot":
        depth, s = int(rng.integers(1, 6)), shape(rng, 1, 3)
        return Problem(op, [rng.integers(-depth, depth, s).astype(np.int64), i64(depth), array(rng, np.float32, (2,), 0)], {"axis": int(rng.integers(-len(s) - 1, len(s) + 1))}, opset=11, constant=maybe_constant(rng, 1))
    if op == "Range":
        dtype = pick(rng, [np.float32, np.float64, np.int32, np.int64, np.int16])
        a, b, d = rng.integers(-5, 6), rng.integers(-5, 6), pick(rng, [1, 2, -1, -3])
        scale = 0.3 if np.dtype(dtype).kind == "f" else 1
        return Problem(op, [np.array(v * scale, dtype) for v in (a, b, d)], opset=11, constant=maybe_constant(rng, 0, 1, 2))
    s = shape(rng, 0, 4)
    value = array(rng, pick(rng, [np.float32, np.int64, bool]), (1,))
    return Problem(op, [i64(s)], {"value": onnx.numpy_helper.from_array(value)} if chance(rng, 0.7) else {}, opset=9, constant=maybe_constant(rng, 0))


places_from_the_front("OneHot", more_axes=lambda q: 1)


@form("Constant", "ConstantOfShape")
def types_of_values(q, since):
    number = q.attributes["value"].data_type if "value" in q.attributes else None
    return None if names_type_of(q.op, {"Constant": "T", "ConstantOfShape": "T2"}[q.op], since, number) else False


sized(LARGEST, "Range")
held_to(2, "Range")
looser("OneHot", REFERENCE, 4, "adds the difference of the two values to one of them", of_one=True)
