"""Tests what each subcommand does, prints and returns."""

import os
import pathlib
import re
import shlex
import signal
import subprocess
import time

import numpy as np
import onnx
import onnx.helper as oh
import pytest

import pass_table
from small_model import FLOAT, small_answer, small_model

COMMANDS = sorted(p.stem for p in (pathlib.Path(__file__).resolve().parents[2] / "cli" / "commands").glob("*.cc"))


def examples(text):
    block = text.split("Examples:", 1)[1].split("Exit code:", 1)[0]
    return [line.strip() for line in block.splitlines() if line.strip().startswith("lathe ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_that_work(lathe, command):
    help_ = lathe(command, "--help")
    assert help_.returncode == 0
    assert "--json" in help_.stdout
    lines = examples(help_.stdout)
    assert lines
    for line in lines:
        done = lathe(*shlex.split(line)[1:])
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        assert done.stdout


def test_without_a_command_is_the_command_lines_fault(lathe):
    assert lathe().returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("frobnicate",),
        ("check",),
        ("check", "model.onnx", "--wrong"),
        ("check", "absent.onnx"),
        ("run", "model.onnx", "--shape", "batch"),
        ("run", "model.onnx", "--shape", "batch=-1"),
        ("run", "model.onnx", "--shape", "nothing=1x2"),
        ("run", "model.onnx", "--shape", "nothing=1"),
        ("inspect", "model.onnx", "--shape", "nothing=1"),
        ("run", "model.onnx", "--shape", "x=2x4"),
        ("run", "model.onnx", "--shape", "x=2x3x1"),
        ("run", "model.onnx", "--shape", "batch=2", "--shape", "x=4x3"),
        ("run", "model.onnx", "--threads", "1000000"),
        ("run", "model.onnx", "--input", "z=x.npy"),
        ("run", "model.onnx", "--input", "x=absent.npy"),
        ("run", "model.onnx", "--inputs", "absent"),
        ("run", "model.onnx", "--expect", "inputs"),
        ("run", "model.onnx", "--backend", "abacus"),
        ("run", "model.onnx", "--isa", "mmx"),
        ("run", "model.onnx", "--threads", "-1"),
        ("verify", "model.onnx", "--shape", "nothing=1"),
        ("verify", "model.onnx", "--inputs", "absent"),
        ("verify", "model.onnx", "--seconds", "0"),
        ("verify", "model.onnx", "--level", "most"),
        ("verify", "model.lathe"),
        ("bench", "model.onnx", "--seconds", "0"),
        ("bench", "model.onnx", "--seconds", "soon"),
        ("inspect", "model.lathe"),
        ("check", "model.lathe"),
        ("convert", "model.lathe", "-o", "out.onnx"),
        ("convert", "model.onnx"),
        ("convert", "model.onnx", "-o", "absent/out.onnx"),
        ("convert", "model.onnx", "-o", "out.onnx", "--external-data", "--single-file"),
        ("ops", "NoSuchOperator"),
        ("build", "model.onnx", "--effort", "some"),
        ("build", "model.onnx", "--effort", "normal", "--tune-seconds", "-1"),
        ("build", "model.onnx", "--effort", "normal", "--tune-size", "nothing=3"),
        ("build", "model.onnx", "--effort", "normal", "--timing-cache", "absent/times.json"),
        ("build", "model.onnx", "--timing-cache", "absent.json"),
        ("build", "model.onnx", "--pin"),
        ("build", "model.onnx", "--precision", "fp8"),
        ("profile", "model.onnx", "-o", "one.html", "--trace", "./one.html"),
        ("refit", "model.onnx", "--weights", "weights.npz"),
        ("refit", "absent.lathe", "--weights", "weights.npz", "-o", "out.lathe"),
        ("timings",),
        ("timings", "absent.json"),
        ("timings", "timings.json", "-o", "absent/all.json"),
    ],
)
def test_exit_code_2(lathe, arguments):
    done = lathe(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert re.match(r"lathe: error E\d{4}: ", done.stderr)
    assert lathe(*arguments, "--json").json["error"]["code"]


def test_one_form_at_a_time(lathe):
    done = lathe("inspect", "model.onnx", "--dot", "--json")
    assert done.returncode == 2 and done.json["error"]["code"] == "E6001"


def test_a_plan_runs(lathe):
    assert lathe("convert", "model.onnx", "-o", "model.lathe").returncode == 0
    made = [lathe("run", name, "--seed", 3, "--json").json["outputs"] for name in ("model.onnx", "model.lathe")]
    assert made[0] == made[1]
    assert lathe("bench", "model.lathe", "--seconds", "0.1").returncode == 0


@pytest.mark.parametrize("words", ["--level none", "--numerics strict", "--precision bf16", "--refit", "--passes=-fold", "--range x=1:2:3", "--fix-defaults", "--fold-limit 0"])
def test_what_builds_do_is_refused_for_a_plan(lathe, words):
    assert lathe("build", "model.onnx", "-o", "model.lathe").returncode == 0
    for command in ("run", "inspect", "bench", "profile"):
        done = lathe(command, "model.lathe", *words.split())
        assert done.returncode == 2 and "E6001" in done.stderr and "built already" in done.stderr
    assert lathe("inspect", "model.lathe", "--effort", "normal").returncode == 2


def test_bf16_is_a_precision(lathe):
    assert lathe("build", "model.onnx", "-o", "bf16.lathe", "--precision", "bf16").returncode == 0
    assert lathe("build", "model.onnx", "-o", "bfloat16.lathe", "--precision", "bfloat16").returncode == 0


def test_a_plan_takes_other_weights(lathe, place):
    assert lathe("build", "model.onnx", "--refit", "-o", "model.lathe").returncode == 0
    done = lathe("refit", "model.lathe", "--weights", "weights.npz", "-o", "other.lathe", "--json").json
    assert (done["weights"], done["missing"], done["ignored"]) == (2, [], ["extra"])
    x = np.load(place / "x.npy")
    weights = np.load(place / "weights.npz")
    np.save(place / "expected" / "y.npy", np.maximum(x @ weights["w"] + weights["b"], 0))
    assert lathe("run", "other.lathe", "--inputs", "inputs", "--expect", "expected").returncode == 0
    assert lathe("run", "model.lathe", "--inputs", "inputs", "--expect", "expected").returncode == 1
    # Back again: the bytes that there were.
    assert lathe("refit", "other.lathe", "--weights", "model.onnx", "--all", "-o", "back.lathe").returncode == 0
    assert (place / "back.lathe").read_bytes() == (place / "model.lathe").read_bytes()
    np.savez(place / "half.npz", w=weights["w"])
    assert "kept as they were: b" in lathe("refit", "model.lathe", "--weights", "half.npz", "-o", "half.lathe").stdout
    done = lathe("refit", "model.lathe", "--weights", "half.npz", "--all", "-o", "half.lathe")
    assert done.returncode == 2 and "'b'" in done.stderr
    np.savez(place / "bad.npz", w=weights["w"].T)
    done = lathe("refit", "model.lathe", "--weights", "bad.npz", "-o", "bad.lathe", "--json")
    assert done.returncode == 1 and done.json["error"]["code"] == "E5502" and not (place / "bad.lathe").exists()
    assert lathe("build", "model.onnx", "-o", "fixed.lathe").returncode == 0
    done = lathe("refit", "fixed.lathe", "--weights", "weights.npz", "-o", "bad.lathe", "--json")
    assert done.json["error"]["code"] == "E5501"


def test_a_plan_is_described_and_checked(lathe, place):
    assert lathe("build", "model.onnx").returncode == 0
    plan = lathe("inspect", "model.lathe", "--json").json
    assert plan["section"] == "native" and plan["isa"] == plan["built_for"]
    assert [x["name"] for x in plan["inputs"]] == ["x"]
    assert "native section" in lathe("inspect", "model.lathe").stdout
    assert lathe("inspect", "model.lathe", "--steps", "--json").json["steps"]
    if plan["isa"] != "generic":
        lesser = lathe("inspect", "model.lathe", "--isa", "generic", "--json").json
        assert (lesser["section"], lesser["isa"], lesser["built_for"]) == ("portable", "generic", plan["isa"])
        assert lathe("build", "model.onnx", "--native", "-o", "native.lathe").returncode == 0
        assert lathe("inspect", "native.lathe", "--isa", "generic", "--json").json["error"]["code"] == "E5003"
    assert lathe("inspect", "model.lathe", "--dot").returncode == 2

    assert lathe("check", "model.lathe", "--json").json["valid"]
    whole = (place / "model.lathe").read_bytes()
    (place / "damaged.lathe").write_bytes(whole[:64] + bytes([whole[64] ^ 1]) + whole[65:])
    damaged = lathe("check", "damaged.lathe", "--json")
    assert damaged.returncode == 1
    (finding,) = damaged.json["findings"]
    assert finding["code"] == "E5005" and finding["node"]
    assert lathe("run", "damaged.lathe").returncode == 0
    assert lathe("run", "damaged.lathe", "--verify-weights", "--json").json["error"]["code"] == "E5005"
    (place / "short.lathe").write_bytes(whole[:-1])
    assert lathe("check", "short.lathe", "--json").json["findings"][0]["code"] == "E5001"


def test_build(lathe, place):
    done = lathe("build", "model.onnx", "--json").json
    assert done["output"] == "model.lathe" and done["bytes"] == (place / "model.lathe").stat().st_size
    assert done["steps"] == 1 and done["fused_operators"] == 1 and done["reference_steps"] == 0
    assert "eight.lathe" in lathe("build", "model.onnx", "-o", "eight.lathe", "--shape", "batch=8").stdout
    x = np.load(place / "x.npy")
    np.save(place / "eight.npy", np.resize(x, (8, 3)))
    assert lathe("run", "eight.lathe", "--input", "x=eight.npy").returncode == 0
    np.save(place / "nine.npy", np.resize(x, (9, 3)))
    assert lathe("run", "eight.lathe", "--input", "x=nine.npy").returncode == 1
    assert lathe("build", "model.lathe").returncode == 2


def test_exit_code_1_for_a_broken_file(lathe, place):
    (place / "broken.onnx").write_bytes(b"\xff" * 40)
    for command in (["check"], ["inspect"], ["run"], ["convert", "-o", "out.onnx"]):
        done = lathe(command[0], "broken.onnx", *command[1:])
        assert done.returncode == 1, done.stderr
        assert re.match(r"lathe: error E\d{4}: ", done.stderr)
    assert not (place / "out.onnx").exists()


def test_errors_are_json_too(lathe, place):
    (place / "broken.onnx").write_bytes(b"\xff" * 40)
    done = lathe("run", "broken.onnx", "--json")
    assert done.returncode == 1
    assert done.json["error"]["code"].startswith("E11")


def wrong_model():
    model = small_model()
    model.graph.node[0].op_type = "MatMull"
    model.graph.node[1].input[1] = "nowhere"
    return model


def test_check_reports_all_findings(lathe, place):
    onnx.save(wrong_model(), place / "wrong.onnx")
    done = lathe("check", "wrong.onnx", "--json")
    assert done.returncode == 1
    assert done.json["valid"] is False and done.json["errors"] >= 2
    assert {f["node"] for f in done.json["findings"]} >= {"multiply", "shift"}
    assert all(f["code"] and f["text"].startswith("lathe: ") for f in done.json["findings"])
    assert lathe("check", "wrong.onnx").returncode == 1


def test_check_accepts_a_valid_model(lathe):
    done = lathe("check", "model.onnx", "--json")
    assert done.returncode == 0 and done.json["valid"] is True and done.json["errors"] == 0


def test_inspect(lathe):
    j = lathe("inspect", "model.onnx", "--json").json
    assert j["inputs"][0]["name"] == "x" and j["inputs"][0]["shape"] == ["batch", 3]
    assert j["outputs"][0]["shape"] == ["batch", 4]
    assert j["symbols"] == ["batch"]
    assert j["operators"] == {"Add": 1, "MatMul": 1, "Relu": 1}
    assert j["parameters"] == 16 and j["parameter_bytes"] == 64
    assert "batch" in j["flops"] and j["memory"] is None
    fixed = lathe("inspect", "model.onnx", "--shape", "batch=8", "--json").json
    assert fixed["flops"] >= 2 * 8 * 3 * 4
    assert fixed["memory"]["total"] >= 64
    steps = lathe("inspect", "model.onnx", "--steps", "--json").json["steps"]
    assert [(s["op"], s["fused"]) for s in steps] == [("Gemm", ["Relu"])]
    unfused = lathe("inspect", "model.onnx", "--steps", "--level", "none").stdout
    assert "MatMul" in unfused and "Relu" in unfused and "+" not in unfused
    by_input = lathe("inspect", "model.onnx", "--shape", "x=8x3", "--json").json
    assert by_input["flops"] == fixed["flops"] and by_input["memory"] == fixed["memory"]


def test_inspect_tells_why_an_edge_is_not_fused(lathe, place):
    fused = lathe("inspect", "model.onnx", "--steps")
    assert fused.returncode == 0 and "not fused" not in fused.stdout
    model = small_model()
    model.graph.output.append(oh.make_tensor_value_info("sum", FLOAT, ["batch", 4]))
    onnx.save(model, place / "kept.onnx")
    assert lathe("build", "kept.onnx", "-o", "kept.lathe").returncode == 0
    why = "Gemm (sum): its result is an output"
    for made in "kept.onnx", "kept.lathe":
        steps = lathe("inspect", made, "--steps", "--json").json["steps"]
        assert [(s["op"], s["node"], s["fused"], s["unfused"]) for s in steps] == [
            ("Gemm", "multiply", [], []),
            ("Relu", "clip", [], [why]),
        ]
        lines = lathe("inspect", made, "--steps").stdout.splitlines()
        told = [i for i, line in enumerate(lines) if "not fused" in line]
        assert [lines[i].strip() for i in told] == [f"not fused: {why}"]
        # Below the step that the edge leads to.
        step = next(line for line in reversed(lines[: told[0]]) if not line.startswith("       "))
        assert step.split()[1] == "Relu" and step.endswith("clip")


def test_inputs_with_defaults(lathe, place):
    """From IR version 4 on, an initializer that is an input too."""
    model = onnx.load(place / "model.onnx")
    model.graph.input.append(onnx.helper.make_tensor_value_info("b", onnx.TensorProto.FLOAT, [4]))
    onnx.save(model, place / "model.onnx")
    inputs = lathe("inspect", "model.onnx", "--json").json["inputs"]
    assert [(i["name"], i["optional"]) for i in inputs] == [("x", False), ("b", True)]
    assert "has a default" in lathe("inspect", "model.onnx").stdout
    assert lathe("run", "model.onnx", "--input", "x=x.npy", "--expect", "expected").returncode == 0
    np.save(place / "b.npy", np.full(4, 100, np.float32))
    lathe("run", "model.onnx", "--input", "x=x.npy", "--input", "b=b.npy", "--output-dir", "out")
    assert np.load(place / "out" / "y.npy").min() > 90
    # A Gemm with them in it, once nobody may exchange them; till then that is told.
    assert "--fix-defaults" in lathe("inspect", "model.onnx").stdout
    for options, told in ([], True), (["--fix-defaults"], False):
        assert ("--fix-defaults" in lathe("build", "model.onnx", "-o", "model.lathe", *options).stdout) is told
        inputs = lathe("inspect", "model.lathe", "--json").json["inputs"]
        assert [i["name"] for i in inputs] == (["x", "b"] if told else ["x"])
    assert lathe("run", "model.lathe", "--input", "x=x.npy", "--expect", "expected").returncode == 0


def test_inspect_shows_the_graph(lathe):
    assert "MatMul" in lathe("inspect", "model.onnx", "--text").stdout
    assert lathe("inspect", "model.onnx", "--dot").stdout.startswith("digraph")
    assert "MatMul" in str(lathe("inspect", "model.onnx", "--text", "--json").json)


def test_inspect_lists_a_checkpoint(lathe, place):
    j = lathe("inspect", "model.safetensors", "--json").json
    assert j["format"] == "safetensors" and j["files"] == ["model.safetensors"]
    assert [(t["name"], t["type"], t["shape"], t["bytes"]) for t in j["tensors"]] == [
        ("w", "float32", [2], 8),
        ("b", "float32", [1], 4),
    ]
    assert (j["parameters"], j["bytes"], j["tied"]) == (3, 12, [])
    assert lathe("inspect", place, "--json").json["tensors"][0]["file"] == str(place / "model.safetensors")
    assert "2 tensors, 3 parameters, 12 B" in lathe("inspect", "model.safetensors").stdout
    assert lathe("inspect", "model.safetensors", "--dot").returncode == 2
    (place / "model.safetensors").write_bytes(b"\xff" * 20)
    broken = lathe("inspect", "model.safetensors", "--json")
    assert broken.returncode == 1 and broken.json["error"]["code"] == "E1103"
    tied = lathe("inspect", pathlib.Path(__file__).parents[1] / "data/checkpoints/state_dict.pt", "--json").json
    assert tied["format"] == "pytorch" and tied["tied"] == [["embed.weight", "head.weight"]] and tied["tied_bytes"] == 80


def test_inspect_tells_of_gguf(lathe, place):
    j = lathe("inspect", "model.gguf", "--json").json
    assert (j["format"], j["version"], j["files"], j["architecture"]) == ("gguf", 3, ["model.gguf"], "llama")
    assert (j["context_length"], j["vocabulary"]) == (2048, {"model": "gpt2", "pre": "", "tokens": 26})
    assert (j["parameters"], j["bytes"], j["bits_per_weight"]) == (134, 96, 8 * 96 / 134)
    assert [(t["name"], t["type"], t["shape"], t["bytes"], t["file"]) for t in j["tensors"]] == [
        ("w", "F32", [2, 3], 24, "model.gguf"),
        ("q", "Q4_0", [2, 64], 72, "model.gguf"),
    ]
    assert [(t["type"], t["tensors"], t["parameters"], t["bytes"], t["read_as"]) for t in j["types"]] == [
        ("F32", 1, 6, 24, "float32"),
        ("Q4_0", 1, 128, 72, "float32, or as blocks"),
    ]
    assert j["metadata"]["tokenizer.ggml.tokens"] == {"array_of": "string", "size": 26}
    text = lathe("inspect", "model.gguf").stdout
    for line in ("a GGUF file of version 3 in model.gguf", "2048", "gpt2, 26 tokens", "2 bytes that are not all UTF-8"):
        assert line in text, text
    assert "2, 96 B, 5.73 bits per weight" in text and "read as float32, or as blocks" in text
    assert lathe("inspect", "model.gguf", "--steps").returncode == 2
    (place / "model.gguf").write_bytes((place / "model.gguf").read_bytes()[:-1])
    broken = lathe("inspect", "model.gguf", "--json")
    assert broken.returncode == 1 and broken.json["error"]["code"] == "E1204"


def test_run_on_files(lathe, place):
    j = lathe("run", "model.onnx", "--input", "x=x.npy", "--output-dir", "out", "--json").json
    want = small_answer(np.load(place / "x.npy"))
    got = np.load(place / "out" / "y.npy")
    np.testing.assert_allclose(got, want, rtol=1e-6)
    y = j["outputs"][0]
    assert (y["name"], y["type"], y["shape"]) == ("y", "float32", [2, 4])
    np.testing.assert_allclose([y["min"], y["max"], y["mean"]], [want.min(), want.max(), want.mean()], rtol=1e-5)


def test_run_compares(lathe, place):
    done = lathe("run", "model.onnx", "--inputs", "inputs", "--expect", "expected", "--json")
    assert done.returncode == 0 and done.json["as_expected"] is True
    y = np.load(place / "expected" / "y.npy")
    y[1, 2] += 1
    np.save(place / "expected" / "y.npy", y)
    done = lathe("run", "model.onnx", "--inputs", "inputs", "--expect", "expected", "--json")
    assert done.returncode == 1
    assert done.json["outputs"][0]["expected"]["differing"] == 1
    assert "[1, 2]" in done.json["outputs"][0]["expected"]["reason"]
    assert lathe("run", "model.onnx", "--inputs", "inputs", "--expect", "expected", "--atol", 2).returncode == 0


def test_run_reads_onnx_test_data(lathe, place):
    x = np.load(place / "x.npy")
    data = place / "test_data_set_0"
    data.mkdir()
    (data / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(x).SerializeToString())
    (data / "output_0.pb").write_bytes(onnx.numpy_helper.from_array(small_answer(x)).SerializeToString())
    done = lathe("run", "model.onnx", "--inputs", data, "--expect", data, "--json")
    assert done.returncode == 0 and done.json["as_expected"] is True


def test_made_up_inputs_follow_the_seed(lathe):
    first, again, other = (lathe("run", "model.onnx", "--seed", s, "--json").json["outputs"] for s in (1, 1, 2))
    assert first == again and first != other
    assert lathe("run", "model.onnx", "--json").json["assumed_one"] == ["batch"]
    assert lathe("run", "model.onnx", "--shape", "batch=5", "--json").json["outputs"][0]["shape"] == [5, 4]
    assert lathe("run", "model.onnx", "--shape", "x=5x3", "--json").json["outputs"][0]["shape"] == [5, 4]


def test_data_of_the_wrong_type_or_shape_is_the_datas_fault(lathe, place):
    np.save(place / "wrong.npy", np.zeros((2, 3)))
    assert lathe("run", "model.onnx", "--input", "x=wrong.npy").returncode == 1
    np.save(place / "wrong.npy", np.zeros((2, 4), np.float32))
    assert lathe("run", "model.onnx", "--input", "x=wrong.npy").returncode == 1
    (place / "wrong.npy").write_bytes(b"\x93NUMPY\x01\x00")
    assert lathe("run", "model.onnx", "--input", "x=wrong.npy").returncode == 1


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_taps(lathe, place, backend):
    x = np.load(place / "x.npy")
    done = lathe(
        "run", "model.onnx", "--input", "x=x.npy", "--tap", "s*", "--output-dir", "out", "--backend", backend, "--json"
    )
    assert [t["name"] for t in done.json["taps"]] == ["sum"], done.stderr
    w = np.arange(12, dtype=np.float32).reshape(3, 4) / 10
    np.testing.assert_allclose(np.load(place / "out" / "taps" / "sum.npy"), x @ w - 0.5, rtol=1e-5)


def test_taps_in_a_loop(lathe, tmp_path):
    body = oh.make_graph(
        [oh.make_node("Add", ["s", "s"], ["twice"]), oh.make_node("Identity", ["go"], ["go_on"])],
        "body",
        [
            oh.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
            oh.make_tensor_value_info("go", onnx.TensorProto.BOOL, []),
            oh.make_tensor_value_info("s", FLOAT, [1]),
        ],
        [oh.make_tensor_value_info("go_on", onnx.TensorProto.BOOL, []), oh.make_tensor_value_info("twice", FLOAT, [1])],
    )
    graph = oh.make_graph(
        [oh.make_node("Loop", ["n", "", "x"], ["y"], body=body)],
        "g",
        [oh.make_tensor_value_info("x", FLOAT, [1])],
        [oh.make_tensor_value_info("y", FLOAT, [1])],
        [oh.make_tensor("n", onnx.TensorProto.INT64, [], [3])],
    )
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10), tmp_path / "loop.onnx")
    np.save(tmp_path / "x.npy", np.ones(1, np.float32))
    done = lathe(
        "run", tmp_path / "loop.onnx", "--input", f"x={tmp_path / 'x.npy'}", "--tap", "twice",
        "--output-dir", tmp_path / "out", "--json",
    )  # fmt: skip
    assert [t["name"] for t in done.json["taps"]] == ["twice"] * 3, done.stderr
    assert [np.load(t["file"])[0] for t in done.json["taps"]] == [2, 4, 8]


