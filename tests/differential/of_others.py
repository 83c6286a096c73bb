"""Images, quantization, text, sequences, signals."""

from __future__ import annotations

import numpy as np

from draw import array, axis_of, broadcastable, chance, i64, makes, maybe_constant, pick, shape
from problem import Problem


@makes("Resize")
def resize(op, rng):
    rank = int(rng.integers(1, 3))
    mode = pick(rng, ["nearest", "linear", "cubic"])
    if mode == "cubic":
        rank = 2
    s = (1, int(rng.integers(1, 3)), *(int(rng.integers(1, 7)) for _ in range(rank)))
    attributes = {
        "mode": mode,
        "coordinate_transformation_mode": pick(rng, ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]),
    }
    if mode == "nearest":
        attributes["nearest_mode"] = pick(rng, ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    else:
        attributes["antialias"] = int(chance(rng, 0.3))
    if mode == "cubic":
        attributes["exclude_outside"] = int(rng.integers(2))
        attributes["cubic_coeff_a"] = float(pick(rng, [-0.75, -0.5]))
    x = array(rng, np.float32, s, 0)
    if chance(rng, 0.5):
        sizes = [*s[:2], *(int(rng.integers(1, 12)) for _ in range(rank))]
        return Problem(op, [x, None, None, i64(sizes)], attributes, opset=18, constant=maybe_constant(rng, 3))
    scales = [1.0, 1.0, *(float(pick(rng, [0.5, 0.6, 1.0, 1.5, 2.0, 3.0, 0.8])) for _ in range(rank))]
    if any(int(d * f) < 1 for d, f in zip(s, scales)):
        return resize(op, rng)
    return Problem(op, [x, None, np.array(scales, np.float32)], attributes, opset=18, constant=maybe_constant(rng, 2))


@makes("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
def quantize(op, rng):
    if op == "DynamicQuantizeLinear":
        return Problem(op, [array(rng, np.float32, shape(rng, 1, 3, 0), 0)], {}, 3)
    s = shape(rng, 1, 3, 0, 6)
    axis = axis_of(rng, len(s))
    per_axis = chance(rng, 0.5)
    scale_shape = (s[axis],) if per_axis else ()
    scale = array(rng, np.float32, scale_shape, 0, 0.01, 0.5)
    narrow = pick(rng, [np.uint8, np.int8, np.int16, np.uint16])
    zero = array(rng, narrow, scale_shape, 0) if chance(rng, 0.7) else None
    if zero is None and op == "QuantizeLinear":
        narrow = np.uint8
    x = array(rng, np.float32, s, 0, -20, 20) if op == "QuantizeLinear" else array(rng, narrow, s)
    return Problem(op, [x, scale, *([] if zero is None else [zero])], {"axis": axis} if per_axis else {}, opset=21)


@makes("GridSample", "AffineGrid", "Col2Im", "RoiAlign", "NonMaxSuppression", "MaxRoiPool", "MaxUnpool")
def vision(op, rng):
    n, c, h, w = (int(rng.integers(1, 6)) for _ in range(4))
    if op == "GridSample":
        grid = array(rng, np.float32, (n, int(rng.integers(1, 5)), int(rng.integers(1, 5)), 2), 0, -1.4, 1.4)
        return Problem(op, [array(rng, np.float32, (n, c, h, w), 0), grid],
                       {"mode": pick(rng, ["linear", "nearest", "cubic"]), "padding_mode": pick(rng, ["zeros", "border", "reflection"]),
                        "align_corners": int(rng.integers(2))}, opset=20)  # fmt: skip
    if op == "AffineGrid":
        three = chance(rng, 0.4)
        theta = array(rng, np.float32, (n, 3, 4) if three else (n, 2, 3), 0)
        size = i64([n, c, h, w] + ([3] if three else []))
        return Problem(op, [theta, size], {"align_corners": int(rng.integers(2))}, opset=20, constant=maybe_constant(rng, 1))
    if op == "Col2Im":
        block, dilation, stride = ([int(rng.integers(1, 3)) for _ in range(2)] for _ in range(3))
        pads = [int(rng.integers(0, 2)) for _ in range(4)]
        image = [max(s, (k - 1) * d + 1) for s, k, d in zip((h, w), block, dilation)]
        places = [(s + pads[i] + pads[i + 2] - (block[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i, s in enumerate(image)]
        x = array(rng, np.float32, (n, c * block[0] * block[1], places[0] * places[1]), 0)
        return Problem(op, [x, i64(image), i64(block)], {"dilations": dilation, "strides": stride, "pads": pads}, opset=18)
    if op == "RoiAlign":
        boxes = np.sort(rng.uniform(-1, 8, (3, 2, 2)), axis=1).reshape(3, 4).astype(np.float32)
        return Problem(op, [array(rng, np.float32, (n, c, h, w), 0), boxes, i64(rng.integers(0, n, 3))],
                       {"output_height": 2, "output_width": int(rng.integers(1, 4)), "sampling_ratio": int(rng.integers(0, 3)),
                        "mode": pick(rng, ["avg", "max"]), "spatial_scale": float(pick(rng, [1.0, 0.5])),
                        "coordinate_transformation_mode": pick(rng, ["half_pixel", "output_half_pixel"])}, opset=16)  # fmt: skip
    if op == "NonMaxSuppression":
        boxes, scores = rng.uniform(0, 1, (n, 6, 4)).astype(np.float32), rng.uniform(0, 1, (n, c, 6)).astype(np.float32)
        return Problem(op, [boxes, scores, i64([int(rng.integers(0, 5))]), np.array([rng.uniform(0, 1)], np.float32), np.array([rng.uniform(0, 1)], np.float32)],
                       {"center_point_box": int(rng.integers(2))}, opset=11)  # fmt: skip
    if op == "MaxRoiPool":
        boxes = np.sort(rng.integers(0, 6, (3, 2, 2)), axis=1).reshape(3, 4).astype(np.float32)
        rois = np.concatenate([rng.integers(0, n, (3, 1)).astype(np.float32), boxes], 1)
        return Problem(op, [array(rng, np.float32, (n, c, h, w), 0), rois], {"pooled_shape": [2, int(rng.integers(1, 4))], "spatial_scale": float(pick(rng, [1.0, 0.5]))}, opset=pick(rng, [21, 22]))
    x = array(rng, np.float32, (1, 1, h, w), 0)
    indices = rng.permutation(4 * h * w)[: h * w].reshape(x.shape).astype(np.int64)
    return Problem(op, [x, indices], {"kernel_shape": [2, 2], "strides": [2, 2]}, opset=11)


@makes("StringConcat", "StringSplit", "RegexFullMatch", "StringNormalizer", "TfIdfVectorizer")
def strings(op, rng):
    if op == "StringConcat":
        return Problem(op, [array(rng, object, s) for s in broadcastable(rng, 2)], opset=20)
    if op == "StringSplit":
        x = rng.choice(np.array(["a b  c", "", " x ", "a,b,,c", ",", "abc"], object), shape(rng, 0, 2))
        attributes = {k: v for k, v in (("delimiter", pick(rng, [",", " ", ""])), ("maxsplit", int(rng.integers(0, 3)))) if chance(rng, 0.6)}
        return Problem(op, [x], attributes, 2, 20)
    if op == "RegexFullMatch":
        return Problem(op, [array(rng, object, shape(rng))], {"pattern": pick(rng, ["a.*", "", r"\d+\.\d", "[a-z ]+", "a|bc"])}, opset=20)
    if op == "StringNormalizer":
        x = rng.choice(np.array(["a", "B", "Monday", "the"], object), pick(rng, [(4,), (1, 4)]))
        return Problem(op, [x], {"case_change_action": pick(rng, ["LOWER", "UPPER", "NONE"]), "is_case_sensitive": int(rng.integers(2)), "stopwords": ["the", "b"]}, opset=10)
    n = int(rng.integers(1, 3))
    return Problem(op, [rng.integers(0, 5, shape(rng, 1, 2, 0)).astype(pick(rng, [np.int32, np.int64]))],
                   {"mode": pick(rng, ["TF", "IDF", "TFIDF"]), "min_gram_length": 1, "max_gram_length": n, "max_skip_count": int(rng.integers(0, 3)),
                    "ngram_counts": [0, 3], "ngram_indexes": [0, 1, 2, 3, 4], "pool_int64s": [1, 2, 3, 1, 2, 3, 4], "weights": [1.0, 2.0, 3.0, 4.0, 5.0]}, opset=9)  # fmt: skip


@makes("SequenceAt", "SequenceInsert", "SequenceErase", "ConcatFromSequence", "SplitToSequence", "SequenceLength")
def sequences(op, rng):
    s = shape(rng, 1, 3, 0)
    items = [array(rng, np.float32, s) for _ in range(rng.integers(1, 4))]
    at = np.array(int(rng.integers(-len(items), len(items))), np.int64)
    if op == "SequenceInsert":
        return Problem(op, [items, array(rng, np.float32, s), *([at] if chance(rng, 0.6) else [])], opset=11)
    if op == "SequenceErase":
        return Problem(op, [items, *([at] if chance(rng, 0.6) else [])], opset=11)
    if op == "ConcatFromSequence":
        new = int(rng.integers(2))
        return Problem(op, [items], {"axis": int(rng.integers(-len(s) - new, len(s) + new)), "new_axis": new}, opset=11)
    if op == "SplitToSequence":
        axis = axis_of(rng, len(s))
        cut = int(rng.integers(0, s[axis] + 1))
        split = pick(rng, [[], [np.array(int(rng.integers(1, 3)), np.int64)], [i64([cut, s[axis] - cut])]])
        return Problem(op, [array(rng, np.float32, s), *split], {"axis": axis, "keepdims": int(rng.integers(2))}, opset=11)
    return Problem(op, [items, at] if op == "SequenceAt" else [items], opset=11)


@makes("DFT")
def dft(op, rng):
    s = (*shape(rng, 1, 3, 0, 7), pick(rng, [1, 2]))
    axis = int(rng.integers(0, len(s) - 1))
    inverse = int(rng.integers(2))
    attributes = {"inverse": inverse, "onesided": int(s[-1] == 1 and not inverse and chance(rng, 0.5))}
    return Problem(op, [array(rng, np.float32, s, 0), None, i64(axis)], attributes, opset=20, constant=(2,))


@makes("HannWindow", "HammingWindow", "BlackmanWindow")
def windows(op, rng):
    return Problem(op, [i64(int(rng.integers(1, 9)))], {"periodic": int(rng.integers(2))}, opset=17, constant=maybe_constant(rng, 0))
