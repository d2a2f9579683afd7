"""Constants beside something that a law asks, whose sign it does not: those of its examples are positive."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.laws import Axes, Float, Settings, Tensor, exp, hosted, relu, rewrite, sigmoid, tanh
from egraph_opt.operators import batchnorm, binary, pool, reduce, unary, where
from egraph_opt.operators.windows import PoolWindow
from egraph_opt.rewrites.elementwise.identities import clip

from . import fires_on, wrong

FLOAT = TensorProto.FLOAT

# --- one number -------------------------------------------------------------------------------------------


@hosted()
def is_lifted(x: Fact, c: Fact) -> bool:
    known = interval_of(x)
    return known is not None and c.splat is not None and c.shape == () and known[0] + abs(c.splat) >= 0


def lifted(make, c: float):
    return lambda g: relu(make(g.input(("N", 3))) + g.constant(c))


@wrong("finite", lifted(sigmoid, -0.5), examples=fires_on(lifted(sigmoid, 1.0), lifted(tanh, 2.0)))
def relu_of_lifted(x: Tensor, c: Tensor):
    """Relu(x + c) = x + c where x >= -c

    Wrong of negative c, whose size is compared.
    """
    yield rewrite(relu(x + c), x + c, is_lifted(x, c), because="anything above 0 has a Relu")


@hosted()
def slope_below(a: Fact, c: Fact, z: Fact, x: Fact) -> Settings | None:
    """The factor a, where c is subtracted, and of the size of a."""
    if any(f.shape != () or f.splat is None for f in (a, c, z)) or z.splat != 0 or x.dtype != FLOAT:
        return None
    equal = abs(a.splat) == abs(c.splat) and c.splat <= 0  # type: ignore[arg-type, operator]
    return (("alpha", float(a.splat)),) if equal else None  # type: ignore[arg-type]


def bent(a: float, c: float):
    def made(g):
        x = g.input(("N", 3))
        return where(binary("Greater", x, g.constant(0.0)), x, exp(x) * g.constant(a) + g.constant(c))

    return made


@wrong("reassociates", bent(-0.5, -0.5), examples=fires_on(bent(0.5, -0.5)))
def elu_spelled_out(x: Tensor, a: Tensor, c: Tensor, z: Tensor):
    """Where(x > 0, x, Exp(x) * a - a) = Elu_a(x)

    Wrong where both are negative.
    """
    spelled = where(binary("Greater", x, z), x, exp(x) * a + c)
    yield rewrite(spelled, unary("Elu", slope_below(a, c, z, x), x), because="one node for four")


@hosted()
def bounds_before(x: Fact, c: Fact, s: Settings) -> Settings | None:
    known = dict(s)
    if x.rank != 2 or c.shape != (1,) or not c.splat or None in known.values() or x.dtype != FLOAT:
        return None
    return (("max", known["max"] / float(c.splat)), ("min", known["min"] / float(c.splat)))


def clipped(c: float):
    return lambda g: clip(-1.0, 6.0, g.input(("N", 3)) * g.constant([c]))


@wrong("reassociates", clipped(-1.0), examples=fires_on(clipped(2.0)))
def clip_of_scaled(x: Tensor, c: Tensor, s: Settings):
    """Clip_ab(x * c) = Clip_(a / c, b / c)(x) * c

    Wrong of negative c, of which the bounds would have to change places.
    """
    before = unary("Clip", bounds_before(x, c, s), x) * c
    yield rewrite(unary("Clip", s, x * c), before, because="scales come last")


# --- the scale of a normalization -------------------------------------------------------------------------


@hosted()
def is_image(x: Fact) -> bool:
    return x.rank == 4 and x.dtype == FLOAT


@hosted()
def all_but_channels(a: Axes) -> bool:
    return a == (0, 2, 3)


@hosted()
def are_constants(s: Fact, b: Fact, m: Fact, v: Fact) -> bool:
    return all(f.const for f in (s, b, m, v))


def greatest(y):
    return reduce("ReduceMax", y, (0, 2, 3), 1)


def normalized(g, x, scale, variance):
    """Of as many channels as there are scales."""
    return batchnorm(
        x, g.constant(scale), g.random(len(scale)), g.random(len(scale)), g.constant(variance), 1e-5
    )


def four_channels(g):
    scale = np.abs(g.rng.standard_normal(4)).astype(np.float32)
    return greatest(normalized(g, g.input((2, 4, 3, 3)), scale, np.ones(4, np.float32)))


@wrong(
    "reassociates",
    lambda g: greatest(normalized(g, g.input((1, 1, 1, 2)), [-1.0], [1.0])),
    examples=fires_on(four_channels),
)
def greatest_of_normalized(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float, a: Axes):
    """ReduceMax(BatchNormalization(x)) = BatchNormalization(ReduceMax(x)) over all but the channels

    Wrong of a negative scale.
    """
    before = batchnorm(reduce("ReduceMax", x, a, 1), s, b, m, v, e)
    known = (all_but_channels(a), is_image(x), are_constants(s, b, m, v))
    yield rewrite(reduce("ReduceMax", batchnorm(x, s, b, m, v, e), a, 1), before, known, because="less data")


HALVED = PoolWindow((2, 2), (2, 2), (0, 0, 0, 0), (1, 1))


@hosted()
def halves_images(w: PoolWindow) -> bool:
    return w == HALVED


@hosted()
def is_known_scale(s: Fact) -> bool:
    return s.const


def pooled(*scale: float):
    def made(g):
        x = g.input(("N", len(scale), 4, 4))
        return pool("MaxPool", normalized(g, x, list(scale), list(map(abs, scale))), HALVED)

    return made


@wrong("reassociates", pooled(-1.0), examples=fires_on(pooled(1.0, 2.0, 0.5)))
def pool_of_normalized(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float, w: PoolWindow):
    """MaxPool(BatchNormalization(x)) = BatchNormalization(MaxPool(x))

    Wrong of a negative scale.
    """
    before = batchnorm(pool("MaxPool", x, w), s, b, m, v, e)
    known = (is_image(x), is_known_scale(s), halves_images(w))
    yield rewrite(pool("MaxPool", batchnorm(x, s, b, m, v, e), w), before, known, because="less data")
