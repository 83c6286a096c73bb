"""lathe.compat.onnxruntime against the real one: the same calls, the same answers, the same errors."""

import importlib
import subprocess
import sys
import threading

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as theirs
import pytest

import lathe.compat
import lathe.compat.onnxruntime as ours
from support import FLOAT, ROOT, make_model

theirs.set_default_logger_severity(4)
both = pytest.mark.parametrize("ort", [ours, theirs], ids=["lathe", "onnxruntime"])

X = np.array([[1, -2, 3], [0.5, 0.25, -1]], np.float32)


def state(ort):
    return ort.capi.onnxruntime_pybind11_state


@pytest.fixture
def data(linear):
    model = linear[0]
    model.producer_name, model.domain, model.model_version, model.doc_string = "maker", "org.example", 7, "about"
    model.graph.doc_string = "about the graph"
    model.metadata_props.add(key="labels", value="a,b")
    return model.SerializeToString()


@both
def test_session_describes_itself(ort, data, tmp_path):
    (tmp_path / "m.onnx").write_bytes(data)
    for source in (data, str(tmp_path / "m.onnx"), tmp_path / "m.onnx"):
        s = ort.InferenceSession(source, providers=["CPUExecutionProvider"])
        (x,), (y,) = s.get_inputs(), s.get_outputs()
        assert (x.name, x.type, x.shape) == ("x", "tensor(float)", ["batch", 3])
        assert (y.name, y.type, y.shape) == ("y", "tensor(float)", ["batch", 4])
        assert s.get_overridable_initializers() == []
        assert s.get_providers() == ["CPUExecutionProvider"]
        assert s.get_provider_options() == {"CPUExecutionProvider": {}}
        m = s.get_modelmeta()
        assert (m.producer_name, m.domain, m.version, m.description) == ("maker", "org.example", 7, "about")
        assert (m.graph_name, m.graph_description) == ("test", "about the graph")
        assert m.custom_metadata_map == {"labels": "a,b"}


@both
def test_shapes_of_unnamed_and_scalar_inputs(ort):
    model = make_model(
        [oh.make_node("Identity", ["x"], ["y"]), oh.make_node("Identity", ["s"], ["t"])],
        [("x", FLOAT, [None, 2, "n"]), ("s", FLOAT, [])],
        [("y", FLOAT, [None, 2, "n"]), ("t", FLOAT, [])],
    )
    s = ort.InferenceSession(model.SerializeToString())
    assert [i.shape for i in s.get_inputs()] == [[None, 2, "n"], []]
    assert [i.shape for i in s.get_outputs()] == [[None, 2, "n"], []]


@both
@pytest.mark.parametrize("ir_version", (3, 4, 8))
def test_initializers_that_are_inputs(ort, ir_version):
    """Constants before IR version 4, where they had to be; defaults from then on."""
    w = np.full(3, 2, np.float32)
    model = make_model(
        [oh.make_node("Mul", ["x", "w"], ["y"])],
        [("x", FLOAT, [3]), ("w", FLOAT, [3])],
        [("y", FLOAT, [3])],
        [onnx.numpy_helper.from_array(w, "w")],
    )
    model.ir_version = ir_version
    model.opset_import[0].version = 8
    x = np.ones(3, np.float32)
    s = ort.InferenceSession(model.SerializeToString())
    assert [i.name for i in s.get_inputs()] == ["x"]
    np.testing.assert_array_equal(s.run(None, {"x": x})[0], 2 * x)
    overridable = [(i.name, i.shape, i.type) for i in s.get_overridable_initializers()]
    if ir_version < 4:
        assert overridable == []
        with pytest.raises(state(ort).InvalidArgument, match="Invalid input name: w"):
            s.run(None, {"x": x, "w": 3 * w})
        return
    assert overridable == [("w", [3], "tensor(float)")]
    np.testing.assert_array_equal(s.run(None, {"x": x, "w": 3 * w})[0], 6 * x)
    np.testing.assert_array_equal(s.run(None, {"x": x})[0], 2 * x)
    with pytest.raises(state(ort).InvalidArgument, match="Got invalid dimensions for input: w"):
        s.run(None, {"x": x, "w": np.ones(2, np.float32)})
    with pytest.raises(ValueError, match="Required inputs"):
        s.run(None, {"w": w})
    options = ort.SessionOptions()
    options.add_session_config_entry("lathe.fix_defaults", "1")
    fixed = ort.InferenceSession(model.SerializeToString(), options)
    if ort.__name__ != "onnxruntime":
        assert fixed.get_overridable_initializers() == []
    np.testing.assert_array_equal(fixed.run(None, {"x": x})[0], 2 * x)


