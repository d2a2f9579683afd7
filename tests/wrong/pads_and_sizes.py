"""Pads that meet other pads or a window, symbols that are 1, or longer than any axis that one thinks of."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws import Dims, Mode, Number, Pads, Slices, Tensor, hosted, relu, rewrite
from egraph_opt.operators import PoolWindow, expand, pad, pool, slice_
from egraph_opt.rewrites.conditions.values import all_are, is_of_type

from . import fires_on, of_one, wrong

FLOAT = TensorProto.FLOAT

# --- pads -------------------------------------------------------------------------------------------------


@hosted()
def with_pads(w: PoolWindow, p: Pads) -> PoolWindow | None:
    """The window with more pads, all of them shorter than the kernel."""
    half = len(p) // 2
    if half < 3 or any((*p[:2], *p[half : half + 2])) or w.ceil_mode:
        return None
    pixels = (*p[2:half], *p[half + 2 :])
    pads = tuple(a + b for a, b in zip(w.pads, pixels, strict=True))
    if any(a >= b for a, b in zip(pads, (*w.kernel, *w.kernel), strict=True)):
        return None
    return PoolWindow(w.kernel, w.strides, pads, w.dilations)


@hosted()
def pads_zeros_to_pixels(v: Number, x: Fact) -> bool:
    """Zeros are added to images that have pixels."""
    if v != 0 or x.shape is None:
        return False
    return all(isinstance(d, int) and d > 0 for d in x.shape[2:])


RING = (0, 0, 1, 1, 0, 0, 1, 1)


def padded_first(w: PoolWindow):
    return lambda x: pool("MaxPool", pad(relu(x), "constant", RING, 0.0), w)


@wrong(
    "reassociates",
    of_one(padded_first(PoolWindow((2, 2), (1, 1), (0, 0, 0, 0), (3, 3))), (1, 1, 2, 2)),
    examples=fires_on(of_one(padded_first(PoolWindow((3, 3), (2, 2), (0,) * 4, (1, 1))), (1, 2, 5, 5))),
)
def pad_into_max(x: Tensor, p: Pads, v: Number, w: PoolWindow):
    """MaxPool(Pad(Relu(x))) = MaxPool(Relu(x)) with more pads

    Wrong where a dilated window has no pixel: the greatest of nothing is the least float, not 0.
    """
    apart = pool("MaxPool", pad(relu(x), "constant", p, v), w)
    known = (pads_zeros_to_pixels(v, x), is_of_type(x, FLOAT))
    yield rewrite(apart, pool("MaxPool", relu(x), with_pads(w, p)), known, because="a pool pads by itself")


@hosted()
def on_other_sides(m: Mode, p: Pads, q: Pads) -> Pads | None:
    """Both pads of reflections, where no side has two."""
    if m != "reflect" or len(p) != len(q) or any(a and b for a, b in zip(p, q, strict=True)):
        return None
    return tuple(a + b for a, b in zip(p, q, strict=True))


def padded_twice(mode: str, p: tuple[int, ...], q: tuple[int, ...]):
    return lambda x: pad(pad(x, mode, p, 0.0), mode, q, 0.0)


@wrong(
    "bitwise",
    of_one(padded_twice("reflect", (1, 0), (0, 4)), (4,)),
    examples=fires_on(of_one(padded_twice("reflect", (0, 1, 0, 0), (0, 0, 0, 2)), ("N", 4))),
)
def reflections_meet(x: Tensor, m: Mode, p: Pads, q: Pads, v: Number, w: Number):
    """Pad(Pad(x)) = Pad(x) of reflections on other sides

    Wrong where the second one is as long as x: it reflects what the first one added.
    """
    once = pad(x, m, on_other_sides(m, p, q), v)
    yield rewrite(pad(pad(x, m, p, v), m, q, w), once, because="forgets p")


@hosted()
def unless_reflected(m: Mode, p: Pads, q: Pads, v: Number, w: Number) -> Pads | None:
    """Both pads, of one value."""
    if m == "reflect" or len(p) != len(q) or v != w or np.signbit(v) != np.signbit(w):
        return None
    return tuple(a + b for a, b in zip(p, q, strict=True))


@wrong(
    "bitwise",
    of_one(padded_twice("wrap", (1, 0), (1, 0)), (4,)),
    examples=fires_on(of_one(padded_twice("edge", (0, 1, 0, 0), (0, 1, 0, 2)), ("N", 4))),
)
def borders_meet(x: Tensor, m: Mode, p: Pads, q: Pads, v: Number, w: Number):
    """Pad(Pad(x)) = Pad(x) in modes other than reflect

    Wrong in the mode wrap: the second one goes on behind what the first one added.
    """
    once = pad(x, m, unless_reflected(m, p, q, v, w), v)
    yield rewrite(pad(pad(x, m, p, v), m, q, w), once, because="forgets p")


# --- sizes ------------------------------------------------------------------------------------------------


@hosted()
def ends_beyond_4096(s: Slices) -> bool:
    return all(start == 0 and step == 1 and (end is None or end >= 4096) for _, start, end, step in s)


@wrong(
    "bitwise",
    of_one(lambda x: slice_(x, ((0, 0, 4096, 1),)), ("N",)),
    sizes={"N": 5000},
    examples=fires_on(of_one(lambda x: slice_(x, ((0, 0, 1000000, 1),)), ("N", 3))),
)
def far_end(x: Tensor, s: Slices):
    """Slice(x, 0, n) = x for an n of 4096 and more

    Wrong of longer axes, which symbolic dims may be.
    """
    yield rewrite(slice_(x, s), x, ends_beyond_4096(s), because="any x is a slice of itself")


# --- symbols that are 1 -----------------------------------------------------------------------------------


def may_fit(dims: Shape | None, known: Shape | None) -> bool:
    """Each of the dims is 1, the dim that is known, or next to a symbol."""
    if dims is None or known is None or len(dims) > len(known):
        return False
    pairs = zip(dims, known[len(known) - len(dims) :], strict=True)
    return all(a == 1 or a == b or isinstance(b, str) for a, b in pairs)


@hosted()
def may_fit_symbols(c: Fact, x: Fact) -> bool:
    return may_fit(c.shape, x.shape)


@wrong(
    "bitwise",
    lambda g: g.input(("N", 3)) * g.constant([[1.0], [1.0]]),
    sizes={"N": 1},
    examples=fires_on(lambda g: g.input(("N", 3)) * g.constant([[1.0, 1.0, 1.0]])),
)
def times_ones(x: Tensor, c: Tensor):
    """x * c = x for a c of ones that fits x, where a symbol fits everything

    Wrong where N is 1 and c has more rows.
    """
    known = (all_are(c, 1), may_fit_symbols(c, x), is_of_type(x, FLOAT))
    yield rewrite(x * c, x, known, because="any x has such a product")


@hosted()
def has_dims_of(x: Fact, d: Dims) -> bool:
    return may_fit(d, x.shape)


@wrong(
    "bitwise",
    of_one(lambda x: expand(x, (2, 3)), ("N", 3)),
    sizes={"N": 1},
    examples=fires_on(of_one(lambda x: expand(x, (1, 3)), ("N", 3))),
)
def expanded_to_batch(x: Tensor, d: Dims):
    """Expand(x) = x to dims that x has, where a symbol is any dim

    Wrong where N is 1 and the dim that is asked for is not.
    """
    yield rewrite(expand(x, d), x, has_dims_of(x, d), because="any x can be expanded to its own dims")
