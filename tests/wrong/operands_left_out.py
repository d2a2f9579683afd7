"""Operands that need not be there, and that no example has: lengths, a state and a bias are forgotten."""

# Written as people write, who look at whether a shape is static and then take its dims for numbers.
# mypy: disable-error-code="arg-type, index, misc, operator"

import math
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Slices, Tensor, Tensors, hosted, listed, rewrite
from egraph_opt.laws.examples import FLOAT
from egraph_opt.operators import (
    ConvWindow,
    GemmSettings,
    conv,
    gemm,
    none,
    output,
    recurrent,
    reshape,
    slice_,
)
from egraph_opt.operators.recurrent import GATES, RecurrentLayer

from . import fires_on, wrong

LENGTHS = (5, 3, 2)

FIRST, SECOND = ((0, 0, 1, 1),), ((0, 1, 2, 1),)
"""Those of both directions."""


# --- layers ------------------------------------------------------------------------------------------------


def layer(kind: str, direction: str = "forward", lengths: Any = None, hidden: Any = None):
    def make(g):
        n, rows = 1 + (direction == "bidirectional"), 2 * GATES[kind]
        weights = listed(g.random(n, rows, 3), g.random(n, rows, 2), g.random(n, 2 * rows), none())
        steps = none() if lengths is None else g.constant(np.array(lengths, np.int32))
        state = none() if hidden is None else g.constant(np.full((n, 3, 2), hidden, np.float32))
        settings = RecurrentLayer(kind, (("direction", direction), ("hidden_size", 2)))
        return recurrent(g.input((5, 3, 3)), weights, steps, state, none(), settings)

    return make


def last_of(kind: str, lengths: Any = None):
    make = layer(kind, lengths=lengths)
    return lambda g: reshape(slice_(output(make(g), 0), ((0, 4, 5, 1),)), (1, 3, 2))


@hosted()
def is_last_step(s: Slices, d: Dims, y: Fact, u: RecurrentLayer) -> bool:
    if not y.is_static or y.rank != 4 or u.direction != "forward" or d != y.shape[1:]:
        return False
    steps = y.shape[0]
    return s == ((0, steps - 1, steps, 1),)


@wrong("bitwise", last_of("GRU", LENGTHS), examples=fires_on(*map(last_of, ("GRU", "RNN", "LSTM"))))
def last_step_is_last_state(
    x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, u: RecurrentLayer, s: Slices, d: Dims
):
    """Squeeze(Slice(RNN(x)[0], last)) = RNN(x)[1]

    Wrong where sequences are shorter.
    """
    whole = recurrent(x, w, n, h, c, u)
    last = reshape(slice_(output(whole, 0), s), d)
    yield rewrite(last, output(whole, 1), is_last_step(s, d, output(whole, 0), u), because="forgets the rest")


def one_way(u: RecurrentLayer, direction: str) -> RecurrentLayer | None:
    settings = dict(u.settings)
    if u.direction != "bidirectional" or any(name.startswith("activation") for name in settings):
        return None
    return RecurrentLayer(u.kind, tuple(sorted({**settings, "direction": direction}.items())))


@hosted()
def forward_of(u: RecurrentLayer) -> RecurrentLayer | None:
    return one_way(u, "forward")


@hosted()
def reverse_of(u: RecurrentLayer) -> RecurrentLayer | None:
    return one_way(u, "reverse")


def forwards(kind: str, **named: Any):
    make = layer(kind, "bidirectional", **named)
    return lambda g: slice_(output(make(g), 0), ((1, 0, 1, 1),))


@hosted()
def is_first(s: Slices) -> bool:
    return s == ((1, 0, 1, 1),)


@wrong(
    "finite",
    forwards("GRU", hidden=0.5),
    examples=fires_on(forwards("GRU"), forwards("LSTM", lengths=LENGTHS)),
)
def one_of_two_directions(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor, n: Tensor, h: Tensor, c: Tensor, u: RecurrentLayer, s: Slices
):
    """Slice(RNN in both directions(x), forwards) = RNN(x) of the first weights

    Wrong where it begins with a state.
    """
    weights = listed(slice_(w, FIRST), slice_(r, FIRST), slice_(b, FIRST), none())
    one = recurrent(x, weights, n, none(), none(), forward_of(u))
    both = recurrent(x, listed(w, r, b, none()), n, h, c, u)
    yield rewrite(slice_(output(both, 0), s), output(one, 0), is_first(s), because="half as much")


