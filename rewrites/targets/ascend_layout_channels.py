"""What stays in a format of Ascend's kernels where channels and axes matter; see `ascend_layout_chains`.

Concat(From(z), y; axis) -> From(Concat'(z, To(y); axis))   along whole blocks, and the axes outside of them
Mean(From(z); axes) -> From(Mean'(z; axes))                 over axes outside of blocks; global pools as well
Norm(From(z)) -> From(Norm'(z))                             per channel; Resize of an image
"""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Operands, eq, hosted, laws_of, rewrite, rule, union
from egraph_opt.laws.sorts import Axes, Axis, Float, Settings, String, Tensor, Tensors
from egraph_opt.operators import batchnorm, concat, global_pool, instance_norm, matmul, none, reduce, resize
from egraph_opt.operators.terms import limit, listed
from egraph_opt.rewrites.conditions.formats import IMAGES, MATRICES, ROWS, is_chip_float, is_image, is_matrix
from egraph_opt.rewrites.targets.ascend_layout_chains import (
    LIMITS,
    REQUIRED,
    example_image,
    laid_reduction,
    touched,
    touching,
)
from egraph_opt.rewrites.targets.layouts import PSEUDO, Kernel, entering, from_layout, laid, laid_behind

law = laws_of(
    "ascend.layout",
    numerics="bitwise",
    kind="fuse",
    serves="target",
    source="hiascend atlasadvisor_16_0018: TransData where an operator cannot take the format of its input",
)


@hosted()
def laid_concat(xs: tuple[Fact, ...], axis: int, layout: str, sizes: tuple[int, int]) -> Kernel | None:
    """Tensors one behind the other: within blocks or tiles, all but the last fill theirs."""
    block, side = sizes
    accepts = is_image if layout == IMAGES else is_matrix
    if not all(x.const or accepts(x) for x in xs) or not all(is_chip_float(x) for x in xs):
        return None
    rank = xs[0].rank or 0
    if layout == ROWS and axis < rank - 1:
        return None  # within tiles, but where rows are counted over several axes
    unit = (block if axis == 1 else 1) if layout == IMAGES else (side if axis >= rank - 2 else 1)
    extents = [x.shape[axis] if x.shape is not None else None for x in xs[:-1]]
    whole = unit == 1 or all(isinstance(d, int) and d % unit == 0 for d in extents)
    return ("concat", (axis,), len(xs), True) if whole else None


@hosted()
def sizes(block: int, side: int) -> tuple[int, int]:
    return block, side


@hosted()
def laid_pool(kind: str, x: Fact) -> Kernel | None:
    return ("global_pool", (kind,), 1, True) if is_image(x) else None


@hosted()
def laid_norm(name: str, epsilon: float, parameters: int, x: Fact) -> Kernel | None:
    return (name, (epsilon,), 1 + parameters, True) if is_image(x) else None


@hosted()
def laid_resize(settings: Settings, x: Fact, y: Fact) -> Kernel | None:
    """An image at another resolution, of as many channels."""
    if not is_image(x) or x.shape is None or y.shape is None or x.shape[:2] != y.shape[:2]:
        return None
    return ("resize", (settings,), 4, True)


def _concat_examples(rng):
    g = Operands(rng)
    z, x = example_image(g), g.input(("N", 4, 6, 4))
    for axis in (0, 1, 2, 3):
        yield g.fires(concat(listed(x, z), axis), **LIMITS)
    yield g.fires(concat(listed(z, example_image(g, 3)), 1), **LIMITS)
    yield g.near_miss(concat(listed(x, x), 1), why="nothing is in a format", **LIMITS)


