"""Squeezes of images sink past operators with other operands, which are unsqueezed for it (see `conv1d`).

    Squeeze(x) op y = Squeeze(x op Unsqueeze(y))
    Where(.., Squeeze(x), ..) likewise
    Concat(Squeeze(x), y, ..) = Squeeze(Concat(x, Unsqueeze(y), ..))
    Sum, Max, Min and Mean likewise

What meets there as ``Unsqueeze(Squeeze(y))`` is y.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import Deduction, Equal, PyObject, String, closure, eq, holds, i64, let, rule, set_
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, concat, reshape, unary, variadic, where
from egraph_opt.operators.terms import Tensor, Tensors, cons, fact, listed, nil
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.targets.conv1d import is_lowered, lifted_dims, lowered, wanted
from egraph_opt.rewrites.targets.conv1d_movement import both, lifted_axis


def _binary_examples(rng: np.random.Generator) -> Iterator[Example]:
    for other in (("N", 3, "L"), ("N", 3, 1), (1, "L"), ("L",), (3, 1)):
        g = Operands(rng)
        x, y = lowered(g, "N", 3, "L"), g.input(other)
        yield g.fires(binary("Sub", x, y), lift_conv1d=1)
        yield g.fires(binary("Sub", y, x), lift_conv1d=1)
        yield g.near_miss(binary("Sub", x, y), why="the target does not ask for it")
    g = Operands(rng)
    x, y = lowered(g, "N", 3, 1), g.input(("N", 3, "L"))
    yield g.fires(binary("Mul", x, y), lift_conv1d=1)
    g = Operands(rng)
    x, y = lowered(g, "N", 3, "L"), g.input((2, "N", 3, "L"))
    yield g.near_miss(binary("Mul", x, y), why="the result has more than three axes", lift_conv1d=1)
    g = Operands(rng)
    x, y = reshape(g.input((2, 3, 4)), (6, 4)), g.input((6, 1))
    yield g.near_miss(binary("Mul", x, y), why="the view is another one", lift_conv1d=1)


@law("conv1d", numerics="bitwise", examples=_binary_examples)
def past_binary(
    x: Tensor, y: Tensor, z: Tensor, op: String, n: i64, d: PyObject, p: PyObject, out: PyObject
) -> Iterator[Any]:
    """Squeeze(x) op y = Squeeze(x op Unsqueeze(y))

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    conditions = (
        wanted(n),
        holds(is_lowered, fact(x), d),
        *let(p, lifted_dims, fact(y)),
        *let(out, known_dims, fact(z)),
    )
    squeezed, image = reshape(x, d), reshape(y, p)
    yield rule(
        eq(z).to(binary(op, squeezed, y)), *conditions, then=Equal(z, reshape(binary(op, x, image), out))
    )
    yield rule(
        eq(z).to(binary(op, y, squeezed)), *conditions, then=Equal(z, reshape(binary(op, image, x), out))
    )


def _where_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, flags = lowered(g, "N", 3, "L"), g.input(("N", 3, "L")), g.input(("N", 1, "L"), 9)
    yield g.fires(where(flags, x, y), lift_conv1d=1)
    yield g.fires(where(flags, g.random(3, 1), x), lift_conv1d=1)
    yield g.near_miss(where(flags, x, y), why="the target does not ask for it")
    g = Operands(rng)
    flags = reshape(g.input(("N", 3, 1, "L"), 9), ("N", 3, "L"))
    yield g.fires(where(flags, g.random(1), unary("Relu", (), g.input(("N", 3, "L")))), lift_conv1d=1)


