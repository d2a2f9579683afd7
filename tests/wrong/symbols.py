"""Dims that are symbols, taken for a number, for each other, or for 1 or more; and dims of 0."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Dims,
    Flag,
    Permutation,
    Place,
    Slices,
    String,
    Tensor,
    hosted,
    listed,
    rewrite,
)
from egraph_opt.operators import (
    Literal,
    binary,
    concat,
    expand,
    gather,
    literal,
    reduce,
    reshape,
    shape_of,
    slice_,
    transpose,
)

from . import of_one, of_two, wrong


def is_symbol(dim) -> bool:
    return isinstance(dim, str)


@hosted()
def dims_as_written(x: Fact, s: Place, e: Place) -> Literal | None:
    """The dims of x, 1 for symbols."""
    dims = (x.shape or ())[s:e]
    return Literal(7, (len(dims),), tuple(d if isinstance(d, int) else 1 for d in dims)) if dims else None


@wrong("bitwise", of_one(lambda x: shape_of(x, 0, 2), ("N", 4)))
def dims_of_one_batch(x: Tensor, s: Place, e: Place):
    """Shape(x) = its dims as a constant

    Wrong of symbols, which are no 1.
    """
    yield rewrite(shape_of(x, s, e), literal(dims_as_written(x, s, e)), because="forgets x")


@hosted()
def may_be(x: Fact, d: Dims) -> bool:
    pairs = zip(x.shape or (), d, strict=False)
    return x.rank == len(d) and all(a == b or is_symbol(a) for a, b in pairs)


@wrong("bitwise", of_one(lambda x: expand(x, (1, 4)), ("N", 4)))
def expanded_to_what_it_may_be(x: Tensor, d: Dims):
    """Expand(x, d) = Reshape(x, d) where the dims of x may be d

    Wrong where a symbol is another number.
    """
    yield rewrite(expand(x, d), reshape(x, d), may_be(x, d), because="a Reshape is free")


@hosted()
def permuted(x: Fact, p: Permutation) -> Dims | None:
    """The dims of a transpose that moves axes of one element only, among which symbols are counted."""
    if not x.is_symbolic or x.shape is None:
        return None
    long = [k for k in p if x.shape[k] != 1 and not is_symbol(x.shape[k])]
    return tuple(x.shape[k] for k in p) if long == sorted(long) else None


@wrong("bitwise", of_one(lambda x: transpose(x, (1, 0)), ("N", 4)))
def batch_moved_by_view(x: Tensor, p: Permutation):
    """Transpose_p(x) = Reshape(x) where only axes of one element move

    Wrong where a symbol is taken for one.
    """
    yield rewrite(transpose(x, p), reshape(x, permuted(x, p)), because="a Reshape is free")


@hosted()
def is_symbolic_sum(x: Fact, y: Fact) -> bool:
    """Where y has a number, x has it too; symbols are all one."""
    pairs = zip(x.shape or (), y.shape or (), strict=False)
    return x.rank == y.rank and all(a == b or (is_symbol(a) and is_symbol(b)) for a, b in pairs)


@wrong("bitwise", lambda g: transpose(g.input(("N", "L")), (1, 0)) + g.input(("L", "N")))
def symbols_are_one(x: Tensor, y: Tensor, p: Permutation):
    """Transpose_p(x) + y = Transpose_p(x + y) for operands of one shape

    Wrong: y is transposed as well, and two symbols are not the same.
    """
    yield rewrite(transpose(x, p) + y, transpose(x + y, p), is_symbolic_sum(x, y), because="down")


@hosted()
def front(s: Slices, t: Slices) -> Slices | None:
    """A slice from the end within one from the front, whose length is the outer end's."""
    if len(s) != 1 or len(t) != 1 or s[0][0] != t[0][0] or s[0][2] is None or (s[0][1], s[0][3]) != (0, 1):
        return None
    start, end, step = t[0][1:]
    return ((s[0][0], s[0][2] + start, s[0][2], 1),) if start < 0 and end is None and step == 1 else None


