"""Piecewise linear functions are Relu, Abs, LeakyRelu and Clip, however they are computed.

    x * a + Relu(x) * (1 - a) -> LeakyRelu_a(x)       Where(x > 6, 6, Relu(x)) -> Clip_06(x)
    Max(Relu(x), Relu(-x)) -> Abs(x)                  6 - Relu(6 - Relu(x)) -> Clip_06(x)
    -Relu(-x) -> Clip(x) from above by 0              Relu(x) - Relu(-x) -> x

`pieces` follows them through sums, bounds and choices by comparisons.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.laws import Example, Operands, eq, guard, hosted, kernel, laws_of, ne, rule, union
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Name, Settings, Tensor
from egraph_opt.operators import binary, unary, variadic, where
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.values import is_kernel_float
from egraph_opt.rewrites.elementwise.identities import clip
from egraph_opt.rewrites.elementwise.pieces import LINE, Lines, Pieces, functions_in_pieces, pieces

law = laws_of("piecewise", numerics="reassociates", kind="composite", serves="launches")

LOST = "forgets how it was spelled"


Function = tuple[str, Settings]
"""The name of an operator, and its settings."""


def _bounds(low: float | None, high: float | None) -> Function:
    return "Clip", (("max", high), ("min", low))


def _with_one_knot(p: Lines) -> Function | None:
    """Of two pieces."""
    (_, low, low_shift), (knot, high, high_shift) = p
    if (high, high_shift) == (1, 0):
        if low == 0:
            return ("Relu", ()) if knot == 0 else _bounds(low_shift, None)
        if knot == low_shift == 0:
            return ("Abs", ()) if low == -1 else ("LeakyRelu", (("alpha", low),))
    return _bounds(None, high_shift) if (low, low_shift, high) == (1, 0, 0) else None


def _function(found: Pieces) -> Function | None:
    """The function that has these pieces, where it is not spelled so; numbers are those of float32."""
    steps, p = found
    if steps < 2:
        return None
    lines = [tuple(float(np.float32(v)) for v in piece[1:]) for piece in p]
    rounded = [(start, *line) for (start, *_), line in zip(p, lines, strict=True)]
    if len(p) == 2:
        return _with_one_knot(tuple((0.0 if abs(k) < 1e-7 else k, *line) for k, *line in rounded))
    if len(p) < 3 or lines[0][0] or lines[2][0] or lines[1] != (1, 0):
        return None
    return _bounds(lines[0][1], lines[2][1])


@hosted()
def op_with(p: Pieces) -> Name | None:
    found = _function(p)
    return None if found is None else found[0]


@hosted()
def settings_with(p: Pieces) -> Settings | None:
    found = _function(p)
    return None if found is None else found[1]


@hosted()
def is_line(p: Pieces) -> bool:
    """It is x itself."""
    return bool(p[1] == LINE)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, one, six, tenth = g.input(("N", 3)), g.input(("N", 3)), *map(g.constant, (1.0, [6.0], 0.125))
    wide = g.constant(np.full((4, 1, 1), 6.0))
    less, double_six = g.constant(-6.0), g.constant(6.0 + 2.0**-25, TensorProto.DOUBLE)
    yield from g.all_fire(
        x * tenth + relu(x) * g.constant(0.875),
        relu(x) - relu(-x * tenth),
        variadic("Max", listed(relu(x), relu(-x))),
        -variadic("Min", listed(-x, x * g.constant(-0.125))),
        -relu(-x),
        relu(x) - relu(-x),
        six - relu(six - relu(x)),
        where(binary("Greater", x, six), six, relu(x)),
        where(binary("Less", six, x), six, relu(x)),
        where(binary("Less", x, g.constant(-1.0)), g.constant(-1.0), clip(None, 1.0, x)),
        unary("LeakyRelu", (("alpha", 0.25),), relu(x)),
    )
    yield from g.near_misses(
        (x * tenth + relu(z), "another tensor"),
        (x * tenth + relu(x), "it is scaled above 0"),
        (where(binary("Greater", x, one), six, relu(x)), "it has a step"),
        (where(binary("Greater", z, six), six, relu(x)), "another tensor is compared"),
        (where(binary("Greater", x, wide), six, relu(x)), "broadcasting makes it bigger"),
        (where(binary("Greater", x, six), wide, relu(x)), "broadcasting makes it bigger"),
        (relu(x) * g.random(3), "several numbers"),
        (relu(x) - relu(x + less), "large numbers cancel"),
        (relu(x) - relu(x + less) + relu(x + g.constant(-7.0)) * tenth, "four pieces"),
        (double_six - relu(double_six - relu(g.input((3,), TensorProto.DOUBLE))), "6 + 2^-25 is no float32"),
    )


@law(uses=(functions_in_pieces,), examples=_examples)
def known_function(y: Tensor, x: Tensor, p: Pieces):
    """y = Relu(x), Abs(x), LeakyRelu(x), Clip(x) or x, where y is that on each piece"""
    found, whole = eq(p, pieces(y, x)), unary(op_with(p), settings_with(p), x)
    yield rule(found, kernel(is_kernel_float(x)), then=union(y, whole), because=LOST)
    yield rule(found, is_line(p), guard(ne(y, x)), then=union(y, x), because=LOST)
