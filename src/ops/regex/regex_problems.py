"""Problems of RegexFullMatch."""

from __future__ import annotations

from draw import array, makes, pick, shape
from problem import Problem


@makes("RegexFullMatch")
def full_match(op, rng):
    return Problem(op, [array(rng, object, shape(rng))], {"pattern": pick(rng, ["a.*", "", r"\d+\.\d", "[a-z ]+", "a|bc"])}, opset=20)
