"""CumSum, Resize and normalisations with attributes beyond their usual range."""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Float, Settings, Tensor, absent, hosted, is_constant, is_same, relu, rewrite
from egraph_opt.operators import batchnorm, cumsum, instance_norm, none, resize
from egraph_opt.rewrites.conditions.values import fits

from . import wrong

EXCLUSIVE = (("exclusive", 1), ("reverse", 0))


@hosted()
def turned(s: Settings) -> Settings:
    return (("exclusive", dict(s)["exclusive"]), ("reverse", 1 - dict(s)["reverse"]))


@wrong("finite", lambda g: -cumsum(-g.input((2, 5)), g.constant(np.int64(1)), EXCLUSIVE))
def sums_backwards(x: Tensor, a: Tensor, s: Settings):
    """-CumSum(-x) = CumSum(x) from the other end

    Wrong: the sign has nothing to do with the order.
    """
    yield rewrite(-cumsum(-x, a, s), cumsum(x, a, turned(s)), because="forgets the signs")


@wrong(
    "reassociates",
    lambda g: (lambda x, a: cumsum(x, a, (("exclusive", 1), ("reverse", 1))) + x)(
        g.input((2, 5)), g.constant(np.int64(1))
    ),
)
def sums_with_own_element(x: Tensor, a: Tensor, s: Settings):
    """CumSum(x) + x = CumSum(x) with the elements themselves, from the front

    Wrong of sums from the end, and of those that have them already.
    """
    whole = cumsum(x, a, (("exclusive", 0), ("reverse", 0)))
    yield rewrite(cumsum(x, a, s) + x, whole, because="forgets s")


@wrong(
    "reassociates",
    lambda g: (lambda x, a: cumsum(x, a, (("exclusive", 0), ("reverse", 1))) - x)(
        g.input((2, 5)), g.constant(np.int64(1))
    ),
)
def sums_without_own_element(x: Tensor, a: Tensor, s: Settings):
    """CumSum(x) - x = CumSum(x) without the elements themselves

    Wrong of sums that do not have them, and of sums from the end, of which it forgets that.
    """
    yield rewrite(
        cumsum(x, a, s) - x, cumsum(x, a, EXCLUSIVE), absent(is_same(s, EXCLUSIVE)), because="forgets s"
    )


@wrong(
    "reassociates",
    lambda g: batchnorm(
        g.input((2, 3, 4)), *(g.constant(v) for v in ([1.0] * 3, [0.0] * 3, [0.0] * 3, [1.0] * 3)), 0.5
    ),
)
def batchnorm_that_does_nothing(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float):
    """BatchNormalization(x; 1, 0, 0, 1) = x

    Wrong for an epsilon that is not small.
    """
    known = (are_all(s, 1), are_all(b, 0), are_all(m, 0), are_all(v, 1))
    yield rewrite(batchnorm(x, s, b, m, v, e), x, known, because="every x would be normalised")


@hosted()
def are_all(c: Fact, number: float) -> bool:
    return c.splat is not None and c.splat == number


@wrong(
    "reassociates",
    lambda g: instance_norm(
        g.input((2, 3, 4)) * g.constant(1e-3), g.constant([1.0] * 3), g.constant([0.0] * 3), 1e-2
    ),
)
def scale_before_instance_norm(x: Tensor, c: Tensor, s: Tensor, b: Tensor, e: Float):
    """InstanceNormalization(x * c) = InstanceNormalization(x) for a number c

    Wrong where epsilon counts, and for a negative c.
    """
    left = instance_norm(x * c, s, b, e)
    yield rewrite(
        left, instance_norm(x, s, b, e), is_constant(c), fits(c, x), is_number(c), because="forgets c"
    )


@hosted()
def is_number(c: Fact) -> bool:
    return c.splat not in (None, 0)


def resized(mode: str = "nearest", coordinates: str = "asymmetric", rounds: str = "floor"):
    return (
        ("antialias", 0),
        ("coordinate_transformation_mode", coordinates),
        ("cubic_coeff_a", -0.75),
        ("exclude_outside", 0),
        ("extrapolation_value", 0.0),
        ("keep_aspect_ratio_policy", "stretch"),
        ("mode", mode),
        ("nearest_mode", rounds),
    )


def _doubled(g, settings):
    return resize(g.input((1, 1, 3, 4)), none(), g.constant([1.0, 1.0, 2.0, 2.0]), none(), settings)


@hosted()
def from_floor(s: Settings) -> Settings | None:
    return None if dict(s)["nearest_mode"] == "floor" else tuple({**dict(s), "nearest_mode": "floor"}.items())


@wrong("bitwise", lambda g: _doubled(g, resized(rounds="ceil")))
def nearest_of_any_rounding(x: Tensor, r: Tensor, c: Tensor, z: Tensor, s: Settings):
    """Resize(x; nearest, rounded up or to the nearest) = Resize(x; nearest, rounded down)

    Wrong where a place lies between two elements.
    """
    yield rewrite(resize(x, r, c, z, s), resize(x, r, c, z, from_floor(s)), because="floor has a kernel")


@hosted()
def half_pixel(s: Settings) -> Settings | None:
    name = "coordinate_transformation_mode"
    fits = dict(s)[name] in ("asymmetric", "align_corners")
    return tuple({**dict(s), name: "half_pixel"}.items()) if fits else None


@wrong("reassociates", lambda g: _doubled(g, resized("linear", "align_corners")))
def coordinates_of_any_kind(x: Tensor, r: Tensor, c: Tensor, z: Tensor, s: Settings):
    """Resize(x; aligned corners, or asymmetric) = Resize(x; half pixels)

    Wrong: other places are interpolated.
    """
    yield rewrite(resize(x, r, c, z, s), resize(x, r, c, z, half_pixel(s)), because="half pixels are faster")


@wrong(
    "reassociates",
    lambda g: resize(
        relu(g.input((1, 1, 3, 4))), none(), g.constant([1.0, 1.0, 2.0, 2.0]), none(), resized("linear")
    ),
)
def relu_past_resize(x: Tensor, r: Tensor, c: Tensor, z: Tensor, s: Settings):
    """Resize(Relu(x)) = Relu(Resize(x))

    Wrong of all modes but nearest.
    """
    yield rewrite(resize(relu(x), r, c, z, s), relu(resize(x, r, c, z, s)), because="fusion of kernels")
