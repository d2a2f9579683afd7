"""A transposed convolution with strides is a convolution that makes all pixels of a stride at once.

ConvTranspose(x, W, b; stride s) -> Reshape(Transpose(Reshape(Conv(x, W'), [.., s, ..]))) + b

Each pixel of the result sees every s-th element of the kernel: W' has s times the channels, its kernel 1/s.
Beyond the limits of the target only: a convolution with many channels and a Transpose are more to start.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Pads, Permutation, Slices, Tensor
from egraph_opt.operators import ConvWindow, conv, conv_transpose, none, pad, reshape, slice_, transpose
from egraph_opt.operators.terms import limit
from egraph_opt.rewrites.conditions.channels import channel_dims, is_float_constant, static_shape

law = laws_of(
    "large_stride", numerics="reassociates", kind="replace", serves="target", source="polyphase filters"
)


class Phases(NamedTuple):
    """How a transposed convolution becomes one of all phases.

    Attributes:
        zeros: the pads of W to whole strides, [C, M, K] along its axes.
        backwards: the slice that turns the parts of each phase around.
        apart, order, kernel: W with its strides apart, [C, M, J, s, ..], their order, and [M * s, C, J, ..].
        window: how the convolution walks over x.
        made, behind, whole: the dims of its result with phases apart, their order, and all in their places.
        kept: the part of that which is not cut off.
    """

    zeros: Pads
    apart: Dims
    backwards: Slices
    order: Permutation
    kernel: Dims
    window: ConvWindow
    made: Dims
    behind: Permutation
    whole: Dims
    kept: Slices


def _kept(axis: int, before: int, length: Dim, made: Dim) -> tuple[int, int, int | None, int] | None:
    """From `before` on, so many; None where it is not known how many are left."""
    if isinstance(length, int) and isinstance(made, int):
        return axis, before, before + length, 1
    left = symbolic.sub(made, symbolic.add(length, before))
    return (axis, before, -left if left else None, 1) if isinstance(left, int) and left >= 0 else None


@hosted()
def phases(x: Fact, w: Fact, y: Fact, window: ConvWindow) -> Phases | None:
    """None where there are groups, dilations, or a result longer than all phases."""
    shape, axes = static_shape(w), len(window.strides)
    if shape is None or not is_float_constant(w) or window.group != 1 or 0 in shape:
        return None
    if any(d != 1 for d in window.dilations) or min(window.pads, default=0) < 0:
        return None
    if x.shape is None or y.shape is None or len(x.shape) != axes + 2 or len(y.shape) != axes + 2:
        return None
    steps, rows = window.strides, tuple(-(-k // s) for k, s in zip(shape[2:], window.strides, strict=True))
    missing = tuple(r * s - k for r, s, k in zip(rows, steps, shape[2:], strict=True))
    count = [symbolic.add(d, r - 1) for d, r in zip(x.shape[2:], rows, strict=True)]
    whole = [symbolic.mul(c, s) for c, s in zip(count, steps, strict=True)]
    kept = []
    for k in range(axes):
        cut = _kept(k + 2, window.pads[k], y.shape[k + 2], whole[k])
        end, size = None if cut is None else cut[2], whole[k]
        if cut is None or (isinstance(size, int) and isinstance(end, int) and end > size):
            return None
        kept.append(cut)
    pairs = [size for pair in zip(rows, steps, strict=True) for size in pair]
    spatial = [2 + 2 * k for k in range(axes)]
    inner = [axis + 1 for axis in spatial]
    halves = [r - 1 for r in rows]
    return Phases(
        zeros=(*(0,) * (axes + 2), 0, 0, *missing),
        apart=(*shape[:2], *pairs),
        backwards=tuple((axis, r - 1, None, -1) for axis, r in zip(spatial, rows, strict=True) if r > 1),
        order=(1, *inner, 0, *spatial),
        kernel=(shape[1] * math.prod(steps), shape[0], *rows),
        window=ConvWindow((1,) * axes, (*halves, *halves), (1,) * axes),
        made=(x.shape[0], shape[1], *steps, *count),
        behind=(0, 1, *(axis for k in range(axes) for axis in (2 + axes + k, 2 + k))),
        whole=(x.shape[0], shape[1], *whole),
        kept=tuple(kept),
    )


@hosted()
def is_beyond(w: Fact, window: ConvWindow, kernel: int, stride: int) -> bool:
    """The kernel or the strides are too large for the target."""
    sizes = [k for k in (w.shape or ())[2:] if isinstance(k, int)]
    return max(sizes, default=0) > kernel or max(window.strides) > stride


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)

    def turned(image: tuple[Dim, ...], kernel: tuple[int, ...], bias: bool = True, **how: tuple[int, ...]):
        axes = len(kernel)
        ones, pads = (1,) * axes, how.get("pads", (0,) * (2 * axes))
        window = ConvWindow(
            how.get("strides", ones), pads, how.get("dilations", ones), 1, how.get("more", ())
        )
        return conv_transpose(
            g.input(("N", 4, *image)), g.random(4, 3, *kernel), g.random(3) if bias else none(), window
        )

    limits = {"conv_kernel": 5, "conv_stride": 4}
    for term in (
        turned((7,), (6,), strides=(6,)),
        turned(("L",), (8,), strides=(3,)),
        turned((7,), (7,), False, strides=(3,), pads=(2, 3)),
        turned((5,), (10,), strides=(5,), pads=(1, 1), more=(1,)),
        turned((3, 4), (6, 2), strides=(3, 2), pads=(1, 0, 2, 0)),
        turned((3, 4), (2, 7), False, strides=(2, 3)),
    ):
        yield g.fires(term, **limits)
    for term, why in (
        (turned((7,), (5,), strides=(4,)), "within the limits"),
        (turned((7,), (6,), strides=(2,), dilations=(2,)), "it is dilated"),
        (turned((7,), (2,), strides=(6,), more=(4,)), ""),
    ):
        yield g.near_miss(term, why, **limits) if why else g.fires(term, **limits)


@hosted()
def is_bias_of(b: Fact, w: Fact) -> bool:
    return is_float_constant(b) and w.shape is not None and b.shape == w.shape[1:2]


@law(examples=_examples)
def all_phases(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """ConvTranspose(x, W, b; stride s) = Reshape(Transpose(Reshape(Conv(x, W')))) + b, all phases at once"""
    for bias, known in ((none(), ()), (b, guard(is_bias_of(b, w)))):
        y = conv_transpose(x, w, bias, u)
        how = phases(x, w, y, u)
        apart = reshape(pad(w, "constant", how[0], 0.0), how[1])
        kernel = reshape(transpose(slice_(apart, how[2]), how[3]), how[4])
        made = transpose(reshape(conv(x, kernel, none(), how[5]), how[6]), how[7])
        part = slice_(reshape(made, how[8]), how[9])
        whole = part if not known else part + reshape(b, channel_dims(y, b))
        far = guard(is_beyond(w, u, limit("conv_kernel"), limit("conv_stride")), varies(x))
        yield rewrite(y, whole, *known, far, because="forgets that the phases were apart")
