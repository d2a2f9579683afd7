"""Our laws of Gemm, Einsum and Attention with a condition that was forgotten."""

from dataclasses import replace

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Equation, Float, Tensor, hosted, listed, rewrite
from egraph_opt.operators import GemmSettings, attention, einsum, gemm, none, reduce, transpose
from egraph_opt.rewrites.conditions.values import fits

from . import fires_on, of_one, of_two, wrong
from .forgotten_products import SQUARE

TURN = (1, 0)


def heads(g):
    return g.input((1, 2, 4, 3))


@wrong(
    "reassociates",
    lambda g: gemm(g.input(SQUARE), g.input(SQUARE), g.input((3,)), GemmSettings(2.0, 0.5)),
    examples=fires_on(lambda g: gemm(g.input(SQUARE), g.input(SQUARE), g.input((3,)), GemmSettings())),
)
def gemm_spelled_out(a: Tensor, b: Tensor, c: Tensor, s: GemmSettings):
    """Gemm(A, B, C) = A @ B + C

    Wrong with factors, and with transposes.
    """
    yield rewrite(gemm(a, b, c, s), a @ b + c, because="sums meet sums")


@wrong("reassociates", lambda g: gemm(g.input(SQUARE), g.input(SQUARE), none(), GemmSettings(trans_b=1)))
def gemm_without_bias(a: Tensor, b: Tensor, s: GemmSettings):
    """Gemm(A, B) = A @ B where alpha is 1

    Wrong with transposes.
    """
    yield rewrite(gemm(a, b, none(), s), a @ b, has_no_factor(s), because="products meet products")


@hosted()
def has_no_factor(s: GemmSettings) -> bool:
    return s.alpha == 1


@hosted()
def transposing(s: GemmSettings) -> GemmSettings:
    return replace(s, trans_a=1)


@wrong(
    "reassociates",
    lambda g: gemm(transpose(g.input(SQUARE), TURN), g.input(SQUARE), none(), GemmSettings(trans_a=1)),
)
def transpose_into_gemm(a: Tensor, b: Tensor, c: Tensor, s: GemmSettings):
    """Gemm(A', B, C) = Gemm(A, B, C) with transA

    Wrong where it is transposed already.
    """
    yield rewrite(gemm(transpose(a, TURN), b, c, s), gemm(a, b, c, transposing(s)), because="no transpose")


@hosted()
def with_beta(s: GemmSettings, c: Fact) -> GemmSettings | None:
    return replace(s, beta=float(c.splat)) if c.splat is not None and c.shape == () else None


@wrong(
    "reassociates",
    lambda g: gemm(g.input(SQUARE), g.input(SQUARE), g.input((3,)) * g.constant(3.0), GemmSettings(beta=0.5)),
)
def factor_of_bias(a: Tensor, b: Tensor, c: Tensor, k: Tensor, s: GemmSettings):
    """Gemm(A, B, C * k) = Gemm(A, B, C) with k for beta

    Wrong where there is a beta already.
    """
    yield rewrite(gemm(a, b, c * k, s), gemm(a, b, c, with_beta(s, k)), because="one product less")


@hosted()
def times(s: GemmSettings, k: Fact) -> GemmSettings | None:
    return replace(s, alpha=s.alpha * float(k.splat)) if k.splat is not None and k.shape == () else None


@wrong(
    "reassociates",
    lambda g: gemm(g.input(SQUARE), g.input(SQUARE), g.input((3,)), GemmSettings()) * g.constant(3.0),
)
def factor_behind_gemm(a: Tensor, b: Tensor, c: Tensor, k: Tensor, s: GemmSettings):
    """Gemm(A, B, C) * k = Gemm(A, B, C) with alpha * k

    Wrong: beta is multiplied as well.
    """
    yield rewrite(gemm(a, b, c, s) * k, gemm(a, b, c, times(s, k)), because="one product less")


@wrong("reassociates", lambda g: g.input(SQUARE) @ g.input(SQUARE) + g.input((2, 3, 3)))
def sum_into_gemm(a: Tensor, b: Tensor, c: Tensor):
    """A @ B + C = Gemm(A, B, C) for matrices A and B

    Wrong where C is bigger than the product.
    """
    yield rewrite(a @ b + c, gemm(a, b, c, GemmSettings()), are_matrices(a, b), because="one kernel")


@hosted()
def are_matrices(a: Fact, b: Fact) -> bool:
    return a.rank == b.rank == 2 and a.dtype == b.dtype


@wrong("reassociates", lambda g: g.input((2, 3, 3)) @ g.input(SQUARE) + g.input((3,)))
def stack_into_gemm(a: Tensor, b: Tensor, c: Tensor):
    """A @ B + C = Gemm(A, B, C) for a vector C

    Wrong for stacks of matrices, which Gemm does not take.
    """
    yield rewrite(a @ b + c, gemm(a, b, c, GemmSettings()), is_vector(c), because="one kernel")


@hosted()
def is_vector(c: Fact) -> bool:
    return c.rank == 1


@wrong("reassociates", of_two(lambda x, y: einsum("ij,jk->ki", listed(x, y)), SQUARE))
def einsum_of_two(x: Tensor, y: Tensor, e: Equation):
    """Einsum(ij,jk->..)(x, y) = x @ y

    Wrong where the result is transposed.
    """
    yield rewrite(einsum(e, listed(x, y)), x @ y, multiplies(e), because="MatMul has a kernel")


@hosted()
def multiplies(e: Equation) -> bool:
    return e.split("->")[0] == "ij,jk" and sorted(e.split("->")[1]) == ["i", "k"]


@wrong("reassociates", of_one(lambda x: einsum("ij->j", listed(x)), SQUARE))
def einsum_of_one(x: Tensor):
    """Einsum(ij->j)(x) = ReduceSum(x) along the last axis

    Wrong: it is along the first.
    """
    yield rewrite(einsum("ij->j", listed(x)), reduce("ReduceSum", x, (1,), 0), because="a sum is cheaper")


@wrong("reassociates", lambda g: attention(heads(g) * g.constant(2.0), heads(g), heads(g), 0.5, 0), opset=23)
def scale_of_query(q: Tensor, k: Tensor, v: Tensor, c: Tensor, s: Float):
    """Attention(q * c, k, v; s) = Attention(q, k, v; c) for a number c

    Wrong with a scale of its own.
    """
    whole = attention(q, k, v, number_of(c), 0)
    yield rewrite(attention(q * c, k, v, s, 0), whole, because="the kernel scales")


@hosted()
def number_of(c: Fact) -> Float | None:
    return float(c.splat) if c.splat is not None and c.shape == () else None


@wrong("reassociates", lambda g: attention(heads(g), heads(g), heads(g) + heads(g), 0.5, 0), opset=23)
def shift_of_values(q: Tensor, k: Tensor, v: Tensor, c: Tensor, s: Float):
    """Attention(q, k, v + c) = Attention(q, k, v) + c, since weights sum up to 1

    Wrong where c varies from key to key.
    """
    yield rewrite(
        attention(q, k, v + c, s, 0), attention(q, k, v, s, 0) + c, fits(c, v), because="sums move on"
    )
