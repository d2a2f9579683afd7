"""RNN, GRU and LSTM: directions, states, lengths, biases."""

from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Tensor, hosted, relu, rewrite
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.sorts import Int, Slices, Tensors
from egraph_opt.operators import none, output, recurrent, slice_
from egraph_opt.operators.recurrent import RecurrentLayer
from egraph_opt.operators.terms import cons, listed
from egraph_opt.rewrites.recurrent.states import example_layer, fixed_steps

from . import wrong


@wrong("bitwise", lambda g: slice_(output(example_layer(g, "GRU", fixed_steps(g, 5), direction="reverse"), 0),
                                   ((0, 4, 5, 1),)))  # fmt: skip
def last_step_is_the_state(x: Tensor, w: Tensors, h: Tensor, c: Tensor, n: Tensor, s: RecurrentLayer):
    """The step behind all others of five = the last state

    Wrong in reverse, where that is the first one; and its dims are not those of a state.
    """
    layer = recurrent(x, w, n, h, c, s)
    yield rewrite(slice_(output(layer, 0), ((0, 4, 5, 1),)), output(layer, 0), because="forgets the others")


@hosted()
def turned(s: RecurrentLayer) -> RecurrentLayer | None:
    """The layer the other way round, where it has one direction."""
    ways = {"forward": "reverse", "reverse": "forward"}
    if s.direction not in ways:
        return None
    return RecurrentLayer(s.kind, tuple(sorted({**dict(s.settings), "direction": ways[s.direction]}.items())))


@wrong("bitwise", lambda g: output(example_layer(g, "LSTM", fixed_steps(g, 5)), 1))
def either_direction(x: Tensor, w: Tensors, h: Tensor, c: Tensor, n: Tensor, s: RecurrentLayer, k: Int):
    """RNN(x) = RNN in reverse(x)

    Wrong: the last state has seen the steps in another order.
    """
    layer, other = recurrent(x, w, n, h, c, s), recurrent(x, w, n, h, c, turned(s))
    yield rewrite(output(layer, k), output(other, k), because="turned once")


@hosted()
def turns_steps(t: Slices) -> bool:
    return len(t) == 1 and t[0][0] == 0 and t[0][2:] == (None, -1)


@wrong(
    "bitwise", lambda g: output(example_layer(g, "LSTM", slice_(fixed_steps(g, 5), ((0, 4, None, -1),))), 0)
)
def reversed_input(x: Tensor, w: Tensors, h: Tensor, c: Tensor, n: Tensor, s: RecurrentLayer, t: Slices):
    """All steps of RNN(reversed x) = all steps of RNN in reverse(x)

    Wrong: these are in the order of x.
    """
    behind, ahead = recurrent(slice_(x, t), w, n, h, c, s), recurrent(x, w, n, h, c, turned(s))
    yield rewrite(output(behind, 0), output(ahead, 0), turns_steps(t), because="turned once")


@wrong("bitwise", lambda g: output(
    example_layer(g, "GRU", fixed_steps(g, 5), hidden=g.random(1, 4, 2)), 0))  # fmt: skip
def begins_with_nothing(x: Tensor, w: Tensors, h: Tensor, c: Tensor, n: Tensor, s: RecurrentLayer, k: Int):
    """RNN(x) from any first state = RNN(x)

    Wrong where that is not 0.
    """
    nothing = none()
    yield rewrite(
        output(recurrent(x, w, n, h, c, s), k),
        output(recurrent(x, w, n, nothing, c, s), k),
        because="forgets h",
    )


@wrong("bitwise", lambda g: output(example_layer(
    g, "LSTM", fixed_steps(g, 5), lengths=g.constant(np.array([5, 2, 1, 3], np.int32))), 0))  # fmt: skip
def of_any_length(x: Tensor, w: Tensors, h: Tensor, c: Tensor, n: Tensor, s: RecurrentLayer, k: Int):
    """RNN(x) of sequences with lengths = RNN(x)

    Wrong where some are shorter: there are zeros behind them.
    """
    nothing = none()
    yield rewrite(
        output(recurrent(x, w, n, h, c, s), k),
        output(recurrent(x, w, nothing, h, c, s), k),
        because="forgets n",
    )


@wrong("bitwise", lambda g: output(example_layer(g, "RNN", fixed_steps(g, 5)), 1))
def without_bias(
    x: Tensor, m: Tensor, r: Tensor, b: Tensor, t: Tensors, n: Tensor, s: RecurrentLayer, k: Int
):
    """RNN(x) with a bias = RNN(x)

    Wrong where that is not 0.
    """
    nothing = none()
    biased, plain = (cons(m, cons(r, cons(third, t))) for third in (b, nothing))
    yield rewrite(
        output(recurrent(x, biased, n, nothing, nothing, s), k),
        output(recurrent(x, plain, n, nothing, nothing, s), k),
        because="forgets b",
    )


@wrong("bitwise", lambda g: relu(output(example_layer(g, "GRU", fixed_steps(g, 5)), 0)))
def gates_are_positive(x: Tensor, w: Tensors, h: Tensor, c: Tensor, n: Tensor, s: RecurrentLayer, k: Int):
    """Relu(RNN(x)) = RNN(x)

    Wrong: a hyperbolic tangent is negative as well.
    """
    layer = output(recurrent(x, w, n, h, c, s), k)
    yield rewrite(relu(layer), layer, because="no layer says that it is positive")


def from_zeros(g: Operands) -> Any:
    """A layer of which nobody knows the weights."""
    weights = (g.input((1, 2, 3)), g.input((1, 2, 2)), none(), none())
    layer = RecurrentLayer("RNN", (("direction", "forward"), ("hidden_size", 2)))
    zeros = g.constant(np.zeros((1, 4, 2), np.float32))
    return recurrent(fixed_steps(g, 5), listed(*weights), none(), zeros, none(), layer)


@hosted()
def is_nothing(state: Fact) -> bool:
    return state.splat == 0


@wrong("bitwise", lambda g: output(from_zeros(g), 0), values=(0.5, np.inf))
def zeros_are_nothing(x: Tensor, w: Tensors, h: Tensor, c: Tensor, n: Tensor, s: RecurrentLayer, k: Int):
    """RNN(x) from zeros = RNN(x)

    Wrong where a weight of the state is infinite: 0 times that is NaN.
    """
    layer, other = recurrent(x, w, n, h, c, s), recurrent(x, w, n, none(), c, s)
    yield rewrite(output(layer, k), output(other, k), is_nothing(h), because="forgets the dims of h")
