"""Sequences of known lengths backwards, and layers on sequences of several lengths backwards.

ReverseSequence(x, lengths) -> x[::-1]        where all are as long as x; x where none has two elements
RNN(ReverseSequence(x, l), l) -> RNN in reverse(x, l), its steps ReverseSequence of them
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, hosted, laws_of, rewrite, rule, table, union
from egraph_opt.laws.sorts import Bundle, Int, Slices, Tensor, Tensors, Unit
from egraph_opt.operators import (
    cast,
    expand_to,
    none,
    output,
    recurrent,
    reshape,
    reverse_sequence,
    shape_of,
    slice_,
    unary,
)
from egraph_opt.operators.recurrent import GATES, OUTPUTS, RecurrentLayer
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.values import is_of_type
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.recurrent.layouts import Layout, layout, layouts
from egraph_opt.rewrites.recurrent.states import example_layer, fixed_steps
from egraph_opt.rewrites.recurrent.steps import backwards, turned

law = laws_of("recurrent", numerics="bitwise", serves="traffic")

DOUBLE, FLOAT = TensorProto.DOUBLE, TensorProto.FLOAT
INT32, INT64 = TensorProto.INT32, TensorProto.INT64


def _known_lengths(lengths: Fact) -> set[int | str] | None:
    if lengths.splat is not None:
        return {int(lengths.splat)}
    return set(lengths.value) if lengths.value and None not in lengths.value else None


@hosted()
def whole_backwards(x: Fact, lengths: Fact, time: int) -> Slices | None:
    """The slice that takes all sequences backwards, where all are as long as x."""
    known = _known_lengths(lengths)
    if known is None or x.rank is None or x.rank < 2:
        return None
    full = all(symbolic.known_equal(length, x.shape[time]) for length in known)  # type: ignore[index]
    return backwards(x, time) if full and known != {0} else None


@hosted()
def are_short(lengths: Fact) -> bool:
    """No sequence has two elements that could change places."""
    return (_known_lengths(lengths) or {2}) <= {0, 1}


def _lengths(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((5, 4, 2))
    for time, lengths in ((0, [5] * 4), (1, [4] * 5), (0, [1] * 4)):
        yield g.fires(reverse_sequence(x, g.constant(np.array(lengths)), time))
    dims = g.input(("L", "N"))
    yield g.fires(reverse_sequence(dims, expand_to(shape_of(dims, 0, 1), shape_of(dims, 1, 2)), 0))
    yield g.near_miss(reverse_sequence(x, g.constant(np.array([5, 5, 4, 5])), 0), why="one is shorter")
    yield g.near_miss(reverse_sequence(x, g.constant(np.array([1, 2, 1, 1])), 0), why="one has two steps")


@law(kind="replace", source="TensorFlow and Keras exporters", examples=_lengths)
def known_lengths(x: Tensor, n: Tensor, t: Int):
    """ReverseSequence(x, lengths) = x[::-1] where all are as long as x, or x where none has two elements"""
    z, because = reverse_sequence(x, n, t), "forgets the lengths"
    yield rewrite(z, slice_(x, whole_backwards(x, n, t)), because=because)
    yield rewrite(z, x, are_short(n), because=because)


# --- layers -----------------------------------------------------------------------------------------------


@table()
def are_lengths(n: Tensor, m: Tensor) -> Unit:
    """The lengths of a layer, in int32, are those by which sequences are turned, in int64."""


@hosted()
def same_numbers(a: Fact, b: Fact) -> bool:
    """The same, all known, in whatever type."""
    return a.ints is not None and a.ints == b.ints


@auxiliary()
def lengths_of_layers(x: Tensor, z: Tensor, n: Tensor, m: Tensor, w: Tensors, h: Tensor, c: Tensor,
                      s: RecurrentLayer, b: Bundle):  # fmt: skip
    """Fills `are_lengths`."""
    turned_by = eq(z, reverse_sequence(x, m, 0))
    yield rule(turned_by, eq(m, cast(n, INT64)), then=are_lengths(n, m))
    yield rule(turned_by, eq(n, cast(m, INT32)), then=are_lengths(n, m))
    both = (turned_by, eq(b, recurrent(z, w, n, h, c, s)), same_numbers(n, m))
    yield rule(*both, then=are_lengths(n, m))


@hosted()
def is_of_steps(axes: Layout) -> bool:
    """A view of all steps whose axes have their order, that of directions left out."""
    return axes.replace("1", "") == "SBH" and axes.index("S") == 0 and axes.index("B") == 1


def _layers(rng: np.random.Generator) -> Iterator[Example]:
    for kind in GATES:
        g = Operands(rng)
        short = g.constant(np.array([5, 2, 1, 3], np.int32))
        wide = g.constant(np.array([5, 2, 1, 3]))
        for direction in ("forward", "reverse"):
            x = reverse_sequence(fixed_steps(g, 5), wide, 0)
            layer = example_layer(g, kind, x, direction=direction, lengths=short)
            steps = reshape(output(layer, 0), (5, 4, 2))
            yield g.fires(reverse_sequence(steps, wide, 0))
            yield from (g.fires(output(layer, k)) for k in range(1, OUTPUTS[kind]))
        given = unary("Clip", (("max", 5), ("min", 1)), g.input((4,), INT32))
        wider = cast(given, INT64)
        layer = example_layer(g, kind, reverse_sequence(fixed_steps(g, 5), wider, 0), lengths=given)
        yield g.fires(output(layer, 1))
        yield g.fires(reverse_sequence(reshape(output(layer, 0), (5, 4, 2)), wider, 0))
        wider = unary("Clip", (("max", 5), ("min", 1)), g.input((4,), INT64))
        lengths = cast(wider, INT32)
        layer = example_layer(g, kind, reverse_sequence(fixed_steps(g, 5), wider, 0), lengths=lengths)
        yield g.fires(reverse_sequence(reshape(output(layer, 0), (5, 4, 2)), wider, 0))
        other = g.constant(np.array([5, 2, 1, 4]))
        for length in (other, unary("Clip", (("max", 5), ("min", 2)), g.input((4,), INT64))):
            apart = example_layer(g, kind, reverse_sequence(fixed_steps(g, 5), length, 0), lengths=short)
            yield from (g.near_miss(output(apart, k), why="other lengths") for k in range(1, OUTPUTS[kind]))
            steps = reshape(output(apart, 0), (5, 4, 2))
            yield g.near_miss(reverse_sequence(steps, length, 0), why="other lengths")
        whole = example_layer(g, kind, reverse_sequence(fixed_steps(g, 5), wide, 0))
        yield g.near_miss(output(whole, 1), why="what is behind a sequence is computed, too")
    g = Operands(rng)
    lengths = g.constant(np.array([5, 2, 1, 3]))
    x = reverse_sequence(cast(fixed_steps(g, 5), DOUBLE), lengths, 0)
    weights = listed(*(cast(g.random(1, 2, size), DOUBLE) for size in (3, 2)), none(), none())
    plain = RecurrentLayer("RNN", (("direction", "forward"), ("hidden_size", 2)))
    layer = recurrent(x, weights, cast(lengths, INT32), none(), none(), plain)
    yield g.near_miss(output(layer, 1), why="the reference alone runs it")
    yield g.near_miss(reverse_sequence(reshape(output(layer, 0), (5, 4, 2)), lengths, 0), why="as above")


@law(
    numerics="reassociates",
    kind="move",
    source="TensorFlow and Keras exporters",
    examples=_layers,
    uses=(layouts, lengths_of_layers),
)
def reversed_sequences(x: Tensor, v: Tensor, z: Tensor, w: Tensors, n: Tensor, m: Tensor, h: Tensor,
                       c: Tensor, s: RecurrentLayer, b: Bundle):  # fmt: skip
    """RNN(ReverseSequence(x, l), l) = RNN of the other direction(x, l), its steps ReverseSequence

    Layers have lengths in int32, which may be those in int64, or the other way round.  Of float32: ONNX's
    reference, which alone runs an RNN of float64, does not look at lengths.
    """
    because = "every layer is one of the other direction"
    found, other = (recurrent(y, w, n, h, c, t) for y, t in ((reverse_sequence(x, m, 0), s), (x, turned(s))))
    known, plain = are_lengths(n, m), is_of_type(x, FLOAT)
    yield rewrite(output(found, 1), output(other, 1), known, plain, because=because)
    yield rewrite(output(found, 2), output(other, 2), known, because=because)
    back = (eq(z, reverse_sequence(v, m, 0)), is_of_steps(layout(v, b, 0)))
    steps = union(z, reshape(output(other, 0), known_dims(z)))
    yield rule(eq(b, found), known, plain, *back, then=steps, because=because)
