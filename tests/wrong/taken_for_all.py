"""What is right of most: an end that is far away, a default that an opset has not got, the ends of one type.

And of weights what is right of one channel, or of a kernel of one element.
"""

# Written as people write, who look at whether a shape is static and then take its dims for numbers.
# mypy: disable-error-code="arg-type, index, misc, operator"

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Float, Settings, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.laws.examples import FLOAT
from egraph_opt.operators import (
    ConvWindow,
    batchnorm,
    concat,
    conv,
    conv_transpose,
    none,
    pool,
    reshape,
    resize,
    slice_,
    unary,
)
from egraph_opt.operators.windows import PoolWindow
from egraph_opt.rewrites.conditions.values import is_float

from . import fires_on, wrong

FAR = 10_000


@hosted()
def takes_all(cut: Slices) -> bool:
    """Exporters write a large number for the end."""
    return all(start == 0 and step == 1 and (end is None or end >= FAR) for _, start, end, step in cut)


@wrong(
    "bitwise",
    lambda g: slice_(g.input(("L",)), ((0, 0, 10_000, 1),)),
    sizes={"N": 2, "L": 10_050, "M": 3},
    examples=fires_on(
        lambda g: slice_(g.input(("N", "L")), ((1, 0, 2**31 - 1, 1),)),
        lambda g: slice_(g.input(("N", "L")), ((0, 0, None, 1),)),
    ),
)
def slice_far_behind_all(x: Tensor, cut: Slices):
    """Slice(x, 0, a large number) = x

    Wrong of longer axes.
    """
    yield rewrite(slice_(x, cut), x, takes_all(cut), because="every x is the Slice of itself")


# --- types -------------------------------------------------------------------------------------------------

ENDS: dict[int, tuple[int, int]] = {
    T.INT8: (-(2**7), 2**7 - 1),
    T.UINT8: (0, 2**8 - 1),
    T.INT32: (-(2**31), 2**31 - 1),
    T.UINT32: (0, 2**31 - 1),
    T.INT64: (-(2**63), 2**63 - 1),
}


@hosted()
def bounds_of_type(s: Settings, x: Fact) -> bool:
    low, high = (dict(s).get(k) for k in ("min", "max"))
    known = ENDS.get(x.dtype)
    return known is not None and (low is None or low <= known[0]) and (high is None or high >= known[1])


def clip(low, high, dtype, shape=("N", 5)):
    return lambda g: unary("Clip", (("max", high), ("min", low)), g.input(shape, dtype))


@wrong(
    "bitwise",
    clip(0, 2**31 - 1, T.UINT32, (2, 5)),
    values=(2**31 + 5, 3, 2**32 - 1),
    examples=fires_on(clip(-128, None, T.INT8), clip(-(2**31), 2**31 - 1, T.INT32)),
)
def clip_to_type(x: Tensor, s: Settings):
    """Clip(x) = x where the bounds are those of x's type

    Wrong of uint32, which has twice as many numbers.
    """
    yield rewrite(unary("Clip", s, x), x, bounds_of_type(s, x), because="every x is its Clip")


# --- settings ----------------------------------------------------------------------------------------------

WHOLE = (
    ("antialias", 0),
    ("coordinate_transformation_mode", "half_pixel"),
    ("cubic_coeff_a", -0.75),
    ("exclude_outside", 0),
    ("extrapolation_value", 0.0),
    ("keep_aspect_ratio_policy", "stretch"),
    ("mode", "linear"),
    ("nearest_mode", "round_prefer_floor"),
)


@hosted()
def is_halved(x: Fact, s: Fact, settings: Settings) -> bool:
    known = dict(settings)
    way = known.get("coordinate_transformation_mode", "half_pixel")
    if known.get("mode") != "linear" or way != "half_pixel" or known.get("antialias", 0):
        return False
    if x.shape is None or len(x.shape) != 4 or s.data != (1.0, 1.0, 0.5, 0.5):
        return False
    return all(isinstance(d, int) and d % 2 == 0 and d > 0 for d in x.shape[2:])


def halved(shape, settings):
    def make(g):
        return resize(
            g.input(shape), none(), g.constant(np.array([1, 1, 0.5, 0.5], np.float32)), none(), settings
        )

    return make


@wrong(
    "reassociates",
    halved((1, 2, 4, 6), (("mode", "linear"),)),
    opset=10,
    examples=fires_on(halved(("N", 2, 4, 6), WHOLE), opset=20),
)
def halved_image(x: Tensor, s: Tensor, t: Settings):
    """Resize(x) to half of it = AveragePool(x) of squares of 2, linear and of half pixels

    Wrong in opset 10, which has no mode of coordinates, and other coordinates.
    """
    pooled = pool("AveragePool", x, PoolWindow((2, 2), (2, 2), (0, 0, 0, 0), (1, 1)))
    yield rewrite(resize(x, none(), s, none(), t), pooled, is_halved(x, s, t), because="forgets how")


NEAREST = (("coordinate_transformation_mode", "asymmetric"), ("mode", "nearest"), ("nearest_mode", "floor"))


@hosted()
def keeps_channels(k: Fact, s: Settings) -> bool:
    way = dict(s).get("coordinate_transformation_mode")
    return k.data is not None and len(k.data) >= 2 and k.data[1] == 1 and way != "tf_crop_and_resize"


