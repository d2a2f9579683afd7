"""Concatenations of convolutions that share something, and parts of convolutions.

Concat(Conv(x, W, b), Conv(y, W, b), ..) = Conv(Concat(x, y, ..), W, b)                    batches
Concat(Conv(x, V, b), Conv(x, W, c), ..) = Conv(x, Concat(V, W, ..), Concat(b, c, ..))     channels
Concat(Conv(x, V, b), Conv(y, W, c)) = Conv(Concat(x, y), Concat(V, W), Concat(b, c))      in groups
Slice(Conv(x, W, b)) = Conv(Slice(x), W, b), or Conv(x, Slice(W), Slice(b))

Slices move where what is sliced is a Slice or a Concat itself.  See `concat` on how lists are walked.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import Equal, PyObject, closure, eq, guard, holds, let, ne, rewrite, rule, set_
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import ConvWindow, concat, conv, literal, none, slice_, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.sorts import Slices
from egraph_opt.operators.terms import Tensor, Tensors, cons, fact, facts, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.arithmetic.associativity import all_vary
from egraph_opt.rewrites.arithmetic.distributivity import are_constant, pair_of, same_type
from egraph_opt.rewrites.conditions.channels import absent_bias, is_absent, is_present
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING
from egraph_opt.rewrites.linear.joined_products import differ_along
from egraph_opt.rewrites.slicing.concat import listed, listing
from egraph_opt.rewrites.slicing.joined_pairs import joined, pairs
from egraph_opt.rewrites.slicing.movement import asked, asking_rules

BATCH, CHANNELS = PyObject(0), PyObject(1)

# --- batches --------------------------------------------------------------------------------------------


@egglog.function(egg_fn="joined_images", merge=lambda old, new: old)
def images(xs: Tensors, w: Tensor, b: Tensor, window: PyObject) -> Tensors:
    """The images of a list of convolutions that have weight, bias and window in common."""


@hosted(default=False)
def differ_in_batch(xs: tuple[Fact, ...]) -> bool:
    return differ_along(xs, 0)


def _batch_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 2, 5, 4)), g.input((2, 2, 5, 4)), g.input(("L", 2, 5, 4))
    w = g.input((3, 2, 3, 3))
    for b in (none(), g.random(3)):
        yield g.fires(concat(terms(*(conv(i, w, b, RING) for i in (x, y, z))), 0))
    pair = [conv(i, w, none(), RING) for i in (x, y)]
    yield g.near_miss(concat(terms(pair[0], conv(y, w, g.random(3), RING)), 0), why="one has a bias")
    yield g.near_miss(
        concat(terms(pair[0], conv(y, g.random(3, 2, 3, 3), none(), RING)), 0), why="two weights"
    )
    yield g.near_miss(concat(terms(pair[0], pair[0]), 1), why="joined along the channels")
    thin = conv(g.input(("N", 2, 6, 4)), g.random(3, 2, 3, 3), none(), ConvWindow((2, 1), (1,) * 4, (1, 1)))
    yield g.near_miss(unary("Relu", (), thin), why="one convolution")


@law("joining", numerics="reassociates", examples=_batch_examples)
def convolutions_of_one_weight(
    x: Tensor, y: Tensor, w: Tensor, b: Tensor, u: PyObject, xs: Tensors, ys: Tensors, rest: Tensors
) -> Iterator[Any]:
    """Concat(Conv(x, W, b), Conv(y, W, b), ..) = Conv(Concat(x, y, ..), W, b) along the batch

    Source: TASO.
    """
    yield from listing()
    last = (listed(xs, BATCH), eq(xs).to(cons(conv(x, w, b, u), nil())))
    yield closure(*last, then=set_(images(xs, w, b, u)).to(cons(x, nil())))
    more = (listed(xs, BATCH), eq(xs).to(cons(conv(x, w, b, u), rest)), eq(ys).to(images(rest, w, b, u)))
    yield closure(*more, then=set_(images(xs, w, b, u)).to(cons(x, ys)))
    found = (eq(y).to(concat(xs, BATCH)), eq(ys).to(images(xs, w, b, u)), holds(differ_in_batch, facts(ys)))
    yield rule(*found, then=Equal(y, conv(concat(ys, BATCH), w, b, u)))


# --- channels -------------------------------------------------------------------------------------------


@egglog.function(egg_fn="joined_kernels", merge=lambda old, new: old)
def kernels(xs: Tensors, x: Tensor, window: PyObject, biased: PyObject) -> Tensors:
    """The weights of a list of convolutions of one image with one window."""


@egglog.function(egg_fn="joined_biases", merge=lambda old, new: old)
def biases(xs: Tensors, x: Tensor, window: PyObject) -> Tensors:
    """The biases of such a list, zeros for those that are absent."""


@hosted(default=False)
def form_one_kernel(ws: tuple[Fact, ...], window: ConvWindow) -> bool:
    """Weights without groups that differ in the channels that come out only."""
    return window.group == 1 and len(ws) >= 2 and differ_along(ws, 0)


@hosted(default=False)
def some_differ_from_zero(bs: tuple[Fact, ...]) -> bool:
    return any(b.splat != 0 for b in bs)


def _channel_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, v, w = g.input(("N", 2, 5, "L")), g.input((3, 2, 3, 3)), g.random(4, 2, 3, 3)
    yield g.fires(concat(terms(conv(x, v, none(), RING), conv(x, w, none(), RING)), 1))
    yield g.fires(concat(terms(conv(x, v, g.random(3), RING), conv(x, w, none(), RING)), 1))
    three = [conv(x, g.random(k, 2, 3, 3), g.random(k), RING) for k in (1, 2, 3)]
    yield g.fires(concat(terms(*three), 1))
    other = conv(g.input(("N", 2, 5, "L")), w, none(), RING)
    yield g.near_miss(concat(terms(conv(x, v, none(), RING), other), 1), why="two images")
    small = conv(x, g.random(4, 2, 1, 1), none(), PLAIN)
    yield g.near_miss(concat(terms(conv(x, v, none(), RING), small), 1), why="two windows")
    halves = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1), 2)
    grouped = [conv(x, g.random(4, 1, 3, 3), none(), halves) for _ in range(2)]
    yield g.near_miss(concat(terms(*grouped), 1), why="groups would be others")
    yield g.near_miss(concat(terms(*(conv(x, w, none(), RING),) * 2), 0), why="along the batch")


@law("joining", numerics="reassociates", examples=_channel_examples)
def convolutions_of_one_image(
    x: Tensor, y: Tensor, w: Tensor, b: Tensor, u: PyObject, xs: Tensors, ws: Tensors, bs: Tensors,
    rest: Tensors, zeros: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Concat(Conv(x, V, b), Conv(x, W, c), ..) = Conv(x, Concat(V, W, ..), Concat(b, c, ..)) along channels

    Source: TASO.
    """
    yield from listing()
    bare, biased = PyObject(False), PyObject(True)
    last, more = eq(xs).to(cons(y, nil())), eq(xs).to(cons(y, rest))
    absent = eq(y).to(conv(x, w, none(), u))
    present = (eq(y).to(conv(x, w, b, u)), holds(is_present, fact(b)))
    zero = (absent, *let(zeros, absent_bias, fact(w), fact(none()), u, PyObject(0)))
    yield closure(listed(xs, CHANNELS), last, absent, then=set_(kernels(xs, x, u, bare)).to(cons(w, nil())))
    rest_of = eq(ws).to(kernels(rest, x, u, bare))
    longer = set_(kernels(xs, x, u, bare)).to(cons(w, ws))
    yield closure(listed(xs, CHANNELS), more, absent, rest_of, then=longer)
    rest_of_both = (eq(ws).to(kernels(rest, x, u, biased)), eq(bs).to(biases(rest, x, u)))
    for asked_of, bias in ((present, b), (zero, literal(zeros))):
        first = (
            set_(kernels(xs, x, u, biased)).to(cons(w, nil())),
            set_(biases(xs, x, u)).to(cons(bias, nil())),
        )
        yield closure(listed(xs, CHANNELS), last, *asked_of, then=first)
        both = (set_(kernels(xs, x, u, biased)).to(cons(w, ws)), set_(biases(xs, x, u)).to(cons(bias, bs)))
        yield closure(listed(xs, CHANNELS), more, *asked_of, *rest_of_both, then=both)
    found = eq(y).to(concat(xs, CHANNELS))
    known = (eq(ws).to(kernels(xs, x, u, bare)), holds(form_one_kernel, facts(ws), u))
    yield rule(found, *known, then=Equal(y, conv(x, concat(ws, BATCH), none(), u)))
    known = (eq(ws).to(kernels(xs, x, u, biased)), holds(form_one_kernel, facts(ws), u))
    joined = conv(x, concat(ws, BATCH), concat(bs, BATCH), u)
    some = (eq(bs).to(biases(xs, x, u)), *guard(holds(some_differ_from_zero, facts(bs))))
    yield rule(found, *known, *some, then=Equal(y, joined))


