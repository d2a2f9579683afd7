"""What stays in a format of Ascend's kernels, between the conversions that `ascend_layout` begins with.

To(From(z)) -> z
f(From(z)) -> From(f'(z))                    functions of each element, Casts among floats
From(z) + y -> From(z +' To(y))              what broadcasts within the format
Kernel(From(z), ys) -> From(Kernel'(z, To(ys)))

What knows of channels and axes is in `ascend_layout_channels`; all else (Reshape, Softmax, ..) reads ND.
"""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Operands,
    absent,
    auxiliary,
    eq,
    guard,
    hosted,
    kernel,
    laws_of,
    ne,
    rewrite,
    rule,
    table,
    union,
)
from egraph_opt.laws.sorts import DataType, Settings, String, Tensor, Tensors, Unit
from egraph_opt.operators import (
    ConvWindow,
    PoolWindow,
    binary,
    cast,
    conv,
    matmul,
    none,
    pool,
    unary,
    variadic,
)
from egraph_opt.operators.reductions import REDUCTIONS
from egraph_opt.operators.terms import cons, listed
from egraph_opt.rewrites.conditions.formats import CHIP_FLOATS, IMAGES, MATRICES, is_chip_float, suits
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.targets.layouts import (
    PSEUDO,
    Kernel,
    entering,
    from_layout,
    is_known,
    laid,
    laid_behind,
    to_layout,
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
    enters = is_chip_float(result) and all(is_chip_float(z) and suits(layout, z, result) for z in (x, y))
    return ("binary", (op,), 2, True) if enters else None


@hosted()
def laid_variadic(layout: str, op: str, xs: tuple[Fact, ...], result: Fact) -> Kernel | None:
    enters = is_chip_float(result) and all(suits(layout, x, result) for x in xs)
    return ("variadic", (op,), len(xs), True) if enters else None


@hosted()
def laid_stages(layout: str, stages: Stages, x: Fact, others: tuple[Fact, ...]) -> Kernel | None:
    """A kernel of the vector units, of which a reduction at the end leaves the format as it is."""
    op, settings, _, _ = stages[-1]
    if op in REDUCTIONS and laid_reduction.function(layout, op, x, *settings) is None:
        return None
    if op == "Cast" and settings[0] not in CHIP_FLOATS:
        return None
    enters = is_chip_float(x) and all(suits(layout, other, x) for other in others)
    return ("vector_kernel", (stages,), 1 + len(others), True) if enters else None


@hosted()
def laid_reduction(layout: str, kind: str, x: Fact, axes: tuple[int, ...], keepdims: int) -> Kernel | None:
    """A reduction over axes outside of blocks and tiles, which leaves the others where they are."""
    if not keepdims or not is_chip_float(x) or x.rank is None:
        return None
    tiled = (x.rank - 2, x.rank - 1) if layout == MATRICES else range(x.rank)
    inner = (1,) if layout == IMAGES else tiled
    return ("reduce", (kind, axes, keepdims), 1, True) if set(axes).isdisjoint(inner) else None


LIMITS = {"fused_stages": 2, "vector_stages": 3, "channel_block": 4, "tile_side": 16, "plain_products": 1}
REQUIRED = ("ascend.layout.laid_convolution", "ascend.layout.laid_pools", "ascend.layout.laid_product")
_STAGED = (*REQUIRED, "ascend.vector.chain")
_JOINED = (*REQUIRED, "ascend.layout.laid_operators")

_WINDOW = PoolWindow((6, 4), (1, 1), (0, 0, 0, 0), (1, 1))


def example_image(g: Operands, channels: int = 4):
    window = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
    return conv(g.input(("N", 4, 6, 4)), g.random(channels, 4, 3, 3), none(), window)


def _conversions_cancel_examples(rng):
    g = Operands(rng)
    yield g.fires(example_image(g) + example_image(g), **LIMITS)
    yield g.fires(pool("MaxPool", example_image(g), _WINDOW), **LIMITS)


@law(examples=_conversions_cancel_examples, required=_JOINED)
def conversions_cancel(z: Tensor, u: Tensor, y: Tensor, layout: String):
    """To(From(z)) = z; what one tensor is in a format is one value, too"""
    first = from_layout(layout, z)
    yield rewrite(to_layout(layout, first), z, because=PSEUDO)
    yield rule(eq(y, first), eq(y, from_layout(layout, u)), guard(ne(z, u)), then=union(z, u), because=PSEUDO)


def _laid_functions_examples(rng):
    g = Operands(rng)
    z, matrix = example_image(g), matmul(g.input((2, 5, 7)), g.random(7, 3))
    for x in (z, matrix):
        yield g.fires(unary("Sin", (), x), **LIMITS)
        yield g.near_miss(unary("IsNaN", (), x), why="the result is no float", **LIMITS)
    yield g.fires(cast(z, 10), **LIMITS)
    yield g.near_miss(cast(z, 6), why="the result is no float", **LIMITS)


@law(examples=_laid_functions_examples, required=REQUIRED)
def laid_functions(z: Tensor, y: Tensor, op: String, s: Settings, t: DataType, layout: String):
    """f(From(z)) = From(f'(z)), Casts among floats likewise"""
    first = from_layout(layout, z)
    for given, inner in ((unary(op, s, first), laid_function(op, s, y)), (cast(first, t), laid_cast(t, y))):
        moved = from_layout(layout, laid(layout, inner, listed(z)))
        yield rule(eq(y, given), then=union(y, moved), because=PSEUDO)


def _laid_operators_examples(rng):
    g = Operands(rng)
    z, matrix = example_image(g), matmul(g.input((2, 5, 7)), g.random(7, 3))
    for op in ("Add", "Pow"):
        yield g.fires(binary(op, z, g.input(("N", 4, 6, 4))), **LIMITS)
        yield g.fires(binary(op, g.input(("N", 4, 6, 4)), z), **LIMITS)
    yield g.fires(matrix * g.input((1, 5, 3)), **LIMITS)
    yield g.fires(g.random(1, 4, 1, 1) - z, **LIMITS)
    yield g.fires(pool("MaxPool", z, _WINDOW) + z, **LIMITS)
    yield g.near_miss(g.input((4,)) + g.input((4,)), why="nothing is in a format", **LIMITS)
    yield g.near_miss(z + g.input((1, 1, 6, 4)), why="broadcast along channels", **LIMITS)


@law(examples=_laid_operators_examples, required=REQUIRED, uses=(either_side,))
def laid_operators(z: Tensor, x: Tensor, y: Tensor, op: String, layout: String):
    """From(z) + x = From(z +' To(x)), of any operator of two operands and on either side"""
    first, inner = from_layout(layout, z), laid_binary(layout, op, z, x, y)
    for other, known in ((x, is_known(x)), (to_layout(layout, x), absent(is_known(x)))):
        for side, operands in ((0, listed(z, other)), (1, listed(other, z))):
            moved = from_layout(layout, laid(layout, inner, operands))
            given = eq(y, beside(op, first, x, side))
            yield rule(given, kernel(known), then=union(y, moved), because=PSEUDO)


def _laid_kernels_examples(rng):
    g = Operands(rng)
    for channels in (4, 6):
        z, other = example_image(g, channels), g.input(("N", channels, 6, 4))
        yield g.fires(unary("Tanh", (), unary("Sin", (), z) * other), **LIMITS)
    yield g.near_miss(unary("Tanh", (), unary("Sin", (), other)), why="nothing is in a format", **LIMITS)


@law(examples=_laid_kernels_examples, required=_STAGED, uses=(entering,))
def laid_kernels(z: Tensor, y: Tensor, xs: Tensors, zs: Tensors, e: Stages, layout: String):
    """Kernel[..](From(z), xs) = From(Kernel'[..](z, To(xs))), of the vector units"""
    staged = eq(y, vector_kernel(e, from_layout(layout, z), xs))
    inner = laid_stages(layout, e, z, xs)
    yield from laid_behind(staged, inner, cons(z, zs), y=y, layout=layout, entry=(xs, zs))


def _laid_variadics_examples(rng):
    g = Operands(rng)
    z = example_image(g)
    yield g.fires(variadic("Max", listed(z, g.input(("N", 4, 1, 1)), g.random(4, 1, 1))), **LIMITS)
    two = listed(z, g.input((1, 1, 6, 4)))
    yield g.near_miss(variadic("Max", two), why="broadcast along channels", **LIMITS)


@law(examples=_laid_variadics_examples, required=REQUIRED, uses=(entering, touching))
def laid_variadics(y: Tensor, xs: Tensors, zs: Tensors, op: String, layout: String):
    """Max(From(z), x) = From(Max'(z, To(x))); Min, Sum and Mean likewise"""
    found, wanted, inner = eq(y, variadic(op, xs)), touched(layout, xs), laid_variadic(layout, op, xs, y)
    yield from laid_behind(found, inner, zs, y=y, layout=layout, entry=(xs, zs), wanted=wanted)
