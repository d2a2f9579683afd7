"""What looks at single elements is done at the lower resolution.

Conv(Resize(x), W, b) = Resize(Conv(x, W, b))        for a kernel of 1, the nearest element or linear
f(Resize(x)) -> Resize(f(x))                         for the nearest element
Resize(x) * s -> Resize(x * s), + likewise           for constants of channels, the nearest element or linear
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import Example, Operands, equal, guard, hosted, kernel, law, rewrite
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Settings, String, Tensor
from egraph_opt.operators import ConvWindow, binary, conv, none, resize, unary
from egraph_opt.rewrites.conditions.channels import chains, count_in, is_scale, is_shift, unchained
from egraph_opt.rewrites.conditions.values import is_float

NEAREST: tuple[tuple[str, Any], ...] = (
    ("coordinate_transformation_mode", "asymmetric"),
    ("mode", "nearest"),
    ("nearest_mode", "floor"),
)


@hosted()
def looks_at_one(w: Fact, window: ConvWindow) -> bool:
    """A kernel of 1 that visits every element, in any groups."""
    if w.shape is None or len(w.shape) < 3:
        return False
    return all(k == 1 for k in (*w.shape[2:], *window.strides)) and not any(window.pads)


@hosted()
def keeps_means(s: Settings, scales: Fact) -> bool:
    """Each element of the result is one of x, or a mean of such, of the same channel: scales are given."""
    given = dict(s)
    if (
        given.get("mode") not in ("nearest", "linear")
        or given.get("antialias")
        or given.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    ):
        return False
    numbers, axes = scales.data, given.get("axes")
    if scales == ABSENT or numbers is None or not all(isinstance(v, float) for v in numbers):
        return False
    places = axes if axes is not None else tuple(range(len(numbers)))
    return all(axis >= 0 and (axis != 1 or v == 1) for axis, v in zip(places, numbers, strict=True))


EVERYWHERE = (
    "Abs",
    "Clip",
    "Elu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Mish",
    "Neg",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Tanh",
)
"""Functions that have a finite value of each number."""


@hosted()
def repeats(f: str, s: Settings) -> bool:
    """Each element of the result is one of x, and each has a value: what is left out is computed as well."""
    given = dict(s)
    if f not in EVERYWHERE:
        return False
    crops = given.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    return given.get("mode") == "nearest" and not crops


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, point = g.input(("N", 4, 3, "L")), ConvWindow((1, 1), (0, 0, 0, 0), (1, 1))
    twice, channels = (g.constant(np.array(v, np.float32)) for v in ((1, 1, 2, 2), (1, 2, 2, 2)))
    halves = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1), 2)
    linear = tuple((k, "linear" if k == "mode" else v) for k, v in NEAREST)
    crop = ((NEAREST[0][0], "tf_crop_and_resize"), *linear[1:])

    def big(scales: Any = twice, settings: Any = NEAREST, of: Any = x) -> Any:
        return resize(of, none(), scales, none(), settings)

    for b in (none(), g.random(6)):
        yield g.fires(conv(big(), g.random(6, 4, 1, 1), b, point))
        yield g.fires(big(of=conv(x, g.random(6, 2, 1, 1), b, halves)))
        yield g.fires(conv(big(settings=linear), g.random(6, 4, 1, 1), b, point))
    w = g.random(6, 4, 1, 1)
    yield from g.near_misses(
        (conv(big(), g.random(6, 4, 2, 1), none(), point), "the kernel sees neighbours"),
        (conv(big(), w, none(), ConvWindow((2, 1), (0, 0, 0, 0), (1, 1))), "it strides"),
        (conv(big(), w, b, ConvWindow((1, 1), (0, 1, 0, 1), (1, 1))), "it pads"),
        (conv(big(channels), g.random(6, 8, 1, 1), none(), point), "there are more channels"),
        (conv(big(settings=crop), w, none(), point), "what is beyond is another number"),
    )


@hosted()
def looks_at_same(x: Fact, s: Settings, scales: Fact) -> bool:
    """Channels keep their places; runtimes interpolate images, and few others."""
    return bool(keeps_means.function(s, scales)) and (dict(s)["mode"] == "nearest" or x.rank == 4)


@hosted()
def keeps_pixels(scales: Fact, x: Fact) -> bool:
    """No image comes out without pixels, which onnxruntime does not convolve; symbols are 1 or more."""
    known = scales.data or ()
    if x.shape is None or len(known) != len(x.shape):
        return False
    least = (dim if isinstance(dim, int) else 1 for dim in x.shape)
    return all(dim * float(scale) >= 1 for dim, scale in zip(least, known, strict=True))


@law("convolution", numerics="reassociates", kind="move", serves="arithmetic", examples=_examples)
def past_resize(x: Tensor, w: Tensor, b: Tensor, scales: Tensor, roi: Tensor, u: ConvWindow, s: Settings):
    """Conv(Resize(x), W, b) = Resize(Conv(x, W, b)) for a kernel of 1, the nearest element or linear"""
    before, behind = resize(x, roi, scales, none(), s), conv(x, w, b, u)
    known = (looks_at_one(w, u), looks_at_same(x, s, scales), kernel(keeps_pixels(scales, x)))
    yield equal(conv(before, w, b, u), resize(behind, roi, scales, none(), s), *known)


CROPPED = np.array((0, 0, 0, 0, 1, 1, 2, 2), np.float32)
"""Twice as much as there is."""

# --- functions and constants ----------------------------------------------------------------------------


def _function_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, twice = g.input(("N", 4, 3, "L")), g.constant(np.array((1, 1, 2, 2), np.float32))
    linear = tuple((k, "linear" if k == "mode" else v) for k, v in NEAREST)
    for f in ("Relu", "Abs", "Sigmoid"):
        yield g.fires(unary(f, (), resize(x, none(), twice, none(), NEAREST)))
    yield g.near_miss(relu(resize(x, none(), twice, none(), linear)), why="elements between are weighed")
    whole = g.input(("N", 4, 3, "L"), TensorProto.INT64)
    negative = unary("Clip", (("max", -1), ("min", -5)), resize(whole, none(), twice, none(), NEAREST))
    yield g.near_miss(negative, why="ONNX's reference resizes integers as floats")


@law("convolution", numerics="finite", kind="move", serves="arithmetic", examples=_function_examples)
def function_of_resize(
    f: String, t: Settings, x: Tensor, roi: Tensor, scales: Tensor, sizes: Tensor, s: Settings
):
    """f(Resize(x)) = Resize(f(x)) for the nearest element"""
    before = resize(x, roi, scales, sizes, s)
    behind = resize(unary(f, t, x), roi, scales, sizes, s)
    known = (repeats(f, s), is_float(x), guard(varies(x)))
    yield rewrite(unary(f, t, before), behind, *known, because="the larger image is more to compute")


@hosted()
def is_of_channels(op: str, x: Fact, c: Fact) -> bool:
    """A scale or shift of one number, or of one per channel of x."""
    if x.shape is None or len(x.shape) < 3 or not isinstance(x.shape[1], int):
        return False
    moves = (op == "Mul" and is_scale(c)) or (op == "Add" and is_shift(c))
    return moves and count_in(x, c, len(x.shape), x.shape[1]) is not None


def _constant_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, twice = g.input(("N", 4, 3, "L")), g.constant(np.array((1, 1, 2, 2), np.float32))
    linear = tuple((k, "linear" if k == "mode" else v) for k, v in NEAREST)
    channels = g.constant(np.array((1, 2, 2, 2), np.float32))
    crop, roi = (("coordinate_transformation_mode", "tf_crop_and_resize"), *linear[1:]), g.constant(CROPPED)
    for op, settings in (("Mul", NEAREST), ("Add", linear)):
        yield g.fires(binary(op, resize(x, none(), twice, none(), settings), g.random(4, 1, 1)))
    yield g.fires(resize(g.input(("N", 3, 4, "L")), none(), twice, none(), NEAREST) * g.random(3, 1, 1))
    yield from g.near_misses(
        (resize(x, none(), twice, none(), NEAREST) * g.random(6, 1), "it varies along the rows"),
        (resize(x, roi, twice, none(), crop) + g.random(4, 1, 1), "what is beyond is another number"),
        (resize(x, none(), channels, none(), NEAREST) * g.random(8, 1, 1), "there are more channels"),
        (resize(x, none(), twice, none(), NEAREST) * g.input((4, 1, 1)), "it is no constant"),
    )


@law(
    "convolution",
    numerics="reassociates",
    kind="move",
    serves="arithmetic",
    uses=(chains,),
    examples=_constant_examples,
)
def constant_of_resize(op: String, x: Tensor, c: Tensor, roi: Tensor, scales: Tensor, s: Settings):
    """Resize(x) op c = Resize(x op c) for scales and shifts of channels, the nearest element or linear"""
    before = resize(x, roi, scales, none(), s)
    behind = resize(binary(op, x, c), roi, scales, none(), s)
    known = (keeps_means(s, scales), is_of_channels(op, x, c), unchained(op, before), guard(varies(x)))
    yield rewrite(binary(op, before, c), behind, *known, because="the larger image is more to compute")
