"""What may stand on either side of a transpose: views of each axis by itself.

Reshape(Transpose_p(x)) = Transpose_q(Reshape(x))      where the view splits axes, or inserts ones
Transpose_q(Reshape(x)) -> Reshape(Transpose_p(x))     where the view joins axes of a Transpose, or of heads
"""

from collections.abc import Callable

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.laws import Operands, eq, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Int, Permutation, Tensor
from egraph_opt.operators import reduce, reshape, transpose
from egraph_opt.operators.terms import node
from egraph_opt.rewrites.transposes.composition import moves_ones_only, ones_in_order


def groups(before: Shape, after: Shape) -> list[Shape] | None:
    """Per axis of `before` the axes of `after` that it is split into; axes of 1 may come and go.

    None where an axis of `after` is made of several.

    >>> groups(("N", 6, 1), ("N", 2, 3))
    [('N',), (2, 3), ()]
    """
    rest, found = list(reversed(after)), []
    for dim in before:
        group: list[Dim] = []
        if dim == 1:
            if rest and rest[-1] == 1:
                group.append(rest.pop())
        else:
            while not group or not symbolic.known_equal(symbolic.product(group), dim):
                if not rest:
                    return None
                group.append(rest.pop())
        found.append(tuple(group))
    if any(dim != 1 for dim in rest):
        return None
    found[-1] = (*found[-1], *rest)
    return found


def divides(split: list[Shape]) -> bool:
    """An axis becomes several of more than one element, or there are more axes than before.

    A view that moves axes of 1 is neither: a tensor has as many of these views as places for them.
    """
    return parts_one(split) or sum(map(len, split)) > len(split)


def parts_one(split: list[Shape]) -> bool:
    """An axis becomes several of more than one element."""
    return any(sum(dim != 1 for dim in group) > 1 for group in split)


@hosted()
def before(p: Permutation, x: Fact, dims: Dims) -> tuple[Dims, Permutation] | None:
    """The dims of a view of x, and a transpose of that, which do what a view does behind Transpose_p.

    None where the view splits no axis or joins some, or nothing is left to transpose.
    """
    return None if x.const else _before(p, x, dims, divides)


@hosted()
def before_of_constant(p: Permutation, x: Fact, dims: Dims) -> tuple[Dims, Permutation] | None:
    """As `before`, of a constant of which the view parts an axis."""
    return _before(p, x, dims, parts_one) if x.const else None


def _before(
    p: Permutation, x: Fact, dims: Dims, asked: Callable[[list[Shape]], bool]
) -> tuple[Dims, Permutation] | None:
    if not x.is_symbolic or not x.shape or 0 in x.shape or len(x.shape) != len(p):
        return None
    split = groups(tuple(x.shape[axis] for axis in p), dims)
    if split is None or not asked(split):
        return None
    starts: dict[int, int] = {}
    moved: list[Dim] = []
    for axis in sorted(range(len(p)), key=lambda axis: p[axis]):
        starts[axis] = len(moved)
        moved.extend(split[axis])
    q = tuple(starts[axis] + k for axis in range(len(p)) for k in range(len(split[axis])))
    return None if moves_ones_only(tuple(moved), q) else (tuple(moved), ones_in_order(tuple(moved), q))


@hosted()
def behind(q: Permutation, x: Fact, dims: Dims) -> tuple[Permutation, Dims] | None:
    """The transpose of x, and the dims of a view of that, which do what Transpose_q does behind a view of x.

    None where the view splits no axis or joins some, or what it made of an axis does not stay together.
    """
    if x.const or not x.is_symbolic or not x.shape or 0 in x.shape or len(dims) != len(q):
        return None
    split = groups(x.shape, dims)
    if split is None or not all(split) or not divides(split):
        return None
    owner = [axis for axis, group in enumerate(split) for _ in group]
    p = tuple(dict.fromkeys(owner[k] for k in q))
    together = [k for axis in p for k, owned in enumerate(owner) if owned == axis]
    return None if together != list(q) or moves_ones_only(x.shape, p) else (p, tuple(dims[k] for k in q))


def _view_examples(rng):
    for source, shape, perm, dims, fires in (
        (("N", "L", 8), ("N", "L", 1, 8), (2, 0, 3, 1), ("N", 2, 4, "L"), True),
        (("L", 24), ("L", 6, 4), (1, 0, 2), (2, 3, "L", 4), True),
        ((3, 4, "N", 6), (12, "N", 6), (2, 0, 1), (3, 2, 2, 6, "N"), True),
        ((6,), (2, 1, 3), (1, 0, 2), (2, 3), False),  # the others keep their order
        ((6,), (2, 1, 3), (1, 2, 0), (1, 6), False),  # axes are merged
        ((6,), (2, 1, 3), (1, 2, 0), (1, 2, 3), False),  # axes are split and merged
        ((6,), (2, 1, 3), (1, 2, 0), (3, 2), False),  # an axis goes, and none is split
    ):
        g = Operands(rng)
        term = reshape(transpose(reshape(g.input(source), shape), perm), dims)
        yield g.fires(term) if fires else g.near_miss(term, why="the view does not split axes only")
    yield g.near_miss(reshape(transpose(g.input((4, 3)), (1, 0)), (3, 2, 2)), why="it would meet no view")
    g = Operands(rng)
    c = g.random(5, 6)
    turned, parted = reshape(transpose(c, (1, 0)), (2, 3, 5)), reshape(c, (5, 2, 3))
    yield g.fires(turned * g.input(("N", 3, 1)) + reduce("ReduceSum", parted, (0, 1, 2), 0))
    x = transpose(g.input((5, 2, 6)), (1, 2, 0))
    yield g.fires(transpose(reshape(x, (2, 3, 2, 5)), (1, 2, 3, 0)))
    yield g.near_miss(transpose(reshape(x, (2, 3, 2, 5)), (1, 3, 2, 0)), why="3 and 2 are parted")
    yield g.near_miss(transpose(reshape(x, (2, 3, 2, 5)), (0, 1, 2, 3)), why="nothing is moved")


