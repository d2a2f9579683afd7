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

from egraph_opt.facts.fact import Fact, Range
from egraph_opt.inference.intervals import multiply, within
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import (
    Example,
    HostFunction,
    Operands,
    auxiliary,
    eq,
    equal,
    guard,
    hosted,
    law,
    rewrite,
    rule,
    table,
    union,
)
from egraph_opt.laws.sorts import Axes, Axis, DataType, Flag, Settings, String, Tensor, Tensors
from egraph_opt.operators import binary, cast, concat, cumsum, reduce, unary, variadic, where
from egraph_opt.operators.terms import cons, limit, listed, nil, opset
from egraph_opt.operators.typing import infer_operator

INT32, INT64 = TensorProto.INT32, TensorProto.INT64
_NARROW: Range = (-(2**31), 2**31 - 1)

UNARY = frozenset(("Abs", "BitwiseNot", "Clip", "Neg", "Sign"))
ARITHMETIC = frozenset(("Add", "Sub", "Mul", "Div", "Mod"))
COMPARISONS = frozenset(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"))
LIMITS = {"narrow_int64": 1}


# --- what int32 has -----------------------------------------------------------------------------------------
# A condition per operator, of its arguments and its result z.


def _proved(x: Fact) -> bool:
    """Every element is a number that int32 has."""
    known = range_of(x)
    return x.dtype == INT64 and known is not None and within(known, _NARROW)


def _fit(by_proof: bool, *facts: Fact) -> bool:
    """Int64 all, computed when the model runs, in int32 by proof; or, but for constants, by assumption."""
    fits = (_proved(x) if by_proof or x.const else x.dtype == INT64 for x in facts)
    return all(fits) and not all(x.const for x in facts)


@hosted()
def unary_fits(by_proof: bool, op: str, settings: Settings, x: Fact, z: Fact) -> bool:
    bounds = [v for _, v in settings if isinstance(v, int)]
    return op in UNARY and _fit(by_proof, x, z) and all(within((v, v), _NARROW) for v in bounds)


@hosted()
def binary_fits(by_proof: bool, op: str, x: Fact, y: Fact, z: Fact) -> bool:
    """The least number of int32 modulo -1 is a trap of some processors; the quotient, int32 does not have."""
    traps = op == "Mod" and by_proof and (range_of(x) or _NARROW)[0] <= _NARROW[0]
    return op in ARITHMETIC and _fit(by_proof, x, y) and _fit(by_proof, z) and not traps


@hosted()
def comparison_fits(by_proof: bool, op: str, x: Fact, y: Fact) -> bool:
    return op in COMPARISONS and _fit(by_proof, x, y)


@hosted()
def variadic_fits(by_proof: bool, op: str, xs: tuple[Fact, ...], z: Fact) -> bool:
    return op in ("Max", "Min") and _fit(by_proof, *xs)


@hosted()
def concat_fits(by_proof: bool, xs: tuple[Fact, ...], axis: Axis, z: Fact) -> bool:
    return _fit(by_proof, *xs)


@hosted()
def where_fits(by_proof: bool, condition: Fact, x: Fact, y: Fact, z: Fact) -> bool:
    return _fit(by_proof, x, y)


def _sum_fits(by_proof: bool, x: Fact, z: Fact, axes: tuple[int, ...]) -> bool:
    """Partial sums as well, whatever their order."""
    if not _fit(by_proof, x, z) or x.shape is None:
        return False
    lengths = [x.shape[axis] for axis in axes if axis < len(x.shape)]
    count = math.prod(n if isinstance(n, int) else 2**32 for n in lengths)
    return not by_proof or within(multiply(range_of(x) or _NARROW, (0, count)), _NARROW)


@hosted()
def reduce_fits(by_proof: bool, kind: str, x: Fact, axes: Axes, keepdims: Flag, z: Fact) -> bool:
    if kind == "ReduceSum":
        return _sum_fits(by_proof, x, z, axes)
    return kind in ("ReduceMax", "ReduceMin") and _fit(by_proof, x)


@hosted()
def cumsum_fits(by_proof: bool, x: Fact, axis: Fact, settings: Settings, z: Fact) -> bool:
    if not isinstance(axis.splat, int) or x.rank is None or not -x.rank <= axis.splat < x.rank:
        return False
    return _sum_fits(by_proof, x, z, (axis.splat % x.rank,))


FITS: dict[str, HostFunction] = {
    "unary": unary_fits,
    "binary": binary_fits,
    "variadic": variadic_fits,
    "concat": concat_fits,
    "where": where_fits,
    "reduce": reduce_fits,
    "cumsum": cumsum_fits,
}


@hosted()
def widened(x: Any) -> Any:
    """The fact of an int32 value in int64, or the facts of a list of them."""
    if isinstance(x, tuple):
        return tuple(map(widened, x)) if all(item.dtype == INT32 for item in x) else None
    return infer_operator("cast", 17, (INT64,), (x,)) if x.dtype == INT32 else None


@hosted()
def result(version: int, operator: str, *arguments: Any) -> Fact:
    """The fact of an operator's result; the arguments are attributes, facts of operands and lists of them."""
    listed_facts = [a if isinstance(a, tuple) and a and isinstance(a[0], Fact) else (a,) for a in arguments]
    flat = [part for several in listed_facts for part in several]
    attributes = tuple(a for a in flat if not isinstance(a, Fact))
    return infer_operator(operator, version, attributes, tuple(a for a in flat if isinstance(a, Fact)))  # type: ignore[no-any-return]


# --- casts of operands --------------------------------------------------------------------------------------


@table(merge="new")
def all_cast(xs: Tensors, to: DataType) -> Tensors:
    """A list with a cast around every element."""


@auxiliary()
def casts_of_lists(x: Tensor, xs: Tensors, ys: Tensors, to: DataType):
    """Defines `all_cast`."""
    yield rule(eq(ys, all_cast(nil(), to)), then=union(ys, nil()))
    yield rule(eq(ys, all_cast(cons(x, xs), to)), then=union(ys, cons(cast(x, to), all_cast(xs, to))))


def with_operands(term: Any, operands: tuple[Any, ...], change: Callable[[Any], Any]) -> list[Any]:
    """The arguments of a term, some of them changed."""
    return [change(argument) if argument in operands else argument for argument in term.arguments]


def cast_to(to: int) -> Callable[[Any], Any]:
    """A cast of an operand, or of all operands in a list."""
    return lambda x: (all_cast if x.sort.kind == "tensors" else cast)(x, to)


# --- the laws -----------------------------------------------------------------------------------------------


def narrowing(by_proof: bool) -> Callable[..., Iterator[Any]]:
    """The statements of both laws; from the right, what int32 has is proved from narrow operands."""
    name = "narrow_arithmetic" if by_proof else "assume_narrow"

    def statements(
        op: String, x: Tensor, y: Tensor, c: Tensor, xs: Tensors, s: Settings, a: Axis, axes: Axes, k: Flag
    ) -> Iterator[Any]:
        demand, values = guard(limit("narrow_int64")), (x, y, xs)
        for z in (
            unary(op, s, x),
            binary(op, x, y),
            variadic(op, xs),
            concat(xs, a),
            where(c, x, y),
            reduce(op, x, axes, k),
            cumsum(x, c, s),
        ):
            fits, of = FITS[z.head.name], z.head
            narrow = of(*with_operands(z, values, cast_to(INT32)))
            proved = fits(by_proof, *z.arguments, z)
            yield rewrite(z, cast(narrow, INT64), demand, proved, inverse=name)
            wide, known = (with_operands(z, values, f) for f in (cast_to(INT64), widened))
            proved = fits(by_proof, *known, result(opset(), of.name, *known))
            yield rewrite(cast(z, INT64), of(*wide), demand, proved, inverse=name)
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
        **LIMITS,
    )


def _assumed_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3), INT64)
    yield from _all_examples(g, x)
    yield g.near_miss(binary("Add", x, g.constant(np.array(2**40))), why="beyond int32", **LIMITS)
    yield g.near_miss(unary("Exp", (), g.input((3,))), why="no integers", **LIMITS)


_SHARED: dict[str, Any] = {
    "numerics": "bitwise",
    "serves": "target",
    "source": "Ascend auto-optimizer, TypeCast",
    "uses": (casts_of_lists,),
}
narrow_arithmetic = law("narrowing", examples=_proved_examples, **_SHARED)(narrowing(by_proof=True))
assume_narrow = law("assume", examples=_assumed_examples, **_SHARED)(narrowing(by_proof=False))