def test_taps_that_fit_nothing_say_so(lathe):
    assert "no inner value fits nowhere*" in lathe("run", "model.onnx", "--tap", "nowhere*").stdout
    assert lathe("run", "model.onnx", "--tap", "nowhere*", "--json").json["taps"] == []


def test_bench(lathe):
    j = lathe("bench", "model.onnx", "--seconds", "0.2", "--threads", "1", "--json").json
    l = j["latency_seconds"]
    assert 0 < l["min"] <= l["p50"] <= l["p90"] <= l["p99"] <= l["max"]
    assert j["runs"] > 1 and j["runs_per_second"] > 0 and j["threads"] == 1
    assert j["peak_resident_bytes"] > 1 << 20
    assert 0 <= j["idle_cpu"] < 0.5


def test_bench_counts_the_memory_of_the_program_alone(lathe):
    held = bytes(range(256)) * (1 << 20)
    j = lathe("bench", "model.onnx", "--seconds", "0.1", "--threads", "1", "--json").json
    assert j["peak_resident_bytes"] < len(held)


def test_bench_tells_what_strict_numerics_cost(lathe):
    arguments = ("bench", "model.onnx", "--seconds", "0.1", "--numerics", "strict")
    assert lathe(*arguments, "--json").json["strict_over_normal"] > 0
    assert "times the time with normal numerics" in lathe(*arguments).stdout
    assert "strict_over_normal" not in lathe("bench", "model.onnx", "--seconds", "0.1", "--json").json


