"""Builds that measure, from Python."""

import json
import subprocess
import sys

import numpy as np
import onnx
import onnx.helper as oh
import pytest

import lathe
from support import FLOAT, make_model


@pytest.fixture
def network():
    rng = np.random.default_rng(1)
    weights = [onnx.numpy_helper.from_array(rng.normal(size=s).astype(np.float32), n) for n, s in (("a", (32, 16, 3, 3)), ("b", (32, 32, 3, 3)))]
    nodes = [
        oh.make_node("Conv", ["x", "a"], ["p"], pads=[1, 1, 1, 1]),
        oh.make_node("Conv", ["p", "b"], ["y"], pads=[1, 1, 1, 1]),
    ]
    model = make_model(nodes, [("x", FLOAT, ["batch", 16, 20, 20])], [("y", FLOAT, ["batch", 32, 20, 20])], weights)
    return model.SerializeToString()


def test_tuned_and_pinned(network, tmp_path):
    cache, x = tmp_path / "times.json", np.random.default_rng(2).normal(size=(2, 16, 20, 20)).astype(np.float32)
    seen = []
    engine = lathe.build(
        network, effort="normal", tune_sizes={"batch": 2}, timing_cache=cache, progress=lambda stage, done: seen.append(stage)
    )
    plain = lathe.build(network, backend="reference").run({"x": x})["y"]
    np.testing.assert_allclose(engine.run({"x": x})["y"], plain, atol=1e-4 * np.abs(plain).max())
    report = engine.tuning
    assert report["timed"] == report["problems"] == sum(stage.startswith("tune ") for stage in seen)
    pinned = lathe.build(network, tune_sizes={"batch": 2}, timing_cache=cache, timing_cache_pinned=True)
    engine.save(tmp_path / "a.lathe")
    pinned.save(tmp_path / "b.lathe")
    assert (tmp_path / "a.lathe").read_bytes() == (tmp_path / "b.lathe").read_bytes()
    for step in pinned.steps:
        assert not step.timings or step.timings[0][0].startswith(step.kernel)
    (machine,) = lathe.merge_timing_caches([cache], tmp_path / "copy.json")
    assert machine["here"] and machine["problems"] == report["problems"] and machine["untimed"] == 0
    assert lathe.merge_timing_caches([tmp_path / "copy.json"]) == [machine]


def test_progress_may_end_the_build(network):
    def stop(stage, done):
        raise KeyError(stage)

    with pytest.raises(KeyError):
        lathe.build(network, effort="normal", progress=stop)


def test_wrong_options(network, tmp_path):
    with pytest.raises(ValueError, match="effort is none, normal or high"):
        lathe.build(network, effort="much")
    with pytest.raises(lathe.Error, match="E3003"):
        lathe.build(network, timing_cache_pinned=True)
    with pytest.raises(lathe.Error, match="E1001"):
        lathe.build(network, timing_cache=tmp_path / "absent.json")


# A program of its own: signals are its main thread's.
INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
import lathe

def interrupted(call, begun=None):
    sent = []
    def interrupt():
        begun.wait() if begun else time.sleep(0.3)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt).start()
    try:
        call()
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    raise AssertionError("it came to an end")

def products(sizes):
    n = lathe.Network()
    value = x = n.add_input("x", "float32", ("N", sizes[0]))
    for k, m in zip(sizes, sizes[1:]):
        value = n.add_matrix_multiply(value, n.add_constant(np.ones((k, m), np.float32)))
    n.mark_output(value, "y")
    return n

builder, control = lathe.Builder(), lathe.RunControl()
config = lathe.BuilderConfig(effort="high", timing_cache=sys.argv[1], tune_sizes={"N": 256})
many = [256 + 8 * i for i in range(60)]
one_is_timed = threading.Event()
progress = lambda stage, done: one_is_timed.set() if stage.startswith("tune") and done > 0 else None
assert interrupted(lambda: builder.build_engine(products(many), config, progress=progress), one_is_timed) < 1.2

engine, rows = builder.build_engine(products([1024] * 200)), {"x": np.zeros((4096, 1024), np.float32)}
assert interrupted(lambda: engine.run(rows)) < 1.2
assert interrupted(lambda: engine.create_context().run(rows, control=control)) < 1.2
assert not control.cancelled

seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append("other handlers decide"))
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
engine.run(rows)
assert seen
"""


def test_keyboard_interrupt_comes_within_a_moment(tmp_path):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, tmp_path / "times.json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (machine,) = json.loads((tmp_path / "times.json").read_text())["machines"]
    assert machine["problems"]
