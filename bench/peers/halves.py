"""Models of the comparison in float16 beside their float32 form: time and memory of `lathe bench`, in alternation.

python bench/peers/halves.py FOLDER [NAME…] [--lathe PROGRAM] [--rounds N] [--seconds S]

FOLDER gets both forms and their plans. Initializers, inputs and outputs are made float16; what NonMaxSuppression takes
stays float32. Plans are built for one thread; times are medians of the rounds, memory is what the process held at most
and what the plan says that a run needs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import models
from net import Net

WIDE = {"NonMaxSuppression": range(8), "Resize": range(1, 4)}  # inputs that are float32 in any case


def narrowed(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with float16 in place of float32."""
    graph = model.graph
    wide = {node.input[i] for node in graph.node for i in WIDE.get(node.op_type, ()) if i < len(node.input)}

    def narrow(tensor: onnx.TensorProto) -> None:
        if tensor.data_type == TensorProto.FLOAT and tensor.name not in wide:
            array = np.clip(numpy_helper.to_array(tensor), -65504, 65504)
            tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float16), tensor.name))

    for tensor in graph.initializer:
        narrow(tensor)
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    del graph.value_info[:]
    constants = {tensor.name for tensor in graph.initializer}
    nodes = []
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                narrow(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16
        if node.op_type == "NonMaxSuppression":
            for i in (0, 1):
                if node.input[i] in constants:
                    continue
                nodes.append(helper.make_node("Cast", [node.input[i]], [f"{node.input[i]}.wide"], to=TensorProto.FLOAT))
                node.input[i] += ".wide"
        nodes.append(node)
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)
    onnx.checker.check_model(model)
    return model


def measured(lathe: str, plan: Path, seconds: float) -> tuple[float, float, float]:
    """Milliseconds a run, and MB: resident at most, and planned."""
    command = [lathe, "bench", plan, "--threads", "1", "--seconds", str(seconds), "--json"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return 1e3 * told["latency_seconds"]["p50"], told["peak_resident_bytes"] / 1e6, told["planned_bytes"] / 1e6


def compare(name: str, folder: Path, lathe: str, rounds: int, seconds: float) -> str:
    net = Net(name)
    models.ENTRIES[name].build(net)
    plans = []
    for suffix, form in (("", lambda m: m), ("_half", narrowed)):
        path, plan = folder / f"{name}{suffix}.onnx", folder / f"{name}{suffix}.lathe"
        onnx.save(form(net.model()), path)
        subprocess.run([lathe, "build", path, "-o", plan, "--threads", "1"], check=True, capture_output=True)
        plans.append(plan)
    runs = [[measured(lathe, plan, seconds) for plan in plans] for _ in range(rounds)]
    time = statistics.median(half[0] / full[0] for full, half in runs)
    full, half = ([statistics.median(run[i][what] for run in runs) for what in range(3)] for i in (0, 1))
    return (
        f"| {name} | {full[0]:.3g} | {time:.2f} | {half[1]:.0f} / {full[1]:.0f} ({half[1] / full[1]:.2f}) "
        f"| {half[2]:.1f} / {full[2]:.1f} ({half[2] / full[2]:.2f}) |"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--lathe", default="build/release/cli/lathe")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=0.4)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    print("| model | float32, ms | float16 / float32 | resident at most, MB | planned, MB |\n|---|---|---|---|---|")
    for wanted in given.names or [e.name for e in models.TABLE if e.build and e.kind == "fp32"]:
        print(compare(wanted, given.folder, given.lathe, given.rounds, given.seconds), flush=True)
