"""Handles, looking, editing, keeping, watching, building: a network's calls that are no layers."""

import gc
import json
import pathlib
import re
import weakref

import numpy as np
import onnx.helper as oh
import pytest

import lathe
from support import FLOAT, make_model

ROOT = pathlib.Path(__file__).resolve().parents[2]
X = np.array([[1, 2, 3, 4]], np.float32)


@pytest.fixture
def small():
    """y = softmax(relu(x))"""
    n = lathe.Network("small")
    x = n.add_input("x", "float32", ("N", 4))
    act = n.add_activation(x, lathe.ActivationType.relu, name="act")
    n.mark_output(n.add_softmax(act, name="last"), "y")
    return n


def run(network, **inputs):
    return lathe.Builder().build_engine(network).run(inputs or {"x": X})


def softmax(x):
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


def test_handles_tell_about_themselves(small):
    x, y = small.get_input(0), small.get_output(0)
    act, last = small.layers
    assert (x.name, x.dtype, x.shape, x.type) == ("x", "float32", ("N", 4), "float[N,4]")
    assert x.is_network_input and not x.is_network_output and y.is_network_output
    assert x.producer is None and x.consumers == [act] and y.producer == last and y.consumers == []
    assert (act.name, act.kind, act.operators) == ("act", "activation", ["Relu"])
    assert act.inputs == [x] and act.output == act.get_output(0) == act.outputs[0] == last.get_input(0)
    assert (act.num_inputs, act.num_outputs, act.shape, act.dtype) == (1, 1, ("N", 4), "float32")
    assert small.find_layer(act.id) == small.find_layer("act") == act != last
    assert {x: 1, act: 2}[small.find_tensor("x")] == 1 and len({act, small.get_layer(0)}) == 1
    assert small.find_layer("none") is None and small.find_tensor("none") is None
    assert (small.num_inputs, small.num_outputs, small.num_layers) == (1, 1, 2)
    act.set_metadata("owner", "us")
    assert act.metadata["owner"] == "us"
    act.name, y.name, small.name = "relu", "probabilities", "renamed"
    assert small.find_layer("relu") == act and list(run(small)) == ["probabilities"] and small.name == "renamed"


def test_a_tensor_is_no_bool(small):
    with pytest.raises(TypeError, match="when the network runs"):
        bool(small.get_input(0))
    assert small.get_input(0) != "x"


def test_types_of_inputs():
    n = lathe.Network()
    assert n.add_input("a", np.float16, (2, "2*S + 1")).type == "float16[2,2*S + 1]"
    assert n.add_input("b", "bfloat16", ()).dtype == "bfloat16"
    assert n.add_input("c", "seq(float)").type == "seq(float)" and n.get_input(2).dtype is None
    with pytest.raises(lathe.Error, match="not taken"):
        n.add_input("a", "float32", ())
    with pytest.raises(lathe.Error):
        n.add_input("d", "float33", ())
    with pytest.raises(lathe.Error):
        n.add_input("d", "float32", (-1,))
    with pytest.raises(lathe.Error):
        n.add_input("d", "float32", ("N +",))
    with pytest.raises(TypeError):
        n.add_input("d", "float32", (1.5,))
    with pytest.raises(TypeError):
        n.add_input("d", np.dtype("datetime64[s]"), ())
    assert n.num_inputs == 3


def test_constants():
    n = lathe.Network()
    w = np.arange(3, dtype=np.int8)
    assert n.add_constant(w, "w").constant.tolist() == [0, 1, 2]
    assert np.shares_memory(n.find_tensor("w").constant, w)
    assert n.add_constant([1, 2], dtype="float32").type == "float[2]"
    assert n.add_constant(np.array(["a", "b"], object)).constant.tolist() == ["a", "b"]
    assert n.add_constant(np.ones((2, 3))[:, ::2]).constant.tolist() == [[1, 1], [1, 1]]
    x = n.add_input("x", "int32", (3,))
    assert x.constant is None
    assert (x + 1).dtype == "int32"
    with pytest.raises(lathe.Error) as e:  # a fraction is never cut to a whole number
        n.add_elementwise(x, 0.5, "sum", name="half")
    assert e.value.node == "half"
    with pytest.raises(OverflowError):
        n.add_cast(x, "uint8") + 300


