"""A problem of a generator: one node with its inputs; and how each of the three implementations runs it."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, Optional

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper
import onnx.reference
import onnxruntime as ort

import lathe
import versions

ort.set_default_logger_severity(4)
NARROW = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
NEWEST_ELSEWHERE = 25  # opsets that the others run
ORT, REFERENCE = "onnxruntime", "onnx.reference"
# What the operators' folders say of their problems.
RARE, BATCH, OF_ITS_TYPE, NEVER_NARROW, NOT_ASKED = set(), {}, set(), set(), []


def rare_numbers(ops):
    """Their generators draw plain numbers: NaN, infinities and denormals may come to them."""
    RARE.update(ops.split())


def batch_axes(ops, *axes):
    """Where the axis of items in a batch lies, as (input, axis)."""
    BATCH.update(dict.fromkeys(ops.split(), axes))


def decided_by_type(ops):
    """In a narrow type the others are asked in it too: float32 gives something else."""
    OF_ITS_TYPE.update(ops.split())


def never_narrow(ops):
    """Their problems stay in the types that they are drawn in."""
    NEVER_NARROW.update(ops.split())


def not_asked(whom, ops, when=lambda p: True):
    """This judge does not get such problems."""
    NOT_ASKED.append((whom, ops.split(), when))


def _ask(p, whom):
    if any(whom == name and p.op in ops and when(p) for name, ops, when in NOT_ASKED):
        raise NotImplementedError(f"{whom} is not asked")


@dataclasses.dataclass
class Problem:
    op: str
    inputs: list[Any]  # arrays; None: left out; a list: a sequence
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    outputs: int = 1
    opset: int = 23
    constant: tuple[int, ...] = ()  # inputs that are initializers
    domain: str = ""
    wide: Optional[Problem] = None  # the same numbers in float32, where others answer in that
    newest: Optional[Problem] = None  # the same in the form that the generator made it in, where this is an older one
    of_many_nodes = False

    def feed(self):
        return {f"x{i}": v for i, v in enumerate(self.inputs) if v is not None and i not in self.constant}

    def model(self):
        infos, initializers, names = [], [], []
        for i, value in enumerate(self.inputs):
            names.append("" if value is None else f"x{i}")
            if value is None:
                continue
            if i in self.constant:
                initializers.append(onnx.numpy_helper.from_array(value, f"x{i}"))
            elif isinstance(value, list):
                infos.append(oh.make_tensor_sequence_value_info(f"x{i}", oh.np_dtype_to_tensor_dtype(value[0].dtype), None))
            else:
                element = oh.np_dtype_to_tensor_dtype(value.dtype)
                sizes = [f"d{i}_{a}" for a in range(value.ndim)]
                infos.append(oh.make_tensor_value_info(f"x{i}", element, sizes))
        while names and not names[-1]:
            names.pop()
        outputs = [f"y{i}" for i in range(self.outputs)]
        node = oh.make_node(self.op, names, outputs, domain=self.domain, **self.attributes)
        graph = oh.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=n) for n in outputs], initializers)
        opsets = [oh.make_opsetid(self.domain, self.opset)]
        ir_version = max(8, oh.find_min_ir_version_for(opsets, ignore_unknown=True))  # before 4, initializers are inputs
        return oh.make_model(graph, opset_imports=opsets, ir_version=ir_version)

    def at_another_version(self, rng):
        """Itself, sometimes as another version of the operator has it."""
        if rng.random() >= 0.4:
            return self
        for since in rng.permutation([since for since in versions.read(self.domain, self.op) if since <= NEWEST_ELSEWHERE or self.domain]):
            if written := versions.written_at(self, int(since)):
                return written
        return self

    def in_a_narrow_type(self, rng):
        """Itself, sometimes in 16-bit floats; then the others are asked in float32, and what they say is rounded. What the
        type itself decides, they are asked in it."""
        kind = NARROW[rng.integers(2)]
        real = [i for i, v in enumerate(self.inputs) if isinstance(v, np.ndarray) and v.dtype == np.float32]
        if rng.random() >= 0.15 or not real or self.domain or self.of_many_nodes or self.op in NEVER_NARROW or any(isinstance(v, list) for v in self.inputs):
            return self
        schema = versions.schema_at(self)
        with np.errstate(all="ignore"):
            inputs = [v.astype(kind) if i in real else v for i, v in enumerate(self.inputs)]
            if not schema or not all(versions.allows(schema, i, inputs[i]) for i in real):
                return self
            wide = [v.astype(np.float32) if i in real else v for i, v in enumerate(inputs)]
        return dataclasses.replace(self, inputs=inputs, wide=None if self.op in OF_ITS_TYPE else dataclasses.replace(self, inputs=wide))

    def asked(self, whom):
        """How the others are asked: in float32, in the newest form; ONNX Runtime, which has older versions, in both."""
        newest = self.newest or self
        forms = [newest.wide or newest]
        return [self, *forms] if whom == "onnxruntime" and self.newest and not newest.wide else forms

    def with_rare_numbers(self, rng):
        """Itself, sometimes with NaN, infinities and denormals among the numbers of the first input."""
        x = self.inputs[0] if self.inputs else None
        if self.op not in RARE or rng.random() >= 0.15 or not isinstance(x, np.ndarray) or x.dtype.kind != "f" or not x.size:
            return self
        x, info = x.copy(), np.finfo(x.dtype)
        of = [np.nan, np.inf, -np.inf, -0.0, info.smallest_subnormal, -info.tiny / 2]
        for place in rng.integers(0, x.size, 2):
            x.reshape(-1)[place] = of[rng.integers(len(of))]
        return dataclasses.replace(self, inputs=[x, *self.inputs[1:]])

    def of_nothing(self, rng):
        """Itself, sometimes with no items in the batch."""
        if self.op not in BATCH or rng.random() >= 0.08:
            return self
        inputs = list(self.inputs)
        for i, axis in BATCH[self.op]:
            if i < len(inputs) and inputs[i] is not None:
                inputs[i] = np.ascontiguousarray(inputs[i].take([], axis))
        return dataclasses.replace(self, inputs=inputs)

    def __str__(self):
        def text(v):
            if v is None:
                return "absent"
            if isinstance(v, list):
                return "[" + ", ".join(map(text, v)) + "]"
            body = f" {v.tolist()}" if v.size <= 12 else ""
            return f"{v.dtype}{list(v.shape)}{body}"

        given = ", ".join(text(v) + ("!" if i in self.constant else "") for i, v in enumerate(self.inputs))
        return f"{self.op}-{self.opset}({given}) {self.attributes}"


def run_lathe(p: Problem, backend: str):
    return list(lathe.build(p.model().SerializeToString(), backend=backend, threads=1).run(p.feed()).values())


def run_onnxruntime(p: Problem):
    _ask(p, ORT)
    model = p.model()
    model.ir_version = min(model.ir_version, 11)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, p.feed())


def run_reference(p: Problem):
    _ask(p, REFERENCE)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return onnx.reference.ReferenceEvaluator(p.model()).run(None, p.feed())


def narrowed(outputs, ours):
    """Converts answers to the wide problem to the types of the narrow one."""
    with np.errstate(all="ignore"):
        return [
            narrowed(v, o) if isinstance(v, list) and isinstance(o, list) and len(v) == len(o)
            else np.asarray(v).astype(o.dtype) if isinstance(o, np.ndarray) and o.dtype in NARROW
            else v
            for v, o in zip(outputs, ours, strict=True)
        ]  # fmt: skip


def difference(got: list[Any], want: list[Any], allowed) -> Optional[str]:
    """Returns None if they agree: floats within what `allowed` gives for output and values, all else exactly."""
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        if isinstance(a, list) or isinstance(b, list):
            if not isinstance(a, list) or not isinstance(b, list) or len(a) != len(b):
                return f"output {i}: {a} and {b}"
            if inner := difference(a, b, lambda _, values, i=i: allowed(i, values)):
                return f"output {i}, item: {inner}"
        elif isinstance(a, dict) or isinstance(b, dict) or a is None or b is None:
            if a is not b and (a is None or b is None or a != b):
                return f"output {i}: {a} and {b}"
        elif different := _different(np.asarray(a), np.asarray(b), lambda values, i=i: allowed(i, values)):
            return f"output {i}: {different}"
    return None


def _different(a, b, allowed):
    if a.shape != b.shape:
        return f"shapes {a.shape} and {b.shape}"
    if a.dtype.kind in "OUS":
        return None if np.array_equal(a.astype(str), b.astype(str)) else _excerpt(a, b)
    if a.dtype != b.dtype:
        return f"{a.dtype} and {b.dtype}"
    if a.dtype.kind in "biu" or a.dtype.itemsize == 1 or str(a.dtype).startswith(("float4", "int", "uint")):
        wide = a.dtype if a.dtype.kind in "biu" else np.float32
        return None if np.array_equal(a.astype(wide), b.astype(wide), equal_nan=wide == np.float32) else _excerpt(a, b)
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        x, y = a.astype(wide), b.astype(wide)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if not same.all():
            same |= np.isfinite(x) & np.isfinite(y) & (np.abs(x - y) <= allowed(b))
    return None if same.all() else _excerpt(a, b)


def _excerpt(a, b):
    x, y = a.reshape(-1), b.reshape(-1)
    differing = [k for k in range(x.size) if not (x[k] == y[k] or (x[k] != x[k] and y[k] != y[k]))]
    k = max(differing, key=lambda k: _distance(x[k], y[k]), default=0)
    return f"{len(differing)} of {x.size} differ, at {k}: {x[k]!r} and {y[k]!r}"


def _distance(u, v):
    try:
        d = abs(float(u) - float(v))
        return d if d == d else float("inf")
    except (TypeError, ValueError):
        return 0
