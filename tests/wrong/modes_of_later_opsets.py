"""Images that are resized and tensors with pads: modes and settings that came with later opsets."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Mode, Number, Pads, Settings, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import Literal, PoolWindow, concat, gather, literal, none, pad, pool, resize, slice_

from . import fires_on, wrong
from .told_by_their_sums import ints_of


@hosted()
def halved(x: Fact, c: Fact, s: Settings) -> PoolWindow | None:
    """By a half, each pixel is the mean of four."""
    given = dict(s)
    if c.data != (1, 1, 0.5, 0.5) or not x.is_static or x.rank != 4 or x.dtype != T.FLOAT or x.shape is None:
        return None
    plain = given.get("mode") == "linear" and given.get("coordinate_transformation_mode") == "half_pixel"
    if not plain or given.get("axes") or any(d % 2 or d == 0 for d in x.shape[2:]):  # type: ignore[operator]
        return None
    return PoolWindow((2, 2), (2, 2), (0,) * 4, (1, 1))


def by_half(h: int, *more: tuple[str, Any], mode: str = "half_pixel"):
    settings = tuple(sorted((("coordinate_transformation_mode", mode), ("mode", "linear"), *more)))

    def make(g):
        c = g.constant(np.array((1, 1, 0.5, 0.5), np.float32))
        return resize(g.input((1, 2, h, h)), none(), c, none(), settings)

    return make


@wrong("reassociates", by_half(6, ("antialias", 1)), examples=fires_on(by_half(4), by_half(6)))
def half_as_average(x: Tensor, c: Tensor, s: Settings):
    """Resize(x; linear, by 1/2) = AveragePool(x; 2, stride 2)

    Wrong with antialias, which opset 18 has.
    """
    y = resize(x, none(), c, none(), s)
    yield rewrite(y, pool("AveragePool", x, halved(x, c, s)), because="one pool")


@hosted()
def halved_from_the_middle(x: Fact, c: Fact, s: Settings) -> PoolWindow | None:
    """By a half, from the middles of pixels."""
    given = dict(s)
    if c.data != (1, 1, 0.5, 0.5) or not x.is_static or x.rank != 4 or x.dtype != T.FLOAT or x.shape is None:
        return None
    plain = given.get("mode") == "linear" and str(given.get("coordinate_transformation_mode")).startswith(
        "half_pixel"
    )
    if not plain or given.get("axes") or given.get("antialias") or any(d < 2 for d in x.shape[2:]):  # type: ignore[operator]
        return None
    return PoolWindow((2, 2), (2, 2), (0,) * 4, (1, 1))


@wrong("reassociates", by_half(5, mode="half_pixel_symmetric"), examples=fires_on(by_half(4), by_half(7)))
def half_from_the_middle(x: Tensor, c: Tensor, s: Settings):
    """Resize(x; half_pixel, linear, by 1/2) = AveragePool(x; 2, stride 2)

    Wrong of half_pixel_symmetric and an odd size.
    """
    yield rewrite(
        resize(x, none(), c, none(), s),
        pool("AveragePool", x, halved_from_the_middle(x, c, s)),
        because="one pool",
    )


@hosted()
def of_own_size(x: Fact, n: Fact, s: Settings) -> bool:
    """The sizes of x, or larger along one axis of one element."""
    given = dict(s)
    if (
        x.rank != 4
        or not x.is_static
        or n.ints is None
        or given.get("mode") != "nearest"
        or given.get("axes")
        or x.shape is None
    ):
        return False
    return (
        n.ints[:3] == x.shape[:3]
        and len(n.ints) == 4
        and x.shape[3] == 1
        and x.dtype == T.FLOAT
        and n.ints[3] > 1
    )


@hosted()
def as_indices(n: Fact) -> Literal | None:
    return None if n.ints is None else Literal(T.INT64, (n.ints[-1],), (0,))


def enlarged(h: int, w: int, to: int, *more: tuple[str, Any]):
    settings = tuple(
        sorted(
            (
                ("coordinate_transformation_mode", "asymmetric"),
                ("mode", "nearest"),
                ("nearest_mode", "floor"),
                *more,
            )
        )
    )
    return lambda g: resize(g.input((1, 2, h, w)), none(), none(), ints_of(g, 1, 2, h, to), settings)


@wrong(
    "bitwise",
    enlarged(2, 1, 4, ("keep_aspect_ratio_policy", "not_larger")),
    examples=fires_on(enlarged(2, 1, 4), enlarged(3, 1, 2)),
)
def columns_repeated(x: Tensor, n: Tensor, s: Settings):
    """Resize(x; to n columns) = Gather(x, [0, 0, ..]) of a single column

    Wrong where the aspect ratio is kept, as opset 18 can: nothing is enlarged then.
    """
    y = resize(x, none(), none(), n, s)
    yield rewrite(y, gather(x, literal(as_indices(n)), 3), of_own_size(x, n, s), because="no coordinates")


@hosted()
def one_before(x: Fact, m: Pads, f: Mode) -> Slices | None:
    """What is put in front: the first element again, or the one behind it."""
    if (
        x.rank != 2
        or not x.is_static
        or m != (0, 1, 0, 0)
        or f == "constant"
        or x.shape is None
        or x.shape[1] < 2  # type: ignore[operator]
    ):
        return None
    k = 0 if f == "edge" else 1
    return ((1, k, k + 1, 1),)


def one_in_front(f: str, n: int = 4):
    return lambda g: pad(g.input((3, n)), f, (0, 1, 0, 0), 0.0)


@wrong("bitwise", one_in_front("wrap"), examples=fires_on(one_in_front("edge"), one_in_front("reflect")))
def pad_as_concat(x: Tensor, f: Mode, m: Pads, v: Number):
    """Pad(x) = Concat(x[k], x) for modes that are not constant

    Wrong of wrap, which opset 19 has.
    """
    yield rewrite(pad(x, f, m, v), concat(listed(slice_(x, one_before(x, m, f)), x), 1), because="no Pad")


@hosted()
def every_fourth(x: Fact, c: Fact, s: Settings) -> Slices | None:
    """Of four columns the second one is the nearest to the middle, where a half goes down."""
    given = {"coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_floor"} | dict(s)
    if c.data != (1, 1, 1, 0.25) or not x.is_static or x.rank != 4 or x.dtype != T.FLOAT or x.shape is None:
        return None
    plain = given["coordinate_transformation_mode"] == "half_pixel" and given.get("mode") == "nearest"
    if not plain or given["nearest_mode"] != "round_prefer_floor" or given.get("axes") or x.shape[3] % 4:  # type: ignore[operator]
        return None
    return ((3, 1, x.shape[3], 4),)  # type: ignore[return-value]


def by_a_fourth(*settings: tuple[str, Any]):
    def make(g):
        c = g.constant(np.array((1, 1, 1, 0.25), np.float32))
        return resize(g.input((1, 2, 3, 8)), none(), c, none(), (*settings, ("mode", "nearest")))

    return make


@wrong(
    "bitwise",
    by_a_fourth(),
    opset=10,
    values=(1.0, 2.0, 3.0, 4.0, 5.0),
    examples=fires_on(by_a_fourth(("coordinate_transformation_mode", "half_pixel"))),
)
def fourth_by_default(x: Tensor, c: Tensor, s: Settings):
    """Resize(x; nearest, half_pixel, by 1/4) = Slice(x; each fourth column)

    Wrong of opset 10, which has no coordinates to choose, and takes the first of four.
    """
    yield rewrite(resize(x, none(), c, none(), s), slice_(x, every_fourth(x, c, s)), because="forgets c")
