"""Reductions: of several axes one is asked, views of them happen to fit, sums are taken in another order."""

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Dims, Flag, Permutation, String, Tensor, hosted, rewrite
from egraph_opt.operators import Literal, expand, literal, reduce, reshape, transpose

from . import fires_on, of_one, wrong


@hosted()
def are_units(x: Fact, a: Axes, d: Dims) -> bool:
    """The dims have the rank of x, and 1 where it is reduced."""
    return x.rank == len(d) and all(d[k] == 1 for k in a)


def kept_by_view(shape: tuple[int, ...], a: tuple[int, ...], d: tuple[int, ...]):
    return of_one(lambda x: reshape(reduce("ReduceMean", x, a, 0), d), shape)


@wrong(
    "bitwise",
    kept_by_view((2, 3, 4), (1,), (4, 1, 2)),
    examples=fires_on(kept_by_view((2, 3, 4), (1,), (2, 1, 4)), kept_by_view((2, 3, 4), (0, 2), (1, 3, 1))),
)
def reduced_axes_are_kept(x: Tensor, op: String, a: Axes, d: Dims):
    """Reshape(Reduce(x), d) = Reduce(x; keepdims) where d has 1 for the axes

    Wrong where the other dims are others.
    """
    yield rewrite(reshape(reduce(op, x, a, 0), d), reduce(op, x, a, 1), are_units(x, a, d), because="no view")


@hosted()
def is_odd_count(x: Fact, a: Axes) -> bool:
    """An odd number of elements is multiplied."""
    return x.shape is not None and isinstance(x.shape[a[-1]], int) and x.shape[a[-1]] % 2 == 1  # type: ignore[operator]


def product_of_opposites(shape: tuple[int, ...], a: tuple[int, ...]):
    return of_one(lambda x: reduce("ReduceProd", -x, a, 1), shape)


@wrong(
    "finite",
    product_of_opposites((4, 3), (0, 1)),
    examples=fires_on(product_of_opposites((4, 3), (1,)), product_of_opposites((3, 5), (0, 1))),
)
def product_of_odd_many(x: Tensor, a: Axes, k: Flag):
    """ReduceProd(-x) = -ReduceProd(x) of an odd number of elements

    Wrong where the last axis alone is odd.
    """
    yield rewrite(
        reduce("ReduceProd", -x, a, k), -reduce("ReduceProd", x, a, k), is_odd_count(x, a), because="one Neg"
    )


@hosted()
def times(d: Dims, x: Fact, a: Axes) -> Literal | None:
    """How often each element is there."""
    if x.shape is None or len(d) != len(x.shape) or x.dtype != T.FLOAT or not a:
        return None
    if any(x.shape[k] != 1 if k in a else x.shape[k] != d[k] for k in range(len(d))):
        return None
    return Literal(T.FLOAT, (), (float(d[a[0]]),))  # type: ignore[arg-type]


def sum_of_copies(shape: tuple[int, ...], d: tuple[int, ...], a: tuple[int, ...]):
    return of_one(lambda x: reduce("ReduceSum", expand(x, d), a, 1), shape)


@wrong(
    "reassociates",
    sum_of_copies((2, 1, 1), (2, 3, 4), (1, 2)),
    examples=fires_on(sum_of_copies((2, 1), (2, 3), (1,)), sum_of_copies((1, 1, 4), (5, 1, 4), (0,))),
)
def copies_are_counted(x: Tensor, d: Dims, a: Axes):
    """ReduceSum(Expand(x)) = x * n along axes of one element

    Wrong of several axes, the copies of which are multiplied.
    """
    yield rewrite(
        reduce("ReduceSum", expand(x, d), a, 1),
        reduce("ReduceSum", x, a, 1) * literal(times(d, x, a)),
        because="n",
    )


@hosted()
def are_sums_alike(x: Fact, y: Fact, a: Fact, b: Fact) -> bool:
    """Of two of one shape, of which one shape is left."""
    return x.is_static and x.shape == y.shape and a.shape == b.shape and x.dtype == T.FLOAT


def two_sums(a: tuple[int, ...], b: tuple[int, ...], *shape: int):
    return lambda g: reduce("ReduceSum", g.input(shape), a, 0) + reduce("ReduceSum", g.input(shape), b, 0)


@wrong(
    "reassociates",
    two_sums((0,), (1,), 3, 3),
    examples=fires_on(two_sums((1,), (1,), 3, 3), two_sums((0, 2), (0, 2), 2, 3, 4)),
)
def sum_of_both(x: Tensor, y: Tensor, a: Axes, b: Axes):
    """ReduceSum(x) + ReduceSum(y) = ReduceSum(x + y) of two that are alike

    Wrong where they are summed along two axes of one length.
    """
    one, other = reduce("ReduceSum", x, a, 0), reduce("ReduceSum", y, b, 0)
    yield rewrite(
        one + other, reduce("ReduceSum", x + y, a, 0), are_sums_alike(x, y, one, other), because="one sum"
    )


@hosted()
def axes_before(p: Permutation, a: Axes) -> Axes | None:
    return tuple(sorted(p[k] for k in a)) if a and a[-1] < len(p) else None


def sum_of_turned(n: int, m: int, dtype: int = T.FLOAT):
    return of_one(lambda x: reduce("ReduceSum", transpose(x, (1, 0)), (0,), 0), (m, n), dtype)


@hosted()
def is_matrix(p: Permutation, a: Axes) -> bool:
    return len(p) == 2 and len(a) == 1


@wrong(
    "bitwise",
    sum_of_turned(37, 5),
    values=(0.1, 0.7, 1e-3, 3.3, -2.2, 1e4),
    examples=fires_on(sum_of_turned(2, 3), sum_of_turned(9, 2, T.INT32)),
)
def sums_of_turned(x: Tensor, p: Permutation, a: Axes):
    """ReduceSum_a(Transpose(x)) = ReduceSum(x) without the axes, of two axes

    Wrong of long rows, the sums of which are rounded in another order.
    """
    yield rewrite(
        reduce("ReduceSum", transpose(x, p), a, 0),
        reduce("ReduceSum", x, axes_before(p, a), 0),
        is_matrix(p, a),
        because="no turn",
    )


@hosted()
def dims_of(y: Fact) -> Dims | None:
    return y.shape if y.is_static else None


@hosted()
def axis_in_front(x: Fact, d: Dims, a: Axes) -> Axes | None:
    """Which axis of x it is, in a view with further axes of one element."""
    if x.shape is None or not x.is_static or len(a) != 1 or len(d) <= len(x.shape):
        return None
    if [n for n in d if n != 1] != [n for n in x.shape if n != 1] or d[a[0]] == 1 or d[a[0]] not in x.shape:
        return None
    return (x.shape.index(d[a[0]]),)


def reduced_view(a: int, d: tuple[int, ...], *shape: int):
    return of_one(lambda x: reduce("ReduceMax", reshape(x, d), (a,), 1), shape)


@wrong(
    "bitwise",
    reduced_view(2, (3, 1, 3), 3, 3),
    examples=fires_on(reduced_view(2, (2, 1, 3), 2, 3), reduced_view(0, (4, 1, 5, 1), 4, 5)),
)
def reduction_in_front_of_view(x: Tensor, d: Dims, a: Axes, f: String):
    """Reduce_a(Reshape(x)) = Reshape(Reduce(x)) where the view has further axes of one element

    Wrong where x has as many elements along another axis.
    """
    y = reduce(f, reshape(x, d), a, 1)
    yield rewrite(y, reshape(reduce(f, x, axis_in_front(x, d, a), 1), dims_of(y)), because="later")
