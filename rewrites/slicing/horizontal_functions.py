"""One function of several parts of a tensor is parts of the function of all of it.

f(x[a:b]) -> f(x)[a:b]      where f is applied to another part of x as well

`movement` has the other direction.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, law, rule, union
from egraph_opt.laws.sorts import Int, Settings, Slices, String, Tensor
from egraph_opt.operators import binary, slice_, unary
from egraph_opt.operators.terms import node


@hosted()
def are_apart(p: Slices, q: Slices, x: Fact) -> bool:
    """Ranges of one axis of a tensor that is no constant, the first before the second, neither empty."""
    if x.const or len(p) != 1 or len(q) != 1 or p[0][0] != q[0][0]:
        return False
    (_, first, middle, step), (_, start, end, other) = p[0], q[0]
    if step != 1 or other != 1 or middle is None:
        return False
    return 0 <= first < middle <= start and (end is None or start < end)


def _parts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 6, "L"))

    def both(one: Any, two: Any, op: str = "Relu", other: str = "Relu", step: int = 1) -> Any:
        settings = (("alpha", 0.1),) if op == "LeakyRelu" else ()
        parts = ((op, one), (other, two))
        return binary("Mul", *(unary(f, settings, slice_(x, ((1, *r, step),))) for f, r in parts))

    yield g.fires(both((0, 3), (3, 6)))
    yield g.fires(both((0, 2), (4, 6), "LeakyRelu", "LeakyRelu"))
    yield g.near_miss(both((0, 3), (3, 6), other="Tanh"), why="two functions")
    yield g.near_miss(both((0, 4), (2, 6)), why="the parts overlap")
    yield g.near_miss(both((0, 5), (1, 6), step=2), why="every other element")
    yield g.near_miss(both((0, 0), (3, 4)), why="nothing is in one part")


@law("horizontal", numerics="bitwise", kind="merge", source="TASO, Relu of a Split", examples=_parts)
def functions_of_parts(
    x: Tensor, y: Tensor, z: Tensor, op: String, s: Settings, p: Slices, q: Slices, i: Int, j: Int
):
    """f(x[a:b]) = f(x)[a:b], where f is applied to another part of x as well

    Only functions of the original meet: those of wholes would find parts of wholes, without end.
    """
    whole = unary(op, s, x)
    found = (eq(y, unary(op, s, slice_(x, p))), eq(z, unary(op, s, slice_(x, q))))
    parts = (union(y, slice_(whole, p)), union(z, slice_(whole, q)))
    demand = guard(are_apart(p, q, x), eq(y, node(i)), eq(z, node(j)))
    yield rule(*found, demand, then=parts, inverse="slice.through_unary")
