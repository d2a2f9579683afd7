"""Casts: the one that does nothing, and pairs where the first loses nothing.

Cast_T(x) = x for x of type T
Cast_S(Cast_T(x)) = Cast_S(x) where T holds every value of x's type
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from egglog import PyObject
from onnx import TensorProto as T

from egraph_opt.host import hosted
from egraph_opt.law import Example, holds, law, rewrite
from egraph_opt.law_testing import Operands
from egraph_opt.operators import cast
from egraph_opt.terms import Tensor, fact
from egraph_opt.types import Fact

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
_FLOATS = frozenset((T.FLOAT16, T.BFLOAT16, T.FLOAT, T.DOUBLE))
_INTEGERS = _SIGNED | {T.UINT8, T.UINT16, T.UINT32, T.UINT64}


@hosted(default=False)
def loses_nothing(x: Fact, through: int, to: int) -> bool:
    """Going to `to` by way of `through` is the same as going there at once.

    A float that does not fit an integer type becomes whatever the runtime's instruction gives, and that
    differs between float32 and float64: from floats to integers the way matters.
    """
    if through not in HOLDS.get(x.dtype, frozenset()) or to not in HOLDS:
        return False
    return not (x.dtype in _FLOATS and to in _INTEGERS and through != x.dtype)


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
    yield g.near_miss(cast(cast(x, T.INT32), T.FLOAT), why="integers lose the fraction")
    yield g.near_miss(cast(cast(i, T.FLOAT), T.INT32), why="float32 has 24 bits")
    yield g.near_miss(cast(cast(x, T.DOUBLE), T.INT32), why="what does not fit depends on the float's type")


@law("cast", numerics="bitwise", examples=_pair_examples)
def pair_of_casts(x: Tensor, t: PyObject, s: PyObject) -> Iterator[Any]:
    """Cast_S(Cast_T(x)) = Cast_S(x) where T holds every value of x's type

    Source: Ascend auto-optimizer, MergeCasts.
    """
    yield rewrite(cast(cast(x, t), s), cast(x, s), holds(loses_nothing, fact(x), t, s))
