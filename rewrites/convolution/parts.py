"""Parts of convolutions are convolutions of parts.

Slice(Conv(x, W, b)) = Conv(Slice(x), W, b)                 along the batch
Slice(Conv(x, W, b)) -> Conv(x, Slice(W), Slice(b))         along the channels

Where what is sliced is a Slice or a Concat itself; constant kernels are cut for whoever finds that cheaper,
when all else is done.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.laws import Example, Operands, absent, auxiliary, eq, equal, guard, hosted, law, rewrite, rule
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Slices, Tensor
from egraph_opt.operators import ConvWindow, concat, conv, none, slice_
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.conditions.channels import is_present, is_ungrouped
from egraph_opt.rewrites.conditions.values import all_vary
from egraph_opt.rewrites.convolution.joined import HALVES
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING
from egraph_opt.rewrites.slicing.movement import asked, asking_rules


@hosted()
def cuts_batch(spec: Slices) -> bool:
    return len(spec) == 1 and spec[0][0] == 0


@hosted()
def slice_of_weight(spec: Slices, window: ConvWindow) -> Slices | None:
    """The slice of the weight that makes a slice of channels, of which there are no groups."""
    return ((0, *spec[0][1:]),) if len(spec) == 1 and spec[0][0] == 1 and window.group == 1 else None


@auxiliary(asking_rules)
def asking_convolutions(x: Tensor, y: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Enters convolutions of what is a Slice or a Concat in `asked`."""
    found = eq(y, conv(x, w, b, u))
    yield rule(found, asked(x, 0), then=asked(y, 0))
    yield rule(found, asked(w, 0), all_vary(w), is_ungrouped(u), then=asked(y, 1))


def _slice_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w = g.input(("N", 2, 5, 4)), g.input((3, 2, 3, 3))
    image = concat(terms(g.input((3, 2, 5, 4)), x), 0)
    v, constant = (concat(terms(k, g.random(4, 2, 3, 3)), 0) for k in (w, g.random(3, 2, 3, 3)))
    grouped = concat(terms(g.random(2, 1, 3, 3), g.random(4, 1, 3, 3)), 0)
    behind = conv(image, w, none(), RING)
    for y, cut, why in (
        (behind, (0, 0, 3, 1), ""),
        (conv(image, w, g.random(3), RING), (0, 0, 3, 1), ""),
        (conv(behind, g.random(1, 3, 1, 1), none(), PLAIN), (0, 0, 3, 1), ""),
        (conv(x, v, none(), RING), (1, 3, 7, 1), ""),
        (conv(x, v, g.random(7), RING), (1, 1, 5, 1), ""),
        (conv(x, constant, none(), RING), (1, 3, 7, 1), "constants are folded"),
        (conv(x, w, none(), RING), (1, 0, 2, 1), "nothing is to be taken apart"),
        (conv(x, v, none(), RING), (2, 0, 2, 1), "rows of the image"),
        (conv(x, grouped, none(), HALVES), (1, 0, 2, 1), "groups would be others"),
    ):
        part = slice_(y, (cut,))
        yield g.near_miss(part, why) if why else g.fires(part)


def _of_channels(x: Any, w: Any, b: Any, u: Any, s: Any, *, weight: Any, bias: Any = ()) -> Iterator[Any]:
    """Without a bias and with one, on conditions of the weight and of the bias."""
    t = slice_of_weight(s, u)
    for shift, sliced, known in ((none(), none(), ()), (b, slice_(b, t), (is_present(b), bias))):
        whole, part = slice_(conv(x, w, shift, u), s), conv(x, slice_(w, t), sliced, u)
        yield rewrite(whole, part, known, weight, inverse="convolutions_of_one_image")


@law(
    "joining",
    numerics="reassociates",
    kind="move",
    serves="arithmetic",
    source="TASO",
    uses=(asking_convolutions,),
    examples=_slice_examples,
)
def slice_of_convolution(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices):
    """Slice(Conv(x, W, b)) = Conv(Slice(x), W, b), or Conv(x, Slice(W), Slice(b)), where one is above"""
    part = slice_(conv(x, w, b, u), s)
    yield equal(part, conv(slice_(x, s), w, b, u), cuts_batch(s), guard(asked(x, 0)))
    yield from _of_channels(x, w, b, u, s, weight=guard(asked(w, 0), all_vary(w)))


def _channel_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 2, 5, 4)), g.random(7, 2, 3, 3), g.random(7)
    for bias in (none(), b):
        yield g.fires(slice_(conv(x, w, bias, RING), ((1, 3, 7, 1),)))
    yield g.fires(slice_(conv(x, w, none(), RING), ((1, 6, None, -2),)))
    for y, cut, why in (
        (conv(x, g.input((7, 2, 3, 3)), none(), RING), (1, 3, 7, 1), "the weight would be cut in each run"),
        (conv(x, w, g.input((7,)), RING), (1, 3, 7, 1), "the bias would be cut in each run"),
        (conv(x, w, none(), RING), (2, 0, 2, 1), "rows of the image"),
        (conv(x, g.random(6, 1, 3, 3), none(), HALVES), (1, 0, 2, 1), "groups would be others"),
    ):
        yield g.near_miss(slice_(y, (cut,)), why)


@law(
    "joining",
    numerics="reassociates",
    kind="move",
    serves="arithmetic",
    last=True,
    resumes=True,
    examples=_channel_examples,
)
def channels_of_convolution(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices):
    """Slice(Conv(x, W, b)) = Conv(x, Slice(W), Slice(b)) along the channels, W and b constant"""
    yield from _of_channels(x, w, b, u, s, weight=guard(absent(varies(w))), bias=guard(absent(varies(b))))
