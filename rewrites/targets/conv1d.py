"""Lifting to 2-D: values [a, b, c] computed as [a, b, 1, c], for targets that convolve images only.

    Conv1d(x, W) = Squeeze(Conv2d(Unsqueeze(x), Unsqueeze(W)))
    ConvTranspose1d, 1-D pools and global pools likewise

where the views concern axis 2.  The squeeze then sinks to the next convolution, whose unsqueeze it meets:
`reshape` and `conv1d_operands` have the element-wise operators, `conv1d_movement` those with axes.  All
fire only where the target publishes the limit `lift_conv1d`, so that others do not pay for the growth.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.compat import Equal, PyObject, String, eq, holds, i64, let, rule
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    ConvWindow,
    PoolWindow,
    conv,
    conv_transpose,
    global_pool,
    none,
    pool,
    reshape,
)
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact, limit
from egraph_opt.rewrites.conditions.view_shapes import known_dims, same_dims, with_units

UNIT = 2
"""The axis that is inserted: height."""


@hosted()
def lifted_dims(x: Fact) -> Shape | None:
    """[a, b, 1, c] of a value [a, b, c]; operands of lower rank fit to it by broadcasting."""
    if not x.is_symbolic or x.shape is None or len(x.shape) > 3:
        return None
    return with_units(x.shape, frozenset([1]))


@hosted(default=False)
def is_lowered(x: Fact, dims: Shape) -> bool:
    """Whether a view of x, a run-time value [a, b, 1, c], is [a, b, c]."""
    if x.const or x.shape is None or len(x.shape) != 4 or x.shape[UNIT] != 1:
        return False
    return same_dims((*x.shape[:UNIT], x.shape[UNIT + 1]), dims)


def wanted(n: Any) -> Any:
    """The condition that the target asks for lifting."""
    return eq(n).to(limit("lift_conv1d"))


@hosted()
def _image_window(window: ConvWindow | PoolWindow) -> Any:
    """The window of one axis as that of an image of height 1."""
    if len(window.strides) != 1:
        return None
    begin, end = window.pads
    changes: dict[str, Any] = {
        "strides": (1, *window.strides),
        "pads": (0, begin, 0, end),
        "dilations": (1, *window.dilations),
    }
    if isinstance(window, PoolWindow):
        changes["kernel"] = (1, *window.kernel)
    elif window.output_padding:
        changes["output_padding"] = (0, *window.output_padding)
    return replace(window, **changes)


def _window(stride: int = 1, pads: tuple[int, int] = (0, 0), dilation: int = 1, **more: Any) -> ConvWindow:
    return ConvWindow((stride,), pads, (dilation,), **more)


def _conv_examples(rng: np.random.Generator) -> Iterator[Example]:
    for window, shape, kernel in (
        (_window(), (2, 4, 9), (3, 4, 1)),
        (_window(2, (1, 2), 3), ("N", 4, "L"), (6, 4, 3)),
        (_window(1, (2, 2), 2, group=2), (1, 4, 9), (6, 2, 3)),
    ):
        g = Operands(rng)
        x, w = g.input(shape), g.random(*kernel)
        yield g.fires(conv(x, w, none(), window), lift_conv1d=1)
        yield g.fires(conv(x, w, g.random(kernel[0]), window), lift_conv1d=1)
        yield g.near_miss(conv(x, w, none(), window), why="the target does not ask for it")
    g = Operands(rng)
    image = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1))
    yield g.near_miss(
        conv(g.input((1, 4, 1, 9)), g.random(3, 4, 1, 3), none(), image), why="it is an image", lift_conv1d=1
    )


@law("conv1d", numerics="reassociates", examples=_conv_examples)
def lift_convolution(
    x: Tensor,
    w: Tensor,
    b: Tensor,
    z: Tensor,
    n: i64,
    s: PyObject,
    t: PyObject,
    p: PyObject,
    q: PyObject,
    out: PyObject,
) -> Iterator[Any]:
    """Conv1d(x, W) = Squeeze(Conv2d(Unsqueeze(x), Unsqueeze(W)))

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    conditions = (
        wanted(n),
        *let(t, _image_window, s),
        *let(p, lifted_dims, fact(x)),
        *let(q, lifted_dims, fact(w)),
        *let(out, known_dims, fact(z)),
    )
    image, kernel = reshape(x, p), reshape(w, q)
    yield rule(
        eq(z).to(conv(x, w, b, s)), *conditions, then=Equal(z, reshape(conv(image, kernel, b, t), out))
    )


