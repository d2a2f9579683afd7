"""Transposes move past other operators, where they meet others; T' undoes T.

f(T(x), T(y)) = T(f(x, y))                for f of two or three operands, element by element
f(T(x), y) = T(f(x, T'(y)))               where T'(y) is written as well
f(T(x), c) = T(f(x, T'(c)))               for a constant c of lower or equal rank
f(T(x), c) = T(f(x, c))                   for a c of one element
Cast(T(x)) = T(Cast(x))
Reduce_a(T(x)) = T(Reduce_p[a](x))        and likewise Softmax, Concat, Slice and Pad
ArgMax_a(T(x)) -> T(ArgMax_p[a](x))       the axis being kept

From the right, what works element by element demands that an operand is transposed like this elsewhere: a
transpose that met no other on its way down would be written at every place above as well.
"""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Operands, eq, equal, guard, hosted, laws_of, ne, opset, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import (
    Axes,
    Axis,
    DataType,
    Dims,
    Flag,
    Int,
    Mode,
    Number,
    Pads,
    Permutation,
    Slices,
    String,
    Tensor,
)
from egraph_opt.operators import arg_reduce, concat, pad, reduce, reshape, slice_, softmax, transpose
from egraph_opt.operators.elementwise import binary, cast, where
from egraph_opt.operators.terms import listed, node
from egraph_opt.rewrites.conditions.chains import standing, stands
from egraph_opt.rewrites.conditions.float_types import in_8_bits, is_turned
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.view_shapes import same_rank
from egraph_opt.rewrites.transposes.composition import invert, is_identity, moves_ones_only

law = laws_of("transpose", numerics="bitwise", kind="move", serves="traffic")


# --- element by element ---------------------------------------------------------------------------------


@law(source="TASO")
def through_binary(op: String, x: Tensor, y: Tensor, p: Permutation):
    """f(Transpose_p(x), Transpose_p(y)) = Transpose_p(f(x, y))"""
    inside, outside = binary(op, transpose(x, p), transpose(y, p)), transpose(binary(op, x, y), p)
    yield rewrite(inside, outside, inverse="through_binary")
    for turned, other in ((x, y), (y, x)):
        demand = guard(transpose(turned, p), varies(other))
        yield rewrite(outside, inside, same_rank(x, y), demand, inverse="through_binary")


def _turned_examples(rng):
    g = Operands(rng)
    x, y, p, back = g.input((5, 3, "N")), g.input(("N", 5, 3)), (2, 0, 1), (1, 2, 0)
    yield g.fires(transpose(binary("Sub", transpose(x, p), y), (1, 0, 2)) * transpose(y, back))
    yield g.near_miss(binary("Sub", transpose(x, p), y), why="y is not transposed elsewhere")
    row, square = g.input((3,)), g.input((4, 4))
    yield g.near_miss(binary("Sub", transpose(x, p), row) * row, why="of another rank")
    yield g.near_miss(transpose(square, (1, 0)) + square, why="x and y are one")


@law(numerics="reassociates", source="Swin, arXiv 2103.14030", uses=(either_side,), examples=_turned_examples)
def through_binary_with_turned(op: String, x: Tensor, y: Tensor, p: Permutation, i: Int, k: Int, n: Int):
    """f(Transpose_p(x), y) = Transpose_p(f(x, Transpose_p'(y))), where the original has both transposes"""
    outer, inner = transpose(x, p), transpose(y, invert(p))
    sunk = transpose(beside(op, x, inner, i), p)
    # Of one transpose the result is its own transpose, and all behind it is there twice.
    demand = guard(eq(outer, node(k)), eq(inner, node(n)), ne(outer, inner), varies(y))
    yield rewrite(beside(op, outer, y, i), sunk, same_rank(x, y), demand, inverse="through_binary")


@hosted()
def padded_dims(c: Fact, p: Permutation) -> Dims | None:
    """The dims of a constant with leading ones up to the rank of p; None where it is no constant.

    One number is left alone: it need not be moved.
    """
    if not c.const or c.shape is None or None in c.shape or len(c.shape) > len(p) or c.shape in ((), (1,)):
        return None
    return (1,) * (len(p) - len(c.shape)) + c.shape


@hosted()
def is_moved_by(x: Fact, p: Permutation) -> bool:
    """x has the axes that a transpose of the whole result moves."""
    return x.rank == len(p)


