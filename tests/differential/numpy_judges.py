"""What the others do not run, or run wrongly, by NumPy in float64 from the words of the standard: the folders of the operators have it."""

from __future__ import annotations

import numpy as np

ALL = {}


def judges(*names):
    def register(f):
        ALL.update(dict.fromkeys(names, f))
        return f

    return register


def run(p):
    """Outputs in the first input's type, those of maps in float; None where there is no judge."""
    if p.op not in ALL:
        return None
    with np.errstate(all="ignore"):
        given = p.inputs[0]
        return [np.asarray(y).astype(np.float32 if isinstance(given, dict) else given.dtype) for y in ALL[p.op](p)]
