"""Problems of LabelEncoder, CategoryMapper and OneHotEncoder."""

from __future__ import annotations

import numpy as np

from draw import array, chance, i64, makes, pick, shape
from known import differs, has_nan
from learned import FEATURES, floats, learned
from problem import ORT, REFERENCE
from versions import again, form

WORDS = ["a", "b", "Ä", "", "long word"]


@makes("LabelEncoder", "CategoryMapper", "OneHotEncoder")
def labels(op, rng):
    count, s = int(rng.integers(1, 4)), shape(rng, 1, 2)
    words = rng.choice(np.array(WORDS, object), s)
    chosen = [str(w) for w in rng.permutation(WORDS)[:count]]
    numbers = [int(v) for v in rng.permutation(5)[:count]]
    if op == "OneHotEncoder":
        if chance(rng, 0.5):
            return learned(op, [words], {"cats_strings": chosen}, opset=1)
        return learned(op, [rng.integers(0, 6, s).astype(pick(rng, FEATURES))], {"cats_int64s": numbers}, opset=1)
    from_words = chance(rng, 0.5)
    x = words if from_words else i64(rng.integers(0, 6, s))
    if op == "CategoryMapper":
        return learned(op, [x], {"cats_strings": chosen, "cats_int64s": numbers, "default_int64": -3, "default_string": "none"}, opset=1)
    if chance(rng, 0.3):
        return learned(op, [array(rng, np.float32, s)], {"keys_floats": [float("nan"), 0.5, 1.0], "values_int64s": [1, 2, 3]}, opset=2)
    keys = {"keys_strings": chosen} if from_words else {"keys_int64s": numbers}
    values = pick(rng, [{"values_floats": floats(rng, count)}, {"values_int64s": numbers}, {"values_strings": chosen}])
    return learned(op, [x], {**keys, **values}, opset=pick(rng, [2, 4]))


@form("LabelEncoder")
def classes(q, since):
    """Each by its place in one list."""
    if since > 1:
        return None
    if q.inputs[0].dtype.kind == "O" and "keys_strings" in q.attributes:
        words = q.attributes["keys_strings"]
        changed = {"keys_strings": words, "values_int64s": list(range(len(words)))}
    elif q.inputs[0].dtype == np.int64 and "values_strings" in q.attributes:
        words = q.attributes["values_strings"]
        changed = {"keys_int64s": list(range(len(words))), "values_strings": words}
    else:
        return False
    again(q, attributes=changed)
    q.attributes = {"classes_strings": words}
    return None


differs("LabelEncoder", ORT, "NaN", has_nan, "finds no NaN among the keys; the standard compares bits")
differs("LabelEncoder", REFERENCE, "NaN", has_nan, "finds no NaN among the keys; the standard compares bits")
