"""Windows, pads and sizes: right of each alone, wrong where one is as large as another or is not in x."""

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Mode, Number, Pads, Settings, Tensor, hosted, listed, rewrite
from egraph_opt.operators import (
    concat,
    conv_transpose,
    global_pool,
    none,
    pad,
    pool,
    reshape,
    resize,
    transpose,
)
from egraph_opt.operators.linear import ConvWindow
from egraph_opt.operators.windows import PoolWindow

from . import fires_on, of_one, wrong

FLOAT = TensorProto.FLOAT

# --- windows ----------------------------------------------------------------------------------------------


@hosted()
def covers_the_image(w: PoolWindow, x: Fact) -> bool:
    """A kernel as large as the image, in the middle, and pads too small for a second step."""
    if x.rank != 4 or not x.is_static or x.dtype != FLOAT or w.kernel != x.shape[2:]:  # type: ignore[index]
        return False
    alike = w.pads[:2] == w.pads[2:] and all(2 * p < s for p, s in zip(w.pads, w.strides, strict=False))
    return alike and set(w.dilations) == {1} and not w.ceil_mode


def averaged(stride: int, p: int):
    window = PoolWindow((4, 4), (stride, stride), (p, p, p, p), (1, 1))
    return lambda x: pool("AveragePool", x, window)


@wrong(
    "reassociates",
    of_one(averaged(4, 1), (1, 1, 4, 4)),
    examples=fires_on(*(of_one(averaged(s, 0), (2, 3, 4, 4)) for s in (1, 4))),
)
def average_of_all(x: Tensor, w: PoolWindow):
    """AveragePool(x) = GlobalAveragePool(x) for one window as large as x

    Wrong where there are pads: the only window begins before x, and ends before x does.
    """
    whole = global_pool("GlobalAveragePool", x)
    yield rewrite(pool("AveragePool", x, w), whole, covers_the_image(w, x), because="no window")


@hosted()
def weights_alone(w: Fact) -> Dims:
    return w.shape[:2]  # type: ignore[index]


@hosted()
def keeps_pixels(x: Fact, w: Fact, y: Fact, u: ConvWindow) -> bool:
    """A kernel of one pixel, and as many pixels come out as go in."""
    if u.group != 1 or x.rank != 3 or not x.is_static or not w.is_static or x.dtype != FLOAT:
        return False
    return w.shape[2] == 1 and y.shape is not None and y.shape[2:] == x.shape[2:]  # type: ignore[index]


def enlarged(dims: tuple[int, int, int], channels: int, window: ConvWindow):
    return lambda g: conv_transpose(g.input(dims), g.random(dims[1], channels, 1), none(), window)


@wrong(
    "reassociates",
    enlarged((1, 1, 2), 1, ConvWindow((2,), (1, 0), (1,))),
    examples=fires_on(enlarged((2, 3, 5), 4, ConvWindow((1,), (0, 0), (1,)))),
)
def pixels_transposed(x: Tensor, w: Tensor, u: ConvWindow):
    """ConvTranspose(x, W) = W' @ x for a kernel of one pixel, where as many come out as go in

    Wrong where pads take away as many as a stride puts between.
    """
    y = conv_transpose(x, w, none(), u)
    turned = transpose(reshape(w, weights_alone(w)), (1, 0))
    yield rewrite(y, turned @ x, keeps_pixels(x, w, y, u), because="a product has a kernel")


# --- sizes ------------------------------------------------------------------------------------------------


@hosted()
def is_small_float(c: Fact, x: Fact) -> bool:
    return c.shape == () and bool(c.splat) and abs(c.splat) <= 16 and x.dtype == FLOAT  # type: ignore[arg-type]


LINEAR = {
    "coordinate_transformation_mode": "asymmetric",
    "cubic_coeff_a": -0.75,
    "exclude_outside": 0,
    "extrapolation_value": 0.0,
    "mode": "linear",
    "nearest_mode": "floor",
}


def resized(x, region, scales, **more):
    return resize(x, region, scales, none(), tuple(sorted((LINEAR | more).items())))


def twice_as_large(g, mode: str):
    return resized(g.input(("N", 3, 4, 5)), none(), g.constant([1.0, 1.0, 2.0, 2.0]), mode=mode)


