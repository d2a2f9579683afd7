"""Squeezes of images sink past operators with axes, so that lifted convolutions meet (see `conv1d`).

    Transpose, Pad, Slice, Split, Gather, Softmax, BatchNormalization of Squeeze(x)
        = Squeeze of the same on x, its axes moved
    Reduce(Squeeze(x)) = Squeeze(Reduce(x)), or without one where the axes are dropped anyway

An axis of [a, b, c] is found in [a, b, 1, c] by `lifted_axis`; the unit axis stays where it is.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import Equal, PyObject, String, eq, holds, i64, let, rule
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    batchnorm,
    gather,
    output,
    pad,
    reduce,
    reshape,
    slice_,
    softmax,
    split,
    transpose,
)
from egraph_opt.operators.host import hosted
from egraph_opt.operators.sorts import Slices
from egraph_opt.operators.terms import Bundle, Tensor, fact
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.targets.conv1d import UNIT, is_lowered, lowered, wanted

_UNASKED = "the target does not ask for it"


@hosted()
def lifted_axis(axis: int) -> int:
    """Where an axis of [a, b, c] is in [a, b, 1, c]."""
    return axis + (axis >= UNIT)


@hosted()
def _lifted_perm(perm: tuple[int, ...]) -> tuple[int, ...]:
    moved = [lifted_axis(axis) for axis in perm]
    return (*moved[:UNIT], UNIT, *moved[UNIT:])


@hosted()
def _lifted_spec(spec: Slices) -> Slices:
    return tuple((lifted_axis(axis), *bounds) for axis, *bounds in spec)  # type: ignore[misc]


@hosted()
def _lifted_pads(pads: tuple[int, ...]) -> tuple[int, ...]:
    begins, ends = pads[:3], pads[3:]
    return (*begins[:UNIT], 0, *begins[UNIT:], *ends[:UNIT], 0, *ends[UNIT:])


@hosted()
def _lifted_axes(axes: tuple[int, ...], keepdims: int, wanted_keepdims: int) -> tuple[int, ...] | None:
    """The axes of a reduction; the unit axis is reduced too where it would not be kept."""
    if bool(keepdims) != bool(wanted_keepdims):
        return None
    moved = {lifted_axis(axis) for axis in axes} | (set() if keepdims else {UNIT})
    return tuple(sorted(moved))


def _movable(x: Any, z: Any, n: Any, d: Any, out: Any) -> tuple[Any, ...]:
    """x is an image, viewed as d; the result z has known dims."""
    return (wanted(n), holds(is_lowered, fact(x), d), *let(out, known_dims, fact(z)))


def both(g: Operands, term: Any) -> Iterator[Example]:
    """The term lifts where the target asks for it, and only there."""
    """The term lifts where the target asks for it, and only there."""
    yield g.fires(term, lift_conv1d=1)
    yield g.near_miss(term, why=_UNASKED)


def _transpose_examples(rng: np.random.Generator) -> Iterator[Example]:
    for perm in ((0, 2, 1), (2, 0, 1), (1, 0, 2)):
        g = Operands(rng)
        yield from both(g, transpose(lowered(g, "N", 3, "L"), perm))
    g = Operands(rng)
    x = reshape(g.input((2, 1, 3, 4)), (2, 3, 4))
    yield g.near_miss(transpose(x, (0, 2, 1)), why="the unit axis is another one", lift_conv1d=1)


@law("conv1d", numerics="bitwise", examples=_transpose_examples)
def past_transpose(
    x: Tensor, z: Tensor, n: i64, d: PyObject, p: PyObject, q: PyObject, out: PyObject
) -> Iterator[Any]:
    """Transpose(Squeeze(x)) = Squeeze(Transpose(x))

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    found = (eq(z).to(transpose(reshape(x, d), p)), *_movable(x, z, n, d, out))
    yield rule(*found, let(q, _lifted_perm, p), then=Equal(z, reshape(transpose(x, q), out)))


def _pad_examples(rng: np.random.Generator) -> Iterator[Example]:
    for mode, pads in (("constant", (0, 0, 2, 0, 1, 3)), ("reflect", (0, 0, 2, 0, 0, 3))):
        g = Operands(rng)
        yield from both(g, pad(lowered(g, "N", 3, "L"), mode, pads, 0.5))


@law("conv1d", numerics="bitwise", examples=_pad_examples)
def past_pad(
    x: Tensor,
    z: Tensor,
    n: i64,
    d: PyObject,
    m: PyObject,
    p: PyObject,
    q: PyObject,
    v: PyObject,
    out: PyObject,
) -> Iterator[Any]:
    """Pad(Squeeze(x)) = Squeeze(Pad(x))

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    found = (eq(z).to(pad(reshape(x, d), m, p, v)), *_movable(x, z, n, d, out))
    yield rule(*found, let(q, _lifted_pads, p), then=Equal(z, reshape(pad(x, m, q, v), out)))


def _slice_examples(rng: np.random.Generator) -> Iterator[Example]:
    for spec in (((1, 0, 2, 1),), ((0, 0, 1, 1), (2, 1, 5, 2)), ((2, 2, None, 1),)):
        g = Operands(rng)
        yield from both(g, slice_(lowered(g, "N", 3, "L"), spec))


@law("conv1d", numerics="bitwise", examples=_slice_examples)
def past_slice(
    x: Tensor, z: Tensor, n: i64, d: PyObject, p: PyObject, q: PyObject, out: PyObject
) -> Iterator[Any]:
    """Slice(Squeeze(x)) = Squeeze(Slice(x))

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    found = (eq(z).to(slice_(reshape(x, d), p)), *_movable(x, z, n, d, out))
    yield rule(*found, let(q, _lifted_spec, p), then=Equal(z, reshape(slice_(x, q), out)))


