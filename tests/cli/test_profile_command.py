"""`lathe profile`: the table, the JSON, the page and the trace."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from small_model import FLOAT

FLOPS = 2 * 5 * 3 * 4  # the shift is part of the product, Relu compares


def test_the_json_counts_time_flops_and_bytes(lathe):
    done = lathe("profile", "model.onnx", "--shape", "batch=5", "--runs", "7", "--threads", "1", "--json")
    assert done.returncode == 0, done.stderr
    report = done.json
    assert report["runs"] == 7 and report["threads"] == 1
    assert report["roofline"]["flops_per_second"] > 0
    assert report["roofline"]["levels"][-1]["name"] == "memory"
    steps = report["steps"]
    assert sum(s["flops"] for s in steps) == FLOPS
    assert [s["seconds"] for s in steps] == sorted((s["seconds"] for s in steps), reverse=True)
    assert sum(s["share"] for s in steps) == pytest.approx(1)
    product = next(s for s in steps if s["operator"] == "Gemm")
    assert product["fused"] == ["Relu"] and product["executions_per_run"] == 1
    assert product["shapes"] == "float32[5,3] float32[3,4] float32[4] -> float32[5,4]"
    assert product["bytes"] >= 4 * (5 * 3 + 3 * 4 + 4 + 5 * 4)  # packed weights may be larger
    assert 0 < report["step_seconds"] <= report["run_seconds"]
    assert sum(k["seconds"] for k in report["kernels"]) == pytest.approx(report["step_seconds"])


def test_a_roof_that_is_given_is_not_measured(lathe):
    done = lathe(
        "profile", "model.onnx", "--runs", "1", "--peak-gflops", "100", "--bandwidth", "10", "--json",
    )  # fmt: skip
    assert done.json["roofline"] == {
        "flops_per_second": 100e9,
        "levels": [{"name": "memory", "holds_bytes": 0, "bytes_per_second": 10e9}],
    }
    for s in done.json["steps"]:
        assert s["roof_share"] == pytest.approx(max(s["flops"] / 100e9, s["bytes"] / 10e9) / s["seconds"])


def test_the_table_names_steps_and_kernels(lathe):
    done = lathe("profile", "model.onnx", "--runs", "3")
    assert done.returncode == 0, done.stderr
    for word in ("steps by time", "kernels by time", "GFLOP/s", "of roof", "roof:", "Gemm+Relu"):
        assert word in done.stdout
    few = lathe("profile", "model.onnx", "--runs", "3", "--level", "none", "--rows", "1")
    assert re.search(r"and \d+ more \(--rows\)", few.stdout)


def nested_model(path):
    """A loop around a MatMul, in nodes whose names want to break out."""
    body = oh.make_graph(
        [oh.make_node("MatMul", ["state", "w"], ["next"], name='in"ner</script>'), oh.make_node("Identity", ["go"], ["going"])],
        "body",
        [
            oh.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
            oh.make_tensor_value_info("go", onnx.TensorProto.BOOL, []),
            oh.make_tensor_value_info("state", FLOAT, [2, 2]),
        ],
        [oh.make_tensor_value_info("going", onnx.TensorProto.BOOL, []), oh.make_tensor_value_info("next", FLOAT, [2, 2])],
    )
    graph = oh.make_graph(
        [oh.make_node("Loop", ["n", "", "x"], ["y"], name="<script>alert(1)</script>\n&\\", body=body)],
        "nested",
        [oh.make_tensor_value_info("x", FLOAT, [2, 2])],
        [oh.make_tensor_value_info("y", FLOAT, [2, 2])],
        [
            onnx.numpy_helper.from_array(np.array(5, np.int64), "n"),
            onnx.numpy_helper.from_array(np.eye(2, dtype=np.float32), "w"),
        ],
    )
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8), path)


def test_the_trace_has_every_execution(lathe, place):
    nested_model(place / "nested.onnx")
    done = lathe("profile", "nested.onnx", "--runs", "2", "--trace", "trace.json")
    assert done.returncode == 0, done.stderr
    trace = json.loads((place / "trace.json").read_text(encoding="utf-8"))
    complete = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    loops = [e for e in complete if e["name"] == "<script>alert(1)</script>\n&\\"]
    products = [e for e in complete if e["name"] == 'in"ner</script>']
    assert len(loops) == 2 and len(products) == 10
    assert sum(e["name"] == "run" for e in complete) == 2
    for e in products:
        assert e["args"]["operator"] == "MatMul" and e["args"]["flops"] == 16
        assert any(l["ts"] <= e["ts"] and e["ts"] + e["dur"] <= l["ts"] + l["dur"] + 1e-6 for l in loops)


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.attributes += attributes


def test_the_page_is_whole_and_names_stay_text(lathe, place):
    nested_model(place / "<b>nested.onnx")
    done = lathe("profile", "<b>nested.onnx", "--runs", "2", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    text = (place / "page.html").read_text(encoding="utf-8")
    page = Elements(text)
    assert page.seen.count("script") == 2 and "b" not in page.seen and "img" not in page.seen
    assert not [a for a in page.attributes if a[0] in ("src", "href") or a[0].startswith("on")]
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    data = json.loads(data.group(1))
    assert data["model"] == "<b>nested.onnx" and data["runs"] == 2
    assert "<script>alert(1)</script>\n&\\" in [s["node"] for s in data["steps"]]
    assert len(data["events"]) == sum(s["count"] for s in data["steps"])


@pytest.mark.parametrize(
    "arguments",
    [("--runs", "0"), ("--runs", "1", "--seconds", "1"), ("--events", "0"), ("--peak-gflops", "-1"),
     ("--runs", "1", "-o", "absent/page.html"), ("--runs", "1", "--trace", "absent/trace.json")],
)  # fmt: skip
def test_what_the_command_line_gets_wrong(lathe, arguments):
    assert lathe("profile", "model.onnx", *arguments).returncode == 2
