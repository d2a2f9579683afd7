"""Reductions and pooling over whole axes.

GlobalAveragePool(x) = ReduceMean(x) over the spatial axes, and GlobalMaxPool(x) = ReduceMax(x)
Reduce without kept dims = Reshape of Reduce with kept dims
ReduceSum_a(ReduceSum_b(x)) = ReduceSum_ab(x), likewise Max, Min, Prod, Mean, L1
Reduce over axes of one element = Reshape, for Sum, Mean, Max, Min and Prod
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.compat import PyObject, String, holds, let, rewrite
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import global_pool, reduce, reshape
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact

ASSOCIATIVE = frozenset(("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean", "ReduceL1"))
"""Reductions of which the reduction in two steps is the reduction in one (means: of equal parts)."""

UNCHANGED_BY_ONE = ASSOCIATIVE - {"ReduceL1"}
"""Reductions of one element that are the element."""


@hosted()
def spatial_axes(x: Fact) -> tuple[int, ...] | None:
    return tuple(range(2, x.rank)) if x.rank is not None and x.rank > 2 else None


def _global_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape in (("N", 3, 4), ("N", 3, 4, 5), (2, 3, 4, 5, 2)):
        g = Operands(rng)
        x = g.input(shape)
        yield g.fires(global_pool("GlobalAveragePool", x))
        yield g.fires(global_pool("GlobalMaxPool", x))
    yield g.near_miss(reduce("ReduceSum", x, (2, 3, 4), 1), why="a sum is no pooling")


@law("reduction", numerics="reassociates", examples=_global_examples)
def global_pool_is_reduction(x: Tensor, a: PyObject) -> Iterator[Any]:
    """GlobalAveragePool(x) = ReduceMean(x), GlobalMaxPool(x) = ReduceMax(x) over the spatial axes

    Source: ONNX; Ascend auto-optimizer, AvgPoolSplit.
    """
    axes = let(a, spatial_axes, fact(x))
    yield rewrite(global_pool("GlobalAveragePool", x), reduce("ReduceMean", x, a, 1), *axes)
    yield rewrite(global_pool("GlobalMaxPool", x), reduce("ReduceMax", x, a, 1), *axes)


@hosted(default=False)
def covers_spatial(x: Fact, axes: tuple[int, ...]) -> bool:
    """The axes are the spatial ones of a float tensor of a rank that pooling has."""
    return (
        x.dtype in (TensorProto.FLOAT, TensorProto.FLOAT16)  # onnxruntime has no others
        and x.rank is not None
        and 3 <= x.rank <= 5
        and axes == tuple(range(2, x.rank))
    )


def _pool_back_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape in (("N", 3, 4), ("N", 3, 4, 5)):
        g = Operands(rng)
        x = g.input(shape)
        yield g.fires(reduce("ReduceMean", x, tuple(range(2, len(shape))), 1))
        yield g.near_miss(reduce("ReduceMean", x, (1,), 1), why="the channel axis is no spatial one")
        yield g.near_miss(reduce("ReduceMean", x, tuple(range(2, len(shape))), 0), why="the axes are dropped")
    double = reduce("ReduceMax", g.input((1, 2, 7, 5), TensorProto.DOUBLE), (2, 3), 1)
    yield g.near_miss(double, why="onnxruntime has no such kernel")


@law("reduction", numerics="reassociates", examples=_pool_back_examples)
def reduction_is_global_pool(x: Tensor, a: PyObject) -> Iterator[Any]:
    """ReduceMean(x) = GlobalAveragePool(x), ReduceMax(x) = GlobalMaxPool(x) over all spatial axes

    Source: ONNX.
    """
    spatial = holds(covers_spatial, fact(x), a)
    yield rewrite(reduce("ReduceMean", x, a, 1), global_pool("GlobalAveragePool", x), spatial)
    yield rewrite(reduce("ReduceMax", x, a, 1), global_pool("GlobalMaxPool", x), spatial)


@hosted()
def without_axes(x: Fact, axes: tuple[int, ...]) -> Shape | None:
    """The dims of x less the axes, all known."""
    if not x.is_symbolic or x.shape is None:
        return None
    return tuple(d for k, d in enumerate(x.shape) if k not in axes)


def _kept_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 4, 5))
    for kind in ("ReduceMean", "ReduceL2", "ReduceMax"):
        yield g.fires(reduce(kind, x, (2, 3), 0))
    yield g.near_miss(reduce("ReduceMean", x, (2, 3), 1), why="the axes are kept")


@law("reduction", numerics="bitwise", examples=_kept_examples)
def drop_axes_later(kind: String, x: Tensor, a: PyObject, d: PyObject) -> Iterator[Any]:
    """Reduce_a(x) without kept dims = Reshape(Reduce_a(x) with kept dims)

    Source: ONNX.
    """
    yield rewrite(reduce(kind, x, a, 0), reshape(reduce(kind, x, a, 1), d), let(d, without_axes, fact(x), a))


@hosted(default=False)
def drops_exactly(x: Fact, dims: Shape, axes: tuple[int, ...]) -> bool:
    """`dims` are those of x without the axes."""
    return x.is_symbolic and without_axes(x, axes) == dims


def _squeezed_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((2, 3, 4, 5))
    yield g.fires(reshape(reduce("ReduceMean", x, (2, 3), 1), (2, 3)))
    yield g.near_miss(reshape(reduce("ReduceMean", x, (2, 3), 1), (3, 2)), why="the other dims change")


@law("reduction", numerics="bitwise", examples=_squeezed_examples)
def drop_axes_at_once(kind: String, x: Tensor, a: PyObject, d: PyObject) -> Iterator[Any]:
    """Squeeze_a(Reduce_a(x) with kept dims) = Reduce_a(x) without

    Source: onnxoptimizer fuse_consecutive_reduce_unsqueeze, the other way round.
    """
    yield rewrite(
        reshape(reduce(kind, x, a, 1), d), reduce(kind, x, a, 0), holds(drops_exactly, fact(x), d, a)
    )


@hosted()
def joined_axes(
    kind: str, inner: tuple[int, ...], keep_inner: int, outer: tuple[int, ...]
) -> tuple[int, ...] | None:
    """The axes of two reductions in a row, in terms of the first one's operand."""
    if kind not in ASSOCIATIVE:
        return None
    if keep_inner:
        return tuple(sorted({*inner, *outer}))
    rank = len(inner) + max(outer) + 1
    left = [a for a in range(rank) if a not in inner]
    return tuple(sorted({*inner, *(left[a] for a in outer)}))