@both
def test_run(ort, data, linear):
    s = ort.InferenceSession(data)
    want = linear[1](X)
    for names in (None, ["y"], []):
        (y,) = s.run(names, {"x": X})
        assert isinstance(y, np.ndarray) and y.dtype == np.float32
        np.testing.assert_allclose(y, want, rtol=1e-6)
    np.testing.assert_allclose(s.run(None, {"x": X.tolist()})[0], want, rtol=1e-6)
    np.testing.assert_allclose(s.run(None, {"x": X[:, ::1].T.copy().T})[0], want, rtol=1e-6)
    np.testing.assert_allclose(s.run(["y"], {"x": X}, ort.RunOptions())[0], want, rtol=1e-6)


BAD_RUNS = {
    "name": lambda s: s.run(None, {"z": X}),
    "missing": lambda s: s.run(None, {}),
    "extra": lambda s: s.run(None, {"x": X, "z": X}),
    "type": lambda s: s.run(None, {"x": X.astype(np.float64)}),
    "rank": lambda s: s.run(None, {"x": X[0]}),
    "dimension": lambda s: s.run(None, {"x": X[:, :2]}),
    "output": lambda s: s.run(["z"], {"x": X}),
    "text": lambda s: s.run(None, {"x": "abc"}),
    "list": lambda s: s.run(None, [X]),
}


@pytest.mark.parametrize("name", BAD_RUNS)
def test_wrong_inputs_raise_the_same(name, data):
    raised = []
    for ort in (ours, theirs):
        with pytest.raises(Exception) as e:
            BAD_RUNS[name](ort.InferenceSession(data))
        raised.append((type(e.value).__name__, type(e.value).__module__, str(e.value)))
    assert raised[0] == raised[1]


def model_bytes(nodes, inputs=(("x", FLOAT, [1]),), **fields):
    return make_model(nodes, inputs, [(nodes[-1].output[0], FLOAT, None)], **fields).SerializeToString()


def other_domain():
    model = onnx.ModelProto.FromString(model_bytes([oh.make_node("Frobnicate", ["x"], ["y"], domain="org.example")]))
    model.opset_import.append(oh.make_opsetid("org.example", 1))
    return model.SerializeToString()


def node(op, *inputs, out="y", **attributes):
    return oh.make_node(op, inputs, [out], **attributes)


WRONG_MODELS = {
    "absent": lambda: "absent.onnx",
    "garbage": lambda: b"garbage" * 9,
    "empty": lambda: b"",
    "none": lambda: None,
    "undefined input": lambda: model_bytes([node("Add", "x", "nowhere")]),
    "operator": lambda: model_bytes([node("Frobnicate", "x")]),
    "domain": other_domain,
    "cycle": lambda: model_bytes([node("Add", "x", "y", out="a"), node("Add", "x", "a")]),
    "types": lambda: model_bytes([node("Add", "x", "i")], [("x", FLOAT, [1]), ("i", onnx.TensorProto.INT64, [1])]),
    "shapes": lambda: model_bytes([node("MatMul", "x", "w")], [("x", FLOAT, [2, 3]), ("w", FLOAT, [4, 5])]),
    "attribute": lambda: model_bytes([node("Concat", "x", "x")]),
    "ir version": lambda: model_bytes([node("Neg", "x")], ir_version=99),
    "opset": lambda: model_bytes([node("Neg", "x")], opset=99),
    "duplicate": lambda: model_bytes([node("Neg", "x"), node("Neg", "x")]),
}


