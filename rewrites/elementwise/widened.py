"""Operators that choose among numbers, or change their signs, compute in the type that floats had before.

    Relu(Cast_T(x)) = Cast_T(Relu(x))                  T has every value of x's type; Neg, Abs, Floor, ..
    Max(Cast_T(x), c) = Cast_T(Max(x, Cast_S(c)))      S, the type of x, has the numbers of c; Min, Where
    Cast_T(x) < Cast_T(y) = x < y                      ArgMax(Cast_T(x)) = ArgMax(x), IsNaN likewise

What they make of numbers of a type is a number of the type, the same in any wider one.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from onnx import TensorProto as T
from onnx.helper import tensor_dtype_to_np_dtype

from egraph_opt.facts.dtypes import FLOATS, KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    equal,
    guard,
    hosted,
    kernel,
    laws_of,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axes, Axis, DataType, Flag, Int, Settings, String, Tensor, Tensors, Unit
from egraph_opt.operators import arg_reduce, binary, cast, pool, reduce, unary, variadic, where
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.operators.windows import PoolWindow
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import is_kernel_float
from egraph_opt.rewrites.shapes.casts import HOLDS

law = laws_of(
    "cast", numerics="bitwise", kind="move", serves="traffic", source="Ascend auto-optimizer, TypeCast"
)

FUNCTIONS = frozenset(("Abs", "Ceil", "Floor", "Neg", "Relu", "Round"))
"""What makes numbers of a float type of numbers of that type, without rounding."""

EXTREMES = frozenset(("Max", "Min", "ReduceMax", "ReduceMin", "MaxPool"))
"""What takes one of several numbers; of a zero of either sign any."""

COMPARISONS = frozenset(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"))

FORGOTTEN = "the constant in its wide type is forgotten"


# --- conditions -------------------------------------------------------------------------------------------


def is_wider(dtype: int, to: int) -> bool:
    """Two types of floats of which the second has every number of the first, and more."""
    return {dtype, to} <= FLOATS and dtype != to and to in HOLDS[dtype]


@hosted()
def widens(x: Fact, to: DataType) -> bool:
    """A cast to a wider type of floats."""
    return is_wider(x.dtype, to)


@hosted()
def type_of(x: Fact) -> DataType:
    return x.dtype


@hosted()
def is_of_type(x: Fact, dtype: DataType) -> bool:
    return x.dtype == dtype


@hosted()
def is_kernel_type(dtype: DataType) -> bool:
    """Of a float type that onnxruntime has kernels for."""
    return dtype in KERNEL_FLOATS


@hosted()
def are_alike(x: Fact, y: Fact) -> bool:
    return x.dtype == y.dtype


def has_number(dtype: int, number: float) -> bool:
    """A float type has this number."""
    if dtype not in FLOATS:
        return False
    with np.errstate(over="ignore"):
        rounded = float(np.asarray(number, tensor_dtype_to_np_dtype(dtype)))
    return rounded == number or (math.isnan(rounded) and math.isnan(number))


@hosted()
def has_numbers(x: Fact, c: Fact) -> bool:
    """Every element of a constant, of a wider type than x, is a number of x's type."""
    return type_has_numbers(x.dtype, c)


@hosted()
def type_has_numbers(dtype: DataType, c: Fact) -> bool:
    """Every element of a constant of a wider type is a number of this type."""
    numbers = c.data if c.splat is None else (c.splat,)
    known = is_wider(dtype, c.dtype) and c.const and numbers is not None
    return known and all(has_number(dtype, float(v)) for v in numbers or ())


@hosted()
def is_exact(op: str, settings: Settings, x: Fact) -> bool:
    """A function of floats that gives the same number in any wider type."""
    if op == "Clip":
        return all(v is not None and has_number(x.dtype, v) for _, v in settings)
    return op in FUNCTIONS


@hosted()
def is_nearly_exact(op: str, settings: Settings, x: Fact) -> bool:
    """Likewise of finite floats; a bound that is absent is the greatest number of its type."""
    if op == "Clip":
        return any(v is None for _, v in settings) and all(
            v is None or has_number(x.dtype, v) for _, v in settings
        )
    return op == "Sign"


@hosted()
def is_extreme(op: str) -> bool:
    return op in EXTREMES


@hosted()
def is_comparison(op: str) -> bool:
    return op in COMPARISONS


# --- functions --------------------------------------------------------------------------------------------


def _double(g: Operands) -> tuple[Tensor, Tensor, Any]:
    """A float32 value, the same in double, and one of double."""
    x = g.input(("N", 4))
    return x, cast(x, T.DOUBLE), g.input(("N", 4), T.DOUBLE)


def _clip(low: float | None, high: float | None, x: Any) -> Any:
    return unary("Clip", (("max", high), ("min", low)), x)


