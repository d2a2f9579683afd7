"""Laws of our own of windows and images, with one condition dropped or weakened, or one number off."""

import math
from dataclasses import replace

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Number, Pads, Settings, Tensor, hosted, rewrite
from egraph_opt.operators import PoolWindow, dequantize, lp_pool, pad, pool, reshape, slice_, unary
from egraph_opt.rewrites.convolution.dilated_pools import Rows
from egraph_opt.rewrites.convolution.padding import added
from egraph_opt.rewrites.convolution.pool_axes import STILL, along_axes, axis_by_axis, of_axes
from egraph_opt.rewrites.convolution.pooling import full_pads, unpadded
from egraph_opt.rewrites.quantization.round_trips import positive_scale

from . import fires_on, wrong

LOST = "forgets how it was spelled"


def window(kernel, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), **more):
    return PoolWindow(kernel, strides, pads, dilations, **more)


# --- pools -------------------------------------------------------------------------------------------------


@hosted()
def by_axes(w: PoolWindow) -> tuple[PoolWindow, PoolWindow] | None:
    """One axis after the other."""
    plain = axis_by_axis.function("MaxPool", w)
    return None if plain is None else plain


def _average(**more):
    return lambda g: pool("AveragePool", g.input((1, 2, 6, 6)), window((3, 3), (2, 2), **more))


@wrong(
    "reassociates",
    lambda g: pool("AveragePool", g.input((1, 2, 1, 1)), window((3, 3), (2, 2))),
    examples=fires_on(_average(), _average(ceil_mode=1), _average(count_include_pad=1, pads=(1, 0, 1, 0))),
)
def average_axis_by_axis(x: Tensor, w: PoolWindow):
    """AveragePool(x; kh x kw) = AveragePool(AveragePool(x; 1 x kw); kh x 1), with any strides and pads

    `pool_axes`, of windows that are larger than the image: runtimes differ there.
    """
    both = by_axes(w)
    two = pool("AveragePool", pool("AveragePool", x, both[0]), both[1])
    yield rewrite(pool("AveragePool", x, w), two, because=LOST)


@hosted()
def of_both_axes(inner: PoolWindow, outer: PoolWindow) -> PoolWindow | None:
    """The window of two pools in a row that have no axis in common."""
    pairs = list(zip(along_axes(inner), along_axes(outer), strict=True))
    if inner.ceil_mode or outer.ceil_mode or not all(STILL in pair for pair in pairs):
        return None
    return of_axes(inner, [b if a == STILL else a for a, b in pairs])


def _row_and_column(counts: int):
    def witness(g):
        row = pool("AveragePool", g.input((1, 2, 6, 5)), window((1, 3), pads=(0, 1, 0, 1)))
        return pool("AveragePool", row, window((3, 1), pads=(1, 0, 1, 0), count_include_pad=counts))

    return witness


@wrong("reassociates", _row_and_column(1), examples=fires_on(_row_and_column(0)))
def averages_of_both_axes(x: Tensor, w: PoolWindow, u: PoolWindow):
    """AveragePool(AveragePool(x; 1 x kw); kh x 1) = AveragePool(x; kh x kw)

    `pool_axes`, where one of them counts its pads and the other does not.
    """
    two = pool("AveragePool", pool("AveragePool", x, w), u)
    yield rewrite(two, pool("AveragePool", x, of_both_axes(w, u)), because=LOST)


@hosted()
def counted_pads(w: PoolWindow) -> Pads | None:
    """The pads of a counted padding, for all axes."""
    return full_pads.function(replace(w, ceil_mode=0))


def _counted(**more):
    return lambda g: pool(
        "AveragePool", g.input((1, 1, 6, 6)), window((3, 3), pads=(1, 1, 1, 1), count_include_pad=1, **more)
    )


@wrong(
    "reassociates",
    lambda g: pool(
        "AveragePool",
        g.input((1, 1, 6, 3)),
        window((6, 3), (6, 3), (0, 0, 2, 0), ceil_mode=1, count_include_pad=1),
    ),
    examples=fires_on(_counted(strides=(1, 1)), _counted(strides=(2, 1))),
)
def counted_pads_apart(x: Tensor, w: PoolWindow):
    """AveragePool(x; pads counted) = AveragePool(Pad(x))

    `pooling.pads_apart`, where sizes are rounded up.
    """
    apart = pool("AveragePool", pad(x, "constant", counted_pads(w), 0.0), unpadded(w))
    yield rewrite(pool("AveragePool", x, w), apart, because=LOST)


@hosted()
def wider(w: PoolWindow, pads: Pads) -> PoolWindow | None:
    """The window that pads by itself; the pads are smaller than the kernel."""
    merged = added(w.pads, pads)
    if merged is None or w.ceil_mode or any(d != 1 for d in w.dilations):
        return None
    return replace(w, pads=merged) if all(p < k for p, k in zip(merged, w.kernel * 2, strict=True)) else None


@hosted()
def is_no_more_than_zero(value: Number) -> bool:
    return value <= 0


def _thresholded(alpha: float):
    def witness(g):
        x = unary("ThresholdedRelu", (("alpha", alpha),), g.input((1, 2, 4, 4)))
        return pool("MaxPool", pad(x, "constant", (0, 0, 1, 1, 0, 0, 1, 1), 0.0), window((3, 3)))

    return witness


