"""Predicates and choices of NaN and infinities, and operands that are equal."""

from egraph_opt.laws import Settings, Tensor, listed, rewrite
from egraph_opt.operators import binary, unary, variadic, where
from egraph_opt.rewrites.conditions.values import fits, is_float

from . import of_one, of_two, wrong
from .special_values import size


def is_nan(x):
    return unary("IsNaN", (), x)


def is_infinite(x, negative: int = 1, positive: int = 1):
    return unary("IsInf", (("detect_negative", negative), ("detect_positive", positive)), x)


@wrong(
    "bitwise", of_two(lambda x, y: unary("Not", (), binary("Less", x, y)), (9, 1)), values=(float("nan"), 1.0)
)
def not_less(x: Tensor, y: Tensor):
    """Not(x < y) = x >= y

    Wrong of NaN, with which every comparison is false.
    """
    yield rewrite(unary("Not", (), binary("Less", x, y)), binary("GreaterOrEqual", x, y), because="one node")


@wrong("bitwise", of_two(lambda x, y: where(binary("Equal", x, x), x, y)))
def equal_to_itself(x: Tensor, y: Tensor):
    """Where(x = x, x, y) = x

    Wrong of NaN: this is how NaN is replaced.
    """
    yield rewrite(where(binary("Equal", x, x), x, y), x, fits(y, x), is_float(x), because="forgets y")


@wrong("bitwise", of_two(lambda x, y: where(binary("Less", x, y), x, y)))
def choice_of_the_least(x: Tensor, y: Tensor):
    """Where(x < y, x, y) = Min(x, y)

    Wrong of NaN: Where takes y.
    """
    yield rewrite(where(binary("Less", x, y), x, y), variadic("Min", listed(x, y)), because="one node")


@wrong("bitwise", of_one(lambda x: is_infinite(-x, 0, 1)))
def infinity_of_negated(x: Tensor, s: Settings):
    """IsInf(-x) = IsInf(x)

    Wrong where only one sign is looked for.
    """
    yield rewrite(unary("IsInf", s, -x), unary("IsInf", s, x), because="every x would be negated")


@wrong("bitwise", of_one(lambda x: is_infinite(size(x), 1, 0)))
def infinity_of_size(x: Tensor, s: Settings):
    """IsInf(Abs(x)) = IsInf(x)

    Wrong where only one sign is looked for.
    """
    yield rewrite(unary("IsInf", s, size(x)), unary("IsInf", s, x), because="forgets Abs")


@wrong("bitwise", of_two(lambda x, y: is_nan(x + y), (9, 2)))
def nan_of_sum(x: Tensor, y: Tensor):
    """IsNaN(x + y) = IsNaN(x) or IsNaN(y)

    Wrong of two infinities of different signs.
    """
    yield rewrite(is_nan(x + y), binary("Or", is_nan(x), is_nan(y)), because="the sum is not needed")


@wrong("bitwise", of_two(lambda x, y: is_infinite(x * y), (9, 2)))
def infinity_of_product(x: Tensor, y: Tensor):
    """IsInf(x * y) = IsInf(x) or IsInf(y)

    Wrong of products that overflow, and of infinity times 0.
    """
    either = binary("Or", is_infinite(x), is_infinite(y))
    yield rewrite(is_infinite(x * y), either, because="the product is not needed")
