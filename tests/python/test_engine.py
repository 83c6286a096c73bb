"""lathe.build, Engine and Context from Python."""

import gc
import os
import pathlib
import subprocess
import sys
import threading
import weakref

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh
import pytest

import lathe
from support import FLOAT, make_model

X = np.array([[1, -2, 3], [0.5, 0.25, -1]], np.float32)


@pytest.fixture
def engine(linear):
    return lathe.build(linear[0].SerializeToString())


def test_build_from_path_bytes_and_model(linear, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(linear[0], path)
    data = path.read_bytes()
    for source in (path, str(path), data, bytearray(data), memoryview(data), lathe.onnx.load(path)):
        np.testing.assert_allclose(lathe.build(source).run({"x": X})["y"], linear[1](X), rtol=1e-6)
    for source in (5, None, linear[0]):
        with pytest.raises(TypeError, match="a path, bytes or a lathe.onnx.Model expected"):
            lathe.build(source)


def test_inputs_and_outputs_are_described(engine):
    (x,), (y,) = engine.inputs, engine.outputs
    assert (x.name, x.type, x.dtype, x.shape, x.optional) == ("x", "tensor(float)", "float32", ("batch", 3), False)
    assert y.name == "y" and y.shape == ("batch", 4)
    assert engine.symbols == ["batch"]
    assert {s.op for s in engine.steps} <= {"MatMul", "Add", "Gemm"}
    assert all(s.kernel for s in engine.steps)
    assert engine.threads >= 1


def test_inputs_by_position_list_and_number(engine, linear):
    want = linear[1](X)
    odd = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(X.shape)
    assert not odd.flags.aligned
    for given in ([X], (X,), {"x": X.tolist()}, {"x": X[::1]}, {"x": np.asfortranarray(X)}, [odd], [X.astype(">f4")]):
        np.testing.assert_allclose(engine.run(given)["y"], want, rtol=1e-6)


def test_numpy_goes_in_and_out_without_copies():
    model = make_model(
        [oh.make_node("Neg", ["x"], ["y"])], [("x", FLOAT, ["n"])], [("y", FLOAT, ["n"])]
    )
    context = lathe.build(model.SerializeToString()).create_context()
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    context.bind_input("x", x)
    context.bind_output("y", y)
    context.run()
    np.testing.assert_array_equal(y, -x)
    x[:] = 5  # the context reads this very memory, and writes that very memory
    context.run()
    np.testing.assert_array_equal(y, np.full(8, -5, np.float32))


def test_outputs_come_in_the_models_order():
    model = make_model(
        [oh.make_node("Neg", ["x"], ["z"]), oh.make_node("Abs", ["x"], ["a"])],
        [("x", FLOAT, [1])],
        [("z", FLOAT, [1]), ("a", FLOAT, [1])],
    )
    engine = lathe.build(model.SerializeToString())
    assert list(engine.run({"x": X[0, :1]})) == list(engine.create_context().run({"x": X[0, :1]})) == ["z", "a"]


class OnlyDlpack:
    """An array that shows nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_in_and_out(engine, linear):
    np.testing.assert_allclose(engine.run({"x": OnlyDlpack(X)})["y"], linear[1](X), rtol=1e-6)
    tensor = lathe.Tensor.from_dlpack(X)
    assert tensor.data_ptr == X.ctypes.data
    assert np.from_dlpack(tensor).ctypes.data == X.ctypes.data
    assert np.shares_memory(tensor.carrier(), X)


def test_outputs_go_into_memory_with_dlpack(engine, linear):
    context, y = engine.create_context(), np.zeros((2, 4), np.float32)
    context.bind_input("x", OnlyDlpack(X))
    context.bind_output("y", OnlyDlpack(y))
    context.run()
    np.testing.assert_allclose(y, linear[1](X), rtol=1e-6)
    y.flags.writeable = False
    for refused in (OnlyDlpack(y), y, np.zeros((4, 2), np.float32).T):
        with pytest.raises((TypeError, ValueError)):
            context.bind_output("y", refused)


def test_outputs_outlive_engine_and_context(linear):
    y = lathe.build(linear[0].SerializeToString()).run({"x": X})["y"]
    again = lathe.build(linear[0].SerializeToString()).run({"x": X + 1})["y"]
    np.testing.assert_allclose(y, linear[1](X), rtol=1e-6)
    np.testing.assert_allclose(again, linear[1](X + 1), rtol=1e-6)


def test_outputs_are_the_callers_to_change(linear):
    """An output that is an input, or a weight, must not share memory with it."""
    w = np.arange(3, dtype=np.float32)
    model = make_model(
        [oh.make_node("Identity", ["x"], ["y"]), oh.make_node("Identity", ["w"], ["z"])],
        [("x", FLOAT, [3])],
        [("y", FLOAT, [3]), ("z", FLOAT, [3])],
        [onnx.numpy_helper.from_array(w, "w")],
    )
    engine, x = lathe.build(model.SerializeToString()), np.ones(3, np.float32)
    first = engine.run({"x": x})
    for array in first.values():
        array += 10
    np.testing.assert_array_equal(x, np.ones(3))
    np.testing.assert_array_equal(engine.run({"x": x})["z"], w)


NARROW = (
    "bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn "
    "int4 uint4 int2 uint2"
).split()


@pytest.mark.parametrize(
    "name",
    "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128".split() + NARROW,
)
def test_every_element_type_passes_through(name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    element = oh.np_dtype_to_tensor_dtype(dtype)
    x = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 1]]).astype(dtype)
    model = make_model(
        [oh.make_node("Transpose", ["x"], ["t"]), oh.make_node("Transpose", ["t"], ["y"])],
        [("x", element, [3, 3])],
        [("y", element, [3, 3])],
        opset=25,
        ir_version=13,
    )
    y = lathe.build(model.SerializeToString()).run({"x": x})["y"]
    assert y.dtype == dtype and y.shape == (3, 3)
    assert y.tobytes() == x.tobytes()


def test_strings():
    s = onnx.TensorProto.STRING
    model = make_model([oh.make_node("Identity", ["x"], ["y"])], [("x", s, [2])], [("y", s, [2])])
    engine = lathe.build(model.SerializeToString())
    for given in (np.array(["a", "é"]), np.array(["a", "é"], object), ["a", "é"], np.array(["a", "é".encode()], object)):
        assert engine.run({"x": given})["y"].tolist() == ["a", "é"]


def test_sequences_and_optionals():
    sequence = oh.make_tensor_sequence_value_info("s", FLOAT, None)
    model = make_model(
        [oh.make_node("SequenceInsert", ["s", "x"], ["t"]), oh.make_node("SequenceLength", ["t"], ["n"])],
        [sequence, ("x", FLOAT, None)],
        [oh.make_tensor_sequence_value_info("t", FLOAT, None), ("n", onnx.TensorProto.INT64, [])],
    )
    engine = lathe.build(model.SerializeToString())
    out = engine.run({"s": [np.ones(2, np.float32)], "x": np.zeros((1, 3), np.float32)})
    assert [item.shape for item in out["t"]] == [(2,), (1, 3)] and out["n"] == 2
    assert engine.run({"s": [], "x": np.zeros(1, np.float32)})["n"] == 1


def test_errors_are_coded(engine):
    for given, code in (
        ({"x": X.astype(np.float64)}, "E4001"),
        ({"x": X[:, :2]}, "E4002"),
        ({}, "E4003"),
        ({"x": X, "z": X}, "E4001"),
        ([], "E4003"),
        ([X, X], "E4001"),
    ):
        with pytest.raises(lathe.Error) as e:
            engine.run(given)
        assert e.value.code == code
        assert str(e.value).startswith(f"lathe: error {code}: ") and e.value.expected and e.value.got
    np.testing.assert_allclose(engine.run({"x": X})["y"].shape, (2, 4))
    with pytest.raises(lathe.Error) as e:
        lathe.build("absent.onnx")
    assert e.value.code == "E1001"
    with pytest.raises(lathe.Error) as e:
        lathe.build(b"\xff" * 20)
    assert e.value.code.startswith("E11")
    for option in ({"backend": "abacus"}, {"threads": -1}, {"threads": 1 << 20}, {"isa": "mmx"}, {"shapes": {"z": 1}}):
        with pytest.raises(lathe.Error) as e:
            lathe.build(loop_model().SerializeToString(), **option)
        assert e.value.code.startswith("E3"), option


def test_arguments_of_the_wrong_type(engine):
    for act in (
        lambda: engine.run({1: X}),
        lambda: engine.memory({"x": ("a", 3)}),
        lambda: engine.run({"x": np.array(["2020-01-01"], "M8[D]")}),
        lambda: lathe.build(b"", nonsense=1),
    ):
        with pytest.raises(TypeError):
            act()


def test_memory_and_shapes_are_known_before(engine):
    memory = engine.memory({"x": (16, 3)})
    assert memory["total"] >= memory["weights"] > 0
    assert memory["data_dependent"] == 0 and memory["uncounted"] == []
    assert engine.output_shapes({"x": (16, 3)}) == {"y": (16, 4)}


def test_fixed_symbols(linear):
    engine = lathe.build(linear[0].SerializeToString(), shapes={"batch": 2})
    assert engine.inputs[0].shape == (2, 3)
    with pytest.raises(lathe.Error):
        engine.run({"x": X[:1]})


def test_taps(linear):
    context = lathe.build(linear[0].SerializeToString(), taps=["prod*"]).create_context()
    seen = {}
    context.on_tap(seen.__setitem__)
    y = context.run({"x": X})["y"]
    np.testing.assert_allclose(seen["product"] - 0.5, y, rtol=1e-5)


def test_listeners_that_raise_or_call_back(linear):
    context = lathe.build(linear[0].SerializeToString(), taps=["prod*"]).create_context()

    def fails(name, value):
        raise KeyError(name)

    context.on_tap(fails)
    with pytest.raises(KeyError, match="product"):
        context.run({"x": X})
    context.on_tap(lambda name, value: context.run({"x": X}))
    with pytest.raises(lathe.Error) as e:
        context.run({"x": X})
    assert e.value.code == "E6001"
    context.on_tap(None)
    np.testing.assert_allclose(context.run({"x": X})["y"], linear[1](X), rtol=1e-6)


def test_a_context_takes_one_call_at_a_time():
    context, control = lathe.build(loop_model().SerializeToString(), threads=1).create_context(), lathe.RunControl()
    forever = {"n": np.array(1 << 40), "x": np.zeros((64, 64), np.float32)}
    ended = []

    def work():
        try:
            context.run(forever, control=control)
        except lathe.Error as e:
            ended.append(e.code)

    thread = threading.Thread(target=work)
    thread.start()
    codes = set()
    while not codes:  # until the other thread is in
        try:
            context.trim()
        except lathe.Error as e:
            codes.add(e.code)
    with pytest.raises(lathe.Error) as e:
        context.run(forever)
    control.cancel()
    thread.join()
    assert codes == {"E6001"} and e.value.code == "E6001" and ended == ["E4201"]


def test_a_listener_that_knows_its_context_is_collected(engine):
    context = engine.create_context()
    context.on_tap(lambda name, value: context)
    gone = weakref.ref(context)
    del context
    gc.collect()
    assert gone() is None


def test_plan_saved_and_loaded(engine, linear, tmp_path):
    engine.save(tmp_path / "model.lathe")
    np.testing.assert_allclose(lathe.load(tmp_path / "model.lathe").run({"x": X})["y"], linear[1](X), rtol=1e-6)


def test_plans_say_which_section_they_were_opened_from(engine, linear, tmp_path):
    path = tmp_path / "model.lathe"
    engine.save(path)
    target = lathe.load(path).target
    assert target == {"isa": target["isa"], "built_for": target["isa"], "section": "native", "device": "cpu"}
    lesser = lathe.load(path, isa="generic", verify_weights=True)
    assert lesser.target["isa"] == "generic" and lesser.target["built_for"] == target["isa"]
    assert lesser.target["section"] == ("native" if target["isa"] == "generic" else "portable")
    np.testing.assert_allclose(lesser.run({"x": X})["y"], linear[1](X), rtol=1e-6)
    lesser.trim()
    np.testing.assert_allclose(lesser.run({"x": X})["y"], linear[1](X), rtol=1e-6)

    whole = path.read_bytes()
    path.write_bytes(whole[:64] + bytes([whole[64] ^ 1]) + whole[65:])
    with pytest.raises(lathe.Error, match="E5005"):
        lathe.load(path, verify_weights=True)


def loop_model():
    """Counts for as long as it is told to: a run that takes as long as one likes."""
    body = oh.make_graph(
        [
            oh.make_node("Identity", ["go"], ["go_on"]),
            oh.make_node("MatMul", ["m", "m"], ["product"]),
            oh.make_node("Tanh", ["product"], ["next"]),
        ],
        "body",
        [
            oh.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
            oh.make_tensor_value_info("go", onnx.TensorProto.BOOL, []),
            oh.make_tensor_value_info("m", FLOAT, [64, 64]),
        ],
        [
            oh.make_tensor_value_info("go_on", onnx.TensorProto.BOOL, []),
            oh.make_tensor_value_info("next", FLOAT, [64, 64]),
        ],
    )
    return make_model(
        [oh.make_node("Loop", ["n", "", "x"], ["y"], body=body)],
        [("n", onnx.TensorProto.INT64, []), ("x", FLOAT, [64, 64])],
        [("y", FLOAT, [64, 64])],
    )


def test_taps_in_a_loop():
    x = np.full((64, 64), 0.01, np.float32)
    given = {"n": np.array(3), "x": x}
    context = lathe.build(loop_model().SerializeToString(), taps=["product"]).create_context()
    seen = []
    context.on_tap(lambda name, value: seen.append(value.copy()))
    y = context.run(given)["y"]
    assert len(seen) == 3
    np.testing.assert_allclose(seen[0], x @ x, rtol=1e-5)
    np.testing.assert_array_equal(y, lathe.build(loop_model().SerializeToString()).run(given)["y"])


def test_timeout_and_cancellation_and_the_next_run():
    engine = lathe.build(loop_model().SerializeToString())
    forever = {"n": np.array(1 << 40), "x": np.zeros((64, 64), np.float32)}
    control = lathe.RunControl()
    for given in (None, control):
        with pytest.raises(lathe.Error) as e:
            engine.run(forever, timeout=0.1, control=given)
        assert e.value.code == "E4202"
    engine.run(dict(forever, n=np.array(2)), control=control)  # the deadline was that run's alone
    threading.Timer(0.1, control.cancel).start()
    with pytest.raises(lathe.Error) as e:
        engine.run(forever, control=control)
    assert e.value.code == "E4201"
    assert engine.run(dict(forever, n=np.array(2)))["y"].shape == (64, 64)


def test_the_interpreter_goes_on_while_a_model_runs():
    engine, control = lathe.build(loop_model().SerializeToString(), threads=1), lathe.RunControl()

    def work():
        for _ in range(1000):  # gives the lock away and takes it back
            threading.Event().wait(0)
        control.cancel()

    thread = threading.Thread(target=work)
    thread.start()
    with pytest.raises(lathe.Error) as e:  # were the lock held, this would never end
        engine.run({"n": np.array(1 << 40), "x": np.zeros((64, 64), np.float32)}, control=control)
    thread.join()
    assert e.value.code == "E4201"


def test_many_threads_over_one_engine(engine, linear):
    faults = []

    def work(seed):
        x = np.random.default_rng(seed).standard_normal((seed + 1, 3)).astype(np.float32)
        for _ in range(50):
            if not np.allclose(engine.run({"x": x})["y"], linear[1](x), rtol=1e-5, atol=1e-6):
                faults.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not faults


def test_the_package_is_typed():
    folder = pathlib.Path(lathe.__file__).parent
    assert (folder / "py.typed").exists()
    stub = (folder / "_lathe.pyi").read_text()
    assert all(f"class {name}" in stub for name in ("Tensor", "Engine", "Context", "Model"))


TYPED_PROGRAM = """
import lathe, numpy as np

engine = lathe.build("m.onnx", threads=1)
outputs = engine.run({"x": np.zeros(3)}, timeout=1.0)
shape: tuple[int, ...] = engine.output_shapes({"x": (1, 3)})["y"]
tensor: lathe.Tensor = lathe.Tensor.from_dlpack(np.zeros(3), writable=True)
dtype: str = tensor.dtype
version: str = lathe.__version__
code: str = lathe.onnx.check(b"")[0].code
network = lathe.Network("typed")
x: lathe.TensorRef = network.add_input("x", "float32", ("N", 3))
layer: lathe.Layer = network.add_unary(x * 2 + 1, lathe.UnaryOperation.exp, name="e")
network.mark_output(layer)
built: lathe.Engine = lathe.Builder().build_engine(network, lathe.BuilderConfig(threads=1))
fc = lathe.nn.Linear(3, 4, bias=False)
weight: lathe.nn.Parameter = fc.weight
weight.value = np.zeros((4, 3), np.float32)
made: lathe.Network = lathe.nn.build_network(fc, {"x": ("float32", ("N", 3))})
lathe.nn.Linear(3)  # wrong
fc.forward(3)  # wrong
network.add_reduce(x, "sum", nothing=3)  # wrong
engine.run(3)  # wrong
tensor.strings().nothing  # wrong
lathe.load(b"x")  # wrong
"""


def test_type_checkers_agree(tmp_path):
    (tmp_path / "program.py").write_text(TYPED_PROGRAM)
    check = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "--ignore-missing-imports"]
    whole = subprocess.run([*check, "-p", "lathe"], cwd=tmp_path, capture_output=True, text=True)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    program = subprocess.run([*check, "program.py"], cwd=tmp_path, capture_output=True, text=True)
    wrong = [i for i, line in enumerate(TYPED_PROGRAM.splitlines(), 1) if "# wrong" in line]
    found = [int(line.split(":")[1]) for line in program.stdout.splitlines() if ": error:" in line]
    assert found == wrong, program.stdout


def test_tools():
    assert any(op["name"] == "Softmax" for op in lathe.operators())
    assert lathe.system_info()["threads"] >= 1
    (cpu,) = lathe.devices()
    assert cpu["name"] == "cpu" and cpu["instruction_sets"][-1] == lathe.system_info()["isa"] and cpu["memory_total"] > 0
    with pytest.raises(lathe.Error) as e:
        lathe.devices(["libm.so.6"])
    assert e.value.code == "E3005"


def test_plugins():
    """A device that a shared library brings, which finds the symbols of the library that it is loaded by."""
    build = pathlib.Path(os.environ.get("LATHE_BUILD", pathlib.Path(__file__).parents[2] / "build/release"))
    plugin = build / "tests" / "fake_device.so"
    assert plugin.exists(), "build the target plugin_fake_device"
    told = lathe.devices([plugin])
    assert [d["name"] for d in told] == ["cpu", "fake"] and told[1]["types"] == ["float32"]
    assert told[1]["details"] == {"units": "1"} and told[1]["memory_total"] == 64 << 20
    nodes = [oh.make_node("Mul", ["x", "x"], ["s"]), oh.make_node("Neg", ["s"], ["y"])]
    model = make_model(nodes, [("x", FLOAT, [3])], [("y", FLOAT, [3])])
    engine = lathe.build(model.SerializeToString(), backend="fake:cpu", plugins=[plugin])
    assert engine.target["device"] == "fake" and "fake.pointwise" in {step.kernel for step in engine.steps}
    assert list(engine.run([np.array([1, 2, 3], np.float32)])["y"]) == [-1, -4, -9]


def test_levels_and_passes(tmp_path):
    nodes = [oh.make_node("Sigmoid", ["x"], ["s"]), oh.make_node("Mul", ["x", "s"], ["y"])]
    model = make_model(nodes, [("x", FLOAT, [3])], [("y", FLOAT, [3])])
    source, x = model.SerializeToString(), np.array([-1, 0, 2], np.float32)

    def operators(**options):
        engine = lathe.build(source, **options)
        np.testing.assert_allclose(engine.run({"x": x})["y"], x / (1 + np.exp(-x)), rtol=1e-5)
        return [step.op for step in engine.steps]

    assert operators() == ["Swish"]
    assert operators(level="basic") == ["Sigmoid", "Mul"]
    assert operators(passes=["-recognize-swish"]) == ["Pointwise"]  # the two in one step
    assert operators(level="none", passes=["+recognize-swish"]) == ["Swish"]
    assert operators(passes="-recognize-swish,-blocked-layout") == ["Pointwise"]
    with pytest.raises(lathe.Error, match="name of a pass.*; or '-' and the name of a lowering pass: .*blocked-layout"):
        operators(passes=["-nothing"])
    with pytest.raises(ValueError, match="none, basic, extended or all"):
        operators(level="most")


def test_sizes_of_memory_have_units():
    model = make_model([oh.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, ["n"])], [("y", FLOAT, ["n"])]).SerializeToString()
    for limit in (1 << 16, "65536", "64K", "64kib", "64KB"):
        engine = lathe.build(model, memory_limit=limit)
        engine.run({"x": np.zeros(4, np.float32)})
        with pytest.raises(lathe.Error, match="E4105"):
            engine.run({"x": np.zeros(1 << 15, np.float32)})
    for limit in ("2 apples", "", "-1", "1.5G"):
        with pytest.raises(ValueError, match="memory_limit is a number of bytes or a size such as '512M'"):
            lathe.build(model, memory_limit=limit)


def test_what_cannot_be_meant_is_refused():
    model = make_model([oh.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, ["n"])], [("y", FLOAT, ["n"])]).SerializeToString()
    with pytest.raises(lathe.Error, match="not negative.*n=-3"):
        lathe.build(model, shapes={"n": -3})
    engine = lathe.build(model, precision="bf16")
    for call in (engine.run, engine.create_context().run):
        with pytest.raises(TypeError, match="a dict by name, or a list in the model's order, not int"):
            call(3)
    with pytest.raises(TypeError, match="not NoneType"):
        engine.run(None)