@hosted()
def turns(x: Fact, p: Permutation) -> bool:
    """Transpose_p(x) changes the order of axes that may have other than one element: it is no view.

    A view is not moved to where it would be none.  A transpose that it could meet there comes out by itself.
    """
    return x.shape is None or not moves_ones_only(x.shape, p)


def _constant_examples(rng):
    g = Operands(rng)
    x, c = g.input((4,)), g.random(1, 4)
    yield g.near_miss(transpose(binary("Add", x, c), (1, 0)), why="the constant has more axes")


@law(source="Ascend auto-optimizer, BNFolding", examples=_constant_examples, uses=(either_side, standing))
def through_binary_with_constant(op: String, x: Tensor, c: Tensor, p: Permutation, i: Int, k: Int):
    """f(Transpose_p(x), c) = Transpose_p(f(x, Transpose_p'(c))) for a constant c, given the axes it lacks"""
    full, whole = reshape(c, padded_dims(c, p)), "through_binary_with_constant"
    before, behind = transpose(full, invert(p)), transpose(full, p)
    moved = transpose(beside(op, x, before, i), p)
    one = guard(varies(x), stands(op, transpose(x, p), c))
    yield rewrite(beside(op, transpose(x, p), c, i), moved, one, inverse=whole)
    # Constants that were moved are not moved again, or the two ways never end.
    fits = (is_moved_by(x, p), *guard(eq(c, node(k))))
    apart = beside(op, transpose(x, p), behind, i)
    yield rewrite(transpose(beside(op, x, c, i), p), apart, fits, inverse=whole)


@hosted()
def is_single(c: Fact) -> bool:
    """One element, of rank 0 or 1: it broadcasts against anything without adding axes."""
    return c.shape in ((), (1,))


@hosted()
def moves(p: Permutation) -> bool:
    return not is_identity(p)


def _scalar_examples(rng):
    g = Operands(rng)
    x, c, p = g.input((2, 3, 4)), g.input((1,)), (2, 0, 1)
    yield g.fires(binary("Sub", c, transpose(x, p)))
    yield g.fires(transpose(binary("Sub", c, x), p))
    yield g.near_miss(transpose(binary("Sub", g.input(()), c), (0,)), why="the axis is c's")


@law(examples=_scalar_examples, uses=(either_side,))
def through_binary_with_scalar(op: String, x: Tensor, c: Tensor, p: Permutation, i: Int):
    """f(Transpose_p(x), c) = Transpose_p(f(x, c)) for a c of one element"""
    one = (is_single(c), moves(p))
    yield equal(beside(op, transpose(x, p), c, i), transpose(beside(op, x, c, i), p), one)


@law(numerics="finite")
def through_where(c: Tensor, x: Tensor, y: Tensor, p: Permutation):
    """Where(Transpose_p(c), Transpose_p(x), Transpose_p(y)) = Transpose_p(Where(c, x, y))"""
    inside = where(transpose(c, p), transpose(x, p), transpose(y, p))
    yield equal(inside, transpose(where(c, x, y), p), same_rank(c, x), same_rank(x, y))


@law(examples=in_8_bits(lambda x: transpose(x, (1, 0)), "an old Transpose takes no floats of 8 bits"))
def through_cast(x: Tensor, p: Permutation, t: DataType):
    """Cast(Transpose_p(x)) = Transpose_p(Cast(x))"""
    yield equal(cast(transpose(x, p), t), transpose(cast(x, t), p), is_turned(t, opset()))


# --- along axes -----------------------------------------------------------------------------------------


@hosted()
def moved_axis(p: Permutation, axis: Axis) -> Axis:
    """The axis of x that `axis` of Transpose_p(x) is."""
    return p[axis]


@hosted()
def moved_axes(p: Permutation, axes: Axes) -> Axes:
    return tuple(sorted(p[a] for a in axes))


@hosted()
def remaining(p: Permutation, axes: Axes, keepdims: Flag) -> Permutation:
    """The transpose that is left of p after a reduction of `axes` of Transpose_p(x)."""
    if keepdims:
        return p
    kept = [p[a] for a in range(len(p)) if a not in axes]
    order = sorted(kept)
    return tuple(order.index(a) for a in kept)


@hosted()
def spread(q: Permutation, axes: Axes, keepdims: Flag) -> Permutation:
    """A transpose in front of a reduction of `axes`, which stay in place, of which q is left behind it."""
    if keepdims:
        return q
    kept = [a for a in range(len(q) + len(axes)) if a not in axes]
    return tuple(a if a in axes else kept[q[kept.index(a)]] for a in range(len(q) + len(axes)))


