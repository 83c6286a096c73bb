"""Where the others differ from Lathe and were looked at: whom, when, and why Lathe stays as it is."""

import dataclasses
import operator
from typing import Callable

import numpy as np

from contracts import normed

ORT, REFERENCE = "onnxruntime", "onnx.reference"


@dataclasses.dataclass(frozen=True)
class Known:
    ops: str  # names, separated by spaces
    whom: str
    when: str
    holds: Callable
    why: str


def _attribute(p, name, default=None):
    return p.attributes.get(name, default)


def _has_nan(p):
    return any(isinstance(v, np.ndarray) and v.dtype.kind in "fV" and np.isnan(v.astype(np.float64)).any() for v in p.inputs)


def _floats(p):
    return [v.astype(np.float64) for v in p.inputs if isinstance(v, np.ndarray) and v.dtype.kind in "fV"]


def _not_finite(p):
    return any(not np.isfinite(v).all() for v in _floats(p))


def _tiny(p):
    """Numbers whose squares are none in float?"""
    return any(((v != 0) & (np.abs(v) < 1e-19)).any() for v in _floats(p))


def _given(p, i):
    return len(p.inputs) > i and p.inputs[i] is not None


def _no_spread(p):
    """Is there a mean of equal elements, or of one?"""
    x, axes = p.inputs[0].astype(np.float64), tuple(_attribute(p, "axes", [0, 2, 3]))
    with np.errstate(all="ignore"):
        return bool((x.std(axes) == 0).any())


def _backwards(p):
    """Slice by a negative step."""
    return _given(p, 4) and bool((p.inputs[4] < 0).any()) or len(p.inputs) == 1


def _same(p):
    return str(_attribute(p, "auto_pad", "")).startswith("SAME")


def _beyond(p, most):
    """Numbers greater than this, in the first input?"""
    return bool((np.abs(p.inputs[0].astype(np.float64)) > most).any())


def _cancels(p):
    """Is the variance of a group (of channels, of each channel, or of the axes) small beside its mean square?"""
    x, axes = normed(p)
    with np.errstate(all="ignore"):
        return bool((x.var(axes) <= np.square(x).mean(axes) / 16).any())


def _loops_never(p):
    """Loop: without a first iteration."""
    return not p.inputs[3] or p.inputs[2] == 0


_BRANCHES = {"LEQ": operator.le, "LT": operator.lt, "GTE": operator.ge, "GT": operator.gt, "EQ": operator.eq, "NEQ": operator.ne}


def _silence_wins(p):
    """TreeEnsembleClassifier: is there a row whose votes are all negative, and a class that nobody votes for?"""
    a = p.attributes
    columns = ("featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")
    nodes = dict(zip(zip(a["nodes_treeids"], a["nodes_nodeids"]), zip(*(a[f"nodes_{name}"] for name in columns))))
    votes = list(zip(zip(a["class_treeids"], a["class_nodeids"]), a["class_ids"], a["class_weights"]))

    def leaf(tree, row):
        node = 0
        while nodes[tree, node][2] != "LEAF":
            feature, value, mode, yes, no, missing = nodes[tree, node]
            x = row[feature]
            node = yes if _BRANCHES[mode.removeprefix("BRANCH_")](x, value) or (missing and np.isnan(x)) else no
        return tree, node

    for row in p.inputs[0]:
        reached, scores = {leaf(tree, row) for tree in set(a["nodes_treeids"])}, {}
        for at, class_, weight in votes:
            if at in reached:
                scores[class_] = scores.get(class_, 0) + weight
        if len(scores) < len(a["classlabels_int64s"]) and max(scores.values(), default=0) < 0:
            return True
    return False


_REDUCTIONS = "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare"
_POOLS = "MaxPool AveragePool LpPool"

