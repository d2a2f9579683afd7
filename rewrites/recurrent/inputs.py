"""What is linear in front of a recurrent layer goes into its weights.

RNN(x @ V; W, R, b) -> RNN(x; W @ V', R, b)
RNN(x * s; W, R, b) -> RNN(x; W * s, R, b)
RNN(x + c; W, R, b) -> RNN(x; W, R, b + [W @ c, 0])
Transpose_p(x @ V) -> Transpose_p(x) @ V         where a layer takes it, the last axis being kept

V is one matrix, s and c are numbers for each feature, or one for all.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, laws_of, rewrite, rule, table
from egraph_opt.laws.algebra import tanh
from egraph_opt.laws.sorts import Dims, Pads, Permutation, Tensor, Tensors, Unit
from egraph_opt.operators import none, output, pad, recurrent, reduce, reshape, transpose
from egraph_opt.operators.recurrent import GATES, RecurrentLayer
from egraph_opt.operators.terms import cons, listed
from egraph_opt.rewrites.conditions.chains import affine, moves, of_weight, weights
from egraph_opt.rewrites.conditions.channels import (
    count_along,
    is_absent,
    is_float_constant,
    is_present,
    is_scale,
    is_shift,
    may_sum,
    overflows_nowhere,
    product_fits,
    static_shape,
)
from egraph_opt.rewrites.linear.rows import keeps_last
from egraph_opt.rewrites.recurrent.states import example_layer, fixed_steps

law = laws_of(
    "recurrent",
    numerics="reassociates",
    kind="fuse",
    serves="arithmetic",
    source="algebra; projections in front of recurrent layers",
)

FORGETS = "forgets what was in front"
ELEMENTS = 2**14
"""Of an input weight: so few are worth a product less."""


# --- products -------------------------------------------------------------------------------------------


@hosted()
def is_matrix(v: Fact, w: Fact) -> bool:
    """One matrix, of which the product with the weight overflows nothing that is known."""
    return v.rank == 2 and is_float_constant(v) and is_float_constant(w) and overflows_nowhere("Mul", v, w)


@hosted()
def is_worth(v: Fact, w: Fact) -> bool:
    """The weight of both has no more elements than the two, or few."""
    shape, layer = static_shape(v), static_shape(w)
    if shape is None or layer is None or len(shape) != 2 or len(layer) != 3:
        return False
    (before, between), rows = shape, layer[0] * layer[1]
    return rows * before <= max(before * between + rows * between, ELEMENTS)


@hosted()
def multiply_well(v: Fact, w: Fact) -> bool:
    return product_fits(w, v)


def _projected(rng: np.random.Generator) -> Iterator[Example]:
    for kind in GATES:
        g = Operands(rng)
        x = g.input((5, 4, 6)) * g.random(5, 4, 6)
        y = x @ g.random(6, 3)
        for direction in ("forward", "reverse", "bidirectional"):
            yield g.fires(output(example_layer(g, kind, y, direction=direction), 0))
        yield g.fires(output(example_layer(g, kind, y, bias=none()), 1))
    g = Operands(rng)
    x = g.input((5, 4, 3)) * g.random(5, 4, 3)
    computed = x @ (g.input((3, 3)) * g.random(3, 3))
    yield g.near_miss(output(example_layer(g, "GRU", computed), 1), why="V is no constant")
    yield g.near_miss(
        output(example_layer(g, "GRU", x @ g.random(5, 3, 3)), 1), why="V is a stack of matrices"
    )
    large, two, nothing = g.constant(np.full((1, 2, 3), 1e38)), g.constant(np.full((3, 3), 2.0)), none()
    of_large = listed(large, g.random(1, 2, 2), nothing, nothing)
    layer = RecurrentLayer("RNN", (("direction", "forward"), ("hidden_size", 2)))
    yield g.near_miss(
        output(recurrent(x @ two, of_large, nothing, nothing, nothing, layer), 0), why="the weight overflows"
    )
    long = (g.input((1, 1, 9000)) * g.random(1, 1, 9000)) @ g.random(9000, 3)
    yield g.near_miss(output(example_layer(g, "GRU", long), 1), why="the weight would be large")


@law(examples=_projected, uses=(weights,))
def product_into_weights(
    x: Tensor, v: Tensor, w: Tensor, rest: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer
):
    """RNN(x @ V; W) = RNN(x; W @ V') for constants V and W"""
    before, inside = recurrent(x @ v, cons(w, rest), n, h, c, s), w @ transpose(v, (1, 0))
    worth = guard(is_worth(v, w)), of_weight(x, v, 0)
    one = recurrent(x, cons(inside, rest), n, h, c, s)
    yield rewrite(before, one, is_matrix(v, w), multiply_well(v, w), *worth, because=FORGETS)


# --- scales and shifts ----------------------------------------------------------------------------------


@hosted()
def features_of(x: Fact, c: Fact, w: Fact) -> Dims | None:
    """The numbers of a constant for the features of x, which are all there: one, or one for each."""
    shape = static_shape(w)
    if shape is None or len(shape) != 3 or not is_float_constant(w):
        return None
    if x.rank != 3 or x.shape is None or x.shape[2] != shape[2]:
        return None
    count = count_along(c, 3, 2, shape[2])
    return None if count is None else (count,)


@hosted()
def behind_rows(w: Fact) -> Pads | None:
    """The pads that leave room for the biases of the recurrence behind those of the input."""
    shape = static_shape(w)
    return (0, 0, 0, shape[1]) if shape else None


@hosted()
def scales_well(c: Fact, w: Fact) -> bool:
    return overflows_nowhere("Mul", c, w)


def _scaled(rng: np.random.Generator) -> Iterator[Example]:
    for kind in GATES:
        g = Operands(rng)
        x = tanh(fixed_steps(g, 5))
        for c in (g.random(3), g.random(1, 1, 3), g.constant(0.5)):
            yield g.fires(output(example_layer(g, kind, x * c), 0))
        yield g.fires(
            output(example_layer(g, kind, x * g.random(3), direction="bidirectional", bias=none()), 1)
        )
    g = Operands(rng)
    x, narrow = tanh(fixed_steps(g, 5)), tanh(g.input((5, 4, 1)) * g.random(5, 4, 1))
    yield from g.near_misses(
        (output(example_layer(g, "LSTM", x * g.random(4, 1)), 0), "a number for each sequence"),
        (output(example_layer(g, "LSTM", x * fixed_steps(g, 5)), 0), "it is no constant"),
        (output(example_layer(g, "LSTM", narrow * g.random(3)), 0), "one feature"),
    )


@law(examples=_scaled, uses=(affine,))
def scale_into_weights(
    x: Tensor, k: Tensor, w: Tensor, rest: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer
):
    """RNN(x * k; W) = RNN(x; W * k) for numbers k of each feature, or one"""
    scaled = w * reshape(k, features_of(x, k, w))
    known = scales_well(k, w), *guard(is_scale(k)), *moves("Mul", x, k)
    one = recurrent(x, cons(scaled, rest), n, h, c, s)
    yield rewrite(recurrent(x * k, cons(w, rest), n, h, c, s), one, *known, because=FORGETS)


OPENING = frozenset({"Sigmoid", "HardSigmoid"})
"""Activations between 0 and 1."""

LEVEL = OPENING | {"Tanh", "Softsign"}
"""Activations that are level far from 0."""


@hosted()
def forgets_roundings(layer: RecurrentLayer) -> bool:
    """Gates are between 0 and 1, and states at most 1, so that roundings do not grow from step to step."""
    names = dict(layer.settings).get("activations") or ()
    count = {"RNN": 1, "GRU": 2, "LSTM": 3}[layer.kind]
    gates = names[::count] if layer.kind != "RNN" else ()
    return LEVEL.issuperset(names) and OPENING.issuperset(gates)


def _shifted(rng: np.random.Generator) -> Iterator[Example]:
    for kind in GATES:
        g = Operands(rng)
        x = tanh(fixed_steps(g, 5))
        for c in (g.random(3), g.random(1, 1, 3), g.constant(0.5)):
            yield g.fires(output(example_layer(g, kind, x + c), 0))
        both = example_layer(g, kind, x + g.random(3), direction="bidirectional", bias=none())
        yield g.fires(output(both, 1))
    g = Operands(rng)
    x, narrow = tanh(fixed_steps(g, 5)), tanh(g.input((5, 4, 1)) * g.random(5, 4, 1))
    yield from g.near_misses(
        (output(example_layer(g, "LSTM", x + g.random(4, 1)), 0), "a number for each sequence"),
        (output(example_layer(g, "LSTM", x + fixed_steps(g, 5)), 0), "it is no constant"),
        (output(example_layer(g, "LSTM", narrow + g.random(3)), 0), "one feature"),
    )
    growing = RecurrentLayer(
        "GRU",
        (
            ("activations", ("Tanh", "Tanh")),
            ("direction", "reverse"),
            ("hidden_size", 1),
            ("linear_before_reset", 1),
        ),
    )
    weights = [g.constant(np.full((1, 3, 1), v, np.float32)) for v in (-2.0, 2.0)]
    long = g.input((64, 64, 1)) + g.constant(3.0)
    for bias in (g.input((1, 6)), none()):
        layer = recurrent(long, listed(*weights, bias, none()), none(), none(), none(), growing)
        yield g.near_miss(output(layer, 0), why="a gate lets through more than there is")
    large, far = g.constant(np.full((1, 2, 3), 3e38)), fixed_steps(g, 5) + g.constant(2.0)
    layer = RecurrentLayer("RNN", (("direction", "forward"), ("hidden_size", 2)))
    for bias in (none(), g.random(1, 4)):
        of_large = listed(large, g.random(1, 2, 2), bias, none())
        saturated = output(recurrent(far, of_large, none(), none(), none(), layer), 0)
        yield g.near_miss(saturated, why="the bias overflows")


@law(examples=_shifted, uses=(affine,))
def shift_into_bias(x: Tensor, k: Tensor, w: Tensor, r: Tensor, b: Tensor, rest: Tensors, n: Tensor,
                    h: Tensor, c: Tensor, s: RecurrentLayer):  # fmt: skip
    """RNN(x + k; W, R, b) = RNN(x; W, R, b + [W @ k, 0]) for numbers k of each feature, or one

    Of usual activations: others make as much of what is rounded as of numbers.
    """
    features = (2,)
    rows = reduce("ReduceSum", w * reshape(k, features_of(x, k, w)), features, 0)
    moved = pad(rows, "constant", behind_rows(w), 0.0)
    known = may_sum(k, w, features), forgets_roundings(s), *guard(is_shift(k)), *moves("Add", x, k)
    before = recurrent(x + k, listed_with(w, r, b, rest), n, h, c, s)
    for bias, present in ((b + moved, is_present(b)), (moved, is_absent(b))):
        one = recurrent(x, listed_with(w, r, bias, rest), n, h, c, s)
        yield rewrite(before, one, *known, present, because=FORGETS)


def listed_with(w: Any, r: Any, b: Any, rest: Any) -> Any:
    """The weights of a layer, peepholes and all."""
    return cons(w, cons(r, cons(b, rest)))


# --- behind transposes ----------------------------------------------------------------------------------


@table()
def stepped(x: Tensor) -> Unit:
    """A recurrent layer takes x, or x and a constant."""


@auxiliary()
def stepping(x: Tensor, y: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer):
    """Fills `stepped`."""
    yield rule(recurrent(x, w, n, h, c, s), then=stepped(x))
    yield rule(stepped(y), eq(y, x + n), is_shift(n), then=stepped(x))


def _batches_first(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, p = g.input((4, 5, 6)) * g.random(4, 5, 6), (1, 0, 2)
    y = transpose(x @ g.random(6, 3), p)
    yield g.fires(output(example_layer(g, "GRU", y), 0))
    yield g.fires(output(example_layer(g, "LSTM", y + g.random(3)), 0))
    last = transpose(transpose(x, (2, 0, 1)) @ g.random(5, 3), (0, 2, 1))
    yield from g.near_misses(
        (y * y, "no layer takes it"),
        (output(example_layer(g, "RNN", transpose(last, (0, 2, 1))), 1), "nothing is between"),
        (output(example_layer(g, "RNN", transpose(x @ g.random(4, 6, 3), p)), 1), "V is a stack of matrices"),
    )


@law(kind="move", serves="traffic", examples=_batches_first, uses=(stepping, weights))
def transposed_product(x: Tensor, v: Tensor, p: Permutation):
    """Transpose_p(x @ V) = Transpose_p(x) @ V where a recurrent layer takes it, the last axis being kept"""
    before, behind = transpose(x @ v, p), transpose(x, p) @ v
    known = keeps_last(p, v), guard(stepped(before)), of_weight(x, v, 0)
    yield rewrite(before, behind, *known, because="only where a layer takes it")