@law(numerics="reassociates", source="Ascend auto-optimizer, TransposeLargeInputConv")
def through_reduce(kind: String, x: Tensor, p: Permutation, a: Axes, k: Flag):
    """Reduce_a(Transpose_p(x)) = Transpose_q(Reduce_p[a](x)), q being p without the reduced axes"""
    behind = transpose(reduce(kind, x, moved_axes(p, a), k), remaining(p, a, k))
    yield rewrite(reduce(kind, transpose(x, p), a, k), behind, inverse="through_reduce")
    q = spread(p, a, k)
    before = reduce(kind, transpose(x, q), moved_axes(invert(q), a), k)
    reduced = reduce(kind, x, a, k)
    yield rewrite(transpose(reduced, p), before, guard(turns(reduced, p)), inverse="through_reduce")


@law(numerics="reassociates")
def through_softmax(kind: String, x: Tensor, p: Permutation, a: Axis):
    """Softmax_a(Transpose_p(x)) = Transpose_p(Softmax_p[a](x))"""
    behind = transpose(softmax(kind, x, moved_axis(p, a)), p)
    yield rewrite(softmax(kind, transpose(x, p), a), behind, inverse="through_softmax")
    before = softmax(kind, transpose(x, p), moved_axis(invert(p), a))
    yield rewrite(transpose(softmax(kind, x, a), p), before, inverse="through_softmax")


def _places(rng):
    g = Operands(rng)
    x = g.input(("N", 4, 3, "L"))
    for last in (0, 1):
        yield g.fires(arg_reduce("ArgMax", transpose(x, (0, 2, 3, 1)), 3, 1, last))
        yield g.fires(arg_reduce("ArgMin", transpose(x, (2, 1, 0, 3)), 0, 1, last))
    yield g.near_miss(arg_reduce("ArgMax", x, 3, 1, 0), why="nothing is moved")


@law(source="segmentation networks that end in NHWC", examples=_places)
def through_arg_reduce(kind: String, x: Tensor, p: Permutation, a: Axis, last: Flag):
    """ArgMax_a(Transpose_p(x)) = Transpose_p(ArgMax_p[a](x)), the axis being kept"""
    behind = transpose(arg_reduce(kind, x, moved_axis(p, a), 1, last), p)
    yield rewrite(arg_reduce(kind, transpose(x, p), a, 1, last), behind, because="there is less to move")


@hosted()
def moved_slices(p: Permutation, spec: Slices) -> Slices:
    return tuple(sorted((p[axis], start, end, step) for axis, start, end, step in spec))


@law()
def through_slice(x: Tensor, p: Permutation, s: Slices):
    """Slice_s(Transpose_p(x)) = Transpose_p(Slice_p[s](x))"""
    behind = transpose(slice_(x, moved_slices(p, s)), p)
    yield rewrite(slice_(transpose(x, p), s), behind, inverse="through_slice")
    before = slice_(transpose(x, p), moved_slices(invert(p), s))
    part = slice_(x, s)
    yield rewrite(transpose(part, p), before, guard(turns(part, p)), inverse="through_slice")


@hosted()
def moved_pads(p: Permutation, pads: Pads) -> Pads:
    back = invert(p)
    return tuple(pads[back[k % len(p)] + k // len(p) * len(p)] for k in range(len(pads)))


@law()
def through_pad(x: Tensor, p: Permutation, m: Mode, pads: Pads, v: Number):
    """Pad(Transpose_p(x)) = Transpose_p(Pad(x)) with the pads moved"""
    behind = transpose(pad(x, m, moved_pads(p, pads), v), p)
    yield rewrite(pad(transpose(x, p), m, pads, v), behind, inverse="through_pad")
    before = pad(transpose(x, p), m, moved_pads(invert(p), pads), v)
    yield rewrite(transpose(pad(x, m, pads, v), p), before, inverse="through_pad")


@law(source="TASO")
def through_concat_of_two(x: Tensor, y: Tensor, p: Permutation, a: Axis):
    """Transpose_p(Concat_a(x, y)) = Concat(Transpose_p(x), Transpose_p(y))"""
    before = concat(listed(transpose(x, p), transpose(y, p)), moved_axis(invert(p), a))
    yield rewrite(transpose(concat(listed(x, y), a), p), before, inverse="joining.of_all")
