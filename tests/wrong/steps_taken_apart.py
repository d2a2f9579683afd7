"""Strides, rows and scales taken apart, and settings that the parts have not."""

from dataclasses import replace

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Settings, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import ConvWindow, Literal, conv, literal, none, reshape, resize, slice_

from . import fires_on, wrong

# --- convolutions ----------------------------------------------------------------------------------------


@hosted()
def every_other(x: Fact, w: Fact, u: ConvWindow) -> Slices | None:
    """The pixels at which a kernel of 1 looks."""
    if x.shape is None or w.shape is None or set(w.shape[2:]) != {1} or set(u.strides) == {1}:
        return None
    if any(u.pads[: len(u.strides)]) or x.dtype != T.FLOAT or not x.is_static or 0 in x.shape:
        return None
    along = enumerate(zip(x.shape[2:], u.strides, strict=True), 2)
    return tuple((k, 0, int(n or 0), s) for k, (n, s) in along if s > 1)


@hosted()
def no_steps(u: ConvWindow) -> ConvWindow:
    return replace(u, strides=(1,) * len(u.strides), pads=(0,) * len(u.pads))


def strided(shape: tuple[int, ...], u: ConvWindow):
    return lambda g: conv(g.input(shape), g.random(3, shape[1] // u.group, *(1,) * len(u.strides)), none(), u)


@wrong(
    "reassociates",
    strided((1, 2, 4, 5), ConvWindow((2, 2), (0, 0, 1, 1), (1, 1))),
    examples=fires_on(
        strided((1, 2, 5, 5), ConvWindow((2, 2), (0, 0, 0, 0), (1, 1))),
        strided((1, 2, 7, 6), ConvWindow((2, 1), (0, 0, 1, 0), (1, 1))),
        strided((2, 3, 8), ConvWindow((3,), (0, 0), (1,), 3)),
    ),
)
def points_at_which_it_looks(x: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, W; strides) = Conv(x[::s], W) for a kernel of 1 without pads in front

    Wrong where it looks at a pad behind the image, which depends on how long it is.
    """
    cut = slice_(x, every_other(x, w, u))
    yield rewrite(conv(x, w, none(), u), conv(cut, w, none(), no_steps(u)), because="strides")


@hosted()
def image_dims(x: Fact) -> Dims | None:
    return (*x.shape[:2], 1, x.shape[2]) if x.is_symbolic and len(x.shape or ()) == 3 else None  # type: ignore[index]


@hosted()
def of_an_image(u: ConvWindow) -> ConvWindow | None:
    """Along the second axis of an image of one row, which both sides pad."""
    if len(u.strides) != 1:
        return None
    before, behind = u.pads[0], u.pads[-1]
    return ConvWindow((1, *u.strides), (0, behind, 0, before), (1, *u.dilations), u.group)


@hosted()
def dims_of(z: Fact) -> Dims | None:
    return z.shape if z.is_symbolic else None


def sequence(u: ConvWindow, c: int = 4, k: int = 3):
    return lambda g: conv(g.input((2, c, 9)), g.random(c, c // u.group, k), g.random(c), u)


@wrong(
    "reassociates",
    sequence(ConvWindow((1,), (2, 0), (1,))),
    examples=fires_on(
        sequence(ConvWindow((1,), (1, 1), (1,))),
        sequence(ConvWindow((2,), (0, 0), (1,), 2)),
        sequence(ConvWindow((1,), (2, 2), (2,))),
    ),
)
def sequence_as_one_row(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x) of sequences = Conv of images of one row

    Wrong of a causal one, which pads one side only.
    """
    z = conv(x, w, b, u)
    image = conv(reshape(x, image_dims(x)), reshape(w, image_dims(w)), b, of_an_image(u))
    yield rewrite(z, reshape(image, dims_of(z)), because="rows")


# --- images ----------------------------------------------------------------------------------------------


@hosted()
def along_one(s: Fact, k: int, x: Fact) -> Literal | None:
    """The scale of one axis of an image."""
    if s.data is None or len(s.data) != 4 or s.data[:2] != (1.0, 1.0) or 1.0 in s.data[2:]:
        return None
    if x.dtype != T.FLOAT or not x.is_static or s.dtype != T.FLOAT:
        return None
    if any(not isinstance(v, float) or v not in (2.0, 3.0) for v in s.data[2:]):
        return None
    return Literal(T.FLOAT, (4,), tuple(v if i == k else 1.0 for i, v in enumerate(s.data)))


@hosted()
def how(p: Settings) -> Settings | None:
    """How an image is enlarged."""
    given = dict(p)
    mode, points = given.get("mode"), given.get("coordinate_transformation_mode")
    if (
        mode not in ("linear", "cubic")
        or points not in ("half_pixel", "asymmetric")
        or given.get("antialias")
    ):
        return None
    if given.get("axes"):
        return None
    return tuple(sorted({**given, "cubic_coeff_a": -0.75}.items()))


def enlarged(mode: str, a: float, points: str = "half_pixel"):
    def make(g):
        settings = (("coordinate_transformation_mode", points), ("cubic_coeff_a", a), ("mode", mode))
        scales = g.constant(np.array([1, 1, 2, 3], np.float32))
        return resize(g.input((1, 2, 5, 4)), none(), scales, none(), settings)

    return make


@wrong(
    "reassociates",
    enlarged("cubic", -0.5),
    examples=fires_on(
        enlarged("linear", -0.75), enlarged("cubic", -0.75), enlarged("linear", -0.75, "asymmetric")
    ),
)
def enlarged_along_both_axes(x: Tensor, s: Tensor, p: Settings):
    """Resize(x; a, b) = Resize(Resize(x; a, 1); 1, b) where it is linear or cubic

    Wrong of a cubic one with a coefficient of its own.
    """
    rows = resize(x, none(), literal(along_one(s, 2, x)), none(), how(p))
    both = resize(rows, none(), literal(along_one(s, 3, x)), none(), how(p))
    yield rewrite(resize(x, none(), s, none(), p), both, because="apart")
