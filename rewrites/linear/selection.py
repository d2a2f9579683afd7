"""Parts of a product are products with parts of its weight, and what lies between the two is passed.

    Slice_last(x @ W) -> x @ Slice_last(W)           likewise Gather, for a constant W
    Gather(f(x), i) = f(Gather(x, i))                also with a constant: f(Gather(x, i), Gather(c, i))

They run up towards a product, and only where a Slice or a Gather of it demands a part: `asked` says which
values are, along which axis, a product with a weight of the original, or made of one element by element.
`selection_views` passes a Reshape.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    auxiliary,
    eq,
    equal,
    guard,
    hosted,
    laws_of,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.algebra import is_constant, relu, tanh
from egraph_opt.laws.sorts import Axis, Int, Permutation, Settings, Slices, String, Tensor, Unit
from egraph_opt.operators import cast, gather, slice_, transpose
from egraph_opt.operators.terms import node
from egraph_opt.rewrites.conditions.operands import beside as beside_op
from egraph_opt.rewrites.conditions.operands import either_side, function_of, functions
from egraph_opt.rewrites.slicing.movement import asked, asking_rules
from egraph_opt.rewrites.slicing.slice import beside, dim_at

MORE = "the whole is more to compute"
SPLIT_QKV = "Ascend auto-optimizer, SplitQKVMatmul"
law = laws_of("selection", numerics="bitwise", kind="move", serves="arithmetic", source=SPLIT_QKV)


# --- products -------------------------------------------------------------------------------------------


@table()
def weight(w: Tensor) -> Unit:
    """A constant matrix of the original, as it is or transposed."""


@hosted()
def summed_last(x: Fact, w: Fact, y: Fact) -> Axis | None:
    """The last axis of y = x @ w, where x varies and the columns of w are counted."""
    if x.const or not x.rank or not w.rank or w.rank < 2 or y.rank is None:
        return None
    return y.rank - 1 if isinstance(dim_at(w, w.rank - 1), int) else None


@hosted()
def is_constant_matrix(w: Fact) -> bool:
    """A constant matrix, or a batch of them."""
    return w.const and w.rank is not None and w.rank >= 2


@auxiliary()
def absorbing(w: Tensor, x: Tensor, y: Tensor, p: Permutation, k: Int):
    """Fills `weight`, and `asked` for products with weights of the original."""
    yield rule(eq(w, node(k)), is_constant_matrix(w), then=weight(w))
    yield rule(weight(x), eq(w, transpose(x, p)), then=weight(w))
    yield rule(eq(y, x @ w), weight(w), then=asked(y, summed_last(x, w, y)))


@hosted()
def sliced_columns(spec: Slices, axis: Axis, w: Fact) -> Slices | None:
    """The slice of W that gives the slice of x @ W along its last axis."""
    if w.rank is None:
        return None
    return tuple((w.rank - 1, *entry[1:]) for entry in spec if entry[0] == axis) or None


@hosted()
def of_result(spec: Slices, x: Fact, w: Fact) -> Slices | None:
    """The slice of x @ W that a slice of the columns of W gives."""
    if x.rank is None or w.rank is None or [entry[0] for entry in spec] != [w.rank - 1]:
        return None
    last = max(x.rank, w.rank) - 1 - (x.rank == 1)
    return tuple((last, *entry[1:]) for entry in spec)


@hosted()
def is_nothing(spec: Slices) -> bool:
    return spec == ()


@hosted()
def is_something(spec: Slices) -> bool:
    return spec != ()


@hosted()
def is_list(i: Fact) -> bool:
    """Constant indices, one after the other."""
    return i.const and i.rank == 1


@hosted()
def last_axis(w: Fact) -> Axis | None:
    return None if w.rank is None else w.rank - 1


def _product_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, dims in (((5, 3), (3, 8)), (("N", "L", 3), (3, 8)), ((2, 5, 3), (2, 3, 8)), ((3,), (3, 8))):
        g = Operands(rng)
        y, axis = g.input(shape) @ g.random(*dims), len(shape) - 1
        for bounds in ((0, 4, 1), (3, 8, 1), (1, 8, 3), (7, None, -2)):
            yield g.fires(slice_(y, ((axis, *bounds),)))
        yield g.fires(gather(y, g.constant(np.array([0, 2, 1, 7])), axis))
    x = g.input(("N", 5, 3))
    y, cut = x @ g.random(3, 8), ((2, 1, 5, 1),)
    yield g.fires(slice_(y, ((1, 0, 2, 1), *cut)))
    yield g.fires(slice_(x @ transpose(g.random(8, 3), (1, 0)), cut))
    yield from g.near_misses(
        (slice_(y, ((1, 0, 2, 1),)), "rows are taken"),
        (slice_(x @ g.input((3, 8)), cut), "the weight is no constant"),
        (slice_(relu(y), cut), "Relu is between"),
        (gather(y, g.input((2,), TensorProto.INT64), 2), "the indices are not known"),
        (gather(y, g.constant(np.array(1)), 2), "a scalar index drops the axis"),
        (g.input((2, 2)) @ slice_(g.random(4), ((0, 0, 2, 1),)), "the weight is a vector"),
    )


@law(numerics="reassociates", examples=_product_examples, uses=(absorbing,))
def of_product(x: Tensor, w: Tensor, i: Tensor, s: Slices):
    """Slice_last(x @ W) = x @ Slice_last(W), likewise Gather, for a constant W of the original"""
    y, known = x @ w, guard(is_constant_matrix(w), weight(w))
    axis = summed_last(x, w, y)
    part, rest = x @ slice_(w, sliced_columns(s, axis, w)), beside(s, axis)
    yield rewrite(slice_(y, s), part, known, is_nothing(rest), inverse="of_product")
    yield rewrite(
        x @ slice_(w, s), slice_(y, of_result(s, x, w)), is_constant_matrix(w), guard(y), inverse="of_product"
    )
    yield rewrite(slice_(y, s), slice_(part, rest), known, guard(is_something(rest)), because=MORE)
    yield rewrite(gather(y, i, axis), x @ gather(w, i, last_axis(w)), known, is_list(i), because=MORE)


# --- what lies between ----------------------------------------------------------------------------------


def _unary_examples(rng: np.random.Generator) -> Iterator[Example]:
    for axis, shape in ((2, ("N", 4, 3)), (1, (2, 3))):
        g = Operands(rng)
        y, i = g.input(shape) @ g.random(3, 8), g.constant(np.array([0, 2, 1, 7]))
        yield g.fires(gather(relu(y), i, axis))
        yield g.fires(gather(cast(tanh(y), TensorProto.DOUBLE), i, axis))
        yield g.near_miss(gather(relu(y), g.constant(np.array([0, 1])), 0), why="rows are taken")
        yield g.near_miss(gather(relu(g.input((2, 9))), i, 1), why="there is no product")


@law(examples=_unary_examples, uses=(absorbing, asking_rules, functions))
def through_unary(x: Tensor, i: Tensor, op: String, s: Settings, a: Axis):
    """Gather(f(x), i) = f(Gather(x, i)) where x is a product with constants"""
    demand, part = guard(asked(x, a), is_list(i)), gather(x, i, a)
    yield equal(gather(function_of(op, s, x), i, a), function_of(op, s, part), demand)


@hosted()
def axis_of_operand(axis: Axis, x: Fact, y: Fact) -> Axis | None:
    """The axis of an operand, as long as the result's, that stands at `axis` of the result y."""
    if x.shape is None or y.shape is None:
        return None
    place = axis - (len(y.shape) - len(x.shape))
    return place if place >= 0 and symbolic.known_equal(x.shape[place], y.shape[axis]) else None