def _pair_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 4, 5))
    for kind in sorted(ASSOCIATIVE):
        yield g.fires(reduce(kind, reduce(kind, x, (1,), 1), (3,), 1))
        yield g.fires(reduce(kind, reduce(kind, x, (1,), 0), (1, 2), 0))
    yield g.near_miss(reduce("ReduceL2", reduce("ReduceL2", x, (1,), 1), (3,), 1), why="not of this kind")
    yield g.near_miss(reduce("ReduceSum", reduce("ReduceSum", x, (1,), 1), (3,), 0), why="dims kept once")
    yield g.near_miss(reduce("ReduceSum", reduce("ReduceMean", x, (1,), 1), (3,), 1), why="two kinds")


@law("reduction", numerics="reassociates", examples=_pair_examples)
def pair_of_reductions(
    kind: String, x: Tensor, a: PyObject, b: PyObject, k: PyObject, c: PyObject
) -> Iterator[Any]:
    """Reduce_b(Reduce_a(x)) = Reduce_ab(x) for Sum, Max, Min, Prod, Mean and L1

    Source: algebra; a mean of means of equal parts is the mean.
    """
    yield rewrite(
        reduce(kind, reduce(kind, x, a, k), b, k), reduce(kind, x, c, k), let(c, joined_axes, kind, a, k, b)
    )


@hosted()
def dims_if_single(kind: str, x: Fact, axes: tuple[int, ...], keepdims: int) -> Shape | None:
    """The result's dims where each reduced axis has one element and the reduction keeps it as it is."""
    if kind not in UNCHANGED_BY_ONE or not x.is_symbolic or x.shape is None:
        return None
    if any(x.shape[a] != 1 for a in axes):
        return None
    return x.shape if keepdims else without_axes(x, axes)


def _single_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 1, 4, 1))
    for kind in sorted(UNCHANGED_BY_ONE):
        yield g.fires(reduce(kind, x, (1, 3), 0))
        yield g.fires(reduce(kind, x, (1,), 1))
    yield g.near_miss(reduce("ReduceSum", x, (1, 2), 0), why="four elements")
    yield g.near_miss(reduce("ReduceL2", x, (1,), 1), why="a norm takes the sign away")


@law("reduction", numerics="bitwise", examples=_single_examples)
def single_element(kind: String, x: Tensor, a: PyObject, k: PyObject, d: PyObject) -> Iterator[Any]:
    """Reduce_a(x) = Reshape(x) where the axes a have one element each

    Source: algebra.
    """
    yield rewrite(reduce(kind, x, a, k), reshape(x, d), let(d, dims_if_single, kind, fact(x), a, k))
