"""What is joined along an axis that is left alone is reduced before it is joined.

ReduceMean_b(Concat_a(x, y, ..)) -> Concat_a(ReduceMean_b(x), ReduceMean_b(y), ..)        likewise sums, ..

Features of several branches that are pooled are never written next to each other like this.
`slicing.other_axes` has the other direction; see `slicing.concat` on how lists are walked.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Axes, Axis, String, Tensor, Tensors, Unit
from egraph_opt.operators import concat, reduce
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.normalization.layer_norm import KEPT
from egraph_opt.rewrites.slicing.concat import worth_a_walk

MOST_PARTS = 16
"""So many tensors are reduced instead of one."""


@hosted()
def leaves_alone(xs: tuple[Fact, ...], axis: Axis, axes: Axes) -> bool:
    """Few parts, of which no reduced axis is joined."""
    return axis not in axes and len(xs) <= MOST_PARTS


@table()
def reduced_in(xs: Tensors, axis: Axis, op: String, axes: Axes) -> Unit:
    """A concatenation that is reduced has this list, or its tail is this one."""


@table(merge="last")
def reduced(xs: Tensors, axis: Axis, op: String, axes: Axes) -> Tensors:
    """The reductions of all that is in a list."""


@auxiliary()
def reducing(x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, op: String, a: Axis, b: Axes):
    """Fills `reduced` for concatenations that are reduced along other axes."""
    demand = (worth_a_walk(xs), leaves_alone(xs, a, b))
    yield rule(reduce(op, concat(xs, a), b, KEPT), *demand, then=reduced_in(xs, a, op, b))
    here = (reduced_in(xs, a, op, b), eq(xs, cons(x, rest)))
    yield rule(*here, then=reduced_in(rest, a, op, b))
    yield rule(reduced_in(nil(), a, op, b), then=assign(reduced(nil(), a, op, b), nil()))
    each = cons(reduce(op, x, b, KEPT), ys)
    yield rule(*here, eq(ys, reduced(rest, a, op, b)), then=assign(reduced(xs, a, op, b), each))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = (g.input(("N", k, 5, "L")) for k in (4, 3, 4))
    both = concat(listed(x, y), 1)
    yield from g.all_fire(
        reduce("ReduceMean", both, (2, 3), KEPT),
        reduce("ReduceMax", concat(listed(relu(x), y, x), 1), (2,), KEPT),
        reduce("ReduceSum", concat(listed(x, z), 0), (1,), KEPT),
        reduce("ReduceL2", concat(listed(x, z), 2), (1, 3), KEPT),
    )
    yield from g.near_misses(
        (reduce("ReduceMean", both, (1,), KEPT), "along the axis that is joined"),
        (reduce("ReduceMean", both, (1, 2, 3), KEPT), "along that and others"),
        (reduce("ReduceMean", relu(both), (2, 3), KEPT), "something is between"),
    )


@law(
    "reductions", numerics="reassociates", kind="move", serves="traffic", uses=(reducing,), examples=_examples
)
def of_joined(op: String, xs: Tensors, ys: Tensors, a: Axis, b: Axes):
    """ReduceMean_b(Concat_a(x, y, ..)) = Concat_a(ReduceMean_b(x), ReduceMean_b(y), ..), a not among b"""
    found = eq(ys, reduced(xs, a, op, b))
    yield rewrite(reduce(op, concat(xs, a), b, KEPT), concat(ys, a), found, inverse="slice.joined_others")
