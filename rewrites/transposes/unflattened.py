"""Images that are flattened to tokens, and made of these again, keep their axes between.

Reshape(Transpose_q(Reshape(x))) -> Transpose_p(x)      where what the view joins is parted again as it was
Transpose_q(Reshape(x)) -> Reshape(Transpose_p(x))      where it joins axes, which are parted again elsewhere

The first also where dims come from Shape.  Between the two a network normalises tokens, or multiplies them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, laws_of, rewrite, rule, table
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Dims, Flag, Int, Permutation, Tensor, Unit
from egraph_opt.operators import reshape, reshape_to, shape_of, transpose
from egraph_opt.operators.terms import node
from egraph_opt.operators.views import is_one_node
from egraph_opt.rewrites.conditions.view_shapes import known_dims, same_dims
from egraph_opt.rewrites.transposes.view_order import over_joined

law = laws_of(
    "transpose", numerics="bitwise", kind="move", serves="traffic", source="ConvNeXt, arXiv 2201.03545"
)


@hosted()
def parted_again(q: Permutation, x: Fact, dims: Dims, z: Fact) -> Permutation | None:
    """The transpose of x that z, a view of Transpose_q of a view of x, is."""
    found = over_joined.function(q, x, dims)
    if found is None or x.shape is None:
        return None
    p: Permutation = found[0]
    return p if same_dims(tuple(x.shape[axis] for axis in p), z.shape) else None


@table()
def parted(dims: Dims) -> Unit:
    """Something is transposed, and then viewed in these dims."""


@auxiliary()
def parting(x: Tensor, z: Tensor, t: Tensor, p: Permutation, d: Dims, a: Flag):
    """Fills `parted`."""
    for view in (reshape(transpose(x, p), d), reshape_to(transpose(x, p), t, a)):
        yield rule(eq(z, view), then=parted(known_dims(z)))


def _tokens(x: Any, *dims: int | str, q: Permutation = (0, 2, 1)) -> Any:
    return transpose(reshape(x, dims), q)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, dims = g.input(("N", "L", "M", 4)), ("N", 4, "L", "M")
    flat, like = ("N", "L*M", 4), g.input(dims)
    yield g.fires(reshape_to(_tokens(x, *flat), shape_of(like, 0, 4), 0))
    yield g.fires(reshape(_tokens(g.input((2, 3, 5, 4)), 2, 15, 4), (2, 4, 3, 5)))
    yield g.fires(reshape(_tokens(g.input((2, 3, 4, 5)), 6, 20, q=(1, 0)), (4, 5, 2, 3)))
    yield from g.near_misses(
        (reshape(_tokens(g.input((2, 3, 5, 4)), 2, 15, 4), (2, 4, 5, 3)), "rows have another length"),
        (reshape(_tokens(g.input((2, 3, 5, 4)), 2, 15, 4), (2, 2, 2, 15)), "other axes are parted"),
        (reshape(relu(_tokens(g.input((2, 3, 5, 4)), 2, 15, 4)), (2, 4, 3, 5)), "a function is between"),
        (reshape_to(_tokens(x, *flat), g.input((4,), INT64), 0), "nobody knows the dims"),
    )


@law(examples=_examples)
def of_parted_again(x: Tensor, t: Tensor, d: Dims, e: Dims, q: Permutation, a: Flag):
    """Reshape(Transpose_q(Reshape(x))) = Transpose_p(x) where what the view joins is parted again"""
    turned = transpose(reshape(x, d), q)
    for whole in (reshape(turned, e), reshape_to(turned, t, a)):
        made = transpose(x, parted_again(q, x, d, whole))
        yield rewrite(whole, made, because="forgets what was joined")


@hosted()
def is_one_view(x: Fact, p: Permutation, dims: Dims) -> bool:
    """One node says the view of Transpose_p(x): those that need several have many spellings."""
    return x.shape is not None and is_one_node(tuple(x.shape[k] for k in p), dims, flattens=False)


def _parted(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, dims = g.input(("N", 4, "L", "M")), ("N", 4, "L*M")
    yield g.fires(reshape_to(transpose(relu(_tokens(x, *dims)), (0, 2, 1)), shape_of(x, 0, 4), 0))
    any_, image = g.input(("N", "L", "M", 3)), g.input((2, 4, 3, 5))
    deep = _tokens(any_, "N", "L", "3*M")
    yield g.fires(reshape(transpose(relu(_tokens(image, 2, 4, 15)), (0, 2, 1)), (2, 4, 3, 5)))
    yield from g.near_misses(
        (_tokens(image, 2, 4, 15), "nothing is parted"),
        (reshape(transpose(relu(_tokens(image, 2, 4, 15)), (0, 2, 1)), (2, 4, 5, 3)), "in other dims"),
        (reshape(relu(_tokens(image, 2, 4, 15)), (2, 4, 3, 5)), "nothing is transposed back"),
        (reshape_to(transpose(relu(deep), (0, 2, 1)), shape_of(any_, 0, 4), 0), "no Reshape says it"),
    )


@law(examples=_parted, uses=(parting,))
def of_joined_to_part(x: Tensor, d: Dims, q: Permutation, k: Int):
    """Transpose_q(Reshape(x)) = Reshape(Transpose_p(x)) where the view joins what is parted elsewhere"""
    first, turned = over_joined(q, x, d), transpose(reshape(x, d), q)
    demand = guard(parted(known_dims(x)), eq(turned, node(k)), is_one_view(x, first[0], first[1]))
    moved = reshape(transpose(x, first[0]), first[1])
    yield rewrite(turned, moved, demand, because="a view forgets what it joined")
