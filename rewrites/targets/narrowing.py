"""Integers in fewer bits, for targets that compute with int32 and not with int64.

    op(x, y) = Cast_64(op(Cast_32(x), Cast_32(y)))      where int32 has every operand and every result
    x < y = Cast_32(x) < Cast_32(y)                     where int32 has every operand
    Cast_32(Cast_64(x)) = x, Gather(x, Cast_64(i)) = Gather(x, i): see `cast`, which joins the pieces

What int32 has is proved by the ranges of `inference.ranges`.  The ruleset `assume` does without the proof.
Both run for targets that publish the limit `narrow_int64`.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact, Range, Shape
from egraph_opt.inference.elementwise import COMPARISONS
from egraph_opt.inference.intervals import multiply, within
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Example, Operands, auxiliary, equal, guard, hosted, law, rewrite, shorthand
from egraph_opt.laws.sorts import Axes, Axis, DataType, Flag, Name, Settings, String, Tensor, Tensors
from egraph_opt.operators import binary, cast, concat, cumsum, none, reduce, unary, variadic, where
from egraph_opt.operators.terms import cons, limit, listed, nil, opset
from egraph_opt.operators.typing import infer_operator
from egraph_opt.rewrites.conditions.operands import attributes

Attributes = tuple[Any, ...]
Facts = tuple[Fact, ...]

INT32, INT64 = TensorProto.INT32, TensorProto.INT64
_NARROW: Range = (-(2**31), 2**31 - 1)

UNARY = frozenset(("Abs", "BitwiseNot", "Clip", "Neg", "Sign"))
ARITHMETIC = frozenset(("Add", "Sub", "Mul", "Div", "Mod"))
LIMITS = {"narrow_int64": 1}
SMALL = 2**20


# --- what int32 has -----------------------------------------------------------------------------------------
# A condition per operator, of its arguments and its result z.


def _proved(x: Fact) -> bool:
    """Every element is a number that int32 has."""
    known = range_of(x)
    return x.dtype == INT64 and known is not None and within(known, _NARROW)


def _may_be_small(x: Fact) -> bool:
    """Whether a value may be one of which int32 has a sum of thousands, as far as it is known."""
    least, most = range_of(x) or _NARROW
    return least <= SMALL and most >= -SMALL


def _fit(by_proof: bool, *facts: Fact) -> bool:
    """Int64 all, computed when the model runs, in int32 by proof; or, but for constants, by assumption."""
    fits = (_proved(x) if by_proof or x.const else x.dtype == INT64 and _may_be_small(x) for x in facts)
    return all(fits) and not all(x.const for x in facts)


def _leave_room(by_proof: bool, xs: Facts) -> bool:
    """By assumption: what constants are added to or multiply stays in int32 if it is small."""
    return by_proof or all(within(range_of(x) or _NARROW, (-SMALL, SMALL)) for x in xs if x.const)


def _unary_fits(by_proof: bool, how: Attributes, xs: Facts, z: Fact) -> bool:
    op, settings = how
    bounds = [v for _, v in settings if isinstance(v, int)]
    return op in UNARY and _fit(by_proof, *xs, z) and all(within((v, v), _NARROW) for v in bounds)


def _binary_fits(by_proof: bool, how: Attributes, xs: Facts, z: Fact) -> bool:
    """The least number of int32 modulo -1 is a trap of some processors; the quotient, int32 does not have."""
    traps = how[0] == "Mod" and by_proof and (range_of(xs[0]) or _NARROW)[0] <= _NARROW[0]
    fits = how[0] in ARITHMETIC and _fit(by_proof, *xs) and _fit(by_proof, z)
    return fits and _leave_room(by_proof, xs) and not traps


def _sums_fit(by_proof: bool, terms: Range | None, count: Shape) -> bool:
    """Partial sums of so many terms, whatever their order; those of one sign do not pass the whole sum."""
    if not by_proof or terms is None:
        return not by_proof
    if all(isinstance(n, int) for n in count):
        return within(multiply(terms, (0, math.prod(n for n in count if isinstance(n, int)))), _NARROW)
    return terms[0] >= 0 or terms[1] <= 0


def _sum_fits(by_proof: bool, x: Fact, z: Fact, axes: tuple[int, ...]) -> bool:
    if not _fit(by_proof, x, z) or x.shape is None:
        return False
    return _sums_fit(by_proof, range_of(x), tuple(x.shape[axis] for axis in axes if axis < len(x.shape)))


def _product_fits(by_proof: bool, xs: Facts, z: Fact) -> bool:
    x, y = xs
    if not (_fit(by_proof, *xs) and _fit(by_proof, z) and _leave_room(by_proof, xs)) or not x.shape:
        return False
    one, other = range_of(x), range_of(y)
    terms = multiply(one, other) if one and other else None
    return (not by_proof or bool(terms and within(terms, _NARROW))) and _sums_fit(
        by_proof, terms, x.shape[-1:]
    )


def _reduce_fits(by_proof: bool, how: Attributes, xs: Facts, z: Fact) -> bool:
    if how[0] == "ReduceSum":
        return _sum_fits(by_proof, xs[0], z, how[1])
    extreme = how[0] in ("ReduceMax", "ReduceMin") and _fit(by_proof, *xs)
    return extreme and (not by_proof or _has_elements(xs[0], how[1]))


def _has_elements(x: Fact, axes: tuple[int, ...]) -> bool:
    """The largest of nothing is the least number of its type."""
    if x.shape is None or any(axis >= len(x.shape) for axis in axes):
        return False
    return all(isinstance(d, int) and d > 0 for d in (x.shape[axis] for axis in axes))


def _cumsum_fits(by_proof: bool, axis: Fact, x: Fact, z: Fact) -> bool:
    if not isinstance(axis.splat, int) or x.rank is None or not -x.rank <= axis.splat < x.rank:
        return False
    return _sum_fits(by_proof, x, z, (axis.splat % x.rank,))


@hosted()
def int32_has(by_proof: bool, kind: str, how: Attributes, c: Fact, xs: Facts, z: Fact) -> bool:
    """Whether int32 has what an operator (see `applied`) takes and makes."""
    if kind == "cumsum":
        return _cumsum_fits(by_proof, c, xs[0], z)
    if kind == "matmul":
        return _product_fits(by_proof, xs, z)
    if kind in ("concat", "where"):
        return _fit(by_proof, *xs)
    if kind == "variadic":
        return how[0] in ("Max", "Min") and _fit(by_proof, *xs)
    return {"unary": _unary_fits, "binary": _binary_fits, "reduce": _reduce_fits}[kind](by_proof, how, xs, z)


@hosted()
def comparison_fits(by_proof: bool, op: str, x: Fact, y: Fact) -> bool:
    return op in COMPARISONS and _fit(by_proof, x, y)


@hosted()
def widened(xs: Facts) -> Facts | None:
    """The facts of int32 values in int64."""
    if not all(x.dtype == INT32 for x in xs):
        return None
    return tuple(infer_operator("cast", 17, (INT64,), (x,)) for x in xs)


@hosted()
def result(version: int, kind: str, how: Attributes, c: Fact, xs: Facts) -> Fact:
    """The fact of what an operator (see `applied`) makes."""
    operands = {"where": (c, *xs), "cumsum": (*xs, c)}.get(kind, xs)
    return infer_operator(kind, version, how, operands)  # type: ignore[no-any-return]


# --- operators and casts of their operands ------------------------------------------------------------------


@shorthand
def all_cast(xs: Tensors, to: DataType) -> Tensors:
    """A list with a cast around every element."""


@auxiliary()
def casts_of_lists(x: Tensor, xs: Tensors, to: DataType):
    """Says what `all_cast` is."""
    yield rewrite(all_cast(nil(), to), nil())
    yield rewrite(all_cast(cons(x, xs), to), cons(cast(x, to), all_cast(xs, to)))


@shorthand
def applied(kind: String, how: Any, c: Tensor, xs: Tensors) -> Tensor:
    """An operator of numbers xs, with its attributes, and an operand c that may be none of them."""


@hosted()
def name_in(how: Attributes) -> Name | None:
    return how[0] if how and isinstance(how[0], str) else None


@hosted()
def holds_integers(z: Fact) -> bool:
    return z.dtype in (INT32, INT64)


@auxiliary(casts_of_lists)
def applications(
    op: String, x: Tensor, y: Tensor, c: Tensor, xs: Tensors, s: Settings, a: Axis, axes: Axes, k: Flag,
    how: Any,
):  # fmt: skip
    """Says what `applied` is."""
    op_, one, two = name_in(how), listed(x), listed(x, y)
    for z, given, other, operands, made in (
        (unary(op, s, x), attributes(op, s), none(), one, unary(op_, how[1], x)),
        (binary(op, x, y), attributes(op), none(), two, binary(op_, x, y)),
        (variadic(op, xs), attributes(op), none(), xs, variadic(op_, xs)),
        (x @ y, attributes(), none(), two, x @ y),
        (concat(xs, a), attributes(a), none(), xs, concat(xs, how[0])),
        (where(c, x, y), attributes(), c, two, where(c, x, y)),
        (reduce(op, x, axes, k), attributes(op, axes, k), none(), one, reduce(op_, x, how[1], how[2])),
        (cumsum(x, c, s), attributes(s), c, one, cumsum(x, c, how[0])),
    ):
        kind, demand = z.head.name, guard(limit("narrow_int64"), holds_integers(z))
        yield rewrite(z, applied(kind, given, other, operands), *demand)
        yield rewrite(applied(kind, how, other, operands), made)


# --- the laws -----------------------------------------------------------------------------------------------


def narrowing(by_proof: bool) -> Callable[..., Iterator[Any]]:
    """The statements of both laws; from the right, what int32 has is proved from narrow operands."""
    name = "narrow_arithmetic" if by_proof else "assume_narrow"

    def statements(
        op: String, kind: String, how: Settings, x: Tensor, y: Tensor, c: Tensor, xs: Tensors
    ) -> Iterator[Any]:
        demand, z = guard(limit("narrow_int64")), applied(kind, how, c, xs)
        narrow, proved = applied(kind, how, c, all_cast(xs, INT32)), int32_has(by_proof, kind, how, c, xs, z)
        yield rewrite(z, cast(narrow, INT64), demand, proved, inverse=name)
        known = widened(xs)
        proved = int32_has(by_proof, kind, how, c, known, result(opset(), kind, how, c, known))
        wide = applied(kind, how, c, all_cast(xs, INT64))
        yield rewrite(cast(z, INT64), wide, demand, proved, inverse=name)
        less = binary(op, cast(x, INT32), cast(y, INT32))
        yield equal(binary(op, x, y), less, demand, comparison_fits(by_proof, op, x, y))

    proviso = "int32 has every operand and every result" if by_proof else "nothing is known against it"
    statements.__name__ = name
    statements.__doc__ = f"op(x, y) = Cast_64(op(Cast_32(x), Cast_32(y))) where {proviso}"
    return statements


def _small(g: Operands, *shape: int | str, most: int = 1000) -> Any:
    """An int64 input whose range is proved."""
    return unary("Clip", (("max", most), ("min", -most)), g.input(shape, INT64))


def _examples_of(g: Operands, x: Any, dtype: Any) -> Iterator[Any]:
    """A term of every operator, of x [N, 3]."""
    c = g.constant(np.array([7, -3, 11], dtype))
    yield from (binary(op, x, c) for op in sorted(ARITHMETIC))
    yield from (unary(op, (), x) for op in ("Abs", "Neg", "Sign"))
    yield variadic("Max", listed(x, c, x))
    yield concat(listed(x, g.constant(np.array([[7, -3, 11]], dtype))), 0)
    yield where(g.input((3,), TensorProto.BOOL), x, c)
    yield from (reduce(kind, x, (1,), 1) for kind in ("ReduceMax", "ReduceMin", "ReduceSum"))
    yield cumsum(x, g.constant(np.array(1)), (("exclusive", 0), ("reverse", 0)))
    yield x @ g.constant(np.array([[1, -2], [5, 0], [3, 3]], dtype))


def _all_examples(g: Operands, x: Any) -> Iterator[Example]:
    """Every operator in int64 and, as ranges of int8 allow, in int32; comparisons in both."""
    c, narrow = g.constant(np.array([7, -3, 11])), cast(g.input(("N", 3), TensorProto.INT8), INT32)
    wide = _examples_of(g, x, np.int64)
    widened_terms = (cast(term, INT64) for term in _examples_of(g, narrow, np.int32))
    less = (binary(op, v, w) for op in COMPARISONS for v, w in ((x, c), (cast(x, INT32), cast(c, INT32))))
    yield from (g.fires(term, **LIMITS) for term in (*wide, *widened_terms, *less))


def _proved_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    yield from _all_examples(g, _small(g, "N", 3))
    wild, wide, single = g.input(("N", 3), INT64), _small(g, 3, most=2**20), g.input((3,), INT32)
    yield from g.near_misses(
        (binary("Add", wild, g.constant(np.array(7))), "the input may be any number"),
        (binary("Less", wild, g.constant(np.array(7))), "the input may be any number"),
        (binary("Add", _small(g, 3), g.constant(np.array(2**40))), "an operand is beyond int32"),
        (binary("Mul", wide, wide), "the product is beyond int32"),
        (binary("Add", single, single), "it is narrow"),
        (cast(binary("Add", single, single), INT64), "the narrow sum may be beyond int32"),
        (reduce("ReduceSum", _small(g, "N", "L"), (1,), 0), "a sum of an unknown number of elements"),
        (_small(g, "N", "L") @ _small(g, "L", 3), "a sum of an unknown number of products"),
        (_small(g, "N", 3, most=2**20) @ _small(g, 3, 2, most=2**11), "a product is beyond int32"),
        **LIMITS,
    )


def _assumed_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3), INT64)
    yield from _all_examples(g, x)
    yield g.near_miss(binary("Add", x, g.constant(np.array(2**40))), why="beyond int32", **LIMITS)
    y = g.input((3,))
    for term in (unary("Exp", (), y), cast(y + y, INT64)):
        yield g.near_miss(term, why="no integers", **LIMITS)


_SHARED: dict[str, Any] = {
    "numerics": "bitwise",
    "serves": "target",
    "source": "Ascend auto-optimizer, TypeCast",
    "uses": (applications,),
}
narrow_arithmetic = law("narrowing", examples=_proved_examples, **_SHARED)(narrowing(by_proof=True))
assume_narrow = law("assume", examples=_assumed_examples, **_SHARED)(narrowing(by_proof=False))
