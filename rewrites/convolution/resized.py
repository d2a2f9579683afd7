"""A convolution that looks at single elements is done at the lower resolution.

Conv(Resize(x), W, b) = Resize(Conv(x, W, b))        for a kernel of 1 and the nearest element
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import Example, Operands, equal, hosted, law
from egraph_opt.laws.sorts import Settings, Tensor
from egraph_opt.operators import ConvWindow, conv, none, resize

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
def repeats(s: Settings, scales: Fact) -> bool:
    """Each element of the result is one of x, of the same channel: scales are given, 1 for channels."""
    given = dict(s)
    if given.get("mode") != "nearest" or given.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        return False
    numbers, axes = scales.data, given.get("axes")
    if scales == ABSENT or numbers is None or not all(isinstance(v, float) for v in numbers):
        return False
    places = axes if axes is not None else tuple(range(len(numbers)))
    return all(axis >= 0 and (axis != 1 or v == 1) for axis, v in zip(places, numbers, strict=True))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, point = g.input(("N", 4, 3, "L")), ConvWindow((1, 1), (0, 0, 0, 0), (1, 1))
    twice, channels = (g.constant(np.array(v, np.float32)) for v in ((1, 1, 2, 2), (1, 2, 2, 2)))
    halves = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1), 2)
    linear = tuple((k, "linear" if k == "mode" else v) for k, v in NEAREST)

    def big(scales: Any = twice, settings: Any = NEAREST, of: Any = x) -> Any:
        return resize(of, none(), scales, none(), settings)

    for b in (none(), g.random(6)):
        yield g.fires(conv(big(), g.random(6, 4, 1, 1), b, point))
        yield g.fires(big(of=conv(x, g.random(6, 2, 1, 1), b, halves)))
    w = g.random(6, 4, 1, 1)
    yield from g.near_misses(
        (conv(big(), g.random(6, 4, 2, 1), none(), point), "the kernel sees neighbours"),
        (conv(big(), w, none(), ConvWindow((2, 1), (0, 0, 0, 0), (1, 1))), "it strides"),
        (conv(big(), w, b, ConvWindow((1, 1), (0, 1, 0, 1), (1, 1))), "it pads"),
        (conv(big(channels), g.random(6, 8, 1, 1), none(), point), "there are more channels"),
        (conv(big(settings=linear), w, none(), point), "elements between are weighed"),
    )


@law("convolution", numerics="reassociates", kind="move", serves="arithmetic", examples=_examples)
def past_resize(x: Tensor, w: Tensor, b: Tensor, scales: Tensor, roi: Tensor, u: ConvWindow, s: Settings):
    """Conv(Resize(x), W, b) = Resize(Conv(x, W, b)) for a kernel of 1 and the nearest element"""
    before, behind = resize(x, roi, scales, none(), s), conv(x, w, b, u)
    known = (looks_at_one(w, u), repeats(s, scales))
    yield equal(conv(before, w, b, u), resize(behind, roi, scales, none(), s), *known)
