"""Equations of Einsum with points, which may be at either end of operands and of the result."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Dims, Equation, Permutation, Tensor, Tensors, hosted, listed, rewrite
from egraph_opt.laws.examples import FLOAT
from egraph_opt.operators import einsum, reduce, reshape, transpose

from . import dims, fires_on, wrong

POINTS = "..."


def of_equation(e: str, *shapes: tuple[int, ...]):
    return lambda g: einsum(e, listed(*(g.input(s) for s in shapes)))


# --- two operands ------------------------------------------------------------------------------------------


@hosted()
def is_product(e: Equation, x: Fact) -> bool:
    return e.replace(POINTS, "") == "i,i->i" and x.dtype == FLOAT


@wrong(
    "finite",
    of_equation("i...,...i->i...", (2, 2), (2, 2)),
    examples=fires_on(of_equation("...i,...i->...i", (2, 3), (2, 3))),
)
def product_of_points(e: Equation, x: Tensor, y: Tensor):
    """Einsum(x, y; ...i,...i->...i) = x * y

    Wrong where the points are at other ends: other axes meet.
    """
    yield rewrite(einsum(e, listed(x, y)), x * y, is_product(e, x), because="forgets letters")


@hosted()
def is_dot(e: Equation, x: Fact, y: Fact) -> Axes | None:
    """The last axis, where both operands have as many."""
    known = e.replace(POINTS, "") == "i,i->" and x.dtype == FLOAT and x.rank == y.rank
    return (x.rank - 1,) if known and x.rank else None


@wrong(
    "reassociates",
    of_equation("i...,...i->...", (2, 2), (2, 2)),
    examples=fires_on(of_equation("...i,...i->...", (2, 3), (2, 3))),
)
def dot_of_points(e: Equation, x: Tensor, y: Tensor):
    """Einsum(x, y; ...i,...i->...) = ReduceSum(x * y) along the last axis

    Wrong where the points are behind the letter.
    """
    total = reduce("ReduceSum", x * y, is_dot(e, x, y), 0)
    yield rewrite(einsum(e, listed(x, y)), total, because="forgets letters")


@hosted()
def column(e: Equation, x: Fact, y: Fact) -> Dims | None:
    """The dims of x with an axis of one element for each of y, where both keep their letters."""
    left, arrow, result = e.replace(POINTS, "").partition("->")
    if not arrow or left.count(",") != 1 or left.replace(",", "") != result or len({*result}) < len(result):
        return None
    return (*dims(x), *(1,) * y.rank) if x.is_symbolic and y.rank is not None and x.dtype == FLOAT else None


@wrong(
    "finite",
    of_equation("...i,...j->...ij", (2, 3), (2, 4)),
    examples=fires_on(of_equation("i,j->ij", (2,), (3,))),
)
def outer_products(e: Equation, x: Tensor, y: Tensor):
    """Einsum(x, y; i,j->ij) = Reshape(x) * y

    Wrong with points, whose axes both operands have.
    """
    yield rewrite(einsum(e, listed(x, y)), reshape(x, column(e, x, y)) * y, because="forgets letters")


# --- text for axes -----------------------------------------------------------------------------------------


@hosted()
def all_backwards(e: Equation, x: Fact) -> Permutation | None:
    """Of an equation whose result is its operand backwards, of which there are as many signs as axes."""
    left, _, result = e.partition("->")
    known = result == left[::-1] and len({*left} - {"."}) > 1 and len(left) == x.rank
    return tuple(range(len(left)))[::-1] if known else None


@wrong(
    "bitwise", of_equation("...ij->ji...", (2, 1, 2, 3, 4)), examples=fires_on(of_equation("ij->ji", (2, 3)))
)
def all_signs_backwards(e: Equation, x: Tensor):
    """Einsum(x; ij->ji) = Transpose(x)

    Wrong with points for three axes, which stay in order.
    """
    yield rewrite(einsum(e, listed(x)), transpose(x, all_backwards(e, x)), because="forgets letters")


@hosted()
def with_result(e: Equation) -> Equation | None:
    """The letters that are there once, in order, said behind an arrow."""
    letters = [c for c in e if c.isalpha()]
    once = sorted(c for c in {*letters} if letters.count(c) == 1)
    return None if "->" in e else f"{e}->{''.join(once)}"


@wrong(
    "reassociates",
    of_equation("...ij,...jk", (2, 2, 3), (2, 3, 4)),
    examples=fires_on(of_equation("ij,jk", (2, 3), (3, 4))),
)
def result_without_points(e: Equation, xs: Tensors):
    """Einsum(x, y; ij,jk) = Einsum(x, y; ij,jk->ik)

    Wrong with points, which an equation without an arrow has in front of its result.
    """
    yield rewrite(einsum(e, xs), einsum(with_result(e), xs), because="one way")
