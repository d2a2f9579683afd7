"""Integers in fewer bits, for targets that compute with int32 and not with int64.

    op(x, y) = Cast_64(op(Cast_32(x), Cast_32(y)))      where int32 has every operand and every result
    x < y = Cast_32(x) < Cast_32(y)                     where int32 has every operand
    Cast_32(Cast_64(x)) = x, Gather(x, Cast_64(i)) = Gather(x, i): see `cast`, which joins the pieces

What int32 has is proved by the ranges of `inference.ranges`.  The ruleset `assume` does without the proof.
Both run for targets that publish the limit `narrow_int64`.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt import compat as egglog
from egraph_opt.compat import Equal, PyObject, String, closure, eq, guard, holds, i64, rule
from egraph_opt.facts.fact import Fact, Range
from egraph_opt.inference.intervals import multiply, within
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, cast, concat, cumsum, reduce, unary, variadic, where
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, Tensors, cons, fact, facts, limit, listed, nil

INT32, INT64 = TensorProto.INT32, TensorProto.INT64
_NARROW: Range = (-(2**31), 2**31 - 1)

UNARY = frozenset(("Abs", "BitwiseNot", "Clip", "Neg", "Sign"))
ARITHMETIC = frozenset(("Add", "Sub", "Mul", "Div", "Mod"))
COMPARISONS = frozenset(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"))
LIMITS = {"narrow_int64": 1}


def _proved(x: Fact) -> bool:
    """Every element is a number that int32 has."""
    known = range_of(x)
    return x.dtype == INT64 and known is not None and within(known, _NARROW)


def _fit(by_proof: bool, *facts: Fact) -> bool:
    """Int64 all, computed when the model runs, in int32 by proof; or, but for constants, by assumption."""
    fits = (_proved(x) if by_proof or x.const else x.dtype == INT64 for x in facts)
    return all(fits) and not all(x.const for x in facts)


@hosted(default=False)
def unary_fits(by_proof: bool, op: str, settings: tuple[tuple[str, Any], ...], x: Fact, y: Fact) -> bool:
    bounds = [v for _, v in settings if isinstance(v, int)]
    return op in UNARY and _fit(by_proof, x, y) and all(within((v, v), _NARROW) for v in bounds)


@hosted(default=False)
def arithmetic_fits(by_proof: bool, op: str, x: Fact, y: Fact, z: Fact) -> bool:
    """The least number of int32 modulo -1 is a trap of some processors; the quotient, int32 does not have."""
    traps = op == "Mod" and by_proof and (range_of(x) or _NARROW)[0] <= _NARROW[0]
    return op in ARITHMETIC and _fit(by_proof, x, y) and _fit(by_proof, z) and not traps


@hosted(default=False)
def comparison_fits(by_proof: bool, op: str, x: Fact, y: Fact) -> bool:
    return op in COMPARISONS and _fit(by_proof, x, y)


@hosted(default=False)
def list_fits(by_proof: bool, op: str, xs: tuple[Fact, ...]) -> bool:
    """Of the operands of Max, Min and Concat."""
    return op in ("Concat", "Max", "Min") and _fit(by_proof, *xs)


@hosted(default=False)
def choice_fits(by_proof: bool, x: Fact, y: Fact) -> bool:
    return _fit(by_proof, x, y)


def _sum_fits(by_proof: bool, x: Fact, y: Fact, axes: tuple[int, ...]) -> bool:
    """Partial sums as well, whatever their order."""
    if not _fit(by_proof, x, y) or x.shape is None:
        return False
    lengths = [x.shape[axis] for axis in axes if axis < len(x.shape)]
    if not by_proof:
        return True
    count = math.prod(n if isinstance(n, int) else 2**32 for n in lengths)
    return within(multiply(range_of(x) or _NARROW, (0, count)), _NARROW)


@hosted(default=False)
def reduction_fits(by_proof: bool, kind: str, axes: tuple[int, ...], x: Fact, y: Fact) -> bool:
    if kind == "ReduceSum":
        return _sum_fits(by_proof, x, y, axes)
    return kind in ("ReduceMax", "ReduceMin") and _fit(by_proof, x)


@hosted(default=False)
def cumulated_fits(by_proof: bool, x: Fact, axis: Fact, y: Fact) -> bool:
    if not isinstance(axis.splat, int) or x.rank is None or not -x.rank <= axis.splat < x.rank:
        return False
    return _sum_fits(by_proof, x, y, (axis.splat % x.rank,))


# --- the laws ----------------------------------------------------------------------------------------------


@egglog.function(egg_fn="all_cast")
def all_cast(xs: Tensors, to: PyObject) -> Tensors:
    """A list with a cast around every element."""


def casting_lists(x: Tensor, xs: Tensors, ys: Tensors, to: PyObject) -> Iterator[Any]:
    """The rules that compute `all_cast`."""
    yield closure(eq(ys).to(all_cast(nil(), to)), then=Equal(ys, nil()))
    yield closure(eq(ys).to(all_cast(cons(x, xs), to)), then=Equal(ys, cons(cast(x, to), all_cast(xs, to))))


def narrow(x: Any) -> Any:
    return cast(x, PyObject(INT32))


def widen(x: Any) -> Any:
    return cast(x, PyObject(INT64))


def _small(g: Operands, *shape: int | str, most: int = 1000) -> Any:
    """An int64 input whose range is proved."""
    return unary("Clip", (("max", most), ("min", -most)), g.input(shape, INT64))


def _proved_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op in sorted(ARITHMETIC - {"Div", "Mod"}):
        g = Operands(rng)
        yield g.fires(binary(op, _small(g, "N", 3), _small(g, 3)), **LIMITS)
    g = Operands(rng)
    x, c = _small(g, "N", 3), g.constant(np.array([7, -3, 11]))
    for op in ("Div", "Mod"):
        yield g.fires(binary(op, x, c), **LIMITS)
    for op in sorted(COMPARISONS):
        yield g.fires(binary(op, x, c), **LIMITS)
    yield g.fires(apply("Neg", _small(g, 2)), **LIMITS)
    yield g.fires(apply("Abs", _small(g, 2, "L")), **LIMITS)
    yield g.fires(apply("Sign", _small(g)), **LIMITS)
    yield g.fires(variadic("Max", listed(x, c, x)), **LIMITS)
    yield g.fires(concat(listed(x, g.constant(np.array([[7, -3, 11]]))), 0), **LIMITS)
    yield g.fires(where(g.input((3,), TensorProto.BOOL), x, c), **LIMITS)
    for kind in ("ReduceMax", "ReduceMin", "ReduceSum"):
        yield g.fires(reduce(kind, x, (1,), 1), **LIMITS)
    yield g.fires(cumsum(x, g.constant(np.array(1)), (("exclusive", 0), ("reverse", 0))), **LIMITS)
    big = g.constant(np.array([7, -3, 2**40]))
    wild = g.input(("N", 3), INT64)
    yield g.near_miss(binary("Add", wild, c), why="the input may be any number", **LIMITS)
    yield g.near_miss(binary("Add", x, big), why="an operand is beyond int32", **LIMITS)
    wide = _small(g, 3, most=2**20)
    yield g.near_miss(binary("Mul", wide, wide), why="the product is beyond int32", **LIMITS)
    yield g.near_miss(binary("Less", wild, c), why="the input may be any number", **LIMITS)
    yield g.near_miss(binary("Add", x, c), why="the target does not ask for it")
    single = unary("Clip", (("max", 9), ("min", 0)), g.input((3,), INT32))
    yield g.near_miss(binary("Add", single, single), why="it is narrow", **LIMITS)
    open_sum = reduce("ReduceSum", _small(g, "N", "L"), (1,), 0)
    yield g.near_miss(open_sum, why="a sum of who knows how many", **LIMITS)


def apply(op: str, x: Any) -> Any:
    return unary(op, (), x)


@law("narrowing", numerics="bitwise", examples=_proved_examples)
def narrow_arithmetic(
    op: String,
    x: Tensor,
    y: Tensor,
    c: Tensor,
    z: Tensor,
    xs: Tensors,
    ys: Tensors,
    p: PyObject,
    k: PyObject,
    to: PyObject,
    n: i64,
) -> Iterator[Any]:
    """op(x, y) = Cast_64(op(Cast_32(x), Cast_32(y))) where int32 has every operand and every result

    Source: Ascend auto-optimizer, TypeCast.
    """
    yield from _statements(PyObject(True), op=op, x=x, y=y, c=c, z=z, xs=xs, ys=ys, p=p, k=k, to=to, n=n)


def _assumed_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, c = g.input(("N", 3), INT64), g.constant(np.array([7, -3, 11]))
    for op in (*sorted(ARITHMETIC), "Less", "Equal"):
        yield g.fires(binary(op, x, c), **LIMITS)
    yield g.fires(variadic("Min", listed(x, c)), **LIMITS)
    yield g.fires(reduce("ReduceSum", x, (0,), 0), **LIMITS)
    yield g.near_miss(binary("Add", x, g.constant(np.array(2**40))), why="beyond int32", **LIMITS)
    yield g.near_miss(binary("Add", x, c), why="the target does not ask for it")


@law("assume", numerics="bitwise", examples=_assumed_examples)
def assume_narrow(
    op: String,
    x: Tensor,
    y: Tensor,
    c: Tensor,
    z: Tensor,
    xs: Tensors,
    ys: Tensors,
    p: PyObject,
    k: PyObject,
    to: PyObject,
    n: i64,
) -> Iterator[Any]:
    """op(x, y) = Cast_64(op(Cast_32(x), Cast_32(y))) where nothing is known against it

    Source: Ascend auto-optimizer, TypeCast.
    """
    yield from _statements(PyObject(False), op=op, x=x, y=y, c=c, z=z, xs=xs, ys=ys, p=p, k=k, to=to, n=n)


def _statements(
    by_proof: Any,
    *,
    op: Any,
    x: Any,
    y: Any,
    c: Any,
    z: Any,
    xs: Any,
    ys: Any,
    p: Any,
    k: Any,
    to: Any,
    n: Any,
) -> Iterator[Any]:
    """The rules of narrowing, by proof or by assumption."""
    asked = guard(eq(n).to(limit("narrow_int64")))
    yield rule(
        eq(z).to(unary(op, p, x)),
        *asked,
        holds(unary_fits, by_proof, op, p, fact(x), fact(z)),
        then=Equal(z, widen(unary(op, p, narrow(x)))),
    )
    yield rule(
        eq(z).to(binary(op, x, y)),
        *asked,
        holds(arithmetic_fits, by_proof, op, fact(x), fact(y), fact(z)),
        then=Equal(z, widen(binary(op, narrow(x), narrow(y)))),
    )
    yield rule(
        eq(z).to(binary(op, x, y)),
        *asked,
        holds(comparison_fits, by_proof, op, fact(x), fact(y)),
        then=Equal(z, binary(op, narrow(x), narrow(y))),
    )
    yield rule(
        eq(z).to(variadic(op, xs)),
        *asked,
        holds(list_fits, by_proof, op, facts(xs)),
        then=Equal(z, widen(variadic(op, all_cast(xs, PyObject(INT32))))),
    )
    yield rule(
        eq(z).to(concat(xs, p)),
        *asked,
        holds(list_fits, by_proof, "Concat", facts(xs)),
        then=Equal(z, widen(concat(all_cast(xs, PyObject(INT32)), p))),
    )
    yield rule(
        eq(z).to(where(c, x, y)),
        *asked,
        holds(choice_fits, by_proof, fact(x), fact(y)),
        then=Equal(z, widen(where(c, narrow(x), narrow(y)))),
    )
    yield from casting_lists(x, xs, ys, to)
    yield rule(
        eq(z).to(reduce(op, x, p, k)),
        *asked,
        holds(reduction_fits, by_proof, op, p, fact(x), fact(z)),
        then=Equal(z, widen(reduce(op, narrow(x), p, k))),
    )
    yield rule(
        eq(z).to(cumsum(x, y, p)),
        *asked,
        holds(cumulated_fits, by_proof, fact(x), fact(y), fact(z)),
        then=Equal(z, widen(cumsum(narrow(x), y, p))),
    )
