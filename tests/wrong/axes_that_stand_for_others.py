"""Axes repeated, batched or put in front, which stand for others of the same count."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Tensor, hosted, listed, rewrite
from egraph_opt.operators import concat, expand, reshape, softmax, tile

from . import fires_on, of_one, wrong

# --- what is repeated ------------------------------------------------------------------------------------


@hosted()
def is_repeated_in_place(u: Fact, e: Dims, d: Dims, axis: int) -> Dims | None:
    """The copies of a Tile that has as many of an axis as an Expand of one in front of, or behind it."""
    if not u.is_static or u.shape is None or len(u.shape) != 4 or len(e) != 4 or len(d) != 3 or 0 in u.shape:
        return None
    one = [k for k, n in enumerate(u.shape) if n == 1 and e[k] != 1]
    if len(one) != 1 or one[0] not in (1, 2) or any(n != 1 for k, n in enumerate(e) if k != one[0]):
        return None
    n = e[one[0]]
    if d != (u.shape[0], u.shape[1] * u.shape[2] * n, u.shape[3]):  # type: ignore[operator]
        return None
    return (1, n, 1) if axis == 1 else None


@hosted()
def without_one(u: Fact) -> Dims | None:
    """The dims without the axis that is repeated."""
    return None if u.shape is None or len(u.shape) != 4 else (u.shape[0], u.shape[1] * u.shape[2], u.shape[3])  # type: ignore[operator]


def several(u: tuple[int, ...], e: tuple[int, ...]):
    n = u[1] * u[2] * max(e)
    return of_one(lambda x: reshape(expand(x, e), (u[0], n, u[3])), u)


@wrong(
    "bitwise",
    several((2, 3, 1, 2), (1, 1, 2, 1)),
    examples=fires_on(
        several((2, 1, 3, 2), (1, 4, 1, 1)),
        several((1, 1, 2, 3), (1, 2, 1, 1)),
        several((3, 1, 1, 2), (1, 1, 3, 1)),
    ),
)
def copies_by_a_tile(u: Tensor, e: Dims, d: Dims):
    """Reshape(Expand(u)) = Tile(u) along an axis of which there are copies

    Wrong where each element is repeated by itself.
    """
    whole = tile(reshape(u, without_one(u)), is_repeated_in_place(u, e, d, 1))
    yield rewrite(reshape(expand(u, e), d), whole, because="a view")


# --- what is joined --------------------------------------------------------------------------------------


@hosted()
def axis_in_all(a: Axis, b: Axis, x: Fact, y: Fact) -> Axis | None:
    """The axis behind a new one in front of it."""
    if x.shape is None or x.shape != y.shape or not x.is_static:
        return None
    return a + 1 if b == 0 else a


def stacked(shape: tuple[int, ...], a: int, b: int):
    dims = (*shape[:b], 1, *shape[b:])

    def make(g):
        return concat(listed(*(reshape(softmax("Softmax", g.input(shape), a), dims) for _ in "xy")), b)

    return make


@hosted()
def adds_one_axis(x: Fact, d: Dims, b: Axis) -> bool:
    return x.shape is not None and b < len(d) and d == (*x.shape[:b], 1, *x.shape[b:])


@wrong(
    "reassociates",
    stacked((2, 3, 4), 2, 1),
    examples=fires_on(stacked((3, 4), 1, 0), stacked((2, 3, 4), 1, 0), stacked((2, 3, 4), 1, 2)),
)
def stack_of_shares(x: Tensor, y: Tensor, d: Dims, a: Axis, b: Axis):
    """Stack(Softmax(x), Softmax(y)) = Softmax(Stack(x, y)) along an axis that moves by one

    Wrong where the new axis is in front of it, and is not the first one.
    """
    apart = concat(listed(*(reshape(softmax("Softmax", v, a), d) for v in (x, y))), b)
    together = softmax("Softmax", concat(listed(reshape(x, d), reshape(y, d)), b), axis_in_all(a, b, x, y))
    yield rewrite(apart, together, adds_one_axis(x, d, b), because="one")
