"""Order: of the operands of sums and products, and in which products of matrices are computed.

x op y = y op x                         where y op x is written, too
(x op y) op z = x op (y op z)           where two of the three are joined already
(x op y) op z -> x op (y op z)          where y op z has fewer elements than x
(A @ B) @ C = A @ (B @ C)               where the other order multiplies less
(A @ B)^T = B^T @ A^T                   from the left where A or B is a Transpose itself

op is Add, Mul, And, Or, BitwiseOr or BitwiseXor.  `constants` and `matmul` have the laws that bring constants
together.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Int, Permutation, String, Tensor
from egraph_opt.operators import binary, transpose
from egraph_opt.rewrites.conditions.channels import product_fits
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import all_vary, broadcasts_into
from egraph_opt.rewrites.conditions.view_shapes import broadcast
from egraph_opt.rewrites.elementwise.identities import COMMUTATIVE

law = laws_of("associativity", numerics="reassociates", kind="merge")

# --- element by element ---------------------------------------------------------------------------------


@hosted()
def commutes(op: str) -> bool:
    """op commutes; all that do are associative, but for rounding."""
    return op in COMMUTATIVE


@hosted()
def commute_alike(op: str, other: str) -> bool:
    """They are one that commutes: compared, not joined, since all sums of a network share a name."""
    return op == other and commutes(op)


@law(numerics="bitwise", source="TASO, commutativity of Add and Mul")
def commute(op: String, x: Tensor, y: Tensor, other: Tensor):
    """x op y = y op x, where y op x is written as well"""
    swapped = binary(op, y, x)
    demand = guard(eq(other, swapped), all_vary(x, y))
    yield rewrite(binary(op, x, y), swapped, commutes(op), demand, inverse="commute")


def _associated_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op in ("Add", "Mul"):
        g = Operands(rng)
        x, y, z, c = g.input(("N", 3, 4)), g.input((3, 1)), g.input((4,)), g.random(4)

        def of(a: Tensor, b: Tensor, op: str = op) -> Tensor:
            return binary(op, a, b)  # type: ignore[no-any-return]

        chain = of(of(x, y), z)
        yield from (g.fires(chain - pair) for pair in (of(y, z), of(z, x)))
        yield g.fires(of(x, of(y, z)) - of(y, x))
        yield g.near_miss(chain - (y - z), why="no two are joined elsewhere")
        yield g.near_miss(of(of(x, y), c) - of(y, c), why="constants have laws of their own")
    yield g.near_miss((x + y) * z + y * z, why="two operators")
    large, also = (g.constant(number) for number in (3.2e19, 3.1e19))
    for pair in (large * also, also * large):
        yield g.near_miss(((x * large) * also, pair), why="the product of both constants is infinite")


@law(
    serves="arithmetic",
    source="TASO, associativity of Add and Mul",
    examples=_associated_examples,
    uses=(either_side,),
)
def associate(
    op: String, x: Tensor, y: Tensor, z: Tensor, inner: String, near: String, other: Tensor, i: Int, k: Int
):
    """(x op y) op z = x op (y op z), where y op z is written as well, in any order of x, y and z"""
    chain = beside(op, beside(inner, x, y, i), z, k)
    for a, b in ((y, z), (z, y)):
        written = guard(eq(other, binary(near, a, b)), commute_alike(op, near))
        vary = all_vary(x, y, z, chain)  # the product of two constants may be infinite
        right = binary(op, x, binary(op, a, b))
        yield rewrite(chain, right, commute_alike(op, inner), vary, written, inverse="associate")


@hosted()
def is_less(y: Fact, z: Fact, x: Fact) -> bool:
    """What y and z are together has fewer elements than x, against which it is broadcast."""
    if y.shape is None or z.shape is None or x.shape is None:
        return False
    both = broadcast(y.shape, z.shape)
    if both is None or None in both or not broadcasts_into(both, x.shape):
        return False
    full = (1,) * (len(x.shape) - len(both)) + tuple(both)
    return any(a == 1 != b for a, b in zip(full, x.shape, strict=True))


def _smaller_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op in ("Add", "Mul"):
        g = Operands(rng)
        x, y, z, full = (g.input(dims) for dims in (("N", 3, 4), (3, 1), (3, 1), (1, 3, 4)))

        def of(a: Tensor, b: Tensor, op: str = op) -> Tensor:
            return binary(op, a, b)  # type: ignore[no-any-return]

        yield from g.all_fire(of(of(x, y), z), of(z, of(y, x)), of(of(x, y), g.input((4,))))
        yield from g.near_misses(
            (of(of(x, y), g.random(4)), "constants have laws of their own"),
            (of(of(g.input((1, 3, 4)), y), full), "one is as large"),
            (of(of(g.input((3, 4)), y), g.input((4,))), "both together are as large"),
            (of(of(y, z), x), "they are together"),
        )
    yield g.near_miss((x + y) * z, why="two operators")
    yield g.near_miss((x - y) - z, why="differences")
    large, also = (g.constant(number) for number in (3.2e19, 3.1e19))
    yield g.near_miss((x * large) * also, why="the product of both constants is infinite")


@law(
    serves="arithmetic",
    source="NeRF, arXiv 2003.08934: features of rays and of the scene beside those of points",
    examples=_smaller_examples,
    uses=(either_side,),
)
def smaller_first(op: String, x: Tensor, y: Tensor, z: Tensor, inner: String, i: Int, k: Int):
    """(x op y) op z = x op (y op z), where y op z has fewer elements than x, in any order of x, y and z"""
    chain = beside(op, beside(inner, x, y, i), z, k)
    known = (commute_alike(op, inner), all_vary(x, y, z, chain), guard(is_less(y, z, x)))
    yield rewrite(chain, binary(op, x, binary(op, y, z)), *known, because="x would be gone through twice")


# --- products of matrices -------------------------------------------------------------------------------


@hosted()
def are_matrices(x: Fact, y: Fact, z: Fact) -> bool:
    """Floats with two axes at least: no product of two is a vector, and none of constants overflows."""
    return (
        x.dtype in FLOATS
        and all((t.rank or 0) >= 2 for t in (x, y, z))
        and all(product_fits(*pair) for pair in ((x, y), (y, z)))
    )


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


@hosted()
def multiplies_less(x: Fact, y: Fact, z: Fact) -> bool:
    """x @ (y @ z) has fewer multiplications than (x @ y) @ z, for symbols that are 1, or that are 128.

    What constants are multiplied costs nothing; whether that pays is for `matmul.constant_products`.
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


