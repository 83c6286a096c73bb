"""How far two answers may be from each other: epsilons of their type, as the operator's own declaration says (`.contract(…)` in src/ops),
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

from generators import ALL

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from support import built_tool  # noqa: E402

# What the epsilons are of: where terms may cancel, of the sum of their absolute values, which is what the operator makes of the absolute
# values of its inputs; where every output hangs on many numbers in other ways, of the largest that comes out; where a mean is taken away, of
# that times what it is of the deviation from it; where numbers are weighted by what was worked out of others, of the largest that goes in
# too; where supports vote, of all their votes; of logarithms of sums, sums of cosines and what activations bound, of 1 at least; else of
# each number itself.
OF_TERMS = set(
    "AveragePool CausalConvWithState Col2Im Conv ConvTranspose CumSum Einsum Gemm GlobalAveragePool HardSigmoid HardSwish MatMul Mean "
    "NegativeLogLikelihoodLoss ReduceMean ReduceSum ScatterElements ScatterND Sum Upsample".split()
)
OF_LARGEST = set(
    "Adagrad Adam AffineGrid Attention BatchNormalization DFT DeformConv FlexAttention Gelu LinearClassifier "
    "LinearRegressor Momentum Range RotaryEmbedding STFT TreeEnsemble TreeEnsembleClassifier "
    "TreeEnsembleRegressor".split()
)
OF_DEVIATION = set("GroupNormalization InstanceNormalization LayerNormalization MeanVarianceNormalization".split())
OF_INPUTS = set("GridSample LinearAttention Resize RoiAlign".split())
OF_ROWS = {"Det"}
OF_SUPPORTS = {"SVMClassifier", "SVMRegressor"}
OF_ONE = set("BlackmanWindow GRU HammingWindow HannWindow LSTM LogSoftmax RNN ReduceLogSum ReduceLogSumExp SoftmaxCrossEntropyLoss".split())
# Fewer epsilons than are declared. 0: equal bits, as IEEE's arithmetic is rounded.
HELD = {
    0: "Add Cast CastLike CastMap DequantizeLinear Div Dropout DynamicQuantizeLinear FeatureVectorizer Mod MelWeightMatrix Mul PRelu QuantizeLinear "
       "Reciprocal Shrink Sqrt Sub TfIdfVectorizer ThresholdedRelu",
    2: "Acosh AffineGrid Asinh Atan Atanh Attention AveragePool BatchNormalization BlackmanWindow CausalConvWithState Col2Im "
       "Conv ConvTranspose Cosh Einsum Exp Gemm GlobalAveragePool HammingWindow HannWindow HardSigmoid "
       "HardSwish LRN LeakyRelu LinearAttention LinearClassifier LinearRegressor Log LogSoftmax MatMul Mean "
       "Normalizer Pow RMSNormalization Range ReduceL1 ReduceL2 ReduceMean ReduceProd ReduceSum ReduceSumSquare "
       "RotaryEmbedding Scaler ScatterElements ScatterND Sinh SoftmaxCrossEntropyLoss Softsign Sum SwiGLU Tan TreeEnsemble "
       "TreeEnsembleClassifier TreeEnsembleRegressor Upsample",
    4: "DeformConv GRU LSTM NegativeLogLikelihoodLoss RNN",
    8: "FlexAttention RoiAlign STFT",
    16: "DFT Det GridSample Resize SVMClassifier SVMRegressor",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Looser:
    """Whose answers are less exact: they are given so many epsilons more."""

    ops: str
    whom: str
    epsilons: float
    why: str
    as_float: bool = False  # of float32, in double too
    of_one: bool = False  # of 1, where a number is smaller


LOOSER = (
    Looser("Cos Mish Sigmoid Sin Swish Tanh", "onnxruntime", 8, "formulas for many numbers at a time, which are right beside 1, not beside numbers near 0", of_one=True),
    Looser("Celu Elu Selu", "onnxruntime", 4, "takes 1 from the exponential, of which bits are lost near 0", of_one=True),
    Looser("LinearClassifier", "onnxruntime", 4, "takes a small chance as 1 less a great one", of_one=True),
    Looser("Erf Gelu HardSwish", "onnx.reference", 4, "constants and tables of float, for double too", as_float=True, of_one=True),
    Looser("Gelu", "onnxruntime", 4, "the standard's body: constants of float, for double too", as_float=True, of_one=True),
    Looser("OneHot", "onnx.reference", 4, "adds the difference of the two values to one of them", of_one=True),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Contract:
    """As src/schema/schema.h has it."""

    epsilons: float
    per_reduced: bool
    exact: bool
    random: bool


@functools.cache
def declared():
    """{(domain, operator): Contract}"""
    said = json.loads(subprocess.run([built_tool("numeric_contracts")], check=True, capture_output=True).stdout)
    return {(domain, op): Contract(**c) for domain, ops in said.items() for op, c in ops.items()}


@functools.cache
def held(domain, op):
    """Epsilons: declared, or fewer."""
    contract = declared()[domain, op]
    fewer = next((epsilons for epsilons, ops in HELD.items() if op in ops.split()), contract.epsilons)
    return 0 if contract.exact else min(fewer, contract.epsilons)


def _largest(x):
    return float(np.abs(x.astype(np.float64), where=np.isfinite(x), out=np.zeros(x.shape)).max(initial=0))


def normed(p):
    """What a norm reads, in float64, and the axes that it takes together."""
    x, a = p.inputs[0].astype(np.float64), p.attributes
    if p.op == "LayerNormalization":
        return x, tuple(range(a.get("axis", -1) % x.ndim, x.ndim))
    if p.op == "MeanVarianceNormalization":
        return x, tuple(a.get("axes", [0, 2, 3]))
    return x.reshape(x.shape[0], a.get("num_groups", x.shape[1]), -1), (2,)


def _mean_of_deviation(p):
    """The most that a mean is of the deviation from it, 1 at least."""
    x, axes = normed(p)
    with np.errstate(all="ignore"):
        ratios = np.sqrt(np.square(x).mean(axes) / (x.var(axes) + p.attributes.get("epsilon", 1e-5)))
    return float(np.where(np.isfinite(ratios), ratios, 1).max(initial=1))


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
        if self.p.op in OF_TERMS:
            return np.maximum(numbers, np.nan_to_num(np.abs(self._terms[i].astype(np.float64))))
        if self.p.op in OF_LARGEST:
            return np.full_like(numbers, numbers.max(initial=0))
        if self.p.op in OF_INPUTS:
            return np.full_like(numbers, max(numbers.max(initial=0), *(_largest(v) for v in self.p.inputs if isinstance(v, np.ndarray) and v.dtype.kind in "fV")))
        if self.p.op in OF_DEVIATION:
            if self.p.op == "LayerNormalization" and i == 1:  # the mean itself
                return np.full_like(numbers, _largest(self.p.inputs[0]))
            return np.full_like(numbers, numbers.max(initial=0) * _mean_of_deviation(self.p))
        if self.p.op in OF_SUPPORTS:
            a = self.p.attributes
            return np.full_like(numbers, max(numbers.max(initial=0), np.abs(a["coefficients"]).sum() + np.abs(a.get("rho", [0])).max()))
        if self.p.op in OF_ROWS:
            return np.maximum(numbers, np.nan_to_num(np.linalg.norm(self.p.inputs[0].astype(np.float64), axis=-1).prod(-1)))
        return np.maximum(numbers, 1) if self.p.op in OF_ONE else numbers

    @functools.cached_property
    def _terms(self):
        inputs = [np.abs(v) if isinstance(v, np.ndarray) and v.dtype.kind in "fV" else v for v in self.p.inputs]
        return self.solve(dataclasses.replace(self.p, inputs=inputs))


def _groups():
    """{(epsilons, whether times the root of the longest axis, of what): operators} of all that floats come out of."""
    of = {**dict.fromkeys(OF_TERMS, "the sum of absolute terms"), **dict.fromkeys(OF_LARGEST, "the largest number"),
          **dict.fromkeys(OF_DEVIATION, "the largest number, times the mean over the deviation"), **dict.fromkeys(OF_INPUTS, "the largest number, of the inputs too"),
          **dict.fromkeys(OF_ROWS, "the product of the rows' lengths"), **dict.fromkeys(OF_SUPPORTS, "the largest number, or the sum of absolute coefficients"),
          **dict.fromkeys(OF_ONE, "the number, and 1 at least")}
    groups = {}
    for (domain, op), contract in sorted(declared().items(), key=lambda entry: entry[0][1]):
        if domain != "com.microsoft" and op in ALL:
            epsilons = held(domain, op)
            key = (epsilons, contract.per_reduced, of.get(op, "the number")) if epsilons else (0, False, "")
            groups.setdefault(key, []).append(op)
    return groups


def table():
    """What is allowed, as Markdown tables."""
    lines = ["| epsilons | of | operators |", "|---|---|---|"]
    for (epsilons, per_reduced, of), ops in sorted(_groups().items()):
        many = f"{epsilons:g}{' √n' if per_reduced else ''}" if epsilons else "none: equal bits"
        lines.append(f"| {many} | {of} | {', '.join(ops)} |")
    lines += ["", "| operator | who is less exact | epsilons more | why |", "|---|---|---|---|"]
    for x in LOOSER:
        more = f"{x.epsilons:g}{' of float' if x.as_float else ''}{', of 1 at least' if x.of_one else ''}"
        lines.append(f"| {', '.join(x.ops.split())} | {x.whom} | {more} | {x.why} |")
    return "\n".join(lines) + "\n"
