"""Laws of our own of Resize and of kernels, with one condition dropped or weakened."""

import math
from dataclasses import replace

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Pads, Settings, Tensor, hosted, rewrite
from egraph_opt.operators import ConvWindow, Literal, conv, gather, literal, none, pad, resize
from egraph_opt.rewrites.conditions.channels import static_shape

from . import fires_on, wrong

LOST = "forgets how it was spelled"


LOST = "forgets how it was spelled"


# --- Resize ------------------------------------------------------------------------------------------------


def resized(x, scales, how="asymmetric", mode="nearest", rounding="floor", g=None, **more):
    settings = {"coordinate_transformation_mode": how, "mode": mode, "nearest_mode": rounding, **more}
    return resize(
        x, none(), g.constant(np.array(scales, np.float32)), none(), tuple(sorted(settings.items()))
    )


@hosted()
def factors_of_both(a: Fact, b: Fact, s: Settings) -> Literal | None:
    """Whole numbers, of the nearest element at asymmetric coordinates."""
    how = dict(s)
    plain = (how.get("coordinate_transformation_mode"), how.get("mode")) == ("asymmetric", "nearest")
    if not plain or how.get("antialias") or "axes" in how or a.data is None or b.data is None:
        return None
    if len(a.data) != len(b.data) or any(v < 1 or v != int(v) for v in map(float, (*a.data, *b.data))):
        return None
    made = tuple(float(v) * float(w) for v, w in zip(a.data, b.data, strict=True))
    return Literal(T.FLOAT, (len(made),), made)


def _twice(rounding: str):
    return lambda g: resized(
        resized(g.input((1, 2, 3, 3)), (1, 1, 2, 2), rounding=rounding, g=g),
        (1, 1, 2, 2),
        rounding=rounding,
        g=g,
    )


@wrong("bitwise", _twice("round_prefer_floor"), examples=fires_on(_twice("floor")))
def enlarged_twice(x: Tensor, a: Tensor, b: Tensor, s: Settings):
    """Resize(Resize(x; a); b) = Resize(x; a * b) for the nearest element and whole numbers

    `resize_identities.twice`, where coordinates are not rounded down.
    """
    two = resize(resize(x, none(), a, none(), s), none(), b, none(), s)
    yield rewrite(two, resize(x, none(), literal(factors_of_both(a, b, s)), none(), s), because=LOST)


@hosted()
def preferring_floor(s: Settings, scales: Fact) -> Settings | None:
    """Whole odd factors: no coordinate is in the middle of two elements."""
    how = dict(s)
    whole = scales.data is not None and all(float(v) % 2 == 1 for v in scales.data)
    if how.get("nearest_mode") != "round_prefer_ceil" or how.get("mode") != "nearest" or not whole:
        return None
    return tuple(sorted({**how, "nearest_mode": "round_prefer_floor"}.items()))


def _odd(how: str):
    return lambda g: resized(g.input((1, 2, 3, 3)), (1, 1, 3, 3), how, rounding="round_prefer_ceil", g=g)


@wrong("bitwise", _odd("align_corners"), examples=fires_on(_odd("asymmetric"), _odd("half_pixel")))
def ties_of_odd_factors(x: Tensor, c: Tensor, s: Settings):
    """Resize(x; rounded, 1/2 up) = Resize(x; rounded, 1/2 down) of the nearest element by odd factors

    Wrong where corners are aligned: coordinates are multiples of (d - 1) / (3 d - 1).
    """
    yield rewrite(
        resize(x, none(), c, none(), s), resize(x, none(), c, none(), preferring_floor(s, c)), because=LOST
    )


@hosted()
def plain_half_pixels(s: Settings, scales: Fact) -> Settings | None:
    """Of an image that is made larger."""
    how = dict(s)
    if how.get("coordinate_transformation_mode") != "half_pixel_symmetric" or scales.data is None:
        return None
    larger = all(float(v) >= 1 for v in scales.data)
    return tuple(sorted({**how, "coordinate_transformation_mode": "half_pixel"}.items())) if larger else None


def _symmetric(factor: float):
    return lambda g: resized(
        g.input((1, 2, 5, 5)), (1, 1, factor, factor), "half_pixel_symmetric", "linear", g=g
    )


