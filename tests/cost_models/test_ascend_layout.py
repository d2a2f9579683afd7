"""Formats on Ascend: where conversions stand in the graph that is chosen, as a choice by hand has them."""

from __future__ import annotations

from typing import Any, NamedTuple

import onnx
import pytest

from egraph_opt import optimize
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.ascend_device import Device
from egraph_opt.facts.fact import Fact
from egraph_opt.pipeline.stages import saturate
from egraph_opt.rewrites.conditions.formats import (
    IMAGES,
    MATRICES,
    ROWS,
    RULES,
    product_format,
    suits,
    takes_plain,
)
from egraph_opt.rewrites.targets.ascend_layout_channels import laid_concat

from ..knowledge_bases.graphs import Graph

ASCEND = Ascend()
DEVICE = Device(ASCEND.soc)


class Network(Graph):
    """A model in the making, on one input x."""

    def __init__(self, *shape: int) -> None:
        super().__init__(x=shape)

    def reshape(self, x: str, *dims: int) -> str:
        return self.add("Reshape", x, self.constant(dims))

    def conv(self, x: str, channels: int = 64, inputs: int = 64, side: int = 3) -> str:
        w = self.weight(channels, inputs, side, side)
        return self.add("Conv", x, w, pads=[side // 2] * 4)


class Chosen(NamedTuple):
    """What was chosen: the conversions as (operator, shape), sorted, and the cost."""

    conversions: list[tuple[str, tuple[int, ...]]]
    cost: float


def chosen(model: onnx.ModelProto, ascend: Ascend = ASCEND) -> Chosen:
    found = saturate(model, target=ascend).solve(ascend)
    snapshot = found.choice.snapshot
    conversions = []
    for node in found.choice.node.tolist():
        if node >= 0 and snapshot.operator[node] in ("to_layout", "from_layout"):
            shape = snapshot.facts[int(snapshot.node_class[node])].shape
            assert shape is not None
            conversions.append((snapshot.operator[node], tuple(int(str(d)) for d in shape)))
    return Chosen(sorted(conversions), optimize(model, cost=ascend, verify=False).report.cost.after)


def blocks(*shape: int) -> float:
    """The conversion of an image."""
    return DEVICE.to_format(IMAGES, Fact(1, shape))


# ---- images


def test_a_chain_of_images_converts_at_its_ends() -> None:
    g = Network(1, 64, 28, 28)
    y = g.add("Relu", g.conv(g.add("Sin", g.conv("x"))))
    z = g.add("MaxPool", g.add("Add", y, g.add("Sin", y)), kernel_shape=[2, 2], strides=[2, 2])
    found = chosen(g.model(z))
    assert found.conversions == [("from_layout", (1, 64, 14, 14)), ("to_layout", (1, 64, 28, 28))]


def test_a_reshape_between_convolutions_breaks_the_format() -> None:
    """Conv, Reshape, Softmax, Reshape, Conv: the conversions of a backend, priced by their bytes."""
    g = Network(1, 64, 28, 28)
    rows = g.add("Softmax", g.reshape(g.conv("x"), 1, 64, 784), axis=-1)
    with_softmax = chosen(g.model(g.conv(g.reshape(rows, 1, 64, 28, 28))))
    ways = ["from_layout", "from_layout", "to_layout", "to_layout"]
    assert [way for way, _ in with_softmax.conversions] == ways

    without = Network(1, 64, 28, 28)
    direct = chosen(without.model(without.conv(without.conv("x"))))
    assert [way for way, _ in direct.conversions] == ways[1:3]
    softmax = Network(1, 64, 784)
    alone = optimize(
        softmax.model(softmax.add("Softmax", "x", axis=-1)), cost=ASCEND, verify=False
    ).report.cost.after
    extra = alone + 2 * blocks(1, 64, 28, 28) + 2 * ASCEND.soc.view_us
    assert with_softmax.cost == pytest.approx(direct.cost + extra, rel=1e-6)


def test_two_reshapes_of_an_image_of_one_row_are_dearer_than_one() -> None:
    def tail(*between: tuple[int, ...]) -> float:
        g = Network(1, 64, 1, 128)
        y = g.conv("x", side=1)
        for dims in between:
            y = g.reshape(y, *dims)
        model = g.model(g.add("Softmax", y, axis=-1))
        return optimize(model, cost=ASCEND, verify=False).report.cost.before

    one, two = tail((1, 64, 128)), tail((64, 128), (1, 64, 128))
    assert two == pytest.approx(one + ASCEND.soc.view_us)


def test_a_flattened_image_is_converted_before_its_product() -> None:
    """Conv, Flatten, Gemm: one conversion in front, one behind; the product takes rows of ND."""
    g = Network(16, 64, 8, 8)
    flat = g.add("Flatten", g.add("Relu", g.conv("x")))
    found = chosen(g.model(g.add("Gemm", flat, g.weight(4096, 32))))
    assert found.conversions == [("from_layout", (16, 64, 8, 8)), ("to_layout", (16, 64, 8, 8))]


def test_an_operator_without_a_kernel_in_the_format_costs_two_conversions() -> None:
    costs = []
    for op in ("Relu", "Softmax"):
        g = Network(1, 64, 28, 28)
        costs.append(chosen(g.model(g.conv(g.add(op, g.conv("x"))))))
    assert [len(found.conversions) for found in costs] == [2, 4]


def test_channels_are_scaled_within_the_format() -> None:
    """A block with squeeze and excitation: its mean, its gate and the product stay in the format."""
    g = Network(1, 64, 28, 28)
    y = g.conv("x")
    gate = g.add("Sigmoid", g.conv(g.add("GlobalAveragePool", y), side=1))
    found = chosen(g.model(g.conv(g.add("Mul", y, gate))))
    assert len(found.conversions) == 2


def test_a_chain_of_conv1d_is_lifted_and_a_single_one_is_not() -> None:
    def layers(count: int) -> tuple[list[str], Chosen]:
        g = Network(1, 64, 512)
        y = "x"
        for _ in range(count):
            y = g.add("Conv", g.add("Sin", y), g.weight(64, 64, 3), pads=[1, 1])
        model = g.model(y)
        result = optimize(model, cost=ASCEND, verify=False)
        return [n.op_type for n in result.model.graph.node], chosen(model)

    alone, _ = layers(1)
    assert alone == ["Sin", "Conv"]
    chain, found = layers(3)
    assert chain.count("Conv") == 3
    assert len(chain) == 8  # an Unsqueeze and a Squeeze, or Reshapes, around all of it
    assert [way for way, _ in found.conversions] == ["from_layout", "to_layout"]


# ---- matrices


def test_a_chain_of_unaligned_products_converts_at_its_ends() -> None:
    """[100, 768]: rows that fill no whole tiles; the result, of whole tiles, is written in ND."""
    g = Network(100, 768)
    y = "x"
    for _ in range(3):
        y = g.add("Sigmoid", g.add("MatMul", y, g.weight(768, 768)))
    found = chosen(g.model(y))
    assert found.conversions == [("to_layout", (100, 768))]


def test_products_of_one_unaligned_operand_share_its_conversion() -> None:
    """Q, K and V of one x, kept apart by what follows each."""
    g = Network(100, 768)
    parts = [g.add("Softmax", g.add("MatMul", "x", g.weight(768, n)), axis=-1) for n in (768, 256, 512)]
    found = chosen(g.model(*parts))
    assert found.conversions == [("to_layout", (100, 768))]


def test_aligned_products_are_not_converted() -> None:
    g = Network(128, 768)
    found = chosen(g.model(g.add("MatMul", "x", g.weight(768, 768))))
    assert found.conversions == []


def test_a_chip_that_takes_other_rows_in_nd_converts_fewer_products() -> None:
    g = Network(100, 768)
    model = g.model(g.add("MatMul", "x", g.weight(768, 768)))
    assert chosen(model).conversions
    assert chosen(model, Ascend("910b1")).conversions == []


# ---- what fits


@pytest.mark.parametrize(
    ("layout", "shape", "expected"),
    [
        (IMAGES, (2, 64, 8, 8), True),
        (IMAGES, (1, 64, 8, 8), True),
        (IMAGES, (1, 64, 1, 1), True),
        (IMAGES, (1, 64, 1, 8), False),
        (IMAGES, (1, 1, 8, 8), False),
        (IMAGES, (64, 8, 8), False),
        (MATRICES, (1, 1, 8, 8), True),
        (MATRICES, (2, 64, 1, 8), False),
        (ROWS, (1, 1, 8, 8), False),
        (ROWS, (2, 64, 8, 8), True),
    ],
)
def test_operands_are_broadcast_as_a_format_allows(
    layout: str, shape: tuple[int, ...], expected: bool
) -> None:
    result = Fact(1, (2, 64, 8, 8))
    assert suits(layout, Fact(1, shape), result) == expected
    assert suits(layout, Fact(1, (2, 64, "(h+15)//16", "w")), Fact(1, ("n", 64, "h", "w")))
    assert suits(layout, Fact(1, shape, const=True), result)


@pytest.mark.parametrize(
    ("layout", "axis", "channels", "stays"),
    [
        (IMAGES, 1, (32, 48), True),
        (IMAGES, 1, (32, 40), True),
        (IMAGES, 1, (24, 40), False),
        (IMAGES, 2, (24, 24), True),
        (MATRICES, 1, (24, 40), True),
        (ROWS, 1, (24, 40), False),
    ],
)
def test_tensors_are_joined_in_whole_blocks(
    layout: str, axis: int, channels: tuple[int, ...], stays: bool
) -> None:
    """The last one may end within a block."""
    found = laid_concat(tuple(Fact(1, (1, c, 8, 8)) for c in channels), axis, layout, (16, 16))
    assert (found is not None) == stays


@pytest.mark.parametrize(
    ("rule", "a", "b", "plain"),
    [
        ("aligned", (128, 768), (768, 64), True),
        ("aligned", (100, 768), (768, 64), False),
        ("aligned", ("N", 768), (768, 64), False),
        ("aligned", (32, 197, 768), (768, 64), True),
        ("aligned", (32, 197, 768), (32, 768, 64), False),
        ("aligned", (1, 197, 768), (768, 64), False),
        ("inner", (100, 768), (768, 256), True),
        ("inner", (100, 77), (77, 256), True),
        ("inner", (1000, 77), (77, 256), False),
        ("inner", (1000, 70000), (70000, 256), False),
    ],
)
def test_which_products_take_nd(rule: str, a: tuple[Any, ...], b: tuple[int, ...], plain: bool) -> None:
    assert takes_plain(Fact(1, a), Fact(1, b, const=True), RULES[rule], 16) == plain


@pytest.mark.parametrize(
    ("a", "b", "layout"),
    [
        ((100, 768), (768, 300), MATRICES),
        ((500, 1, 768), (768, 300), ROWS),
        ((500, 1, 768), (1, 768, 300), ROWS),
        (("N", "L", 768), (768, 300), ROWS),
        ((1, 197, 768), (768, 300), MATRICES),
        ((32, 64, 768), (768, 300), MATRICES),
        ((32, 197, 768), (32, 768, 300), MATRICES),
    ],
)
def test_with_one_matrix_on_the_right_all_rows_are_one_matrix(
    a: tuple[Any, ...], b: tuple[int, ...], layout: str
) -> None:
    assert product_format(a, b, 16) == layout


def test_a_chain_of_batches_converts_all_rows_at_its_ends() -> None:
    """MatMul, Relu, MatMul: 2 of [250, 2, 300], not padded one by one."""
    g = Network(250, 2, 300)
    y = g.add("Relu", g.add("MatMul", "x", g.weight(300, 300)))
    found = chosen(g.model(g.add("MatMul", y, g.weight(300, 300))))
    assert found.conversions == [("from_layout", (250, 2, 300)), ("to_layout", (250, 2, 300))]
    flat = Network(500, 300)
    y = flat.add("Relu", flat.add("MatMul", "x", flat.weight(300, 300)))
    same = chosen(flat.model(flat.add("MatMul", y, flat.weight(300, 300))))
    assert found.cost == pytest.approx(same.cost)


MEASURED = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,3,32,32] x) => (float[1,8,32,32] y, int64[1,8,1,32] k) <int64[4] d = {8, 3, 1, 1}>
{
    w = ConstantOfShape <value = float[1] {0.01}> (d)
    a = Conv (x, w)
    y = Softmax (a)
    k = ArgMax <axis = 2> (y)
}
"""


def test_peak_memory_counts_the_bytes_that_prices_count() -> None:
    """float16, blocks of 16 channels around a convolution, and integers as they are."""
    plain, chip, wide = (
        optimize(onnx.parser.parse_model(MEASURED), cost=cost, verify=False).report.memory
        for cost in ("nodes", "ascend", Ascend(float_bytes=4))
    )
    pixels, indices = 32 * 32, 8 * 32 * 8
    assert plain.before == plain.after == 2 * (8 * pixels * 4)
    assert chip.before == chip.after == 16 * pixels * 2 + 8 * pixels * 2
    assert wide.after == 2 * (8 * pixels * 4)
    assert indices < chip.after
