"""Lists of axes of which only the ends are looked at, and numbers of one element beside vectors."""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Dims, Float, String, Tensor, hosted, rewrite
from egraph_opt.laws.algebra import sqrt
from egraph_opt.operators import Literal, layer_norm, literal, reduce, reshape, rms_norm

from . import dims, fires_on, is_single, of_one, wrong


def centred(x, axes):
    return x - reduce("ReduceMean", x, axes, 1)


@hosted()
def of_one_span(a: Axes, b: Axes) -> bool:
    return a[0] == b[0] and a[-1] == b[-1]


@hosted()
def has_scales(x: Fact, s: Fact, a: Axes) -> bool:
    return x.is_static and s.is_static and s.shape == tuple(dims(x)[k] for k in a)


@wrong(
    "reassociates",
    lambda g: rms_norm(centred(g.input((2, 3, 4, 5)), (1, 3)), g.random(3, 4, 5), (1, 2, 3), 1e-5),
    opset=23,
    examples=fires_on(
        lambda g: rms_norm(centred(g.input((2, 3, 4)), (2,)), g.random(4), (2,), 1e-5),
        lambda g: rms_norm(centred(g.input((2, 3, 4)), (1, 2)), g.random(3, 4), (1, 2), 1e-5),
    ),
)
def centred_within_a_span(x: Tensor, s: Tensor, a: Axes, b: Axes, e: Float):
    """RMS_a(x - mean_b(x)) = Layer_a(x), where a and b begin and end alike

    Wrong where an axis between is in one of them only.
    """
    known = (of_one_span(a, b), has_scales(x, s, a))
    yield rewrite(rms_norm(centred(x, b), s, a, e), layer_norm(x, s, a, e), known, because="one kernel")


@hosted()
def are_last(a: Axes, b: Axes, x: Fact) -> bool:
    return x.rank is not None and a == tuple(range(a[0], x.rank)) and (b[0], b[-1]) == (a[0], a[-1])


@hosted()
def epsilon_of(e: Fact) -> Float | None:
    return float(e.splat) if e.splat is not None and e.rank == 0 and 1e-6 <= e.splat <= 1e-3 else None


@hosted()
def unit_scales(x: Fact, a: Axes) -> Literal | None:
    if not x.is_static or 0 in dims(x):
        return None
    shape = tuple(dims(x)[k] for k in a)
    return Literal(x.dtype, shape, (1.0,) * int(np.prod(shape)))


def spelled(g, shape, a, b):
    x, e = g.input(shape), g.constant(np.float32(1e-5))
    d = centred(x, a)
    return d / sqrt(reduce("ReduceMean", d * d, b, 1) + e)


@wrong(
    "reassociates",
    lambda g: spelled(g, (2, 3, 4), (0, 1, 2), (0, 2)),
    examples=fires_on(
        lambda g: spelled(g, (2, 3, 4), (2,), (2,)),
        lambda g: spelled(g, (2, 3, 4), (1, 2), (1, 2)),
        lambda g: spelled(g, (2, 3, 4, 5), (2, 3), (2, 3)),
    ),
)
def variance_within_a_span(x: Tensor, a: Axes, b: Axes, e: Tensor):
    """(x - mean_a(x)) / Sqrt(var_b + e) = Layer_a(x), where a and b begin and end alike

    Wrong where b leaves out an axis between.
    """
    d = centred(x, a)
    left = d / sqrt(reduce("ReduceMean", d * d, b, 1) + e)
    made = layer_norm(x, literal(unit_scales(x, a)), a, epsilon_of(e))
    yield rewrite(left, made, are_last(a, b, x), is_single(x), because="one kernel")


@hosted()
def are_beside(d: Dims, x: Fact, a: Axes) -> bool:
    return x.is_static and d == (*dims(x)[: a[0]], *dims(x)[a[-1] + 1 :])


@wrong(
    "bitwise",
    of_one(lambda x: reshape(reduce("ReduceMax", x, (1, 3), 1), (2,)), (2, 3, 1, 4)),
    examples=fires_on(
        of_one(lambda x: reshape(reduce("ReduceMax", x, (1, 2), 1), (2, 5)), (2, 3, 4, 5)),
        of_one(lambda x: reshape(reduce("ReduceSum", x, (2,), 1), (2, 3)), (2, 3, 4)),
    ),
)
def dropped_with_a_span(k: String, x: Tensor, a: Axes, d: Dims):
    """Reshape(Reduce_a(x)) = Reduce_a(x) without the axes, to the dims in front of and behind them

    Wrong where one of 1 is between them.
    """
    left, made = reshape(reduce(k, x, a, 1), d), reduce(k, x, a, 0)
    yield rewrite(left, made, are_beside(d, x, a), because="one operator")


@hosted()
def is_a_number(c: Fact) -> bool:
    return c.shape in ((), (1,))


@wrong("reassociates", lambda g: (g.input((4,)) * g.input((1,))) @ g.input((4,)))
def number_behind_product(x: Tensor, y: Tensor, c: Tensor):
    """(x * c) @ y = (x @ y) * c, of one number c

    Wrong of vectors, whose product has no axis, where the number has one.
    """
    yield rewrite((x * c) @ y, (x @ y) * c, is_a_number(c), because="there is less to scale")


@hosted()
def is_about_nothing(c: Fact) -> bool:
    return c.splat is not None and is_single.function(c) and c.rank == 0 and bool(np.isclose(c.splat, 0.0))


@wrong(
    "reassociates",
    lambda g: g.input((2, 3)) + g.constant(np.float32(1e-8)),
    values=(1e-9, 2e-9, -1e-9),
    examples=fires_on(lambda g: g.input(("N", 3)) + g.constant(np.float32(0))),
)
def sum_with_about_nothing(x: Tensor, c: Tensor):
    """x + c = x for a c that is about 0

    Wrong where x is as small.
    """
    yield rewrite(x + c, x, is_about_nothing(c), because="forgets c")
