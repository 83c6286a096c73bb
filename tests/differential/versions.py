"""Problems as other versions of their operators have them: what became an input is an attribute again, what broadcasts says so. What an
operator needs beside what its schemas say, its folder registers with form()."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import onnx
import onnx.defs
import onnx.helper as oh

import lathe

FORMS = {}
INPUTS_SINCE = {}  # the versions in which attributes became inputs
SINGLE = onnx.defs.OpSchema.FormalParameterOption.Single


@functools.cache
def history(domain, op):
    """{since: schema}, also of versions that the standard ended."""
    return {s.since_version: s for s in onnx.defs.get_all_schemas_with_history() if (s.domain, s.name) == (domain, op)}


@functools.cache
def read(domain, op):
    """Which of them a file may hold: what the standard ended is read where it means something."""
    found = [v["since"] for o in lathe.operators(op) if o["domain"] == domain for v in o["versions"] if not v["deprecated"]]
    return [since for since in found if since in history(domain, op)]


def schema_at(p):
    """The version in force at the problem's opset, or None."""
    return max((s for since, s in history(p.domain, p.op).items() if since <= p.opset), key=lambda s: s.since_version, default=None)


def type_of(value):
    array = value[0] if isinstance(value, list) else value
    kind = onnx.TensorProto.DataType.Name(oh.np_dtype_to_tensor_dtype(array.dtype)).lower()
    return f"seq(tensor({kind}))" if isinstance(value, list) else f"tensor({kind})"


def allows(schema, i, value):
    """Returns whether this version takes the type of input `i`."""
    return isinstance(value, dict) or type_of(value) in schema.inputs[min(i, len(schema.inputs) - 1)].types


def written_at(p, since):
    """Returns the problem in that version of its operator, with `newest` as it was; None if it cannot express it."""
    schema = history(p.domain, p.op)[since]
    q = dataclasses.replace(p, inputs=list(p.inputs), attributes=dict(p.attributes), opset=since, newest=dataclasses.replace(p))
    if any(form(q, since) is False for form in FORMS.get(p.op, ())):
        return None
    _attributes_as_in(schema, q, schema_at(p))
    while q.inputs and q.inputs[-1] is None:
        q.inputs.pop()
    q.constant = tuple(i for i in q.constant if i < len(q.inputs))
    if p.wide:
        wide = written_at(p.wide, since)
        if wide is None:
            return None
        q.wide, q.newest = (None, dataclasses.replace(q.newest, wide=wide.newest)) if q.newest else (wide, None)
    return q if fits(q, schema) else None


def fits(p, schema):
    """Returns whether the problem is valid in this version, by its attributes and inputs."""
    given = [v is not None for v in p.inputs]
    return (
        p.of_many_nodes
        or set(p.attributes) <= set(schema.attributes)
        and all(name in p.attributes for name, a in schema.attributes.items() if a.required)
        and len(p.inputs) <= schema.max_input
        and all(i < len(given) and given[i] for i, parameter in enumerate(schema.inputs) if parameter.option == SINGLE)
        and sum(given) >= schema.min_input
        and p.outputs <= schema.max_output
        and all(v is None or allows(schema, i, v) for i, v in enumerate(p.inputs))
    )


def _default(schema, name):
    """A value, or None."""
    a = schema.attributes.get(name)
    value = oh.get_attribute_value(a.default_value) if a and a.default_value.name else None
    return value.decode() if isinstance(value, bytes) else value


def _attributes_as_in(schema, q, newest):
    """Leaves out what the version does not have and would be the default; of defaults that changed, the newest form says the old one."""
    for name, value in list(q.attributes.items()):
        if name not in schema.attributes and newest and _default(newest, name) == value:
            del q.attributes[name]
        elif name in schema.attributes and schema.attributes[name].type.name == "FLOAT" and isinstance(value, int):
            q.attributes[name] = float(value)
    if "consumed_inputs" in schema.attributes:  # a hint of the first versions
        q.attributes["consumed_inputs"] = [0] * len(q.inputs)
    if q.newest is None or newest is None:
        return
    for name in schema.attributes:
        old = _default(schema, name)
        if name not in q.attributes and name in newest.attributes and old is not None and old != _default(newest, name):
            q.newest = dataclasses.replace(q.newest, attributes={**q.newest.attributes, name: old})


