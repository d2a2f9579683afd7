"""BatchNormalization as a scale and a shift per channel, so that whatever takes in those takes it in too.

BatchNormalization(x; s, b, m, v) = x * k + (b - m * k) with k = s / sqrt(v + epsilon)
x * k + c = BatchNormalization(x; k, c, 0, 1)
BatchNormalization(x; s, b, m, v) * c = BatchNormalization(x; s * c, b * c, m, v)
BatchNormalization(x; s, b, m, v) + c = BatchNormalization(x; s, b + c, m, v)
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.compat import PyObject, eq, i64, let, rewrite
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import Literal, batchnorm, binary, literal, reshape, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact, node, opset
from egraph_opt.rewrites.conditions.channels import (
    at_axis,
    count_along,
    is_finite_constant,
    is_float_constant,
    is_scale,
    is_shift,
    per_channel,
    splat,
)


@hosted()
def channel_dims(
    x: Fact, scale: Fact, bias: Fact, mean: Fact, var: Fact, epsilon: float
) -> tuple[int, ...] | None:
    """The dims [1, C, 1, ...] of constants per channel, if the parameters are constants [C] of x's type."""
    parameters = (scale, bias, mean, var)
    if x.const or x.rank is None or x.rank < 2 or not all(is_float_constant(p) for p in parameters):
        return None
    if any(p.dtype != x.dtype or p.shape != scale.shape for p in parameters) or scale.rank != 1:
        return None
    if var.splat == 1 and mean.splat == 0 and epsilon == 0:
        return None  # it is scale and shift already
    return at_axis(scale.shape[0], x.rank, 1)  # type: ignore[index,arg-type]


@hosted()
def epsilon_literal(var: Fact, epsilon: float) -> Literal:
    return splat(var, (1,), epsilon)


def _parameters(g: Operands, channels: int) -> tuple[Any, ...]:
    variance = g.constant(g.rng.uniform(0.5, 2, channels).astype(np.float32))
    return g.random(channels), g.random(channels), g.random(channels), variance


def _expansion_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape in ((4, 3), ("N", 3, 5), (2, 3, 4, "L"), (1, 3, 2, 3, 2)):
        g = Operands(rng)
        yield g.fires(batchnorm(g.input(shape), *_parameters(g, 3), 1e-3))
    g = Operands(rng)
    x = g.input((2, 3, 4, 4))
    yield g.fires(batchnorm(x, *_parameters(g, 3)[:3], g.constant(np.full(3, 0.25, np.float32)), 0.0))
    yield g.near_miss(
        batchnorm(x, g.input((3,)), *_parameters(g, 3)[1:], 1e-3), why="the scale is no constant"
    )
    zero, one = g.constant(np.zeros(3, np.float32)), g.constant(np.ones(3, np.float32))
    yield g.near_miss(batchnorm(x, g.random(3), g.random(3), zero, one, 0.0), why="it only scales and shifts")


@law("batchnorm", numerics="reassociates", examples=_expansion_examples)
def expand_batchnorm(
    x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, eps: PyObject, d: PyObject, e: PyObject
) -> Iterator[Any]:
    """BatchNormalization(x; s, b, m, v) = x * k + (b - m * k) with k = s / sqrt(v + epsilon)

    Source: Ascend auto-optimizer, BNFolding; onnxoptimizer fuse_bn_into_conv.
    """
    k = binary("Div", s, unary("Sqrt", (), binary("Add", v, literal(e))))
    c = binary("Sub", b, binary("Mul", m, k))
    yield rewrite(
        batchnorm(x, s, b, m, v, eps),
        binary("Add", binary("Mul", x, reshape(k, d)), reshape(c, d)),
        let(d, channel_dims, fact(x), fact(s), fact(b), fact(m), fact(v), eps),
        let(e, epsilon_literal, fact(v), eps),
    )


@hosted()
def channel_literal(x: Fact, k: Fact, c: Fact, number: int, value: float) -> Literal | None:
    """`value` per channel, where k scales and c shifts the channels of x, at least one of them by channel.

    Only float32 and float64: onnxruntime has no other kernels.
    """
    if not is_scale(k) or not is_shift(c) or number < 9 or x.const or (x.rank or 0) < 3:
        return None
    assert x.shape is not None
    channels = x.shape[1]
    if (
        not isinstance(channels, int)
        or x.dtype not in (TensorProto.FLOAT, TensorProto.DOUBLE)
        or channels < 2
    ):
        return None
    counts = [count_along(operand, len(x.shape), 1, channels) for operand in (k, c)]
    return splat(x, (channels,), value) if None not in counts and channels in counts else None


@hosted()
def vector_dims(c: Fact) -> tuple[int]:
    """The dims of a per-channel constant without the axes that are 1."""
    return (max((d for d in c.shape or () if isinstance(d, int)), default=1),)


