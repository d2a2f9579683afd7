"""What is known of the range of operands, read wrongly: how wide it is, its end, the ends of two compared."""

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import DataType, Tensor, hosted, rewrite
from egraph_opt.operators import binary, cast, unary, variadic
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.values import broadcasts_into

from . import fires_on, of_one, of_two, wrong

FLOAT, DOUBLE, INT64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64


def _clip(x: Tensor, least: int, most: int) -> Tensor:
    return unary("Clip", (("max", most), ("min", least)), x)


def _there_and_back(x: Tensor, to: int, least: int, most: int) -> Tensor:
    return cast(cast(_clip(x, least, most), to), INT64)


# --- how wide ---------------------------------------------------------------------------------------------


@hosted()
def few_integers(x: Fact, to: int) -> bool:
    """x is one of no more integers than float32 has in a row."""
    known = range_of(x)
    return x.dtype == INT64 and to == FLOAT and known is not None and known[1] - known[0] <= 2**24


@wrong(
    "bitwise",
    of_one(lambda x: _there_and_back(x, FLOAT, 2**24 - 6, 2**24 + 84), (3,), INT64),
    values=(2**24 + 1, 2**24 + 3, 5),
    examples=fires_on(of_one(lambda x: _there_and_back(x, FLOAT, 0, 255), ("N", 4), INT64)),
)
def by_way_of_floats(x: Tensor, t: DataType):
    """Cast_int64(Cast_float(x)) = x for an x of few values

    Wrong of a few that are beyond 2^24.
    """
    yield rewrite(cast(cast(x, t), INT64), x, few_integers(x, t), because="forgets the type")


@hosted()
def doubles_have(x: Fact, to: int) -> bool:
    known = range_of(x)
    return x.dtype == INT64 and to == DOUBLE and known is not None and max(map(abs, known)) <= 2**54


@wrong(
    "bitwise",
    of_one(lambda x: _there_and_back(x, DOUBLE, 0, 2**54 - 1), (3,), INT64),
    values=(2**53 + 1, 2**53 + 3, 5),
    examples=fires_on(of_one(lambda x: _there_and_back(x, DOUBLE, -(2**40), 2**40), ("N", 4), INT64)),
)
def by_way_of_doubles(x: Tensor, t: DataType):
    """Cast_int64(Cast_double(x)) = x for an x that double has

    Wrong beyond 2^53.
    """
    yield rewrite(cast(cast(x, t), INT64), x, doubles_have(x, t), because="forgets the type")


# --- which end --------------------------------------------------------------------------------------------


@hosted()
def is_below(x: Fact, c: Fact) -> bool:
    known = range_of(x)
    if x.dtype != INT64 or known is None or c.shape != () or not isinstance(c.splat, int):
        return False
    return known[0] >= 0 and known[1] <= c.splat


@wrong(
    "bitwise",
    lambda g: binary("Mod", _clip(g.input((3,), INT64), 0, 16), g.constant(16)),
    values=(16, 3, 15),
    examples=fires_on(lambda g: binary("Mod", _clip(g.input(("N", 3), INT64), 0, 9), g.constant(16))),
)
def small_remainder(x: Tensor, c: Tensor):
    """Mod(x, c) = x for an x from 0 to c

    Wrong where x is c.
    """
    yield rewrite(binary("Mod", x, c), x, is_below(x, c), because="forgets c")


# --- of two operands --------------------------------------------------------------------------------------


@hosted()
def ends_are_greater(x: Fact, y: Fact) -> bool:
    """Each end of what x may be is no less than the same end of y."""
    one, other = interval_of(x), interval_of(y)
    if x.dtype != FLOAT or one is None or other is None or not broadcasts_into(y.shape, x.shape):
        return False
    return one[0] >= other[0] > -1e9 and one[1] >= other[1]


@wrong(
    "finite",
    of_two(lambda x, y: variadic("Max", listed(unary("Sigmoid", (), x), unary("Sigmoid", (), y))), (3,)),
    values=(-5.0, 5.0, 0.0, 1.0),
    examples=fires_on(
        lambda g: variadic("Max", listed(unary("Exp", (), g.input(("N", 3))), g.constant(0.0)))
    ),
)
def greater_operand(x: Tensor, y: Tensor):
    """Max(x, y) = x where x is greater

    Wrong where what they may be overlaps.
    """
    yield rewrite(variadic("Max", listed(x, y)), x, ends_are_greater(x, y), because="forgets y")
