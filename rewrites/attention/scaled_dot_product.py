"""Scaled dot-product attention from its parts.

q @ w = Scores(q, w'; 1)                                   where a Softmax asks for it
Scores(q, k; s) * c = Scores(q, k; s * c)
Scores(q * c, k; s) = Scores(q, k; s * c)                  likewise k * c
Softmax(Scores(q, k; s)) @ v = Attention(q, k, v; s)
Softmax(Scores(q, k; s) + m) @ v = Attention(q, k, v, m; s)
(Scores + m) + n = Scores + (m + n)                        masks
Where(c, Scores, -inf) = Scores + Where(c, 0, -inf)        where a Softmax asks for it

`Scores` is a pseudo-operator; Attention is ONNX's from opset 23 on.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt import compat as egglog
from egraph_opt.compat import Deduction, Equal, PyObject, closure, eq, guard, holds, let, rewrite, rule, set_
from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    Literal,
    attention,
    binary,
    literal,
    masked_attention,
    matmul,
    scores,
    softmax,
    transpose,
    where,
)
from egraph_opt.operators.composites import SWAP_LAST
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.elementwise.identities import broadcasts_into

_LOWEST: dict[int, float] = {TensorProto.FLOAT: -1e30, TensorProto.DOUBLE: -1e30}
"""What is no higher takes no part in a Softmax, and swallows what is added to it."""

LAST = PyObject(3)
"""The axis of Softmax: keys."""


@egglog.function(egg_fn="attention_logits", merge=lambda old, new: old)
def asked(s: Tensor) -> PyObject:
    """True for what a Softmax over the last axis takes, and for what is masked or scaled to that."""


@hosted(default=False)
def is_logits(s: Fact) -> bool:
    return s.dtype in KERNEL_FLOATS and s.rank == 4 and not s.const


def _asking() -> Iterator[Deduction]:
    """From Softmax down, through masks and scales."""
    y, s, m, c = (egglog.var(name, Tensor) for name in "ysmc")
    logits = holds(is_logits, fact(s))
    yes = PyObject(True)
    then = set_(asked(s)).to(yes)
    yield closure(eq(y).to(softmax("Softmax", s, LAST)), logits, then=then)
    below = eq(yes).to(asked(y))
    for masked in (binary("Add", s, m), binary("Add", m, s), where(c, s, m), binary("Mul", s, c)):
        yield closure(below, eq(y).to(masked), logits, then=then)


# --- scores --------------------------------------------------------------------------------------------


@hosted(default=False)
def is_stack(q: Fact, w: Fact) -> bool:
    """Matrices of equal batches and heads."""
    if q.shape is None or w.shape is None or len(q.shape) != 4 or len(w.shape) != 4 or q.const or w.const:
        return False
    return all(symbolic.known_equal(a, b) for a, b in zip(q.shape[:2], w.shape[:2], strict=True))


def _operands(rng: np.random.Generator) -> tuple[Operands, Any, Any, Any]:
    """q, k and v of one batch of three heads."""
    g = Operands(rng)
    return g, g.input(("N", 3, "L", 4)), g.input(("N", 3, "M", 4)), g.input(("N", 3, "M", 5))


def _scores_examples(rng: np.random.Generator) -> Iterator[Example]:
    g, q, k, _ = _operands(rng)
    product = matmul(q, transpose(k, SWAP_LAST))
    mask = g.input(("L", "M"))
    yield g.fires(softmax("Softmax", product, 3))
    yield g.fires(softmax("Softmax", binary("Add", mask, binary("Mul", product, g.constant(0.5))), 3))
    yield g.near_miss(product, why="no Softmax")
    yield g.near_miss(softmax("Softmax", product, 2), why="Softmax over the queries")
    shared = matmul(q, g.input(("N", 1, 4, "M")))
    yield g.near_miss(softmax("Softmax", shared, 3), why="keys that heads share are broadcast")
    g = Operands(rng)
    three = matmul(g.input((2, 3, 4)), g.input((2, 4, 5)))
    yield g.near_miss(softmax("Softmax", three, 2), why="three axes")


@law("attention", numerics="bitwise", examples=_scores_examples)
def scores_of_product(s: Tensor, q: Tensor, w: Tensor) -> Iterator[Any]:
    """q @ w = Scores(q, w'; 1) where a Softmax over the last axis asks for it

    Source: Vaswani et al. 2017.
    """
    yield from _asking()
    wanted = guard(eq(PyObject(True)).to(asked(s)))
    whole = scores(q, transpose(w, SWAP_LAST), PyObject(1.0))
    product = eq(s).to(matmul(q, w))
    yield rule(product, wanted, holds(is_stack, fact(q), fact(w)), then=Equal(s, whole))


@hosted()
def times(s: float, c: Fact, x: Fact) -> float | None:
    """A scale multiplied with a constant of one finite value, which leaves the shape of x alone."""
    if c.splat is None or not math.isfinite(c.splat) or c.splat == 0 or not broadcasts_into(c.shape, x.shape):
        return None
    return s * float(c.splat)


def _scale_examples(rng: np.random.Generator) -> Iterator[Example]:
    g, q, k, _ = _operands(rng)
    c = g.constant([0.25])
    yield g.fires(binary("Mul", scores(q, k, 0.5), c))
    yield g.fires(scores(binary("Mul", q, c), k, 0.5))
    yield g.fires(scores(q, binary("Mul", k, c), 1.0))
    yield g.near_miss(scores(binary("Mul", q, g.random(4)), k, 1.0), why="scales of channels")
    yield g.near_miss(binary("Mul", scores(q, k, 0.5), g.input((1,))), why="a scale that is computed")


@law("attention", numerics="reassociates", examples=_scale_examples)
def scale_of_scores(q: Tensor, k: Tensor, c: Tensor, s: PyObject, t: PyObject) -> Iterator[Any]:
    """Scores(q, k; s) * c = Scores(q * c, k; s) = Scores(q, k * c; s) = Scores(q, k; s * c)

    Source: algebra.
    """
    whole = scores(q, k, t)
    given = scores(q, k, s)
    yield rewrite(binary("Mul", given, c), whole, let(t, times, s, fact(c), fact(given)))
    yield rewrite(scores(binary("Mul", q, c), k, s), whole, let(t, times, s, fact(c), fact(q)))
    yield rewrite(scores(q, binary("Mul", k, c), s), whole, let(t, times, s, fact(c), fact(k)))


# --- masks ---------------------------------------------------------------------------------------------


@hosted(default=False)
def masks_scores(m: Fact, s: Fact) -> bool:
    """Adding m leaves the scores their shape."""
    return broadcasts_into(m.shape, s.shape) and m.dtype == s.dtype


def _meeting_examples(rng: np.random.Generator) -> Iterator[Example]:
    g, q, k, _ = _operands(rng)
    m, n = g.input((3, "L", "M")), g.input(("N", 1, 1, "M"))
    yield g.fires(binary("Add", binary("Add", scores(q, k, 0.5), m), n))
    yield g.fires(binary("Add", n, binary("Add", m, scores(q, k, 0.5))))
    yield g.near_miss(binary("Add", binary("Add", q, q), q), why="no scores")


@law("attention", numerics="reassociates", examples=_meeting_examples)
def masks_meet(q: Tensor, k: Tensor, m: Tensor, n: Tensor, s: PyObject) -> Iterator[Any]:
    """(Scores + m) + n = Scores + (m + n)

    Source: algebra; T5 adds a bias of positions and a mask.
    """
    given = scores(q, k, s)
    both = holds(masks_scores, fact(m), fact(given)), holds(masks_scores, fact(n), fact(given))
    for first in (binary("Add", given, m), binary("Add", m, given)):
        for spelled in (binary("Add", first, n), binary("Add", n, first)):
            yield rewrite(spelled, binary("Add", given, binary("Add", m, n)), *both)


@hosted()
def zero_like(n: Fact) -> Literal | None:
    """Zero, if n is so low that it takes no part in a Softmax, and swallows what is added to it."""
    lowest = _LOWEST.get(n.dtype, -math.inf)
    return Literal(n.dtype, (), (0.0,)) if n.splat is not None and n.splat <= lowest else None


@hosted(default=False)
def covers(c: Fact, n: Fact, s: Fact) -> bool:
    return broadcasts_into(c.shape, s.shape) and broadcasts_into(n.shape, s.shape)


def _where_examples(rng: np.random.Generator) -> Iterator[Example]:
    g, q, k, _ = _operands(rng)
    condition = g.constant(rng.integers(0, 2, (3, 1, 1)).astype(bool))
    given = scores(q, k, 0.5)
    for low in (-math.inf, float(np.finfo(np.float32).min)):
        chosen = where(condition, given, g.constant(low))
        yield g.fires(softmax("Softmax", chosen, 3))
    finite = where(condition, given, g.constant(-1e4))
    yield g.near_miss(softmax("Softmax", finite, 3), why="scores are lost that an addition would keep")
    yield g.near_miss(where(condition, given, g.constant(-math.inf)), why="no Softmax")


@law(
    "attention", numerics="reassociates", examples=_where_examples, required=("attention.scores_of_product",)
)
def mask_of_condition(
    y: Tensor, q: Tensor, k: Tensor, c: Tensor, n: Tensor, s: PyObject, z: PyObject
) -> Iterator[Any]:
    """Where(c, Scores, n) = Scores + Where(c, 0, n), n = -infinity or the lowest number

    Source: GPT-2; a number so low swallows any score that is added.
    """
    given = scores(q, k, s)
    chosen = eq(y).to(where(c, given, n))
    masked = binary("Add", given, where(c, literal(z), n))
    wanted = eq(PyObject(True)).to(asked(y))
    fits = holds(covers, fact(c), fact(n), fact(given))
    yield rule(chosen, wanted, fits, let(z, zero_like, fact(n)), then=Equal(y, masked))


# --- attention -----------------------------------------------------------------------------------------


@hosted(default=False)
def is_values(v: Fact, q: Fact) -> bool:
    """The values have the batches and heads of the queries."""
    if v.shape is None or q.shape is None or len(v.shape) != 4 or v.const:
        return False
    return all(symbolic.known_equal(a, b) for a, b in zip(v.shape[:2], q.shape[:2], strict=True))


def _attention_examples(rng: np.random.Generator) -> Iterator[Example]:
    g, q, k, v = _operands(rng)
    for scale in (1.0, 0.5):
        given = scores(q, k, scale)
        yield g.fires(matmul(softmax("Softmax", given, 3), v))
        for shape in (("L", "M"), ("N", 1, 1, "M"), (1, 3, "L", "M")):
            mask = g.input(shape)
            yield g.fires(matmul(softmax("Softmax", binary("Add", given, mask), 3), v))
            yield g.fires(matmul(softmax("Softmax", binary("Add", mask, given), 3), v))
    yield g.near_miss(matmul(softmax("LogSoftmax", given, 3), v), why="a logarithm")
    yield g.near_miss(matmul(softmax("Softmax", given, 3), g.input(("M", 5))), why="values that heads share")
    wide = binary("Add", scores(q, k, 0.5), g.input((1, 1, 1, 1, 1)))
    yield g.near_miss(softmax("Softmax", wide, 4), why="the mask has one axis more")


@law("attention", numerics="reassociates", examples=_attention_examples)
def attend(q: Tensor, k: Tensor, v: Tensor, m: Tensor, s: PyObject) -> Iterator[Any]:
    """Softmax(Scores(q, k; s) + m) @ v = Attention(q, k, v, m; s), with and without a mask m

    Source: ONNX, Attention.
    """
    given = scores(q, k, s)
    values = holds(is_values, fact(v), fact(q))
    yield rewrite(matmul(softmax("Softmax", given, LAST), v), attention(q, k, v, s), values)
    fits = holds(masks_scores, fact(m), fact(given))
    for logits in (binary("Add", given, m), binary("Add", m, given)):
        whole = masked_attention(q, k, v, m, s)
        yield rewrite(matmul(softmax("Softmax", logits, LAST), v), whole, values, fits)
