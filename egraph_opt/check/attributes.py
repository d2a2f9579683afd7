"""Attributes of operators that suit the operands given, from the values of `tables`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.check import tables
from egraph_opt.check.as_read import drawn_settings
from egraph_opt.check.blocks import beside_block, block_of, block_settings, group_settings, repeats, time_axis
from egraph_opt.check.choices import Random, chance, pick, picks
from egraph_opt.check.layers import layer_of
from egraph_opt.check.rotations import rotation
from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.facts.fact import ABSENT, Fact, Shape
from egraph_opt.operators.declaration import Literal, declared_outside, operator_named
from egraph_opt.operators.linear import ConvWindow, GemmSettings
from egraph_opt.operators.node_reader import schema_defaults
from egraph_opt.operators.slicing import normal_slice
from egraph_opt.operators.windows import PoolWindow

_SETTINGS: dict[str, tuple[str, ...]] = {
    "Celu": ("alpha",),
    "Elu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "LeakyRelu": ("alpha",),
    "Selu": ("alpha", "gamma"),
    "Swish": ("alpha",),
    "ThresholdedRelu": ("alpha",),
}

Attributes = Mapping[str, Any]
Operands = Sequence[Fact]
_Rule = Callable[[Random, Shape, Attributes, Operands], Any]

HUGE = 2**62
"""An end that is beyond every dim."""


def attribute_of(rng: Random, operator: str, parameter: str, before: Attributes, operands: Operands) -> Any:
    """A value for an attribute of an operator on operands of which the facts are given.

    Args:
        before: the attributes that the operator has already, with the name of the ONNX operator as "op" and
            the numbers that the law names as "numbers".

    Raises:
        LookupError: there is no table for it.
    """
    declared = operator_named(operator)
    if declared_outside(declared.module) and dict(declared.function.parameters)[parameter].name == "Settings":
        return drawn_settings(rng, operator, parameter, before, operands)
    shape = operands[0].shape if operands and operands[0] is not None else None
    rule = _ATTRIBUTES.get(f"{operator}.{parameter}") or _ATTRIBUTES.get(parameter)
    if rule is None:
        raise LookupError(f"no table of {operator}.{parameter}")
    return rule(rng, tuple(shape or ()), before, operands)


def _unary_settings(rng: Random, shape: Shape, before: Attributes, operands: Operands) -> Any:
    name, named = before.get("op", ""), tuple(before.get("numbers", ()))
    if name == "Clip":
        number = float if operands[0].dtype in ALL_FLOATS else int
        bounds = (None if b is None else number(b) for b in picks(rng, (*tables.BOUNDS, *named), 2))
        return tuple(zip(("max", "min"), bounds, strict=True))
    if name == "Gelu":
        return (("approximate", pick(rng, "none", "tanh")),)
    if name == "IsInf":
        negative, positive = pick(rng, (1, 1), (1, 0), (0, 1))
        return (("detect_negative", negative), ("detect_positive", positive))
    # Below 0 the alpha of a Celu makes exponentials infinite, on ordinary numbers.
    slopes = tuple(float(np.float32(s)) for s in (*tables.SLOPES, *named) if s > 0 or name != "Celu")
    return tuple((key, pick(rng, *slopes)) for key in _SETTINGS.get(name, ()))


def _resize_settings(rng: Random, shape: Shape, before: Attributes, operands: Operands) -> Any:
    """As a rule those that use a region, where there is one."""
    chosen = {name: pick(rng, *values) for name, values in tables.RESIZE_SETTINGS.items()}
    if operands[1:] and operands[1] != ABSENT and chance(rng, 0.7):
        chosen["coordinate_transformation_mode"] = "tf_crop_and_resize"
    defaults = schema_defaults("Resize", before.get("opset", 17))
    return tuple(
        (name, chosen.get(name, value)) for name, value in sorted(defaults.items()) if value is not None
    )


def _permutation(rng: Random, shape: Shape, *_: Any) -> tuple[int, ...]:
    rank = len(shape)
    if not rank:
        raise LookupError("a Transpose of a number, which cannot be written")
    kind = pick(rng, *tables.PERMUTATIONS)
    axes = list(range(rank))
    if kind == "last two" and rank > 1:
        axes[-2:] = axes[:-3:-1]
    elif kind == "last three" and rank > 2:
        axes[-3:] = (axes[-2], axes[-1], axes[-3])
    elif kind == "inner three" and rank > 4:  # in a circle, between two that stay
        axes[1:4] = (axes[2], axes[3], axes[1])
    elif kind == "pairs" and rank > 3:
        axes[:2], axes[-2:] = axes[1::-1], axes[:-3:-1]
    elif kind == "first to last":
        axes = axes[1:] + axes[:1]
    elif kind == "reversed":
        axes.reverse()
    elif kind == "any":
        axes = [int(i) for i in rng.permutation(rank)]
    return tuple(axes)


def _axis(rng: Random, shape: Shape, before: Attributes, *_: Any) -> int:
    if "joined" in before:
        return int(before["joined"])
    return int(pick(rng, *range(max(len(shape), 1))))


def _axes(rng: Random, shape: Shape, *_: Any) -> tuple[int, ...]:
    rank = len(shape)
    return tuple(k for k in range(rank) if chance(rng, 0.4)) or (max(rank - 1, 0),)


def _bounded_axes(rng: Random, shape: Shape, before: Attributes, operands: Operands) -> tuple[int, ...]:
    """As many axes as there are bounds."""
    axes = rng.permutation(len(shape))[: _bounds_given(operands)]
    return tuple(sorted(axes.tolist()))


def _steps(rng: Random, shape: Shape, before: Attributes, operands: Operands) -> tuple[int, ...]:
    return tuple(picks(rng, tables.STEPS, _bounds_given(operands)))


def _bounds_given(operands: Operands) -> int:
    given = operands[1].shape if len(operands) > 1 else None
    return given[0] if given and isinstance(given[0], int) else 1


def another_view(rng: Random, shape: Shape, *_: Any) -> Shape:
    """Another view of the same elements.

    Axes of 1 come and go, neighbours are joined, change places or hand on a factor, numbers are cut, all are
    turned round.
    """
    dims = list(shape)
    for kind in picks(
        rng,
        ("1", "1", "no 1", "join", "cut", "cut", "swap", "turn", "move", "move"),
        int(pick(rng, 1, 1, 2, 3)),
    ):
        if kind == "1":
            dims.insert(int(rng.integers(0, len(dims) + 1)), 1)
        elif kind == "no 1" and 1 in dims:
            dims.remove(1)
        elif kind == "join" and len(dims) >= 2:
            k = int(rng.integers(0, len(dims) - 1))
            if isinstance(dims[k], int) and isinstance(dims[k + 1], int):
                dims[k : k + 2] = [dims[k] * dims[k + 1]]  # type: ignore[operator]
        elif kind == "swap" and len(dims) >= 2:
            k = int(rng.integers(0, len(dims) - 1))
            dims[k : k + 2] = [dims[k + 1], dims[k]]
        elif kind == "turn":
            dims.reverse()
        elif kind == "move" and len(dims) >= 2:
            (to, off), factor = rng.permutation(len(dims))[:2].tolist(), int(pick(rng, 2, 2, 3))
            more, less = dims[to], dims[off]
            if isinstance(more, int) and isinstance(less, int) and less and less % factor == 0:
                dims[to], dims[off] = more * factor, less // factor
        elif dims:
            k = int(rng.integers(0, len(dims)))
            d = dims[k]
            if isinstance(d, int) and d > 1 and d % 2 == 0:
                dims[k : k + 1] = [2, d // 2]
    return tuple(dims)


def _grown(rng: Random, shape: Shape, *_: Any) -> Shape:
    """What a shape may be broadcast to; 1, or nothing, is what a dim stays with."""
    some = chance(rng, 0.3)
    dims = tuple(pick(rng, 1, 2, 3) if d == 1 else 1 if some and chance(rng, 0.4) else d for d in shape)
    if some and chance(rng, 0.3):
        return dims[1:]
    return (*((pick(rng, 1, 2),) if chance(rng, 0.3) else ()), *dims)


def _slices(rng: Random, shape: Shape, before: Attributes, *_: Any) -> tuple[Any, ...]:
    blocks = [spec for spec in before.get("slices", ()) if spec[-1][0] < len(shape)]
    if blocks and chance(rng, 0.25):
        return tuple(beside_block(rng, pick(rng, *blocks)))
    axes = sorted(rng.permutation(len(shape))[: pick(rng, 1, 1, 1, 2, 3, 0)].tolist())
    own = [bounds for d in before.get("dims", ()) for bounds in ((d, None), (d, -1), (0, d))]
    found = ((axis, _bounds(rng, shape[axis], own)) for axis in axes)
    return tuple((axis, *bounds) for axis, bounds in found if bounds is not None)


def _bounds(rng: Random, dim: Any, own: Sequence[Any]) -> tuple[int, int | None, int] | None:
    """Start, end and step of a slice, as they are once a model is read; None of the whole.

    Args:
        own: bounds that other dims of the term suggest.
    """
    start, end = pick(rng, *tables.BOUNDS_OF_SLICES, *own)
    step = (
        pick(rng, *tables.STEPS)
        if isinstance(dim, int)
        else pick(rng, *[s for s in tables.STEPS if s > 0], -1)
    )
    if step < 0 and not isinstance(dim, int):
        start, end = -1, -HUGE
    elif step < 0:
        start, end = (-1, -HUGE) if end is None else (end - 1 if end > 0 else end, start)
    bounds = normal_slice(dim, start, HUGE if end is None else end, step)
    return None if bounds in ((0, None, 1), (0, dim, 1)) else bounds


def _pads(rng: Random, shape: Shape, *_: Any) -> tuple[int, ...]:
    rank = len(shape)
    first = pick(rng, 0, 0, min(2, rank))
    pads = picks(rng, tables.OUTER_PADS, 2 * rank)
    return tuple(p if k % max(rank, 1) >= first else 0 for k, p in enumerate(pads))


def _pad_value(rng: Random, shape: Shape, before: Attributes, operands: Operands) -> float | int:
    value = pick(rng, *tables.PAD_VALUES)
    if operands and operands[0].dtype not in ALL_FLOATS:
        return int(value) if abs(value) <= 1 else 2
    return float(value)


def _walk(rng: Random, axes: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Strides, pads and dilations, in some terms those that do nothing."""
    plain, padded = chance(rng, 0.4), chance(rng, 0.7)
    strides = [1] * axes if plain else picks(rng, tables.STRIDES, axes)
    pads = picks(rng, tables.WINDOW_PADS, 2 * axes) if padded else [0] * (2 * axes)
    dilations = [1] * axes if plain else picks(rng, tables.DILATIONS, axes)
    return tuple(strides), tuple(pads), tuple(dilations)


