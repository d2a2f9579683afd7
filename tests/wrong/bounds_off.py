"""Bounds that are off by one, of the wrong end, that meet, or that are promised of small values."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import (
    Axes,
    DataType,
    Flag,
    Settings,
    String,
    Tensor,
    approximate,
    hosted,
    relu,
    rewrite,
    sigmoid,
    tanh,
)
from egraph_opt.operators import Literal, binary, cast, literal, reduce, unary, where
from egraph_opt.rewrites.conditions.values import is_of_type
from egraph_opt.rewrites.elementwise.identities import clip

from . import fires_on, of_one, wrong

FLOAT, INT16, INT32 = TensorProto.FLOAT, TensorProto.INT16, TensorProto.INT32
INT64 = TensorProto.INT64
SIGNED, UINT8, UINT16 = TensorProto.INT8, TensorProto.UINT8, TensorProto.UINT16

# --- intervals --------------------------------------------------------------------------------------------


@hosted()
def is_not_below(x: Fact) -> bool:
    known = interval_of(x)
    return known is not None and known[0] >= -1


def sizes_of(make):
    return of_one(lambda x: reduce("ReduceL1", make(x), (1,), 1), ("N", 4, 3))


@wrong("reassociates", sizes_of(tanh), examples=fires_on(sizes_of(relu), sizes_of(sigmoid)))
def sizes_as_they_are(x: Tensor, a: Axes, k: Flag):
    """ReduceL1(x) = ReduceSum(x) for x >= 0

    Wrong where x is above -1 only.
    """
    total = reduce("ReduceSum", x, a, k)
    yield rewrite(reduce("ReduceL1", x, a, k), total, is_not_below(x), because="a sum takes less")


@hosted()
def is_above_minus_one(x: Fact, t: DataType) -> bool:
    known = interval_of(x)
    return known is not None and known[0] > -1 and known[1] <= 100 and t in (INT32, INT64)


def whole(x):
    return cast(unary("Floor", (), x), INT64)


@wrong(
    "finite",
    of_one(lambda x: whole(clip(-0.5, 5.0, x))),
    examples=fires_on(of_one(lambda x: whole(sigmoid(clip(-5.0, 5.0, x))), ("N", 3))),
)
def floor_by_cast(x: Tensor, t: DataType):
    """Cast(Floor(x)) = Cast(x), which cuts off, for x above -1

    Wrong between -1 and 0: one rounds down, the other towards 0.
    """
    yield rewrite(cast(unary("Floor", (), x), t), cast(x, t), is_above_minus_one(x, t), because="no Floor")


@hosted()
def reaches_zero(x: Fact) -> bool:
    known = interval_of(x)
    return known is not None and known[1] >= 0


def leaky(x):
    return unary("LeakyRelu", (("alpha", 0.5),), x)


@wrong(
    "finite",
    of_one(lambda x: leaky(tanh(x))),
    examples=fires_on(of_one(lambda x: leaky(sigmoid(clip(-3.0, 3.0, x))), ("N", 3))),
)
def leaky_of_positive(x: Tensor, s: Settings):
    """LeakyRelu(x) = x for x >= 0

    Wrong where the greatest x is at least 0, and not the least.
    """
    yield rewrite(unary("LeakyRelu", s, x), x, reaches_zero(x), because="any x above 0 is one")


BITS: dict[int, int] = {UINT8: 8, UINT16: 16, SIGNED: 7, INT16: 15, INT32: 31}


@hosted()
def has_room(x: Fact, t: DataType, to: DataType) -> bool:
    """Elements of x are within the type t, up to the number behind its last one."""
    known = range_of(x)
    return known is not None and x.dtype == to and known[0] >= 0 and known[1] <= 2 ** BITS[t]


def by_way_of(t: int, last: int = 100):
    return lambda x: cast(cast(clip(0, last, x), t), INT64)


@wrong(
    "bitwise",
    of_one(by_way_of(UINT8, 256), dtype=INT64),
    values=(300, 5),
    examples=fires_on(*(of_one(by_way_of(t), ("N", 3), INT64) for t in (UINT8, INT16, INT32))),
)
def by_way_of_fewer_bits(x: Tensor, t: DataType, to: DataType):
    """Cast(Cast(x; t)) = x where t has every element of x

    Wrong of 256 by way of uint8.
    """
    yield rewrite(cast(cast(x, t), to), x, has_room(x, t, to), because="any x is cast and back")


# --- bounds beside bounds ---------------------------------------------------------------------------------

ABOVE = ("Greater", "GreaterOrEqual")


@hosted()
def is_higher(a: Fact, b: Fact, f: str, h: str) -> bool:
    known = a.shape == b.shape == () and a.splat is not None and b.splat is not None
    return known and f in ABOVE and h in ABOVE and a.splat >= b.splat  # type: ignore[operator]


@hosted()
def are_of_one_shape(x: Fact, u: Fact, v: Fact, w: Fact) -> bool:
    return x.shape == u.shape == v.shape == w.shape and u.shape is not None and None not in u.shape


def chosen_twice(f: str, a: float, h: str, b: float):
    def made(g):
        x, u, v, w = (g.input(("N", 3)) for _ in range(4))
        return where(binary(f, x, g.constant(a)), where(binary(h, x, g.constant(b)), u, v), w)

    return made


@wrong(
    "bitwise",
    chosen_twice("GreaterOrEqual", 2.0, "Greater", 2.0),
    values=(2.0, 1.0, 10.0),
    examples=fires_on(
        chosen_twice("Greater", 2.0, "Greater", 1.0),
        chosen_twice("GreaterOrEqual", 2.0, "GreaterOrEqual", 2.0),
    ),
)
def choice_that_is_known(
    x: Tensor, u: Tensor, v: Tensor, w: Tensor, a: Tensor, b: Tensor, f: String, h: String
):
    """Where(x > a, Where(x > b, u, v), w) = Where(x > a, u, w) for a >= b, likewise of >=

    Wrong of >= outside and > inside where a is b, and x as well.
    """
    twice = where(binary(f, x, a), where(binary(h, x, b), u, v), w)
    known = (is_higher(a, b, f, h), are_of_one_shape(x, u, v, w))
    yield rewrite(twice, where(binary(f, x, a), u, w), known, because="forgets v")


@hosted()
def only_one_between(a: Fact, b: Fact) -> Literal | None:
    if a.shape != () or b.shape != () or a.splat is None or b.splat is None or b.splat - a.splat != 2:
        return None
    return Literal(a.dtype, (), (a.splat + 1,))


def between(x, a, b):
    return binary("And", binary("Greater", x, a), binary("Less", x, b))


@wrong(
    "bitwise",
    lambda g: between(g.input((2, 5)), g.constant(3.0), g.constant(5.0)),
    values=(3.5, 4.0),
    examples=fires_on(
        lambda g: between(g.input(("N", 3), INT64), g.constant(np.int64(3)), g.constant(np.int64(5)))
    ),
)
def between_two_numbers(x: Tensor, a: Tensor, b: Tensor):
    """x > a and x < a + 2 = (x == a + 1)

    Wrong of floats, of which there are more between.
    """
    one = binary("Equal", x, literal(only_one_between(a, b)))
    yield rewrite(between(x, a, b), one, because="one node for three")


# --- approximations ---------------------------------------------------------------------------------------


def gelu(how: str, x):
    return unary("Gelu", (("approximate", how),), x)


@wrong(approximate(2e-3), of_one(lambda x: gelu("none", x)), values=(-3.0, -3.5))
def gelu_by_tanh(x: Tensor):
    """Gelu(x) = Gelu(x; tanh)

    Wrong where all x are far below 0: so is the value, and the difference is a tenth of it.
    """
    yield rewrite(gelu("none", x), gelu("tanh", x), is_of_type(x, FLOAT), because="tanh takes less")


@wrong(approximate(0.12), of_one(sigmoid), values=(-3.0, -4.0))
def sigmoid_of_pieces(x: Tensor):
    """Sigmoid(x) = HardSigmoid(x)

    Wrong where all x are far below 0: one is small there, the other is 0.
    """
    pieces = unary("HardSigmoid", (("alpha", 0.2), ("beta", 0.5)), x)
    yield rewrite(sigmoid(x), pieces, is_of_type(x, FLOAT), because="pieces take less")
