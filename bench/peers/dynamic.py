"""Models of the comparison with free sizes, as exporters write them: shapes computed by Shape, Gather and Concat.

python bench/peers/dynamic.py FOLDER [NAME…]   writes NAME.onnx, fixed, and NAME_dynamic.onnx beside each other
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

import models
from net import Net

IMAGE = {"image": ("batch", 3, "height", "width")}
TOKENS = {name: ("batch", "sequence") for name in ("input_ids", "token_type_ids", "attention_mask")}

# The symbolic sizes of each model, and the number of trained positions.
DYNAMIC = {
    "bert_s128": TOKENS,
    "resnet50": IMAGE,
    "mobilenetv2": IMAGE,
    "densenet121": IMAGE,
    "lstm_2x256": {"frames": ("time", "batch", 80)},
}
POSITIONS = 512


class DynamicNet(Net):
    """The same layers where the first two axes of sequences are free."""

    def __init__(self, name: str, axes: dict[str, tuple]):
        super().__init__(name)
        self.axes = axes

    def size(self, x: str, axis: int) -> str:
        size = self.op("Gather", self.op("Shape", x), self.constant(axis), axis=0)
        return self.op("Unsqueeze", size, self.constant([0]))

    def reshape(self, x: str, *shape: int) -> str:
        rest = [self.constant([n]) for n in shape[2:]]
        return self.op("Reshape", x, self.op("Concat", self.size(x, 0), self.size(x, 1), *rest, axis=0))

    def positions(self, x: str, length: int, size: int) -> str:
        table = self.weight(1, POSITIONS, size, scale=0.02)
        return self.op("Slice", table, self.constant([0]), self.size(x, 1), self.constant([1]))

    def model(self) -> onnx.ModelProto:
        fixed = super().model()
        for value in fixed.graph.input:
            dims = self.axes.get(value.name)
            if dims:
                kind = value.type.tensor_type.elem_type
                value.CopyFrom(helper.make_tensor_value_info(value.name, kind, dims))
        for value in fixed.graph.output:
            rank = len(value.type.tensor_type.shape.dim)
            kind = value.type.tensor_type.elem_type
            value.CopyFrom(helper.make_tensor_value_info(value.name, kind, [None] * rank))
        return fixed


def write(name: str, folder: Path) -> None:
    build = next(entry.build for entry in models.TABLE if entry.name == name)
    for net in (Net(name), DynamicNet(name, DYNAMIC[name])):
        build(net)
        suffix = "_dynamic" if isinstance(net, DynamicNet) else ""
        onnx.save(net.model(), folder / f"{name}{suffix}.onnx")


if __name__ == "__main__":
    to = Path(sys.argv[1])
    to.mkdir(parents=True, exist_ok=True)
    for wanted in sys.argv[2:] or DYNAMIC:
        write(wanted, to)
