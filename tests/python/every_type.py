"""Types of the standard as text ("seq(tensor(float))"), values of them, and cases of one node carried over to other types."""

from __future__ import annotations

import dataclasses
import re
import warnings

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper

import lathe
import support_table

BACKENDS = ("cpu", "reference")


def element(kind):
    """"tensor(float)" → FLOAT."""
    return onnx.TensorProto.DataType.Value(kind.removeprefix("tensor(").removesuffix(")").upper())


def dtype(kind):
    return np.dtype(object) if element(kind) == onnx.TensorProto.STRING else oh.tensor_dtype_to_np_dtype(element(kind))


def kind_of(array):
    number = onnx.TensorProto.STRING if array.dtype.kind in "OUS" else oh.np_dtype_to_tensor_dtype(array.dtype)
    return f"tensor({onnx.TensorProto.DataType.Name(number).lower()})"


def type_proto(kind):
    outer, inner = re.fullmatch(r"(\w+)\((.*)\)", kind).groups()
    if outer == "tensor":
        return oh.make_tensor_type_proto(element(kind), None)
    if outer == "seq":
        return oh.make_sequence_type_proto(type_proto(inner))
    if outer == "optional":
        return oh.make_optional_type_proto(type_proto(inner))
    key, value = inner.split(",")
    return oh.make_map_type_proto(element(key.strip()), oh.make_tensor_type_proto(element(value.strip()), []))


def number(kind, values):
    """Small whole numbers as any type; a string of 0 is empty, as a truth of 0 is false."""
    values = np.asarray(values)
    if kind == "tensor(string)":
        return np.array([str(v) if v else "" for v in values.reshape(-1).astype(int)], object).reshape(values.shape)
    return np.asarray(values.astype(np.float32).astype(dtype(kind)))


def value(kind):
    outer, inner = re.fullmatch(r"(\w+)\((.*)\)", kind).groups()
    if outer == "tensor":
        return number(kind, [1, 0, 1])
    return [value(inner), value(inner)] if outer == "seq" else value(inner)


def same(got, want):
    """Bit by bit, type and shape too."""
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(same, got, want))
    if want is None or got is None:
        return got is want
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if want.dtype.name in ("int2", "int4"):  # bits above theirs mean nothing
        return bool((got == want).all())
    return got.tolist() == want.tolist() if want.dtype == object else got.tobytes() == want.tobytes()


def run(nodes, inputs, outputs, backend, initializers=(), domain="", version=28):
    """`inputs` by name: (type, value). Values of the outputs, in order."""
    infos = [oh.make_value_info(name, type_proto(kind)) for name, (kind, _) in inputs.items()]
    graph = oh.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name=n) for n in outputs], list(initializers))
    opsets = [oh.make_opsetid("", 28 if domain else version)] + ([oh.make_opsetid(domain, version)] if domain else [])
    model = oh.make_model(graph, opset_imports=opsets, ir_version=13)
    got = lathe.build(model.SerializeToString(), backend=backend, threads=1).run({name: v for name, (_, v) in inputs.items()})
    return [got[name] for name in outputs]


# ── Cases of one node


@dataclasses.dataclass
class Single:
    """A model of one node, and what its inputs are."""

    name: str
    model: onnx.ModelProto
    values: dict

    @property
    def node(self):
        return self.model.graph.node[0]

    @property
    def turn(self):
        """The factor that makes real numbers complex: 1 for products, whose sums it would change."""
        return 1 if any(a.name == "reduction" and a.s == b"mul" for a in self.node.attribute) else 1 + 2j

    def with_values(self, values):
        """(bytes of the model with inputs and initializers of these types, feed)"""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        initializers = {t.name for t in model.graph.initializer}
        for t in model.graph.initializer:
            if isinstance(v := values.get(t.name), np.ndarray):
                t.CopyFrom(onnx.numpy_helper.from_array(v, t.name))
        for i in model.graph.input:
            if i.type.HasField("tensor_type") and isinstance(v := values.get(i.name), np.ndarray):
                i.type.tensor_type.elem_type = element(kind_of(v))
        for o in model.graph.output:
            o.ClearField("type")
        names = [i.name for i in model.graph.input if i.name not in initializers]
        return model.SerializeToString(), {n: values[n] for n in names if values.get(n) is not None}

    def run(self, values, backend):
        model, feed = self.with_values(values)
        return list(lathe.build(model, backend=backend, threads=1).run(feed).values())


def single(name, model, inputs, history):
    """(Single, its schema); None where there are more nodes, or none of the standard's."""
    if len(model.graph.node) != 1:
        return None
    node = model.graph.node[0]
    domain = "" if node.domain == "ai.onnx" else node.domain
    opsets = {"" if o.domain == "ai.onnx" else o.domain: o.version for o in model.opset_import}
    versions = [v for v in history.get((domain, node.op_type), ()) if v <= opsets.get(domain, 0)]
    if not versions:
        return None
    values = dict(zip((i.name for i in model.graph.input), inputs)) if not isinstance(inputs, dict) else dict(inputs)
    values.update({t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer})
    return Single(name, model, values), history[domain, node.op_type][max(versions)]