KNOWN = (
    Known(_REDUCTIONS, ORT, "a size is 0", lambda p: 0 in p.inputs[0].shape,
          "the axis that is reduced stays in its shape; the standard drops it, or makes it 1"),
    Known("ReduceMax ReduceMin", ORT, "NaN", _has_nan, "NaN comes out or not, as the order has it; here it does, as in NumPy"),
    Known("ArgMax ArgMin", ORT, "NaN", _has_nan, "NaN wins or not, as the shape has it; here it does, as in NumPy"),
    Known("ReduceSumSquare", REFERENCE, "integers", lambda p: p.inputs[0].dtype.kind in "iu", "gives int64 for int32"),
    Known(_POOLS, ORT, "auto_pad SAME with dilations", lambda p: _same(p) and "dilations" in p.attributes,
          "the standard: ceil(input / stride), whatever the dilation"),
    Known(_POOLS, ORT, "auto_pad VALID with ceil_mode",
          lambda p: _attribute(p, "auto_pad") == "VALID" and _attribute(p, "ceil_mode"),
          "the standard has a formula of its own for this; it counts no window that begins in the last stride"),
    Known(_POOLS, ORT, "auto_pad SAME, strides beyond the kernel", _same, "pads by less than nothing"),
    Known(_POOLS, REFERENCE, "ceil_mode, auto_pad, pads or storage_order",
          lambda p: any(_attribute(p, name) for name in ("ceil_mode", "auto_pad", "pads", "storage_order")),
          "shapes, indices and pads of its own in ceil_mode, VALID and SAME"),
    Known("LayerNormalization", ORT, "infinities", _not_finite, "NaN for the mean; the standard's body: infinity"),
    Known("AveragePool LpPool", REFERENCE, "NaN", _has_nan, "leaves NaN out of the mean and the sum"),
    Known("Einsum", REFERENCE, "NaN or infinities", _not_finite, "multiplies in another order"),
    Known("LRN", ORT, "NaN or infinities", _not_finite, "keeps a running sum, from which NaN does not go away"),
    Known("MaxPool", REFERENCE, "NaN", _has_nan, "NaN comes out or not, as the order has it; here it does, as in NumPy"),
    Known("MaxPool GlobalMaxPool MaxRoiPool", ORT, "NaN", _has_nan, "NaN comes out or not, as the order has it; here it does, as in NumPy"),
    Known("MaxPool", REFERENCE, "indices, strides and dilations of 1",
          lambda p: p.outputs == 2 and {*_attribute(p, "strides", []), *_attribute(p, "dilations", [])} <= {1},
          "counts from the beginning of each channel, and by the width of other kernels than 3"),
    Known("MaxRoiPool", ORT, "-infinity", lambda p: bool(np.isneginf(p.inputs[0].astype(np.float64)).any()), "begins with the lowest finite number"),
    Known("GlobalMaxPool", ORT, "a channel of -infinity alone", lambda p: bool((p.inputs[0].reshape(*p.inputs[0].shape[:2], -1).max(-1) == -np.inf).any()),
          "begins with the lowest finite number"),
    Known("Conv ConvTranspose", REFERENCE, "NaN or infinities", _not_finite, "multiplies them with the zeros between dilated weights"),
    Known("LSTM GRU RNN", ORT, "NaN or infinities", _not_finite, "cuts what activations are given to a range, NaN too"),
    Known("TopK", ORT, "NaN", _has_nan, "NaN comes first or not, as the shape has it; here it is the greatest, as in NumPy"),
    Known("Hardmax", ORT, "NaN", _has_nan, "NaN wins or not; here it is the greatest, as in NumPy"),
    Known("Attention", REFERENCE, "infinities among queries or keys", _not_finite,
          "0 where every score of a row is -infinity; the standard's body: only for a row that is masked, else NaN"),
    Known("Softmax LogSoftmax", ORT, "NaN or infinities", _not_finite, "of an infinity among them makes infinities or NaN, as the type and the shape have it"),
    Known("GridSample", ORT, "NaN or infinities", _not_finite, "leaves out neighbours of weight 0"),
    Known("Resize", f"{ORT} {REFERENCE}", "NaN or infinities", _not_finite, "counts neighbours of weight 0, those outside of the image too"),
    Known("GlobalLpPool LpNormalization LpPool Normalizer", f"{ORT} {REFERENCE}", "squares below float", _tiny, "calculates in float: 0, or the number itself"),
    Known("ConvTranspose", ORT, "auto_pad SAME, strides beyond the kernel", _same,
          "the standard: the output is stride times input"),
    Known("ConvTranspose", REFERENCE, "auto_pad SAME, strides beyond the kernel", _same, "begins with the padding of the end"),
    Known("GlobalMaxPool", REFERENCE, "other than two spatial axes", lambda p: p.inputs[0].ndim != 4,
          "takes the maximum over axes rank - 2 and rank - 1 of the spatial rank, which are the last two of an image alone"),
    Known("LSTM GRU RNN", ORT, "a sequence of length 0", lambda p: _given(p, 4) and 0 in p.inputs[4],
          "its last state is 0; here it is the initial state, as in TensorFlow"),
    Known("ReduceMean", REFERENCE, "the mean of no integers", lambda p: 0 in p.inputs[0].shape, "0/0 is not defined for them"),
    Known("ReduceProd ReduceSum ReduceSumSquare ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp", ORT, "integers",
          lambda p: p.inputs[0].dtype.kind in "iu", "saturates in some shapes, and cuts each exponential"),
    Known("GroupNormalization MeanVarianceNormalization", f"{ORT} {REFERENCE}", "a variance below a sixteenth of the mean square", _cancels,
          "takes the difference of the mean square and the squared mean for it, of which that many bits are lost"),
    Known("InstanceNormalization", ORT, "a variance below a sixteenth of the mean square", _cancels, "adds x times a scale and a shift, which cancel"),
    Known("Resize", REFERENCE, "a fractional size", lambda p: len(p.inputs) == 3, "rounds otherwise, and holds a size of 1.2 for more than one"),
    Known("Resize", REFERENCE, "pytorch_half_pixel to a size of 1",
          lambda p: _attribute(p, "coordinate_transformation_mode") == "pytorch_half_pixel", "does not begin at 0"),
    Known("LSTM GRU RNN", REFERENCE, "sequence_lens, clip, a direction, peepholes or input_forget",
          lambda p: _given(p, 4) or _given(p, 7) or "clip" in p.attributes or p.attributes["direction"] != "forward" or _attribute(p, "input_forget"),
          "ignores them in part"),
    Known("Hardmax Softmax LogSoftmax", REFERENCE, "opset below 13", lambda p: p.opset < 13,
          "takes the meaning of version 13 for all"),
    Known("LRN", REFERENCE, "fewer samples than channels", lambda p: p.inputs[0].shape[0] < p.inputs[0].shape[1],
          "counts channels by samples: those behind have sums of 0"),
    Known("LpNormalization", REFERENCE, "p = 1", lambda p: _attribute(p, "p", 2) == 1, "forgets the absolute value"),
    Known("MeanVarianceNormalization", ORT, "one element, or equal ones", _no_spread, "0/0 where the standard's body has a small number"),
    Known("Squeeze", ORT, "axes given, and empty", lambda p: len(p.inputs) > 1 and p.inputs[1].size == 0,
          "takes them for left out"),
    Known("SplitToSequence", ORT, "split given and keepdims = 0", lambda p: len(p.inputs) > 1 and not _attribute(p, "keepdims", 1),
          "the standard: keepdims is ignored then"),
    Known("Gather", ORT, "strings", lambda p: p.inputs[0].dtype.kind == "O", "leaves most of a string output empty with a scalar index"),
    Known("StringSplit", ORT, "an empty string and a delimiter", lambda p: "" in p.inputs[0].reshape(-1).tolist(), "counts no piece in it; Python and the reference count one, empty"),
    Known("StringSplit", REFERENCE, "white space at the end after maxsplit", lambda p: "maxsplit" in p.attributes, "keeps it; ONNX Runtime trims it too"),
    Known("StringNormalizer", REFERENCE, "is_case_sensitive = 0", lambda p: not _attribute(p, "is_case_sensitive"),
          "compares stop words by case all the same"),
    Known("Slice", REFERENCE, "a negative step that starts before the first element", _backwards,
          "the standard clamps the start to 0, NumPy to -1"),
    Known("Slice", ORT, "a negative step with an end of INT_MAX", _backwards, "the standard clamps the end to the last element"),
    Known("Shape", REFERENCE, "end before 0", lambda p: _attribute(p, "end", 0) < 0, "the standard clamps it to 0, Python counts from the end"),
    Known("Unique", REFERENCE, "sorted = 0", lambda p: not _attribute(p, "sorted", 1), "is not in the order of first occurrence"),
    Known("Resize", ORT, "half_pixel_symmetric, nearest by floor or ceil",
          lambda p: _attribute(p, "coordinate_transformation_mode") == "half_pixel_symmetric" and _attribute(p, "nearest_mode") in ("floor", "ceil"),
          "misses by a rounding the places that are whole numbers"),
    Known("Resize", ORT, "align_corners with a fractional size", lambda p: _attribute(p, "coordinate_transformation_mode") == "align_corners",
          "the standard's own tests keep the fraction of scale times size"),
    Known("AffineGrid", ORT, "align_corners with a size of 1 in three dimensions", lambda p: _attribute(p, "align_corners"), "divides by zero"),
    Known("GridSample", REFERENCE, "cubic with padding_mode border", lambda p: _attribute(p, "mode") in ("cubic", "bicubic") and _attribute(p, "padding_mode") == "border", "puts the place itself on the border; PyTorch and ONNX Runtime put each neighbour there"),
    Known("Cast CastLike", REFERENCE, "strings", lambda p: any(v.dtype.kind == "O" for v in p.inputs) or _attribute(p, "to") == 8,
          "NumPy's text of numbers, and Python's truth of text"),
    Known("Cast CastLike", REFERENCE, "NaN to integers", _has_nan, "not defined"),
    Known("Cast CastLike", ORT, "float8", lambda p: _attribute(p, "to") in range(17, 24), "is given as plain bytes"),
    Known("QuantizeLinear", ORT, "float16", lambda p: p.inputs[0].dtype == np.float16,
          "divides in float32; the standard, and the reference: in the type of the scale, whose quotient may round to another number"),
    Known("Sign", ORT, "float16 NaN", _has_nan, "0 in one type, NaN in others"),
    Known("Pow", ORT, "integers that overflow", lambda p: p.inputs[0].dtype.kind == "i", "goes through floating point"),
    Known("Mod", ORT, "fmod of 64-bit integers", lambda p: p.inputs[0].dtype.itemsize == 8, "goes through floating point"),
    Known("Shrink", ORT, "32-bit integers, double", lambda p: p.inputs[0].dtype.kind in "iu" or p.inputs[0].dtype == np.float64, "goes through float"),
    Known("MatMul Gemm", ORT, "nothing to add up", lambda p: 0 in p.inputs[0].shape or 0 in p.inputs[1].shape,
          "leaves memory as it was, or forgets beta"),
    Known("PRelu ReduceLogSumExp", REFERENCE, "infinities", _not_finite, "NaN from 0 times infinity, or infinity less infinity"),
    Known("FeatureVectorizer Normalizer Scaler LinearRegressor LinearClassifier SVMRegressor SVMClassifier", REFERENCE, "inputs not float32",
          lambda p: p.inputs[0].dtype != np.float32, "gives the input's type; the standard: float"),
    Known("Normalizer", ORT, "MAX and a negative number", lambda p: _attribute(p, "norm") == "MAX",
          "divides by the greatest number; here by the greatest absolute value, as scikit-learn and the reference do"),
    Known("TreeEnsembleClassifier", ORT, "votes that are all negative, and a class without any", _silence_wins,
          "the greatest of the votes wins; here the greatest score of all classes, which is 0"),
    Known("SVMClassifier", REFERENCE, "probabilities of three classes or more", lambda p: "prob_a" in p.attributes,
          "adds up what belongs to several pairs of classes"),
    Known("TreeEnsemble", ORT, "SOFTMAX or LOGISTIC", lambda p: _attribute(p, "post_transform") in (1, 2), "takes one number for the other"),
    Known("TreeEnsemble", REFERENCE, "a transform", lambda p: _attribute(p, "post_transform") != 0, "leaves it out"),
    Known("TreeEnsemble", REFERENCE, "MIN or MAX", lambda p: _attribute(p, "aggregate_function") in (2, 3),
          "gives the greatest number there is where no leaf votes; here 0, as in ONNX Runtime"),
    Known("Loop", ORT, "no iteration", _loops_never, "outputs of the body lose their rank"),
    Known("Scan", REFERENCE, "scan_input_axes", lambda p: "scan_input_axes" in str(p), "takes items along another axis now and then"),
    Known("Loop", REFERENCE, "what the body puts out is not of rank 1, or there is no iteration", lambda p: p.outputs == 3 or p.inputs[0].ndim != 1 or _loops_never(p),
          "joins by vstack: along the first axis from rank 2 on, numbers as columns; of nothing it cannot"),
    Known("Optional OptionalGetElement", REFERENCE, "OptionalGetElement of what Optional made", lambda p: "OptionalGetElement (o)" in p.text,
          "an Optional is a list of one there, which OptionalGetElement leaves as it is"),
    Known("Optional OptionalHasElement", REFERENCE, "an Optional of nothing", lambda p: "Optional <type" in p.text, "it is a list of one there, which is something"),
    Known("Adam", REFERENCE, "one tensor of float behind the first update, or several of double",
          lambda p: len(p.inputs) == 6 and p.inputs[1] > 0 if p.inputs[2].dtype == np.float32 else len(p.inputs) > 6,
          "gives double for the first, float for the second"),
    Known("TreeEnsembleRegressor", REFERENCE, "MIN or MAX", lambda p: p.attributes["aggregate_function"] in ("MIN", "MAX"),
          "gives the greatest number there is where no leaf votes; here 0, as in ONNX Runtime"),
    Known("Clip", REFERENCE, "infinities with a bound left out, a bound that is NaN",
          lambda p: _not_finite(p) and (not (_given(p, 1) and _given(p, 2)) or any(np.isnan(v).any() for v in p.inputs[1:])),
          "the standard's default is the greatest finite number; a NaN is no bound for ONNX Runtime either"),
    Known("Clip", ORT, "infinities in float16 with a bound left out",
          lambda p: p.inputs[0].dtype == np.float16 and _not_finite(p) and not (_given(p, 1) and _given(p, 2)),
          "casts to float where it has no kernel, whose greatest number is the bound then"),
    Known("TreeEnsembleRegressor TreeEnsembleClassifier", ORT, "NaN and BRANCH_NEQ",
          lambda p: _has_nan(p) and "BRANCH_NEQ" in p.attributes["nodes_modes"],
          "NaN is unequal to all; the standard: it goes where nodes_missing_value_tracks_true says"),
    Known("LabelEncoder", ORT, "NaN", _has_nan, "finds no NaN among the keys; the standard compares bits"),
    Known("LabelEncoder", REFERENCE, "NaN", _has_nan, "finds no NaN among the keys; the standard compares bits"),
    Known("NegativeLogLikelihoodLoss", REFERENCE, "ignore_index = -1", lambda p: _attribute(p, "ignore_index") == -1,
          "takes it for none, and counts what is ignored in the mean; the standard's body and ONNX Runtime do not"),
    Known("Normalizer", ORT, "squares and sums beyond the input's type", lambda p: _beyond(p, 46340),
          "calculates in that type: infinities, or integers that overflow"),
    Known("Normalizer", REFERENCE, "squares beyond float", lambda p: _beyond(p, 1e19), "calculates in float: 0"),
    Known("SVMClassifier", REFERENCE, "two classes, coefficients that are not negative",
          lambda p: len(p.attributes["vectors_per_class"]) == 2 and min(p.attributes["coefficients"]) >= 0,
          "chooses the other class; here as ONNX Runtime, which the standard leaves open"),
    Known("TreeEnsembleClassifier", REFERENCE, "votes for one class alone", lambda p: len(set(p.attributes["class_ids"])) == 1,
          "takes it for one of two classes, however many there are"),
)  # fmt: skip


def table():
    """KNOWN as a Markdown table."""
    rows = [f"| {', '.join(k.ops.split())} | {' and '.join(k.whom.split())} | {k.when} | {k.why} |" for k in KNOWN]
    return "\n".join(["| operator | who differs | when | how, and why Lathe stays |", "|---|---|---|---|", *rows]) + "\n"


def reason(p, whom):
    """The entry that covers it, or None."""
    return next((entry for entry in KNOWN if whom in entry.whom.split() and p.op in entry.ops.split() and entry.holds(p)), None)