def test_bench_tells_the_time_by_kernel(lathe):
    arguments = ("bench", "model.onnx", "--seconds", "0.1", "--profile")
    kernels = lathe(*arguments, "--json").json["kernels"]
    assert kernels and all(k["steps"] >= 1 and k["seconds"] > 0 for k in kernels)
    assert [k["seconds"] for k in kernels] == sorted((k["seconds"] for k in kernels), reverse=True)
    table = lathe(*arguments).stdout
    assert all(k["kernel"] in table for k in kernels)


def test_what_takes_long_is_told_on_standard_error(lathe):
    slow = lathe("bench", "model.onnx", "--seconds", "1.5", "--json")
    assert re.match(r"lathe: running model.onnx \(\d+ s\)\n", slow.stderr) and slow.json["runs"]


def test_convert_to_external_data_and_back(lathe, place):
    big = small_model()
    w = np.arange(3 * 4096, dtype=np.float32).reshape(3, 4096)
    big.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(w, "w"))
    onnx.save(big, place / "big.onnx")
    assert lathe("convert", "big.onnx", "-o", "external.onnx", "--external-data").returncode == 0
    assert (place / "external.onnx").stat().st_size < 4096 < (place / "external.onnx.data").stat().st_size
    loaded = onnx.load(place / "external.onnx")
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(loaded.graph.initializer[0]), w)
    done = lathe("convert", "external.onnx", "-o", "single.onnx", "--single-file", "--json")
    assert done.json["bytes"] == (place / "single.onnx").stat().st_size
    single = onnx.load(place / "single.onnx", load_external_data=False)
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(single.graph.initializer[0]), w)