def _conv_window(rng: Random, shape: Shape, before: Attributes, operands: Operands) -> ConvWindow:
    w = operands[1].shape if len(operands) > 1 else None
    group = 1
    if w and len(w) > 1 and isinstance(w[1], int) and w[1] and len(shape) > 1 and isinstance(shape[1], int):
        group = max(shape[1] // w[1], 1)
    return ConvWindow(*_walk(rng, max(len(shape) - 2, 1)), group)


def _transposed_window(rng: Random, shape: Shape, before: Attributes, operands: Operands) -> ConvWindow:
    strides, pads, dilations = _walk(rng, max(len(shape) - 2, 1))
    channels = shape[1] if len(shape) > 1 and isinstance(shape[1], int) else 1
    groups = [g for g in (1, 1, 2, channels) if g and channels % g == 0]
    bias = operands[2] if len(operands) > 2 else ABSENT
    if bias != ABSENT and bias.shape and operands[1].shape:
        per_group = operands[1].shape[1]
        fits = isinstance(per_group, int) and isinstance(bias.shape[0], int) and per_group
        groups = [bias.shape[0] // per_group] if fits else groups  # type: ignore[operator]
    pads = pads if chance(rng, 0.6) else (0,) * len(pads)
    more = tuple(int(s > 1 and chance(rng, 0.3)) for s in strides)
    return ConvWindow(strides, pads, dilations, int(pick(rng, *groups)), more if any(more) else ())


def _pool_window(rng: Random, shape: Shape, before: Attributes, operands: Operands) -> PoolWindow:
    axes = max(len(shape) - 2, 1)
    whole = len(shape) > 2 and all(isinstance(d, int) for d in shape[2:])
    if whole and chance(rng, 0.25):
        kernel = tuple(int(d) for d in shape[2:])  # type: ignore[arg-type]
    else:
        kernel = tuple(picks(rng, tables.POOL_KERNELS, axes))
    strides = kernel if chance(rng, 0.3) else tuple(picks(rng, tables.STRIDES, axes))
    padded = chance(rng, 0.5)
    pads = tuple(pick(rng, *range(k // 2 + 1)) if padded and k // 2 else 0 for k in kernel * 2)
    dilations = tuple(picks(rng, tables.DILATIONS, axes)) if before.get("op") == "MaxPool" else (1,) * axes
    if before.get("op") == "MaxPool" and 1 in shape[2:] and chance(rng, 0.3):  # windows of pads alone
        kernel, dilations, pads = (2,) * axes, (2,) * axes, (1,) * (2 * axes)
    if before.get("op") == "MaxPool" and whole and chance(rng, 0.15):  # the corners of an image alone
        kernel, strides, pads = (2,) * axes, (1,) * axes, (0,) * (2 * axes)
        dilations = tuple(max(int(d) - 1, 1) for d in shape[2:])  # type: ignore[arg-type]
    average = before.get("op") == "AveragePool"
    counted = int(average and chance(rng, 0.5))
    return PoolWindow(kernel, strides, pads, dilations, int(chance(rng, 0.3)), counted)


def _gemm_settings(rng: Random, shape: Shape, before: Attributes, operands: Operands) -> GemmSettings:
    alpha, beta = picks(rng, tables.FACTORS, 2)
    trans_b = int(len(operands) > 1 and (operands[1].shape or (0,))[-1] == (shape or (0,))[-1])
    return GemmSettings(alpha, beta, int(chance(rng, 0.2)), trans_b)


def _sizes(rng: Random, shape: Shape, before: Attributes, *_: Any) -> tuple[int, ...]:
    """Parts of a dim, of which some are of 1 and some are alike."""
    dim: Any = shape[before.get("axis", 0)] if before.get("axis", 0) < len(shape) else 1
    if not isinstance(dim, int):
        return tuple(picks(rng, (1, 2), pick(rng, *tables.PARTS)))
    count = min(int(pick(rng, *tables.PARTS)), max(int(dim), 1))
    if chance(rng, 0.4) and dim % count == 0:
        return (int(dim) // count,) * count
    cuts = sorted(int(c) + 1 for c in rng.permutation(max(dim - 1, 0))[: count - 1])
    return tuple(int(b - a) for a, b in zip((0, *cuts), (*cuts, dim), strict=True))


def _literal(rng: Random, *_: Any) -> Literal:
    return Literal(TensorProto.FLOAT, (), (pick(rng, *tables.NUMBERS),))


def _cast_to(rng: Random, shape: Shape, before: Attributes, *_: Any) -> int:
    """A type, as a rule the one that is wanted further out."""
    return int(pick(rng, *tables.CASTS, *(before.get("wanted", TensorProto.FLOAT),) * len(tables.CASTS)))


def _scaled_axis(rng: Random, shape: Shape, before: Attributes, operands: Operands) -> int:
    """An axis of as many parts as there are scales; 0 where there is one."""
    scales = operands[1].shape if len(operands) > 1 else ()
    fitting = [k for k, d in enumerate(shape) if (d,) == scales and d != 1]
    return int(pick(rng, *fitting)) if fitting else 0


def _quantized_to(rng: Random, shape: Shape, before: Attributes, operands: Operands) -> int:
    """The type of the zero points."""
    absent = len(operands) < 3 or operands[2] == ABSENT
    return int(TensorProto.UINT8 if absent else operands[2].dtype)


def _some_of_axis(rng: Random, shape: Shape, *_: Any) -> int:
    """How many elements are taken of an axis that is drawn next."""
    dims = [d for d in shape if isinstance(d, int)]
    return int(pick(rng, 1, 2, *dims, *(max(d - 1, 1) for d in dims)))


def _from(*values: Any) -> _Rule:
    return lambda rng, *_: pick(rng, *values)


def _flags(*names: str) -> _Rule:
    return lambda rng, *_: tuple((name, int(pick(rng, 0, 1))) for name in names)


_ATTRIBUTES: dict[str, _Rule] = {
    "recurrent.layer": layer_of,
    "perm": _permutation,
    "axis": _axis,
    "axes": _axes,
    "slice_at.axes": _bounded_axes,
    "slice_at.steps": _steps,
    "dims": another_view,
    "expand.dims": _grown,
    "spec": _slices,
    "pads": _pads,
    "sizes": _sizes,
    "window": _conv_window,
    "conv_transpose.window": _transposed_window,
    "pool.window": _pool_window,
    "lp_pool.window": _pool_window,
    "power": _from(1, 2, 3),
    "quantize.axis": _scaled_axis,
    "quantize.to": _quantized_to,
    "dequantize.axis": _scaled_axis,
    "gemm.settings": _gemm_settings,
    "unary.settings": _unary_settings,
    "resize.settings": _resize_settings,
    "cumsum.settings": _flags("exclusive", "reverse"),
    "blockwise.settings": block_settings,
    "group_norm.settings": group_settings,
    "tile.repeats": repeats,
    "overwrite.block": block_of,
    "rotary.settings": rotation,
    "top.count": _some_of_axis,
    "top.settings": _flags("largest", "sorted"),
    "reverse_sequence.time": time_axis,
    "keepdims": _from(0, 1),
    "last": _from(0, 1),
    "allowzero": _from(0),
    "mode": _from(*tables.PAD_MODES),
    "pad.value": _pad_value,
    "epsilon": _from(*tables.EPSILONS),
    "scale": _from(*tables.SCALES),
    **dict.fromkeys(("attention.scale", "masked_attention.scale"), _from(*tables.ATTENTION_SCALES)),
    "wide": _from(0, 1),
    "to": _cast_to,
    "index": _from(0, 1, 2),
    "start": lambda rng, shape, *_: int(pick(rng, *range(max(len(shape), 1)))) if chance(rng, 0.4) else 0,
    "end": lambda rng, shape, before, *_: int(pick(rng, *[len(shape)] * 3, before.get("start", 0) + 1)),
    "equation": _from(*tables.EQUATIONS),
    "literal.value": _literal,
}
