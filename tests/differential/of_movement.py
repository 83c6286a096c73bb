"""What only moves elements."""

from __future__ import annotations

import numpy as np
import onnx

from draw import array, axis_of, chance, i64, makes, maybe_constant, pick, shape
from problem import Problem


@makes("Gather", "GatherElements", "GatherND", "Compress")
def gather(op, rng):
    dtype = pick(rng, [np.float32, np.int64, np.uint8, object, bool])
    s = shape(rng, 1, 4, 0)
    x = array(rng, dtype, s)
    axis, index = axis_of(rng, len(s)), pick(rng, [np.int32, np.int64])
    if op == "Compress":
        attributes = {"axis": axis} if chance(rng, 0.6) else {}
        length = s[axis] if attributes else x.size
        return Problem(op, [x, rng.integers(0, 2, rng.integers(1, length + 1)).astype(bool)], attributes)
    if op == "GatherND":
        batch = int(rng.integers(0, len(s)))
        last = int(rng.integers(1, len(s) - batch + 1))
        middle = shape(rng, 0, 2)
        indices = np.stack([rng.integers(-d, d, (*s[:batch], *middle)) for d in s[batch : batch + last]], -1)
        return Problem(op, [x, indices.astype(np.int64)], {"batch_dims": batch})
    if op == "GatherElements":
        counts = [int(rng.integers(0 if chance(rng, 0.1) else 1, d + 1)) for d in s]
        return Problem(op, [x, rng.integers(-s[axis], s[axis], counts).astype(index)], {"axis": axis})
    return Problem(op, [x, rng.integers(-s[axis], s[axis], shape(rng, 0, 3)).astype(index)], {"axis": axis}, constant=maybe_constant(rng, 1))


@makes("ScatterElements", "ScatterND")
def scatter(op, rng):
    reduction = pick(rng, ["none", "add", "mul", "max", "min"])
    dtype = pick(rng, [np.float32, np.int64, np.float64, np.int32])
    s = shape(rng, 1, 3, 0)
    x = array(rng, dtype, s, 0)
    if op == "ScatterElements":
        axis = axis_of(rng, len(s))
        counts = [int(rng.integers(0 if chance(rng, 0.1) else 1, d + 1)) for d in s]
        indices = rng.integers(-s[axis], s[axis], counts)
        if reduction == "none":  # no two writes to one place
            counts[axis] = int(rng.integers(1, s[axis] + 1))
            order = np.argsort(rng.random([s[a] if a == axis % len(s) else c for a, c in enumerate(counts)]), axis=axis)
            indices = np.take(order, range(counts[axis]), axis=axis)
        return Problem(op, [x, indices.astype(np.int64), array(rng, dtype, indices.shape, 0)], {"axis": axis, "reduction": reduction}, opset=18)
    last = int(rng.integers(1, len(s) + 1))
    places = shape(rng, 1, 2)
    indices = np.stack([rng.integers(-d, d, places) for d in s[:last]], -1).astype(np.int64)
    if reduction == "none":
        indices = indices.reshape(-1, last)[:1]
    return Problem(op, [x, indices, array(rng, dtype, (*indices.shape[:-1], *s[last:]), 0)], {"reduction": reduction}, opset=18)


@makes("Slice")
def slice_(op, rng):
    s = shape(rng, 1, 4)
    axes = rng.permutation(len(s))[: rng.integers(1, len(s) + 1)]
    bounds = [-(2**63), 2**63 - 1, -100, 100] + list(range(-6, 7))
    index = pick(rng, [np.int64, np.int32])
    bounds = [max(min(b, np.iinfo(index).max), np.iinfo(index).min) for b in bounds]
    given = [array(rng, pick(rng, [np.float32, np.int64, object]), s)]
    given += [np.array([pick(rng, bounds) for _ in axes], index) for _ in range(2)]
    signed = np.array([int(a) - (len(s) if chance(rng, 0.4) else 0) for a in axes], index)
    given += [signed, np.array([pick(rng, [1, 2, -1, -2, 3, np.iinfo(index).max, np.iinfo(index).min + 1]) for _ in axes], index)]
    return Problem(op, given, opset=13, constant=maybe_constant(rng, 1, 2, 3, 4))


