"""Types that have fewer bits, other signs, or another operator in another opset; bytes."""

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import (
    Axis,
    DataType,
    Number,
    Pads,
    Settings,
    Tensor,
    hosted,
    listed,
    number_like,
    opset,
    rewrite,
)
from egraph_opt.operators import binary, cast, concat, dequantize, none, pad, quantize, unary
from egraph_opt.operators.quantization import BYTES, QUANTIZED, is_one_scale
from egraph_opt.rewrites.conditions.values import is_of_type
from egraph_opt.rewrites.elementwise.identities import clip
from egraph_opt.rewrites.quantization.round_trips import parameters

from . import fires_on, of_one, wrong

INT32, INT64 = TensorProto.INT32, TensorProto.INT64

BOOL, FLOAT = TensorProto.BOOL, TensorProto.FLOAT

BITS: dict[int, int] = {
    TensorProto.INT8: 8,
    TensorProto.UINT8: 8,
    TensorProto.INT16: 16,
    TensorProto.UINT16: 16,
    TensorProto.INT32: 32,
    TensorProto.UINT32: 32,
}


# --- types -----------------------------------------------------------------------------------------------


@hosted()
def is_small(c: Fact) -> bool:
    known = range_of(c) if c.dtype in (INT32, INT64) else None
    return known is not None and max(map(abs, known)) < 100


@wrong("reassociates", lambda g: g.input((3,)) ** cast(cast(g.input((3,), BOOL), INT32), FLOAT), opset=11)
def exponent_of_any_type(x: Tensor, c: Tensor):
    """x ^ Cast(c) = x ^ c for small integers c

    Wrong before opset 12, where both are of one type.
    """
    cubed, known = x ** cast(c, FLOAT), (is_small(c), is_of_type(x, FLOAT))
    yield rewrite(cubed, x**c, *known, because="forgets the type")


@hosted()
def has_bits_for(t: DataType, x: Fact) -> bool:
    """x is below 2 to the number of bits."""
    known = range_of(x)
    return t in BITS and known is not None and known[0] >= 0 and known[1] < 2 ** BITS[t]


@wrong(
    "bitwise",
    lambda g: cast(cast(clip(0, 200, g.input((3,), INT32)), TensorProto.INT8), INT64),
    values=(150.0, 7.0),
)
def detour_by_as_many_bits(x: Tensor, t: DataType, u: DataType):
    """Cast_U(Cast_T(x)) = Cast_U(x) where x is 0 or more and has no more bits than T

    Wrong where T is signed: one of its bits is the sign.
    """
    yield rewrite(cast(cast(x, t), u), cast(x, u), has_bits_for(t, x), because="forgets T")


@hosted()
def bits_of(t: DataType, x: Fact, u: DataType) -> Number | None:
    """The greatest number of as many bits."""
    fits = x.dtype in (INT32, INT64) and u == x.dtype and BITS.get(t, 64) < BITS.get(u, 64)
    return 2 ** BITS[t] - 1 if fits else None


@hosted()
def has_bitwise(version: int) -> bool:
    return version >= 18


def by_way_of(t):
    return of_one(lambda x: cast(cast(x, t), INT32), (5,), INT32)


@wrong(
    "bitwise",
    by_way_of(TensorProto.INT8),
    values=(200.0, 3.0, -1.0),
    examples=fires_on(by_way_of(TensorProto.UINT8), opset=18),
)
def lower_bits_by_casts(x: Tensor, t: DataType, u: DataType):
    """Cast(Cast_T(x)) = x & (2^k - 1) for a T of k bits, fewer than x has

    Wrong of signed T: the highest of these bits is spread over all others.
    """
    kept = binary("BitwiseAnd", x, number_like(x, bits_of(t, x, u)))
    yield rewrite(cast(cast(x, t), u), kept, has_bitwise(opset()), because="one node")


@wrong(
    "bitwise",
    lambda g: concat(listed(cast(g.input((2, 3), INT32), FLOAT), cast(g.input((1, 3), INT64), FLOAT)), 0),
)
def joined_before_cast(x: Tensor, y: Tensor, a: Axis, t: DataType):
    """Concat(Cast(x), Cast(y)) = Cast(Concat(x, y))

    Wrong where x and y are of two types.
    """
    yield rewrite(
        concat(listed(cast(x, t), cast(y, t)), a), cast(concat(listed(x, y), a), t), because="one cast"
    )


# --- bytes -----------------------------------------------------------------------------------------------


@hosted()
def has_nothing_beyond(s: Settings, scale: Fact, to: DataType) -> bool:
    """The bounds are at the least and the greatest number of the type, or beyond."""
    if scale.splat is None or scale.splat <= 0 or not is_one_scale(scale) or to not in QUANTIZED:
        return False
    low, high = dict(s)["min"], dict(s)["max"]
    least, greatest = (n * scale.splat for n in QUANTIZED[to])
    return (low is None or low <= least) and (high is None or high >= greatest)


def cut(low: float, high: float, zero: int):
    def made(g):
        x = unary("Clip", (("max", high), ("min", low)), g.input((3,)))
        return quantize(x, *parameters(g, 0.1, zero), 0, TensorProto.UINT8)

    return made


@wrong("finite", cut(0.0, 25.6, 128))
def bounds_beyond_bytes(x: Tensor, f: Settings, s: Tensor, z: Tensor, a: Axis, t: DataType):
    """Q(Clip(x)) = Q(x) where the bounds are the least and the greatest byte times the scale, or beyond

    Wrong with a zero point, by which these are moved.
    """
    bounded = quantize(unary("Clip", f, x), s, z, a, t)
    yield rewrite(bounded, quantize(x, s, z, a, t), has_nothing_beyond(f, s, t), because="forgets the bounds")


@hosted()
def are_bytes(q: Fact, s: Fact) -> bool:
    return q.dtype in BYTES and s.dtype == FLOAT and bool(is_one_scale(s))


@wrong("bitwise", lambda g: dequantize(g.input((), TensorProto.UINT8), g.constant([0.5]), none(), 0))
def bytes_as_product(q: Tensor, s: Tensor):
    """DQ(q) = Cast(q) * scale for one scale and no zero point

    Wrong of a single q and a scale of one axis, which the product gets.
    """
    yield rewrite(dequantize(q, s, none(), 0), cast(q, FLOAT) * s, are_bytes(q, s), because="one spelling")


@hosted()
def has_all_pads(version: int) -> bool:
    return version >= 13


@wrong(
    "bitwise",
    lambda g: pad(
        dequantize(g.input((2, 3), TensorProto.UINT8), *parameters(g), 0), "constant", (1, 0, 0, 2), 0.0
    ),
)
def bytes_around(q: Tensor, s: Tensor, z: Tensor, a: Axis, p: Pads):
    """Pad(DQ(q); 0) = DQ(Pad(q; 0)) for one scale

    Wrong with a zero point other than 0.
    """
    inside = dequantize(pad(q, "constant", p, 0), s, z, a)
    around = pad(dequantize(q, s, z, a), "constant", p, 0.0)
    yield rewrite(around, inside, are_bytes(q, s), has_all_pads(opset()), because="bytes are less to move")