def _contraction_examples(rng: np.random.Generator) -> Iterator[Example]:
    def affine(x: Any, k: Any, c: Any) -> Any:
        return binary("Add", binary("Mul", x, k), c)

    g = Operands(rng)
    x = g.input(("N", 3, 4, "L"))
    yield g.fires(affine(x, g.random(1, 3, 1, 1), g.random(3, 1, 1)))
    yield g.fires(affine(x, g.constant(np.float32(2)), g.random(3, 1, 1)))
    yield g.fires(affine(x, g.random(3, 1, 1), g.random(1)))
    yield g.near_miss(affine(x, g.random(1), g.random(1)), why="nothing is per channel")
    yield g.near_miss(affine(x, g.random(1, 3, 1, 1), g.random(4, 1)), why="the shift varies along an image")
    yield g.near_miss(affine(x, g.input((1, 3, 1, 1)), g.random(3, 1, 1)), why="the scale is no constant")
    yield g.near_miss(
        affine(g.input((2, 1, 4)), g.random(3, 1), g.random(3, 1)), why="the scale makes x bigger"
    )
    yield g.near_miss(affine(g.input((2, 3)), g.random(3), g.random(3)), why="rank 2")


@law("batchnorm", numerics="reassociates", examples=_contraction_examples)
def contract_affine(
    x: Tensor, k: Tensor, c: Tensor, n: i64, i: i64,
    zero: PyObject, one: PyObject, kd: PyObject, cd: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """x * k + c = BatchNormalization(x; k, c, 0, 1), where the model itself has x * k

    Source: algebra; one node in the place of two.
    """
    question = (fact(x), fact(k), fact(c), n)
    weight = binary("Mul", literal(one), reshape(k, kd))
    bias = binary("Add", literal(zero), reshape(c, cd))
    yield rewrite(
        binary("Add", binary("Mul", x, k), c),
        batchnorm(x, weight, bias, literal(zero), literal(one), 0.0),
        eq(n).to(opset()),
        eq(node(i)).to(binary("Mul", x, k)),
        let(zero, channel_literal, *question, PyObject(0.0)),
        let(one, channel_literal, *question, PyObject(1.0)),
        let(kd, vector_dims, fact(k)),
        let(cd, vector_dims, fact(c)),
    )


@hosted()
def count_behind(kind: str, x: Fact, s: Fact, b: Fact, c: Fact) -> tuple[int] | None:
    """The dims in which c, behind a BatchNormalization with constant scale and bias, joins them."""
    wanted = is_scale(c) if kind == "scale" else is_shift(c)
    if not wanted or x.rank is None or x.rank < 2 or not is_float_constant(s) or not is_finite_constant(b):
        return None
    count = count_along(c, x.rank, 1, s.shape[0]) if s.rank == 1 else None  # type: ignore[index,arg-type]
    return None if count is None else (count,)


def _behind_examples(op: str) -> Any:
    def examples(rng: np.random.Generator) -> Iterator[Example]:
        for shape in (("N", 3), ("N", 3, "L"), (2, 3, 4, 5)):
            g = Operands(rng)
            y = batchnorm(g.input(shape), *_parameters(g, 3), 1e-3)
            for c in per_channel(g, len(shape), 3):
                yield g.fires(binary(op, y, c))
        yield g.near_miss(binary(op, y, g.random(5)), why="it varies along the last axis")
        yield g.near_miss(binary(op, y, g.input((3, 1, 1))), why="it is no constant")
        yield g.near_miss(binary(op, y, g.constant(np.float32(np.inf))), why="it is infinite")
        yield g.near_miss(binary("Pow", y, g.random(1)), why="another operator")

    return examples


@law("batchnorm", numerics="reassociates", examples=_behind_examples("Mul"))
def scale_after_batchnorm(
    x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, eps: PyObject, c: Tensor, d: PyObject
) -> Iterator[Any]:
    """BatchNormalization(x; s, b, m, v) * c = BatchNormalization(x; s * c, b * c, m, v)

    Source: algebra.
    """
    yield rewrite(
        binary("Mul", batchnorm(x, s, b, m, v, eps), c),
        batchnorm(x, binary("Mul", s, reshape(c, d)), binary("Mul", b, reshape(c, d)), m, v, eps),
        let(d, count_behind, PyObject("scale"), fact(x), fact(s), fact(b), fact(c)),
    )


@law("batchnorm", numerics="reassociates", examples=_behind_examples("Add"))
def shift_after_batchnorm(
    x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, eps: PyObject, c: Tensor, d: PyObject
) -> Iterator[Any]:
    """BatchNormalization(x; s, b, m, v) + c = BatchNormalization(x; s, b + c, m, v)

    Source: algebra.
    """
    yield rewrite(
        binary("Add", batchnorm(x, s, b, m, v, eps), c),
        batchnorm(x, s, binary("Add", b, reshape(c, d)), m, v, eps),
        let(d, count_behind, PyObject("shift"), fact(x), fact(s), fact(b), fact(c)),
    )
