"""Problems of Einsum."""

from __future__ import annotations

import numpy as np

from draw import array, makes, pick
from known import differs, not_finite
from problem import REFERENCE, Problem, rare_numbers
from tolerances import TERMS, held_to, sized


@makes("Einsum")
def einsum(op, rng):
    equation = pick(rng, ["ij,jk->ik", "ij->ji", "ii->i", "ii", "ij,ij->", "bij,bjk->bik", "...ij,...jk->...ik", "i,j->ij",
                          "ij,j", "...i->...", "abc,cd->abd", "ab,ab->b", "...ii->...i", "ij,jk,kl->il"])  # fmt: skip
    sizes, left = {c: int(rng.integers(1, 5)) for c in "abcdijkl"}, equation.split("->")[0]
    extra = tuple(int(rng.integers(1, 4)) for _ in range(rng.integers(0, 3)))
    given = []
    for term in left.replace(" ", "").split(","):
        head = ()
        if term.startswith("..."):
            head, term = extra[rng.integers(0, len(extra) + 1) :], term[3:]
        given.append(array(rng, np.float32, head + tuple(sizes[c] for c in term), 0))
    return Problem(op, given, {"equation": equation})


rare_numbers("Einsum")

sized(TERMS, "Einsum")
held_to(2, "Einsum")

differs("Einsum", REFERENCE, "NaN or infinities", not_finite, "multiplies in another order")
