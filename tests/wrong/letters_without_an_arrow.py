"""Equations of Einsum as text: what stands behind the arrow, and in which order."""

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.facts.symbolic import known_equal
from egraph_opt.laws import Axes, Equation, Tensor, hosted, listed, rewrite
from egraph_opt.operators import einsum, matmul, reduce

from . import fires_on, wrong


def of_equation(e: str, *shapes: tuple[int, ...]):
    return lambda g: einsum(e, listed(*(g.input(s) for s in shapes)))


# --- without an arrow ------------------------------------------------------------------------------------


@hosted()
def sums_all(e: Equation, x: Fact) -> Axes | None:
    """Nothing stands behind the arrow."""
    left, _, right = e.partition("->")
    if (
        right
        or not left.isalpha()
        or x.rank != len(set(left))
        or x.rank != len(left)
        or x.dtype != T.FLOAT
        or not left
    ):
        return None
    return tuple(range(len(left)))


@wrong(
    "reassociates",
    of_equation("ij", (3, 4)),
    examples=fires_on(of_equation("ij->", (3, 4)), of_equation("abc->", (2, 3, 4))),
)
def sum_of_all(x: Tensor, e: Equation):
    """Einsum(x; ij->) = ReduceSum(x)

    Wrong without an arrow: the letters that are there once stay, in order.
    """
    yield rewrite(einsum(e, listed(x)), reduce("ReduceSum", x, sums_all(e, x), 0), because="forgets letters")


@hosted()
def is_product(e: Equation, x: Fact, y: Fact) -> bool:
    """Of matrices: the second letter of the first is the first of the second."""
    left, _, right = e.partition("->")
    a, _, b = left.partition(",")
    if len(a) != 2 or len(b) != 2 or not (a + b).isalpha() or a[1] != b[0] or len(set(a + b)) != 3:
        return False
    if x.rank != 2 or y.rank != 2 or x.dtype != T.FLOAT or not known_equal(x.shape[1], y.shape[0]):  # type: ignore[index]
        return False
    return right in ("", a[0] + b[1])


@wrong(
    "reassociates",
    of_equation("kj,ji", (3, 4), (4, 3)),
    examples=fires_on(of_equation("ij,jk->ik", (3, 4), (4, 5)), of_equation("ij,jk", (3, 4), (4, 5))),
)
def equation_of_a_product(x: Tensor, y: Tensor, e: Equation):
    """Einsum(x, y; ij,jk) = x @ y

    Wrong without an arrow where the first letter comes later in the alphabet.
    """
    yield rewrite(einsum(e, listed(x, y)), matmul(x, y), is_product(e, x, y), because="forgets letters")


@hosted()
def keeps_letters(e: Equation, x: Fact) -> bool:
    """No letter is there twice, so that none is summed."""
    left, arrow, right = e.partition("->")
    if not left.isalpha() or len(set(left)) != len(left) or x.rank != len(left) or x.dtype != T.FLOAT:
        return False
    return right == left if arrow else left[0] == min(left) and left[-1] == max(left)


@wrong(
    "bitwise",
    of_equation("acbd", (2, 3, 2, 4)),
    examples=fires_on(of_equation("ij->ij", (3, 4)), of_equation("abcd", (2, 3, 2, 4))),
)
def nothing_is_summed(x: Tensor, e: Equation):
    """Einsum(x; abc) = x

    Wrong without an arrow where letters in the middle are not in order.
    """
    yield rewrite(einsum(e, listed(x)), x, keeps_letters(e, x), because="forgets letters")


# --- in the middle ---------------------------------------------------------------------------------------


@hosted()
def is_dot(e: Equation, x: Fact, y: Fact) -> Axes | None:
    """Letters of both operands that do not come behind the arrow are summed; the others are in order."""
    left, arrow, right = e.partition("->")
    a, _, b = left.partition(",")
    if (
        a != b
        or len(set(a)) != len(a)
        or x.shape is None
        or y.shape is None
        or x.dtype != T.FLOAT
        or not a.isalpha()
    ):
        return None
    if len(x.shape) != len(a) or len(y.shape) != len(a) or not all(map(known_equal, x.shape, y.shape)):
        return None
    summed = tuple(k for k, letter in enumerate(a) if letter not in right)
    rest = sorted(right, key=a.find)
    return (
        summed if arrow and summed and rest[:1] == list(right[:1]) and rest[-1:] == list(right[-1:]) else None
    )


@wrong(
    "reassociates",
    of_equation("abcde,abcde->acbd", *((2, 3, 2, 2, 4),) * 2),
    examples=fires_on(
        of_equation("ij,ij->i", (3, 4), (3, 4)), of_equation("abc,abc->ab", (2, 3, 4), (2, 3, 4))
    ),
)
def products_summed_by_letters(x: Tensor, y: Tensor, e: Equation):
    """Einsum(x, y; abc,abc->ab) = ReduceSum(x * y)

    Wrong where four letters stay and those in the middle change places.
    """
    yield rewrite(
        einsum(e, listed(x, y)), reduce("ReduceSum", x * y, is_dot(e, x, y), 0), because="forgets letters"
    )
