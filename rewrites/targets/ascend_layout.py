"""Where kernels of Ascend's cube unit, and pools, meet their formats: NC1HWC0 and FRACTAL_NZ.

Kernel[Conv](x, w, b; ys) -> From(Kernel[Conv'](To(x), w, b; To(ys)))      ConvTranspose as well
Kernel[MatMul](x, w; ys) -> From(Kernel[MatMul'](To(x), w; To(ys)))        Gemm as well, where ND does not do
x @ W -> To(x) @> W                                                        whole tiles are written in ND
MaxPool(x) -> From(MaxPool'(To(x)))                                        AveragePool as well

A conversion is a kernel of its own (TransData) that moves the whole tensor; constants are converted offline.
What stays in a format between two of them: see `ascend_layout_chains`.
"""

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import Operands, eq, guard, hosted, kernel, laws_of, rewrite, rule, union
from egraph_opt.laws.sorts import String, Tensor, Tensors
from egraph_opt.operators import ConvWindow, PoolWindow, conv, matmul, none, pool, unary
from egraph_opt.operators.terms import append, cons, limit, listed
from egraph_opt.rewrites.conditions.formats import (
    IMAGES,
    MATRICES,
    ROWS,
    is_image,
    is_matrix,
    product_format,
    suits,
    takes_plain,
)
from egraph_opt.rewrites.targets.fused_cube import (
    Cube,
    cube_operator,
    cubes,
    example_products,
    following,
    fused_cube,
    some_computed,
    weights,
)
from egraph_opt.rewrites.targets.layouts import (
    PSEUDO,
    Kernel,
    demanded,
    entered,
    entering,
    from_layout,
    laid,
    to_layout,
    unlaid,
)
from egraph_opt.rewrites.targets.stages import Stages

law = laws_of(
    "ascend.layout",
    numerics="bitwise",
    kind="fuse",
    serves="target",
    source="hicann/ops-nn aclnn_convolution.cpp, matmul_util.cpp; hiascend atlasadvisor_16_0018",
)

_ARITY = {"conv": 3, "conv_transpose": 3, "gemm": 3, "matmul": 2}


def _kernel(cube: Cube, stages: Stages, others: tuple[Fact, ...]) -> Kernel:
    name, settings = cube
    operands = _ARITY[name] + len(others)
    return ("fused_cube", (cube, stages), operands, True) if stages else (name, settings, operands, True)


@hosted()
def image_kernel(cube: Cube, x: Fact) -> Kernel | None:
    """A convolution of an image in blocks of channels."""
    return _kernel(cube, (), ()) if cube[0].startswith("conv") and is_image(x) else None


@hosted()
def image_stages(cube: Cube, stages: Stages, x: Fact, y: Fact, others: tuple[Fact, ...]) -> Kernel | None:
    """The same with stages, whose operands are in the format too."""
    enters = cube[0].startswith("conv") and is_image(x) and all(suits(IMAGES, other, y) for other in others)
    return _kernel(cube, stages, others) if stages and enters else None


def _is_unaligned(cube: Cube, operands: tuple[Fact, ...], form: int, side: int) -> bool:
    """Whether a product's operands are to be in tiles; a bias beside it stays as it is."""
    if cube[0].startswith("conv") or not form:
        return False
    x, w, *bias = operands
    if not all(is_matrix(f) or (f.const and (f.rank or 0) >= 2) for f in (x, w)):
        return False
    return all(f.const or f == ABSENT for f in bias) and not takes_plain(x, w, form, side)


def _is_in(layout: str, operands: tuple[Fact, ...], side: int) -> bool:
    """Whether a product in tiles has this format: with one matrix on the right all rows are one matrix."""
    x, w = operands[:2]
    return x.shape is not None and w.shape is not None and product_format(x.shape, w.shape, side) == layout


@hosted()
def matrix_kernel(layout: str, cube: Cube, operands: tuple[Fact, ...], form: int, side: int) -> Kernel | None:
    """A product of matrices in tiles, where the chip takes none in ND."""
    enters = _is_unaligned(cube, operands, form, side) and _is_in(layout, operands, side)
    return _kernel(cube, (), ()) if enters else None


