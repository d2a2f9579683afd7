"""Activations that a tensor opens for itself, x * gate(x), found under every spelling.

    c * x * (1 + Erf(x / sqrt 2)) = Gelu(x)                                   c = 1/2
    c * x * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) = Gelu_tanh(x)    c = 1/2
    x * Sigmoid(a * x) = Swish_a(x)
    c * x * Clip_0h(a * x + b) = HardSwish(x)                                 c a = 1/6, c b = 1/2, c h = 1
    x * HardSigmoid(x) = HardSwish(x)                                         with slope 1/6
    x * Tanh(Softplus(x)) = Mish(x)

`gates` keeps the books: associations, orders and how the polynomials are computed do not matter.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, unary
from egraph_opt.operators.activations import CUBE
from egraph_opt.operators.host import hosted
from egraph_opt.rewrites.elementwise.gates import (
    Coefficients,
    Gate,
    bookkeeping,
    close,
    self_gated,
)


@hosted()
def gelu_settings(gate: Gate, p: Coefficients, c: float, x: Fact) -> Any:
    if not close(c, 0.5, x):
        return None
    if gate == ("erf",) and len(p) == 2 and p[0] == 0 and close(p[1], math.sqrt(0.5), x):
        return (("approximate", "none"),)
    inner = math.sqrt(2 / math.pi)
    wanted = (0.0, inner, 0.0, inner * CUBE)
    if gate == ("tanh",) and len(p) == 4 and all(close(a, b, x) for a, b in zip(p, wanted, strict=True)):
        return (("approximate", "tanh"),)
    return None


def _erf_gate(g: Operands, x: Any, root: float = math.sqrt(2)) -> Any:
    return binary("Add", unary("Erf", (), binary("Mul", x, g.constant(1 / root))), g.constant(1.0))


def _tanh_gate(g: Operands, x: Any, cube: Any) -> Any:
    inner = binary("Mul", binary("Add", x, cube), g.constant(math.sqrt(2 / math.pi)))
    return binary("Add", unary("Tanh", (), inner), g.constant(1.0))


def _associations(g: Operands, x: Any, gate: Any, c: float) -> Iterator[Any]:
    """c * x * gate as exporters write it."""
    half = g.constant(c)
    yield binary("Mul", binary("Mul", x, gate), half)
    yield binary("Mul", binary("Mul", gate, x), half)
    yield binary("Mul", binary("Mul", x, half), gate)
    yield binary("Mul", x, binary("Mul", gate, half))


def _gelu_examples(rng: np.random.Generator) -> Iterator[Example]:
    for k in range(4):
        g = Operands(rng)
        x = g.input(("N", 3))
        yield g.fires(list(_associations(g, x, _erf_gate(g, x), 0.5))[k])
        factor = g.constant(CUBE)
        cubes = (
            binary("Mul", binary("Pow", x, g.constant(3.0)), factor),
            binary("Mul", x, binary("Mul", x, binary("Mul", x, factor))),
            binary("Mul", binary("Mul", binary("Mul", x, x), x), factor),
            binary("Mul", binary("Mul", x, x), binary("Mul", x, factor)),
        )
        yield g.fires(list(_associations(g, x, _tanh_gate(g, x, cubes[k]), 0.5))[k])
    g = Operands(rng)
    x, z, half = g.input((2, 3)), g.input((2, 3)), g.constant(0.5)
    inner = binary("Add", binary("Mul", binary("Mul", x, x), g.constant(CUBE)), g.constant(1.0))
    whole = binary("Mul", binary("Mul", x, g.constant(math.sqrt(2 / math.pi))), inner)
    gate = binary("Add", unary("Tanh", (), whole), g.constant(1.0))
    yield g.fires(binary("Mul", binary("Mul", x, gate), half))
    yield g.near_miss(binary("Mul", binary("Mul", z, _erf_gate(g, x)), half), why="another operand")
    yield g.near_miss(binary("Mul", binary("Mul", x, _erf_gate(g, x, 1.5)), half), why="not the root of 2")
    yield g.near_miss(binary("Mul", x, _erf_gate(g, x)), why="not halved")
    shifted = binary("Add", unary("Erf", (), binary("Mul", x, g.constant(2**-0.5))), g.constant(0.9))
    yield g.near_miss(binary("Mul", binary("Mul", x, shifted), half), why="not 1 + erf")
    square = binary("Mul", binary("Mul", x, x), g.constant(CUBE))
    yield g.near_miss(binary("Mul", binary("Mul", x, _tanh_gate(g, x, square)), half), why="a square")
    wide = g.constant(np.full((4, 1, 1), 0.5))
    yield g.near_miss(binary("Mul", binary("Mul", x, _erf_gate(g, x)), wide), why="broadcasting adds an axis")


@law("activations", numerics="reassociates", examples=_gelu_examples)
def gelu() -> Iterator[Any]:
    """x * (1 + Erf(x / sqrt(2))) / 2 = Gelu(x), also with Gelu's approximation by Tanh

    Source: ONNX, Gelu; onnxruntime, gelu_fusion and fast_gelu_fusion.
    """
    yield from bookkeeping()
    yield self_gated("Gelu", gelu_settings)


_SHARED = ("activations.gelu",)


@hosted()
def swish_settings(gate: Gate, p: Coefficients, c: float, x: Fact) -> Any:
    fits = gate == ("sigmoid",) and len(p) == 2 and p[0] == 0 and close(c, 1, x)
    return (("alpha", p[1]),) if fits else None


def _swish_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 3)), g.input(("N", 3))
    yield g.fires(binary("Mul", x, unary("Sigmoid", (), x)))
    yield g.fires(binary("Mul", unary("Sigmoid", (), x), x))
    yield g.fires(binary("Mul", x, unary("Sigmoid", (), binary("Mul", x, g.constant(1.702)))))
    yield g.near_miss(binary("Mul", z, unary("Sigmoid", (), x)), why="a gate for another tensor")
    shifted = binary("Add", x, g.constant(1.0))
    yield g.near_miss(binary("Mul", x, unary("Sigmoid", (), shifted)), why="the gate is shifted")


@law("activations", numerics="reassociates", examples=_swish_examples, required=_SHARED)
def swish() -> Iterator[Any]:
    """x * Sigmoid(a * x) = Swish_a(x)

    Source: ONNX, Swish (SiLU where a = 1).
    """
    yield self_gated("Swish", swish_settings)


@hosted()
def hard_swish_settings(gate: Gate, p: Coefficients, c: float, x: Fact) -> Any:
    if x.dtype == TensorProto.DOUBLE or len(p) != 2:
        return None  # onnxruntime computes HardSwish in single precision
    shift, slope = p
    if gate[0] == "clip":
        found = (c * slope, c * shift, c * gate[1])
    elif gate[0] == "hard":
        found = (gate[1] * slope, gate[1] * shift + gate[2], c)
    else:
        return None
    return () if all(close(a, b, x) for a, b in zip(found, (1 / 6, 0.5, 1.0), strict=True)) else None


def _clip(low: float, high: float, x: Any) -> Any:
    return unary("Clip", (("max", high), ("min", low)), x)


def _hard_swish_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 3)), g.input(("N", 3))
    three, sixth = g.constant([3.0]), g.constant([1 / 6])
    relu6 = _clip(0.0, 6.0, binary("Add", x, three))
    for term in _associations(g, x, relu6, 1 / 6):
        yield g.fires(term)
    affine = binary("Add", binary("Mul", x, sixth), g.constant(0.5))
    yield g.fires(binary("Mul", x, _clip(0.0, 1.0, affine)))
    hard = (("alpha", 1 / 6), ("beta", 0.5))
    yield g.fires(binary("Mul", x, unary("HardSigmoid", hard, x)))
    other = (("alpha", 0.2), ("beta", 0.5))
    yield g.near_miss(binary("Mul", x, unary("HardSigmoid", other, x)), why="HardSigmoid's default slope")
    yield g.near_miss(binary("Mul", z, unary("HardSigmoid", hard, x)), why="a gate for another tensor")
    low = _clip(-1.0, 6.0, binary("Add", x, three))
    yield g.near_miss(binary("Mul", binary("Mul", x, low), sixth), why="the gate goes below 0")
    g = Operands(rng)
    x = g.input((2, 3), TensorProto.DOUBLE)
    hard_swish = binary("Mul", x, unary("HardSigmoid", hard, x))
    yield g.near_miss(hard_swish, why="onnxruntime has no HardSwish in double precision")


@law("activations", numerics="reassociates", examples=_hard_swish_examples, required=_SHARED)
def hard_swish() -> Iterator[Any]:
    """x * HardSigmoid(x) = HardSwish(x), where the gate may be Clip(x + 3, 0, 6) / 6

    Source: ONNX, HardSwish; Howard et al., Searching for MobileNetV3.
    """
    yield self_gated("HardSwish", hard_swish_settings)


@hosted()
def mish_settings(gate: Gate, p: Coefficients, c: float, x: Fact) -> Any:
    fits = gate == ("mish",) and p == (0.0, 1.0) and close(c, 1, x) and x.dtype != TensorProto.DOUBLE
    return () if fits else None


def _mish_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 3)), g.input(("N", 3))
    gate = unary("Tanh", (), unary("Softplus", (), x))
    yield g.fires(binary("Mul", x, gate))
    yield g.fires(binary("Mul", gate, x))
    yield g.near_miss(binary("Mul", z, gate), why="a gate for another tensor")
    yield g.near_miss(binary("Mul", x, unary("Tanh", (), unary("Relu", (), x))), why="no Softplus")


@law("activations", numerics="reassociates", examples=_mish_examples, required=_SHARED)
def mish() -> Iterator[Any]:
    """x * Tanh(Softplus(x)) = Mish(x)

    Source: ONNX, Mish.
    """
    yield self_gated("Mish", mish_settings)
