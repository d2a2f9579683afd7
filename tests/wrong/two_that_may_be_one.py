"""Two inputs that are taken to differ, letters that are one, and orders that are two."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    DataType,
    Equation,
    Flag,
    Settings,
    Tensor,
    hosted,
    listed,
    ne,
    rewrite,
)
from egraph_opt.laws.sorts import Int
from egraph_opt.operators import binary, cast, einsum, output, reduce, unary
from egraph_opt.operators.ranking import top
from egraph_opt.operators.terms import cons, nil
from egraph_opt.rewrites.conditions.values import is_float

from . import fires_on, of_two, wrong

# --- inputs that are taken to differ -----------------------------------------------------------------------


@hosted()
def are_alike_in_type(x: Fact, y: Fact) -> bool:
    """Floats of one shape, of two elements and more."""
    known = x.is_static and x.shape == y.shape and x.dtype == y.dtype == T.FLOAT
    return known and int(np.prod(x.shape)) >= 2  # type: ignore[arg-type]


@hosted()
def all_of(axes: Axes, x: Fact) -> bool:
    return x.rank is not None and axes == tuple(range(x.rank))


def _all_equal(x, y):
    return cast(reduce("ReduceMin", cast(binary("Equal", x, y), T.INT32), (0, 1), 0), T.BOOL)


@wrong("finite", of_two(_all_equal), values=(2.5,))
def never_all_equal(x: Tensor, y: Tensor, a: Axes, k: Flag, t: DataType):
    """All elements of x and y are equal: false, of two tensors that are not the same value

    Wrong where they have the same numbers.
    """
    least = reduce("ReduceMin", cast(binary("Equal", x, y), t), a, k)
    never = reduce("ReduceMin", cast(binary("Less", x, x), t), a, k)
    known = (ne(x, y), are_alike_in_type(x, y), all_of(a, x))
    yield rewrite(cast(least, T.BOOL), cast(never, T.BOOL), *known, because="forgets y")


def _any_apart(x, y):
    return cast(reduce("ReduceMax", unary("Abs", (), x - y), (0, 1), 0), T.BOOL)


@wrong("finite", of_two(_any_apart), values=(2.5,))
def somewhere_apart(x: Tensor, y: Tensor, a: Axes, k: Flag):
    """The greatest distance of x and y is not 0, of two tensors that are not the same value

    Wrong where they have the same numbers.
    """
    apart = cast(reduce("ReduceMax", unary("Abs", (), x - y), a, k), T.BOOL)
    always = cast(reduce("ReduceMax", cast(binary("Equal", x, x), T.FLOAT), a, k), T.BOOL)
    yield rewrite(apart, always, ne(x, y), are_alike_in_type(x, y), all_of(a, x), because="forgets y")


# --- the greatest, and letters -----------------------------------------------------------------------------


@hosted()
def has_enough(m: int, k: int) -> bool:
    return k <= m


def _nested(inner: int, outer: int):
    def witness(g):
        first = top(g.input((2, 9)), 5, 1, (("largest", inner), ("sorted", 1)))
        return output(top(output(first, 0), 3, 1, (("largest", outer), ("sorted", 1))), 0)

    return witness


@wrong("finite", _nested(1, 0), examples=fires_on(_nested(1, 1), _nested(0, 0)))
def greatest_of_the_greatest(x: Tensor, m: Int, k: Int, a: Axis, s: Settings, t: Settings):
    """TopK(TopK(x, m), k) = TopK(x, k) for k <= m

    Wrong where the greatest are taken first, and of these the least.
    """
    twice = output(top(output(top(x, m, a, s), 0), k, a, t), 0)
    yield rewrite(twice, output(top(x, k, a, t), 0), has_enough(m, k), is_float(x), because="forgets m")


@hosted()
def is_trace(equation: str, x: Fact) -> bool:
    """All letters are summed up."""
    source, _, result = equation.partition("->")
    return x.dtype == T.FLOAT and "->" in equation and result == "" and len(source) == x.rank


@hosted()
def every_axis(x: Fact) -> Axes | None:
    return tuple(range(x.rank)) if x.rank else None


@wrong(
    "reassociates",
    lambda g: einsum("aa->", listed(g.input((3, 3)))),
    examples=fires_on(lambda g: einsum("ab->", listed(g.input((3, 4))))),
)
def sum_of_all_letters(x: Tensor, e: Equation):
    """Einsum(x; ab->) = ReduceSum(x) of all elements

    Wrong of a trace.
    """
    yield rewrite(
        einsum(e, cons(x, nil())),
        reduce("ReduceSum", x, every_axis(x), 0),
        is_trace(e, x),
        because="forgets the letters",
    )