@wrong("bitwise", of_one(lambda x: slice_(slice_(x, ((0, 0, 20, 1),)), ((0, -2, None, 1),)), ("L", 3)))
def last_of_the_first(x: Tensor, s: Slices, t: Slices):
    """The last k of Slice(x, 0, n) = Slice(x, n - k, n)

    Wrong where x has less than n.
    """
    yield rewrite(slice_(slice_(x, s), t), slice_(x, front(s, t)), because="one slice")


@hosted()
def is_far(s: Slices) -> bool:
    """From 16 elements on."""
    return len(s) == 1 and s[0][1] >= 16 and s[0][3] == 1


@wrong("bitwise", of_two(lambda x, y: concat(listed(x, slice_(y, ((0, 16, None, 1),))), 0), (18, 3)))
def nothing_far_away(x: Tensor, y: Tensor, s: Slices, a: Axis):
    """Concat(x, Slice(y) from 16 on) = x

    Wrong of longer axes, and of numbers.
    """
    joined = concat(listed(x, slice_(y, s)), a)
    yield rewrite(joined, x, is_far(s), is_short(y, s), because="nothing is there")


@hosted()
def is_short(y: Fact, s: Slices) -> bool:
    dim = (y.shape or ())[s[0][0]]
    return is_symbol(dim) or (isinstance(dim, int) and dim <= 20)


@hosted()
def is_empty(x: Fact) -> bool:
    return x.shape is not None and 0 in x.shape


@wrong("bitwise", lambda g: concat(listed(g.input((0, "N")), g.input((0, 2))), 1))
def empty_operand(x: Tensor, y: Tensor, a: Axis):
    """Concat(x, y) = y where x is empty

    Wrong where it is empty along another axis.
    """
    yield rewrite(concat(listed(x, y), a), y, is_empty(x), because="forgets x")


@wrong("finite", lambda g: reduce("ReduceProd", g.input((3, 0)), (1,), 1))
def product_of_nothing(k: String, x: Tensor, a: Axes, d: Flag):
    """Reduce(x) = Reduce(x) - Reduce(x) where x is empty along the axes

    Wrong of ReduceProd, which gives 1.
    """
    reduced = reduce(k, x, a, d)
    yield rewrite(reduced, reduced - reduced, has_none(x, a), sums(k), because="there is nothing to sum")


@hosted()
def has_none(x: Fact, a: Axes) -> bool:
    return x.shape is not None and any(x.shape[k] == 0 for k in a)


@hosted()
def sums(k: str) -> bool:
    return k in ("ReduceSum", "ReduceProd", "ReduceSumSquare", "ReduceL1")


@wrong("bitwise", of_two(lambda x, y: x - y, ("N", 3)))
def broadcast_symbols(f: String, x: Tensor, y: Tensor):
    """x f y = y f x where both have symbols along an axis

    Wrong of what does not commute.
    """
    yield rewrite(binary(f, x, y), binary(f, y, x), have_symbols(x, y), because="the same symbol")


@hosted()
def have_symbols(x: Fact, y: Fact) -> bool:
    return any(map(is_symbol, x.shape or ())) and any(map(is_symbol, y.shape or ()))


@hosted()
def last_index(x: Fact, i: Fact, a: Axis) -> Literal | None:
    """-1 as the index of the last of 7, if x has so many."""
    dim = (x.shape or ())[a]
    return (
        Literal(7, i.shape or (), (6,))  # type: ignore[arg-type]
        if i.splat == -1 and i.is_static and (is_symbol(dim) or dim == 7)
        else None
    )


@wrong("bitwise", lambda g: gather(g.input(("L", 3)), g.constant(-1), 0))
def last_of_seven(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, -1) = Gather(x, 6)

    Wrong of symbols that are not 7.
    """
    yield rewrite(
        gather(x, i, a), gather(x, literal(last_index(x, i, a)), a), because="counted from the front"
    )
