"""Channels in another order, as slices that are joined or go backwards, are in another order in the weight.

Conv(Concat(x[2:], x[:2]), W, b) -> Conv(Gather(x, i), W, b)              all channels of x
Conv(Concat(x[1::s], x[0::s], ..), W, b) -> Conv(x, F'(W), b)             all phases of x, see `folded_images`
Conv(x[:, ::-1], W, b) -> Conv(x, W[:, ::-1], b)
Gather(Conv(x, W, b), i) -> Conv(x, Gather(W, i), Gather(b, i))           along the channels
Shuffle(Conv(x, W, b)) -> Conv(x, Gather(W, i), Gather(b, i))             by views and a Transpose

So are images in BGR that were trained in RGB, and halves that changed places.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Permutation, Slices, Tensor, Tensors
from egraph_opt.operators import (
    ConvWindow,
    Literal,
    concat,
    conv,
    gather,
    literal,
    none,
    reshape,
    slice_,
    transpose,
)
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.channels import is_constant_bias, is_present
from egraph_opt.rewrites.convolution.folded_images import (
    FORGETS,
    folded,
    kernel_of_folded,
    takes_all_channels,
)
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.slicing.gather import from_front, indices_of
from egraph_opt.rewrites.slicing.phases import Fold, Phases, fold_of_phases, phase_lists, phases
from egraph_opt.rewrites.slicing.slice import dim_at, taken_by
from egraph_opt.rewrites.transposes.shuffled import Shuffle, shuffled

law = laws_of("convolution", numerics="reassociates", kind="fuse", serves="traffic")


def _indices(values: list[int]) -> Literal:
    return Literal(TensorProto.INT64, (len(values),), tuple(values))


@hosted()
def order_of_channels(x: Fact, specs: Phases) -> Literal | None:
    """The indices of x's channels in the order of its slices; None where some are missing or there twice."""
    dim = dim_at(x, 1)
    if (
        not isinstance(dim, int)
        or len(specs) < 2
        or any([axis for axis, *_ in spec] != [1] for spec in specs)
    ):
        return None
    order = [k for spec in specs for k in taken_by(spec[0], dim)]
    return _indices(order) if sorted(order) == list(range(dim)) and dim else None


class Shuffled(NamedTuple):
    """Phases in their order, and the indices that bring their channels into it."""

    fold: Fold
    order: Literal


@hosted()
def shuffled_phases(x: Fact, specs: Phases) -> Shuffled | None:
    """None where phases are missing, or are in order."""
    channels = dim_at(x, 1)
    if not specs or not isinstance(channels, int) or any(axis < 2 for axis, *_ in specs[0]):
        return None
    axes, places = [axis for axis, *_ in specs[0]], [tuple(start for _, start, *_ in spec) for spec in specs]
    whole = list(product(*(range(step) for *_, step in specs[0])))
    if sorted(places) != whole or any([axis for axis, *_ in spec] != axes for spec in specs):
        return None
    sorted_specs = tuple(specs[places.index(place)] for place in whole)
    fold = fold_of_phases.function(x, sorted_specs, 1)
    if fold is None or fold_of_phases.function(x, specs, 1) is not None:
        return None
    order = [places.index(place) * channels + k for place in whole for k in range(channels)]
    return Shuffled(fold, _indices(order))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 4, 4, 6)), g.input(("N", 3, 4, 6))

    def joined(*bounds: tuple[int, int], of: Any = x) -> Any:
        return concat(listed(*(slice_(of, ((1, a, b, 1),)) for a, b in bounds)), 1)

    def phase(row: int, column: int) -> Any:
        return slice_(y, ((2, row, 3 + row, 2), (3, column, 5 + column, 2)))

    w, halves = g.random(5, 4, 3, 2), ConvWindow((1, 1), (0,) * 4, (1, 1), 2)
    yield g.fires(conv(joined((2, 4), (0, 2)), w, none(), PLAIN))
    yield g.fires(conv(joined((2, 3), (1, 2), (0, 1), of=y), g.random(5, 3, 1, 1), g.random(5), PLAIN))
    corners = [phase(*corner) for corner in ((1, 1), (0, 0), (1, 0), (0, 1))]
    yield g.fires(conv(concat(listed(*corners), 1), g.random(5, 12, 1, 1), none(), PLAIN))
    yield from g.near_misses(
        (conv(joined((2, 4), (0, 1)), g.random(5, 3, 1, 1), none(), PLAIN), "one is missing"),
        (conv(joined((1, 4), (0, 2)), g.random(5, 5, 1, 1), none(), PLAIN), "one is there twice"),
        (conv(joined((2, 4), (0, 2)), g.random(6, 2, 1, 1), none(), halves), "groups would be others"),
        (conv(joined((2, 4), (0, 2)), g.input((5, 4, 3, 2)), none(), PLAIN), "the weight is no constant"),
        (conv(concat(listed(*corners[:3]), 1), g.random(5, 9, 1, 1), none(), PLAIN), "a phase is missing"),
    )