@wrong("reassociates", _thresholded(-20.0), values=(-3.0, -7.0, -1.5), examples=fires_on(_thresholded(1.0)))
def pad_behind_threshold(x: Tensor, s: Settings, p: Pads, v: Number, w: PoolWindow):
    """MaxPool(Pad(f(x))) = MaxPool(f(x)) with bigger pads, behind a ThresholdedRelu, of 0 or less

    `padding.pad_into_max_pool`: a threshold below 0 lets negative numbers pass.
    """
    y = unary("ThresholdedRelu", s, x)
    left = pool("MaxPool", pad(y, "constant", p, v), w)
    yield rewrite(left, pool("MaxPool", y, wider(w, p)), is_no_more_than_zero(v), because=LOST)


@hosted()
def rows_of_steps(w: PoolWindow, x: Fact, y: Fact) -> Rows | None:
    """Along the only axis that is pooled, with a dilation."""
    along = along_axes(w)
    wide = [k for k, each in enumerate(along) if each != STILL]
    if len(wide) != 1 or w.ceil_mode or not x.is_static or not y.is_static or x.dtype != T.FLOAT:
        return None
    (size, stride, before, behind, step), axis = along[wide[0]], wide[0] + 2
    dim, count = x.shape[axis], y.shape[axis]  # type: ignore[index]
    if step == 1 or dim < step or count < 1 or 0 in x.shape:  # type: ignore[operator]
        return None
    missing = -dim % step  # type: ignore[operator]
    rows, pads = (dim + missing) // step, (before // step, -(-behind // step))  # type: ignore[operator]
    made = rows + sum(pads) - size + 1
    if made < 1 or max(pads) >= size or made * step < (count - 1) * stride + 1:  # type: ignore[operator]
        return None
    inner = step * math.prod(x.shape[axis + 1 :])  # type: ignore[arg-type, index]
    return Rows(
        (*(0,) * (len(x.shape) + axis), missing, *(0,) * (len(x.shape) - axis - 1)),  # type: ignore[arg-type]
        -math.inf,
        (x.shape[0], math.prod(x.shape[1:axis]), rows, inner),  # type: ignore[arg-type, index]
        replace(w, kernel=(size, 1), strides=(1, 1), pads=(pads[0], 0, pads[1], 0), dilations=(1, 1)),
        (*x.shape[:axis], made * step, *x.shape[axis + 1 :]),  # type: ignore[index]
        ((axis, 0, (count - 1) * stride + 1, stride),),  # type: ignore[operator]
    )


def _dilated(*pads: int):
    return lambda g: pool(
        "MaxPool", g.input((1, 2, 8, 3)), window((3, 1), (1, 1), (pads[0], 0, pads[1], 0), (2, 1))
    )


@wrong("reassociates", _dilated(1, 1), examples=fires_on(_dilated(2, 2), _dilated(0, 0)))
def dilation_in_rows(x: Tensor, w: PoolWindow):
    """MaxPool(x; dilation d) = Slice(Reshape(MaxPool(Reshape(x)))) along one axis, in rows of d elements

    `dilated_pools`, where the pads in front are no multiple of the dilation.
    """
    y = pool("MaxPool", x, w)
    rows = rows_of_steps(w, x, y)
    image = reshape(pad(x, "constant", rows[0], rows[1]), rows[2])
    yield rewrite(y, slice_(reshape(pool("MaxPool", image, rows[3]), rows[4]), rows[5]), because=LOST)


@hosted()
def keeps_order_in_windows(q: Fact, s: Fact, axis: Axis, w: PoolWindow) -> bool:
    """The scales are positive, and not those of the last axis."""
    known = q.dtype == T.UINT8 and positive_scale(s) is not None and axis < 3 and q.rank == 4
    return known and not w.ceil_mode and w.dilations == (1, 1)


def _pooled_bytes(axis: int):
    def witness(g):
        scales = g.constant(np.array([0.1, 2.0, 0.5, 1.0], np.float32))
        q = g.input((1, 4, 4, 5), T.UINT8)
        return pool(
            "MaxPool",
            dequantize(q, scales, g.constant(np.zeros(4, np.uint8)), axis),
            window((3, 3), pads=(1,) * 4),
        )

    return witness


@wrong("bitwise", _pooled_bytes(2), examples=fires_on(_pooled_bytes(1)))
def greatest_of_scaled_bytes(q: Tensor, s: Tensor, z: Tensor, a: Axis, w: PoolWindow):
    """MaxPool(DQ(q)) = DQ(MaxPool(q)) for positive scales of channels

    `quantization.greatest_bytes`, where there is a scale for each row of an image.
    """
    behind = dequantize(pool("MaxPool", q, w), s, z, a)
    yield rewrite(
        pool("MaxPool", dequantize(q, s, z, a), w), behind, keeps_order_in_windows(q, s, a, w), because=LOST
    )


@hosted()
def number_behind(c: Fact, x: Fact) -> bool:
    return c.splat is not None and c.rank == 0 and x.dtype == T.FLOAT and c.splat != 0


@wrong(
    "reassociates",
    lambda g: lp_pool(2, g.input((1, 2, 4, 4)) * g.constant(-2.0), window((2, 2))),
    opset=18,
    examples=fires_on(
        lambda g: lp_pool(2, g.input((1, 2, 4, 4)) * g.constant(2.0), window((2, 2))), opset=18
    ),
)
def scale_of_norm_pool(x: Tensor, c: Tensor, w: PoolWindow):
    """LpPool(x * c; 2) = LpPool(x; 2) * c for a number c

    Wrong of numbers below 0: norms have no sign.
    """
    yield rewrite(
        lp_pool(2, x * c, w), lp_pool(2, x, w) * c, number_behind(c, x), because="one way is enough"
    )
