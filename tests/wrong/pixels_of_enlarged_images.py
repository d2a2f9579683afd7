"""Images enlarged by scales that are no whole numbers, and places that are rounded."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Settings, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import Literal, global_pool, literal, none, resize, slice_

from . import fires_on, wrong
from .parts_turned_round import backwards
from .rows_that_kernels_reach import turned, turns
from .slices_that_end_at_the_front import axis_of


def mode(kind: str, where: str = "asymmetric", nearest: str = "floor") -> tuple[tuple[str, Any], ...]:
    return tuple(
        sorted(
            {
                "antialias": 0,
                "coordinate_transformation_mode": where,
                "cubic_coeff_a": -0.75,
                "exclude_outside": 0,
                "extrapolation_value": 0.0,
                "keep_aspect_ratio_policy": "stretch",
                "mode": kind,
                "nearest_mode": nearest,
            }.items()
        )
    )


def scaled(g: Any, x: Any, settings: Any, *scales: float) -> Any:
    return resize(x, none(), g.constant(np.array((1.0, 1.0, *scales))), none(), settings)


@hosted()
def is_plain_nearest(s: Settings) -> bool:
    known = dict(s)
    names = ("mode", "coordinate_transformation_mode", "nearest_mode")
    return tuple(known.get(name) for name in names) == ("nearest", "asymmetric", "floor")


def scaled_twice(a: float, b: float, n: int = 4):
    def make(g):
        return scaled(g, scaled(g, g.input((1, 2, n, n)), mode("nearest"), a, a), mode("nearest"), b, b)

    return make


@wrong(
    "bitwise",
    scaled_twice(1.5, 2.0),
    examples=fires_on(scaled_twice(2.0, 2.0), scaled_twice(2.0, 3.0), scaled_twice(0.5, 0.5, 8), opset=19),
)
def scales_multiply(x: Tensor, a: Tensor, b: Tensor, s: Settings):
    """Resize(Resize(x, a), b) = Resize(x, a * b) of nearest pixels from the corner

    Wrong for scales that are no whole numbers.
    """
    nothing = none()
    twice = resize(resize(x, nothing, a, nothing, s), nothing, b, nothing, s)
    yield rewrite(twice, resize(x, nothing, a * b, nothing, s), is_plain_nearest(s), because="one Resize")


@hosted()
def sizes_of(y: Fact) -> Literal | None:
    """The dims of the result."""
    return Literal(T.INT64, (len(y.shape),), y.shape) if y.is_static and y.shape else None


def linear(a: float, n: int = 4, where: str = "half_pixel"):
    return lambda g: scaled(g, g.input((1, 2, n, n)), mode("linear", where), a, a)


@wrong(
    "reassociates",
    linear(1.4),
    examples=fires_on(linear(2.0), linear(1.5), linear(0.5), linear(2.0, 5, "align_corners"), opset=19),
)
def sizes_for_scales(x: Tensor, c: Tensor, s: Settings):
    """Resize(x, scales) = Resize(x, sizes of the result)

    Wrong where a size is rounded: scales follow from sizes then.
    """
    nothing = none()
    y = resize(x, nothing, c, nothing, s)
    yield rewrite(y, resize(x, nothing, nothing, literal(sizes_of(y)), s), because="integers")


@hosted()
def enlarges(c: Fact, s: Settings) -> bool:
    """No pixel is left out."""
    return dict(s)["mode"] == "nearest" and c.data is not None and all(v >= 1 for v in c.data)  # type: ignore[operator]


def mean_of_larger(a: float, b: float, where: str = "asymmetric"):
    def make(g):
        x = scaled(g, g.input((1, 2, 4, 4)), mode("nearest", where), a, b)
        return global_pool("GlobalAveragePool", x)

    return make


@wrong(
    "reassociates",
    mean_of_larger(1.5, 1.0),
    examples=fires_on(
        mean_of_larger(2.0, 2.0), mean_of_larger(1.0, 3.0), mean_of_larger(2.0, 2.0, "half_pixel"), opset=19
    ),
)
def mean_of_enlarged(x: Tensor, c: Tensor, s: Settings):
    """GlobalAveragePool(Resize(x)) = GlobalAveragePool(x) for an enlarged image of nearest pixels

    Wrong where some are there more often than others.
    """
    yield rewrite(
        global_pool("GlobalAveragePool", resize(x, none(), c, none(), s)),
        global_pool("GlobalAveragePool", x),
        enlarges(c, s),
        because="a smaller image",
    )


@hosted()
def is_symmetric_resize(s: Settings, a: Axis, c: Fact) -> bool:
    known = dict(s)
    if c.data is None or not all(0.1 < v < 10 for v in c.data):  # type: ignore[operator]
        return False
    return known["mode"] == "linear" and known["coordinate_transformation_mode"] == "half_pixel" and a >= 2


def turned_resize(n: int, scale: float):
    settings = tuple(
        sorted(
            {
                "antialias": 0,
                "coordinate_transformation_mode": "half_pixel",
                "cubic_coeff_a": -0.75,
                "exclude_outside": 0,
                "extrapolation_value": 0.0,
                "keep_aspect_ratio_policy": "stretch",
                "mode": "linear",
                "nearest_mode": "round_prefer_floor",
            }.items()
        )
    )

    def make(g):
        x = backwards(g.input((1, 2, n, 4)), n, 2)
        return resize(x, none(), g.constant(np.array([1.0, 1.0, scale, 1.0])), none(), settings)

    return make


@wrong(
    "reassociates",
    turned_resize(5, 1.5),
    examples=fires_on(turned_resize(4, 2.0), turned_resize(4, 0.5), turned_resize(2, 1.5), opset=19),
)
def resize_of_turned(x: Tensor, t: Slices, c: Tensor, s: Settings):
    """Resize(x[::-1]) = Resize(x)[::-1] of linear pixels from their middle

    Wrong where a pixel is cut off at the end.
    """
    a, nothing = axis_of(t), none()
    y = resize(slice_(x, t), nothing, c, nothing, s)
    found = (turns(t, x, a), is_symmetric_resize(s, a, c))
    yield rewrite(y, slice_(resize(x, nothing, c, nothing, s), turned(y, a)), *found, because="later")


@hosted()
def are_twins(s: Settings, c: Fact, t: Slices, u: Slices, y: Fact) -> bool:
    """Even and odd rows of an image of nearest pixels that is twice as high."""
    if dict(s)["mode"] != "nearest" or c.data != (1.0, 1.0, 2.0, 1.0) or not y.is_static or y.rank != 4:
        return False
    n = y.shape[2]  # type: ignore[index]
    return t == ((2, 0, n, 2),) and u == ((2, 1, n, 2),)


def twins(where: str, nearest: str, n: int = 3):
    known = {
        "coordinate_transformation_mode": where,
        "cubic_coeff_a": -0.75,
        "exclude_outside": 0,
        "extrapolation_value": 0.0,
        "mode": "nearest",
        "nearest_mode": nearest,
    }
    settings = tuple(sorted(known.items()))

    def make(g):
        y = resize(
            g.input((1, 2, n, 2)), none(), g.constant(np.array([1.0, 1.0, 2.0, 1.0])), none(), settings
        )
        return slice_(y, ((2, 0, 2 * n, 2),)) * slice_(y, ((2, 1, 2 * n, 2),))

    return make


@wrong(
    "finite",
    twins("half_pixel", "floor"),
    opset=17,
    values=(0.5, -0.5, 1.0, -1.0, 2.0),
    examples=fires_on(twins("asymmetric", "floor"), twins("half_pixel", "round_prefer_floor", 4)),
)
def product_of_twins(x: Tensor, c: Tensor, s: Settings, t: Slices, u: Slices):
    """Resize(x, 2)[::2] * Resize(x, 2)[1::2] = x * x of nearest pixels

    Wrong where a place between two pixels is rounded to another one.
    """
    y = resize(x, none(), c, none(), s)
    yield rewrite(slice_(y, t) * slice_(y, u), x * x, are_twins(s, c, t, u, y), because="no Resize")


@hosted()
def takes_back(s: Settings, c: Fact, t: Slices, x: Fact, y: Fact) -> bool:
    """Every second pixel of an image of twice the size, of nearest pixels."""
    if not x.is_static or not y.is_static or dict(s)["mode"] != "nearest" or c.data != (1.0, 1.0, 2.0, 2.0):
        return False
    return t == tuple((k, 0, y.shape[k], 2) for k in (2, 3)) and x.rank == 4  # type: ignore[index]


def every_second(where: str, nearest: str):
    settings = tuple(
        sorted(
            {
                "coordinate_transformation_mode": where,
                "cubic_coeff_a": -0.75,
                "exclude_outside": 0,
                "extrapolation_value": 0.0,
                "mode": "nearest",
                "nearest_mode": nearest,
            }.items()
        )
    )

    def make(g):
        y = resize(
            g.input((1, 1, 4, 3)), none(), g.constant(np.array([1.0, 1.0, 2.0, 2.0])), none(), settings
        )
        return slice_(y, ((2, 0, 8, 2), (3, 0, 6, 2)))

    return make


@wrong(
    "bitwise",
    every_second("half_pixel", "floor"),
    opset=17,
    examples=fires_on(
        every_second("asymmetric", "floor"),
        every_second("asymmetric", "ceil"),
        every_second("half_pixel", "round_prefer_floor"),
    ),
)
def enlarged_and_taken_back(x: Tensor, c: Tensor, s: Settings, t: Slices):
    """Resize(x, 2)[::2] = x of nearest pixels

    Wrong where places are a quarter in front of a pixel, and rounded down.
    """
    y = resize(x, none(), c, none(), s)
    yield rewrite(slice_(y, t), x, takes_back(s, c, t, x, y), because="nothing is left")
