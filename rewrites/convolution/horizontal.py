"""Convolutions of one image are parts of one convolution.

Conv(x, V, b) = Conv(x, [V; W], [b; c])[:, :m]      Conv(x, W, c) = Conv(x, [V; W], [b; c])[:, m:]

and likewise for three.  Of a class that is a convolution in many ways one is joined, and none that a
BatchNormalization or a constant per channel follows, since that becomes part of it.  Only values of the
original are joined, near each other: of many convolutions of one image not every three are tried.
`enlarging` makes kernels of several sizes alike, `horizontal_functions` takes functions of the parts along.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import Deduction, Equal, PyObject, String, closure, eq, holds, i64, let, ne, rule, set_
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import ConvWindow, batchnorm, binary, concat, conv, literal, none, slice_
from egraph_opt.operators.host import hosted
from egraph_opt.operators.sorts import Slices
from egraph_opt.operators.terms import Tensor, cons, fact, listed, nil, node
from egraph_opt.rewrites.conditions.channels import absent_bias, is_float_constant, static_shape
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING
from egraph_opt.rewrites.linear.horizontal import part

NEAR = 64
"""The most terms of the lowered graph between convolutions that are joined."""


@egglog.function(egg_fn="horizontal_weight", merge=lambda old, new: old)
def weight_of(y: Tensor, x: Tensor, window: PyObject) -> Tensor:
    """The weight of y as a convolution of x that may be joined with others."""


@egglog.function(egg_fn="horizontal_bias", merge=lambda old, new: old)
def bias_of(y: Tensor, x: Tensor, window: PyObject) -> Tensor:
    """The bias that goes with it, zeros where there is none."""


@egglog.function(egg_fn="horizontal_superseded", merge=lambda old, new: old.max(new))
def superseded(y: Tensor) -> i64:
    """1 for a convolution behind which stands what becomes part of it, else 0."""


@hosted(default=False)
def may_join(w: Fact, b: Fact, window: ConvWindow) -> bool:
    """Constants, without groups."""
    return window.group == 1 and is_float_constant(w) and is_float_constant(b)


@hosted(default=False)
def is_per_channel(op: str, c: Fact) -> bool:
    """A constant of several numbers that scales or shifts."""
    shape = static_shape(c)
    return op in ("Add", "Mul", "Sub", "Div") and shape is not None and c.const and max(shape, default=1) > 1


def followers() -> Iterator[Deduction]:
    """The rules that fill `superseded`."""
    x, w, b, y, z, c = (egglog.var(name, Tensor) for name in "xwbyzc")
    m, v = egglog.var("m", Tensor), egglog.var("v", Tensor)
    u, e, op = egglog.var("u", PyObject), egglog.var("e", PyObject), egglog.var("op", String)
    yield closure(eq(y).to(conv(x, w, b, u)), then=set_(superseded(y)).to(0))
    convolution = eq(superseded(y)).to(0)
    yield closure(convolution, eq(z).to(batchnorm(y, w, b, m, v, e)), then=set_(superseded(y)).to(1))
    shifted = (convolution, eq(z).to(binary(op, y, c)), ne(z).to(y), holds(is_per_channel, op, fact(c)))
    yield closure(*shifted, then=set_(superseded(y)).to(1))


def members() -> Iterator[Deduction]:
    """The rules that fill `weight_of` and `bias_of`."""
    yield from followers()
    x, w, b, y = (egglog.var(name, Tensor) for name in "xwby")
    u, zeros = egglog.var("u", PyObject), egglog.var("zeros", PyObject)
    found = (eq(y).to(conv(x, w, b, u)), holds(may_join, fact(w), fact(b), u))
    yield closure(*found, then=(set_(weight_of(y, x, u)).to(w), set_(bias_of(y, x, u)).to(b)))
    bare = (eq(y).to(conv(x, w, none(), u)), *let(zeros, zeros_for, fact(w), u))
    yield closure(*bare, then=(set_(weight_of(y, x, u)).to(w), set_(bias_of(y, x, u)).to(literal(zeros))))


@hosted()
def zeros_for(w: Fact, window: ConvWindow) -> Any:
    """The bias of a convolution that has none, if it may be joined."""
    return absent_bias(w, ABSENT, window, 0) if may_join(w, w, window) else None


@hosted()
def channel_parts(*weights: Fact) -> tuple[Slices, ...] | None:
    """Per weight the slice of the joint convolution that is its own; None where kernels differ."""
    start, found, first = 0, [], weights[0].shape
    for weight in weights:
        shape = static_shape(weight)
        if shape is None or first is None or shape[1:] != first[1:] or weight.dtype != weights[0].dtype:
            return None
        found.append(((1, start, start + shape[0], 1),))
        start += shape[0]
    return tuple(found)


def _list_of(*items: Any) -> Any:
    answer: Any = nil()
    for entry in reversed(items):
        answer = cons(entry, answer)
    return answer


def _joined(x: Any, window: Any, s: Any, *convolutions: tuple[Any, Any, Any]) -> tuple[Equal, ...]:
    """Every convolution (its result, weight and bias) is a part of one."""
    outputs, weights, biases = zip(*convolutions, strict=True)
    axis = PyObject(0)
    whole = conv(x, concat(_list_of(*weights), axis), concat(_list_of(*biases), axis), window)
    return tuple(Equal(y, slice_(whole, PyObject(part)(s, PyObject(k)))) for k, y in enumerate(outputs))


def _original(y: Any, x: Any, u: Any, w: Any, b: Any, *, k: Any) -> tuple[Any, ...]:
    known = (eq(w).to(weight_of(y, x, u)), eq(b).to(bias_of(y, x, u)))
    return (*known, eq(superseded(y)).to(0), eq(y).to(node(k)))


def _examples(rng: np.random.Generator, count: int) -> Iterator[Example]:
    for shape, kernel, window in (
        (("N", 3, 5, "L"), (3, 3), RING),
        ((2, 3, 7), (2,), ConvWindow((2,), (1, 0), (2,))),
    ):
        g = Operands(rng)
        x = g.input(shape)
        biases = [g.random(4), none(), g.random(6)]
        several = [conv(x, g.random(4 + k, 3, *kernel), biases[k], window) for k in range(count)]
        yield g.fires(concat(listed(*several), 1))
    g = Operands(rng)
    x, y = g.input((1, 3, 5, 5)), g.input((1, 3, 5, 5))

    def joined(images: tuple[Any, ...], windows: tuple[ConvWindow, ...], *kernels: Any) -> Any:
        pairs = zip(images, kernels, windows, strict=True)
        return concat(listed(*(conv(i, w, none(), u) for i, w, u in pairs)), 1)

    same = (g.random(4, 3, 1, 1), g.random(4, 3, 1, 1))
    yield g.near_miss(joined((x, y), (PLAIN, PLAIN), *same), why="two images")
    yield g.near_miss(joined((x, x), (PLAIN, RING), same[0], g.random(4, 3, 3, 3)), why="two windows")
    free = g.input((4, 3, 1, 1)), g.input((4, 3, 1, 1))
    yield g.near_miss(joined((x, x), (PLAIN, PLAIN), *free), why="the weights are no constants")
    groups = ConvWindow((1, 1), (0,) * 4, (1, 1), 3)
    thin = g.random(3, 1, 1, 1), g.random(3, 1, 1, 1)
    yield g.near_miss(joined((x, x), (groups, groups), *thin), why="groups would be others")
    scaled = [binary("Mul", conv(x, w, none(), PLAIN), g.random(4, 1, 1)) for w in same]
    yield g.near_miss(concat(listed(*scaled), 1), why="they will take in a scale each")


def _pair_examples(rng: np.random.Generator) -> Iterator[Example]:
    yield from _examples(rng, 2)


@law("horizontal", numerics="reassociates", examples=_pair_examples)
def two_convolutions(
    x: Tensor, y: Tensor, z: Tensor, v: Tensor, w: Tensor, b: Tensor, c: Tensor, u: PyObject, i: i64, j: i64,
    s: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Conv(x, V, b), Conv(x, W, c) = parts of Conv(x, [V; W], [b; c]) for constants

    Source: TASO; operator fusion.
    """
    yield from members()
    found = (*_original(y, x, u, v, b, k=i), *_original(z, x, u, w, c, k=j), i < j, j < i + NEAR, ne(v).to(w))
    parts = let(s, channel_parts, fact(v), fact(w))
    yield rule(*found, *parts, then=_joined(x, u, s, (y, v, b), (z, w, c)))


def _triple_examples(rng: np.random.Generator) -> Iterator[Example]:
    yield from _examples(rng, 3)


@law("horizontal", numerics="reassociates", examples=_triple_examples)
def three_convolutions(
    x: Tensor, y: Tensor, z: Tensor, t: Tensor, v: Tensor, w: Tensor, m: Tensor, b: Tensor, c: Tensor,
    d: Tensor, u: PyObject, i: i64, j: i64, k: i64, s: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Conv(x, U, b), Conv(x, V, c), Conv(x, W, d) = parts of Conv(x, [U; V; W], [b; c; d]) for constants

    Source: TASO; operator fusion.
    """
    yield from members()
    members_of = (_original(y, x, u, v, b, k=i), _original(z, x, u, w, c, k=j), _original(t, x, u, m, d, k=k))
    near = (i < j, j < k, k < i + NEAR, ne(v).to(w), ne(w).to(m), ne(v).to(m))
    parts = let(s, channel_parts, fact(v), fact(w), fact(m))
    yield rule(
        *(f for facts in members_of for f in facts),
        *near,
        *parts,
        then=_joined(x, u, s, (y, v, b), (z, w, c), (t, m, d)),
    )