@pytest.mark.parametrize("name", WRONG_MODELS)
def test_wrong_models_raise_the_same_types(name):
    raised = []
    for ort in (ours, theirs):
        with pytest.raises(Exception) as e:
            ort.InferenceSession(WRONG_MODELS[name]())
        raised.append((type(e.value).__name__, type(e.value).__module__))
    assert raised[0] == raised[1]


def test_exceptions_keep_their_cause():
    with pytest.raises(state(ours).InvalidProtobuf) as e:
        ours.InferenceSession(b"garbage" * 9)
    assert str(e.value).startswith("[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : ")
    assert isinstance(e.value.__cause__, lathe.Error) and e.value.__cause__.code.startswith("E11")


def test_exception_types_are_all_there():
    real = {n for n in dir(state(theirs)) if isinstance(getattr(state(theirs), n), type)
            and issubclass(getattr(state(theirs), n), Exception)}  # fmt: skip
    assert real <= set(dir(state(ours)))


@both
def test_ort_values(ort, data, linear):
    value = ort.OrtValue.ortvalue_from_numpy(X)
    assert (value.shape(), value.data_type(), value.element_type()) == ([2, 3], "tensor(float)", 1)
    assert value.device_name() == "cpu" and value.is_tensor() and value.has_value()
    assert value.tensor_size_in_bytes() == 24
    np.testing.assert_array_equal(value.numpy(), X)
    (y,) = ort.InferenceSession(data).run_with_ort_values(["y"], {"x": value})
    np.testing.assert_allclose(y.numpy(), linear[1](X), rtol=1e-6)
    blank = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
    blank.update_inplace(X)
    np.testing.assert_array_equal(blank.numpy(), X)


@both
def test_io_binding(ort, data, linear):
    s = ort.InferenceSession(data)
    binding = s.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_output("y")
    s.run_with_iobinding(binding)
    np.testing.assert_allclose(binding.copy_outputs_to_cpu()[0], linear[1](X), rtol=1e-6)
    assert binding.get_outputs()[0].shape() == [2, 4]

    y = np.zeros((2, 4), np.float32)
    binding = s.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, X.shape, X.ctypes.data)
    binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
    s.run_with_iobinding(binding)
    np.testing.assert_allclose(y, linear[1](X), rtol=1e-6)

    x_value, y_value = (ort.OrtValue.ortvalue_from_numpy(a.copy()) for a in (X, y))
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", x_value)
    binding.bind_ortvalue_output("y", y_value)
    for scale in (1, 2):
        x_value.update_inplace(scale * X)
        s.run_with_iobinding(binding)
        np.testing.assert_allclose(y_value.numpy(), linear[1](scale * X), rtol=1e-6)
    with pytest.raises(RuntimeError, match="Failed to find NodeArg"):
        binding.bind_cpu_input("z", X)


def grouped_attention():
    """GroupQueryAttention with its caches as inputs and outputs: 4 heads over 2, each of 8."""
    heads = {"num_heads": 4, "kv_num_heads": 2}
    cache = ["batch", 2, "past_sequence_length", 8], ["batch", 2, "total_sequence_length", 8]
    node = oh.make_node(
        "GroupQueryAttention", ["q", "k", "v", "past_k", "past_v", "last", "total"], ["y", "present_k", "present_v"], domain="com.microsoft", **heads
    )
    values = {
        "q": (FLOAT, ["batch", "seq", 32]), "k": (FLOAT, ["batch", "seq", 16]), "v": (FLOAT, ["batch", "seq", 16]),
        "past_k": (FLOAT, cache[0]), "past_v": (FLOAT, cache[0]), "last": (onnx.TensorProto.INT32, ["batch"]), "total": (onnx.TensorProto.INT32, []),
    }  # fmt: skip
    inputs = [oh.make_tensor_value_info(name, *kind) for name, kind in values.items()]
    outputs = [oh.make_tensor_value_info("y", FLOAT, ["batch", "seq", 32])]
    outputs += [oh.make_tensor_value_info(name, FLOAT, cache[1]) for name in ("present_k", "present_v")]
    opsets = [oh.make_opsetid("", 20), oh.make_opsetid("com.microsoft", 1)]
    return oh.make_model(oh.make_graph([node], "g", inputs, outputs), opset_imports=opsets, ir_version=10).SerializeToString()


