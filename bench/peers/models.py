"""The models of the comparison, made on the spot: the graphs that exporters write for well-known networks, with random
weights at the scale that training starts from, so that values stay finite. Nothing is downloaded; files are kept in a
cache and made again when this file changes, or what the graphs are written with (net.py)."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from files import Made, count_gflop
from net import FLOAT, Net

# ---------------------------------------------------------------------------------------------- convolutional networks


def resnet(blocks: Iterable[int], bottleneck: bool) -> Callable[[Net], None]:
    def build(net: Net) -> None:
        x = net.conv(net.image(1, 3, 224, 224), 64, 7, 2, act="Relu")
        x = net.pool(x, "MaxPool", 3, 2, 1)
        for stage, count in enumerate(blocks):
            inner = 64 << stage
            for i in range(count):
                stride = 2 if i == 0 and stage > 0 else 1
                outer = inner * 4 if bottleneck else inner
                if bottleneck:
                    y = net.conv(x, inner, 1, act="Relu")
                    y = net.conv(y, inner, 3, stride, act="Relu")
                    y = net.conv(y, outer, 1, gain=0.2)
                else:
                    y = net.conv(x, inner, 3, stride, act="Relu")
                    y = net.conv(y, outer, 3, gain=0.2)
                shortcut = x if net.width[x] == outer and stride == 1 else net.conv(x, outer, 1, stride, gain=1)
                x = net.op("Relu", net.op("Add", y, shortcut))
        net.output(net.classifier(x))

    return build


def vgg16(net: Net) -> None:
    x = net.image(1, 3, 224, 224)
    for filters, count in (64, 2), (128, 2), (256, 3), (512, 3), (512, 3):
        for _ in range(count):
            x = net.conv(x, filters, 3, act="Relu")
        x = net.pool(x, "MaxPool", 2, 2)
    x = net.op("Flatten", x)
    for outputs, inputs in (4096, 512 * 49), (4096, 4096):
        x = net.op("Relu", net.gemm(x, outputs, inputs))
    net.output(net.gemm(x, 1000, 4096))


def densenet121(net: Net) -> None:
    x = net.conv(net.image(1, 3, 224, 224), 64, 7, 2, act="Relu")
    x = net.pool(x, "MaxPool", 3, 2, 1)
    for stage, count in enumerate((6, 12, 24, 16)):
        features = [x]
        for _ in range(count):
            y = net.concat(*features) if len(features) > 1 else x
            y = net.conv(net.op("Relu", net.batch_norm(y)), 128, 1, act="Relu")
            features.append(net.conv(y, 32, 3, bias=False, gain=1))
        x = net.batch_norm(net.concat(*features))
        x = net.op("Relu", x)
        if stage < 3:
            x = net.pool(net.conv(x, net.width[x] // 2, 1, bias=False), "AveragePool", 2, 2)
    net.output(net.classifier(x))


def squeezenet(net: Net) -> None:
    x = net.conv(net.image(1, 3, 224, 224), 64, 3, 2, pad=0, act="Relu")
    for group in ((16, 64), (16, 64)), ((32, 128), (32, 128)), ((48, 192), (48, 192), (64, 256), (64, 256)):
        x = net.pool(x, "MaxPool", 3, 2)
        for squeeze, expand in group:
            s = net.conv(x, squeeze, 1, act="Relu")
            x = net.concat(net.conv(s, expand, 1, act="Relu"), net.conv(s, expand, 3, act="Relu"))
    x = net.conv(x, 1000, 1, act="Relu")
    net.output(net.op("Flatten", net.op("GlobalAveragePool", x)))


def mobilenet_v2(net: Net) -> None:
    x = net.conv(net.image(1, 3, 224, 224), 32, 3, 2, act="relu6")
    for expand, filters, count, stride in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ):  # fmt: skip
        for i in range(count):
            y = net.conv(x, net.width[x] * expand, 1, act="relu6") if expand > 1 else x
            y = net.conv(y, net.width[y], 3, stride if i == 0 else 1, groups=net.width[y], act="relu6")
            y = net.conv(y, filters, 1, gain=1)
            x = net.op("Add", x, y) if i else y
    net.output(net.classifier(net.conv(x, 1280, 1, act="relu6")))


def efficientnet_b0(net: Net) -> None:
    x = net.conv(net.image(1, 3, 224, 224), 32, 3, 2, act="silu")
    for expand, filters, count, stride, kernel in (
        (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5), (6, 320, 1, 1, 3),
    ):  # fmt: skip
        for i in range(count):
            y = net.conv(x, net.width[x] * expand, 1, act="silu") if expand > 1 else x
            y = net.conv(y, net.width[y], kernel, stride if i == 0 else 1, groups=net.width[y], act="silu")
            squeezed = net.conv(net.op("GlobalAveragePool", y), max(1, net.width[x] // 4), 1, act="silu")
            y = net.op("Mul", net.conv(squeezed, net.width[y], 1, act="Sigmoid"), y)
            net.width[y] = net.width[x] * expand
            y = net.conv(y, filters, 1, gain=4)  # the gate halves what comes in
            x = net.op("Add", y, x) if i else y
    net.output(net.classifier(net.conv(x, 1280, 1, act="silu")))


def unet(net: Net) -> None:
    """Four levels of 32 to 256 channels, 512 at the bottom."""

    def double(x: str, filters: int) -> str:
        return net.conv(net.conv(x, filters, 3, act="Relu"), filters, 3, act="Relu")

    x = net.image(1, 3, 256, 256)
    skips = []
    for filters in 32, 64, 128, 256:
        skips.append(double(x, filters))
        x = net.pool(skips[-1], "MaxPool", 2, 2)
    x = double(x, 512)
    for filters, skip in zip((256, 128, 64, 32), reversed(skips)):
        w = net.weight(net.width[x], filters, 2, 2, scale=math.sqrt(1 / net.width[x]))
        x = net.op("ConvTranspose", x, w, net.weight(filters, scale=0.05), kernel_shape=[2, 2], strides=[2, 2])
        net.width[x] = filters
        x = double(net.concat(x, skip), filters)
    net.output(net.conv(x, 1, 1, act="Sigmoid"))


def detector(net: Net) -> None:
    """YOLOv5n at 640×640, with decoding of the boxes and non-maximum suppression in the graph."""

    def conv(x: str, filters: int, kernel: int = 1, stride: int = 1, pad: int | None = None) -> str:
        # A gain at which this depth of SiLU neither dies out nor saturates the scores.
        return net.conv(x, filters, kernel, stride, pad=pad, act="silu", gain=2.14)

    def csp(x: str, filters: int, count: int, shortcut: bool = True) -> str:
        left, right = conv(x, filters // 2), conv(x, filters // 2)
        for _ in range(count):
            y = conv(conv(left, filters // 2), filters // 2, 3)
            left = net.op("Add", left, y) if shortcut else y
        return conv(net.concat(left, right), filters)

    def upsample(x: str) -> str:
        return net.op("Resize", x, "", net.constant([1, 1, 2, 2], np.float32), mode="nearest",
                      coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip

    x = conv(conv(net.image(1, 3, 640, 640), 16, 6, 2, 2), 32, 3, 2)
    third = csp(conv(csp(x, 32, 1), 64, 3, 2), 64, 2)
    fourth = csp(conv(third, 128, 3, 2), 128, 3)
    x = conv(csp(conv(fourth, 256, 3, 2), 256, 1), 128)
    pools = [x]
    for _ in range(3):
        pools.append(net.pool(pools[-1], "MaxPool", 5, 1, 2))
    fifth = conv(conv(net.concat(*pools), 256), 128)
    up = conv(csp(net.concat(upsample(fifth), fourth), 128, 1, False), 64)
    small = csp(net.concat(upsample(up), third), 64, 1, False)
    middle = csp(net.concat(conv(small, 64, 3, 2), up), 128, 1, False)
    large = csp(net.concat(conv(middle, 128, 3, 2), fifth), 256, 1, False)

    boxes, scores = [], []
    for level, stride, anchors in (
        (small, 8, (10, 13, 16, 30, 33, 23)),
        (middle, 16, (30, 61, 62, 45, 59, 119)),
        (large, 32, (116, 90, 156, 198, 373, 326)),
    ):
        n = 640 // stride
        x = net.reshape(net.conv(level, 255, 1, gain=1), 1, 3, 85, n, n)
        x = net.op("Sigmoid", net.transpose(x, 0, 1, 3, 4, 2))
        xy, wh, certain, classes = net.ops(4, "Split", x, net.constant([2, 2, 1, 80]), axis=4)
        ys, xs = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
        grid = (np.stack([xs, ys], -1).reshape(1, 1, n, n, 2) - 0.5).astype(np.float32)
        xy = net.op("Add", net.op("Mul", xy, net.number(2)), net.initializer(grid))
        xy = net.op("Mul", xy, net.number(stride))
        wh = net.op("Pow", net.op("Mul", wh, net.number(2)), net.number(2))
        wh = net.op("Mul", wh, net.initializer(np.float32(anchors).reshape(1, 3, 1, 1, 2)))
        boxes.append(net.reshape(net.concat(xy, wh, axis=4), 1, 3 * n * n, 4))
        scores.append(net.reshape(net.op("Mul", classes, certain), 1, 3 * n * n, 80))
    box = net.concat(*boxes)
    score = net.transpose(net.concat(*scores), 0, 2, 1)
    # Some 240 of the random scores are above this threshold, as in a street scene. None is within a ten-thousandth of
    # it, so that all engines choose the same boxes.
    chosen = net.op("NonMaxSuppression", box, score, net.constant([50]), net.constant([0.45], np.float32),
                    net.constant([0.632], np.float32), center_point_box=1)  # fmt: skip
    index = net.op("Squeeze", net.op("Slice", chosen, net.constant([2]), net.constant([3]), net.constant([1])),
                   net.constant([1]))  # fmt: skip
    net.output(net.op("Gather", net.op("Squeeze", box, net.constant([0])), index, axis=0), chosen)


def audio_conv1d(net: Net) -> None:
    """The feature encoder of wav2vec 2.0 on a second of sound."""
    x = net.input("sound", net.normal(1, 1, 16000))
    for i, (kernel, stride) in enumerate([(10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2)]):
        x = net.conv(x, 512, kernel, stride, pad=0, dims=1, bias=False)
        if i == 0:
            x = net.op("InstanceNormalization", x, net.initializer(np.ones(512, np.float32)),
                       net.weight(512, scale=0.05))  # fmt: skip
        x = net.act(x, "gelu")
    net.output(x)


# -------------------------------------------------------------------------------------------------------- transformers


def vit_b16(net: Net) -> None:
    x = net.conv(net.image(1, 3, 224, 224), 768, 16, 16, pad=0, gain=1)
    x = net.transpose(net.reshape(x, 1, 768, 196), 0, 2, 1)
    x = net.op("Concat", net.weight(1, 1, 768, scale=0.02), x, axis=1)
    x = net.op("Add", x, net.weight(1, 197, 768, scale=0.02))
    for _ in range(12):
        x = net.op("Add", attention(net, net.layer_norm(x, 768, 1e-6), 197, 768, 12), x)
        y = net.act(net.linear(net.layer_norm(x, 768, 1e-6), 768, 3072), "gelu")
        x = net.op("Add", net.linear(y, 3072, 768), x)
    first = net.op("Gather", net.layer_norm(x, 768, 1e-6), net.constant(0), axis=1)
    net.output(net.gemm(first, 1000, 768))


def attention(net: Net, x: str, length: int, hidden: int, heads: int, mask: str = "") -> str:
    """Self-attention as in BERT: scaled scores, and a mask that is added."""
    size = hidden // heads
    q = net.split_heads(net.linear(x, hidden, hidden), length, heads, size)
    k = net.split_heads(net.linear(x, hidden, hidden), length, heads, size, perm=(0, 2, 3, 1))
    v = net.split_heads(net.linear(x, hidden, hidden), length, heads, size)
    scores = net.op("Div", net.op("MatMul", q, k), net.number(math.sqrt(size)))
    if mask:
        scores = net.op("Add", scores, mask)
    y = net.op("MatMul", net.op("Softmax", scores, axis=-1), v)
    return net.linear(net.merge_heads(y, length, hidden), hidden, hidden)


def bert(length: int) -> Callable[[Net], None]:
    def build(net: Net) -> None:
        ids = net.tokens("input_ids", length, 30522)
        types = net.input("token_type_ids", np.zeros((1, length), np.int64))
        given = np.ones((1, length), np.int64)
        given[0, length * 7 // 8 :] = 0  # padded, as batches are
        mask = net.op("Unsqueeze", net.input("attention_mask", given), net.constant([1]))
        mask = net.op("Cast", net.op("Unsqueeze", mask, net.constant([2])), to=FLOAT)
        mask = net.op("Mul", net.op("Sub", net.number(1), mask), net.number(-10000))
        x = net.op("Gather", net.weight(30522, 768, scale=0.02), ids)
        x = net.op("Add", x, net.op("Gather", net.weight(2, 768, scale=0.02), types))
        x = net.layer_norm(net.op("Add", x, net.positions(x, length, 768)), 768)
        for _ in range(12):
            x = net.layer_norm(net.op("Add", attention(net, x, length, 768, 12, mask), x), 768)
            y = net.act(net.linear(x, 768, 3072), "gelu")
            x = net.layer_norm(net.op("Add", net.linear(y, 3072, 768), x), 768)
        first = net.op("Gather", x, net.constant(0), axis=1)
        net.output(x, net.op("Tanh", net.gemm(first, 768, 768)))

    return build


def cached(net: Net, layer: int, past: int, heads: int, size: int, key: str, value: str) -> tuple[str, str]:
    """Keys and values after those of the past, both made outputs."""
    if past:
        old = [net.input(f"past_{layer}_{n}", net.normal(1, heads, past, size, scale=0.5)) for n in ("key", "value")]
        key, value = (net.op("Concat", o, new, axis=2) for o, new in zip(old, (key, value)))
    net.output(key, value)
    return key, value


def gpt2(length: int, past: int) -> Callable[[Net], None]:
    def build(net: Net) -> None:
        hidden, heads, size, vocabulary = 768, 12, 64, 50257
        ids = net.tokens("input_ids", length, vocabulary)
        embedding = net.weight(vocabulary, hidden, scale=0.02)
        x = net.op("Add", net.op("Gather", embedding, ids), net.weight(1, length, hidden, scale=0.02))
        states = []

        def matrix(x: str, rows: int, inputs: int, outputs: int) -> str:
            """Conv1D of the published code: a Gemm between two Reshapes."""
            w, b = net.weight(inputs, outputs, scale=0.02), net.weight(outputs, scale=0.02)
            return net.reshape(net.op("Gemm", net.reshape(x, rows, inputs), w, b), 1, rows, outputs)

        for layer in range(12):
            y = matrix(net.layer_norm(x, hidden, 1e-5), length, hidden, 3 * hidden)
            q, k, v = net.ops(3, "Split", y, net.constant([hidden] * 3), axis=2)
            q, k, v = (net.split_heads(t, length, heads, size) for t in (q, k, v))
            k, v = cached(net, layer, past, heads, size, k, v)
            scores = net.op("Div", net.op("MatMul", q, net.transpose(k, 0, 1, 3, 2)), net.number(math.sqrt(size)))
            if length > 1:
                scores = net.op("Where", causal(net, length), scores, net.number(-1e4))
            y = net.op("MatMul", net.op("Softmax", scores, axis=-1), v)
            x = net.op("Add", matrix(net.merge_heads(y, length, hidden), length, hidden, hidden), x)
            y = net.act(matrix(net.layer_norm(x, hidden, 1e-5), length, hidden, 4 * hidden), "gelu_tanh")
            x = net.op("Add", x, matrix(y, length, 4 * hidden, hidden))
        x = net.layer_norm(x, hidden, 1e-5)
        net.outputs.insert(0, net.op("MatMul", x, net.transpose(embedding, 1, 0)))

    return build


def causal(net: Net, length: int) -> str:
    return net.constant(np.tril(np.ones((1, 1, length, length), bool)), bool)


def llama(length: int, past: int) -> Callable[[Net], None]:
    """Rotary positions, RMS norms, 16 query heads that share 4 of keys, gated feed-forward: 168 million weights."""

    def build(net: Net) -> None:
        hidden, heads, groups, size, inner, vocabulary, total = 1024, 16, 4, 64, 2816, 32000, length + past
        ids = net.tokens("input_ids", length, vocabulary)
        embedding = net.weight(vocabulary, hidden, scale=0.02)
        x = net.op("Gather", embedding, ids)
        angle = np.outer(np.arange(past, total), 10000.0 ** (-np.arange(0, size, 2) / size))
        angle = np.concatenate([angle, angle], axis=1).reshape(1, 1, length, size)
        cos, sin = (net.initializer(f(angle).astype(np.float32)) for f in (np.cos, np.sin))

        def rotary(x: str) -> str:
            ends = [net.constant([n]) for n in (0, size // 2, np.iinfo(np.int64).max)]
            last = net.constant([3])
            low, high = (net.op("Slice", x, a, b, last, net.constant([1])) for a, b in zip(ends, ends[1:]))
            rotated = net.op("Concat", net.op("Neg", high), low, axis=3)
            return net.op("Add", net.op("Mul", x, cos), net.op("Mul", rotated, sin))

        def shared(x: str) -> str:
            """Each head of keys or values once for every head of queries that reads it."""
            x = net.op("Unsqueeze", x, net.constant([2]))
            x = net.op("Expand", x, net.constant([1, groups, heads // groups, total, size]))
            return net.reshape(x, 1, heads, total, size)

        for layer in range(12):
            y = net.rms_norm(x, hidden)
            q = net.split_heads(net.linear(y, hidden, hidden, bias=False), length, heads, size)
            k = net.split_heads(net.linear(y, hidden, groups * size, bias=False), length, groups, size)
            v = net.split_heads(net.linear(y, hidden, groups * size, bias=False), length, groups, size)
            k, v = cached(net, layer, past, groups, size, rotary(k), v)
            scores = net.op("MatMul", rotary(q), net.transpose(shared(k), 0, 1, 3, 2))
            scores = net.op("Mul", scores, net.number(1 / math.sqrt(size)))
            if length > 1:
                mask = np.where(np.tril(np.ones((1, 1, length, length), bool)), 0, -1e4)
                scores = net.op("Add", scores, net.constant(mask, np.float32))
            y = net.merge_heads(net.op("MatMul", net.op("Softmax", scores, axis=-1), shared(v)), length, hidden)
            x = net.op("Add", x, net.linear(y, hidden, hidden, bias=False))
            y = net.rms_norm(x, hidden)
            gate = net.act(net.linear(y, hidden, inner, bias=False), "silu")
            y = net.op("Mul", gate, net.linear(y, hidden, inner, bias=False))
            x = net.op("Add", x, net.linear(y, inner, hidden, bias=False))
        x = net.rms_norm(x, hidden)
        net.outputs.insert(0, net.op("MatMul", x, net.transpose(embedding, 1, 0)))

    return build


def t5_small(net: Net) -> None:
    """Encoder on 128 tokens and decoder on 32, in one graph."""
    hidden, heads, size, inner, vocabulary, source, target = 512, 8, 64, 2048, 32128, 128, 32
    embedding = net.weight(vocabulary, hidden, scale=1.0)

    def linear(x: str, inputs: int, outputs: int) -> str:
        return net.linear(x, inputs, outputs, bias=False, scale=0.3 / math.sqrt(inputs))

    def positions(length: int, two_sided: bool) -> str:
        """The table of relative positions: near ones apart, far ones together."""
        distance = np.arange(length)[None, :] - np.arange(length)[:, None]
        buckets = 16 if two_sided else 32
        away = np.abs(distance) if two_sided else np.maximum(-distance, 0)
        far = buckets // 2 + np.log(np.maximum(away, 1) / (buckets / 2)) / math.log(256 / buckets) * (buckets / 2)
        bucket = np.where(away < buckets // 2, away, np.minimum(far.astype(np.int64), buckets - 1))
        bucket = bucket + (distance > 0) * buckets if two_sided else bucket
        table = net.op("Gather", net.weight(32, heads, scale=0.5), net.constant(bucket))
        bias = net.op("Unsqueeze", net.transpose(table, 2, 0, 1), net.constant([0]))
        if two_sided:
            return bias
        mask = np.where(np.tril(np.ones((1, 1, length, length), bool)), 0, -1e9)
        return net.op("Add", bias, net.constant(mask, np.float32))

    def attend(x: str, length: int, memory: str, others: int, bias: str) -> str:
        q = net.split_heads(linear(x, hidden, hidden), length, heads, size)
        k = net.split_heads(linear(memory, hidden, hidden), others, heads, size, perm=(0, 2, 3, 1))
        v = net.split_heads(linear(memory, hidden, hidden), others, heads, size)
        scores = net.op("MatMul", q, k)
        if bias:
            scores = net.op("Add", scores, bias)
        y = net.op("MatMul", net.op("Softmax", scores, axis=-1), v)
        return linear(net.merge_heads(y, length, hidden), hidden, hidden)

    def feed_forward(x: str) -> str:
        y = linear(net.op("Relu", linear(net.rms_norm(x, hidden), hidden, inner)), inner, hidden)
        return net.op("Add", x, y)

    x = net.op("Gather", embedding, net.tokens("input_ids", source, vocabulary))
    bias = positions(source, True)
    for _ in range(6):
        y = net.rms_norm(x, hidden)
        x = feed_forward(net.op("Add", x, attend(y, source, y, source, bias)))
    memory = net.rms_norm(x, hidden)
    x = net.op("Gather", embedding, net.tokens("decoder_input_ids", target, vocabulary))
    bias = positions(target, False)
    for _ in range(6):
        y = net.rms_norm(x, hidden)
        x = net.op("Add", x, attend(y, target, y, target, bias))
        x = feed_forward(net.op("Add", x, attend(net.rms_norm(x, hidden), target, memory, source, "")))
    x = net.op("Mul", net.rms_norm(x, hidden), net.number(hidden**-0.5))
    net.output(net.op("MatMul", x, net.transpose(embedding, 1, 0)))


# -------------------------------------------------------------------------------------------------- recurrent and tiny


def lstm(net: Net) -> None:
    """Two layers of 256 over a hundred frames of 80 features."""
    x = net.input("frames", net.normal(100, 1, 80))
    for inputs in 80, 256:
        w = net.weight(1, 1024, inputs, scale=1 / 16)
        r, b = net.weight(1, 1024, 256, scale=1 / 16), net.weight(1, 2048, scale=1 / 16)
        y, h, c = net.ops(3, "LSTM", x, w, r, b, hidden_size=256)
        x = net.op("Squeeze", y, net.constant([1]))
    net.output(x, h, c)


def mnist(net: Net) -> None:
    x = net.conv(net.image(1, 1, 28, 28), 8, 5, act="Relu")
    x = net.conv(net.pool(x, "MaxPool", 2, 2), 16, 5, act="Relu")
    x = net.reshape(net.pool(x, "MaxPool", 3, 3), 1, 256)
    net.output(net.gemm(x, 10, 256))


def mlp20(net: Net) -> None:
    x = net.input("x", net.normal(1, 16))
    for _ in range(10):
        x = net.op("Relu", net.gemm(x, 16, 16))
    net.output(x)


def adds(count: int) -> Callable[[Net], None]:
    def build(net: Net) -> None:
        x, y = net.input("x", net.normal(1, 16)), net.input("y", net.normal(1, 16))
        for _ in range(count):
            x = net.op("Add", x, y)
        net.output(x)

    return build


# ---------------------------------------------------------------------------------------------------------- quantized


def quantized_images(source: Path, feeds: dict[str, np.ndarray], to: Path) -> None:
    """Static: weights int8 by channel, activations uint8, QuantizeLinear and DequantizeLinear around each operator."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self):
            random = np.random.default_rng(1)
            data = [feeds] + [{n: random.standard_normal(v.shape, v.dtype) for n, v in feeds.items()} for _ in range(3)]
            self.data = iter(data)

        def get_next(self):
            return next(self.data, None)

    quantize_static(source, to, Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)  # fmt: skip


