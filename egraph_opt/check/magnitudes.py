"""Constants of very different size: one near the end of its type, or all so large, or so small, that two of
them have a product and three have none.

On such numbers an order of operations shows: what is combined first may leave the range of a type that the
term as it was written never leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import onnx_ir as ir

from egraph_opt.check import tables
from egraph_opt.check.variants import resized
from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example

TOGETHER = (1e15, 1e-20)
"""All constants, of which the product of two is one of float32, and that of three is not."""

LONGER = 2
"""The length of an axis of one, and of a symbolic one of a constant instead of an input."""


def with_other_magnitudes(example: Example) -> Iterator[Example]:
    """Each constant of floats near the end of its type, beside ones; all alike, one input with them.

    Axes of one are longer as well: a sum of one overflows nothing.
    """
    yield from _of_constants(example)
    yield from _of_constants(resized(example, {1}, LONGER))


def _of_constants(example: Example) -> Iterator[Example]:
    operands = example.operands
    floats = [k for k, known in enumerate(operands.facts) if known.dtype in ALL_FLOATS]
    known = [k for k in floats if operands.values[k].const_value is not None]
    inputs = [k for k in floats if operands.values[k].const_value is None]
    if len(known) > 1:
        for huge in known:
            ends = {k: _most(operands.values[k]) if k == huge else 1.0 for k in known}
            yield replace(example, operands=_with_numbers(operands, ends))
    for number in TOGETHER if known else ():
        for also in ([], *([k] for k in inputs if len(inputs) > 1)):
            if len(known) + len(also) > 1:
                alike = dict.fromkeys((*known, *also), number)
                yield replace(example, operands=_with_numbers(operands, alike))


def _most(value: ir.Value) -> float:
    assert value.dtype is not None
    most = float(np.finfo(value.dtype.numpy()).max)
    return min(tables.NEAR_THE_END, 0.9 * most)


def _with_numbers(operands: Operands, numbers: Mapping[int, float]) -> Operands:
    """The same leaves, some of which are one number throughout."""
    for place, number in numbers.items():
        value = operands.values[place]
        assert value.dtype is not None
        with np.errstate(all="ignore"):
            array = np.full(_lengths(value.shape), number).astype(value.dtype.numpy())
        operands = operands.with_constant(place, array)
    return operands


def _lengths(shape: ir.Shape | None) -> tuple[int, ...]:
    return tuple(d if isinstance(d, int) else LONGER for d in shape or ())
