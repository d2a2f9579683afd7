"""Expand: dropped where it changes nothing or where broadcasting does its work.

Expand to own dims -> x
Expand to a computed target -> Expand to the numbers that it is known to hold
Concat(x, x, ..) -> Expand(x)                                    along an axis of 1
Gather(x, [0, 0, .., 1, 1, ..]) -> Reshape(Expand(Reshape(x)))   each as often
f(Expand(x)) = Expand(f(x)), casts too
Expand(x) op y -> x op y                          where y brings the dims
Expand(x) op y -> Expand(x op y)                  where it does not
Where(.., Expand(x), ..) likewise
"""

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    auxiliary,
    eq,
    equal,
    guard,
    hosted,
    laws_of,
    ne,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Dims, Int, Settings, String, Tensor, Tensors, Unit
from egraph_opt.operators import binary, concat, expand, expand_to, gather, reshape, shape_of, where
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.float_types import in_8_bits, is_taken_from
from egraph_opt.rewrites.conditions.operands import (
    among,
    any_place,
    beside,
    either_side,
    function_of,
    functions,
    moved,
    moves,
)
from egraph_opt.rewrites.conditions.values import broadcasts_into
from egraph_opt.rewrites.conditions.view_shapes import broadcast, same_dims
from egraph_opt.rewrites.slicing.concat import listing, operands_of
from egraph_opt.rewrites.slicing.gather import from_front, indices_of
from egraph_opt.rewrites.slicing.slice import dim_at

law = laws_of("expand", numerics="bitwise")

SHARED_HEADS = "heads that several queries share, arXiv 2305.13245"


def _wide(x: Tensor, t: Tensor, dims: Any) -> Any:
    """x expanded to numbers, or to a target that is computed."""
    return moved("Expand", x, t, dims)


@hosted()
def keeps(x: Fact, z: Fact) -> bool:
    return same_dims(x.shape, z.shape)


def _own_dims(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3))
    yield g.fires(expand_to(x, shape_of(g.input(("N", 1)), 0, 2)))
    yield g.near_miss(expand_to(x, shape_of(g.input(("L", 1)), 0, 2)), why="N and L may differ")


@law(
    kind="eliminate",
    serves="traffic",
    source="onnxoptimizer eliminate_nop_expand",
    examples=_own_dims,
    uses=(moves,),
)
def drop_own_dims(x: Tensor, t: Tensor, dims: Dims):
    """Expand(x) = x where the result has x's dims"""
    wide = _wide(x, t, dims)
    yield rewrite(wide, x, keeps(x, wide), because="every x is an Expand of itself")


@hosted()
def numbers(t: Fact, x: Fact) -> Dims | None:
    """The elements of a target as numbers: 1 stands for a dim that x has there itself.

    None of a target of nothing: onnxruntime takes an Expand to a constant 0 for one that changes nothing.
    """
    if t.value is not None and 0 in t.value:
        return None
    if t.value is None or x.shape is None:
        return t.ints
    missing = len(t.value) - len(x.shape)
    found: list[int] = []
    for k, dim in enumerate(t.value):
        own = x.shape[k - missing] if k >= missing else None
        if not isinstance(dim, int) and not symbolic.known_equal(dim, own):
            return None
        found.append(dim if isinstance(dim, int) else 1)
    return tuple(found)


def _targets(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 1))
    yield g.fires(expand_to(x, shape_of(g.input((4, 3)), 1, 2)))
    yield g.fires(expand_to(x, shape_of(g.input((3, "N", 4)), 0, 3)))
    yield g.near_miss(expand_to(x, shape_of(g.input((4, "L")), 1, 2)), why="a dim is symbolic")
    yield g.near_miss(expand_to(x, shape_of(g.input(("L", 1, 4)), 0, 3)), why="an axis of unknown length")


@law(source="symbolic shape inference", examples=_targets)
def know_the_target(x: Tensor, t: Tensor):
    """Expand(x, target) = Expand_dims(x) where the target's elements are known numbers, or dims of x"""
    yield rewrite(expand_to(x, t), expand(x, numbers(t, x)), because="forgets how the target is computed")


@law(
    kind="move",
    serves="arithmetic",
    uses=(functions, moves),
    examples=in_8_bits(lambda x: expand(x, (3, 4)), "no Expand takes floats of 8 bits"),
)
def past_unary(x: Tensor, op: String, s: Settings, t: Tensor, dims: Dims):
    """f(Expand(x)) = Expand(f(x))"""
    wide = _wide(function_of(op, s, x), t, dims)
    yield equal(function_of(op, s, _wide(x, t, dims)), wide, is_taken_from(s, op))


