"""BitShift and RoiAlign, which have settings that are words."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Mode, Settings, Tensor, hosted, rewrite

from .. import fires_on, wrong
from . import roi_align, shifted


def _number(g, number: int):
    return g.constant(np.array(number, np.uint32))


def _twice(first: int, second: int, direction: str):
    def witness(g):
        x = g.input(("N", 5), T.UINT32)
        return shifted(shifted(x, _number(g, first), direction), _number(g, second), direction)

    return witness


@wrong(
    "bitwise",
    _twice(2**32 - 1, 3, "LEFT"),
    values=(1, 5),
    examples=fires_on(_twice(2, 3, "LEFT"), _twice(2, 3, "RIGHT")),
)
def shifts_together(x: Tensor, a: Tensor, b: Tensor, d: Mode):
    """(x << a) << b = x << (a + b), likewise >>

    Wrong of widths of which the sum is small, since it is beyond its type.
    """
    together = shifted(x, a + b, d)
    yield rewrite(shifted(shifted(x, a, d), b, d), together, because="forgets a")


def _sum(direction: str):
    def witness(g):
        x, y, a = g.input(("N", 5), T.UINT32), g.input(("N", 5), T.UINT32), _number(g, 1)
        return shifted(x, a, direction) + shifted(y, a, direction)

    return witness


@hosted()
def is_a_width(a: Fact, d: Mode) -> bool:
    return a.shape == () and a.splat is not None and d in ("LEFT", "RIGHT")


@wrong("bitwise", _sum("RIGHT"), values=(1, 3), examples=fires_on(_sum("LEFT")))
def sum_of_shifted(x: Tensor, y: Tensor, a: Tensor, d: Mode):
    """(x << a) + (y << a) = (x + y) << a, likewise >>

    Wrong of bits that go away to the right, and would have been carried.
    """
    one = shifted(x + y, a, d)
    yield rewrite(shifted(x, a, d) + shifted(y, a, d), one, is_a_width(a, d), because="one for two")


def _regions(mode: str, factor: float):
    settings = (("mode", mode), ("output_height", 2), ("output_width", 2), ("sampling_ratio", 2))

    def witness(g):
        boxes = g.constant(np.array([[0, 0, 4, 4], [1, 2, 7, 6]], np.float32))
        scaled = g.input((1, 2, 8, 8)) * g.constant(factor)
        return roi_align(scaled, boxes, g.constant(np.array([0, 0])), settings)

    return witness


@hosted()
def is_a_number(c: Fact) -> bool:
    return c.splat is not None and c.shape == ()


@wrong("reassociates", _regions("max", -1.0), examples=fires_on(_regions("avg", 0.5)))
def regions_of_scaled(x: Tensor, r: Tensor, p: Tensor, c: Tensor, s: Settings):
    """RoiAlign(x * c) = RoiAlign(x) * c for a number c

    Wrong of the greatest of what a negative number turns round.
    """
    behind = roi_align(x, r, p, s) * c
    yield rewrite(roi_align(x * c, r, p, s), behind, is_a_number(c), because="one way is enough")
