"""Attention of matrices, or of stacks of them along one axis, is that with axes of 1 in front.

q @ w -> Reshape(Reshape(q) @ Reshape(w')')            where there is demand by a Softmax over the last axis
Reshape(Softmax(s)) @ v -> Reshape(Softmax(s) @ Reshape(v))
v @ Softmax(s)' -> (Softmax(s) @ v')'

The views sink past scales, masks and Softmax by `views`.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, laws_of, rewrite, rule, table
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Dims, Flag, Int, Permutation, Tensor, Unit
from egraph_opt.operators import reshape, softmax, transpose, where
from egraph_opt.operators.composites import SWAP_LAST
from egraph_opt.rewrites.attention.scaled_dot_product import softmaxes, weights
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.view_shapes import known_dims, same_dims

law = laws_of(
    "attention",
    numerics="bitwise",
    kind="move",
    serves="target",
    source="torch.nn.MultiheadAttention, which multiplies stacks of three axes",
)

FEWER = "a tensor has any number of axes of 1"

LAST = 3


@table()
def asked_for(s: Tensor) -> Unit:
    """What a Softmax over the last of two or three axes takes, and what is masked or scaled to that."""


@hosted()
def has_few_axes(s: Fact) -> bool:
    return s.dtype in KERNEL_FLOATS and s.rank in (2, 3) and not s.const


@hosted()
def is_over_last(s: Fact, axis: Axis) -> bool:
    return s.rank == axis + 1


@auxiliary(either_side, softmaxes)
def asking_for(y: Tensor, s: Tensor, m: Tensor, c: Tensor, a: Axis, i: Int, w: Flag):
    """Fills `asked_for`, from Softmax down."""
    known = has_few_axes(s)
    yield rule(eq(y, weights(s, a, w)), known, is_over_last(s, a), then=asked_for(s))
    for masked in (beside("Add", s, m, i), where(c, s, m), where(c, m, s), s * c):
        yield rule(asked_for(y), eq(y, masked), known, then=asked_for(s))


@hosted()
def lifted(x: Fact, other: Fact) -> Dims | None:
    """x with four axes, where both are stacks alike and are computed."""
    a, b = x.shape, other.shape
    if a is None or b is None or not x.is_symbolic or len(a) != len(b) or len(a) not in (2, 3):
        return None
    alike = same_dims(a[:-2], b[:-2]) and not x.const and not other.const
    return (*(1,) * (4 - len(a)), *a) if alike else None


def _products(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    q, k, mask = g.input((6, "L", 4)), g.input((6, "M", 4)), g.input((6, 1, 1))
    turned = transpose(k, (0, 2, 1))
    yield g.fires(softmax("Softmax", q @ turned, 2))
    yield g.fires(softmax("Softmax", mask + (q @ turned) * g.constant(0.5), 2))
    yield g.fires(softmax("Softmax", g.input(("N", 4)) @ g.input((4, "M")), 1))
    yield from g.near_misses(
        (q @ turned, "no Softmax"),
        (softmax("Softmax", q @ turned, 1), "over queries"),
        (softmax("Softmax", q @ g.random(6, 4, 3), 2), "keys are constant"),
        (softmax("Softmax", q @ g.input((1, 4, 5)), 2), "one stack broadcasts"),
    )


@hosted()
def lifted_turned(x: Fact, other: Fact) -> Dims | None:
    """Likewise of x with its last two axes exchanged."""
    dims = lifted.function(x, other)
    return None if dims is None else (*dims[:2], dims[3], dims[2])


@hosted()
def swapped(x: Fact) -> Permutation | None:
    """The last two axes exchanged."""
    return None if x.rank is None or x.rank < 2 else (*range(x.rank - 2), x.rank - 1, x.rank - 2)


@law(numerics="reassociates", examples=_products, uses=(asking_for,))
def scores_of_stacks(q: Tensor, w: Tensor):
    """q @ w = Reshape(Reshape(q) @ Reshape(w')') with four axes, where a Softmax over the last takes it"""
    product, keys = q @ w, reshape(transpose(w, swapped(w)), lifted_turned(w, q))
    whole = reshape(q, lifted(q, w)) @ transpose(keys, SWAP_LAST)
    yield rewrite(product, reshape(whole, known_dims(product)), guard(asked_for(product)), because=FEWER)


@hosted()
def drops_ones(d: Dims, p: Fact) -> bool:
    """A view takes leading axes of 1 off four, of which two or three are left."""
    shape = p.shape or ()
    return len(d) in (2, 3) and len(shape) == 4 and same_dims(shape, (*(1,) * (4 - len(d)), *d))


def _sums(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    soft = softmax("Softmax", g.input((1, 6, "L", 5)), LAST)
    stack = reshape(soft, (6, "L", 5))
    yield g.fires(stack @ g.input((6, 5, 4)))
    single = softmax("Softmax", g.input((1, 1, "L", 5)), LAST)
    yield g.fires(reshape(single, ("L", 5)) @ g.input((5, 4)))
    joined = softmax("Softmax", g.input((2, 3, "L", 5)), LAST)
    yield from g.near_misses(
        (stack @ g.input((5, 4)), "one matrix for all"),
        (stack @ g.random(6, 5, 4), "values are constant"),
        (reshape(g.input((1, 6, "L", 5)), (6, "L", 5)) @ g.input((6, 5, 4)), "no Softmax"),
        (reshape(joined, (6, "L", 5)) @ g.input((6, 5, 4)), "the view joins axes"),
    )


@law(examples=_sums, uses=(softmaxes,))
def values_of_stacks(s: Tensor, v: Tensor, d: Dims, w: Flag):
    """Reshape(Softmax(s)) @ v = Reshape(Softmax(s) @ Reshape(v)) with four axes"""
    soft = weights(s, LAST, w)
    stack = reshape(soft, d)
    y = stack @ v
    whole = reshape(soft @ reshape(v, lifted(v, stack)), known_dims(y))
    yield rewrite(y, whole, drops_ones(d, soft), because=FEWER)


def _in_front(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    v, logits = g.input((2, 4, 5)), g.input((2, "L", 5))
    soft, turned = softmax("Softmax", logits, 2), (0, 2, 1)
    yield g.fires(v @ transpose(soft, turned))
    four = transpose(softmax("Softmax", g.input((2, 3, "L", 5)), 3), SWAP_LAST)
    yield g.fires(g.input((2, 3, 4, 5)) @ four)
    yield from g.near_misses(
        (v @ transpose(softmax("Softmax", logits, 1), turned), "over queries"),
        (v @ transpose(logits, turned), "no Softmax"),
        (g.random(2, 4, 5) @ transpose(soft, turned), "values are constant"),
    )


@hosted()
def swaps_last(p: Permutation, axis: Axis, x: Fact) -> bool:
    return len(p) in (2, 3, 4) and p == swapped.function(x) and axis == len(p) - 1


@hosted()
def have_axes(v: Fact, s: Fact) -> bool:
    return v.rank is not None and v.rank == s.rank


@law(numerics="reassociates", examples=_in_front, uses=(softmaxes,))
def values_in_front(s: Tensor, v: Tensor, p: Permutation, a: Axis, w: Flag):
    """v @ Softmax(s)' = (Softmax(s) @ v')'"""
    soft = weights(s, a, w)
    whole = transpose(soft @ transpose(v, swapped(v)), p)
    known = (swaps_last(p, a, s), guard(varies(v)), have_axes(v, s))
    yield rewrite(v @ transpose(soft, p), whole, *known, because="every product is one of what is turned")
