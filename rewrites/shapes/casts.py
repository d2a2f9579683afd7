"""Casts: the one that does nothing, pairs where the first loses nothing, and the one before indices.

    Cast_T(x) = x                        for x of type T
    Cast_S(Cast_T(x)) = Cast_S(x)        where T has every value of x: by x's type, or by its range
    Cast_S(Cast_T(x)) = Cast_S(x)        of integers all three, where S has no more bits than T
    Gather(x, Cast_64(i)) = Gather(x, i) for i in int32, likewise Cast_32 where int32 has i

Siblings that are equal casts of one value are one e-node anyway.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.compat import PyObject, holds, rewrite
from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.intervals import within
from egraph_opt.inference.numbers import integer_range
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import cast, gather, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact

_WITHIN = {
    "BOOL": "BOOL INT8 UINT8 INT16 UINT16 INT32 UINT32 INT64 UINT64 FLOAT16 BFLOAT16 FLOAT DOUBLE",
    "UINT8": "UINT8 INT16 UINT16 INT32 UINT32 INT64 UINT64 FLOAT16 BFLOAT16 FLOAT DOUBLE",
    "INT8": "INT8 INT16 INT32 INT64 FLOAT16 BFLOAT16 FLOAT DOUBLE",
    "UINT16": "UINT16 INT32 UINT32 INT64 UINT64 FLOAT DOUBLE",
    "INT16": "INT16 INT32 INT64 FLOAT DOUBLE",
    "UINT32": "UINT32 INT64 UINT64 DOUBLE",
    "INT32": "INT32 INT64 DOUBLE",
    "UINT64": "UINT64",
    "INT64": "INT64",
    "FLOAT16": "FLOAT16 FLOAT DOUBLE",
    "BFLOAT16": "BFLOAT16 FLOAT DOUBLE",
    "FLOAT": "FLOAT DOUBLE",
    "DOUBLE": "DOUBLE",
}
HOLDS: dict[int, frozenset[int]] = {
    T.DataType.Value(name): frozenset(T.DataType.Value(wider) for wider in within.split())
    for name, within in _WITHIN.items()
}
"""The types that hold every value of a type exactly."""

_SIGNED = frozenset((T.INT8, T.INT16, T.INT32, T.INT64))
_INTEGERS = _SIGNED | {T.UINT8, T.UINT16, T.UINT32, T.UINT64}

_WHOLE: dict[int, int] = {T.FLOAT16: 2**11, T.BFLOAT16: 2**8, T.FLOAT: 2**24, T.DOUBLE: 2**53}
"""Up to where a float type has every integer."""

_BITS = {getattr(T, f"{sign}INT{bits}"): bits for bits in (8, 16, 32, 64) for sign in ("", "U")}


@hosted(default=False)
def loses_nothing(x: Fact, through: int, to: int) -> bool:
    """Going to `to` by way of `through` is the same as going there at once.

    A float that does not fit an integer type becomes whatever the runtime's instruction gives, and that
    differs between float32 and float64: from floats to integers the way matters.  An integer that does not
    fit keeps its lower bits, says ONNX.
    """
    if to not in HOLDS:
        return False
    if _BITS.keys() >= {x.dtype, through, to} and _BITS[to] <= _BITS[through]:
        return True
    if through not in HOLDS.get(x.dtype, frozenset()) and not _has_range(x, through):
        return False
    return not (x.dtype in FLOATS and to in _INTEGERS and through != x.dtype)


def _has_range(x: Fact, through: int) -> bool:
    """Every integer that x may be is a number of the type."""
    known = range_of(x)
    if known is None:
        return False
    most = _WHOLE.get(through)
    if most is not None:
        return within(known, (-most, most))
    return through in HOLDS and within(known, integer_range(through))


@hosted(default=False)
def is_own_type(x: Fact, to: int) -> bool:
    return x.dtype > 0 and x.dtype == to


def _own_type_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    yield g.fires(cast(g.input(("N", 3)), T.FLOAT))
    yield g.fires(cast(g.input((2, 3), T.INT64), T.INT64))
    yield g.near_miss(cast(g.input((2, 3), T.INT64), T.INT32), why="another type")


@law("cast", numerics="bitwise", examples=_own_type_examples)
def to_own_type(x: Tensor, t: PyObject) -> Iterator[Any]:
    """Cast_T(x) = x for x of type T

    Source: onnxoptimizer eliminate_nop_cast.
    """
    yield rewrite(cast(x, t), x, holds(is_own_type, fact(x), t))


def _pair_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, b = g.input(("N", 3)), g.input((2, 3), T.INT32), g.input((2, 3), T.BOOL)
    yield g.fires(cast(cast(i, T.INT64), T.FLOAT))
    yield g.fires(cast(cast(b, T.FLOAT), T.INT64))
    yield g.fires(cast(cast(x, T.DOUBLE), T.FLOAT))
    wide = g.input((3,), T.INT64)
    small = unary("Clip", (("max", 100), ("min", -3)), wide)
    yield g.fires(cast(cast(small, T.INT32), T.INT64))
    yield g.fires(cast(cast(small, T.INT8), T.FLOAT))
    yield g.fires(cast(cast(small, T.FLOAT16), T.INT32))
    yield g.fires(cast(cast(small, T.FLOAT), T.BOOL))
    yield g.fires(cast(cast(unary("Clip", (("max", 1), ("min", 0)), wide), T.BOOL), T.INT64))
    yield g.fires(cast(cast(wide, T.INT32), T.INT8))
    yield g.fires(cast(cast(wide, T.UINT64), T.INT64))
    yield g.fires(cast(cast(i, T.UINT16), T.INT16))
    yield g.near_miss(cast(cast(wide, T.INT32), T.INT64), why="the upper bits are lost")
    yield g.near_miss(cast(cast(small, T.UINT8), T.INT64), why="it may be negative")
    yield g.near_miss(cast(cast(small, T.BOOL), T.INT64), why="all but 0 become 1")
    yield g.near_miss(cast(cast(i, T.INT8), T.FLOAT), why="the upper bits are lost")
    yield g.near_miss(cast(cast(x, T.INT64), T.BOOL), why="fractions become 0")
    yield g.near_miss(cast(cast(x, T.FLOAT16), T.FLOAT), why="float16 has 11 bits")
    yield g.near_miss(cast(cast(wide, T.FLOAT), T.INT64), why="float32 has 24 bits")
    yield g.near_miss(cast(cast(x, T.INT32), T.FLOAT), why="integers lose the fraction")
    yield g.near_miss(cast(cast(i, T.FLOAT), T.INT32), why="float32 has 24 bits")
    yield g.near_miss(cast(cast(x, T.DOUBLE), T.INT32), why="what does not fit depends on the float's type")


@law("cast", numerics="bitwise", examples=_pair_examples)
def pair_of_casts(x: Tensor, t: PyObject, s: PyObject) -> Iterator[Any]:
    """Cast_S(Cast_T(x)) = Cast_S(x) where T has every value of x, or all are integers and S is no wider

    Source: Ascend auto-optimizer, MergeCasts.
    """
    yield rewrite(cast(cast(x, t), s), cast(x, s), holds(loses_nothing, fact(x), t, s))


@hosted(default=False)
def are_indices(i: Fact, to: int) -> bool:
    """Both are types of indices, and the second has every index."""
    if {i.dtype, to} != {T.INT32, T.INT64}:
        return False
    return to == T.INT64 or _has_range(i, to)


def _index_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i = g.input(("N", 5)), g.input((2, 3), T.INT32)
    yield g.fires(gather(x, cast(i, T.INT64), 1))
    yield g.fires(gather(x, cast(g.input((), T.INT32), T.INT64), 1))
    near = unary("Clip", (("max", 4), ("min", 0)), g.input((2,), T.INT64))
    yield g.fires(gather(x, cast(near, T.INT32), 1))
    yield g.near_miss(gather(x, cast(g.input((2,), T.INT8), T.INT64), 1), why="no indices in int8")
    yield g.near_miss(gather(x, cast(g.input((2,), T.INT64), T.INT32), 1), why="upper bits are lost")


@law("cast", numerics="bitwise", examples=_index_examples)
def indices_in_int32(x: Tensor, i: Tensor, a: PyObject, t: PyObject) -> Iterator[Any]:
    """Gather(x, Cast_64(i)) = Gather(x, i) for i in int32, and the other way round for an i that int32 has

    Source: ONNX: Gather takes both types.
    """
    yield rewrite(gather(x, cast(i, t), a), gather(x, i, a), holds(are_indices, fact(i), t))
