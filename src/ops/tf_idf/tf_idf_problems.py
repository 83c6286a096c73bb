"""Problems of TfIdfVectorizer."""

from __future__ import annotations

import numpy as np

from draw import makes, pick, shape
from problem import Problem
from tolerances import held_to


@makes("TfIdfVectorizer")
def tf_idf(op, rng):
    n = int(rng.integers(1, 3))
    return Problem(op, [rng.integers(0, 5, shape(rng, 1, 2, 0)).astype(pick(rng, [np.int32, np.int64]))],
                   {"mode": pick(rng, ["TF", "IDF", "TFIDF"]), "min_gram_length": 1, "max_gram_length": n, "max_skip_count": int(rng.integers(0, 3)),
                    "ngram_counts": [0, 3], "ngram_indexes": [0, 1, 2, 3, 4], "pool_int64s": [1, 2, 3, 1, 2, 3, 4], "weights": [1.0, 2.0, 3.0, 4.0, 5.0]}, opset=9)  # fmt: skip


held_to(0, "TfIdfVectorizer")
