"""Products and sums where an operand is a vector, a stack, one column, one pixel or one number."""

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Equation, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import ConvWindow, GemmSettings, concat, conv, einsum, gemm, none, reduce, slice_

from . import fires_on, wrong
from .rows_that_kernels_reach import window_of


@hosted()
def columns_of(t: Slices, s: GemmSettings) -> Slices | None:
    """The same columns of B."""
    if len(t) != 1 or t[0][0] != 1 or t[0][3] != 1 or t[0][1] < 0:
        return None
    return ((1 - s.trans_b, *t[0][1:]),)


@hosted()
def last_of(t: Slices, c: Fact) -> Slices | None:
    """The same ones of C, along its last axis, but for one number, which is all of them."""
    if c.shape is None or not c.shape or len(t) != 1:
        return None
    return ((len(c.shape) - 1, *t[0][1:]),) if c.shape != (1,) else ()


def columns(c: tuple[int, ...], start: int = 1, trans: int = 0):
    def make(g):
        b = g.input((5, 3) if trans else (3, 5))
        y = gemm(g.input((2, 3)), b, g.input(c), GemmSettings(trans_b=trans))
        return slice_(y, ((1, start, 4, 1),))

    return make


@wrong(
    "reassociates",
    columns((2, 1)),
    examples=fires_on(columns((5,)), columns((2, 5), 0), columns((1, 5), 2, 1), columns((1,))),
)
def columns_of_gemm(a: Tensor, b: Tensor, c: Tensor, s: GemmSettings, t: Slices):
    """Gemm(A, B, C)[:, a:b] = Gemm(A, B[:, a:b], C[.., a:b])

    Wrong where C has one column.
    """
    some = gemm(a, slice_(b, columns_of(t, s)), slice_(c, last_of(t, c)), s)
    yield rewrite(slice_(gemm(a, b, c, s), t), some, because="fewer columns")


def two_weights(n: int, *v: int):
    def make(g):
        x = g.input((3, n))
        return x @ g.input((n, 3)) + x @ g.input(v)

    return make


@wrong("reassociates", two_weights(3, 3), examples=fires_on(two_weights(2, 2, 3), two_weights(4, 4, 3)))
def weights_are_added(x: Tensor, v: Tensor, w: Tensor):
    """x @ V + x @ W = x @ (V + W)

    Wrong where W is a vector.
    """
    yield rewrite(x @ v + x @ w, x @ (v + w), because="one product")


def two_kernels(n: int, k: int, m: int):
    def make(g):
        x, u = g.input((1, 2, n, n)), window_of()
        return conv(x, g.random(3, 2, k, k), none(), u) + conv(x, g.random(3, 2, m, m), none(), u)

    return make


@wrong("reassociates", two_kernels(3, 3, 1), examples=fires_on(two_kernels(5, 3, 3), two_kernels(4, 1, 1)))
def kernels_are_added(x: Tensor, v: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, V) + Conv(x, W) = Conv(x, V + W)

    Wrong where a smaller kernel is broadcast: its pixels are added to the only one of the larger kernel.
    """
    nothing = none()
    yield rewrite(
        conv(x, v, nothing, u) + conv(x, w, nothing, u), conv(x, v + w, nothing, u), because="one convolution"
    )


@hosted()
def is_plain_product(e: Equation) -> bool:
    one, _, rest = e.partition(",")
    other, _, out = rest.partition("->")
    letters = {*one, *other}
    return (
        len(one) == len(other) == 2 and len(letters) == 3 and one[1] == other[0] and out == one[0] + other[1]
    )


def multiplied(n: int, m: int):
    return lambda g: einsum("ij,jk->ik", listed(g.input((2, n)), g.input((m, 4))))


@wrong("reassociates", multiplied(1, 3), examples=fires_on(multiplied(3, 3), multiplied(1, 1)))
def einsum_of_matrices(e: Equation, x: Tensor, y: Tensor):
    """Einsum(x, y; ij,jk->ik) = x @ y

    Wrong where j is 1 in one of them, which is broadcast.
    """
    yield rewrite(einsum(e, listed(x, y)), x @ y, is_plain_product(e), because="a product")


@hosted()
def are_rows(x: Fact, y: Fact, v: Fact) -> bool:
    """Rows of one matrix."""
    return (
        x.is_static
        and x.shape == y.shape
        and v.rank is not None
        and v.rank >= 2
        and x.rank is not None
        and x.rank >= 2
    )


def stacked(x: tuple[int, ...], v: tuple[int, ...]):
    def make(g):
        w = g.input(v)
        return concat(listed(g.input(x) @ w, g.input(x) @ w), 0)

    return make


@wrong(
    "reassociates",
    stacked((2, 3), (2, 3, 4)),
    examples=fires_on(stacked((2, 3), (3, 4)), stacked((2, 3, 4), (4, 2)), stacked((2, 2, 3), (1, 3, 2))),
)
def products_of_one_weight(x: Tensor, y: Tensor, v: Tensor):
    """Concat(x @ V, y @ V) = Concat(x, y) @ V along the first axis

    Wrong of matrices times a stack of weights.
    """
    yield rewrite(
        concat(listed(x @ v, y @ v), 0), concat(listed(x, y), 0) @ v, are_rows(x, y, v), because="one product"
    )


@hosted()
def is_vector_for(x: Fact, y: Fact) -> bool:
    """A vector along the last axis of x."""
    return y.rank == 1 and x.rank is not None and x.rank >= 2 and x.dtype == T.FLOAT


@hosted()
def is_last(a: Axes, x: Fact) -> bool:
    return x.rank is not None and a == (x.rank - 1,)


def weighted(x: tuple[int, ...], y: tuple[int, ...]):
    return lambda g: reduce("ReduceSum", g.input(x) * g.input(y), (len(x) - 1,), 0)


@wrong(
    "reassociates",
    weighted((2, 1), (4,)),
    examples=fires_on(weighted((2, 3), (3,)), weighted((2, 3, 4), (4,)), weighted((2, 1), (1,))),
)
def sum_of_weighted(x: Tensor, y: Tensor, a: Axes):
    """ReduceSum(x * y, last axis) = x @ y of a vector y

    Wrong where one of them is one number, which is broadcast.
    """
    yield rewrite(
        reduce("ReduceSum", x * y, a, 0), x @ y, is_vector_for(x, y), is_last(a, x), because="one product"
    )
