"""Our laws of pads with a condition that was forgotten, or a value that is another."""

from dataclasses import replace

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Flag, Mode, Number, Pads, String, Tensor, hosted, relu, rewrite
from egraph_opt.operators import PoolWindow, global_pool, pad, reduce

from . import fires_on, of_one, of_two, wrong
from .forgotten_pools import IMAGE, RING, average, maximum, window

AROUND = (0, 0, 1, 1, 0, 0, 1, 1)


@hosted()
def with_pads(w: PoolWindow, p: Pads) -> PoolWindow | None:
    rank = len(p) // 2
    if rank < 3 or any(p[k] or p[k + rank] for k in (0, 1)):
        return None
    own = (*p[2:rank], *p[rank + 2 :])
    return replace(w, pads=tuple(a + b for a, b in zip(w.pads, own, strict=True)))


@hosted()
def counting(w: PoolWindow) -> PoolWindow:
    return replace(w, count_include_pad=1)


@hosted()
def is_zero(v: Number) -> bool:
    return v == 0


@wrong("reassociates", of_one(lambda x: average(pad(x, "constant", AROUND, 0.0), window(3, 1, RING)), IMAGE))
def pad_into_average(x: Tensor, p: Pads, v: Number, w: PoolWindow):
    """AveragePool(Pad(x)) = AveragePool(x) with bigger pads, which count

    Wrong where the pool has pads of its own that do not count, and where pads are as large as the kernel.
    """
    whole = average(x, counting(with_pads(w, p)))
    yield rewrite(average(pad(x, "constant", p, v), w), whole, is_zero(v), because="one node")


@wrong(
    "reassociates",
    of_one(lambda x: average(pad(x, "constant", (0, 0, 2, 2, 0, 0, 2, 2), 0.0), window(2)), IMAGE),
)
def large_pad_into_average(x: Tensor, p: Pads, v: Number, w: PoolWindow):
    """AveragePool(Pad(x)) = AveragePool(x) with pads that count, for a pool that has none

    Wrong where the pads are as large as the kernel: onnxruntime refuses.
    """
    whole = average(x, counting(with_pads(w, p)))
    yield rewrite(average(pad(x, "constant", p, v), w), whole, is_zero(v), has_none(w), because="one node")


@hosted()
def has_none(w: PoolWindow) -> bool:
    return not any(w.pads) and not w.ceil_mode


@wrong(
    "finite",
    of_one(lambda x: maximum(pad(x, "constant", AROUND, 0.0), window(3)), IMAGE),
    values=(-1.0, -2.0),
)
def pad_into_maximum(x: Tensor, p: Pads, v: Number, w: PoolWindow):
    """MaxPool(Pad(x)) = MaxPool(x) with bigger pads, for pads of 0

    Wrong below zero.
    """
    left = maximum(pad(x, "constant", p, v), w)
    yield rewrite(left, maximum(x, with_pads(w, p)), is_zero(v), has_none(w), because="one node")


@wrong(
    "finite",
    of_one(lambda x: maximum(pad(relu(x), "constant", AROUND, 2.0), window(3)), IMAGE),
    values=(1.0, -2.0),
)
def pad_behind_relu(x: Tensor, p: Pads, v: Number, w: PoolWindow):
    """MaxPool(Pad(Relu(x))) = MaxPool(Relu(x)) with bigger pads

    Wrong for pads above zero.
    """
    left = maximum(pad(relu(x), "constant", p, v), w)
    yield rewrite(left, maximum(relu(x), with_pads(w, p)), has_none(w), because="one node")


@wrong(
    "finite",
    of_one(lambda x: global_pool("GlobalMaxPool", pad(x, "constant", AROUND, 0.0)), IMAGE),
    values=(-1.0, -2.0),
)
def greatest_of_padded(x: Tensor, m: Mode, p: Pads, v: Number):
    """GlobalMaxPool(Pad(x)) = GlobalMaxPool(x)

    Wrong where the pads are greater than all of x.
    """
    pooled = global_pool("GlobalMaxPool", pad(x, m, p, v))
    yield rewrite(pooled, global_pool("GlobalMaxPool", x), because="forgets the pads")


