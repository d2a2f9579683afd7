"""A convolution that sees its whole image at once is a product of matrices.

Conv(x, W, b) -> Reshape(Reshape(x) @ Reshape(W)' + b)        for a kernel as large as the image, without pads
W @ Reshape(x, [N, C, ..]) -> Reshape(Conv(x, W))             for all pixels of an image in a row
Reshape(x @ W + b, [N, M, 1, ..]) -> Conv(Reshape(x, [N, C, 1, ..]), W', b)       rows that are pixels again

So are the gates of squeeze and excite, whose images are single elements, and heads of detectors.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, kernel, law, rewrite
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Dims, Tensor
from egraph_opt.operators import ConvWindow, conv, none, reshape, transpose
from egraph_opt.rewrites.conditions.chains import is_weight
from egraph_opt.rewrites.conditions.channels import (
    is_constant_bias,
    is_float_constant,
    is_present,
    static_shape,
)
from egraph_opt.rewrites.conditions.view_shapes import known_dims, same_dims
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.linear.selection import absorbing, weight


@hosted()
def matrix(w: Fact) -> Dims | None:
    """[M, C * K]."""
    shape = static_shape(w)
    return None if shape is None else (shape[0], math.prod(shape[1:]))


@hosted()
def rows(x: Fact, w: Fact, window: ConvWindow) -> Dims | None:
    """[N, 1, .., C * K] of an image that a kernel covers; None where the kernel moves, or sees padding."""
    if x.shape is None or len(x.shape) < 3 or w.shape is None or window.group != 1 or any(window.pads):
        return None
    count, channels, spatial = *x.shape[:2], [d for d in x.shape[2:] if isinstance(d, int)]
    if not isinstance(channels, int) or count is None or (*x.shape[:2], *spatial) != x.shape:
        return None
    # With a dilation the kernel would be smaller than what it covers.
    dilated = any(d > 1 and k > 1 for d, k in zip(window.dilations, spatial, strict=True))
    if dilated or x.shape[2:] != w.shape[2:]:
        return None
    return count, *(1,) * len(spatial), channels * math.prod(spatial)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    pixel, image, w = g.input(("N", 4, 1, 1)), g.input(("N", 4, 2, 3)), g.random(6, 4, 2, 3)
    yield g.fires(conv(pixel, g.random(6, 4, 1, 1), g.random(6), PLAIN))
    yield g.fires(conv(image, w, none(), PLAIN))
    yield g.fires(conv(g.input((2, 4, 5)), g.random(6, 4, 5), g.random(6), ConvWindow((2,), (0, 0), (1,))))
    yield from g.near_misses(
        (conv(image, g.random(6, 4, 2, 2), none(), PLAIN), "the kernel moves"),
        (conv(pixel, w, none(), ConvWindow((1, 1), (1, 1, 0, 1), (1, 1))), "it sees padding"),
        (conv(pixel, g.random(6, 2, 1, 1), none(), ConvWindow((1, 1), (0,) * 4, (1, 1), 2)), "groups"),
        (conv(g.input(("N", 4, "L", 1)), g.random(6, 4, 1, 1), none(), PLAIN), "the image may be larger"),
    )


@law(
    "convolution",
    numerics="reassociates",
    kind="replace",
    serves="arithmetic",
    source="squeeze and excite, arXiv 1709.01507",
    examples=_examples,
)
def of_whole_image(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b) = Reshape(Reshape(x) @ Reshape(W)' + b) for a kernel as large as the image"""
    product = reshape(x, rows(x, w, u)) @ transpose(reshape(w, matrix(w)), (1, 0))
    for bias, total, known in (
        (none(), product, ()),
        (b, product + b, (is_present(b), guard(is_constant_bias(b, w)))),
    ):
        z = conv(x, w, bias, u)
        once = (guard(is_weight(w, x)), *known)
        yield rewrite(z, reshape(total, known_dims(z)), *once, because="a product knows no window")


# --- pixels in a row --------------------------------------------------------------------------------------


@hosted()
def pixel_kernel(w: Fact, x: Fact, flat: Fact) -> Dims | None:
    """[M, C, 1, ..], for a matrix that is multiplied with the pixels of an image in a row."""
    shape = static_shape(w)
    if shape is None or len(shape) != 2 or not is_float_constant(w) or x.shape is None or flat.shape is None:
        return None
    if len(x.shape) < 4 or len(flat.shape) != 3 or not same_dims(flat.shape[:2], x.shape[:2]):
        return None
    if x.shape[1] != shape[1] or 0 in x.shape:  # of no elements, a row may have any length
        return None
    return (*shape, *(1,) * (len(x.shape) - 2))


@hosted()
def is_no_double(x: Fact) -> bool:
    """Onnxruntime convolves no float64."""
    return x.dtype != TensorProto.DOUBLE


