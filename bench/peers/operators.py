"""Models of one operator each, in the forms that networks have them, to be held against others:

python bench/peers/operators.py FOLDER [WORD…]   writes them (those whose lines contain a word)
python bench/peers --models FOLDER/*.onnx --threads 1 --rounds 3 --loads 1 --seconds 0.1

A line is an operator, its inputs, and its attributes. An input is a type and a shape; with a star its numbers are constants, and
in parentheses these are written down, a single one, no list, in braces. "-" is none, and "->2" says how many outputs there are, "@23" the opset.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

PROBLEMS = """
Conv float[1,128,28,28] *float[256,128,1,1]
Conv float[1,64,56,56] *float[64,64,3,3] pads=1,1,1,1
Conv float[1,64,56,56] *float[128,64,3,3] pads=1,1,1,1 strides=2,2
Conv float[1,3,224,224] *float[64,3,7,7] pads=3,3,3,3 strides=2,2
Conv float[1,128,28,28] *float[128,128,3,3] pads=2,2,2,2 dilations=2,2
Conv float[1,128,28,28] *float[128,1,3,3] pads=1,1,1,1 group=128
Conv float[1,96,56,56] *float[96,1,7,7] pads=3,3,3,3 group=96
Conv float[1,256,28,28] *float[256,8,3,3] pads=1,1,1,1 group=32
Conv float[1,128,56,56] *float[128,4,3,3] pads=1,1,1,1 group=32
Conv float[1,256,28,28] *float[256,64,3,3] pads=1,1,1,1 group=4
Conv float[1,64,1000] *float[128,64,5] pads=2,2
Conv float[1,256,1000] *float[256,1,31] pads=15,15 group=256
Conv float[1,32,8,28,28] *float[64,32,3,3,3] pads=1,1,1,1,1,1
Conv float[1,32,8,28,28] *float[32,1,3,3,3] pads=1,1,1,1,1,1 group=32
ConvTranspose float[1,64,28,28] *float[64,32,2,2] strides=2,2
ConvTranspose float[1,256,32,32] *float[256,128,4,4] strides=2,2 pads=1,1,1,1
ConvTranspose float[1,256,100] *float[256,128,16] strides=8, pads=4,4
MatMul float[1,1024] *float[1024,1024]
MatMul float[128,768] *float[768,768]
MatMul float[12,128,64] float[12,64,128]
MatMul float[1,1024] float[1024,1024]
MatMul double[256,256] double[256,256]
Einsum float[64,64] float[64,64] float[64,64] equation=ij,jk,kl->il
Einsum float[8,64,64] float[8,64,64] equation=bij,bjk->ikb
Softmax float[96,128,128]
Softmax float[4096,16]
LogSoftmax float[64,4096]
LayerNormalization float[128,768] *float[768] *float[768]
RMSNormalization@23 float[128,768] *float[768]
GroupNormalization float[1,64,56,56] *float[64] *float[64] num_groups=8
InstanceNormalization float[1,64,56,56] *float[64] *float[64]
LRN float[1,96,27,27] size=5
MaxPool float[1,64,112,112] kernel_shape=3,3 strides=2,2 pads=1,1,1,1
MaxPool float[1,64,112,112] kernel_shape=2,2 strides=2,2 ->2
MaxPool float[1,32,16,56,56] kernel_shape=2,2,2 strides=2,2,2
MaxPool uint8[1,64,112,112] kernel_shape=3,3 strides=2,2 pads=1,1,1,1
AveragePool float[1,64,56,56] kernel_shape=2,2 strides=2,2
AveragePool float[1,32,16,56,56] kernel_shape=2,2,2 strides=2,2,2
GlobalAveragePool float[1,512,7,7]
Resize float[1,64,28,28] - *float(1,1,2,2) mode=nearest coordinate_transformation_mode=asymmetric
Resize float[1,64,56,56] - *float(1,1,2,2) mode=linear
Resize float[1,3,224,224] - *float(1,1,2,2) mode=cubic
ReduceSum float[1024,1024] *int64(1)
ReduceSum float[1024,1024] *int64(0)
ReduceMean float[8,64,56,56] *int64(0,2,3)
ReduceMean float[16,128,768] *int64(1)
ReduceMax float[1024,1024] *int64(1)
ReduceMax int32[512,2048] *int64(0)
ReduceSum int64[512,2048] *int64(1)
ReduceLogSumExp float[1024,1024] *int64(1)
ArgMax float[1024,1024] axis=1
TopK float[64,4096] *int64(5) ->2
TopK float[8,512,32] *int64(5) axis=1 ->2
TopK float[1,30000] *int64(1000) ->2
CumSum float[64,4096] *int64{1}
Transpose float[1024,1024] perm=1,0
Transpose float[1,128,12,64] perm=0,2,1,3
Transpose float[1,64,56,56] perm=0,2,3,1
Concat float[4,64,56,56] float[4,64,56,56] axis=1
Split float[128,2304] axis=-1 num_outputs=3 ->3
Slice float[1,64,112,112] *int64(0,0) *int64(112,112) *int64(2,3) *int64(2,2)
Pad float[1,64,56,56] *int64(0,0,3,3,0,0,3,3)
Pad float[1,64,56,56] *int64(0,0,3,3,0,0,3,3) mode=reflect
Tile float[1,64,28,28] *int64(1,1,2,2)
Expand float[1,64,1,1] *int64(8,64,56,56)
DepthToSpace float[1,64,56,56] blocksize=2
Gather *float[30522,768] int64[1,128]
GatherElements float[512,512] int64[512,64] axis=1
ScatterND float[512,512] *int64[100,1] float[100,512]
GridSample float[1,16,56,56] float[1,56,56,2]
Where bool[512,512] float[512,512] float[512,512]
LSTM float[50,8,128] *float[1,1024,128] *float[1,1024,256] *float[1,2048] hidden_size=256
GRU float[50,1,128] *float[1,768,128] *float[1,768,256] *float[1,1536] hidden_size=256
Attention@23 float[1,12,128,64] float[1,12,128,64] float[1,12,128,64]
Attention@23 float[1,32,1,128] float[1,8,1024,128] float[1,8,1024,128]
Add uint8[64,4096] uint8[64,4096]
Add double[64,4096] double[64,4096]
Mul int32[64,4096] int32[64,4096]
Div int64[64,4096] *int64{7}
Equal bool[64,4096] bool[64,4096]
Cast float[64,4096] to=6
Cast float[64,4096] to=11
Tan float[64,4096]
Atan float[64,4096]
Asinh float[64,4096]
Erf float[64,4096]
Exp double[64,4096]
Hardmax float[64,4096]
QuantizeLinear float[64,4096] *float{0.1} *int16{0}
DequantizeLinear uint8[64,4096] *float{0.1} *uint8{128}
"""

LISTS = {"pads", "strides", "dilations", "kernel_shape", "perm"}


def attribute(name: str, text: str) -> onnx.AttributeProto:
    if name in LISTS:
        return helper.make_attribute(name, [int(n) for n in text.split(",") if n])
    return helper.make_attribute(name, int(text) if re.fullmatch(r"-?\d+", text) else text)


def model(line: str) -> onnx.ModelProto:
    word, *rest = line.split()
    op, _, opset = word.partition("@")
    random = np.random.default_rng(0)
    names, inputs, constants, attributes, outputs = [], [], [], [], 1
    for word in rest:
        if found := re.fullmatch(r"(\*?)(\w+)([\[({])(.*)[\])}]", word):
            constant, kind, opening, numbers = found.groups()
            element = getattr(onnx.TensorProto, kind.upper())
            dtype = helper.tensor_dtype_to_np_dtype(element)
            names.append(f"i{len(names)}")
            if opening != "[":
                value = np.array([float(n) for n in numbers.split(",")]).astype(dtype)
                constants.append(onnx.numpy_helper.from_array(value if opening == "(" else value.reshape(()), names[-1]))
                continue
            shape = [int(n) for n in numbers.split(",")]
            if constant:
                value = 0.1 * random.standard_normal(shape) if dtype.kind == "f" else random.integers(0, min(shape), shape)
                constants.append(onnx.numpy_helper.from_array(value.astype(dtype), names[-1]))
            else:
                inputs.append(helper.make_tensor_value_info(names[-1], element, shape))
        elif word == "-":
            names.append("")
        elif word.startswith("->"):
            outputs = int(word[2:])
        else:
            attributes.append(attribute(*word.split("=", 1)))
    made = [f"o{i}" for i in range(outputs)]
    node = helper.make_node(op, names, made)
    node.attribute.extend(attributes)
    graph = helper.make_graph([node], "one", inputs, [onnx.ValueInfoProto(name=name) for name in made], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", int(opset or 21))], ir_version=10)


def main(folder: str, *words: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for line in PROBLEMS.split("\n"):
        if line and (not words or any(word in line for word in words)):
            name = re.sub(r"\W+", "_", re.sub(r"\*?(float|int64)", "", line)).strip("_")
            onnx.save(onnx.shape_inference.infer_shapes(model(line)), Path(folder) / f"{name}.onnx")


if __name__ == "__main__":
    main(*sys.argv[1:])
