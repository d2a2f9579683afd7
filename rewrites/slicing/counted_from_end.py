"""An index that is computed as a length less a number counts from the end.

Gather(x, n - k) -> Gather(x, -k)         where x has n elements along the axis
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axis, Tensor
from egraph_opt.operators import Literal, concat, gather, literal, reshape, shape_of
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.slicing.gather import indices_literal
from egraph_opt.rewrites.slicing.slice import dim_at


def _behind(index: Dim, dim: Dim) -> int | None:
    """The index as one that counts from the end, below 0.

    One that is below 0 itself, since there are fewer elements, would be another element.  Where there is none
    at all neither is an index.
    """
    count = symbolic.sub(dim, index)
    if not isinstance(count, int) or count < 1:
        return None
    return -count if count == 1 or symbolic.is_at_least(dim, count) else None


@hosted()
def from_end(i: Fact, x: Fact, axis: Axis) -> Literal | None:
    """Indices as numbers, where some are computed of the length of the axis and all others are known."""
    dim, elements = dim_at(x, axis), i.data or i.value
    if dim is None or not elements or not i.is_static or all(isinstance(k, int) for k in elements):
        return None
    found = [k if isinstance(k, int) else _behind(k, dim) for k in elements]  # type: ignore[arg-type]
    if None in found:
        return None
    return indices_literal(i.shape, found)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", "L", 4))
    rows = concat(listed(x, g.input(("N", 3, 4))), 1)
    one, length = g.constant(np.array([1])), shape_of(x, 1, 2)
    last = length - one
    yield from g.all_fire(
        gather(x, last, 1),
        gather(x, reshape(last, ()), 1),
        gather(rows, shape_of(rows, 1, 2) - g.constant(np.array([2])), 1),
    )
    yield from g.near_misses(
        (gather(x, length - g.constant(np.array([2])), 1), "of a single element, -1 is one, and -2 is none"),
        (gather(x, last, 0), "the length of another axis"),
        (gather(x, length, 1), "behind the last"),
        (gather(x, g.input((1,), INT64) - one, 1), "any index"),
    )


@law(
    "gather",
    numerics="bitwise",
    kind="replace",
    serves="launches",
    source="GPT-2: its last token",
    examples=_examples,
)
def counted_from_end(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, n - k) = Gather(x, -k) where x has n elements along the axis"""
    made = gather(x, literal(from_end(i, x, a)), a)
    yield rewrite(gather(x, i, a), made, because="forgets what the index was computed of")
