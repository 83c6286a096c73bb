"""Problems of Upsample and Resize."""

from __future__ import annotations

import numpy as np

from draw import array, chance, i64, makes, maybe_constant, pick
from known import attribute, differs, not_finite
from problem import ORT, REFERENCE, Problem, rare_numbers
from tolerances import INPUTS, TERMS, held_to, sized
from versions import again, form, inputs_since


@makes("Upsample")
def upsample(op, rng):
    s = (1, int(rng.integers(1, 3)), int(rng.integers(1, 6)), int(rng.integers(1, 6)))
    scales = np.array([1, 1, pick(rng, [1.0, 1.5, 2.0, 3.0]), pick(rng, [1.0, 1.5, 2.0, 2.7])], np.float32)
    return Problem(op, [array(rng, np.float32, s, 0), scales], {"mode": pick(rng, ["nearest", "linear"])}, opset=9, constant=(1,))


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


rare_numbers("Resize")

inputs_since(9, "Upsample", "scales")


@form("Upsample")
def height_and_width(q, since):
    if since == 1:
        q.attributes["height_scale"], q.attributes["width_scale"] = q.attributes.pop("scales")[2:]


@form("Resize")
def roi_and_scales_are_there(q, since):
    attributes = q.attributes
    if since < 19 and attributes["coordinate_transformation_mode"] == "half_pixel_symmetric":
        return False
    x, scales, sizes = q.inputs[0], q.inputs[2], q.inputs[3] if len(q.inputs) > 3 else None
    if since < 11:
        if scales is None:
            return False
        shrinks = bool((scales < 1).any())
        again(q, attributes={"mode": attributes["mode"], "coordinate_transformation_mode": "asymmetric", "nearest_mode": "ceil" if shrinks else "floor"})
        if attributes["mode"] == "nearest" and shrinks and (scales > 1).any():
            q.newest = None  # which way nearest is, goes by axis
        q.attributes = {"mode": attributes["mode"]}
        q.inputs, q.constant = [x, scales], tuple(1 for i in q.constant if i == 2)
        return attributes["mode"] != "cubic"
    if since < 13:
        none = np.zeros(0, np.float32)
        q.inputs = [x, none, none if scales is None else scales, *([] if sizes is None else [sizes])]
    return None


sized(TERMS, "Upsample")
sized(INPUTS, "Resize")
held_to(2, "Upsample")
held_to(16, "Resize")

differs("Resize", f"{ORT} {REFERENCE}", "NaN or infinities", not_finite, "counts neighbors of weight 0, those outside of the image too")
differs("Resize", REFERENCE, "a fractional size", lambda p: len(p.inputs) == 3, "rounds otherwise, and holds a size of 1.2 for more than one")
differs("Resize", REFERENCE, "pytorch_half_pixel to a size of 1", lambda p: attribute(p, "coordinate_transformation_mode") == "pytorch_half_pixel",
        "does not begin at 0")  # fmt: skip
differs("Resize", ORT, "half_pixel_symmetric, nearest by floor or ceil", lambda p: attribute(p, "coordinate_transformation_mode") == "half_pixel_symmetric" and attribute(p, "nearest_mode") in ("floor", "ceil"),
        "misses by a rounding the places that are whole numbers")  # fmt: skip
differs("Resize", ORT, "align_corners with a fractional size", lambda p: attribute(p, "coordinate_transformation_mode") == "align_corners",
        "the standard's own tests keep the fraction of scale times size")  # fmt: skip
