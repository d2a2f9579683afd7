"""ONNX Runtime's blocked layout on CPUs, NCHWc: where convolutions and pools begin it, and what stays.

Conv(x; w, b) -> FromLayout(Conv'(ToLayout(x); w, b))     and with what is fused with it
Conv(x; w, b) -> FromLayout(Conv'(x; w, b))               few channels are read as they are
MaxPool(x) -> FromLayout(MaxPool'(ToLayout(x)))           AveragePool, and both global ones
f(FromLayout(z)) -> FromLayout(f'(z))                     Relu, Sigmoid, Tanh, HardSigmoid
FromLayout(z) + FromLayout(u) -> FromLayout(z +' u)       and products
Concat(FromLayout(z), ..) -> FromLayout(Concat'(z, ..))   along channels

Source: onnxruntime, optimizer/nchwc_transformer.cc, which converts wherever it can.  Which kernels a machine
has in the layout, the cost model `onnxruntime` measures; it publishes the limit `blocked_channels`.
"""

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Operands, eq, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.sorts import Axis, Settings, String, Tensor, Tensors
from egraph_opt.operators import ConvWindow, PoolWindow, binary, concat, conv, global_pool, pool, unary
from egraph_opt.operators.terms import limit, listed, nil
from egraph_opt.rewrites.targets.fused_cube import Cube, fused_cube
from egraph_opt.rewrites.targets.layouts import (
    PSEUDO,
    Kernel,
    all_laid,
    from_layout,
    laid,
    laid_lists,
    to_layout,
)
from egraph_opt.rewrites.targets.stages import Stages

BLOCKED = "NCHWc"

UNARY = frozenset(("HardSigmoid", "Relu", "Sigmoid", "Tanh"))
BINARY = frozenset(("Add", "Mul"))

law = laws_of(
    "onnxruntime.layout",
    numerics="bitwise",
    kind="fuse",
    serves="target",
    source="onnxruntime, optimizer/nchwc_transformer.cc",
)


def _is_image(x: Fact) -> bool:
    return x.dtype == TensorProto.FLOAT and x.rank == 4 and not x.const


def _whole_blocks(x: Fact, block: int) -> bool:
    """Whether the channels of an image fill blocks."""
    channels = x.shape[1] if _is_image(x) and x.shape is not None else None
    return isinstance(channels, int) and channels > 0 and channels % block == 0


def _convolves(x: Fact, w: Fact) -> bool:
    """Only constant weights are brought into the layout beforehand."""
    return _is_image(x) and w.const


def _are_few(x: Fact, w: Fact, block: int) -> bool:
    """A convolution whose kernel reads the channels of x as they are."""
    channels = None if w.shape is None else w.shape[1]
    return _convolves(x, w) and isinstance(channels, int) and channels < block


@hosted()
def laid_conv(window: ConvWindow, x: Fact, w: Fact) -> Kernel | None:
    """A convolution of an image in the layout."""
    return ("conv", (window,), 3, True) if _convolves(x, w) else None


@hosted()
def conv_of_few(window: ConvWindow, x: Fact, w: Fact, block: int) -> Kernel | None:
    """The same of an image of so few channels that the kernel takes it as it is."""
    return ("conv", (window,), 3, False) if _are_few(x, w, block) else None


@hosted()
def laid_cube(cube: Cube, stages: Stages, x: Fact, w: Fact, others: int) -> Kernel | None:
    """A convolution and its stages on an image in the layout."""
    found = cube[0] == "conv" and _convolves(x, w)
    return ("fused_cube", (cube, stages), 3 + others, True) if found else None


@hosted()
def cube_of_few(cube: Cube, stages: Stages, x: Fact, w: Fact, others: int, block: int) -> Kernel | None:
    """The same on an image of few channels."""
    found = cube[0] == "conv" and _are_few(x, w, block)
    return ("fused_cube", (cube, stages), 3 + others, False) if found else None


@hosted()
def laid_function(op: str, settings: Settings, x: Fact) -> Kernel | None:
    return ("unary", (op, settings), 1, True) if op in UNARY and _is_image(x) else None


@hosted()
def laid_sum(op: str, x: Fact, y: Fact) -> Kernel | None:
    """A sum or product of images of one shape."""
    return ("binary", (op,), 2, True) if op in BINARY and _is_image(x) and x.shape == y.shape else None


@hosted()
def laid_pool(kind: str, window: PoolWindow, x: Fact, block: int) -> Kernel | None:
    return ("pool", (kind, window), 1, True) if _whole_blocks(x, block) else None


@hosted()
def laid_global_pool(kind: str, x: Fact, block: int) -> Kernel | None:
    return ("global_pool", (kind,), 1, True) if _whole_blocks(x, block) else None


@hosted()
def laid_concat(xs: tuple[Fact, ...], axis: int, block: int) -> Kernel | None:
    blocks = axis == 1 and all(_whole_blocks(x, block) for x in xs)
    return ("concat", (axis,), len(xs), True) if blocks else None


@hosted()
def may_be_blocked(x: Fact) -> bool:
    """Whether x may be in the layout."""
    return _is_image(x)


_WINDOW = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
_LIMITS = {"fused_stages": 2, "blocked_channels": 2}


