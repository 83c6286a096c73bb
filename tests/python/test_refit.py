"""Weights of engines exchanged from Python; engines inspected and kept in memory."""

import threading

import numpy as np
import pytest

import lathe


@pytest.fixture
def engine():
    n = lathe.Network("small")
    x = n.add_input("x", "float32", ("N", 4))
    w = n.add_constant(np.eye(4, 2, dtype=np.float32), "w")
    n.mark_output(x @ w + n.add_constant(np.zeros(2, np.float32), "b"), "y")
    return lathe.Builder().build_engine(n, lathe.BuilderConfig(refit=True, threads=1))


def answer(engine):
    return engine.run({"x": np.ones((1, 4), np.float32)})["y"].tolist()


def test_arrays_are_copied_unless_they_stay(engine):
    refitter = lathe.Refitter(engine)
    w = np.ones((4, 2), np.float32)
    refitter.set_weights("w", w)
    w[:] = 7
    refitter.refit()
    assert answer(engine) == [[4, 4]]
    assert refitter.get_named_weights("w").tolist() == np.ones((4, 2)).tolist()
    b = np.full(2, 3, np.float32)
    refitter.set_named_weights({"b": b}, copy=False)
    del b
    refitter.refit()
    assert answer(engine) == [[7, 7]]
    refitter.set_weights("b", [0, 1])  # numbers become of the weight's type
    refitter.refit()
    assert answer(engine) == [[4, 5]]


def test_anything_with_dlpack(engine):
    class Lent:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **arguments):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    lathe.Builder().refit_engine(engine, {"w": Lent(np.full((4, 2), 0.5, np.float32))})
    assert answer(engine) == [[2, 2]]


def test_errors_name_the_weight(engine):
    refitter = lathe.Refitter(engine)
    with pytest.raises(lathe.Error, match="E5502.*float32\\[4, 2\\].*float32\\[2, 4\\].*transpose") as e:
        refitter.set_weights("w", np.ones((2, 4), np.float32))
    assert e.value.node == "w"
    with pytest.raises(lathe.Error, match="float64"):
        refitter.set_weights("w", np.ones((4, 2)))
    with pytest.raises(lathe.Error, match="near: 'w'"):
        refitter.set_weights("ww", np.ones((4, 2), np.float32))
    with pytest.raises(lathe.Error, match="E5501"):
        lathe.Refitter(lathe.deserialize(_fixed().serialize()))
    with pytest.raises(lathe.Error, match="E6001"):
        refitter.remove_lora("none")
    assert refitter.missing() == ["b", "w"]


def test_names_with_another_beginning_are_told(engine, tmp_path):
    lathe.save_safetensors(tmp_path / "m.safetensors", {"model.w": np.ones((4, 2), np.float32)})
    with pytest.raises(lathe.Error, match="E6001.*'model.w' for 'w'.*--prefix model\\."):
        lathe.Builder().refit_engine(engine, lathe.Checkpoint(tmp_path / "m.safetensors"))
    lathe.save_safetensors(tmp_path / "n.safetensors", {"other": np.ones((4, 2), np.float32)})
    with pytest.raises(lathe.Error, match="'other' and the like, the engine 'b'"):
        lathe.Builder().refit_engine(engine, lathe.Checkpoint(tmp_path / "n.safetensors"))


def _fixed():
    n = lathe.Network()
    n.mark_output(n.add_unary(n.add_input("x", "float32", (2,)), "exp"), "y")
    engine = lathe.Builder().build_engine(n, lathe.BuilderConfig(threads=1))
    assert not engine.is_refittable
    return engine


def test_models_and_files(engine, tmp_path):
    n = lathe.Network("small")
    x = n.add_input("x", "float32", ("N", 4))
    w = n.add_constant(np.full((4, 2), 3, np.float32), "w")
    n.mark_output(x @ w + n.add_constant(np.ones(2, np.float32), "b"), "y")
    n.save(tmp_path / "other.onnx")
    lathe.Builder().refit_engine(engine, tmp_path / "other.onnx")
    assert answer(engine) == [[13, 13]]
    lathe.Builder().refit_engine(engine, {"b": np.zeros(2, np.float32)})
    lathe.Builder().refit_engine(engine, (tmp_path / "other.onnx").read_bytes())
    assert answer(engine) == [[13, 13]]
    engine.save(tmp_path / "e.lathe")
    loaded = lathe.load(tmp_path / "e.lathe", threads=1)
    assert answer(loaded) == [[13, 13]] and lathe.Refitter(loaded).all() == ["b", "w"]


def test_runs_on_other_threads_see_all_or_nothing(engine):
    one, two = np.full((4, 2), 1, np.float32), np.full((4, 2), 2, np.float32)
    sets = [{"w": one, "b": np.full(2, 0, np.float32)}, {"w": two, "b": np.full(2, 100, np.float32)}]
    known = ([[4, 4]], [[108, 108]])
    lathe.Builder().refit_engine(engine, sets[0])
    done, wrong, runs = threading.Event(), [], []

    def serve():
        while not done.is_set() or len(runs) < 20:
            got = answer(engine)
            runs.append(got)
            if got not in known:
                wrong.append(got)

    threads = [threading.Thread(target=serve) for _ in range(3)]
    for t in threads:
        t.start()
    for i in range(30):
        lathe.Builder().refit_engine(engine, sets[i % 2])
    done.set()
    for t in threads:
        t.join()
    assert not wrong and len(runs) >= 20 and engine.refits == 30


def test_inspection(engine):
    inspector = engine.inspect({"x": (3, 4)})
    assert inspector.num_layers == len(engine.steps) and inspector.input_shapes == {"x": (3, 4)}
    for i, layer in enumerate(inspector.layers()):
        assert layer["kernel"] == engine.steps[i].kernel and layer["bytes"] > 0
        assert layer["kernel"] in inspector.get_layer_information(i)
    with pytest.raises(lathe.Error, match="E6001"):
        inspector.get_layer_information(99)
    with pytest.raises(lathe.Error, match="E4002"):
        engine.inspect({"x": (3, 5)})


def test_timing_cache():
    cache, other = lathe.TimingCache(), lathe.TimingCache()
    cache.update("p", "a", {"a": 2.0, "b": 3.0})
    other.update("p", "b", {"b": 1.0})
    cache.combine(other)
    assert cache.query("p") == ("b", {"a": 2.0, "b": 1.0}) and cache.query("q") is None
    cache.pin("p", "a")
    assert lathe.TimingCache.deserialize(cache.serialize()).query("p")[0] == "a"
    with pytest.raises(lathe.Error, match="E6001"):
        cache.pin("p", "c")
    with pytest.raises(lathe.Error, match="E6001"):
        cache.update("p", "a", {"a": -1.0})
