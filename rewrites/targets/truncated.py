"""Where only the lower bits of integers are asked for, only these are computed.

    Cast_32(x + y) = Cast_32(x) + Cast_32(y)        likewise -, *, CumSum and MatMul: all wrap around
    Gather(x, i) -> Gather(x, Cast_32(i))           where int32 has every index of x

No range is asked for: the lower 32 bits of a sum are the sum of the lower 32 bits.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, String, Tensor, Tensors
from egraph_opt.operators import binary, cast, cumsum, gather, gather_elements, reduce, unary
from egraph_opt.operators.terms import limit
from egraph_opt.rewrites.targets.narrowing import INT32, INT64, LIMITS, all_cast, applications, applied

law = laws_of(
    "narrowing", numerics="bitwise", kind="move", serves="target", source="Ascend auto-optimizer, TypeCast"
)

WRAPPING = frozenset(("Add", "Sub", "Mul", "Neg"))
"""Arithmetic of which the lower bits of the result depend on the lower bits of the operands only."""


@hosted()
def wraps(kind: str, how: tuple[Any, ...], z: Fact) -> bool:
    """An operator (see `applied`) of int64 is arithmetic modulo powers of two."""
    return z.dtype == INT64 and (kind in ("cumsum", "matmul") or bool(how and how[0] in WRAPPING))


def _sums(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, w = g.input(("N", 3), INT64), g.input((3,), INT64), g.input((3, 2), INT64)
    settings, last = (("exclusive", 0), ("reverse", 1)), g.constant(np.array(1))
    yield from (g.fires(cast(binary(op, x, y), INT32), **LIMITS) for op in ("Add", "Sub", "Mul"))
    for z in (unary("Neg", (), x), cumsum(x, last, settings), x @ w):
        yield g.fires(cast(z, INT32), **LIMITS)
    few = g.input((3,), INT32)
    yield from g.near_misses(
        (cast(binary("Div", x, y), INT32), "the upper bits decide"),
        (cast(unary("Abs", (), x), INT32), "the upper bits decide"),
        (cast(reduce("ReduceMax", x, (1,), 0), INT32), "the upper bits decide"),
        (cast(reduce("ReduceSum", x, (1,), 0), INT32), "onnxruntime adds in doubles"),
        (cast(binary("Add", x, y), TensorProto.FLOAT), "no lower bits"),
        (cast(binary("Add", few, few), INT64), "it has no more bits"),
        **LIMITS,
    )


@law(uses=(applications,), examples=_sums)
def lower_bits(kind: String, how: Any, c: Tensor, xs: Tensors):
    """Cast_32(x + y) = Cast_32(x) + Cast_32(y) of int64, likewise -, *, CumSum and MatMul"""
    z, narrow = applied(kind, how, c, xs), applied(kind, how, c, all_cast(xs, INT32))
    yield rewrite(
        cast(z, INT32), narrow, guard(limit("narrow_int64")), wraps(kind, how, z),
        because="a list does not tell that all of it is cast",
    )  # fmt: skip


@hosted()
def has_few(x: Fact, axis: Axis, i: Fact) -> bool:
    """Int32 has every index into an axis, of either sign."""
    if x.shape is None or axis >= len(x.shape) or i.dtype != INT64:
        return False
    dim = x.shape[axis]
    return isinstance(dim, int) and dim < 2**31


def _indices(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, pairs = g.input((5, "N")), g.input((2, 2), INT64), g.input((2, "N"), INT64)
    yield from g.all_fire(gather(x, i, 0), gather_elements(x, pairs, 0), **LIMITS)
    yield from g.near_misses(
        (gather(x, i, 1), "who knows how many there are"),
        (gather_elements(x, pairs, 1), "who knows how many there are"),
        (gather(x, g.input((2,), INT32), 0), "indices in int32"),
        **LIMITS,
    )


@law(examples=_indices)
def narrow_indices(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, i) = Gather(x, Cast_32(i)) where int32 has every index of x, GatherElements likewise"""
    few, known = cast(i, INT32), (guard(limit("narrow_int64"), varies(i)), has_few(x, a, i))
    lost = "what is cast may have been no index"
    yield rewrite(gather(x, i, a), gather(x, few, a), *known, because=lost)
    yield rewrite(gather_elements(x, i, a), gather_elements(x, few, a), *known, because=lost)
