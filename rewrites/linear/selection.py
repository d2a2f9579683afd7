"""Parts of a product are products with parts of its weight, and what lies between the two is passed.

    Slice_last(x @ W) = x @ Slice_last(W)            likewise Gather, for a constant W
    Gather(f(x), i) = f(Gather(x, i))                also with a constant: f(Gather(x, i), Gather(c, i))
    Slice(Reshape(x)) = Reshape(Slice(x))            or Reshape(Gather(x)) on an inner factor of an axis

They run up towards a product, and only where a Slice or a Gather of it asks for a part: `asked` says which
values are, along which axis, a product with a weight of the original, or made of one element by element.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt import compat as egglog
from egraph_opt.compat import (
    Deduction,
    Equal,
    PyObject,
    String,
    closure,
    eq,
    guard,
    holds,
    i64,
    let,
    rewrite,
    rule,
)
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    Literal,
    binary,
    cast,
    gather,
    literal,
    matmul,
    reshape,
    slice_,
    transpose,
    unary,
)
from egraph_opt.operators.host import hosted
from egraph_opt.operators.sorts import Slices
from egraph_opt.operators.terms import Tensor, fact, node
from egraph_opt.rewrites.slicing.movement import asked, asking_rules
from egraph_opt.rewrites.slicing.slice import dim_at, taken_by

LARGEST = 1 << 16
"""The most indices that are written for a part."""


# --- products -------------------------------------------------------------------------------------------


@egglog.function(egg_fn="selection_weight")
def weight(w: Tensor) -> egglog.Unit:
    """A constant matrix of the original, as it is or transposed."""


@hosted()
def summed_last(x: Fact, w: Fact, y: Fact) -> int | None:
    """The last axis of y = x @ W, W a constant matrix or a batch of them."""
    if not w.const or x.const or x.rank is None or x.rank < 1 or w.rank is None or w.rank < 2:
        return None
    return None if y.rank is None or not isinstance(dim_at(w, w.rank - 1), int) else y.rank - 1


@hosted(default=False)
def is_matrix(w: Fact) -> bool:
    return w.const and w.rank is not None and w.rank >= 2


def absorbing() -> Iterator[Deduction]:
    """The rules that mark, for `asked`, products with weights of the original."""
    w, x, y = (egglog.var(name, Tensor) for name in "wxy")
    a, p, k = egglog.var("a", PyObject), egglog.var("p", PyObject), egglog.var("k", i64)
    yield closure(eq(w).to(node(k)), holds(is_matrix, fact(w)), then=weight(w))
    yield closure(weight(x), eq(w).to(transpose(x, p)), then=weight(w))
    found = (eq(y).to(matmul(x, w)), weight(w), *let(a, summed_last, fact(x), fact(w), fact(y)))
    yield closure(*found, then=asked(y, a))


@hosted()
def of_columns(spec: Slices, axis: int, w: Fact) -> Slices | None:
    """The slice of W that gives the slice of x @ W along its last axis."""
    if w.rank is None:
        return None
    return tuple((w.rank - 1, *entry[1:]) for entry in spec if entry[0] == axis) or None


@hosted()
def besides(spec: Slices, axis: int) -> Slices:
    """A slice without its cut along one axis."""
    return tuple(entry for entry in spec if entry[0] != axis)


@hosted(default=False)
def is_nothing(spec: Slices) -> bool:
    return spec == ()


@hosted(default=False)
def is_something(spec: Slices) -> bool:
    return spec != ()


@hosted(default=False)
def is_list(i: Fact) -> bool:
    """Constant indices, one after the other."""
    return i.const and i.rank == 1


@hosted()
def last_axis(w: Fact) -> int | None:
    return None if w.rank is None else w.rank - 1


def _product_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, dims in (((5, 3), (3, 8)), (("N", "L", 3), (3, 8)), ((2, 5, 3), (2, 3, 8)), ((3,), (3, 8))):
        g = Operands(rng)
        y = matmul(g.input(shape), g.random(*dims))
        axis = max(len(shape), len(dims)) - 1 - (len(shape) == 1)
        for bounds in ((0, 4, 1), (3, 8, 1), (1, 8, 3), (7, None, -2)):
            yield g.fires(slice_(y, ((axis, *bounds),)))
        yield g.fires(gather(y, g.constant(np.array([0, 2, 1, 7])), axis))
    g = Operands(rng)
    x = g.input(("N", 5, 3))
    yield g.fires(slice_(matmul(x, g.random(3, 8)), ((1, 0, 2, 1), (2, 1, 5, 1))))
    yield g.fires(slice_(matmul(x, transpose(g.random(8, 3), (1, 0))), ((2, 1, 5, 1),)))
    y = matmul(x, g.random(3, 8))
    yield g.near_miss(slice_(y, ((1, 0, 2, 1),)), why="rows are taken")
    yield g.near_miss(slice_(matmul(x, g.input((3, 8))), ((2, 0, 2, 1),)), why="the weight is no constant")
    yield g.near_miss(slice_(unary("Relu", (), y), ((2, 0, 2, 1),)), why="Relu is between")
    yield g.near_miss(gather(y, g.input((2,), INT64), 2), why="the indices are not known")
    yield g.near_miss(gather(y, g.constant(np.array(1)), 2), why="a scalar index drops the axis")


@law("selection", numerics="reassociates", examples=_product_examples)
def of_product(
    x: Tensor, y: Tensor, w: Tensor, i: Tensor, s: PyObject, a: PyObject, p: PyObject, o: PyObject
) -> Iterator[Any]:
    """Slice_last(x @ W) = x @ Slice_last(W), likewise Gather, for a constant W of the original

    Source: Ascend auto-optimizer, SplitQKVMatmul.
    """
    yield from absorbing()
    product = (
        eq(y).to(matmul(x, w)),
        holds(is_matrix, fact(w)),
        *guard(weight(w)),
        *let(a, summed_last, fact(x), fact(w), fact(y)),
    )
    cut = (*let(p, of_columns, s, a, fact(w)), *let(o, besides, s, a))
    part = matmul(x, slice_(w, p))
    yield rewrite(slice_(y, s), part, *product, *cut, holds(is_nothing, o))
    yield rewrite(slice_(y, s), slice_(part, o), *product, *cut, holds(is_something, o))
    picked = matmul(x, gather(w, i, p))
    yield rewrite(gather(y, i, a), picked, *product, holds(is_list, fact(i)), *let(p, last_axis, fact(w)))


# --- what lies between ----------------------------------------------------------------------------------


def _unary_examples(rng: np.random.Generator) -> Iterator[Example]:
    for axis, shape in ((2, ("N", 4, 3)), (1, (2, 3))):
        g = Operands(rng)
        y, i = matmul(g.input(shape), g.random(3, 8)), g.constant(np.array([0, 2, 1, 7]))
        yield g.fires(gather(unary("Relu", (), y), i, axis))
        yield g.fires(gather(cast(unary("Tanh", (), y), TensorProto.DOUBLE), i, axis))
        yield g.near_miss(gather(unary("Relu", (), y), g.constant(np.array([0, 1])), 0), why="rows are taken")
        yield g.near_miss(gather(unary("Relu", (), g.input((2, 9))), i, 1), why="there is no product")


@law("selection", numerics="bitwise", examples=_unary_examples)
def through_unary(x: Tensor, i: Tensor, op: String, s: PyObject, a: PyObject, to: PyObject) -> Iterator[Any]:
    """Gather(f(x), i) = f(Gather(x, i)) where x is a product with constants

    Source: Ascend auto-optimizer, SplitQKVMatmul.
    """
    yield from absorbing()
    yield from asking_rules()
    known = (*guard(asked(x, a)), holds(is_list, fact(i)))
    yield rewrite(gather(unary(op, s, x), i, a), unary(op, s, gather(x, i, a)), *known)
    yield rewrite(gather(cast(x, to), i, a), cast(gather(x, i, a), to), *known)


@hosted()
def axis_of_operand(axis: int, x: Fact, y: Fact) -> int | None:
    """The axis of an operand, as long as the result's, that stands at `axis` of the result y."""
    if x.shape is None or y.shape is None:
        return None
    place = axis - (len(y.shape) - len(x.shape))
    return place if place >= 0 and symbolic.known_equal(x.shape[place], y.shape[axis]) else None