def parameter(parameters, i):
    return parameters[min(i, len(parameters) - 1)]


# ── The same numbers in another type

TOLERANCE = {"bfloat16": 6e-2, "float16": 6e-3, "float32": 1e-4, "float64": 1e-6, "complex64": 1e-4}


def held(values, kind):
    """These numbers as `kind` holds them, wide: whole and small where it holds no more. None: there is no such thing."""
    if values.dtype.kind in "OUSVc":
        return None
    target = dtype(kind)
    wide = np.nan_to_num(values.astype(np.float64), posinf=4, neginf=-4)
    if target.kind in "bO":
        return np.asarray((wide != 0).astype(np.int64) if target.kind == "b" else np.abs(wide).astype(np.int64) % 10)
    if target.kind == "c":
        return wide
    name = target.name
    if name.startswith(("uint", "float8_e8m0")):
        wide = np.abs(wide)
    if name in ("int2", "uint2", "int4", "uint4"):
        wide = np.clip(np.trunc(wide), -1, 1)
    if target.kind in "iu":
        wide = np.trunc(wide)
        if values.dtype.kind not in "iu" or np.abs(wide).max(initial=0) > np.iinfo(target).max:
            wide = np.clip(wide, -100, 100)
    elif values.dtype.kind == "f":
        wide = np.clip(wide, -3, 3)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.asarray(wide.astype(target).astype(np.float64))


def as_kind(wide, kind, turn=1 + 2j):
    """The other way: what `held` gave, or what an operator made of it, in that type; a real number times `turn` is the complex one."""
    target = dtype(kind)
    if target == object:
        return number(kind, wide)
    if target.kind == "c":
        return np.asarray(wide * turn).astype(target)
    if target.kind == "b":
        return np.asarray(wide != 0)
    with np.errstate(all="ignore"):
        return np.asarray(wide.astype(target))


def widest(kind, allowed):
    """Returns the type that `kind` is compared with: the first of these that is allowed beside it."""
    target = dtype(kind)
    names = ["int64", "int32", "uint8"] if target.kind in "iubO" or target.name.startswith(("int", "uint")) else ["double", "float"]
    found = [f"tensor({n})" for n in names if f"tensor({n})" in allowed and f"tensor({n})" != kind]
    return found[0] if found else None


def carried(case, schema, variable, kind):
    """(values with `variable` of `kind`, the same of the type it is judged by, that type), or None."""
    allowed = next(set(c.allowed_type_strs) for c in schema.type_constraints if c.type_param_str == variable)
    base = widest(kind, allowed)
    narrow, wide, found = dict(case.values), dict(case.values), False
    for i, name in enumerate(case.node.input):
        if not name or parameter(schema.inputs, i).type_str != variable or case.values.get(name) is None:
            continue
        given = case.values[name]
        numbers = held(given, kind) if isinstance(given, np.ndarray) else None
        if base is None or numbers is None or not 0 < numbers.size < 20000:
            return None
        if base == "tensor(uint8)":
            numbers = np.abs(numbers)
        narrow[name] = as_kind(numbers, kind, case.turn)
        wide[name] = np.asarray(numbers.astype(dtype(base)))
        found = True
    return (narrow, wide, base) if found else None


def difference(got, want, kind, turn=1 + 2j):
    """`want` is of the wide type; None where `got` is that in its own type."""
    if isinstance(got, list):
        if len(got) != len(want):
            return f"{len(got)} and {len(want)} items"
        return next(filter(None, (difference(g, w, kind, turn) for g, w in zip(got, want))), None)
    if got.shape != want.shape:
        return f"shapes {got.shape} and {want.shape}"
    if got.dtype.kind in "OUS":
        want = as_kind(want, kind) if want.dtype.kind not in "OUS" else want
        return None if got.astype(str).tolist() == want.astype(str).tolist() else f"{got.tolist()} and {want.tolist()}"
    if want.dtype != got.dtype:
        want = as_kind(want, kind_of(got), turn)
    wide = np.complex128 if got.dtype.kind == "c" else got.dtype if got.dtype.kind in "iub" else np.float64
    name = got.dtype.name if np.dtype(dtype(kind)).kind in "iubOc" else dtype(kind).name
    tolerance = TOLERANCE.get(name, 1e-4)
    if name.startswith("float8_") or name.startswith("float4"):
        tolerance = 0.15  # operators that calculate with these give one more rounding
    with np.errstate(all="ignore"):
        close = np.allclose(got.astype(wide), want.astype(wide), tolerance, tolerance, equal_nan=True)
    return None if close else f"{got.reshape(-1)[:8]} and {want.reshape(-1)[:8]}"


def newest():
    """{(domain, name): schema} of what is not deprecated in its newest version."""
    return {key: versions[max(versions)] for key, versions in support_table.schemas().items()}


NEWEST = newest()


def wanted(schema):
    return {(c.type_param_str, t) for c in schema.type_constraints for t in c.allowed_type_strs}
