"""Constants that are nearly the one that is meant, numbers between others, ties, zeros of both signs."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Flag,
    Float,
    Name,
    Number,
    Pads,
    Settings,
    Slices,
    String,
    Tensor,
    hosted,
    rewrite,
)
from egraph_opt.operators import (
    arg_reduce,
    batchnorm,
    binary,
    cast,
    global_pool,
    none,
    pad,
    reduce,
    reshape,
    resize,
    slice_,
    softmax,
    unary,
)
from egraph_opt.rewrites.conditions.values import fits
from egraph_opt.rewrites.conditions.view_shapes import known_dims

from . import fires_on, is_single, of_one, wrong
from .scans import resized

FLOAT = TensorProto.FLOAT

# --- constants --------------------------------------------------------------------------------------------


@hosted()
def hard(s: Settings, b: Fact, c: Fact, x: Fact) -> Settings | None:
    """The line of a HardSigmoid, where it gets to 1 or nearly so."""
    low, high = dict(s)["min"], dict(s)["max"]
    if low != 0 or high is None or b.splat is None or c.splat is None or x.dtype != FLOAT:
        return None
    if b.shape != () or c.shape != () or abs(high * c.splat - 1) > 0.01:
        return None
    return (("alpha", c.splat), ("beta", b.splat * c.splat))


def line(scale: float):
    def made(g):
        shifted = g.input((2, 5)) + g.constant(3.0)
        return unary("Clip", (("max", 6.0), ("min", 0.0)), shifted) * g.constant(scale)

    return made


@wrong("reassociates", line(0.166), examples=fires_on(line(1 / 6)))
def hard_sigmoid_by_nearly_a_sixth(x: Tensor, b: Tensor, c: Tensor, s: Settings):
    """Clip(x + b; 0, h) * c = HardSigmoid(x; c, b c) for a c of about 1 / h

    Wrong where h c is not 1: HardSigmoid goes up to 1.
    """
    yield rewrite(unary("Clip", s, x + b) * c, unary("HardSigmoid", hard(s, b, c, x), x), because="one node")


@hosted()
def does_nothing(s: Fact, b: Fact, m: Fact, v: Fact, epsilon: float) -> bool:
    return s.splat == v.splat == 1 and b.splat == m.splat == 0 and epsilon < 1e-2


def normalized(epsilon: float):
    def made(g):
        one, zero = g.constant(np.ones(4, np.float32)), g.constant(np.zeros(4, np.float32))
        return batchnorm(g.input(("N", 4, 3)), one, zero, zero, one, epsilon)

    return made


@wrong("reassociates", normalized(9e-3), examples=fires_on(normalized(1e-7)))
def batchnorm_of_small_epsilon(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float):
    """BatchNormalization(x; 1, 0, 0, 1) = x for an epsilon of less than 0.01

    Wrong by half of it, which is more than rounding.
    """
    yield rewrite(batchnorm(x, s, b, m, v, e), x, does_nothing(s, b, m, v, e), because="forgets epsilon")


# --- between others ---------------------------------------------------------------------------------------


@hosted()
def asymmetric(s: Settings, c: Fact, x: Fact) -> Settings | None:
    """The settings of whole pixels, where an image becomes larger by quarters."""
    known = dict(s)
    if known["mode"] != "nearest" or known["nearest_mode"] != "round_prefer_floor" or x.dtype != FLOAT:
        return None
    if known["coordinate_transformation_mode"] != "half_pixel" or "axes" in known or c.data is None:
        return None
    if any(v < 1 or 4 * v % 1 for v in c.data):  # type: ignore[operator]
        return None
    changed = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return tuple(sorted({**known, **changed}.items()))


def larger(g, by: float):
    scales = g.constant([1.0, 1.0, 1.0, by])
    settings = resized("nearest", "half_pixel", "round_prefer_floor")
    return resize(g.input((1, 1, 2, 4)), none(), scales, none(), settings)


@wrong("bitwise", lambda g: larger(g, 1.25))
def half_pixels_as_whole_ones(x: Tensor, r: Tensor, c: Tensor, s: Settings):
    """Resize(x; half pixels, to the nearest) = Resize(x; asymmetric, rounded down) to larger images

    Wrong where the scale is no whole number.
    """
    other = resize(x, r, c, none(), asymmetric(s, c, x))
    yield rewrite(resize(x, r, c, none(), s), other, because="one spelling")


@hosted()
def repeats(s: Settings, c: Fact, x: Fact) -> bool:
    """Images become larger by whole factors, of the nearest elements."""
    known = dict(s)
    if known["mode"] != "nearest" or "axes" in known or c.data is None or x.rank != 4 or x.dtype != FLOAT:
        return False
    if known["coordinate_transformation_mode"] not in ("asymmetric", "half_pixel"):
        return False
    return tuple(c.data[:2]) == (1, 1) and all(v >= 1 and v % 1 == 0 for v in c.data)  # type: ignore[operator]


def doubled(g, settings):
    return resize(g.input((1, 1, 3, 4)), none(), g.constant([1.0, 1.0, 2.0, 2.0]), none(), settings)


@wrong("reassociates", lambda g: global_pool("GlobalAveragePool", doubled(g, resized(rounds="ceil"))))
def mean_of_larger_image(x: Tensor, r: Tensor, c: Tensor, s: Settings):
    """GlobalAveragePool(Resize(x)) = GlobalAveragePool(x) by whole factors

    Wrong where places are rounded up: the first element is there less often, and the last one more often.
    """
    whole = global_pool("GlobalAveragePool", resize(x, r, c, none(), s))
    yield rewrite(whole, global_pool("GlobalAveragePool", x), repeats(s, c, x), because="forgets s")


@hosted()
def is_whole(c: Fact) -> bool:
    return c.const and c.dtype == FLOAT and c.splat is not None and c.splat % 1 == 0 and abs(c.splat) < 1e6


@wrong("reassociates", lambda g: unary("Floor", (), g.input((3,)) + g.constant(1.0)), values=(-1e-9,))
def floor_of_shifted(x: Tensor, c: Tensor):
    """Floor(x + c) = Floor(x) + c for a whole c

    Wrong where x + c is rounded up to a whole number.
    """
    yield rewrite(unary("Floor", (), x + c), unary("Floor", (), x) + c, is_whole(c), because="one way")


@hosted()
def is_above_zero(c: Fact) -> bool:
    return c.const and c.dtype == FLOAT and c.splat is not None and 0 < c.splat < 1e30


@wrong("finite", lambda g: unary("Sign", (), g.input((3,)) * g.constant(1e-20)), values=(1e-30,))
def sign_of_scaled_number(x: Tensor, c: Tensor):
    """Sign(x * c) = Sign(x) for a c above 0

    Wrong where the product is too small, and 0.
    """
    scaled = unary("Sign", (), x * c)
    yield rewrite(scaled, unary("Sign", (), x), is_above_zero(c), fits(c, x), because="forgets c")


# --- ties -------------------------------------------------------------------------------------------------


@hosted()
def only(a: Axis) -> Axes:
    return (a,)


@wrong("finite", of_one(lambda x: softmax("Hardmax", x, 1)), values=(1.0,))
def hardmax_as_comparison(x: Tensor, a: Axis):
    """Hardmax(x) = Cast(x == ReduceMax(x))

    Wrong where several elements are the greatest: Hardmax takes the first.
    """
    greatest = binary("Equal", x, reduce("ReduceMax", x, only(a), 1))
    yield rewrite(softmax("Hardmax", x, a), cast(greatest, FLOAT), is_single(x), because="no exponentials")


@hosted()
def is_of_two(x: Fact, a: Axis) -> bool:
    return x.shape is not None and a < len(x.shape) and x.shape[a] == 2 and x.dtype == FLOAT


@hosted()
def at(a: Axis, k: int) -> Slices:
    return ((a, k, k + 1, 1),)


@hosted()
def comparison(f: str) -> Name:
    return "Greater" if f == "ArgMax" else "Less"


@wrong("finite", of_one(lambda x: arg_reduce("ArgMax", x, 1, 0, 1), (3, 2)), values=(1.0,))
def place_of_two_as_comparison(x: Tensor, f: String, a: Axis, k: Flag, e: Flag):
    """ArgMax(x) = Cast(x[1] > x[0]) of two elements

    Wrong where both are the same, and the last of them is asked for.
    """
    place = arg_reduce(f, x, a, k, e)
    second = cast(binary(comparison(f), slice_(x, at(a, 1)), slice_(x, at(a, 0))), TensorProto.INT64)
    yield rewrite(place, reshape(second, known_dims(place)), is_of_two(x, a), because="a comparison")


# --- zeros ------------------------------------------------------------------------------------------------


@hosted()
def sum_of_alike(p: Pads, q: Pads, v: Number, w: Number) -> Pads | None:
    return tuple(a + b for a, b in zip(p, q, strict=True)) if v == w and len(p) == len(q) else None


@wrong(
    "bitwise",
    of_one(lambda x: pad(pad(x, "constant", (1, 0), -0.0), "constant", (1, 0), 0.0), (2,)),
    opset=10,
)
def pads_of_equal_values(x: Tensor, p: Pads, q: Pads, v: Number, w: Number):
    """Pad(Pad(x; v); w) = Pad(x; v) of equal values

    Wrong of 0.0 and -0.0, which are equal.
    """
    once = pad(x, "constant", sum_of_alike(p, q, v, w), v)
    yield rewrite(pad(pad(x, "constant", p, v), "constant", q, w), once, because="forgets p")