# ── What changed


def form(*ops):
    """`f(q, since)` turns a copy of the newest form into that of the version; False: it cannot be said."""

    def register(f):
        for op in ops:
            FORMS.setdefault(op, []).append(f)
        return f

    return register


def again(q, **changed):
    """Makes the newest form do what an older version with fewer options does."""
    q.newest = dataclasses.replace(q.newest, **changed)


def inputs_since(version, ops, *names):
    """What are inputs 1, 2, … were attributes of these names until then."""
    INPUTS_SINCE.update(dict.fromkeys(ops.split(), version))
    form(*ops.split())(lambda q, since: _inputs_as_attributes(q, since, version, names))


def _inputs_as_attributes(q, since, first, names):
    if since >= first:
        return
    if q.inputs[0].dtype == np.float64:  # attributes are float32
        rounded = {id(v): np.asarray(v.astype(np.float32).astype(np.float64)) for v in q.inputs[1:] if v is not None and v.dtype == np.float64}
        again(q, inputs=[rounded.get(id(v), v) for v in q.newest.inputs])
        q.inputs = [rounded.get(id(v), v) for v in q.inputs]
    for name, value in zip(names, q.inputs[1:]):
        if value is not None and not (value.ndim == 1 and value.size == 0):
            q.attributes[name] = value.item() if value.ndim == 0 or name == "k" else value.tolist()
            if value.dtype.kind == "f" and value.ndim == 0:
                q.attributes[name] = float(value)
    q.inputs = q.inputs[:1]


def places_from_the_front(ops, more_axes=lambda q: 0, indices=False):
    """Until version 11 nobody said what negative axes are. `more_axes`: by how many the output has more than input 0, where the axes are
    those of the output; `indices`: input 1 counts places of the axis too."""
    form(*ops.split())(lambda q, since: _from_the_front(q, since, more_axes, indices))


def _from_the_front(q, since, more_axes, indices):
    if since >= 11:
        return
    rank = q.newest.inputs[0].ndim + more_axes(q)
    if q.attributes.get("axis", 0) < 0:
        q.attributes["axis"] += rank
    if "axes" in q.attributes:
        q.attributes["axes"] = [a % rank for a in q.attributes["axes"]]
    if indices:
        q.inputs[1] = q.inputs[1] % q.inputs[0].shape[q.attributes["axis"]]


def broadcast_along(q, whole, at, axis_too=True):
    """Input `at` as the first versions broadcast it: a part of the shape in one piece, from `axis` on. False: it is no such part."""
    b = q.inputs[at]
    if b.shape == whole:
        return None
    if b.ndim > len(whole):
        return False
    kept = [i for i, d in enumerate(b.shape) if d != 1]
    first, last = (kept[0], kept[-1] + 1) if kept else (b.ndim, b.ndim)
    axis = len(whole) - b.ndim + first
    part = b.shape[first:last]
    if part != whole[axis : axis + len(part)] or (not axis_too and axis + len(part) != len(whole)):
        return False
    q.inputs[at] = b.reshape(part or (1,))
    q.attributes["broadcast"] = 1
    if axis_too and part and axis + len(part) != len(whole):
        q.attributes["axis"] = axis
    return None


def names_type_of(op, variable, since, number):
    """Does the version's type variable stand for the type that an attribute names? Without one it does."""
    allowed = next(c.allowed_type_strs for c in history("", op)[since].type_constraints if c.type_param_str == variable)
    return not number or f"tensor({onnx.TensorProto.DataType.Name(number).lower()})" in allowed
