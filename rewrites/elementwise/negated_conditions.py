"""Conditions that are negated.

Where(Not(c), x, y) -> Where(c, y, x)
Not(x < y) = x >= y, likewise the other comparisons        integers: NaN compares as false with everything
Not(c) and Not(d) = Not(c or d)         Not(Not(c) and d) = c or Not(d)         likewise the other way round
(c and d) and d = c and d               likewise with or
Cast(c) == 0 -> Not(c)        Cast(c) == 1 -> c        Cast(c) > 0 -> c
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.sorts import DataType, Int, Name, String, Tensor
from egraph_opt.operators import binary, cast, where
from egraph_opt.operators.elementwise import apply_unary
from egraph_opt.operators.terms import opset
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import broadcasts_into

_NEGATED = (("Less", "GreaterOrEqual"), ("Greater", "LessOrEqual"))
NEGATED = dict(_NEGATED) | {b: a for a, b in _NEGATED}
"""Comparisons and their negations."""


@law("conditions", numerics="finite", kind="eliminate", source="onnxoptimizer, rewrite_where")
def where_not(c: Tensor, x: Tensor, y: Tensor):
    """Where(Not(c), x, y) = Where(c, y, x)

    onnxruntime may make 0.0 of the -0.0 that a Where takes, by the operand that it is of and by how that is
    broadcast; so may the other laws of Where.
    """
    negated = where(apply_unary("Not", c), x, y)
    yield rewrite(negated, where(c, y, x), because="every condition would be negated, without end")


OTHER = {"And": "Or", "Or": "And"}
"""What a conjunction becomes where its conditions are negated."""


@hosted()
def turned_round(op: str) -> Name | None:
    """The other one of And and Or."""
    return OTHER.get(op)


@hosted()
def is_a_junction(op: str) -> bool:
    return op in OTHER


def _conditions(g: Operands) -> tuple[Tensor, Tensor]:
    return g.input(("N", 4), TensorProto.BOOL), g.input((4,), TensorProto.BOOL)


def _negations(rng: np.random.Generator) -> Iterator[Example]:
    for op in OTHER:
        g = Operands(rng)
        c, d = _conditions(g)
        negated = apply_unary("Not", c)
        yield g.fires(binary(op, negated, apply_unary("Not", d)))
        yield g.fires(apply_unary("Not", binary(op, d, negated)))
        yield g.near_miss(binary(op, negated, d), why="one is negated, and the whole is not")
        yield g.near_miss(apply_unary("Not", binary("Xor", negated, d)), why="that one is of another kind")


@law("conditions", numerics="bitwise", kind="merge", examples=_negations, uses=(either_side,))
def negated_together(op: String, c: Tensor, d: Tensor, k: Int):
    """Not(c) and Not(d) = Not(c or d), Not(Not(c) and d) = c or Not(d), and likewise the other way round"""
    negated, other, fewer = apply_unary("Not", c), turned_round(op), "there are fewer negations"
    both = binary(op, negated, apply_unary("Not", d))
    yield rewrite(both, apply_unary("Not", binary(other, c, d)), because=fewer)
    moved = beside(other, c, apply_unary("Not", d), k)
    yield rewrite(apply_unary("Not", beside(op, negated, d, k)), moved, because=fewer)


def _repeated(rng: np.random.Generator) -> Iterator[Example]:
    for op in OTHER:
        g = Operands(rng)
        c, d = _conditions(g)
        yield from g.all_fire(binary(op, binary(op, c, d), d), binary(op, c, binary(op, d, c)))
        yield g.near_miss(binary(op, binary(OTHER[op], c, d), d), why="one of each")
    yield g.near_miss(binary("Xor", binary("Xor", c, d), d), why="twice is never")


@law("conditions", numerics="bitwise", kind="eliminate", examples=_repeated, uses=(either_side,))
def asked_twice(op: String, c: Tensor, d: Tensor, k: Int, n: Int):
    """(c and d) and d = c and d, likewise with or"""
    once = beside(op, d, c, k)
    yield rewrite(beside(op, d, once, n), once, is_a_junction(op), because="forgets that it was asked twice")


@hosted()
def are_compared(x: Fact, number: int) -> bool:
    """Integers that onnxruntime compares, in an opset that has LessOrEqual and GreaterOrEqual."""
    return x.dtype in (TensorProto.INT32, TensorProto.INT64) and number >= 12


@hosted()
def negation_of(op: str) -> Name | None:
    """The comparison that holds where op does not."""
    return NEGATED.get(op)


def _comparisons(rng: np.random.Generator) -> Iterator[Example]:
    for op in NEGATED:
        g = Operands(rng)
        x, y = (g.input((dim, 4), TensorProto.INT64) for dim in ("N", 1))
        yield g.fires(apply_unary("Not", binary(op, x, y)))
        yield g.near_miss(binary(op, g.input((4,)), g.input((4,))), why="NaN compares as false")
        yield g.near_miss(apply_unary("Not", binary("Equal", x, y)), why="there is no negated Equal")


@law("conditions", numerics="bitwise", kind="merge", examples=_comparisons)
def not_comparison(op: String, x: Tensor, y: Tensor):
    """Not(x < y) = x >= y, likewise the other comparisons of integers"""
    negated, known, other = apply_unary("Not", binary(op, x, y)), are_compared(x, opset()), negation_of(op)
    yield rewrite(negated, binary(other, x, y), known, inverse="not_comparison")
    back = apply_unary("Not", binary(other, x, y))
    yield rewrite(binary(op, x, y), back, known, inverse="not_comparison")


@hosted()
def is_number_beside(c: Fact, x: Fact, number: Int) -> bool:
    """A constant that is one number throughout, beside conditions that it leaves the shape of."""
    return x.dtype == TensorProto.BOOL and c.const and c.splat == number and broadcasts_into(c.shape, x.shape)


def _casts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    c, zero, one = g.input(("N", 3), TensorProto.BOOL), np.array(0, np.int64), np.ones(1, np.int64)
    for number in (zero, one):
        for dtype in (TensorProto.INT64, TensorProto.FLOAT):
            known = g.constant(number if dtype == TensorProto.INT64 else number.astype(np.float32))
            yield g.fires(binary("Equal", cast(c, dtype), known))
            yield g.fires(binary("Equal", known, cast(c, dtype)))
    whole = cast(c, TensorProto.INT64)
    yield from g.all_fire(binary("Greater", whole, g.constant(zero)), binary("Less", g.constant(zero), whole))
    yield from g.near_misses(
        (binary("Equal", whole, g.constant(2 * one)), "it is never 2"),
        (binary("Equal", whole, g.constant(np.arange(3))), "a number for each column"),
        (binary("Equal", whole, g.constant(np.zeros((2, 1, 1), np.int64))), "there are two of each"),
        (binary("Greater", g.constant(zero), whole), "it is never below 0"),
        (binary("Equal", g.input(("N", 3), TensorProto.INT64), g.constant(one)), "it is no condition"),
    )


@law(
    "conditions",
    numerics="bitwise",
    kind="eliminate",
    source="exporters' attention masks",
    examples=_casts,
    uses=(either_side,),
)
def cast_is_compared(c: Tensor, x: Tensor, t: DataType, i: Int):
    """Cast(c) == 0 = Not(c), Cast(c) == 1 = c, and Cast(c) > 0 = c for a condition c"""
    number, negated, why = cast(c, t), apply_unary("Not", c), "a condition is no number"
    equal = beside("Equal", number, x, i)
    for compared, answer, to in (
        (equal, negated, 0),
        (equal, c, 1),
        (binary("Greater", number, x), c, 0),
        (binary("Less", x, number), c, 0),
    ):
        yield rewrite(compared, answer, is_number_beside(x, c, to), because=why)
