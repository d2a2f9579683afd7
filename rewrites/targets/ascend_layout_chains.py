"""What stays in a format of Ascend's kernels, between the conversions that `ascend_layout` begins with.

To(From(z)) -> z
f(From(z)) -> From(f'(z))                                   functions of each element, Casts among floats
From(z) + y -> From(z +' To(y))                             what broadcasts within the format
Concat(From(z), y; axis) -> From(Concat'(z, To(y); axis))   along whole blocks, and the axes outside of them
Mean(From(z); axes) -> From(Mean'(z; axes))                 over axes outside of blocks; global pools as well
Norm(From(z)) -> From(Norm'(z))                             per channel; Resize of an image

Everything else (Reshape, Transpose, Softmax, Slice ...) reads ND.
"""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Operands,
    absent,
    auxiliary,
    eq,
    guard,
    hosted,
    laws_of,
    ne,
    rewrite,
    rule,
    table,
    union,
)
from egraph_opt.laws.sorts import Axes, Axis, DataType, Float, Settings, String, Tensor, Tensors, Unit
from egraph_opt.operators import (
    ConvWindow,
    PoolWindow,
    batchnorm,
    binary,
    cast,
    concat,
    conv,
    global_pool,
    instance_norm,
    matmul,
    none,
    pool,
    reduce,
    resize,
    unary,
    variadic,
)
from egraph_opt.operators.reductions import REDUCTIONS
from egraph_opt.operators.terms import cons, limit, listed
from egraph_opt.rewrites.conditions.formats import (
    CHIP_FLOATS,
    IMAGES,
    MATRICES,
    fits,
    is_chip_float,
    is_image,
    is_matrix,
)
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.targets.layouts import (
    PSEUDO,
    Kernel,
    entered,
    entering,
    from_layout,
    is_known,
    laid,
    to_layout,
    wanted,
)
from egraph_opt.rewrites.targets.stages import Stages
from egraph_opt.rewrites.targets.vector_kernel import vector_kernel

law = laws_of(
    "ascend.layout",
    numerics="bitwise",
    kind="fuse",
    serves="target",
    source="hiascend atlasadvisor_16_0018: TransData where an operator cannot take the format of its input",
)


@table()
def touched(layout: String, xs: Tensors) -> Unit:
    """One of some tensors was converted from a layout."""


@auxiliary()
def touching(layout: String, z: Tensor, x: Tensor, rest: Tensors, xs: Tensors):
    """Fills `touched`."""
    yield rule(eq(xs, cons(from_layout(layout, z), rest)), then=touched(layout, xs))
    yield rule(eq(xs, cons(x, rest)), touched(layout, rest), then=touched(layout, xs))


@hosted()
def laid_function(op: str, settings: Settings, y: Fact) -> Kernel | None:
    """A function whose result is a float."""
    return ("unary", (op, settings), 1, True) if is_chip_float(y) else None


@hosted()
def laid_cast(to: int, y: Fact) -> Kernel | None:
    return ("cast", (to,), 1, True) if is_chip_float(y) else None


@hosted()
def laid_binary(layout: str, op: str, x: Fact, y: Fact, result: Fact) -> Kernel | None:
    """An operator of two operands, neither of which is broadcast but as the format allows."""
    enters = is_chip_float(result) and is_chip_float(x) and is_chip_float(y)
    enters = enters and fits(layout, x, result) and fits(layout, y, result)
    return ("binary", (op,), 2, True) if enters else None


@hosted()
def laid_variadic(layout: str, op: str, xs: tuple[Fact, ...], result: Fact) -> Kernel | None:
    enters = is_chip_float(result) and all(fits(layout, x, result) for x in xs)
    return ("variadic", (op,), len(xs), True) if enters else None


@hosted()
def laid_stages(layout: str, stages: Stages, x: Fact, others: tuple[Fact, ...]) -> Kernel | None:
    """A kernel of the vector units, of which a reduction at the end leaves the format as it is."""
    op, settings, _, _ = stages[-1]
    if op in REDUCTIONS and laid_reduction.function(layout, op, x, *settings) is None:
        return None
    if op == "Cast" and settings[0] not in CHIP_FLOATS:
        return None
    enters = is_chip_float(x) and all(fits(layout, other, x) for other in others)
    return ("vector_kernel", (stages,), 1 + len(others), True) if enters else None


