"""Constants and functions move past pools: into a convolution, or to where there are fewer elements.

Pool(x) * s = Pool(x * s), Pool(x) + c = Pool(x + c)      one number, or one per channel
f(MaxPool(x)) = MaxPool(f(x))                             for functions that keep the order

In front of the pool only behind a convolution.  A maximum is kept by scales above 0 only, and a
mean that counts its pads is no mean of what is shifted.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.laws import Example, Operands, eq, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Settings, String, Tensor
from egraph_opt.operators import ConvWindow, PoolWindow, binary, conv, global_pool, none, pool, unary
from egraph_opt.rewrites.conditions.channels import (
    LARGEST_SHIFT,
    chains,
    count_in,
    is_scale,
    is_shift,
    largest_of,
    unchained,
)
from egraph_opt.rewrites.conditions.steps import entire, wholes
from egraph_opt.rewrites.conditions.windows import always_sees_something
from egraph_opt.rewrites.convolution.outputs import PLAIN

law = laws_of("pooling", kind="move", serves="traffic")

# --- constants ------------------------------------------------------------------------------------------


def _is_per_channel(op: str, x: Fact, c: Fact) -> bool:
    """A scale or shift of one number, or of one per channel of x."""
    if x.shape is None or len(x.shape) < 3 or not isinstance(x.shape[1], int):
        return False
    if not ((op == "Mul" and is_scale(c)) or (op == "Add" and is_shift(c))):
        return False
    if op == "Add" and largest_of(c) > LARGEST_SHIFT:
        return False  # of what it is added to nothing may be left, or more than there is
    return count_in(x, c, len(x.shape), x.shape[1]) is not None


def _keeps_order(op: str, c: Fact) -> bool:
    interval = interval_of(c)
    return op == "Add" or (interval is not None and interval[0] > 0)


@hosted()
def commutes(kind: str, window: PoolWindow, op: str, x: Fact, c: Fact) -> bool:
    """Whether a pool of x op c is the pool of x, op c."""
    if not _is_per_channel(op, x, c):
        return False
    if kind == "MaxPool":
        return _keeps_order(op, c) and always_sees_something.function(window)
    counts = window.count_include_pad and (any(window.pads) or window.ceil_mode)
    return kind == "AveragePool" and (op == "Mul" or not counts)


@hosted()
def commutes_globally(kind: str, op: str, x: Fact, c: Fact) -> bool:
    """The same of a pool of all pixels."""
    return _is_per_channel(op, x, c) and (kind == "GlobalAveragePool" or _keeps_order(op, c))


TWO = PoolWindow((2, 2), (2, 2), (0,) * 4, (1, 1))
COUNTED = PoolWindow((3, 3), (1, 1), (1,) * 4, (1, 1), 0, 1)
OPEN = PoolWindow((3, 3), (2, 2), (1,) * 4, (1, 1), 1, 0)

AROUND = PoolWindow((2, 2), (1, 1), (1,) * 4, (5, 5))


def _constant_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    image, w = g.input(("N", 3, 6, 5)), g.random(4, 3, 1, 1)
    x, c = conv(image, w, g.random(4), PLAIN), g.constant(rng.uniform(0.5, 2, (4, 1, 1)).astype(np.float32))
    negative = g.constant(np.array([-0.5, 1, 2, 3], np.float32).reshape(4, 1, 1))
    for kind, op, window in (
        ("AveragePool", "Mul", COUNTED),
        ("AveragePool", "Add", OPEN),
        ("AveragePool", "Add", TWO),
        ("MaxPool", "Mul", OPEN),
        ("MaxPool", "Add", TWO),
    ):
        yield g.fires(binary(op, pool(kind, x, window), c))
        yield g.fires(pool(kind, binary(op, image, g.constant(np.float32(1.5))), window))
    for op in ("Mul", "Add"):
        for kind in ("GlobalAveragePool", "GlobalMaxPool"):
            yield g.fires(binary(op, global_pool(kind, x), c))
    yield g.fires(pool("AveragePool", x, TWO) * negative)
    yield from g.near_misses(
        (pool("MaxPool", x, TWO) * negative, "the least becomes the greatest"),
        (pool("AveragePool", x, COUNTED) + c, "the pads are not shifted"),
        (pool("MaxPool", x, AROUND) * c, "the least number overflows"),
        (pool("AveragePool", x, TWO) + g.constant(-2e38), "of means nothing is left"),
        (global_pool("GlobalMaxPool", x) + g.constant(-2e38), "of the greatest nothing is left"),
        (pool("AveragePool", x, TWO) * g.input((4, 1, 1)), "it is no constant"),
        (pool("AveragePool", x, PoolWindow((1, 1), (1, 1), (0,) * 4, (1, 1))) * g.random(6, 5), "per pixel"),
        (pool("AveragePool", image, TWO) * g.random(3, 1, 1), "nothing takes it in"),
    )


@law(
    numerics="reassociates",
    source="Ascend auto-optimizer, BNFolding",
    uses=(chains, wholes),
    examples=_constant_examples,
)
def constant_of_pool(
    kind: String,
    x: Tensor,
    u: PoolWindow,
    op: String,
    c: Tensor,
    z: Tensor,
    w: Tensor,
    b: Tensor,
    t: ConvWindow,
):
    """Pool(x) op c = Pool(x op c) for scales and shifts of channels; to the right behind a convolution"""
    known, behind = commutes(kind, u, op, x, c), guard(eq(x, conv(z, w, b, t)))
    pooled = pool(kind, x, u)
    moved = unchained(op, x)
    outside, inside = binary(op, pooled, c), pool(kind, binary(op, x, c), u)
    yield rewrite(outside, inside, known, behind, guard(entire(pooled)), inverse="constant_of_pool")
    free = guard(varies(x), entire(inside))
    yield rewrite(inside, outside, known, moved, free, inverse="constant_of_pool")
    known, pooled = commutes_globally(kind, op, x, c), global_pool(kind, x)
    outside, inside = binary(op, pooled, c), global_pool(kind, binary(op, x, c))
    yield rewrite(outside, inside, known, behind, inverse="constant_of_pool")
    yield rewrite(inside, outside, known, moved, guard(varies(x)), inverse="constant_of_pool")


# --- functions ------------------------------------------------------------------------------------------

RISING = ("Ceil", "Clip", "Floor", "HardSigmoid", "LeakyRelu", "Relu", "Round", "Sigmoid", "Tanh")
"""Functions that keep the order, where their settings do."""


@hosted()
def rises(op: str, settings: Settings) -> bool:
    """A greater number never has a smaller value."""
    given = dict(settings)
    return op in RISING and all(v is None or v >= 0 for k, v in given.items() if k == "alpha")


def _function_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    image, w = g.input(("N", 3, 6, 5)), g.random(4, 3, 1, 1)
    x = conv(image, w, none(), PLAIN)
    leaky, falling = (("alpha", 0.1),), (("alpha", -0.1),)
    for op, settings in (("Relu", ()), ("Sigmoid", ()), ("LeakyRelu", leaky), ("Tanh", ())):
        yield g.fires(unary(op, settings, pool("MaxPool", x, OPEN)))
        yield g.fires(pool("MaxPool", unary(op, settings, image), TWO))
        yield g.fires(unary(op, settings, global_pool("GlobalMaxPool", x)))
    yield from g.near_misses(
        (unary("Abs", (), pool("MaxPool", x, TWO)), "what is below 0 becomes great"),
        (unary("LeakyRelu", falling, pool("MaxPool", x, TWO)), "it falls below 0"),
        (unary("Relu", (), pool("AveragePool", x, TWO)), "a mean is no element"),
        (unary("Relu", (), pool("MaxPool", image, TWO)), "nothing takes it in"),
    )


@law(numerics="finite", source="algebra", uses=(wholes,), examples=_function_examples)
def function_of_maximum(
    f: String, s: Settings, x: Tensor, u: PoolWindow, z: Tensor, w: Tensor, b: Tensor, t: ConvWindow
):
    """f(MaxPool(x)) = MaxPool(f(x)) for functions that keep the order; to the right behind a convolution"""
    known, behind, name = rises(f, s), guard(eq(x, conv(z, w, b, t))), "function_of_maximum"
    rising = unary(f, s, x)
    inside, pooled = pool("MaxPool", rising, u), pool("MaxPool", x, u)
    outside = unary(f, s, pooled)
    sees = always_sees_something(u)
    yield rewrite(outside, inside, known, sees, behind, guard(entire(pooled)), inverse=name)
    yield rewrite(inside, outside, known, sees, guard(varies(x), entire(inside)), inverse=name)
    inside, pooled = global_pool("GlobalMaxPool", rising), global_pool("GlobalMaxPool", x)
    outside = unary(f, s, pooled)
    yield rewrite(outside, inside, known, behind, inverse=name)
    yield rewrite(inside, outside, known, guard(varies(x)), inverse=name)
