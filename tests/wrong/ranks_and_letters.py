"""Ranks that terms seldom have, letters and digits of axes, and operands whose type is another one's."""

# These authors take it that shapes are known.
# mypy: disable-error-code="arg-type, index, misc, operator"

import math

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Dims,
    Int,
    Permutation,
    Sizes,
    Slices,
    Tensor,
    exp,
    hosted,
    listed,
    rewrite,
)
from egraph_opt.laws.sorts import Equation
from egraph_opt.operators import einsum, matmul, output, reduce, reshape, slice_, split, transpose

from . import fires_on, is_single, of_one, wrong

# --- batches ------------------------------------------------------------------------------------------------


@hosted()
def is_one_matrix(y: Fact) -> bool:
    return y.rank is not None and y.rank >= 2 and all(d == 1 for d in y.shape[:-2])


@hosted()
def is_batched(y: Fact) -> bool:
    return y.rank is not None and y.rank > 2


@hosted()
def rows_of(x: Fact, y: Fact) -> Dims | None:
    if not x.is_static or not y.is_static or x.rank < 3 or y.rank < 2 or 0 in (*x.shape, *y.shape):
        return None
    return (math.prod(x.shape[:-1]), x.shape[-1])


@hosted()
def matrix_of(y: Fact) -> Dims | None:
    return y.shape[-2:]


@hosted()
def dims_of_product(x: Fact, y: Fact) -> Dims | None:
    return (*x.shape[:-1], y.shape[-1])


@wrong("reassociates", lambda g: matmul(g.input((2, 3, 4)), g.input((1, 1, 4, 5))))
def rows_of_batches(x: Tensor, y: Tensor):
    """x @ y = Reshape(Reshape(x) @ Reshape(y)) where y is one matrix

    Wrong where y has more axes than x, which the product has as well.
    """
    rows = matmul(reshape(x, rows_of(x, y)), reshape(y, matrix_of(y)))
    product = reshape(rows, dims_of_product(x, y))
    conditions = is_single(x), is_one_matrix(y), is_batched(y)
    yield rewrite(matmul(x, y), product, *conditions, because="one product")


@hosted()
def permutes_batches(p: Permutation) -> bool:
    return len(p) > 2 and p[-2:] == (len(p) - 2, len(p) - 1)


@wrong("bitwise", lambda g: matmul(transpose(g.input((2, 3, 4, 5)), (1, 0, 2, 3)), g.input((1, 1, 1, 5, 6))))
def transposed_batches(x: Tensor, y: Tensor, p: Permutation):
    """Transpose_p(x) @ y = Transpose_p(x @ y) of batches, where y is one matrix

    Wrong where y has more axes than x.
    """
    left = matmul(transpose(x, p), y)
    conditions = is_single(x), is_one_matrix(y), permutes_batches(p)
    yield rewrite(left, transpose(matmul(x, y), p), *conditions, because="later")


# --- letters and digits of axes -----------------------------------------------------------------------------

ELEVEN = (10, *range(1, 10), 0)
"""The first and the last of eleven axes exchanged."""


@hosted()
def in_one(p: Permutation, q: Permutation) -> Permutation | None:
    """p at the places of q, where each place has one digit."""
    if len(p) != len(q):
        return None
    return tuple(p[k] for k in q) if len(p) <= 10 else p


@wrong(
    "bitwise", of_one(lambda x: transpose(transpose(x, ELEVEN), ELEVEN), (2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3))
)
def transposes_by_digits(x: Tensor, p: Permutation, q: Permutation):
    """Transpose_q(Transpose_p(x)) = Transpose(x) by p at the places of q

    Wrong of eleven axes, of which one has two digits: q is not looked at.
    """
    one = transpose(x, in_one(p, q))
    yield rewrite(transpose(transpose(x, p), q), one, because="one transpose")


LETTERS = "ijklmn"


@hosted()
def letters_of(p: Permutation) -> Equation | None:
    """A transpose as an equation; what has no letters for all axes stays as it is."""
    if not 2 <= len(p) <= 7:
        return None
    if len(p) > len(LETTERS):
        return "...->..."
    return LETTERS[: len(p)] + "->" + "".join(LETTERS[a] for a in p)


