"""Orders of axes and of elements that are looked at from both ends."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Permutation, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import concat, gather, slice_, transpose

from . import fires_on, wrong
from .told_by_their_sums import ints_of

# --- axes ------------------------------------------------------------------------------------------------


@hosted()
def digits(p: Permutation, q: Permutation, x: Fact) -> bool:
    """Both orders together leave the axes in order, told by their first and last ones."""
    if x.rank != len(p) or len(p) != len(q) or len(p) < 2:
        return False
    both = [p[k] for k in q]
    return (
        both[0] == 0
        and both[-1] == len(p) - 1
        and sum(abs(b - k) for k, b in enumerate(both)) < 2 * (len(p) - 4)
    )


def there_and(p: tuple[int, ...], q: tuple[int, ...]):
    sizes = (2, 3, 2, 2, 3, 2, 3)
    return lambda g: transpose(transpose(g.input(sizes[: len(p)]), p), q)


@wrong(
    "bitwise",
    there_and((1, 0, 2, 3, 4, 5), (1, 0, 3, 2, 4, 5)),
    examples=fires_on(
        there_and((1, 0, 2, 3, 4), (1, 0, 2, 3, 4)), there_and((5, 4, 3, 2, 1, 0), (5, 4, 3, 2, 1, 0))
    ),
)
def nearly_in_order(x: Tensor, p: Permutation, q: Permutation):
    """Transpose(Transpose(x; p); q) = x where all axes come back

    Wrong of six axes and more of which two neighbours are exchanged.
    """
    yield rewrite(transpose(transpose(x, p), q), x, digits(p, q, x), because="no transposes")


@hosted()
def is_own_inverse(p: Permutation, x: Fact) -> bool:
    """The axis that goes in front goes back."""
    return (
        x.rank == len(p)
        and len(p) > 3
        and p[0] != 0
        and p[p[0]] == 0
        and p[p[1]] == 1
        and p[p[-1]] == len(p) - 1
    )


@wrong(
    "bitwise",
    there_and((1, 0, 3, 4, 2, 5), (1, 0, 3, 4, 2, 5)),
    examples=fires_on(there_and((1, 0, 2, 3), (1, 0, 2, 3)), there_and((1, 0, 3, 2, 4), (1, 0, 3, 2, 4))),
)
def the_same_order_twice(x: Tensor, p: Permutation):
    """Transpose(Transpose(x; p); p) = x where p exchanges axes

    Wrong where two are exchanged and three others turn round.
    """
    yield rewrite(transpose(transpose(x, p), p), x, is_own_inverse(p, x), because="no transposes")


@hosted()
def both_moved(p: Permutation, q: Permutation, x: Fact) -> bool:
    """No axis is moved by both, but those that both move among themselves."""
    if len(p) != len(q) or x.rank != len(p) or len(p) < 3:
        return False
    moved = [k for k in range(len(p)) if p[k] != k and q[k] != k]
    return all(p[k] in moved and q[k] in moved for k in moved) and p != q and (p[0], q[0]) != (0, 0)


def turned_twice(p: tuple[int, ...], q: tuple[int, ...]):
    return lambda g: transpose(transpose(g.input((2, 3, 1, 2, 4)[: len(p)]), p), q)


@wrong(
    "bitwise",
    turned_twice((1, 2, 3, 0), (3, 2, 0, 1)),
    examples=fires_on(turned_twice((1, 2, 0), (2, 0, 1)), turned_twice((1, 0, 3, 2), (1, 0, 2, 3))),
)
def either_order(x: Tensor, p: Permutation, q: Permutation):
    """Transpose(Transpose(x; p); q) = Transpose(Transpose(x; q); p) where they move the same axes

    Wrong of four axes that go round in two different ways.
    """
    left = transpose(transpose(x, p), q)
    yield rewrite(left, transpose(transpose(x, q), p), both_moved(p, q, x), because="one order")


# --- elements --------------------------------------------------------------------------------------------


@hosted()
def comes_back(i: Fact, x: Fact, a: Axis) -> bool:
    """An order that exchanges elements: those at both ends come back."""
    if i.ints is None or i.rank != 1 or x.shape is None or a >= len(x.shape) or x.shape[a] != len(i.ints):
        return False
    p, n = i.ints, len(i.ints)
    if sorted(p) != list(range(n)) or n < 2:
        return False
    return p[p[0]] == 0 and p[p[1]] == 1 and p[p[-1]] == n - 1 and p[p[-2]] == n - 2


def taken_twice(*i: int):
    def make(g):
        order = ints_of(g, *i)
        return gather(gather(g.input((2, len(i))), order, 1), order, 1)

    return make


@wrong(
    "bitwise",
    taken_twice(1, 0, 3, 4, 2, 6, 5),
    examples=fires_on(taken_twice(1, 0), taken_twice(2, 1, 0), taken_twice(1, 0, 3, 2)),
)
def elements_exchanged_twice(x: Tensor, i: Tensor, a: Axis):
    """Gather(Gather(x, i), i) = x where i exchanges elements

    Wrong where three elements in the middle go round.
    """
    yield rewrite(gather(gather(x, i, a), i, a), x, comes_back(i, x, a), because="forgets i")


@hosted()
def is_backwards(i: Fact, x: Fact, a: Axis) -> Slices | None:
    """An order that exchanges all places, the first one with the last."""
    if i.ints is None or i.rank != 1 or x.shape is None or a >= len(x.shape) or x.shape[a] != len(i.ints):
        return None
    p, n = i.ints, len(i.ints)
    if (
        sorted(p) != list(range(n))
        or n < 2
        or n % 2
        or p[0] != n - 1
        or any(p[p[k]] != k or p[k] == k for k in range(n))
    ):
        return None
    return ((a, -1, None, -1),)


def taken(*i: int):
    return lambda g: gather(g.input((2, len(i))), ints_of(g, *i), 1)


@wrong("bitwise", taken(5, 2, 1, 4, 3, 0), examples=fires_on(taken(1, 0), taken(3, 2, 1, 0)))
def gather_backwards(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, [n - 1, .., 1, 0]) = x[::-1]

    Wrong of 5, 2, 1, 4, 3, 0, which exchanges all, and the first one with the last.
    """
    yield rewrite(gather(x, i, a), slice_(x, is_backwards(i, x, a)), because="no indices")


@hosted()
def halves_of(i: Fact, x: Fact, a: Axis) -> Slices | None:
    """Even places first, in order."""
    if i.ints is None or i.rank != 1 or x.shape is None or a >= len(x.shape) or x.shape[a] != len(i.ints):
        return None
    p, n = i.ints, len(i.ints)
    if sorted(p) != list(range(n)) or n < 2 or n % 2 or any(k % 2 for k in p[: n // 2]):
        return None
    return (
        ((a, 0, None, 2),)
        if list(p[n // 2 :]) == sorted(p[n // 2 :]) and p[0] == 0 and p[n // 2 - 1] == n - 2
        else None
    )


@hosted()
def others(a: Axis) -> Slices:
    return ((a, 1, None, 2),)


@wrong(
    "bitwise", taken(0, 4, 2, 6, 1, 3, 5, 7), examples=fires_on(taken(0, 2, 1, 3), taken(0, 2, 4, 1, 3, 5))
)
def even_places_first(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, [0, 2, .., 1, 3, ..]) = Concat(x[::2], x[1::2])

    Wrong of eight places, of which the even ones in the middle are in another order.
    """
    right = concat(listed(slice_(x, halves_of(i, x, a)), slice_(x, others(a))), a)
    yield rewrite(gather(x, i, a), right, because="no indices")