@hosted(default=False)
def is_constant_along(axis: int, c: Fact, y: Fact) -> bool:
    """A constant that is as long as the result y along an axis of it."""
    return c.const and axis_of_operand(axis, c, y) is not None


def _binary_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    y, i = matmul(g.input(("N", 4, 3)), g.random(3, 8)), g.constant(np.array([0, 2, 1, 7]))
    for c in (g.random(), g.random(8), g.random(4, 8), g.random(1, 4, 8), g.random(1), g.random(4, 1)):
        yield g.fires(gather(binary("Sub", y, c), i, 2))
        yield g.fires(gather(binary("Sub", c, y), i, 2))
    yield g.fires(gather(binary("Add", y, g.input(("N", 4, 1))), i, 2))
    yield g.near_miss(gather(binary("Add", y, g.input((8,))), i, 2), why="the other one would be cut")
    rows = g.constant(np.array([0, 2, 3]))
    yield g.near_miss(gather(binary("Add", y, g.random(8)), rows, 1), why="rows are taken")
    column = matmul(g.input(("N", 4, 3)), g.random(3, 1))
    yield g.near_miss(gather(binary("Add", column, g.random(8)), i, 2), why="one column is broadcast")


@law("selection", numerics="bitwise", examples=_binary_examples)
def through_binary(
    x: Tensor, c: Tensor, y: Tensor, i: Tensor, op: String, a: PyObject, b: PyObject, k: PyObject
) -> Iterator[Any]:
    """Gather(x op c, i) = Gather(x, i) op Gather(c, i) for a constant c, or op c where that is broadcast

    Source: Ascend auto-optimizer, SplitQKVMatmul.
    """
    yield from absorbing()
    yield from asking_rules()
    part = gather(x, i, b)
    for left, cut, kept in (
        (binary(op, x, c), binary(op, part, gather(c, i, k)), binary(op, part, c)),
        (binary(op, c, x), binary(op, gather(c, i, k), part), binary(op, c, part)),
    ):
        known = (
            eq(y).to(left),
            holds(is_list, fact(i)),
            *let(b, axis_of_operand, a, fact(x), fact(y)),
            *guard(asked(x, b)),
        )
        along = (holds(is_constant_along, a, fact(c), fact(y)), *let(k, axis_of_operand, a, fact(c), fact(y)))
        yield rewrite(gather(y, i, a), cut, *known, *along)
        yield rewrite(gather(y, i, a), kept, *known, holds(is_broadcast_along, a, fact(c), fact(y)))


