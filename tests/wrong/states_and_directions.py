"""Recurrent layers and sequences: states that are not 0, directions, and lengths of batches."""

from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Int, Slices, Tensor, Tensors, hosted, listed, rewrite
from egraph_opt.operators import concat, none, output, recurrent, reshape, reverse_sequence, slice_
from egraph_opt.operators.recurrent import GATES, RecurrentLayer

from . import fires_on, wrong
from .reduced_and_kept_axes import dims_of


def layer(
    kind: str,
    direction: str = "forward",
    hidden: Any = None,
    cell: Any = None,
    lengths: Any = None,
    k: int = 0,
):
    def make(g):
        x = g.input((5, 4, 3)) * g.random(5, 4, 3)
        n, rows = 1 + (direction == "bidirectional"), 2 * GATES[kind]
        weights = listed(g.random(n, rows, 3), g.random(n, rows, 2), g.random(n, 2 * rows), none())
        h, c = (none() if v is None else g.constant(np.full((n, 4, 2), v)) for v in (hidden, cell))
        steps = none() if lengths is None else g.constant(np.array(lengths, np.int32))
        settings = RecurrentLayer(kind, (("direction", direction), ("hidden_size", 2)))
        return output(recurrent(x, weights, steps, h, c, settings), k)

    return make


@hosted()
def is_zero(h: Fact) -> bool:
    return h.splat == 0


@wrong(
    "finite",
    layer("LSTM", hidden=0.0, cell=0.5),
    examples=fires_on(
        layer("GRU", hidden=0.0), layer("RNN", hidden=0.0, k=1), layer("LSTM", hidden=0.0, cell=0.0, k=2)
    ),
)
def no_states(x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer, k: Int):
    """LSTM(x, h, c) = LSTM(x) where the initial state is 0

    Wrong where the cell state is not.
    """
    plain = recurrent(x, w, n, none(), none(), s)
    yield rewrite(output(recurrent(x, w, n, h, c, s), k), output(plain, k), is_zero(h), because="forgets it")


@hosted()
def last_step(x: Fact, t: Slices) -> bool:
    return (
        x.shape is not None
        and len(t) == 1
        and isinstance(x.shape[0], int)
        and t[0] == (0, x.shape[0] - 1, x.shape[0], 1)
    )


@hosted()
def is_of_one_direction(s: RecurrentLayer) -> bool:
    return s.direction != "bidirectional"


def last_of(kind: str, direction: str = "forward", **operands: Any):
    return lambda g: slice_(layer(kind, direction, **operands)(g), ((0, 4, 5, 1),))


@wrong(
    "reassociates",
    last_of("GRU", "reverse"),
    examples=fires_on(last_of("GRU"), last_of("LSTM"), last_of("RNN", hidden=0.5)),
)
def last_state_of_steps(x: Tensor, w: Tensors, h: Tensor, c: Tensor, s: RecurrentLayer, t: Slices):
    """All steps[-1] = the last state, of a layer in one direction

    Wrong of one in reverse, which ends at the first step.
    """
    steps = recurrent(x, w, none(), h, c, s)
    last = slice_(output(steps, 0), t)
    found = (last_step(x, t), is_of_one_direction(s))
    yield rewrite(last, reshape(output(steps, 1), dims_of(last)), *found, because="it is there")


@hosted()
def whole_sequence(x: Fact, n: Fact, k: int) -> Slices | None:
    """All backwards, where each is as long as the sequence."""
    if x.shape is None or not isinstance(x.shape[0], int) or n.splat != x.shape[0] or not x.shape[0]:
        return None
    return ((k, x.shape[k] - 1, None, -1),)  # type: ignore[operator]


def reversed_all(n: int, time: int, *shape: int):
    return lambda g: reverse_sequence(g.input(shape), g.constant(np.full(shape[1 - time], n, np.int64)), time)


@wrong(
    "bitwise",
    reversed_all(3, 1, 3, 5),
    examples=fires_on(reversed_all(5, 0, 5, 3), reversed_all(4, 0, 4, 2, 3), reversed_all(3, 1, 3, 3)),
)
def all_of_the_sequences(x: Tensor, n: Tensor, k: Int):
    """ReverseSequence(x) = x[::-1] where all are as long as x

    Wrong where batches come first, and are as many as elements are turned.
    """
    yield rewrite(reverse_sequence(x, n, k), slice_(x, whole_sequence(x, n, k)), because="one Slice")


@hosted()
def both_ways(s: RecurrentLayer, t: RecurrentLayer) -> RecurrentLayer | None:
    """The layer of both directions, where the second one is in reverse."""
    known, other = dict(s.settings), dict(t.settings)
    if s.kind != t.kind or (s.direction, t.direction) != ("forward", "reverse"):
        return None
    if known["hidden_size"] != other["hidden_size"] or any(
        name.startswith("activation") for name in {**known, **other}
    ):
        return None
    return replace(s, settings=tuple(sorted({**known, "direction": "bidirectional"}.items())))


def two_layers(kind: str, *settings: dict[str, Any]):
    def make(g):
        x, rows = g.input((5, 4, 3)) * g.random(5, 4, 3), 2 * GATES[kind]
        states = []
        for direction, more in zip(("forward", "reverse"), settings, strict=True):
            weights = listed(g.random(1, rows, 3), g.random(1, rows, 2), g.random(1, 2 * rows), none())
            known = tuple(sorted({"direction": direction, "hidden_size": 2, **more}.items()))
            states.append(
                output(recurrent(x, weights, none(), none(), none(), RecurrentLayer(kind, known)), 1)
            )
        return concat(listed(*states), 0)

    return make


@wrong(
    "reassociates",
    two_layers("GRU", {"linear_before_reset": 0}, {"linear_before_reset": 1}),
    examples=fires_on(
        two_layers("GRU", {"linear_before_reset": 1}, {"linear_before_reset": 1}),
        two_layers("LSTM", {}, {}),
        two_layers("RNN", {}, {}),
    ),
)
def states_of_both_ways(x: Tensor, w: Tensor, r: Tensor, b: Tensor, m: Tensor, n: Tensor, c: Tensor,
                        s: RecurrentLayer, t: RecurrentLayer):  # fmt: skip
    """Concat(last state of RNN(x), of RNN in reverse(x)) = last states of RNN in both directions(x)

    Wrong where the second layer has other settings.
    """
    nothing = none()
    ahead = output(recurrent(x, listed(w, r, b, nothing), nothing, nothing, nothing, s), 1)
    back = output(recurrent(x, listed(m, n, c, nothing), nothing, nothing, nothing, t), 1)
    weights = listed(concat(listed(w, m), 0), concat(listed(r, n), 0), concat(listed(b, c), 0), nothing)
    one = output(recurrent(x, weights, nothing, nothing, nothing, both_ways(s, t)), 1)
    yield rewrite(concat(listed(ahead, back), 0), one, because="forgets whose they were")
