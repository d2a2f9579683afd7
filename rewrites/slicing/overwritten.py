"""A block that is overwritten is put between what stays of the tensor.

    x[:] = u                 ->  Reshape(u)
    x[:, a:b] = u            ->  Concat(x[:, :a], Reshape(u), x[:, b:])
    x[a:b, c:d] = u          ->  the same for the rows a to b, and then for the whole

ScatterND and ScatterElements write one element, or row, after the other.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Axis, Dims, Slices, String, Tensor
from egraph_opt.operators import concat, overwrite, reshape, slice_
from egraph_opt.operators.scattering import lengths
from egraph_opt.operators.terms import listed

law = laws_of("slice", numerics="bitwise", kind="replace", serves="traffic")

FORGETS = "what is joined forgets what was overwritten"


class Gap(NamedTuple):
    """An axis of which a block takes a part, and what of it is in front of, in, and behind the block."""

    axis: Axis
    front: Slices
    own: Slices
    behind: Slices


def gaps(x: Fact, block: Slices) -> list[Gap] | None:
    """The axes that a block does not cover; None where it has steps, or may not be within x."""
    found: list[Gap] = []
    for axis, start, stop, step in block:
        dim = x.shape[axis] if x.shape is not None and axis < len(x.shape) else None
        if stop is None:
            return None
        if step != 1 or not isinstance(dim, int) or not 0 <= start < stop <= dim:
            return None
        if stop - start < dim:
            parts = [((axis, *bounds, 1),) for bounds in ((0, start), (start, stop), (stop, dim))]
            found.append(Gap(axis, *parts))
    return found


@hosted()
def dims_of_block(x: Fact, block: Slices) -> Dims | None:
    """The dims of a block with all axes of x."""
    if x.shape is None or gaps(x, block) is None:
        return None
    return (*lengths(block), *x.shape[len(block) :])


@hosted()
def covers(x: Fact, block: Slices) -> bool:
    """Nothing of x is left."""
    return gaps(x, block) == []


@hosted()
def gap(x: Fact, block: Slices, k: int, count: int) -> Gap | None:
    """The k-th of `count` axes that a block does not cover."""
    found = gaps(x, block)
    return found[k] if found is not None and len(found) == count else None


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, m = g.input((3, 4, 5)), g.input((4, "N"))
    rows, columns = (0, 0, 3, 1), (1, 0, 4, 1)
    for updates, block in (
        ((3, 4, 5), (rows,)),
        ((2, 4, 5), ((0, 1, 3, 1),)),
        ((1, 4, 5), ((0, 2, 3, 1),)),
        ((3, 5), (rows, (1, 1, 2, 1))),
        ((3, 2, 5), (rows, (1, 1, 3, 1))),
        ((3, 2, 5), ((0, 0, 3, 1), (1, 0, 2, 1))),
        ((2, 3, 5), ((0, 1, 3, 1), (1, 1, 4, 1))),
        ((3, 2, 1), (rows, (1, 2, 4, 1), (2, 4, 5, 1))),
    ):
        yield g.fires(overwrite(x, g.input(updates), "ScatterND", block))
    yield g.fires(overwrite(m, g.input((2, "N")), "ScatterND", ((0, 1, 3, 1),)))
    yield g.fires(overwrite(x, g.input((3, 4, 2)), "ScatterElements", (rows, columns, (2, 1, 3, 1))))
    yield from g.near_misses(
        (overwrite(x, g.input((2, 4, 5)), "ScatterND", ((0, 0, 3, 2),)), "every other row"),
        (
            overwrite(x, g.input((1, 2, 3)), "ScatterND", ((0, 0, 1, 1), (1, 1, 3, 1), (2, 0, 3, 1))),
            "in 3 axes",
        ),
        (overwrite(g.input(("N", 4)), g.input((2, 4)), "ScatterND", ((0, 0, 2, 1),)), "it may be all"),
    )


@law(source="torch.Tensor.__setitem__ as exporters write it", examples=_examples)
def overwritten_block(x: Tensor, u: Tensor, op: String, s: Slices):
    """x[a:b] = u is Concat(x[:a], u, x[b:]), u where it is all of x; likewise along two axes"""
    whole, own = overwrite(x, u, op, s), reshape(u, dims_of_block(x, s))
    yield rewrite(whole, own, covers(x, s), because=FORGETS)
    one = gap(x, s, 0, 1)
    joined = concat(listed(slice_(x, one[1]), own, slice_(x, one[3])), one[0])
    yield rewrite(whole, joined, because=FORGETS)
    outer, inner = gap(x, s, 0, 2), gap(x, s, 1, 2)
    rows = slice_(x, outer[2])
    middle = concat(listed(slice_(rows, inner[1]), own, slice_(rows, inner[3])), inner[0])
    joined = concat(listed(slice_(x, outer[1]), middle, slice_(x, outer[3])), outer[0])
    yield rewrite(whole, joined, because=FORGETS)
