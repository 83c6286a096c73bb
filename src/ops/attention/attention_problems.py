"""Problems of Attention and RotaryEmbedding."""

from __future__ import annotations

import numpy as np

from draw import array, chance, i64, makes, pick
from known import differs, not_finite
from problem import REFERENCE, Problem, batch_axes, rare_numbers
from tolerances import LARGEST, held_to, sized


@makes("Attention")
def attention(op, rng):
    b, heads, q, k, d, v = (int(rng.integers(1, 4)) for _ in range(6))
    groups = pick(rng, [1, 2])
    f = lambda *s: array(rng, np.float32, s, 0, -1, 1)  # noqa: E731
    given = [f(b, heads * groups, q, d), f(b, heads, k, d), f(b, heads, k, v)]
    attributes = {"is_causal": int(rng.integers(2))}
    if chance(rng, 0.5):
        given.append(f(q, k) if chance(rng, 0.5) else array(rng, bool, (q, k)) | True)
    if chance(rng, 0.3):
        attributes["softcap"] = 2.0
    if chance(rng, 0.3):
        attributes["scale"] = 0.7
    return Problem(op, given, attributes, opset=23)


@makes("RotaryEmbedding")
def rotary(op, rng):
    batch, heads, length, half = (int(rng.integers(1, 4)) for _ in range(4))
    rotated = half if chance(rng, 0.6) else int(rng.integers(1, half + 1))
    x = array(rng, np.float32, (batch, heads, length, 2 * half), 0)
    caches = [array(rng, np.float32, (8, rotated), 0, -1, 1) for _ in range(2)]
    attributes = {"interleaved": int(rng.integers(2)), "rotary_embedding_dim": 2 * rotated if rotated != half else 0}
    return Problem(op, [x, *caches, i64(rng.integers(0, 8, (batch, length)))], attributes, opset=23)


rare_numbers("Attention RotaryEmbedding")
batch_axes("Attention", (0, 0), (1, 0), (2, 0))
batch_axes("RotaryEmbedding", (0, 0), (3, 0))

sized(LARGEST, "Attention RotaryEmbedding")
held_to(2, "Attention RotaryEmbedding")

differs("Attention", REFERENCE, "infinities among queries or keys", not_finite,
        "0 where every score of a row is -infinity; the standard's body: only for a row that is masked, else NaN")  # fmt: skip
