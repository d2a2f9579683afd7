"""Laws that find work in what they have made: right as formulas, most of them, and without an end."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axis,
    Dims,
    Permutation,
    Sizes,
    Slices,
    Tensor,
    Tensors,
    cons,
    equal,
    hosted,
    listed,
    number_like,
    relu,
    rewrite,
)
from egraph_opt.operators import (
    Literal,
    cast,
    concat,
    literal,
    output,
    pad,
    reshape,
    slice_,
    split,
    transpose,
    unary,
    variadic,
)
from egraph_opt.rewrites.conditions.values import is_float

from . import of_one, of_two, wrong


def size(x):
    return unary("Abs", (), x)


@wrong("bitwise", of_one(size), endless=True)
def size_of_either_sign(x: Tensor):
    """Abs(x) = Abs(-x)

    Endless: -x has a size as well, and that of -(-x) is asked next.
    """
    yield equal(size(x), size(-x))


@wrong("finite", of_one(relu), endless=True)
def relu_of_one_more_factor(x: Tensor):
    """Relu(x) = Relu(x * 1)

    Endless: x * 1 is multiplied by 1 again.
    """
    yield rewrite(relu(x), relu(x * number_like(x, 1.0)), is_float(x), because="the scale may be changed")


@wrong("reassociates", of_two(lambda x, y: x + y), endless=True)
def sum_of_halves(x: Tensor, y: Tensor):
    """x + y = (x + y / 2) + y / 2

    Endless: each sum has two more in it.
    """
    half = y / number_like(y, 2.0)
    yield rewrite(x + y, (x + half) + half, is_float(x), because="smaller steps round better")


@hosted()
def turned(x: Fact) -> Permutation | None:
    return tuple(range(x.rank))[::-1] if x.rank and x.rank > 1 else None


@wrong("bitwise", of_one(relu), endless=True)
def function_between_transposes(x: Tensor):
    """Relu(x) = Transpose(Relu(Transpose(x)))

    Endless: the inner Relu is put between two transposes again.
    """
    p = turned(x)
    yield rewrite(relu(x), transpose(relu(transpose(x, p)), p), because="another layout may be better")


@hosted()
def more_of(n: Sizes) -> Sizes:
    return (*n, 0)


@wrong("bitwise", of_one(lambda x: output(split(x, 1, (2, 3)), 0)), endless=True)
def first_of_more_parts(x: Tensor, a: Axis, n: Sizes):
    """The first part of Split(x) = the first part of Split(x) with an empty part behind the others

    Endless: another empty part fits behind that.
    """
    yield rewrite(
        output(split(x, a, n), 0), output(split(x, a, more_of(n)), 0), because="sizes may be padded"
    )


@wrong("finite", of_one(relu), endless=True)
def parts_of_both_signs(x: Tensor):
    """Relu(x) = Relu(Relu(x) - Relu(-x))

    Endless: each of the two new ones is taken apart again.
    """
    yield rewrite(relu(x), relu(relu(x) - relu(-x)), is_float(x), because="both parts may be there")


@wrong("reassociates", of_two(lambda x, y: x * y), endless=True)
def associated_with_zero(x: Tensor, y: Tensor):
    """x * y = (x + 0) * y

    Endless: 0 is added to x + 0 as well.
    """
    yield rewrite(x * y, (x + number_like(x, 0.0)) * y, is_float(x), because="a Gemm has a sum")


@hosted()
def from_zero(s: Slices) -> Slices | None:
    known = all(a >= 0 and e is not None and e > a and step == 1 for _, a, e, step in s)
    return tuple((k, 0, e - a, 1) for k, a, e, _ in s) if known and s else None  # type: ignore[operator]


@hosted()
def to_end(s: Slices) -> Slices | None:
    return tuple((k, a, None, 1) for k, a, _, _ in s) if s and all(e[1] >= 0 for e in s) else None


@wrong("bitwise", of_one(lambda x: slice_(x, ((0, 1, 2, 1), (1, 1, 4, 1)))), endless=True)
def slice_in_two_steps(x: Tensor, s: Slices):
    """Slice(x, a, b) = Slice(Slice(x, a, the end), 0, b - a)

    Endless: the outer one is a slice from 0 on, and is cut in two again.
    """
    yield rewrite(slice_(x, s), slice_(slice_(x, to_end(s)), from_zero(s)), because="the rest may be there")


@hosted()
def one_more(d: Dims) -> Dims:
    return (1, *d)


@wrong("bitwise", of_one(lambda x: reshape(x, (5, 2))), endless=True)
def view_by_way_of_another(x: Tensor, d: Dims):
    """Reshape(x, d) = Reshape(Reshape(x, 1 and d), d)

    Endless: the inner one goes by way of another with one more axis.
    """
    yield rewrite(reshape(x, d), reshape(reshape(x, one_more(d)), d), because="kernels have another rank")


@hosted()
def nothing_along(a: Axis) -> Slices:
    return ((a, 0, 0, 1),)


@wrong("bitwise", of_two(lambda x, y: concat(listed(x, y), 1)), endless=True)
def empty_part_between(x: Tensor, xs: Tensors, a: Axis):
    """Concat(x, ys) = Concat(x, nothing of x, ys)

    Endless: there is room for another one between x and nothing.
    """
    longer = cons(x, cons(slice_(x, nothing_along(a)), xs))
    yield rewrite(concat(cons(x, xs), a), concat(longer, a), because="kernels take an odd number")


@hosted()
def doubled(c: Fact) -> Literal | None:
    """Twice a number of a tensor."""
    known = c.splat not in (None, 0) and c.shape == ()
    return Literal(c.dtype, (), (c.splat * 2,)) if known else None  # type: ignore[operator]


@wrong("reassociates", lambda g: g.input((2, 5)) * g.constant(3.0), endless=True)
def scale_in_other_units(x: Tensor, c: Tensor):
    """x * c = (x / 2) * (2 c) for a number c

    Endless: 4 c and 8 c are next, each with a constant of its own.
    """
    half = x * number_like(x, 0.5)
    yield rewrite(x * c, half * literal(doubled(c)), is_float(x), because="c may be too small")


@wrong("bitwise", of_one(lambda x: unary("Floor", (), x)), endless=True)
def rounded_by_negation(x: Tensor):
    """Floor(x) = -Ceil(-x), Ceil(x) = -Floor(-x)

    Endless: each is asked of one more negation.
    """
    floor, ceil = (lambda v, f=f: unary(f, (), v) for f in ("Floor", "Ceil"))
    yield rewrite(floor(x), -ceil(-x), because="one of both may have a kernel")
    yield rewrite(ceil(x), -floor(-x), because="one of both may have a kernel")


@wrong("finite", of_two(lambda x, y: variadic("Max", listed(x, y))), endless=True)
def bounds_mirrored(x: Tensor, y: Tensor):
    """Max(x, y) = -Min(-x, -y), Min(x, y) = -Max(-x, -y)

    Endless: each is asked of one more negation.
    """
    for one, other in (("Max", "Min"), ("Min", "Max")):
        mirrored = -variadic(other, listed(-x, -y))
        yield rewrite(variadic(one, listed(x, y)), mirrored, is_float(x), because="one kernel for both")


@hosted()
def none_of(x: Fact):
    return (0, 0) * x.rank if x.rank else None


@wrong("bitwise", of_one(lambda x: -x), endless=True)
def sign_between_pads(x: Tensor):
    """-x = -Pad(x; nothing)

    Endless if pads of nothing do not go: each -x is padded again.
    """
    yield rewrite(-x, -pad(x, "constant", none_of(x), 0.0), is_float(x), because="kernels pad by themselves")


@wrong("bitwise", of_one(relu), endless=True)
def wider_and_back(x: Tensor):
    """Relu(x) = Cast(Relu(Cast(x))) by way of double for float, and of float for double

    Wrong of double, which loses digits, and endless: Relu is cast again.
    """
    yield rewrite(relu(x), cast(relu(cast(x, other(x))), own(x)), because="one of both may be faster")


@hosted()
def other(x: Fact) -> int | None:
    return {1: 11, 11: 1}.get(x.dtype)


@hosted()
def own(x: Fact) -> int | None:
    return x.dtype or None
