"""Gemm is MatMul and Add: transposes, factors and biases move in and out of it.

A @ B + C = Gemm(A, B, C)                               matrices; C broadcasts to their product
T(A) @ B = Gemm(A, B) with transA, likewise A @ T(B)
Gemm(T(A), B, C) = Gemm(A, B, C) with transA turned over, likewise B
Gemm(A, B, C) = A @ (alpha * B') + beta * C             B and, unless beta = 1, C are constants
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, eq, holds, i64, let, rewrite
from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import GemmSettings, Literal, binary, gemm, literal, matmul, none, transpose
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact, opset
from egraph_opt.rewrites.conditions.channels import is_absent, is_float_constant, splat

PLAIN = GemmSettings()
TURNED_A, TURNED_B = GemmSettings(trans_a=1), GemmSettings(trans_b=1)


def _are_matrices(a: Fact, b: Fact) -> bool:
    return a.rank == 2 and b.rank == 2 and a.dtype in FLOATS and a.dtype == b.dtype


@hosted(default=False)
def is_gemm(a: Fact, b: Fact, c: Fact, number: int) -> bool:
    """a @ b + c is a Gemm: matrices, and c no bigger than their product (from opset 7 on c broadcasts)."""
    if not _are_matrices(a, b) or (a.const and b.const) or c.shape is None or len(c.shape) > 2 or number < 7:
        return False
    product = (a.shape[0], b.shape[1])[2 - len(c.shape) :]  # type: ignore[index]
    return all(d == 1 or symbolic.known_equal(d, size) for d, size in zip(c.shape, product, strict=True))


def _gemm_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    y = matmul(g.input(("N", 3)), g.random(3, 4))
    for c in (g.random(4), g.random(1, 4), g.random(), g.random(1), g.input(("N", 4)), g.input(("N", 1))):
        yield g.fires(binary("Add", y, c))
        yield g.fires(binary("Add", c, y))
    yield g.near_miss(binary("Add", y, g.random(1, 1, 4)), why="it adds an axis")
    yield g.near_miss(
        binary("Add", matmul(g.input((1, 3)), g.random(3, 4)), g.random(5, 4)), why="it adds rows"
    )
    yield g.near_miss(binary("Add", y, g.input(("M", 4))), why="its rows may be more than the product's")
    yield g.near_miss(binary("Add", matmul(g.input((2, 5, 3)), g.random(3, 4)), g.random(4)), why="a batch")
    n = matmul(g.input((2, 3), INT64), g.constant(np.ones((3, 4), np.int64)))
    yield g.near_miss(binary("Add", n, g.constant(np.array([2], np.int64))), why="integers")


@law("gemm", numerics="reassociates", examples=_gemm_examples)
def product_and_sum(a: Tensor, b: Tensor, c: Tensor, n: i64) -> Iterator[Any]:
    """A @ B + C = Gemm(A, B, C)

    Source: onnxoptimizer fuse_matmul_add_bias_into_gemm.
    """
    condition = (eq(n).to(opset()), holds(is_gemm, fact(a), fact(b), fact(c), n))
    yield rewrite(binary("Add", matmul(a, b), c), gemm(a, b, c, PLAIN), condition)
    yield rewrite(binary("Add", c, matmul(a, b)), gemm(a, b, c, PLAIN), condition)


@hosted(default=False)
def may_transpose(a: Fact, b: Fact, number: int) -> bool:
    """A product of matrices that a Gemm without C computes (there is one from opset 11 on)."""
    return _are_matrices(a, b) and not (a.const and b.const) and number >= 11


def _turned_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input((3, "N")), g.input((4, 3))
    yield g.fires(matmul(transpose(x, (1, 0)), g.random(3, 4)))
    yield g.fires(matmul(g.random(2, 3), transpose(y, (1, 0))))
    yield g.near_miss(matmul(transpose(g.input((3, 2, 5)), (1, 2, 0)), g.random(3, 4)), why="a batch")
    yield g.near_miss(matmul(transpose(y, (0, 1)), g.random(3, 4)), why="it transposes nothing")


@law("gemm", numerics="reassociates", examples=_turned_examples)
def transposed_product(a: Tensor, b: Tensor, n: i64) -> Iterator[Any]:
    """T(A) @ B = Gemm(A, B) with transA, likewise A @ T(B) with transB

    Source: onnxoptimizer fuse_transpose_into_gemm.
    """
    condition = (eq(n).to(opset()), holds(may_transpose, fact(a), fact(b), n))
    yield rewrite(matmul(transpose(a, (1, 0)), b), gemm(a, b, none(), TURNED_A), condition)
    yield rewrite(matmul(a, transpose(b, (1, 0))), gemm(a, b, none(), TURNED_B), condition)


@hosted()
def turned_a(settings: GemmSettings) -> GemmSettings:
    return replace(settings, trans_a=1 - settings.trans_a)


@hosted()
def turned_b(settings: GemmSettings) -> GemmSettings:
    return replace(settings, trans_b=1 - settings.trans_b)


def _transposes_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, c = g.input((3, "N")), g.random(3, 4), g.random(4)
    yield g.fires(gemm(transpose(x, (1, 0)), w, c, GemmSettings(0.5, 2.0)))
    yield g.fires(gemm(g.input((5, 3)), transpose(g.input((4, 3)), (1, 0)), none(), PLAIN))
    yield g.fires(gemm(transpose(g.input(("N", 3)), (1, 0)), w, c, TURNED_A))
    yield g.near_miss(gemm(transpose(x, (0, 1)), w, c, TURNED_A), why="it transposes nothing")
    yield g.near_miss(gemm(x, w, c, TURNED_A), why="nothing is transposed")


@law("gemm", numerics="reassociates", examples=_transposes_examples)
def transposes_into_gemm(a: Tensor, b: Tensor, c: Tensor, s: PyObject, u: PyObject) -> Iterator[Any]:
    """Gemm(T(A), B, C) = Gemm(A, B, C) with transA turned over, likewise B

    Source: onnxoptimizer fuse_transpose_into_gemm.
    """
    yield rewrite(gemm(transpose(a, (1, 0)), b, c, s), gemm(a, b, c, u), let(u, turned_a, s))
    yield rewrite(gemm(a, transpose(b, (1, 0)), c, s), gemm(a, b, c, u), let(u, turned_b, s))


@hosted(default=False)
def is_product(a: Fact, b: Fact, c: Fact, s: GemmSettings, turned: int, scaled: int) -> bool:
    """A Gemm with A as it is and a constant B, turned and scaled as said, whose C costs nothing to scale."""
    if (
        a.const
        or not is_float_constant(b)
        or (s.trans_a, s.trans_b, int(s.alpha != 1)) != (0, turned, scaled)
    ):
        return False
    return c == ABSENT or s.beta == 1 or is_float_constant(c)


@hosted()
def alpha_of(b: Fact, s: GemmSettings) -> Literal:
    return splat(b, (), s.alpha)


@hosted()
def beta_of(c: Fact, s: GemmSettings) -> Literal | None:
    """beta, where it scales a C."""
    return splat(c, (), s.beta) if c != ABSENT and s.beta != 1 else None


@hosted(default=False)
def is_plain_sum(c: Fact, s: GemmSettings) -> bool:
    """C is there and is not scaled."""
    return c != ABSENT and s.beta == 1


def _apart_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, turned, c = g.input(("N", 3)), g.random(3, 4), g.random(4, 3), g.random(4)
    yield g.fires(gemm(x, w, c, PLAIN))
    yield g.fires(gemm(x, w, none(), GemmSettings(alpha=0.5)))
    yield g.fires(gemm(x, turned, c, GemmSettings(2.0, 0.5, 0, 1)))
    yield g.fires(gemm(x, turned, g.input((1, 4)), TURNED_B))
    yield g.near_miss(gemm(x, g.input((3, 4)), c, PLAIN), why="B is no constant")
    yield g.near_miss(gemm(x, w, g.input((4,)), GemmSettings(beta=0.5)), why="C would be scaled at run time")
    yield g.near_miss(gemm(g.input((3, 5)), w, c, TURNED_A), why="A would be transposed")


@law("gemm", numerics="reassociates", examples=_apart_examples)
def gemm_apart(
    a: Tensor, b: Tensor, c: Tensor, s: PyObject, alpha: PyObject, beta: PyObject
) -> Iterator[Any]:
    """Gemm(A, B, C) = A @ (alpha * B') + beta * C

    Source: the definition of Gemm.
    """
    left = gemm(a, b, c, s)
    for turned in (0, 1):
        weight = transpose(b, (1, 0)) if turned else b
        plain = (holds(is_product, fact(a), fact(b), fact(c), s, PyObject(turned), PyObject(0)),)
        scaled = (
            holds(is_product, fact(a), fact(b), fact(c), s, PyObject(turned), PyObject(1)),
            *let(alpha, alpha_of, fact(b), s),
        )
        for product, asked in (
            (matmul(a, weight), plain),
            (matmul(a, binary("Mul", weight, literal(alpha))), scaled),
        ):
            shifted = binary("Add", product, binary("Mul", c, literal(beta)))
            yield rewrite(left, product, asked, holds(is_absent, fact(c)))
            yield rewrite(left, binary("Add", product, c), asked, holds(is_plain_sum, fact(c), s))
            yield rewrite(left, shifted, asked, let(beta, beta_of, fact(c), s))
