"""Both halves of an axis, added, are the sum of a view of the whole.

x[:, :n] + x[:, n:]           -> ReduceSum(Reshape(x, [.., 2, n, ..]))
x[:, :n]^2 + x[:, n:]^2       -> ReduceSumSquare(Reshape(x, [.., 2, n, ..]))

Real and imaginary parts of a spectrum are the halves of one convolution, or the channels of one with both
gradients of an image.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axes, Dims, Int, Slices, Tensor
from egraph_opt.operators import reduce, reshape, slice_
from egraph_opt.operators.terms import node
from egraph_opt.operators.views import refuses
from egraph_opt.rewrites.normalization.layer_norm import KEPT
from egraph_opt.rewrites.slicing.slice import taken_by
from egraph_opt.rewrites.views.two_steps import in_one

law = laws_of("reductions", numerics="reassociates", kind="merge", serves="launches", source="algebra")


def _length_of_halves(x: Fact, one: Slices, other: Slices) -> tuple[int, int] | None:
    """The axis of which two slices are the halves, and their length; of floats: sums of integers wrap."""
    if (
        x.dtype not in KERNEL_FLOATS
        or x.shape is None
        or len(one) != 1
        or len(other) != 1
        or one[0][0] != other[0][0]
    ):
        return None
    dim = x.shape[one[0][0]]
    if not isinstance(dim, int) or dim < 2 or dim % 2:
        return None
    halves = sorted((taken_by(entry, dim) for entry in (one[0], other[0])), key=lambda taken: taken.start)
    length = dim // 2
    return (one[0][0], length) if halves == [range(length), range(length, dim)] else None


@hosted()
def single_halves(x: Fact, one: Slices, other: Slices) -> Axes | None:
    """The axis of two elements that slices are."""
    found = _length_of_halves(x, one, other)
    return (found[0],) if found is not None and found[1] == 1 else None


class View(NamedTuple):
    """A view with an axis for each of two halves, that axis, and the dims of one half."""

    dims: Dims
    axes: Axes
    half: Dims


def _view(x: Fact, one: Slices, other: Slices, *, without_ones: bool) -> View | None:
    """None where one node does not say it."""
    found = _length_of_halves(x, one, other)
    if found is None or found[1] == 1 or x.shape is None or not x.is_symbolic:
        return None
    axis, length = found
    before, behind = x.shape[:axis], x.shape[axis + 1 :]
    rest = tuple(dim for dim in behind if dim != 1 or not without_ones)
    dims = (*before, 2, length, *rest)
    said = in_one(x.shape, dims) and not refuses(x.shape, dims)
    return View(dims, (axis,), (*before, length, *behind)) if said else None


@hosted()
def longer_halves(x: Fact, one: Slices, other: Slices) -> View | None:
    return _view(x, one, other, without_ones=False)


@hosted()
def halves_of_row(x: Fact, one: Slices, other: Slices) -> View | None:
    """Without the axes of 1 behind, where one node does not say it with them."""
    whole = _view(x, one, other, without_ones=False)
    return None if whole is not None else _view(x, one, other, without_ones=True)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, pair = g.input(("N", 6, 5)), g.input(("N", 6, 5)), g.input(("N", 2, "L", 3))

    def part(start: int, end: int | None, of: Any = x, axis: int = 1, step: int = 1) -> Any:
        return slice_(of, ((axis, start, end, step),))

    first, second, rows, image = part(0, 3), part(3, 6), g.input((4, 3)), g.input(("N", 6, 1, "L"))
    yield from g.all_fire(
        first + second,
        second * second + first * first,
        part(0, 1, pair) + part(1, None, pair),
        part(0, 1, pair) * part(0, 1, pair) + part(1, 2, pair) * part(1, 2, pair),
        part(0, 2, rows, 0) + part(2, 4, rows, 0),
        part(0, 3, image) + part(3, 6, image),
        part(0, 3, image) * part(0, 3, image) + part(3, 6, image) * part(3, 6, image),
    )
    yield from g.near_misses(
        (first + part(3, 6, y), "halves of two tensors"),
        (first + first, "one half twice"),
        (first * second + second * first, "no squares"),
        (part(0, 2) + part(4, 6), "a part between is left out"),
        (part(0, 5, step=2) + part(1, 6, step=2), "every other one"),
    )
    for whole, n in ((g.input(("N", 6, 5), TensorProto.INT32), 3), (g.input((3, 2), TensorProto.INT32), 1)):
        one, other = part(0, n, whole), part(n, 2 * n, whole)
        for parts in (one + other, one * one + other * other):
            yield g.near_miss(parts, why="onnxruntime wraps no sums of integers")


def _itself(v: Any) -> Any:
    return v


def _square(v: Any) -> Any:
    return v * v


@law(examples=_examples)
def sum_of_halves(x: Tensor, s: Slices, t: Slices, k: Int):
    """x[:, :n] + x[:, n:] = ReduceSum(Reshape(x, [.., 2, n, ..])), likewise of squares

    Of sums of the original: other views and orders of it would all be views with an axis more.
    """
    one, other, single = slice_(x, s), slice_(x, t), single_halves(x, s, t)
    why, once = "what is summed is not told where it stood", guard(varies(x))
    for parts, of in ((one + other, _itself), (_square(one) + _square(other), _square)):
        first = (*once, *guard(eq(parts, node(k))))
        yield rewrite(parts, reduce("ReduceSum", of(x), single, KEPT), first, because=why)
        for how, demand in ((longer_halves(x, s, t), first), (halves_of_row(x, s, t), once)):
            total = reduce("ReduceSum", of(reshape(x, how[0])), how[1], 0)
            yield rewrite(parts, reshape(total, how[2]), demand, because=why)