@hosted()
def brings(z: Fact, *operands: Fact) -> bool:
    """Whether the operands broadcast to the dims of z."""
    shapes = [x.shape for x in operands if x.shape is not None]
    return len(shapes) == len(operands) and same_dims(reduce(broadcast, shapes), z.shape)


@hosted()
def alone_brings(wide: Fact, z: Fact, x: Fact, *others: Fact) -> bool:
    """Whether x has the dims of the result z only where it is expanded, and the others do not have them."""
    known = all(y.shape is not None for y in (x, *others))
    return known and not x.const and not brings(z, x, *others) and same_dims(wide.shape, z.shape)


def _operands(rng: np.random.Generator) -> Iterator[Example]:
    """A computed target is not drawn."""
    g = Operands(rng)
    x, like, slope = g.input(("N", 1)), g.input(("N", "L")), g.input((2, 3))
    wide = expand_to(x, shape_of(like, 0, 2))
    yield g.fires(binary("Sub", wide, like))
    yield g.fires(binary("Sub", like, wide))
    yield g.near_miss(binary("PRelu", expand(g.input((1, 1)), (2, 3)), slope), why="a slope may not widen x")
    many = expand_to(g.input(("N",)), g.constant(np.array([3])))
    yield g.near_miss(binary("PRelu", g.input(("N",)), many), why="a slope may not widen x, where N is 1")
    yield g.near_miss(expand(g.input((1, 4)), (3, 4)) + g.input((4,)), why="y does not bring the rows")


@hosted()
def may_widen(op: str, side: int, wide: Fact, z: Fact) -> bool:
    """A slope may be widened to what it multiplies, and not the other way round."""
    return op != "PRelu" or (side == 1 and broadcasts_into(wide.shape, z.shape))


@law(kind="eliminate", serves="traffic", source="OnnxSlim", examples=_operands, uses=(either_side, moves))
def redundant_in_binary(x: Tensor, y: Tensor, op: String, t: Tensor, dims: Dims, i: Int):
    """Expand(x) op y = x op y where y brings the dims"""
    wide = _wide(x, t, dims)
    z = beside(op, wide, y, i)
    known = (brings(z, x, y), may_widen(op, i, wide, z))
    yield rewrite(z, beside(op, x, y, i), *known, because="forgets the dims")


