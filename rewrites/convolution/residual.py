"""What is added to a convolution of itself is one more element of the kernel.

Conv(x, W, b) + x = Conv(x, W + I, b)
Conv(x, W, b) + x * s = Conv(x, W + diag(s), b)
Conv(x, W, b) - x = Conv(x, W - I, b)        x - Conv(x, W, b) = Conv(x, I - W, -b)

where I is 1 in the middle of the kernel that takes each channel to itself.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import number_like, varies
from egraph_opt.laws.sorts import DataType, Int, Pads, Tensor
from egraph_opt.operators import ConvWindow, Literal, binary, cast, conv, literal, none, pad, reshape
from egraph_opt.rewrites.conditions.chains import affine, chosen
from egraph_opt.rewrites.conditions.channels import is_float_constant, is_present, is_shift, static_shape
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import fits
from egraph_opt.rewrites.convolution.outputs import PLAIN, scale_of_rows
from egraph_opt.rewrites.convolution.sums import RING

law = laws_of("convolution_sums", numerics="reassociates", kind="fuse", serves="launches", source="RepVGG")


FORGETS = "forgets what was in the kernel"


class Identity(NamedTuple):
    """A kernel that takes each channel to itself.

    Attributes:
        rows, columns: which channel comes out of a row, and goes in at a column.
        zeros: the pads to the size of the kernel.
    """

    rows: Literal
    columns: Literal
    zeros: Pads
    dtype: DataType


@hosted()
def identity_kernel(x: Fact, w: Fact, window: ConvWindow) -> Identity | None:
    """The identity in the form of W; None where no element of W takes each of x to its place."""
    shape, axes = static_shape(w), len(window.strides)
    if shape is None or not is_float_constant(w) or x.shape is None or len(x.shape) != len(shape):
        return None
    channels, size = shape[0], shape[1]
    if any(s != 1 for s in window.strides) or size * window.group != channels:
        return None
    if not symbolic.known_equal(x.shape[1], channels) or 0 in shape:
        return None
    ends, before, behind = zip(window.pads[:axes], window.pads[axes:], strict=True), [], []
    for (begin, end), kernel, step in zip(ends, shape[2:], window.dilations, strict=True):
        if begin % step or end % step or begin // step + end // step != kernel - 1:
            return None
        before.append(begin // step)
        behind.append(end // step)
    flat = (1,) * axes
    rows = Literal(TensorProto.INT64, (channels, 1, *flat), tuple(k % size for k in range(channels)))
    columns = Literal(TensorProto.INT64, (1, size, *flat), tuple(range(size)))
    return Identity(rows, columns, (0, 0, *before, 0, 0, *behind), w.dtype)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 4, 5, "L"))
    skew = ConvWindow((1, 1), (0, 2, 2, 2), (1, 2), 2)
    for w, u in (
        (g.random(4, 4, 3, 3), RING),
        (g.random(4, 4, 1, 1), PLAIN),
        (g.random(4, 2, 3, 3), skew),
        (g.random(4, 1, 3, 3), ConvWindow((1, 1), (1,) * 4, (1, 1), 4)),
    ):
        yield g.fires(conv(x, w, g.random(4), u) + x)
        yield g.fires(x * g.random(4, 1, 1) + conv(x, w, none(), u))
    y = conv(x, w, none(), u)
    yield g.fires(y + x * g.random())
    yield g.fires(y + (x * g.random(4, 1, 1) + g.random(4, 1, 1)))
    line = g.input((2, 3, "L"))
    yield g.fires(conv(line, g.random(3, 3, 2), none(), ConvWindow((1,), (0, 1), (1,))) + line)
    w, y = g.random(4, 4, 3, 3), g.input(("N", 4, 5, "L"))
    for z, why in (
        (conv(x, w, none(), RING) + y, "two images"),
        (conv(x, w, none(), RING) + (x + y), "the branch is no constant more"),
        (conv(x, g.random(1, 4, 3, 3), none(), RING) + x, "one channel is broadcast"),
        (conv(x, g.input((4, 4, 3, 3)), none(), RING) + x, "the weight is no constant"),
        (conv(x, w, none(), RING) + x * g.random(4), "the scale is one of columns"),
        (conv(x, w, none(), ConvWindow((1, 1), (0, 1, 2, 1), (1, 1))) + x, ""),
        (conv(x, g.random(4, 4, 2, 3), none(), ConvWindow((1, 1), (1, 1, 1, 1), (2, 1))) + x, "between"),
    ):
        yield g.near_miss(z, why) if why else g.fires(z)


@law(examples=_examples, uses=(affine, either_side))
def identity_branch(x: Tensor, w: Tensor, b: Tensor, c: Tensor, d: Tensor, u: ConvWindow, i: Int):
    """Conv(x, W, b) + x = Conv(x, W + I, b), and with x * s for x; + c where the branch has that, too"""
    found, y = identity_kernel(x, w, u), conv(x, w, b, u)
    ones = cast(binary("Equal", literal(found[0]), literal(found[1])), found[3])
    diagonal = ones * reshape(c, scale_of_rows(w, c, u))
    for branch, kernel, demand in ((x, ones, ()), (x * c, diagonal, chosen("Mul", x, c))):
        one = conv(x, w + pad(kernel, "constant", found[2], 0.0), b, u)
        known = (guard(varies(x)), demand)
        yield rewrite(beside("Add", y, branch, i), one, known, because=FORGETS)
        shifted = (*guard(is_shift(d), fits(d, y)), *chosen("Add", branch, d))
        yield rewrite(beside("Add", y, branch + d, i), one + d, known, shifted, because=FORGETS)


def _differences(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 4, 5, "L")), g.input(("N", 4, 5, "L"))
    w, grouped = g.random(4, 4, 3, 3), ConvWindow((1, 1), (1,) * 4, (1, 1), 2)
    for bias in (none(), g.random(4)):
        for z in (conv(x, w, bias, RING), conv(x, g.random(4, 2, 3, 3), bias, grouped)):
            yield from g.all_fire(z - x, x - z)
        z = conv(x, w, bias, RING)
        yield from g.near_misses((z - y, "two images"), (y - z, "two images"))
        z = conv(x, g.random(1, 4, 3, 3), bias, RING)
        yield from g.near_misses((z - x, "one channel is broadcast"), (x - z, "one channel is broadcast"))


@law(source="DnCNN: what is subtracted is noise", examples=_differences)
def identity_difference(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b) - x = Conv(x, W - I, b), and x - Conv(x, W, b) = Conv(x, I - W, -b)"""
    found, varying = identity_kernel(x, w, u), guard(varies(x))
    ones = cast(binary("Equal", literal(found[0]), literal(found[1])), found[3])
    kept = pad(ones, "constant", found[2], 0.0)
    yield rewrite(conv(x, w, b, u) - x, conv(x, w - kept, b, u), varying, because=FORGETS)
    for bias, negated, known in ((none(), none(), ()), (b, b * number_like(w, -1.0), (is_present(b),))):
        one = conv(x, kept - w, negated, u)
        yield rewrite(x - conv(x, w, bias, u), one, *known, varying, because=FORGETS)