def test_a_constants_memory_is_let_go():
    n, w = lathe.Network(), np.ones(3, np.float32)
    n.mark_output(n.add_input("x", "float32", (3,)) + w, "y")
    engine, held = lathe.Builder().build_engine(n), weakref.ref(w)
    del n, w
    gc.collect()
    assert engine.run([X[0, :3]])["y"].tolist() == [2, 3, 4]
    del engine
    gc.collect()
    assert held() is None


def test_defaults_of_inputs(small):
    small.set_default(small.get_input(0), [[1, 1, 1, 1]])
    np.testing.assert_allclose(run(small, **{"x": X})["y"], softmax(X), rtol=1e-5)
    np.testing.assert_allclose(lathe.Builder().build_engine(small).run({})["y"], [[0.25] * 4], rtol=1e-6)


def test_errors_name_the_layer_and_take_the_call_back(small):
    before = small.text()
    with pytest.raises(lathe.Error) as e:
        small.add_matrix_multiply(small.get_input(0), np.ones((3, 2), np.float32), name="wrong")
    assert e.value.node == "wrong" and e.value.stage and e.value.code.startswith("E")
    with pytest.raises(lathe.Error, match="not taken"):
        small.add_identity(small.get_input(0), name="act")
    with pytest.raises(lathe.Error):
        small.add_identity(lathe.Network().add_input("x", "float32", ()))
    with pytest.raises(ValueError, match="UnaryOperation is exp, .* not 'expp'"):
        small.add_unary(small.get_input(0), "expp")
    with pytest.raises(TypeError, match="a UnaryOperation or its name expected"):
        small.add_unary(small.get_input(0), lathe.ReduceOperation.sum)
    with pytest.raises(TypeError, match="find_tensor"):
        small.mark_output("x")
    with pytest.raises(TypeError, match="got dict"):
        small.add_constant({1: 2})
    with pytest.raises(lathe.Error):
        small.add_operator("Relu", [small.get_input(0)], outputs=10**9)
    with pytest.raises(lathe.Error):
        small.add_identity(None)
    for refused in (
        lambda: small.add_moe([small.get_input(0)]),
        lambda: small.add_dist_collective(small.get_input(0), "sum"),
    ):
        with pytest.raises(lathe.Error) as e:
            refused()
        assert e.value.node in ("moe_2", "dist_collective_2")
    assert small.text() == before


def test_what_a_body_raises_comes_out(small):
    x = small.get_input(0)

    def fails(*_):
        raise KeyError("mine")

    before = small.text()
    with pytest.raises(KeyError, match="mine"):
        small.add_if_conditional(True, lambda b: x * 2, fails)
    with pytest.raises(KeyError, match="mine"):
        small.add_loop(fails, trip_limit=2)
    with pytest.raises(KeyError, match="mine"):
        small.add_operator("If", [True], bodies={"then_branch": fails, "else_branch": fails})
    with pytest.raises(KeyError, match="mine"):
        small.insert_after(x, fails)
    with pytest.raises(lathe.Error):
        small.add_if_conditional(True, lambda b: x, lambda b: b.add_cast(x, "int32"), name="unequal")
    assert small.text() == before
    assert (x * 2).producer in small.layers  # operators add to the network again


def test_a_finished_loop_is_over(small):
    loops = []

    def body(loop):
        loops.append(loop)
        loop.add_output(loop.iteration, "concatenate")

    small.add_loop(body, trip_limit=3)
    for call in (lambda: loops[0].iteration, lambda: loops[0].add_recurrence(1.0), lambda: loops[0].add_output(1.0)):
        with pytest.raises(lathe.Error, match="finished"):
            call()