def _function_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, wide, other = _double(g)
    for of in (*(partial(unary, op, ()) for op in sorted(FUNCTIONS)), partial(_clip, -0.5, 2.0)):
        yield from g.all_fire(of(wide), cast(of(x), T.DOUBLE))
    yield g.fires(unary("Floor", (), cast(g.input(("N", 4), T.FLOAT16), T.FLOAT)))
    yield from g.near_misses(
        (unary("Relu", (), cast(other, T.FLOAT)), "numbers are rounded"),
        (unary("Exp", (), wide), "the result is rounded"),
        (_clip(0.1, 2.0, wide), "float32 has no such bound"),
        (_clip(0.0, None, wide), "the greatest number is a bound"),
        (unary("Abs", (), cast(g.input((3,), T.INT32), T.FLOAT)), "float32 has 24 bits"),
    )


@law(examples=_function_examples)
def function_of_wide(op: String, s: Settings, x: Tensor, t: DataType):
    """Relu(Cast_T(x)) = Cast_T(Relu(x)) where T has all of x's type; likewise Floor, Abs, Neg, .."""
    known = (widens(x, t), kernel(is_kernel_float(x)), guard(varies(x)))
    yield equal(unary(op, s, cast(x, t)), cast(unary(op, s, x), t), is_exact(op, s, x), *known)


def _extreme_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, wide, other = _double(g)
    for of in (partial(unary, "Sign", ()), partial(_clip, None, 2.0), partial(_clip, 0.0, None)):
        yield from g.all_fire(of(wide), cast(of(x), T.DOUBLE))
    for of in (lambda v: reduce("ReduceMax", v, (1,), 0), lambda v: reduce("ReduceMin", v, (0, 1), 1)):
        yield from g.all_fire(of(wide), cast(of(x), T.DOUBLE))
    yield from g.near_misses(
        (unary("Sign", (), cast(other, T.FLOAT)), "numbers are rounded, to 0 perhaps"),
        (_clip(0.1, None, wide), "float32 has no such bound"),
        (reduce("ReduceSum", wide, (1,), 0), "the sum is rounded"),
        (unary("Exp", (), wide), "the result is rounded"),
    )


@law(numerics="finite", examples=_extreme_examples)
def extreme_of_wide(op: String, s: Settings, x: Tensor, t: DataType, a: Axes, k: Flag, w: PoolWindow):
    """ReduceMax(Cast_T(x)) = Cast_T(ReduceMax(x)) where T has all of x's type; MaxPool, Sign likewise"""
    wide, known = cast(x, t), (widens(x, t), kernel(is_kernel_float(x)), guard(varies(x)))
    yield equal(reduce(op, wide, a, k), cast(reduce(op, x, a, k), t), is_extreme(op), *known)
    yield equal(pool(op, wide, w), cast(pool(op, x, w), t), is_extreme(op), *known)
    yield equal(unary(op, s, wide), cast(unary(op, s, x), t), is_nearly_exact(op, s, x), *known)


# --- choices ----------------------------------------------------------------------------------------------


def _choices(
    of: Callable[..., Any], what: str, *, back: bool = True
) -> Callable[[np.random.Generator], Iterator[Example]]:
    """Examples of a choice of two; `back`: a law that goes both ways."""

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        g = Operands(rng)
        x, wide, other = _double(g)
        y, i = g.input((4,)), g.input(("N", 1), T.BOOL)
        known, tenth = (g.constant(np.array(c), T.DOUBLE) for c in ([0.5, 2.0, -np.inf, 0.0], 0.1))
        chosen = partial(of, i)
        yield from g.all_fire(*[cast(chosen(x, y), T.DOUBLE)] * back, chosen(wide, cast(y, T.DOUBLE)))
        yield from g.all_fire(chosen(wide, known), chosen(known, wide))
        yield from g.near_misses(
            (chosen(wide, tenth), "float32 has no such number"),
            (chosen(tenth, wide), "float32 has no such number"),
            (chosen(wide, cast(g.input((4,), T.FLOAT16), T.DOUBLE)), "of two types"),
            (chosen(wide, other), "it may be any number"),
            *(
                (variadic("Sum", listed(*xs)), f"no {what}")
                for xs in ((wide, wide), (wide, known), (known, wide))
            ),
        )

    return examples


def _sides(x: Any, c: Any) -> tuple[tuple[Any, Any], ...]:
    return (x, c), (c, x)


@law(examples=_choices(where, "Where"))
def where_of_wide(x: Tensor, y: Tensor, c: Tensor, i: Tensor, t: DataType):
    """Where(i, Cast_T(x), Cast_T(y)) = Cast_T(Where(i, x, y)), with constants of x's type likewise"""
    wide, known = cast(x, t), guard(varies(x))
    yield equal(where(i, wide, cast(y, t)), cast(where(i, x, y), t), are_alike(x, y), widens(x, t), *known)
    for given, made in zip(_sides(wide, c), _sides(x, cast(c, type_of(x))), strict=True):
        yield rewrite(
            where(i, *given), cast(where(i, *made), t), has_numbers(x, c), *known, because=FORGOTTEN
        )


# --- lists ------------------------------------------------------------------------------------------------


@table()
def has_widened(xs: Tensors, dtype: DataType) -> Unit:
    """A list has a value that was cast from a type to a wider one."""


@table()
def narrow_wanted(xs: Tensors, dtype: DataType) -> Unit:
    """The operands of a Max or Min with such a value, or a tail of them."""


