"""Every version of every operator of the standard that a file may hold is run, by both backends: problems of tests/differential, written as
that version has them. The judges are asked in the form that the generator made, ONNX Runtime also in the old one where it has the
version; Lathe's own answer to the first form is the same."""

import pathlib
import sys

import numpy as np
import onnx
import onnx.helper as oh
import pytest

import lathe
import support_table
import test_random

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "differential"))
import versions  # noqa: E402
from findings import judge  # noqa: E402
from tally import drawn  # noqa: E402

SEED, ENOUGH, TRIES = 7, 4, 400
# The opsets at which the standard ended an operator; a file of such an opset cannot hold it.
ENDED = {("", "Upsample", 10), ("", "Scatter", 11)}
BY_HAND = {}


def accepted():
    """(domain, operator, version) of what a file may hold."""
    return [(domain, op, since) for domain, op in sorted(support_table.schemas()) for since in versions.read(domain, op)]


def by_hand(*ops):
    def register(f):
        BY_HAND.update(dict.fromkeys(ops, f))
        return f

    return register


def model(nodes, inputs, outputs, **opsets):
    infos = [oh.make_tensor_value_info(n, oh.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in inputs.items()]
    graph = oh.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name=o) for o in outputs])
    return oh.make_model(graph, opset_imports=[oh.make_opsetid(d, v) for d, v in opsets.items()], ir_version=8).SerializeToString()


@by_hand("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
def draws_as_today(op, since, backend):
    """The numbers that one seed gives are those of version 22, which test_random.py judges."""
    given, attributes = test_random.PROBLEMS[op]
    inputs = {f"x{i}": v for i, v in enumerate(given)}
    node = oh.make_node(op, list(inputs), ["y"], seed=7.0, **attributes)
    got = lathe.build(model([node], inputs, ["y"], **{"": since}), backend=backend).run(inputs)["y"]
    assert got.tobytes() == test_random.drawn(op).tobytes() and got.size


@by_hand("Gradient")
def derivative_of_a_square(op, since, backend):
    x = np.array([1, -2, 3], np.float32)
    nodes = [oh.make_node("Mul", ["x", "x"], ["y"]), oh.make_node(op, ["x"], ["dx"], domain="ai.onnx.preview.training", xs=["x"], y="y")]
    built = lathe.build(model(nodes, {"x": x}, ["dx"], **{"": 14, "ai.onnx.preview.training": since}), backend=backend)
    np.testing.assert_array_equal(built.run({"x": x})["dx"], 2 * x)


@by_hand("ImageDecoder")
def portable_pixmap(op, since, backend):
    """Its bytes are the pixels."""
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    x = np.frombuffer(b"P6 3 2 255\n" + pixels.tobytes(), np.uint8)
    node = oh.make_node(op, ["x"], ["y"], pixel_format="RGB")
    np.testing.assert_array_equal(lathe.build(model([node], {"x": x}, ["y"], **{"": since}), backend=backend).run({"x": x})["y"], pixels)


def problems(op, since):
    """As many as are enough, that this version can say."""
    found = []
    for number in range(TRIES):
        if written := versions.written_at(drawn(op, SEED, number), since):
            found.append(written)
        if len(found) == ENOUGH:
            break
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("domain, op, since", [pytest.param(*key, id="-".join(map(str, filter(None, key)))) for key in accepted()])
def test_version_is_run(domain, op, since):
    if op in BY_HAND:
        for backend in ("cpu", "reference"):
            BY_HAND[op](op, since, backend)
        return
    agreed = 0
    for p in problems(op, since):
        assert (p.domain, p.opset) == (domain, since) and versions.schema_at(p).since_version == since
        judgement = judge(p)
        assert not judgement.found, f"{p}\nas drawn: {p.newest}\n{judgement.found}"
        agreed += judgement.agreed
    assert agreed, "nobody says the same of any problem"


def test_versions_are_those_of_the_standard():
    """All that the onnx package has; those that it ended are read as before where they mean something."""
    all_ = {(domain, op, since) for domain, op in support_table.schemas() for since in versions.history(domain, op)}
    assert all_ - set(accepted()) == ENDED and len(accepted()) > 650


@pytest.mark.parametrize("domain, op, since", sorted(ENDED))
def test_ended_operators_are_refused(domain, op, since):
    p = drawn(op, SEED, 0)
    p.opset = since
    with pytest.raises(lathe.Error) as e:
        lathe.build(p.model().SerializeToString())
    assert op in str(e.value)