@hosted(default=False)
def is_broadcast_along(axis: int, c: Fact, y: Fact) -> bool:
    """An operand that is repeated along an axis of the result y."""
    if c.shape is None or y.shape is None:
        return False
    place = axis - (len(y.shape) - len(c.shape))
    return place < 0 or (c.shape[place] == 1 and y.shape[axis] != 1)


# --- views ----------------------------------------------------------------------------------------------


def factor_of(before: Shape, after: Shape, axis: int) -> tuple[int, int, int] | None:
    """Which axis of `before` an axis of `after` is a factor of, and the sizes outside and inside of it.

    >>> factor_of(("N", 24), ("N", 2, 3, 4), 2)
    (1, 2, 4)
    """
    for place, dim in enumerate(before):
        if not isinstance(dim, int) or dim < 2:
            continue
        front = symbolic.product(before[:place])
        for first in range(axis + 1):
            if not symbolic.known_equal(symbolic.product(after[:first]), front):
                continue
            for end in range(axis + 1, len(after) + 1):
                outer, inner = symbolic.product(after[first:axis]), symbolic.product(after[axis + 1 : end])
                if not isinstance(outer, int) or not isinstance(inner, int):
                    break
                if outer * after[axis] * inner == dim:  # type: ignore[operator]
                    return place, outer, inner
    return None


@hosted()
def taken_axis(spec: Slices, x: Fact, dims: Shape) -> int | None:
    """The axis of x that a slice of Reshape(x) along one axis takes a part of."""
    if len(spec) != 1 or x.shape is None or not isinstance(dims[spec[0][0]], int):
        return None
    found = factor_of(x.shape, dims, spec[0][0])
    return None if found is None else found[0]


