"""Profiles in Python, and the file that onnxruntime's profiling writes."""

import json
import threading

import numpy as np
import onnx
import pytest

import lathe
import lathe.compat.onnxruntime as ours

X = np.ones((5, 3), np.float32)
FLOPS = 2 * 5 * 3 * 4  # the shift is part of the product


@pytest.fixture
def data(linear):
    return linear[0].SerializeToString()


def test_engine_profile(data, tmp_path):
    engine = lathe.build(data, threads=1)
    profile = engine.profile({"x": X}, runs=4)
    assert profile.runs == 4 and profile.threads == 1 and profile.events_lost == 0
    assert len(profile.steps) == len(engine.steps)
    assert sum(s.flops for s in profile.steps) == 4 * FLOPS
    assert [s.count for s in profile.steps] == [4] * len(profile.steps)
    assert len(profile.events) == 4 * len(profile.steps) and len(profile.run_events) == 4
    assert 0 < sum(s.seconds for s in profile.steps) <= profile.run_seconds
    assert profile.steps[0].shapes == "float32[5,3] float32[3,4] float32[4] -> float32[5,4]"
    for e in profile.events:
        assert profile.steps[e.step].kernel and e.depth == 0 and e.seconds >= e.self_seconds > 0

    profile.save_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    assert sum(e["ph"] == "X" for e in trace["traceEvents"]) == 4 * (len(profile.steps) + 1)
    profile.save_page(tmp_path / "page.html", "a <b>model", lathe.Roofline(1e11, []))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "a \\u003cb>model" in page and "<b>" not in page
    with pytest.raises(lathe.Error):
        profile.save_trace(tmp_path / "absent" / "trace.json")
    with pytest.raises(ValueError):
        engine.profile({"x": X}, runs=0)


def test_context_profile(data):
    context = lathe.build(data).create_context()
    assert context.profile().steps == []
    context.start_profile(events=3)
    for _ in range(10):
        context.run({"x": X})
    profile = context.profile()
    assert profile.runs == 10 and len(profile.events) + len(profile.run_events) == 3
    assert sum(s.flops for s in profile.steps) == 10 * FLOPS
    context.stop_profile()
    context.run({"x": X})
    assert context.profile().runs == 10


def test_roofline():
    roof = lathe.measure_roofline(1)
    assert roof.flops > 1e8 and roof.levels[-1].name == "memory" and roof.levels[-1].bandwidth > 1e7
    assert roof.least_seconds(roof.flops, 0) == pytest.approx(1)
    assert roof.least_seconds(0, 1e12) == pytest.approx(1e12 / roof.levels[-1].bandwidth)
    with pytest.raises(lathe.Error):
        lathe.measure_roofline(0)


def session(ort, data, prefix):
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(prefix)
    return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def engines():
    found = [ours]
    try:
        import onnxruntime

        found.append(onnxruntime)
    except ImportError:
        pass
    return found


@pytest.mark.parametrize("ort", engines(), ids=lambda m: m.__name__)
def test_onnxruntime_profiling(ort, data, tmp_path):
    """Both files have the events that programs read."""
    s = session(ort, data, tmp_path / "run")
    assert s.get_profiling_start_time_ns() > 0
    for _ in range(3):
        s.run(None, {"x": X})
    path = s.end_profiling()
    assert path.startswith(str(tmp_path / "run")) and path.endswith(".json")
    with open(path, encoding="utf-8") as file:
        events = json.load(file)
    nodes = [e for e in events if e["cat"] == "Node" and e["name"].endswith("_kernel_time")]
    runs = [e for e in events if e["cat"] == "Session" and e["name"] == "model_run"]
    assert len(runs) == 3 and len(nodes) % 3 == 0 and nodes
    assert any(e["name"] == "session_initialization" for e in events)
    for e in nodes:
        assert e["ph"] == "X" and isinstance(e["ts"], int) and isinstance(e["dur"], int)
        assert e["args"]["provider"] == "CPUExecutionProvider" and isinstance(e["args"]["node_index"], str)
        assert {"float": [5, 3]} in e["args"]["input_type_shape"] or e["args"]["op_name"] != "MatMul"
        assert any(r["ts"] <= e["ts"] and e["ts"] + e["dur"] <= r["ts"] + r["dur"] + 1 for r in runs)


def test_profiling_of_many_threads_and_bindings(data, tmp_path):
    s = session(ours, data, tmp_path / "many")
    threads = [threading.Thread(target=lambda: [s.run(None, {"x": X}) for _ in range(20)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    binding = s.io_binding()
    binding.bind_cpu_input("x", X)
    out = ours.OrtValue.ortvalue_from_numpy(np.zeros((5, 4), np.float32))
    binding.bind_ortvalue_output("y", out)
    s.run_with_iobinding(binding)
    path = s.end_profiling()
    events = json.loads(open(path, encoding="utf-8").read())
    assert sum(e["name"] == "model_run" for e in events) == 4 * 20 + 1
    assert s.end_profiling() == path
    assert np.allclose(s.run(None, {"x": X})[0], out.numpy())  # goes on, unrecorded


def test_a_session_that_goes_writes_its_file(data, tmp_path):
    s = session(ours, data, tmp_path / "gone")
    s.run(None, {"x": X})
    del s
    import gc

    gc.collect()
    (file,) = tmp_path.glob("gone*.json")
    assert any(e["name"] == "model_run" for e in json.loads(file.read_text(encoding="utf-8")))


def test_without_profiling_there_is_no_file(data):
    s = ours.InferenceSession(data)
    s.run(None, {"x": X})
    assert s.end_profiling() == "" and s.get_profiling_start_time_ns() == 0
