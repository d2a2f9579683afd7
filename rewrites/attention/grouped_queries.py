"""Heads that several queries share are not repeated: the queries of a group are rows of one product.

    x @ Repeat(u) -> Reshape(Reshape(x, [B, G, n * L, P]) @ u)          likewise x @ Repeat(u)'
    Attention(q, Repeat(k), Repeat(v)) -> Reshape(Attention(Reshape(q), k, v)), a mask being repeated

where Repeat(u) is what exporters write for groups of n heads, Reshape(Expand(u, [B, G, n, S, d])), or
Expand(u, [B, n, S, d]) for one head.  Gather and Concat that repeat are such views by `views.expand`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Flag, Float, Tensor
from egraph_opt.operators import (
    attention,
    cast,
    concat,
    expand,
    expand_to,
    masked_attention,
    reshape,
    shape_of,
    transpose,
)
from egraph_opt.operators.composites import SWAP_LAST
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.operands import moved, moves
from egraph_opt.rewrites.conditions.view_shapes import known_dims, same_dims

law = laws_of("attention", numerics="reassociates", kind="move", serves="traffic", source="arXiv 2305.13245")

FORGETS = "forgets that heads were repeated"


class Shared(NamedTuple):
    """The dims of what is repeated, and of queries, as many heads as are not; how often each is."""

    heads: Dims
    queries: Dims
    count: Any


@hosted()
def shared(x: Fact, u: Fact, apart: Fact, y: Fact) -> Shared | None:
    """Queries x [B, G * n, L, P] of heads u [B, G, 1, S, d], which `apart` has n times and y in a row."""
    if not all(f.is_symbolic for f in (x, u, apart, y)):
        return None
    if not x.rank == y.rank == 4 or not u.rank == apart.rank == 5:
        return None
    batch, groups, one, *matrix = u.shape or ()
    count, length, depth = (apart.shape or ())[2], *(x.shape or ())[2:]
    if one != 1 or count == 1 or not same_dims(apart.shape, (batch, groups, count, *matrix)):
        return None
    heads = symbolic.mul(groups, count)
    if not same_dims(y.shape, (batch, heads, *matrix)) or not same_dims((x.shape or ())[:2], (batch, heads)):
        return None
    return Shared((batch, groups, *matrix), (batch, groups, symbolic.mul(count, length), depth), count)


def _heads(g: Operands, groups: int, count: int, *matrix: Any, batch: Any = "N") -> Any:
    u = g.input((batch, groups, 1, *matrix))
    return reshape(expand(u, (1, 1, count, 1, 1)), (batch, groups * count, *matrix))


def _product_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, q = g.input(("N", 6, "L", 4)), g.input(("N", 6, 3, 5))
    yield g.fires(x @ _heads(g, 2, 3, 4, 5))
    yield g.fires(q @ transpose(_heads(g, 3, 2, "L", 5), SWAP_LAST))
    inner = reshape(expand(g.input(("N", 2, 1, 4, 5)), (1, 1, 3, 1, 1)), ("N", 2, 12, 5))
    one = reshape(expand(g.input((1, 1, 1, 4, 5)), (1, 6, 1, 1, 1)), (1, 6, 4, 5))
    like = concat(listed(shape_of(x, 0, 1), g.constant(np.array([2, 3, 4, 5]))), 0)
    yield g.fires(x @ reshape(expand_to(g.input(("N", 2, 1, 4, 5)), like), ("N", 6, 4, 5)))
    yield g.near_miss(g.input(("N", 2, "L", 12)) @ inner, why="rows are repeated")
    yield g.near_miss(x @ one, why="one head for all, which broadcasts")
    yield g.near_miss(g.input((6, "L", 4)) @ _heads(g, 2, 3, 4, 5), why="one batch of queries for all")


@law(examples=_product_examples, uses=(moves,))
def product_of_groups(x: Tensor, u: Tensor, t: Tensor, e: Dims, d: Dims):
    """x @ Repeat(u) = Reshape(Reshape(x, [B, G, n * L, P]) @ u), and with u' for u"""
    wide = moved("Expand", u, t, e)
    y = reshape(wide, d)
    how = shared(x, u, wide, y)
    queries, heads = reshape(x, how[1]), reshape(u, how[0])
    for z, product in (
        (x @ y, queries @ heads),
        (x @ transpose(y, SWAP_LAST), queries @ transpose(heads, SWAP_LAST)),
    ):
        yield rewrite(z, reshape(product, known_dims(z)), guard(varies(x)), because=FORGETS)


# --- attention --------------------------------------------------------------------------------------------


@hosted()
def shared_alike(how: Shared, q: Fact, v: Fact, apart: Fact, values: Fact) -> Dims | None:
    """The dims of values that are shared by as many queries as keys are."""
    found = shared.function(q, v, apart, values)
    return found.heads if found is not None and found.count == how.count else None


@hosted()
def mask_of_groups(m: Fact, q: Fact, count: Any) -> tuple[Dims, Dims, Dims] | None:
    """The dims of a mask for all heads, how it is repeated, and those with the rows of queries together."""
    if m.shape is None or not m.is_symbolic or not 2 <= len(m.shape) <= 4 or q.shape is None:
        return None
    batch, heads, length, keys = (1,) * (4 - len(m.shape)) + m.shape
    if heads != 1 or not isinstance(count, int) or not symbolic.known_equal(length, q.shape[2]):
        return None
    together = (batch, 1, symbolic.mul(count, length), keys)
    return (batch, 1, length, keys), (1, count, 1, 1), together


