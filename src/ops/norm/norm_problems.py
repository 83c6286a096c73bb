"""Problems of normalizations."""

from __future__ import annotations

import numpy as np

from draw import array, axis_of, chance, makes, pick, shape
from known import attribute, differs, not_finite, tiny
from numpy_judges import judges
from problem import ORT, REFERENCE, Problem, batch_axes, rare_numbers
from slopes import constant, one, real, slopes
from tolerances import LARGEST, held_to, largest, sized
from versions import again, form


@makes("LayerNormalization", "RMSNormalization")
def layer_norm(op, rng):
    s = shape(rng, 1, 4, 0, 9)
    axis = axis_of(rng, len(s))
    given = [array(rng, np.float32, s, 0), array(rng, np.float32, s[axis:], 0)]
    if op == "LayerNormalization" and chance(rng, 0.5):
        given.append(array(rng, np.float32, s[axis:], 0))
    outputs = int(rng.integers(1, 4)) if op == "LayerNormalization" else 1
    return Problem(op, given, {"axis": axis}, outputs, 23)


@makes("InstanceNormalization", "GroupNormalization", "BatchNormalization", "LRN", "MeanVarianceNormalization", "LpNormalization")
def other_norms(op, rng):
    s = (int(rng.integers(1, 3)), int(rng.integers(1, 4)) * 2, *(int(rng.integers(1, 6)) for _ in range(rng.integers(1, 4))))
    if op == "MeanVarianceNormalization":
        s = (*s[:2], *(s[2:] * 2)[:2])
    x, c = array(rng, np.float32, s, 0), s[1]
    if op == "InstanceNormalization":
        return Problem(op, [x, array(rng, np.float32, (c,), 0), array(rng, np.float32, (c,), 0)])
    if op == "GroupNormalization":
        return Problem(op, [x, array(rng, np.float32, (c,), 0), array(rng, np.float32, (c,), 0)], {"num_groups": pick(rng, [1, 2, c])})
    if op == "BatchNormalization":
        given = [array(rng, np.float32, (c,), 0) for _ in range(3)] + [array(rng, np.float32, (c,), 0, 0.1, 2)]
        return Problem(op, [x, *given], {"epsilon": 1e-3})
    if op == "LRN":
        more = {"alpha": 0.1, "beta": 0.5, "bias": 2.0} if chance(rng, 0.5) else {}
        return Problem(op, [x], {"size": int(rng.integers(1, 6)), **more})
    if op == "MeanVarianceNormalization":
        return Problem(op, [x], {"axes": pick(rng, [[0, 2, 3], [1], [-1], [0, 1, 2, 3]])})
    return Problem(op, [x], {"axis": axis_of(rng, len(s)), "p": int(rng.integers(1, 3))})


rare_numbers("LayerNormalization RMSNormalization InstanceNormalization GroupNormalization BatchNormalization LRN MeanVarianceNormalization LpNormalization")
batch_axes("InstanceNormalization GroupNormalization BatchNormalization LRN MeanVarianceNormalization LpNormalization", (0, 0))


@form("BatchNormalization")
def inference(q, since):
    if since < 7:
        q.attributes["is_test"] = 1


