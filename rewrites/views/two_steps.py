"""Views that one Reshape with 0 and -1 cannot say, in two steps that can.

Reshape_d(x) -> Reshape_d(Reshape_m(x))      m: without axes of 1, or with some that bring copies in place;
                                             or with the last axis split, where several are
Reshape_d(x) -> Reshape_d(Unsqueeze(Flatten(x)))      so that not a product of dims is inferred, but the batch
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.sorts import Dims, Tensor
from egraph_opt.operators import binary, concat, reshape, reshape_to, shape_of, unary
from egraph_opt.operators.terms import listed
from egraph_opt.operators.views import flattened_axis, in_place, is_one_node, refuses


def in_one(source: Shape, dims: Shape) -> bool:
    """One node says it: a Reshape, or a Squeeze or Unsqueeze."""
    return is_one_node(source, dims, flattens=False)


def without_ones(dims: Shape) -> Shape:
    return tuple(dim for dim in dims if dim != 1)


def parts_of_axes(source: Shape, dims: Shape) -> list[Shape] | None:
    """Per axis of `source` the axes that it is split into; None where that is not known.

    An axis may be split into floor(n / c) times c, since a Reshape to less than n fails.

    >>> parts_of_axes(("N", "H", 6), ("N", "H//7", 7, 6))
    [('N',), ('H//7', 7), (6,)]
    """
    left, found = list(reversed(dims)), []
    for whole in source:
        part: list[Dim] = []
        while not part or not _is_whole(part, whole):
            if not left:
                return None
            part.append(left.pop())
        found.append(tuple(part))
    return None if left else found


def _is_whole(part: list[Dim], whole: Dim) -> bool:
    count = symbolic.product(part)
    if symbolic.known_equal(count, whole):
        return True
    known = symbolic.product([dim for dim in part if isinstance(dim, int)])
    rounded = symbolic.mul(symbolic.floordiv(whole, known), known) if known else None
    return not isinstance(whole, int) and symbolic.known_equal(count, rounded)


def last_split(source: Shape, dims: Shape) -> Shape | None:
    """The dims after the last axis that is split, where several are and their parts are not numbers all."""
    parts = parts_of_axes(source, dims)
    split = [k for k, part in enumerate(parts or ()) if len(part) > 1]
    if parts is None or len(split) < 2:
        return None
    return (*source[: split[-1]], *(dim for part in parts[split[-1] :] for dim in part))


@hosted()
def stepping_stone(x: Fact, dims: Dims) -> Dims | None:
    """The dims between x's and `dims` from which both are one node away; None where one node does.

    Where several axes are split, the last one alone, from which and to which more steps may be needed.
    """
    if not x.is_symbolic or x.const or x.shape is None or None in dims or in_one(x.shape, dims):
        return None
    candidates = [without_ones(dims), without_ones(x.shape)]
    for source, target in ((x.shape, dims), (dims, x.shape)):
        symbols = [k for k, dim in enumerate(target) if not isinstance(dim, int)]
        candidates += [found for k in symbols if (found := in_place(source, target, k)) is not None]
    ways = [way for way in candidates if in_one(x.shape, way) and in_one(way, dims)]
    if not ways:
        return last_split(x.shape, dims)
    return min(ways, key=partial(_refused_on, x.shape, dims))


def _refused_on(source: Shape, dims: Shape, between: Shape) -> int:
    """How many dims may not be 0 on a way."""
    return len(refuses(source, between) | refuses(between, dims))


def _views(rng: np.random.Generator) -> Iterator[Example]:
    for shape, dims in (
        ((1, "N", "L", 12), ("N", "L", 3, 4)),
        (("N", "L", 12), (1, "N", "L", 3, 4)),
        (("N", "L", 12), ("L", "N", 12)),
        ((2, 3, "N", "L"), (6, "N", "L")),
    ):
        g = Operands(rng)
        yield g.fires(reshape_to(g.input(shape), shape_of(g.input(dims), 0, len(dims)), 0))
    g = Operands(rng)
    x, y, z = g.input(("N", 2, "L")), g.input(("N", "L", 12)), g.input(("N", "L", "M"))
    part = g.input(("N", "L", "M"))
    rows = concat(listed(part, part), 1)
    blocks = concat(listed(rows, rows, rows), 2)
    for apart in (("N", "L", 2, "M", 3), ("N", 2, "L", 3, "M")):
        yield g.fires(reshape_to(blocks, shape_of(g.input(apart), 0, 5), 0))
    rows = binary("Mul", shape_of(x, 0, 1), g.constant(np.array([2])))
    yield g.fires(reshape_to(x, concat(listed(rows, shape_of(x, 2, 3)), 0), 0))
    yield g.near_miss(reshape(y, ("N", "L", 3, 4)), why="one Reshape says it")
    yield g.near_miss(reshape(y, (1, "N", "L", 12)), why="one Unsqueeze says it")
    flat = unary("Relu", (), reshape(g.input(("N", "L", "M")), ("N", symbolic.mul("L", "M"))))
    yield g.near_miss(reshape_to(flat, shape_of(z, 0, 3), 0), why="two dims are those of another tensor")


@law(
    "reshape",
    numerics="bitwise",
    kind="split",
    serves="target",
    source="Ascend auto-optimizer, DynamicReshape",
    required=("reshape.know_the_target",),
    examples=_views,
)
def in_two_steps(x: Tensor, d: Dims):
    """Reshape_d(x) = Reshape_d(Reshape_m(x)) where one node cannot say the left one"""
    yield rewrite(reshape(x, d), reshape(reshape(x, stepping_stone(x, d)), d), inverse="compose_reshapes")


# --- the batch is inferred ----------------------------------------------------------------------------------


@hosted()
def rows_of(x: Fact, dims: Dims) -> Dims | None:
    """The dims of a Flatten whose second one is the last of `dims`, a product of several of x.

    Beside it the one dim in front that is no number can be inferred, of a batch of nothing, too.
    """
    if not x.is_symbolic or x.const or x.shape is None or None in dims or len(dims) < 3:
        return None
    last, free = dims[-1], [dim for dim in dims[:-1] if not isinstance(dim, int)]
    if isinstance(last, int) or len(free) != 1:
        return None
    if is_one_node(x.shape, dims) and not refuses(x.shape, dims):
        return None
    if without_ones(x.shape) == without_ones(dims):
        return None  # a Squeeze and an Unsqueeze say it
    rows = (symbolic.product(dims[:-1]), last)
    axis = flattened_axis(x.shape, rows)
    return rows if axis is not None and axis < len(x.shape) - 1 and in_one(_below(rows, dims), dims) else None


def _below(rows: Shape, dims: Shape) -> Shape:
    """Rows with axes of 1 in front, so that the last dim stands where it does in `dims`."""
    return (*(1,) * (len(dims) - 2), *rows)


@hosted()
def below_each_other(rows: Dims, dims: Dims) -> Dims:
    """The dims of the Unsqueeze behind a Flatten."""
    return _below(rows, dims)


def _pixels(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, "L", "M"))
    yield g.fires(reshape(x, ("N", 3, "L*M")))
    yield g.fires(reshape(x, ("N", 1, 3, "L*M")))
    y, three, two = g.input(("N", 6, "L", 2)), *(g.constant(np.array([k])) for k in (3, 2))
    target = listed(three, shape_of(y, 0, 1), two, binary("Mul", shape_of(y, 2, 3), two))
    yield g.fires(reshape_to(y, concat(target, 0), 0))
    yield g.near_miss(reshape(g.input(("N", 3, 4, "L")), ("N", 12, "L")), why="the last dim is one of x")
    yield g.near_miss(reshape(x, ("3*N", "L*M")), why="a Flatten says it")
    yield g.near_miss(
        reshape(g.input(("N", "M", 3, "L")), ("N", "M", "3*L")), why="two dims would be inferred"
    )
    yield g.near_miss(reshape(g.input((2, 3, "L", "M")), (2, 3, "L*M")), why="no dim that is copied may be 0")


@law(
    "reshape",
    numerics="bitwise",
    kind="split",
    serves="target",
    source="algebra",
    required=("reshape.know_the_target",),
    examples=_pixels,
)
def through_rows(x: Tensor, d: Dims):
    """Reshape_d(x) = Reshape_d(Unsqueeze(Flatten(x))) where a product would be inferred beside the batch"""
    rows = rows_of(x, d)
    below = reshape(reshape(x, rows), below_each_other(rows, d))
    yield rewrite(reshape(x, d), reshape(below, d), inverse="compose_reshapes")
