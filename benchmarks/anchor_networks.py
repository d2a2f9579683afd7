"""Networks whose throughput on Ascend chips was published, as ONNX graphs with random weights.

Layer by layer as their authors define them (torchvision, Hugging Face, mmaction2, Joovvhan/ECAPA-TDNN), as an
exporter writes them for inference: batch normalisations behind a convolution are folded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import onnx
from network_builder import Network, Value
from onnx import numpy_helper

RELU6 = "Clip"


class Layers(Network):
    """A network whose products and convolutions have a bias, and whose layers may share weights."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.drawn: list[Value] = []
        self.shared: Iterator[Value] = iter(())

    def weight(self, *shape: int, variance: float = 1.0) -> Value:
        known = next(self.shared, None)
        if known is None:
            self.drawn.append(known := super().weight(*shape, variance=variance))
        return known

    def share(self) -> None:
        """What is built next takes the weights that were drawn until now, in their order."""
        self.shared = iter(tuple(self.drawn))

    def biased(
        self,
        x: Value,
        wide: int,
        kernel: Sequence[int],
        *,
        stride: int = 1,
        groups: int = 1,
        pads: Sequence[int] | None = None,
        dilation: int = 1,
    ) -> Value:
        """A convolution that keeps the size, but for the stride, unless `pads` says otherwise."""
        pads = [dilation * (k // 2) for k in kernel] if pads is None else pads
        w = self.weight(wide, x.shape[1] // groups, *kernel, variance=1e-3)
        sizes = [
            (size + 2 * pad - dilation * (k - 1) - 1) // stride + 1
            for size, pad, k in zip(x.shape[2:], pads, kernel, strict=True)
        ]
        window = {
            "kernel_shape": tuple(kernel),
            "strides": (stride,) * len(kernel),
            "pads": (*pads, *pads),
            "dilations": (dilation,) * len(kernel),
        }
        return self.node(
            "Conv", [x, w, self.weight(wide)], (x.shape[0], wide, *sizes), group=groups, **window
        )

    def activated(
        self, x: Value, wide: int, kernel: int, act: str = "Relu", *, stride: int = 1, groups: int = 1
    ) -> Value:
        """A convolution and its activation."""
        y = self.biased(x, wide, (kernel, kernel), stride=stride, groups=groups)
        if act != RELU6:
            return self.unary(act, y)
        bounds = [self.scalar(0.0), self.scalar(6.0)]
        return self.node("Clip", [y, *bounds], y.shape)

    def dense(self, x: Value, wide: int) -> Value:
        """A Gemm of rows."""
        operands = [x, self.weight(wide, x.shape[1], variance=1 / x.shape[1]), self.weight(wide)]
        return self.node("Gemm", operands, (x.shape[0], wide), transB=1)

    def affine(self, x: Value, wide: int) -> Value:
        """A MatMul along the last axis, and its bias."""
        return self.add(self.linear(x, wide), self.weight(wide))

    def flat(self, x: Value) -> Value:
        size = 1
        for dim in x.shape[1:]:
            size *= dim
        return self.node("Flatten", [x], (x.shape[0], size))

    def classified(self, x: Value, classes: int = 1000) -> Value:
        """The mean of an image, and a score for each class."""
        mean = self.node("GlobalAveragePool", [x], (*x.shape[:2], *(1 for _ in x.shape[2:])))
        return self.dense(self.flat(mean), classes)

    def normalized(self, x: Value) -> Value:
        weights = [self.weight(x.shape[-1]) for _ in range(2)]
        return self.node("LayerNormalization", [x, *weights], x.shape, axis=-1)

    def gelu(self, x: Value) -> Value:
        """As it is written before opset 20."""
        inner = self.unary("Erf", self.mul(x, self.scalar(math.sqrt(0.5))))
        return self.mul(self.mul(x, self.add(inner, self.scalar(1.0))), self.scalar(0.5))

    def scalar(self, value: float) -> Value:
        """A constant of one element."""
        return self.filled(value)

    def filled(self, value: float, *shape: int) -> Value:
        """A constant of one number."""
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.full(shape, value, np.float32), name))
        return Value(name, shape)

    def index(self, place: int) -> Value:
        """An integer of rank 0."""
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(place, np.int64), name))
        return Value(name, ())


# ---- images


def resnet50(batch: int) -> onnx.ModelProto:
    net = Layers("resnet50")
    x = net.pool("MaxPool", net.activated(net.input(batch, 3, 224, 224), 64, 7, stride=2), 3, stride=2)
    return net.model(net.classified(_stages(net, x, (3, 4, 6, 3), 64)))


def resnext101(batch: int) -> onnx.ModelProto:
    """ResNeXt-101, 32 groups of 8 channels."""
    net = Layers("resnext101")
    x = net.pool("MaxPool", net.activated(net.input(batch, 3, 224, 224), 64, 7, stride=2), 3, stride=2)
    return net.model(net.classified(_stages(net, x, (3, 4, 23, 3), 256, groups=32)))