def test_each_output_has_a_file_of_its_own(lathe, place):
    names = ["a/b", "a_b", "a:b", "größe", "grüße", "ä b"]
    nodes = [onnx.helper.make_node("Add", ["x", f"c{i}"], [n]) for i, n in enumerate(names)]
    constants = [onnx.numpy_helper.from_array(np.array([i], np.float32), f"c{i}") for i in range(len(names))]
    values = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1]) for n in ["x", *names]]
    graph = onnx.helper.make_graph(nodes, "g", values[:1], values[1:], constants)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10), place / "names.onnx")
    np.save(place / "x.npy", np.zeros(1, np.float32))
    assert lathe("run", "names.onnx", "--input", "x=x.npy", "--output-dir", "named").returncode == 0
    written = {p.stem: float(np.load(p)[0]) for p in (place / "named").iterdir()}
    assert written == {"a%2Fb": 0, "a_b": 1, "a%3Ab": 2, "größe": 3, "grüße": 4, "ä_b": 5}
    assert lathe("run", "names.onnx", "--input", "x=x.npy", "--expect", "named").returncode == 0


def test_convert_to_an_opset(lathe, place):
    done = lathe("convert", "model.onnx", "-o", "asked.onnx", "--optimize", "--level", "basic", "--opset", "20", "--json")
    assert done.returncode == 0 and isinstance(done.json["patches"], dict)
    assert onnx.load(place / "asked.onnx").opset_import[0].version == 20
    for opset in (13, 28):
        assert lathe("convert", "model.onnx", "-o", "other.onnx", "--opset", str(opset)).returncode == 0
        assert onnx.load(place / "other.onnx").opset_import[0].version == opset
    onnx.checker.check_model(onnx.load(place / "asked.onnx"), full_check=True)
    swish = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 24]> g (float[3] x) => (float[3] y) { y = Swish(x) }')
    onnx.save(swish, place / "swish.onnx")
    for opset in ("29", "1000", "-1", "1.5"):
        for more in ([], ["--optimize"]):
            wrong = lathe("convert", "model.onnx", "-o", "none.onnx", "--opset", opset, *more)
            assert wrong.returncode == 2 and "opset" in wrong.stderr and len(wrong.stderr) < 300, wrong.stderr
            assert not (place / "none.onnx").exists()
    assert lathe("convert", "swish.onnx", "-o", "spelled.onnx", "--normalize", "--opset", "20").returncode == 0
    decomposed = onnx.load(place / "spelled.onnx")
    assert decomposed.opset_import[0].version == 20 and "Swish" not in [n.op_type for n in decomposed.graph.node]
    onnx.checker.check_model(decomposed, full_check=True)
    words = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 20]> g (string[3] x) => (bool[3] y) { y = RegexFullMatch<pattern="a">(x) }')
    onnx.save(words, place / "words.onnx")
    refused = lathe("convert", "words.onnx", "-o", "old.onnx", "--opset", "19")
    assert refused.returncode == 1 and "opset 20" in refused.stderr and not (place / "old.onnx").exists()


