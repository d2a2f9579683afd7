"""Splits and concatenations: parts that were not counted, their order, and axes that are others."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Sizes, Slices, String, Tensor, absent, hosted, is_same, listed, rewrite
from egraph_opt.operators import concat, output, slice_, split, unary

from . import of_one, of_two, wrong
from .slices import dim_at, goes_backwards


@hosted()
def behind(s: Slices, x: Fact, a: Axis) -> Slices | None:
    """A slice of what is behind x in a concatenation."""
    dim = dim_at(x, a)
    if len(s) != 1 or s[0][0] != a or not isinstance(dim, int) or s[0][1] < dim or s[0][3] < 1:
        return None
    return ((a, s[0][1] - dim, None if s[0][2] is None else s[0][2] - dim, s[0][3]),)


@wrong("bitwise", lambda g: slice_(concat(listed(g.input((2, 3)), g.input((2, "L"))), 1), ((1, 4, -2, 1),)))
def slice_behind_the_first(x: Tensor, y: Tensor, a: Axis, s: Slices):
    """Slice(Concat(x, y)) = Slice(y) where it begins behind x

    Wrong for an end that is counted from the end.
    """
    yield rewrite(slice_(concat(listed(x, y), a), s), slice_(y, behind(s, x, a)), because="forgets x")


@hosted()
def first_part(s: Slices, x: Fact, a: Axis) -> bool:
    """It ends within x."""
    return len(s) == 1 and s[0][2] is not None and s[0][2] <= (dim_at(x, a) or 0)


@wrong("bitwise", of_two(lambda x, y: slice_(concat(listed(x, y), 0), ((1, 0, 2, 1),)), (3, 3)))
def slice_within_the_first(x: Tensor, y: Tensor, a: Axis, s: Slices):
    """Slice(Concat(x, y)) = Slice(x) where it ends within x

    Wrong along another axis.
    """
    yield rewrite(slice_(concat(listed(x, y), a), s), slice_(x, s), first_part(s, x, a), because="forgets y")


@hosted()
def rest(a: Axis, n: Sizes) -> Slices:
    return ((a, n[0], None, 1),)


@wrong("bitwise", of_one(lambda x: output(split(x, 1, (2, 2, 1)), 1)))
def second_part(x: Tensor, a: Axis, n: Sizes):
    """The second part of Split(x) = Slice(x) from the end of the first on

    Wrong where there are three parts.
    """
    yield rewrite(output(split(x, a, n), 1), slice_(x, rest(a, n)), because="a slice is a view")


@hosted()
def of_equal_parts(a: Axis, n: Sizes, k: int) -> Slices | None:
    return ((a, k * n[0], (k + 1) * n[0], 1),) if k < len(n) else None


@wrong("bitwise", of_one(lambda x: output(split(x, 1, (1, 2, 2)), 2)))
def part_by_number(x: Tensor, a: Axis, n: Sizes):
    """Part k of Split(x) = Slice(x, k * n, (k + 1) * n), k from 0 to 2

    Wrong of parts of different sizes.
    """
    for k in range(3):
        part = slice_(x, of_equal_parts(a, n, k))
        yield rewrite(output(split(x, a, n), k), part, because="a slice is a view")


@wrong(
    "bitwise",
    of_one(lambda x: (lambda b: concat(listed(output(b, 1), output(b, 0)), 1))(split(x, 1, (2, 2))), (2, 4)),
)
def parts_joined(x: Tensor, a: Axis, n: Sizes):
    """Concat(parts of Split(x)) = x

    Wrong: the parts are in the other order.
    """
    parts = split(x, a, n)
    yield rewrite(concat(listed(output(parts, 1), output(parts, 0)), a), x, because="forgets the split")


@wrong(
    "bitwise",
    of_one(lambda x: (lambda b: concat(listed(output(b, 0), output(b, 1)), 1))(split(x, 1, (2, 2, 1)))),
)
def first_parts_joined(x: Tensor, a: Axis, n: Sizes):
    """Concat(the first and second part of Split(x)) = x

    Wrong where there is a third one.
    """
    parts = split(x, a, n)
    yield rewrite(concat(listed(output(parts, 0), output(parts, 1)), a), x, because="forgets the split")


@wrong(
    "bitwise",
    of_one(lambda x: (lambda b: concat(listed(output(b, 0), output(b, 1)), 0))(split(x, 1, (2, 2))), (2, 4)),
)
def parts_joined_elsewhere(x: Tensor, a: Axis, c: Axis, n: Sizes):
    """Concat_c(parts of Split_a(x)) = x

    Wrong along another axis.
    """
    parts = split(x, a, n)
    yield rewrite(concat(listed(output(parts, 0), output(parts, 1)), c), x, because="forgets the split")


@hosted()
def are_two(n: Sizes) -> bool:
    return len(n) == 2


@wrong("bitwise", lambda g: output(split(concat(listed(g.input((2, 2)), g.input((2, 3))), 1), 1, (3, 2)), 0))
def split_of_concat(x: Tensor, y: Tensor, a: Axis, n: Sizes):
    """The parts of Split(Concat(x, y)) are x and y

    Wrong where the sizes are others.
    """
    parts = split(concat(listed(x, y), a), a, n)
    yield rewrite(output(parts, 0), x, are_two(n), because="forgets y")
    yield rewrite(output(parts, 1), y, are_two(n), because="forgets x")


@hosted()
def is_size(x: Fact, n: Sizes, a: Axis) -> bool:
    return dim_at(x, a) == n[0]


@wrong("bitwise", of_two(lambda x, y: output(split(concat(listed(x, y), 0), 1, (1, 1)), 0), (1, 2)))
def split_along_another_axis(x: Tensor, y: Tensor, a: Axis, c: Axis, n: Sizes):
    """The first part of Split_c(Concat_a(x, y)) is x where it has that size

    Wrong along another axis.
    """
    parts = split(concat(listed(x, y), a), c, n)
    yield rewrite(output(parts, 0), x, is_size(x, n, a), because="forgets y")


@wrong("bitwise", of_two(lambda x, y: slice_(concat(listed(x, y), 1), ((1, 9, None, -1),))))
def turned_concat(x: Tensor, y: Tensor, a: Axis, s: Slices):
    """Concat(x, y) backwards = Concat(x backwards, y backwards)

    Wrong: y comes first then.
    """
    apart = concat(listed(slice_(x, from_end(s, x, a)), slice_(y, from_end(s, y, a))), a)
    yield rewrite(slice_(concat(listed(x, y), a), s), apart, goes_backwards(s), because="slices go up")


@hosted()
def from_end(s: Slices, x: Fact, a: Axis) -> Slices | None:
    dim = dim_at(x, a)
    whole = len(s) == 1 and s[0][0] == a and s[0][2] is None and s[0][3] == -1
    return ((a, dim - 1, None, -1),) if whole and isinstance(dim, int) and dim else None


@hosted()
def meet_each_other(s: Slices, t: Slices) -> bool:
    """One slice ends where the other begins, and they are the front and the rest."""
    if len(s) != 1 or len(t) != 1 or s[0][0] != t[0][0]:
        return False
    return s[0][1] == 0 and s[0][2] == t[0][1] and s[0][3] == t[0][3] == 1


@wrong("bitwise", of_one(lambda x: concat(listed(slice_(x, ((1, 0, 2, 1),)), slice_(x, ((1, 2, 4, 1),))), 1)))
def slices_joined(x: Tensor, a: Axis, s: Slices, t: Slices):
    """Concat(Slice(x, 0, k), Slice(x, k, n)) = x

    Wrong where the second one ends before x does, and along another axis.
    """
    both = concat(listed(slice_(x, s), slice_(x, t)), a)
    yield rewrite(both, x, meet_each_other(s, t), because="forgets k")


@wrong("bitwise", of_two(lambda x, y: concat(listed(unary("Relu", (), x), unary("Abs", (), y)), 1)))
def functions_joined(f: String, g: String, x: Tensor, y: Tensor, a: Axis):
    """Concat(f(x), g(y)) = f(Concat(x, y))

    Wrong where g is another function.
    """
    both = concat(listed(unary(f, (), x), unary(g, (), y)), a)
    known = absent(is_same(g, "Neg"))
    yield rewrite(both, unary(f, (), concat(listed(x, y), a)), known, because="one function")
