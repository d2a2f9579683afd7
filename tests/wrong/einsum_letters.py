"""Einsum by its letters: the order in which they come out, and that of the axes they stand for."""

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Equation, Permutation, Tensor, hosted, listed, rewrite
from egraph_opt.operators import einsum, reduce, transpose
from egraph_opt.rewrites.conditions.values import is_kernel_float, is_of_type

from . import fires_on, of_one, of_two, wrong

FLOAT = TensorProto.FLOAT
CUBE = (2, 2, 2)


def letters_of(e: str) -> tuple[str, str] | None:
    """The letters of the only operand, and those that come out; each is there once."""
    letters, arrow, result = e.partition("->")
    plain = arrow and letters.isalpha() and len(set(letters)) == len(letters)
    return (letters, result) if plain else None


def letters_of_two(e: str) -> tuple[str, str, str] | None:
    """The letters of two operands, and those that come out; no operand has one twice."""
    operands, arrow, result = e.partition("->")
    first, comma, second = operands.partition(",")
    if not arrow or not comma or not first.isalpha() or not second.isalpha():
        return None
    once = len(set(first)) == len(first) and len(set(second)) == len(second)
    return (first, second, result) if once else None


def summed(e: str):
    return lambda x: einsum(e, listed(x))


def multiplied(e: str):
    return lambda x, y: einsum(e, listed(x, y))


# --- of one operand ---------------------------------------------------------------------------------------


@hosted()
def place_of_each_letter(e: Equation) -> Permutation | None:
    """Where each axis of the operand comes out, if all of them do."""
    known = letters_of(e)
    if known is None or sorted(known[0]) != sorted(known[1]):
        return None
    letters, result = known
    return tuple(result.index(letter) for letter in letters)


@wrong(
    "bitwise", of_one(summed("abc->bca"), CUBE), examples=fires_on(of_one(summed("abc->acb"), ("N", 3, 4)))
)
def einsum_transposes(x: Tensor, e: Equation):
    """Einsum(x; abc->acb) = Transpose(x) by where each letter comes out

    Wrong where three letters go round: a Transpose is given where each axis comes from, the inverse.
    """
    yield rewrite(
        einsum(e, listed(x)), transpose(x, place_of_each_letter(e)), because="a Transpose only moves"
    )


@hosted()
def axes_left_out(e: Equation) -> Axes | None:
    """The axes whose letters do not come out."""
    known = letters_of(e)
    if known is None or not set(known[1]) < set(known[0]):
        return None
    letters, result = known
    return tuple(k for k, letter in enumerate(letters) if letter not in result)


@wrong(
    "reassociates",
    of_one(summed("abc->ca"), (2, 3, 2)),
    examples=fires_on(of_one(summed("abc->ac"), ("N", 3, 4))),
)
def einsum_sums(x: Tensor, e: Equation):
    """Einsum(x; abc->ac) = ReduceSum(x) over the letters that do not come out

    Wrong of abc->ca: what is left is in another order.
    """
    total = reduce("ReduceSum", x, axes_left_out(e), 0)
    yield rewrite(einsum(e, listed(x)), total, is_kernel_float(x), because="a ReduceSum has a kernel")


@hosted()
def says_nothing(e: Equation) -> bool:
    """No arrow and no comma, and every letter once."""
    return e.isalpha() and len(set(e)) == len(e)


@wrong("bitwise", of_one(summed("ba"), (2, 2)), examples=fires_on(of_one(summed("ab"), ("N", 3))))
def einsum_without_arrow(x: Tensor, e: Equation):
    """Einsum(x; ab) = x

    Wrong of ba: without an arrow, letters come out in alphabetical order.
    """
    yield rewrite(einsum(e, listed(x)), x, says_nothing(e), because="any x is an Einsum of itself")


@hosted()
def in_alphabetical_order(e: Equation) -> Equation | None:
    known = letters_of(e)
    if known is None or known[0] == "".join(sorted(known[0])):
        return None
    return "".join(sorted(known[0])) + "->" + known[1]


@hosted()
def rank_of_each_letter(e: Equation) -> Permutation:
    """For each letter of the operand its place in the alphabetical order."""
    letters = e.partition("->")[0]
    return tuple(sorted(letters).index(letter) for letter in letters)


@wrong(
    "reassociates", of_one(summed("cab->a"), CUBE), examples=fires_on(of_one(summed("acb->ab"), (2, 3, 4)))
)
def einsum_in_order(x: Tensor, e: Equation):
    """Einsum(x; acb->ab) = Einsum(Transpose(x); abc->ab), letters in alphabetical order

    Wrong of cab->a: the Transpose is by the inverse permutation.
    """
    ordered = einsum(in_alphabetical_order(e), listed(transpose(x, rank_of_each_letter(e))))
    yield rewrite(einsum(e, listed(x)), ordered, is_of_type(x, FLOAT), because="one spelling of each sum")


# --- of two operands --------------------------------------------------------------------------------------


@hosted()
def multiplies_matrices(e: Equation) -> bool:
    """Two batches of matrices, whose letters both operands have."""
    known = letters_of_two(e)
    if known is None or len(known[0]) < 4 or len(known[0]) != len(known[1]):
        return False
    first, second, result = known
    same_batches = set(first[:-2]) == set(second[:-2])
    inner = first[-1] == second[-2] and second[-1] not in first
    return same_batches and inner and result == first[:-1] + second[-1]


@hosted()
def have_elements(x: Fact, y: Fact) -> bool:
    return x.is_static and y.is_static and 0 not in (*(x.shape or ()), *(y.shape or ()))


@wrong(
    "reassociates",
    lambda g: multiplied("abcd,bade->abce")(g.input((2, 2, 4, 2)), g.input((2, 2, 2, 5))),
    examples=fires_on(lambda g: multiplied("abcd,abde->abce")(g.input((2, 3, 4, 2)), g.input((2, 3, 2, 5)))),
)
def einsum_multiplies(x: Tensor, y: Tensor, e: Equation):
    """Einsum(x, y; abcd,abde->abce) = x @ y, of two batches

    Wrong of abcd,bade->abce: the batches of y are in another order.
    """
    known = (multiplies_matrices(e), have_elements(x, y), is_of_type(x, FLOAT))
    yield rewrite(einsum(e, listed(x, y)), x @ y, known, because="MatMul has a kernel")


@hosted()
def have_the_same_letters(e: Equation) -> bool:
    known = letters_of_two(e)
    return known is not None and sorted(known[0]) == sorted(known[1]) and known[0] == known[2]


@wrong(
    "finite",
    of_two(multiplied("ab,ba->ab"), (2, 2)),
    examples=fires_on(of_two(multiplied("ab,ab->ab"), (2, 3))),
)
def einsum_by_elements(x: Tensor, y: Tensor, e: Equation):
    """Einsum(x, y; ab,ab->ab) = x * y where both have the same letters

    Wrong of ab,ba->ab: y is transposed.
    """
    product = einsum(e, listed(x, y))
    yield rewrite(product, x * y, have_the_same_letters(e), is_of_type(x, FLOAT), because="nothing is summed")