def quantized_bert(source: Path, feeds: dict[str, np.ndarray], to: Path) -> None:
    """Dynamic: weights int8, activations quantized as they come."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(source, to, weight_type=QuantType.QInt8)


# ---------------------------------------------------------------------------------------------------------- the table


@dataclass(frozen=True)
class Entry:
    """A row of the table. `must` is how many times Lathe has to be faster than ONNX Runtime, where that is required."""

    name: str
    build: Callable[[Net], None] | None
    must: float | None = None
    kind: str = "fp32"  # or "tiny": the call itself matters; "int8"; "bf16": Lathe may be less exact
    cnn: bool = False  # whether the first run is required to be quick
    quantize: tuple[str, Callable] | None = None  # the entry it is made from, and how
    like: str | None = None  # the entry whose model it is


TABLE = [
    Entry("resnet18", resnet((2, 2, 2, 2), False), 1.8, cnn=True),
    Entry("resnet50", resnet((3, 4, 6, 3), True), 1.25, cnn=True),
    Entry("vgg16", vgg16, 2.2, cnn=True),
    Entry("densenet121", densenet121, 1.35, cnn=True),
    Entry("squeezenet", squeezenet, 1.35, cnn=True),
    Entry("mobilenetv2", mobilenet_v2, 1.2, cnn=True),
    Entry("efficientnet_b0", efficientnet_b0, 1.5, cnn=True),
    Entry("unet256", unet, 2.2, cnn=True),
    Entry("vit_b16", vit_b16, 1.15),
    Entry("bert_s16", bert(16), 1.7),
    Entry("bert_s128", bert(128), 1.15),
    Entry("bert_s512", bert(512), 1.15),
    Entry("gpt2_prompt128", gpt2(128, 0), 1.15),
    Entry("gpt2_decode256", gpt2(1, 256), 1.15),
    Entry("llama_prompt128", llama(128, 0), 1.15),
    Entry("llama_decode256", llama(1, 256), 1.15),
    Entry("t5_small", t5_small),
    Entry("lstm_2x256", lstm, 1.15),
    Entry("audio_conv1d", audio_conv1d, 1.2),
    Entry("yolo_nms", detector, cnn=True),
    Entry("mnist", mnist, 2, kind="tiny"),
    Entry("mlp20", mlp20, 5, kind="tiny"),
    Entry("adds20", adds(20), 10, kind="tiny"),
    Entry("add", adds(1), 3, kind="tiny"),
    Entry("resnet50_qdq", None, 1.15, kind="int8", quantize=("resnet50", quantized_images)),
    Entry("densenet121_qdq", None, kind="int8", quantize=("densenet121", quantized_images)),
    Entry("efficientnet_b0_qdq", None, kind="int8", quantize=("efficientnet_b0", quantized_images)),
    Entry("unet256_qdq", None, kind="int8", quantize=("unet256", quantized_images)),
    Entry("bert_s128_dynamic", None, 1.25, kind="int8", quantize=("bert_s128", quantized_bert)),
    Entry("bert_s128_bf16", None, 2.0, kind="bf16", like="bert_s128"),
    Entry("gpt2_decode256_bf16", None, 2.2, kind="bf16", like="gpt2_decode256"),
    Entry("llama_decode256_bf16", None, 2.2, kind="bf16", like="llama_decode256"),
]
ENTRIES = {entry.name: entry for entry in TABLE}


def make(entry: Entry, cache: Path) -> Made:
    """The entry's model from the cache, or made now."""
    if entry.like:
        like = make(ENTRIES[entry.like], cache)
        return dataclasses.replace(like, name=entry.name, kind=entry.kind, must=entry.must, quantized=True, precision="bfloat16")
    cache.mkdir(parents=True, exist_ok=True)
    path, facts_path, feeds_path = (cache / f"{entry.name}{suffix}" for suffix in (".onnx", ".json", ".npz"))
    sources = Path(__file__), Path(__file__).with_name("net.py")
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    facts = json.loads(facts_path.read_text()) if facts_path.exists() else {}
    if facts.get("made_by") != digest or not path.exists() or not feeds_path.exists():
        facts_path.unlink(missing_ok=True)  # the last to be written: without it nothing counts as made
        if entry.quantize:
            source = make(ENTRIES[entry.quantize[0]], cache)
            with tempfile.TemporaryDirectory(dir=cache) as scratch:
                entry.quantize[1](source.path, source.feeds, Path(scratch) / "model.onnx")
                shutil.move(Path(scratch) / "model.onnx", path)
            feeds, gflop = source.feeds, source.gflop
        else:
            net = Net(entry.name)
            entry.build(net)
            model = net.model()
            onnx.save(model, path)
            feeds, gflop = net.feeds, count_gflop(model)
        np.savez(feeds_path, **feeds)
        facts = {"made_by": digest, "gflop": gflop}
        facts_path.write_text(json.dumps(facts))
    with np.load(feeds_path) as stored:
        feeds = dict(stored)
    return Made(entry.name, path, feeds, facts["gflop"], entry.kind, entry.must, entry.cnn, entry.kind == "int8")
