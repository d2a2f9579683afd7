"""What views do to an Expand that needs none.

Reshape(Expand(Reshape(x))) -> Expand(x)          where views insert and remove axes of 1 only

So are keys and values that several batches share, and rows that are repeated by unsqueezing them.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Tensor
from egraph_opt.operators import expand, reshape
from egraph_opt.rewrites.conditions.view_shapes import same_dims, stripped
from egraph_opt.rewrites.views.expand_movement import target_of

law = laws_of("expand", numerics="bitwise", kind="eliminate", serves="traffic")


@hosted()
def expanded_at_once(x: Fact, view: Fact, wide: Fact, y: Fact) -> Dims | None:
    """The target of x itself, whose axes stand from the right as they do in y."""
    if x.shape is None or view.shape is None or wide.shape is None or y.shape is None:
        return None
    own, seen, broad, made = (tuple(d for d in z.shape or () if d != 1) for z in (x, view, wide, y))
    if not same_dims(own, seen) or not same_dims(broad, made):
        return None
    before = (*(1,) * (len(wide.shape) - len(view.shape)), *view.shape)
    # Of the axes of y that are not 1, which are axes of x, and which are expanded.
    owned = iter([a for a, b in zip(before, wide.shape, strict=True) if b != 1])
    dims = tuple(1 if d == 1 else next(owned) for d in y.shape)
    if not same_dims(stripped(dims), stripped(x.shape)):
        return None
    return target_of(x.shape, y.shape)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, row = g.input((1, 3, "L")), g.input(("N", 1, 4))
    yield from g.all_fire(
        reshape(expand(reshape(x, (1, 1, 3, "L")), (1, 5, 1, 1)), (5, 3, "L")),
        reshape(expand(reshape(row, ("N", 4)), (6, 1, 1)), (6, "N", 1, 4)),
        reshape(expand(reshape(g.input((2, 1, 4)), (2, 1, 1, 4)), (2, 1, 3, 4)), (2, 3, 4)),
    )
    yield from g.near_misses(
        (reshape(expand(reshape(g.input((2, 4)), (2, 1, 4)), (2, 3, 4)), (6, 4)), "axes are joined"),
        (reshape(expand(reshape(g.input((2, 4)), (2, 1, 4)), (2, 3, 4)), (2, 1, 3, 4)), "x is elsewhere"),
        (reshape(expand(reshape(g.input((2, 6)), (3, 4)), (5, 3, 4)), (5, 3, 4, 1)), "other axes"),
        (reshape(expand(reshape(g.input((3, 1)), (1, 3)), (3, 3)), (1, 3, 3)), "columns became rows"),
    )


@law(examples=_examples)
def expanded_in_place(x: Tensor, d: Dims, e: Dims, how: Dims):
    """Reshape(Expand(Reshape(x))) = Expand(x) where views insert and remove axes of 1 only"""
    view = reshape(x, d)
    wide = expand(view, how)
    y = reshape(wide, e)
    made = expand(x, expanded_at_once(x, view, wide, y))
    yield rewrite(y, made, guard(varies(x)), because="forgets the views")