def test_no_edit_under_a_body(small):
    x, act = small.get_input(0), small.find_layer("act")

    def edits(body):
        for edit in (
            lambda: small.transaction().__enter__(),
            lambda: small.replace_all_uses(act, x),
            lambda: small.insert_after(x, lambda n, t: n.add_identity(t)),
        ):
            with pytest.raises(lathe.Error, match="body"):
                edit()
        return x

    small.add_if_conditional(True, edits, lambda b: x)
    outer = small.transaction()
    outer.__enter__()

    def leaves(body):
        with pytest.raises(lathe.Error, match="body"):
            outer.__exit__(KeyError, KeyError("left"), None)
        return x

    del act
    small.add_if_conditional(True, leaves, lambda b: x)
    del outer
    gc.collect()
    run(small)


def test_bodies_are_networks_to_look_at(small):
    x = small.get_input(0)
    layer = small.add_if_conditional(True, lambda b: b.add_unary(x, "exp", name="inner"), lambda b: x)
    assert sorted(layer.bodies) == ["else_branch", "then_branch"]
    body = layer.body("then_branch")
    assert [inner.name for inner in body.layers] == ["inner"]
    assert body.outputs[0].type == "float[N,4]"


def test_query_and_find(small):
    assert [layer.name for layer in small.query("kind == activation && consumers == 1")] == ["act"]
    assert [layer.name for layer in small.find(lambda layer: layer.kind == "softmax")] == ["last"]
    with pytest.raises(lathe.Error):
        small.query("color == red")


def test_described(small):
    assert "act: activation(x)" in small.text()
    assert "Relu(x)" in small.describe()
    assert json.loads(small.describe("json"))
    assert small.describe("dot").startswith("digraph")
    with pytest.raises(lathe.Error):
        small.describe("svg")
    assert repr(small) == "<lathe.Network 'small': 2 layers>"
    assert repr(small.get_input(0)) == "<lathe.TensorRef 'x': float[N,4]>"
    assert repr(small.get_layer(0)) == "<lathe.Layer 'act': activation>"


def test_edits(small):
    x, act = small.get_input(0), small.find_layer("act")
    small.insert_after(act, lambda n, t: n.add_unary(t, "sqrt", name="root"))
    np.testing.assert_allclose(run(small)["y"], softmax(np.sqrt(X)), rtol=1e-5)
    small.insert_before(act, 0, lambda n, t: t * 4.0)
    np.testing.assert_allclose(run(small)["y"], softmax(2 * np.sqrt(X)), rtol=1e-5)
    small.set_input(small.find_layer("last"), 0, x)
    np.testing.assert_allclose(run(small)["y"], softmax(X), rtol=1e-5)
    with pytest.raises(lathe.Error, match="root"):
        small.remove(act)
    assert small.remove_unused() == 3 and small.num_layers == 1
    small.replace_all_uses(x, small.add_input("z", "float32", ("N", 4)))
    assert list(run(small, x=X, z=2 * X)) == ["y"] and small.find_layer("last").get_input(0).name == "z"
    with pytest.raises(lathe.Error):
        act.name
    small.unmark_output(small.get_output(0))
    assert small.num_outputs == 0
    with pytest.raises(lathe.Error):
        run(small)


def test_extract_and_clone(small):
    part = small.extract([small.find_layer("act")], [small.get_output(0)])
    assert [layer.name for layer in part.layers] == ["last"] and part.get_input(0).name == "act"
    copy = small.clone()
    copy.add_identity(copy.get_input(0))
    assert copy.num_layers == 3 and small.num_layers == 2


def test_transactions(small):
    before = small.describe() + small.text()
    act = small.find_layer("act")
    with pytest.raises(ZeroDivisionError):
        with small.transaction() as n:
            n.replace_all_uses(act, n.get_input(0))
            n.remove(act)
            gone = n.add_identity(n.get_input(0))
            1 / 0
    assert small.describe() + small.text() == before and act.name == "act"
    with pytest.raises(lathe.Error):
        gone.name
    with small.transaction():
        small.add_identity(small.get_input(0), name="kept")
        with pytest.raises(KeyError), small.transaction():
            small.add_identity(small.get_input(0), name="inner")
            raise KeyError
    assert small.find_layer("kept") and not small.find_layer("inner")


