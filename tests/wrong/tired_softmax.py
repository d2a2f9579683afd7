"""Softmax and attention: axes, masks and sizes that are forgotten."""

from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axis,
    Flag,
    Float,
    Slices,
    Tensor,
    approximate,
    hosted,
    listed,
    log,
    number_like,
    rewrite,
    sigmoid,
)
from egraph_opt.laws.examples import FLOAT
from egraph_opt.operators import attention, concat, masked_attention, slice_, softmax, where

from . import fires_on, of_one, wrong

# --- softmax ---------------------------------------------------------------------------------------------


@hosted()
def takes_first_of_two(x: Fact, y: Fact, a: Axis, t: Slices) -> bool:
    """Two of one shape, of which the first one is taken."""
    return x.is_static and x.shape == y.shape and len(t) == 1 and t[0] == (a, 0, 1, 1)


def two_classes(shape: tuple[int, ...], a: int):
    def make(g):
        return slice_(
            softmax("Softmax", concat(listed(g.input(shape), g.input(shape)), a), a), ((a, 0, 1, 1),)
        )

    return make


@wrong(
    "reassociates", two_classes((2, 2), 1), examples=fires_on(two_classes((2, 1), 1), two_classes((1, 3), 0))
)
def first_of_two_as_sigmoid(x: Tensor, y: Tensor, a: Axis, t: Slices):
    """Softmax_a(Concat_a(x, y))[:1] = Sigmoid(x - y)

    Wrong where x and y have more than one element along a, which are classes all of them.
    """
    both = softmax("Softmax", concat(listed(x, y), a), a)
    yield rewrite(slice_(both, t), sigmoid(x - y), takes_first_of_two(x, y, a, t), because="one of two")


@hosted()
def two_in_a_row(x: Fact, a: Axis) -> Axis | None:
    """The last axis has two elements."""
    return x.rank - 1 if x.rank and x.shape is not None and x.shape[-1] == 2 and x.shape[a] == 2 else None


@hosted()
def one_of_both(a: Axis, k: int) -> Slices:
    return ((a, k, k + 1, 1),)


@wrong(
    "reassociates",
    of_one(lambda x: softmax("Softmax", x, 0), (2, 2)),
    examples=fires_on(
        of_one(lambda x: softmax("Softmax", x, 1), (3, 2)), of_one(lambda x: softmax("Softmax", x, 0), (2,))
    ),
)
def softmax_of_two(x: Tensor, a: Axis):
    """Softmax(x) = Concat(Sigmoid(x[0] - x[1]), Sigmoid(x[1] - x[0])) of two elements in the last axis

    Wrong where they are along another axis, which has two as well.
    """
    last = two_in_a_row(x, a)
    one, other = slice_(x, one_of_both(last, 0)), slice_(x, one_of_both(last, 1))
    yield rewrite(
        softmax("Softmax", x, a),
        concat(listed(sigmoid(one - other), sigmoid(other - one)), last),
        because="two functions",
    )


@hosted()
def is_mask_value(y: Fact, x: Fact) -> bool:
    return isinstance(y.splat, float) and y.splat <= -1e4 and y.shape == () and x.dtype == FLOAT


def masked_rows(mask: Any):
    def make(g):
        c = g.constant(np.array(mask, bool))
        return softmax("Softmax", where(c, g.input((2, 3)), g.constant(-1e4)), 1)

    return make


@wrong(
    approximate(1e-2),
    masked_rows([[0, 0, 0], [1, 0, 1]]),
    examples=fires_on(masked_rows([[1, 1, 0], [1, 0, 1]]), masked_rows([[1, 1, 1], [0, 0, 1]])),
)
def mask_as_summand(x: Tensor, c: Tensor, y: Tensor, a: Axis):
    """Softmax(Where(c, x, y)) = Softmax(x + Where(c, 0, y)) for a y of -10000 and less

    Wrong of rows that are masked throughout, whose weights are all the same on the left.
    """
    yield rewrite(
        softmax("Softmax", where(c, x, y), a),
        softmax("Softmax", x + where(c, number_like(x, 0.0), y), a),
        is_mask_value(y, x),
        because="sums are fused",
    )


@hosted()
def is_small(c: Fact) -> bool:
    return isinstance(c.splat, float) and 0 < c.splat <= 1e-6 and c.shape == ()


def safe_log(*shape: int):
    return lambda g: log(softmax("Softmax", g.input(shape), 1) + g.constant(1e-8))


@wrong(approximate(1e-2), safe_log(2, 3), values=(0.0, -60.0, 40.0), examples=fires_on(safe_log(2, 3)))
def log_of_safe_softmax(x: Tensor, a: Axis, c: Tensor):
    """Log(Softmax(x) + c) = LogSoftmax(x) for a c of 1e-6 and less

    Wrong of weights that are smaller than c.
    """
    yield rewrite(
        log(softmax("Softmax", x, a) + c), softmax("LogSoftmax", x, a), is_small(c), because="forgets c"
    )


# --- attention -------------------------------------------------------------------------------------------


@hosted()
def is_one_key(k: Fact, v: Fact) -> bool:
    return k.rank == 4 and v.rank == 4 and k.shape is not None and k.shape[2] == 1


def of_one_key(queries: int):
    return lambda g: attention(
        g.input((1, 2, queries, 4)), g.input((1, 2, 1, 4)), g.input((1, 2, 1, 4)), 0.5, 0
    )


@wrong("reassociates", of_one_key(3), opset=23, examples=fires_on(of_one_key(1), opset=23))
def attention_of_one_key(q: Tensor, k: Tensor, v: Tensor, s: Float, w: Flag):
    """Attention(q, k, v) = v of one key, whose weight is 1

    Wrong of several queries, each of which has that row.
    """
    yield rewrite(attention(q, k, v, s, w), v, is_one_key(k, v), because="forgets q")


@hosted()
def is_level(m: Fact, q: Fact) -> bool:
    """A mask of one number, which changes no weight."""
    return isinstance(m.splat, float) and m.is_static and m.rank is not None and m.rank <= 4 and q.rank == 4


def level_mask(number: float):
    def make(g):
        q, k, v = (g.input((1, 2, 3, 4)) for _ in range(3))
        return masked_attention(q, k, v, g.constant(np.full((3, 3), number, np.float32)), 0.5, 0)

    return make


@wrong(
    "reassociates",
    level_mask(-1e10),
    opset=23,
    examples=fires_on(level_mask(0.0), level_mask(-2.5), opset=23),
)
def mask_of_one_number(q: Tensor, k: Tensor, v: Tensor, m: Tensor, s: Float, w: Flag):
    """Attention(q, k, v, m) = Attention(q, k, v) for a mask of one number throughout

    Wrong of a large number, in which the scores are lost.
    """
    yield rewrite(
        masked_attention(q, k, v, m, s, w), attention(q, k, v, s, w), is_level(m, q), because="no mask"
    )
