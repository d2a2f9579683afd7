"""One function of several parts of a tensor is parts of the function of all of it.

f(x[a:b]) = f(x)[a:b]      where f is applied to another part of x as well

`slice_movement` has the other direction.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import Equal, PyObject, String, eq, guard, holds, i64, rule
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, slice_, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.sorts import Slices
from egraph_opt.operators.terms import Tensor, fact, node


@hosted(default=False)
def are_apart(p: Slices, q: Slices, x: Fact) -> bool:
    """Ranges of one axis of a tensor that is no constant, the first before the second, neither empty."""
    if x.const or len(p) != 1 or len(q) != 1 or p[0][0] != q[0][0]:
        return False
    (_, first, middle, step), (_, start, end, other) = p[0], q[0]
    if step != 1 or other != 1 or middle is None:
        return False
    return 0 <= first < middle <= start and (end is None or start < end)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 6, "L"))

    def both(op: str, other: str, first: tuple[int, int], second: tuple[int, int], step: int = 1) -> Any:
        one, two = (slice_(x, ((1, *r, step),)) for r in (first, second))
        return binary("Mul", unary(op, (), one), unary(other, (), two))

    yield g.fires(both("Relu", "Relu", (0, 3), (3, 6)))
    yield g.fires(both("Tanh", "Tanh", (0, 2), (4, 6)))
    slopes = [unary("LeakyRelu", (("alpha", 0.1),), slice_(x, ((1, k, k + 3, 1),))) for k in (0, 3)]
    yield g.fires(binary("Sub", *slopes))
    yield g.near_miss(both("Relu", "Tanh", (0, 3), (3, 6)), why="two functions")
    yield g.near_miss(both("Relu", "Relu", (0, 4), (2, 6)), why="the parts overlap")
    yield g.near_miss(both("Relu", "Relu", (0, 5), (1, 6), 2), why="every other element")
    yield g.near_miss(both("Relu", "Relu", (0, 0), (3, 4)), why="nothing is in one part")


@law("horizontal", numerics="bitwise", examples=_examples)
def functions_of_parts(
    x: Tensor, y: Tensor, z: Tensor, op: String, s: PyObject, p: PyObject, q: PyObject, i: i64, j: i64
) -> Iterator[Any]:
    """f(x[a:b]) = f(x)[a:b], where f is applied to another part of x as well

    Only functions of the original meet: those of wholes would find parts of wholes, without end.

    Source: TASO, Relu of a Split.
    """
    found = (eq(y).to(unary(op, s, slice_(x, p))), eq(z).to(unary(op, s, slice_(x, q))))
    whole = unary(op, s, x)
    parts = (Equal(y, slice_(whole, p)), Equal(z, slice_(whole, q)))
    original = guard(eq(y).to(node(i)), eq(z).to(node(j)))
    yield rule(*found, holds(are_apart, p, q, fact(x)), *original, then=parts)
