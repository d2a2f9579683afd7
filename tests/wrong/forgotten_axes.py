"""Our laws of reductions and of what moves elements, with a condition that was forgotten."""

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, Dims, Flag, Permutation, Sizes, String, Tensor, hosted, rewrite
from egraph_opt.operators import (
    Literal,
    arg_reduce,
    gather,
    literal,
    output,
    reduce,
    reshape,
    softmax,
    split,
    transpose,
    where,
)
from egraph_opt.rewrites.conditions.values import broadcasts_into, fits

from . import of_one, wrong


@wrong("bitwise", of_one(lambda x: reshape(reduce("ReduceSum", x, (1,), 1), (3, 1, 1, 2)), (3, 4, 2)))
def dims_dropped_at_once(k: String, x: Tensor, a: Axes, d: Dims):
    """Reshape(Reduce(x) with kept dims) = Reduce(x) without

    Wrong where the Reshape makes other dims.
    """
    yield rewrite(reshape(reduce(k, x, a, 1), d), reduce(k, x, a, 0), because="one node")


@hosted()
def united(a: Axes, b: Axes) -> Axes:
    return tuple(sorted({*a, *b}))


@wrong(
    "reassociates", of_one(lambda x: reduce("ReduceSum", reduce("ReduceSum", x, (1,), 1), (0,), 0), (3, 4, 2))
)
def kept_and_dropped(k: String, x: Tensor, a: Axes, b: Axes, c: Flag):
    """Reduce_b(Reduce_a(x) with kept dims) = Reduce_ab(x) for Sum, Max and Min

    Wrong where the outer one drops its dims: those of the inner one stay.
    """
    two = reduce(k, reduce(k, x, a, 1), b, c)
    yield rewrite(two, reduce(k, x, united(a, b), c), is_associative(k), because="one node")


@hosted()
def is_associative(k: str) -> bool:
    return k in ("ReduceSum", "ReduceMax", "ReduceMin")


@wrong("reassociates", of_one(lambda x: arg_reduce("ArgMin", softmax("Hardmax", x, 1), 1, 1, 0)))
def place_in_softmax(k: String, s: String, x: Tensor, a: Axis, d: Flag, n: Flag):
    """ArgMax(Softmax(x)) = ArgMax(x) along one axis, likewise Hardmax and ArgMin

    Wrong of the ArgMin of Hardmax: all but one are least.
    """
    place = arg_reduce(k, softmax(s, x, a), a, d, n)
    yield rewrite(place, arg_reduce(k, x, a, d, n), because="the order is the same")


@wrong("reassociates", of_one(lambda x: arg_reduce("ArgMax", softmax("Softmax", x, 0), 1, 1, 0), (3, 3)))
def place_along_another_axis(k: String, s: String, x: Tensor, a: Axis, b: Axis, d: Flag, n: Flag):
    """ArgMax(Softmax(x)) = ArgMax(x), likewise LogSoftmax

    Wrong along different axes.
    """
    place = arg_reduce(k, softmax(s, x, a), b, d, n)
    yield rewrite(place, arg_reduce(k, x, b, d, n), is_soft(s), because="the order is the same")


@hosted()
def is_soft(s: str) -> bool:
    return s in ("Softmax", "LogSoftmax")


@wrong("reassociates", lambda g: softmax("Softmax", g.input((3, 3)) - g.input((3,)), 1))
def shift_in_softmax(k: String, x: Tensor, m: Tensor, a: Axis):
    """Softmax(x - m) = Softmax(x) for an m that is not bigger than x

    Wrong where m varies along the axis.
    """
    yield rewrite(softmax(k, x - m, a), softmax(k, x, a), fits(m, x), is_soft(k), because="forgets m")


@hosted()
def at_two(i: Fact, j: Fact) -> Literal | None:
    """i[j], both read row by row."""
    if i.data is None or j.ints is None or not all(0 <= k < len(i.data) for k in j.ints):
        return None
    return Literal(T.INT64, (len(j.ints),), tuple(i.data[k] for k in j.ints))


@wrong(
    "bitwise", lambda g: gather(gather(g.input((6,)), g.constant([[0, 1], [2, 3]]), 0), g.constant([1]), 0)
)
def gathers_in_a_row(x: Tensor, i: Tensor, j: Tensor, a: Axis):
    """Gather(Gather(x, i), j) = Gather(x, i[j])

    Wrong where i is no vector: j takes rows of it.
    """
    once = gather(x, literal(at_two(i, j)), a)
    yield rewrite(gather(gather(x, i, a), j, a), once, because="forgets i and j")


@wrong("bitwise", of_one(lambda x: output(split(transpose(x, (1, 0)), 0, (1, 2)), 1), (3, 3)))
def part_of_transposed(x: Tensor, p: Permutation, a: Axis, n: Sizes):
    """A part of Split_a(Transpose_p(x)) = Transpose_p(a part of Split_a(x))

    Wrong: the axis moves as well.
    """
    for k in (0, 1):
        part = transpose(output(split(x, a, n), k), p)
        yield rewrite(output(split(transpose(x, p), a, n), k), part, because="fewer elements to move")


@wrong(
    "bitwise",
    lambda g: where(
        g.input((3, 1), T.BOOL), transpose(g.input((3, 3)), (1, 0)), transpose(g.input((3, 3)), (1, 0))
    ),
)
def choice_of_transposed(c: Tensor, x: Tensor, y: Tensor, p: Permutation):
    """Where(c, Transpose_p(x), Transpose_p(y)) = Transpose_p(Where(c, x, y))

    Wrong unless c is one element.
    """
    inside = transpose(where(c, x, y), p)
    yield rewrite(where(c, transpose(x, p), transpose(y, p)), inside, is_small(c, x), because="one transpose")


@hosted()
def is_small(c: Fact, x: Fact) -> bool:
    return broadcasts_into(c.shape, x.shape)
