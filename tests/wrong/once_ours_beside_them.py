"""What laws of this project said until more was tried beside their examples: windows without a pixel, sums
and products that depend on their order, constants that a narrower type does not hold."""

import math
from dataclasses import replace

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Float, Tensor, approximate, hosted, number_like, rewrite
from egraph_opt.operators import PoolWindow, cast, lp_pool, pool, reduce, unary
from egraph_opt.operators.composites import layer_norm

from . import fires_on, of_one, wrong

ONCE = PoolWindow((2, 2), (2, 2), (0,) * 4, (1, 1))
AROUND = PoolWindow((2, 2), (1, 1), (1,) * 4, (3, 3))


def _scaled(window):
    return lambda g: pool("MaxPool", g.input((1, 1, 2, 2)) * g.constant(1.5), window)


@hosted()
def is_factor_above_zero(c: Fact) -> bool:
    return c.dtype == T.FLOAT and c.shape == () and c.splat is not None and c.splat > 0


@wrong("reassociates", _scaled(AROUND), values=(1.0, 2.0, 3.0, 4.0), examples=fires_on(_scaled(ONCE)))
def scale_behind_maximum(x: Tensor, c: Tensor, w: PoolWindow):
    """MaxPool(x * c) = MaxPool(x) * c for a number c above 0

    Wrong where a window has no pixel: the least float times c is infinite.
    """
    scaled = pool("MaxPool", x, w) * c
    yield rewrite(pool("MaxPool", x * c, w), scaled, is_factor_above_zero(c), because="a pool leaves less")


def _twice(kind, dtype):
    return of_one(lambda x: reduce(kind, reduce(kind, x, (1,), 0), (0,), 0), (2, 2), dtype)


@hosted()
def is_of_two_axes(x: Fact, a: Axes, b: Axes) -> bool:
    return x.rank == 2 and a == (1,) and b == (0,)


@wrong("reassociates", _twice("ReduceSum", T.INT64), values=(2**53, 1, 1, 1))
def sum_of_sums_of_integers(x: Tensor, a: Axes, b: Axes):
    """ReduceSum(ReduceSum(x)) = ReduceSum(x) over both axes

    Wrong of integers beyond 2^53, which onnxruntime adds up in float64.
    """
    twice = reduce("ReduceSum", reduce("ReduceSum", x, a, 0), b, 0)
    yield rewrite(twice, reduce("ReduceSum", x, (0, 1), 0), is_of_two_axes(x, a, b), because="forgets a")


@wrong("reassociates", _twice("ReduceProd", T.FLOAT), values=(1e30, 1.0, 1e30, 1e-30))
def product_of_products(x: Tensor, a: Axes, b: Axes):
    """ReduceProd(ReduceProd(x)) = ReduceProd(x) over both axes

    Wrong where a product overflows in one order and not in the other.
    """
    twice = reduce("ReduceProd", reduce("ReduceProd", x, a, 0), b, 0)
    yield rewrite(twice, reduce("ReduceProd", x, (0, 1), 0), is_of_two_axes(x, a, b), because="forgets a")


@hosted()
def is_level_number(m: Fact) -> bool:
    return m.dtype == T.FLOAT and m.shape == () and m.splat is not None


@wrong(
    "reassociates",
    lambda g: layer_norm(g.input((2, 4)) + g.constant(1e7), g.constant([1.0] * 4), (1,), 1e-5),
    values=(1.0, 2.0, 3.0, 4.0),
)
def summand_before_norm(x: Tensor, m: Tensor, s: Tensor, a: Axes, e: Float):
    """LayerNormalization(x + m) = LayerNormalization(x) for a number m

    Wrong where m is so large that x loses its digits.
    """
    shifted = layer_norm(x + m, s, a, e)
    yield rewrite(shifted, layer_norm(x, s, a, e), is_level_number(m), because="the mean is taken away")


@hosted()
def are_of_float64(x: Fact, c: Fact) -> bool:
    return x.dtype == T.DOUBLE and c.dtype == T.DOUBLE and c.shape == () and c.splat is not None


@wrong(
    approximate(1e-5, of="operands"), lambda g: g.input((2,), T.DOUBLE) + g.constant(1e300, dtype=T.DOUBLE)
)
def sum_in_narrower_float(x: Tensor, c: Tensor):
    """x + c = Cast_64(Cast_32(x) + Cast_32(c)) in float64

    Wrong of a constant that float32 does not hold.
    """
    narrow = cast(cast(x, T.FLOAT) + cast(c, T.FLOAT), T.DOUBLE)
    yield rewrite(x + c, narrow, are_of_float64(x, c), because="float32 is enough")


@hosted()
def counting_all(window: PoolWindow, x: Fact) -> PoolWindow | None:
    return replace(window, count_include_pad=1) if x.dtype == T.FLOAT and not window.ceil_mode else None


@hosted()
def elements_in(window: PoolWindow) -> Float:
    return float(math.prod(window.kernel))


def _norm(dims, window):
    return lambda g: lp_pool(1, g.input(dims), window)


@wrong(
    "reassociates",
    _norm((1, 2, 7, 8), PoolWindow((2, 3), (4, 4), (1,) * 4, (6, 6))),
    opset=21,
    examples=fires_on(_norm((1, 2, 6, 7), PoolWindow((2, 3), (2, 1), (1,) * 4, (1, 1))), opset=21),
)
def norm_as_mean(x: Tensor, w: PoolWindow):
    """LpPool(x; 1) = n * AveragePool(|x|) for n elements in a window

    Wrong of a window that is larger than the image with its pads, of which ONNX says nothing.
    """
    mean = pool("AveragePool", unary("Abs", (), x), counting_all(w, x))
    yield rewrite(lp_pool(1, x, w), mean * number_like(x, elements_in(w)), because="forgets of what")