def _split_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    yield from both(g, output(split(lowered(g, "N", 5, "L"), 1, (2, 3)), 1))
    g = Operands(rng)
    yield from both(g, output(split(lowered(g, "N", 3, 7), 2, (3, 4)), 0))


@law("conv1d", numerics="bitwise", examples=_split_examples)
def past_split(
    x: Tensor,
    z: Tensor,
    b: Bundle,
    k: i64,
    n: i64,
    d: PyObject,
    a: PyObject,
    s: PyObject,
    q: PyObject,
    out: PyObject,
) -> Iterator[Any]:
    """Split(Squeeze(x)) = Squeeze(Split(x)), part by part

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    found = (eq(z).to(output(b, k)), eq(b).to(split(reshape(x, d), a, s)), *_movable(x, z, n, d, out))
    yield rule(*found, let(q, lifted_axis, a), then=Equal(z, reshape(output(split(x, q, s), k), out)))


def _gather_examples(rng: np.random.Generator) -> Iterator[Example]:
    for indices in (np.array(1), np.array([2, 0])):
        g = Operands(rng)
        x = lowered(g, "N", 3, 7)
        yield from both(g, gather(x, g.constant(indices), 1))
        yield from both(g, gather(x, g.constant(indices), 2))


@law("conv1d", numerics="bitwise", examples=_gather_examples)
def past_gather(
    x: Tensor, z: Tensor, i: Tensor, n: i64, d: PyObject, a: PyObject, q: PyObject, out: PyObject
) -> Iterator[Any]:
    """Gather(Squeeze(x)) = Squeeze(Gather(x))

    Source: algebra.
    """
    found = (eq(z).to(gather(reshape(x, d), i, a)), *_movable(x, z, n, d, out))
    yield rule(*found, let(q, lifted_axis, a), then=Equal(z, reshape(gather(x, i, q), out)))


def _softmax_examples(rng: np.random.Generator) -> Iterator[Example]:
    for axis in (0, 1, 2):
        g = Operands(rng)
        yield from both(g, softmax("Softmax", lowered(g, "N", 3, "L"), axis))


@law("conv1d", numerics="reassociates", examples=_softmax_examples)
def past_softmax(
    x: Tensor, z: Tensor, k: String, n: i64, d: PyObject, a: PyObject, q: PyObject, out: PyObject
) -> Iterator[Any]:
    """Softmax(Squeeze(x)) = Squeeze(Softmax(x))

    Source: algebra.
    """
    found = (eq(z).to(softmax(k, reshape(x, d), a)), *_movable(x, z, n, d, out))
    yield rule(*found, let(q, lifted_axis, a), then=Equal(z, reshape(softmax(k, x, q), out)))


def _reduce_examples(rng: np.random.Generator) -> Iterator[Example]:
    for kind, axes, keepdims in (
        ("ReduceMean", (2,), 0),
        ("ReduceMean", (1, 2), 1),
        ("ReduceMax", (1,), 0),
        ("ReduceL2", (0, 2), 1),
        ("ReduceSum", (0, 1, 2), 0),
    ):
        g = Operands(rng)
        yield from both(g, reduce(kind, lowered(g, "N", 3, "L"), axes, keepdims))


@law("conv1d", numerics="reassociates", examples=_reduce_examples)
def past_reduce(
    x: Tensor, z: Tensor, k: String, n: i64, d: PyObject, a: PyObject, m: PyObject, q: PyObject, out: PyObject
) -> Iterator[Any]:
    """Reduce_a(Squeeze(x)) = Squeeze(Reduce_a'(x)); the unit axis goes with dropped ones

    Source: algebra.
    """
    found = (eq(z).to(reduce(k, reshape(x, d), a, m)), *_movable(x, z, n, d, out))
    kept, dropped = PyObject(1), PyObject(0)
    yield rule(*found, let(q, _lifted_axes, a, m, kept), then=Equal(z, reshape(reduce(k, x, q, m), out)))
    yield rule(*found, let(q, _lifted_axes, a, m, dropped), then=Equal(z, reduce(k, x, q, m)))


def _batchnorm_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    scale, bias, mean = (g.random(3) for _ in range(3))
    variance = g.constant(np.abs(rng.standard_normal(3)) + 0.5)
    yield from both(g, batchnorm(lowered(g, "N", 3, "L"), scale, bias, mean, variance, 1e-5))


@law("conv1d", numerics="reassociates", examples=_batchnorm_examples)
def past_batchnorm(
    x: Tensor,
    z: Tensor,
    s: Tensor,
    b: Tensor,
    m: Tensor,
    v: Tensor,
    n: i64,
    d: PyObject,
    e: PyObject,
    out: PyObject,
) -> Iterator[Any]:
    """BatchNormalization(Squeeze(x)) = Squeeze(BatchNormalization(x))

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    found = (eq(z).to(batchnorm(reshape(x, d), s, b, m, v, e)), *_movable(x, z, n, d, out))
    yield rule(*found, then=Equal(z, reshape(batchnorm(x, s, b, m, v, e), out)))