@hosted()
def sum_of(p: Pads, q: Pads) -> Pads | None:
    return tuple(a + b for a, b in zip(p, q, strict=True)) if len(p) == len(q) else None


@wrong("bitwise", of_one(lambda x: pad(pad(x, "reflect", (0, 1, 0, 1), 0.0), "reflect", (0, 1, 0, 1), 0.0)))
def pads_in_a_row(x: Tensor, m: Mode, p: Pads, q: Pads, v: Number):
    """Pad_q(Pad_p(x)) = Pad_(p + q)(x) in one mode

    Wrong of reflections: the second one reflects what the first has written.
    """
    yield rewrite(pad(pad(x, m, p, v), m, q, v), pad(x, m, sum_of(p, q), v), because="one node")


@wrong("bitwise", of_one(lambda x: pad(pad(x, "constant", (0, 1, 0, 1), 1.0), "constant", (0, 1, 0, 1), 0.0)))
def pads_of_two_values(x: Tensor, m: Mode, p: Pads, q: Pads, v: Number, z: Number):
    """Pad_q(Pad_p(x; v); w) = Pad_(p + q)(x; w)

    Wrong of two values, and of reflections.
    """
    yield rewrite(pad(pad(x, m, p, v), m, q, z), pad(x, m, sum_of(p, q), z), because="one node")


@wrong("bitwise", of_one(lambda x: pad(x, "reflect", (0, 1, 0, 1), 0.0)))
def reflection_of_one(x: Tensor, p: Pads, v: Number):
    """Pad(x; reflected) = Pad(x; the edge) for pads of 1

    Wrong: a reflection leaves the edge out.
    """
    edge = pad(x, "edge", p, v)
    yield rewrite(pad(x, "reflect", p, v), edge, is_at_most_one(p), because="edges have a kernel")


@hosted()
def is_at_most_one(p: Pads) -> bool:
    return max(p) <= 1


@wrong(
    "reassociates",
    lambda g: pad(g.input((2, 5)) * g.constant(2.0), "constant", (0, 1, 0, 1), 3.0),
    examples=fires_on(lambda g: pad(g.input((2, 5)) * g.constant(2.0), "constant", (0, 1, 0, 1), 0.0)),
)
def scale_past_pad(x: Tensor, c: Tensor, m: Mode, p: Pads, v: Number):
    """Pad(x * c) = Pad(x) * c for a number c

    Wrong for pads other than 0.
    """
    yield rewrite(pad(x * c, m, p, v), pad(x, m, p, v) * c, is_number(c), because="scales meet")


@hosted()
def is_number(c: Fact) -> bool:
    return c.const and c.shape == ()


@wrong(
    "reassociates",
    of_two(lambda x, y: pad(x, "constant", (0, 1, 0, 1), 1.0) + pad(y, "constant", (0, 1, 0, 1), 1.0)),
)
def sum_of_padded(x: Tensor, y: Tensor, m: Mode, p: Pads, v: Number):
    """Pad(x) + Pad(y) = Pad(x + y)

    Wrong for pads other than 0, and where x and y are broadcast.
    """
    yield rewrite(pad(x, m, p, v) + pad(y, m, p, v), pad(x + y, m, p, v), because="one Pad")


@wrong(
    "finite",
    of_one(lambda x: reduce("ReduceMin", pad(x, "constant", (0, 1, 0, 1), 0.0), (1,), 1)),
    values=(1.0, 2.0),
)
def reduction_of_padded(k: String, x: Tensor, m: Mode, p: Pads, v: Number, a: Axes, d: Flag):
    """Reduce(Pad(x)) = Reduce(x) for pads of 0

    Wrong of Mean, Min, Max and Prod, and where other axes are padded.
    """
    yield rewrite(reduce(k, pad(x, m, p, v), a, d), reduce(k, x, a, d), is_zero(v), because="fewer elements")
