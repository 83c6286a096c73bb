"""Functions with which generators draw problems, and the tables that they register in."""

from __future__ import annotations

import numpy as np

ALL = {}
ELSEWHERE = {}  # {"file file" of tests/python: the operators that have their problems there}
FLOATS = [np.float32, np.float64, np.float16]
INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
NUMBERS = FLOATS + INTS
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -0.5, -2.5, np.inf, -np.inf, np.nan, 1e-40, 65504.0, 1e30]
MOVED = [np.float32, np.int64, np.uint8, object, bool, np.float64]
SMALL = [np.float32] * 4 + [np.float64, np.float16, np.int32, np.int64, np.uint8]


def makes(*names):
    def register(generate):
        """`generate(op, rng)` returns a Problem."""
        ALL.update(dict.fromkeys(names, generate))
        return generate

    return register


def elsewhere(files, *names):
    """These operators have no generator: these files test them."""
    ELSEWHERE.setdefault(files, set()).update(names)


def pick(rng, options):
    return options[rng.integers(len(options))]


def chance(rng, p):
    return rng.random() < p


def shape(rng, low=0, high=4, zero=0.15, largest=5):
    """Mostly small, now and then with a size of zero or one."""
    return tuple(0 if chance(rng, zero / 3) else int(rng.integers(1, largest + 1)) for _ in range(rng.integers(low, high + 1)))


def array(rng, dtype, shape, special=0.3, low=-3, high=3):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        a = rng.integers(max(low * 3, info.min), min(high * 3, info.max) + 1, shape).astype(dtype)
        if chance(rng, special) and a.size:
            edges = rng.choice(np.array([info.min, info.max, 0, 1], dtype=dtype), a.shape)
            a = np.where(rng.random(a.shape) < 0.3, edges, a).astype(dtype)
        return a
    if dtype.kind in "OUS":
        return rng.choice(np.array(["", "a", "bc", "Ä", "a b", "1.5"], object), shape)
    with np.errstate(all="ignore"):
        a = np.asarray(rng.uniform(low, high, shape)).astype(dtype)
        if chance(rng, special) and a.size:
            info = np.finfo(dtype)  # numbers below the normal ones of each type
            edges = np.array([*SPECIAL, info.smallest_subnormal, -info.smallest_subnormal, info.tiny / 2])
            a = np.where(rng.random(a.shape) < 0.2, rng.choice(edges, a.shape).astype(dtype), a).astype(dtype)
    return np.asarray(a, dtype)


def broadcastable(rng, count, zero=0.15):
    full = shape(rng, zero=zero)
    shapes = []
    for _ in range(count):
        s = full[rng.integers(len(full) + 1) :] if chance(rng, 0.4) else full
        shapes.append(tuple(1 if chance(rng, 0.25) else d for d in s))
    return shapes


def axis_of(rng, rank):
    return int(rng.integers(-rank, rank))


def maybe_constant(rng, *candidates):
    return tuple(i for i in candidates if chance(rng, 0.5))


def i64(values):
    return np.asarray(values, np.int64)