@hosted()
def matrix_stages(
    cube: Cube,
    stages: Stages,
    operands: tuple[Fact, ...],
    others: tuple[Fact, ...],
    at: tuple[str, Fact, int, int],
) -> Kernel | None:
    """The same with stages; `at`: the format, the result, and the two limits."""
    layout, y, form, side = at
    enters = _is_unaligned(cube, operands, form, side) and _is_in(layout, operands, side)
    suited = enters and all(suits(layout, other, y) for other in others)
    return _kernel(cube, stages, others) if stages and suited else None


@hosted()
def writes_plain(y: Fact, side: int) -> bool:
    """Whether a product in tiles writes its result in ND: its rows are whole tiles wide."""
    last = y.shape[-1] if y.shape else None
    return isinstance(last, int) and last % side == 0


@hosted()
def among_limits(layout: str, y: Fact, form: int, side: int) -> tuple[str, Fact, int, int]:
    return (layout, y, form, side)


@hosted()
def pool_kernel(kind: str, window: PoolWindow, x: Fact) -> Kernel | None:
    return ("pool", (kind, window), 1, True) if is_image(x) else None


_LIMITS = {"fused_stages": 2, "channel_block": 16, "tile_side": 16, "plain_products": 1}
_REQUIRED = ("ascend.fusion.cube_kernel", "ascend.fusion.unary_stage", "ascend.fusion.binary_stage")


def _convolution_examples(rng):
    g = Operands(rng)
    image, product = example_products(g)
    window = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
    yield g.fires(image, **_LIMITS)
    yield g.fires(unary("Relu", (), image), **_LIMITS)
    yield g.fires(image + g.input(("N", 4, "L", 5)), **_LIMITS)
    yield g.fires(image + g.input(("N", 4, 1, 1)), **_LIMITS)
    yield g.fires(conv(g.input(("N", 4, 5, 4)), g.input((4, 4, 3, 3)), g.random(4), window), **_LIMITS)
    yield g.near_miss(image, why="the target has no such format", fused_stages=2)
    yield g.near_miss(product, why="no image", fused_stages=2, channel_block=16)
    row = conv(g.input((2, 3, 9)), g.random(4, 3, 3), none(), ConvWindow((1,), (1, 1), (1,)))
    yield g.near_miss(row, why="one dimension", **_LIMITS)


@law(examples=_convolution_examples, required=_REQUIRED, uses=(cubes, following, entering))
def laid_convolution(
    x: Tensor, y: Tensor, rest: Tensors, xs: Tensors, ys: Tensors, zs: Tensors, k: Cube, e: Stages
):  # fmt: skip
    """Kernel[Conv](x, w, b; ys) = From(Kernel[Conv'](To(x), w, b; To(ys)))

    Of all constant weights that give one value one will do, as in `ascend.fusion.cube_kernel`.
    """
    demand = guard(limit("channel_block"))
    inside = cons(to_layout(IMAGES, x), rest)
    alone = from_layout(IMAGES, laid(IMAGES, image_kernel(k, x), inside))
    operands = eq(xs, cons(x, rest))
    for found in (eq(xs, weights(y, x, k)), (eq(y, cube_operator(k, xs)), guard(some_computed(xs)))):
        yield rule(operands, found, demand, then=union(y, alone), because=PSEUDO)
    staged, whole = eq(y, fused_cube(k, e, xs, ys)), image_stages(k, e, x, y, ys)
    yield rule(operands, staged, guard(whole), demand, then=demanded(IMAGES, ys), because=PSEUDO)
    moved = from_layout(IMAGES, laid(IMAGES, whole, append(inside, zs)))
    entry = eq(zs, entered(IMAGES, ys))
    yield rule(operands, staged, entry, demand, then=union(y, moved), because=PSEUDO)