@law("conv1d", numerics="bitwise", examples=_where_examples)
def past_where(
    x: Tensor, y: Tensor, v: Tensor, z: Tensor, n: i64, d: PyObject, p: PyObject, q: PyObject, out: PyObject
) -> Iterator[Any]:
    """Where(.., Squeeze(x), ..) = Squeeze(Where(.., x, ..)), the others unsqueezed

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    conditions = (
        wanted(n),
        holds(is_lowered, fact(x), d),
        *let(p, lifted_dims, fact(y)),
        *let(q, lifted_dims, fact(v)),
        *let(out, known_dims, fact(z)),
    )
    squeezed, y4, v4 = reshape(x, d), reshape(y, p), reshape(v, q)
    yield rule(eq(z).to(where(squeezed, y, v)), *conditions, then=Equal(z, reshape(where(x, y4, v4), out)))
    yield rule(eq(z).to(where(y, squeezed, v)), *conditions, then=Equal(z, reshape(where(y4, x, v4), out)))
    yield rule(eq(z).to(where(y, v, squeezed)), *conditions, then=Equal(z, reshape(where(y4, v4, x), out)))


# --- lists of operands ----------------------------------------------------------------------------------


@egglog.function(egg_fn="conv1d_walked")
def walked(xs: Tensors) -> egglog.Unit:
    """A list, or the tail of one, whose operator could be lifted."""


@egglog.function(egg_fn="conv1d_asking")
def asking(xs: Tensors) -> egglog.Unit:
    """An operand in it is an image, viewed with one axis less."""


@egglog.function(egg_fn="conv1d_asked")
def asked(xs: Tensors) -> egglog.Unit:
    """To be lifted."""


@egglog.function(egg_fn="conv1d_images", merge=lambda old, new: new)
def images(xs: Tensors) -> Tensors:
    """The list with every operand lifted."""


def lifting(of: Any) -> Iterator[Deduction]:
    """The rules that fill `images` for the list `xs` of an operator, which the pattern `of(xs)` finds."""
    xs, rest, ys = (egglog.var(name, Tensors) for name in ("xs", "rest", "ys"))
    x, y, z, n = (
        egglog.var("x", Tensor),
        egglog.var("y", Tensor),
        egglog.var("z", Tensor),
        egglog.var("n", i64),
    )
    d = egglog.var("d", PyObject)
    yield closure(wanted(n), eq(z).to(of(xs)), then=walked(xs))
    yield closure(walked(xs), eq(xs).to(cons(x, rest)), then=walked(rest))
    viewed = (eq(x).to(reshape(y, d)), holds(is_lowered, fact(y), d))
    yield closure(walked(xs), eq(xs).to(cons(x, rest)), *viewed, then=asking(xs))
    yield closure(walked(xs), eq(xs).to(cons(x, rest)), asking(rest), then=asking(xs))
    yield closure(eq(z).to(of(xs)), asking(xs), then=asked(xs))
    yield closure(asked(xs), eq(xs).to(cons(x, rest)), then=asked(rest))
    yield closure(asked(nil()), then=set_(images(nil())).to(nil()))
    after = (asked(xs), eq(xs).to(cons(x, rest)), eq(ys).to(images(rest)), *let(d, lifted_dims, fact(x)))
    yield closure(*after, then=set_(images(xs)).to(cons(reshape(x, d), ys)))


def _concat_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = lowered(g, "N", 3, "L"), g.input(("N", 4, "L"))
    yield from both(g, concat(listed(x, y), 1))
    yield from both(g, concat(listed(y, y, x), 1))
    yield from both(g, concat(listed(x, x), 2))
    yield g.near_miss(concat(listed(y, y), 2), why="nobody is an image", lift_conv1d=1)


@law("conv1d", numerics="bitwise", examples=_concat_examples)
def past_concat(
    z: Tensor, xs: Tensors, ys: Tensors, a: PyObject, q: PyObject, out: PyObject
) -> Iterator[Any]:
    """Concat(Squeeze(x), y, ..) = Squeeze(Concat(x, Unsqueeze(y), ..))

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    yield from lifting(lambda items: concat(items, egglog.var("any_axis", PyObject)))
    found = (eq(z).to(concat(xs, a)), eq(ys).to(images(xs)), *let(out, known_dims, fact(z)))
    yield rule(*found, let(q, lifted_axis, a), then=Equal(z, reshape(concat(ys, q), out)))


def _variadic_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op in ("Sum", "Max", "Mean"):
        g = Operands(rng)
        x, y, c = lowered(g, "N", 3, "L"), g.input(("N", 3, "L")), g.random(3, 1)
        yield from both(g, variadic(op, listed(x, y)))
        yield from both(g, variadic(op, listed(y, c, x)))


@law("conv1d", numerics="bitwise", examples=_variadic_examples)
def past_variadic(op: String, z: Tensor, xs: Tensors, ys: Tensors, out: PyObject) -> Iterator[Any]:
    """Sum(Squeeze(x), y, ..) = Squeeze(Sum(x, Unsqueeze(y), ..)), Max, Min and Mean likewise

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    yield from lifting(lambda items: variadic(egglog.var("any_op", String), items))
    found = (eq(z).to(variadic(op, xs)), eq(ys).to(images(xs)), *let(out, known_dims, fact(z)))
    yield rule(*found, then=Equal(z, reshape(variadic(op, ys), out)))
