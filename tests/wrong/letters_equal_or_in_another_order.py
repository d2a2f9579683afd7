"""Letters of Einsum that are equal, or come out in another order."""

from egraph_opt.laws import Axes, Equation, Tensor, hosted, listed, rewrite
from egraph_opt.operators import einsum, reduce

from . import fires_on, wrong


@hosted()
def is_product(e: Equation) -> bool:
    """Two matrices, the last letter of one being the first of the other."""
    operands, _, out = e.partition("->")
    parts = operands.split(",")
    if len(parts) != 2 or any(len(k) != 2 or not k.isalpha() for k in parts):
        return False
    one, other = parts
    return one[1] == other[0] and out == one[0] + other[1]


def lettered(equation: str, *shapes: tuple[int, ...]):
    return lambda g: einsum(equation, listed(*(g.input(shape) for shape in shapes)))


@wrong(
    "reassociates",
    lettered("ij,jj->ij", (2, 3), (3, 3)),
    examples=fires_on(lettered("ij,jk->ik", (2, 3), (3, 4)), lettered("ab,bc->ac", (4, 4), (4, 4))),
)
def einsum_of_diagonal_as_product(e: Equation, x: Tensor, y: Tensor):
    """Einsum(x, y; ij,jk->ik) = x @ y

    Wrong where k is j: it takes a diagonal.
    """
    yield rewrite(einsum(e, listed(x, y)), x @ y, is_product(e), because="a product")


@hosted()
def summed_letters(e: Equation) -> Axes | None:
    """Letters that do not come out."""
    one, _, out = e.partition("->")
    if not one.isalpha() or not set(out) < set(one) or len({*one}) != len(one) or len({*out}) != len(out):
        return None
    return tuple(k for k, letter in enumerate(one) if letter not in out)


@wrong(
    "reassociates",
    lettered("abcd->db", (2, 3, 2, 3)),
    examples=fires_on(
        lettered("abc->ac", (2, 3, 4)), lettered("ij->i", (2, 3)), lettered("abc->b", (2, 3, 4))
    ),
)
def einsum_as_sum(e: Equation, x: Tensor):
    """Einsum(x; abc->ac) = ReduceSum(x, b)

    Wrong where those that are left come out in another order.
    """
    yield rewrite(einsum(e, listed(x)), reduce("ReduceSum", x, summed_letters(e), 0), because="a sum")