def _transposed_examples(rng: np.random.Generator) -> Iterator[Example]:
    for window, shape, kernel, channels in (
        (_window(), (2, 4, 9), (4, 3, 2), 3),
        (_window(3, (1, 2), 2, output_padding=(1,)), ("N", 4, "L"), (4, 3, 3), 3),
        (_window(2, group=4), (1, 4, 9), (4, 1, 4), 4),
    ):
        g = Operands(rng)
        x, w = g.input(shape), g.random(*kernel)
        yield g.fires(conv_transpose(x, w, none(), window), lift_conv1d=1)
        yield g.fires(conv_transpose(x, w, g.random(channels), window), lift_conv1d=1)
        yield g.near_miss(conv_transpose(x, w, none(), window), why="the target does not ask for it")


@law("conv1d", numerics="reassociates", examples=_transposed_examples)
def lift_transposed_convolution(
    x: Tensor,
    w: Tensor,
    b: Tensor,
    z: Tensor,
    n: i64,
    s: PyObject,
    t: PyObject,
    p: PyObject,
    q: PyObject,
    out: PyObject,
) -> Iterator[Any]:
    """ConvTranspose1d(x, W) = Squeeze(ConvTranspose2d(Unsqueeze(x), Unsqueeze(W)))

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    conditions = (
        wanted(n),
        *let(t, _image_window, s),
        *let(p, lifted_dims, fact(x)),
        *let(q, lifted_dims, fact(w)),
        *let(out, known_dims, fact(z)),
    )
    image = conv_transpose(reshape(x, p), reshape(w, q), b, t)
    yield rule(eq(z).to(conv_transpose(x, w, b, s)), *conditions, then=Equal(z, reshape(image, out)))


def _pool_examples(rng: np.random.Generator) -> Iterator[Example]:
    for kind, window in (
        ("MaxPool", PoolWindow((3,), (2,), (1, 1), (1,))),
        ("MaxPool", PoolWindow((2,), (2,), (0, 0), (2,), ceil_mode=1)),
        ("AveragePool", PoolWindow((4,), (3,), (1, 2), (1,), count_include_pad=1)),
        ("AveragePool", PoolWindow((4,), (3,), (2, 2), (1,))),
    ):
        g = Operands(rng)
        x = g.input((2, 4, 13))
        yield g.fires(pool(kind, x, window), lift_conv1d=1)
        yield g.near_miss(pool(kind, x, window), why="the target does not ask for it")
    g = Operands(rng)
    yield g.fires(
        pool("MaxPool", g.input(("N", 4, "L")), PoolWindow((3,), (2,), (1, 1), (1,))), lift_conv1d=1
    )
    g = Operands(rng)
    x = g.input((1, 4, 1, 9))
    window = PoolWindow((1, 3), (1, 1), (0, 0, 0, 0), (1, 1))
    yield g.near_miss(pool("MaxPool", x, window), why="it is an image", lift_conv1d=1)


@law("conv1d", numerics="reassociates", examples=_pool_examples)
def lift_pool(
    x: Tensor, z: Tensor, k: String, n: i64, s: PyObject, t: PyObject, p: PyObject, out: PyObject
) -> Iterator[Any]:
    """Pool1d(x) = Squeeze(Pool2d(Unsqueeze(x)))

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    yield rule(
        eq(z).to(pool(k, x, s)),
        wanted(n),
        let(t, _image_window, s),
        let(p, lifted_dims, fact(x)),
        let(out, known_dims, fact(z)),
        then=Equal(z, reshape(pool(k, reshape(x, p), t), out)),
    )


def lowered(g: Operands, *shape: Any) -> Any:
    """An operand [a, b, c] that is an image's view."""
    a, b, c = shape
    return reshape(g.input((a, b, 1, c)), shape)


def _global_examples(rng: np.random.Generator) -> Iterator[Example]:
    for kind in ("GlobalAveragePool", "GlobalMaxPool"):
        g = Operands(rng)
        x = lowered(g, "N", 3, "L")
        yield g.fires(global_pool(kind, x), lift_conv1d=1)
        yield g.near_miss(global_pool(kind, x), why="the target does not ask for it")
        g = Operands(rng)
        x = reshape(g.input((2, 3, 1, 4)), (6, 1, 4))
        yield g.near_miss(global_pool(kind, x), why="the channels are others", lift_conv1d=1)


@law("conv1d", numerics="reassociates", examples=_global_examples)
def past_global_pool(x: Tensor, z: Tensor, k: String, n: i64, d: PyObject, out: PyObject) -> Iterator[Any]:
    """GlobalPool(Squeeze(x)) = Squeeze(GlobalPool(x))

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    yield rule(
        eq(z).to(global_pool(k, reshape(x, d))),
        wanted(n),
        holds(is_lowered, fact(x), d),
        let(out, known_dims, fact(z)),
        then=Equal(z, reshape(global_pool(k, x), out)),
    )