@table(merge="first")
def before_casts(xs: Tensors, dtype: DataType) -> Tensors:
    """The same numbers in the narrow type."""


@auxiliary()
def widened_lists(op: String, x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, t: DataType, s: DataType):
    """Fills `has_widened`, `narrow_wanted` and `before_casts`."""
    wide, more = eq(xs, cons(cast(x, t), rest)), eq(xs, cons(x, rest))
    yield rule(wide, widens(x, t), then=has_widened(xs, type_of(x)))
    yield rule(more, has_widened(rest, s), then=has_widened(xs, s))
    yield rule(variadic(op, xs), is_extreme(op), has_widened(xs, s), then=narrow_wanted(xs, s))
    yield rule(narrow_wanted(xs, s), more, then=narrow_wanted(rest, s))
    yield rule(narrow_wanted(xs, s), eq(xs, nil()), then=assign(before_casts(xs, s), nil()))
    known = (narrow_wanted(xs, s), eq(ys, before_casts(rest, s)))
    yield rule(*known, wide, is_of_type(x, s), widens(x, t), then=assign(before_casts(xs, s), cons(x, ys)))
    small = cons(cast(x, s), ys)
    yield rule(*known, more, type_has_numbers(s, x), then=assign(before_casts(xs, s), small))


def _list_examples(rng: np.random.Generator) -> Iterator[Example]:
    yield from _choices(lambda i, *xs: variadic("Max", listed(*xs)), "Max", back=False)(rng)
    g = Operands(rng)
    _, wide, other = _double(g)
    half, two = cast(g.input((4,), T.FLOAT16), T.DOUBLE), g.constant(np.array(2.0), T.DOUBLE)
    yield from g.all_fire(
        variadic("Min", listed(two, wide, cast(g.input((4,)), T.DOUBLE))),
        variadic("Max", listed(wide)),
        variadic("Max", listed(half, two, half)),
    )
    yield g.near_miss(variadic("Min", listed(wide, two, half)), why="of two types")
    yield g.near_miss(variadic("Min", listed(wide, two, other)), why="it may be any number")


@law(numerics="finite", uses=(widened_lists,), examples=_list_examples)
def extreme_of_many(xs: Tensors, ys: Tensors, s: DataType):
    """Max(Cast_T(x), Cast_T(y), ..) = Cast_T(Max(x, y, ..)), with constants of x's type likewise, and Min"""
    found = (eq(ys, before_casts(xs, s)), kernel(is_kernel_type(s)))
    for op in ("Max", "Min"):
        wide, narrow = variadic(op, xs), variadic(op, ys)
        yield rewrite(wide, cast(narrow, type_of(wide)), *found, because="casts sink")


# --- questions --------------------------------------------------------------------------------------------


def _question_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 4)), g.input((4,))
    v, w = cast(x, T.DOUBLE), cast(y, T.DOUBLE)
    known, tenth = (g.constant(np.array(c), T.DOUBLE) for c in ([0.5, 2.0, -np.inf, 0.0], 0.1))
    for op in sorted(COMPARISONS):
        yield from g.all_fire(binary(op, v, w), binary(op, v, known), binary(op, known, v))
    yield g.fires(unary("IsNaN", (), v))
    for last in (0, 1):
        yield from g.all_fire(*(arg_reduce(kind, v, 1, 0, last) for kind in ("ArgMax", "ArgMin")))
    yield from g.near_misses(
        (binary("Less", v, tenth), "float32 has no such number"),
        (binary("Less", v, cast(g.input((4,), T.FLOAT16), T.DOUBLE)), "of two types"),
        (binary("Less", v, g.input((4,), T.DOUBLE)), "it may be any number"),
        *((binary("Add", v, other), "the sum is rounded") for other in (w, known)),
        (unary("Neg", (), v), "no question"),
        (arg_reduce("ArgMax", cast(x, T.FLOAT16), 1, 0, 0), "numbers that are rounded alike"),
    )


@law(kind="eliminate", uses=(either_side,), examples=_question_examples)
def question_of_wide(
    op: String, x: Tensor, y: Tensor, c: Tensor, i: Int, t: DataType, a: Axis, k: Flag, m: Flag
):  # fmt: skip
    """Cast_T(x) < Cast_T(y) = x < y where T has all of their type; ArgMax, IsNaN likewise"""
    wide, runs, why = cast(x, t), kernel(is_kernel_float(x)), "forgets the type between"
    known = (widens(x, t), runs)
    both = (*known, are_alike(x, y), is_comparison(op))
    yield rewrite(binary(op, wide, cast(y, t)), binary(op, x, y), *both, because=why)
    less, narrow = beside(op, wide, c, i), beside(op, x, cast(c, type_of(x)), i)
    yield rewrite(less, narrow, *runs, has_numbers(x, c), is_comparison(op), because=why)
    yield rewrite(unary("IsNaN", (), wide), unary("IsNaN", (), x), *known, because=why)
    yield rewrite(arg_reduce(op, wide, a, k, m), arg_reduce(op, x, a, k, m), *known, because=why)