# --- groups ---------------------------------------------------------------------------------------------


@hosted()
def doubled(x: Fact, y: Fact, v: Fact, w: Fact, window: ConvWindow) -> ConvWindow | None:
    """The window of two convolutions as one with twice the groups: images and weights are of one type."""
    return replace(window, group=2 * window.group) if same_type(x, y) and same_type(v, w) else None


def _group_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, v, w = g.input(("N", 4, 5, 4)), g.input(("N", 4, 5, 4)), g.random(6, 4, 3, 3), g.random(6, 4, 3, 3)
    halves = ConvWindow((2, 1), (1, 0, 1, 1), (1, 1), 2)
    yield g.fires(concat(terms(conv(x, v, none(), RING), conv(y, w, none(), RING)), 1))
    yield g.fires(concat(terms(conv(x, v, g.random(6), RING), conv(y, w, g.random(6), RING)), 1))
    pair = [conv(i, g.random(6, 2, 3, 3), none(), halves) for i in (x, y)]
    yield g.fires(concat(terms(*pair), 1))
    free = [conv(i, g.input((6, 4, 3, 3)), none(), RING) for i in (x, y)]
    yield g.near_miss(concat(terms(*free), 1), why="the weights are no constants")
    fewer = conv(y, g.random(4, 4, 3, 3), none(), RING)
    yield g.near_miss(concat(terms(conv(x, v, none(), RING), fewer), 1), why="groups of two sizes")
    thin = conv(g.input(("N", 2, 5, 4)), g.random(6, 2, 3, 3), none(), RING)
    yield g.near_miss(concat(terms(conv(x, v, none(), RING), thin), 1), why="images of two types")