def _sinking(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, like = g.input(("N", 1)), g.input(("N", "L"))
    wide = expand_to(x, shape_of(like, 0, 2))
    yield g.fires(binary("Sub", wide, g.random(1)))
    yield g.near_miss(binary("Sub", wide, like), why="like has the dims itself")
    other = binary("Sub", expand(g.input((1, 1)), (1, 3)), x)
    yield g.near_miss(other, why="y brings another dim")


@law(kind="move", serves="arithmetic", examples=_sinking, uses=(either_side, moves))
def past_binary(x: Tensor, y: Tensor, op: String, t: Tensor, dims: Dims, i: Int):
    """Expand(x) op y = Expand(x op y) where Expand alone brings the dims"""
    wide = _wide(x, t, dims)
    z = beside(op, wide, y, i)
    alone, why = guard(alone_brings(wide, z, x, y)), "either operand could be the one"
    yield rewrite(z, _wide(beside(op, x, y, i), t, dims), ne(op, "PRelu"), alone, because=why)


def _conditionals(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    c, like, flag = g.input(("N", 1), TensorProto.BOOL), g.input(("N", "L")), g.input((), TensorProto.BOOL)
    wide, low = expand_to(c, shape_of(like, 0, 2)), g.constant(np.float32(-10))
    yield g.fires(where(wide, g.constant(np.float32(0)), low))
    yield g.fires(where(wide, like, low))
    yield g.fires(where(flag, g.random(1), expand(g.input(("N", 1)), (1, 3))))
    narrow = expand(g.input((1, 1), TensorProto.BOOL), (1, 3))
    widened = where(narrow, g.input(("N", 1)), g.random(1))
    yield g.near_miss(widened, why="another operand widens it as well")


@law(numerics="finite", kind="move", serves="traffic", examples=_conditionals, uses=(any_place, moves))
def past_where(x: Tensor, y: Tensor, v: Tensor, t: Tensor, dims: Dims, k: Int):
    """Where(.., Expand(x), ..) = Where(.., x, ..), expanded where no other operand brings the dims"""
    wide, narrow = _wide(x, t, dims), among(x, y, v, k)
    z = among(wide, y, v, k)
    yield rewrite(z, narrow, brings(z, x, y, v), because="forgets the dims")
    alone = alone_brings(wide, z, x, y, v)
    yield rewrite(z, _wide(narrow, t, dims), guard(alone), because="each operand could be the one")


# --- one operand, several times -------------------------------------------------------------------------


@table()
def alike(xs: Tensors, axis: Axis, x: Tensor) -> Unit:
    """A list of one tensor, as often as there are elements."""


@auxiliary(listing)
def likeness(xs: Tensors, rest: Tensors, x: Tensor, a: Axis):
    """Fills `alike`, from the end of a list to its front."""
    yield rule(operands_of(xs, a), eq(xs, cons(x, nil())), then=alike(xs, a, x))
    yield rule(operands_of(xs, a), alike(rest, a, x), eq(xs, cons(x, rest)), then=alike(xs, a, x))


@hosted()
def repeated(xs: tuple[Fact, ...], axis: Axis, x: Fact) -> Dims | None:
    """The target of an Expand that has x, of 1 along the axis, as often as the list does."""
    if dim_at(x, axis) != 1 or len(xs) < 2:
        return None
    return tuple(len(xs) if k == axis else 1 for k in range(len(x.shape or ())))


def _lists(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, wide = g.input(("N", 1, 3)), g.input(("N", 1, 3)), g.input(("N", 2, 3))
    yield from g.all_fire(concat(listed(x, x), 1), concat(listed(*[x] * 5), 1))
    yield from g.near_misses(
        (concat(listed(x, y), 1), "two tensors"),
        (concat(listed(x, y, x), 1), "one is another"),
        (concat(listed(wide, wide), 1), "all of it is repeated, and not each element"),
        (concat(listed(x, x), 2), "another axis"),
    )


@law(kind="replace", serves="traffic", source=SHARED_HEADS, examples=_lists, uses=(likeness,))
def concat_of_one(x: Tensor, xs: Tensors, a: Axis):
    """Concat(x, x, ..) = Expand(x) along an axis of 1"""
    known = (alike(xs, a, x), guard(varies(x)))
    wide = expand(x, repeated(xs, a, x))
    yield rewrite(concat(xs, a), wide, *known, because="a list of one tensor is as long as it likes")


# --- each element, several times ------------------------------------------------------------------------


@hosted()
def in_a_row(x: Fact, i: Fact, axis: Axis) -> tuple[Dims, Dims, Dims] | None:
    """The dims of x with an axis more, to what that is expanded, and both axes together.

    The indices take each element of an axis n times, one after the other.
    """
    dim, found = dim_at(x, axis), indices_of(i)
    if not isinstance(dim, int) or dim < 1 or found is None or i.rank != 1 or not x.is_symbolic:
        return None
    count, found = len(found) // dim, from_front(found, dim)
    if count < 2 or found != tuple(k for k in range(dim) for _ in range(count)):
        return None
    shape = x.shape or ()
    before, behind = shape[:axis], shape[axis + 1 :]
    ones = (1,) * len(before), (1,) * len(behind)
    return (*before, dim, 1, *behind), (*ones[0], 1, count, *ones[1]), (*before, dim * count, *behind)


def _indices(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, one = g.input(("N", 3, 4)), g.input(("N", 1, "L"))

    def gathered(of: Any, indices: Any) -> Any:
        return gather(of, g.constant(np.array(indices)), 1)

    yield from g.all_fire(
        gathered(x, [0, 0, 1, 1, 2, 2]), gathered(x, [0, 0, 0, 1, 1, 1, -1, -1, -1]), gathered(one, [0] * 4)
    )
    yield from g.near_misses(
        (gathered(x, [0, 1, 2, 0, 1, 2]), "all of it is repeated"),
        (gathered(x, [0, 0, 1, 1]), "not all elements"),
        (gathered(x, [0, 0, 1, 2, 2]), "one is there once"),
        (gathered(x, [[0, 0, 1, 1, 2, 2]]), "the indices are no vector"),
        (gathered(g.input(("N", "L", 4)), [0, 0, 1, 1, 2, 2]), "there may be more elements"),
    )


@law(kind="replace", serves="traffic", source=SHARED_HEADS, examples=_indices)
def gather_of_each(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, [0, 0, .., 1, 1, ..]) = Reshape(Expand(Reshape(x))), each as often"""
    how = in_a_row(x, i, a)
    wide = reshape(expand(reshape(x, how[0]), how[1]), how[2])
    yield rewrite(gather(x, i, a), wide, guard(varies(x)), because="forgets the indices")
