"""`lathe build --effort …`, `lathe inspect --steps` and `lathe timings`."""

import json
import os
import signal
import subprocess

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from small_model import FLOAT


@pytest.fixture
def network(place):
    """network.onnx: two convolutions of free size, and a Relu."""
    rng = np.random.default_rng(1)
    weights = [onnx.numpy_helper.from_array(rng.normal(size=s).astype(np.float32), n) for n, s in (("a", (32, 16, 3, 3)), ("b", (32, 32, 3, 3)))]
    nodes = [
        oh.make_node("Conv", ["x", "a"], ["p"], name="first", pads=[1, 1, 1, 1]),
        oh.make_node("Relu", ["p"], ["q"], name="relu"),
        oh.make_node("Conv", ["q", "b"], ["y"], name="second", pads=[1, 1, 1, 1]),
    ]
    x = oh.make_tensor_value_info("x", FLOAT, ["batch", 16, 20, 20])
    y = oh.make_tensor_value_info("y", FLOAT, ["batch", 32, 20, 20])
    onnx.save(oh.make_model(oh.make_graph(nodes, "g", [x], [y], weights), opset_imports=[oh.make_opsetid("", 22)]), place / "network.onnx")
    return place


def tuned(lathe, *arguments):
    done = lathe("build", "network.onnx", "--effort", "normal", "--timing-cache", "times.json", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return done.json["tuning"]


def test_a_pinned_rebuild_gives_the_same_bytes(lathe, network):
    first = tuned(lathe, "-o", "first.lathe")
    assert first["timed"] == first["problems"] and first["cached"] == first["untimed"] == 0
    assert tuned(lathe, "-o", "again.lathe")["timed"] == 0
    for threads in ("1", "2"):
        done = lathe("build", "network.onnx", "--timing-cache", "times.json", "--pin", "--threads", threads, "-o", "pinned.lathe")
        assert done.returncode == 0, done.stderr
        assert (network / "pinned.lathe").read_bytes() == (network / "first.lathe").read_bytes()
    assert lathe("run", "pinned.lathe", "--shape", "batch=2").returncode == 0


def test_what_pinning_lacks_is_named(lathe, network):
    lathe("build", "network.onnx", "--effort", "normal", "--timing-cache", "times.json")
    cache = json.loads((network / "times.json").read_text())
    problems = cache["machines"][0]["problems"]
    if not problems:
        pytest.skip("nothing to choose on this machine")
    problems.clear()
    (network / "times.json").write_text(json.dumps(cache))
    done = lathe("build", "network.onnx", "--timing-cache", "times.json", "--pin")
    assert done.returncode == 1
    assert "E3006" in done.stderr and "first" in done.stderr and "tune again" in done.stderr


def test_inspect_shows_tactics_and_times(lathe, network):
    done = lathe("inspect", "network.onnx", "--steps", "--effort", "normal", "--timing-cache", "times.json", "--json")
    assert done.returncode == 0, done.stderr
    steps = [s for s in done.json["steps"] if s["timings"]]
    if not json.loads((network / "times.json").read_text())["machines"]:
        pytest.skip("nothing to choose on this machine")
    assert steps
    for step in steps:
        taken = step["kernel"] + (f" {step['tunables']}" if step["tunables"] else "")
        assert step["timings"][0]["tactic"] == taken
        others = [t["microseconds"] for t in step["timings"][1:]]
        assert others == sorted(others)
    text = lathe("inspect", "network.onnx", "--steps", "--timing-cache", "times.json", "--pin").stdout
    assert "measured: " in text and ", then " in text


def test_without_time_nothing_is_timed(lathe, network):
    report = tuned(lathe, "--tune-seconds", "0", "--tune-size", "batch=3")
    assert report["timed"] == 0 and report["untimed"] == report["problems"]


def test_timings_merges(lathe, place):
    done = lathe("timings", "timings.json", "others.json", "-o", "all.json", "--json")
    assert done.returncode == 0, done.stderr
    assert [m["cpu"] for m in done.json["machines"]] == ["others", "timings"]
    assert not any(m["here"] for m in done.json["machines"])
    merged = lathe("timings", "all.json", "--json").json
    assert merged["machines"] == done.json["machines"]
    (place / "bad.json").write_text("{")
    done = lathe("timings", "all.json", "bad.json")
    assert done.returncode == 1 and "bad.json" in done.stderr and "E1152" in done.stderr


@pytest.fixture
def tuning(binary, place):
    """A build that has measured for a second, and has many more to go."""
    rng = np.random.default_rng(2)
    nodes, weights, last = [], [], "x"
    for i in range(1, 41):
        weights.append(onnx.numpy_helper.from_array(rng.normal(size=(16 * (i + 1), 16 * i, 3, 3)).astype(np.float32), f"w{i}"))
        nodes.append(oh.make_node("Conv", [last, f"w{i}"], [f"v{i}"], pads=[1, 1, 1, 1]))
        last = f"v{i}"
    x, y = (oh.make_tensor_value_info(name, FLOAT, None if name != "x" else [1, 16, 20, 20]) for name in ("x", last))
    onnx.save(oh.make_model(oh.make_graph(nodes, "g", [x], [y], weights), opset_imports=[oh.make_opsetid("", 22)]), place / "long.onnx")
    words = [binary, "build", "long.onnx", "-o", "long.lathe", "--effort", "high", "--timing-cache", "long.json", "--json"]
    build = subprocess.Popen(words, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "tune" not in (line := build.stderr.readline()):
        assert line, build.communicate()
    yield build
    build.kill()
    build.communicate()
    for left in place.glob("long.*"):
        left.unlink()


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_tuning_in_order(tuning, place, which):
    before = set(os.listdir(place))
    tuning.send_signal(which)
    out, err = tuning.communicate(timeout=30)
    assert tuning.returncode == 128 + which
    assert "E4201" in err and json.loads(out)["error"]["code"] == "E4201"
    assert set(os.listdir(place)) == before | {"long.json"}
    known = json.loads((place / "long.json").read_text())["machines"][0]["problems"]
    assert any(timings["microseconds"] for timings in known.values())


def test_a_second_signal_ends_it_at_once(tuning):
    for which in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
        tuning.send_signal(which)
    tuning.communicate(timeout=30)
    assert tuning.returncode in (-signal.SIGINT, -signal.SIGTERM)
