"""Expand: dropped where it changes nothing or where broadcasting does its work.

Expand to own dims = x
Expand to a computed target = Expand to the numbers that it is known to hold
f(Expand(x)) = Expand(f(x)), casts too
Expand(x) op y = x op y                          where y brings the dims
Expand(x) op y = Expand(x op y)                  where it does not
Where(.., Expand(x), ..) likewise
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.compat import Equal, PyObject, String, eq, holds, let, ne, rewrite, rule
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, cast, expand, expand_to, shape_of, unary, where
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.conditions.view_shapes import broadcast, same_dims

_FLAGS = TensorProto.BOOL


Form = Callable[[Any], Any]


def _expansions(dims: Any, target: Any) -> tuple[Form, Form]:
    """Both ways to expand a term: to numbers, and to a target that is computed."""
    return lambda x: expand(x, dims), lambda x: expand_to(x, target)


@hosted(default=False)
def _keeps(x: Fact, z: Fact) -> bool:
    return same_dims(x.shape, z.shape)


def _own_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((2, 3))
    yield g.fires(expand(x, (2, 3)))
    yield g.fires(expand(x, (1, 1)))
    yield g.near_miss(expand(x, (4, 2, 3)), why="an axis is added")
    g = Operands(rng)
    x = g.input(("N", 3))
    yield g.fires(expand_to(x, shape_of(g.input(("N", 1)), 0, 2)))
    yield g.near_miss(expand_to(x, shape_of(g.input(("L", 1)), 0, 2)), why="N and L may differ")


@law("expand", numerics="bitwise", examples=_own_examples)
def drop_own_dims(x: Tensor, z: Tensor, t: Tensor, dims: PyObject) -> Iterator[Any]:
    """Expand(x) = x where the result has x's dims

    Source: onnxoptimizer eliminate_nop_expand.
    """
    yield rule(eq(z).to(expand(x, dims)), holds(_keeps, fact(x), fact(z)), then=Equal(z, x))
    yield rule(eq(z).to(expand_to(x, t)), holds(_keeps, fact(x), fact(z)), then=Equal(z, x))


@hosted()
def _numbers(t: Fact, x: Fact) -> tuple[int, ...] | None:
    """The elements of a target as numbers: 1 stands for a dim that x has there itself."""
    if t.value is None or x.shape is None:
        return t.ints
    missing = len(t.value) - len(x.shape)
    numbers: list[int] = []
    for k, dim in enumerate(t.value):
        own = x.shape[k - missing] if k >= missing else None
        if not isinstance(dim, int) and not symbolic.known_equal(dim, own):
            return None
        numbers.append(dim if isinstance(dim, int) else 1)
    return tuple(numbers)


def _target_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    yield g.fires(expand_to(g.input(("N", 1)), shape_of(g.input((4, 3)), 1, 2)))
    x, y = g.input(("N", 1)), g.input((3, "N", 4))
    yield g.fires(expand_to(x, shape_of(y, 0, 3)))
    yield g.fires(expand_to(x, shape_of(y, 1, 3)))
    yield g.near_miss(
        expand_to(g.input(("N", 1)), shape_of(g.input((4, "L")), 1, 2)), why="a dim is symbolic"
    )
    yield g.near_miss(expand_to(x, shape_of(g.input(("L", 1, 4)), 0, 3)), why="an axis of unknown length")


@law("expand", numerics="bitwise", examples=_target_examples)
def know_the_target(x: Tensor, t: Tensor, dims: PyObject) -> Iterator[Any]:
    """Expand(x, target) = Expand_dims(x) where the target's elements are known numbers, or dims of x itself

    Source: symbolic shape inference.
    """
    yield rewrite(expand_to(x, t), expand(x, dims), let(dims, _numbers, fact(t), fact(x)))


def _unary_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 1))
    yield g.fires(unary("Exp", (), expand(x, (1, 3))))
    yield g.fires(unary("Exp", (), expand_to(x, shape_of(g.input((1, "L")), 0, 2))))
    yield g.fires(cast(expand(x, (1, 3)), INT64))
    yield g.fires(cast(expand_to(x, shape_of(g.input((1, "L")), 0, 2)), INT64))
    yield g.near_miss(unary("Exp", (), x), why="nothing is expanded")


@law("expand", numerics="bitwise", examples=_unary_examples)
def past_unary(x: Tensor, op: String, s: PyObject, t: Tensor, dims: PyObject) -> Iterator[Any]:
    """f(Expand(x)) = Expand(f(x))

    Source: algebra.
    """
    yield rewrite(unary(op, s, expand(x, dims)), expand(unary(op, s, x), dims))
    yield rewrite(unary(op, s, expand_to(x, t)), expand_to(unary(op, s, x), t))
    yield rewrite(cast(expand(x, dims), s), expand(cast(x, s), dims))
    yield rewrite(cast(expand_to(x, t), s), expand_to(cast(x, s), t))


@hosted(default=False)
def _brings(x: Fact, y: Fact, z: Fact) -> bool:
    """Whether x, unexpanded, and y broadcast to the dims of z."""
    return x.shape is not None and y.shape is not None and same_dims(broadcast(x.shape, y.shape), z.shape)


def _redundant_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 1)), g.input(("N", 3))
    yield g.fires(binary("Sub", expand(x, (1, 3)), y))
    yield g.fires(binary("Sub", y, expand(x, (1, 3))))
    g = Operands(rng)
    x, y = g.input((1, 1)), g.input(("N", "L"))
    yield g.fires(binary("Sub", expand_to(x, shape_of(y, 0, 2)), y))
    yield g.fires(binary("Sub", y, expand_to(x, shape_of(y, 0, 2))))
    g = Operands(rng)
    x, y = g.input(("N", 1)), g.input((1, 1))
    yield g.near_miss(binary("Sub", expand(x, (1, 3)), y), why="nobody else brings the dims")
    g = Operands(rng)
    x, slope = g.input((1, 1)), g.input((2, 3))
    yield g.near_miss(binary("PRelu", expand(x, (2, 3)), slope), why="a slope may not widen x")
    yield g.fires(binary("PRelu", slope, expand(x, (2, 3))))


@law("expand", numerics="bitwise", examples=_redundant_examples)
def redundant_in_binary(
    x: Tensor, y: Tensor, z: Tensor, op: String, t: Tensor, dims: PyObject
) -> Iterator[Any]:
    """Expand(x) op y = x op y where y brings the dims

    Source: OnnxSlim; algebra.
    """
    enough = holds(_brings, fact(x), fact(y), fact(z))
    for again in _expansions(dims, t):
        wide = again(x)
        # A slope may be widened to x, and not the other way round.
        either = ne(op).to("PRelu")
        yield rule(eq(z).to(binary(op, wide, y)), either, enough, then=Equal(z, binary(op, x, y)))
        yield rule(eq(z).to(binary(op, y, wide)), enough, then=Equal(z, binary(op, y, x)))


@hosted(default=False)
def _sinks(x: Fact, wide: Fact, y: Fact, z: Fact) -> bool:
    """Whether the expanded operand alone has the result's dims, and the others do not."""
    narrow = x.shape is not None and y.shape is not None and not _brings(x, y, z)
    return narrow and not x.const and same_dims(wide.shape, z.shape)


