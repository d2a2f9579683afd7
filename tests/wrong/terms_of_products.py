"""Factors and terms that leave sums and products, or come into them."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Dims,
    Equation,
    Flag,
    Float,
    Settings,
    String,
    Tensor,
    hosted,
    listed,
    number_like,
    rewrite,
)
from egraph_opt.operators import cumsum, einsum, output, reduce, slice_, softmax, tile, top
from egraph_opt.rewrites.conditions.values import fits

from . import fires_on, is_single, of_one, wrong

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


@hosted()
def is_alike_along(c: Fact, x: Fact, a: Fact) -> bool:
    """c has no axis of x along which sums run, or one number along it."""
    if a.splat is None or c.rank is None or x.rank is None or not c.const:
        return False
    place = c.rank - (x.rank - int(a.splat))
    return place < 0 or (place < c.rank and c.shape[place] == 1)  # type: ignore[index]


@wrong(
    "reassociates",
    lambda g: cumsum(
        g.input((3, 4)) * g.random(4), g.constant(np.int64(-1)), (("exclusive", 0), ("reverse", 0))
    ),
)
def factor_out_of_running_sums(x: Tensor, c: Tensor, a: Tensor, s: Settings):
    """CumSum(x * c) = CumSum(x) * c for a c of lower rank, or of one number along the axis

    Wrong of an axis that is counted from the end.
    """
    known = (is_alike_along(c, x, a), fits(c, x), is_single(x))
    yield rewrite(cumsum(x * c, a, s), cumsum(x, a, s) * c, *known, because="one way is enough")


@hosted()
def is_row(c: Fact, x: Fact, v: Fact, a: Axis) -> bool:
    plain = c.rank in (0, 1) and all(abs(n) < 10 for n in c.data or (c.splat or 0,))  # type: ignore[arg-type]
    return (
        c.const and not v.const and (v.rank or 0) > 1 and plain and x.rank is not None and x.rank == a + 1 > 1
    )


@wrong(
    "reassociates",
    lambda g: softmax("Softmax", g.input((2, 3, "L")), 2) @ (g.input((2, "L", 5)) + g.random(5)),
    sizes={"L": 0},
)
def row_behind_weighted_values(x: Tensor, v: Tensor, c: Tensor, a: Axis):
    """Softmax(x) @ (v + c) = Softmax(x) @ v + c for one row c, since weights sum up to 1

    Wrong where there is nothing to weigh: no weights sum up to 0.
    """
    weights = softmax("Softmax", x, a)
    behind, known = weights @ v + c, (is_row(c, x, v, a), fits(c, v), is_single(x))
    yield rewrite(weights @ (v + c), behind, *known, because="one way is enough")


def best(largest, in_order):
    return (("largest", largest), ("sorted", in_order))


def first(in_order):
    return of_one(lambda x: slice_(output(top(x, 4, 1, best(1, in_order)), 0), ((1, 0, 1, 1),)), (3, 7))


@hosted()
def sums_everything(e: Equation, x: Fact) -> Axes | None:
    inputs, _, result = e.partition("->")
    first, _, second = inputs.partition(",")
    alike = first.isalpha() and set(first) == set(second) and "->" in e and not result
    return tuple(range(len(first))) if alike and len(first) == x.rank else None


def twice(equation):
    return of_one(lambda x: einsum(equation, listed(x, x)), (3, 3))


@wrong("reassociates", twice("ab,ba->"), examples=fires_on(twice("ab,ab->")))
def square_of_everything(e: Equation, x: Tensor):
    """Einsum(x, x; ab,ab->) = ReduceSumSquare(x)

    Wrong of ab,ba->: the second one is transposed.
    """
    total = reduce("ReduceSumSquare", x, sums_everything(e, x), 0)
    yield rewrite(einsum(e, listed(x, x)), total, is_single(x), because="forgets the letters")


@hosted()
def is_one_number(c: Fact, x: Fact) -> bool:
    return c.const and c.splat is not None and c.dtype == FLOAT and 1e-3 < abs(c.splat) < 1e3 and not x.const


@wrong(
    "reassociates",
    lambda g: einsum(
        "ab,b->a", listed(g.input((2, 3)) * g.constant(np.full((1, 3), 0.5, np.float32)), g.input((3,)))
    ),
)
def number_out_of_einsum(e: Equation, x: Tensor, y: Tensor, c: Tensor):
    """Einsum(x * c, y) = Einsum(x, y) * c for one number c

    Wrong where c has axes: the result gets them as well.
    """
    behind = einsum(e, listed(x, y)) * c
    yield rewrite(einsum(e, listed(x * c, y)), behind, is_one_number(c, x), fits(c, x), because="one way")


@wrong(
    "reassociates",
    lambda g: (g.input((3, 3)) @ g.input((3,))) @ g.input((3, 2)),
    values=(1.0, 2.0, -0.5, 3.0),
)
def products_regrouped(x: Tensor, y: Tensor, z: Tensor):
    """(x @ y) @ z = x @ (y @ z)

    Wrong of a vector y, which is a column first and a row then.
    """
    yield rewrite((x @ y) @ z, x @ (y @ z), is_single(x), because="one way is enough")


@hosted()
def how_often(f: str, repeats: tuple[int, ...], axes: Axes) -> Float | None:
    """How often each term is there; what is not summed up is there once."""
    sums = ("ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare")
    if f not in sums or any(n != 1 for k, n in enumerate(repeats) if k not in axes):
        return None
    return float(np.prod([repeats[k] for k in axes if k < len(repeats)]))


@wrong("reassociates", of_one(lambda x: reduce("ReduceL2", tile(x, (1, 3)), (1,), 1)))
def norms_of_repeated(f: String, x: Tensor, r: Dims, a: Axes, k: Flag):
    """Reduce(Tile(x)) = Reduce(x) * n for sums and norms of what is there n times

    Wrong of ReduceL2: it is the root of n.
    """
    once = reduce(f, x, a, k) * number_like(x, how_often(f, r, a))
    yield rewrite(reduce(f, tile(x, r), a, k), once, is_single(x), because="forgets r")
