"""Pads that are mirrored, go round, or are another number than 0."""

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Mode, Number, Pads, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import concat, pad, slice_

from . import fires_on, of_one, wrong
from .sums_without_their_own_element import length_along


@hosted()
def pads_of_both(m: Mode, p: Pads, q: Pads) -> Pads | None:
    """What is not mirrored may be padded at once."""
    return None if m == "reflect" else tuple(a + b for a, b in zip(p, q, strict=True))


def padded_twice(mode: str):
    return of_one(lambda x: pad(pad(x, mode, (0, 1, 0, 1), 0.0), mode, (0, 1, 0, 0), 0.0), (2, 4))


@wrong("bitwise", padded_twice("wrap"), examples=fires_on(padded_twice("edge"), padded_twice("constant")))
def wrapped_pads_in_a_row(x: Tensor, m: Mode, p: Pads, q: Pads, v: Number):
    """Pad(Pad(x)) = Pad(x) of the pads of both, but for mirrored ones

    Wrong where it begins anew at the other end.
    """
    yield rewrite(pad(pad(x, m, p, v), m, q, v), pad(x, m, pads_of_both(m, p, q), v), because="one Pad")


@hosted()
def halves(m: Mode, p: Pads, x: Fact, a: Axis, first: int) -> Pads | None:
    """The pads of what comes first, without those behind it, or of what comes last."""
    n = len(p) // 2
    if m == "wrap" or not x.is_static or 0 in (x.shape or ()):
        return None
    return tuple(0 if k == (a + n if first else a) else q for k, q in enumerate(p))


def padded_pair(mode: str, n: int, m: int, p: tuple[int, int]):
    def make(g):
        return pad(concat(listed(g.input((2, n)), g.input((2, m))), 1), mode, (0, p[0], 0, p[1]), 0.0)

    return make


@wrong(
    "bitwise",
    padded_pair("reflect", 2, 4, (3, 1)),
    examples=fires_on(
        padded_pair("reflect", 4, 5, (2, 3)),
        padded_pair("edge", 1, 2, (2, 2)),
        padded_pair("constant", 2, 2, (1, 0)),
    ),
)
def pads_of_joined(x: Tensor, y: Tensor, a: Axis, m: Mode, p: Pads, v: Number):
    """Pad(Concat(x, y)) = Concat(Pad(x), Pad(y)), each at its end

    Wrong where mirrored pads are longer than what they are beside.
    """
    one, other = pad(x, m, halves(m, p, x, a, 1), v), pad(y, m, halves(m, p, y, a, 0), v)
    yield rewrite(pad(concat(listed(x, y), a), m, p, v), concat(listed(one, other), a), because="apart")


@hosted()
def pads_of_zeros(m: Mode, p: Pads, t: Slices, u: Slices, x: Fact, y: Fact) -> Axis | None:
    """The only axis that is padded, of which all but the first and all but the last elements are taken."""
    rank = len(p) // 2
    found = {k % rank for k, q in enumerate(p) if q}
    if m == "constant" or len(found) != 1 or not x.is_static or not y.is_static or x.dtype != T.FLOAT:
        return None
    (a,) = found
    n = y.shape[a]  # type: ignore[index]
    apart = t == ((a, 1, n, 1),) and u == ((a, 0, n - 1, 1),)  # type: ignore[operator]
    return a if apart and x.shape[a] > 1 else None  # type: ignore[index, operator]


@hosted()
def ends_of(x: Fact, a: Axis, start: int) -> Slices | None:
    n = x.shape[a] if x.shape is not None else None
    return ((a, start, n - 1 + start, 1),) if isinstance(n, int) else None


def padded_differences(mode: str, n: int = 4, p: tuple[int, int] = (1, 2)):
    def make(g):
        y, m = pad(g.input((2, n)), mode, (0, p[0], 0, p[1]), 0.0), n + sum(p)
        return slice_(y, ((1, 1, m, 1),)) - slice_(y, ((1, 0, m - 1, 1),))

    return make


@wrong(
    "finite",
    padded_differences("reflect"),
    examples=fires_on(padded_differences("edge"), padded_differences("edge", 3, (2, 0))),
)
def differences_of_padded(x: Tensor, m: Mode, p: Pads, v: Number, t: Slices, u: Slices):
    """Pad(x)[1:] - Pad(x)[:-1] = Pad(x[1:] - x[:-1]; 0) where pads repeat what is there

    Wrong where they are not the last element again.
    """
    y = pad(x, m, p, v)
    a = pads_of_zeros(m, p, t, u, x, y)
    inside = slice_(x, ends_of(x, a, 1)) - slice_(x, ends_of(x, a, 0))
    yield rewrite(slice_(y, t) - slice_(y, u), pad(inside, "constant", p, 0.0), because="fewer")


@hosted()
def is_shifted(m: Mode, p: Pads, v: Number, t: Slices, x: Fact) -> Axis | None:
    """The axis along which one zero is put in front, and the last element is cut off."""
    found = [k for k, q in enumerate(p) if q]
    if len(found) != 1 or p[found[0]] != 1 or found[0] >= len(p) // 2 or v != 0 or x.dtype != T.FLOAT:
        return None
    return found[0] if t == ((found[0], 0, length_along(x, found[0]), 1),) else None


@hosted()
def between(a: Axis, x: Fact, start: int, less: int) -> Slices | None:
    n = length_along(x, a)
    return ((a, start, n - less, 1),) if n > 1 else None


@hosted()
def first(a: Axis) -> Slices:
    return ((a, 0, 1, 1),)


def from_before(mode: str, n: int = 5):
    def make(g):
        x = g.input((2, n))
        return x - slice_(pad(x, mode, (0, 1, 0, 0), 0.0), ((1, 0, n, 1),))

    return make


@wrong("finite", from_before("edge"), examples=fires_on(from_before("constant"), from_before("constant", 3)))
def differences_from_before(x: Tensor, m: Mode, p: Pads, v: Number, t: Slices):
    """x - Pad(x; 0 in front)[:n] = Concat(x[:1], x[1:] - x[:-1])

    Wrong where it is not a zero that is put in front.
    """
    a = is_shifted(m, p, v, t, x)
    rest = slice_(x, between(a, x, 1, 0)) - slice_(x, between(a, x, 0, 1))
    yield rewrite(
        x - slice_(pad(x, m, p, v), t), concat(listed(slice_(x, first(a)), rest), a), because="no Pad"
    )