def elements_of(spec: Slices, x: Fact, dims: Shape) -> tuple[int, ...] | None:
    """The elements of an axis of x that a slice of Reshape(x) takes."""
    axis = spec[0][0]
    found = None if x.shape is None else factor_of(x.shape, dims, axis)
    size = dims[axis]
    if found is None or not isinstance(size, int):
        return None
    _, outer, inner = found
    taken = taken_by(spec[0], size)
    if not taken or outer * len(taken) * inner > LARGEST:
        return None
    return tuple((o * size + k) * inner + n for o in range(outer) for k in taken for n in range(inner))


@hosted()
def as_range(spec: Slices, place: int, x: Fact, dims: Shape) -> Slices | None:
    """The slice of x that has the elements of a slice of Reshape(x), where they stand in a row."""
    taken = elements_of(spec, x, dims)
    if taken is None or taken != tuple(range(taken[0], taken[0] + len(taken))):
        return None
    return ((place, taken[0], taken[0] + len(taken), 1),)


@hosted()
def as_indices(spec: Slices, place: int, x: Fact, dims: Shape) -> Literal | None:
    """The indices that gather of x the elements of a slice of Reshape(x), where they do not."""
    taken = elements_of(spec, x, dims)
    if taken is None or taken == tuple(range(taken[0], taken[0] + len(taken))):
        return None
    return Literal(INT64, (len(taken),), taken)


@hosted()
def cut_dims(spec: Slices, dims: Shape) -> Shape:
    """The dims of a slice along one axis of known length."""
    axis = spec[0][0]
    size = dims[axis]
    assert isinstance(size, int)
    return tuple(len(taken_by(spec[0], size)) if k == axis else dim for k, dim in enumerate(dims))


def _view_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w = g.input(("N", "L", 5)), g.random(5, 24)
    y = matmul(x, w)
    for dims, spec in (
        (("N", "L", 3, 2, 4), (2, 1, 2, 1)),
        (("N", "L", 2, 3, 4), (3, 1, 2, 1)),
        (("N", "L", 2, 4, 3), (4, 0, 2, 1)),
        (("N", "L", 2, 3, 4), (3, 2, None, -2)),
        (("N", "L", 3, 8), (2, 0, 2, 1)),
    ):
        yield g.fires(slice_(reshape(y, dims), (spec,)))
        yield g.fires(slice_(reshape(binary("Add", y, g.random(24)), dims), (spec,)))
    yield g.fires(slice_(reshape(matmul(g.input((6, 5)), w), (2, 3, 3, 8)), ((2, 0, 1, 1),)))
    yield g.near_miss(slice_(reshape(y, ("N", "L", 3, 8)), ((1, 0, 1, 1),)), why="rows are taken")
    wide = matmul(g.input((6, 5)), w)
    yield g.near_miss(
        slice_(reshape(wide, (2, 72)), ((1, 0, 3, 1),)), why="the axis spans two of the product"
    )
    yield g.near_miss(
        slice_(reshape(g.input(("N", 24)), ("N", 3, 8)), ((1, 0, 1, 1),)), why="there is no product"
    )


@law("selection", numerics="bitwise", examples=_view_examples)
def before_view(
    x: Tensor, y: Tensor, s: PyObject, d: PyObject, a: PyObject, p: PyObject, e: PyObject
) -> Iterator[Any]:
    """Slice(Reshape(x)) = Reshape(Slice(x)), or Reshape(Gather(x)) on an inner factor, of products x

    Source: Ascend auto-optimizer, SplitQKVMatmul.
    """
    yield from absorbing()
    yield from asking_rules()
    found = (
        eq(y).to(slice_(reshape(x, d), s)),
        *let(a, taken_axis, s, fact(x), d),
        *guard(asked(x, a)),
    )
    known = let(e, cut_dims, s, d)
    part = let(p, as_range, s, a, fact(x), d)
    yield rule(*found, *part, *known, then=Equal(y, reshape(slice_(x, p), e)))
    part = let(p, as_indices, s, a, fact(x), d)
    yield rule(*found, *part, *known, then=Equal(y, reshape(gather(x, literal(p), a), e)))
