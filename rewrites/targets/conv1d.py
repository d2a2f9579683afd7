"""Lifting to 2-D: values [a, b, c] computed as [a, b, 1, c], for targets that convolve images only.

    Conv1d(x, W) = Squeeze(Conv2d(Unsqueeze(x), Unsqueeze(W)))
    ConvTranspose1d, 1-D pools and global pools likewise

where the views concern axis 2.  The squeeze then sinks to the next convolution, whose unsqueeze it meets:
`reshape` and `conv1d_operands` have the element-wise operators, `conv1d_movement` those with axes.  All
fire only where the target publishes the limit `lift_conv1d`, so that others do not pay for the growth; the
way back, Conv2d(Unsqueeze(x), W) = Unsqueeze(Conv1d(x, Squeeze(W))), wherever a row was made an image.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import String, Tensor
from egraph_opt.operators import ConvWindow, PoolWindow, conv, conv_transpose, global_pool, pool
from egraph_opt.rewrites.conditions.image_rows import DEMAND, SHARED, lift, lower, unsqueeze, view, viewed_as
from egraph_opt.rewrites.conditions.windows import starts_inside


@hosted()
def image_window(window: Any) -> Any:
    """The ConvWindow or PoolWindow of one axis as that of an image of height 1."""
    if len(window.strides) != 1:
        return None
    begin, end = window.pads
    more = _with(window, lambda sizes, other: (other, *sizes))
    strides, dilations = (1, *window.strides), (1, *window.dilations)
    return replace(window, strides=strides, pads=(0, begin, 0, end), dilations=dilations, **more)


@hosted()
def line_window(window: Any) -> Any:
    """The window of an image of height 1 as that of its row; None where it looks beyond that."""
    if len(window.strides) != 2 or window.pads[0] or window.pads[2]:
        return None
    more = _with(window, lambda sizes, other: sizes[1:] if sizes[0] == other else None)
    if None in more.values():
        return None
    strides, dilations = window.strides[1:], window.dilations[1:]
    return replace(window, strides=strides, pads=window.pads[1::2], dilations=dilations, **more)


def _with(window: Any, change: Callable[[Any, int], Any]) -> dict[str, Any]:
    """The kernel of a pool, or the padding of a transposed convolution, with or without a height."""
    if isinstance(window, PoolWindow):
        return {"kernel": change(window.kernel, 1)}
    return {"output_padding": change(window.output_padding, 0)} if window.output_padding else {}


# --- the laws -----------------------------------------------------------------------------------------------


def _same(operand: Any) -> Any:
    return operand


def lifting(law_name: str, x: Tensor, of: Any, *known: Any) -> Iterator[Any]:
    """f(x) = Squeeze(f'(Unsqueeze(x))), and f'(Unsqueeze(x)) = Unsqueeze(f(x)).

    Args:
        of: makes f or f' of an operand, and of what becomes of the kernel and of the window.
        known: what else has to hold of f.
    """
    y, z = of(x, _same, _same), of(unsqueeze(x), _same, _same)
    yield rewrite(y, viewed_as(y, of(lift(x), lift, image_window)), DEMAND, *known, inverse=law_name)
    yield rewrite(z, viewed_as(z, of(x, lower, line_window)), guard(varies(x)), inverse=law_name)


@law("conv1d", numerics="reassociates", **SHARED)
def lift_convolution(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv1d(x, W) = Squeeze(Conv2d(Unsqueeze(x), Unsqueeze(W)))"""
    yield from lifting("lift_convolution", x, lambda v, kernel, window: conv(v, kernel(w), b, window(u)))


@law("conv1d", numerics="reassociates", **SHARED)
def lift_transposed_convolution(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """ConvTranspose1d(x, W) = Squeeze(ConvTranspose2d(Unsqueeze(x), Unsqueeze(W)))"""
    yield from lifting(
        "lift_transposed_convolution", x, lambda v, kernel, window: conv_transpose(v, kernel(w), b, window(u))
    )


def _pools(rng: np.random.Generator) -> Iterator[Example]:
    for pads, rounds_up, fires in (((2, 3), 0, True), ((0, 0), 1, True), ((0, 3), 1, False)):
        g = Operands(rng)
        row = pool("MaxPool", g.input((1, 1, 6)), PoolWindow((6,), (6,), pads, (1,), rounds_up))
        if fires:
            yield g.fires(row, lift_conv1d=1)
        else:
            yield g.near_miss(row, "a window begins on the pads", lift_conv1d=1)


@law("conv1d", numerics="reassociates", examples=_pools, **SHARED)
def lift_pool(x: Tensor, k: String, u: PoolWindow):
    """Pool1d(x) = Squeeze(Pool2d(Unsqueeze(x)))"""
    yield from lifting("lift_pool", x, lambda v, _, window: pool(k, v, window(u)), starts_inside(u))


@law("conv1d", numerics="reassociates", **SHARED)
def past_global_pool(x: Tensor, k: String):
    """GlobalPool(Squeeze(x)) = Squeeze(GlobalPool(x))"""
    y, demand = global_pool(k, view(x)), (DEMAND, guard(varies(x)))
    yield rewrite(y, viewed_as(y, global_pool(k, x)), *demand, inverse="past_global_pool")
