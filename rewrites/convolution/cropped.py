"""What is cut off a convolution is not computed.

Slice(Conv(x, W, b)) -> Conv(x, W, b) with smaller pads, and larger strides where pixels are left out
Slice(f(Conv(x, W, b))) -> f(Conv(x, W, b))                  likewise
Slice(ConvTranspose(x, W, b)) -> ConvTranspose(x, W, b) with larger pads
Conv(Slice(x), W, b) -> Conv(x, W, b) with larger strides        for a kernel of 1

A causal convolution that pads both ends and cuts off one (TCN) pads one; upsamplers cut off both (EnCodec).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Settings, Slices, String, Tensor
from egraph_opt.operators import ConvWindow, cast, conv, conv_transpose, none, slice_
from egraph_opt.rewrites.conditions.operands import function_of, functions
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING
from egraph_opt.rewrites.slicing.slice import dim_at, taken_by

law = laws_of("convolution", numerics="reassociates", kind="fuse", serves="arithmetic")

ONE_WAY = "forgets what was computed in vain"


def _cut(entry: tuple[int, int, int | None, int], dim: Dim) -> tuple[int, int, int] | None:
    """How much is cut off in front and behind of an axis, and the step; None where that is not known."""
    _, start, end, step = entry
    if step < 1:
        return None
    if isinstance(dim, int):
        taken = taken_by(entry, dim)
        # Of several steps the last may end anywhere before the next: what is left over is stepped over.
        return (taken.start, max(dim - taken.start - len(taken) * step, 0), step) if taken else None
    behind = 0 if end is None else -end
    return (start, behind, step) if start >= 0 and behind >= 0 and (end is None or end < 0) else None


def _cuts(spec: Slices, y: Fact, axes: int) -> list[tuple[int, int, int, int]] | None:
    """Of each spatial axis that is cut its number, how much in front and behind, and the step."""
    found = []
    for entry in spec:
        cut = _cut(entry, dim_at(y, entry[0]))
        if cut is None or not 2 <= entry[0] < axes + 2:
            return None
        found.append((entry[0] - 2, *cut))
    return found


@hosted()
def cropped(window: ConvWindow, spec: Slices, y: Fact) -> ConvWindow | None:
    """The window of a convolution y that makes a slice of it; None where more is cut off than pads make."""
    axes = len(window.strides)
    cuts = _cuts(spec, y, axes)
    if cuts is None:
        return None
    pads, strides = list(window.pads), list(window.strides)
    for k, before, behind, step in cuts:
        pads[k] -= before * window.strides[k]
        pads[k + axes] -= behind * window.strides[k]
        strides[k] *= step
    return replace(window, pads=tuple(pads), strides=tuple(strides)) if min(pads) >= 0 else None


@hosted()
def has_room(x: Fact, w: Fact, window: ConvWindow) -> bool:
    """The kernel fits into an image of any size, so that there is a window left."""
    if x.shape is None or w.shape is None or len(x.shape) != len(w.shape):
        return False
    axes = len(window.strides)
    sizes = zip(
        x.shape[2:], w.shape[2:], window.dilations, window.pads[:axes], window.pads[axes:], strict=True
    )
    return all(
        isinstance(size, int) and max(symbolic.lower_bound(dim) or 0, 1) + before + behind > (size - 1) * step
        for dim, size, step, before, behind in sizes
    )


@hosted()
def cropped_more(window: ConvWindow, spec: Slices, y: Fact) -> ConvWindow | None:
    """The window of a transposed convolution y that makes a slice of it."""
    axes = len(window.strides)
    cuts = _cuts(spec, y, axes)
    if cuts is None or any(step != 1 for *_, step in cuts):
        return None
    pads = list(window.pads)
    for k, before, behind, _ in cuts:
        pads[k] += before
        pads[k + axes] += behind
    return replace(window, pads=tuple(pads))


@hosted()
def strides_over(window: ConvWindow, w: Fact, spec: Slices, x: Fact) -> ConvWindow | None:
    """The window of a kernel of 1 that steps over what a slice of x leaves out, from its first element on."""
    axes, strides = len(window.strides), list(window.strides)
    if w.shape is None or any(window.pads) or any(k != 1 for k in w.shape[2:]):
        return None
    for axis, start, end, step in spec:
        dim = dim_at(x, axis)
        if not 2 <= axis < axes + 2 or start != 0 or step < 2:
            return None
        if end is not None and not (
            isinstance(dim, int) and len(taken_by((axis, 0, end, step), dim)) == len(range(0, dim, step))
        ):
            return None
        strides[axis - 2] *= step
    return replace(window, strides=tuple(strides))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, row, w, b = g.input(("N", 4, 6, "L")), g.input((2, 4, "L")), g.random(5, 4, 3, 3), g.random(5)
    far, steps = ConvWindow((1, 1), (2, 1, 2, 2), (1, 1)), ConvWindow((2, 1), (2, 1, 3, 1), (1, 1))
    causal = ConvWindow((1,), (4, 4), (2,))
    yield from g.all_fire(
        slice_(conv(x, w, b, RING), ((2, 1, 5, 1),)),
        slice_(conv(x, w, b, far), ((2, 1, 7, 2), (3, 0, -1, 1))),
        slice_(conv(x, w, b, far), ((3, 1, None, 3),)),
        slice_(conv(x, w, b, steps), ((2, 1, 4, 1),)),
        slice_(conv(row, g.random(5, 4, 3), none(), causal), ((2, 0, -4, 1),)),
        slice_(conv(x, g.random(4, 1, 3, 3), none(), replace(RING, group=4)), ((2, 1, -1, 1),)),
        slice_(conv(x, w, b, RING), ((2, 0, 6, 2),)),
        slice_(conv(g.input(("N", 4, 6, 6)), w, b, PLAIN), ((2, 0, 3, 2),)),
        slice_(conv(g.input(("N", 4, 9, 6)), w, none(), RING), ((2, 1, 6, 4), (3, 0, 5, 4))),
    )
    yield from g.near_misses(
        (slice_(conv(g.input(("N", 4, 12, 6)), w, b, RING), ((2, 1, 6, 4),)), "two rows more would be made"),
        (slice_(conv(x, w, b, RING), ((2, 2, 6, 1),)), "more than its pads make"),
        (slice_(conv(x, w, b, RING), ((3, 1, -1, 1),)), "there may be no window left"),
        (slice_(conv(x, w, b, RING), ((3, 0, 4, 1),)), "how much is cut off is not known"),
        (slice_(conv(x, w, b, RING), ((1, 0, 4, 1),)), "channels"),
        (slice_(conv(x, w, b, PLAIN), ((2, 3, None, -1),)), "backwards"),
    )


@law(examples=_examples)
def slice_of_pixels(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices):
    """Slice(Conv(x, W, b)) = Conv(x, W, b) with smaller pads, and larger strides where pixels are left out"""
    y = conv(x, w, b, u)
    smaller = cropped(u, s, y)
    known = (kernel(has_room(x, w, smaller)), guard(varies(x)))
    yield rewrite(slice_(y, s), conv(x, w, b, smaller), *known, because=ONE_WAY)


def _function_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 4, 6, 5)), g.random(5, 4, 3, 3), g.random(5)
    made = conv(x, w, b, RING)
    yield from g.all_fire(
        slice_(relu(made), ((2, 1, 5, 1),)),
        slice_(relu(made), ((2, 0, None, 2), (3, 0, None, 2))),
        slice_(cast(made, TensorProto.FLOAT16), ((2, 0, 6, 3),)),
    )
    yield from g.near_misses(
        (slice_(relu(made), ((2, 2, 6, 1),)), "more than its pads make"),
        (slice_(relu(made), ((1, 0, 4, 1),)), "channels"),
        (slice_(relu(relu(made) + g.input((5,))), ((2, 1, 5, 1),)), "something else is between"),
    )


@law(examples=_function_examples, uses=(functions,))
def slice_of_function_of_pixels(
    x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices, op: String, f: Settings
):  # fmt: skip
    """Slice(f(Conv(x, W, b))) = f(Conv(x, W, b)) with the window of `slice_of_pixels`"""
    y = conv(x, w, b, u)
    smaller = cropped(u, s, y)
    known = (kernel(has_room(x, w, smaller)), guard(varies(x)))
    part = function_of(op, f, conv(x, w, b, smaller))
    yield rewrite(slice_(function_of(op, f, y), s), part, *known, because=ONE_WAY)


def _transposed_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, row, w, b = g.input(("N", 4, 6, "L")), g.input((2, 4, "L")), g.random(4, 5, 4, 4), g.random(5)
    twice = ConvWindow((2, 2), (0,) * 4, (1, 1))
    more = ConvWindow((2, 2), (1, 1, 1, 1), (1, 1), 1, (1, 0))
    yield from g.all_fire(
        slice_(conv_transpose(x, w, b, twice), ((2, 1, 13, 1), (3, 1, -1, 1))),
        slice_(conv_transpose(x, w, none(), more), ((2, 0, 12, 1), (3, 1, None, 1))),
        slice_(
            conv_transpose(row, g.random(4, 5, 3), none(), ConvWindow((2,), (0, 1), (1,))), ((2, 0, -1, 1),)
        ),
    )
    yield from g.near_misses(
        (slice_(conv_transpose(x, w, b, twice), ((2, 0, 14, 2),)), "every other pixel"),
        (slice_(conv_transpose(x, w, b, twice), ((1, 0, 2, 1),)), "channels"),
        (slice_(conv_transpose(x, w, b, twice), ((3, 0, 8, 1),)), "how much is cut off is not known"),
    )


@hosted()
def has_pixels_left(part: Fact) -> bool:
    """Something is left of each spatial axis where symbols are 1: onnxruntime makes no image of nothing."""
    ones = {name: 1 for dim in part.shape or () for name in symbolic.symbols(dim)}
    return part.is_symbolic and all(symbolic.evaluate(dim, ones) > 0 for dim in (part.shape or ())[2:])


@law(examples=_transposed_examples)
def slice_of_transposed(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices):
    """Slice(ConvTranspose(x, W, b)) = ConvTranspose(x, W, b) with larger pads"""
    y = conv_transpose(x, w, b, u)
    known = (kernel(has_pixels_left(slice_(y, s))), guard(varies(x)))
    yield rewrite(slice_(y, s), conv_transpose(x, w, b, cropped_more(u, s, y)), *known, because=ONE_WAY)


def _stride_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 4, 6, "L")), g.random(5, 4, 1, 1), g.random(5)
    yield from g.all_fire(
        conv(slice_(x, ((2, 0, 6, 2), (3, 0, None, 2))), w, b, PLAIN),
        conv(slice_(x, ((2, 0, 5, 2),)), w, none(), ConvWindow((1, 2), (0,) * 4, (1, 1))),
        conv(slice_(x, ((3, 0, None, 3),)), g.random(4, 2, 1, 1), none(), replace(PLAIN, group=2)),
    )
    yield from g.near_misses(
        (conv(slice_(x, ((2, 1, 6, 2),)), w, b, PLAIN), "the first is left out"),
        (conv(slice_(x, ((2, 0, 4, 2),)), w, b, PLAIN), "the last is left out"),
        (conv(slice_(g.input(("N", 4, 7, 3)), ((2, 0, 6, 3),)), w, b, PLAIN), "the last one is left out"),
        (conv(slice_(x, ((3, 0, -1, 2),)), w, b, PLAIN), "the last may be left out"),
        (conv(slice_(x, ((2, 0, 6, 2),)), g.random(5, 4, 2, 1), b, PLAIN), "the kernel sees two"),
        (conv(slice_(x, ((2, 0, 6, 2),)), w, b, RING), "it pads"),
    )


@law(examples=_stride_examples)
def slice_into_strides(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices):
    """Conv(Slice(x), W, b) = Conv(x, W, b) with larger strides, for a kernel of 1 and every n-th element"""
    strided = strides_over(u, w, s, x)
    yield rewrite(conv(slice_(x, s), w, b, u), conv(x, w, b, strided), guard(varies(x)), because=ONE_WAY)
