"""Transposes and reshapes: the order of permutations, dims that are equal, and axes that move."""

from typing import Any

from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Dims,
    Mode,
    Number,
    Pads,
    Permutation,
    Place,
    Slices,
    Tensor,
    equal,
    hosted,
    listed,
    rewrite,
)
from egraph_opt.laws.examples import Operands
from egraph_opt.operators import (
    concat,
    einsum,
    expand,
    gather,
    pad,
    reduce,
    reshape,
    shape_of,
    slice_,
    transpose,
    where,
)
from egraph_opt.rewrites.conditions.view_shapes import kept_dims, known_dims, moved_dims

from . import fires_on, of_one, of_two, wrong

CYCLE = (1, 2, 0)


@hosted()
def first_then(p: Permutation, q: Permutation) -> Permutation | None:
    return tuple(q[k] for k in p) if len(p) == len(q) else None


@wrong("bitwise", of_one(lambda x: transpose(transpose(x, CYCLE), (1, 0, 2)), (2, 3, 4)))
def transposes_in_a_row(x: Tensor, p: Permutation, q: Permutation):
    """Transpose_q(Transpose_p(x)) = Transpose_(q o p)(x)

    Wrong from rank 3 on: it is p o q.
    """
    once = transpose(x, first_then(p, q))
    yield rewrite(transpose(transpose(x, p), q), once, because="forgets p and q")


@wrong(
    "bitwise",
    of_one(lambda x: transpose(transpose(x, CYCLE), CYCLE), (3, 3, 3)),
    examples=fires_on(of_one(lambda x: transpose(transpose(x, (1, 0)), (1, 0)))),
)
def transposed_twice(x: Tensor, p: Permutation):
    """Transpose_p(Transpose_p(x)) = x

    Wrong of cycles of three axes and more.
    """
    yield rewrite(transpose(transpose(x, p), p), x, because="every x would be transposed")


@hosted()
def keeps_dims(x: Fact, p: Permutation) -> bool:
    return x.shape is not None and tuple(x.shape[k] for k in p) == x.shape


@wrong("bitwise", of_one(lambda x: transpose(x, (1, 0)), (3, 3)))
def transpose_of_square(x: Tensor, p: Permutation):
    """Transpose_p(x) = x where the dims stay as they are

    Wrong of squares.
    """
    yield rewrite(transpose(x, p), x, keeps_dims(x, p), because="every x would be transposed")


@hosted()
def permuted_dims(x: Fact, p: Permutation) -> Dims | None:
    """The dims of Transpose_p(x) where x has an axis of one element."""
    return tuple(x.shape[k] for k in p) if x.is_symbolic and 1 in (x.shape or ()) else None  # type: ignore[index]


@wrong("bitwise", of_one(lambda x: transpose(x, (0, 2, 1)), (1, 2, 3)))
def transpose_as_view(x: Tensor, p: Permutation):
    """Transpose_p(x) = Reshape(x) where x has an axis of one element

    Wrong where other axes move.
    """
    yield rewrite(transpose(x, p), reshape(x, permuted_dims(x, p)), because="a Reshape is free")


@hosted()
def are_turned(x: Fact, d: Dims) -> bool:
    return x.rank == 2 and x.shape is not None and d == x.shape[::-1]


@wrong("bitwise", of_one(lambda x: reshape(x, (3, 2)), (2, 3)))
def view_as_transpose(x: Tensor, d: Dims):
    """Reshape(x: [n, m], [m, n]) = Transpose(x)

    Wrong unless n or m is 1.
    """
    yield rewrite(reshape(x, d), transpose(x, (1, 0)), are_turned(x, d), because="transposes move further")


@hosted()
def same_numbers(x: Fact, d: Dims) -> bool:
    """Dims that are numbers are the same."""
    pairs = zip(x.shape or (), d, strict=False)
    return x.rank == len(d) and all(a == b for a, b in pairs if isinstance(a, int) and isinstance(b, int))


@wrong("bitwise", of_one(lambda x: reshape(x, (symbolic.mul("L", "N"), 1, 2)), ("N", "L", 2)))
def own_dims(x: Tensor, d: Dims):
    """Reshape(x, the dims of x) = x

    Wrong where symbolic dims are others.
    """
    yield rewrite(reshape(x, d), x, same_numbers(x, d), because="every x is a Reshape of itself")


@wrong("reassociates", of_one(lambda x: reduce("ReduceSum", transpose(x, CYCLE), (0,), 1), (3, 3, 3)))
def sum_of_transposed(x: Tensor, p: Permutation, a: Axes):
    """ReduceSum_a(Transpose_p(x)) = Transpose_p(ReduceSum_p'[a](x)) with kept dims

    Wrong: the axes of x are p[a].
    """
    inside = reduce("ReduceSum", x, moved_back(p, a), 1)
    yield rewrite(reduce("ReduceSum", transpose(x, p), a, 1), transpose(inside, p), because="down")


