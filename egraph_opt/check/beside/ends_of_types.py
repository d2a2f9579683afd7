"""Bounds, and constants, that are the ends of one integer type, of operands of another one.

A law has the ends of types in a table, and a type that no example has may have those of its neighbour there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import onnx_ir as ir

from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.beside.variants import arrays_of, in_dtype
from egraph_opt.check.scope import nodes_of
from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.laws.law import Example

Ends = tuple[int, int]

ENDS: dict[int, Ends] = {
    dtype: (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    for dtype in sorted(INTEGERS)
    if (kind := ir.DataType(dtype).numpy()).kind in "iu"
}


def with_ends_of_types(example: Example) -> Iterator[Example]:
    """All integers of each type, with each Clip between the ends of each other type, or beside one of them;
    and with each constant of one number at one of these ends."""
    for dtype in ENDS if any(fact.dtype in INTEGERS for fact in example.operands.facts) else ():
        typed = in_dtype(example, dtype, INTEGERS)
        others = dict.fromkeys(_within(ENDS[dtype], ends) for ends in ENDS.values())
        for low, high in others:
            yield from _with_bounds(typed, low, high)
        for end in sorted({end for both in others for end in both} - {0}):
            yield from _with_constants(typed, dtype, end)


def _within(own: Ends, ends: Ends) -> Ends:
    return max(own[0], ends[0]), min(own[1], ends[1])


def _with_bounds(example: Example, low: int, high: int) -> Iterator[Example]:
    for node in nodes_of(example):
        if node.head.name == "unary" and node.arguments[0].head.value == "Clip":
            for least, most in ((low, high), (None, high), (low, None)):
                yield with_changed(example, node, 1, (("max", most), ("min", least)))


def _with_constants(example: Example, dtype: int, end: int) -> Iterator[Example]:
    for place, array in arrays_of(example).items():
        if example.operands.facts[place].dtype == dtype and array.size and (array == array.flat[0]).all():
            yield replace(example, operands=example.operands.with_constant(place, np.full_like(array, end)))