def tokens(rng, rows, total, batch=2):
    feed = {name: rng.standard_normal((batch, rows, width), np.float32) for name, width in (("q", 32), ("k", 16), ("v", 16))}
    return feed | {"last": np.full(batch, total - 1, np.int32), "total": np.array(total, np.int32)}


@both
def test_past_and_present_in_one_buffer(ort):
    """The caches have memory for the longest text, and are bound as past and as present."""
    s = ort.InferenceSession(grouped_attention())
    rng = np.random.default_rng(3)
    longest, past = 16, [np.zeros((2, 2, 0, 8), np.float32)] * 2
    caches = [ort.OrtValue.ortvalue_from_numpy(np.zeros((2, 2, longest, 8), np.float32)) for _ in range(2)]
    addresses = [c.data_ptr() for c in caches]
    total = 0
    for rows in (5, 1, 1, 1, 1):
        total += rows
        feed = tokens(rng, rows, total)
        want = s.run(None, feed | {"past_k": past[0], "past_v": past[1]})
        past = want[1:]
        binding = s.io_binding()
        for name, array in feed.items():
            binding.bind_cpu_input(name, array)
        binding.bind_output("y")
        for cache, name in zip(caches, ("k", "v")):
            binding.bind_ortvalue_input(f"past_{name}", cache)
            binding.bind_ortvalue_output(f"present_{name}", cache)
        s.run_with_iobinding(binding)
        np.testing.assert_allclose(binding.get_outputs()[0].numpy(), want[0], rtol=1e-5, atol=1e-6)
        for cache, dense, address in zip(caches, past, addresses):
            assert cache.data_ptr() == address
            np.testing.assert_array_equal(cache.numpy()[:, :, :total], dense)


@both
def test_rows_are_written_into_a_bound_buffer(ort):
    node = oh.make_node("TensorScatter", ["cache", "rows", "at"], ["new"], axis=2)
    kinds = {"cache": (FLOAT, [2, 3, 8, 4]), "rows": (FLOAT, [2, 3, "n", 4]), "at": (onnx.TensorProto.INT64, [2])}
    graph = oh.make_graph(
        [node], "g", [oh.make_tensor_value_info(n, *k) for n, k in kinds.items()], [oh.make_tensor_value_info("new", FLOAT, [2, 3, 8, 4])]
    )
    s = ort.InferenceSession(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 24)], ir_version=11).SerializeToString())
    want = np.zeros((2, 3, 8, 4), np.float32)
    cache = ort.OrtValue.ortvalue_from_numpy(want.copy())
    for n, at in ((3, [0, 0]), (1, [3, 1]), (2, [4, 6])):
        rows = np.random.default_rng(n).standard_normal((2, 3, n, 4), np.float32)
        for sample, first in enumerate(at):
            want[sample, :, first : first + n] = rows[sample]
        binding = s.io_binding()
        binding.bind_ortvalue_input("cache", cache)
        binding.bind_cpu_input("rows", rows)
        binding.bind_cpu_input("at", np.array(at))
        binding.bind_ortvalue_output("new", cache)
        s.run_with_iobinding(binding)
        np.testing.assert_array_equal(cache.numpy(), want)


@both
def test_run_async(ort, data, linear):
    done, got = threading.Event(), []

    def callback(results, user_data, error):
        got.append((results, user_data, error))
        done.set()

    ort.InferenceSession(data).run_async(["y"], {"x": X}, callback, "mine")
    assert done.wait(20)
    ((results, user_data, error),) = got
    assert user_data == "mine" and not error
    np.testing.assert_allclose(results[0], linear[1](X), rtol=1e-6)


@both
def test_terminate(ort, data):
    options = ort.RunOptions()
    options.terminate = True
    s = ort.InferenceSession(data)
    with pytest.raises(state(ort).Fail, match="terminate flag"):
        s.run(None, {"x": X}, options)
    options.terminate = False
    s.run(None, {"x": X}, options)


