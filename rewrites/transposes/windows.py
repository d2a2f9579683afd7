"""Transposes move past operators with windows over the spatial axes, which move along.

Conv(T(x), W, b) = T(Conv(x, T'(W), b)), and ConvTranspose likewise
Pool(T(x)) = T(Pool(x))
GlobalPool(T(x)) = T(GlobalPool(x)), or GlobalPool(x)
Split(T(x)) = T(Split(x)), part by part
Transpose(x) -> Reshape(x), or Unsqueeze(Squeeze(x))      where only axes of one element move

Strides, dilations, pads and kernels go with their axes: for images, pads [t, l, b, r] become [l, t, r, b].
"""

from dataclasses import replace
from typing import Any

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Operands, equal, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import is_constant
from egraph_opt.laws.sorts import Axis, Dims, Int, Permutation, Sizes, String, Tensor
from egraph_opt.operators import PoolWindow, global_pool, none, output, pool, reshape, split, transpose
from egraph_opt.operators.linear import ConvWindow, conv, conv_transpose
from egraph_opt.operators.views import reshape_target
from egraph_opt.rewrites.conditions.steps import entire, wholes
from egraph_opt.rewrites.transposes.composition import invert, is_identity
from egraph_opt.rewrites.transposes.movement import moved_axis, turns
from egraph_opt.rewrites.views.two_steps import without_ones

SWAP = (0, 1, 3, 2)
"""Height for width."""

_SOURCE = "Ascend auto-optimizer, TransposeLargeInputConv"


def _moved(p: Permutation, values: tuple[int, ...]) -> tuple[int, ...]:
    """Values per spatial axis of Transpose_p(x), as they are for x."""
    moved = [0] * len(values)
    for axis, value in enumerate(values):
        moved[p[axis + 2] - 2] = value
    return tuple(moved)


def keeps_images(p: Permutation) -> bool:
    """Spatial axes stay among themselves."""
    return len(p) > 2 and sorted(p[:2]) == [0, 1]


@hosted()
def moved_window(p: Permutation, window: Any) -> Any:
    """The window over x of a convolution or pooling of Transpose_p(x); None where p mixes other axes in."""
    if not keeps_images(p) or is_identity(p) or len(p) != len(window.strides) + 2:
        return None
    axes = len(window.strides)
    changes: dict[str, Any] = {
        "strides": _moved(p, window.strides),
        "dilations": _moved(p, window.dilations),
        "pads": _moved(p, window.pads[:axes]) + _moved(p, window.pads[axes:]),
    }
    if isinstance(window, PoolWindow):
        changes["kernel"] = _moved(p, window.kernel)
    elif p[:2] != (0, 1):
        return None
    elif window.output_padding:
        changes["output_padding"] = _moved(p, window.output_padding)
    return replace(window, **changes)


def _through(
    operator: Any, operands: tuple[Tensor, Tensor, Tensor], p: Permutation, u: ConvWindow, *, name: str
) -> Any:
    """Both directions of a convolution, where transposing the weight costs nothing."""
    x, w, b = operands
    q, v, cheap = invert(p), moved_window(p, u), guard(is_constant(w))
    behind = transpose(operator(x, transpose(w, q), b, v), p)
    yield rewrite(operator(transpose(x, p), w, b, u), behind, cheap, inverse=name)
    before = operator(transpose(x, p), transpose(w, p), b, moved_window(q, u))
    yield rewrite(transpose(operator(x, w, b, u), p), before, cheap, inverse=name)


@law("transpose", numerics="reassociates", kind="move", serves="traffic", source=_SOURCE)
def through_conv(x: Tensor, w: Tensor, b: Tensor, p: Permutation, u: ConvWindow):
    """Conv(Transpose_p(x), W, b) = Transpose_p(Conv(x, Transpose_p'(W), b)) for spatial axes"""
    yield from _through(conv, (x, w, b), p, u, name="through_conv")


def _transposed_examples(rng):
    g = Operands(rng)
    x, w = g.input((1, 4, 5, 6)), g.random(4, 3, 3, 2)
    u = ConvWindow((3, 2), (1, 0, 0, 1), (1, 2), 1, (1, 0))
    yield g.fires(conv_transpose(transpose(x, SWAP), w, none(), u))
    yield g.fires(transpose(conv_transpose(x, w, g.random(3), u), SWAP))


@law("transpose", numerics="reassociates", kind="move", serves="traffic", examples=_transposed_examples)
def through_conv_transpose(x: Tensor, w: Tensor, b: Tensor, p: Permutation, u: ConvWindow):
    """ConvTranspose(Transpose_p(x), W, b) = Transpose_p(ConvTranspose(x, Transpose_p'(W), b)), as Conv"""
    yield from _through(conv_transpose, (x, w, b), p, u, name="through_conv_transpose")


