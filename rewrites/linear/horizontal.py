"""Products that share their left operand are parts of one product.

    x @ W1 = (x @ [W1, W2])[.., :n1]      x @ W2 = (x @ [W1, W2])[.., n1:]

and likewise for three weights, as in the query, key and value of attention.  Only weights of the original
are joined, in their order there: joined ones would join again, without end.  And only weights that stand near
each other: of many products of one operand (a mixture of experts, say) not every three are tried.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import Equal, PyObject, eq, i64, let, rule
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, concat, matmul, slice_
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, cons, fact, listed, nil, node

NEAR = 32
"""The most terms of the lowered graph between weights that are joined."""

Slices = tuple[tuple[int, int, int, int], ...]


@hosted()
def columns(x: Fact, *weights: Fact) -> tuple[Slices, ...] | None:
    """Per weight the slice of the joint product that is its own; None where they cannot be joined."""
    if x.rank is None or x.rank < 1:
        return None
    rows, start, found = None, 0, []
    for weight in weights:
        shape = weight.shape
        if not weight.const or shape is None or len(shape) != 2 or weight.dtype != x.dtype:
            return None
        if not isinstance(shape[0], int) or not isinstance(shape[1], int) or rows not in (None, shape[0]):
            return None
        rows = shape[0]
        found.append(((x.rank - 1, start, start + shape[1], 1),))
        start += shape[1]
    return tuple(found)


@hosted()
def part(slices: tuple[Slices, ...], index: int) -> Slices:
    return slices[index]


def _own(slices: Any, index: int) -> Any:
    return PyObject(part)(slices, PyObject(index))


def _examples(rng: np.random.Generator, count: int) -> Iterator[Example]:
    for shape in ((3, 8), ("N", 5, 8), (2, 3, 5, 8)):
        g = Operands(rng)
        x = g.input(shape)
        products = [matmul(x, g.random(8, 4 + k)) for k in range(count)]
        yield g.fires(concat(listed(*products), len(shape) - 1))
        first = products[0]
        yield g.near_miss(binary("Mul", first, first), why="there is one product")
        other = g.input((*shape[:-1], 8))
        pair = [matmul(x, g.random(8, 4)), matmul(other, g.random(8, 4))]
        yield g.near_miss(binary("Add", *pair), why="the left operands differ")
        free = [matmul(x, g.input((8, 4))), matmul(x, g.input((8, 4)))]
        yield g.near_miss(binary("Add", *free), why="the weights are no constants")


def _pair_examples(rng: np.random.Generator) -> Iterator[Example]:
    yield from _examples(rng, 2)


@law("horizontal", numerics="reassociates", examples=_pair_examples)
def two_products(
    x: Tensor, v: Tensor, w: Tensor, a: Tensor, b: Tensor, i: i64, j: i64, s: PyObject
) -> Iterator[Any]:
    """x @ W1, x @ W2 = parts of x @ [W1, W2] for constant matrices of the original

    Source: TASO; Ascend auto-optimizer, SplitQKVMatmul, the other way round.
    """
    joint = matmul(x, concat(cons(v, cons(w, nil())), 1))
    yield rule(
        eq(a).to(matmul(x, v)),
        eq(b).to(matmul(x, w)),
        eq(v).to(node(i)),
        eq(w).to(node(j)),
        i < j,
        j < i + NEAR,
        *let(s, columns, fact(x), fact(v), fact(w)),
        then=(Equal(a, slice_(joint, _own(s, 0))), Equal(b, slice_(joint, _own(s, 1)))),
    )


def _triple_examples(rng: np.random.Generator) -> Iterator[Example]:
    yield from _examples(rng, 3)


@law("horizontal", numerics="reassociates", examples=_triple_examples)
def three_products(
    x: Tensor,
    u: Tensor,
    v: Tensor,
    w: Tensor,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    i: i64,
    j: i64,
    k: i64,
    s: PyObject,
) -> Iterator[Any]:
    """x @ W1, x @ W2, x @ W3 = parts of x @ [W1, W2, W3] for constant matrices of the original

    Source: TASO; Ascend auto-optimizer, SplitQKVMatmul, the other way round.
    """
    joint = matmul(x, concat(cons(u, cons(v, cons(w, nil()))), 1))
    yield rule(
        eq(a).to(matmul(x, u)),
        eq(b).to(matmul(x, v)),
        eq(c).to(matmul(x, w)),
        eq(u).to(node(i)),
        eq(v).to(node(j)),
        eq(w).to(node(k)),
        i < j,
        j < k,
        k < i + NEAR,
        *let(s, columns, fact(x), fact(u), fact(v), fact(w)),
        then=(
            Equal(a, slice_(joint, _own(s, 0))),
            Equal(b, slice_(joint, _own(s, 1))),
            Equal(c, slice_(joint, _own(s, 2))),
        ),
    )