@law(uses=(phase_lists,), examples=_examples)
def slices_in_any_order(x: Tensor, xs: Tensors, s: Phases, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(Concat(slices of x), W, b) = Conv(Gather(x, i), W, b), or Conv(x, W', b) for all phases"""
    known = (eq(s, phases(xs, 1, x)), guard(takes_all_channels(w, u)))
    z, shuffled = conv(concat(xs, 1), w, b, u), shuffled_phases(x, s)
    image = gather(x, literal(order_of_channels(x, s)), 1)
    yield rewrite(z, conv(image, w, b, u), *known, because=FORGETS)
    fold = shuffled[0]
    new = kernel_of_folded(x, fold[0], fold[1], fold[2], w, u)
    kernel = folded(gather(w, literal(shuffled[1]), 1), new[0], new[1], new[2])
    yield rewrite(z, conv(x, kernel, b, new[3]), *known, because=FORGETS)


# --- backwards ------------------------------------------------------------------------------------------


@hosted()
def is_backwards(spec: Slices, x: Fact) -> bool:
    """All channels, the last one first."""
    dim = dim_at(x, 1)
    if len(spec) != 1 or spec[0][0] != 1 or not isinstance(dim, int):
        return False
    return dim > 1 and taken_by(spec[0], dim) == range(dim)[::-1]


def _backwards_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, halves = g.input(("N", 4, 3, "L")), ConvWindow((1, 1), (0,) * 4, (1, 1), 2)
    turned, other = slice_(x, ((1, 3, None, -1),)), slice_(x, ((1, 3, None, -2),))
    yield g.fires(conv(turned, g.random(5, 4, 2, 1), g.random(5), PLAIN))
    yield from g.near_misses(
        (conv(turned, g.random(6, 2, 1, 1), none(), halves), "groups would be others"),
        (conv(other, g.random(5, 2, 1, 1), none(), PLAIN), "every other one"),
        (conv(slice_(x, ((2, 2, None, -1),)), g.random(5, 4, 1, 1), none(), PLAIN), "rows"),
    )


@law(examples=_backwards_examples)
def channels_backwards(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices):
    """Conv(x[:, ::-1], W, b) = Conv(x, W[:, ::-1], b)"""
    known = (is_backwards(s, x), takes_all_channels(w, u), guard(varies(x)))
    yield rewrite(conv(slice_(x, s), w, b, u), conv(x, slice_(w, s), b, u), *known, because=FORGETS)


# --- behind ---------------------------------------------------------------------------------------------


@hosted()
def chooses(w: Fact, i: Fact, window: ConvWindow) -> Literal | None:
    """Indices in a row of channels that come out of a convolution without groups, from the front."""
    known = indices_of(i)
    if not takes_all_channels.function(w, window) or known is None or i.rank != 1 or not known:
        return None
    channels = dim_at(w, 0)
    front = from_front(known, channels) if isinstance(channels, int) else None
    return None if front is None else _indices(list(front))


@hosted()
def are_no_more(w: Fact, i: Literal) -> bool:
    """No channel is computed twice."""
    return len(set(i.values)) == len(i.values)


def _behind_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, some, all_ = (
        g.input(("N", 4, 3, "L")),
        g.constant(np.array([2, -1])),
        g.constant(np.array([2, 0, 3, 1, 4])),
    )
    halves, w = ConvWindow((1, 1), (0,) * 4, (1, 1), 2), g.random(5, 4, 2, 1)
    for bias in (none(), g.random(5)):
        yield g.fires(gather(conv(x, w, bias, PLAIN), some, 1))
        yield g.fires(gather(conv(x, w, bias, PLAIN), all_, 1))
    yield from g.near_misses(
        (gather(conv(x, g.random(6, 2, 1, 1), none(), halves), some, 1), "groups would be others"),
        (gather(conv(x, g.input((5, 4, 2, 1)), none(), PLAIN), some, 1), "the weight is no constant"),
        (gather(conv(x, w, none(), PLAIN), g.constant(np.array([0, 1])), 2), "rows"),
        (gather(conv(x, w, none(), PLAIN), g.constant(np.array([0, 0, 1])), 1), "one is computed twice"),
    )


@law(serves="arithmetic", examples=_behind_examples)
def chosen_channels(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, i: Tensor):
    """Gather(Conv(x, W, b), i) = Conv(x, Gather(W, i), Gather(b, i)) along the channels"""
    chosen = chooses(w, i, u)
    rows, once = literal(chosen), guard(are_no_more(w, chosen), varies(x))
    for bias, known in ((none(), ()), (b, (is_present(b), guard(is_constant_bias(b, w))))):
        new = none() if not known else gather(b, rows, 0)
        left = gather(conv(x, w, bias, u), i, 1)
        yield rewrite(left, conv(x, gather(w, rows, 0), new, u), once, *known, because="forgets the others")


@hosted()
def is_of_channels(shuffle: Shuffle) -> bool:
    return shuffle.axis == 1


def _shuffles(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b, apart = g.input(("N", 4, 2, "L")), g.random(6, 4, 1, 1), g.random(6), ("N", 2, 3, 2, "L")

    def shuffle(y: Any, dims: Any = apart, p: Any = (0, 2, 1, 3, 4)) -> Any:
        return reshape(transpose(reshape(y, dims), p), ("N", 6, 2, "L"))

    for bias in (none(), b):
        yield g.fires(shuffle(conv(x, w, bias, PLAIN)))
    halves = ConvWindow((1, 1), (0,) * 4, (1, 1), 2)
    for bias in (none(), b):
        yield from g.near_misses(
            (shuffle(conv(x, g.random(6, 2, 1, 1), bias, halves)), "groups would be others"),
            (shuffle(conv(x, w, bias, PLAIN), ("N", 6, 2, 1, "L"), (0, 1, 3, 2, 4)), "rows stay as they are"),
        )
        rows = conv(g.input((1, 4, 6, 6)), w, bias, PLAIN)
        turned = transpose(reshape(rows, (1, 6, 2, 3, 6)), (0, 1, 3, 2, 4))
        yield g.near_miss(reshape(turned, (1, 6, 6, 6)), "rows change places")


@law(examples=_shuffles, source="ShuffleNet, arXiv 1707.01083")
def shuffled_channels(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, d: Dims, p: Permutation, e: Dims):
    """Shuffle(Conv(x, W, b)) = Conv(x, Gather(W, i), Gather(b, i)) for Reshape(Transpose(Reshape(..)))"""
    for bias, known in ((none(), ()), (b, (is_present(b), guard(is_constant_bias(b, w))))):
        y = conv(x, w, bias, u)
        z = reshape(transpose(reshape(y, d), p), e)
        how = shuffled(y, d, p, z)
        rows = literal(how[1])
        new = none() if not known else gather(b, rows, 0)
        sound = (is_of_channels(how), takes_all_channels(w, u), guard(varies(x)))
        yield rewrite(z, conv(x, gather(w, rows, 0), new, u), *sound, *known, because="forgets the order")
