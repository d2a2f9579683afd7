"""Motifs of products, convolutions, pooling, normalization and reductions, with constants around them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .drawing import Drawing, Refused, Value
from .elementwise import apply_constant
from .slicing import padded
from .views import transposed


def around(g: Drawing, y: Value) -> Value:
    """What may be folded into its neighbour, or nothing."""
    for _ in range(g.integer(0, 2)):
        y = apply_constant(g, y)
    return y


def image(g: Drawing, least: int = 1) -> Value:
    """A float tensor [batch, channels, *spatial], made where there is none."""
    fitting = [
        v
        for v in g.values
        if v.is_float and 3 <= v.rank <= 5 and v.static[1] and min(v.shape) >= 1 and max(v.shape[2:]) >= least
    ]
    if fitting and g.chance(0.85):
        return g.one_of(fitting)
    x = g.pick(floats=True, at_least=2, at_most=4, wanted=lambda v: v.size > 1)
    perm = [int(k) for k in g.rng.permutation(x.rank)]
    if x.rank == 2:
        return g.call("Reshape", x, g.ints([0, 0, 1]))
    return transposed(g, x, perm)


def window(g: Drawing, x: Value, *, dilate: bool = True) -> tuple[list[int], dict[str, Any]]:
    """A kernel that mostly fits into x, and how it walks."""
    spatial = [min(a.shape[k] for a in x.arrays) for k in range(2, x.rank)]
    kernel = [g.integer(1, max(1, min(3, d))) for d in spatial]
    if g.chance(0.15):
        kernel = [1] * len(spatial)
    attributes: dict[str, Any] = {}
    if g.chance(0.5):
        attributes["strides"] = [g.integer(1, 2) for _ in spatial]
    if dilate and g.chance(0.3):
        attributes["dilations"] = [g.integer(1, 2) for _ in spatial]
    kind = g.rng.random()
    if kind < 0.5:
        attributes["pads"] = [g.integer(0, k - 1) if k > 1 else 0 for k in kernel * 2]
    elif kind < 0.7:
        attributes["auto_pad"] = g.one_of(("SAME_UPPER", "SAME_LOWER", "VALID"))
    return kernel, attributes


def convolution(g: Drawing) -> None:
    x = image(g)
    if g.chance(0.3):
        x = around(g, x)
    if g.chance(0.15):
        x = padded(g, x, spatial_only=True)
    if g.chance(0.1) and x.rank == 4:
        x = g.call("Transpose", x, perm=[0, 3, 1, 2])
    for _ in range(g.integer(1, 2)):
        x = around(g, conv(g, x) if g.chance(0.75) else conv_transpose(g, x))
        if g.chance(0.3):
            x = batchnorm(g, x)
        if g.chance(0.4):
            x = g.call("Relu", x)


def conv(g: Drawing, x: Value) -> Value:
    channels = x.shape[1]
    g.require(x.static[1] and channels)
    group = g.one_of([d for d in (1, 1, 1, 2, 3, channels) if channels % d == 0])
    kernel, attributes = window(g, x)
    out = group * g.integer(1, 2)
    w = _weight(g, x, (out, channels // group, *kernel))
    b = g.constant(_bias(g, out, x.dtype)) if g.chance(0.6) else None
    if g.chance(0.5):
        attributes["kernel_shape"] = kernel
    return g.call("Conv", x, w, b, group=group if group > 1 or g.chance(0.5) else None, **attributes)


def _weight(g: Drawing, x: Value, shape: tuple[int, ...]) -> Value:
    if g.chance(0.05):
        return g.input(shape, x.dtype)
    if g.chance(0.1):  # computed from constants
        turned = g.constant(g.elements(tuple(reversed(shape)), x.dtype))
        return g.call("Transpose", turned)
    array = np.full(shape, 0.5, x.dtype) if g.chance(0.1) else g.elements(shape, x.dtype)
    return g.constant(array)


def _bias(g: Drawing, count: int, dtype: Any) -> Any:
    return np.zeros(count, dtype) if g.chance(0.3) else g.elements((count,), dtype)


def conv_transpose(g: Drawing, x: Value) -> Value:
    channels = x.shape[1]
    g.require(x.static[1] and channels)
    group = g.one_of([d for d in (1, 1, 2, channels) if channels % d == 0])
    kernel, attributes = window(g, x)
    w = _weight(g, x, (channels, g.integer(1, 2), *kernel))
    if g.chance(0.2):
        attributes["strides"] = [2] * len(kernel)
        attributes["output_padding"] = [g.integer(0, 1) for _ in kernel]
    b = g.constant(_bias(g, w.shape[1] * group, x.dtype)) if g.chance(0.6) else None
    return g.call("ConvTranspose", x, w, b, group=group, **attributes)


def batchnorm(g: Drawing, x: Value) -> Value:
    channels = x.shape[1]
    g.require(x.static[1])
    scale, bias, mean = (g.constant(g.elements((channels,), x.dtype)) for _ in range(3))
    variance = g.constant((g.rng.integers(1, 9, channels) / 4).astype(x.dtype))
    epsilon = None if g.chance(0.5) else 0.25
    return g.call("BatchNormalization", x, scale, bias, mean, variance, epsilon=epsilon)


def normalization(g: Drawing) -> None:
    x = g.pick(floats=True, at_least=2, at_most=5, wanted=lambda v: v.static[1])
    if g.chance(0.3):
        x = around(g, x)
    x = batchnorm(g, x)
    if g.chance(0.4):
        around(g, x)


def pooling(g: Drawing) -> None:
    x = image(g)
    kind = g.one_of(
        ("AveragePool", "MaxPool", "AveragePool", "MaxPool", "GlobalAveragePool", "GlobalMaxPool")
    )
    if kind.startswith("Global"):
        y = g.call(kind, x)
        if g.chance(0.5):
            g.call("Flatten", y)
        return
    kernel, attributes = window(g, x, dilate=(kind == "MaxPool" and g.opset >= 10) or g.opset >= 19)
    if g.chance(0.2) and all(x.static[2:]):
        kernel, attributes = list(x.shape[2:]), {}
    if g.opset >= 10 and g.chance(0.3):
        attributes["ceil_mode"] = 1
    if kind == "AveragePool" and g.chance(0.5):
        attributes["count_include_pad"] = 1
    around(g, g.call(kind, x, kernel_shape=kernel, **attributes))


def product(g: Drawing) -> None:
    """MatMul of any ranks, with constants around it."""
    x = g.pick(floats=True, at_least=1, at_most=4, wanted=lambda v: min(v.shape) >= 1)
    if g.chance(0.3):
        x = apply_constant(g, x)
    for _ in range(g.integer(1, 2)):
        x = around(g, _product(g, x))
        g.require(x.rank)


def _product(g: Drawing, x: Value) -> Value:
    kind = g.rng.random()
    if kind < 0.2:  # of two activations
        y = g.pick(dtype=x.dtype, at_least=1, wanted=lambda v: v.shape[max(v.rank - 2, 0)] == x.shape[-1])
        return g.call("MatMul", x, y)
    if kind < 0.3:  # with itself, transposed
        g.require(x.rank >= 2)
        perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
        return g.call(
            "MatMul", *((x, transposed(g, x, perm)) if g.chance(0.5) else (transposed(g, x, perm), x))
        )
    left = g.chance(0.25) and x.rank >= 2 and x.static[-2]
    g.require(left or x.static[-1])
    inner = x.shape[-2] if left else x.shape[-1]
    outer = g.integer(1, 4)
    shape: tuple[int, ...] = (outer, inner) if left else (inner, outer)
    if g.chance(0.1):
        shape = (inner,)
    elif g.chance(0.15):
        shape = (g.one_of((1, 2)), *shape)
    elif g.chance(0.1) and x.rank >= 3 and x.static[0]:
        shape = (*x.shape[:-2], *shape) if all(x.static[:-2]) else shape
    w = g.constant(g.elements(shape, x.dtype))
    if g.chance(0.15) and len(shape) == 2:
        w = g.call("Transpose", g.constant(g.elements(shape[::-1], x.dtype)))
    return g.call("MatMul", *((w, x) if left else (x, w)))


def gemm(g: Drawing) -> None:
    x = g.pick(floats=True, rank=2, wanted=lambda v: min(v.shape) >= 1)
    for _ in range(g.integer(1, 2)):
        trans_a, trans_b = int(g.chance(0.3)), int(g.chance(0.4))
        inner, rows = (0, 1) if trans_a else (1, 0)
        g.require(x.static[inner])
        out = g.integer(1, 4)
        shape = (out, x.shape[inner]) if trans_b else (x.shape[inner], out)
        w = g.constant(g.elements(shape, x.dtype))
        attributes: dict[str, Any] = {"transA": trans_a, "transB": trans_b}
        if g.chance(0.4):
            attributes["alpha"] = float(g.one_of((0.5, 2.0, 0.0, -1.0)))
        if g.chance(0.4):
            attributes["beta"] = float(g.one_of((0.5, 2.0, 0.0, -1.0)))
        shapes: list[Any] = [(), (1,), (out,), (1, out), (1, 1)]
        if x.static[rows]:
            shapes += [(x.shape[rows], 1), (x.shape[rows], out)]
        c = None if g.chance(0.2) and g.opset >= 11 else g.constant(g.elements(g.one_of(shapes), x.dtype))
        x = around(g, g.call("Gemm", x, w, c, **attributes))
        if g.chance(0.3):
            x = g.call("Relu", x)


def linear_layer(g: Drawing) -> None:
    """MatMul and Add, as a Gemm would do it."""
    x = g.pick(floats=True, at_least=2, at_most=3, wanted=lambda v: v.static[-1] and min(v.shape) >= 1)
    if g.chance(0.3) and x.rank == 2:
        x = transposed(g, x, (1, 0))
        g.require(x.static[-1])
    out = g.integer(1, 4)
    y = g.call("MatMul", x, g.constant(g.elements((x.shape[-1], out), x.dtype)))
    shape = g.one_of([(out,), (1,), (), (1, out), (x.rank, 1)[:1]])
    y = g.call(
        "Add",
        *(
            (y, g.constant(g.elements(shape, x.dtype)))
            if g.chance(0.6)
            else (g.constant(g.elements(shape, x.dtype)), y)
        ),
    )
    if g.chance(0.5):
        around(g, y)


def attention(g: Drawing) -> None:
    x = g.pick(floats=True, rank=3, wanted=lambda v: v.static[-1] and min(v.shape) >= 1)
    dim = x.shape[-1]
    q, k, v = (g.call("MatMul", x, g.constant(g.elements((dim, 2), x.dtype))) for _ in range(3))
    scores = g.call("MatMul", q, transposed(g, k, (0, 2, 1)))
    if g.chance(0.7):
        scores = apply_constant(g, scores, ("Mul", "Div"))
    g.call("MatMul", g.call("Softmax", scores, axis=2 if g.opset < 13 else -1), v)


def reduced(g: Drawing, x: Value, kind: str | None = None) -> Value:
    kind = kind or g.one_of(
        (
            "ReduceMean",
            "ReduceSum",
            "ReduceMax",
            "ReduceMin",
            "ReduceProd",
            "ReduceL1",
            "ReduceL2",
            "ReduceSumSquare",
            "ReduceLogSumExp",
        )
    )
    axes = sorted(int(a) for a in g.rng.choice(x.rank, g.integer(1, x.rank), replace=False)) if x.rank else []
    if g.opset >= 11:
        axes = [g.maybe_negative(a, x.rank) for a in axes]
    keep = None if g.chance(0.3) else g.integer(0, 1)
    as_input = g.opset >= (13 if kind == "ReduceSum" else 18)
    if g.chance(0.1):
        noop = g.integer(0, 1) if as_input else None
        return g.call(kind, x, keepdims=keep, noop_with_empty_axes=noop)
    if not as_input:
        return g.call(kind, x, keepdims=keep, axes=axes)
    return g.call(kind, x, g.ints(axes), keepdims=keep)


def reductions(g: Drawing) -> None:
    # onnxruntime has its own idea of the shape of what is reduced from nothing.
    x = g.pick(wanted=lambda v: (v.is_float or v.dtype in (np.int64, np.int32)) and min(v.shape, default=1))
    kind = (
        g.one_of(("ReduceMean", "ReduceSum", "ReduceMax", "ReduceProd", None))
        if x.is_float
        else g.one_of(("ReduceSum", "ReduceMax", "ReduceMin"))
    )
    for _ in range(g.integer(1, 2)):
        x = reduced(g, x, kind)
        if not x.rank:
            break


def softmax(g: Drawing) -> None:
    x = g.pick(floats=True, at_least=1, wanted=lambda v: v.size)
    axis = g.maybe_negative(g.axis(x), x.rank) if g.opset >= 11 else g.axis(x)
    if g.chance(0.3):
        x = transposed(g, x)
    y = g.call(g.one_of(("Softmax", "LogSoftmax", "Softmax", "Hardmax")), x, axis=axis)
    if g.chance(0.3):
        transposed(g, y)


def layer_norm(g: Drawing) -> None:
    x = g.pick(floats=True, at_least=2, wanted=lambda v: v.size)
    try:
        mean = (
            g.call("ReduceMean", x, axes=[x.rank - 1])
            if g.opset < 18
            else g.call("ReduceMean", x, g.ints([-1]))
        )
    except Refused:
        return
    centred = g.call("Sub", x, mean)
    square = g.call("Pow", centred, g.constant(np.asarray(2, x.dtype)))
    variance = (
        g.call("ReduceMean", square, axes=[x.rank - 1])
        if g.opset < 18
        else g.call("ReduceMean", square, g.ints([-1]))
    )
    deviation = g.call("Sqrt", g.call("Add", variance, g.constant(np.asarray(0.25, x.dtype))))
    y = g.call("Div", centred, deviation)
    if x.static[-1]:
        y = g.call("Mul", y, g.constant(g.elements((x.shape[-1],), x.dtype)))
        g.call("Add", y, g.constant(g.elements((x.shape[-1],), x.dtype)))


def choice_of(g: Drawing) -> None:
    """ArgMax or TopK: operators that no law looks into."""
    x = g.pick(floats=True, at_least=1, wanted=lambda v: v.size and math.prod(v.shape) > 0)
    if g.chance(0.5):
        g.call("ArgMax", x, axis=g.axis(x), keepdims=g.integer(0, 1))
    elif g.opset >= 10:
        g.node("TopK", [x, g.ints([1])], outputs=2, axis=g.axis(x))


MOTIFS = {
    convolution: 5,
    normalization: 1.5,
    pooling: 3,
    product: 4,
    gemm: 2.5,
    linear_layer: 2,
    attention: 1,
    reductions: 3,
    softmax: 1.5,
    layer_norm: 1,
    choice_of: 0.5,
}
