"""Order: of the operands of sums and products, and in which products of matrices are computed.

x op y = y op x                         where y op x is written, too
(x op y) op z = x op (y op z)           where two of the three are joined already
(A @ B) @ C = A @ (B @ C)               where the other order multiplies less
(A @ B)^T = B^T @ A^T                   where A or B is a Transpose itself

op is Add, Mul, And, Or, BitwiseOr or BitwiseXor.  `constants` and `matmul` have the laws that bring constants
together.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, String, eq, guard, holds, let, rewrite
from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, matmul, transpose
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.elementwise.identities import COMMUTATIVE

# --- element by element ---------------------------------------------------------------------------------


@hosted(default=False)
def commutes(op: str) -> bool:
    """op commutes; all that do are associative, but for rounding."""
    return op in COMMUTATIVE


@hosted(default=False)
def commute_alike(op: str, other: str) -> bool:
    """They are one that commutes: compared, not joined, since all sums of a network share a name."""
    return op == other and commutes(op)


@hosted(default=False)
def all_vary(*operands: Fact) -> bool:
    """None is constant: constants have laws of their own."""
    return not any(x.const for x in operands)


def _commuted_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 3, 4)), g.input((3, 1))
    for op in ("Add", "Mul"):
        yield g.fires(binary("Sub", binary(op, x, y), binary(op, y, x)))
    n, m = g.input((2,), INT64), g.input((3, 1), INT64)
    yield g.fires(binary("Mul", binary("Add", n, m), binary("Add", m, n)))
    yield g.near_miss(binary("Add", binary("Sub", x, y), binary("Sub", y, x)), why="Sub does not commute")
    yield g.near_miss(binary("Add", x, y), why="nobody wants it the other way")
    c = g.random(4)
    both = binary("Sub", binary("Add", x, c), binary("Add", c, x))
    yield g.near_miss(both, why="constants have laws of their own")


@law("associativity", numerics="bitwise", examples=_commuted_examples)
def commute(op: String, x: Tensor, y: Tensor, other: Tensor) -> Iterator[Any]:
    """x op y = y op x, where y op x is written as well

    Source: TASO, commutativity of Add and Mul.
    """
    swapped = binary(op, y, x)
    wanted = guard(eq(other).to(swapped), holds(all_vary, fact(x), fact(y)))
    yield rewrite(binary(op, x, y), swapped, holds(commutes, op), wanted)


def _associated_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op in ("Add", "Mul"):
        g = Operands(rng)
        x, y, z = g.input(("N", 3, 4)), g.input((3, 1)), g.input((4,))
        chain = binary(op, binary(op, x, y), z)
        for partner in (binary(op, y, z), binary(op, z, x)):
            yield g.fires(binary("Sub", chain, partner))
        yield g.fires(binary("Sub", binary(op, x, binary(op, y, z)), binary(op, y, x)))
        yield g.near_miss(binary("Sub", chain, binary("Sub", y, z)), why="no two are joined elsewhere")
        c = g.random(4)
        constant = binary("Sub", binary(op, binary(op, x, y), c), binary(op, y, c))
        yield g.near_miss(constant, why="constants have laws of their own")
    g = Operands(rng)
    x, y, z = (g.input((3,)) for _ in range(3))
    mixed = binary("Mul", binary("Add", x, y), z)
    yield g.near_miss(binary("Add", mixed, binary("Mul", y, z)), why="two operators")


@law("associativity", numerics="reassociates", examples=_associated_examples)
def associate(
    op: String, x: Tensor, y: Tensor, z: Tensor, inner: String, beside: String, partner: Tensor
) -> Iterator[Any]:
    """(x op y) op z = x op (y op z), where y op z is written as well, in any order of x, y and z

    Source: TASO, associativity of Add and Mul.
    """
    for left in (binary(op, binary(inner, x, y), z), binary(op, z, binary(inner, x, y))):
        for kept, pair in ((x, (y, z)), (x, (z, y)), (y, (x, z)), (y, (z, x))):
            written = (eq(partner).to(binary(beside, *pair)), holds(commute_alike, op, beside))
            wanted = guard(*written, holds(all_vary, fact(x), fact(y), fact(z)))
            yield rewrite(left, binary(op, kept, binary(op, *pair)), holds(commute_alike, op, inner), wanted)


# --- products of matrices -------------------------------------------------------------------------------


@hosted(default=False)
def are_matrices(x: Fact, y: Fact, z: Fact) -> bool:
    """Floats with two axes at least, so that no product of two of them is a vector."""
    return x.dtype in FLOATS and all((t.rank or 0) >= 2 for t in (x, y, z))


def _product(x: tuple[Dim, ...], y: tuple[Dim, ...], size: int) -> tuple[float, tuple[int, ...]] | None:
    """The multiplications of x @ y and its shape where every symbol is `size`."""
    if None in x or None in y:
        return None
    a, b = (tuple(_number(d, size) for d in shape) for shape in (x, y))
    try:
        leading = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        return None
    shape = (*leading, a[-2], b[-1])
    return float(np.prod(shape, dtype=float)) * a[-1], shape


def _number(dim: Dim, size: int) -> int:
    return symbolic.evaluate(dim, dict.fromkeys(symbolic.symbols(dim), size))


@hosted(default=False)
def multiplies_less(x: Fact, y: Fact, z: Fact) -> bool:
    """x @ (y @ z) has fewer multiplications than (x @ y) @ z, for symbols that are 1, or that are 128.

    What constants are multiplied costs nothing; whether that is wanted is for `matmul.constant_products`.
    """
    if (
        x.shape is None
        or y.shape is None
        or z.shape is None
        or (x.const and y.const)
        or (y.const and z.const)
    ):
        return False
    for size in (1, 128):
        first, inner = _product(x.shape, y.shape, size), _product(y.shape, z.shape, size)
        if first is None or inner is None:
            return False
        second, outer = _product(first[1], z.shape, size), _product(x.shape, inner[1], size)
        if second is not None and outer is not None and inner[0] + outer[0] < first[0] + second[0]:
            return True
    return False


@hosted(default=False)
def multiplies_less_from_left(x: Fact, y: Fact, z: Fact) -> bool:
    """(x @ y) @ z has fewer multiplications than x @ (y @ z): the same of the transposed ones."""
    facts = [Fact(t.dtype, t.shape and (*t.shape[:-2], t.shape[-1], t.shape[-2]), t.const) for t in (z, y, x)]
    return multiplies_less(*facts)


def _matrix_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    tall, wide, thin = g.input((9, 8)), g.input((8, 9)), g.input((9, 2))
    yield g.fires(matmul(matmul(tall, wide), thin))
    yield g.fires(matmul(g.input((2, 9)), matmul(tall, wide)))
    yield g.near_miss(matmul(tall, matmul(wide, thin)), why="it multiplies less already")
    g = Operands(rng)
    q, k, v = g.input((2, "L", 8)), g.input((2, 8, "L")), g.input((2, "L", 8))
    yield g.fires(matmul(matmul(q, k), v))
    yield g.fires(matmul(matmul(g.input((3, 9, 8)), g.input((8, 9))), g.input((2, 1, 9, 2))))
    yield g.near_miss(matmul(matmul(g.input((9,)), g.input((9, 8))), g.input((8, 9))), why="a vector")
    yield g.near_miss(
        matmul(matmul(tall, g.random(8, 9)), g.random(9, 2)), why="constants are for another law"
    )


@law("associativity", numerics="reassociates", examples=_matrix_examples)
def associate_products(x: Tensor, y: Tensor, z: Tensor) -> Iterator[Any]:
    """(A @ B) @ C = A @ (B @ C), where the other order multiplies less

    Source: TASO, associativity of MatMul.
    """
    left, right = matmul(matmul(x, y), z), matmul(x, matmul(y, z))
    known = (fact(x), fact(y), fact(z))
    yield rewrite(left, right, holds(are_matrices, *known), guard(holds(multiplies_less, *known)))
    yield rewrite(right, left, holds(are_matrices, *known), guard(holds(multiplies_less_from_left, *known)))


# --- transposed products --------------------------------------------------------------------------------


@hosted()
def swap_in(x: Fact, rank: int) -> tuple[int, ...] | None:
    """The swap of an operand's last two axes; None for a vector, or for more axes than the result has."""
    if x.rank is None or not 2 <= x.rank <= rank:
        return None
    return (*range(x.rank - 2), x.rank - 1, x.rank - 2)