@hosted()
def is_broadcast_along(axis: Axis, c: Fact, y: Fact) -> bool:
    """An operand that is repeated along an axis of the result y."""
    if c.shape is None or y.shape is None:
        return False
    place = axis - (len(y.shape) - len(c.shape))
    return place < 0 or (c.shape[place] == 1 and y.shape[axis] != 1)


def _binary_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    y, i = g.input(("N", 4, 3)) @ g.random(3, 8), g.constant(np.array([0, 2, 1, 7]))
    for c in (g.random(), g.random(8), g.random(1, 4, 8), g.random(4, 1)):
        yield g.fires(gather(y - c, i, 2))
        yield g.fires(gather(c - y, i, 2))
    yield g.fires(gather(y + g.input(("N", 4, 1)), i, 2))
    yield g.near_miss(gather(y + g.input((8,)), i, 2), why="the other one would be cut")
    yield g.near_miss(gather(y + g.random(8), g.constant(np.array([0, 2, 3])), 1), why="rows are taken")
    column = g.input(("N", 4, 3)) @ g.random(3, 1)
    yield g.near_miss(gather(column + g.random(8), i, 2), why="one column is broadcast")


@law(examples=_binary_examples, uses=(absorbing, asking_rules, either_side))
def through_binary(x: Tensor, c: Tensor, i: Tensor, op: String, a: Axis, k: Int):
    """Gather(x op c, i) = Gather(x, i) op Gather(c, i) for a constant c, or op c where that is broadcast"""
    y = beside_op(op, x, c, k)
    own = axis_of_operand(a, x, y)
    part, other = gather(x, i, own), gather(c, i, axis_of_operand(a, c, y))
    demand = guard(asked(x, own))
    both = beside_op(op, part, other, k)
    yield rewrite(gather(y, i, a), both, demand, guard(is_list(i), is_constant(c)), because=MORE)
    alone = beside_op(op, part, c, k)
    yield rewrite(gather(y, i, a), alone, is_list(i), demand, is_broadcast_along(a, c, y), because=MORE)
