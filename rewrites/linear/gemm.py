"""Gemm is MatMul and Add: transposes, factors and biases move in and out of it.

A @ B + C = Gemm(A, B, C)                           matrices; C broadcasts to their product
T(A) @ B = Gemm(A, B) with transA                   likewise A @ T(B)
Gemm(T(A), B, C) = Gemm(A, B, C) with transA turned over, likewise B; constants are turned, and not back
Gemm(A, B, C) -> Gemm(A, alpha * B, beta * C) with factors of 1
Gemm(A, B) = A @ B
Squeeze(x @ B + c) -> Gemm(Squeeze(x), B, c)        of which a matrix is left
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import is_constant, number_like, varies
from egraph_opt.laws.sorts import Dims, Float, Int, Tensor
from egraph_opt.operators import GemmSettings, gemm, none, reshape, transpose
from egraph_opt.rewrites.conditions.chains import standing, stands, weighing, weighs
from egraph_opt.rewrites.conditions.channels import in_range
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import broadcasts_into
from egraph_opt.rewrites.conditions.view_shapes import same_dims

PLAIN = GemmSettings()
TURNED_A, TURNED_B = GemmSettings(trans_a=1), GemmSettings(trans_b=1)


@hosted()
def are_gemm_operands(a: Fact, b: Fact) -> bool:
    """Floats with two axes; the product of two constants is folded."""
    return a.rank == b.rank == 2 and a.dtype == b.dtype and a.dtype in FLOATS and not (a.const and b.const)


@hosted()
def is_gemm_bias(c: Fact, a: Fact, b: Fact) -> bool:
    """c is there, and no bigger than the product of two matrices."""
    return bool(a.shape and b.shape) and broadcasts_into(c.shape, (a.shape[0], b.shape[-1]))  # type: ignore[index]


@law(
    "gemm",
    numerics="reassociates",
    kind="fuse",
    source="onnxoptimizer fuse_matmul_add_bias_into_gemm",
    uses=(either_side, standing, weighing),
)
def product_and_sum(a: Tensor, b: Tensor, c: Tensor, i: Int):
    """A @ B + C = Gemm(A, B, C)"""
    whole, sound = gemm(a, b, c, PLAIN), (are_gemm_operands(a, b), is_gemm_bias(c, a, b))
    once = guard(weighs(a, b), stands("Add", a @ b, c))  # n weights and m shifts would be n * m Gemms
    yield rewrite(beside("Add", a @ b, c, i), whole, *sound, once, inverse="product_and_sum")
    yield rewrite(whole, a @ b + c, *sound, inverse="product_and_sum")


@law("gemm", numerics="reassociates", kind="fuse", source="onnxoptimizer fuse_transpose_into_gemm")
def transposed_product(a: Tensor, b: Tensor):
    """T(A) @ B = Gemm(A, B) with transA, likewise A @ T(B) with transB"""
    sound, back = are_gemm_operands(a, b), "transposed_product"
    of_a, of_b = gemm(a, b, none(), TURNED_A), gemm(a, b, none(), TURNED_B)
    for product, whole, turned in ((transpose(a, (1, 0)) @ b, of_a, a), (a @ transpose(b, (1, 0)), of_b, b)):
        yield rewrite(product, whole, sound, guard(varies(turned)), inverse=back)
        yield rewrite(whole, product, sound, inverse=back)


@hosted()
def turned_a(s: GemmSettings) -> GemmSettings:
    """Any number but 0 says that A is transposed."""
    return replace(s, trans_a=int(not s.trans_a))


@hosted()
def turned_b(s: GemmSettings) -> GemmSettings:
    return replace(s, trans_b=int(not s.trans_b))


@hosted()
def plain_a(s: GemmSettings) -> GemmSettings | None:
    """A is not transposed any more."""
    return replace(s, trans_a=0) if s.trans_a else None


@hosted()
def plain_b(s: GemmSettings) -> GemmSettings | None:
    return replace(s, trans_b=0) if s.trans_b else None


def _flag_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    a, b, flags = g.input((4, "N")), g.input((3, "N")), GemmSettings(trans_a=2, trans_b=-1)
    yield g.fires(gemm(transpose(a, (1, 0)), transpose(b, (1, 0)), none(), flags))


@law(
    "gemm",
    numerics="reassociates",
    kind="fuse",
    source="onnxoptimizer fuse_transpose_into_gemm",
    examples=_flag_examples,
)
def transposes_into_gemm(a: Tensor, b: Tensor, c: Tensor, s: GemmSettings):
    """Gemm(T(A), B, C) = Gemm(A, B, C) with transA turned over, likewise B; constants are turned"""
    whole, t = gemm(a, b, c, s), (1, 0)
    # Of a constant and its transpose, both of which cost nothing, one is enough.
    into_a, into_b = guard(varies(a)), guard(varies(b))
    without_a, without_b = gemm(a, b, c, turned_a(s)), gemm(a, b, c, turned_b(s))
    yield rewrite(gemm(transpose(a, t), b, c, s), without_a, into_a, inverse="transposes_into_gemm")
    yield rewrite(gemm(a, transpose(b, t), c, s), without_b, into_b, inverse="transposes_into_gemm")
    of_a, of_b = gemm(transpose(a, t), b, c, plain_a(s)), gemm(a, transpose(b, t), c, plain_b(s))
    yield rewrite(whole, of_a, guard(is_constant(a)), inverse="transposes_into_gemm")
    yield rewrite(whole, of_b, guard(is_constant(b)), inverse="transposes_into_gemm")


@hosted()
def scaling(s: GemmSettings, name: str) -> Float | None:
    """alpha or beta, where it scales."""
    factor: float = getattr(s, name)
    return factor if factor != 1 else None


@hosted()
def without(s: GemmSettings, name: str) -> GemmSettings:
    return replace(s, **{name: 1.0})  # type: ignore[arg-type]


def _scaled_constants(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w = g.input((8, 1), TensorProto.FLOAT16), g.constant(np.full((1, 2), -6e4, np.float16))
    c, settings = g.constant(np.full(2, 300, np.float16)), replace(PLAIN, beta=300.0)
    yield g.near_miss(gemm(x, w, c, settings), why="the scaled constant overflows")


@law(
    "gemm",
    numerics="reassociates",
    kind="split",
    serves="arithmetic",
    source="the definition of Gemm",
    examples=_scaled_constants,
)
def gemm_apart(a: Tensor, b: Tensor, c: Tensor, s: GemmSettings):
    """Gemm(A, B, C) = Gemm(A, alpha * B, beta * C) with factors of 1, and Gemm(A, B) = A @ B"""
    whole, sound = gemm(a, b, c, s), are_gemm_operands(a, b)
    alpha, beta = scaling(s, "alpha"), scaling(s, "beta")
    scaled_b = gemm(a, b * number_like(b, alpha), c, without(s, "alpha"))
    scaled_c = gemm(a, b, c * number_like(c, beta), without(s, "beta"))
    yield rewrite(whole, scaled_b, sound, in_range(b, alpha), guard(is_constant(b)), because="forgets alpha")
    yield rewrite(whole, scaled_c, sound, in_range(c, beta), guard(is_constant(c)), because="forgets beta")
    yield rewrite(gemm(a, b, none(), PLAIN), a @ b, sound, because="every product would be a Gemm as well")


# --- more than matrices ---------------------------------------------------------------------------------


@hosted()
def as_matrix(x: Fact, w: Fact, c: Fact, dims: Dims) -> Dims | None:
    """The dims of x as a matrix, where a view of x @ w + c is one and drops axes of 1 only; c is a row."""
    if not x.is_symbolic or x.shape is None or len(x.shape) < 3 or w.rank != 2 or len(dims) != 2:
        return None
    rows = tuple(d for d in x.shape[:-1] if d != 1) or (1,)
    if x.dtype not in FLOATS or len(rows) > 1 or c.rank is None or c.rank > 1 or w.shape is None:
        return None
    seen, product = (rows[0], x.shape[-1]), (rows[0], w.shape[-1])
    return seen if same_dims(product, dims) and broadcasts_into(c.shape, product) else None


def _squeezed(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b, one = g.input(("N", 1, 5)), g.random(5, 3), g.random(3), g.input((1, 1, 1, 5))
    yield g.fires(reshape(x @ w + b, ("N", 3)))
    yield g.fires(reshape(g.input(("N",)) + g.input((1, "L", 1, 5)) @ g.input((5, "N")), ("L", "N")))
    yield g.fires(reshape(one @ w + b, (1, 3)))
    yield from g.near_misses(
        (reshape(g.input((2, 2, 5)) @ w + b, (4, 3)), "rows are joined"),
        (reshape(x @ w + b, (3, "N")), "another view"),
        (reshape(x @ g.input((1, 5, 3)) + b, ("N", 3)), "a stack of matrices"),
        (reshape(one @ w + b, (3,)), "a vector is left"),
        (reshape(g.input((1, 1, 5)) @ w + g.input((4, 1)), (4, 3)), "the shift has rows"),
    )


@law(
    "gemm",
    numerics="reassociates",
    kind="fuse",
    serves="launches",
    source="heads that read one token, arXiv 2010.11929",
    uses=(either_side, standing, weighing),
    examples=_squeezed,
)
def squeezed_sum(x: Tensor, w: Tensor, c: Tensor, d: Dims, i: Int):
    """Squeeze(x @ B + c) = Gemm(Squeeze(x), B, c) where a matrix is left"""
    whole = reshape(beside("Add", x @ w, c, i), d)
    once = guard(varies(x), weighs(x, w), stands("Add", x @ w, c))
    yield rewrite(whole, gemm(reshape(x, as_matrix(x, w, c, d)), w, c, PLAIN), *once, because="forgets d")
