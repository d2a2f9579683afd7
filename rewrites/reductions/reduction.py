"""Reductions and pooling over whole axes.

GlobalAveragePool(x) = ReduceMean(x) over the spatial axes, and GlobalMaxPool(x) = ReduceMax(x)
Reduce without kept dims = Reshape of Reduce with kept dims
ReduceSum_a(ReduceSum_b(x)) -> ReduceSum_ab(x), likewise Max, Min, Mean, L1
Reduce over axes of one element -> Reshape, for Sum, Mean, Max, Min and Prod
"""

import math
from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.sorts import Axes, Dims, Flag, String, Tensor
from egraph_opt.operators import global_pool, reduce, reshape, unary
from egraph_opt.rewrites.conditions.channels import static_shape
from egraph_opt.rewrites.conditions.view_shapes import known_dims

ASSOCIATIVE = frozenset(("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceL1"))
"""Reductions of which the reduction in two steps is the reduction in one (means: of equal parts)."""

EXTREMES = frozenset(("ReduceMax", "ReduceMin"))
"""Reductions of one element that are the element, in every bit."""

UNCHANGED_BY_ONE = frozenset(("ReduceSum", "ReduceProd", "ReduceMean"))
"""Reductions of one element that are the element, but for the sign of a zero: sums begin with 0."""

INTEGERS_ADDED_UP: dict[int, int] = {TensorProto.INT32: 2**31 - 1, TensorProto.INT64: 2**53}
"""The largest sums that are the same in whatever order."""

POOLED = (("GlobalAveragePool", "ReduceMean"), ("GlobalMaxPool", "ReduceMax"))


# --- pooling --------------------------------------------------------------------------------------------


@hosted()
def spatial_axes(x: Fact) -> Axes | None:
    """Those of more than one element: a row has the same reductions as an image of height 1."""
    if x.rank is None or x.rank <= 2:
        return None
    axes = tuple(range(2, x.rank))
    return tuple(a for a in axes if x.shape is not None and x.shape[a] != 1) or axes


@law("reduction", numerics="reassociates", source="ONNX; Ascend auto-optimizer, AvgPoolSplit")
def global_pool_is_reduction(x: Tensor):
    """GlobalAveragePool(x) = ReduceMean(x), GlobalMaxPool(x) = ReduceMax(x) over the spatial axes"""
    for pool, kind in POOLED:
        reduced = reduce(kind, x, spatial_axes(x), 1)
        yield rewrite(global_pool(pool, x), reduced, inverse="reduction_is_global_pool")


@hosted()
def can_be_pooled(x: Fact) -> bool:
    """Of a type, a rank and dims that onnxruntime has kernels of pooling for: only N may be 0, at run time
    either."""
    if x.shape is None or x.dtype not in (TensorProto.FLOAT, TensorProto.FLOAT16):
        return False
    return len(x.shape) in (3, 4, 5) and all(symbolic.is_at_least(dim, 1) for dim in x.shape[1:])


@hosted()
def are_spatial(axes: Axes, x: Fact) -> bool:
    """All spatial axes, of which those of one element may be left out."""
    if x.shape is None or len(x.shape) < 3 or min(axes, default=0) < 2:
        return False
    return all(dim == 1 for axis, dim in enumerate(x.shape) if axis >= 2 and axis not in axes)


@law("reduction", numerics="reassociates", source="ONNX")
def reduction_is_global_pool(x: Tensor, a: Axes):
    """ReduceMean(x) = GlobalAveragePool(x), ReduceMax(x) = GlobalMaxPool(x) over all spatial axes"""
    for pool, kind in POOLED:
        sound = (are_spatial(a, x), can_be_pooled(x))
        yield rewrite(reduce(kind, x, a, 1), global_pool(pool, x), *sound, inverse="global_pool_is_reduction")


# --- dims that are kept -----------------------------------------------------------------------------------


@hosted()
def without_axes(x: Fact, axes: Axes) -> Dims | None:
    """The dims of x less the axes, all known."""
    if not x.is_symbolic or x.shape is None:
        return None
    return tuple(d for k, d in enumerate(x.shape) if k not in axes)


@law("reduction", numerics="bitwise", kind="split", source="ONNX")
def drop_axes_later(kind: String, x: Tensor, a: Axes):
    """Reduce_a(x) without kept dims = Reshape(Reduce_a(x) with kept dims)"""
    kept = reshape(reduce(kind, x, a, 1), without_axes(x, a))
    yield rewrite(reduce(kind, x, a, 0), kept, inverse="drop_axes_at_once")


@hosted()
def drops(dims: Dims, x: Fact, axes: Axes) -> bool:
    """`dims` are those of x without the axes."""
    return bool(dims == without_axes(x, axes))


