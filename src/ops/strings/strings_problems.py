"""Problems of StringConcat, StringSplit and StringNormalizer."""

from __future__ import annotations

import numpy as np

from draw import array, broadcastable, chance, makes, pick, shape
from known import attribute, differs
from problem import ORT, REFERENCE, Problem


@makes("StringConcat", "StringSplit", "StringNormalizer")
def strings(op, rng):
    if op == "StringConcat":
        return Problem(op, [array(rng, object, s) for s in broadcastable(rng, 2)], opset=20)
    if op == "StringSplit":
        x = rng.choice(np.array(["a b  c", "", " x ", "a,b,,c", ",", "abc"], object), shape(rng, 0, 2))
        attributes = {k: v for k, v in (("delimiter", pick(rng, [",", " ", ""])), ("maxsplit", int(rng.integers(0, 3)))) if chance(rng, 0.6)}
        return Problem(op, [x], attributes, 2, 20)
    x = rng.choice(np.array(["a", "B", "Monday", "the"], object), pick(rng, [(4,), (1, 4)]))
    return Problem(op, [x], {"case_change_action": pick(rng, ["LOWER", "UPPER", "NONE"]), "is_case_sensitive": int(rng.integers(2)), "stopwords": ["the", "b"]}, opset=10)


differs("StringSplit", ORT, "an empty string and a delimiter", lambda p: "" in p.inputs[0].reshape(-1).tolist(),
        "counts no piece in it; Python and the reference count one, empty")  # fmt: skip
differs("StringSplit", REFERENCE, "white space at the end after maxsplit", lambda p: "maxsplit" in p.attributes,
        "keeps it; ONNX Runtime trims it too")  # fmt: skip
differs("StringNormalizer", REFERENCE, "is_case_sensitive = 0", lambda p: not attribute(p, "is_case_sensitive"),
        "compares stop words by case all the same")  # fmt: skip
