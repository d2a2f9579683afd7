"""What random operands and attributes of an operator look like, so that most draws are well-typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.operators.declaration import Literal
from egraph_opt.operators.elementwise import BINARY, UNARY, VARIADIC
from egraph_opt.operators.linear import ConvWindow, GemmSettings
from egraph_opt.operators.reductions import REDUCTIONS
from egraph_opt.operators.windows import PoolWindow

Random = np.random.Generator

_NAMES: dict[str, Sequence[str]] = {
    "unary": (*UNARY, "Relu", "Sigmoid", "Neg", "Sqrt", "Clip"),
    "binary": (*BINARY, *("Add", "Mul", "Sub", "Div") * 4),
    "variadic": VARIADIC,
    "reduce": REDUCTIONS,
    "arg_reduce": ("ArgMax", "ArgMin"),
    "softmax": ("Softmax", "LogSoftmax", "Hardmax"),
    "pool": ("AveragePool", "MaxPool"),
    "global_pool": ("GlobalAveragePool", "GlobalMaxPool"),
}

_SETTINGS: dict[str, tuple[str, ...]] = {
    "Celu": ("alpha",),
    "Elu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "LeakyRelu": ("alpha",),
    "Selu": ("alpha", "gamma"),
    "Swish": ("alpha",),
    "ThresholdedRelu": ("alpha",),
    "Clip": ("max", "min"),
}


def settings_of(operator: str) -> Sequence[str]:
    """The ONNX operators that a constructor with a name stands for."""
    return _NAMES[operator]


def _pick(rng: Random, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


# --- operands --------------------------------------------------------------------------------------------


def operand_shapes(
    rng: Random, operator: str, name: str, before: Sequence[Fact], wish: Sequence[Dim] | None
) -> Shape | None:
    """The shape that the next operand should have; None for any.

    Args:
        before: the operands that are there already.
        wish: the shape that the result should have.
    """
    known = [f.shape for f in before if f is not None]
    rule = _OPERANDS.get(operator)
    if rule is not None:
        return rule(rng, known, wish)
    if known and known[0] is not None:
        return known[0]
    return None if wish is None else tuple(wish)


def partner(rng: Random, shape: Shape) -> Shape:
    """The shape of something that is broadcast against a tensor, as a rule without changing its shape."""
    rank = len(shape)
    kind = rng.random()
    if kind < 0.3 or not rank:
        return shape
    if kind < 0.5:
        return (1,) * int(rng.integers(0, rank + 1))
    if kind < 0.75:
        axis = int(rng.integers(0, rank))
        dims = tuple(d if k == axis else 1 for k, d in enumerate(shape))
        return dims[int(rng.integers(0, axis + 1)) :]
    if kind < 0.9:
        return shape[int(rng.integers(0, rank + 1)) :]
    return tuple(1 if rng.random() < 0.4 else d for d in shape)


def _elementwise(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if not known:
        return None if wish is None else tuple(wish) if rng.random() < 0.8 else partner(rng, tuple(wish))
    return None if known[0] is None else partner(rng, known[0])


def _images(rng: Random, wish: Sequence[Dim] | None) -> Shape:
    if wish is not None and len(wish) >= 3:
        return tuple(wish)
    axes = int(rng.choice([1, 2, 2, 3]))
    spatial = [int(d) for d in rng.choice([1, 3, 5, 6, 7, 9], axes)]
    batch: Dim = _pick(rng, "N", 1, 2)
    return (batch, int(rng.choice([1, 2, 4, 4, 6])), *spatial)


def _conv(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if not known:
        return _images(rng, wish)
    x = known[0]
    if x is None or len(x) < 3 or not isinstance(x[1], int):
        return None
    if len(known) == 1:
        group = int(rng.choice([1, 1, 1, 2, max(x[1], 1)]))
        kernel = [int(k) for k in rng.choice([1, 1, 2, 3, 3], len(x) - 2)]
        return (int(rng.choice([1, 2, 4])) * group, max(x[1] // group, 1), *kernel)
    w = known[1]
    return (w[0],) if w else None


def _conv_transpose(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    shape = _conv(rng, known, wish)
    if len(known) == 1 and shape is not None and known[0] is not None:
        return (known[0][1], int(rng.choice([1, 2, 3])), *shape[2:])
    return shape if len(known) < 2 or known[1] is None or len(known[1]) < 2 else (known[1][1],)


def _matmul(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    inner = int(rng.choice([1, 2, 3, 5]))
    if not known:
        if wish is not None and len(wish) >= 2:
            return (*wish[:-1], inner)
        outer = [_pick(rng, 1, 2, 3, "N") for _ in range(int(rng.choice([0, 0, 1, 2])))]
        return (*outer, _pick(rng, 1, 2, 4, "L"), inner)
    x = known[0]
    if not x:
        return None
    columns = wish[-1] if wish is not None and len(wish) >= 2 else int(rng.choice([1, 2, 4, 6]))
    before = x[:-2] if rng.random() < 0.5 else ()
    return (*before, x[-1], columns)


def _gemm(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if len(known) < 2:
        shape = known[0] if known else None
        if shape and rng.random() < 0.5:
            return (int(rng.choice([2, 4])), shape[-1])
        return (
            (_pick(rng, 3, "N"), int(rng.choice([2, 3])))
            if not shape
            else (shape[-1], int(rng.choice([2, 4])))
        )
    return partner(rng, (known[0][0] if known[0] else 1, known[1][-1] if known[1] else 1))


def _channels(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if not known:
        return None if wish is None else tuple(wish)
    return None if not known[0] or len(known[0]) < 2 else (known[0][1],)


def _gather(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if known:
        return tuple(int(d) for d in rng.choice([1, 2, 3], int(rng.choice([0, 1, 1, 2]))))
    return None if wish is None else tuple(wish)


def _where(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    return _elementwise(rng, known[-1:], wish)


def _pooled(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    return _images(rng, wish) if not known else None


def _lasts(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if not known:
        return None if wish is None else tuple(wish)
    return None if known[0] is None else known[0][-int(rng.choice([1, 1, 2])) :]


def _heads(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    if not known:
        return (_pick(rng, "N", 2), int(rng.choice([1, 3])), _pick(rng, "L", 4), int(rng.choice([2, 4])))
    q = known[0]
    if q is None or len(q) != 4:
        return None
    return (*q[:2], 5, q[3]) if len(known) < 3 else (q[0], q[1], q[2], 5)


def _viewed(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    return None if wish is None else _dims(rng, tuple(wish), len(wish), None)


def _permuted(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    return None if wish is None else tuple(wish[k] for k in rng.permutation(len(wish)))


_OPERANDS: dict[str, Callable[[Random, list[Shape | None], Sequence[Dim] | None], Shape | None]] = {
    "binary": _elementwise,
    "reshape": _viewed,
    "transpose": _permuted,
    "where": _where,
    "gather": _gather,
    "variadic": _elementwise,
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "matmul": _matmul,
    "gemm": _gemm,
    "batchnorm": _channels,
    "instance_norm": _channels,
    "pool": _pooled,
    "global_pool": _pooled,
    "layer_norm": _lasts,
    "shifted_layer_norm": _lasts,
    "rms_norm": _lasts,
    "scores": _heads,
    "attention": _heads,
    "masked_attention": _heads,
}


_DTYPES = {
    ("where", 0): TensorProto.BOOL,
    ("gather", 1): TensorProto.INT64,
    ("gather_elements", 1): TensorProto.INT64,
    ("gather_nd", 1): TensorProto.INT64,
}


def operand_dtype(operator: str, number: int, usual: int) -> int:
    """The element type of an operand, counted from 0, where others have the usual one."""
    return _DTYPES.get((operator, number), usual)


def may_be_absent(operator: str, number: int) -> bool:
    """Whether an operand, counted from 0, need not be there."""
    return operator in ("conv", "conv_transpose", "gemm") and number == 2


# --- attributes ------------------------------------------------------------------------------------------


def attribute_of(rng: Random, operator: str, parameter: str, name: str, operands: Sequence[Fact]) -> Any:
    """A value for an attribute of an operator on operands of which the facts are given."""
    shape = operands[0].shape if operands and operands[0] is not None else None
    rank = len(shape or ())
    rule = _ATTRIBUTES.get(f"{operator}.{parameter}") or _ATTRIBUTES.get(parameter)
    if rule is None:
        raise LookupError(f"no draw of {operator}.{parameter}")
    if parameter == "settings" and operator == "unary":
        return _unary_settings(rng, name, operands)
    return rule(rng, tuple(shape or ()), rank, operands)


def _unary_settings(rng: Random, name: str, operands: Sequence[Fact]) -> Any:
    if name == "Clip":
        low, high = sorted(rng.choice([-1, 0, 1, 2, 6], 2, replace=False).tolist())
        number = int if operands[0].dtype in (TensorProto.INT32, TensorProto.INT64) else float
        bounds = [_pick(rng, None, number(high), number(high)), _pick(rng, None, number(low), number(low))]
        return (("max", bounds[0]), ("min", bounds[1]))
    if name == "Gelu":
        return (("approximate", _pick(rng, "none", "tanh")),)
    if name == "IsInf":
        return (("detect_negative", 1), ("detect_positive", 1))
    return tuple((key, float(rng.choice([0.1, 0.25, 0.5, 1.0]))) for key in _SETTINGS.get(name, ()))


def _permutation(rng: Random, shape: Shape, rank: int, _: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in rng.permutation(rank))


def _axis(rng: Random, shape: Shape, rank: int, _: Any) -> int:
    return int(rng.integers(0, max(rank, 1)))


def _axes(rng: Random, shape: Shape, rank: int, _: Any) -> tuple[int, ...]:
    chosen = [k for k in range(rank) if rng.random() < 0.4] or [max(rank - 1, 0)]
    return tuple(chosen)


def _dims(rng: Random, shape: Shape, rank: int, _: Any) -> Shape:
    """Another view of the same elements: axes of 1 come and go, neighbours are joined, numbers are cut."""
    dims = list(shape)
    for _k in range(int(rng.integers(1, 4))):
        kind = rng.random()
        if kind < 0.35:
            dims.insert(int(rng.integers(0, len(dims) + 1)), 1)
        elif kind < 0.5 and 1 in dims:
            dims.remove(1)
        elif kind < 0.75 and len(dims) >= 2:
            k = int(rng.integers(0, len(dims) - 1))
            if isinstance(dims[k], int) and isinstance(dims[k + 1], int):
                dims[k : k + 2] = [dims[k] * dims[k + 1]]  # type: ignore[operator]
        elif dims:
            k = int(rng.integers(0, len(dims)))
            d = dims[k]
            if isinstance(d, int) and d > 1 and d % 2 == 0:
                dims[k : k + 1] = [2, d // 2]
    return tuple(dims)


def _grown(rng: Random, shape: Shape, rank: int, _: Any) -> Shape:
    dims = tuple(int(rng.choice([1, 2, 3])) if d == 1 else d for d in shape)
    return (*((int(rng.choice([1, 2])),) if rng.random() < 0.3 else ()), *dims)


def _slices(rng: Random, shape: Shape, rank: int, _: Any) -> tuple[Any, ...]:
    found = []
    for axis, dim in enumerate(shape):
        if rng.random() < 0.5 and isinstance(dim, int) and dim > 1:
            start = int(rng.integers(0, dim))
            end = int(rng.integers(start + 1, dim + 1))
            if (start, end) != (0, dim):
                found.append((axis, start, end, int(rng.choice([1, 1, 1, 2]))))
    return tuple(found)


def _pads(rng: Random, shape: Shape, rank: int, _: Any) -> tuple[int, ...]:
    first = int(rng.choice([0, 0, min(2, rank)]))
    pads = [
        int(p) if k % max(rank, 1) >= first else 0 for k, p in enumerate(rng.choice([0, 1, 1, 2], 2 * rank))
    ]
    return tuple(pads)


def _conv_window(rng: Random, shape: Shape, rank: int, operands: Sequence[Fact]) -> ConvWindow:
    axes = max(rank - 2, 1)
    w = operands[1].shape if len(operands) > 1 else None
    group = 1
    if w and len(w) > 1 and isinstance(w[1], int) and w[1] and rank > 1 and isinstance(shape[1], int):
        group = max(shape[1] // w[1], 1)
    plain = rng.random() < 0.4
    strides = [1 if plain else int(s) for s in rng.choice([1, 1, 2, 3], axes)]
    pads = [0 if plain and rng.random() < 0.5 else int(p) for p in rng.choice([0, 1, 1, 2], 2 * axes)]
    dilations = [1 if plain else int(d) for d in rng.choice([1, 1, 1, 2], axes)]
    return ConvWindow(tuple(strides), tuple(pads), tuple(dilations), group)


def _transposed_window(rng: Random, shape: Shape, rank: int, operands: Sequence[Fact]) -> ConvWindow:
    window = _conv_window(rng, shape, rank, [operands[0]])
    return ConvWindow(window.strides, (0,) * len(window.pads), window.dilations, 1)


def _pool_window(rng: Random, shape: Shape, rank: int, _: Any) -> PoolWindow:
    axes = max(rank - 2, 1)
    if rng.random() < 0.25 and rank > 2 and all(isinstance(d, int) for d in shape[2:]):
        kernel = tuple(int(d) for d in shape[2:])  # type: ignore[arg-type]
    else:
        kernel = tuple(int(k) for k in rng.choice([1, 2, 3, 4, 6], axes))
    strides = kernel if rng.random() < 0.3 else tuple(int(s) for s in rng.choice([1, 1, 2, 3], axes))
    pads = tuple(int(rng.integers(0, max(k // 2 + 1, 1))) if rng.random() < 0.3 else 0 for k in kernel * 2)
    return PoolWindow(kernel, strides, pads, (1,) * axes, 0, int(rng.integers(0, 2)))


def _gemm_settings(rng: Random, shape: Shape, rank: int, operands: Sequence[Fact]) -> GemmSettings:
    scale = [1.0 if rng.random() < 0.6 else float(rng.choice([0.5, 2.0])) for _ in range(2)]
    trans_b = int(len(operands) > 1 and (operands[1].shape or (0,))[-1] == (shape or (0,))[-1])
    return GemmSettings(scale[0], scale[1], int(rng.random() < 0.2), trans_b)


def _sizes(rng: Random, shape: Shape, rank: int, _: Any) -> tuple[int, ...]:
    lengths = [d for d in shape if isinstance(d, int) and d > 1]
    if not lengths:
        return (1,)
    cut = int(rng.integers(1, lengths[0]))
    return (cut, lengths[0] - cut)


_CASTS = ("FLOAT", "DOUBLE", "FLOAT16", "INT64", "INT32", "BOOL")

_ATTRIBUTES: dict[str, Callable[[Random, Shape, int, Sequence[Fact]], Any]] = {
    "perm": _permutation,
    "axis": _axis,
    "axes": _axes,
    "dims": _dims,
    "expand.dims": _grown,
    "spec": _slices,
    "pads": _pads,
    "sizes": _sizes,
    "window": _conv_window,
    "conv_transpose.window": _transposed_window,
    "pool.window": _pool_window,
    "gemm.settings": _gemm_settings,
    "settings": lambda rng, *_: (),
    "cumsum.settings": lambda rng, *_: (
        ("exclusive", int(rng.integers(2))),
        ("reverse", int(rng.integers(2))),
    ),
    "keepdims": lambda rng, *_: int(rng.integers(2)),
    "last": lambda rng, *_: int(rng.integers(2)),
    "allowzero": lambda rng, *_: 0,
    "mode": lambda rng, *_: str(rng.choice(["constant", "constant", "constant", "edge", "reflect"])),
    "pad.value": lambda rng, *_: float(rng.choice([0, 0, 0, 1, -1, -np.inf])),
    "epsilon": lambda rng, *_: float(rng.choice([1e-5, 1e-3, 0.0])),
    "scale": lambda rng, *_: float(rng.choice([0.25, 0.5, 1.0])),
    "to": lambda rng, *_: getattr(TensorProto, str(rng.choice(_CASTS))),
    "index": lambda rng, *_: int(rng.integers(2)),
    "start": lambda rng, *_: 0,
    "end": lambda rng, *_: None,
    "equation": lambda rng, *_: str(rng.choice(["bij,bjk->bik", "ij,jk->ik", "bij,bkj->bik"])),
    "literal.value": lambda rng, *_: Literal(TensorProto.FLOAT, (), (float(rng.choice([0, 1, 2])),)),
}
