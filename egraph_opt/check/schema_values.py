"""What ONNX's schemas say that attributes of an operator may be: other values than a node has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import onnx
from onnx import TensorProto, defs

from egraph_opt.check import tables
from egraph_opt.operators.node_reader import plain

FLOATS = (0.5, 0.0, 1.0, 2.0, -0.5)
SMALL_FLOATS = (0.1, 1e-3)
"""Of what is added to a divisor, which is never 0 or less."""

TYPES = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8)

WORDS = {**tables.SETTINGS_BY_NAME, "mode": (*tables.SETTINGS_BY_NAME["mode"], "bilinear", "bicubic")}
"""What attributes may be that are words, by name; of these an operator takes those that its text names."""

_QUOTED = re.compile(r"[\"'`]([A-Za-z_]\w*)[\"'`]")
_FLAG = re.compile(r"\b(bool|boolean|flag|whether|if|true|false)\b", re.IGNORECASE)

_Kind = defs.OpSchema.AttrType


def default_of(schema: defs.OpSchema, name: str) -> Any:
    """The default of an attribute; None where it has none."""
    given = schema.attributes[name].default_value
    return plain(onnx.helper.get_attribute_value(given)) if given.type else None


def is_along_axes(name: str) -> bool:
    """Whether an attribute is an axis, or a list of some."""
    return name in ("axis", "axes") or name.endswith(("_axis", "_axes"))


def other_values(schema: defs.OpSchema, name: str, current: Any, rank: int) -> list[Any]:
    """Values of an attribute other than the one that a node has, or than its default.

    Args:
        current: None where the node does not have it.
        rank: of the first operand.
    """
    present = default_of(schema, name) if current is None else current
    kind, found = schema.attributes[name].type, list[Any]()
    if kind == _Kind.FLOAT:
        found = list(SMALL_FLOATS if "epsilon" in name else FLOATS)
    elif kind == _Kind.INT:
        found = list(_integers(schema, name, present, rank))
    elif kind == _Kind.STRING:
        found = list(_words(schema, name))
    elif kind == _Kind.INTS:
        found = list(_rows(name, present, rank))
    elif kind == _Kind.FLOATS and present:
        found = [tuple(0.5 * v + 0.25 for v in present)]
    return [value for value in dict.fromkeys(found) if value not in (present, ())]


def _integers(schema: defs.OpSchema, name: str, present: Any, rank: int) -> Iterator[int]:
    if is_along_axes(name):
        yield from (k for axis in range(rank) for k in (axis - rank, axis))
    elif "type" in name or name == "to":
        yield from TYPES
    elif present in (0, 1) and _FLAG.search(str(schema.attributes[name].description)):
        yield 1 - present
    else:
        least = 0 if present == 0 else 1  # of sizes, groups and powers there is no 0
        yield from (*range(least, 4), *(() if present is None else (present + 1, 2 * present)))


def _words(schema: defs.OpSchema, name: str) -> Iterator[str]:
    text = str(schema.attributes[name].description)
    said = {*re.findall(r"\w+", f"{text} {schema.doc}")}
    yield from (word for word in WORDS.get(name, ()) if word in said)
    yield from _QUOTED.findall(text)


def _rows(name: str, present: Any, rank: int) -> Iterator[tuple[int, ...]]:
    if is_along_axes(name):
        yield from _lists_of_axes(tuple(present or ()), rank)
    elif present:
        yield tuple(n + 1 for n in present)
        yield (*present[:-1], present[-1] + 1)
    else:
        for length in dict.fromkeys((rank, max(rank - 2, 1), 2 * max(rank - 2, 1), 2 * rank)):
            yield from ((n,) * length for n in (1, 2))


def _lists_of_axes(present: tuple[int, ...], rank: int) -> Iterator[tuple[int, ...]]:
    """The same axes counted from behind, all or some, and others: each alone, and all that are not there."""
    inside = tuple(axis for axis in present if -rank <= axis < rank)
    yield tuple(axis - rank if axis >= 0 else axis for axis in inside)
    if len(inside) > 1:
        yield (*inside[:-1], inside[-1] - rank if inside[-1] >= 0 else inside[-1])
    for axis in range(rank):
        yield from ((axis - rank,), (axis,))
    others = tuple(axis for axis in range(rank) if not {axis, axis - rank} & {*inside})
    yield from (others, tuple(axis - rank for axis in others))
