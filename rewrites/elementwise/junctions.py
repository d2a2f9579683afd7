"""Conditions that are joined with their own parts, and comparisons that are joined.

d or (d and c) -> d                         d and (d or c) -> d
Not(d) or (d and c) -> Not(d) or c          d or (Not(d) and c) -> d or c          likewise with and
(c and Not(d)) or (Not(c) and d) -> c xor d
x == y or x < y -> x <= y                   x <= y and x >= y -> x == y            likewise with >
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.laws import Example, Operands, hosted, kernel, laws_of, opset, rewrite
from egraph_opt.laws.sorts import Int, Name, String, Tensor
from egraph_opt.operators import binary
from egraph_opt.operators.elementwise import apply_unary
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import fits
from egraph_opt.rewrites.elementwise.negated_conditions import turned_round
from egraph_opt.rewrites.reductions.arg_max import are_compared

law = laws_of("conditions", numerics="bitwise", kind="merge", serves="launches", source="algebra")

BOOL = TensorProto.BOOL


def _not(c: Tensor) -> Tensor:
    return apply_unary("Not", c)  # type: ignore[no-any-return]


def _absorbed(rng: np.random.Generator) -> Iterator[Example]:
    for op, other in (("Or", "And"), ("And", "Or")):
        g = Operands(rng)
        d, c, row = g.input(("N", 4), BOOL), g.input(("N", 4), BOOL), g.input((4,), BOOL)
        yield from g.all_fire(binary(op, d, binary(other, d, c)), binary(op, binary(other, row, d), d))
        yield from g.near_misses(
            (binary(op, row, binary(other, row, d)), "it is broadcast"),
            (binary(op, d, binary("Xor", d, c)), "either, not both"),
            (binary(op, d, binary(other, c, row)), "of others"),
        )


@law(kind="eliminate", uses=(either_side,), examples=_absorbed)
def absorbed(op: String, c: Tensor, d: Tensor, k: Int, n: Int):
    """d or (d and c) = d, d and (d or c) = d"""
    inside = beside(turned_round(op), d, c, k)
    yield rewrite(beside(op, d, inside, n), d, fits(c, d), because="forgets what made no difference")


def _known(rng: np.random.Generator) -> Iterator[Example]:
    for op, other in (("Or", "And"), ("And", "Or")):
        g = Operands(rng)
        d, c = g.input(("N", 4), BOOL), g.input((4,), BOOL)
        yield from g.all_fire(
            binary(op, _not(d), binary(other, c, d)), binary(op, binary(other, _not(d), c), d)
        )
        yield g.near_miss(binary(op, _not(d), binary("Xor", c, d)), why="either, not both")
        yield g.near_miss(binary(op, _not(c), binary(op, c, d)), why="one junction")


@law(uses=(either_side,), examples=_known)
def known_beside(op: String, c: Tensor, d: Tensor, k: Int, n: Int):
    """Not(d) or (d and c) = Not(d) or c, d or (Not(d) and c) = d or c, likewise with and"""
    why, other = "forgets what is known there", turned_round(op)
    for known, asked in ((_not(d), d), (d, _not(d))):
        yield rewrite(beside(op, known, beside(other, asked, c, k), n), binary(op, known, c), because=why)


def _exclusive(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    c, d = g.input(("N", 4), BOOL), g.input((4,), BOOL)
    first, second = binary("And", c, _not(d)), binary("And", _not(c), d)
    yield from g.all_fire(binary("Or", first, second), binary("Or", second, first))
    yield from g.near_misses(
        (binary("Or", first, binary("And", c, d)), "the other one is not negated"),
        (binary("And", first, second), "never"),
    )


@law(uses=(either_side,), examples=_exclusive)
def exclusive(c: Tensor, d: Tensor, k: Int, n: Int):
    """(c and Not(d)) or (Not(c) and d) = c xor d"""
    either = binary("Or", beside("And", c, _not(d), k), beside("And", d, _not(c), n))
    yield rewrite(either, binary("Xor", c, d), because="forgets which of them")


OR_EQUAL = {"Less": "LessOrEqual", "Greater": "GreaterOrEqual"}


@hosted()
def or_equal(op: str, number: int) -> Name | None:
    """A comparison that holds of equal numbers as well, in an opset that has it."""
    return OR_EQUAL.get(op) if number >= 12 else None


def _comparisons(rng: np.random.Generator) -> Iterator[Example]:
    for dtype in (TensorProto.INT64, TensorProto.FLOAT):
        g = Operands(rng)
        x, y = g.input(("N", 4), dtype), g.input((4,), dtype)
        for op in OR_EQUAL:
            yield from g.all_fire(
                binary("Or", binary("Equal", x, y), binary(op, x, y)),
                binary("Or", binary(op, x, y), binary("Equal", y, x)),
            )
        both = binary("LessOrEqual", x, y), binary("GreaterOrEqual", x, y)
        yield from g.all_fire(binary("And", *both), binary("And", both[1], both[0]))
        yield from g.near_misses(
            (binary("And", binary("Equal", x, y), binary("Less", x, y)), "never"),
            (binary("Or", *both), "always, but for NaN"),
            (binary("And", both[0], binary("GreaterOrEqual", y, x)), "the same twice"),
        )


@law(uses=(either_side,), examples=_comparisons)
def joined_comparisons(op: String, x: Tensor, y: Tensor, k: Int, n: Int):
    """x == y or x < y = x <= y, x <= y and x >= y = x == y, likewise with >"""
    known = kernel(are_compared(x))
    either = beside("Or", beside("Equal", x, y, k), binary(op, x, y), n)
    yield rewrite(either, binary(or_equal(op, opset()), x, y), known, because="forgets which of them")
    both = beside("And", binary("LessOrEqual", x, y), binary("GreaterOrEqual", x, y), k)
    yield rewrite(both, binary("Equal", x, y), known, because="forgets that it was two")