def beyond_its_end(g):
    """Of which half is outside, and 9."""
    region, scales = g.constant([0.0, 0.0, 0.0, 1.0, 1.0, 2.0]), g.constant([1.0, 1.0, 2.0])
    more = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0}
    return resized(g.input((1, 1, 4)), region, scales, **more)


@wrong(
    "reassociates",
    lambda g: beyond_its_end(g) + g.constant(2.0),
    examples=fires_on(*(lambda g, m=m: twice_as_large(g, m) + g.constant(2.0) for m in ("linear", "cubic"))),
)
def shift_before_resize(x: Tensor, r: Tensor, z: Tensor, c: Tensor, s: Settings):
    """Resize(x) + c = Resize(x + c) for one number c

    Wrong of tf_crop_and_resize: what is outside of x is a number of its own.
    """
    before = resize(x + c, r, z, none(), s)
    yield rewrite(resize(x, r, z, none(), s) + c, before, is_small_float(c, x), because="less data")


@wrong(
    "reassociates",
    lambda g: beyond_its_end(g) * g.constant(2.0),
    examples=fires_on(*(lambda g, m=m: twice_as_large(g, m) * g.constant(2.0) for m in ("linear", "cubic"))),
)
def scale_before_resize(x: Tensor, r: Tensor, z: Tensor, c: Tensor, s: Settings):
    """Resize(x) * c = Resize(x * c) for one number c

    Wrong of tf_crop_and_resize: what is outside of x is a number of its own.
    """
    before = resize(x * c, r, z, none(), s)
    yield rewrite(resize(x, r, z, none(), s) * c, before, is_small_float(c, x), because="less data")


# --- pads -------------------------------------------------------------------------------------------------


@hosted()
def summed(p: Pads, q: Pads, m: Mode) -> Pads | None:
    """Both pads together; reflections have to be on different sides."""
    if m not in ("constant", "edge", "reflect") or (m == "reflect" and any(map(min, p, q))):
        return None
    return tuple(a + b for a, b in zip(p, q, strict=True))


def padded_twice(mode: str, first: tuple[int, ...], second: tuple[int, ...]):
    return lambda x: pad(pad(x, mode, first, 0.0), mode, second, 0.0)


@wrong(
    "bitwise",
    of_one(padded_twice("reflect", (1, 0), (0, 2)), (2,)),
    examples=fires_on(
        of_one(padded_twice("reflect", (0, 2, 0, 0), (0, 0, 0, 1)), ("N", 5)),
        of_one(padded_twice("edge", (0, 2, 0, 0), (0, 1, 0, 1)), ("N", 5)),
    ),
)
def pads_together(x: Tensor, m: Mode, p: Pads, q: Pads, v: Number):
    """Pad(Pad(x; p); q) = Pad(x; p + q), reflections on different sides

    Wrong where the second reflects more than x has: the first one made it longer.
    """
    yield rewrite(pad(pad(x, m, p, v), m, q, v), pad(x, m, summed(p, q, m), v), because="one node")


@hosted()
def without_end(p: Pads, k: Axis) -> Pads:
    """Those of the first part: nothing is behind it."""
    return tuple(0 if place == len(p) // 2 + k else n for place, n in enumerate(p))


@hosted()
def without_begin(p: Pads, k: Axis) -> Pads:
    return tuple(0 if place == k else n for place, n in enumerate(p))


@hosted()
def looks_at_ends_only(m: Mode) -> bool:
    return m in ("constant", "edge")


def padded_parts(axis: int, mode: str, pads: tuple[int, ...], *dims: tuple[int | str, ...]):
    return lambda g: pad(concat(listed(*map(g.input, dims)), axis), mode, pads, 0.0)


@wrong(
    "bitwise",
    padded_parts(0, "edge", (1, 0), (0,), (3,)),
    examples=fires_on(*(padded_parts(1, m, (0, 1, 0, 2), ("N", 3), ("N", 4)) for m in ("constant", "edge"))),
)
def pad_of_parts(x: Tensor, y: Tensor, k: Axis, m: Mode, p: Pads, v: Number):
    """Pad(Concat(x, y)) = Concat(Pad(x), Pad(y)), in front of x and behind y

    Wrong of an empty x: onnxruntime has no edge to repeat.
    """
    parts = concat(listed(pad(x, m, without_end(p, k), v), pad(y, m, without_begin(p, k), v)), k)
    yield rewrite(pad(concat(listed(x, y), k), m, p, v), parts, looks_at_ends_only(m), because="less data")
