"""Operators of several images stay on their side after an image too wide for the target (see `wide_images`).

    x op y = T(T(x) op T(y))
    Concat(x, y, ..) = T(Concat(T(x), T(y), ..)), Sum, Max, Min and Mean likewise

T swaps height and width.  What meets there as ``T(T(y))`` is y.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import Equal, PyObject, String, closure, eq, guard, holds, let, rewrite, rule, set_
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import PoolWindow, binary, concat, pool, transpose, variadic
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, Tensors, cons, fact, listed, nil
from egraph_opt.rewrites.targets.wide_images import FINDING, LIMITS, after_wide, among
from egraph_opt.rewrites.transposes.windows import SWAP


@hosted(default=False)
def varies(y: Fact) -> bool:
    """An image that is no constant (those turn anyway, see `transpose_movement`)."""
    return y.rank == 4 and not y.const


def _pooled(g: Operands, width: int = 30) -> Any:
    """An image after one that was too wide."""
    return pool("MaxPool", g.input(("N", 3, 2, width)), PoolWindow((1, 3), (1, 3), (0,) * 4, (1, 1)))


def _binary_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op in ("Add", "Mul"):
        g = Operands(rng)
        x, y, gate = _pooled(g), g.input(("N", 3, 2, 10)), g.input(("N", 3, 1, 1))
        yield g.fires(binary(op, x, y), **LIMITS)
        yield g.fires(binary(op, gate, x), **LIMITS)
        yield g.near_miss(binary(op, x, y), why="the target has no limits")
        yield g.near_miss(binary(op, x, g.random(3, 1, 1)), why="a constant turns anyway", **LIMITS)
        low = binary(op, _pooled(g, 18), g.input(("N", 3, 2, 6)))
        yield g.near_miss(low, why="the image was not too wide", **LIMITS)


@law("wide_images", numerics="bitwise", examples=_binary_examples, required=FINDING)
def lay_binary(op: String, x: Tensor, y: Tensor) -> Iterator[Any]:
    """x op y = T(T(x) op T(y)) after an image too wide for the target

    Source: Ascend auto-optimizer, TransposeLargeInputConv.
    """
    for first, second in ((x, y), (y, x)):
        yield rewrite(
            binary(op, first, second),
            transpose(binary(op, transpose(first, SWAP), transpose(second, SWAP)), SWAP),
            guard(after_wide(x)),
            holds(varies, fact(x)),
            holds(varies, fact(y)),
        )


@egglog.function(egg_fn="wide_asked")
def asked(xs: Tensors) -> egglog.Unit:
    """A list, or the tail of one, to be turned."""


@egglog.function(egg_fn="wide_turned", merge=lambda old, new: new)
def turned(xs: Tensors) -> Tensors:
    """The list with every operand on its side."""


def _turning() -> Iterator[Any]:
    """The rules that turn lists."""
    x = egglog.var("x", Tensor)
    xs, rest, ys = (egglog.var(name, Tensors) for name in ("xs", "rest", "ys"))
    yield closure(asked(xs), eq(xs).to(cons(x, rest)), then=asked(rest))
    yield closure(asked(nil()), then=set_(turned(nil())).to(nil()))
    after = (asked(xs), eq(xs).to(cons(x, rest)), eq(ys).to(turned(rest)), holds(is_image, fact(x)))
    yield closure(*after, then=set_(turned(xs)).to(cons(transpose(x, SWAP), ys)))


@hosted(default=False)
def is_image(x: Fact) -> bool:
    return x.rank == 4


@hosted()
def turned_axis(axis: int) -> int:
    return SWAP[axis]


def _both(g: Operands, term: Any) -> Iterator[Example]:
    yield g.fires(term, **LIMITS)
    yield g.near_miss(term, why="the target has no limits")


def _concat_examples(rng: np.random.Generator) -> Iterator[Example]:
    for axis in (1, 3):
        g = Operands(rng)
        x, y = _pooled(g), g.input(("N", 3, 2, 10))
        yield from _both(g, concat(listed(y, x, y), axis))
        yield g.near_miss(concat(listed(y, y), axis), why="nothing was too wide", **LIMITS)


@law("wide_images", numerics="bitwise", examples=_concat_examples, required=FINDING)
def lay_concat(z: Tensor, xs: Tensors, ys: Tensors, a: PyObject, c: PyObject) -> Iterator[Any]:
    """Concat(x, y, ..) = T(Concat(T(x), T(y), ..)) after an image too wide for the target

    Source: Ascend auto-optimizer, TransposeLargeInputConv.
    """
    yield from _turning()
    yield closure(among(xs), eq(z).to(concat(xs, a)), then=asked(xs))
    found = (eq(z).to(concat(xs, a)), eq(ys).to(turned(xs)))
    yield rule(*found, let(c, turned_axis, a), then=Equal(z, transpose(concat(ys, c), SWAP)))


def _variadic_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op in ("Sum", "Max"):
        g = Operands(rng)
        x, y = _pooled(g), g.input(("N", 3, 2, 10))
        yield from _both(g, variadic(op, listed(y, x, y)))


@law("wide_images", numerics="bitwise", examples=_variadic_examples, required=FINDING)
def lay_variadic(op: String, z: Tensor, xs: Tensors, ys: Tensors) -> Iterator[Any]:
    """Sum(x, y, ..) = T(Sum(T(x), T(y), ..)), Max, Min and Mean likewise, after an image too wide

    Source: Ascend auto-optimizer, TransposeLargeInputConv.
    """
    yield from _turning()
    yield closure(among(xs), eq(z).to(variadic(op, xs)), then=asked(xs))
    found = (eq(z).to(variadic(op, xs)), eq(ys).to(turned(xs)))
    yield rule(*found, then=Equal(z, transpose(variadic(op, ys), SWAP)))
