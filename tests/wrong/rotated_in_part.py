"""Rotary embeddings of a part of a row, or of several heads in one: it has other halves than the whole."""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Settings, Tensor, hosted, rewrite
from egraph_opt.operators.rotary import rotary, settings_of

from . import fires_on, wrong


def _has_equal_halves(c: Fact, x: Fact) -> bool:
    return c.rank == 2 and x.shape is not None and c.shape == (1, x.shape[-1]) and c.twice == "halves"


@hosted()
def goes_past(c: Fact, s: Settings, x: Fact) -> bool:
    return x.rank == 4 and not dict(s)["interleaved"] and _has_equal_halves(c, x)


def _rotated(part, c):
    def make(g):
        x = g.input((2, 2, 3, len(c))) * g.constant(np.array([c], np.float32))
        n = (part or len(c)) // 2
        return rotary(x, g.input((2, 3, n)), g.input((2, 3, n)), settings_of(0, 0, part))

    return make


@wrong(
    "reassociates",
    _rotated(2, [1.0, 2.0, 1.0, 2.0]),
    opset=23,
    examples=fires_on(
        _rotated(0, [1.0, 2.0, 1.0, 2.0]), _rotated(0, [1.0, 3.0, -1.0, 1.0, 3.0, -1.0]), opset=23
    ),
)
def factors_behind_rotation(x: Tensor, c: Tensor, p: Tensor, q: Tensor, s: Settings):
    """Rotary(x * c) = Rotary(x) * c for a c of two equal halves

    Wrong where a part of the features is rotated, which has other halves.
    """
    yield rewrite(rotary(x * c, p, q, s), rotary(x, p, q, s) * c, goes_past(c, s, x), because="order")


@hosted()
def is_rows_of_heads(c: Fact, s: Settings, x: Fact) -> bool:
    how = dict(s)
    in_all = not how["interleaved"] and not how["rotary_embedding_dim"]
    return x.rank == 3 and in_all and _has_equal_halves(c, x)


def _rows(heads, c):
    def make(g):
        size = len(c) // heads
        x = g.input((2, 3, len(c))) * g.constant(np.array([c], np.float32))
        return rotary(x, g.input((2, 3, size // 2)), g.input((2, 3, size // 2)), settings_of(0, heads, 0))

    return make


@wrong(
    "reassociates",
    _rows(2, [1.0, 2.0, 1.0, 2.0]),
    opset=23,
    examples=fires_on(_rows(1, [1.0, 2.0, 1.0, 2.0]), opset=23),
)
def factors_behind_rotated_rows(x: Tensor, c: Tensor, p: Tensor, q: Tensor, s: Settings):
    """Rotary(x * c) = Rotary(x) * c for a c of two equal halves, of rows

    Wrong of several heads in a row: each has halves of its own.
    """
    yield rewrite(rotary(x * c, p, q, s), rotary(x, p, q, s) * c, is_rows_of_heads(c, s, x), because="order")
