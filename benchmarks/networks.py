"""The networks that TASO and TENSAT were measured on, as ONNX files with random weights.

    python benchmarks/networks.py [NAME ...] [-o FOLDER] [--small]

Each is the graph that TENSAT's repository has: operator by operator from `src/{bert,nasrnn,nasneta,resnext50,
resnet50}.rs`, and from `model/{squeezenet,vgg,inceptionv3}.model` (github.com/uwplse/tensat, written after
the examples of github.com/jiazhihao/TASO).  They are skeletons: no biases, no normalisations, BERT without
softmax, its eight layers in a chain of products whose attentions are outputs of their own.  An activation
that a convolution has there is a Relu of its own here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import onnx
from inception import inceptionv3
from network_builder import Network, Value

from egraph_opt.model.files import write_whole

FOLDER = Path(__file__).resolve().parent.parent / ".networks"
"""Where they are written unless told otherwise; not committed."""

EXPANDED = (64, 64, 128, 128, 192, 192, 256, 256)
"""Channels of SqueezeNet's fire modules, for each of the two branches."""

VGG = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))
"""Channels and number of VGG-19's convolutions between two poolings."""


def bert(layers: int = 8, length: int = 64, hidden: int = 1024, heads: int = 16) -> onnx.ModelProto:
    """Three products with the same matrix, and a fourth that leads on to the next layer."""
    net = Network("bert")
    outputs = []
    x = net.relu(net.input(length, hidden))
    for _ in range(layers):
        q, k, v = (net.linear(x, hidden) for _ in range(3))
        q, k, v = (net.transpose(net.reshape(y, length, heads, hidden // heads), 1, 0, 2) for y in (q, k, v))
        y = net.transpose(net.matmul(net.matmul(q, k), v), 1, 0, 2)
        outputs.append(net.reshape(y, length, hidden))
        x = net.linear(x, hidden)
    return net.model(*outputs, x)


def nasrnn(length: int = 5, hidden: int = 512) -> onnx.ModelProto:
    """A recurrent cell that a search found, unrolled: sixteen products with one row a step."""
    net = Network("nasrnn")
    steps = [net.input(1, hidden) for _ in range(length)]
    state = net.weight(1, hidden)
    for x in steps:
        state = _recurrent_cell(net, state, x)
    return net.model(state)


def _recurrent_cell(net: Network, state: Value, x: Value) -> Value:
    wide = state.shape[1]
    t = [net.add(net.linear(x, wide), net.linear(state, wide)) for _ in range(8)]
    relu, sigmoid, tanh = (partial(net.unary, op_type) for op_type in ("Relu", "Sigmoid", "Tanh"))
    first = net.add(relu(t[0]), sigmoid(t[3]))
    second = net.add(sigmoid(t[1]), tanh(t[2]))
    third = net.mul(sigmoid(t[4]), tanh(t[5]))
    fourth = net.mul(sigmoid(t[6]), relu(t[7]))
    fifth = net.add(sigmoid(second), tanh(third))
    sixth = net.mul(tanh(first), tanh(fourth))
    return tanh(net.mul(tanh(fifth), tanh(sixth)))


def squeezenet(image: int = 224) -> onnx.ModelProto:
    """Fire modules: a narrow convolution, and two wide ones of it side by side, of 1 and of 3."""
    net = Network("squeezenet")
    x = net.conv_relu(net.input(1, 3, image, image), 64, 3, stride=2, same=False)
    for k, wide in enumerate(EXPANDED):
        if k in (0, 2, 4):
            x = net.pool("MaxPool", x, 3, stride=2, same=False)
        x = net.conv_relu(x, wide // 4)
        x = net.concat(net.conv_relu(x, wide), net.conv_relu(x, wide, 3))
    x = net.conv_relu(net.unary("Dropout", x), 1000)
    x = net.pool("AveragePool", x, x.shape[2], same=False)
    return net.model(net.reshape(x, 1, 1000))


def vgg19(image: int = 224, hidden: int = 4096) -> onnx.ModelProto:
    """One convolution after the other, and three products with transposed weights."""
    net = Network("vgg19")
    x = net.input(1, 3, image, image)
    for wide, count in VGG:
        for _ in range(count):
            x = net.conv_relu(x, wide, 3)
        x = net.pool("MaxPool", x, 2, stride=2, same=False)
    features = x.shape[1] * x.shape[2] * x.shape[3]
    x = net.reshape(x, 1, features)
    for k, wide in enumerate((hidden, hidden, 1000)):
        w = net.weight(wide, x.shape[1], variance=2 / x.shape[1])
        x = net.matmul(x, net.transpose(w, 1, 0))
        if k < 2:
            x = net.reshape(net.unary("Dropout", net.relu(x)), 1, wide)
    return net.model(x)


def resnet50(image: int = 56) -> onnx.ModelProto:
    """Its four stages, without what stands before them."""
    net = Network("resnet50")
    return net.model(_stages(net, net.input(1, 64, image, image), (64, 128, 256, 512), 4, 1))


def resnext50(image: int = 224) -> onnx.ModelProto:
    """With convolutions of 32 groups; nothing follows the last stage."""
    net = Network("resnext50")
    x = net.conv_relu(net.input(1, 3, image, image), 64, 7, stride=2)
    x = net.pool("MaxPool", x, 3, stride=2)
    return net.model(_stages(net, x, (128, 256, 512, 1024), 2, 32))


def _stages(net: Network, x: Value, channels: tuple[int, ...], factor: int, groups: int) -> Value:
    for stage, (wide, count) in enumerate(zip(channels, (3, 4, 6, 3), strict=True)):
        for block in range(count):
            x = _bottleneck(net, x, wide, factor, groups, stride=2 if stage and not block else 1)
    return x


def _bottleneck(net: Network, x: Value, wide: int, factor: int, groups: int, *, stride: int) -> Value:
    y = net.conv_relu(x, wide)
    y = net.conv_relu(y, wide, 3, stride=stride, groups=groups)
    y = net.conv(y, factor * wide)
    if stride > 1 or x.shape[1] != factor * wide:
        x = net.conv_relu(x, factor * wide, stride=stride)
    return net.relu(net.add(x, y))


def nasneta(image: int = 224, cells: int = 5, channels: int = 128) -> onnx.ModelProto:
    """Three times so many normal cells and a reduction cell, as an architecture search found them."""
    net = Network("nasneta")
    x = net.conv_relu(net.input(1, 3, image, image), 64, 7, stride=2)
    x = net.pool("MaxPool", x, 3, stride=2)
    for _ in range(3):
        before = x
        for _ in range(cells):
            before, x = x, _normal_cell(net, before, x, channels)
        channels *= 2
        x = _reduction_cell(net, before, x, channels)
    return net.model(x)


def _separable(net: Network, x: Value, kernel: int, stride: int = 1) -> Value:
    wide = x.shape[1]
    return net.conv(net.conv(x, wide, kernel, stride=stride, groups=wide), wide)


def _normal_cell(net: Network, before: Value, x: Value, wide: int) -> Value:
    x, before = net.conv_relu(x, wide), net.conv_relu(before, wide)
    return net.concat(
        net.add(_separable(net, x, 3), x),
        net.add(_separable(net, before, 3), _separable(net, x, 3)),
        net.add(net.pool("AveragePool", x, 3), before),
        net.add(net.pool("AveragePool", before, 3), net.pool("AveragePool", before, 3)),
        net.add(_separable(net, before, 3), _separable(net, before, 3)),
    )


def _reduction_cell(net: Network, before: Value, x: Value, wide: int) -> Value:
    x, before = net.conv_relu(x, wide), net.conv_relu(before, wide)
    first = net.add(_separable(net, before, 7, 2), _separable(net, x, 5, 2))
    second = net.add(net.pool("MaxPool", x, 3, stride=2), _separable(net, before, 7, 2))
    third = net.add(net.pool("AveragePool", x, 3, stride=2), _separable(net, before, 5, 2))
    fourth = net.add(net.pool("MaxPool", x, 3, stride=2), _separable(net, first, 3))
    fifth = net.add(net.pool("AveragePool", first, 3), second)
    return net.concat(first, second, third, fourth, fifth)


@dataclass(frozen=True)
class Definition:
    """A network.

    Attributes:
        title: what tables call it.
        make: the model, by default of the size that the papers measured.
        small: arguments that make it small enough for a test.
    """

    title: str
    make: Callable[..., onnx.ModelProto]
    small: Mapping[str, Any]


NETWORKS: dict[str, Definition] = {
    "nasrnn": Definition("NasRNN", nasrnn, {"length": 2, "hidden": 16}),
    "bert": Definition("BERT", bert, {"layers": 2, "length": 8, "hidden": 32, "heads": 4}),
    "resnext50": Definition("ResNeXt-50", resnext50, {"image": 32}),
    "nasneta": Definition("NasNet-A", nasneta, {"image": 32, "cells": 1, "channels": 8}),
    "squeezenet": Definition("SqueezeNet", squeezenet, {"image": 48}),
    "vgg19": Definition("VGG-19", vgg19, {"image": 32, "hidden": 16}),
    "inceptionv3": Definition("Inception-v3", inceptionv3, {"image": 75}),
    "resnet50": Definition("ResNet-50", resnet50, {"image": 8}),
}
"""By file name, in the order of TENSAT's figures; ResNet-50, which those leave out, comes last."""


def write(name: str, folder: Path, *, small: bool = False) -> Path:
    """Make a network and write it, whole or not at all."""
    entry = NETWORKS[name]
    model = entry.make(**(entry.small if small else {}))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.onnx"
    write_whole(path, model.SerializeToString(deterministic=True))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}; by default all")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER, help="the folder to write to")
    parser.add_argument("--small", action="store_true", help="of a size for tests")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in NETWORKS]:
        parser.error(f"no network {', '.join(unknown)}; there are {', '.join(NETWORKS)}")
    for name in given.names or NETWORKS:
        path = write(name, given.output, small=given.small)
        print(f"{path}: {path.stat().st_size / 1e6:,.1f} MB")


if __name__ == "__main__":
    main()
