"""Convolutions and pools: sums, means and maxima over a window.

Of an image in which no window fits by less than a stride the result has no elements, by the formula of its
length; whether a runtime has a kernel for that is another question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import z3

from egraph_opt.operators.linear import ConvWindow
from egraph_opt.operators.windows import PoolWindow
from egraph_opt.semantics.folds import real_product, sum_in
from egraph_opt.semantics.polynomials import divided
from egraph_opt.semantics.taken_types import taken_by
from egraph_opt.semantics.values import Index, Value, is_number, means, number


def any_window(scene: Any, given: dict[str, Any]) -> ConvWindow:
    """Any strides, pads and dilations; one group, or one of symbolic count."""
    axes = given["x"].rank - 2
    scene.must(axes >= 1)
    strides, dilations = ([scene.whole(name) for _ in range(axes)] for name in ("stride", "dilation"))
    pads = [scene.whole("pad") for _ in range(2 * axes)]
    scene.must(z3.And([*(v >= 1 for v in (*strides, *dilations)), *(p >= 0 for p in pads)]))
    group: Any = 1
    if scene.choose(2):
        formula = scene.whole("group")
        scene.must(formula >= 2)
        group = scene.plain(formula)
    plain = lambda values: tuple(map(scene.plain, values))  # noqa: E731
    return ConvWindow(plain(strides), plain(pads), plain(dilations), group)


def _length(dim: z3.ArithRef, pads: z3.ArithRef, extent: z3.ArithRef, stride: z3.ArithRef) -> z3.ArithRef:
    """How many windows fit."""
    room = dim + pads - extent
    if is_number(stride, 1):
        return z3.simplify(room + 1)
    return z3.simplify(room / stride + 1)


def _sides(pads: Sequence[z3.ArithRef]) -> list[tuple[z3.ArithRef, z3.ArithRef]]:
    half = len(pads) // 2
    return list(zip(pads[:half], pads[half:], strict=True))


@means("conv", window=any_window)
def conv(scene: Any, x: Value, w: Value, b: Value | None, window: ConvWindow) -> Value:
    axes = x.rank - 2
    scene.must(axes >= 1 and w.rank == x.rank and len(window.strides) == axes)
    scene.alike(x.dtype, w.dtype)
    scene.among(x.dtype, taken_by("Conv"))
    strides, dilations = (list(map(scene.formula, v)) for v in (window.strides, window.dilations))
    sides, group = _sides(list(map(scene.formula, window.pads))), scene.formula(window.group)
    kernel, filters, own = w.shape[2:], w.shape[0], w.shape[1]
    single = is_number(group, 1)
    scene.must(x.shape[1] == own * group)
    each = filters if single else scene.share(filters, group)
    if b is not None:
        scene.must(b.rank == 1)
        scene.alike(x.dtype, b.dtype)
        scene.must(b.shape[0] == filters)
    dims = []
    for dim, (front, behind), k, s, d in zip(x.shape[2:], sides, kernel, strides, dilations, strict=True):
        extent = z3.simplify((k - 1) * d + 1)
        scene.must(z3.And(k >= 1, s >= 1, d >= 1, dim + front + behind + s >= extent))
        dims.append(_length(dim, front + behind, extent, s))

    def at(i: Index) -> z3.ArithRef:
        first = number(0) if single else z3.simplify(divided(scene, i[1], each)[0] * own)

        def body(k: Index) -> z3.ArithRef:
            places = [
                z3.simplify(o * s + t * d - front)
                for o, s, t, d, (front, _) in zip(i[2:], strides, k[1:], dilations, sides, strict=True)
            ]
            inside = [
                z3.And(p >= 0, p < dim)
                for p, dim, (front, behind) in zip(places, x.shape[2:], sides, strict=True)
                if not (is_number(front, 0) and is_number(behind, 0))
            ]
            element = x.at([i[0], z3.simplify(first + k[0]), *places])
            element = z3.If(z3.And(inside), element, z3.RealVal(0)) if inside else element
            return scene.multiply(element, w.at([i[1], *k]))

        total = sum_in(scene, "Conv", [own, *kernel], body)
        return total if b is None else scene.add(total, b.at([i[1]]))

    return Value(x.dtype, (x.shape[0], filters, *dims), at)


def any_pool_window(scene: Any, given: dict[str, Any]) -> PoolWindow:
    axes = given["x"].rank - 2
    scene.must(axes >= 1)
    kernel, strides, dilations = (
        [scene.whole(name) for _ in range(axes)] for name in ("kernel", "stride", "dilation")
    )
    pads = [scene.whole("pad") for _ in range(2 * axes)]
    scene.must(z3.And([*(v >= 1 for v in (*kernel, *strides, *dilations)), *(p >= 0 for p in pads)]))
    scene.must(z3.And([p < k for p, k in zip(pads, [*kernel, *kernel], strict=True)]))
    plain = lambda values: tuple(map(scene.plain, values))  # noqa: E731
    flags = scene.choose(2), scene.choose(2)
    return PoolWindow(plain(kernel), plain(strides), plain(pads), plain(dilations), *flags)


@means("pool", kind=lambda scene, given: scene.name(("AveragePool", "MaxPool")), window=any_pool_window)
def pool(scene: Any, kind: Any, x: Value, window: PoolWindow) -> Value:
    """Of an average, pads count as zeros where `count_include_pad` says so, and else not at all.

    By what runtimes divide where the last window may be cut is known of no two alike: it goes by the place of
    the window.
    """
    cut = bool(window.ceil_mode)
    axes = x.rank - 2
    scene.must(axes >= 1 and len(window.kernel) == axes)
    kernel, strides, dilations, pads = (
        list(map(scene.formula, v)) for v in (window.kernel, window.strides, window.dilations, window.pads)
    )
    sides, name = _sides(pads), scene.spelled(kind)
    scene.among(x.dtype, taken_by(name))
    dims = []
    for dim, (front, behind), k, s, d in zip(x.shape[2:], sides, kernel, strides, dilations, strict=True):
        extent = z3.simplify((k - 1) * d + 1)
        room = dim + front + behind + (0 if cut else s)
        scene.must(z3.And(k >= 1, s >= 1, d >= 1, room >= extent, front < k, behind < k))
        if cut:  # the last window has to start in front of what pads behind
            length = -((extent - dim - front - behind) / s) + 1
            dims.append(z3.simplify(z3.If((length - 1) * s >= dim + front, length - 1, length)))
        else:
            dims.append(_length(dim, front + behind, extent, s))
    padded = cut or not all(is_number(pad, 0) for pad in pads)

    def at(i: Index) -> z3.ArithRef:
        def place(k: Index) -> list[z3.ArithRef]:
            return [
                z3.simplify(o * s + t * d - front)
                for o, s, t, d, (front, _) in zip(i[2:], strides, k, dilations, sides, strict=True)
            ]

        def inside(places: Index) -> z3.BoolRef:
            return z3.And([z3.And(p >= 0, p < dim) for p, dim in zip(places, x.shape[2:], strict=True)])

        def element(k: Index) -> z3.ArithRef:
            here = x.at([i[0], i[1], *place(k)])
            return z3.If(inside(place(k)), here, z3.RealVal(0)) if padded else here

        if name == "MaxPool":
            where = (lambda k: inside(place(k))) if padded else None
            return scene.fold(
                "ReduceMax" if scene.compares else "MaxPool",
                kernel,
                lambda k: x.at([i[0], i[1], *place(k)]),
                where,
            )
        total = sum_in(scene, "AveragePool", kernel, element)
        if cut:
            for k, (front, behind) in enumerate(sides):
                sizes = (i[k + 2], x.shape[k + 2], kernel[k], strides[k], dilations[k], front, behind)
                part = scene.function(f"share {window.count_include_pad}", *map(z3.ToReal, sizes))
                scene.known(_share_of_whole(scene, part, sizes))
                total = scene.multiply(total, part)
            return total
        if window.count_include_pad or not padded:
            count = real_product(kernel)
        else:
            count = scene.fold("sum", kernel, lambda k: z3.If(inside(place(k)), z3.RealVal(1), z3.RealVal(0)))
        return scene.multiply(total, scene.function("unary Reciprocal ()", z3.simplify(count)))

    return Value(x.dtype, (x.shape[0], x.shape[1], *dims), at)


def _share_of_whole(scene: Any, part: z3.ArithRef, sizes: Sequence[z3.ArithRef]) -> z3.BoolRef:
    """A window that looks at no pads, and is not cut, is divided by how many elements it has.

    Args:
        sizes: its place, the length of the axis, its kernel, stride, dilation and pads.
    """
    place, dim, kernel, stride, dilation, *pads = sizes
    whole = place * stride + (kernel - 1) * dilation < dim
    count = scene.function("unary Reciprocal ()", z3.ToReal(kernel))
    return z3.Implies(z3.And(whole, *(pad == 0 for pad in pads)), part == count)


def any_transposed_window(scene: Any, given: dict[str, Any]) -> ConvWindow:
    window = any_window(scene, given)
    if not scene.choose(2):
        return window
    extra = [scene.whole("extra") for _ in window.strides]
    for e, s, d in zip(
        extra, map(scene.formula, window.strides), map(scene.formula, window.dilations), strict=True
    ):
        scene.must(z3.And(e >= 0, z3.Or(e < s, e < d)))
    return replace(window, output_padding=tuple(map(scene.plain, extra)))


@means("conv_transpose", window=any_transposed_window)
def conv_transpose(scene: Any, x: Value, w: Value, b: Value | None, window: ConvWindow) -> Value:
    """Each place gets what a Conv of the same window would take from it, where a stride leads there."""
    axes = x.rank - 2
    scene.must(axes >= 1 and w.rank == x.rank and len(window.strides) == axes)
    scene.alike(x.dtype, w.dtype)
    scene.among(x.dtype, taken_by("Conv"))
    strides, dilations = (list(map(scene.formula, v)) for v in (window.strides, window.dilations))
    sides, group = _sides(list(map(scene.formula, window.pads))), scene.formula(window.group)
    extra = list(map(scene.formula, window.output_padding or (0,) * axes))
    kernel, inputs, own = w.shape[2:], w.shape[0], w.shape[1]
    single = is_number(group, 1)
    scene.must(x.shape[1] == inputs)
    each = inputs if single else scene.share(inputs, group)
    filters = own if single else z3.simplify(own * group)
    if b is not None:
        scene.must(b.rank == 1)
        scene.alike(x.dtype, b.dtype)
        scene.must(b.shape[0] == filters)
    dims = []
    walks = zip(x.shape[2:], sides, kernel, strides, dilations, extra, strict=True)
    for dim, (front, behind), k, s, d, more in walks:
        length = z3.simplify(s * (dim - 1) + more + (k - 1) * d + 1 - front - behind)
        scene.must(z3.And(k >= 1, s >= 1, d >= 1, more >= 0, z3.Or(more < s, more < d), length >= 0))
        dims.append(length)

    def at(i: Index) -> z3.ArithRef:
        part, filter_ = (number(0), i[1]) if single else divided(scene, i[1], own)

        def body(k: Index) -> z3.ArithRef:
            channel = z3.simplify(part * each + k[0])
            ahead = [
                z3.simplify(o + front - t * d)
                for o, t, d, (front, _) in zip(i[2:], k[1:], dilations, sides, strict=True)
            ]
            places = [
                a if is_number(s, 1) else z3.simplify(a / s) for a, s in zip(ahead, strides, strict=True)
            ]
            inside = [
                z3.And(p >= 0, p < dim, *(() if is_number(s, 1) else (a == p * s,)))
                for a, p, s, dim in zip(ahead, places, strides, x.shape[2:], strict=True)
            ]
            element = z3.If(z3.And(inside), x.at([i[0], channel, *places]), z3.RealVal(0))
            return scene.multiply(element, w.at([channel, filter_, *k[1:]]))

        total = sum_in(scene, "ConvTranspose", [each, *kernel], body)
        return total if b is None else scene.add(total, b.at([i[1]]))

    return Value(x.dtype, (x.shape[0], filters, *dims), at)
