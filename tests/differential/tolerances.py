"""How far two answers may be from each other: epsilons of their type, as the operator's own declaration says (`.tolerance(…)` in src/ops),
or fewer where these problems hold more; and of which size. Nothing here is looser than the declaration, but for what others are."""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np

from draw import ALL

# What the epsilons are of, as the folders of the operators say it: where terms may cancel, of the sum of their absolute values, which is what
# the operator makes of the absolute values of its inputs; where every output hangs on many numbers in other ways, of the largest that comes
# out; where numbers are weighted by what was worked out of others, of the largest that goes in too; of logarithms of sums, sums of cosines
# and what activations bound, of 1 at least; or what a folder has a function for. Else of each number itself.
TERMS, LARGEST, INPUTS, ONE = "the sum of absolute terms", "the largest number", "the largest number, of the inputs too", "the number, and 1 at least"
SIZED = {}  # operator: (of what, function or None)
HELD = {}  # operator: fewer epsilons than are declared; 0: equal bits, as IEEE's arithmetic is rounded
LOOSER = []


def sized(what, ops, size=None):
    """What the epsilons of these operators are of; `size(p, i, numbers)` gives it for the absolute numbers of output `i`, where `what` is none of
    those above."""
    for op in ops.split():
        if op in SIZED:
            raise ValueError(f"{op} has a size: {SIZED[op][0]}")
        SIZED[op] = what, size


def held_to(epsilons, ops):
    for op in ops.split():
        if op in HELD:
            raise ValueError(f"{op} is held to {HELD[op]}")
        HELD[op] = epsilons


@dataclasses.dataclass(frozen=True)
class Looser:
    """Implementations whose answers are less exact: they are allowed so many epsilons more."""

    ops: str
    whom: str
    epsilons: float
    why: str
    as_float: bool = False  # of float32, in double too
    of_one: bool = False  # of 1, where a number is smaller


def looser(*args, **more):
    """What Looser has: an entry."""
    LOOSER.append(Looser(*args, **more))


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """As src/schema/schema.h has it."""

    epsilons: float
    per_reduced: bool
    exact: bool
    random: bool


@functools.cache
def declared():
    """{(domain, operator): Tolerance}"""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
    from support import built_tool  # which only a built tree has

    said = json.loads(subprocess.run([built_tool("numeric_tolerances")], check=True, capture_output=True).stdout)
    return {(domain, op): Tolerance(**c) for domain, ops in said.items() for op, c in ops.items()}


@functools.cache
def held(domain, op):
    """Returns the epsilons: declared, or fewer."""
    tolerance = declared()[domain, op]
    fewer = HELD.get(op, tolerance.epsilons)
    return 0 if tolerance.exact else min(fewer, tolerance.epsilons)


def largest(x):
    return float(np.abs(x.astype(np.float64), where=np.isfinite(x), out=np.zeros(x.shape)).max(initial=0))


class Allowed:
    """How far apart Lathe and somebody may be in one problem."""

    def __init__(self, p, whom, solve):
        """`whom`: None for Lathe itself, else a judge, who may be off by as much. `solve`: gives the outputs of a problem."""
        self.p, self.solve = p, solve
        self.epsilons = held(p.domain, p.op) * (1 if whom is None else 2)
        self.looser = [x for x in LOOSER if x.whom == whom and p.op in x.ops.split()]
        sizes = [p.inputs[0].size] if p.op.startswith("Reduce") else [d for v in p.inputs if isinstance(v, np.ndarray) for d in v.shape]
        self.per_reduced = np.sqrt(max([1, *sizes])) if declared()[p.domain, p.op].per_reduced else 1

    def __call__(self, i, want):
        """For each element of output `i`, an array of floats."""
        info, size = ml_dtypes.finfo(want.dtype), self._size(i, want)
        allowed = self.epsilons * self.per_reduced * (float(info.eps) * size + float(info.smallest_subnormal))
        for x in self.looser:
            eps = max(float(info.eps), np.finfo(np.float32).eps if x.as_float else 0)
            allowed = allowed + x.epsilons * self.per_reduced * eps * (np.maximum(size, 1) if x.of_one else size)
        return allowed

    def _size(self, i, want):
        numbers = np.abs(np.where(np.isfinite(want), want, 0)).astype(np.float64)
        what, size = SIZED.get(self.p.op, ("", None))
        if size:
            return size(self.p, i, numbers)
        if what == TERMS:
            return np.maximum(numbers, np.nan_to_num(np.abs(self._terms[i].astype(np.float64))))
        if what == LARGEST:
            return np.full_like(numbers, numbers.max(initial=0))
        if what == INPUTS:
            return np.full_like(numbers, max(numbers.max(initial=0), *(largest(v) for v in self.p.inputs if isinstance(v, np.ndarray) and v.dtype.kind in "fV")))
        return np.maximum(numbers, 1) if what == ONE else numbers

    @functools.cached_property
    def _terms(self):
        inputs = [np.abs(v) if isinstance(v, np.ndarray) and v.dtype.kind in "fV" else v for v in self.p.inputs]
        return self.solve(dataclasses.replace(self.p, inputs=inputs))


def _groups():
    """{(epsilons, whether times the root of the longest axis, of what): operators} of all that floats come out of."""
    groups = {}
    for (domain, op), tolerance in sorted(declared().items(), key=lambda entry: entry[0][1]):
        if domain != "com.microsoft" and op in ALL:
            epsilons = held(domain, op)
            key = (epsilons, tolerance.per_reduced, SIZED.get(op, ("the number", None))[0]) if epsilons else (0, False, "")
            groups.setdefault(key, []).append(op)
    return groups


def table():
    """Returns the tolerances as Markdown tables."""
    lines = ["| epsilons | of | operators |", "|---|---|---|"]
    for (epsilons, per_reduced, of), ops in sorted(_groups().items()):
        many = f"{epsilons:g}{' √n' if per_reduced else ''}" if epsilons else "none: equal bits"
        lines.append(f"| {many} | {of} | {', '.join(ops)} |")
    lines += ["", "| operator | who is less exact | epsilons more | why |", "|---|---|---|---|"]
    alike = {}
    for x in LOOSER:
        more = f"{x.epsilons:g}{' of float' if x.as_float else ''}{', of 1 at least' if x.of_one else ''}"
        alike.setdefault((x.whom, more, x.why), []).extend(x.ops.split())
    lines += sorted(f"| {', '.join(sorted(ops))} | {whom} | {more} | {why} |" for (whom, more, why), ops in alike.items())
    return "\n".join(lines) + "\n"
