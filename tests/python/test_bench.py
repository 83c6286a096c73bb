"""The comparison with peers works from end to end. What it measures is no matter of tests."""

import importlib.util
import itertools
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from support import ROOT, built_tool

pytest.importorskip("onnxruntime")
PEERS = ROOT / "bench" / "peers"
QUICK = ["squeezenet", "lstm_2x256", "mnist", "adds20"]
ENGINES = [name for name in ("lathe", "onnxruntime", "openvino") if importlib.util.find_spec(name)]


def modules():
    """Those of the comparison, which find each other beside themselves."""
    sys.path.insert(0, str(PEERS))
    try:
        import compare
        import files
        import models
        import results
    finally:
        sys.path.remove(str(PEERS))
    return compare, models, files, results


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "peers.json"
    command = [sys.executable, PEERS, "--quick", "--threads", "1", "2", "--json", path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads(path.read_text())


def test_every_engine_runs_every_model_and_all_agree(quick):
    _, report = quick
    assert [m["name"] for m in report["models"]] == QUICK
    for model in report["models"]:
        assert model["why"] == {}, model["name"]
        assert set(model["engines"]) == set(ENGINES)
        assert set(model["agree"]) == set(ENGINES) - {"onnxruntime"} | {"plan"}
        for engine, agree in model["agree"].items():
            assert agree["ok"], f"{model['name']}: {engine} differs by {agree['difference']}"


def test_the_form_of_the_json(quick):
    _, report = quick
    positive = [report["geomean"]["onnxruntime"]["1"]]
    for model in report["models"]:
        low, high = model["spread"]
        assert low <= model["ratio"] <= high
        assert model["ratios"]["onnxruntime"]["1"]["ratio"] == model["ratio"]
        positive += [model[key] for key in ("ratio", "load_ratio", "plan_ratio", "first_ratio", "plan_first_ratio")]
        for engine in model["engines"].values():
            positive += [engine["load"], engine["first"], engine["times"]["1"]["time"]]
            assert engine["memory"] >= 0
    assert all(isinstance(v, float) and math.isfinite(v) and v > 0 for v in positive)
    assert {"date", "commit", "cpu", "lathe", "onnxruntime"} <= set(report["machine"])
    results = modules()[3]
    assert results.check(report, results.file_name(report)) == []
    assert json.loads(results.text_of(report)) == report
    assert report["run"]["threads"] == [1, 2] and report["run"]["command"] == "python bench/peers --quick --threads 1 2"
    assert report["machine"]["instruction_sets"] and report["machine"]["memory_bytes"] > 1 << 20
    for model in report["models"]:
        for engine, times in ((name, e["times"]) for name, e in model["engines"].items()):
            if all(times[t]["time"] for t in "12"):
                gain = times["1"]["time"] / times["2"]["time"]
                assert model["scaling"][engine]["2"] == pytest.approx(gain)
    ratios = [m["ratio"] for m in report["models"] if m["kind"] == "fp32"]
    assert report["geomean"]["onnxruntime"]["1"] == pytest.approx(math.prod(ratios) ** (1 / len(ratios)))


def test_the_tables_name_all_models_and_what_is_required(quick):
    text, report = quick
    for model in report["models"]:
        assert f"| {model['name']}" in text
    for heading in ("ONNX Runtime / Lathe", "must", "% of peak", "outputs agree", "load ms", "first ms", "memory MB", "against one"):
        assert heading in text


def test_the_optimized_models_run_in_onnx_runtime_with_equal_results(quick, tmp_path):
    """LATHE_WHOLE_TABLE=1: all models of the table, not only the small ones. The small ones are made by the fixture."""
    ort = pytest.importorskip("onnxruntime")
    compare, models, *_ = modules()
    entries = [e for e in models.TABLE if not e.like and (os.environ.get("LATHE_WHOLE_TABLE") or e.name in QUICK)]

    def answers(path, feeds):
        options = ort.SessionOptions()
        options.log_severity_level = 4
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, feeds)

    for entry in entries:
        made = models.make(entry, ROOT / "build" / "bench-models")
        saved = tmp_path / "optimized.onnx"
        command = [built_tool("lathe", "cli"), "convert", made.path, "-o", saved, "--optimize", "--level=all"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{entry.name}: {done.stderr[-500:]}"
        optimized = onnx.load(saved)
        assert {o.domain for o in optimized.opset_import} <= {"", "ai.onnx.ml"} and not optimized.functions, entry.name
        del optimized
        for got, want in zip(answers(saved, made.feeds), answers(made.path, made.feeds), strict=True):
            apart, agree = compare.difference(got, want, made.quantized)
            print(f"{entry.name}: differs by {apart:.1e}")
            assert agree, f"{entry.name}: differs by {apart}"


def test_a_model_that_no_engine_can_read_is_listed(tmp_path):
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    done = subprocess.run(
        [sys.executable, PEERS, "--quick", "--threads", "1", "--models", broken],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert "## What did not run" in done.stdout and "- broken: " in done.stdout


def test_models_are_chosen_by_words_and_files(tmp_path):
    """A collection of its own, so that a word finds just what is there."""
    value = onnx.helper.make_tensor_value_info
    relu = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [value("x", 1, ["n", 3])], [value("y", 1, ["n", 3])]
    )
    model = onnx.helper.make_model(relu, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)])
    for name in "one_zebra", "other":
        folder = tmp_path / "models" / name
        folder.mkdir(parents=True)
        onnx.save(model, folder / "model.onnx")
        np.save(folder / "x.npy", np.array([[1, -2, 3], [-4, 5, -6]], np.float32))
        (folder / "meta.json").write_text(json.dumps({"cases": [{"inputs": {"x": "x.npy"}}]}))
    onnx.save(model, tmp_path / "mine.onnx")

    def peers(*words):
        command = [sys.executable, PEERS, "--quick", "--threads", "1", "--engines", "lathe", "onnxruntime"]
        command += ["--json", tmp_path / "peers.json", "--models", *words]
        environment = os.environ | {"LATHE_SHARED": str(tmp_path)}
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)

    done = peers("zebra", tmp_path / "mine.onnx")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "peers.json").read_text())
    assert [m["name"] for m in report["models"]] == ["one_zebra", "mine"]
    for made in report["models"]:
        assert made["why"] == {} and set(made["engines"]) == {"lathe", "onnxruntime"}, made["name"]
        assert all(agree["ok"] for agree in made["agree"].values()), made["name"]
        assert set(made["agree"]) == {"lathe", "plan"}
        assert math.isfinite(made["ratio"]) and made["ratio"] > 0
        assert f"| {made['name']}" in done.stdout
    assert "## What did not run" not in done.stdout

    done = peers("unicorn")
    assert done.returncode == 2 and done.stderr.splitlines()[-1].endswith("no model has such a name")


