"""What takes one element of an axis again and again is an Expand of it: token types that are all 0.

Gather(x, s) -> Expand(Gather(x, k))         where all elements of s are k, known in front or made at run time

Beside an operand that has the dims itself, the Expand goes (`views.expand`), and s with it.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axis, Dims, Tensor
from egraph_opt.operators import Literal, concat, expand, expand_to, gather, literal, shape_of
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.zeros import rank_of
from egraph_opt.rewrites.slicing.moved_indices import axes_behind, target_behind
from egraph_opt.rewrites.slicing.slice import dim_at

law = laws_of("expand", numerics="bitwise", kind="replace", serves="traffic", source="exporters' token types")


@hosted()
def one_index(x: Fact, s: Fact, axis: Axis) -> Literal | None:
    """The index that s has throughout, in its rank; one that x has, also where s has no elements."""
    dim, k = dim_at(x, axis), s.splat
    if s.shape is None or not isinstance(k, int) or not isinstance(dim, int) or not -dim <= k < dim:
        return None
    return Literal(s.dtype, (1,) * len(s.shape), (k,))


@hosted()
def target_of(x: Fact, s: Fact, axis: Axis) -> Dims | None:
    """The target as numbers; onnxruntime takes an Expand to a constant 0 for one that changes nothing."""
    return target_behind.function(s.shape, x, axis) if s.is_static and s.shape is not None else None


@hosted()
def is_repeated(s: Fact) -> bool:
    """There may be more than one index."""
    return s.shape is not None and any(dim != 1 for dim in s.shape)


def _one_number(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, like, zero = g.input(("N", 6, 4)), g.input(("N", "L"), INT64), g.constant(np.array([0]))
    zeros = expand_to(zero, shape_of(like, 0, 2))
    twos = g.constant(np.full((2, 3), 2))
    yield from g.all_fire(
        gather(x, twos, 1),
        gather(x, g.constant(np.full(5, -1)), 2),
        gather(g.random(2, 4), zeros, 0),
        gather(x, zeros, 1),
        gather(x, zeros, 2),
        gather(g.random(3), expand(g.constant(np.array(1)), (4,)), 0),
    )
    yield from g.near_misses(
        (gather(x, g.constant(np.array([2, 2, 1])), 1), "one is another"),
        (gather(x, g.constant(np.array([2])), 1), "it is taken once"),
        (gather(x, g.input((3,), INT64), 1), "the indices are not known"),
        (gather(x, zeros, 0), "there may be no row to take"),
        (gather(x, g.constant(np.zeros((0, 2), np.int64)), 1), "nothing is taken"),
    )


@law(examples=_one_number)
def row_of_one_number(x: Tensor, s: Tensor, a: Axis):
    """Gather(x, s) = Expand(Gather(x, k)) where all elements of s are k"""
    once, why, several = gather(x, literal(one_index(x, s, a)), a), "forgets s", guard(is_repeated(s))
    yield rewrite(gather(x, s, a), expand(once, target_of(x, s, a)), several, because=why)
    behind = concat(listed(shape_of(s, 0, rank_of(s)), literal(axes_behind(x, a))), 0)
    yield rewrite(gather(x, s, a), expand_to(once, behind), several, because=why)
