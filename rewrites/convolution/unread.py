"""What no window reaches need not be cut off.

Conv(x[:m], W, b) -> Conv(x, W, b)       where less than a step is cut off, and nothing is padded
Pool(x[:m]) -> Pool(x)                   likewise
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Slices, String, Tensor
from egraph_opt.operators import ConvWindow, PoolWindow, conv, none, pool, slice_
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.slicing.slice import dim_at, taken_by

law = laws_of("convolution", numerics="reassociates", kind="eliminate", serves="traffic", source="algebra")

LOST = "forgets what was cut off"


def _reads_no_more(x: Fact, spec: Slices, kernel: tuple[int, ...], window: ConvWindow | PoolWindow) -> bool:
    """Windows of a kernel are as many of x as of a slice of x, which is cut behind alone."""
    axes = len(kernel)
    for axis, start, end, step in spec:
        size, k = dim_at(x, axis), axis - 2
        if not 0 <= k < axes or start != 0 or step != 1 or not isinstance(size, int) or window.pads[k + axes]:
            return False
        length = (kernel[k] - 1) * window.dilations[k] + 1 - window.pads[k]
        part = len(taken_by((axis, start, end, step), size))
        if part < length or (part - length) // window.strides[k] != (size - length) // window.strides[k]:
            return False
    return bool(spec)


@hosted()
def reads_no_more(x: Fact, spec: Slices, w: Fact, window: ConvWindow) -> bool:
    kernel = None if w.shape is None else w.shape[2:]
    if kernel is None or len(kernel) != len(window.strides) or not all(isinstance(n, int) for n in kernel):
        return False
    return _reads_no_more(x, spec, kernel, window)  # type: ignore[arg-type]


def _convolutions(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 4, 11, 6)), g.random(5, 4, 3, 2), g.random(5)
    steps = ConvWindow((3, 2), (0,) * 4, (1, 1))
    early, spread = ConvWindow((3, 2), (2, 1, 0, 0), (1, 1)), ConvWindow((4, 1), (0,) * 4, (2, 1))
    yield from g.all_fire(
        conv(slice_(x, ((2, 0, 9, 1),)), w, b, steps),
        conv(slice_(x, ((2, 0, 10, 1),)), w, none(), early),
        conv(slice_(x, ((2, 0, 9, 1),)), w, none(), spread),
    )
    yield from g.near_misses(
        (conv(slice_(x, ((2, 0, 8, 1),)), w, b, steps), "a window less"),
        (conv(slice_(x, ((2, 1, 10, 1),)), w, b, steps), "it begins later"),
        (conv(slice_(x, ((2, 0, 9, 1),)), w, b, ConvWindow((3, 2), (0, 0, 1, 0), (1, 1))), "zeros behind"),
        (conv(slice_(x, ((2, 0, 9, 1),)), w, b, PLAIN), "every row is read"),
        (conv(slice_(g.input((1, 4, "L", 6)), ((2, 0, 9, 1),)), w, b, steps), "how long it is is not known"),
    )


@law(examples=_convolutions)
def cut_before_convolution(x: Tensor, s: Slices, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x[:m], W, b) = Conv(x, W, b) where no window reaches what is cut off"""
    known = reads_no_more(x, s, w, u), guard(varies(x))
    yield rewrite(conv(slice_(x, s), w, b, u), conv(x, w, b, u), *known, because=LOST)


@hosted()
def pools_no_more(x: Fact, spec: Slices, window: PoolWindow) -> bool:
    return not window.ceil_mode and _reads_no_more(x, spec, window.kernel, window)


def _pools(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 4, 11, 6))
    steps = PoolWindow((3, 2), (3, 2), (0,) * 4, (1, 1))
    for kind in ("MaxPool", "AveragePool"):
        yield g.fires(pool(kind, slice_(x, ((2, 0, 9, 1),)), steps))
        yield g.near_miss(pool(kind, slice_(x, ((2, 0, 8, 1),)), steps), why="a window less")
        yield g.near_miss(pool(kind, slice_(x, ((1, 0, 2, 1),)), steps), why="channels")
    part = PoolWindow((3, 2), (3, 2), (0,) * 4, (1, 1), ceil_mode=True)
    yield g.near_miss(
        pool("MaxPool", slice_(x, ((2, 0, 9, 1),)), part), why="the last window is a part of one"
    )


@law(examples=_pools)
def cut_before_pool(kind: String, x: Tensor, s: Slices, w: PoolWindow):
    """Pool(x[:m]) = Pool(x) where no window reaches what is cut off"""
    known = pools_no_more(x, s, w), guard(varies(x))
    yield rewrite(pool(kind, slice_(x, s), w), pool(kind, x, w), *known, because=LOST)