def test_disagreement_is_noticed():
    difference = modules()[0].difference
    ones = np.ones((2, 3), np.float32)
    assert difference(ones, ones + 1e-5, False)[1]
    assert not difference(ones, ones + 1e-2, False)[1]
    assert difference(ones, ones + 1e-2, True)[1]
    assert not difference(ones, ones.T, False)[1]
    assert not difference(ones, np.full_like(ones, np.nan), False)[1]
    assert difference(ones * np.inf, ones * np.inf, False)[1]
    whole = np.arange(6)
    assert difference(whole, whole, False)[1]
    assert not difference(whole, whole + 1, False)[1]
    assert difference(whole, whole + 1, True)[1]


class Machine:
    """In the place of engines and probe: what they answer is written down, and in which order they were asked."""

    def __init__(self, times, alone=lambda: True):
        self.times, self.alone, self.asked, self.peak = times, alone, [], {1: 100.0, 2: 200.0}
        self.clean = lambda n: 1.0  # the share of a sample's runs

    def engine(self, name):
        machine = self

        class Process:
            def ask(self, do, **_):
                machine.asked.append(name)
                taken = machine.times[name](machine.asked.count(name))
                clean = machine.clean(machine.asked.count(name)) if taken else 0.0
                return {"time": taken, "any_time": taken or 9.0, "bare": None, "clean": clean, "busy": 1.0}

        return Process()

    def enough_cores(self, threads):
        return threads == 1 or self.alone()

    def handover(self):
        return 0.6

    def rate(self, threads):
        return self.peak[threads]


