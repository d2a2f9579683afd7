"""What a view of one operand asks of the others when it moves past a broadcasting operator; no laws here.

A view `source -> dims` keeps the elements in row-major order.  For ``z = view(x) op y`` the question is which
dims y must have so that ``z = view(x op y')``: none are free to choose except where axes of length 1 stand in
a row, since a reshape does not say which of them it made.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.laws import hosted
from egraph_opt.laws.sorts import Dims


def same_dims(a: Shape | None, b: Shape | None) -> bool:
    """Provably equal shapes."""
    return a is not None and b is not None and len(a) == len(b) and all(map(symbolic.known_equal, a, b))


@lru_cache(maxsize=1 << 14)
def insertions(short: Shape, long: Shape) -> tuple[tuple[int, ...], ...]:
    """All sets of axes of `long`, each 1, without which it is `short`."""
    count = len(long) - len(short)
    units = [axis for axis, dim in enumerate(long) if dim == 1]
    if not 0 < count <= len(units) or math.comb(len(units), count) > 64:
        return ()
    return tuple(
        axes
        for axes in combinations(units, count)
        if same_dims(short, tuple(d for k, d in enumerate(long) if k not in axes))
    )


def with_units(dims: Shape, rights: frozenset[int]) -> Shape:
    """`dims` with axes of 1 so that they stand at these places counted from the right; no leading ones."""
    left: list[Dim] = list(dims)
    answer: list[Dim] = []
    while left:
        answer.append(1 if len(answer) in rights else left.pop())
    return tuple(reversed(answer))


def _without_units(dims: Shape, rights: frozenset[int]) -> Shape | None:
    """`dims` without the axes at these places counted from the right; None if one of them is not 1."""
    places = {len(dims) - 1 - r for r in rights if r < len(dims)}
    if any(dims[k] != 1 for k in places):
        return None
    return tuple(d for k, d in enumerate(dims) if k not in places)


def _from_right(axes: tuple[int, ...], rank: int) -> frozenset[int]:
    return frozenset(rank - 1 - axis for axis in axes)


def _blocks(source: Shape, dims: Shape) -> list[tuple[Shape, Shape]] | None:
    """Shortest runs of axes of both shapes with equal numbers of elements, from the right."""
    left, right = list(source), list(dims)
    blocks: list[tuple[Shape, Shape]] = []
    while left or right:
        a, b = [left.pop()] if left else [], [right.pop()] if right else []
        while not symbolic.known_equal(symbolic.product(a), symbolic.product(b)):
            short = symbolic.exact_div(symbolic.product(b), symbolic.product(a)) is not None
            if short and left:
                a.insert(0, left.pop())
            elif right:
                b.insert(0, right.pop())
            elif left:
                a.insert(0, left.pop())
            else:
                return None
        blocks.append((tuple(a), tuple(b)))
    return blocks


def _blockwise(source: Shape, dims: Shape, other: Shape) -> Shape | None:
    """The dims before the view: within a block all ones, the whole block, or axes that stay."""
    blocks = None if 0 in source else _blocks(source, dims)
    if blocks is None:
        return None
    rest: list[Dim] = list(other)
    answer: list[Dim] = []
    for a, b in blocks:
        if not rest:
            break
        taken = [rest.pop() if rest else 1 for _ in b][::-1]
        if all(d == 1 for d in taken):
            answer[:0] = [1] * len(a)
        elif same_dims(tuple(taken), b):
            answer[:0] = a
        elif same_dims(a, b):
            answer[:0] = taken
        else:
            return None
    if rest:
        return (*rest, *answer)
    while answer and answer[0] == 1 and len(answer) > 1:
        del answer[0]
    return (
        other if stripped(tuple(answer)) == stripped(other) and len(other) <= len(source) else tuple(answer)
    )


def stripped(dims: Shape) -> Shape:
    """`dims` without leading ones."""
    start = next((k for k, d in enumerate(dims) if d != 1), len(dims))
    return dims[start:]


@lru_cache(maxsize=1 << 14)
def choices_in_front(source: Shape, dims: Shape, other: Shape) -> frozenset[Shape]:
    """The dims that the other operand, `other` behind the view `source -> dims`, can have in front of it."""
    if None in source or None in dims or None in other:
        return frozenset()
    if all(d == 1 for d in other):
        return frozenset([other if len(other) <= len(source) else ()])
    removed = insertions(dims, source)
    if removed:
        return frozenset(with_units(other, _from_right(axes, len(source))) for axes in removed)
    inserted = insertions(source, dims)
    if inserted:
        found = (_without_units(other, _from_right(axes, len(dims))) for axes in inserted)
        return frozenset(f for f in found if f is not None)
    whole = _blockwise(source, dims, other)
    return frozenset() if whole is None else frozenset([whole])


@hosted()
def kept_dims(x: Fact, dims: Dims, y: Fact) -> Dims | None:
    """The other operand's dims where the view of x does not concern it; constants move past numbers only."""
    if x.const and y.const and y.shape == () and not same_dims(x.shape, dims):
        return ()
    choice = _only_choice(x, dims, y)
    return choice if choice is not None and same_dims(choice, y.shape) else None


@hosted()
def moved_dims(x: Fact, dims: Dims, y: Fact) -> Dims | None:
    """The dims of a constant operand in front of the view of x, where they are others than behind it.

    They are no more than those of x: axes that y has more would be added once more in front of each view.
    """
    choice = _only_choice(x, dims, y) if y.const else None
    if choice is None or x.shape is None or len(choice) > len(x.shape) or same_dims(choice, y.shape):
        return None
    return choice


@hosted()
def changes_dims(x: Fact, dims: Dims) -> bool:
    """Whether a view of x is not x itself; views that are would be moved around without end."""
    return not same_dims(x.shape, dims)


def _only_choice(x: Fact, dims: Shape, y: Fact) -> Shape | None:
    if x.const or x.shape is None or y.shape is None or same_dims(x.shape, dims):
        return None
    choices = choices_in_front(x.shape, dims, y.shape)
    return next(iter(choices)) if len(choices) == 1 else None


@hosted()
def views_agree(op: str, x: Fact, x_dims: Dims, y: Fact, y_dims: Dims) -> bool:
    """Whether ``view(x) op view(y)`` is a view of ``x op y``; constants are moved alone or in pairs."""
    if x.shape is None or y.shape is None or x.const != y.const:
        return False
    if same_dims(x.shape, x_dims) or same_dims(y.shape, y_dims):
        return False
    if op == "PRelu" and len(y.shape) > len(x.shape):
        return False
    if same_dims(x.shape, y.shape) and same_dims(x_dims, y_dims):
        return True
    if x.const:
        return False
    return any(stripped(choice) == stripped(y.shape) for choice in choices_in_front(x.shape, x_dims, y_dims))


@hosted()
def same_rank(x: Fact, y: Fact) -> bool:
    return x.rank is not None and x.rank == y.rank


@hosted()
def have_same_dims(x: Fact, y: Fact) -> bool:
    return same_dims(x.shape, y.shape)


@hosted()
def known_dims(z: Fact) -> Dims | None:
    """The dims of a value, all known."""
    return z.shape if z.is_symbolic else None


def broadcast(a: Shape, b: Shape) -> tuple[Dim, ...]:
    """The shape of two operands broadcast; None for dims that are not known to fit."""
    rank = max(len(a), len(b))
    a, b = ((1,) * (rank - len(s)) + s for s in (a, b))
    return tuple(
        p if symbolic.known_equal(p, q) or q == 1 else q if p == 1 else None
        for p, q in zip(a, b, strict=True)
    )
