"""Scalars beside a Gemm become its factors.

Gemm(A, B, C; alpha, beta) * k -> Gemm(A, B, C; alpha * k, beta * k)
Gemm(A * k, B, C; alpha) -> Gemm(A, B, C; alpha * k)                     likewise B
Gemm(A, B, C * k; beta) -> Gemm(A, B, C; beta * k)
(A @ B) * k -> Gemm(A, B; alpha = k)

None of the operands that k is beside is a constant: into those it is folded (`gemm`, `matmul`).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.facts.numbers import is_finite
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Tensor
from egraph_opt.operators import GemmSettings, gemm, none
from egraph_opt.rewrites.conditions.chains import affine, moves
from egraph_opt.rewrites.conditions.channels import LARGEST, known_elements, static_shape
from egraph_opt.rewrites.conditions.combining import LEFT_ALONE
from egraph_opt.rewrites.linear.gemm import PLAIN, are_gemm_operands

law = laws_of(
    "gemm", numerics="reassociates", kind="fuse", serves="launches", source="ONNX, Gemm", uses=(affine,)
)

FOLDED = "the factor is folded"


def _factor(k: Fact) -> float | None:
    """The one number that k is, beside a matrix or what is broadcast to one; 0 and 1 are left alone."""
    shape = static_shape(k)
    if shape is None or len(shape) > 2 or any(d != 1 for d in shape):
        return None
    number = (known_elements(k) or (None,))[0]
    return None if number is None or not is_finite(number) or number in LEFT_ALONE["Mul"] else number


@hosted()
def scaled(s: GemmSettings, k: Fact, names: tuple[str, ...]) -> GemmSettings | None:
    """Settings of which some factors are k times as large.

    None where float32, in which they are written, has no such number, or it is so large or so small that
    products or sums of what it scales could leave the type.
    """
    number, most = _factor(k), LARGEST.get(k.dtype, 1.0) ** 0.125
    if number is None:
        return None
    factors = {name: float(np.float32(getattr(s, name) * number)) for name in names}
    exact = k.dtype != TensorProto.DOUBLE or all(
        f == getattr(s, name) * number for name, f in factors.items()
    )
    moderate = all(f == 0 or 1 / most <= abs(f) <= most for f in factors.values())
    return replace(s, **factors) if exact and moderate else None  # type: ignore[arg-type]


@hosted()
def keeps_a_factor(a: Fact, b: Fact, c: Fact) -> bool:
    """A factor of the whole cannot be folded into constants: two of the product vary, or what is added."""
    return not (a.const or b.const) or (c != ABSENT and not c.const)


def _whole_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    a, b, c, w, half = g.input((3, 4)), g.input((4, 5)), g.input((5,)), g.random(4, 5), g.constant(0.5)
    for whole in (
        gemm(a, b, c, PLAIN),
        gemm(a, w, c, GemmSettings(alpha=2.0, beta=-1.5)),
        gemm(g.input((4, "N")), b, none(), GemmSettings(trans_a=1)),
    ):
        yield g.fires(whole * half)
    yield g.fires((a @ b) * half)
    yield g.fires((a @ b) * g.constant(np.full((1, 1), -3.0)))
    yield from g.near_misses(
        (gemm(a, b, c, PLAIN) * g.random(5), "a number for each column"),
        (gemm(a, b, c, PLAIN) * g.constant(np.full((1, 1, 1), 0.5)), "it has more axes"),
        (gemm(a, b, c, PLAIN) * g.constant(1e30), "sums would be infinite"),
        (gemm(a, b, c, PLAIN) * g.input(()), "it is not known"),
        (gemm(a, w, g.random(5), PLAIN) * half, "constants are scaled"),
        (g.input((2, 3, 4)) @ g.input((2, 4, 5)) * half, "more than matrices"),
    )


@law(examples=_whole_examples)
def factor_of_gemm(a: Tensor, b: Tensor, c: Tensor, k: Tensor, s: GemmSettings):
    """Gemm(A, B, C; alpha, beta) * k = Gemm(A, B, C; alpha * k, beta * k), (A @ B) * k = Gemm(A, B; k)"""
    whole = gemm(a, b, c, s)
    once = guard(keeps_a_factor(a, b, c)), moves("Mul", whole, k)
    yield rewrite(whole * k, gemm(a, b, c, scaled(s, k, ("alpha", "beta"))), *once, because=FOLDED)
    bare = gemm(a, b, none(), scaled(PLAIN, k, ("alpha",)))
    once = guard(varies(a), varies(b)), moves("Mul", a @ b, k)
    yield rewrite((a @ b) * k, bare, are_gemm_operands(a, b), *once, because=FOLDED)


def _operand_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    a, b, c, half = g.input((3, 4)), g.input((4, 5)), g.input((5,)), g.constant(0.5)
    one = g.constant(np.full((1, 1), 0.5))
    for settings in (PLAIN, GemmSettings(alpha=2.0, beta=3.0)):
        yield from g.all_fire(
            *(gemm(*of, settings) for of in ((a * half, b, c), (a, b * half, c), (a, b, c * half)))
        )
    yield from g.near_misses(
        (gemm(a * g.random(4), b, c, PLAIN), "a number for each column"),
        (gemm(a, b, c * g.constant(np.full((1, 1), 1e30)), PLAIN), "sums would be infinite"),
        (gemm(a, b, c + half, PLAIN), "a sum"),
        (gemm(g.input((4,)) * one, b, c, PLAIN), "a row of one axis"),
        (gemm(g.input((1, 1)), g.input((5,)) * one, c, PLAIN), "a row of one axis"),
    )


@law(examples=_operand_examples)
def factor_of_operand(a: Tensor, b: Tensor, c: Tensor, k: Tensor, s: GemmSettings):
    """Gemm(A * k, B, C; alpha) = Gemm(A, B, C; alpha * k), likewise B, and C with beta"""
    made, both = gemm(a, b, c, scaled(s, k, ("alpha",))), guard(varies(a), varies(b))
    for product, of in ((gemm(a * k, b, c, s), a), (gemm(a, b * k, c, s), b)):
        yield rewrite(product, made, both, are_gemm_operands(a, b), moves("Mul", of, k), because=FOLDED)
    of_sum = gemm(a, b, c, scaled(s, k, ("beta",)))
    yield rewrite(gemm(a, b, c * k, s), of_sum, guard(varies(c)), moves("Mul", c, k), because=FOLDED)
