"""Constants of halves whose inverse, square, or inverse square is no half.

Halves end at 65504 and at 6e-8: what is moderate for a float has an inverse beyond that, and a condition that
bounds constants by one number for all types lets it pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnx import TensorProto

from egraph_opt.check.beside.magnitudes import FACTORS, consists_of, floats_of, with_numbers
from egraph_opt.check.beside.variants import in_dtype
from egraph_opt.laws.law import Example

SMALL = (2.0**-17, 2.0**-9, 2.0**-13, 1e-5, 0.0035, 1e-4)
"""Numbers of which the inverse, or its square, is infinite, or the square 0: powers of two and others."""

LARGE = (2.0**9, 2.0**13, 300.0, 6e3)
"""The same of which the square is infinite, or the inverse square 0: with these as factors sums overflow."""


def with_constants_of_halves(example: Example) -> Iterator[Example]:
    """An example of halves, each constant that is one number one of those, and all of several at once."""
    if not any(known.dtype == TensorProto.FLOAT for known in example.operands.facts):
        return
    made = in_dtype(example, TensorProto.FLOAT16)
    constants = [place for place in floats_of(made)[0] if set(made.operands.facts[place].shape or ()) <= {1}]
    large = LARGE if consists_of(FACTORS, made) else ()
    together = [constants] if len(constants) > 1 else []
    for places in (*([place] for place in constants), *together):
        for number in (*SMALL, *large):
            operands = with_numbers(made.operands, dict.fromkeys(places, number))
            yield replace(made, operands=operands)
