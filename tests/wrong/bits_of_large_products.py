"""Products that have the same bits while they are small: runtimes part large ones, and sum up in parts."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Slices, Tensor, exp, hosted, listed, rewrite
from egraph_opt.laws.sorts import Dims, Int
from egraph_opt.operators import (
    ConvWindow,
    GemmSettings,
    PoolWindow,
    conv,
    gemm,
    lp_pool,
    none,
    pool,
    reshape,
    slice_,
    transpose,
    unary,
    variadic,
)
from egraph_opt.operators.terms import cons, nil
from egraph_opt.rewrites.conditions.values import fits

from . import fires_on, wrong

ODD = tuple(float(v) for v in np.random.default_rng(3).standard_normal(997))
"""Numbers whose sums are rounded."""

SWAP = (1, 0)
LOST = "forgets how it was spelled"


@hosted()
def are_matrices(x: Fact, y: Fact) -> bool:
    return x.rank == y.rank == 2 and x.dtype == y.dtype == T.FLOAT


def _product(turned: bool, m: int, k: int, n: int):
    def witness(g):
        x, y = g.input((m, k)), g.input((k, n))
        return transpose(transpose(y, SWAP) @ transpose(x, SWAP), SWAP) if turned else x @ y

    return witness


@wrong("bitwise", _product(True, 4, 300, 300), values=ODD, examples=fires_on(_product(True, 3, 5, 4)))
def product_turned_twice(x: Tensor, y: Tensor):
    """Transpose(y' @ x') = x @ y

    Wrong of large matrices, of which the larger side is parted: sums are taken in another order.
    """
    turned = transpose(transpose(y, SWAP) @ transpose(x, SWAP), SWAP)
    yield rewrite(turned, x @ y, are_matrices(x, y), because="every product would be turned")


@hosted()
def columns_of(s: Slices, w: Fact) -> Slices | None:
    """The part of the columns of a matrix, two or more."""
    if len(s) != 1 or s[0][0] != 1 or s[0][3] != 1 or not w.is_static or w.rank != 2 or w.dtype != T.FLOAT:
        return None
    taken = len(range(w.shape[1])[s[0][1] : s[0][2]])  # type: ignore[arg-type, index]
    return s if taken >= 2 and w.shape[1] >= 2 else None  # type: ignore[index, operator]


def _columns(m: int, k: int, n: int):
    return lambda g: slice_(g.input((m, k)) @ g.input((k, n)), ((1, 0, 3, 1),))


@hosted()
def has_rows(x: Fact) -> bool:
    return x.rank == 2 and x.is_static and x.shape[0] >= 2  # type: ignore[index, operator]


@wrong("bitwise", _columns(4, 300, 300), values=ODD, examples=fires_on(_columns(3, 5, 4)))
def columns_of_large_product(x: Tensor, w: Tensor, s: Slices):
    """Slice(x @ W) = x @ Slice(W) of two columns and more, of two rows and more

    Wrong of large matrices, of which the parts are other ones.
    """
    yield rewrite(slice_(x @ w, s), x @ slice_(w, columns_of(s, w)), has_rows(x), because=LOST)


@hosted()
def as_pixels(x: Fact, w: Fact) -> tuple[Dims, Dims, Dims] | None:
    """x and W as an image of one row, with a kernel of one pixel, and the product."""
    if (
        not (x.is_static and w.is_static)
        or not x.rank == w.rank == 2
        or x.dtype != T.FLOAT
        or 0 in (*x.shape, *w.shape)  # type: ignore[misc]
    ):
        return None
    (m, k), n = x.shape, w.shape[1]  # type: ignore[index, misc]
    return (1, k, m), (n, k, 1), (n, m)


@wrong("bitwise", _product(False, 4, 300, 300), values=ODD, examples=fires_on(_product(False, 3, 5, 4)))
def product_as_pixels(x: Tensor, w: Tensor):
    """x @ W = Conv(x', W')' of a row of pixels

    Wrong of large matrices, of which convolutions part another side; of small ones they have the same bits.
    """
    dims = as_pixels(x, w)
    image, kernel = reshape(transpose(x, SWAP), dims[0]), reshape(transpose(w, SWAP), dims[1])
    made = conv(image, kernel, none(), ConvWindow((1,), (0, 0), (1,)))
    yield rewrite(x @ w, transpose(reshape(made, dims[2]), SWAP), because="every product would be a Conv")


def _turned(m: int, k: int, n: int):
    return lambda g: transpose(g.input((k, m)), SWAP) @ g.input((k, n))


@wrong("bitwise", _turned(3, 301, 5), values=ODD, examples=fires_on(_turned(3, 5, 4)))
def turned_operand_in_gemm(x: Tensor, w: Tensor):
    """x' @ W = Gemm(x, W; transA)

    Wrong where there are many summands, which are packed otherwise.
    """
    whole = gemm(x, w, none(), GemmSettings(trans_a=1))
    yield rewrite(transpose(x, SWAP) @ w, whole, are_matrices(x, w), because="every product would be a Gemm")


# --- what is beside the largest ----------------------------------------------------------------------------


@hosted()
def is_nearly_nothing(c: Fact, x: Fact) -> bool:
    return c.splat is not None and 0 < c.splat <= 1e-6 and x.dtype == T.FLOAT


def _bounded(bound: float):
    return lambda g: variadic("Max", listed(exp(g.input((2, 5))), g.constant(bound)))


@wrong("reassociates", _bounded(1e-7), values=(-20.0, -25.0, -18.0))
def bound_of_exponentials(x: Tensor, c: Tensor):
    """Max(Exp(x), c) = Exp(x) for a c of 1e-6 or less

    Wrong where all of them are less.
    """
    bounded = variadic("Max", cons(exp(x), cons(c, nil())))
    yield rewrite(bounded, exp(x), is_nearly_nothing(c, x), fits(c, x), because="forgets the bound")


@hosted()
def is_high(p: int, w: PoolWindow, x: Fact) -> bool:
    """A power at which a norm is nearly the greatest size."""
    return p >= 12 and x.dtype == T.FLOAT and not any(w.pads) and not w.ceil_mode and set(w.dilations) == {1}


def _norm(power: int, side: int):
    return lambda g: lp_pool(power, g.input((1, 2, 4, 4)), PoolWindow((side, side), (1, 1), (0,) * 4, (1, 1)))


@wrong("reassociates", _norm(16, 2), values=(0.5, -0.5, 1.0, -1.5), examples=fires_on(_norm(16, 1)))
def high_norm_as_maximum(p: Int, x: Tensor, w: PoolWindow):
    """LpPool(x; p) = MaxPool(Abs(x)) for a p of 12 and more

    Wrong where several elements are about as large as the greatest.
    """
    greatest = pool("MaxPool", unary("Abs", (), x), w)
    yield rewrite(lp_pool(p, x, w), greatest, is_high(p, w, x), because="forgets p")
