"""Views of recurrent layers that run one way, whose conditions say nothing of those that run both ways."""

import math
from typing import Any

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import Dims, Permutation, Slices, Tensor, Tensors, hosted, rewrite
from egraph_opt.operators import none, output, recurrent, reduce, reshape, slice_, transpose
from egraph_opt.operators.recurrent import RecurrentLayer

from . import fires_on, wrong
from .reduced_and_kept_axes import dims_of
from .states_and_directions import layer

LAST = ((0, 4, 5, 1),)
"""The last step of five."""


@hosted()
def turned_cuts(p: Permutation, t: Slices) -> Slices | None:
    """What is cut in front of the exchange of directions and sequences."""
    return tuple(sorted((p[a], *r) for a, *r in t)) if p == (0, 2, 1, 3) else None  # type: ignore[misc]


def first_of(kind: str, direction: str, dims: tuple[int, ...]):
    whole = layer(kind, direction)
    return lambda g: reshape(slice_(transpose(whole(g), (0, 2, 1, 3)), ((3, 0, 1, 1),)), dims)


@wrong(
    "bitwise",
    first_of("GRU", "bidirectional", (5, 4, 2)),
    examples=fires_on(first_of("GRU", "reverse", (5, 4, 1))),
)
def first_states(
    x: Tensor, w: Tensors, h: Tensor, c: Tensor, s: RecurrentLayer, p: Permutation, t: Slices, d: Dims
):
    """Reshape(Slice(Transpose(y))) = Reshape(Slice(y)) where the axes that move are of one element

    Wrong with two directions.
    """
    y = output(recurrent(x, w, none(), h, c, s), 0)
    yield rewrite(
        reshape(slice_(transpose(y, p), t), d), reshape(slice_(y, turned_cuts(p, t)), d), because="ones"
    )


@hosted()
def last_of_them(t: Slices, y: Fact, d: Dims, s: RecurrentLayer) -> Dims | None:
    """Forwards the last step is the state."""
    shape: Any = y.shape
    if not y.is_static or s.direction == "reverse" or 0 in shape or len(d) != 3:
        return None
    fits = d[0] == shape[0] and math.prod(d) == math.prod(shape) and t == ((0, d[0] - 1, d[0], 1),)  # type: ignore[arg-type,operator]
    return (1, *d[1:]) if fits else None


def last_of(kind: str, direction: str = "forward"):
    dims = (5, 8 if direction == "bidirectional" else 4, 2)
    return lambda g: slice_(reshape(layer(kind, direction)(g), dims), LAST)


@wrong("bitwise", last_of("GRU", "bidirectional"), examples=fires_on(last_of("GRU"), last_of("LSTM")))
def last_of_view(x: Tensor, w: Tensors, h: Tensor, c: Tensor, s: RecurrentLayer, d: Dims, t: Slices):
    """the last step of a view of all steps = a view of the last state, forwards

    Wrong of both directions.
    """
    y = recurrent(x, w, none(), h, c, s)
    view = last_of_them(t, output(y, 0), d, s)
    yield rewrite(slice_(reshape(output(y, 0), d), t), reshape(output(y, 1), view), because="one step")


@hosted()
def dims_of_rows(t: Slices, y: Fact, p: Permutation, d: Dims, s: RecurrentLayer) -> Dims | None:
    """Sequences first, then steps, of which the last one is taken."""
    if not y.is_static or 0 in y.shape or p != (2, 0, 1, 3) or s.direction == "reverse":  # type: ignore[operator]
        return None
    steps, ways, sequences, units = y.shape  # type: ignore[misc]
    rows = (sequences, 1, ways * units)  # type: ignore[operator]
    fits = d == (sequences, steps, rows[2]) and t == ((1, steps - 1, steps, 1),)  # type: ignore[operator]
    return rows if fits else None


def last_row(kind: str, direction: str = "forward"):
    dims, cut = (4, 5, 4 if direction == "bidirectional" else 2), ((1, 4, 5, 1),)
    return lambda g: slice_(reshape(transpose(layer(kind, direction)(g), (2, 0, 1, 3)), dims), cut)


@wrong("bitwise", last_row("GRU", "bidirectional"), examples=fires_on(last_row("GRU"), last_row("LSTM")))
def last_of_rows(
    x: Tensor, w: Tensors, h: Tensor, c: Tensor, s: RecurrentLayer, p: Permutation, d: Dims, t: Slices
):
    """the last step of rows [B, S, D H] = the last state as rows

    Wrong of both directions.
    """
    y = recurrent(x, w, none(), h, c, s)
    state = reshape(transpose(output(y, 1), (1, 0, 2)), dims_of_rows(t, output(y, 0), p, d, s))
    yield rewrite(slice_(reshape(transpose(output(y, 0), p), d), t), state, because="one step")


@hosted()
def has_no_ways(y: Fact, d: Dims) -> bool:
    """A view without the axis of directions."""
    shape: Any = y.shape
    if not y.is_static or 0 in shape or len(d) != 3:
        return False
    return (d[0], d[-1]) == (shape[0], shape[-1]) and math.prod(d) == math.prod(shape)  # type: ignore[arg-type]


@hosted()
def ends_with(n: Fact, s: RecurrentLayer, t: Slices, y: Fact) -> bool:
    """The first step in reverse, else the last one."""
    if n != ABSENT or not y.is_static:
        return False
    steps: Any = y.shape[0]  # type: ignore[index]
    return t == (((0, 0, 1, 1),) if s.direction == "reverse" else ((0, steps - 1, steps, 1),))


def end_of(kind: str, direction: str = "forward"):
    dims = (5, 8 if direction == "bidirectional" else 4, 2)
    cut = ((0, 0, 1, 1),) if direction == "reverse" else LAST
    return lambda g: reduce("ReduceMax", slice_(reshape(layer(kind, direction)(g), dims), cut), (0,), 0)


@wrong("bitwise", end_of("GRU", "bidirectional"), examples=fires_on(end_of("GRU"), end_of("LSTM", "reverse")))
def end_of_either_way(
    x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer, d: Dims, t: Slices
):
    """the step that a layer ends with = its last state, forwards the last one, in reverse the first one

    Wrong of both directions.
    """
    y = recurrent(x, w, n, h, c, s)
    z = reduce("ReduceMax", slice_(reshape(output(y, 0), d), t), (0,), 0)
    yield rewrite(
        z,
        reshape(output(y, 1), dims_of(z)),
        has_no_ways(output(y, 0), d),
        ends_with(n, s, t, output(y, 0)),
        because="one step",
    )