def _cubes(g: Operands, channels: int):
    x, w = g.input(("N", channels, 5, 4)), g.random(4, channels, 3, 3)
    return conv(x, w, g.random(4), _WINDOW)


def _cube_examples(rng):
    g = Operands(rng)
    yield g.fires(_cubes(g, 4), **_LIMITS)
    yield g.fires(unary("Relu", (), _cubes(g, 4) + g.input(("N", 4, 5, 4))), **_LIMITS)
    yield g.fires(_cubes(g, 1), **_LIMITS)
    yield g.fires(_cubes(g, 1) + g.input(("N", 4, 5, 4)), **_LIMITS)
    yield g.near_miss(_cubes(g, 4), why="the target has no such layout", fused_stages=2)
    computed = conv(g.input(("N", 4, 5, 4)), g.input((4, 4, 3, 3)), g.random(4), _WINDOW)
    yield g.near_miss(computed, why="weights are computed", **_LIMITS)


_KERNELS = ("ascend.fusion.cube_kernel", "ascend.fusion.binary_stage")
_LAID = (*_KERNELS, "onnxruntime.layout.laid_convolution", "onnxruntime.layout.laid_pools")


@law(examples=_cube_examples, required=_KERNELS)
def laid_convolution(x: Tensor, w: Tensor, b: Tensor, v: Tensor, u: ConvWindow, k: Cube, e: Stages):
    """Kernel[Conv](x, w, b) = FromLayout(Kernel[Conv'](ToLayout(x), w, b)); with one operand more likewise"""
    block, image = limit("blocked_channels"), to_layout(BLOCKED, x)
    alone, others = fused_cube(k, e, listed(x, w, b), nil()), fused_cube(k, e, listed(x, w, b), listed(v))
    for given, moved, inside, few in (
        (conv(x, w, b, u), (), laid_conv(u, x, w), conv_of_few(u, x, w, block)),
        (alone, (), laid_cube(k, e, x, w, 0), cube_of_few(k, e, x, w, 0, block)),
        (others, (to_layout(BLOCKED, v),), laid_cube(k, e, x, w, 1), cube_of_few(k, e, x, w, 1, block)),
    ):
        fits = kernel(may_be_blocked(v)) if moved else ()
        for operand, whole in ((image, inside), (x, few)):
            result = from_layout(BLOCKED, laid(BLOCKED, whole, listed(operand, w, b, *moved)))
            yield rewrite(given, result, guard(block), fits, because=PSEUDO)


def _pool_examples(rng):
    g = Operands(rng)
    window = PoolWindow((2, 2), (2, 2), (0, 0, 0, 0), (1, 1))
    for channels in (4, 3):
        x = g.input(("N", channels, 6, 4))
        for pooled in (pool("MaxPool", x, window), global_pool("GlobalAveragePool", x)):
            if channels == 4:
                yield g.fires(pooled, **_LIMITS)
            else:
                yield g.near_miss(pooled, why="a block is not full", **_LIMITS)


@law(examples=_pool_examples)
def laid_pools(x: Tensor, kind: String, w: PoolWindow):
    """Pool(x) = FromLayout(Pool'(ToLayout(x)))"""
    block, operand = limit("blocked_channels"), listed(to_layout(BLOCKED, x))
    for pooled, whole in (
        (pool(kind, x, w), laid_pool(kind, w, x, block)),
        (global_pool(kind, x), laid_global_pool(kind, x, block)),
    ):
        result = laid(BLOCKED, whole, operand)
        yield rewrite(pooled, from_layout(BLOCKED, result), guard(block), because=PSEUDO)


def _chain_examples(rng):
    g = Operands(rng)
    z = unary("Sigmoid", (), _cubes(g, 4))
    u = _cubes(g, 4)
    yield g.fires(z, **_LIMITS)
    yield g.fires(z * u, **_LIMITS)
    yield g.fires(concat(listed(z, u), 1), **_LIMITS)
    yield g.near_miss(concat(listed(u, u), 2), why="not along channels", **_LIMITS)
    yield g.fires(pool("MaxPool", u, PoolWindow((2, 2), (2, 2), (0, 0, 0, 0), (1, 1))), **_LIMITS)


@law(examples=_chain_examples, required=_LAID, uses=(laid_lists,))
def laid_chain(z: Tensor, u: Tensor, xs: Tensors, zs: Tensors, op: String, s: Settings, axis: Axis):
    """f(FromLayout(z), ..) = FromLayout(f'(z, ..)), and ToLayout(FromLayout(z)) = z"""
    first, second = from_layout(BLOCKED, z), from_layout(BLOCKED, u)
    yield rewrite(to_layout(BLOCKED, first), z, because=PSEUDO)
    for given, whole, operands, found in (
        (unary(op, s, first), laid_function(op, s, z), listed(z), ()),
        (binary(op, first, second), laid_sum(op, z, u), listed(z, u), ()),
        (
            concat(xs, axis),
            laid_concat(xs, axis, limit("blocked_channels")),
            zs,
            (eq(zs, all_laid(BLOCKED, xs)),),
        ),
    ):
        yield rewrite(given, from_layout(BLOCKED, laid(BLOCKED, whole, operands)), *found, because=PSEUDO)
