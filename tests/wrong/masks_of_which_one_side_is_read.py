"""Constants of which one of two is asked, or columns where rows count."""

import math

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import (
    Literal,
    concat,
    dequantize,
    literal,
    none,
    output,
    recurrent,
    reshape,
    slice_,
    softmax,
    unary,
    where,
)
from egraph_opt.operators.recurrent import RecurrentLayer
from egraph_opt.operators.rotary import rotary, settings_of

from . import fires_on, wrong

# --- masks -----------------------------------------------------------------------------------------------


@hosted()
def no_number(c: Fact, m: Fact, x: Fact) -> Literal | None:
    """-infinity for the lowest number, where a constant mask leaves something everywhere."""
    if not c.const or c.data is None or c.rank != 2 or c.shape != x.shape or not c.is_static:
        return None
    if x.dtype != T.FLOAT or m.splat is None or m.rank or m.splat > -1e37 or m.splat == -math.inf:
        return None
    kept = np.array(c.data, bool).reshape(c.shape).any(axis=0)  # type: ignore[arg-type]
    return Literal(T.FLOAT, (), (-math.inf,)) if kept.all() else None


LOWEST = float(np.finfo(np.float32).min)


def lowest(mask: list[list[bool]]):
    def make(g):
        x = g.input((len(mask), len(mask[0])))
        return softmax("Softmax", where(g.constant(np.array(mask)), x, g.constant(LOWEST)), 1)

    return make


@wrong(
    "finite",
    lowest([[True, True], [False, False], [True, False]]),
    examples=fires_on(
        lowest([[True, False, False], [True, True, False], [True, True, True]]),
        lowest([[True, True], [False, True]]),
    ),
)
def infinity_for_the_lowest(x: Tensor, c: Tensor, m: Tensor):
    """Softmax(Where(c, x, lowest)) = Softmax(Where(c, x, -inf)) where each row has something left

    Wrong where rows have nothing: it is columns that are asked.
    """
    given = softmax("Softmax", where(c, x, m), 1)
    yield rewrite(given, softmax("Softmax", where(c, x, literal(no_number(c, m, x))), 1), because="lower")


# --- angles ----------------------------------------------------------------------------------------------


@hosted()
def halves(x: Fact, c: Fact, s: Fact, t: Slices, r: Slices) -> tuple[Slices, Dims] | None:
    """The first half of angles that are there twice, and their dims."""
    if not x.is_static or x.shape is None or len(x.shape) != 4 or x.shape[0] != 1 or x.dtype != T.FLOAT:
        return None
    length, d = x.shape[2:]
    if c.shape != (length, d) or s.shape != c.shape or c.twice != "halves" or not s.const or d % 2:  # type: ignore[operator]
        return None
    n = d // 2  # type: ignore[operator]
    if t != ((3, 0, n, 1),) or r != ((3, n, d, 1),) or n % 8 or s.dtype != c.dtype or c.dtype != T.FLOAT:
        return None
    return ((1, 0, n, 1),), (1, length, n)


def turned(length: int, d: int, doubled: bool = True):
    def make(g):
        x, n = g.input((1, 2, length, d)), d // 2
        angles = np.linspace(0, 3, length * n, dtype=np.float32).reshape(length, n)
        cosines = np.concatenate([np.cos(angles)] * 2, 1)
        sines = np.concatenate([np.sin(angles), np.sin(angles if doubled else 2 * angles)], 1)
        first, second = (slice_(x, ((3, *part, 1),)) for part in ((0, n), (n, d)))
        beside = concat(listed(unary("Neg", (), second), first), 3)
        return x * g.constant(cosines) + beside * g.constant(sines)

    return make


@wrong(
    "reassociates", turned(3, 16, False), opset=23, examples=fires_on(turned(3, 16), turned(2, 32), opset=23)
)
def rotation_by_first_half(x: Tensor, c: Tensor, s: Tensor, t: Slices, r: Slices):
    """x * [c, c] + Concat(-b, a) * [s, s] = Rotary(x, c, s), a and b the halves of x

    Wrong where sines are others in the second half: cosines alone are asked.
    """
    both = x * c + concat(listed(unary("Neg", (), slice_(x, r)), slice_(x, t)), 3) * s
    how = halves(x, c, s, t, r)
    angles = (reshape(slice_(v, how[0]), how[1]) for v in (c, s))
    yield rewrite(both, rotary(x, *angles, plain_settings()), because="one")


@hosted()
def plain_settings() -> tuple[tuple[str, int], ...]:
    return settings_of(0)


# --- zeros -----------------------------------------------------------------------------------------------


@hosted()
def is_one_zero(z: Fact, u: Fact, a: Axis, b: Axis, s: Fact) -> bool:
    """Zero points of one type and number, and scales along another axis than parts."""
    if z.dtype != u.dtype or z.shape != u.shape or z.splat != u.splat or s.dtype != T.FLOAT:
        return False
    return a != b or s.rank == 0


def joined_bytes(zeros: list[int], others: list[int]):
    def make(g):
        scale = g.constant(np.linspace(0.1, 0.4, len(zeros)).astype(np.float32))
        parts = []
        for n, zero in ((2, zeros), (3, others)):
            q = g.input((n, len(zeros)), T.UINT8)
            parts.append(dequantize(q, scale, g.constant(np.array(zero, np.uint8)), 1))
        return concat(listed(*parts), 0)

    return make


@wrong(
    "bitwise",
    joined_bytes([0, 3, 5], [1, 2, 3]),
    examples=fires_on(joined_bytes([0, 0, 0], [0, 0, 0]), joined_bytes([128, 128], [128, 128])),
)
def bytes_of_one_zero(q: Tensor, r: Tensor, s: Tensor, z: Tensor, u: Tensor, a: Axis, b: Axis):
    """Concat(DQ(q; s, z), DQ(r; s, u)) = DQ(Concat(q, r); s, z) of equal zero points

    Wrong where they differ from part to part: then neither is one number, which is taken for equal.
    """
    apart = concat(listed(dequantize(q, s, z, b), dequantize(r, s, u, b)), a)
    joined = dequantize(concat(listed(q, r), a), s, z, b)
    yield rewrite(apart, joined, is_one_zero(z, u, a, b, s), because="one of both")


# --- peepholes -------------------------------------------------------------------------------------------


@hosted()
def sees_nothing(p: Fact) -> bool:
    """The weights of peepholes are zeros: those of the gate that comes first."""
    if p.splat is not None:
        return p.splat == 0
    return p.data is not None and not any(p.data[: len(p.data) // 3])


def with_peepholes(*p: float):
    def make(g):
        weights = (
            g.random(1, 8, 3),
            g.random(1, 8, 2),
            g.random(1, 16),
            g.constant(np.array([p], np.float32)),
        )
        layer = RecurrentLayer("LSTM", (("direction", "forward"), ("hidden_size", 2)))
        return output(recurrent(g.input((5, 4, 3)), listed(*weights), none(), none(), none(), layer), 0)

    return make


@wrong("finite", with_peepholes(0, 0, 0.5, -1, 0.25, 1), examples=fires_on(with_peepholes(0, 0, 0, 0, 0, 0)))
def layer_without_peepholes(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer
):
    """LSTM(x; peepholes) = LSTM(x) where their weights are 0

    Wrong where those of the first gate are and others are not.
    """
    given, plain = (recurrent(x, listed(w, r, b, v), n, h, c, s) for v in (p, none()))
    for k in (0, 1, 2):
        yield rewrite(output(given, k), output(plain, k), sees_nothing(p), because="forgets p")