@form("GroupNormalization")
def scale_of_each_group(q, since):
    if since == 18:
        groups = q.attributes["num_groups"]
        x, scale, bias = q.inputs
        q.inputs = [x, scale[:groups], bias[:groups]]
        again(q, inputs=[x, *(np.repeat(v, x.shape[1] // groups) for v in q.inputs[1:])])


@judges("LRN")
def judge_of_lrn(p):
    """Squares of the channels around, from floor((size - 1) / 2) before to ceil((size - 1) / 2) behind."""
    x, size = p.inputs[0].astype(np.float64), p.attributes["size"]
    alpha, beta, bias = (p.attributes.get(name, default) for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))
    squares = np.zeros_like(x)
    for c in range(x.shape[1]):
        squares[:, c] = (x[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1] ** 2).sum(axis=1)
    return [x / (bias + alpha / size * squares) ** beta]


def normed(p):
    """What a norm reads, in float64, and the axes that it takes together."""
    x, a = p.inputs[0].astype(np.float64), p.attributes
    if p.op == "LayerNormalization":
        return x, tuple(range(a.get("axis", -1) % x.ndim, x.ndim))
    if p.op == "MeanVarianceNormalization":
        return x, tuple(a.get("axes", [0, 2, 3]))
    return x.reshape(x.shape[0], a.get("num_groups", x.shape[1]), -1), (2,)


def _mean_of_deviation(p):
    """The most that a mean is of the deviation from it, 1 at least."""
    x, axes = normed(p)
    with np.errstate(all="ignore"):
        ratios = np.sqrt(np.square(x).mean(axes) / (x.var(axes) + p.attributes.get("epsilon", 1e-5)))
    return float(np.where(np.isfinite(ratios), ratios, 1).max(initial=1))


def _of_deviation(p, i, numbers):
    if p.op == "LayerNormalization" and i == 1:  # the mean itself
        return np.full_like(numbers, largest(p.inputs[0]))
    return np.full_like(numbers, numbers.max(initial=0) * _mean_of_deviation(p))


# Where a mean is taken away: times what it is of the deviation from it.
sized("the largest number, times the mean over the deviation",
      "GroupNormalization InstanceNormalization LayerNormalization MeanVarianceNormalization", _of_deviation)  # fmt: skip


sized(LARGEST, "BatchNormalization")
held_to(2, "BatchNormalization LRN RMSNormalization")


def _no_spread(p):
    """Is there a mean of equal elements, or of one?"""
    x, axes = p.inputs[0].astype(np.float64), tuple(attribute(p, "axes", [0, 2, 3]))
    with np.errstate(all="ignore"):
        return bool((x.std(axes) == 0).any())


def _cancels(p):
    """Is the variance of a group (of channels, of each channel, or of the axes) small beside its mean square?"""
    x, axes = normed(p)
    with np.errstate(all="ignore"):
        return bool((x.var(axes) <= np.square(x).mean(axes) / 16).any())


differs("LayerNormalization", ORT, "infinities", not_finite, "NaN for the mean; the standard's body: infinity")
differs("LRN", ORT, "NaN or infinities", not_finite, "keeps a running sum, from which NaN does not go away")
differs("LpNormalization", f"{ORT} {REFERENCE}", "squares below float", tiny, "calculates in float: 0, or the number itself")
differs("GroupNormalization MeanVarianceNormalization", f"{ORT} {REFERENCE}", "a variance below a sixteenth of the mean square", _cancels,
        "takes the difference of the mean square and the squared mean for it, of which that many bits are lost")  # fmt: skip
differs("InstanceNormalization", ORT, "a variance below a sixteenth of the mean square", _cancels, "adds x times a scale and a shift, which cancel")
differs("LRN", REFERENCE, "fewer samples than channels", lambda p: p.inputs[0].shape[0] < p.inputs[0].shape[1],
        "counts channels by samples: those behind have sums of 0")  # fmt: skip
differs("LpNormalization", REFERENCE, "p = 1", lambda p: attribute(p, "p", 2) == 1, "forgets the absolute value")
differs("MeanVarianceNormalization", ORT, "one element, or equal ones", _no_spread, "0/0 where the standard's body has a small number")


@slopes("LayerNormalization")
def derivative_of_layers(op):
    yield one(op, {"x": real(2, 3, 4), "scale": real(4, seed=1), "bias": real(4, seed=2)})
    yield one(op, {"x": real(2, 3, 4), "scale": real(3, 4, seed=1)}, axis=1, epsilon=0.1)


@slopes("RMSNormalization")
def derivative_of_mean_squares(op):
    yield one(op, {"x": real(2, 3, 4), "scale": real(3, 4, seed=1)}, opset=23, axis=1)


@slopes("BatchNormalization")
def derivative_of_batches(op):
    statistics = [constant("mean", real(3, seed=5)), constant("variance", real(3, seed=6, low=0.3))]
    yield one(op, {"x": real(2, 3, 4), "scale": real(3, seed=1), "bias": real(3, seed=2)}, ["mean", "variance"], before=statistics)