@both
def test_options_have_the_same_defaults(ort):
    for mine, real in ((ours.SessionOptions(), theirs.SessionOptions()), (ours.RunOptions(), theirs.RunOptions())):
        for name in mine._declared:
            a, b = getattr(mine, name), getattr(real, name)
            assert (a if not hasattr(a, "value") else a.value) == (b if not hasattr(b, "value") else b.value), name
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.add_session_config_entry("key", "value")
    assert options.get_session_config_entry("key") == "value"
    with pytest.raises(RuntimeError, match="does not have configuration with key: other"):
        options.get_session_config_entry("other")
    with pytest.raises(AttributeError):
        options.nothing = 1
    with pytest.raises(TypeError):
        options.intra_op_num_threads = "many"


def test_the_level_of_optimization_decides_what_is_left():
    """x + 0 goes at the first level; Erf's GELU becomes one operator at the second; chains run as one at the last."""
    text = """<ir_version: 10, opset_import: ["": 20]> g (float[2, 3] x) => (float[2, 3] y)
      <float zero = {0}, float root = {1.4142135}, float one = {1}, float half = {0.5}>
      { a = Add (x, zero) b = Div (a, root) c = Erf (b) d = Add (c, one) e = Mul (a, d) f = Mul (e, half) y = Neg (f) }"""
    model = onnx.parser.parse_model(text).SerializeToString()
    left = {}
    for name in ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"):
        options = ours.SessionOptions()
        options.graph_optimization_level = getattr(ours.GraphOptimizationLevel, name)
        session = ours.InferenceSession(model, options)
        left[name] = [step.op for step in session._engine.steps]
        np.testing.assert_allclose(session.run(None, {"x": X})[0], theirs.InferenceSession(model).run(None, {"x": X})[0], rtol=1e-5, atol=1e-6)
    assert left["ORT_DISABLE_ALL"].count("Add") == 2 and left["ORT_ENABLE_BASIC"].count("Add") == 1
    assert "Erf" in left["ORT_ENABLE_BASIC"] and "Gelu" in left["ORT_ENABLE_EXTENDED"]
    assert len(left["ORT_ENABLE_ALL"]) < len(left["ORT_ENABLE_EXTENDED"])


@both
def test_free_dimension_override(ort, data):
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("batch", 2)
    s = ort.InferenceSession(data, options)
    assert s.get_inputs()[0].shape == [2, 3]
    with pytest.raises(state(ort).InvalidArgument):
        s.run(None, {"x": X[:1]})


def test_refused_options_say_so():
    options = ours.SessionOptions()
    for act in (
        lambda: setattr(options, "optimized_model_filepath", "optimized.onnx"),
        lambda: options.register_custom_ops_library("x.so"),
        lambda: options.add_session_config_entry("session.load_model_format", "ORT"),
    ):
        with pytest.raises(state(ours).NotImplemented, match="no equivalent in Lathe"):
            act()