def _product_examples(rng):
    g = Operands(rng)
    x, w = g.input((2, "L", 3)), g.random(3, 16)
    yield g.fires(matmul(x, w), **_LIMITS)
    yield g.fires(unary("Relu", (), matmul(x, g.random(3, 4))), **_LIMITS)
    yield g.fires(matmul(x, g.random(3, 4)) + g.input((2, "L", 4)), **_LIMITS)
    yield g.fires(unary("Relu", (), matmul(x, w)), **_LIMITS)
    yield g.fires(matmul(x, g.input((2, 3, 5))), **_LIMITS)
    yield g.fires(matmul(x, g.input((3, 16))), **_LIMITS)
    yield g.fires(unary("Relu", (), matmul(g.input((5, 1, 3)), g.random(3, 4))), **_LIMITS)
    rows = g.input(("L", 3))
    for width in (4, 16):  # columns of which no tile is whole, or all are
        yield g.fires(unary("Relu", (), matmul(rows, g.random(3, width))), **_LIMITS)
        yield g.fires(matmul(rows, g.random(3, width)) + g.input(("L", width)), **_LIMITS)
    yield g.fires(matmul(x, g.input((2, 3, 16))), **_LIMITS)
    yield g.fires(matmul(g.random(2, 4, 7), g.input((2, 7, 5))), **_LIMITS)
    yield g.near_miss(matmul(g.input((16, 16)), g.random(16, 32)), why="ND will do", **_LIMITS)
    yield g.near_miss(matmul(x, w), why="the target has no such format", fused_stages=2)


@law(examples=_product_examples, required=_REQUIRED, uses=(cubes, following, entering))
def laid_product(
    x: Tensor, y: Tensor, xs: Tensors, ys: Tensors, vs: Tensors, zs: Tensors, k: Cube, e: Stages
):  # fmt: skip
    """Kernel[MatMul](x, w; ys) = From(Kernel[MatMul'](To(x), To(w); To(ys))), of whole tiles without From"""
    form, side = limit("plain_products"), limit("tile_side")
    in_rows, staged = kernel(writes_plain(y, side)), eq(y, fused_cube(k, e, xs, ys))
    for layout in (MATRICES, ROWS):
        whole, inside = matrix_kernel(layout, k, xs, form, side), eq(vs, entered(layout, xs))
        for found in (eq(xs, weights(y, x, k)), (eq(y, cube_operator(k, xs)), guard(some_computed(xs)))):
            yield rule(found, guard(whole, form), then=demanded(layout, xs), because=PSEUDO)
            moved = from_layout(layout, laid(layout, whole, vs))
            yield rule(found, inside, guard(form), then=union(y, moved), because=PSEUDO)
            plain = unlaid(layout, whole, vs)
            yield rule(found, inside, in_rows, guard(form), then=union(y, plain), because=PSEUDO)
        whole = matrix_stages(k, e, xs, ys, among_limits(layout, y, form, side))
        both = (demanded(layout, xs), demanded(layout, ys))
        yield rule(staged, guard(whole, form), then=both, because=PSEUDO)
        entries = (inside, eq(zs, entered(layout, ys)))
        moved = from_layout(layout, laid(layout, whole, append(vs, zs)))
        yield rule(staged, *entries, guard(form), then=union(y, moved), because=PSEUDO)
        plain = unlaid(layout, whole, append(vs, zs))
        yield rule(staged, *entries, in_rows, guard(form), then=union(y, plain), because=PSEUDO)


def _pool_examples(rng):
    g = Operands(rng)
    window = PoolWindow((2, 2), (2, 2), (0, 0, 0, 0), (1, 1))
    pooled = pool("MaxPool", g.input(("N", 3, 6, 4)), window)
    yield g.fires(pooled, **_LIMITS)
    yield g.near_miss(pooled, why="the target has no such format")
    row = pool("MaxPool", g.input((2, 3, 9)), PoolWindow((2,), (2,), (0, 0), (1,)))
    yield g.near_miss(row, why="one dimension", **_LIMITS)


@law(examples=_pool_examples)
def laid_pools(x: Tensor, kind: String, w: PoolWindow):
    """Pool(x) = From(Pool'(To(x)))"""
    inside = laid(IMAGES, pool_kernel(kind, w, x), listed(to_layout(IMAGES, x)))
    found = from_layout(IMAGES, inside)
    yield rewrite(pool(kind, x, w), found, guard(limit("channel_block")), because=PSEUDO)