@law(
    "transpose",
    numerics="bitwise",
    kind="move",
    serves="traffic",
    source="algebra; Ascend auto-optimizer, SplitQKVMatmul",
    examples=_view_examples,
)
def view_before(x: Tensor, y: Tensor, p: Permutation, d: Dims, q: Permutation, e: Dims):
    """Reshape(Transpose_p(x)) = Transpose_q(Reshape(x)) where the view splits axes, or inserts ones"""
    first, last = before(p, x, d), behind(p, x, d)
    moved = transpose(reshape(x, first[0]), first[1])
    yield rewrite(reshape(transpose(x, p), d), moved, guard(eq(x, reshape(y, e))), inverse="view_before")
    back = reshape(transpose(x, last[0]), last[1])
    yield rewrite(transpose(reshape(x, d), p), back, guard(eq(x, transpose(y, q))), inverse="view_before")
    known = before_of_constant(p, x, d)  # without end where one constant has two names
    view = reshape(x, known[0])
    yield rewrite(reshape(transpose(x, p), d), transpose(view, known[1]), guard(view), inverse="view_before")


@hosted()
def over_joined(q: Permutation, x: Fact, dims: Dims) -> tuple[Permutation, Dims] | None:
    """The transpose of x, and the dims of a view of that, which do what Transpose_q does behind a view of x.

    None where the view joins no axes or splits some.
    """
    if x.const or x.shape is None or not x.is_symbolic or not dims or 0 in dims or len(dims) != len(q):
        return None
    joined = groups(dims, x.shape)
    if joined is None or not divides(joined):
        return None
    starts = [sum(map(len, joined[:axis])) for axis in range(len(dims))]
    p = tuple(starts[axis] + k for axis in q for k in range(len(joined[axis])))
    return None if moves_ones_only(x.shape, p) else (p, tuple(dims[axis] for axis in q))


def _joined_examples(rng):
    for source, p, dims, q in (
        (("L", 2, "N", 4), (0, 2, 1, 3), ("L", "N", 8), (1, 0, 2)),
        ((3, 4, "N"), (2, 0, 1), ("N", 12), (1, 0)),
        ((2, 3, 4, 5), (3, 1, 0, 2), (5, 6, 1, 4), (3, 1, 2, 0)),
    ):
        g = Operands(rng)
        yield g.fires(transpose(reshape(transpose(g.input(source), p), dims), q))
    g = Operands(rng)
    x = transpose(g.input((4, 6)), (1, 0))
    yield g.near_miss(transpose(reshape(x, (3, 8)), (1, 0)), why="the view splits and joins")
    yield g.near_miss(transpose(reshape(x, (6, 2, 2)), (1, 2, 0)), why="the view joins nothing")
    yield g.near_miss(
        transpose(reshape(g.input((4, 6, 3)), (24, 3)), (1, 0)), why="it would meet no transpose"
    )
    heads, w = g.input((2, 3, 4, 5)) @ g.input((2, 3, 5, 2)), g.random(5, 2)
    yield g.fires(transpose(reshape(heads, (6, 4, 2)), (1, 0, 2)))
    yield g.near_miss(transpose(reshape(g.input((2, 3, 4, 5)) @ w, (6, 4, 2)), (1, 0, 2)), why="rows of one")


@law(
    "transpose",
    numerics="bitwise",
    kind="move",
    serves="traffic",
    source="algebra; bidirectional LSTMs as PyTorch exports them",
    examples=_joined_examples,
)
def view_of_joined(x: Tensor, y: Tensor, z: Tensor, p: Permutation, d: Dims, q: Permutation, k: Int):
    """Transpose_q(Reshape(x)) = Reshape(Transpose_p(x)) where the view joins axes, x being a Transpose

    Likewise where x is a product of stacks, whose heads are joined.  Only for a Transpose of the original:
    each would make one more form of those behind.
    """
    first, turned = over_joined(q, x, d), transpose(reshape(x, d), q)
    moved, original = reshape(transpose(x, first[0]), first[1]), guard(eq(turned, node(k)))
    for written in ((eq(x, transpose(y, p)),), (eq(x, y @ z), varies(y), varies(z))):
        yield rewrite(turned, moved, guard(*written), original, because="a view forgets what it joined")
