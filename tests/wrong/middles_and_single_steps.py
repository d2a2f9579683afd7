"""Parts in the middle, letters that are met again, and gates that look at a cell of one step."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Equation, Int, Settings, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.laws.examples import FLOAT
from egraph_opt.operators import blockwise, concat, einsum, matmul, none, output, recurrent, slice_
from egraph_opt.operators.recurrent import RecurrentLayer

from . import fires_on, wrong
from .layers_with_settings import last, layer


@hosted()
def are_phases(x: Fact, a: Axis, s: Slices, t: Slices, u: Slices, v: Slices) -> Settings | None:
    sides = [d for d in x.shape[2:] if isinstance(d, int) and d % 2 == 0] if x.shape is not None else []
    if a != 1 or x.dtype != FLOAT or x.rank != 4 or not x.is_static or len(sides) != 2:
        return None
    for cut in (s, t, u, v):
        if [axis for axis, *_ in cut] != [2, 3] or any(step != 2 for *_, step in cut):
            return None
        if any(end is None or end < side - 1 for (_, _, end, _), side in zip(cut, sides, strict=True)):
            return None
    starts = [tuple(start for _, start, *_ in cut) for cut in (s, t, u, v)]
    in_order = starts[0] == (0, 0) and starts[3] == (1, 1) and len(set(starts)) == 4
    return (("blocksize", 2),) if in_order else None


def _phases(*order, n=4):
    def make(g):
        x = g.input((1, 2, n, n))
        return concat(listed(*(slice_(x, ((2, i, n - 1 + i, 2), (3, j, n - 1 + j, 2))) for i, j in order)), 1)

    return make


@wrong(
    "bitwise",
    _phases((0, 0), (1, 0), (0, 1), (1, 1)),
    examples=fires_on(_phases((0, 0), (0, 1), (1, 0), (1, 1))),
)
def phases_as_channels(x: Tensor, a: Axis, s: Slices, t: Slices, u: Slices, v: Slices):
    """Concat(x[::2, ::2], x[::2, 1::2], x[1::2, ::2], x[1::2, 1::2]) = SpaceToDepth(x)

    Wrong where rows come first.
    """
    parts = listed(slice_(x, s), slice_(x, t), slice_(x, u), slice_(x, v))
    yield rewrite(concat(parts, a), blockwise("SpaceToDepth", x, are_phases(x, a, s, t, u, v)), because="one")


@hosted()
def is_chain(e: Equation, x: Fact, y: Fact, z: Fact) -> bool:
    if x.dtype != FLOAT or not (x.is_static and y.is_static and z.is_static):
        return False
    if x.shape is None or y.shape is None or z.shape is None or {x.rank, y.rank, z.rank} != {2}:
        return False
    if x.shape[1] != y.shape[0] or y.shape[1] != z.shape[0] or "..." in e or "->" not in e:
        return False
    left, out = e.split("->")
    a, b, c, *_ = (*left.split(","), "", "", "")
    return len(left) == 8 and a[1:] == b[:1] and b[1:] == c[:1] and out == a[:1] + c[1:]


def _chain(e, *shapes):
    return lambda g: einsum(e, listed(*(g.input(s) for s in shapes)))


@wrong(
    "reassociates",
    _chain("ij,ji,ik->ik", (3, 3), (3, 3), (3, 3)),
    examples=fires_on(
        _chain("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), _chain("ab,bc,cd->ad", (2, 3), (3, 4), (4, 2))
    ),
)
def chain_of_letters(e: Equation, x: Tensor, y: Tensor, z: Tensor):
    """Einsum(x, y, z; "ij,jk,kl->il") = (x @ y) @ z

    Wrong where one letter is met again.
    """
    yield rewrite(
        einsum(e, listed(x, y, z)), matmul(matmul(x, y), z), is_chain(e, x, y, z), because="products"
    )


@hosted()
def is_single_step(u: RecurrentLayer, x: Fact) -> bool:
    return u.kind == "LSTM" and x.shape is not None and x.shape[0] == 1


@wrong(
    "reassociates", lambda g: last(layer(g, "LSTM", steps=1, bias=g.random(1, 16), peepholes=g.random(1, 6)))
)
def peepholes_of_a_single_step(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, h: Tensor, u: RecurrentLayer, k: Int
):
    """LSTM(x; peepholes) = LSTM(x) of one step without a cell state

    Wrong as the output gate looks at the new one.
    """
    yield rewrite(
        output(recurrent(x, listed(w, r, b, p), none(), h, none(), u), k),
        output(recurrent(x, listed(w, r, b, none()), none(), h, none(), u), k),
        is_single_step(u, x),
        because="forgets",
    )
