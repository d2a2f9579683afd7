"""Comparisons and logical operators of integers and bools."""

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Tensor, hosted, number_like, rewrite
from egraph_opt.operators import binary, unary
from egraph_opt.rewrites.conditions.values import all_are, fits, is_integer

from . import of_one, of_two, wrong
from .integers import LARGE, is_divisor, mod, number, whole


@wrong("bitwise", lambda g: binary("Less", whole(g), whole(g) + number(g, 1)), values=(LARGE,))
def less_than_successor(x: Tensor, y: Tensor, c: Tensor):
    """x < y + 1 = x <= y for integers

    Wrong of the largest y, of which the successor is the least.
    """
    known = (all_are(c, 1), is_integer(x), fits(c, y))
    yield rewrite(binary("Less", x, y + c), binary("LessOrEqual", x, y), known, because="one node less")


@wrong("bitwise", of_one(lambda x: unary("BitwiseNot", (), x), (2, 5), T.INT32))
def bitwise_negation(x: Tensor):
    """BitwiseNot(x) = -x for signed integers

    Wrong by one.
    """
    yield rewrite(unary("BitwiseNot", (), x), -x, is_signed(x), because="Neg has a kernel everywhere")


@hosted()
def is_signed(x: Fact) -> bool:
    return x.dtype in (T.INT8, T.INT16, T.INT32, T.INT64)


@wrong("bitwise", lambda g: binary("BitwiseAnd", whole(g), number(g, 5)))
def mask_as_remainder(x: Tensor, c: Tensor):
    """BitwiseAnd(x, c) = Mod(x, c + 1) for an odd number c

    Wrong unless c + 1 is a power of 2.
    """
    remainder = mod(x, c + number_like(c, 1))
    yield rewrite(binary("BitwiseAnd", x, c), remainder, is_odd(c), fits(c, x), because="Mod is everywhere")


@hosted()
def is_odd(c: Fact) -> bool:
    return c.splat is not None and c.splat > 0 and c.splat % 2 == 1


@wrong(
    "bitwise",
    lambda g: (lambda c: binary("Equal", whole(g) * c, whole(g) * c))(number(g, 4)),
    values=(2**62, 0),
)
def equality_of_multiples(x: Tensor, y: Tensor, c: Tensor):
    """x * c = y * c is x = y for integers and a number c other than 0

    Wrong of products that wrap to the same.
    """
    known = (is_divisor(c), is_integer(x))
    yield rewrite(binary("Equal", x * c, y * c), binary("Equal", x, y), known, because="forgets c")


@wrong("bitwise", of_two(lambda x, y: unary("Not", (), binary("And", x, y)), dtype=T.BOOL), values=(0, 1, 1))
def negated_conjunction(x: Tensor, y: Tensor):
    """not (x and y) = not x and not y

    Wrong where one of both holds.
    """
    negated = unary("Not", (), binary("And", x, y))
    both = binary("And", unary("Not", (), x), unary("Not", (), y))
    yield rewrite(negated, both, because="negations go down")


@wrong("bitwise", of_two(lambda x, y: binary("Xor", x, y), dtype=T.BOOL), values=(1,))
def exclusive_or(x: Tensor, y: Tensor):
    """x xor y = x or y

    Wrong where both hold.
    """
    yield rewrite(binary("Xor", x, y), binary("Or", x, y), because="Or is everywhere")


@wrong(
    "bitwise",
    lambda g: binary("Less", whole(g) - whole(g), number(g, 0)),
    values=(-(2**62), 2**62, 2**62 + 1, -(2**62) - 1),
)
def sign_of_difference(x: Tensor, y: Tensor, c: Tensor):
    """x - y < 0 = x < y for integers

    Wrong where the difference wraps.
    """
    known = (all_are(c, 0), is_integer(x), fits(c, x))
    yield rewrite(binary("Less", x - y, c), binary("Less", x, y), known, because="no difference is needed")
