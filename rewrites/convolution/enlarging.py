"""Kernels grow by zeros to the size of another convolution's of the same image, so that both can be joined.

Conv(x, W, b) = Conv(x, Pad(W), b) with bigger pads

`horizontal_convolution` and `convolution_sums` join them; what the zeros cost is for the target to say.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, eq, guard, let, ne, rewrite
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import ConvWindow, binary, conv, none, pad, reduce
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.conditions.channels import is_float_constant, static_shape
from egraph_opt.rewrites.convolution.horizontal import followers, superseded
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING


@hosted()
def zeros_around(w: Fact, window: ConvWindow, v: Fact, wanted: ConvWindow) -> tuple[int, ...] | None:
    """The pads of W with which it walks as V does; None where it cannot.

    A kernel of one element along an axis has any dilation.
    """
    small, big = static_shape(w), static_shape(v)
    if small is None or big is None or not is_float_constant(w) or len(small) != len(big):
        return None
    if window.strides != wanted.strides or window.group != wanted.group or small[1:] == big[1:]:
        return None
    axes = len(small) - 2
    begins, ends = [], []
    for k in range(axes):
        step = wanted.dilations[k]
        if small[k + 2] > 1 and window.dilations[k] != step:
            return None
        before, behind = (wanted.pads[n] - window.pads[n] for n in (k, k + axes))
        if min(before, behind) < 0 or before % step or behind % step:
            return None
        if small[k + 2] + before // step + behind // step != big[k + 2]:
            return None
        begins.append(before // step)
        ends.append(behind // step)
    return (0, 0, *begins, 0, 0, *ends)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, point, ring = g.input(("N", 4, 5, "L")), g.random(6, 4, 1, 1), g.random(6, 4, 3, 3)

    def both(w: Any, window: ConvWindow, v: Any, wanted: ConvWindow, image: Any = x) -> Any:
        pair = conv(x, w, g.random(6), window), conv(image, v, none(), wanted)
        return binary("Mul", *(reduce("ReduceMean", y, (2, 3), 1) for y in pair))

    yield g.fires(both(point, PLAIN, ring, RING))
    skew = ConvWindow((2, 1), (1, 0, 3, 1), (2, 1))
    yield g.fires(
        both(g.random(6, 4, 1, 2), ConvWindow((2, 1), (1, 0, 1, 0), (1, 1)), g.random(6, 4, 2, 3), skew)
    )
    halves = [ConvWindow((1, 1), (p,) * 4, (1, 1), 2) for p in (0, 1)]
    yield g.fires(both(g.random(6, 2, 1, 1), halves[0], g.random(6, 2, 3, 3), halves[1]))
    yield g.near_miss(both(point, PLAIN, ring, PLAIN), why="the images would have different sizes")
    strided = ConvWindow((2, 2), (1,) * 4, (1, 1))
    yield g.near_miss(both(g.random(6, 4, 1, 1), PLAIN, g.random(6, 4, 3, 3), strided), why="strides differ")
    dilated = ConvWindow((1, 1), (2,) * 4, (2, 2))
    yield g.near_miss(both(g.random(6, 4, 2, 2), RING, ring, dilated), why="dilations differ")
    yield g.near_miss(both(point, PLAIN, ring, RING, g.input(("N", 4, 5, "L"))), why="two images")
    yield g.near_miss(both(g.input((6, 4, 1, 1)), PLAIN, ring, RING), why="the weight is no constant")


@law("enlarging", numerics="reassociates", examples=_examples)
def zeros_in_kernel(
    x: Tensor, y: Tensor, z: Tensor, w: Tensor, b: Tensor, u: PyObject, v: Tensor, c: Tensor, t: PyObject,
    n: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Conv(x, W, b) = Conv(x, Pad(W), b) with bigger pads, where x has a convolution of that window

    Source: TASO, enlargement of convolutions.
    """
    yield from followers()
    partner = (eq(y).to(conv(x, w, b, u)), eq(z).to(conv(x, v, c, t)), ne(y).to(z))
    pads = let(n, zeros_around, fact(w), u, fact(v), t)
    last = guard(eq(superseded(y)).to(0), eq(superseded(z)).to(0))
    enlarged = conv(x, pad(w, PyObject("constant"), n, PyObject(0.0)), b, t)
    yield rewrite(conv(x, w, b, u), enlarged, *partner, *pads, *last)
