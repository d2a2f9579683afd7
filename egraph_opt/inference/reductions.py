"""Reductions over axes, and operators that choose along one: ReduceX, ArgMax, TopK, MatMul, Gemm."""

from __future__ import annotations

import math

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Dim, Element, Fact, Shape

from .call import Call, ContradictionError, formula, normal_axes, normal_axis
from .elementwise import broadcast
from .numbers import array, with_data
from .views import axis_of

_INT64 = 7


def reduced_shape(shape: Shape, axes: frozenset[int], keepdims: bool) -> Shape:
    if keepdims:
        return tuple(1 if k in axes else d for k, d in enumerate(shape))
    return tuple(d for k, d in enumerate(shape) if k not in axes)


@formula(*(f"Reduce{what}" for what in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2")))
@formula("ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
def _reduce(call: Call) -> list[Fact]:
    x = call.fact(0)
    keeps = call.integer("keepdims", 1) == 1
    axes = call.axes(1)
    given = call.gives_axes(1)
    if given and axes is None:
        rank = len(x.shape) if x.shape is not None and keeps else None
        return [Fact(x.dtype, None if rank is None else (None,) * rank)]
    if not axes and call.integer("noop_with_empty_axes", 0) == 1:
        # ONNX: no axes means nothing is reduced; the element-wise part of ReduceL2 and others still happens.
        return [Fact(x.dtype, x.shape)]
    if x.shape is None:
        return [Fact(x.dtype, () if not axes and not keeps else None)]
    rank = len(x.shape)
    over = frozenset(normal_axes(axes, rank) if axes else range(rank))
    fact = Fact(x.dtype, reduced_shape(x.shape, over, keeps))
    items = array(x)
    if items is not None and x.dtype not in FLOATS and rank >= 1 and len(over) == rank:
        total = np.empty((1,) * rank if keeps else (), dtype=np.object_)
        total[...] = _total(call.op_type, tuple(items.ravel()))
        return [with_data(fact, total)]
    keeps_splat = call.op_type in ("ReduceMax", "ReduceMin") and all(
        symbolic.is_at_least(x.shape[k], 1) for k in over
    )
    return [with_data(fact, None, x.splat if keeps_splat else None)]


def _total(op_type: str, items: tuple[int | str, ...]) -> Element:
    if op_type == "ReduceSum":
        total: Dim = 0
        for item in items:
            total = symbolic.add(total, item)
        return total
    if op_type == "ReduceProd":
        return symbolic.product(items)
    if op_type in ("ReduceMax", "ReduceMin") and items:
        best: Dim = items[0]
        for item in items[1:]:
            best = symbolic.maximum(best, item) if op_type == "ReduceMax" else symbolic.minimum(best, item)
        return best
    return None


@formula("ArgMax", "ArgMin")
def _arg_max(call: Call) -> list[Fact]:
    x = call.fact(0)
    if x.shape is None:
        return [Fact(_INT64)]
    axis = axis_of(call, 0, len(x.shape))
    return [Fact(_INT64, reduced_shape(x.shape, frozenset((axis,)), call.integer("keepdims", 1) == 1))]


@formula("TopK")
def _top_k(call: Call) -> list[Fact]:
    x = call.fact(0)
    if x.shape is None:
        return [Fact(x.dtype), Fact(_INT64)]
    axis = axis_of(call, -1, len(x.shape))
    if call.opset < 10:
        k: Dim = call.integer("k", 0)
    else:
        value = call.fact(1).value
        k = value[0] if value is not None and len(value) == 1 else None
    dim = x.shape[axis]
    if isinstance(k, int) and (k < 0 or (isinstance(dim, int) and k > dim)):
        raise ContradictionError(f"TopK of {k} among {dim}")
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return [with_data(Fact(x.dtype, shape), None, x.splat), Fact(_INT64, shape)]


@formula("MatMul", "MatMulInteger")
def _matmul(call: Call) -> list[Fact]:
    a, b = call.shape(0), call.shape(1)
    dtype = call.fact(0).dtype if call.op_type == "MatMul" else 0
    if a is None or b is None:
        return [Fact(dtype)]
    if not a or not b:
        raise ContradictionError("MatMul of a scalar")
    left = (1, *a) if len(a) == 1 else a
    right = (*b, 1) if len(b) == 1 else b
    _same(left[-1], right[-2], "MatMul")
    batch = broadcast([left[:-2], right[:-2]]) or ()
    rows = left[-2:-1] if len(a) > 1 else ()
    columns = right[-1:] if len(b) > 1 else ()
    return [Fact(dtype, (*batch, *rows, *columns))]


@formula("Gemm")
def _gemm(call: Call) -> list[Fact]:
    a, b = call.shape(0), call.shape(1)
    if a is None or b is None:
        return [Fact(call.fact(0).dtype)]
    if len(a) != 2 or len(b) != 2:
        raise ContradictionError(f"Gemm of {a} and {b}")
    rows, inner = (a[1], a[0]) if call.integer("transA", 0) else a
    other, columns = (b[1], b[0]) if call.integer("transB", 0) else b
    _same(inner, other, "Gemm")
    added = call.shape(2) if call.has(2) else None
    if added is not None and not _may_broadcast(added, (rows, columns)):
        raise ContradictionError(f"Gemm of {added} added to {(rows, columns)}")
    return [Fact(call.fact(0).dtype, (rows, columns))]


def _may_broadcast(shape: Shape, target: Shape) -> bool:
    """Whether a shape broadcasts into another one, which stays as it is, as far as is known."""
    pairs = zip(reversed(shape), reversed(target), strict=False)
    fits = all(a == 1 or not isinstance(a, int) or not isinstance(b, int) or a == b for a, b in pairs)
    return fits and len(shape) <= len(target)


def _same(a: Dim, b: Dim, what: str) -> None:
    if isinstance(a, int) and isinstance(b, int) and a != b:
        raise ContradictionError(f"{what} over {a} and {b}")


@formula("OneHot")
def _one_hot(call: Call) -> list[Fact]:
    indices, depth = call.shape(0), call.fact(1)
    dtype = call.fact(2).dtype
    if indices is None:
        return [Fact(dtype)]
    rank = len(indices) + 1
    axis = normal_axis(call.integer("axis", -1), rank)
    items = array(depth)
    size = items.flat[0] if items is not None and items.size == 1 else None
    if isinstance(size, float):
        size = math.trunc(size) if math.isfinite(size) else None
    return [Fact(dtype, (*indices[:axis], size, *indices[axis:]))]


@formula("BatchNormalization", "LayerNormalization")
def _normalization(call: Call) -> list[Fact]:
    """Further outputs, where there are any, are typed by ONNX."""
    return [Fact(call.fact(0).dtype, call.shape(0))]