def test_kept_as_files_and_source(small, tmp_path):
    small.save(tmp_path / "model.onnx")
    parser = lathe.Parser()
    again = parser.parse(tmp_path / "model.onnx")
    assert again.text() == small.text() and parser.num_errors == 0 and parser.diagnostics == []
    assert parser.parse((tmp_path / "model.onnx").read_bytes()).text() == small.text()
    assert parser.parse(small.to_model()).text() == small.text()
    small.save(tmp_path / "old.onnx", opset=11)
    assert lathe.onnx.load(tmp_path / "old.onnx").opset_import[""] == 11
    assert "lathe::Network build_network()" in small.cpp()
    small.mark_output(small.get_input(0) @ np.ones((4, 99), np.float32), "wide")
    assert "lathe::Network make(const std::filesystem::path& weights)" in small.cpp(
        function="make", weights=tmp_path / "w.safetensors"
    )
    checkpoint = lathe.Checkpoint(tmp_path / "w.safetensors")
    assert [checkpoint[name].shape for name in checkpoint.names()] == [(4, 99)]


def test_the_parser_collects_all_errors():
    nodes = [oh.make_node("Nothing", ["x"], ["a"]), oh.make_node("Neither", ["a"], ["y"])]
    parser = lathe.Parser()
    with pytest.raises(lathe.Error) as e:
        parser.parse(make_model(nodes, [("x", FLOAT, [1])], [("y", FLOAT, [1])]).SerializeToString())
    assert parser.num_errors >= 2 and {d.op for d in parser.diagnostics} >= {"Nothing", "Neither"}
    assert e.value.code == parser.diagnostics[0].code
    assert parser.supports_operator("Conv") and not parser.supports_operator("Nothing")


def test_debug_tensors_are_told_and_change_nothing(small):
    quiet = run(small)["y"]
    act = small.find_layer("act")
    small.mark_debug(act)
    assert small.is_debug_tensor(act) and small.debug_tensors == [act.output]
    context = lathe.Builder().build_engine(small).create_context()
    told = {}
    context.on_tap(lambda name, value: told.update({name: value.copy()}))
    assert context.run({"x": X})["y"].tobytes() == quiet.tobytes()
    assert list(told) == ["act"] and told["act"].tolist() == X.tolist()
    small.unmark_debug(act)
    assert small.debug_tensors == []


def test_built_with_a_config(small, tmp_path):
    builder = lathe.Builder()
    config = builder.create_builder_config()
    config.threads, config.shapes = 1, {"N": 1}
    stages = []
    engine = builder.build_engine(small, config, progress=lambda stage, fraction: stages.append(stage))
    assert engine.threads == 1 and engine.inputs[0].shape == (1, 4) and stages
    engine.save(tmp_path / "plan.lathe")
    assert lathe.load(tmp_path / "plan.lathe").run({"x": X})["y"].tobytes() == engine.run({"x": X})["y"].tobytes()
    with pytest.raises(AttributeError, match="workspace"):
        config.workspace = 1
    with pytest.raises(AttributeError):
        lathe.BuilderConfig(workspace=1)

    def stop(stage, fraction):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        builder.build_engine(small, progress=stop)
    control = lathe.RunControl()
    control.cancel()
    with pytest.raises(lathe.Error):
        builder.build_engine(small, control=control)
    assert isinstance(engine.create_context(), lathe.ExecutionContext)
    assert builder.create_network("other").name == "other"


def test_plugins_are_operators_of_other_domains(small):
    layer = small.add_plugin("my.domain", "Op", [small.get_input(0)], ["float[N,2]"], attributes={"k": 3, "s": "t"})
    assert layer.type == "float[N,2]" and layer.kind == "plugin" and layer.operators == ["my.domain::Op"]


def test_every_call_of_the_header_is_there():
    header = (ROOT / "include/lathe/network.h").read_text()
    calls = set(re.findall(r"\b(add_\w+|mark_\w+|unmark_\w+|get_\w+|num_\w+|find_\w+)\(", header))
    known = set(dir(lathe.Network)) | set(dir(lathe.LoopBody)) | set(dir(lathe.Layer))
    assert len(calls) > 60 and calls <= known, calls - known
