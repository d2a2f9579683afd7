"""Which of two equal graphs is cheaper on Ascend: the relations that laws are extracted by."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.ascend_soc import socs
from egraph_opt.cost_models.counting import dims
from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import PSEUDO_DOMAIN
from egraph_opt.rewrites.conditions.formats import IMAGES

CHIPS = {soc: Ascend(soc) for soc in socs()}
ASCEND = CHIPS["310p3"]
every_chip = pytest.mark.parametrize("model", CHIPS.values(), ids=CHIPS)


def f32(*shape: int) -> Fact:
    return Fact(1, shape)


def weight(*shape: int) -> Fact:
    return Fact(1, shape, const=True)


def ints(*value: int) -> Fact:
    return Fact(7, (len(value),), const=True, value=value)


def node(op: str, inputs: list[Fact], output: Fact, **attributes: object) -> NodeView:
    return NodeView(op, "", attributes, tuple(inputs), (output,))


def total(model: Ascend, *nodes: NodeView) -> float:
    return sum(model.cost(view) for view in nodes)


def conv(n: int, c: int, image: tuple[int, ...], m: int, kernel: tuple[int, ...], **more: object) -> NodeView:
    """A convolution that keeps the image's size (odd kernels, stride 1) and has a bias."""
    pads = tuple(k // 2 for k in kernel) * 2
    group = int(str(more.get("group", 1)))
    operands = [f32(n, c, *image), weight(m, c // group, *kernel), weight(m)]
    return node("Conv", operands, f32(n, m, *image), pads=pads, kernel_shape=kernel, **more)


def view(op: str, before: tuple[int, ...], after: tuple[int, ...]) -> NodeView:
    return node(op, [f32(*before), ints(2)], f32(*after))


def pool(image: tuple[int, int], kernel: tuple[int, int], op: str = "AveragePool") -> NodeView:
    out = (image[0] // kernel[0], image[1] // kernel[1])
    return node(op, [f32(1, 64, *image)], f32(1, 64, *out), kernel_shape=kernel, strides=kernel)


def shape_of(fact: Fact | None) -> tuple[int, ...]:
    assert fact is not None
    return dims(fact)


def converted(model: Ascend, *shapes: tuple[int, ...]) -> float:
    """Conversions of images."""
    return total(
        model,
        *(
            NodeView("ToLayout", PSEUDO_DOMAIN, {"layout": IMAGES}, (f32(*shape),), (f32(*shape),))
            for shape in shapes
        ),
    )


def lifted(model: Ascend, flat: NodeView, *layers: NodeView) -> float:
    """Layers on an image of one row in its format, between conversions and what makes an image of a row."""
    row, image = shape_of(flat.inputs[0]), shape_of(layers[0].inputs[0])
    last, back = shape_of(layers[-1].outputs[0]), shape_of(flat.outputs[0])
    ends = total(model, view("Unsqueeze", row, image), view("Squeeze", last, back))
    return ends + converted(model, image, last) + total(model.in_format(IMAGES), *layers)


# ---- Conv1d


@every_chip
@pytest.mark.parametrize("axis", [2, 3])
@pytest.mark.parametrize(("channels", "length"), [(8, 16), (64, 128), (256, 4000), (64, 16000)])
def test_a_chain_of_conv1d_is_cheaper_lifted_to_two_dimensions(
    model: Ascend, channels: int, length: int, axis: int
) -> None:
    flat = (1, channels, length)
    image = (1, length) if axis == 2 else (length, 1)
    whole = (1, channels, *image)
    kernel = (1, 3) if axis == 2 else (3, 1)
    row = conv(1, channels, (length,), channels, (3,))
    chain = [row, node("LeakyRelu", [f32(*flat)], f32(*flat)), row]
    layer = conv(1, channels, image, channels, kernel)
    once = lifted(model, row, layer, node("LeakyRelu", [f32(*whole)], f32(*whole)), layer)
    assert once < total(model, *chain)


@every_chip
def test_a_single_conv1d_is_not_worth_lifting(model: Ascend) -> None:
    row, image = conv(1, 64, (128,), 64, (3,)), conv(1, 64, (1, 128), 64, (1, 3))
    assert model.cost(row) < lifted(model, row, image)


def test_transposes_and_normalisation_between_convolutions_are_worth_removing() -> None:
    flat, turned = f32(1, 64, 128), f32(1, 128, 64)
    kept = [
        node("Transpose", [flat], turned, perm=(0, 2, 1)),
        node("BatchNormalization", [turned, *[weight(128)] * 4], turned),
        node("Transpose", [turned], flat, perm=(0, 2, 1)),
    ]
    scaled = [node("Mul", [flat, weight(128)], flat), node("Add", [flat, weight(128)], flat)]
    assert total(ASCEND, *scaled) < total(ASCEND, *kept)


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
def test_a_chain_of_one_dimensional_pools_is_cheaper_lifted(op: str) -> None:
    def layer(*image: int) -> NodeView:
        window = (2,) if len(image) == 1 else (1, 2)
        out = f32(1, 64, *image[:-1], image[-1] // 2)
        return node(op, [f32(1, 64, *image)], out, kernel_shape=window, strides=window)

    ends = replace(layer(256), outputs=layer(128).outputs)
    chain = total(ASCEND, layer(256), layer(128))
    assert lifted(ASCEND, ends, layer(1, 256), layer(1, 128)) < chain


def test_a_chain_of_transposed_conv1d_is_cheaper_lifted() -> None:
    def layer(*image: int) -> NodeView:
        kernel = (4,) if len(image) == 1 else (1, 4)
        out = (*image[:-1], image[-1] * 2)
        strides = (2,) if len(image) == 1 else (1, 2)
        return node(
            "ConvTranspose", [f32(1, 32, *image), weight(32, 32, *kernel)], f32(1, 32, *out), strides=strides
        )

    ends = replace(layer(64), outputs=layer(128).outputs)
    assert lifted(ASCEND, ends, layer(1, 64), layer(1, 128)) < total(ASCEND, layer(64), layer(128))


# ---- pools


@every_chip
@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
def test_a_pool_beyond_the_limit_is_cheaper_as_a_cascade_within_it(model: Ascend, op: str) -> None:
    whole = pool((64, 128), (32, 64), op)
    cascade = [pool((64, 128), (8, 16), op), pool((8, 8), (4, 4), op)]
    assert total(model, *cascade) < total(model, whole)


def test_a_pool_within_the_limit_is_cheaper_than_a_cascade() -> None:
    assert ASCEND.cost(pool((64, 64), (8, 8))) < total(ASCEND, pool((64, 64), (4, 4)), pool((16, 16), (2, 2)))


@pytest.mark.parametrize(("kernel", "falls"), [((15, 17), False), ((16, 16), True), ((1, 256), True)])
def test_the_window_decides_where_a_pool_runs(kernel: tuple[int, int], falls: bool) -> None:
    view_ = node("MaxPool", [f32(1, 16, 512, 512)], f32(1, 16, 32, 32), kernel_shape=kernel, strides=(16, 16))
    assert (ASCEND.in_format(IMAGES).cost(view_) > 100) == falls


def test_a_pool_of_the_whole_image_is_cheaper_as_a_mean() -> None:
    image, out = f32(1, 64, 31, 31), f32(1, 64, 1, 1)
    whole = node("AveragePool", [image], out, kernel_shape=(31, 31), strides=(1, 1))
    for op in ("GlobalAveragePool", "ReduceMean"):
        assert ASCEND.cost(node(op, [image], out)) < ASCEND.cost(whole)


# ---- convolutions in two dimensions


@every_chip
def test_a_long_image_is_cheaper_tall_than_wide(model: Ascend) -> None:
    wide = conv(1, 32, (3, 20000), 32, (1, 3))
    tall = conv(1, 32, (20000, 3), 32, (3, 1))
    assert model.cost(tall) < model.cost(wide)


def test_a_small_image_costs_the_same_both_ways() -> None:
    assert ASCEND.cost(conv(1, 32, (20, 40), 32, (1, 3))) == ASCEND.cost(conv(1, 32, (40, 20), 32, (3, 1)))


def test_a_block_of_wide_convolutions_is_worth_two_transposes() -> None:
    wide, tall = (1, 32, 23, 21490), (1, 32, 21490, 23)
    turn = [
        node("Transpose", [f32(*wide)], f32(*tall), perm=(0, 1, 3, 2)),
        node("Transpose", [f32(*tall)], f32(*wide), perm=(0, 1, 3, 2)),
    ]
    as_is = [conv(1, 32, wide[2:], 32, (3, 3))] * 2
    turned = [conv(1, 32, tall[2:], 32, (3, 3))] * 2
    assert total(ASCEND, *turned, *turn) < total(ASCEND, *as_is)


def test_channels_are_padded_to_blocks_of_sixteen() -> None:
    costs = [ASCEND.in_format(IMAGES).cost(conv(8, c, (224, 224), 64, (3, 3))) for c in (3, 16, 17, 32)]
    assert costs[0] == costs[1] < costs[2] == costs[3]


def test_a_kernel_beyond_the_limit_is_cheaper_in_two_parts() -> None:
    whole = node("Conv", [f32(1, 64, 4, 2000), weight(64, 64, 1, 300)], f32(1, 64, 4, 1701))
    part = node("Conv", [f32(1, 64, 4, 1850), weight(64, 64, 1, 150)], f32(1, 64, 4, 1701))
    cut = node("Slice", [f32(1, 64, 4, 2000), ints(0), ints(1850), ints(3)], f32(1, 64, 4, 1850))
    added = node("Add", [f32(1, 64, 4, 1701)] * 2, f32(1, 64, 4, 1701))
    assert total(ASCEND, part, part, cut, cut, added) < ASCEND.cost(whole)


def test_depthwise_convolution_is_cheaper_than_dense_and_dearer_than_its_arithmetic() -> None:
    depthwise = ASCEND.cost(conv(16, 256, (28, 28), 256, (3, 3), group=256))
    dense = ASCEND.cost(conv(16, 256, (28, 28), 256, (3, 3)))
    assert dense / 256 < depthwise < dense


# ---- everything else


def matmul(m: int, k: int, n: int) -> NodeView:
    return node("MatMul", [f32(4, m, k), weight(k, n)], f32(4, m, n))


def test_an_unaligned_product_costs_more_than_the_aligned_one_above_it() -> None:
    assert ASCEND.cost(matmul(128, 768, 768)) < ASCEND.cost(matmul(127, 768, 768))
    assert ASCEND.cost(matmul(128, 768, 768)) < ASCEND.cost(matmul(128, 766, 767))


def test_one_merged_product_is_cheaper_than_three() -> None:
    parts = [f32(4, 128, 256)] * 3
    split = NodeView("Split", "", {"axis": 2}, (f32(4, 128, 768), ints(256, 256, 256)), tuple(parts))
    assert total(ASCEND, matmul(128, 256, 768), split) < total(ASCEND, *[matmul(128, 256, 256)] * 3)


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(8, 16, 24, 32), (8, 16, 24, 32, 8)])
def test_one_split_is_cheaper_than_a_gather_for_each_part(shape: tuple[int, ...], axis: int) -> None:
    x = f32(*shape[:axis], 3, *shape[axis + 1 :])
    kept = (*shape[:axis], 1, *shape[axis + 1 :])
    part = (*shape[:axis], *shape[axis + 1 :])
    gather = node("Gather", [x, Fact(7, (), const=True, value=(1,))], f32(*part), axis=axis)
    split = NodeView("Split", "", {"axis": axis}, (x, ints(1, 1, 1)), (f32(*kept),) * 3)
    assert ASCEND.cost(split) + 3 * ASCEND.cost(view("Squeeze", kept, part)) < 3 * ASCEND.cost(gather)


@pytest.mark.parametrize("op", ["ReduceMean", "ReduceMax"])
def test_dropping_the_axes_of_an_image_costs_the_conversion_that_a_squeeze_costs(op: str) -> None:
    image, kept = f32(1, 64, 7, 7), f32(1, 64, 1, 1)
    spelled = [node(op, [image, ints(2, 3)], kept), view("Squeeze", (1, 64, 1, 1), (1, 64))]
    dropped = node(op, [image, ints(2, 3)], f32(1, 64), keepdims=0)
    assert ASCEND.cost(dropped) == pytest.approx(total(ASCEND, *spelled), abs=2 * ASCEND.soc.view_us)
    assert ASCEND.cost(dropped) < total(ASCEND, *spelled)


def test_a_cast_to_double_falls_to_the_ai_cpu_and_one_to_half_does_not() -> None:
    x = f32(64)
    assert ASCEND.cost(node("Cast", [x], Fact(11, (64,)))) > 50
    assert ASCEND.cost(node("Cast", [x], Fact(10, (64,)))) < 5


def test_fewer_views_are_better_and_cheaper_than_anything_that_runs() -> None:
    reshape = ASCEND.cost(view("Reshape", (8, 12, 64), (96, 64)))
    assert 0 < reshape < ASCEND.cost(node("Relu", [f32(1)], f32(1)))


def test_a_transpose_that_turns_the_innermost_axis_costs_more() -> None:
    x = f32(32, 64, 512, 16)
    blocks = node("Transpose", [x], f32(64, 32, 512, 16), perm=(1, 0, 2, 3))
    turned = node("Transpose", [x], f32(32, 64, 16, 512), perm=(0, 1, 3, 2))
    assert ASCEND.cost(blocks) < ASCEND.cost(turned)


def test_one_slice_over_two_axes_is_cheaper_than_two() -> None:
    x, once, both = f32(1, 64, 64), f32(1, 32, 64), f32(1, 32, 32)
    two = [node("Slice", [x, *[ints(0)] * 3], once), node("Slice", [once, *[ints(0)] * 3], both)]
    assert ASCEND.cost(node("Slice", [x, *[ints(0, 0)] * 3], both)) < total(ASCEND, *two)


def test_a_power_of_two_is_cheaper_multiplied() -> None:
    x = f32(64, 1024)
    assert ASCEND.cost(node("Mul", [x, x], x)) < ASCEND.cost(node("Pow", [x, weight()], x))


# ---- monotone

SMALL = st.integers(1, 300)


@every_chip
@settings(deadline=None, max_examples=40)
@given(
    n=SMALL, c=SMALL, m=SMALL, h=SMALL, w=st.integers(1, 9000), k=st.integers(0, 3), grow=st.integers(0, 4)
)
def test_a_convolution_gets_no_cheaper_when_it_grows(
    model: Ascend, n: int, c: int, m: int, h: int, w: int, k: int, grow: int
) -> None:
    assume(h * w > 1 or grow not in (1, 2))  # whole blocks of channels of one pixel need no conversion
    extents = [n, c, m, h, w]
    larger = [*extents[:grow], extents[grow] + 7, *extents[grow + 1 :]]
    kernel = (2 * k + 1, 2 * k + 1)
    costs = [model.cost(conv(a, b, (d, e), g, kernel)) for a, b, g, d, e in (extents, larger)]
    assert costs[0] <= costs[1] * (1 + 1e-12)


@every_chip
@settings(deadline=None, max_examples=40)
@given(
    op=st.sampled_from(
        ["Add", "Tanh", "Softmax", "ReduceSum", "Transpose", "Concat", "Gelu", "NoSuchOperator"]
    ),
    shape=st.lists(SMALL, min_size=3, max_size=4),
    times=st.integers(2, 9),
)
def test_no_operator_gets_cheaper_for_a_larger_batch(
    model: Ascend, op: str, shape: list[int], times: int
) -> None:
    small, large = f32(*shape), f32(shape[0] * times, *shape[1:])
    assert model.cost(node(op, [small], small)) <= model.cost(node(op, [large], large))