@hosted(default=False)
def swaps_last(p: tuple[int, ...]) -> bool:
    rank = len(p)
    return rank >= 2 and p == (*range(rank - 2), rank - 1, rank - 2)


@hosted()
def axes_of(p: tuple[int, ...]) -> int:
    return len(p)


def _transposed_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 2, 3)), g.input((4, 3))
    yield g.fires(transpose(matmul(x, transpose(y, (1, 0))), (0, 2, 1)))
    yield g.fires(transpose(matmul(transpose(x, (0, 2, 1)), g.random(2, 5)), (0, 2, 1)))
    yield g.near_miss(transpose(matmul(x, g.input((3, 4))), (0, 2, 1)), why="neither is a Transpose")
    batch = matmul(x, transpose(g.input((4, 3)), (1, 0)))
    yield g.near_miss(transpose(batch, (1, 0, 2)), why="another permutation")


@law("associativity", numerics="reassociates", examples=_transposed_examples)
def transposed_product(
    x: Tensor, y: Tensor, p: PyObject, q: PyObject, r: PyObject, n: PyObject, inner: Tensor, t: PyObject
) -> Iterator[Any]:
    """(A @ B)^T = B^T @ A^T, where A or B is a Transpose itself

    Source: TASO; algebra.
    """
    left, right = transpose(matmul(x, y), p), matmul(transpose(y, r), transpose(x, q))
    rank = let(n, axes_of, p)
    swaps = (holds(swaps_last, p), *rank, *let(q, swap_in, fact(x), n), *let(r, swap_in, fact(y), n))
    for turned in (x, y):
        yield rewrite(left, right, swaps, guard(eq(turned).to(transpose(inner, t)), holds(swaps_last, t)))
