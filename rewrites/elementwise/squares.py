"""Functions that leave alone what is not negative, on squares and what is made of them.

    Relu(x * x) -> x * x, Abs(x * x) -> x * x, Clip_0(x * x) -> x * x
    likewise of x ^ 4, ReduceSumSquare(x), and of sums and means of them

`intervals` takes the operands of a product for different ones: see `inference.float_rules`.  A square is
asked for as it is written, and no law makes it equal to a difference that rounding may bring below 0.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, hosted, laws_of, rewrite, rule, table
from egraph_opt.laws.algebra import exp, relu
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Flag, Settings, String, Tensor, Unit
from egraph_opt.operators import binary, reduce, unary
from egraph_opt.rewrites.conditions.values import is_float
from egraph_opt.rewrites.elementwise.identities import clip
from egraph_opt.rewrites.elementwise.intervals import IDENTITIES, is_not_negative

law = laws_of("intervals", numerics="finite", kind="eliminate", serves="arithmetic")


@table()
def from_squares(x: Tensor) -> Unit:
    """Floats that are squares, or sums or means of squares and of what is not negative."""


@hosted()
def is_even(c: Fact) -> bool:
    """One even number."""
    return c.splat is not None and abs(c.splat) <= 64 and c.splat % 2 == 0


@auxiliary()
def squares_and_sums(x: Tensor, y: Tensor, z: Tensor, c: Tensor, a: Axes, k: Flag):
    """Fills `from_squares`."""
    yield rule(eq(y, x * x), is_float(x), then=from_squares(y))
    yield rule(eq(y, x**c), is_float(x), is_even(c), then=from_squares(y))
    yield rule(eq(y, reduce("ReduceSumSquare", x, a, k)), is_float(x), then=from_squares(y))
    for total in ("ReduceSum", "ReduceMean"):
        yield rule(from_squares(x), eq(y, reduce(total, x, a, k)), then=from_squares(y))
    yield rule(from_squares(x), eq(y, x + z), from_squares(z), then=from_squares(y))
    for both in (x + z, z + x):
        yield rule(from_squares(x), eq(y, both), is_not_negative(z), then=from_squares(y))


@hosted()
def is_no_bound_above_zero(op: str, bounds: Settings) -> bool:
    """The function leaves alone what is not negative."""
    low, high = dict(bounds).get("min"), dict(bounds).get("max")
    return op in IDENTITIES or (op == "Clip" and high is None and low is not None and low <= 0)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, two, four, three = g.input(("N", 3)), g.input((3,)), *(g.constant(v) for v in (2.0, 4.0, 3.0))
    total = reduce("ReduceSumSquare", x, (1,), 0)
    for square in (x * x, x**two, x**four, total, reduce("ReduceMean", x * x, (1,), 1)):
        yield from g.all_fire(relu(square), unary("Abs", (), square), clip(0.0, None, square))
    yield from g.all_fire(relu(x * x + y * y), relu(x * x + exp(y)), relu(exp(y) + x * x))
    yield g.fires(unary("LeakyRelu", (("alpha", 0.25),), reduce("ReduceSum", x * x + y**four, (1,), 0)))
    whole = g.input((3,), INT64)
    yield from g.near_misses(
        (relu(x * y), "two tensors"),
        (relu(x**three), "an odd power"),
        (relu(binary("Pow", x, y)), "powers of any kind"),
        (relu(x * x - y * y), "a difference"),
        (relu(x * x + y), "the other one may be negative"),
        (clip(0.5, None, x * x), "a bound above 0"),
        (clip(0.0, 1.0, x * x), "a bound from above"),
        (unary("Sign", (), x * x), "no identity"),
        (unary("Abs", (), whole * whole), "squares of integers overflow"),
        (relu(reduce("ReduceMax", x * x, (1,), 0)), "the greatest of nothing is -infinity"),
    )


@law(examples=_examples, uses=(squares_and_sums,))
def idle_on_squares(op: String, s: Settings, x: Tensor):
    """Relu(x) = x for a square, or a sum or mean of squares, likewise Abs, LeakyRelu, Elu and Clip_0"""
    found = (from_squares(x), is_no_bound_above_zero(op, s))
    yield rewrite(unary(op, s, x), x, *found, because="forgets op and its bounds")