def test_passes_are_chosen_one_by_one_or_in_a_list(lathe, place):
    x, y = (onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2]) for n in "xy")
    nodes = [onnx.helper.make_node("Identity", ["x"], ["a"]), onnx.helper.make_node("Neg", ["a"], ["b"]), onnx.helper.make_node("Neg", ["b"], ["y"])]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [x], [y]), opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10), place / "chain.onnx")

    def left(*options):
        assert lathe("convert", "chain.onnx", "-o", "less.onnx", "--optimize", *options).returncode == 0
        return [n.op_type for n in onnx.load(place / "less.onnx").graph.node]

    alone = left("--passes=-eliminate-identity")
    assert "Identity" in alone and "Identity" not in left()
    assert left("--level=none", "--passes=+eliminate-identity,-share-results") == ["Neg", "Neg"]
    assert left("--level=none", "--passes=+eliminate-identity", "--passes=-eliminate-identity") == ["Identity", "Neg", "Neg"]
    refused = lathe("convert", "chain.onnx", "-o", "less.onnx", "--optimize", "--passes=+no-such-pass,-eliminate-identity")
    assert refused.returncode != 0 and "no-such-pass" in refused.stderr


def test_convert_to_text_and_back(lathe, place):
    assert lathe("convert", "model.onnx", "-o", "model.onnxtxt").returncode == 0
    assert (place / "model.onnxtxt").read_text().startswith("<")
    assert lathe("convert", "model.onnxtxt", "-o", "again.onnx").returncode == 0
    want, got = onnx.load(place / "model.onnx"), onnx.load(place / "again.onnx")
    assert [n.op_type for n in got.graph.node] == [n.op_type for n in want.graph.node]
    assert lathe("run", "again.onnx", "--inputs", "inputs", "--expect", "expected").returncode == 0


