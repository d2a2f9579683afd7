"""Rotary embeddings, found under every spelling where ONNX has them (opset 23).

    Concat(a * c - b * s, b * c + a * s) -> Rotary(x, c, s)         a, b the halves of a row of x
    x * [c, c] + Concat(-b, a) * [s, s] -> Rotary(x, c, s)
    Concat(Rotary(x[.., :n]), x[.., n:]) -> Rotary(x) of n features
    likewise where neighbours in a row are rotated, for a = x[.., ::2] and b = x[.., 1::2]

The angles are those of a position, whatever the head; `rotary_parts` says what is found of parts and angles.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, opset, rewrite, rule, union
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Dims, Flag, Settings, Slices, Tensor
from egraph_opt.operators import concat, expand, reshape, slice_, unary
from egraph_opt.operators.availability import is_available
from egraph_opt.operators.rotary import OP, ROTATED, rotary, settings_of
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.attention.rotary_parts import (
    HALVES,
    doubled,
    doubling,
    joined,
    rotated_firsts,
    rotated_seconds,
    rotated_sum,
    rotations,
    row_length,
)
from egraph_opt.rewrites.conditions.view_shapes import known_dims, same_dims

law = laws_of(
    "attention",
    numerics="reassociates",
    kind="composite",
    serves="launches",
    source="RoFormer, arXiv 2104.09864; ONNX, RotaryEmbedding",
)


class Layout(NamedTuple):
    """The dims of x, [B, H, L, d] or [B, L, H * d], and of its angles, [B, L, d / 2].

    `heads` is H in the second case; constant angles of one batch are as many times there as `repeats` says.
    """

    x: Shape
    angles: Shape
    heads: int = 0
    repeats: Shape = (1, 1, 1)


def _arranged(x: Fact, angles: Fact, size: int) -> Layout | None:
    """How x and its angles, which have `size` in a row, are given to ONNX's operator.

    What does not depend on the batch is the same for all heads of all batches.
    """
    if not x.is_symbolic or not angles.is_symbolic or x.dtype not in ROTATED or angles.dtype != x.dtype:
        return None
    shape, missing = x.shape or (), (x.rank or 0) - (angles.rank or 0)
    if row_length(x) is None or not len(shape) >= 2 or missing < 0 or 0 in shape:
        return None
    *lead, length, own = (1,) * missing + (angles.shape or ())
    half, equal = shape[-1] // 2, symbolic.known_equal  # type: ignore[operator]
    if own != size:
        return None
    if equal(length, shape[-2]) and all(d == 1 for d in lead):
        if angles.const and len(shape) == 4 and isinstance(shape[0], int):
            return Layout(shape, (1, length, half), repeats=(shape[0], 1, 1))
        return Layout((1, symbolic.product(shape[:-2]), *shape[-2:]), (1, length, half))
    if not lead or len(shape) not in (3, 4) or not equal(lead[0], shape[0]):
        return None
    if equal(length, shape[-2]) and all(d == 1 for d in lead[1:]):
        heads = shape[1] if len(shape) == 4 else 1
        return Layout((shape[0], heads, *shape[-2:]), (shape[0], length, half))
    if len(shape) == 4 and length == 1 and isinstance(shape[2], int) and equal(lead[1], shape[1]):
        return Layout((*shape[:2], shape[2] * shape[3]), (*shape[:2], half), shape[2])  # type: ignore[operator]
    return None


@hosted()
def arranged(x: Fact, cosines: Fact, sines: Fact, once: int, opset: int) -> Layout | None:
    """How x is given to ONNX's operator; rows of angles have each `once`, or twice (0)."""
    size = row_length(x)
    if size is None or not is_available(OP, opset):
        return None
    found = [_arranged(x, angles, size // 2 if once else size) for angles in (cosines, sines)]
    return found[0] if found[0] == found[1] else None


@hosted()
def settings(how: int, layout: Layout) -> Settings:
    return settings_of(how, layout.heads)


@hosted()
def firsts(how: int, c: Fact) -> Slices | None:
    """The slice that takes the number of each pair, of which both have one."""
    size, last = row_length(c), (c.rank or 0) - 1
    if size is None:
        return None
    return ((last, 0, size // 2, 1),) if how == HALVES else ((last, 0, size - 1, 2),)


def _rotary(x: Any, given: tuple[Any, Any], how: Any, layout: Any, like: Any) -> Any:
    angles = (expand(reshape(angle, layout[1]), layout[3]) for angle in given)
    return reshape(rotary(reshape(x, layout[0]), *angles, settings(how, layout)), known_dims(like))


# --- pairs as they are ------------------------------------------------------------------------------------


def _halves(x: Any, rank: int, half: int) -> tuple[Any, Any]:
    return tuple(slice_(x, ((rank - 1, *cut, 1),)) for cut in ((0, half), (half, 2 * half)))


def _neighbours(x: Any, rank: int, size: int) -> tuple[Any, Any]:
    return tuple(slice_(x, ((rank - 1, start, size - 1 + start, 2),)) for start in (0, 1))


def _rotated(a: Any, b: Any, c: Any, s: Any) -> tuple[Any, Any]:
    return a * c - b * s, b * c + a * s


def _part_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, c, s = g.input(("N", 3, 5, 4)), g.random(5, 2), g.random(1, 1, 5, 2)
    half = g.input((2, 3, 5, 4), TensorProto.FLOAT16)
    batch, heads, apart = g.input(("N", 1, 5, 2)), g.input((3, 5, 2)), g.input((1, 3, 1, 2))
    a, b = _halves(x, 4, 2)
    of_half = _rotated(*_halves(half, 4, 2), *(g.input((5, 2), TensorProto.FLOAT16) for _ in range(2)))
    yield from (
        replace(g.fires(term), opset=23)
        for term in (
            concat(listed(*_rotated(a, b, c, s)), 3),
            concat(listed(a * c - s * b, s * a + c * b), 3),
            concat(listed(*_rotated(a, b, batch, batch)), 3),
            concat(listed(*of_half), 3),
            concat(listed(*_rotated(*_halves(g.input((1, 3, 5, 4)), 4, 2), apart, apart)), 3),
            concat(listed(*_rotated(*_halves(g.input((3, 5, 4)), 3, 2), c, c)), 2),
        )
    )
    one, two = _neighbours(x, 4, 4)
    real, imaginary = (reshape(z, ("N", 3, 5, 2, 1)) for z in _rotated(one, two, c, s))
    yield replace(g.fires(reshape(concat(listed(real, imaginary), 4), ("N", 3, 5, 4))), opset=23)
    for term, why in (
        (concat(listed(*_rotated(b, a, c, s)), 3), "the parts are exchanged"),
        (concat(listed(*_rotated(a, b, c, s)[::-1]), 3), "the results are exchanged"),
        (concat(listed(a * c - b * s, b * s + a * c), 3), "sine and cosine are exchanged once"),
        (concat(listed(*_rotated(*_neighbours(x, 4, 4), c, s)), 3), "neighbours as halves"),
        (concat(listed(*_rotated(a, b, heads, heads)), 3), "angles of each head"),
        (concat(listed(*_rotated(a, b, g.random(1, 2), g.random(1, 2))), 3), "angles of all positions"),
    ):
        yield replace(g.near_miss(term, why), opset=23)
    yield g.near_miss(concat(listed(*_rotated(a, b, c, s)), 3), why="the opset has no such operator")


@law(examples=_part_examples, uses=(rotations,))
def rotated_parts(y: Tensor, x: Tensor, p: Tensor, q: Tensor, c: Tensor, s: Tensor, h: Flag):
    """Concat(a * c - b * s, b * c + a * s) = Rotary(x, c, s) of the halves a, b of x, or of neighbours"""
    found = (joined(y, p, q, h), rotated_firsts(p, x, c, s, h), rotated_seconds(q, x, c, s, h))
    whole = _rotary(x, (c, s), h, arranged(x, c, s, 1, opset()), y)
    yield rule(*found, guard(varies(x)), then=union(y, whole), because="forgets the parts")


# --- rows turned by a right angle -------------------------------------------------------------------------


def _turned_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, once = g.input(("N", 3, 5, 4)), rng.standard_normal((2, 5, 2))
    (c, s), (u, v) = (map(g.constant, made) for made in (np.tile(once, 2), np.repeat(once, 2, -1)))
    a, b = _halves(x, 4, 2)

    def minus(z: Any) -> Any:
        return unary("Neg", (), z)

    turned = concat(listed(minus(b), a), 3)
    one, two = (
        reshape(z, ("N", 3, 5, 2, 1)) for z in (_neighbours(x, 4, 4)[0], minus(_neighbours(x, 4, 4)[1]))
    )
    crossed = reshape(concat(listed(two, one), 4), ("N", 3, 5, 4))
    angles = g.input((1, 1, 5, 2))
    computed = concat(listed(angles, angles), 3)
    cosines, sines = unary("Cos", (), computed), unary("Sin", (), computed)
    for term in (x * c + turned * s, s * turned + c * x, x * u + crossed * v, x * cosines + turned * sines):
        yield replace(g.fires(term), opset=23)
    for term, why in (
        (x * g.random(5, 4) + turned * s, "an angle for each feature"),
        (x * c + turned * g.input((5, 4)), "an angle for each feature"),
        (x * u + turned * v, "the angles are those of neighbours"),
        (x * c + concat(listed(minus(a), b), 3) * s, "the halves are not exchanged"),
        (x * c + concat(listed(b, a), 3) * s, "no half is negated"),
        (g.input(("N", 3, 5, 4)) * c + turned * s, "two tensors"),
    ):
        yield replace(g.near_miss(term, why), opset=23)


@law(examples=_turned_examples, uses=(rotations, doubling))
def rotated_rows(y: Tensor, x: Tensor, c: Tensor, s: Tensor, h: Flag):
    """x * [c, c] + Concat(-b, a) * [s, s] = Rotary(x, c, s) of the halves a, b of x, or of neighbours"""
    found = (rotated_sum(y, x, c, s, h), doubled(c, h), doubled(s, h), guard(varies(x)))
    cosines, sines = slice_(c, firsts(h, c)), slice_(s, firsts(h, s))
    whole = _rotary(x, (cosines, sines), h, arranged(x, c, s, 0, opset()), y)
    yield rule(*found, then=union(y, whole), because="forgets the parts")


# --- some features only -----------------------------------------------------------------------------------


@hosted()
def rest_is_kept(x: Fact, s: Slices, t: Slices, dims: Dims, axis: Axis) -> bool:
    """s takes the first features of each row of x, to `dims`, and t those behind; they are joined in rows."""
    size, last = row_length(x), (x.rank or 0) - 1
    if size is None or len(s) != 1 or len(t) != 1 or axis != last or not x.is_symbolic:
        return False
    middle = dims[-1] if dims else None
    if s[0] != (last, 0, middle, 1) or t[0] not in ((last, middle, end, 1) for end in (size, None)):
        return False
    return same_dims(dims, (*(x.shape or ())[:-1], middle))


@hosted()
def whole_rows(rows: Dims, dims: Dims, x: Fact) -> Dims | None:
    """Rows of parts as rows of x."""
    return (*rows[:-1], (x.shape or (0,))[-1]) if rows[-1] == dims[-1] else None


@hosted()
def in_part(known: Settings, rows: Dims) -> Settings | None:
    """The settings for the first features of longer rows, where all of these rows were rotated."""
    way = dict(known)["interleaved"]
    return settings_of(way, 0, rows[3]) if known == settings_of(way) and len(rows) == 4 else None  # type: ignore[arg-type]


def _partial_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, c, s = g.input((2, 3, 5, 6)), g.random(1, 5, 2), g.random(1, 5, 2)

    def taken(start: int, end: int, of: Any = x) -> Any:
        return slice_(of, ((3, start, end, 1),))

    def rotated(z: Any, how: int = 0) -> Any:
        return reshape(rotary(reshape(z, (1, 6, 5, 4)), c, s, settings_of(how)), (2, 3, 5, 4))

    for how in (0, 1):
        yield replace(g.fires(concat(listed(rotated(taken(0, 4), how), taken(4, 6)), 3)), opset=23)
    y, d, t = g.input((3, 2, 4, 8)), g.random(1, 4, 3), g.random(1, 4, 3)
    other = reshape(rotary(reshape(taken(0, 6, y), (1, 6, 4, 6)), d, t, settings_of(0)), (3, 2, 4, 6))
    yield replace(g.fires(concat(listed(other, taken(6, 8, y)), 3)), opset=23)
    for term, why in (
        (concat(listed(taken(0, 2), rotated(taken(2, 6))), 3), "the others are in front"),
        (concat(listed(rotated(taken(0, 4)), taken(3, 5)), 3), "a feature is there twice"),
        (concat(listed(rotated(taken(0, 4)), taken(4, 6, g.input((2, 3, 5, 6)))), 3), "of another tensor"),
    ):
        yield replace(g.near_miss(term, why), opset=23)


@law(kind="merge", examples=_partial_examples)
def rotated_in_part(
    x: Tensor, c: Tensor, s: Tensor, k: Settings, p: Slices, q: Slices, d: Dims, e: Dims, a: Axis
):
    """Concat(Rotary(x[.., :n]), x[.., n:]) = Rotary(x) of the first n features"""
    rotated = reshape(rotary(reshape(slice_(x, p), d), c, s, k), e)
    y = concat(listed(rotated, slice_(x, q)), a)
    whole = rotary(reshape(x, whole_rows(d, e, x)), c, s, in_part(k, d))
    known = (rest_is_kept(x, p, q, e, a), guard(varies(x)))
    yield rewrite(y, reshape(whole, known_dims(y)), *known, because="forgets the parts")