@wrong("reassociates", _symmetric(1.5), opset=19, examples=fires_on(_symmetric(2.0), opset=19))
def symmetric_half_pixels(x: Tensor, c: Tensor, s: Settings):
    """Resize(x; symmetric half pixels) = Resize(x; half pixels) to larger images

    Wrong where a size is rounded: the symmetric ones are in the middle of what is left.
    """
    yield rewrite(
        resize(x, none(), c, none(), s), resize(x, none(), c, none(), plain_half_pixels(s, c)), because=LOST
    )


@hosted()
def without_antialias(s: Settings, x: Fact, y: Fact) -> Settings | None:
    """There are no fewer elements than there were."""
    how = dict(s)
    if how.get("antialias") != 1 or not x.is_static or not y.is_static:
        return None
    return (
        tuple(sorted({**how, "antialias": 0}.items())) if math.prod(y.shape) >= math.prod(x.shape) else None  # type: ignore[arg-type]
    )


def _smoothed(*factors: float):
    return lambda g: resized(
        g.input((1, 2, 4, 4)), (1, 1, *factors), "half_pixel", "linear", antialias=1, g=g
    )


@wrong("reassociates", _smoothed(4.0, 0.5), opset=18, examples=fires_on(_smoothed(2.0, 2.0), opset=18))
def larger_without_antialias(x: Tensor, c: Tensor, s: Settings):
    """Resize(x; antialias) = Resize(x) to larger images

    Wrong of images that are larger along one axis, and smaller along another.
    """
    y = resize(x, none(), c, none(), s)
    yield rewrite(y, resize(x, none(), c, none(), without_antialias(s, x, y)), because=LOST)


# --- kernels -----------------------------------------------------------------------------------------------


@hosted()
def less_pads(u: ConvWindow, zeros: Pads) -> ConvWindow | None:
    """The window of a kernel without the zeros around it."""
    axes = len(u.strides)
    around = (*zeros[2 : axes + 2], *zeros[axes + 4 :])
    pads = tuple(p - n for p, n in zip(u.pads, around, strict=True))
    elsewhere = any(zeros[:2]) or any(zeros[axes + 2 : axes + 4])
    return None if elsewhere or min(pads) < 0 or min(zeros) < 0 else replace(u, pads=pads)


def _zeros_around(step: int):
    def witness(g):
        w = pad(g.input((4, 2, 1, 1)), "constant", (0, 0, 1, 1, 0, 0, 1, 1), 0.0)
        return conv(g.input((1, 2, 6, 6)), w, none(), ConvWindow((1, 1), (2,) * 4, (step, step)))

    return witness


@wrong("reassociates", _zeros_around(2), examples=fires_on(_zeros_around(1)))
def kernel_without_its_zeros(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, n: Pads):
    """Conv(x, Pad(W), b) = Conv(x, W, b) with smaller pads

    `enlarging.zeros_in_kernel`, where the kernel is dilated, and its zeros are as well.
    """
    padded = conv(x, pad(w, "constant", n, 0.0), b, u)
    yield rewrite(padded, conv(x, w, b, less_pads(u, n)), because=LOST)


@hosted()
def chosen_of_units(x: Fact, w: Fact, u: ConvWindow) -> Literal | None:
    """Which channels a kernel of one pixel takes, one for each of its rows."""
    shape = static_shape(w)
    plain = not any(u.pads) and all(s == 1 for s in u.strides)
    if shape is None or w.units is None or not plain or any(k != 1 for k in shape[2:]) or x.shape is None:
        return None
    return Literal(T.INT64, (len(w.units),), tuple(w.units))


def _selecting(groups: int):
    def witness(g):
        eye = np.eye(4 // groups)[[1, 0] * (2 if groups == 2 else 1)].reshape(-1, 4 // groups, 1, 1)
        return conv(
            g.input((1, 4, 3, 3)), g.constant(eye), none(), ConvWindow((1, 1), (0,) * 4, (1, 1), groups)
        )

    return witness


@wrong("finite", _selecting(2), examples=fires_on(_selecting(1)))
def channels_that_are_selected(x: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, P) = Gather(x, p) along the channels, for a P whose rows have a single 1

    `selecting.convolution_of_units`, where channels are counted within their groups.
    """
    yield rewrite(conv(x, w, none(), u), gather(x, literal(chosen_of_units(x, w, u)), 1), because=LOST)
