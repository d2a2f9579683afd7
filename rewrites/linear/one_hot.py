"""A product with one-hot rows takes rows.

Cast(OneHot(i, v)) -> OneHot(i, Cast(v))
OneHot(i, [0, 1]) @ E -> Gather(E, i)        where all of i are known to be rows of E, as an ArgMax answers

An index that is out of range has a row of zeros, and no row to gather.  Codebooks (VQ-VAE) and embeddings by
matrices are written like this.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import HOLDS
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Example, Operands, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.sorts import Axis, DataType, Tensor
from egraph_opt.operators import arg_reduce, cast, gather, one_hot, unary

law = laws_of("one_hot", source="van den Oord et al., arXiv 1711.00937: codebooks")


PLACES = (TensorProto.INT32, TensorProto.INT64)
"""Types of indices that are taken."""


def _one_hot(g: Operands, i: Any, values: Any, depth: int = 6, axis: int = 1) -> Any:
    return one_hot(i, g.constant(np.array(depth)), g.constant(np.array(values)), axis)


@hosted()
def makes_floats(i: Fact, d: Fact, to: DataType) -> bool:
    """Of types that onnxruntime has a kernel for; float32 is what products are of."""
    return to == TensorProto.FLOAT and i.dtype == d.dtype and i.dtype in PLACES


@hosted()
def are_values(to: DataType) -> bool:
    """Of a type that a OneHot takes: of floats of fewer bits, to which a Cast goes, ONNX has none."""
    return to in HOLDS and to != TensorProto.BFLOAT16


def _casts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    i = g.input(("N",), TensorProto.INT64)
    yield g.fires(cast(_one_hot(g, i, [0, 1]), TensorProto.FLOAT))
    yield g.fires(cast(_one_hot(g, g.input((2, 3), TensorProto.INT64), [5, -1], axis=0), TensorProto.FLOAT))
    yield g.near_miss(cast(_one_hot(g, i, [0, 1]), TensorProto.BOOL), why="onnxruntime has no such OneHot")
    byte = cast(_one_hot(g, i, [0, 1]), TensorProto.FLOAT8E4M3FN)
    late = g.near_miss(cast(byte, TensorProto.FLOAT), why="ONNX has no OneHot of floats of 8 bits")
    yield replace(late, opset=19)


@law(numerics="bitwise", kind="move", serves="traffic", examples=_casts)
def cast_of_values(i: Tensor, d: Tensor, v: Tensor, a: Axis, to: DataType):
    """Cast(OneHot(i, v)) = OneHot(i, Cast(v))"""
    moved, known = one_hot(i, d, cast(v, to), a), kernel(makes_floats(i, d, to))
    left, why = cast(one_hot(i, d, v, a), to), "two values are less to compute"
    yield rewrite(left, moved, known, are_values(to), because=why)


@hosted()
def are_bits(v: Fact) -> bool:
    """0 elsewhere, and 1 at the index."""
    return v.data == (0, 1)


@hosted()
def takes_rows(i: Fact, d: Fact, e: Fact, axis: Axis) -> bool:
    """One-hot rows as long as a matrix has rows, of indices of which it has all, counted from the end too."""
    known, rows = range_of(i), e.shape[0] if e.rank == 2 else None  # type: ignore[index]
    if known is None or i.rank != axis or i.dtype not in PLACES:
        return False
    return isinstance(rows, int) and d.splat == rows and -rows <= known[0] and known[1] < rows


def _products(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, e, bits = g.input(("N", 6, 3)), g.random(6, 4), [0.0, 1.0]
    best, other = arg_reduce("ArgMax", x, 1, 0, 0), arg_reduce("ArgMax", g.input((6, 6)), 1, 0, 0)
    few = unary("Clip", (("max", 5), ("min", -6)), g.input((3,), TensorProto.INT32))
    yield g.fires(_one_hot(g, best, bits, axis=2) @ e)
    yield g.fires(_one_hot(g, arg_reduce("ArgMin", g.input(("N", 6)), 1, 0, 1), bits) @ g.input((6, "L")))
    yield g.fires(_one_hot(g, few, bits) @ e)
    whole = g.input((6, 4), TensorProto.INT64)
    yield g.fires(_one_hot(g, best, [0, 1], axis=2) @ whole)
    below = unary("Clip", (("max", 5), ("min", -7)), g.input((3,), TensorProto.INT64))
    beyond = unary("Clip", (("max", 6), ("min", 0)), g.input((3,), TensorProto.INT64))
    yield from g.near_misses(
        (_one_hot(g, g.input((3,), TensorProto.INT64), bits) @ e, "an index may be out of range"),
        (_one_hot(g, below, bits) @ e, "one may be too far from the end"),
        (_one_hot(g, beyond, bits) @ e, "one may be behind the last"),
        (_one_hot(g, few, [0.0, 2.0]) @ e, "twice the row"),
        (_one_hot(g, few, [1.0, 0.0]) @ e, "all other rows"),
        (_one_hot(g, other, bits, axis=0) @ e, "columns are one-hot"),
        (_one_hot(g, few, bits) @ g.input((2, 6, 4)), "two matrices"),
        (_one_hot(g, few, bits) @ g.random(6), "a vector"),
    )


@law(numerics="finite", kind="replace", serves="arithmetic", examples=_products)
def rows_of_matrix(i: Tensor, d: Tensor, v: Tensor, e: Tensor, a: Axis):
    """OneHot(i, [0, 1]) @ E = Gather(E, i) where all of i are rows of E"""
    known = (are_bits(v), takes_rows(i, d, e, a))
    yield rewrite(one_hot(i, d, v, a) @ e, gather(e, i, 0), *known, because="forgets depth and values")