def alternated(machine, threads, noisy=False, rounds=3):
    compare, _, files, _ = modules()
    made = files.Made("m", Path(__file__), {}, 1.0, "fp32")
    comparison = compare.Comparison(made, compare.Settings(list(machine.times), [threads], rounds, 0.1, 1, noisy), machine)
    comparison.alternate({name: machine.engine(name) for name in machine.times}, threads)
    return comparison.row


def test_samples_during_which_the_host_was_elsewhere_do_not_count():
    machine = Machine({"lathe": lambda n: None if n == 2 else 1.0, "onnxruntime": float})
    row = alternated(machine, 1)
    assert machine.asked == ["lathe", "onnxruntime", "onnxruntime", "lathe"] * 2  # a round more than three, in turns
    ours = row["engines"]["lathe"]["times"]["1"]
    assert (ours["time"], ours["samples"], ours["dropped"]) == (1.0, 3, 1)
    ratio = row["ratios"]["onnxruntime"]["1"]
    assert (ratio["ratio"], ratio["low"], ratio["high"], ratio["rounds"]) == (3.0, 1.0, 4.0, 3)  # of the same round each


def test_samples_of_which_the_host_took_the_greater_part_do_not_count():
    machine = Machine({"lathe": lambda n: 1.0, "onnxruntime": lambda n: 2.0})
    machine.clean = lambda n: 0.4 if n == 2 else 0.5
    row = alternated(machine, 1)
    assert row["engines"]["lathe"]["times"]["1"]["dropped"] == row["engines"]["onnxruntime"]["times"]["1"]["dropped"] == 1


def test_weights_that_are_inputs_become_constants(tmp_path):
    files = modules()[2]
    folder = tmp_path / "shared" / "old"
    folder.mkdir(parents=True)
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Mul", ["x", "w"], ["y"])],
        "g",
        [value("x", 1, [3]), value("w", 1, [3])],
        [value("y", 1, [3])],
        [onnx.numpy_helper.from_array(np.ones(3, np.float32), "w")],
    )
    model = onnx.helper.make_model(graph, ir_version=4, opset_imports=[onnx.helper.make_opsetid("", 9)])
    onnx.save(model, folder / "model.onnx")
    for case in {"x": "x.npy"}, {"x": "x.npy", "w": "x.npy"}:
        np.save(folder / "x.npy", np.ones(3, np.float32))
        (folder / "meta.json").write_text(json.dumps({"cases": [{"inputs": case}]}))
        made = files.shared_model(folder, tmp_path / "cache")
        assert [i.name for i in onnx.load(made.path).graph.input] == list(case)  # one that is given stays one


def test_samples_on_two_threads_count_only_where_there_are_two_cores():
    seen = iter([True, True] * 4 + [True, False] + [True] * 99)  # before and after each sample
    row = alternated(Machine({"lathe": lambda n: 1.0, "onnxruntime": lambda n: 2.0}, lambda: next(seen)), 2)
    assert row["engines"]["lathe"]["times"]["2"]["dropped"] == 1
    assert row["line_ns"] == {"2": [0.6] * 4}  # one for each round
    assert row["ratios"]["onnxruntime"]["2"]["rounds"] == 3


def test_a_model_that_gets_no_quiet_round_has_no_ratio():
    times = {"lathe": lambda n: 1.0, "onnxruntime": lambda n: 2.0}
    machine = Machine(times, lambda: False)
    row = alternated(machine, 2)
    assert row["ratios"]["onnxruntime"]["2"] is None and machine.asked.count("lathe") == 9  # three times as many are tried
    assert alternated(Machine(times, lambda: False), 2, noisy=True)["ratios"]["onnxruntime"]["2"]["ratio"] == 2.0


def test_a_file_that_cannot_be_written_is_told_before_measuring(tmp_path):
    command = [sys.executable, PEERS, "--quick", "--json", tmp_path / "absent" / "peers.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.splitlines()[-1].endswith("cannot be written: No such file or directory")


def test_a_host_that_always_takes_time_away_leaves_no_time(monkeypatch):
    monkeypatch.syspath_prepend(str(PEERS))
    import engines

    ticks = itertools.count()
    monkeypatch.setattr(engines, "stolen", lambda: next(ticks))
    worker = engines.Worker.__new__(engines.Worker)
    worker.call = lambda: None
    worker.bare = (worker.call, worker.call)
    told = worker.run(0.05)
    assert told["time"] is None and told["bare"] is None and told["clean"] == 0 and told["any_time"] >= 0
