"""Recurrent layers: initial states and lengths that are the default.

RNN(x, h) -> RNN(x)               where the initial state h is 0; of GRU, LSTM and its cell state likewise
RNN(x, lengths) -> RNN(x)                   where every sequence has all steps
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Tensor, Tensors
from egraph_opt.operators import expand, expand_to, none, output, recurrent, shape_of
from egraph_opt.operators.recurrent import GATES, RecurrentLayer
from egraph_opt.operators.terms import listed

law = laws_of("recurrent", numerics="bitwise", serves="launches")


def example_layer(g: Operands, kind: str, x: Any, *, direction: str = "forward", **operands: Any) -> Any:
    """An example: a layer of two hidden units on an input of three features."""
    directions, rows, nothing = 1 + (direction == "bidirectional"), 2 * GATES[kind], none()
    weights = (g.random(directions, rows, 3), g.random(directions, rows, 2))
    bias = operands.get("bias", g.random(directions, 2 * rows))
    rest = (operands.get(name, nothing) for name in ("lengths", "hidden", "cell"))
    settings = RecurrentLayer(kind, (("direction", direction), ("hidden_size", 2)))
    return recurrent(x, listed(*weights, bias, nothing), *rest, settings)


def fixed_steps(g: Operands, count: int) -> Any:
    """An input whose dims are fixed: onnxruntime's GRU and LSTM end the process where one of them is 0."""
    return g.input((count, 4, 3)) * g.random(count, 4, 3)


def filled(g: Operands, value: float, *dims: int) -> Any:
    """A state of one number; not a constant."""
    narrow = g.constant(np.full((1, 1, 1), value, np.float32))
    return expand_to(narrow, shape_of(g.input(dims), 0, len(dims)))


# --- what is the default --------------------------------------------------------------------------------


@hosted()
def is_nothing(state: Fact) -> bool:
    """All zeros (a fact never says -0.0)."""
    return state.splat == 0


def _states(rng: np.random.Generator) -> Iterator[Example]:
    for kind in GATES:
        g = Operands(rng)
        x = fixed_steps(g, 5)
        zeros, cells = filled(g, 0.0, 1, 4, 2), g.constant(np.zeros((1, 4, 2), np.float32))
        yield g.fires(output(example_layer(g, kind, x, hidden=zeros), 1))
        yield g.fires(output(example_layer(g, kind, x, direction="reverse", hidden=cells), 0))
        yield g.near_miss(
            output(example_layer(g, kind, x, hidden=filled(g, 0.5, 1, 4, 2)), 0), why="it is 0.5"
        )
        yield g.near_miss(
            output(example_layer(g, kind, x, hidden=g.input((1, 4, 2))), 1), why="it is not known"
        )
    g = Operands(rng)
    x, zeros = fixed_steps(g, 5), filled(g, 0.0, 2, 4, 2)
    both = example_layer(g, "LSTM", x, direction="bidirectional", hidden=zeros, cell=zeros)
    yield from (g.fires(output(both, k)) for k in range(3))
    yield g.fires(
        output(
            example_layer(g, "LSTM", x, hidden=g.input((1, 4, 2)), cell=g.constant(np.zeros((1, 4, 2)))), 2
        )
    )
    known = example_layer(g, "LSTM", x, hidden=g.input((1, 4, 2)), cell=g.input((1, 4, 2)))
    yield g.near_miss(output(known, 2), why="neither is known")


@law(
    kind="eliminate",
    numerics="finite",
    source="ONNX's default; zeros that PyTorch's exporter expands",
    examples=_states,
)
def no_initial_state(x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer):
    """RNN(x, h) = RNN(x) where the initial state h is 0; of GRU, LSTM and its cell state likewise

    But where a weight is infinite: 0 times that is NaN.
    """
    whole, because = recurrent(x, w, n, h, c, s), "forgets the dims of the state"
    yield rewrite(whole, recurrent(x, w, n, none(), c, s), is_nothing(h), because=because)
    yield rewrite(whole, recurrent(x, w, n, h, none(), s), is_nothing(c), because=because)


@hosted()
def are_all_steps(lengths: Fact, x: Fact) -> bool:
    """Whether every sequence is as long as x."""
    if x.rank != 3 or x.shape is None or lengths.rank != 1:
        return False
    steps = (lengths.splat,) if lengths.value is None else lengths.value
    return None not in steps and all(symbolic.known_equal(n, x.shape[0]) for n in steps)  # type: ignore[arg-type]


def _lengths(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, five = fixed_steps(g, 5), g.constant(np.full(4, 5, np.int32))
    for kind in GATES:
        yield g.fires(output(example_layer(g, kind, x, direction="reverse", lengths=five), 0))
        yield g.fires(
            output(example_layer(g, kind, x, lengths=expand(g.constant(np.array([5], np.int32)), (4,))), 1)
        )
    shorter = g.constant(np.array([5, 4, 5, 1], np.int32))
    yield g.near_miss(output(example_layer(g, "GRU", x, lengths=shorter), 0), why="some are shorter")
    long = g.input(("L", 4, 3))
    yield g.near_miss(output(example_layer(g, "LSTM", long, lengths=five), 0), why="x may be longer")


@law(kind="eliminate", source="ONNX's default", examples=_lengths)
def whole_sequences(x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer):
    """RNN(x, lengths) = RNN(x) where every sequence has all steps of x"""
    whole, short = recurrent(x, w, n, h, c, s), recurrent(x, w, none(), h, c, s)
    yield rewrite(whole, short, are_all_steps(n, x), because="forgets how many sequences there are")