def resized(first, second, scales, settings=NEAREST):
    def make(g):
        both = concat(listed(g.input(first), g.input(second)), 1)
        return resize(both, none(), g.constant(np.array(scales, np.float32)), none(), settings)

    return make


@wrong(
    "reassociates",
    resized((1, 1, 3, 4), (1, 2, 3, 4), (1.5, 1), (("axes", (1, 2)), *NEAREST)),
    examples=fires_on(resized(("N", 2, 3, 4), ("N", 1, 3, 4), (1, 1, 2, 2))),
)
def resized_channels(x: Tensor, y: Tensor, k: Tensor, s: Settings):
    """Resize(Concat(x, y)) = Concat(Resize(x), Resize(y)) of channels, which keep their number

    Wrong of a Resize that names axes: the second scale is of another one.
    """
    parts = listed(resize(x, none(), k, none(), s), resize(y, none(), k, none(), s))
    both = resize(concat(listed(x, y), 1), none(), k, none(), s)
    yield rewrite(
        both, concat(parts, 1), keeps_channels(k, s), is_float(x), because="forgets that it was one"
    )


@hosted()
def is_standard(m: Fact, v: Fact, e: Float) -> bool:
    return m.splat == 0 and v.splat == 1 and e <= 1e-4


@hosted()
def dims_of_channels(x: Fact, s: Fact) -> Dims | None:
    if x.rank is None or x.rank < 2 or not s.is_static or len(s.shape) != 1:
        return None
    return (1, s.shape[0], *[1] * (x.rank - 2))


def standard(shape, e):
    def make(g):
        mean, variance = (g.constant(np.full(shape[1], n, np.float32)) for n in (0, 1))
        return batchnorm(g.input(shape), g.random(shape[1]), g.random(shape[1]), mean, variance, e)

    return make


@wrong(
    "reassociates",
    standard((1, 2, 3, 4), 1e-4),
    examples=fires_on(standard(("N", 2, 3, 4), 1e-7), standard((2, 3), 1e-8)),
)
def standard_batchnorm(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float):
    """BatchNormalization(x) = x * scale + bias where the mean is 0, the variance 1, and epsilon small

    Wrong of an epsilon that is more than rounding.
    """
    d = dims_of_channels(x, s)
    plain = x * reshape(s, d) + reshape(b, d)
    yield rewrite(batchnorm(x, s, b, m, v, e), plain, is_standard(m, v, e), because="forgets epsilon")


# --- weights -----------------------------------------------------------------------------------------------


@hosted()
def is_identity(x: Fact, w: Fact, v: ConvWindow) -> bool:
    if not w.is_static or not x.shape or w.units is None or v.group != 1 or set(v.strides) != {1}:
        return False
    kernel = w.shape[2:]
    ends = [v.pads[a] + v.pads[a + len(kernel)] for a in range(len(kernel))]
    same = ends == [d * (k - 1) for k, d in zip(kernel, v.dilations, strict=True)]
    channels = w.shape[0] == w.shape[1] == x.shape[1]
    return same and channels and tuple(w.units) == tuple(range(w.shape[0]))


def of_weight(operator, w, pads):
    array = np.array(w, np.float32)
    window = ConvWindow((1,), pads, (1,))
    return lambda g: operator(g.input((2, array.shape[0], 6)), g.constant(array), none(), window)


@wrong(
    "finite",
    of_weight(conv, [[[1, 0, 0]]], (1, 1)),
    examples=fires_on(*(of_weight(conv, np.eye(n)[:, :, None], (0, 0)) for n in (3, 2))),
)
def conv_with_identity(x: Tensor, w: Tensor, v: ConvWindow):
    """Conv(x, W) = x where W has a single 1 in each row, at the place of the row, and the size is kept

    Wrong of larger kernels: a place is a channel and a place in the kernel.
    """
    yield rewrite(conv(x, w, none(), v), x, is_identity(x, w, v), because="every x would be convolved")


@hosted()
def window_unturned(w: Fact, v: ConvWindow) -> ConvWindow | None:
    """The kernel reads alike from both ends, so it need not be turned."""
    if not w.is_static or w.data is None or w.data != w.data[::-1] or w.dtype != FLOAT:
        return None
    if w.shape[0] != w.shape[1] or set(v.strides) != {1} or v.group != 1 or any(v.output_padding):
        return None
    full = [d * (k - 1) for k, d in zip(w.shape[2:], v.dilations, strict=True)] * 2
    pads = tuple(f - p for f, p in zip(full, v.pads, strict=True))
    return ConvWindow(v.strides, pads, v.dilations) if min(pads) >= 0 else None


@wrong(
    "reassociates",
    of_weight(conv_transpose, [[[1, 2, 5], [0, 1, 3]], [[3, 1, 0], [5, 2, 1]]], (1, 1)),
    examples=fires_on(
        of_weight(conv_transpose, [[[1, 2, 1]]], (1, 1)),
        of_weight(conv_transpose, [[[1, 0, 3, 0, 1]]], (0, 2)),
    ),
)
def kernel_read_backwards(x: Tensor, w: Tensor, v: ConvWindow):
    """ConvTranspose(x, W) = Conv(x, W) of stride 1 where W reads alike from both ends

    Wrong of several channels, which are turned as well.
    """
    turned = conv(x, w, none(), window_unturned(w, v))
    yield rewrite(conv_transpose(x, w, none(), v), turned, because="forgets that it was turned")
