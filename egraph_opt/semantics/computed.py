"""What is moved by tensors of dims, bounds, indices and lengths that are computed at run time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import z3
from onnx import TensorProto

from egraph_opt.semantics.folds import any_flag
from egraph_opt.semantics.integers import place_of, places_along
from egraph_opt.semantics.movement import any_axis, expanded, sliced, view
from egraph_opt.semantics.values import Index, Value, means, number, of_type, product


def any_place(scene: Any, given: dict[str, Any]) -> int:
    """Between axes."""
    return scene.choose(given["x"].rank + 1)


@means("shape_of", start=any_place, end=any_place)
def shape_of(scene: Any, x: Value, start: int, end: int) -> Value:
    scene.must(0 <= start <= end <= x.rank)
    dims = x.shape[start:end]

    def at(i: Index) -> z3.ArithRef:
        found: z3.ArithRef = z3.RealVal(0)
        for k, dim in reversed(list(enumerate(dims))):
            found = z3.simplify(z3.If(i[0] == k, z3.ToReal(dim), found))
        return found

    return Value(of_type(TensorProto.INT64), (number(len(dims)),), at, listed=lambda: scene.dims_of(dims))


def _whole(value: Value, k: int) -> z3.ArithRef:
    return z3.simplify(z3.ToInt(value.at([number(k)])))


def _count(scene: Any, target: Value) -> int:
    scene.must(target.rank == 1)
    return scene.counted(target.shape[0])


@means("expand_to")
def expand_to(scene: Any, x: Value, target: Value) -> Value:
    dims = [_whole(target, k) for k in range(_count(scene, target))]
    scene.must(z3.And([d >= 0 for d in dims]))
    return expanded(scene, x, dims)


@means("reshape_to", allowzero=any_flag)
def reshape_to(scene: Any, x: Value, target: Value, allowzero: int) -> Value:
    """A dim of 0 is that of x, unless zeros are allowed; one of -1 is what is left, next to none of 0."""
    dims: list[z3.ArithRef | None] = []
    for k in range(_count(scene, target)):
        asked = _whole(target, k)
        if scene.decide(asked == -1):
            scene.must(None not in dims)
            dims.append(None)
        elif not allowzero and scene.decide(asked == 0):
            scene.must(k < x.rank)
            dims.append(x.shape[k])
        else:
            scene.must(asked >= 0)
            dims.append(asked)
    known = [d for d in dims if d is not None]
    left = scene.share(product(x.shape), product(known), 0) if None in dims else number(1)
    shape = tuple(left if d is None else d for d in dims)
    scene.must(product(shape) == product(x.shape))
    return view(scene, x, shape)


def any_few_axes(scene: Any, given: dict[str, Any]) -> tuple[int, ...]:
    rank = given["x"].rank
    sets = [axes for count in (1, 2) for axes in combinations(range(rank), count)]
    return sets[scene.choose(len(sets))]


def any_steps(scene: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    steps = [scene.whole("step") for _ in given["axes"]]
    scene.must(z3.And([s != 0 for s in steps]))
    return tuple(map(scene.plain, steps))


@means("slice_at", axes=any_few_axes, steps=any_steps)
def slice_at(scene: Any, x: Value, starts: Value, ends: Value, *cuts: Sequence[Any]) -> Value:
    """The cuts are axes and steps."""
    axes, steps = cuts
    scene.alike(starts.dtype, ends.dtype)
    for bounds in (starts, ends):
        scene.must(bounds.rank == 1 and len(axes) == len(steps))
        scene.must(bounds.shape[0] == len(axes))
    spec = [
        (a, _whole(starts, k), _whole(ends, k), s) for k, (a, s) in enumerate(zip(axes, steps, strict=True))
    ]
    return sliced(scene, x, spec)


@means("gather_elements", axis=any_axis)
def gather_elements(scene: Any, x: Value, indices: Value, axis: int) -> Value:
    """An index below 0 counts from the end; all are within the dim."""
    scene.must(axis < x.rank == indices.rank)
    scene.must(
        z3.And([n <= d for k, (n, d) in enumerate(zip(indices.shape, x.shape, strict=True)) if k != axis])
    )

    place = places_along(scene, indices, x.shape[axis], indices.shape)
    at = lambda i: x.at([*i[:axis], place(i), *i[axis + 1 :]])  # noqa: E731

    return Value(x.dtype, indices.shape, at, x.splat)


@means("reverse_sequence", time=any_flag)
def reverse_sequence(scene: Any, x: Value, lengths: Value, time: int) -> Value:
    scene.must(x.rank >= 2 and lengths.rank == 1)
    scene.must(lengths.shape[0] == x.shape[1 - time])

    def at(i: Index) -> z3.ArithRef:
        many = place_of(scene, lengths, [i[1 - time]])
        place = z3.If(i[time] < many, many - 1 - i[time], i[time])
        return x.at([*i[:time], place, *i[time + 1 :]])

    return Value(x.dtype, x.shape, at, x.splat)


def any_blocks(scene: Any, given: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    size = scene.whole("size")
    scene.must(size >= 1)
    blocks = ("blocksize", scene.plain(size))
    if scene.spelled(given["op"]) == "SpaceToDepth":
        return (blocks,)
    return (blocks, ("mode", ("DCR", "CRD")[scene.choose(2)]))


@means("blockwise", op=lambda scene, given: scene.name(("DepthToSpace", "SpaceToDepth")), settings=any_blocks)
def blockwise(scene: Any, op: Any, x: Value, settings: tuple[tuple[str, Any], ...]) -> Value:
    """Channel b of a block is (offset, channel), or with CRD (channel, offset)."""
    given = dict(settings)
    size = scene.formula(given["blocksize"])
    scene.must(x.rank == 4)
    scene.must(size >= 1)
    n, c, h, w = x.shape
    if scene.spelled(op) == "SpaceToDepth":
        high, wide = (scene.share(d, size, 0) for d in (h, w))

        def gathered(i: Index) -> z3.ArithRef:
            offset, channel = i[1] / c, i[1] % c
            return x.at([i[0], channel, i[2] * size + offset / size, i[3] * size + offset % size])

        return Value(x.dtype, (n, z3.simplify(c * size * size), high, wide), gathered, x.splat)
    few = scene.share(c, z3.simplify(size * size), 0)

    def spread(i: Index) -> z3.ArithRef:
        offset = (i[2] % size) * size + i[3] % size
        channel = offset * few + i[1] if given["mode"] == "DCR" else i[1] * size * size + offset
        return x.at([i[0], z3.simplify(channel), i[2] / size, i[3] / size])

    return Value(x.dtype, (n, few, z3.simplify(h * size), z3.simplify(w * size)), spread, x.splat)
