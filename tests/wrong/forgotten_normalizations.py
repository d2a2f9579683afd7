"""Our laws of normalisations with a condition that was forgotten, or a sign that is another."""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Dims, Flag, Float, Settings, Tensor, hosted, number_like, rewrite, sqrt
from egraph_opt.operators import batchnorm, layer_norm, reduce, reshape, rms_norm, shifted_layer_norm, unary
from egraph_opt.rewrites.conditions.values import fits

from . import of_one, wrong


def mean(x, axes, keepdims=1):
    return reduce("ReduceMean", x, axes, keepdims)


def _parameters(g):
    return g.random(3), g.random(3), g.random(3), g.constant([0.5, 1.0, 2.0])


@hosted()
def per_channel(x: Fact, s: Fact) -> Dims | None:
    if x.rank is None or x.rank < 2 or not s.is_static or not s.shape:
        return None
    return (s.shape[0], *(1,) * (x.rank - 2))


@wrong("reassociates", lambda g: batchnorm(g.input((2, 3, 4)), *_parameters(g), 1e-5))
def batchnorm_spelled_out(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float):
    """BatchNormalization(x; s, b, m, v) = (x - m) * s / (v + e) + b

    Wrong: it is the root of v + e.
    """
    k = s / (v + number_like(v, e))
    moved = x * reshape(k, per_channel(x, s)) + reshape(b - m * k, per_channel(x, s))
    yield rewrite(batchnorm(x, s, b, m, v, e), moved, because="scales and shifts move on")


@wrong("reassociates", lambda g: batchnorm(g.input((2, 3, 3)), *_parameters(g), 1e-5))
def batchnorm_of_last_axis(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float):
    """BatchNormalization(x; s, b, m, v) = x * k + (b - m * k) with k = s / Sqrt(v + e)

    Wrong from rank 3 on: the parameters lie along the channels.
    """
    k = s / sqrt(v + number_like(v, e))
    yield rewrite(batchnorm(x, s, b, m, v, e), x * k + (b - m * k), because="scales and shifts move on")


@wrong("reassociates", lambda g: batchnorm(g.input((2, 3, 4)), *_parameters(g), 1e-5) * g.constant(3.0))
def scale_of_batchnorm(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float, c: Tensor):
    """BatchNormalization(x; s, b, m, v) * c = BatchNormalization(x; s * c, b, m, v) for a number c

    Wrong: b is scaled as well.
    """
    whole = batchnorm(x, s * c, b, m, v, e)
    yield rewrite(batchnorm(x, s, b, m, v, e) * c, whole, is_number(c), because="c goes into s")


@hosted()
def is_number(c: Fact) -> bool:
    return c.const and c.shape == ()


@wrong("reassociates", lambda g: batchnorm(g.input((2, 3, 4)) + g.constant(3.0), *_parameters(g), 1e-5))
def shift_before_batchnorm(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float, c: Tensor):
    """BatchNormalization(x + c; s, b, m, v) = BatchNormalization(x; s, b, m + c, v) for a number c

    Wrong in the sign: it is m - c.
    """
    whole = batchnorm(x, s, b, m + c, v, e)
    yield rewrite(batchnorm(x + c, s, b, m, v, e), whole, is_number(c), because="c goes into m")


@hosted()
def is_inverse_count(c: Fact, x: Fact, a: Axes) -> bool:
    """About one over the number of elements along the axes."""
    if c.splat is None or not x.is_static:
        return False
    count = float(np.prod([(x.shape or ())[k] for k in a]))  # type: ignore[arg-type]
    return count > 0 and abs(c.splat * count - 1) < 0.02


@wrong("reassociates", lambda g: reduce("ReduceSum", g.input((2, 64)), (1,), 1) * g.constant(1 / 63))
def mean_of_scaled_sum(x: Tensor, c: Tensor, a: Axes, k: Flag):
    """ReduceSum(x) * c = ReduceMean(x) for a c of about 1 / n

    Wrong for 1 / (n - 1), which is about as much.
    """
    total = reduce("ReduceSum", x, a, k)
    yield rewrite(total * c, mean(x, a, k), is_inverse_count(c, x, a), fits(c, total), because="one node")


@wrong("reassociates", of_one(lambda x: mean(x * x, (1,)) - mean(x, (0,)) * mean(x, (0,)), (3, 3)))
def variance_of_both(x: Tensor, a: Axes, b: Axes):
    """ReduceMean(x * x) - ReduceMean(x)^2 = ReduceMean((x - ReduceMean(x))^2)

    Wrong along different axes.
    """
    away, centre = x - mean(x, b), mean(x, b)
    spelled = mean(x * x, a) - centre * centre
    yield rewrite(spelled, mean(away * away, a), because="the difference cancels")


@hosted()
def is_small_bound(s: Settings) -> bool:
    return dict(s).get("max") is None and (dict(s).get("min") or 0.0) <= 0.5


@wrong(
    "finite",
    of_one(lambda x: unary("Clip", (("max", None), ("min", 0.5)), mean(x * x, (1,)))),
    values=(0.1, 0.2),
)
def bound_of_squares(x: Tensor, a: Axes, s: Settings):
    """Clip(ReduceMean(x * x)) = ReduceMean(x * x) from below by a small bound

    Wrong below the bound.
    """
    squares = mean(x * x, a)
    yield rewrite(unary("Clip", s, squares), squares, is_small_bound(s), because="squares are positive")


@wrong(
    "reassociates",
    lambda g: shifted_layer_norm(g.input((2, 3)), g.random(3), g.random(3), (1,), 1e-5) * g.random(3),
)
def scale_of_layer_norm(x: Tensor, s: Tensor, b: Tensor, g: Tensor, a: Axes, e: Float):
    """Layer(x; s, b) * g = Layer(x; s * g, b)

    Wrong: b is scaled as well.
    """
    scaled = shifted_layer_norm(x, s * g, b, a, e)
    yield rewrite(shifted_layer_norm(x, s, b, a, e) * g, scaled, same_dims(g, s), because="g goes into s")


@hosted()
def same_dims(g: Fact, s: Fact) -> bool:
    return g.is_static and g.shape == s.shape


@wrong(
    "reassociates",
    lambda g: (lambda x: rms_norm(x - mean(x, (0,)), g.random(3), (1,), 1e-5))(g.input((3, 3))),
    opset=23,
)
def centred_elsewhere(x: Tensor, s: Tensor, a: Axes, b: Axes, e: Float):
    """RMS(x - ReduceMean(x); s) = Layer(x; s)

    Wrong where the mean is along another axis.
    """
    yield rewrite(rms_norm(x - mean(x, b), s, a, e), layer_norm(x, s, a, e), because="one node")


@wrong(
    "reassociates", lambda g: rms_norm(g.input((3, 3)) * g.constant(-2.0), g.random(3), (1,), 1e-5), opset=23
)
def scale_before_rms_norm(x: Tensor, c: Tensor, s: Tensor, a: Axes, e: Float):
    """RMS(x * c; s) = RMS(x; s) for a number c

    Wrong for a negative c, and where epsilon counts.
    """
    yield rewrite(rms_norm(x * c, s, a, e), rms_norm(x, s, a, e), is_number(c), because="forgets c")
