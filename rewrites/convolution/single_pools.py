"""Pools of one element.

Pool(x; kernel 1, stride 1) -> x
Pool(x; kernel 1, stride s) -> Slice(x; step s)
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.sorts import Slices, String, Tensor
from egraph_opt.operators import PoolWindow, pool, slice_


@hosted()
def sees_one_element(window: PoolWindow) -> bool:
    """Kernels of 1, and no pads."""
    return all(k == 1 for k in window.kernel) and not any(window.pads)


@hosted()
def visits_all(window: PoolWindow) -> bool:
    return all(s == 1 for s in window.strides)


@hosted()
def steps_of(window: PoolWindow) -> Slices | None:
    """The elements that are visited; None where these are all, or it is open how many there are."""
    if window.ceil_mode:
        return None
    return tuple((axis, 0, None, s) for axis, s in enumerate(window.strides, 2) if s != 1) or None


def _window(kernel: tuple[int, ...], strides: tuple[int, ...], pads: int = 0, **more: int) -> PoolWindow:
    ones = (1,) * len(kernel)
    return PoolWindow(kernel, strides, (pads,) * (2 * len(kernel)), ones, **more)


def _single(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, row = g.input(("N", 3, "L", 5)), g.input((2, 3, 7))
    for kind in ("AveragePool", "MaxPool"):
        yield g.fires(pool(kind, x, _window((1, 1), (1, 1))))
        yield g.fires(pool(kind, row, _window((1,), (2,))))
        yield g.fires(pool(kind, x, _window((1, 1), (1, 3), count_include_pad=1)))
    yield g.fires(pool("MaxPool", row, _window((1,), (1,), ceil_mode=1)))
    yield from g.near_misses(
        (pool("MaxPool", x, _window((1, 2), (1, 1))), "two elements"),
        (pool("AveragePool", x, _window((1, 1), (1, 1), 1)), "it pads"),
        (pool("MaxPool", row, _window((1,), (3,), ceil_mode=1)), "a last window behind the end"),
    )


@law("pooling", numerics="finite", kind="eliminate", serves="traffic", examples=_single)
def of_single_elements(kind: String, x: Tensor, w: PoolWindow):
    """Pool(x; kernel 1) = x, or Slice(x; step s) where it strides

    Not bitwise: a runtime begins a maximum at the least number of its type, which -infinity and NaN are not.
    """
    pooled, one = pool(kind, x, w), sees_one_element(w)
    yield rewrite(pooled, x, one, visits_all(w), because="every x is a pool of itself")
    yield rewrite(pooled, slice_(x, steps_of(w)), one, because="a Slice has no kernel of 1")
