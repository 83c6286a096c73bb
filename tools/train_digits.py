#!/usr/bin/env python3
"""Trains the demo's classifier of handwritten digits and writes examples/digits/.

Data: the 1,797 images of 8x8 pixels that come with scikit-learn. Model: float32 [batch, 8, 8] with values 0…16 in,
probabilities float32 [batch, 10] out; scaling, two hidden layers, softmax. Needs scikit-learn, numpy and onnx.

    python tools/train_digits.py
"""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

target = pathlib.Path(__file__).resolve().parent.parent / "examples" / "digits"


def main() -> None:
    digits = load_digits()
    train_x, test_x, train_y, test_y = train_test_split(
        digits.images.astype(np.float32), digits.target, test_size=0.25, random_state=7, stratify=digits.target
    )
    classifier = MLPClassifier((96, 48), alpha=1e-3, max_iter=400, random_state=7)
    classifier.fit(train_x.reshape(len(train_x), -1) / 16, train_y)
    print(f"accuracy on {len(test_x)} images it has not seen: {classifier.score(test_x.reshape(len(test_x), -1) / 16, test_y):.3f}")

    tensors = {"scale": np.float32(1 / 16)}
    nodes = [helper.make_node("Mul", ["image", "scale"], ["scaled"]), helper.make_node("Flatten", ["scaled"], ["h0"], axis=1)]
    layers = list(zip(classifier.coefs_, classifier.intercepts_))
    for i, (weight, bias) in enumerate(layers):
        tensors[f"weight{i}"], tensors[f"bias{i}"] = weight.astype(np.float32), bias.astype(np.float32)
        nodes.append(helper.make_node("Gemm", [f"h{i}", f"weight{i}", f"bias{i}"], [f"z{i}"], name=f"layer{i}"))
        if i + 1 < len(layers):
            nodes.append(helper.make_node("Relu", [f"z{i}"], [f"h{i + 1}"]))
    nodes.append(helper.make_node("Softmax", [f"z{len(layers) - 1}"], ["probabilities"], axis=1))
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in tensors.items()],
    )
    model = helper.make_model(graph, producer_name="lathe", opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    target.mkdir(parents=True, exist_ok=True)
    onnx.save(model, target / "digits.onnx")

    # One image of each digit, from those it has not seen.
    chosen = [int(np.flatnonzero(test_y == d)[3]) for d in range(10)]
    np.save(target / "images.npy", test_x[chosen])
    np.save(target / "labels.npy", test_y[chosen].astype(np.int64))


if __name__ == "__main__":
    main()