def _stages(net: Layers, x: Value, depths: Sequence[int], width: int, groups: int = 1) -> Value:
    """Bottlenecks of ResNet; the second half of the stages starts with a stride."""
    for stage, blocks in enumerate(depths):
        inner, outer = width << stage, 256 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = net.activated(net.activated(x, inner, 1), inner, 3, stride=stride, groups=groups)
            short = x if block else net.biased(x, outer, (1, 1), stride=stride)
            x = net.relu(net.add(net.biased(y, outer, (1, 1)), short))
    return x


def mobilenet_v1(batch: int) -> onnx.ModelProto:
    net = Layers("mobilenet_v1")
    x = net.activated(net.input(batch, 3, 224, 224), 32, 3, stride=2)
    table = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
    for wide, stride in table:
        x = net.activated(net.activated(x, x.shape[1], 3, stride=stride, groups=x.shape[1]), wide, 1)
    return net.model(net.classified(x))


def mobilenet_v2(batch: int) -> onnx.ModelProto:
    net = Layers("mobilenet_v2")
    x = net.activated(net.input(batch, 3, 224, 224), 32, 3, RELU6, stride=2)
    table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2)]
    for expand, wide, blocks, first in [*table, (6, 320, 1, 1)]:
        for block in range(blocks):
            hidden = x.shape[1] * expand
            y = net.activated(x, hidden, 1, RELU6) if expand > 1 else x
            y = net.activated(y, hidden, 3, RELU6, stride=1 if block else first, groups=hidden)
            y = net.biased(y, wide, (1, 1))
            x = net.add(y, x) if y.shape == x.shape else y
    return net.model(net.classified(net.activated(x, 1280, 1, RELU6)))


def vgg16(batch: int) -> onnx.ModelProto:
    net = Layers("vgg16")
    x = net.input(batch, 3, 224, 224)
    for wide, depth in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(depth):
            x = net.activated(x, wide, 3)
        x = net.pool("MaxPool", x, 2, stride=2, same=False)
    x = net.flat(x)
    for wide in (4096, 4096):
        x = net.relu(net.dense(x, wide))
    return net.model(net.dense(x, 1000))


def c3d(batch: int) -> onnx.ModelProto:
    """C3D of mmaction2 on ten clips a sample."""
    net = Layers("c3d")
    x = net.reshape(net.input(batch, 10, 3, 16, 112, 112), batch * 10, 3, 16, 112, 112)
    x = _pooled(net, net.relu(net.biased(x, 64, (3, 3, 3))), (1, 2, 2))
    for wide, depth in ((128, 1), (256, 2), (512, 2)):
        for _ in range(depth):
            x = net.relu(net.biased(x, wide, (3, 3, 3)))
        x = _pooled(net, x, (2, 2, 2))
    for _ in range(2):
        x = net.relu(net.biased(x, 512, (3, 3, 3)))
    x = net.flat(_pooled(net, x, (2, 2, 2), pad=1))
    for wide in (4096, 4096):
        x = net.relu(net.dense(x, wide))
    return net.model(net.dense(x, 101))


