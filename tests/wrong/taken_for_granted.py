"""What a formula takes for granted of what is written: indices within, whole numbers, types."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Number, Tensor, hosted, listed, number_like, rewrite
from egraph_opt.operators import binary, concat, gather, pool, where
from egraph_opt.operators.windows import PoolWindow

from . import wrong

INT64, UINT8 = TensorProto.INT64, TensorProto.UINT8


@hosted()
def length_of_row(x: Fact, y: Fact, i: Fact) -> Number | None:
    """The length of x, of which i may count the elements, and of what is behind it those of y."""
    known = range_of(i)
    if x.rank != 1 or y.rank != 1 or i.rank != 1 or i.dtype != INT64 or known is None or known[0] < 0:
        return None
    return x.shape[0] if x.shape and isinstance(x.shape[0], int) else None


@wrong(
    "bitwise",
    lambda g: gather(concat(listed(g.input((3,)), g.input((4,))), 0), g.constant(np.array([1, 5, 2])), 0),
)
def parts_by_choice(x: Tensor, y: Tensor, i: Tensor):
    """Gather(Concat(x, y), i) = Where(i < n, Gather(x, i), Gather(y, i - n)) where x has n elements

    Wrong where an index is within x or y alone: both are looked at.
    """
    n = number_like(i, length_of_row(x, y, i))
    chosen = where(binary("Less", i, n), gather(x, i, 0), gather(y, i - n, 0))
    yield rewrite(gather(concat(listed(x, y), 0), i, 0), chosen, because="needs no Concat")


@hosted()
def half_of(c: Fact, x: Fact) -> Number | None:
    if c.shape != () or c.splat is None or c.dtype != INT64 or x.dtype != INT64:
        return None
    return c.splat / 2


@wrong("bitwise", lambda g: g.input((3,), INT64) + g.constant(np.int64(3)))
def half_twice(x: Tensor, c: Tensor):
    """x + c = (x + c / 2) + c / 2 for a whole number c

    Wrong of odd numbers: an integer has nothing behind the point.
    """
    half = number_like(x, half_of(c, x))
    yield rewrite(x + c, (x + half) + half, because="halves may be there")


@hosted()
def is_of_one(w: PoolWindow) -> bool:
    """Windows have one element, and there is no border."""
    plain = isinstance(w, PoolWindow) and not w.ceil_mode and not any(w.pads)
    return plain and all(k == 1 for k in w.kernel)


@wrong(
    "finite",
    lambda g: pool(
        "MaxPool", g.input((1, 2, 3, 3), UINT8), PoolWindow((1, 1), (2, 2), (0,) * 4, (1, 1), 0, 0)
    ),
)
def maximum_of_one(x: Tensor, w: PoolWindow):
    """MaxPool(x) = AveragePool(x) for windows of one element

    Wrong of bytes, of which there is no AveragePool.
    """
    yield rewrite(pool("MaxPool", x, w), pool("AveragePool", x, w), is_of_one(w), because="both are x")
