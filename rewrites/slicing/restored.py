"""What is computed of elements in another order, and put back behind, is computed in the order that they had.

Gather_a(x, i) @ W -> Gather_a(x @ W, i)            along rows, W one matrix
f(Gather_a(x, i)) -> Gather_a(f(x), i)
Gather_a(x, i) op y -> Gather_a(x op y, i)          of a y that is the same all along the axis
Gather_a(x, i) op Gather_a(y, i) -> Gather_a(x op y, i)
Softmax(Gather_a(x, i)) -> Gather_a(Softmax(x), i)  along other axes
Gather_a(x, i) op y -> Gather_a(x op Gather_a(y, j), i)            where that is written, and i undoes j
Gather_a(x op y, i) -> Gather_a(x, i) op Gather_a(y, i)            where one of these is written
Gather_a(Gather_b(Gather_a(x, i), j), k) -> Gather_b(Gather_a(Gather_a(x, i), k), j)

i permutes the axis, as a roll does.  Only where something is gathered in the order that undoes it: there both
become one (`gather.compose`).
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, laws_of, rewrite, rule, table
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Axis, Dims, Int, Settings, String, Tensor, Unit
from egraph_opt.operators import binary, gather, softmax
from egraph_opt.rewrites.conditions.operands import beside, either_side, function_of, functions
from egraph_opt.rewrites.conditions.values import all_vary
from egraph_opt.rewrites.conditions.view_shapes import have_same_dims, same_dims, same_rank
from egraph_opt.rewrites.slicing.gather import constant_indices, from_front, indices_of, is_vector
from egraph_opt.rewrites.slicing.slice import dim_at

law = laws_of(
    "gather",
    numerics="bitwise",
    kind="move",
    serves="traffic",
    source="Swin Transformer, arXiv 2103.14030: shifted windows",
)

DEMAND = "only where the order is undone"


@table()
def restored(axis: Axis, order: Dims) -> Unit:
    """Something that is in this order along an axis is put back."""


@hosted()
def order_of(x: Fact, i: Fact, axis: Axis) -> Dims | None:
    """The indices, where they permute the elements along an axis."""
    indices, dim = indices_of(i), dim_at(x, axis)
    if indices is None or i.rank != 1 or not isinstance(dim, int) or len(indices) != dim:
        return None
    order = from_front(indices, dim)
    return order if order is not None and len(set(order)) == dim else None


@hosted()
def order_undone(x: Fact, i: Fact, axis: Axis) -> Dims | None:
    """The order that these indices undo."""
    order = order_of.function(x, i, axis)
    return None if order is None else tuple(int(k) for k in np.argsort(order))


@auxiliary()
def restoring(x: Tensor, i: Tensor, a: Axis):
    """Fills `restored`."""
    yield rule(gather(x, i, a), then=restored(a, order_undone(x, i, a)))


# --- products -------------------------------------------------------------------------------------------


@hosted()
def is_of_rows(axis: Axis, x: Fact, w: Fact) -> bool:
    """An axis in front of the last one, of something that is multiplied by one matrix."""
    return x.rank is not None and axis < x.rank - 1 and w.rank == 2


def _rolled(g: Operands) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, an order of them, and the one that undoes it."""
    order, back = (constant_indices(g, v) for v in ([2, 3, 4, 0, 1], [3, -1, 0, 1, 2]))
    return g.input(("N", 5, 4)), order, back


def _product_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, back = _rolled(g)
    w = g.random(4, 3)
    yield g.fires(gather(gather(x, i, 1) @ w, back, 1))
    yield g.fires(gather(relu(gather(x, i, 1) @ g.input((4, 3))), back, 1))
    square, three = g.input((5, 5)), constant_indices(g, [2, 0, 1])
    yield from g.near_misses(
        (gather(gather(x, i, 1) @ w, three, 2), "nothing is put back"),
        (gather(gather(x, i, 1) @ w, constant_indices(g, [2, 3, 4, 0, 1]), 1), "another order"),
        (gather(gather(square, i, 1) @ g.random(5, 5), back, 1), "columns are moved"),
        (gather(gather(x, i, 1) @ g.random(5, 4, 3), back, 1), "W is a stack of matrices"),
    )


@law(numerics="reassociates", examples=_product_examples, uses=(restoring,))
def product_in_order(x: Tensor, i: Tensor, w: Tensor, a: Axis):
    """Gather(x, i) @ W = Gather(x @ W, i) of permuted rows, where they are put back"""
    demand = guard(restored(a, order_of(x, i, a)), varies(x))
    behind = gather(x @ w, i, a)
    yield rewrite(gather(x, i, a) @ w, behind, is_of_rows(a, x, w), demand, because=DEMAND)


