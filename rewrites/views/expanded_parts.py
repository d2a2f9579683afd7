"""Of what is joined, what is an Expand: tables that laws ask which compute with it apart from the others."""

from typing import NamedTuple

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import assign, auxiliary, eq, hosted, rule, table
from egraph_opt.laws.sorts import Axis, Dims, Number, Slices, Tensor, Tensors
from egraph_opt.operators.terms import cons
from egraph_opt.rewrites.conditions.channels import static_shape
from egraph_opt.rewrites.conditions.operands import moved, moves
from egraph_opt.rewrites.slicing.concat import greater, listing, operands_of
from egraph_opt.rewrites.slicing.slice import dim_at


@table(merge="last")
def left_out(xs: Tensors, axis: Axis, y: Tensor, behind: Number) -> Tensors:
    """A list without y, an Expand behind which others of so many elements along the axis are joined."""


@table(merge=greater)
def most_behind(xs: Tensors, axis: Axis) -> Number:
    """How many elements are behind the first Expand of a list."""


@hosted()
def keeps_axis(x: Fact, wide: Fact, axis: Axis) -> bool:
    """x is expanded along other axes than this one of the result, which it has itself."""
    if x.shape is None or wide.shape is None:
        return False
    place = axis - len(wide.shape) + len(x.shape)
    return place >= 0 and symbolic.known_equal(x.shape[place], wide.shape[axis])


@hosted()
def elements_of(xs: tuple[Fact, ...], axis: Axis) -> Number | None:
    """How many elements are joined along an axis, where all are known."""
    counts: list[Dim] = [dim_at(x, axis) for x in xs]
    return sum(counts) if all(isinstance(count, int) for count in counts) else None  # type: ignore[arg-type]


@auxiliary(listing, moves)
def expanded_parts(v: Tensor, t: Tensor, y: Tensor, z: Tensor, xs: Tensors, ys: Tensors, rest: Tensors,
                   dims: Dims, n: Number, a: Axis):  # fmt: skip
    """Fills `left_out` and `most_behind`, from the end of a list to its front."""
    first = (operands_of(xs, a), eq(xs, cons(y, rest)), eq(y, moved("Expand", v, t, dims)))
    count = elements_of(rest, a)
    last = (assign(left_out(xs, a, y, count), rest), assign(most_behind(xs, a), count))
    yield rule(*first, keeps_axis(v, y, a), then=last)
    further = (operands_of(xs, a), eq(xs, cons(z, rest)), eq(ys, left_out(rest, a, y, n)))
    more = (assign(left_out(xs, a, y, n), cons(z, ys)), assign(most_behind(xs, a), n))
    yield rule(*further, then=more)


class Apart(NamedTuple):
    """The part of a weight that y meets, and those that all others do: at one end, or before and behind."""

    own: Slices
    others: tuple[Slices, ...]


def apart(w: Fact, place: int, y: Fact, axis: int, behind: Number) -> Apart | None:
    """Parts of a weight along the axis at a place, where others than y meet some of it, too."""
    dims, count = static_shape(w), dim_at(y, axis)
    if dims is None or not isinstance(count, int):
        return None
    end = dims[place] - int(behind)
    start = end - count
    if not 0 <= start < end <= dims[place]:
        return None
    others = tuple(
        ((place, *bounds, 1),) for bounds in ((0, start), (end, dims[place])) if bounds[0] < bounds[1]
    )
    return Apart(((place, start, end, 1),), others) if others else None
