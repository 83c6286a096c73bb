"""What operators of ai.onnx.ml are drawn with."""

from __future__ import annotations

import numpy as np

from problem import Problem

ML = "ai.onnx.ml"
FEATURES = [np.float32, np.float32, np.float64, np.int64, np.int32]
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]


def learned(op, inputs, attributes, outputs=1, opset=3):
    return Problem(op, inputs, attributes, outputs, opset, domain=ML)


def floats(rng, *sizes):
    return [float(v) for v in np.round(rng.uniform(-2, 2, int(np.prod(sizes))), 3).astype(np.float32)]
