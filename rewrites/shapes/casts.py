"""Casts: the one that does nothing, pairs where the first loses nothing, and the one before indices.

Cast_T(x) -> x                       for x of type T
Cast_S(Cast_T(x)) -> Cast_S(x)       where T has every value of x: by x's type, or by its range
Cast_S(Cast_T(x)) -> Cast_S(x)       of integers all three, where S has no more bits than T
Gather(x, Cast_64(i)) -> Gather(x, i) for i in int32, likewise Cast_32 where int32 has i
Slice(Cast_T(x)) -> Cast_T(Slice(x)), likewise Gather
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.dtypes import FLOATS, HOLDS
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.intervals import within
from egraph_opt.inference.numbers import integer_range
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Example, Operands, absent, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import is_same, varies
from egraph_opt.laws.sorts import Axis, DataType, Slices, Tensor
from egraph_opt.operators import cast, gather, slice_, unary
from egraph_opt.rewrites.conditions.values import is_of_type

law = laws_of("cast", numerics="bitwise", kind="eliminate")

_SIGNED = frozenset((T.INT8, T.INT16, T.INT32, T.INT64))
_INTEGERS = _SIGNED | {T.UINT8, T.UINT16, T.UINT32, T.UINT64}

WHOLE: dict[int, int] = {T.FLOAT16: 2**11, T.BFLOAT16: 2**8, T.FLOAT: 2**24, T.DOUBLE: 2**53}
"""Up to where a float type has every integer."""

SELECTED = _INTEGERS | FLOATS | {T.BOOL}

_BITS = {getattr(T, f"{sign}INT{bits}"): bits for bits in (8, 16, 32, 64) for sign in ("", "U")}


@hosted()
def loses_nothing(x: Fact, through: DataType, to: DataType) -> bool:
    """Going to `to` by way of `through` is the same as going there at once.

    A float that does not fit an integer type becomes whatever the runtime's instruction gives, and that
    differs between float32 and float64: from floats to integers the way matters.  An integer that does not
    fit keeps its lower bits, says ONNX, and a float that does not fit none.
    """
    if to not in HOLDS:
        return False
    if _BITS.keys() >= {x.dtype, through, to} and _BITS[to] <= _BITS[through]:
        return True
    if through not in HOLDS.get(x.dtype, frozenset()) and not _has_range(x, through):
        return False
    if through in FLOATS and through != x.dtype and to in _INTEGERS:
        return x.dtype not in FLOATS and (to in HOLDS.get(x.dtype, frozenset()) or _has_range(x, to))
    return True


def _has_range(x: Fact, through: int) -> bool:
    """Every integer that x may be is a number of the type."""
    known = range_of(x)
    if known is None:
        return False
    most = WHOLE.get(through)
    if most is not None:
        return within(known, (-most, most))
    return through in HOLDS and within(known, integer_range(through))


@law(source="onnxoptimizer eliminate_nop_cast")
def to_own_type(x: Tensor, t: DataType):
    """Cast_T(x) = x for x of type T"""
    yield rewrite(cast(x, t), x, is_of_type(x, t), because="every x is cast to its own type")


@hosted()
def is_other(x: Fact, to: DataType) -> bool:
    """x is of a known type, and of another one."""
    return x.dtype > 0 and x.dtype != to


def _pair_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    i, x, b = g.input((2, 3), T.INT32), g.input(("N", 3)), g.input((2, 3), T.BOOL)
    wide = g.input((3,), T.INT64)
    small, bit = (unary("Clip", (("max", high), ("min", low)), wide) for high, low in ((100, -3), (1, 0)))
    for operand, through, to in (
        (i, T.INT64, T.FLOAT),
        (b, T.FLOAT, T.INT64),
        (x, T.DOUBLE, T.FLOAT),
        (small, T.INT32, T.INT64),
        (small, T.INT8, T.FLOAT),
        (small, T.FLOAT16, T.INT32),
        (small, T.FLOAT, T.BOOL),
        (bit, T.BOOL, T.INT64),
        (wide, T.INT32, T.INT8),
        (wide, T.UINT64, T.INT64),
        (i, T.UINT16, T.INT16),
    ):
        yield g.fires(cast(cast(operand, through), to))
    for operand, through, to, why in (
        (wide, T.INT32, T.INT64, "the upper bits are lost"),
        (small, T.UINT8, T.INT64, "it may be negative"),
        (small, T.BOOL, T.INT64, "all but 0 become 1"),
        (i, T.INT8, T.FLOAT, "the upper bits are lost"),
        (x, T.INT64, T.BOOL, "fractions become 0"),
        (x, T.FLOAT16, T.FLOAT, "float16 has 11 bits"),
        (wide, T.FLOAT, T.INT64, "float32 has 24 bits"),
        (x, T.INT32, T.FLOAT, "integers lose the fraction"),
        (i, T.FLOAT, T.INT32, "float32 has 24 bits"),
        (x, T.DOUBLE, T.INT32, "what does not fit depends on the float's type"),
    ):
        yield g.near_miss(cast(cast(operand, through), to), why)
    yield g.near_miss(cast(wide, T.INT32) + cast(cast(wide, T.DOUBLE), T.INT32), "float64 has 53 bits")


@law(kind="merge", source="Ascend auto-optimizer, MergeCasts", examples=_pair_examples)
def pair_of_casts(x: Tensor, t: DataType, s: DataType):
    """Cast_S(Cast_T(x)) = Cast_S(x) where T has every value of x, or all are integers and S is no wider"""
    yield rewrite(cast(cast(x, t), s), cast(x, s), loses_nothing(x, t, s), inverse="pair_of_casts")
    for wide in (T.INT64, T.DOUBLE):
        way = cast(x, wide)
        demand = guard(is_other(x, wide), absent(is_same(s, wide)), way)
        yield rewrite(cast(x, s), cast(way, s), loses_nothing(x, wide, s), demand, inverse="pair_of_casts")


@hosted()
def are_indices(i: Fact, to: DataType) -> bool:
    """Both are types of indices, and the second has every index."""
    if {i.dtype, to} != {T.INT32, T.INT64}:
        return False
    return to == T.INT64 or _has_range(i, to)


@law(source="ONNX: Gather takes both types")
def indices_in_int32(x: Tensor, i: Tensor, a: Axis, t: DataType):
    """Gather(x, Cast_64(i)) = Gather(x, i) for i in int32, and the other way round for an i that int32 has"""
    yield rewrite(gather(x, cast(i, t), a), gather(x, i, a), are_indices(i, t), because="forgets T")


@hosted()
def is_selected(x: Fact) -> bool:
    """Of a type that Slice and Gather have in each opset."""
    return x.dtype in SELECTED


def _selections(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i = g.input(("N", 4), T.FLOAT16), g.input((2,), T.INT64)
    whole = cast(x, T.FLOAT)
    yield from g.all_fire(slice_(whole, ((1, 0, 2, 1),)), gather(whole, g.constant(np.array([0, 2])), 1))
    yield g.fires(cast(gather(cast(g.input(("N", 4), T.INT32), T.INT64), i, 0), T.INT32))
    yield g.near_miss(cast(slice_(x, ((1, 0, 2, 1),)), T.FLOAT), why="fewer are cast already")


@law(kind="move", serves="traffic", source="exporters of half precision", examples=_selections)
def of_selected(x: Tensor, i: Tensor, s: Slices, a: Axis, t: DataType):
    """Slice(Cast_T(x)) = Cast_T(Slice(x)), Gather(Cast_T(x), i) = Cast_T(Gather(x, i))"""
    known, why = (kernel(is_selected(x)), guard(varies(x))), "fewer elements are cast"
    yield rewrite(slice_(cast(x, t), s), cast(slice_(x, s), t), *known, because=why)
    yield rewrite(gather(cast(x, t), i, a), cast(gather(x, i, a), t), *known, because=why)
