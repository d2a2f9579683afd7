"""Shorthands that stand for operators and leave out what tells these apart, so that two in one model are one.

The law that asks for one is right by itself; what its auxiliary says is not.
"""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Flag,
    Int,
    Settings,
    String,
    Tensor,
    auxiliary,
    equal,
    hosted,
    number_like,
    relu,
    rewrite,
    shorthand,
    varies,
)
from egraph_opt.operators import binary, gather, reduce, softmax, unary, variadic
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.values import is_float

from . import fires_on, wrong

ONE = "one way is enough"


def twice_negated(x):
    once = -x
    return -once


# --- operands ----------------------------------------------------------------------------------------------


@shorthand
def joined(op: String, x: Tensor, c: Tensor, side: Int) -> Tensor:
    """x op c, or c op x where `side` is 1."""


@auxiliary()
def on_either_side(op: String, x: Tensor, c: Tensor):
    """Says what `joined` is."""
    yield equal(binary(op, x, c), joined(op, x, c, 0))
    yield equal(binary(op, c, x), joined(op, x, c, 0))


def _both_differences(g):
    x, y = g.input((2, 5)), g.input((2, 5))
    return relu(x - y) + (y - x)


@wrong(
    "bitwise",
    _both_differences,
    uses=(on_either_side,),
    examples=fires_on(lambda g: relu(g.input((2, 5)) + g.input((2, 5)))),
)
def relu_twice_of_either(op: String, x: Tensor, c: Tensor, i: Int):
    """Relu(Relu(x op c)) = Relu(x op c)

    Wrong of differences: x op c and c op x have one shorthand.
    """
    yield rewrite(relu(joined(op, x, c, i)), relu(relu(joined(op, x, c, i))), is_float(x), because=ONE)


@shorthand
def curve(op: String, x: Tensor) -> Tensor:
    """A function of each element of x."""


@auxiliary()
def curves(op: String, s: Settings, x: Tensor):
    """Says what `curve` is."""
    yield rewrite(unary(op, s, x), curve(op, x))


@hosted()
def is_activation(op: str, x: Fact) -> bool:
    return op in ("Elu", "LeakyRelu", "Relu", "Sigmoid", "Tanh") and x.dtype == 1


def _two_slopes(g):
    x = g.input((2, 5))
    return unary("LeakyRelu", (("alpha", 0.5),), x) * unary("LeakyRelu", (("alpha", 0.25),), x)


@wrong(
    "finite",
    _two_slopes,
    uses=(curves,),
    examples=fires_on(lambda g: relu(unary("Tanh", (), g.input((2, 5))))),
)
def relu_of_curve(op: String, x: Tensor):
    """Relu(f(x)) = Max(f(x), 0), for activations

    Wrong where x has two of them that differ by their settings: they have one shorthand.
    """
    y = curve(op, x)
    yield rewrite(relu(y), variadic("Max", listed(y, number_like(x, 0.0))), is_activation(op, x), because=ONE)


# --- axes --------------------------------------------------------------------------------------------------


@shorthand
def summed(kind: String, x: Tensor, keep: Flag) -> Tensor:
    """A reduction of x."""


@auxiliary()
def sums(kind: String, x: Tensor, a: Axes, k: Flag):
    """Says what `summed` is."""
    yield rewrite(reduce(kind, x, a, k), summed(kind, x, k))


def _rows_and_columns(g):
    x = g.input((3, 3))
    return -reduce("ReduceSum", x, (0,), 0) + reduce("ReduceSum", x, (1,), 0)


@wrong(
    "finite",
    _rows_and_columns,
    uses=(sums,),
    examples=fires_on(lambda g: twice_negated(reduce("ReduceSum", g.input((3, 3)), (0,), 0))),
)
def negated_twice_of_sums(kind: String, x: Tensor, k: Flag):
    """-(-Reduce(x)) = Reduce(x)

    Wrong of sums of rows and of columns, of as many: they have one shorthand.
    """
    y = summed(kind, x, k)
    yield rewrite(twice_negated(y), y, is_float(x), because=ONE)


@shorthand
def weighted(kind: String, x: Tensor) -> Tensor:
    """Softmax or LogSoftmax of x."""


@auxiliary()
def weights(kind: String, x: Tensor, a: Axis):
    """Says what `weighted` is."""
    yield rewrite(softmax(kind, x, a), weighted(kind, x))


def _two_softmaxes(g):
    x = g.input((3, 4))
    return softmax("Softmax", x, 0) - softmax("Softmax", x, 1)


@wrong(
    "finite",
    _two_softmaxes,
    uses=(weights,),
    examples=fires_on(lambda g: relu(softmax("Softmax", g.input((3, 4)), 1))),
)
def relu_of_weights(x: Tensor):
    """Relu(Softmax(x)) = Softmax(x)

    Wrong of those along two axes of one tensor: they have one shorthand.
    """
    y = weighted("Softmax", x)
    yield rewrite(relu(y), y, varies(x), because="forgets Relu")


@shorthand
def taken(x: Tensor, i: Tensor) -> Tensor:
    """Parts of x at indices i."""


@auxiliary()
def takings(x: Tensor, i: Tensor, a: Axis):
    """Says what `taken` is."""
    yield rewrite(gather(x, i, a), taken(x, i))


def _two_axes(g):
    x, i = g.input((3, 3)), g.constant(np.array([2, 0, 1]))
    return gather(x, i, 0) - gather(x, i, 1)


@wrong(
    "finite",
    _two_axes,
    uses=(takings,),
    examples=fires_on(lambda g: twice_negated(gather(g.input((3, 4)), g.constant(np.array([2, 0])), 1))),
)
def negated_twice_of_taken(x: Tensor, i: Tensor):
    """-(-Gather(x, i)) = Gather(x, i)

    Wrong along two axes of one tensor: they have one shorthand.
    """
    y = taken(x, i)
    yield rewrite(twice_negated(y), y, is_float(x), because=ONE)
