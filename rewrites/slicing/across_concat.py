"""A slice along one axis passes a concatenation along another one, towards slices that it meets.

Slice_a(Concat_b(x, y)) -> Concat_b(Slice_a(x), Slice_a(y))        where x and y are slices, or joined along a

Windows that are shifted along two axes, and back, are nothing.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, law, rewrite, rule
from egraph_opt.laws.sorts import Axis, Slices, Tensor
from egraph_opt.operators import concat, slice_
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.slicing.movement import asked, asking_rules, single_axis


@auxiliary(asking_rules)
def asking_across(x: Tensor, y: Tensor, z: Tensor, a: Axis, b: Axis):
    """Fills `asked`: what is joined of two that are."""
    yield rule(eq(z, concat(listed(x, y), b)), asked(x, a), asked(y, a), then=asked(z, a))


@hosted()
def is_across(spec: Slices, axis: Axis) -> bool:
    """The slice cuts no axis along which is joined."""
    return all(entry[0] != axis for entry in spec)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 5, 6, "L"))

    def part(start: int, end: int, axis: int = 2) -> Any:
        return slice_(x, ((axis, start, end, 1),))

    turned, front = concat(listed(part(2, 6), part(0, 2)), 2), ((1, 0, 3, 1),)
    yield g.fires(slice_(turned, front))
    yield g.fires(slice_(concat(listed(part(0, 3, 1), part(3, 5, 1)), 1), ((3, 1, None, 1),)))
    yield g.fires(slice_(concat(listed(turned, turned), 0), ((2, 1, 5, 2),)))
    yield from g.near_misses(
        (slice_(turned, ((2, 0, 3, 1),)), "along the axis that is joined"),
        (slice_(concat(listed(x, x), 2), front), "nothing else is sliced"),
        (slice_(concat(listed(part(2, 6), x), 2), front), "one of them is no slice"),
    )


@law(
    "slice",
    numerics="bitwise",
    kind="move",
    serves="traffic",
    source="Swin Transformer, arXiv 2103.14030: shifted windows",
    uses=(asking_across,),
    examples=_examples,
)
def across_concat(x: Tensor, y: Tensor, a: Axis, s: Slices):
    """Slice_a(Concat_b(x, y)) = Concat_b(Slice_a(x), Slice_a(y)) of slices, or of what is joined along a"""
    whole, parts = slice_(concat(listed(x, y), a), s), concat(listed(slice_(x, s), slice_(y, s)), a)
    demand = guard(asked(x, single_axis(s)), asked(y, single_axis(s)))
    yield rewrite(whole, parts, is_across(s, a), demand, because="one slice is never worse than two")
