"""A choice among floats that a cast widens is made in the type that they had.

    Where(i, Cast_T(x), Cast_T(y)) = Cast_T(Where(i, x, y))
    Max(Cast_T(x), Cast_T(y), c) = Cast_T(Max(x, y, Cast_S(c)))      S, the type of x, has the numbers of c

A constant in the wide type is no obstacle where the narrow one has its numbers.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    equal,
    guard,
    kernel,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import DataType, Tensor, Tensors, Unit
from egraph_opt.operators import cast, variadic, where
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.float_types import (
    constants_in_double,
    has_numbers,
    in_double,
    is_kernel_type,
    type_has_numbers,
    widens,
)
from egraph_opt.rewrites.conditions.values import dtype_of, is_of_type, of_one_type
from egraph_opt.rewrites.elementwise.widened import law

EXTREMES = ("Max", "Min")

FORGOTTEN = "the constant in its wide type is forgotten"


def _choices(
    of: Callable[..., Any], what: str, *, back: bool = True
) -> Callable[[np.random.Generator], Iterator[Example]]:
    """Examples of a choice of two; `back`: a law that goes both ways."""

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        g = Operands(rng)
        x, wide, other = in_double(g)
        y, i = g.input((4,)), g.input(("N", 1), T.BOOL)
        known, tenth = constants_in_double(g)
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
    yield equal(where(i, wide, cast(y, t)), cast(where(i, x, y), t), of_one_type(x, y), widens(x, t), *known)
    for given, made in zip(_sides(wide, c), _sides(x, cast(c, dtype_of(x))), strict=True):
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
def widened_lists(x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, t: DataType, s: DataType):
    """Fills `has_widened`, `narrow_wanted` and `before_casts`."""
    wide, more = eq(xs, cons(cast(x, t), rest)), eq(xs, cons(x, rest))
    yield rule(wide, widens(x, t), then=has_widened(xs, dtype_of(x)))
    yield rule(more, has_widened(rest, s), then=has_widened(xs, s))
    for op in EXTREMES:
        yield rule(variadic(op, xs), has_widened(xs, s), then=narrow_wanted(xs, s))
    yield rule(narrow_wanted(xs, s), more, then=narrow_wanted(rest, s))
    yield rule(narrow_wanted(xs, s), eq(xs, nil()), then=assign(before_casts(xs, s), nil()))
    known = (narrow_wanted(xs, s), eq(ys, before_casts(rest, s)))
    yield rule(*known, wide, is_of_type(x, s), widens(x, t), then=assign(before_casts(xs, s), cons(x, ys)))
    small = cons(cast(x, s), ys)
    yield rule(*known, more, type_has_numbers(s, x), then=assign(before_casts(xs, s), small))


def _list_examples(rng: np.random.Generator) -> Iterator[Example]:
    yield from _choices(lambda i, *xs: variadic("Max", listed(*xs)), "Max", back=False)(rng)
    g = Operands(rng)
    _, wide, other = in_double(g)
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
    for op in EXTREMES:
        wide, narrow = variadic(op, xs), variadic(op, ys)
        yield rewrite(wide, cast(narrow, dtype_of(wide)), *found, because="casts sink")
