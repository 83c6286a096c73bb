"""Problems of features and maps (ai.onnx.ml)."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx.helper as oh

from draw import array, chance, i64, makes, pick
from known import attribute, differs, tiny
from learned import FEATURES, floats, learned
from numpy_judges import judges
from problem import ORT, REFERENCE, Problem, not_asked
from tolerances import held_to


def rows(rng, special=0.15, zero=0.1):
    n, f = (0 if chance(rng, zero) else int(rng.integers(1, 6))), int(rng.integers(1, 6))
    return array(rng, pick(rng, FEATURES), (n, f), special)


@dataclasses.dataclass
class MapProblem(Problem):
    """One node of ai.onnx.ml beside a map."""

    domain: str = "ai.onnx.ml"
    key: int = 7
    value: int = 1
    of_many_nodes = True

    def model(self):
        number = isinstance(self.inputs[0], dict)
        if number:
            given = oh.make_value_info("x0", oh.make_map_type_proto(self.key, oh.make_tensor_type_proto(self.value, None)))
        else:
            given = oh.make_tensor_value_info("x0", 1, ["n", "c"])
        node = oh.make_node(self.op, ["x0"], ["y0"], domain="ai.onnx.ml", **self.attributes)
        out = oh.make_empty_tensor_value_info("y0")
        return oh.make_model_gen_version(oh.make_graph([node], "g", [given], [out]), opset_imports=[oh.make_opsetid("ai.onnx.ml", 1), oh.make_opsetid("", 13)])

    def __str__(self):
        return f"{self.op}({self.inputs[0]}) {self.attributes}"


@makes("ArrayFeatureExtractor", "Binarizer", "FeatureVectorizer", "Imputer", "Normalizer", "Scaler")
def features(op, rng):
    x = rows(rng)
    columns = x.shape[1]
    if op == "ArrayFeatureExtractor":
        return learned(op, [x, i64(rng.integers(0, columns, (1, int(rng.integers(1, 5)))))], {})
    if op == "Binarizer":
        return learned(op, [x], {"threshold": float(pick(rng, [0.0, 0.5, -1.0]))})
    if op == "FeatureVectorizer":
        # ONNX Runtime aborts where there are no rows.
        parts = [array(rng, x.dtype, (max(x.shape[0], 1), int(rng.integers(1, 4))), 0) for _ in range(rng.integers(1, 4))]
        return learned(op, parts, {"inputdimensions": [p.shape[1] for p in parts]}, opset=1)
    if op == "Imputer":
        count = columns if chance(rng, 0.5) else 1
        if x.dtype.kind == "i":
            return learned(op, [x], {"imputed_value_int64s": [int(v) for v in rng.integers(-5, 6, count)], "replaced_value_int64": 0}, opset=1)
        return learned(op, [x], {"imputed_value_floats": floats(rng, count), "replaced_value_float": float(pick(rng, [np.nan, 0.0, 1.0]))}, opset=1)
    if op == "Normalizer":
        return learned(op, [np.where(np.isfinite(x), x, 0).astype(x.dtype) if x.dtype.kind == "f" else x], {"norm": pick(rng, ["MAX", "L1", "L2"])}, opset=1)
    count = columns if chance(rng, 0.5) else 1
    return learned(op, [x], {"offset": floats(rng, count), "scale": floats(rng, count)}, opset=1)


@makes("CastMap", "DictVectorizer", "ZipMap")
def maps(op, rng):
    texts = ["a", "b", "c", "Ä"]
    if op == "ZipMap":
        classes = int(rng.integers(1, 5))
        labels = {"classlabels_strings": texts[:classes]} if chance(rng, 0.5) else {"classlabels_int64s": [int(v) for v in rng.permutation(9)[:classes]]}
        return MapProblem(op, [array(rng, np.float32, (int(rng.integers(1, 4)), classes), 0)], labels)
    if op == "CastMap":
        keys = sorted(int(k) for k in rng.permutation(6)[: rng.integers(1, 5)])
        sparse = chance(rng, 0.5)
        attributes = {"cast_to": pick(rng, ["TO_FLOAT", "TO_INT64"]), "map_form": "SPARSE" if sparse else "DENSE"}
        if sparse:
            attributes["max_map"] = 6
        return MapProblem(op, [{k: float(np.float32(rng.integers(-4, 5))) for k in keys}], attributes)
    strings = chance(rng, 0.5)
    keys = [pick(rng, texts) for _ in range(3)] if strings else [int(rng.integers(4)) for _ in range(3)]
    vocabulary = {"string_vocabulary": texts} if strings else {"int64_vocabulary": [3, 1, 0, 2]}
    return MapProblem(op, [{k: float(np.float32(rng.normal())) for k in keys}], vocabulary, key=8 if strings else 7)


not_asked(REFERENCE, "DictVectorizer")  # rows are lists of maps there, and one map a row of rank 1


@judges("DictVectorizer")
def judge_of_dict_vectorizer(p):
    """One row, a column for each word; 0 where the map has none."""
    (words,) = p.attributes.values()
    return [[[p.inputs[0].get(word, 0) for word in words]]]


held_to(0, "CastMap FeatureVectorizer")
held_to(2, "Normalizer Scaler")


def _beyond(p, most):
    """Numbers greater than this, in the first input?"""
    return bool((np.abs(p.inputs[0].astype(np.float64)) > most).any())


differs("Normalizer", f"{ORT} {REFERENCE}", "squares below float", tiny, "calculates in float: 0, or the number itself")
differs("FeatureVectorizer Normalizer Scaler", REFERENCE, "inputs not float32", lambda p: p.inputs[0].dtype != np.float32,
        "gives the input's type; the standard: float")  # fmt: skip
differs("Normalizer", ORT, "MAX and a negative number", lambda p: attribute(p, "norm") == "MAX",
        "divides by the greatest number; here by the greatest absolute value, as scikit-learn and the reference do")  # fmt: skip
differs("Normalizer", ORT, "squares and sums beyond the input's type", lambda p: _beyond(p, 46340),
        "calculates in that type: infinities, or integers that overflow")  # fmt: skip
differs("Normalizer", REFERENCE, "squares beyond float", lambda p: _beyond(p, 1e19), "calculates in float: 0")