def _pooled(net: Layers, x: Value, kernel: tuple[int, int, int], pad: int = 0) -> Value:
    """`pad` is that of the two axes of the image, on both sides."""
    pads = (0, pad, pad)
    sizes = [(size + 2 * p - k) // k + 1 for size, p, k in zip(x.shape[2:], pads, kernel, strict=True)]
    window = {"kernel_shape": kernel, "strides": kernel, "pads": (*pads, *pads)}
    return net.node("MaxPool", [x], (*x.shape[:2], *sizes), **window)


# ---- transformers


def albert_base(batch: int, length: int = 128) -> onnx.ModelProto:
    """The encoder of ALBERT: twelve layers with the same weights."""
    net = Layers("albert_base")
    x = net.input(batch, length, 768)
    for _ in range(12):
        net.share()
        x = net.normalized(net.add(_attended(net, x), x))
        x = net.normalized(net.add(net.affine(net.gelu(net.affine(x, 3072)), 768), x))
    return net.model(x)


def vit_base(batch: int, side: int = 16, image: int = 224) -> onnx.ModelProto:
    """ViT-B: patches of an image, 196 of 16 x 16 pixels, and a token for the class."""
    net, across = Layers("vit_base"), image // side
    pixels = net.input(batch, 3, image, image)
    patches = net.biased(pixels, 768, (side, side), stride=side, pads=(0, 0))
    x = net.transpose(net.reshape(patches, batch, 768, across**2), 0, 2, 1)
    x = net.node("Concat", [net.weight(batch, 1, 768), x], (batch, across**2 + 1, 768), axis=1)
    x = net.add(x, net.weight(1, across**2 + 1, 768))
    for _ in range(12):
        x = net.add(_attended(net, net.normalized(x)), x)
        x = net.add(net.affine(net.gelu(net.affine(net.normalized(x), 3072)), 768), x)
    token = net.node("Gather", [net.normalized(x), net.index(0)], (batch, 768), axis=1)
    return net.model(net.dense(token, 1000))


def _attended(net: Layers, x: Value, heads: int = 12) -> Value:
    """Attention of several heads, spelled out."""
    batch, length, wide = x.shape
    turned = []
    for perm in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)):
        split = net.reshape(net.affine(x, wide), batch, length, heads, wide // heads)
        turned.append(net.transpose(split, *perm))
    q, k, v = turned
    scores = net.mul(net.matmul(q, k), net.scalar(0.125))
    mixed = net.matmul(net.node("Softmax", [scores], scores.shape, axis=-1), v)
    return net.affine(net.reshape(net.transpose(mixed, 0, 2, 1, 3), batch, length, wide), wide)


# ---- sound


def ecapa_tdnn(batch: int, wide: int = 512) -> onnx.ModelProto:
    """Joovvhan/ECAPA-TDNN on 200 frames of 80 bands, its 1-D convolutions lifted to images of height 1."""
    net = Layers("ecapa_tdnn")
    x = net.reshape(net.input(batch, 80, 200), batch, 80, 1, 200)
    x = _scaled(net, net.relu(net.biased(x, wide, (1, 5))))
    blocks: list[Value] = []
    total = x
    for dilation in (2, 3, 4):
        y = net.add(_res2_block(net, total if blocks else x, wide, dilation), total)
        blocks.append(y)
        total = net.add(y, total) if dilation < 4 else total
    x = net.relu(net.biased(net.concat(*blocks), 3 * wide, (1, 1)))
    return net.model(net.dense(_attentive_pool(net, x), 192))


def _scaled(net: Layers, x: Value) -> Value:
    """A batch normalisation behind an activation, which no convolution takes in."""
    weights = [net.weight(x.shape[1]) for _ in range(3)]
    return net.node("BatchNormalization", [x, *weights, net.filled(1.0, x.shape[1])], x.shape)


def _res2_block(net: Layers, x: Value, wide: int, dilation: int) -> Value:
    """Eight parts, each convolved with what came out of the one before, and a gate for each channel."""
    batch, _, _, length = x.shape
    x = _scaled(net, net.relu(net.biased(x, 8 * wide, (1, 1))))
    parts: list[Value] = []
    for place in range(8):
        bounds = [net.constant([k]) for k in (place * wide, (place + 1) * wide, 1)]
        part = net.node("Slice", [x, *bounds], (batch, wide, 1, length))
        if place > 1:
            part = net.add(part, parts[-1])
        if place > 0:
            pads = (0, dilation)
            part = _scaled(net, net.relu(net.biased(part, wide, (1, 3), pads=pads, dilation=dilation)))
        parts.append(part)
    x = _scaled(net, net.relu(net.biased(net.concat(*parts), wide, (1, 1))))
    mean = net.flat(net.node("GlobalAveragePool", [x], (batch, wide, 1, 1)))
    gate = net.unary("Sigmoid", net.dense(net.relu(net.dense(mean, 128)), wide))
    return net.node("Mul", [net.reshape(gate, batch, wide, 1, 1), x], x.shape)


def _attentive_pool(net: Layers, x: Value) -> Value:
    """Mean and deviation over the frames, weighted by attention."""
    batch, wide, _, length = x.shape
    rows = net.transpose(net.reshape(x, batch, wide, length), 0, 2, 1)
    scores = net.affine(net.relu(net.affine(rows, 128)), wide)
    weights = net.node("Softmax", [scores], scores.shape, axis=1)
    mean, square = (
        net.node("ReduceSum", [net.mul(weights, y), net.constant([1])], (batch, wide), keepdims=0)
        for y in (rows, net.mul(rows, rows))
    )
    spread = net.node("Sub", [square, net.mul(mean, mean)], (batch, wide))
    deviation = net.unary("Sqrt", net.node("Max", [spread, net.scalar(1e-4)], spread.shape))
    return net.concat(mean, deviation)


NETWORKS: Mapping[str, Callable[[int], onnx.ModelProto]] = {
    "ResNet50": resnet50,
    "ResNeXt101-32x8d": resnext101,
    "MobileNetV1": mobilenet_v1,
    "MobileNetV2": mobilenet_v2,
    "VGG16": vgg16,
    "C3D": c3d,
    "Albert-base": albert_base,
    "ViT-B/16": vit_base,
    "ViT-B/32": partial(vit_base, side=32),
    "ViT-B/16-384": partial(vit_base, image=384),
    "ECAPA-TDNN": ecapa_tdnn,
}