def _sinking_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, like = g.input(("N", 1)), g.input(("N", "L"))
    yield g.fires(binary("Sub", expand_to(x, shape_of(like, 0, 2)), g.random(1)))
    yield g.fires(binary("Sub", g.input(("N", 1)), expand(x, (1, 3))))
    yield g.near_miss(binary("Sub", expand_to(x, shape_of(like, 0, 2)), like), why="like has the dims itself")
    g = Operands(rng)
    x = g.input((1, 1))
    yield g.near_miss(binary("Sub", expand(x, (1, 3)), g.input(("N", 1))), why="y brings another dim")


@law("expand", numerics="bitwise", examples=_sinking_examples)
def past_binary(
    x: Tensor, y: Tensor, z: Tensor, w: Tensor, op: String, t: Tensor, dims: PyObject
) -> Iterator[Any]:
    """Expand(x) op y = Expand(x op y) where Expand alone brings the dims

    Source: algebra.
    """
    sinks = holds(_sinks, fact(x), fact(w), fact(y), fact(z))
    for again in _expansions(dims, t):
        conditions = (eq(w).to(again(x)), ne(op).to("PRelu"), sinks)
        yield rule(eq(z).to(binary(op, w, y)), *conditions, then=Equal(z, again(binary(op, x, y))))
        yield rule(eq(z).to(binary(op, y, w)), *conditions, then=Equal(z, again(binary(op, y, x))))


@hosted(default=False)
def _one_brings(x: Fact, y: Fact, w: Fact, z: Fact) -> bool:
    """Whether x, unexpanded, and two others broadcast to the dims of z."""
    if x.shape is None or y.shape is None or w.shape is None:
        return False
    return same_dims(broadcast(broadcast(x.shape, y.shape), w.shape), z.shape)


@hosted(default=False)
def _where_sinks(x: Fact, wide: Fact, y: Fact, w: Fact, z: Fact) -> bool:
    known = x.shape is not None and y.shape is not None and w.shape is not None and not x.const
    return known and not _one_brings(x, y, w, z) and same_dims(wide.shape, z.shape)


def _where_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    c, like = g.input(("N", 1), _FLAGS), g.input(("N", "L"))
    wide = expand_to(c, shape_of(like, 0, 2))
    yield g.fires(where(wide, g.constant(np.float32(0)), g.constant(np.float32(-10))))
    yield g.fires(where(wide, like, g.constant(np.float32(-10))))
    yield g.fires(where(g.input((), _FLAGS), expand(g.input(("N", 1)), (1, 3)), g.random(1)))
    yield g.fires(where(g.input((), _FLAGS), g.random(1), expand(g.input(("N", 1)), (1, 3))))
    g = Operands(rng)
    c = expand(g.input((1, 1), _FLAGS), (1, 3))
    yield g.near_miss(where(c, g.input(("N", 1)), g.random(1)), why="another operand widens it as well")


@law("expand", numerics="bitwise", examples=_where_examples)
def past_where(
    x: Tensor, y: Tensor, v: Tensor, z: Tensor, w: Tensor, t: Tensor, dims: PyObject
) -> Iterator[Any]:
    """Where(.., Expand(x), ..) = Where(.., x, ..), expanded where no other operand brings the dims

    Source: algebra.
    """
    enough = holds(_one_brings, fact(x), fact(y), fact(v), fact(z))
    sinks = holds(_where_sinks, fact(x), fact(w), fact(y), fact(v), fact(z))
    places: tuple[Form, ...] = (
        lambda u: where(u, y, v),
        lambda u: where(y, u, v),
        lambda u: where(y, v, u),
    )
    for again in _expansions(dims, t):
        for place in places:
            found = (eq(z).to(place(w)), eq(w).to(again(x)))
            yield rule(*found, enough, then=Equal(z, place(x)))
            yield rule(*found, sinks, then=Equal(z, again(place(x))))