def test_normalize_upgrades(lathe, place):
    graph = oh.make_graph(
        [oh.make_node("Softmax", ["x"], ["y"])],  # opset 9: axis 1 of a flattened input
        "old",
        [oh.make_tensor_value_info("x", FLOAT, [2, 3, 4])],
        [oh.make_tensor_value_info("y", FLOAT, [2, 3, 4])],
    )
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 9)], ir_version=4), place / "old.onnx")
    assert lathe("convert", "old.onnx", "-o", "new.onnx", "--normalize").returncode == 0
    onnx.checker.check_model(onnx.load(place / "new.onnx"), full_check=True)
    made = [lathe("run", name, "--json").json["outputs"] for name in ("old.onnx", "new.onnx")]
    assert made[0] == made[1]


def test_info(lathe):
    j = lathe("info", "--json").json
    assert {"name", "phase", "level", "by_default", "required", "target", "needs", "provides", "description"} == set(j["passes"][0])
    (there,) = pass_table.GENERATED.findall(pass_table.DOCUMENT.read_text())
    assert there == pass_table.tables(j["passes"]), "run `python tests/cli/pass_table.py build/release/cli/lathe`"
    assert "fold-batch-normalization" in {p["name"] for p in j["passes"]} and "recognize-gelu" in lathe("info").stdout
    assert j["threads"] >= 1 and j["threads_reason"]
    assert [c["name"] for c in j["components"]] == ["images", "regex"]
    assert j["processors_allowed"] == len(os.sched_getaffinity(0))
    one = subprocess.run(
        ["taskset", "-c", str(min(os.sched_getaffinity(0))), *lathe("info", "--json").args],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert '"processors_allowed": 1' in one.stdout and '"threads": 1' in one.stdout


def test_components_that_are_left_out(lathe, place):
    """Errors name the missing component and how to get it; so does `lathe info`."""
    node = onnx.helper.make_node("RegexFullMatch", ["x"], ["y"], "words", pattern="a+")
    x, y = (onnx.helper.make_tensor_value_info(n, t, ["n"]) for n, t in (("x", onnx.TensorProto.STRING), ("y", onnx.TensorProto.BOOL)))
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y]), opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(model, place / "words.onnx")
    nowhere = {**os.environ, "LATHE_COMPONENTS": "/nowhere"}
    done = lathe("build", "words.onnx", "-o", "words.lathe", env=nowhere)
    assert done.returncode != 0 and not (place / "words.lathe").exists()
    for word in ("E3007", '"words" (RegexFullMatch)', "'regex'", "/nowhere/liblathe_regex.so", "libre2-dev", "LATHE_REGEX"):
        assert word in done.stderr, done.stderr
    assert lathe("check", "words.onnx", env=nowhere).returncode == 0
    for c in lathe("info", "--json", env=nowhere).json["components"]:
        assert c["path"] is None and "/nowhere" in c["missing"]
    assert "needs the optional component 'regex'" in lathe("ops", "RegexFullMatch").stdout


def test_a_file_cut_short_while_it_is_mapped(binary, place):
    """Its fault becomes error E1207, and nothing half-written is left."""
    size = 512 << 20
    model = small_model()
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.dims[:] = [3, size // 12]
    weight.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "weights.bin"), ("length", str(size // 12 * 12))):
        weight.external_data.add(key=key, value=value)
    onnx.save(model, place / "large.onnx")
    with open(place / "weights.bin", "wb") as f:
        for _ in range(size >> 20):  # no holes: they would take no time
            f.write(b"\x01" * (1 << 20))
    child = subprocess.Popen(
        [str(binary), "convert", "large.onnx", "-o", "out.onnx", "--single-file"],
        cwd=place, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    # Once it writes, it has mapped: halt it, cut the file, let it go on.
    while child.poll() is None and not any(f.stat().st_size for f in place.glob("out.onnx.*.tmp")):
        time.sleep(0.001)
    child.send_signal(signal.SIGSTOP)
    os.truncate(place / "weights.bin", 4096)
    child.send_signal(signal.SIGCONT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 1
    assert errors.startswith("lathe: error E1207: ")
    assert not list(place.glob("out.onnx*"))
