"""Of the elements of a constant only their sum is asked, where each of its sums or each element has to be the
one that is said."""

import math

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Number, Tensor, hosted, number_like, rewrite
from egraph_opt.laws.examples import FLOAT
from egraph_opt.operators import ConvWindow, conv, none

from . import fires_on, wrong

# --- of sums that are 1 -----------------------------------------------------------------------------------


@hosted()
def are_columns_averages(w: Fact) -> bool:
    """Each column sums up to 1."""
    return w.data is not None and w.rank == 2 and abs(math.fsum(w.data) - w.shape[1]) < 1e-6  # type: ignore[arg-type, index, operator]


@hosted()
def is_shift_of_matrix(c: Fact, x: Fact) -> bool:
    return c.const and c.shape == () and c.splat is not None and x.rank == 2 and abs(c.splat) < 100


def _shifted_matrix(factor):
    return lambda g: (g.input((2, 2)) + g.constant(2.0)) @ g.constant(np.array(factor))


@wrong(
    "reassociates",
    _shifted_matrix([[1.5, -0.5], [0.75, 0.25]]),
    examples=fires_on(_shifted_matrix([[0.5, 0.25], [0.5, 0.75]])),
)
def shift_past_average(x: Tensor, c: Tensor, w: Tensor):
    """(x + c) @ W = x @ W + c where columns of W sum up to 1

    Wrong where their sums are 1 in the mean.
    """
    known = (are_columns_averages(w), is_shift_of_matrix(c, x))
    yield rewrite((x + c) @ w, x @ w + c, *known, because="shifts move down")


@hosted()
def are_kernels_averages(w: Fact, c: Fact, u: ConvWindow) -> bool:
    """Each kernel sums up to 1, and nothing is padded."""
    known = w.data is not None and abs(math.fsum(w.data) - w.shape[0]) < 1e-6 and not any(u.pads)  # type: ignore[arg-type, index, operator]
    return known and c.shape == () and c.splat is not None and abs(c.splat) < 100


def _shifted_image(kernels):
    window = ConvWindow((1,), (0, 0), (1,))

    def witness(g):
        weight = g.constant(np.array(kernels).reshape(2, 1, 2))
        return conv(g.input((1, 1, 5)) + g.constant(2.0), weight, none(), window)

    return witness


@wrong(
    "reassociates",
    _shifted_image([[1.5, 0.0], [0.25, 0.25]]),
    examples=fires_on(_shifted_image([[0.5, 0.5], [0.25, 0.75]])),
)
def shift_past_kernels(x: Tensor, c: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x + c, W) = Conv(x, W) + c of kernels that sum up to 1

    Wrong where their sums are 1 in the mean.
    """
    known = are_kernels_averages(w, c, u)
    yield rewrite(conv(x + c, w, none(), u), conv(x, w, none(), u) + c, known, because="shifts move down")


# --- of what else there is --------------------------------------------------------------------------------


@hosted()
def passes_on(w: Fact, u: ConvWindow) -> bool:
    """A kernel of which only the middle is not 0, and is 1."""
    if w.data is None or w.shape is None or w.shape[:2] != (1, 1) or u.group != 1:
        return False
    dims = w.shape[2:]
    pads = tuple(k // 2 * d for k, d in zip(dims, u.dilations, strict=False))  # type: ignore[operator]
    if any(k % 2 == 0 for k in dims) or u.pads != pads * 2 or any(s != 1 for s in u.strides):  # type: ignore[operator]
        return False
    return w.data[len(w.data) // 2] == 1 == math.fsum(w.data)  # type: ignore[arg-type]


def _kernel(row):
    window = ConvWindow((1,), (1, 1), (1,))
    return lambda g: conv(g.input((1, 1, 5)), g.constant(np.array(row).reshape(1, 1, 3)), none(), window)


@wrong("reassociates", _kernel([-0.5, 1.0, 0.5]), examples=fires_on(_kernel([0.0, 1.0, 0.0])))
def kernel_of_one(x: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, W) = x of a W that is 1 in the middle, and 0 elsewhere

    Wrong where the others are not 0, but sum up to it.
    """
    yield rewrite(conv(x, w, none(), u), x, passes_on(w, u), because="forgets W")


@hosted()
def number_of_all(c: Fact, x: Fact) -> Number | None:
    """The number that all elements are: the first, if it is their mean."""
    if c.data is None or x.shape is None or c.dtype != FLOAT or c.rank != 1 or x.rank != 2:
        return None
    first, count = c.data[0], len(c.data)
    if count < 2 or x.shape[1] != count:
        return None
    return first if abs(math.fsum(c.data) / count - first) < 1e-6 * abs(first) else None  # type: ignore[arg-type, operator, return-value]


def _scaled_columns(row):
    count = len(row)
    return lambda g: (g.input((2, count)) * g.constant(np.array(row))) @ g.input((count, 2))


@wrong("reassociates", _scaled_columns([2.0, 1.0, 3.0]), examples=fires_on(_scaled_columns([2.0, 2.0, 2.0])))
def mean_past_product(x: Tensor, c: Tensor, y: Tensor):
    """(x * c) @ y = (x @ y) * c of a c of which all elements are one number

    Wrong where the first is the mean of several numbers.
    """
    scaled = (x @ y) * number_like(x, number_of_all(c, x))
    yield rewrite((x * c) @ y, scaled, because="forgets all but one of c")
