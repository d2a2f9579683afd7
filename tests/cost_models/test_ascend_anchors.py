"""Whole networks against throughputs that were measured on chips.

The throughputs are those of the READMEs of Ascend/ModelZoo-PyTorch (ACL_PyTorch).  They are sanity checks of
the order of magnitude: the model ranks graphs, and a factor of two is what it claims for whole networks.
Two of them had help that the model does not know: ResNet50 reads uint8 images through the chip's image
pre-processor, Albert's twelve layers share their weights.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.facts.fact import Fact
from egraph_opt.rewrites.conditions.formats import IMAGES

FACTOR = 2.0


def f32(*shape: int) -> Fact:
    return Fact(1, shape)


def weight(*shape: int) -> Fact:
    return Fact(1, shape, const=True)


def node(op: str, inputs: list[Fact], output: Fact, **attributes: object) -> NodeView:
    return NodeView(op, "", attributes, tuple(inputs), (output,))


class Network:
    """A list of nodes that grows by layers of an image network."""

    def __init__(self, batch: int, channels: int, side: int) -> None:
        self.nodes: list[NodeView] = []
        self.shape = (batch, channels, side, side)

    def conv(
        self, channels: int, kernel: int, stride: int = 1, group: int = 1, relu: str | None = "Relu"
    ) -> None:
        n, c, side, _ = self.shape
        out = (n, channels, side // stride, side // stride)
        w = weight(channels, c // group, kernel, kernel)
        attributes = {"strides": (stride,) * 2, "pads": (kernel // 2,) * 4, "group": group}
        self.nodes.append(node("Conv", [f32(*self.shape), w, weight(channels)], f32(*out), **attributes))
        self.shape = out
        if relu:
            self.nodes.append(node(relu, [f32(*out)], f32(*out)))

    def add(self) -> None:
        self.nodes.append(node("Add", [f32(*self.shape)] * 2, f32(*self.shape)))

    def head(self, classes: int) -> None:
        n, c, _, _ = self.shape
        self.nodes.append(node("GlobalAveragePool", [f32(*self.shape)], f32(n, c, 1, 1)))
        self.nodes.append(node("Flatten", [f32(n, c, 1, 1)], f32(n, c)))
        operands = [f32(n, c), weight(classes, c), weight(classes)]
        self.nodes.append(node("Gemm", operands, f32(n, classes), transB=1))


def resnet50(batch: int) -> list[NodeView]:
    net = Network(batch, 3, 224)
    net.conv(64, 7, 2)
    n, c, side, _ = net.shape
    pooled = (n, c, side // 2, side // 2)
    attributes = {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}
    net.nodes.append(node("MaxPool", [f32(*net.shape)], f32(*pooled), **attributes))
    net.shape = pooled
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            entry = net.shape
            net.conv(width, 1)
            net.conv(width, 3, stride)
            net.conv(4 * width, 1, relu=None)
            if not block:
                left, net.shape = net.shape, entry
                net.conv(4 * width, 1, stride, relu=None)
                assert net.shape == left
            net.add()
            net.nodes.append(node("Relu", [f32(*net.shape)], f32(*net.shape)))
    net.head(1000)
    return net.nodes


def mobilenet_v2(batch: int) -> list[NodeView]:
    net = Network(batch, 3, 224)
    net.conv(32, 3, 2, relu="Clip")
    table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2)]
    for expand, channels, blocks, first_stride in [*table, (6, 320, 1, 1)]:
        for block in range(blocks):
            entry, stride = net.shape, 1 if block else first_stride
            hidden = entry[1] * expand
            if expand > 1:
                net.conv(hidden, 1, relu="Clip")
            net.conv(hidden, 3, stride, group=hidden, relu="Clip")
            net.conv(channels, 1, relu=None)
            if net.shape == entry:
                net.add()
    net.conv(1280, 1, relu="Clip")
    net.head(1000)
    return net.nodes


def albert_base(batch: int, length: int = 128, hidden: int = 768, heads: int = 12) -> list[NodeView]:
    size = hidden // heads
    x, wide = f32(batch, length, hidden), f32(batch, length, 4 * hidden)
    split, turned = f32(batch, length, heads, size), f32(batch, heads, length, size)
    scores, keys = f32(batch, heads, length, length), f32(batch, heads, size, length)

    def dense(before: Fact, after: Fact) -> list[NodeView]:
        assert before.shape is not None
        assert after.shape is not None
        rows, columns = int(str(before.shape[-1])), int(str(after.shape[-1]))
        product = node("MatMul", [before, weight(rows, columns)], after)
        return [product, node("Add", [after, weight(columns)], after)]

    layer: list[NodeView] = []
    for perm, to in (((0, 2, 1, 3), turned), ((0, 2, 3, 1), keys), ((0, 2, 1, 3), turned)):
        layer += [*dense(x, x), node("Reshape", [x], split), node("Transpose", [split], to, perm=perm)]
    layer += [node("MatMul", [turned, keys], scores), node("Mul", [scores, weight()], scores)]
    layer += [node("Softmax", [scores], scores), node("MatMul", [scores, turned], turned)]
    layer += [
        node("Transpose", [turned], split, perm=(0, 2, 1, 3)),
        node("Reshape", [split], x),
        *dense(x, x),
    ]
    layer += [node("Add", [x, x], x), node("LayerNormalization", [x, weight(hidden), weight(hidden)], x)]
    layer += [*dense(x, wide), node("Gelu", [wide], wide), *dense(wide, x)]
    layer += [node("Add", [x, x], x), node("LayerNormalization", [x, weight(hidden), weight(hidden)], x)]
    return layer * 12


CUBES = ("Conv", "Gemm", "MatMul")
STAGES = ("Add", "Clip", "Gelu", "Mul", "Relu")


def compiled(nodes: list[NodeView], most: int) -> list[NodeView]:
    """The network as the laws of `ascend.fusion` have it: element-wise operators join the cube before them.

    In these networks nobody but the next node uses a value that is joined.
    """
    kernels: list[NodeView] = []
    for view in nodes:
        last = kernels[-1] if kernels else view
        if view.op_type in CUBES:
            own: dict[str, object] = {"cube": view.op_type, "settings": tuple(view.attributes.items())}
            own |= {"operands": len(view.inputs), "stages": ()}
            kernels.append(NodeView("FusedCube", "egraph_opt.pseudo", own, view.inputs, view.outputs))
        elif view.op_type in STAGES and last.op_type == "FusedCube" and len(stages_of(last)) < most:
            source = "value" if len(view.inputs) > 1 else ""
            more = {**last.attributes, "stages": (*stages_of(last), (view.op_type, (), source, 1))}
            inputs = (*last.inputs, *view.inputs[1:])
            kernels[-1] = NodeView("FusedCube", "egraph_opt.pseudo", more, inputs, view.outputs)
        else:
            kernels.append(view)
    return kernels


def stages_of(kernel: NodeView) -> tuple[object, ...]:
    stages = kernel.attributes["stages"]
    assert isinstance(stages, tuple)
    return stages


def price(model: Ascend, view: NodeView) -> float:
    """Images stay in the format of convolutions; these networks convert a few at their ends only."""
    x = view.inputs[0]
    return (
        model.in_format(IMAGES) if x is not None and x.rank == 4 and view.op_type != "MatMul" else model
    ).cost(view)


ANCHORS = [
    ("ResNet50", "310p3", resnet50, 64, 4250),
    ("MobileNetV2", "310p3", mobilenet_v2, 4, 7072),
    ("MobileNetV2", "310b1", mobilenet_v2, 4, 1488),
    ("Albert-base", "310p3", albert_base, 1, 763),
    ("Albert-base", "310p3", albert_base, 4, 1148),
    ("Albert-base", "310p3", albert_base, 16, 1350),
    ("Albert-base", "310", albert_base, 1, 231),
    ("Albert-base", "310", albert_base, 16, 301),
]


@pytest.mark.parametrize(
    ("soc", "network", "batch", "measured"),
    [anchor[1:] for anchor in ANCHORS],
    ids=[f"{name}-{soc}-batch{batch}" for name, soc, _, batch, _ in ANCHORS],
)
def test_throughput_is_within_a_factor_of_what_was_measured(
    soc: str, network: Callable[[int], list[NodeView]], batch: int, measured: float
) -> None:
    model = Ascend(soc)
    microseconds = sum(price(model, view) for view in compiled(network(batch), model.soc.fused_stages))
    predicted = batch * 1e6 / microseconds
    assert measured / FACTOR < predicted < measured * FACTOR


def test_the_networks_have_the_arithmetic_that_is_published() -> None:
    """ResNet50 8.2 and MobileNetV2 0.6 GFLOP an image; a BERT-base encoder 22 to 23 at 128 tokens."""
    totals = [
        sum(counting.flops(view) for view in net(1)) / 1e9 for net in (resnet50, mobilenet_v2, albert_base)
    ]
    assert totals == pytest.approx([8.2, 0.6, 22.5], rel=0.08)