@hosted()
def laid_concat(xs: tuple[Fact, ...], axis: int, layout: str, sizes: tuple[int, int]) -> Kernel | None:
    """Tensors one behind the other: within blocks or tiles, all but the last fill theirs."""
    block, side = sizes
    accepts = is_image if layout == IMAGES else is_matrix
    if not all(x.const or accepts(x) for x in xs) or not all(is_chip_float(x) for x in xs):
        return None
    rank = xs[0].rank or 0
    unit = (block if axis == 1 else 1) if layout == IMAGES else (side if axis >= rank - 2 else 1)
    extents = [x.shape[axis] if x.shape is not None else None for x in xs[:-1]]
    whole = unit == 1 or all(isinstance(d, int) and d % unit == 0 for d in extents)
    return ("concat", (axis,), len(xs), True) if whole else None


@hosted()
def sizes(block: int, side: int) -> tuple[int, int]:
    return block, side


@hosted()
def laid_reduction(layout: str, kind: str, x: Fact, axes: tuple[int, ...], keepdims: int) -> Kernel | None:
    """A reduction over axes outside of blocks and tiles, which leaves the others where they are."""
    if not keepdims or not is_chip_float(x) or x.rank is None:
        return None
    inner = (1,) if layout == IMAGES else (x.rank - 2, x.rank - 1)
    return ("reduce", (kind, axes, keepdims), 1, True) if set(axes).isdisjoint(inner) else None


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


_LIMITS = {"fused_stages": 2, "vector_stages": 3, "channel_block": 4, "tile_side": 16, "plain_products": 1}
_REQUIRED = ("ascend.layout.laid_convolution", "ascend.layout.laid_pools", "ascend.layout.laid_product")
_STAGED = (*_REQUIRED, "ascend.vector.chain")


def _image(g: Operands, channels: int = 4):
    window = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
    return conv(g.input(("N", 4, 6, 4)), g.random(channels, 4, 3, 3), none(), window)


def _elementwise_examples(rng):
    g = Operands(rng)
    z, matrix = _image(g), matmul(g.input((2, 5, 7)), g.random(7, 3))
    yield g.fires(unary("Sin", (), z), **_LIMITS)
    yield g.fires(unary("Sin", (), matrix), **_LIMITS)
    yield g.fires(cast(z, 10), **_LIMITS)
    for op in ("Add", "Pow"):
        yield g.fires(binary(op, z, g.input(("N", 4, 6, 4))), **_LIMITS)
        yield g.fires(binary(op, g.input(("N", 4, 6, 4)), z), **_LIMITS)
    yield g.fires(matrix * g.input((1, 5, 3)), **_LIMITS)
    yield g.fires(g.random(1, 4, 1, 1) - z, **_LIMITS)
    yield g.fires(variadic("Max", listed(z, g.input(("N", 4, 1, 1)), g.random(4, 1, 1))), **_LIMITS)
    pooled = pool("MaxPool", z, PoolWindow((6, 4), (1, 1), (0, 0, 0, 0), (1, 1)))
    yield g.fires(pooled + z, **_LIMITS)
    yield g.fires(unary("Tanh", (), unary("Sin", (), z) * g.input(("N", 4, 6, 4))), **_LIMITS)
    yield g.near_miss(g.input((4,)) + g.input((4,)), why="nothing is in a format", **_LIMITS)


@law(examples=_elementwise_examples, required=_STAGED, uses=(either_side, entering, touching))
def laid_elementwise(
    z: Tensor, u: Tensor, x: Tensor, y: Tensor, xs: Tensors, zs: Tensors, op: String, s: Settings,
    t: DataType, e: Stages, layout: String,
):  # fmt: skip
    """f(From(z)) = From(f'(z)), From(z) + x = From(z +' To(x)), and To(From(z)) = z"""
    first = from_layout(layout, z)
    yield rewrite(to_layout(layout, first), z, because=PSEUDO)
    yield rule(eq(y, first), eq(y, from_layout(layout, u)), guard(ne(z, u)), then=union(z, u), because=PSEUDO)
    for given, kernel in ((unary(op, s, first), laid_function(op, s, y)), (cast(first, t), laid_cast(t, y))):
        moved = from_layout(layout, laid(layout, kernel, listed(z)))
        yield rule(eq(y, given), then=union(y, moved), because=PSEUDO)
    kernel = laid_binary(layout, op, z, x, y)
    for other, known in ((x, is_known(x)), (to_layout(layout, x), absent(is_known(x)))):
        for side, operands in ((0, listed(z, other)), (1, listed(other, z))):
            moved = from_layout(layout, laid(layout, kernel, operands))
            yield rule(eq(y, beside(op, first, x, side)), known, then=union(y, moved), because=PSEUDO)
    staged, kernel = eq(y, vector_kernel(e, first, xs)), laid_stages(layout, e, z, xs)
    yield rule(staged, kernel, then=wanted(layout, xs), because=PSEUDO)
    moved = from_layout(layout, laid(layout, kernel, cons(z, zs)))
    yield rule(staged, eq(zs, entered(layout, xs)), then=union(y, moved), because=PSEUDO)
    found = (eq(y, variadic(op, xs)), touched(layout, xs))
    kernel = laid_variadic(layout, op, xs, y)
    yield rule(*found, kernel, then=wanted(layout, xs), because=PSEUDO)
    moved = from_layout(layout, laid(layout, kernel, zs))
    yield rule(*found, eq(zs, entered(layout, xs)), then=union(y, moved), because=PSEUDO)


