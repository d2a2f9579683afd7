"""Random attributes of operators that suit the operands given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.operators.declaration import Literal
from egraph_opt.operators.linear import ConvWindow, GemmSettings
from egraph_opt.operators.windows import PoolWindow

Random = np.random.Generator


def pick(rng: Random, *choices: Any) -> Any:
    """One of some values."""
    return choices[int(rng.integers(len(choices)))]


def picks(rng: Random, choices: Sequence[Any], count: int) -> list[Any]:
    """Some of some values, as `rng.choice` draws them, which takes five times as long."""
    return [choices[k] for k in rng.integers(0, len(choices), count).tolist()]


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
        bounds = [pick(rng, None, number(high), number(high)), pick(rng, None, number(low), number(low))]
        return (("max", bounds[0]), ("min", bounds[1]))
    if name == "Gelu":
        return (("approximate", pick(rng, "none", "tanh")),)
    if name == "IsInf":
        return (("detect_negative", 1), ("detect_positive", 1))
    return tuple((key, pick(rng, 0.1, 0.25, 0.5, 1.0)) for key in _SETTINGS.get(name, ()))


def _permutation(rng: Random, shape: Shape, rank: int, _: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in rng.permutation(rank))


def _axis(rng: Random, shape: Shape, rank: int, _: Any) -> int:
    return int(rng.integers(0, max(rank, 1)))


def _axes(rng: Random, shape: Shape, rank: int, _: Any) -> tuple[int, ...]:
    chosen = [k for k in range(rank) if rng.random() < 0.4] or [max(rank - 1, 0)]
    return tuple(chosen)


def another_view(rng: Random, shape: Shape, rank: int, _: Any) -> Shape:
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
    dims = tuple(pick(rng, 1, 2, 3) if d == 1 else d for d in shape)
    return (*((pick(rng, 1, 2),) if rng.random() < 0.3 else ()), *dims)


def _slices(rng: Random, shape: Shape, rank: int, _: Any) -> tuple[Any, ...]:
    found = []
    for axis, dim in enumerate(shape):
        if rng.random() < 0.5 and isinstance(dim, int) and dim > 1:
            start = int(rng.integers(0, dim))
            end = int(rng.integers(start + 1, dim + 1))
            if (start, end) != (0, dim):
                found.append((axis, start, end, pick(rng, 1, 1, 1, 2)))
    return tuple(found)


def _pads(rng: Random, shape: Shape, rank: int, _: Any) -> tuple[int, ...]:
    first = pick(rng, 0, 0, min(2, rank))
    pads = [p if k % max(rank, 1) >= first else 0 for k, p in enumerate(picks(rng, (0, 1, 1, 2), 2 * rank))]
    return tuple(pads)


def _conv_window(rng: Random, shape: Shape, rank: int, operands: Sequence[Fact]) -> ConvWindow:
    axes = max(rank - 2, 1)
    w = operands[1].shape if len(operands) > 1 else None
    group = 1
    if w and len(w) > 1 and isinstance(w[1], int) and w[1] and rank > 1 and isinstance(shape[1], int):
        group = max(shape[1] // w[1], 1)
    plain = rng.random() < 0.4
    strides = [1 if plain else s for s in picks(rng, (1, 1, 2, 3), axes)]
    pads = [0 if plain and rng.random() < 0.5 else p for p in picks(rng, (0, 1, 1, 2), 2 * axes)]
    dilations = [1 if plain else d for d in picks(rng, (1, 1, 1, 2), axes)]
    return ConvWindow(tuple(strides), tuple(pads), tuple(dilations), group)


def _transposed_window(rng: Random, shape: Shape, rank: int, operands: Sequence[Fact]) -> ConvWindow:
    window = _conv_window(rng, shape, rank, [operands[0]])
    return ConvWindow(window.strides, (0,) * len(window.pads), window.dilations, 1)


def _pool_window(rng: Random, shape: Shape, rank: int, _: Any) -> PoolWindow:
    axes = max(rank - 2, 1)
    if rng.random() < 0.25 and rank > 2 and all(isinstance(d, int) for d in shape[2:]):
        kernel = tuple(int(d) for d in shape[2:])  # type: ignore[arg-type]
    else:
        kernel = tuple(picks(rng, (1, 2, 3, 4, 6), axes))
    strides = kernel if rng.random() < 0.3 else tuple(picks(rng, (1, 1, 2, 3), axes))
    pads = tuple(int(rng.integers(0, max(k // 2 + 1, 1))) if rng.random() < 0.3 else 0 for k in kernel * 2)
    return PoolWindow(kernel, strides, pads, (1,) * axes, 0, int(rng.integers(0, 2)))


def _gemm_settings(rng: Random, shape: Shape, rank: int, operands: Sequence[Fact]) -> GemmSettings:
    scale = [1.0 if rng.random() < 0.6 else pick(rng, 0.5, 2.0) for _ in range(2)]
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
    "dims": another_view,
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
    "mode": lambda rng, *_: pick(rng, "constant", "constant", "constant", "edge", "reflect"),
    "pad.value": lambda rng, *_: pick(rng, 0.0, 0.0, 0.0, 1.0, -1.0, -np.inf),
    "epsilon": lambda rng, *_: pick(rng, 1e-5, 1e-3, 0.0),
    "scale": lambda rng, *_: pick(rng, 0.25, 0.5, 1.0),
    "to": lambda rng, *_: getattr(TensorProto, pick(rng, *_CASTS)),
    "index": lambda rng, *_: int(rng.integers(2)),
    "start": lambda rng, *_: 0,
    "end": lambda rng, *_: None,
    "equation": lambda rng, *_: pick(rng, "bij,bjk->bik", "ij,jk->ik", "bij,bkj->bik"),
    "literal.value": lambda rng, *_: Literal(TensorProto.FLOAT, (), (pick(rng, 0.0, 1.0, 2.0),)),
}
