"""Problems as other versions of their operators have them: what became an input is an attribute again, what broadcasts says so."""

from __future__ import annotations

import dataclasses
import functools
import re

import numpy as np
import onnx
import onnx.defs
import onnx.helper as oh

import lathe

FORMS = {}
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
    """Does this version take the type of input `i`?"""
    return isinstance(value, dict) or type_of(value) in schema.inputs[min(i, len(schema.inputs) - 1)].types


def written_at(p, since):
    """The same problem under that version of its operator, with `newest` as it was; None where that version cannot say it."""
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
    """Is it one of this version, by its attributes and inputs?"""
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
    """What the newest form has to say for this, where the version says less."""
    q.newest = dataclasses.replace(q.newest, **changed)


# Attributes until these versions: of input 1, 2, …
INPUTS_SINCE = {
    "Clip": (11, "min", "max"),
    "Reshape": (5, "shape"),
    "Squeeze": (13, "axes"),
    "Unsqueeze": (13, "axes"),
    "Slice": (10, "starts", "ends", "axes"),
    "Pad": (11, "pads", "value"),
    "TopK": (10, "k"),
    "Split": (13, "split"),
    "Upsample": (9, "scales"),
    "Dropout": (12, "ratio"),
    "ReduceSum": (13, "axes"),
    **{f"Reduce{name}": (18, "axes") for name in "Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split()},
}


def inputs_as_attributes(q, since):
    first, *names = INPUTS_SINCE[q.op]
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


@form("Reshape")
def some_sizes(q, since):
    return since >= 5 or q.inputs[1].size > 0


@form("Slice")
def steps_of_one(q, since):
    if since < 10:
        again(q, inputs=[*q.inputs[:4], np.ones_like(q.inputs[4])])


@form("Pad")
def pads_of_all_axes(q, since):
    x, pads, fill, axes = q.inputs
    if q.attributes["mode"] == "wrap" and since < 19:
        return False
    if since < 18:
        whole = np.zeros((2, x.ndim), np.int64)
        whole[:, axes] = pads.reshape(2, -1)
        q.inputs = [x, whole.reshape(-1), fill]
    return None


@form("Split")
def equal_parts(q, since):
    if since < 18 and "num_outputs" in q.attributes:
        if q.inputs[0].shape[q.attributes["axis"]] % q.attributes.pop("num_outputs"):
            return False
    return None


@form(*(op for op in INPUTS_SINCE if op.startswith("Reduce")))
def nothing_is_all_axes(q, since):
    given = len(q.inputs) > 1 and q.inputs[1] is not None and q.inputs[1].size
    if q.attributes.get("noop_with_empty_axes") and not given and since < INPUTS_SINCE[q.op][0]:
        return False
    if since < INPUTS_SINCE[q.op][0]:
        q.attributes.pop("noop_with_empty_axes", None)
    return None


@form("Squeeze")
def axes_left_out(q, since):
    return since >= 13 or len(q.inputs) == 1 or q.inputs[1].size > 0


@form("Unsqueeze")
def some_axes(q, since):
    return since >= 13 or q.inputs[1].size > 0


@form("Dropout")
def not_training(q, since):
    if since < 12:
        q.attributes.pop("seed", None)
    if since < 12:  # what the mask holds outside of training is not said: ONNX Runtime gives zeros, onnx.reference ones
        q.outputs = 1
        again(q, outputs=1)
    if since < 7:
        q.attributes["is_test"] = 1


@form("Clip")
def bounds_of_float(q, since):
    """Left out, they were float32's greatest and lowest, whatever the type."""
    if since < 11:
        x, *bounds = [*q.newest.inputs, None, None][:3]
        most = np.finfo(np.float32).max
        with np.errstate(all="ignore"):
            again(q, inputs=[x, *(np.asarray(end).astype(x.dtype) if b is None else b for b, end in zip(bounds, (-most, most)))])


for _op in INPUTS_SINCE:
    form(_op)(inputs_as_attributes)


@form("Pad")
def paddings(q, since):
    if since == 1:
        q.attributes["paddings"] = q.attributes.pop("pads")


@form("TopK")
def greatest_first(q, since):
    return since >= 11 or q.attributes["largest"] == 1


@form("Upsample")
def height_and_width(q, since):
    if since == 1:
        q.attributes["height_scale"], q.attributes["width_scale"] = q.attributes.pop("scales")[2:]


@form("Tile")
def one_axis(q, since):
    if since > 1:
        return None
    x, repeats = q.inputs
    if not x.ndim or x.dtype.kind != "f":
        return False
    axis = int(repeats.argmax())
    again(q, inputs=[x, np.where(np.arange(x.ndim) == axis, repeats, 1)])
    q.inputs = [x, np.array(repeats[axis], x.dtype), np.array(axis, x.dtype)]
    q.constant = (1, 2) if 1 in q.constant else ()
    return None


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


@form("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")
def broadcast_is_asked_for(q, since):
    return broadcast_along(q, q.inputs[0].shape, 1) if since < 7 else None


@form("Gemm")
def broadcast_of_c(q, since):
    if since < 7 and len(q.inputs) > 2:
        (m, n) = (q.inputs[i].shape[axis ^ q.attributes[flag]] for i, axis, flag in ((0, 0, "transA"), (1, 1, "transB")))
        return broadcast_along(q, (m, n), 2, axis_too=False)
    return None


@form("PRelu")
def slope_of_each_channel(q, since):
    if since >= 7:
        return None
    x, slope = q.inputs
    if x.ndim < 2 or not slope.size:
        return False
    q.inputs[1] = np.resize(slope, x.shape[1])
    again(q, inputs=[x, q.inputs[1].reshape(-1, *[1] * (x.ndim - 2))])
    return None


@form("Max", "Min", "Sum", "Mean")
def equal_shapes(q, since):
    if since < 8:
        q.inputs = [np.array(v) for v in np.broadcast_arrays(*q.inputs)]


@form("Gather", "ArgMax", "ArgMin", "Concat", "Compress", "Flatten", "Split", "Squeeze", "Unsqueeze", "Slice", "TopK", "Softmax", "LogSoftmax",
      "Hardmax", "OneHot", "Scatter", *(op for op in INPUTS_SINCE if op.startswith("Reduce")))  # fmt: skip
def places_from_the_front(q, since):
    """Until version 11 nobody said what negative axes are."""
    if since >= 11:
        return
    rank = q.newest.inputs[0].ndim
    if q.op == "Unsqueeze":
        rank += len(q.attributes["axes"])
    if q.op == "OneHot":
        rank += 1
    if q.attributes.get("axis", 0) < 0:
        q.attributes["axis"] += rank
    if "axes" in q.attributes:
        q.attributes["axes"] = [a % rank for a in q.attributes["axes"]]
    if q.op in ("Gather", "Scatter"):
        q.inputs[1] = q.inputs[1] % q.inputs[0].shape[q.attributes["axis"]]


@form("Softmax", "LogSoftmax", "Hardmax")
def everything_behind(q, since):
    """Another meaning until 13: one form does not stand for the other."""
    return (since < 13) == (q.newest.opset < 13)


@form("Cast", "Constant", "ConstantOfShape")
def types_that_attributes_name(q, since):
    variable = {"Cast": "T2", "Constant": "T", "ConstantOfShape": "T2"}[q.op]
    allowed = next(c.allowed_type_strs for c in history("", q.op)[since].type_constraints if c.type_param_str == variable)
    number = q.attributes.get("to") or (q.attributes["value"].data_type if "value" in q.attributes else None)
    if number and f"tensor({onnx.TensorProto.DataType.Name(number).lower()})" not in allowed:
        return False
    if q.op == "Cast":
        if since == 1:
            q.attributes["to"] = onnx.TensorProto.DataType.Name(number)
        if since < 19 and "saturate" in q.attributes:
            return False
    return None


@form("LSTM", "GRU", "RNN")
def all_steps_are_wanted(q, since):
    if since < 7:
        q.attributes["output_sequence"] = 1


@form("BatchNormalization")
def inference(q, since):
    if since < 7:
        q.attributes["is_test"] = 1


@form("GroupNormalization")
def scale_of_each_group(q, since):
    if since == 18:
        groups = q.attributes["num_groups"]
        x, scale, bias = q.inputs
        q.inputs = [x, scale[:groups], bias[:groups]]
        again(q, inputs=[x, *(np.repeat(v, x.shape[1] // groups) for v in q.inputs[1:])])


@form("Resize")
def roi_and_scales_are_there(q, since):
    attributes = q.attributes
    if since < 19 and attributes["coordinate_transformation_mode"] == "half_pixel_symmetric":
        return False
    x, scales, sizes = q.inputs[0], q.inputs[2], q.inputs[3] if len(q.inputs) > 3 else None
    if since < 11:
        if scales is None:
            return False
        shrinks = bool((scales < 1).any())
        again(q, attributes={"mode": attributes["mode"], "coordinate_transformation_mode": "asymmetric", "nearest_mode": "ceil" if shrinks else "floor"})
        if attributes["mode"] == "nearest" and shrinks and (scales > 1).any():
            q.newest = None  # which way nearest is, goes by axis
        q.attributes = {"mode": attributes["mode"]}
        q.inputs, q.constant = [x, scales], tuple(1 for i in q.constant if i == 2)
        return attributes["mode"] != "cubic"
    if since < 13:
        none = np.zeros(0, np.float32)
        q.inputs = [x, none, none if scales is None else scales, *([] if sizes is None else [sizes])]
    return None


@form("DFT")
def axis_as_an_attribute(q, since):
    if since < 20:
        q.attributes["axis"] = int(q.inputs.pop())


@form("GridSample")
def names_in_two_dimensions(q, since):
    if since < 20:
        q.attributes["mode"] = {"linear": "bilinear", "cubic": "bicubic"}.get(q.attributes["mode"], q.attributes["mode"])


@form("RoiAlign")
def corners_of_pixels(q, since):
    return since >= 16 or q.attributes.pop("coordinate_transformation_mode") == "output_half_pixel"


@form("ScatterElements", "ScatterND")
def reductions(q, since):
    return since >= 18 or q.attributes["reduction"] in (("none", "add", "mul") if since >= 16 else ("none",))


@form("LabelEncoder")
def classes(q, since):
    """Each by its place in one list."""
    if since > 1:
        return None
    if q.inputs[0].dtype.kind == "O" and "keys_strings" in q.attributes:
        words = q.attributes["keys_strings"]
        changed = {"keys_strings": words, "values_int64s": list(range(len(words)))}
    elif q.inputs[0].dtype == np.int64 and "values_strings" in q.attributes:
        words = q.attributes["values_strings"]
        changed = {"keys_int64s": list(range(len(words))), "values_strings": words}
    else:
        return False
    again(q, attributes=changed)
    q.attributes = {"classes_strings": words}
    return None


@form("If", "Loop", "Scan")
def bodies(q, since):
    """Of floats, which every version of the operators in them takes; a counter is compared since 9."""
    if since < 13 and any(v.dtype not in (np.float32, np.int64, bool) for v in q.inputs) or since < 9 and ("Less" in q.text or q.op == "Loop" and q.inputs[0].dtype != np.float32):
        return False
    if q.op == "Scan" and 8 < since < 11:
        return not re.search(r"axes = \[[^]]*-", q.text)
    return None


@form("OptionalGetElement", "OptionalHasElement")
def of_optionals(q, since):
    return since >= 18 or "(x0)" not in q.text.replace("Optional (x0)", "").replace("Identity (x0)", "")


@form("Scan")
def in_batches(q, since):
    """Version 8: a batch in front, and axes as they are."""
    if since > 8:
        return
    axis = int(re.search(r"scan_input_axes = \[(-?\d+)", q.text)[1])
    x = np.moveaxis(q.inputs[1], axis, 0)
    q.inputs = [np.stack([v, -v]) for v in (q.inputs[0], x, x[::-1])]
    dims = ", ".join(f"s{a}" for a in range(x.ndim - 1))
    formals = ", ".join(f"float[{dims}] {name}" for name in ("state", "a", "b"))
    body = q.text[q.text.index("{") : q.text.rindex(">")]
    lengths = ""
    if len(x) > 1 and x.size % 2:  # sequences of lengths of their own
        q.inputs.append(np.array([len(x) // 2, len(x)]))
        lengths = "x3"
    q.text = f"y0, y1 = Scan <num_scan_inputs = 2, directions = [0, 1], body = b ({formals}) => (float[{dims}] next, float[{dims}] row) {body}> ({lengths}, x0, x1, x2)"
    q.newest = None