@hosted()
def pixel_window(x: Fact) -> ConvWindow | None:
    axes = (x.rank or 0) - 2
    return ConvWindow((1,) * axes, (0,) * (2 * axes), (1,) * axes) if axes > 0 else None


def _row_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    image, w = g.input(("N", 4, 2, "L")), g.random(6, 4)
    yield g.fires(w @ reshape(image, ("N", 4, "2*L")))
    yield g.fires(w @ reshape(g.input((2, 4, 2, 3, 2)), (2, 4, 12)))
    yield from g.near_misses(
        (w @ reshape(g.input(("N", 2, 2, "L")), ("N", 4, "L")), "rows are channels"),
        (g.random(6, 2) @ reshape(g.input((3, 4, 2, 5)), (6, 2, 10)), "these are no channels"),
        (g.input((6, 4)) @ reshape(image, ("N", 4, "2*L")), "the weight is no constant"),
        (w @ reshape(g.input((2, 4, 5)), (2, 4, 5)), "they are in a row"),
    )


@law("convolution", numerics="reassociates", kind="replace", serves="traffic", examples=_row_examples)
def of_pixels_in_a_row(x: Tensor, w: Tensor, d: Dims):
    """W @ Reshape(x, [N, C, ..]) = Reshape(Conv(x, Reshape(W))) for all pixels of an image in a row"""
    flat = reshape(x, d)
    z = w @ flat
    image = conv(x, reshape(w, pixel_kernel(w, x, flat)), none(), pixel_window(x))
    known = (kernel(is_no_double(x)), guard(varies(x)))
    yield rewrite(z, reshape(image, known_dims(z)), *known, because="forgets how pixels were put in a row")


# --- rows that are pixels ---------------------------------------------------------------------------------


class Pixels(NamedTuple):
    """The dims of rows as images of one pixel, those of the kernel, and its window."""

    image: Dims
    kernel: Dims
    window: ConvWindow


@hosted()
def as_pixels(x: Fact, w: Fact, dims: Dims) -> Pixels | None:
    """None where a view of rows @ matrix inserts anything else than axes of 1 behind."""
    shape, more = static_shape(w), len(dims) - 2
    if x.shape is None or len(x.shape) != 2 or shape is None or len(shape) != 2 or more < 1:
        return None
    if not is_float_constant(w) or 0 in x.shape or not same_dims(dims, (x.shape[0], shape[1], *(1,) * more)):
        return None
    window = ConvWindow((1,) * more, (0,) * (2 * more), (1,) * more)
    return Pixels((*x.shape, *(1,) * more), (*reversed(shape), *(1,) * more), window)


@hosted()
def is_number_for_each_column(b: Fact, w: Fact) -> bool:
    """A constant bias of a product with a matrix."""
    return is_float_constant(b) and w.shape is not None and b.shape == w.shape[1:]


def _pixel_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 6)), g.random(6, 4), g.random(4)
    for y in (x @ w, x @ w + b):
        for dims in (("N", 4, 1, 1), ("N", 4, 1)):
            yield g.fires(reshape(y, dims))
        yield from g.near_misses(
            (reshape(y, ("N", 2, 2, 1)), "channels are parted"),
            (reshape(y, (1, "N", 4, 1)), "rows are channels"),
            (reshape(relu(y), ("N", 4, 1, 1)), "there is a function between"),
        )
    deep = reshape(g.input((2, 3, 6)) @ w, (2, 3, 4, 1))
    yield from g.near_misses(
        (reshape(x @ g.input((6, 4)), ("N", 4, 1, 1)), "the weight is no constant"),
        (reshape(x @ w + g.input((4,)), ("N", 4, 1, 1)), "the bias is no constant"),
        (reshape(x @ w + g.random(1), ("N", 4, 1, 1)), "one number for all"),
        (deep, "rows of rows"),
    )


@law(
    "convolution",
    numerics="reassociates",
    kind="replace",
    serves="launches",
    source="squeeze and excite, arXiv 1709.01507",
    examples=_pixel_examples,
    uses=(absorbing,),
)
def pixels_of_product(x: Tensor, w: Tensor, b: Tensor, d: Dims):
    """Reshape(x @ W + b, [N, M, 1, ..]) = Conv(Reshape(x, [N, C, 1, ..]), W', b) for rows x"""
    how = as_pixels(x, w, d)
    turned, image = reshape(transpose(w, (1, 0)), how[1]), reshape(x, how[0])
    once = (kernel(is_no_double(x)), guard(varies(x), weight(w)))
    for bias, product, known in ((none(), x @ w, ()), (b, x @ w + b, (is_number_for_each_column(b, w),))):
        made = conv(image, turned, bias, how[2])
        yield rewrite(
            reshape(product, d), made, *known, *once, because="of one pixel a product knows as much"
        )
