"""What is quantised lies between bounds at, or half a step from, the first and the last number of the type.

Halves of a step are rounded to even, and types with signs have one number more below 0 than above: a bound
that cuts off nothing but what saturates is told from one that does within a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from egraph_opt.check.beside.changing import with_parts
from egraph_opt.check.beside.magnitudes import with_numbers
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.inference.numbers import integer_range
from egraph_opt.laws.law import Example
from egraph_opt.operators.elementwise import unary
from egraph_opt.operators.expressions import Expression

SCALE = 0.25
"""Of which all multiples, and halves of them, are floats."""

STEPS, BEYOND = (-1.0, -0.5, 0.0, 0.5, 1.0), 8
"""How far from an end of the type one bound is, and how far beyond it the other one."""


def with_quantized_bounds(example: Example) -> Iterator[Example]:
    """Each Clip with one bound there, all quantised by one scale."""
    clips = [node for node in nodes_of(example) if _is_clip(node)]
    for node in nodes_of(example) if clips else ():
        if node.head.name != "quantize":
            continue
        dtype = node.arguments[4].head.value
        scale, zero = (place_of_leaf(node.arguments[k]) for k in (1, 2))
        offset = 0 if zero < 0 else example.operands.facts[zero].splat
        if scale < 0 or dtype not in INTEGERS or not isinstance(offset, int):
            continue
        if example.operands.values[scale].const_value is None:
            continue
        made = replace(example, operands=with_numbers(example.operands, {scale: SCALE}))
        least, most = (end - offset for end in integer_range(dtype))
        for step in STEPS:
            for low, high in ((least + step, most + BEYOND), (least - BEYOND, most + step)):
                bounds = (("max", high * SCALE), ("min", low * SCALE))
                changed = {clip: unary("Clip", bounds, clip.arguments[2]) for clip in clips}
                yield with_parts(made, changed)


def _is_clip(node: Expression) -> bool:
    if node.head.name != "unary" or node.arguments[0].head.value != "Clip":
        return False
    return any(isinstance(bound, float) for _, bound in node.arguments[1].head.value)
