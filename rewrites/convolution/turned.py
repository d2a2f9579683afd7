"""A transposed convolution without strides is a convolution with the kernel turned around.

ConvTranspose(x, W, b; pads p) -> Conv(x, W', b; pads d * (k - 1) - p)

Constant kernels only, which are turned once; laws of Conv, and those of a target's limits, see it then.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.sorts import Dims, Permutation, Slices, Tensor
from egraph_opt.operators import ConvWindow, conv, conv_transpose, none, reshape, slice_, transpose
from egraph_opt.rewrites.conditions.channels import is_float_constant, static_shape


class Turned(NamedTuple):
    """How the kernel [C, M/g, *kernel] of a ConvTranspose becomes that of a Conv.

    Attributes:
        backwards: the slice that turns it around.
        groups, swap: its dims with groups apart, and the axes that change places.
        kernel: the dims of the result, [M, C/g, *kernel].
        window: how it walks.
    """

    backwards: Slices
    groups: Dims
    swap: Permutation
    kernel: Dims
    window: ConvWindow


@hosted()
def turned(w: Fact, window: ConvWindow) -> Turned | None:
    """None where it strides, or cuts off more than a kernel adds."""
    shape, axes = static_shape(w), len(window.strides)
    if shape is None or not is_float_constant(w) or any(s != 1 for s in window.strides) or 0 in shape:
        return None
    more = window.output_padding or (0,) * axes
    reach = [d * (k - 1) for d, k in zip(window.dilations, shape[2:], strict=True)]
    begins = [r - p for r, p in zip(reach, window.pads[:axes], strict=True)]
    ends = [r - p + extra for r, p, extra in zip(reach, window.pads[axes:], more, strict=True)]
    if min(*begins, *ends) < 0:
        return None
    group = window.group
    return Turned(
        backwards=tuple((k + 2, size - 1, None, -1) for k, size in enumerate(shape[2:]) if size > 1),
        groups=(group, shape[0] // group, *shape[1:]),
        swap=(0, 2, 1, *range(3, axes + 3)),
        kernel=(shape[1] * group, shape[0] // group, *shape[2:]),
        window=ConvWindow(window.strides, (*begins, *ends), window.dilations, group),
    )


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, row = g.input(("N", 4, 5, "L")), g.input((2, 4, "L"))
    plain = ConvWindow((1, 1), (0,) * 4, (1, 1))
    for w, u in (
        (g.random(4, 6, 3, 2), plain),
        (g.random(4, 6, 3, 3), ConvWindow((1, 1), (1, 0, 2, 1), (1, 2))),
        (g.random(4, 3, 2, 2), ConvWindow((1, 1), (0,) * 4, (1, 1), 2)),
        (g.random(4, 1, 3, 1), ConvWindow((1, 1), (1, 0, 1, 0), (1, 1), 4)),
        (g.random(4, 6, 1, 1), plain),
    ):
        yield g.fires(conv_transpose(x, w, none(), u))
    yield g.fires(conv_transpose(row, g.random(4, 3, 4), g.random(3), ConvWindow((1,), (3, 1), (1,))))
    yield from g.near_misses(
        (conv_transpose(x, g.random(4, 6, 3, 3), none(), ConvWindow((2, 1), (0,) * 4, (1, 1))), "it strides"),
        (conv_transpose(x, g.input((4, 6, 3, 3)), none(), plain), "the kernel is no constant"),
        (
            conv_transpose(x, g.random(4, 6, 2, 2), none(), ConvWindow((1, 1), (2, 0, 0, 0), (1, 1))),
            "more is cut off than is added",
        ),
    )


@law("convolution", numerics="reassociates", kind="replace", serves="arithmetic", examples=_examples)
def of_turned_kernel(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """ConvTranspose(x, W, b) = Conv(x, W', b) for strides of 1, W' being W turned around"""
    how = turned(w, u)
    kernel = reshape(transpose(reshape(slice_(w, how[0]), how[1]), how[2]), how[3])
    one_way = "a Conv knows no padding of its result"
    yield rewrite(conv_transpose(x, w, b, u), conv(x, kernel, b, how[4]), because=one_way)
