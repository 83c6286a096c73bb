"""Where the others differ from Lathe and were looked at: whom, when, and why Lathe stays as it is. The folders of the operators say it."""

import dataclasses
from typing import Callable

import numpy as np

KNOWN = []


@dataclasses.dataclass(frozen=True)
class Known:
    ops: str  # names, separated by spaces
    whom: str
    when: str
    holds: Callable
    why: str


def differs(*args):
    """What Known has: an entry."""
    KNOWN.append(Known(*args))


def attribute(p, name, default=None):
    return p.attributes.get(name, default)


def has_nan(p):
    return any(isinstance(v, np.ndarray) and v.dtype.kind in "fV" and np.isnan(v.astype(np.float64)).any() for v in p.inputs)


def floats(p):
    return [v.astype(np.float64) for v in p.inputs if isinstance(v, np.ndarray) and v.dtype.kind in "fV"]


def not_finite(p):
    return any(not np.isfinite(v).all() for v in floats(p))


def tiny(p):
    """Numbers whose squares are none in float?"""
    return any(((v != 0) & (np.abs(v) < 1e-19)).any() for v in floats(p))


def given(p, i):
    return len(p.inputs) > i and p.inputs[i] is not None


def same(p):
    return str(attribute(p, "auto_pad", "")).startswith("SAME")


def table():
    """KNOWN as a Markdown table: operators that differ in the same way have one row."""
    alike = {}
    for k in KNOWN:
        alike.setdefault((k.whom, k.when, k.why), []).extend(k.ops.split())
    rows = sorted(f"| {', '.join(sorted(ops))} | {' and '.join(whom.split())} | {when} | {why} |" for (whom, when, why), ops in alike.items())
    return "\n".join(["| operator | who differs | when | how, and why Lathe stays |", "|---|---|---|---|", *rows]) + "\n"


def reason(p, whom):
    """The entry that covers it, or None."""
    return next((entry for entry in KNOWN if whom in entry.whom.split() and p.op in entry.ops.split() and entry.holds(p)), None)
