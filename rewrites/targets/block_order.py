"""Images are joined in the order in which a target with blocks of channels can join them.

Conv(Concat(.., x, .., y, ..), W, b) -> Conv(Concat(.., y, .., x), W', b)

where x alone ends within a block, and W' has its channels in the new order; likewise with a function of each
element behind the Concat.  What is behind x would begin
within a block: it is joined in another layout, between conversions.  The law fires only where the target
publishes `channel_block`.
"""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import is_constant
from egraph_opt.laws.sorts import Settings, String, Tensor, Tensors, Unit
from egraph_opt.operators import ConvWindow, Literal, concat, conv, gather, literal, none, unary
from egraph_opt.operators.terms import append, cons, limit, listed, nil
from egraph_opt.rewrites.conditions.channels import is_ungrouped
from egraph_opt.rewrites.conditions.formats import is_image

_INT64 = 7
ONE = "of the orders one is enough"


def _channels(x: Fact) -> int:
    """How many channels; 0 where that is not known."""
    count = x.shape[1] if x.shape and is_image(x) else 0
    return count if isinstance(count, int) else 0


@hosted()
def fills_blocks(x: Fact, block: int) -> bool:
    return _channels(x) > 0 and _channels(x) % block == 0


@hosted()
def ends_within(x: Fact, block: int) -> bool:
    return _channels(x) % block > 0


@hosted()
def whole_blocks_first(xs: tuple[Fact, ...], block: int) -> Literal | None:
    """The channels that go in, in an order in which all operands begin with a block; None if they do."""
    counts = [_channels(x) for x in xs]
    ragged = [k for k, count in enumerate(counts) if count % block]
    if not all(counts) or len(ragged) != 1 or ragged == [len(counts) - 1]:
        return None
    ends = list(accumulate(counts))
    order = [k for k in range(len(counts)) if k not in ragged] + ragged
    channels = [c for k in order for c in range(ends[k] - counts[k], ends[k])]
    return Literal(_INT64, (len(channels),), tuple(channels))


@table()
def in_order(xs: Tensors) -> Unit:
    """Operands, or the last of them, that are to be joined in another order."""


@table(merge="last")
def of_blocks(xs: Tensors) -> Tensors:
    """The operands that fill whole blocks."""


@table(merge="last")
def others(xs: Tensors) -> Tensors:
    """The operands that end within a block."""


@auxiliary()
def ordering(
    x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, xs: Tensors, ys: Tensors, zs: Tensors, rest: Tensors,
    op: String, s: Settings,
):  # fmt: skip
    """Fills `of_blocks` and `others`."""
    block = limit("channel_block")
    worth = (whole_blocks_first(xs, block), is_constant(w))
    yield rule(conv(concat(xs, 1), w, b, u), *worth, then=in_order(xs))
    yield rule(conv(unary(op, s, concat(xs, 1)), w, b, u), *worth, then=in_order(xs))
    first = (in_order(xs), eq(xs, cons(x, rest)))
    yield rule(*first, then=in_order(rest))
    yield rule(in_order(nil()), then=(assign(of_blocks(nil()), nil()), assign(others(nil()), nil())))
    after = (*first, eq(ys, of_blocks(rest)), eq(zs, others(rest)))
    whole = (assign(of_blocks(xs), cons(x, ys)), assign(others(xs), zs))
    within = (assign(of_blocks(xs), ys), assign(others(xs), cons(x, zs)))
    yield rule(*after, fills_blocks(x, block), then=whole)
    yield rule(*after, ends_within(x, block), then=within)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = (g.input(("N", count, 5, "L")) for count in (3, 4, 8))
    window = ConvWindow((1, 1), (1, 1, 1, 1), (2, 1))
    limits: dict[str, Any] = {"channel_block": 4}

    def joined(
        *images: Any, channels: int, group: int = 1, constant: bool = True, between: bool = False
    ) -> Any:
        shape = (2, channels // group, 3, 3)
        weight = g.random(*shape) if constant else g.input(shape)
        turned = ConvWindow(window.strides, window.pads, window.dilations, group)
        image = concat(listed(*images), 1)
        return conv(unary("Sin", (), image) if between else image, weight, none(), turned)

    for images in ((x, y), (x, y, z), (y, x, z), (z, x, y, y)):
        count = sum({id(x): 3, id(y): 4, id(z): 8}[id(image)] for image in images)
        for between in (False, True):
            yield g.fires(joined(*images, channels=count, between=between), **limits)
    yield g.near_miss(joined(x, y, channels=7), why="the target has no blocks")
    yield g.near_miss(joined(y, x, channels=7), why="it is the last", **limits)
    yield g.near_miss(joined(x, x, y, channels=10), why="two of them end within a block", **limits)
    yield g.near_miss(joined(y, z, channels=12), why="all are whole", **limits)
    yield g.near_miss(joined(x, z, y, channels=15, constant=False), why="the weight is no constant", **limits)
    odd = g.input(("N", 2, 5, "L"))
    for between in (False, True):
        grouped = joined(odd, z, channels=10, group=2, between=between)
        yield g.near_miss(grouped, why="groups would be others", **limits)


@law(
    "block_order",
    numerics="reassociates",
    kind="move",
    serves="target",
    source="hiascend atlas_ascendc_10_0099 (NC1HWC0)",
    uses=(ordering,),
    examples=_examples,
)
def blocks_first(
    xs: Tensors, ys: Tensors, zs: Tensors, w: Tensor, b: Tensor, u: ConvWindow, op: String, s: Settings
):  # fmt: skip
    """Conv(Concat(.., x, y), W, b) = Conv(Concat(.., y, x), W', b) where x ends within a block of channels

    A function of each element may stand between the two.
    """
    channels = whole_blocks_first(xs, limit("channel_block"))
    found = (eq(ys, of_blocks(xs)), eq(zs, others(xs)), is_ungrouped(u))
    weight, demand = gather(w, literal(channels), 1), guard(is_constant(w))
    image, ordered = concat(xs, 1), concat(append(ys, zs), 1)
    for before, after in ((image, ordered), (unary(op, s, image), unary(op, s, ordered))):
        yield rewrite(conv(before, w, b, u), conv(after, weight, b, u), *found, demand, because=ONE)
