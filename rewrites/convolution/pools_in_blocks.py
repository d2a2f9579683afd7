"""Windows that lie next to each other and cover an image are blocks of it: pools of them are reductions.

Pool(x; stride = kernel) = Reshape(Reduce(Reshape(x)))       where windows cover x, without pads or a rest

A target has a kernel for one or the other: reductions know no layout of images, pools no views.  Patches of
vision transformers are averaged by either.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axes, Dims, Flag, Int, Name, String, Tensor
from egraph_opt.operators import PoolWindow, pool, reduce, reshape
from egraph_opt.operators.terms import node
from egraph_opt.rewrites.conditions.values import is_kernel_float, is_of_type
from egraph_opt.rewrites.conditions.view_shapes import known_dims, same_dims
from egraph_opt.rewrites.convolution.pool_blocks import in_windows, reduction_of

law = laws_of(
    "pooling",
    numerics="reassociates",
    kind="replace",
    serves="target",
    source="ONNX; Ascend auto-optimizer, AvgPoolSplit",
)


@hosted()
def in_blocks(window: PoolWindow, x: Fact, y: Fact) -> tuple[Dims, Axes] | None:
    """The dims of x with elements of windows on axes of their own, and these axes, where all is covered."""
    found = in_windows.function(window, x, y)
    if found is None or x.shape is None:
        return None
    dims, axes, covered = found
    whole = all(x.shape[axis] == end for axis, _, end, _ in covered)
    # One window along each axis is a reduction of x as it is: `window_over_axes`, `whole_input`.
    return (dims, axes) if whole and len(dims) > len(x.shape) else None


@hosted()
def pool_of(kind: str) -> Name | None:
    return {"ReduceMax": "MaxPool", "ReduceMean": "AveragePool"}.get(kind)


@hosted()
def window_of_blocks(x: Fact, dims: Dims, axes: Axes) -> PoolWindow | None:
    """The window that sees what is reduced of an image with these dims: an axis is one, or count and size."""
    if x.shape is None or not 3 <= len(x.shape) <= 5 or not same_dims(x.shape[:2], dims[:2]):
        return None
    sizes, at = [], 2
    for length in x.shape[2:]:
        own = [(k, d) for k, d in enumerate(dims[at : at + 2], at) if isinstance(d, int)]
        if (
            at < len(dims)
            and at not in axes
            and symbolic.known_equal(length, dims[at])
            and at + 1 not in axes
        ):
            sizes.append(1)
            at += 1
        elif len(own) == 2 and own[1][0] in axes and at not in axes and own[0][1] * own[1][1] == length:
            sizes.append(own[1][1])
            at += 2
        else:
            return None
    if at != len(dims) or min(axes) < 2 or 0 in (*sizes, *x.shape):
        return None
    found = tuple(sizes)
    return PoolWindow(found, found, (0,) * (2 * len(found)), (1,) * len(found))


PLAIN = (0,) * 4, (1,) * 2
"""No pads, no dilations."""


def _blocks(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, wide, cube = g.input((2, 3, 4, 6)), g.input(("N", 2, "L", 6)), g.input((1, 2, 2, 4, 6))
    for kind in ("AveragePool", "MaxPool"):
        yield g.fires(pool(kind, x, PoolWindow((2, 3), (2, 3), *PLAIN)))
        yield g.fires(pool(kind, wide, PoolWindow((1, 2), (1, 2), *PLAIN)))
        yield g.fires(pool(kind, cube, PoolWindow((2, 2, 3), (2, 2, 3), (0,) * 6, (1,) * 3)))
        yield from g.near_misses(
            (pool(kind, x, PoolWindow((2, 4), (2, 4), *PLAIN)), "two columns are left"),
            (pool(kind, x, PoolWindow((2, 3), (2, 1), *PLAIN)), "windows overlap"),
            (pool(kind, x, PoolWindow((1, 2), (1, 3), *PLAIN)), "columns between are left out"),
            (pool(kind, x, PoolWindow((2, 2), (2, 2), (1, 0, 1, 0), (1, 1))), "it pads"),
            (pool(kind, wide, PoolWindow((2, 2), (2, 2), *PLAIN)), "how many rows there are is not known"),
        )


@law(examples=_blocks)
def windows_are_blocks(kind: String, x: Tensor, w: PoolWindow):
    """Pool(x; stride = kernel) = Reshape(Reduce(Reshape(x))) where windows cover x, without pads or a rest"""
    y = pool(kind, x, w)
    parts = in_blocks(w, x, y)
    reduced = reduce(reduction_of(kind), reshape(x, parts[0]), parts[1], 0)
    known = (kernel(is_kernel_float(x)), guard(varies(x)))
    yield rewrite(y, reshape(reduced, known_dims(y)), *known, inverse="blocks_are_windows")


def _reduced(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, wide = g.input((2, 3, 4, 6)), g.input(("N", 2, "L", 6))
    for kind in ("ReduceMean", "ReduceMax"):
        yield from g.all_fire(
            reduce(kind, reshape(x, (2, 3, 2, 2, 2, 3)), (3, 5), 0),
            reduce(kind, reshape(x, (2, 3, 2, 2, 6)), (3,), 1),
            reduce(kind, reshape(wide, ("N", 2, "L", 3, 2)), (4,), 0),
        )
        yield from g.near_misses(
            (reduce(kind, reshape(x, (2, 3, 2, 2, 2, 3)), (2, 5), 0), "rows between are left out"),
            (reduce(kind, reshape(x, (2, 3, 2, 2, 2, 3)), (1, 3, 5), 0), "channels, too"),
            (reduce(kind, reshape(x, (3, 2, 2, 2, 2, 3)), (3, 5), 0), "other channels"),
            (reduce(kind, reshape(x, (2, 3, 6, 4)), (3,), 0), "rows are joined"),
        )
    yield g.near_miss(reduce("ReduceMin", reshape(x, (2, 3, 2, 2, 2, 3)), (3, 5), 0), why="no pool is least")


@law(kind="fuse", examples=_reduced)
def blocks_are_windows(kind: String, x: Tensor, d: Dims, a: Axes, k: Flag, i: Int):
    """Reduce(Reshape(x)) = Reshape(Pool(x; stride = kernel)) over blocks of an image, of the original"""
    y = reduce(kind, reshape(x, d), a, k)
    image = pool(pool_of(kind), x, window_of_blocks(x, d, a))
    demand = guard(eq(y, node(i)), varies(x))
    known = (kernel(is_of_type(x, TensorProto.FLOAT)), demand)
    yield rewrite(y, reshape(image, known_dims(y)), *known, inverse="windows_are_blocks")
