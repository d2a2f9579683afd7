"""First drafts of laws of this project, each without the condition that the gate asked for."""

from onnx import TensorProto as T

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Tensor, hosted, rewrite
from egraph_opt.laws.sorts import Axes, Slices
from egraph_opt.operators import Literal, gather, literal, reduce, shape_of, slice_
from egraph_opt.rewrites.slicing.slice import dim_at, taken_by

from . import fires_on, of_one, wrong


@hosted()
def counted_from_behind(i: Fact, x: Fact, axis: Axis) -> Literal | None:
    dim, elements = dim_at(x, axis), i.data or i.value
    if not isinstance(dim, str) or not elements or len(elements) != 1 or i.shape != (1,):
        return None
    count = symbolic.sub(dim, elements[0])  # type: ignore[arg-type]
    return Literal(T.INT64, (1,), (-count,)) if isinstance(count, int) and count > 0 else None


def _in_front_of_end(count: int):
    def taken(x):
        return gather(x, shape_of(x, 1, 2) - literal(Literal(T.INT64, (1,), (count,))), 1)

    return of_one(taken, ("N", "L", 4))


@wrong("bitwise", _in_front_of_end(2), sizes={"N": 2, "L": 1, "M": 3}, examples=fires_on(_in_front_of_end(1)))
def index_less_any_number(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, n - k) = Gather(x, -k) where x has n elements along the axis

    Wrong of fewer than k elements: n - k counts from the end itself, and -k is no index.
    """
    yield rewrite(gather(x, i, a), gather(x, literal(counted_from_behind(i, x, a)), a), because="forgets n")


@hosted()
def halves_of_pair(x: Fact, one: Slices, other: Slices) -> Axes | None:
    if x.shape is None or len(one) != 1 or len(other) != 1 or one[0][0] != other[0][0]:
        return None
    axis = one[0][0]
    if x.shape[axis] != 2 or {taken_by(e, 2) for e in (one[0], other[0])} != {range(1), range(1, 2)}:
        return None
    return (axis,)


def _pair(dtype: int):
    return of_one(lambda x: slice_(x, ((1, 0, 1, 1),)) + slice_(x, ((1, 1, 2, 1),)), (3, 2), dtype)


@wrong("reassociates", _pair(T.INT32), values=(2**31 - 1, 5), examples=fires_on(_pair(T.FLOAT)))
def halves_of_any_type(x: Tensor, s: Slices, t: Slices):
    """x[:, :1] + x[:, 1:] = ReduceSum(x, axis)

    Wrong of integers that wrap around, which onnxruntime does not let a ReduceSum do.
    """
    both = slice_(x, s) + slice_(x, t)
    yield rewrite(both, reduce("ReduceSum", x, halves_of_pair(x, s, t), 1), because="forgets the halves")