@makes("Pad")
def pad(op, rng):
    s = shape(rng, 1, 4, 0)
    mode = pick(rng, ["constant", "reflect", "edge", "wrap"])
    axes = rng.permutation(len(s))[: rng.integers(1, len(s) + 1)]
    limit = {"reflect": lambda d: d - 1, "wrap": lambda d: d}.get(mode, lambda d: 3)
    low = -1 if mode == "constant" else 0
    pads = [int(rng.integers(low if s[a] > 2 else 0, max(limit(s[a]), 0) + 1)) for a in axes] + [
        int(rng.integers(low if s[a] > 2 else 0, max(limit(s[a]), 0) + 1)) for a in axes
    ]
    dtype = pick(rng, [np.float32, np.int64, np.uint8, np.float64])
    given = [array(rng, dtype, s), i64(pads), array(rng, dtype, ()) if mode == "constant" and chance(rng, 0.5) else None]
    given.append(i64([int(a) - (len(s) if chance(rng, 0.4) else 0) for a in axes]))
    return Problem(op, given, {"mode": mode}, opset=19, constant=tuple(c for c in maybe_constant(rng, 1, 3)))


@makes("Tile", "Expand", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Concat", "Split", "DepthToSpace", "SpaceToDepth")
def movement(op, rng):
    dtype = pick(rng, [np.float32, np.int64, np.uint8, object, bool, np.float64])
    s = shape(rng, 0 if op in ("Expand", "Unsqueeze", "Flatten", "Transpose", "Reshape") else 1, 4)
    x = array(rng, dtype, s)
    if op == "Tile":
        return Problem(op, [x, i64(rng.integers(0 if chance(rng, 0.1) else 1, 4, len(s)))], constant=maybe_constant(rng, 1))
    if op == "Expand":
        target = [int(rng.integers(1, 4)) if d == 1 else pick(rng, [1, d]) for d in s]
        target = ([int(rng.integers(1, 3))] if chance(rng, 0.3) else []) + target[int(chance(rng, 0.3)) :]
        return Problem(op, [x, i64(target)], constant=maybe_constant(rng, 1))
    if op == "Reshape":
        x = array(rng, dtype, s)
        target = [int(np.prod(s[: len(s) // 2])), int(np.prod(s[len(s) // 2 :]))] if chance(rng, 0.5) else list(s)
        if target and chance(rng, 0.4):
            at = rng.integers(len(target))
            target[at] = -1 if np.prod(target[:at] + target[at + 1 :]) else target[at]
        for i, d in enumerate(target):
            if i < len(s) and d == s[i] and chance(rng, 0.2):
                target[i] = 0
        return Problem(op, [x, i64(target)], {"allowzero": int(0 in target and 0 in s and -1 not in target)}, opset=14, constant=maybe_constant(rng, 1))
    if op == "Squeeze":
        s = tuple(1 if chance(rng, 0.5) else d for d in s)
        ones = [a - (len(s) if chance(rng, 0.4) else 0) for a, d in enumerate(s) if d == 1]
        given = [array(rng, dtype, s)] + ([] if chance(rng, 0.3) else [i64(ones[: rng.integers(0, len(ones) + 1)])])
        return Problem(op, given, opset=13, constant=maybe_constant(rng, *range(1, len(given))))
    if op == "Unsqueeze":
        count = int(rng.integers(0, 3))
        axes = rng.permutation(len(s) + count)[:count]
        return Problem(op, [x, i64([int(a) - (len(s) + count if chance(rng, 0.4) else 0) for a in axes])], opset=13, constant=maybe_constant(rng, 1))
    if op == "Flatten":
        return Problem(op, [x], {"axis": int(rng.integers(-len(s), len(s) + 1))}, opset=13)
    if op == "Transpose":
        return Problem(op, [x], {"perm": [int(a) for a in rng.permutation(len(s))]} if s and chance(rng, 0.8) else {})
    if op == "Concat":
        axis = axis_of(rng, len(s))
        parts = [array(rng, dtype, tuple(int(rng.integers(0, 4)) if a == axis % len(s) else d for a, d in enumerate(s))) for _ in range(rng.integers(1, 4))]
        return Problem(op, parts, {"axis": axis}, opset=13)
    if op == "Split":
        axis = axis_of(rng, len(s))
        if chance(rng, 0.5):
            n = int(rng.integers(1, max(s[axis], 1) + 1))
            return Problem(op, [x], {"axis": axis, "num_outputs": n}, n, 18)
        cut = int(rng.integers(0, s[axis] + 1))
        return Problem(op, [x, i64([cut, s[axis] - cut])], {"axis": axis}, 2, 18, maybe_constant(rng, 1))
    b = int(rng.integers(1, 4))
    n, h, w = (int(rng.integers(1, 4)) for _ in range(3))
    dtype = pick(rng, [np.float32, np.float64])
    if op == "DepthToSpace":
        return Problem(op, [array(rng, dtype, (1, n * b * b, h, w))], {"blocksize": b, "mode": pick(rng, ["DCR", "CRD"])}, opset=13)
    return Problem(op, [array(rng, dtype, (1, n, h * b, w * b))], {"blocksize": b}, opset=13)


@makes("ReverseSequence", "Trilu", "EyeLike", "OneHot", "NonZero", "Unique", "Range", "Shape", "Size", "ConstantOfShape", "CenterCropPad")
def arrangement(op, rng):
    if op == "ReverseSequence":
        s = (int(rng.integers(1, 5)), int(rng.integers(1, 5)), *shape(rng, 0, 2, 0))
        batch = int(rng.integers(2))
        lengths = i64(rng.integers(1, s[1 - batch] + 1, s[batch]))
        return Problem(op, [array(rng, np.float32, s), lengths], {"batch_axis": batch, "time_axis": 1 - batch})
    if op == "Trilu":
        k = np.array(int(rng.integers(-6, 7)), np.int64)
        return Problem(op, [array(rng, pick(rng, [np.float32, np.int64, bool]), shape(rng, 2, 4)), *([k] if chance(rng, 0.7) else [])], {"upper": int(rng.integers(2))})
    if op == "EyeLike":
        return Problem(op, [array(rng, pick(rng, [np.float32, np.int32]), shape(rng, 2, 2))], {"k": int(rng.integers(-6, 7))})
    if op == "OneHot":
        depth, s = int(rng.integers(1, 6)), shape(rng, 1, 3)
        return Problem(op, [rng.integers(-depth, depth, s).astype(np.int64), i64(depth), array(rng, np.float32, (2,), 0)], {"axis": int(rng.integers(-len(s) - 1, len(s) + 1))}, opset=11, constant=maybe_constant(rng, 1))
    if op == "NonZero":
        return Problem(op, [np.where(rng.random(s := shape(rng, 1, 4)) < 0.5, 0, array(rng, np.float32, s, 0)).astype(pick(rng, [np.float32, bool, np.int64]))])
    if op == "Unique":
        s = shape(rng, 1, 3, 0)
        x = rng.integers(0, 3, s).astype(pick(rng, [np.float32, np.int64, np.int8]))
        return Problem(op, [x], {"sorted": int(rng.integers(2)), **({"axis": axis_of(rng, len(s))} if chance(rng, 0.6) else {})}, int(rng.integers(1, 5)))
    if op == "Range":
        dtype = pick(rng, [np.float32, np.float64, np.int32, np.int64, np.int16])
        a, b, d = rng.integers(-5, 6), rng.integers(-5, 6), pick(rng, [1, 2, -1, -3])
        scale = 0.3 if np.dtype(dtype).kind == "f" else 1
        return Problem(op, [np.array(v * scale, dtype) for v in (a, b, d)], opset=11, constant=maybe_constant(rng, 0, 1, 2))
    s = shape(rng, 0, 4)
    if op == "Shape":
        attributes = {k: int(rng.integers(-6, 7)) for k in ("start", "end") if chance(rng, 0.6)}
        return Problem(op, [array(rng, np.float32, s)], attributes, opset=15)
    if op == "Size":
        return Problem(op, [array(rng, np.float32, s)], opset=13)
    if op == "ConstantOfShape":
        value = array(rng, pick(rng, [np.float32, np.int64, bool]), (1,))
        return Problem(op, [i64(s)], {"value": onnx.numpy_helper.from_array(value)} if chance(rng, 0.7) else {}, opset=9, constant=maybe_constant(rng, 0))
    axes = [int(a) for a in rng.permutation(len(s))[: rng.integers(0, len(s) + 1)]]
    if not axes:
        return arrangement(op, rng)
    return Problem(op, [array(rng, np.float32, s), i64(rng.integers(1, 7, len(axes)))], {"axes": axes}, opset=18, constant=maybe_constant(rng, 1))