@both
def test_unavailable_providers_warn_and_fall_back(ort, data):
    with pytest.warns(UserWarning, match="not in available provider names"):
        s = ort.InferenceSession(data, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    assert s.get_providers() == ["CPUExecutionProvider"]
    assert "CPUExecutionProvider" in ort.get_available_providers() and ort.get_device() == "CPU"


def test_sessions_may_be_run_from_many_threads(data, linear):
    session, faults = ours.InferenceSession(data), []

    def work(seed):
        x = np.random.default_rng(seed).standard_normal((seed + 1, 3)).astype(np.float32)
        for _ in range(50):
            if not np.allclose(session.run(None, {"x": x})[0], linear[1](x), rtol=1e-5, atol=1e-6):
                faults.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not faults


def test_a_model_in_a_cache_of_links(data, tmp_path):
    """As Hugging Face's cache has it: snapshots/main/model.onnx is a link into blobs/."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshots" / "main").mkdir(parents=True)
    model = onnx.ModelProto.FromString(data)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    for name, blob in (("m.onnx", "aa"), ("m.data", "bb")):
        (tmp_path / name).rename(tmp_path / "blobs" / blob)
        (tmp_path / "snapshots" / "main" / name).symlink_to(f"../../blobs/{blob}")
    session = ours.InferenceSession(tmp_path / "snapshots" / "main" / "m.onnx")
    assert session.run(None, {"x": X})[0].shape == (2, 4)


def test_install_replaces_the_module_and_its_submodules():
    script = (
        "import sys, lathe.compat; lathe.compat.install(); lathe.compat.install()\n"
        "import onnxruntime, onnxruntime as ort\n"
        "from onnxruntime import InferenceSession, GraphOptimizationLevel\n"
        "from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument\n"
        "from onnxruntime.capi._pybind_state import Fail\n"
        "import importlib.util; assert importlib.util.find_spec('onnxruntime')\n"
        "assert ort.InferenceSession.__module__.startswith('lathe.'), ort\n"
        "lathe.compat.uninstall(); assert 'onnxruntime' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@both
def test_enumerations_print_their_names(ort):
    for level in (ort.GraphOptimizationLevel.ORT_ENABLE_ALL, ort.GraphOptimizationLevel.ORT_DISABLE_ALL):
        assert str(level) == f"{level}" == "%s" % level == f"GraphOptimizationLevel.{level.name}"
    assert str(ort.ExecutionMode.ORT_PARALLEL) == "ExecutionMode.ORT_PARALLEL"
    assert str(ort.ExecutionOrder.DEFAULT) == "ExecutionOrder.DEFAULT"
    assert str(ort.OrtMemType.DEFAULT) == "OrtMemType.DEFAULT"
    assert str(ort.OrtAllocatorType.INVALID) == "OrtAllocatorType.INVALID"
    assert repr(ort.GraphOptimizationLevel.ORT_ENABLE_ALL) == "<GraphOptimizationLevel.ORT_ENABLE_ALL: 99>"


@both
def test_the_backend_interface(ort, data, linear, tmp_path):
    backend = importlib.import_module(f"{ort.__name__}.backend")
    assert backend.supports_device("CPU") and not backend.supports_device("XPU")
    assert backend.is_compatible(linear[0]) and backend.is_compatible(linear[0], "CPU")
    (tmp_path / "m.onnx").write_bytes(data)
    expected = ort.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"x": X})[0]
    for model in (linear[0], data, str(tmp_path / "m.onnx"), backend.prepare(data), ort.InferenceSession(data)):
        for inputs in ([X], X):
            (got,) = backend.run(model, inputs)
            np.testing.assert_allclose(got, expected, rtol=1e-6)
    rep = backend.prepare(data, "CPU", intra_op_num_threads=1, unheard_of=3)
    (got,) = rep.run([X], log_severity_level=3)
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    for refused in ({"optimized_model_filepath": "m.onnx"}, {"enable_profiling": True}):
        with pytest.raises(RuntimeError, match="not permitted via the backend API"):
            backend.prepare(data, **refused)
    with pytest.raises(RuntimeError, match="'terminate' is not permitted"):
        rep.run([X], terminate=True)
    with pytest.raises(RuntimeError, match="Incompatible device expected 'XPU'"):
        backend.prepare(data, "XPU")


def test_the_drop_in_has_the_backend_interface():
    script = (
        "import lathe.compat; lathe.compat.install()\n"
        "import onnxruntime.backend, onnxruntime.backend.backend as inner\n"
        "from onnxruntime.backend.backend_rep import OnnxRuntimeBackendRep\n"
        "assert onnxruntime.backend.prepare.__self__ is inner.OnnxRuntimeBackend\n"
        "assert OnnxRuntimeBackendRep.__module__.startswith('lathe.')\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_running_a_script(tmp_path, data):
    (tmp_path / "m.onnx").write_bytes(data)
    (tmp_path / "helper.py").write_text("import onnxruntime as ort\n")
    (tmp_path / "program.py").write_text(
        "import sys, helper\n"
        "s = helper.ort.InferenceSession(sys.argv[1])\n"
        "print(__name__, s.get_inputs()[0].name, helper.ort.get_build_info().split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "lathe.compat", str(tmp_path / "program.py"), str(tmp_path / "m.onnx")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["__main__", "x", "Lathe"]


def test_the_table_in_the_documentation_is_the_codes():
    document = ROOT / "docs" / "guide" / "onnxruntime.md"
    assert lathe.compat.onnxruntime._options.table() in document.read_text(), (
        "python -m lathe.compat --table writes the table for docs/guide/onnxruntime.md"
    )
