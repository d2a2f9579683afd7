"""A convolution that looks at single elements is a product with the channels, wherever these are.

Conv(Transpose(x), W, b) = Transpose(x @ W' + b)        for a kernel of 1, the channels last in x
Transpose(x) @ W -> Transpose(Conv(x, W'))              for channels that Transpose brings last
Transpose(x @ W + c) -> Conv(Transpose(x), W', c)       in front of a convolution, which takes it in

Spatial axes and the batch may stand in any order.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, kernel, law, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Int, Permutation, Tensor
from egraph_opt.operators import ConvWindow, conv, none, reshape, transpose
from egraph_opt.operators.terms import node
from egraph_opt.rewrites.conditions.chains import of_weight, weights
from egraph_opt.rewrites.conditions.channels import (
    count_along,
    is_constant_bias,
    is_float_constant,
    is_present,
    static_shape,
)
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.resized import looks_at_one
from egraph_opt.rewrites.convolution.whole_image import is_no_double, matrix, pixel_window
from egraph_opt.rewrites.transposes.composition import invert


@hosted()
def brings_channels(p: Permutation, window: ConvWindow) -> bool:
    """The last axis becomes that of the channels, of which there are no groups."""
    return len(p) > 2 and p[1] == len(p) - 1 and window.group == 1


@hosted()
def kernel_of_matrix(x: Fact, w: Fact, p: Permutation) -> Dims | None:
    """[M, C, 1, ..] for a matrix [C, M] that is multiplied with the channels."""
    shape = static_shape(w)
    if x.shape is None or 0 in x.shape:
        return None  # ONNX knows no convolution of nothing
    if shape is None or len(shape) != 2 or not is_float_constant(w) or x.rank != len(p) or len(p) < 3:
        return None
    return (shape[1], shape[0], *(1,) * (len(p) - 2)) if p[1] == len(p) - 1 else None


@hosted()
def is_large(x: Fact, p: Permutation) -> bool:
    """No spatial axis is of one element: what has such an axis has enough spellings."""
    return len(p) > 2 and x.shape is not None and 1 not in (x.shape[k] for k in p[2:])


@hosted()
def has_several_axes(p: Permutation) -> bool:
    """Of one spatial axis the product is one with columns, W' @ x', and needs no transposes."""
    return len(p) > 3


@hosted()
def is_constant_weight(w: Fact) -> bool:
    return is_float_constant(w)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, first, w = g.input(("N", 3, "L", 4)), (0, 3, 1, 2), g.random(6, 4, 1, 1)
    for order, bias in (
        (first, g.random(6)),
        (first, none()),
        ((0, 3, 2, 1), none()),
        ((1, 3, 0, 2), none()),
    ):
        yield g.fires(conv(transpose(x, order), w, bias, PLAIN))
    line = ConvWindow((1,), (0, 0), (1,))
    for turned in ((0, 2, 1), (1, 2, 0)):
        yield g.fires(conv(transpose(g.input(("N", 3, 4)), turned), g.random(6, 4, 1), none(), line))
    image = g.input(("N", 4, 3, "L"))
    yield g.fires(transpose(transpose(image, (0, 2, 3, 1)) @ g.random(4, 6), first))
    yield from g.near_misses(
        (conv(transpose(x, first), g.random(6, 4, 2, 1), none(), PLAIN), "the kernel sees neighbours"),
        (conv(transpose(x, first), w, none(), ConvWindow((2, 1), (0,) * 4, (1, 1))), "it strides"),
        (conv(transpose(x, first), w, none(), ConvWindow((1, 1), (1,) * 4, (1, 1))), "it pads"),
        (conv(transpose(g.input((1, 4, 3, 3)), (0, 1, 3, 2)), w, none(), PLAIN), "channels stay"),
        (
            conv(
                transpose(x, first),
                g.random(6, 2, 1, 1),
                g.random(6),
                ConvWindow((1, 1), (0,) * 4, (1, 1), 2),
            ),
            "groups",
        ),
        (conv(transpose(x, first), g.input((6, 4, 1, 1)), none(), PLAIN), "the weight is no constant"),
        (transpose(x @ g.random(4, 6), first), "nothing has its channels in front"),
        (transpose(transpose(image, (0, 2, 3, 1)) @ g.random(4, 6), (0, 1, 3, 2)), "channels stay last"),
    )


@law(
    "convolution", numerics="reassociates", kind="replace", serves="traffic", examples=_examples, resumes=True
)
def of_channels_last(
    x: Tensor, z: Tensor, w: Tensor, b: Tensor, u: ConvWindow, p: Permutation, q: Permutation, k: Int
):
    """Conv(Transpose(x), W, b) = Transpose(x @ W' + b) for a kernel of 1, the channels last in x

    To the left where x is transposed itself.  Weights of the original only: others have gone one of the ways.
    """
    product = x @ transpose(reshape(w, matrix(w)), (1, 0))
    once = guard(eq(w, node(k)), is_constant_weight(w), is_large(x, p), varies(x))
    for bias, shifted, known in (
        (none(), product, ()),
        (b, product + b, (is_present(b), guard(is_constant_bias(b, w)))),
    ):
        left, point = conv(transpose(x, p), w, bias, u), (looks_at_one(w, u), brings_channels(p, u))
        yield rewrite(left, transpose(shifted, p), *point, *known, once, inverse="of_channels_last")
    weight = reshape(transpose(w, (1, 0)), kernel_of_matrix(x, w, p))
    image = conv(transpose(x, p), weight, none(), pixel_window(x))
    demand = (kernel(is_no_double(x)), once, guard(has_several_axes(p), eq(x, transpose(z, q))))
    yield rewrite(transpose(x @ w, p), image, *demand, inverse="of_channels_last")


@hosted()
def undone(q: Permutation) -> Permutation | None:
    """The transpose that brings the channels back, which q brings last."""
    return invert(q) if len(q) > 3 and q[-1] == 1 else None


def _sunk_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    z, w, last = g.input(("N", 4, 3, "L")), g.random(4, 6), (0, 2, 3, 1)
    yield g.fires(transpose(z, last) @ w)
    yield g.fires(transpose(g.input((2, 4, 3, 2, 5)), (0, 4, 2, 3, 1)) @ w)
    yield from g.near_misses(
        (transpose(z, (0, 2, 1, 3)) @ g.random(5, 6), "these are no channels"),
        (transpose(z, last) @ g.random(3, 4, 6), "a matrix for each row"),
        (transpose(z, last) @ g.input((4, 6)), "the weight is no constant"),
        (transpose(g.input(("N", 4, 3)), (0, 2, 1)) @ w, "one axis: a product with columns"),
        (transpose(g.input((0, 4, 3, 2)), last) @ w, "of nothing"),
    )


@law(
    "convolution",
    numerics="reassociates",
    kind="move",
    serves="traffic",
    source="ConvNeXt, arXiv 2201.03545",
    uses=(weights,),
    examples=_sunk_examples,
)
def of_channels_brought_last(z: Tensor, w: Tensor, q: Permutation, k: Int):
    """Transpose(x) @ W = Transpose(Conv(x, W')) for channels that Transpose brings last

    Of products of the original: the convolutions that `of_channels_last` makes products of would come back.
    """
    x = transpose(z, q)
    weight = reshape(transpose(w, (1, 0)), kernel_of_matrix(x, w, undone(q)))
    sunk = transpose(conv(z, weight, none(), pixel_window(z)), q)
    demand = guard(is_large(x, undone(q)), varies(z), of_weight(x, w, 0), eq(x @ w, node(k)))
    yield rewrite(x @ w, sunk, kernel(is_no_double(z)), demand, inverse="of_channels_last")


@hosted()
def shift_of_channels(x: Fact, w: Fact, c: Fact) -> Dims | None:
    """The dims of a shift of x @ W as the bias of a convolution: one number for each channel."""
    shape = static_shape(w)
    if shape is None or x.rank is None or len(shape) != 2:
        return None
    return (shape[1],) if count_along(c, x.rank, x.rank - 1, shape[1]) == shape[1] else None


def _front_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, first, v = g.input(("N", 6, 5, 3)), g.random(3, 4), (0, 3, 1, 2), g.random(6, 4, 3, 3)
    for image in (x @ w, x @ w + g.random(4), g.random(1, 1, 4) + x @ w):
        yield g.fires(conv(transpose(image, first), v, none(), PLAIN))
    yield g.fires(conv(transpose(x @ w + g.random(4), (0, 3, 2, 1)), v, g.random(6), PLAIN))
    yield from g.near_misses(
        (transpose(x @ w, first), "there is no convolution"),
        (conv(transpose(x @ w, (0, 1, 3, 2)), g.random(6, 6, 3, 3), none(), PLAIN), "rows are its channels"),
        (conv(transpose(x @ g.input((3, 4)), first), v, none(), PLAIN), "the weight is no constant"),
        (conv(transpose(x @ w + g.random(5, 1), first), v, none(), PLAIN), "a number for each row"),
        (conv(transpose(x @ w + g.input((4,)), first), v, none(), PLAIN), "the shift is no constant"),
        (conv(transpose(x @ g.random(6, 3, 4), first), v, none(), PLAIN), "a matrix for each row"),
    )


@law(
    "convolution",
    numerics="reassociates",
    kind="replace",
    serves="arithmetic",
    uses=(either_side, weights),
    examples=_front_examples,
)
def of_channels_in_front(
    x: Tensor, w: Tensor, c: Tensor, p: Permutation, v: Tensor, b: Tensor, u: ConvWindow, i: Int, k: Int
):
    """Transpose(x @ W + c) = Conv(Transpose(x), W', c) in front of a convolution, which takes it in"""
    product, weight = x @ w, reshape(transpose(w, (1, 0)), kernel_of_matrix(x, w, p))
    for made, bias in (
        (product, none()),
        (beside("Add", product, c, i), reshape(c, shift_of_channels(x, w, c))),
    ):
        turned, image = transpose(made, p), conv(transpose(x, p), weight, bias, pixel_window(x))
        known = (has_several_axes(p), is_large(x, p), eq(w, node(k)), of_weight(x, w, 0), varies(x))
        demand = guard(conv(turned, v, b, u), *known)
        yield rewrite(turned, image, kernel(is_no_double(x)), demand, inverse="of_channels_last")