@hosted()
def multiplies_less_from_left(x: Fact, y: Fact, z: Fact) -> bool:
    """(x @ y) @ z has fewer multiplications than x @ (y @ z): the same of the transposed ones."""
    facts = [Fact(t.dtype, t.shape and (*t.shape[:-2], t.shape[-1], t.shape[-2]), t.const) for t in (z, y, x)]
    return bool(multiplies_less(*facts))


def _vector_between(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, v, y = g.input((3, 3)), g.input((3,)), g.input((3, 3))
    for product in ((x @ v) @ y, x @ (v @ y)):
        yield g.near_miss(product, why="the vector is a column for one and a row for the other")


@law(kind="move", serves="arithmetic", source="TASO, associativity of MatMul", examples=_vector_between)
def associate_products(x: Tensor, y: Tensor, z: Tensor):
    """(A @ B) @ C = A @ (B @ C), where the other order multiplies less"""
    left, right, sound = (x @ y) @ z, x @ (y @ z), are_matrices(x, y, z)
    yield rewrite(left, right, sound, guard(multiplies_less(x, y, z)), inverse="associate_products")
    yield rewrite(right, left, sound, guard(multiplies_less_from_left(x, y, z)), inverse="associate_products")


# --- transposed products --------------------------------------------------------------------------------


def _swap(rank: int) -> Permutation:
    return (*range(rank - 2), rank - 1, rank - 2)


@hosted()
def swap_of(*factors: Fact) -> Permutation | None:
    """The swap of the last two axes of a product, or of one matrix; None where there is a vector."""
    ranks = [x.rank or 0 for x in factors]
    return _swap(max(ranks)) if min(ranks) >= 2 else None


@hosted()
def swaps_last(p: Permutation) -> bool:
    return len(p) >= 2 and p == _swap(len(p))


@law(kind="move", serves="traffic", source="TASO; algebra")
def transposed_product(x: Tensor, y: Tensor, inner: Tensor, t: Permutation):
    """(A @ B)^T = B^T @ A^T, from the left where A or B is a Transpose itself"""
    left, right = transpose(x @ y, swap_of(x, y)), transpose(y, swap_of(y)) @ transpose(x, swap_of(x))
    for turned in (x, y):
        demand = guard(eq(turned, transpose(inner, t)), swaps_last(t))
        yield rewrite(left, right, demand, inverse="transposed_product")
    yield rewrite(right, left, inverse="transposed_product")