@law(
    "reduction",
    numerics="bitwise",
    kind="fuse",
    source="onnxoptimizer fuse_consecutive_reduce_unsqueeze, the other way round",
)
def drop_axes_at_once(kind: String, x: Tensor, a: Axes, d: Dims):
    """Squeeze_a(Reduce_a(x) with kept dims) = Reduce_a(x) without"""
    kept = reshape(reduce(kind, x, a, 1), d)
    yield rewrite(kept, reduce(kind, x, a, 0), drops(d, x, a), inverse="drop_axes_later")


# --- reductions of reductions -----------------------------------------------------------------------------


@hosted()
def is_associative(kind: str, x: Fact) -> bool:
    """Products overflow in one order and not in another; a mean of integers is rounded, and onnxruntime adds
    them up in float64."""
    if kind in EXTREMES or x.dtype in ALL_FLOATS:
        return kind in ASSOCIATIVE
    known, most = range_of(x), INTEGERS_ADDED_UP.get(x.dtype)
    shape = static_shape(x)
    if known is None or most is None or shape is None or kind not in ("ReduceSum", "ReduceL1"):
        return False
    return math.prod(shape) * max(map(abs, known)) <= most


@hosted()
def joined_axes(inner: Axes, keep_inner: Flag, outer: Axes) -> Axes:
    """The axes of two reductions in a row, in terms of the first one's operand."""
    if keep_inner or not outer:
        return tuple(sorted({*inner, *outer}))
    left = [a for a in range(len(inner) + max(outer) + 1) if a not in inner]
    return tuple(sorted({*inner, *(left[a] for a in outer)}))


def _integers_twice(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((2, 3, 4), TensorProto.INT64)
    few = unary("Clip", (("max", 100), ("min", 0)), x)
    yield g.fires(reduce("ReduceSum", reduce("ReduceSum", few, (2,), 0), (1,), 0))
    yield g.near_miss(reduce("ReduceSum", reduce("ReduceSum", x, (2,), 0), (1,), 0), "sums are rounded")
    for kind, why in (("ReduceMean", "each mean is rounded"), ("ReduceProd", "a product overflows")):
        yield g.near_miss(reduce(kind, reduce(kind, few, (2,), 0), (1,), 0), why)


@law("reduction", numerics="reassociates", kind="merge", examples=_integers_twice)
def pair_of_reductions(kind: String, x: Tensor, a: Axes, b: Axes, k: Flag):
    """Reduce_b(Reduce_a(x)) = Reduce_ab(x) for Sum, Max, Min, Mean and L1

    A mean of means of equal parts is the mean.
    """
    once, twice = reduce(kind, x, joined_axes(a, k, b), k), reduce(kind, reduce(kind, x, a, k), b, k)
    yield rewrite(twice, once, is_associative(kind, x), because="forgets a")


# --- one element ------------------------------------------------------------------------------------------


@hosted()
def is_kept(kind: str, x: Fact) -> bool:
    """The reduction of one element is the element; kernels take means of integers by way of floats.

    Those of onnxruntime take sums and products of int64 over axes of one element by way of float64 as well.
    """
    if kind == "ReduceMean" or x.dtype in ALL_FLOATS:
        return kind in UNCHANGED_BY_ONE and x.dtype in ALL_FLOATS
    known = range_of(x)
    fits = x.value is not None or (known is not None and known[0] >= -(2**53) and known[1] <= 2**53)
    return kind in UNCHANGED_BY_ONE and fits


@hosted()
def is_extreme(kind: str) -> bool:
    return kind in EXTREMES


@hosted()
def are_single(axes: Axes, x: Fact) -> bool:
    return x.shape is not None and all(k < len(x.shape) and x.shape[k] == 1 for k in axes)


@law("reduction", numerics="finite", kind="replace", serves="arithmetic")
def single_element(kind: String, x: Tensor, a: Axes, k: Flag):
    """Reduce_a(x) = Reshape(x) where the axes a have one element each, for Sum, Mean and Prod"""
    z = reduce(kind, x, a, k)
    yield rewrite(
        z, reshape(x, known_dims(z)), is_kept(kind, x), are_single(a, x), because="a reshape has no axes"
    )


@law("reduction", numerics="bitwise", kind="replace", serves="arithmetic")
def single_extreme(kind: String, x: Tensor, a: Axes, k: Flag):
    """Reduce_a(x) = Reshape(x) where the axes a have one element each, for Max and Min"""
    z = reduce(kind, x, a, k)
    yield rewrite(
        z, reshape(x, known_dims(z)), is_extreme(kind), are_single(a, x), because="a reshape has no axes"
    )
