"""Two recurrent layers of one input, forwards and in reverse, are one in both directions.

Concat(RNN(x, V), RNN in reverse(x, W)) -> RNN in both directions(x, [V; W])
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.laws import Example, Operands, eq, hosted, law, rule, union
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Axis, Bundle, Int, Permutation, Tensor
from egraph_opt.operators import concat, none, output, recurrent, reshape, transpose
from egraph_opt.operators.recurrent import GATES, RecurrentLayer
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.channels import is_present
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.recurrent.layouts import LAYOUTS, Layout, layout, layouts
from egraph_opt.rewrites.recurrent.states import example_layer, fixed_steps


@hosted()
def both(s: RecurrentLayer, t: RecurrentLayer) -> RecurrentLayer | None:
    """The layer of both directions, where t is s in reverse and activations are the usual ones."""
    given = dict(s.settings)
    ahead = (s.direction, t.direction) == ("forward", "reverse")
    alike = s.kind == t.kind and {**dict(t.settings), "direction": "forward"} == given
    if not ahead or not alike or any(name.startswith("activation") for name in given):
        return None
    return RecurrentLayer(s.kind, tuple(sorted({**given, "direction": "bidirectional"}.items())))


@hosted()
def joined_order(axes: Layout, a: Axis, k: int) -> Permutation | None:
    """The transpose of the output of both directions that has its axes in the order of the Concat."""
    if axes[a] not in "1H":
        return None
    names = axes[:a] + {"1": "D", "H": "DH"}[axes[a]] + axes[a + 1 :]
    return tuple(LAYOUTS[k].index(name) for name in names if name != "1")


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    def two(g: Operands, kind: str, k: int, *directions: str) -> list[Any]:
        x = fixed_steps(g, 5)
        return [output(example_layer(g, kind, x, direction=d), k) for d in directions]

    g = Operands(rng)
    narrow = [reshape(steps, (5, 4, 2)) for steps in two(g, "LSTM", 0, "forward", "reverse")]
    first = [transpose(steps, (1, 0, 2)) for steps in narrow]
    yield from g.all_fire(concat(listed(*narrow), 2), concat(listed(*first), 2))
    yield g.near_miss(concat(listed(*narrow), 0), why="steps behind steps")
    yield g.near_miss(concat(listed(*reversed(narrow)), 2), why="the other way round")
    yield g.near_miss(concat(listed(narrow[0], narrow[0]), 2), why="one of them alone")
    yield from _others(g, narrow, 2)
    for kind in GATES:
        g = Operands(rng)
        yield g.fires(concat(listed(*two(g, kind, 1, "forward", "reverse")), 0))
    g = Operands(rng)
    x = fixed_steps(g, 5)
    ways = ("forward", "reverse")
    plain = [output(example_layer(g, "GRU", x, direction=d, bias=none()), 0) for d in ways]
    biased = [output(example_layer(g, "GRU", x, direction=d), 0) for d in ways]
    yield g.fires(concat(listed(*plain), 1))
    yield from _others(g, plain, 1)
    for first, second in ((plain[0], biased[1]), (biased[0], plain[1])):
        yield g.near_miss(concat(listed(first, second), 1), why="one of them has no bias")
    g = Operands(rng)
    yield g.near_miss(concat(listed(*two(g, "GRU", 0, "forward", "forward")), 1), why="both are forwards")


def _others(g: Operands, outputs: list[Any], axis: int) -> Iterator[Example]:
    """Something else instead of either output, with both layers there."""
    ahead, back = outputs
    for pair in ((relu(ahead), back), (ahead, relu(back))):
        yield g.near_miss(concat(listed(*pair), axis), why="one is no output of a layer")


@law(
    "recurrent",
    numerics="reassociates",
    kind="merge",
    serves="launches",
    source="TensorFlow and Keras exporters",
    examples=_examples,
    uses=(layouts,),
)
def two_directions(v: Tensor, u: Tensor, z: Tensor, x: Tensor, w: Tensor, r: Tensor, b: Tensor, m: Tensor,
                   n: Tensor, c: Tensor, d: Tensor, s: RecurrentLayer, t: RecurrentLayer, f: Bundle,
                   e: Bundle, a: Axis, p: Layout, k: Int):  # fmt: skip
    """Concat(RNN(x), RNN in reverse(x)) = RNN in both directions(x), along hidden units or directions

    Both have the same lengths, or none.
    """
    nothing = none()
    for b_, c_, known in ((b, c, (is_present(b), is_present(c))), (nothing, nothing, ())):
        ahead = eq(f, recurrent(x, listed(w, r, b_, nothing), d, nothing, nothing, s))
        back = eq(e, recurrent(x, listed(m, n, c_, nothing), d, nothing, nothing, t))
        found = (ahead, back, eq(p, layout(v, f, k)), eq(p, layout(u, e, k)), eq(z, concat(listed(v, u), a)))
        order = joined_order(p, a, k)
        bias = concat(listed(b, c), 0) if known else nothing
        weights = listed(concat(listed(w, m), 0), concat(listed(r, n), 0), bias, nothing)
        one = output(recurrent(x, weights, d, nothing, nothing, both(s, t)), k)
        joined = union(z, reshape(transpose(one, order), known_dims(z)))
        yield rule(*found, *known, then=joined, because="forgets which weights were whose")