@law(examples=_concat_examples, required=REQUIRED, uses=(entering, touching))
def laid_concatenation(y: Tensor, xs: Tensors, zs: Tensors, axis: Axis, layout: String):
    """Concat(From(z), y) = From(Concat'(z, To(y)))"""
    found, wanted = eq(y, concat(xs, axis)), touched(layout, xs)
    kernel = laid_concat(xs, axis, layout, sizes(limit("channel_block"), limit("tile_side")))
    yield from laid_behind(found, kernel, zs, y=y, layout=layout, entry=(xs, zs), wanted=wanted)


def _reduction_examples(rng):
    g = Operands(rng)
    z, matrix = example_image(g), matmul(g.input((2, 5, 7)), g.input((2, 7, 3)))
    yield g.fires(reduce("ReduceMean", z, (2, 3), 1), **LIMITS)
    yield g.fires(reduce("ReduceMax", z, (3,), 1), **LIMITS)
    yield g.fires(reduce("ReduceSum", matrix, (0,), 1), **LIMITS)
    yield g.fires(global_pool("GlobalAveragePool", z), **LIMITS)
    rows = matmul(g.input((2, 5, 7)), g.random(7, 3))
    yield g.near_miss(reduce("ReduceSum", rows, (0,), 1), why="batches lie within tiles of rows", **LIMITS)
    shape = g.input(("N", 4, 6, 4))
    yield g.near_miss(reduce("ReduceMean", shape, (2, 3), 1), why="nothing is in a format", **LIMITS)


@law(examples=_reduction_examples, required=REQUIRED)
def laid_reductions(z: Tensor, k: String, axes: Axes):
    """Mean(From(z)) = From(Mean'(z)), global pools likewise"""
    for form in (IMAGES, MATRICES):
        inside = laid(form, laid_reduction(form, k, z, axes, 1), listed(z))
        yield rewrite(reduce(k, from_layout(form, z), axes, 1), from_layout(form, inside), because=PSEUDO)
    inside = laid(IMAGES, laid_pool(k, z), listed(z))
    pooled = global_pool(k, from_layout(IMAGES, z))
    yield rewrite(pooled, from_layout(IMAGES, inside), because=PSEUDO)


def _norm_examples(rng):
    g = Operands(rng)
    z = example_image(g)
    vectors = [g.constant(rng.uniform(0.5, 2, 4)) for _ in range(4)]
    yield g.fires(batchnorm(z, *vectors, 1e-5), **LIMITS)
    yield g.fires(instance_norm(z, *vectors[:2], 1e-5), **LIMITS)


@law(examples=_norm_examples, required=REQUIRED)
def laid_norms(z: Tensor, a: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float):
    """Norm(From(z)) = From(Norm'(z)), of each channel"""
    image = from_layout(IMAGES, z)
    for given, kernel, operands in (
        (batchnorm(image, a, b, m, v, e), laid_norm("batchnorm", e, 4, z), listed(z, a, b, m, v)),
        (instance_norm(image, a, b, e), laid_norm("instance_norm", e, 2, z), listed(z, a, b)),
    ):
        moved = from_layout(IMAGES, laid(IMAGES, kernel, operands))
        yield rewrite(given, moved, because=PSEUDO)


def _resize_examples(rng):
    g = Operands(rng)
    settings = (
        ("coordinate_transformation_mode", "asymmetric"),
        ("mode", "nearest"),
        ("nearest_mode", "floor"),
    )
    doubled = g.constant(np.array([1, 1, 2, 2], np.float32))
    yield g.fires(resize(example_image(g), none(), doubled, none(), settings), **LIMITS)


@law(examples=_resize_examples, required=REQUIRED)
def laid_resizes(z: Tensor, y: Tensor, a: Tensor, b: Tensor, m: Tensor, s: Settings):
    """Resize(From(z)) = From(Resize'(z)), of an image"""
    resized = eq(y, resize(from_layout(IMAGES, z), a, b, m, s))
    moved = from_layout(IMAGES, laid(IMAGES, laid_resize(s, z, y), listed(z, a, b, m)))
    yield rule(resized, then=union(y, moved), because=PSEUDO)
