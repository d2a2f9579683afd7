"""What moves elements: transpose, reshape, slice, concat, split, gather, pad and expand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Any

import z3
from onnx import TensorProto

from egraph_opt.semantics.integers import held_by, places_along
from egraph_opt.semantics.polynomials import multiples
from egraph_opt.semantics.values import (
    Index,
    Scene,
    Value,
    broadcast_index,
    broadcast_shape,
    is_number,
    means,
    number,
    product,
)
from egraph_opt.semantics.views import reshaped_index


def any_axis(scene: Scene, given: dict[str, Any]) -> int:
    return scene.choose(given["x"].rank)


def any_permutation(scene: Scene, given: dict[str, Any]) -> tuple[int, ...]:
    orders = list(permutations(range(given["x"].rank)))
    return orders[scene.choose(len(orders))]


@means("transpose", perm=any_permutation)
def transpose(scene: Scene, x: Value, perm: tuple[int, ...]) -> Value:
    scene.must(sorted(perm) == list(range(x.rank)))
    back = [perm.index(axis) for axis in range(x.rank)]
    return Value(x.dtype, tuple(x.shape[p] for p in perm), lambda i: x.at([i[k] for k in back]), x.splat)


def any_dims(scene: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(scene.dim() for _ in range(scene.choose(scene.most_axes + 1)))


@means("reshape", dims=any_dims)
def reshape(scene: Scene, x: Value, dims: Sequence[Any]) -> Value:
    shape = tuple(map(scene.formula, dims))
    scene.must(z3.And(product(shape) == product(x.shape), *(d >= 0 for d in shape)))
    return view(scene, x, shape)


def view(scene: Scene, x: Value, shape: tuple[z3.ArithRef, ...]) -> Value:
    """The elements of x in row-major order, with as many elements along axes."""
    own = x.origin
    at = lambda i: own.at(reshaped_index(scene, i, shape, own.shape))  # noqa: E731
    return Value(x.dtype, shape, at, x.splat, viewed=own, repeated=x)


def any_cuts(scene: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    """Cuts of some axes, upwards or downwards: bounds may count from the end, or lie outside."""
    rank = given["x"].rank
    sets = [axes for count in range(min(rank, 2) + 1) for axes in combinations(range(rank), count)]
    cuts = []
    for axis in sets[scene.choose(len(sets))]:
        start, end, step = scene.whole("start"), scene.whole("end"), scene.whole("step")
        if scene.choose(2) == 0:
            scene.must(step > 0)
        else:  # what begins in front of all elements has readings of its own
            scene.must(z3.And(step < 0, start >= -given["x"].shape[axis]))
        last = None if scene.choose(2) else scene.plain(end)
        cuts.append((axis, scene.plain(start), last, scene.plain(step)))
    return tuple(cuts)


@means("slice_", spec=any_cuts)
def sliced(scene: Scene, x: Value, spec: Sequence[tuple[int, Any, Any, Any]]) -> Value:
    starts, steps, shape = [number(0)] * x.rank, [number(1)] * x.rank, list(x.shape)
    for axis, *bounds in spec:
        scene.must(axis < x.rank)
        starts[axis], steps[axis], shape[axis] = _taken(scene, x.shape[axis], *bounds)
    return Value(
        x.dtype,
        tuple(shape),
        lambda i: x.at([z3.simplify(s + k * t) for s, k, t in zip(starts, i, steps, strict=True)]),
        x.splat,
    )


def _taken(
    scene: Any, dim: z3.ArithRef, start: Any, end: Any, step: Any
) -> tuple[z3.ArithRef, z3.ArithRef, z3.ArithRef]:
    """Where a cut starts, its step, and how many elements it takes; all bounds as Python has them."""
    by = scene.formula(step)
    upwards = scene.decide(by > 0)
    scene.must(by != 0)
    low, high = (number(0), dim) if upwards else (number(-1), dim - 1)
    bounds = [scene.formula(start), None if end is None else scene.formula(end)]
    within = [b is None or scene.within(b, number(0), high + 1) for b in bounds]
    first, last = (
        bound if known else _clamped(bound, dim, low, high)
        for bound, known in zip(bounds, within, strict=True)
    )
    last = (high if upwards else low) if last is None else last
    length = last - first if upwards else first - last
    width = by if upwards else -by
    count = length if is_number(width, 1) else _parts_of(scene, length, width)
    if all(within) and scene.within(length, number(0), length + 1):
        return first, by, z3.simplify(count)
    count = z3.simplify(z3.If(length > 0, count, number(0)))
    first, count = scene.cut(z3.simplify(first), count, by, dim, asked=bounds)
    return first, by, count


def _parts_of(scene: Any, length: z3.ArithRef, width: z3.ArithRef) -> z3.ArithRef:
    """length / width, rounded up, of which multiples of the width are taken out."""
    whole, rest = multiples(length, width)
    return whole if is_number(rest, 0) else whole + (rest + width - 1) / width


def _clamped(bound: z3.ArithRef, dim: z3.ArithRef, low: z3.ArithRef, high: z3.ArithRef) -> z3.ArithRef:
    place = z3.If(bound < 0, bound + dim, bound)
    return z3.If(place < low, low, z3.If(place > high, high, place))


@means("concat", axis=lambda scene, given: scene.choose(given["xs"][0].rank if given["xs"] else 0))
def concat(scene: Scene, xs: Sequence[Value], axis: int) -> Value:
    scene.must(len(xs) > 0 and all(x.rank == xs[0].rank for x in xs) and axis < xs[0].rank)
    for x in xs[1:]:
        scene.alike(x.dtype, xs[0].dtype)
        pairs = enumerate(zip(x.shape, xs[0].shape, strict=True))
        scene.must(z3.And([a == b for k, (a, b) in pairs if k != axis]))
    ends = [xs[0].shape[axis]]
    for x in xs[1:]:
        ends.append(z3.simplify(ends[-1] + x.shape[axis]))
    shape = (*xs[0].shape[:axis], ends[-1], *xs[0].shape[axis + 1 :])

    def at(i: Index) -> z3.ArithRef:
        found = None
        for k in range(len(xs) - 1, -1, -1):
            start = ends[k - 1] if k else number(0)
            here = xs[k].at([*i[:axis], z3.simplify(i[axis] - start), *i[axis + 1 :]])
            found = here if found is None else z3.If(i[axis] < ends[k], here, found)
        assert found is not None
        return found

    return Value(xs[0].dtype, shape, at)


def any_sizes(scene: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    """As many parts as a statement names, one more, or fewer: an e-graph has others than it asks for."""
    return tuple(scene.dim() for _ in range(1 + scene.choose(scene.parts)))


@means("split", axis=any_axis, sizes=any_sizes)
def split(scene: Scene, x: Value, axis: int, sizes: Sequence[Any]) -> tuple[Value, ...]:
    lengths = [scene.formula(size) for size in sizes]
    scene.must(axis < x.rank)
    scene.must(z3.And(z3.Sum(lengths) == x.shape[axis], *(n >= 0 for n in lengths)))
    parts, start = [], number(0)
    for length in lengths:
        parts.append(_part(x, axis, start, length))
        start = z3.simplify(start + length)
    return tuple(parts)


def _part(x: Value, axis: int, start: z3.ArithRef, length: z3.ArithRef) -> Value:
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    at = lambda i: x.at([*i[:axis], z3.simplify(start + i[axis]), *i[axis + 1 :]])  # noqa: E731
    return Value(x.dtype, shape, at, x.splat)


@means("output", index=lambda scene, given: scene.choose(len(given["b"])))
def output(scene: Scene, b: Sequence[Value], index: int) -> Value:
    scene.must(index < len(b))
    return b[index]


@means("gather", axis=any_axis)
def gather(scene: Scene, x: Value, indices: Value, axis: int) -> Value:
    """An index below 0 counts from the end; all are within the dim."""
    scene.must(axis < x.rank)
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    many, place = indices.rank, places_along(scene, indices, x.shape[axis], shape)
    at = lambda i: x.at([*i[:axis], place(i[axis : axis + many]), *i[axis + many :]])  # noqa: E731

    return Value(x.dtype, shape, at, x.splat)


def any_pads(scene: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    pads = [scene.whole("pad") for _ in range(2 * given["x"].rank)]
    scene.must(z3.And([p >= 0 for p in pads]))
    return tuple(map(scene.plain, pads))


PAD_MODES = ("constant", "edge", "reflect", "wrap")


@means(
    "pad",
    mode=lambda scene, given: scene.name(PAD_MODES),
    pads=any_pads,
    value=lambda scene, given: scene.real("v"),
)
def pad(scene: Any, x: Value, mode: Any, pads: Sequence[Any], value: Any) -> Value:
    """What is repeated has to be there: a reflection leaves out the element at the edge, and is one only.

    What is wrapped around goes round as often as it takes.
    """
    mode = scene.spelled(mode)
    scene.must(len(pads) == 2 * x.rank)
    amounts = [scene.formula(p) for p in pads]
    scene.must(z3.And([p >= 0 for p in amounts]))
    front, behind = amounts[: x.rank], amounts[x.rank :]
    fill = scene.formula(value)
    fill = z3.ToReal(fill) if fill.is_int() else held_by(scene, x.dtype, fill)
    if scene.root(x.dtype) == TensorProto.BOOL:
        fill = z3.If(fill != 0, z3.RealVal(1), z3.RealVal(0))

    for f, b, d in zip(front, behind, x.shape, strict=True):
        if mode != "constant" and not (is_number(f, 0) and is_number(b, 0)):
            fits = z3.And(f <= d - 1, b <= d - 1) if mode == "reflect" else True
            scene.must(z3.And(d >= 1, fits))

    def at(i: Index) -> z3.ArithRef:
        own = [z3.simplify(k - f) for k, f in zip(i, front, strict=True)]
        if mode != "constant":
            return x.at([_repeated(mode, k, d) for k, d in zip(own, x.shape, strict=True)])
        here = [(k, f, b, d) for k, f, b, d in zip(own, front, behind, x.shape, strict=True)]
        inside = [z3.And(k >= 0, k < d) for k, f, b, d in here if not (is_number(f, 0) and is_number(b, 0))]
        return z3.If(z3.And(inside), x.at(own), fill) if inside else x.at(own)

    shape = tuple(z3.simplify(f + d + b) for f, d, b in zip(front, x.shape, behind, strict=True))
    return Value(x.dtype, shape, at)


def _repeated(mode: str, k: z3.ArithRef, dim: z3.ArithRef) -> z3.ArithRef:
    """Which element stands at a place in front of an axis, along it or behind it."""
    last = dim - 1
    before, after = {
        "edge": (number(0), last),
        "reflect": (-k, 2 * last - k),
        "wrap": (_once_around(k + dim, k, dim), _once_around(k - dim, k, dim)),
    }[mode]
    return z3.simplify(z3.If(k < 0, before, z3.If(k > last, after, k)))


def _once_around(near: z3.ArithRef, k: z3.ArithRef, dim: z3.ArithRef) -> z3.ArithRef:
    """The place that comes again at k: the next one, or what a division leaves, which is harder to solve."""
    return z3.If(z3.And(near >= 0, near < dim), near, k % dim)


@means("expand", dims=any_dims)
def expanded(scene: Scene, x: Value, dims: Sequence[Any]) -> Value:
    shape = broadcast_shape(scene, [x.shape, tuple(map(scene.formula, dims))])
    return Value(x.dtype, shape, lambda i: x.at(broadcast_index(x, i, shape)), x.splat, repeated=x)


@means("identity")
def identity(scene: Scene, x: Value) -> Value:
    return x
