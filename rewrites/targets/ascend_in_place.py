"""Convolutions of Ascend that write their channels into a wider image: a Concat behind them is none.

Concat(Conv(x), MaxPool(y); channels) -> From(Concat'(Conv'(To(x)), MaxPool'(To(y))))   written in place

Such a Concat joins no tensors, and costs nothing.  The compiler makes it where all operands fill whole blocks
of channels and come from convolutions, all with the same function behind them, or from MaxPools, which nobody
else reads (ConvConcatFusionPass, hiascend atlasrr_30_0010, of all chips; conditions as in its source,
hicann/ge conv_concat_fusion_pass.cc).  What is written in place is no tensor of its own: whoever needs it too
pays for the convolution again.
"""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Operands, assign, auxiliary, eq, hosted, law, rule, table, union
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import String, Tensor, Tensors, Unit
from egraph_opt.operators import ConvWindow, PoolWindow, concat, pool, unary
from egraph_opt.operators.terms import cons, limit, listed, nil
from egraph_opt.rewrites.conditions.formats import IMAGES, IN_PLACE, is_image
from egraph_opt.rewrites.targets.ascend_layout_chains import LIMITS, REQUIRED, example_image
from egraph_opt.rewrites.targets.layouts import PSEUDO, Kernel, from_layout, laid, to_layout


@hosted()
def concat_in_place(xs: tuple[Fact, ...], block: int) -> Kernel | None:
    """Images whose channels fill whole blocks, one behind the other."""
    if len(xs) < 2 or not all(is_image(x) and x.rank == 4 for x in xs):
        return None
    channels = [x.shape[1] if x.shape is not None else None for x in xs]
    whole = all(isinstance(count, int) and count % block == 0 for count in channels)
    return ("concat", (1,), len(xs), True) if whole else None


@hosted()
def writes_in_place(layout: str, found: Kernel, y: Fact) -> bool:
    """A MaxPool, or a convolution that is not depthwise and has the function that the layout asks for."""
    name, settings, *_ = found
    if name == "pool":
        return bool(settings[0] == "MaxPool")
    (cube, own), stages = settings if name == "fused_cube" else ((name, settings), ())
    if cube != "conv" or len(stages) > 1 or y.shape is None:
        return False
    window: ConvWindow = own[0]
    depthwise = window.group > 1 and y.shape[1] == window.group
    return not depthwise and IN_PLACE.get(stages[0][0] if stages else "") == layout


@table()
def joined_in_place(xs: Tensors) -> Unit:
    """Operands, or the last of them, of a Concat that there is no need to run."""


@table(merge="first")
def written(layout: String, xs: Tensors) -> Tensors:
    """What writes the operands, each in its place; nothing where one of them is written otherwise."""


@auxiliary()
def writing(x: Tensor, xs: Tensors, rest: Tensors, zs: Tensors, k: Kernel, operands: Tensors):
    """Fills `joined_in_place` and `written`."""
    yield rule(concat(xs, 1), concat_in_place(xs, limit("in_place_block")), then=joined_in_place(xs))
    first = (joined_in_place(xs), eq(xs, cons(x, rest)))
    yield rule(*first, then=joined_in_place(rest))
    kernel_of_x = eq(x, from_layout(IMAGES, laid(IMAGES, k, operands)))
    for layout in IN_PLACE.values():
        found, place = (*first, kernel_of_x, writes_in_place(layout, k, x)), to_layout(layout, x)
        own = union(place, laid(layout, k, operands))
        yield rule(*found, eq(rest, nil()), then=(own, assign(written(layout, xs), cons(place, nil()))))
        others = eq(zs, written(layout, rest))
        yield rule(*found, others, then=(own, assign(written(layout, xs), cons(place, zs))))


def _examples(rng):
    g = Operands(rng)
    limits = {**LIMITS, "in_place_block": 4}
    first, second = example_image(g), example_image(g, 8)
    pooled = pool("MaxPool", g.input(("N", 4, 7, 5)), PoolWindow((2, 2), (1, 1), (0, 0, 0, 0), (1, 1)))
    yield g.fires(concat(listed(first, second), 1), **limits)
    yield g.fires(concat(listed(relu(first), relu(second)), 1), **limits)
    yield g.fires(concat(listed(relu(first), pooled), 1), **limits)
    yield g.near_miss(concat(listed(first, second), 1), why="the target does not do so", **LIMITS)
    for operands, axis, why in (
        ((first, example_image(g, 3)), 1, "three channels fill no block"),
        ((first, example_image(g)), 2, "not along the channels"),
        ((first, relu(second)), 1, "one has a function behind it"),
        ((unary("Tanh", (), first), unary("Tanh", (), second)), 1, "no such function"),
        ((first, g.input(("N", 4, 6, 4))), 1, "one is no convolution"),
    ):
        yield g.near_miss(concat(listed(*operands), axis), why=why, **limits)


@law(
    "ascend.in_place",
    numerics="bitwise",
    kind="fuse",
    serves="target",
    source="ConvConcatFusionPass: hiascend atlasrr_30_0010; hicann/ge conv_concat_fusion_pass.cc",
    uses=(writing,),
    examples=_examples,
    required=(*REQUIRED, "ascend.fusion.unary_stage"),
)
def concatenation(y: Tensor, xs: Tensors, zs: Tensors, layout: String):
    """Concat(Conv(x), Conv(y)) = From(Concat'(Conv'(To(x)), Conv'(To(y)))), each written in place"""
    found = (eq(y, concat(xs, 1)), eq(zs, written(layout, xs)))
    joined = concat_in_place(xs, limit("in_place_block"))
    yield rule(*found, then=union(y, from_layout(IMAGES, laid(layout, joined, zs))), because=PSEUDO)
