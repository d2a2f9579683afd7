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
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axes, Dims, Slices, Tensor
from egraph_opt.operators import reduce, reshape, slice_
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


@hosted()
def longer_halves(x: Fact, one: Slices, other: Slices) -> View | None:
    """None where one node does not say it: axes of 1 behind are left out if that helps."""
    found = _length_of_halves(x, one, other)
    if found is None or found[1] == 1 or x.shape is None or not x.is_symbolic:
        return None
    axis, length = found
    before, behind = x.shape[:axis], x.shape[axis + 1 :]
    for rest in (behind, tuple(dim for dim in behind if dim != 1)):
        dims = (*before, 2, length, *rest)
        if in_one(x.shape, dims) and not refuses(x.shape, dims):
            return View(dims, (axis,), (*before, length, *behind))
    return None


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


@law(examples=_examples)
def sum_of_halves(x: Tensor, s: Slices, t: Slices):
    """x[:, :n] + x[:, n:] = ReduceSum(Reshape(x, [.., 2, n, ..])), likewise of squares"""
    one, other = slice_(x, s), slice_(x, t)
    single, halves = single_halves(x, s, t), longer_halves(x, s, t)
    seen, once = reshape(x, halves[0]), guard(varies(x))
    why = "what is summed is not told where it stood"
    for parts, alone, view in ((one + other, x, seen), (one * one + other * other, x * x, seen * seen)):
        yield rewrite(parts, reduce("ReduceSum", alone, single, KEPT), once, because=why)
        total = reshape(reduce("ReduceSum", view, halves[1], 0), halves[2])
        yield rewrite(parts, total, once, because=why)