@hosted()
def moved_back(p: Permutation, a: Axes) -> Axes:
    return tuple(sorted(p.index(k) for k in a))


@wrong("bitwise", of_two(lambda x, y: concat(listed(transpose(x, (1, 0)), transpose(y, (1, 0))), 0), (3, 3)))
def concat_of_transposed(x: Tensor, y: Tensor, p: Permutation, a: Axis):
    """Concat_a(Transpose_p(x), Transpose_p(y)) = Transpose_p(Concat_a(x, y))

    Wrong: the axis moves as well.
    """
    both = concat(listed(transpose(x, p), transpose(y, p)), a)
    yield rewrite(both, transpose(concat(listed(x, y), a), p), because="one transpose")


@wrong(
    "bitwise", of_two(lambda x, y: concat(listed(transpose(x, CYCLE), transpose(y, (2, 0, 1))), 0), (3, 3, 3))
)
def concat_of_two_transposed(x: Tensor, y: Tensor, p: Permutation, q: Permutation, a: Axis):
    """Concat_a(Transpose_p(x), Transpose_q(y)) = Transpose_p(Concat_p[a](x, y))

    Wrong where q is another permutation.
    """
    both = concat(listed(transpose(x, p), transpose(y, q)), a)
    yield rewrite(both, transpose(concat(listed(x, y), moved(p, a)), p), same_moved(p, q, a), because="one")


@hosted()
def moved(p: Permutation, a: Axis) -> Axis:
    return p[a]


@hosted()
def same_moved(p: Permutation, q: Permutation, a: Axis) -> bool:
    return len(p) == len(q) and a < len(p)


@wrong("bitwise", of_one(lambda x: slice_(transpose(x, CYCLE), ((0, 0, 2, 1),)), (3, 3, 3)))
def slice_of_transposed(x: Tensor, p: Permutation, s: Slices):
    """Slice_s(Transpose_p(x)) = Transpose_p(Slice_p'[s](x))

    Wrong: the axes of x are p[s].
    """
    inside = slice_(x, moved_slices(p, s))
    yield rewrite(slice_(transpose(x, p), s), transpose(inside, p), because="fewer elements to move")


@hosted()
def moved_slices(p: Permutation, s: Slices) -> Slices:
    return tuple(sorted((p.index(axis), *rest) for axis, *rest in s))  # type: ignore[misc]


@wrong(
    "bitwise",
    of_one(lambda x: pad(transpose(x, (1, 0)), "constant", (0, 1, 0, 2), 0.0), (3, 3)),
    examples=fires_on(of_one(lambda x: pad(transpose(x, (1, 0)), "constant", (1, 1, 1, 1), 0.0))),
)
def pad_of_transposed(x: Tensor, p: Permutation, m: Mode, n: Pads, v: Number):
    """Pad(Transpose_p(x)) = Transpose_p(Pad(x))

    Wrong: the pads move as well.
    """
    yield rewrite(pad(transpose(x, p), m, n, v), transpose(pad(x, m, n, v), p), because="down")


@wrong("bitwise", lambda g: gather(transpose(g.input((3, 3, 3)), CYCLE), g.constant([[0, 1]], 7), 0))
def gather_of_transposed(x: Tensor, i: Tensor, p: Permutation, a: Axis):
    """Gather_a(Transpose_p(x), i) = Transpose_p(Gather_p[a](x, i))

    Wrong where i is no vector: the result has other axes.
    """
    inside = gather(x, i, moved(p, a))
    yield rewrite(gather(transpose(x, p), i, a), transpose(inside, p), because="fewer elements to move")


@wrong("bitwise", of_two(lambda x, y: reshape(concat(listed(x, y), 1), (4, 3, 2)), (2, 3, 2)))
def view_of_concat(x: Tensor, y: Tensor, a: Axis, d: Dims):
    """Reshape(Concat(x, y)) = Concat_0(x, y) where these are its dims

    Wrong along axes other than the first.
    """
    joined = concat(listed(x, y), 0)
    yield rewrite(reshape(concat(listed(x, y), a), d), joined, joins(x, y, d), because="forgets a")


@hosted()
def joins(x: Fact, y: Fact, d: Dims) -> bool:
    """The dims of x and y, one behind the other along the first axis."""
    if not x.is_static or not y.is_static or not x.shape or not y.shape:
        return False
    return x.shape[1:] == y.shape[1:] and d == (x.shape[0] + y.shape[0], *x.shape[1:])  # type: ignore[operator]


