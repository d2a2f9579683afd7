"""What is nearly nothing: settings a little greater, and zeros that are none, as a tolerance takes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.beside.variants import arrays_of
from egraph_opt.check.scope import nodes_of
from egraph_opt.laws.law import Example

NEARLY_NOTHING = 1e-8
"""The absolute tolerance of NumPy's comparisons."""


def with_nearly_nothing(example: Example) -> Iterator[Example]:
    """Each float that an operator has more by so little, and each constant with it instead of zeros."""
    for node in nodes_of(example):
        for place, argument in enumerate(node.arguments):
            value = getattr(argument.head, "value", None)
            if isinstance(value, float) and argument.sort.name == "Float":
                yield with_changed(example, node, place, value + NEARLY_NOTHING)
    for place, array in arrays_of(example).items():
        if array.dtype in (np.float32, np.float64) and (array == 0).any():
            other = np.where(array == 0, NEARLY_NOTHING, array).astype(array.dtype)
            yield replace(example, operands=example.operands.with_constant(place, other))
