"""Motifs of element-wise operators: functions, arithmetic with constants of every shape, casts, conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from .drawing import INTEGERS, Drawing, Value

SPECIAL = (0.0, 1.0, -1.0, 2.0, 0.5, -0.0, 4.0, -2.0)
DTYPES = {
    TensorProto.FLOAT: np.float32,
    TensorProto.DOUBLE: np.float64,
    TensorProto.FLOAT16: np.float16,
    TensorProto.INT64: np.int64,
    TensorProto.INT32: np.int32,
    TensorProto.INT8: np.int8,
    TensorProto.UINT8: np.uint8,
    TensorProto.BOOL: np.bool_,
}
UNARY = (
    "Abs Neg Relu Relu Relu Sigmoid Tanh Exp Erf Softplus Softsign Elu LeakyRelu HardSigmoid Selu Ceil Floor Round Sign "
    "Reciprocal Sin Cos Identity Identity ThresholdedRelu HardSwish Gelu Mish Celu Sqrt Log"
).split()


def broadcast_shape(g: Drawing, x: Value) -> tuple[int, ...]:
    """A shape that broadcasts with x: mostly into it, sometimes making it bigger."""
    dims = [d if fixed and g.chance(0.5) else 1 for d, fixed in zip(x.shape, x.static, strict=True)]
    kind = g.rng.random()
    if kind < 0.2:
        dims = []
    elif kind < 0.35:
        dims = [1] * g.integer(0, x.rank + 1)
    elif kind < 0.6:  # one axis only, the channels often
        axis = min(1, x.rank - 1) if g.chance(0.5) else g.integer(0, max(x.rank - 1, 0))
        dims = [d if k == axis and x.static[k] else 1 for k, d in enumerate(x.shape)]
    while dims and dims[0] == 1 and g.chance(0.6):
        del dims[0]
    if g.chance(0.08):
        dims = [1] * (x.rank - len(dims) + g.integer(0, 1)) + dims
    if g.chance(0.06) and len(dims) <= x.rank:
        dims = [g.integer(1, 2), *[1] * (x.rank - len(dims)), *dims]
    if g.chance(0.06):
        dims = [
            3 if d == 1 and k + x.rank - len(dims) >= 0 and x.shape[k + x.rank - len(dims)] == 1 else d
            for k, d in enumerate(dims)
        ]
    return tuple(dims)


def filled(g: Drawing, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """Elements: one special value, a random one everywhere, or random ones."""
    if dtype == np.bool_:
        return np.full(shape, g.chance(0.5)) if g.chance(0.6) else g.elements(shape, dtype)
    if g.chance(0.45):
        value = g.one_of(SPECIAL)
        if not np.issubdtype(dtype, np.floating):
            value = abs(int(value)) if np.issubdtype(dtype, np.unsignedinteger) else int(value)
        return np.full(shape, value, dtype)
    return g.elements(shape, dtype)


def beside(g: Drawing, x: Value) -> Value:
    """A constant that broadcasts with x."""
    return g.constant(filled(g, broadcast_shape(g, x), x.dtype))


def apply_unary(g: Drawing, x: Value) -> Value:
    op = g.one_of(UNARY)
    if op in ("Sqrt", "Log") and g.chance(0.8):
        x = g.call("Abs", x)
    if op == "Log":
        x = g.call("Add", x, g.constant(np.asarray(1, x.dtype)))
    attributes: dict[str, float] = {}
    if op in ("Elu", "LeakyRelu", "ThresholdedRelu", "Celu") and g.chance(0.7):
        attributes["alpha"] = float(g.one_of((0.25, 0.5, 1.0)))
    return g.call(op, x, **attributes)


def function(g: Drawing) -> None:
    x = g.pick(floats=True)
    for _ in range(g.integer(1, 2)):
        x = apply_unary(g, x)
        if g.chance(0.3):
            x = g.call(g.nodes[-1].op_type, x)


def apply_constant(g: Drawing, x: Value, ops: tuple[str, ...] = ("Add", "Mul", "Sub", "Div")) -> Value:
    op, c = g.one_of(ops), beside(g, x)
    if op == "Pow":
        c = g.constant(
            np.full(broadcast_shape(g, x), g.one_of((0, 1, 2, 2, 3)), g.one_of((x.dtype, np.int64)))
        )
        return g.call("Pow", x, c)
    left = g.chance(0.35)
    if op == "Div" and not left:
        c = g.constant(np.where(c.arrays[0] == 0, 2, c.arrays[0]).astype(x.dtype))
    return g.call(op, c, x) if left else g.call(op, x, c)


def scales_and_shifts(g: Drawing) -> None:
    """Chains of constants, a value used twice now and then."""
    x = g.pick(floats=True)
    for _ in range(g.integer(1, 4)):
        x = apply_constant(g, x, ("Add", "Mul", "Sub", "Div", "Add", "Mul", "Pow"))
        if g.chance(0.15):
            x = g.call(g.one_of(("Add", "Mul", "Sub")), x, x)
        elif g.chance(0.2):
            x = g.call("Neg", x)


def neutral(g: Drawing) -> None:
    """Operands that change nothing, or nearly so."""
    x = g.pick()
    op, value = g.one_of(
        (
            ("Add", 0),
            ("Sub", 0),
            ("Mul", 1),
            ("Div", 1),
            ("Pow", 1),
            ("Add", -0.0),
            ("Mul", 0),
            ("And", 1),
            ("Or", 0),
        )
    )
    dtype = np.bool_ if op in ("And", "Or") else x.dtype
    c = g.constant(np.full(broadcast_shape(g, x), value, dtype))
    g.call(op, *((c, x) if g.chance(0.4) else (x, c)))


def of_two(g: Drawing) -> None:
    x = g.pick()
    op = g.one_of(("Add", "Mul", "Sub", "Max", "Min", "Sum", "Mean", "PRelu", "Add", "Mul"))
    ys = [v for v in g.values if v.dtype == x.dtype and _broadcast(x, v)]
    y = g.one_of(ys)
    if op == "PRelu":  # the slope may not widen x
        shapes = [np.broadcast_shapes(a.shape, b.shape) for a, b in zip(x.arrays, y.arrays, strict=True)]
        g.require(all(a.shape == shape for a, shape in zip(x.arrays, shapes, strict=True)))
        g.require(all(x.static) or y.rank == 0)
    g.call(op, x, y)


def _broadcast(x: Value, y: Value) -> bool:
    try:
        for a, b in zip(x.arrays, y.arrays, strict=True):
            np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return True


def of_many(g: Drawing) -> None:
    x = g.pick(floats=True)
    others = [v for v in g.values if v.dtype == x.dtype and _broadcast(x, v)]
    operands = [x, *(g.one_of(others) if g.chance(0.6) else beside(g, x) for _ in range(g.integer(0, 3)))]
    g.rng.shuffle(operands)
    g.node(g.one_of(("Sum", "Max", "Min", "Mean")), operands)


def condition(g: Drawing) -> None:
    """Comparisons, logic and Where."""
    x = g.pick(wanted=lambda v: v.dtype != np.bool_)
    flag = g.call(g.one_of(("Less", "Greater", "Equal")), x, beside(g, x))
    if g.chance(0.4):
        flag = g.call("Not", flag)
    if g.chance(0.3):
        flag = g.call(g.one_of(("And", "Or", "Xor")), flag, beside(g, flag))
    kind = g.rng.random()
    if kind < 0.25:
        flag = beside(g, x)
        flag = g.constant(
            g.elements(flag.shape, np.bool_) if g.chance(0.5) else np.full(flag.shape, g.chance(0.5))
        )
    y = x if g.chance(0.3) else beside(g, x)
    z = g.pick(dtype=x.dtype, wanted=lambda v: _broadcast(v, x)) if g.chance(0.5) else x
    g.call("Where", flag, *((y, z) if g.chance(0.5) else (z, y)))


def logic(g: Drawing) -> None:
    x = g.pick(dtype=np.bool_)
    x = g.call(g.one_of(("And", "Or", "Xor")), x, beside(g, x))
    if g.chance(0.5):
        x = g.call("Not", x)
        if g.chance(0.5):
            x = g.call("Not", x)


def clip(g: Drawing, x: Value) -> Value:
    low, high = (float(g.one_of((-1, -0.5, 0, 0.5, 1, 2))) for _ in range(2))
    if g.chance(0.8):
        low, high = sorted((low, high))
    bounds = [None if g.chance(0.25) else v for v in (low, high)]
    if g.opset < 11:
        return g.call("Clip", x, min=bounds[0], max=bounds[1])
    return g.call("Clip", x, *(None if b is None else g.constant(np.asarray(b, x.dtype)) for b in bounds))


def bounds(g: Drawing) -> None:
    x = g.pick(floats=True)
    for _ in range(g.integer(1, 3)):
        x = clip(g, x) if g.chance(0.6) else g.call("Relu", x)


def casts(g: Drawing) -> None:
    x = g.pick()
    for _ in range(g.integer(1, 3)):
        to = g.one_of(tuple(DTYPES))
        if x.is_float and not np.issubdtype(DTYPES[to], np.floating):
            if to != TensorProto.BOOL and any(np.any(np.abs(np.nan_to_num(a)) > 100) for a in x.arrays):
                continue
            if np.issubdtype(DTYPES[to], np.unsignedinteger):  # out of range is undefined
                x = g.call("Abs", x)
        x = g.call("Cast", x, to=to)


def integers(g: Drawing) -> None:
    x = g.pick(wanted=lambda v: v.dtype in INTEGERS)
    for _ in range(g.integer(1, 3)):
        op = g.one_of(("Add", "Sub", "Mul", "Div", "Mod", "Neg", "Abs", "Max"))
        if op in ("Neg", "Abs"):
            x = g.call(op, x)
        elif op in ("Div", "Mod"):
            g.require(op == "Div" or g.opset >= 10)
            divisor = np.full(broadcast_shape(g, x), g.one_of((1, 2, 3, 4)), x.dtype)
            x = g.call(op, x, g.constant(divisor))
        else:
            x = g.call(op, *((x, beside(g, x)) if g.chance(0.6) else (beside(g, x), x)))


def dropout(g: Drawing) -> None:
    x = g.pick(floats=True)
    if g.opset < 12:
        g.call("Dropout", x, ratio=0.5)
    else:
        ratio = g.constant(np.asarray(0.5, np.float32)) if g.chance(0.5) else None
        training = g.constant(np.asarray(False)) if g.chance(0.3) else None
        g.call("Dropout", x, ratio, training)


MOTIFS = {
    function: 3,
    scales_and_shifts: 4,
    neutral: 2,
    of_two: 4,
    of_many: 1,
    condition: 2,
    logic: 1,
    bounds: 1,
    casts: 2,
    integers: 2,
    dropout: 0.5,
}
