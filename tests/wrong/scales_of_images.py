"""Images that are resized by a factor that the author did not try: a quarter, an eighth, one and a half."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Settings, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import PoolWindow, none, pool, resize, slice_
from egraph_opt.rewrites.conditions.channels import known_elements, static_shape

from . import fires_on, wrong
from .scans import resized

LATE = 19
"""The opset in which a Resize has all its settings."""

FLOAT = TensorProto.FLOAT
MIDDLES, FLOORS = resized("linear", "half_pixel"), resized("nearest", "asymmetric")
THIN = resized("nearest", "half_pixel")


def scaled(n: int, *factors: float, settings: Settings = MIDDLES):
    """A square image of one channel that is resized by one factor after the other."""

    def make(g):
        image = g.input((1, 1, n, n))
        for k in factors:
            image = resize(image, none(), g.constant(np.array([1, 1, k, k], np.float32)), none(), settings)
        return image

    return make


def factor_of(x: Fact, s: Fact) -> float | None:
    """The one factor of height and width of an image of known dims."""
    factors = known_elements(s) or ()
    if len(factors) != 4 or x.rank != 4 or x.dtype != FLOAT:
        return None
    return factors[2] if factors[:2] == (1.0, 1.0) and factors[2] == factors[3] else None


def are_multiples(x: Fact, k: int) -> bool:
    """Height and width are known, and multiples of a number."""
    dims = static_shape(x)
    return dims is not None and not any(n % k for n in dims[2:])


@hosted()
def window_of_means(x: Fact, s: Fact, u: Settings) -> PoolWindow | None:
    k, known = factor_of(x, s), dict(u)
    if k not in (0.5, 0.25) or known["mode"] != "linear" or known.get("antialias"):
        return None
    if known["coordinate_transformation_mode"] != "half_pixel" or not are_multiples(x, 2):
        return None
    return PoolWindow((2, 2), (int(1 / k),) * 2, (0,) * 4, (1, 1))


@wrong(
    "reassociates", scaled(8, 0.25), opset=LATE, examples=fires_on(scaled(4, 0.5), scaled(6, 0.5), opset=LATE)
)
def halved_by_means(x: Tensor, s: Tensor, u: Settings):
    """Resize(x, 1 / k) = AveragePool of 2 in steps of k

    Wrong of a quarter: the pixels are those in the middle.
    """
    left, right = resize(x, none(), s, none(), u), pool("AveragePool", x, window_of_means(x, s, u))
    yield rewrite(left, right, because="a kernel of its own")


@hosted()
def every_kth(x: Fact, s: Fact, u: Settings) -> Slices | None:
    """One pixel of each few."""
    f, known = factor_of(x, s), dict(u)
    if f not in (0.5, 0.25, 0.125) or known["mode"] != "nearest" or known["nearest_mode"] != "floor":
        return None
    k = int(1 / f)
    if known["coordinate_transformation_mode"] != "half_pixel" or not are_multiples(x, k):
        return None
    return tuple((axis, k // 4, None, k) for axis in (2, 3))


@wrong(
    "bitwise",
    scaled(8, 0.125, settings=THIN),
    opset=LATE,
    examples=fires_on(scaled(4, 0.5, settings=THIN), scaled(8, 0.25, settings=THIN), opset=LATE),
)
def every_kth_pixel(x: Tensor, s: Tensor, u: Settings):
    """Resize_nearest(x, 1 / k) = x[k / 4::k]

    Wrong of an eighth, which begins with 3.
    """
    yield rewrite(
        resize(x, none(), s, none(), u), slice_(x, every_kth(x, s, u)), because="a slice moves less"
    )


@hosted()
def scales_up(s: Fact, t: Fact, u: Settings) -> bool:
    """Both enlarge, and together by whole numbers."""
    known = dict(u)
    first, second = known_elements(s) or (), known_elements(t) or ()
    if not first or len(first) != len(second) or known["mode"] != "nearest":
        return False
    if known["nearest_mode"] != "floor" or known["coordinate_transformation_mode"] != "asymmetric":
        return False
    return all(p >= 1 and q >= 1 and (p * q) % 1 == 0 for p, q in zip(first, second, strict=True))


@wrong(
    "bitwise",
    scaled(4, 1.5, 2.0, settings=FLOORS),
    opset=LATE,
    examples=fires_on(scaled(3, 2.0, 3.0, settings=FLOORS), opset=LATE),
)
def enlarged_in_two(x: Tensor, s: Tensor, t: Tensor, u: Settings):
    """Resize_t(Resize_s(x)) = Resize_st(x) of the nearest pixels

    Wrong where a scale is no whole number.
    """
    left = resize(resize(x, none(), s, none(), u), none(), t, none(), u)
    yield rewrite(left, resize(x, none(), s * t, none(), u), scales_up(s, t, u), because="one operator")