def _concat_examples(rng):
    g = Operands(rng)
    z, x = _image(g), g.input(("N", 4, 6, 4))
    for axis in (0, 1, 2, 3):
        yield g.fires(concat(listed(x, z), axis), **_LIMITS)
    yield g.fires(concat(listed(z, _image(g, 3)), 1), **_LIMITS)
    yield g.near_miss(concat(listed(x, x), 1), why="nothing is in a format", **_LIMITS)


@law(examples=_concat_examples, required=_REQUIRED, uses=(entering, touching))
def laid_concatenation(y: Tensor, xs: Tensors, zs: Tensors, axis: Axis, layout: String):
    """Concat(From(z), y) = From(Concat'(z, To(y)))"""
    found = (eq(y, concat(xs, axis)), touched(layout, xs))
    kernel = laid_concat(xs, axis, layout, sizes(limit("channel_block"), limit("tile_side")))
    yield rule(*found, kernel, then=wanted(layout, xs), because=PSEUDO)
    moved = from_layout(layout, laid(layout, kernel, zs))
    yield rule(*found, eq(zs, entered(layout, xs)), then=union(y, moved), because=PSEUDO)


def _channel_examples(rng):
    g = Operands(rng)
    z, matrix = _image(g), matmul(g.input((2, 5, 7)), g.random(7, 3))
    vectors = [g.constant(rng.uniform(0.5, 2, 4)) for _ in range(4)]
    yield g.fires(reduce("ReduceMean", z, (2, 3), 1), **_LIMITS)
    yield g.fires(reduce("ReduceMax", z, (3,), 1), **_LIMITS)
    yield g.fires(reduce("ReduceSum", matrix, (0,), 1), **_LIMITS)
    yield g.fires(global_pool("GlobalAveragePool", z), **_LIMITS)
    yield g.fires(batchnorm(z, *vectors, 1e-5), **_LIMITS)
    yield g.fires(instance_norm(z, *vectors[:2], 1e-5), **_LIMITS)
    settings = (
        ("coordinate_transformation_mode", "asymmetric"),
        ("mode", "nearest"),
        ("nearest_mode", "floor"),
    )
    doubled = g.constant(np.array([1, 1, 2, 2], np.float32))
    yield g.fires(resize(z, none(), doubled, none(), settings), **_LIMITS)
    shape = g.input(("N", 4, 6, 4))
    yield g.near_miss(reduce("ReduceMean", shape, (2, 3), 1), why="nothing is in a format", **_LIMITS)


@law(examples=_channel_examples, required=_REQUIRED)
def laid_channels(
    z: Tensor, y: Tensor, a: Tensor, b: Tensor, m: Tensor, v: Tensor, k: String, axes: Axes, e: Float,
    s: Settings,
):  # fmt: skip
    """Mean(From(z)) = From(Mean'(z)); global pools, normalisations per channel and Resize likewise"""
    for form in (IMAGES, MATRICES):
        inside = laid(form, laid_reduction(form, k, z, axes, 1), listed(z))
        yield rewrite(reduce(k, from_layout(form, z), axes, 1), from_layout(form, inside), because=PSEUDO)
    image = from_layout(IMAGES, z)
    for given, kernel, operands in (
        (global_pool(k, image), laid_pool(k, z), listed(z)),
        (batchnorm(image, a, b, m, v, e), laid_norm("batchnorm", e, 4, z), listed(z, a, b, m, v)),
        (instance_norm(image, a, b, e), laid_norm("instance_norm", e, 2, z), listed(z, a, b)),
    ):
        moved = from_layout(IMAGES, laid(IMAGES, kernel, operands))
        yield rewrite(given, moved, because=PSEUDO)
    resized = eq(y, resize(image, a, b, m, s))
    moved = from_layout(IMAGES, laid(IMAGES, laid_resize(s, z, y), listed(z, a, b, m)))
    yield rule(resized, then=union(y, moved), because=PSEUDO)