# --- element by element, and along other axes -----------------------------------------------------------


def _function_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, back = _rolled(g)
    yield g.fires(gather(relu(gather(x, i, 1)), back, 1))
    yield g.near_miss(relu(gather(x, i, 1)), "nothing is put back")


@law(examples=_function_examples, uses=(restoring, functions))
def function_in_order(f: String, s: Settings, x: Tensor, i: Tensor, a: Axis):
    """f(Gather(x, i)) = Gather(f(x), i) of permuted elements, where they are put back"""
    demand, behind = guard(restored(a, order_of(x, i, a)), varies(x)), gather(function_of(f, s, x), i, a)
    yield rewrite(function_of(f, s, gather(x, i, a)), behind, demand, because=DEMAND)


@hosted()
def is_another(axis: Axis, other: Axis) -> bool:
    return axis != other


def _softmax_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, back = _rolled(g)
    yield g.fires(gather(softmax("Softmax", gather(x, i, 1), 2), back, 1))
    same = gather(softmax("Softmax", gather(x, i, 1), 1), back, 1)
    yield g.near_miss(same, "sums along the axis add up in another order")


@law(numerics="reassociates", examples=_softmax_examples, uses=(restoring,))
def softmax_in_order(kind: String, x: Tensor, i: Tensor, a: Axis, b: Axis):
    """Softmax(Gather(x, i)) = Gather(Softmax(x), i) of permuted rows, where they are put back"""
    demand, known = guard(restored(a, order_of(x, i, a)), varies(x)), (is_vector(i), is_another(a, b))
    behind = gather(softmax(kind, x, b), i, a)
    yield rewrite(softmax(kind, gather(x, i, a), b), behind, *known, demand, because=DEMAND)


@hosted()
def is_same_along(axis: Axis, x: Fact, y: Fact) -> bool:
    """An operand of no more axes than x, one element long along an axis of x or without it."""
    if x.shape is None or y.shape is None or len(y.shape) > len(x.shape):
        return False
    place = axis - (len(x.shape) - len(y.shape))
    return place < 0 or y.shape[place] == 1


@hosted()
def are_in_order(x: Fact, i: Fact, axis: Axis) -> bool:
    """The indices permute x along the axis: a PRelu of one of its elements may not have all as its slope."""
    return order_of.function(x, i, axis) is not None


@hosted()
def are_as_long(x: Fact, y: Fact, i: Fact, axis: Axis) -> bool:
    """The indices permute both along the axis."""
    return None not in (order_of.function(x, i, axis), order_of.function(y, i, axis))


def _operand_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, back = _rolled(g)
    rolled = gather(x, i, 1)
    for y in (
        rolled + g.random(4),
        g.input(("N", 1, 4)) - rolled,
        rolled * gather(g.input(("N", 5, 4)), i, 1),
    ):
        yield g.fires(gather(y, back, 1))
    sloped = binary("PRelu", g.input(("N", 1, 4)), gather(x, constant_indices(g, [3]), 1))
    yield from g.near_misses(
        (sloped, "a slope may not widen"),
        (gather(rolled + g.input(("N", 5, 4)), back, 1), "the other operand varies along the axis"),
        (gather(rolled + gather(x, constant_indices(g, [1, 0, 2, 3, 4]), 1), back, 1), "two orders"),
        (gather(gather(g.input((5,)), i, 0) + g.input((5, 1)), back, 0), "the other operand has more axes"),
        (gather(rolled + gather(g.input(("N", 6, 4)), i, 1), back, 1), "of the other one a part is taken"),
        (gather(gather(g.input((2, 5, 5)), i, 1) + gather(g.input((5, 5)), i, 1), back, 1), "another axis"),
    )


@law(examples=_operand_examples, uses=(restoring, either_side))
def operands_in_order(op: String, x: Tensor, y: Tensor, i: Tensor, a: Axis, k: Int):
    """Gather(x, i) op y = Gather(x op y, i) of permuted elements, where they are put back

    y is the same all along the axis, or permuted likewise.
    """
    demand, permuted = guard(restored(a, order_of(x, i, a)), varies(x)), gather(x, i, a)
    alone = gather(beside(op, x, y, k), i, a)
    along = are_in_order(x, i, a), is_same_along(a, x, y)
    yield rewrite(beside(op, permuted, y, k), alone, *along, demand, because=DEMAND)
    both = gather(binary(op, x, y), i, a)
    alike = same_rank(x, y), are_as_long(x, y, i, a)
    yield rewrite(binary(op, permuted, gather(y, i, a)), both, *alike, demand, because=DEMAND)