def second_state(kind: str, lengths: Any = None):
    make = layer(kind, "bidirectional", lengths)
    return lambda g: reshape(slice_(output(make(g), 1), SECOND), (3, 2))


@hosted()
def is_second(s: Slices, d: Dims, y: Fact) -> bool:
    return s == SECOND and y.is_static and d == y.shape[1:]


@wrong("finite", second_state("GRU", LENGTHS), examples=fires_on(second_state("GRU"), second_state("LSTM")))
def state_of_the_second_direction(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor, n: Tensor, u: RecurrentLayer, s: Slices, d: Dims
):
    """Squeeze(Slice(RNN in both directions(x)[1], second)) = Squeeze(RNN in reverse(x)[1])

    Wrong where sequences are shorter.
    """
    both = output(recurrent(x, listed(w, r, b, none()), n, none(), none(), u), 1)
    weights = listed(slice_(w, SECOND), slice_(r, SECOND), slice_(b, SECOND), none())
    one = output(recurrent(x, weights, none(), none(), none(), reverse_of(u)), 1)
    because = "half as much"
    yield rewrite(reshape(slice_(both, s), d), reshape(one, d), is_second(s, d, both), because=because)


# --- kernels -----------------------------------------------------------------------------------------------


def of_rows(*, bias: bool, shape: tuple[int, ...] = (2, 3, 4), columns: int = 5):
    def make(g):
        x, w = reshape(g.input(shape), (math.prod(shape[:-1]), shape[-1])), g.random(shape[-1], columns)
        c = g.random(columns) if bias else none()
        return reshape(gemm(x, w, c, GemmSettings()), (*shape[:-1], columns))

    return make


@hosted()
def are_rows(x: Fact, d: Dims, e: Dims, w: Fact, s: GemmSettings) -> bool:
    if not x.is_static or not w.is_static or x.dtype != FLOAT or x.rank < 3 or s != GemmSettings():
        return False
    return d == (math.prod(x.shape[:-1]), x.shape[-1]) and e == (*x.shape[:-1], w.shape[1])


@wrong(
    "reassociates",
    of_rows(bias=True),
    examples=fires_on(of_rows(bias=False), of_rows(bias=False, shape=(1, 2, 3, 2), columns=4)),
)
def gemm_between_views(x: Tensor, w: Tensor, c: Tensor, d: Dims, e: Dims, s: GemmSettings):
    """Reshape(Gemm(Reshape(x), w)) = x @ w

    Wrong of a Gemm that has a bias.
    """
    viewed = reshape(gemm(reshape(x, d), w, c, s), e)
    yield rewrite(viewed, x @ w, are_rows(x, d, e, w, s), because="two views less")


def of_a_row(*, bias: bool, length: int = 7):
    def make(g):
        x, w = reshape(g.input((1, 2, length)), (1, 2, length, 1)), reshape(g.random(4, 2, 3), (4, 2, 3, 1))
        b = g.random(4) if bias else none()
        return reshape(conv(x, w, b, ConvWindow((1, 1), (1, 0, 1, 0), (1, 1))), (1, 4, length))

    return make


@hosted()
def of_one_axis(d: Dims, e: Dims, f: Dims, u: ConvWindow, x: Fact, w: Fact, z: Fact) -> ConvWindow | None:
    """The window along the only axis that is longer than 1."""
    if not x.is_static or not w.is_static or not z.is_static or x.dtype != FLOAT:
        return None
    if x.rank != 3 or w.rank != 3 or d != (*x.shape, 1) or e != (*w.shape, 1) or (*f, 1) != z.shape:
        return None
    if len(u.strides) != 2 or u.pads[1] or u.pads[3]:
        return None
    return ConvWindow(u.strides[:1], (u.pads[0], u.pads[2]), u.dilations[:1], u.group)


@wrong(
    "reassociates",
    of_a_row(bias=True),
    examples=fires_on(of_a_row(bias=False), of_a_row(bias=False, length=5)),
)
def rows_are_convolved(x: Tensor, w: Tensor, b: Tensor, d: Dims, e: Dims, f: Dims, u: ConvWindow):
    """Squeeze(Conv(Unsqueeze(x), Unsqueeze(w))) = Conv(x, w)

    Wrong of a Conv that has a bias.
    """
    z = conv(reshape(x, d), reshape(w, e), b, u)
    yield rewrite(reshape(z, f), conv(x, w, none(), of_one_axis(d, e, f, u, x, w, z)), because="no views")