@law("transpose", numerics="reassociates", kind="move", serves="traffic", source=_SOURCE, uses=(wholes,))
def through_pool(kind: String, x: Tensor, p: Permutation, u: PoolWindow):
    """Pool(Transpose_p(x)) = Transpose_p(Pool(x)) where spatial axes stay spatial"""
    turned, pooled = pool(kind, transpose(x, p), u), pool(kind, x, u)
    behind = transpose(pool(kind, x, moved_window(p, u)), p)
    yield rewrite(turned, behind, guard(entire(turned)), inverse="through_pool")
    before = pool(kind, transpose(x, p), moved_window(invert(p), u))
    yield rewrite(transpose(pooled, p), before, guard(entire(pooled)), inverse="through_pool")


@hosted()
def keeps_channels(p: Permutation) -> bool:
    """Batch and channels stay where they are, and spatial axes move."""
    return p[:2] == (0, 1) and not is_identity(p)


@hosted()
def swaps_channels(p: Permutation) -> bool:
    """Batch and channels change places."""
    return p[:2] == (1, 0)


@law("transpose", numerics="reassociates", kind="move", serves="traffic", source=_SOURCE)
def through_global_pool(kind: String, x: Tensor, p: Permutation):
    """GlobalPool(Transpose_p(x)) = GlobalPool(x), transposed where batch and channels change places"""
    pooled = global_pool(kind, transpose(x, p))
    yield rewrite(pooled, global_pool(kind, x), keeps_channels(p), because="forgets p")
    yield equal(pooled, transpose(global_pool(kind, x), p), swaps_channels(p))


@law("transpose", numerics="bitwise", kind="move", serves="traffic")
def through_split(x: Tensor, k: Int, p: Permutation, a: Axis, s: Sizes):
    """Split_a(Transpose_p(x)) = Transpose_p(Split_p[a](x)), part by part"""
    behind = transpose(output(split(x, moved_axis(p, a), s), k), p)
    yield rewrite(output(split(transpose(x, p), a, s), k), behind, inverse="through_split")
    before = output(split(transpose(x, p), moved_axis(invert(p), a), s), k)
    part = output(split(x, a, s), k)
    yield rewrite(transpose(part, p), before, guard(turns(part, p)), inverse="through_split")


def _dims_of_units(x: Fact, p: Permutation) -> Dims | None:
    """The dims of Transpose_p(x) where only axes of one element move; None where others do."""
    if not x.is_symbolic or x.shape is None or len(x.shape) != len(p) or is_identity(p):
        return None
    long = [axis for axis in p if x.shape[axis] != 1]
    return tuple(x.shape[axis] for axis in p) if long == sorted(long) else None


def _bears_empty(x: Fact, dims: Dims) -> bool:
    """No dim is left to Reshape (-1) beside one that may be 0: then it cannot say which."""
    target = reshape_target(x.shape or (), dims) or ()
    beside = [dim for dim, written in zip(dims, target, strict=False) if written != -1]
    return -1 not in target or all(symbolic.is_at_least(dim, 1) for dim in beside)


@hosted()
def unmoved_dims(x: Fact, p: Permutation) -> Dims | None:
    """The dims of Transpose_p(x) that one Reshape says, where only axes of one element move."""
    dims = _dims_of_units(x, p)
    return dims if dims is not None and _bears_empty(x, dims) else None


@hosted()
def in_two_steps(x: Fact, p: Permutation) -> tuple[Dims, Dims] | None:
    """Its dims without those of one element, and all of them, where one Reshape does not say it."""
    dims = _dims_of_units(x, p)
    return None if dims is None or _bears_empty(x, dims) else (without_ones(dims), dims)


def _unit_examples(rng):
    g = Operands(rng)
    for shape, p in (((1, "N", 4), (1, 0, 2)), ((2, 1, "L", 1), (0, 1, 3, 2)), ((2, 1, 3), (1, 0, 2))):
        yield g.fires(transpose(g.input(shape), p))
    yield g.near_miss(
        transpose(g.input(("N", 1, "L")), (0, 2, 1)), why="L is left to Reshape, and N may be 0"
    )


_SEVERAL_ONES = "where x has several axes of one, forgets p"


@law("transpose", numerics="bitwise", kind="replace", serves="traffic", examples=_unit_examples)
def of_units(x: Tensor, p: Permutation):
    """Transpose_p(x) = Reshape(x) where only axes of one element move"""
    yield rewrite(transpose(x, p), reshape(x, unmoved_dims(x, p)), because=_SEVERAL_ONES)


def _step_examples(rng):
    g = Operands(rng)
    yield g.fires(transpose(g.input(("N", 1, "L")), (0, 2, 1)))
    yield g.near_miss(transpose(g.input((1, "N", "L")), (0, 2, 1)), why="N and L change places")
    yield g.near_miss(transpose(g.input((2, 1, 3)), (1, 0, 2)), why="a Reshape says it")


@law("transpose", numerics="bitwise", kind="replace", serves="traffic", examples=_step_examples)
def of_units_in_steps(x: Tensor, p: Permutation):
    """Transpose_p(x) = Unsqueeze(Squeeze(x)) where only axes of one element move, and no Reshape says it"""
    steps = in_two_steps(x, p)
    yield rewrite(transpose(x, p), reshape(reshape(x, steps[0]), steps[1]), because=_SEVERAL_ONES)
