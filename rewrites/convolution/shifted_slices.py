"""Shifted slices of an image, joined along the channels in front of a kernel of 1, are neighbours of a pixel.

Conv(Concat(x[.., a:b], x[.., a + d:b + d], ..), W, b) -> Conv(x[.., a:b + n * d], W', b; dilation d)

Each part of W is one element of the kernel W', in whatever order the slices are.  None is missing: a 0 there
would make NaN of an infinite pixel that no slice has.  So networks of speech splice frames (Kaldi), and so
convolutions are written as an im2col.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Dims, Permutation, Slices, Tensor, Tensors
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
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.channels import is_float_constant, static_shape
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.slicing.concat import listing, operands_of
from egraph_opt.rewrites.slicing.phases import Phases, first_phase, more_phases
from egraph_opt.rewrites.slicing.slice import taken_by


@table(merge="first")
def shifts(xs: Tensors, x: Tensor) -> Phases:
    """Of what parts of an image x a list consists that is joined along the channels."""


@hosted()
def cuts_pixels(spec: Slices, axis: Axis) -> bool:
    return axis == 1 and bool(spec) and all(a > 1 and step > 0 for a, _, _, step in spec)


@auxiliary(listing)
def shifted_lists(x: Tensor, xs: Tensors, rest: Tensors, s: Slices, more: Phases, a: Axis):
    """Fills `shifts`."""
    first = (operands_of(xs, a), eq(xs, cons(slice_(x, s), rest)), cuts_pixels(s, a))
    yield rule(first, eq(rest, nil()), then=assign(shifts(xs, x), first_phase(s)))
    yield rule(first, eq(more, shifts(rest, x)), then=assign(shifts(xs, x), more_phases(s, more)))


class Along(NamedTuple):
    """Of slices along one axis: the part that all of them see, where each begins, the step of all of them."""

    hull: tuple[int, int | None]
    starts: tuple[int, ...]
    step: int


def _along(axis: int, specs: Phases, dim: Dim) -> Along | None:
    """None where slices are of different lengths, or these are not known to be one."""
    whole = (axis, 0, None, 1)
    entries = [next((e for e in spec if e[0] == axis), whole) for spec in specs]
    if isinstance(dim, int):
        taken = [taken_by(entry, dim) for entry in entries]
        steps, lengths = {t.step for t in taken}, {len(t) for t in taken}
        if len(steps) != 1 or len(lengths) != 1 or 0 in lengths:
            return None
        starts = tuple(t[0] for t in taken)
        return Along((min(starts), max(t[-1] for t in taken) + 1), starts, steps.pop())
    behind = [0 if end is None else -end for _, _, end, _ in entries]
    starts = tuple(start for _, start, _, _ in entries)
    known = all(end is None or end < 0 for _, _, end, _ in entries) and min(starts) >= 0
    alike = len({a + b for a, b in zip(starts, behind, strict=True)}) == 1
    if not known or not alike or any(step != 1 for *_, step in entries):
        return None
    return Along((min(starts), -min(behind) or None), starts, 1)


class Kernel(NamedTuple):
    """How parts of a weight become elements of a kernel.

    Attributes:
        parts, swap: the dims [M, slices, C] of the weight, and C and the slices in each other's place.
        places: which slice each element of the kernel sees.
        dims: those of the kernel.
        hull, window: which part of the image it walks over, and how.
    """

    parts: Dims
    swap: Permutation
    places: Literal
    dims: Dims
    hull: Slices
    window: ConvWindow


@hosted()
def kernel_of_slices(x: Fact, specs: Phases, w: Fact, window: ConvWindow) -> Kernel | None:
    """None where the kernel is no constant of one element, or a slice is there twice or missing."""
    shape, axes = static_shape(w), len(window.strides)
    if x.shape is None or shape is None or not is_float_constant(w) or not len(x.shape) == axes + 2 == w.rank:
        return None
    channels, count = x.shape[1], len(specs)
    if window.group != 1 or any(window.pads) or any(k != 1 for k in shape[2:]) or count < 2:
        return None
    if not isinstance(channels, int) or channels * count != shape[1] or 0 in shape:
        return None
    found = [_along(k + 2, specs, x.shape[k + 2]) for k in range(axes)]
    if None in found:
        return None
    along = [a for a in found if a is not None]
    units = [math.gcd(*(s - a.hull[0] for s in a.starts)) or 1 for a in along]
    sizes = [(max(a.starts) - a.hull[0]) // unit + 1 for a, unit in zip(along, units, strict=True)]
    places = [
        tuple((a.starts[k] - a.hull[0]) // unit for a, unit in zip(along, units, strict=True))
        for k in range(count)
    ]
    if sorted(places) != list(product(*map(range, sizes))):
        return None
    return Kernel(
        (shape[0], count, channels),
        (0, 2, 1),
        Literal(TensorProto.INT64, (count,), tuple(map(places.index, sorted(places)))),
        (shape[0], channels, *sizes),
        tuple((k + 2, *a.hull, 1) for k, a in enumerate(along)),
        replace(
            window,
            strides=tuple(a.step * s for a, s in zip(along, window.strides, strict=True)),
            dilations=tuple(units),
        ),
    )


def _spliced(x: Any, *specs: Slices) -> Any:
    return concat(listed(*(slice_(x, spec) for spec in specs)), 1)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    frames, image, line = g.input(("N", 3, "L")), g.input(("N", 2, 6, 7)), ConvWindow((1,), (0, 0), (1,))
    steps = ConvWindow((2, 1), (0,) * 4, (1, 1))
    three = _spliced(frames, ((2, 0, -4, 1),), ((2, 2, -2, 1),), ((2, 4, None, 1),))
    turned = _spliced(frames, ((2, 4, -1, 1),), ((2, 1, -4, 1),), ((2, 2, -3, 1),), ((2, 3, -2, 1),))
    w, square = g.random(4, 9, 1), [(i, k) for i in range(2) for k in range(3)]
    block = _spliced(image, *(((2, i, i + 5, 1), (3, k, k + 5, 1)) for i, k in square))
    leaps = _spliced(image, *(((2, i, i + 4, 1), (3, k, k + 4, 2)) for k, i in square))
    corner = _spliced(image, *(((2, i, i + 4, 1), (3, k, k + 4, 1)) for i, k in square[:3] + square[4:]))
    yield from g.all_fire(
        conv(three, w, g.random(4), line),
        conv(turned, g.random(4, 12, 1), none(), line),
        conv(three, w, none(), replace(line, strides=(2,))),
        conv(block, g.random(5, 12, 1, 1), g.random(5), PLAIN),
        conv(block, g.random(5, 12, 1, 1), none(), steps),
        conv(leaps, g.random(5, 12, 1, 1), none(), PLAIN),
    )
    far = _spliced(frames, ((2, 0, -3, 1),), ((2, 1, -2, 1),), ((2, 3, None, 1),))
    ends = _spliced(frames, ((2, 0, 4, 1),), ((2, 2, 6, 1),), ((2, 4, 8, 1),))
    twice = _spliced(frames, ((2, 0, -1, 1),), ((2, 1, None, 1),), ((2, 0, -1, 1),))
    other = slice_(g.input(("N", 3, "L")), ((2, 4, None, 1),))
    mixed = concat(listed(*(slice_(frames, s) for s in (((2, 0, -4, 1),), ((2, 2, -2, 1),))), other), 1)
    yield from g.near_misses(
        (conv(three, g.random(4, 9, 2), none(), line), "the kernel sees neighbours itself"),
        (conv(three, w, none(), replace(line, pads=(1, 1))), "zeros beside what is joined"),
        (conv(three, g.random(6, 3, 1), none(), replace(line, group=3)), "groups"),
        (conv(three, g.input((4, 9, 1)), none(), line), "the weight is no constant"),
        (conv(far, w, none(), line), "one is missing: 0 times infinity"),
        (conv(corner, g.random(5, 10, 1, 1), none(), PLAIN), "one of a block is missing"),
        (conv(ends, w, none(), line), "it is not known where they end"),
        (conv(twice, w, none(), line), "one slice twice"),
        (conv(mixed, w, none(), line), "two images"),
    )


@law(
    "convolution",
    numerics="reassociates",
    kind="merge",
    serves="traffic",
    source="Kaldi, splicing of frames; im2col",
    uses=(shifted_lists,),
    examples=_examples,
)
def of_shifted_slices(x: Tensor, xs: Tensors, s: Phases, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(Concat(shifted slices of x), W, b) = Conv(Slice(x), W', b) with an element of W' for each slice"""
    how = kernel_of_slices(x, s, w, u)
    parts = transpose(reshape(w, how[0]), how[1])
    kernel = reshape(gather(parts, literal(how[2]), 2), how[3])
    whole = conv(slice_(x, how[4]), kernel, b, how[5])
    found = (eq(s, shifts(xs, x)), guard(varies(x)))
    yield rewrite(conv(concat(xs, 1), w, b, u), whole, *found, because="forgets that they were slices")