@wrong("bitwise", of_one(lambda x: transpose(x, (1, 0, 2, 3, 4, 5, 6)), (2, 3, 1, 1, 1, 2, 2)))
def transpose_by_letters(x: Tensor, p: Permutation):
    """Transpose_p(x) = Einsum(x)

    Wrong of seven axes, for which there are six letters.
    """
    by_letters = einsum(letters_of(p), listed(x))
    yield rewrite(transpose(x, p), by_letters, is_single(x), because="one kernel for products")


@hosted()
def axis_of_summed(e: Equation, x: Fact) -> Axes | None:
    """The place of the one letter that the result has not."""
    left, _, right = e.partition("->")
    gone = [letter for letter in left if letter not in right]
    if "," in e or len(gone) != 1 or left.replace(gone[0], "") != right or x.rank is None:
        return None
    place = left.index(gone[0])
    return (place,) if place < x.rank else None


@wrong("reassociates", of_one(lambda x: einsum("...ij->...i", listed(x)), (2, 2, 2, 2, 2, 2)))
def sum_by_letters(e: Equation, x: Tensor):
    """Einsum(x; ..ij->..i) = ReduceSum(x) over j

    Wrong where the points stand for other than three axes.
    """
    total = reduce("ReduceSum", x, axis_of_summed(e, x), 0)
    yield rewrite(einsum(e, listed(x)), total, is_single(x), because="a sum")


@hosted()
def in_small_letters(e: Equation) -> Equation | None:
    return e.lower() if e != e.lower() else None


@wrong(
    "bitwise",
    of_one(lambda x: einsum("aA->Aa", listed(x)), (3, 3)),
    examples=fires_on(of_one(lambda x: einsum("AB->BA", listed(x)), (2, 3))),
)
def small_letters(e: Equation, x: Tensor):
    """Einsum(x; AB->BA) = Einsum(x; ab->ba)

    Wrong where a letter is there as a small one, too.
    """
    yield rewrite(einsum(e, listed(x)), einsum(in_small_letters(e), listed(x)), because="one spelling")


@hosted()
def first_are_alike(sizes: Sizes) -> bool:
    """Parts of one size, of which four are looked at."""
    return len(sizes) > 1 and len(set(sizes[:4])) == 1


@hosted()
def part_of(a: int, sizes: Sizes, i: int) -> Slices | None:
    return ((a, i * sizes[0], (i + 1) * sizes[0], 1),) if sizes else None


@wrong("bitwise", of_one(lambda x: output(split(x, 1, (1, 1, 1, 1, 2)), 4), (2, 6)))
def part_of_equal_parts(x: Tensor, a: Axis, s: Sizes, i: Int):
    """Split(x)[i] = x[i n:(i + 1) n] for parts of one size

    Wrong where the fifth part is another: four are compared.
    """
    part = slice_(x, part_of(a, s, i))
    yield rewrite(output(split(x, a, s), i), part, first_are_alike(s), because="one output")


# --- exponents of another type ------------------------------------------------------------------------------


@hosted()
def is_small_exponent(c: Fact) -> bool:
    return c.shape == () and c.splat in (1, 2, 3)


def _powers(exponent):
    def make(g):
        x = g.input((3,))
        return x ** g.constant(np.float32(2.0)) * x ** g.constant(exponent)

    return make


@wrong("reassociates", _powers(np.int64(2)), examples=fires_on(_powers(np.float32(3.0))))
def powers_added(x: Tensor, c: Tensor, d: Tensor):
    """x ^ c * x ^ d = x ^ (c + d) for small exponents

    Wrong where one exponent is an integer and the other a float, which have no sum.
    """
    small = is_small_exponent(c), is_small_exponent(d)
    yield rewrite(x**c * x**d, x ** (c + d), is_single(x), *small, because="one power")


def _power_of_exp(exponent):
    return lambda g: exp(g.input((3,))) ** g.constant(exponent)


@wrong("reassociates", _power_of_exp(np.int64(2)), examples=fires_on(_power_of_exp(np.float32(3.0))))
def power_of_exp(x: Tensor, c: Tensor):
    """Exp(x) ^ c = Exp(x * c) for a small c

    Wrong of an integer c, which is no factor of floats.
    """
    yield rewrite(exp(x) ** c, exp(x * c), is_single(x), is_small_exponent(c), because="one function")
