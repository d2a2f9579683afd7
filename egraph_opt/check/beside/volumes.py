"""Images with one axis more, constants as they are: what lies along the channels lies along that one then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from egraph_opt.check.beside.variants import arrays_of, dims_of, with_input
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.laws.law import Example

LEAST, MOST = 3, 5
"""Axes of an image: instances, channels, and at least one more."""

PLAIN = 2
"""How long an axis is that no constant is as long as."""


def with_volumes(example: Example) -> Iterator[Example]:
    """Each image with an axis in front of the others, and behind them, as long as one of a constant."""
    lengths = {d for array in arrays_of(example).values() for d in array.shape if d > 1}
    for value in example.operands.values:
        dims = dims_of(value)
        if value.const_value is not None or not LEAST <= len(dims) < MOST:
            continue
        for length in sorted({PLAIN, *lengths}):
            for at in (LEAST - 1, len(dims)):
                made = with_input(example, value, (*dims[:at], length, *dims[at:]))
                if lowered_if_typed(made):
                    yield _with_rows(made)


def _with_rows(example: Example) -> Example:
    """Constants of one number as ones that grow: which axis they lie along shows."""
    for place, array in arrays_of(example).items():
        if array.dtype.kind == "f" and array.size > 1 and (array == array.flat[0]).all():
            shares = 1 + np.arange(array.size).reshape(array.shape) / array.size
            made = (array * shares).astype(array.dtype)
            example = replace(example, operands=example.operands.with_constant(place, made))
    return example
