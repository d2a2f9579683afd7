"""Scaled dot-product attention from its parts.

q @ w = Scores(q, w'; 1)                                   where there is demand by a Softmax
Scores(q, k; s) * c -> Scores(q, k; s * c)
Scores(q * c, k; s) -> Scores(q, k; s * c)                 likewise k * c
Softmax(Scores(q, k; s)) @ v = Attention(q, k, v; s)
Softmax(Scores(q, k; s) + m) @ v = Attention(q, k, v, m; s)
                                                           Softmax: in float16 also computed in float32
(Scores + m) + n = Scores + (m + n)                        masks
Where(c, Scores, -inf) = Scores + Where(c, 0, -inf)        where there is demand by a Softmax

`Scores` is a pseudo-operator; Attention is ONNX's from opset 23 on.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.facts.numbers import as_float, is_finite
from egraph_opt.laws import (
    Example,
    Operands,
    auxiliary,
    eq,
    equal,
    guard,
    hosted,
    kernel,
    laws_of,
    rewrite,
    rule,
    shorthand,
    table,
)
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Dims, Flag, Float, Int, Tensor, Unit
from egraph_opt.operators import Literal, cast, literal, softmax, transpose, where
from egraph_opt.operators.composites import SWAP_LAST, attention, masked_attention, scores
from egraph_opt.rewrites.conditions.channels import LARGEST
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import all_are, any_varies, broadcasts_into, fits
from egraph_opt.rewrites.conditions.view_shapes import same_dims

law = laws_of("attention", numerics="reassociates")

HALF, SINGLE = TensorProto.FLOAT16, TensorProto.FLOAT

_LOWEST: dict[int, float] = {TensorProto.FLOAT: -1e30, TensorProto.DOUBLE: -1e30}
"""What is no higher takes no part in a Softmax, and swallows what is added to it."""

LAST = 3
"""The axis of Softmax: keys."""


# --- weights -------------------------------------------------------------------------------------------


@shorthand
def weights(s: Tensor, axis: Axis, wide: Flag) -> Tensor:
    """Softmax(s); where `wide` is 1, of float16 and computed in float32."""


@auxiliary()
def softmaxes(s: Tensor, a: Axis):
    """Says what `weights` is."""
    yield equal(softmax("Softmax", s, a), weights(s, a, 0))
    wide = cast(softmax("Softmax", cast(s, SINGLE), a), HALF)
    yield equal(wide, weights(s, a, 1), is_half(s))


@hosted()
def is_half(s: Fact) -> bool:
    return s.dtype == HALF


@table()
def demanded(s: Tensor) -> Unit:
    """What a Softmax over the last axis takes, and what is masked or scaled to that."""


@hosted()
def is_logits(s: Fact) -> bool:
    return s.dtype in KERNEL_FLOATS and s.rank == 4 and not s.const


@auxiliary(either_side, softmaxes)
def demand(y: Tensor, s: Tensor, m: Tensor, c: Tensor, i: Int, w: Flag):
    """Fills `demanded`, from Softmax down, through masks and scales."""
    yield rule(eq(y, weights(s, LAST, w)), is_logits(s), then=demanded(s))
    for masked in (beside("Add", s, m, i), where(c, s, m), where(c, m, s), s * c):
        yield rule(demanded(y), eq(y, masked), is_logits(s), then=demanded(s))


# --- scores --------------------------------------------------------------------------------------------


def have_heads_of(v: Fact, q: Fact) -> bool:
    """Matrices of equal batches, and as many heads or one, which is that of all."""
    if v.shape is None or q.shape is None or not v.rank == q.rank == 4:
        return False
    return same_dims(v.shape[:1], q.shape[:1]) and (v.shape[1] == 1 or same_dims(v.shape[1:2], q.shape[1:2]))


@hosted()
def is_stack(q: Fact, w: Fact) -> bool:
    """Matrices of equal batches, and of one head or as many, computed at run time."""
    return have_heads_of(w, q) and not q.const and not w.const


@law(numerics="bitwise", kind="composite", source="Vaswani et al. 2017", uses=(demand,))
def scores_of_product(q: Tensor, w: Tensor):
    """q @ w = Scores(q, w'; 1) where a Softmax over the last axis takes it"""
    product, whole = q @ w, scores(q, transpose(w, SWAP_LAST), 1.0)
    yield rewrite(product, whole, guard(demanded(product)), is_stack(q, w), inverse="scores_of_product")
    yield rewrite(whole, product, inverse="scores_of_product")


@hosted()
def times(s: Float, c: Fact, x: Fact) -> Float | None:
    """A scale multiplied with a constant of one finite value, which leaves the shape of x alone.

    None where it overflows, or x is a constant: c times that may overflow where c times s does not.
    """
    if c.splat is None or not is_finite(c.splat) or c.splat == 0 or not broadcasts_into(c.shape, x.shape):
        return None
    if x.const or x.dtype not in KERNEL_FLOATS:
        return None
    scale = s * as_float(c.splat)
    return scale if abs(scale) <= LARGEST[x.dtype] else None


@law(kind="fuse", serves="arithmetic")
def scale_of_scores(q: Tensor, k: Tensor, c: Tensor, s: Float):
    """Scores(q, k; s) * c = Scores(q * c, k; s) = Scores(q, k * c; s) = Scores(q, k; s * c)

    What is 0 or infinite is so times any number, and would have every scale.
    """
    given, why = scores(q, k, s), "a scale is a product in endless ways"
    for scaled, whole in ((given, given * c), (q, scores(q * c, k, s)), (k, scores(q, k * c, s))):
        yield rewrite(whole, scores(q, k, times(s, c, scaled)), guard(varies(scaled)), because=why)


# --- masks ---------------------------------------------------------------------------------------------


@hosted()
def masks_scores(m: Fact, q: Fact, k: Fact) -> bool:
    """Adding m leaves the scores of q and k their shape."""
    if q.shape is None or k.shape is None or not q.rank == k.rank == 4:
        return False
    return broadcasts_into(m.shape, (*q.shape[:3], k.shape[2])) and m.dtype == q.dtype


def _large_masks(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    q, k = (g.input((2, 2, 4, 4), HALF) for _ in range(2))
    mask = g.constant(np.full((4, 4), 4e4, np.float16))
    yield g.near_miss(scores(q, k, 1e4) + mask + mask, why="the sum of the masks overflows")


@law(
    kind="merge",
    source="algebra; T5 adds a bias of positions and a mask",
    uses=(either_side,),
    examples=_large_masks,
)
def masks_meet(q: Tensor, k: Tensor, m: Tensor, n: Tensor, s: Float, i: Int, j: Int):
    """(Scores + m) + n = Scores + (m + n)"""
    given = scores(q, k, s)
    both = (any_varies(m, n), *guard(masks_scores(m, q, k), masks_scores(n, q, k)))
    apart, together = beside("Add", beside("Add", given, m, i), n, j), given + (m + n)
    yield rewrite(apart, together, *both, inverse="masks_meet")
    yield rewrite(together, given + m + n, *both, inverse="masks_meet")


@hosted()
def zero_like(n: Fact) -> Literal | None:
    """Zero, if n is so low that it takes no part in a Softmax, and swallows what is added to it."""
    lowest = _LOWEST.get(n.dtype, -math.inf)
    return Literal(n.dtype, (), (0.0,)) if n.splat is not None and n.splat <= lowest else None


def _where_examples(rng):
    g = Operands(rng)
    q, k = g.input(("N", 3, "L", 4)), g.input(("N", 3, "M", 4))
    condition = g.constant(np.array([[[True]], [[False]], [[True]]]))
    given = scores(q, k, 0.5)
    for lowest in (-math.inf, float(np.finfo(np.float32).min)):
        zero, low = g.constant(0.0), g.constant(lowest)
        yield g.fires(softmax("Softmax", where(condition, given, low), 3))
        yield g.fires(softmax("Softmax", where(condition, low, given), 3))
        yield g.fires(softmax("Softmax", given + where(condition, zero, low), 3))
    finite = where(condition, given, g.constant(-1e4))
    yield g.near_miss(softmax("Softmax", finite, 3), why="scores are lost that an addition would keep")
    yield g.near_miss(where(condition, given, low), why="no Softmax")
    always, never = (g.constant(np.full((3, 1, 1), kept)) for kept in (True, False))
    one = g.constant(1.0)
    for mask in (where(always, one, low), where(never, low, one)):
        yield g.near_miss(softmax("Softmax", given + mask, 3), why="scores that are kept are raised")
    single = scores(g.input((1, 3, "L", 4)), g.input((1, 3, "M", 4)), 0.5)
    zeros = g.constant(np.zeros((2, 1, 1, 1), np.float32))
    for mask in (where(always, zeros, low), where(never, low, zeros)):
        yield g.near_miss(softmax("Softmax", single + mask, 3), why="zeros repeat the scores")


@law(
    kind="replace",
    source="GPT-2; a number so low swallows any score that is added",
    uses=(demand,),
    examples=_where_examples,
)
def mask_of_condition(q: Tensor, k: Tensor, c: Tensor, n: Tensor, z: Tensor, s: Float):
    """Where(c, Scores, n) = Scores + Where(c, 0, n), n = -infinity or the lowest number

    Likewise Where(c, n, Scores).
    """
    given, zero = scores(q, k, s), literal(zero_like(n))
    may_stand = guard(fits(c, given), fits(n, given))
    swallowed = (zero_like(n), all_are(z, 0), fits(z, given))
    for chosen, mask, written in (
        (where(c, given, n), where(c, z, n), where(c, zero, n)),
        (where(c, n, given), where(c, n, z), where(c, n, zero)),
    ):
        asked, masked = guard(demanded(chosen)), given + mask
        yield rewrite(chosen, given + written, asked, may_stand, inverse="mask_of_condition")
        known = (guard(demanded(masked)), may_stand, swallowed)
        yield rewrite(masked, chosen, *known, inverse="mask_of_condition")


# --- attention -----------------------------------------------------------------------------------------


@hosted()
def is_values(v: Fact, k: Fact, q: Fact) -> bool:
    """The values have the batches and heads of the keys: those of the queries, or one head for all."""
    if v.const or v.shape is None or k.shape is None or not have_heads_of(v, q):
        return False
    return same_dims(v.shape[:2], k.shape[:2])


@hosted()
def is_above_zero(s: float) -> bool:
    """onnxruntime takes no other scale of its Attention."""
    return s > 0


@hosted()
def has_exact_root(s: Float, q: Fact) -> bool:
    """The operator computes with the root of the scale in float32, whatever the type of its inputs."""
    with np.errstate(all="ignore"):  # of numbers below 0 there is no root
        return q.dtype != TensorProto.DOUBLE or float(np.sqrt(np.float32(s))) ** 2 == s


def _attention_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    dims: tuple[Dims, ...] = (("N", 3, "L", 4), ("N", 3, "M", 4), ("N", 3, "M", 5))
    q, k, v = (g.input(d, HALF) for d in dims)
    given, mask = scores(q, k, 0.5), g.input(("L", "M"), HALF)

    def inside(s: Any, wide: int, to: int = HALF, kind: str = "Softmax") -> Any:
        return cast(softmax(kind, cast(s, wide), LAST), to)

    yield g.fires(inside(given, SINGLE) @ v)
    yield g.fires(inside(mask + given, SINGLE) @ v)
    single = [g.input(d) for d in dims]
    yield g.fires(softmax("Softmax", scores(single[0], single[1], 0.5), LAST) @ single[2])
    keys, one = g.input(("N", 1, "M", 4)), g.input(("N", 1, "M", 5))
    yield g.fires(softmax("Softmax", scores(single[0], keys, 0.5), LAST) @ one)
    doubles = [g.input(("N", 3, 4, 4), TensorProto.DOUBLE) for _ in range(2)]
    yield g.fires(softmax("Softmax", scores(*doubles, 0.25), LAST) @ doubles[0])
    yield from g.near_misses(
        (softmax("Softmax", scores(single[0], keys, 0.5), LAST) @ single[2], "keys are shared, values not"),
        (inside(given, TensorProto.DOUBLE) @ v, "the operator computes in float32"),
        (inside(given, SINGLE, SINGLE) @ single[2], "the weights are not rounded"),
        (inside(cast(given, SINGLE) + g.input(("L", "M")), SINGLE) @ v, "the mask is not of float16"),
        (inside(given, SINGLE, kind="Hardmax") @ v, "no Softmax"),
        (inside(scores(single[0], single[1], 0.5), SINGLE) @ v, "scores are not of float16"),
        (softmax("Softmax", scores(single[0], single[1], -0.5), LAST) @ single[2], "the scale is negative"),
        (softmax("Softmax", scores(*doubles, 30.0), LAST) @ doubles[0], "5.4772 is rounded to float32"),
    )
    for whole in _rounded_roots(rng):
        yield replace(whole, opset=23)


def _rounded_roots(rng: np.random.Generator) -> Iterator[Example]:
    """Where one of many keys has half of the weight, a root that is rounded shows."""
    g, double, scale, count = Operands(rng), TensorProto.DOUBLE, 1.046875, 64

    def about(first: float, others: float, many: int) -> Tensor:
        """What varies a little around a number, and one of many around another."""
        exact = np.full((1, 1, many, 1), others, np.float64)
        exact[0, 0, 0] = first
        varying = g.input(exact.shape, double) * g.constant(np.float64(0.01), double)
        return varying + g.constant(exact, double)

    q, k, v = about(1, 1, 4), about(math.log(count) / scale, 0, count), about(1, -1, count)
    given, mask = scores(q, k, scale), g.constant(np.zeros((4, count)), double)
    for whole in (
        softmax("Softmax", given, LAST) @ v,
        softmax("Softmax", given + mask, LAST) @ v,
        masked_attention(q, k, v, mask, scale, 0),
    ):
        yield g.near_miss(whole, "1.023169 is rounded to float32")


@law(kind="composite", source="ONNX, Attention", uses=(either_side, softmaxes), examples=_attention_examples)
def attend(q: Tensor, k: Tensor, v: Tensor, m: Tensor, s: Float, i: Int, w: Flag):
    """Softmax(Scores(q, k; s) + m) @ v = Attention(q, k, v, m; s), with and without a mask m

    A Softmax of float16 that is computed in float32 is the operator's softmax_precision.
    """
    given, values = scores(q, k, s), (has_exact_root(s, q), *kernel(is_values(v, k, q), is_above_zero(s)))
    yield equal(weights(given, LAST, w) @ v, attention(q, k, v, s, w), *values)
    whole, known = masked_attention(q, k, v, m, s, w), (*values, *kernel(masks_scores(m, q, k)))
    logits = beside("Add", given, m, i)
    yield rewrite(weights(logits, LAST, w) @ v, whole, *known, inverse="attend")
    yield rewrite(whole, weights(given + m, LAST, w) @ v, *known, inverse="attend")