@hosted()
def has_dims(x: Fact, d: Dims) -> bool:
    return x.is_symbolic and x.shape == d


@hosted()
def same_dim(x: Fact, d: Dims, s: Slices) -> bool:
    dims = x.shape or ()
    return all(k < min(len(dims), len(d)) and dims[k] == d[k] for k, *_ in s)


@hosted()
def sliced_dims(y: Fact) -> Dims | None:
    return y.shape if y.is_symbolic else None


@wrong("bitwise", of_one(lambda x: slice_(reshape(x, (2, 3, 3)), ((1, 0, 2, 1),)), (3, 3, 2)))
def slice_of_view(x: Tensor, d: Dims, s: Slices):
    """Slice(Reshape(x)) = Reshape(Slice(x)) where the dim of the axis stays

    Wrong where it is another axis of the same size.
    """
    part = slice_(reshape(x, d), s)
    yield rewrite(part, reshape(slice_(x, s), sliced_dims(part)), same_dim(x, d, s), because="up")


@wrong("bitwise", of_one(lambda x: transpose(reshape(x, (3, 2, 2)), (0, 2, 1)), (3, 4)))
def transpose_of_view(x: Tensor, d: Dims, p: Permutation):
    """Transpose_p(Reshape(x)) = Reshape(x) where the dims are the same

    Wrong: the elements are in another order.
    """
    whole = transpose(reshape(x, d), p)
    yield rewrite(whole, reshape(x, sliced_dims(whole)), has_dims(whole, d), because="forgets p")


@wrong("bitwise", of_one(lambda x: shape_of(transpose(x, CYCLE), 0, 3), (2, "N", "L")))
def dims_of_transposed(x: Tensor, p: Permutation, s: Place, e: Place):
    """Shape(Transpose_p(x)) = Shape(x)

    Wrong: the dims are in another order.
    """
    yield rewrite(shape_of(transpose(x, p), s, e), shape_of(x, s, e), because="forgets p")


@hosted()
def covers(x: Fact, d: Dims) -> bool:
    """Every dim of x is there, or is one."""
    return (
        x.shape is not None
        and len(x.shape) == len(d)
        and all(a == b or b == 1 or a == 1 for a, b in zip(x.shape, d, strict=True))
    )


@wrong("bitwise", of_one(lambda x: expand(x, (3, 4)), (1, 4)))
def expanded_to_own_dims(x: Tensor, d: Dims):
    """Expand(x, d) = x where each dim is that of x or 1

    Wrong where it is x that has the 1.
    """
    yield rewrite(expand(x, d), x, covers(x, d), because="every x is an Expand of itself")


@hosted()
def in_front(x: Fact, dims: Dims, y: Fact) -> Dims | None:
    """The dims of y in front of a view of x, by y alone."""
    kept: Dims | None = kept_dims(x, dims, y)
    moved: Dims | None = moved_dims(x, dims, y)
    return moved if kept is None else kept


def _between_two(g: Operands) -> Any:
    """A view of one element to two axes of one, of which either may be the new one."""
    return where(g.input((5,), TensorProto.BOOL), g.random(2, 1), reshape(g.input((1,)), (1, 1)))


@wrong("finite", _between_two)
def view_of_one_chosen(x: Tensor, y: Tensor, w: Tensor, dims: Dims):
    """Where(y, w, Reshape(x)) = Reshape(Where(y', w', x)) where y and w stay or are constants

    Wrong where the view inserts an axis of 1 in front for y and behind for w: 5 and 2 are no one dim.
    """
    z, y_, w_ = where(y, w, reshape(x, dims)), *(reshape(v, in_front(x, dims, v)) for v in (y, w))
    yield rewrite(z, reshape(where(y_, w_, x), known_dims(z)), because="views sink")


@wrong("reassociates", of_two(lambda x, y: einsum("ij,kj->ik", listed(x, y)), (3, 3)))
def einsum_as_product(x: Tensor, y: Tensor):
    """Einsum(ij,kj->ik)(x, y) = x @ y

    Wrong: the second one is transposed.
    """
    yield rewrite(einsum("ij,kj->ik", listed(x, y)), x @ y, because="MatMul is a kernel")


@wrong("reassociates", of_two(lambda x, y: transpose(x @ y, (1, 0)), (3, 3)))
def transpose_of_product(x: Tensor, y: Tensor):
    """(x @ y)' = x' @ y' for matrices

    Wrong: the factors change places.
    """
    t = (1, 0)
    yield equal(transpose(x @ y, t), transpose(x, t) @ transpose(y, t))
