"""Rules of auxiliary tables that go wrong from the second step on."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axis,
    Float,
    Mode,
    Number,
    Pads,
    Permutation,
    Settings,
    Tensor,
    Tensors,
    Unit,
    assign,
    auxiliary,
    eq,
    hosted,
    number_like,
    relu,
    rewrite,
    rule,
    table,
)
from egraph_opt.operators import binary, concat, pad, reduce, transpose, unary
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.values import fits, is_float
from egraph_opt.rewrites.slicing.concat import listing, operands_of

from . import fires_on, wrong

LOST = "forgets how it was spelled"


LOST = "forgets how it was spelled"


@hosted()
def number_of(c: Fact, x: Fact) -> Float | None:
    known = c.splat is not None and c.rank == 0 and x.dtype in (1, 11)
    return float(c.splat) if known else None  # type: ignore[arg-type]


@hosted()
def and_one(c: float) -> Float:
    return c + 1


# --- rules that go wrong from the second step on ------------------------------------------------------------


@table(merge="first")
def shifted(y: Tensor, x: Tensor) -> Float:
    """The s of y = x + s."""


@hosted()
def both(a: float, b: float) -> Float:
    """What two numbers are together."""
    return a * b


@auxiliary()
def shifts(x: Tensor, y: Tensor, z: Tensor, c: Tensor, a: Float, b: Float):
    """Fills `shifted`."""
    yield rule(eq(y, x + c), then=assign(shifted(y, x), number_of(c, x)))
    chain = (eq(a, shifted(y, x)), eq(z, y + c), eq(b, shifted(z, y)))
    yield rule(*chain, then=assign(shifted(z, x), both(a, b)))


def _shift(g, *numbers: float):
    x = g.input((3, 4))
    y = x
    for number in numbers:
        y = y + g.constant(number)
    return y - x


@wrong(
    "reassociates", lambda g: _shift(g, 3.0, 0.5), uses=(shifts,), examples=fires_on(lambda g: _shift(g, 3.0))
)
def difference_of_shifted(y: Tensor, x: Tensor, s: Float):
    """y - x = s where y = x + s

    Wrong of two shifts in a row, which are multiplied.
    """
    yield rewrite(y - x, x * number_like(x, 0.0) + number_like(x, s), eq(s, shifted(y, x)), because=LOST)


@table()
def not_below_zero(x: Tensor) -> Unit:
    """x >= 0."""


@auxiliary()
def not_negative(x: Tensor, y: Tensor, m: Mode, p: Pads, v: Number, q: Permutation):
    """Fills `not_below_zero`."""
    yield rule(eq(y, relu(x)), then=not_below_zero(y))
    yield rule(eq(y, transpose(x, q)), not_below_zero(x), then=not_below_zero(y))
    yield rule(eq(y, pad(x, m, p, v)), not_below_zero(x), then=not_below_zero(y))


def _padded(g, value: float):
    x = relu(g.input((3, 4)))
    return unary("Abs", (), pad(transpose(x, (1, 0)), "constant", (0, 1, 0, 0), value))


@wrong(
    "finite",
    lambda g: _padded(g, -1.5),
    uses=(not_negative,),
    examples=fires_on(lambda g: _padded(g, 0.0), lambda g: unary("Abs", (), relu(g.input((3, 4))))),
)
def size_of_what_is_not_negative(x: Tensor):
    """Abs(x) = x where x is a Relu, or that transposed or padded

    Wrong where negative numbers are put around it.
    """
    yield rewrite(unary("Abs", (), x), x, not_below_zero(x), because="forgets Abs")


@table()
def some_are_relu(xs: Tensors) -> Unit:
    """The elements of a list are Relus."""


@auxiliary(listing)
def relus(xs: Tensors, rest: Tensors, x: Tensor, a: Axis):
    """Fills `some_are_relu`, from the end of a list to its front."""
    yield rule(operands_of(xs, a), eq(xs, cons(relu(x), nil())), then=some_are_relu(xs))
    yield rule(operands_of(xs, a), eq(xs, cons(x, rest)), some_are_relu(rest), then=some_are_relu(xs))


def _joined(g, first):
    return relu(concat(listed(first(g.input((2, 3))), relu(g.input((2, 3))), relu(g.input((2, 3)))), 1))


@wrong(
    "finite", lambda g: _joined(g, lambda x: x), uses=(relus,), examples=fires_on(lambda g: _joined(g, relu))
)
def relu_of_joined_relus(xs: Tensors, a: Axis):
    """Relu(Concat(x, y, ..)) = Concat(x, y, ..) of Relus

    Wrong where another one than the last is none.
    """
    yield rewrite(relu(concat(xs, a)), concat(xs, a), some_are_relu(xs), because="forgets Relu")


@table(merge="first")
def times(y: Tensor, x: Tensor) -> Float:
    """The factor c of y = x * c."""


@hosted()
def one_over(c: Fact, x: Fact) -> Float | None:
    found = number_of.function(c, x)
    return 1 / found if found else None


@hosted()
def product_of(a: float, b: float) -> Float:
    return a * b


@auxiliary()
def products(x: Tensor, y: Tensor, z: Tensor, c: Tensor, a: Float):
    """Fills `times`."""
    yield rule(eq(y, x * c), then=assign(times(y, x), number_of(c, x)))
    yield rule(eq(y, x / c), then=assign(times(y, x), one_over(c, x)))
    yield rule(eq(a, times(y, x)), eq(z, y * c), then=assign(times(z, x), product_of(a, number_of(c, x))))
    yield rule(eq(a, times(y, x)), eq(z, y / c), then=assign(times(z, x), product_of(a, number_of(c, x))))


@hosted()
def is_positive(s: float) -> bool:
    return s > 0


def _chain(g, divided: bool):
    x = g.input((3, 4))
    y = x * g.constant(3.0)
    return (y / g.constant(4.0) if divided else y * g.constant(4.0)) + x


@wrong(
    "reassociates", lambda g: _chain(g, True), uses=(products,), examples=fires_on(lambda g: _chain(g, False))
)
def once_more(y: Tensor, x: Tensor, s: Float):
    """y + x = x * (s + 1) where y = x * s

    Wrong where something is divided behind a product: its divisor is multiplied.
    """
    yield rewrite(y + x, x * number_like(x, and_one(s)), eq(s, times(y, x)), because=LOST)


@table(merge="first")
def turned(y: Tensor, x: Tensor) -> Permutation:
    """The p of y = Transpose_p(x)."""


@hosted()
def one_behind_other(p: Permutation, q: Permutation) -> Permutation | None:
    """The permutation of two, one behind the other."""
    return tuple(q[k] for k in p) if len(p) == len(q) else None


@auxiliary()
def turns(x: Tensor, y: Tensor, z: Tensor, p: Permutation, q: Permutation):
    """Fills `turned`."""
    yield rule(eq(y, transpose(x, p)), then=assign(turned(y, x), p))
    yield rule(eq(p, turned(y, x)), eq(z, transpose(y, q)), then=assign(turned(z, x), one_behind_other(p, q)))


def _turned(g, *perms):
    y = g.input((2, 2, 2))
    for perm in perms:
        y = transpose(y, perm)
    return relu(y)


@wrong(
    "bitwise",
    lambda g: _turned(g, (1, 0, 2), (0, 2, 1)),
    uses=(turns,),
    examples=fires_on(lambda g: _turned(g, (1, 2, 0), (1, 2, 0)), lambda g: _turned(g, (1, 2, 0))),
)
def relu_of_turned(x: Tensor, y: Tensor, p: Permutation):
    """Relu(y) = Transpose_p(Relu(x)) where y is x, transposed once or several times

    Wrong of two that do not commute.
    """
    yield rewrite(
        relu(y), transpose(relu(x), p), eq(p, turned(y, x)), is_float(x), because="one way is enough"
    )


@hosted(default=0.0)
def less(old: Float, new: Float) -> Float:
    return min(old, new)


@table(merge=less)
def at_most(y: Tensor) -> Float:
    """A number that y is never above."""


@hosted()
def greatest_bound(s: Settings) -> Float | None:
    found = dict(s).get("max")
    return None if found is None else float(found)


@auxiliary()
def bounds(x: Tensor, y: Tensor, s: Settings, m: Float):
    """Fills `at_most`."""
    yield rule(eq(y, unary("Clip", s, x)), then=assign(at_most(y), greatest_bound(s)))
    for kind in ("ReduceMax", "ReduceMean", "ReduceSum"):
        yield rule(eq(y, reduce(kind, x, (1,), 1)), eq(m, at_most(x)), then=assign(at_most(y), m))


def _bounded(g, kind: str):
    clipped = unary("Clip", (("max", 2.0), ("min", 0.0)), g.input((3, 4)))
    return binary("Less", reduce(kind, clipped, (1,), 1), g.constant(2.5))


@hosted()
def is_below(bound: float, c: Fact) -> bool:
    return c.splat is not None and bound < c.splat


@wrong(
    "finite",
    lambda g: binary("Or", _bounded(g, "ReduceSum"), g.input((3, 1), 9)),
    uses=(bounds,),
    examples=fires_on(lambda g: binary("Or", _bounded(g, "ReduceMean"), g.input((3, 1), 9))),
)
def below_by_its_bound(y: Tensor, c: Tensor, b: Tensor, m: Float):
    """y < c or b = true where y is bounded by less than c

    Wrong of sums, which have the bound of what is summed up.
    """
    always = binary("Or", binary("Equal", b, b), b)
    yield rewrite(
        binary("Or", binary("Less", y, c), b),
        always,
        eq(m, at_most(y)),
        is_below(m, c),
        fits(c, y),
        fits(y, b),
        because=LOST,
    )