@law("joining", numerics="reassociates", examples=_group_examples)
def convolutions_in_groups(
    x: Tensor, y: Tensor, v: Tensor, w: Tensor, b: Tensor, c: Tensor, p: Tensor, q: Tensor, z: Tensor,
    u: PyObject, t: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Concat(Conv(x, V, b), Conv(y, W, c)) = Conv(Concat(x, y), Concat(V, W), Concat(b, c)) in two groups

    Source: TASO.
    """
    yield from pairs()
    window = let(t, doubled, fact(x), fact(y), fact(v), fact(w), u)
    worth = guard(holds(are_constant, fact(v), fact(w)), ne(x).to(y))
    image, weight = concat(pair_of(x, y), CHANNELS), concat(pair_of(v, w), BATCH)
    found = eq(z).to(joined(p, q, CHANNELS))
    bare = (eq(p).to(conv(x, v, none(), u)), eq(q).to(conv(y, w, none(), u)))
    yield rule(found, *bare, *window, *worth, then=Equal(z, conv(image, weight, none(), t)))
    biased = (eq(p).to(conv(x, v, b, u)), eq(q).to(conv(y, w, c, u)))
    present = (holds(is_present, fact(b)), holds(is_present, fact(c)))
    whole = conv(image, weight, concat(pair_of(b, c), BATCH), t)
    yield rule(found, *biased, *present, *window, *worth, then=Equal(z, whole))


# --- parts ----------------------------------------------------------------------------------------------


@hosted(default=False)
def cuts_batch(spec: Slices) -> bool:
    return len(spec) == 1 and spec[0][0] == 0


@hosted()
def slice_of_weight(spec: Slices, window: ConvWindow) -> Slices | None:
    """The slice of the weight that makes a slice of channels, of which there are no groups."""
    return ((0, *spec[0][1:]),) if len(spec) == 1 and spec[0][0] == 1 and window.group == 1 else None


@hosted(default=False)
def is_ungrouped(window: ConvWindow) -> bool:
    return window.group == 1


def asking_convolutions() -> Iterator[Any]:
    """Convolutions of what is a Slice or a Concat are sliced like it; see `slice_movement.asking_rules`."""
    yield from asking_rules()
    x, y, w, b = (egglog.var(name, Tensor) for name in "xywb")
    u = egglog.var("u", PyObject)
    convolution = eq(y).to(conv(x, w, b, u))
    yield closure(convolution, asked(x, BATCH), then=asked(y, BATCH))
    varying = (asked(w, BATCH), holds(all_vary, fact(w)), holds(is_ungrouped, u))
    yield closure(convolution, *varying, then=asked(y, CHANNELS))


def _slice_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, w = g.input(("N", 2, 5, 4)), g.input((3, 2, 5, 4)), g.input((3, 2, 3, 3))
    for b in (none(), g.random(3)):
        yield g.fires(slice_(conv(concat(terms(y, x), 0), w, b, RING), ((0, 0, 3, 1),)))
    weight = concat(terms(w, g.random(4, 2, 3, 3)), 0)
    constant = concat(terms(g.random(3, 2, 3, 3), g.random(4, 2, 3, 3)), 0)
    yield g.near_miss(slice_(conv(x, constant, none(), RING), ((1, 3, 7, 1),)), why="constants are folded")
    yield g.fires(slice_(conv(x, weight, none(), RING), ((1, 3, 7, 1),)))
    yield g.fires(slice_(conv(x, weight, g.random(7), RING), ((1, 1, 5, 1),)))
    behind = conv(conv(concat(terms(y, x), 0), w, none(), RING), g.random(1, 3, 1, 1), none(), PLAIN)
    yield g.fires(slice_(behind, ((0, 0, 3, 1),)))
    yield g.near_miss(slice_(conv(x, w, none(), RING), ((1, 0, 2, 1),)), why="nothing is to be taken apart")
    yield g.near_miss(slice_(conv(x, weight, none(), RING), ((2, 0, 2, 1),)), why="rows of the image")
    halves = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1), 2)
    grouped = concat(terms(g.random(2, 1, 3, 3), g.random(4, 1, 3, 3)), 0)
    yield g.near_miss(slice_(conv(x, grouped, none(), halves), ((1, 0, 2, 1),)), why="groups would be others")


@law("joining", numerics="reassociates", examples=_slice_examples)
def slice_of_convolution(
    x: Tensor, w: Tensor, b: Tensor, u: PyObject, s: PyObject, t: PyObject
) -> Iterator[Any]:
    """Slice(Conv(x, W, b)) = Conv(Slice(x), W, b), or Conv(x, Slice(W), Slice(b)), where there is one above

    Source: TASO.
    """
    yield from asking_convolutions()
    of_batch = (holds(cuts_batch, s), guard(asked(x, BATCH)))
    yield rewrite(slice_(conv(x, w, b, u), s), conv(slice_(x, s), w, b, u), *of_batch)
    of_weight = (*let(t, slice_of_weight, s, u), *guard(asked(w, BATCH), holds(all_vary, fact(w))))
    bare, there = holds(is_absent, fact(b)), holds(is_present, fact(b))
    yield rewrite(slice_(conv(x, w, b, u), s), conv(x, slice_(w, t), b, u), *of_weight, bare)
    yield rewrite(slice_(conv(x, w, b, u), s), conv(x, slice_(w, t), slice_(b, t), u), *of_weight, there)