# --- operands that are in the other order elsewhere -----------------------------------------------------


@hosted()
def undoes(x: Fact, i: Fact, y: Fact, j: Fact, axis: Axis) -> bool:
    """What is gathered of x is in the order of y, of which j is another order; they have the same dims."""
    order = order_of.function(x, i, axis)
    return order is not None and order == order_undone.function(y, j, axis) and same_dims(x.shape, y.shape)


def _partner_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, back = _rolled(g)
    y, rows = g.input(("N", 5, 4)), g.input((1, 5, 4))
    yield g.fires(relu(gather(x, i, 1) - y) * gather(y, back, 1))
    yield from g.near_misses(
        (gather(x, i, 1) - y, "y is in no other order"),
        ((gather(x, i, 1) - y) * gather(y, i, 1), "in another one"),
        ((gather(x, i, 1) - rows) * gather(rows, back, 1), "one is broadcast"),
    )


@law(numerics="reassociates", examples=_partner_examples, uses=(either_side,))
def operand_in_other_order(
    op: String, x: Tensor, y: Tensor, z: Tensor, i: Tensor, j: Tensor, a: Axis, k: Int
):  # fmt: skip
    """Gather(x, i) op y = Gather(x op Gather(y, j), i) where that is written as well, and i undoes j"""
    other = gather(y, j, a)
    moved = gather(beside(op, x, other, k), i, a)
    known = (eq(z, other), undoes(x, i, y, j, a), guard(all_vary(x, y)))
    yield rewrite(beside(op, gather(x, i, a), y, k), moved, *known, inverse="order_of_operands")


@hosted()
def permutes(x: Fact, i: Fact, axis: Axis) -> bool:
    return order_of.function(x, i, axis) is not None


def _sum_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, back = _rolled(g)
    y = g.input(("N", 5, 4))
    yield from g.all_fire(gather(x - y, i, 1) * gather(x, i, 1), gather(x - y, i, 1) * gather(y, i, 1))
    yield from g.near_misses(
        (gather(x - y, i, 1), "neither is in that order"),
        (gather(x - y, i, 1) * gather(x, back, 1), "in another one"),
        (gather(x - g.input((5, 4)), i, 1) * gather(x, i, 1), "one has fewer axes"),
    )


@law(numerics="finite", examples=_sum_examples)
def order_of_operands(op: String, x: Tensor, y: Tensor, i: Tensor, a: Axis):
    """Gather(x op y, i) = Gather(x, i) op Gather(y, i) of permuted elements, where one of these is written"""
    whole, apart = gather(binary(op, x, y), i, a), binary(op, gather(x, i, a), gather(y, i, a))
    for moved in (x, y):
        demand = guard(gather(moved, i, a), permutes(x, i, a), all_vary(x, y))
        yield rewrite(whole, apart, have_same_dims(x, y), demand, inverse="operands_in_order")


# --- along two axes -------------------------------------------------------------------------------------


def _between_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, back = _rolled(g)
    columns = constant_indices(g, [1, 3])
    yield g.fires(gather(gather(gather(x, i, 1), columns, 2), back, 1))
    yield from g.near_misses(
        (gather(gather(x, i, 1), columns, 2), "nothing is along the axis of the first"),
        (gather(gather(gather(x, i, 1), back, 1), columns, 2), "they are one already"),
        (gather(gather(gather(x, i, 1), constant_indices(g, 1), 2), back, 1), "an axis is dropped"),
    )
    images, front = g.input(("N", 5, 4, 3)), constant_indices(g, [0, 1])
    last = gather(gather(gather(images, i, 1), front, 2), constant_indices(g, 1), 1)
    yield g.near_miss(last, why="the axis of the first is dropped")


@law(examples=_between_examples)
def gather_between(x: Tensor, i: Tensor, j: Tensor, k: Tensor, a: Axis, b: Axis):
    """Gather_a(Gather_b(Gather_a(x, i), j), k) = Gather_b(Gather_a(Gather_a(x, i), k), j) along two axes"""
    first = gather(x, i, a)
    apart, beside_each_other = gather(gather(first, j, b), k, a), gather(gather(first, k, a), j, b)
    known = (is_vector(j), is_vector(k), is_another(a, b), guard(is_vector(i)))
    yield rewrite(apart, beside_each_other, *known, because="two of an axis are one")
