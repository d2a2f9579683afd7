"""Operators that repeat or add elements, expand and pad; shape_of counts them, range_ counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import ALL_FLOATS, BOOL, INTEGERS
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.operators.declaration import Literal, OnnxForm, TermSpec, ints, lowers, operator
from egraph_opt.operators.expressions import Tensor
from egraph_opt.operators.sorts import Dims, Mode, Number, Pads, Place

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader


def _expand_form(opset: int, attributes: tuple[tuple[int, ...]], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Expand", (0, ints(attributes[0]))) if opset >= 8 else None


@operator(form=_expand_form)
def expand(x: Tensor, dims: Dims) -> Tensor:
    """x broadcast against the dims given, all numbers."""


def _expand_to_form(opset: int, attributes: tuple[()], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Expand", (0, 1)) if opset >= 8 else None


@operator(form=_expand_to_form)
def expand_to(x: Tensor, target: Tensor) -> Tensor:
    """x broadcast against dims that are computed at run time."""


@lowers("Expand")
def _lower_expand(node: NodeReader) -> TermSpec | None:
    dims = node.ints(1)
    return TermSpec("expand_to", (), (0, 1)) if dims is None else TermSpec("expand", (dims,), (0,), (1,))


@lowers("Tile")
def _lower_tile(node: NodeReader) -> TermSpec | None:
    """Repeating what has one element along an axis is an Expand, as often as is computed, too."""
    repeats, dims = node.ints(1), node.fact(0).shape
    if repeats is None:
        single = node.opset >= 8 and _repeats_single(dims, node.fact(1).value)
        return TermSpec("expand_to", (), (0, 1)) if single else None
    if set(repeats) == {1}:
        return TermSpec("identity", (), (0,), (1,))
    if node.opset < 8 or 0 in repeats or dims is None or len(dims) != len(repeats):
        return None  # an Expand to a constant 0 changes nothing for onnxruntime
    single = all(n == 1 or d == 1 for n, d in zip(repeats, dims, strict=True))
    return TermSpec("expand" if single else "tile", (repeats,), (0,), (1,))


def _repeats_single(dims: Shape | None, repeats: Shape | None) -> bool:
    """Along each axis there is one element, or one copy of all, also where there are no copies."""
    if dims is None or repeats is None or len(dims) != len(repeats) or 0 in repeats:
        return False
    alike = all(n == 1 or d == 1 for n, d in zip(repeats, dims, strict=True))
    return alike and all(symbolic.is_at_least(n, 0) for n in repeats)


def _tile_form(opset: int, attributes: tuple[tuple[int, ...]], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Tile", (0, ints(attributes[0]))) if opset >= 6 and 0 not in attributes[0] else None


@operator(form=_tile_form)
def tile(x: Tensor, repeats: Dims) -> Tensor:
    """x as often along each axis as `repeats` say, all 1 or more."""


def _pad_form(opset: int, attributes: tuple[Any, ...], facts: tuple[Fact, ...]) -> OnnxForm | None:
    mode, pads, value = attributes
    if opset < 11:
        if facts[0].dtype in INTEGERS or facts[0].dtype == BOOL:
            return None  # it is one of floats only
        settings = (("mode", mode), ("pads", pads), ("value", float(value)))
        return OnnxForm("Pad", (0,), settings)
    if facts[0].dtype <= 0:
        return None
    inputs: tuple[int | Literal | None, ...] = (0, ints(pads))
    if mode == "constant":
        inputs = (*inputs, Literal(facts[0].dtype, (), (value,)))
    return OnnxForm("Pad", inputs, (("mode", mode),))


@operator(form=_pad_form)
def pad(x: Tensor, mode: Mode, pads: Pads, value: Number) -> Tensor:
    """x with `pads` (all begins, then all ends; 0 or more) elements added at the borders."""


@lowers("Pad")
def _lower_pad(node: NodeReader) -> TermSpec | None:
    rank = node.fact(0).rank
    mode = node.attribute("mode") or "constant"
    value: float | int = 0
    read: tuple[int, ...] = ()
    if node.opset < 11:
        pads, value, axes = node.attribute("pads"), node.attribute("value"), None
    else:
        read = tuple(k for k in range(1, node.count) if node.has(k))
        pads, axes = node.ints(1), node.ints(3)
        if node.has(3) and axes is None:
            return None
        if node.has(2):
            fact = node.fact(2)
            if not fact.const or fact.splat is None:
                return None
            value = fact.splat
    if rank is None or pads is None:
        return None
    if axes is not None:
        full = [0] * (2 * rank)
        for k, axis in enumerate(axes):
            full[axis % rank] = pads[k]
            full[axis % rank + rank] = pads[k + len(axes)]
        pads = tuple(full)
    if any(p < 0 for p in pads):
        return _cropped(node.fact(0), mode, tuple(pads), read)
    value = _in_type(value if mode == "constant" else 0, node.fact(0).dtype)
    return TermSpec("pad", (mode, tuple(pads), value), (0,), read)


def _cropped(x: Fact, mode: str, pads: tuple[int, ...], read: tuple[int, ...]) -> TermSpec | None:
    """What takes elements away on some sides, and adds none, is a Slice."""
    rank = len(pads) // 2
    if mode != "constant" or any(p > 0 for p in pads) or x.shape is None:
        return None
    spec = []
    for axis, dim in enumerate(x.shape):
        first, behind = -pads[axis], -pads[axis + rank]
        if first == behind == 0:
            continue
        if not symbolic.is_at_least(dim, first + behind):
            return None
        end = dim - behind if isinstance(dim, int) else -behind or None
        spec.append((axis, first, end, 1))
    return TermSpec("slice_", (tuple(spec),), (0,), read)


def _in_type(value: float, dtype: int) -> float:
    """A number as elements of a type are written: 0 and 0.0 are two attributes, and one value to pad with."""
    if dtype in ALL_FLOATS:
        return float(value)
    return int(value) if dtype in INTEGERS else value


def _shape_form(opset: int, attributes: tuple[int, int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    start, end = attributes
    if (start, end) == (0, facts[0].rank):
        return OnnxForm("Shape", (0,))
    return OnnxForm("Shape", (0,), (("end", end), ("start", start))) if opset >= 15 else None


@operator(form=_shape_form)
def shape_of(x: Tensor, start: Place, end: Place) -> Tensor:
    """The dims of x from axis `start` up to `end`, int64."""


@lowers("Shape")
def _lower_shape(node: NodeReader) -> TermSpec | None:
    rank = node.fact(0).rank
    if rank is None:
        return None
    start, end = node.attribute("start") or 0, node.attribute("end")
    end = rank if end is None else end
    start, end = (min(max(v + rank if v < 0 else v, 0), rank) for v in (start, end))
    return TermSpec("shape_of", (start, max(start, end)), (0,))


def _range_form(opset: int, attributes: tuple[()], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Range", (0, 1, 2)) if opset >= 11 else None


@operator(form=_range_form)
def range_(start: Tensor, limit: Tensor, step: Tensor) -> Tensor:
    """The numbers from `start` on, up to `limit` without that, in steps."""


@lowers("Range")
def _lower_range(node: NodeReader) -> TermSpec:
    return TermSpec("range_", (), (0, 1, 2))