def _of_groups(m: Tensor, q: Tensor, how: Any) -> Any:
    """A mask for the rows of all queries of a group."""
    rows = mask_of_groups(m, q, how[2])
    return reshape(expand(reshape(m, rows[0]), rows[1]), rows[2])


def _attention_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    q, k, v = g.input(("N", 6, 3, 4)), _heads(g, 2, 3, 5, 4), _heads(g, 2, 3, 5, 7)
    yield g.fires(attention(q, k, v, 0.5, 0))
    for mask in (g.input((3, 5)), g.random(1, 1, 3, 5)):
        yield g.fires(masked_attention(q, k, v, mask, 0.5, 0))
    yield g.near_miss(attention(q, k, g.input(("N", 6, 5, 7)), 0.5, 0), why="values of each head")
    yield g.near_miss(attention(q, k, _heads(g, 3, 2, 5, 7), 0.5, 0), why="groups of two sizes")
    yield g.near_miss(masked_attention(q, k, v, g.input((6, 3, 5)), 0.5, 0), why="a mask of each head")


@law(examples=_attention_examples, uses=(moves,))
def attention_of_groups(
    q: Tensor, k: Tensor, v: Tensor, m: Tensor, t: Tensor, r: Tensor, a: Dims, b: Dims, c: Dims, d: Dims,
    s: Float, w: Flag,
):  # fmt: skip
    """Attention(q, Repeat(k), Repeat(v)) = Reshape(Attention(Reshape(q), k, v)), a mask as well"""
    wide_keys, wide_values = moved("Expand", k, t, a), moved("Expand", v, r, c)
    keys, values = reshape(wide_keys, b), reshape(wide_values, d)
    how = shared(q, k, wide_keys, keys)
    operands = (
        reshape(q, how[1]),
        reshape(k, how[0]),
        reshape(v, shared_alike(how, q, v, wide_values, values)),
    )
    z = attention(q, keys, values, s, w)
    yield rewrite(z, reshape(attention(*operands, s, w), known_dims(z)), guard(varies(q)), because=FORGETS)
    z, mask = masked_attention(q, keys, values, m, s, w), _of_groups(m, q, how)
    whole = masked_attention(*operands, mask, s, w)
    yield rewrite(z, reshape(whole, known_dims(z)), guard(varies(q)), because=FORGETS)


# --- one head for all -------------------------------------------------------------------------------------


@hosted()
def one_for_all(x: Fact, u: Fact, wide: Fact) -> Shared | None:
    """Queries x [B, n, L, P] of one head u [B, 1, S, d], which `wide` has n times."""
    if not all(f.is_symbolic and f.rank == 4 for f in (x, u, wide)):
        return None
    (batch, one, *matrix), (_, count, length, depth) = u.shape or (), x.shape or ()
    if one != 1 or count == 1 or not same_dims(wide.shape, (batch, count, *matrix)):
        return None
    if not symbolic.known_equal((x.shape or ())[0], batch):
        return None
    return Shared((batch, 1, *matrix), (batch, 1, symbolic.mul(count, length), depth), count)


def _one_head_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    q, mask = g.input(("N", 6, 3, 4)), g.input((3, 5))
    k, v, each = (g.input(("N", n, 5, d)) for n, d in ((1, 4), (1, 7), (6, 7)))
    wide, values = (expand(x, (1, 6, 1, 1)) for x in (k, v))
    yield g.fires(attention(q, wide, values, 0.5, 0))
    yield g.fires(masked_attention(q, wide, values, mask, 0.5, 0))
    queries, *halves = (cast(x, TensorProto.FLOAT16) for x in (q, k, v))
    yield g.fires(attention(queries, *(expand(x, (1, 6, 1, 1)) for x in halves), 0.5, 1))
    yield g.near_miss(attention(q, wide, each, 0.5, 0), why="values of each head")
    rows = expand(g.input(("N", 6, 1, 7)), (1, 1, 5, 1))
    for repeats in (attention(q, wide, rows, 0.5, 0), masked_attention(q, wide, rows, mask, 0.5, 0)):
        yield g.near_miss(repeats, why="rows of values are repeated")
    batches = expand(g.input((1, 6, 5, 4)), (2, 1, 1, 1))
    others = expand(g.input((2, 1, 5, 7)), (1, 6, 1, 1))
    yield g.near_miss(
        attention(g.input((2, 6, 3, 4)), batches, others, 0.5, 0), why="batches of keys are repeated"
    )


@law(examples=_one_head_examples, uses=(moves,))
def attention_of_one_head(
    q: Tensor, k: Tensor, v: Tensor, m: Tensor, t: Tensor, r: Tensor, a: Dims, c: Dims, s: Float, w: Flag
):
    """Attention(q, Expand(k), Expand(v)) = Reshape(Attention(Reshape(q), k, v)), a mask as well"""
    keys, values = moved("Expand", k, t, a), moved("Expand", v, r, c)
    how, known = one_for_all(q, k, keys), (one_for_all(q, v, values), guard(varies(q)))
    rows = reshape(q, how[1])
    for z, whole in (
        (attention(q, keys, values, s, w), attention(rows, k, v, s, w)),
        (
            masked_attention(q, keys, values, m, s, w),
            masked_attention(rows, k, v, _of_groups(m, q, how), s, w),
        ),
    ):
        yield rewrite(z, reshape(whole, known_dims(z)), *known, because=FORGETS)
