"""Activations that a tensor opens for itself, x * gate(x), found under every spelling.

    c * x * (1 + Erf(x / sqrt 2)) -> Gelu(x)                                   c = 1/2
    c * x * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) -> Gelu_tanh(x)    c = 1/2
    x * Sigmoid(a * x) -> Swish_a(x)
    c * x * Clip_0h(a * x + b) -> HardSwish(x)                                 c a = 1/6, c b = 1/2, c h = 1
    x * HardSigmoid(x) -> HardSwish(x)                                         with slope 1/6
    x * Tanh(Softplus(x)) -> Mish(x)

`composites.primitives` has the ways back.  Associations, orders and how the polynomials are computed do not
matter: see `gates`.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite, rule, union
from egraph_opt.laws.algebra import erf, number_like, relu, sigmoid, softplus, tanh, varies
from egraph_opt.laws.sorts import Float, Int, Settings, String, Tensor
from egraph_opt.operators import unary
from egraph_opt.operators.activations import CUBE
from egraph_opt.rewrites.conditions.channels import LARGEST
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.elementwise.bounds import PRIMITIVES
from egraph_opt.rewrites.elementwise.gates import (
    Coefficients,
    Gate,
    activations,
    close,
    raised_gate,
    self_gated,
)
from egraph_opt.rewrites.elementwise.identities import clip

law = laws_of("activations", numerics="reassociates", kind="composite")

ROOT = math.sqrt(2 / math.pi)


def _are_close(found: tuple[float, ...], expected: tuple[float, ...], x: Fact) -> bool:
    return len(found) == len(expected) and all(map(lambda a, b: close(a, b, x), found, expected))


# --- gates that are apart -------------------------------------------------------------------------------


def _apart_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, half = g.input(("N", 3)), g.input(("N", 3)), g.constant(0.5)
    yield from g.all_fire(x + x * tanh(z), erf(z) * x + x, x * half + x * half * erf(x))
    yield g.fires(x + x * tanh(g.input((4, 1, 1))))
    yield from g.near_misses(
        (z + x * tanh(z), "another tensor"), (x + x * sigmoid(z), "1 is added to Tanh and Erf")
    )


@law(serves="launches", uses=(either_side,), examples=_apart_examples)
def gate_apart(x: Tensor, w: Tensor, op: String, s: Settings, i: Int, j: Int):
    """x + x * Tanh(w) = x * (Tanh(w) + 1), likewise Erf"""
    gate = unary(op, s, w)
    whole = x * (gate + number_like(x, 1.0))
    sum_of_both = beside("Add", x, beside("Mul", x, gate, i), j)
    yield rewrite(sum_of_both, whole, guard(raised_gate(op), varies(x)), because="every x would do")


# --- Gelu -----------------------------------------------------------------------------------------------


@hosted()
def gelu_settings(gate: Gate, p: Coefficients, c: float, x: Fact) -> Settings | None:
    if not close(c, 0.5, x):
        return None
    if gate == ("erf",) and p[0] == 0 and _are_close(p, (0.0, math.sqrt(0.5)), x):
        return (("approximate", "none"),)
    if gate == ("tanh",) and _are_close(p, (0.0, ROOT, 0.0, ROOT * CUBE), x):
        return (("approximate", "tanh"),)
    return None


def _erf_gate(g: Operands, x: Any, root: float = math.sqrt(2), one: float = 1.0) -> Any:
    return erf(x * g.constant(1 / root)) + g.constant(one)


def _tanh_gate(g: Operands, x: Any, cube: Any) -> Any:
    return tanh((x + cube) * g.constant(ROOT)) + g.constant(1.0)


def _associations(g: Operands, x: Any, gate: Any, c: float) -> tuple[Any, ...]:
    """c * x * gate as exporters write it."""
    half = g.constant(c)
    return x * gate * half, gate * x * half, x * half * gate, x * (gate * half)


def _gelu_examples(rng: np.random.Generator) -> Iterator[Example]:
    for k in range(4):
        g = Operands(rng)
        x = g.input(("N", 3))
        yield g.fires(_associations(g, x, _erf_gate(g, x), 0.5)[k])
        c = g.constant(CUBE)
        cubes = (x ** g.constant(3.0) * c, x * (x * (x * c)), x * x * x * c, x * x * (x * c))
        yield g.fires(_associations(g, x, _tanh_gate(g, x, cubes[k]), 0.5)[k])
    g = Operands(rng)
    x, z, half, one = g.input((2, 3)), g.input((2, 3)), g.constant(0.5), g.constant(1.0)
    yield g.fires(x * (tanh(x * g.constant(ROOT) * (x * x * g.constant(CUBE) + one)) + one) * half)
    yield from g.near_misses(
        (z * _erf_gate(g, x) * half, "another operand"),
        (x * _erf_gate(g, x, 1.5) * half, "not the root of 2"),
        (x * _erf_gate(g, x), "not halved"),
        (x * _erf_gate(g, x, one=0.9) * half, "not 1 + erf"),
        (x * _tanh_gate(g, x, x * x * g.constant(CUBE)) * half, "a square"),
        (x * _erf_gate(g, x) * g.constant(np.full((4, 1, 1), 0.5)), "broadcasting adds an axis"),
    )


@law(
    source="ONNX, Gelu; onnxruntime, gelu_fusion and fast_gelu_fusion",
    uses=(activations,),
    examples=_gelu_examples,
)
def gelu(y: Tensor, x: Tensor, gate: Gate, c: Float, p: Coefficients):
    """x * (1 + Erf(x / sqrt(2))) / 2 = Gelu(x), also with Gelu's approximation by Tanh"""
    whole = unary("Gelu", gelu_settings(gate, p, c, x), x)
    yield rule(self_gated(y, x, gate, c, p), then=union(y, whole), inverse=PRIMITIVES)


@hosted()
def swish_settings(gate: Gate, p: Coefficients, c: float, x: Fact) -> Settings | None:
    """1 + Tanh(w) is 2 * Sigmoid(2 * w); onnxruntime multiplies by alpha in the type of x."""
    factor = {("sigmoid",): 1.0, ("tanh",): 2.0}.get(gate)
    if factor is None or len(p) != 2 or p[0] != 0 or not close(c * factor, 1, x):
        return None
    if abs(p[1] * factor) > LARGEST.get(x.dtype, LARGEST[TensorProto.FLOAT]):
        return None
    return (("alpha", p[1] * factor),)


def _swish_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 3)), g.input(("N", 3))
    yield from g.all_fire(x * sigmoid(x), sigmoid(x) * x, x * sigmoid(x * g.constant(1.702)))
    yield g.fires(x * g.constant(0.5) * (tanh(x * g.constant(0.5)) + g.constant(1.0)))
    yield g.near_miss(x * (tanh(x) + g.constant(1.0)), why="not halved")
    yield g.near_miss(z * sigmoid(x), why="a gate for another tensor")
    yield g.near_miss(x * sigmoid(x + g.constant(1.0)), why="the gate is shifted")


@law(source="ONNX, Swish (SiLU where a = 1)", uses=(activations,), examples=_swish_examples)
def swish(y: Tensor, x: Tensor, gate: Gate, c: Float, p: Coefficients):
    """x * Sigmoid(a * x) = Swish_a(x), x * (1 + Tanh(a * x / 2)) / 2 = Swish_a(x)"""
    whole = unary("Swish", swish_settings(gate, p, c, x), x)
    yield rule(self_gated(y, x, gate, c, p), then=union(y, whole), inverse=PRIMITIVES)


@hosted()
def hard_swish_settings(gate: Gate, p: Coefficients, c: float, x: Fact) -> Settings | None:
    if x.dtype == TensorProto.DOUBLE or len(p) != 2:
        return None  # onnxruntime computes HardSwish in single precision
    shift, slope = p
    if gate[0] == "clip":
        found = (c * slope, c * shift, c * gate[1])
    elif gate[0] == "hard":
        found = (gate[1] * slope, gate[1] * shift + gate[2], c)
    else:
        return None
    return () if _are_close(found, (1 / 6, 0.5, 1.0), x) else None


def _hard_sigmoid(x: Any, slope: float) -> Any:
    return unary("HardSigmoid", (("alpha", slope), ("beta", 0.5)), x)


def _hard_swish_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, double = g.input(("N", 3)), g.input(("N", 3)), g.input((2, 3), TensorProto.DOUBLE)
    three, sixth = g.constant([3.0]), g.constant([1 / 6])
    for term in _associations(g, x, clip(0.0, 6.0, x + three), 1 / 6):
        yield g.fires(term)
    yield g.fires(x * clip(0.0, 1.0, x * sixth + g.constant(0.5)))
    yield g.fires(x * _hard_sigmoid(x, 1 / 6))
    yield from g.near_misses(
        (x * _hard_sigmoid(x, 0.2), "HardSigmoid's default slope"),
        (z * _hard_sigmoid(x, 1 / 6), "a gate for another tensor"),
        (x * clip(-1.0, 6.0, x + three) * sixth, "the gate goes below 0"),
        (double * _hard_sigmoid(double, 1 / 6), "onnxruntime has no HardSwish in double precision"),
    )


@law(
    source="ONNX, HardSwish; Howard et al., Searching for MobileNetV3",
    uses=(activations,),
    examples=_hard_swish_examples,
)
def hard_swish(y: Tensor, x: Tensor, gate: Gate, c: Float, p: Coefficients):
    """x * HardSigmoid(x) = HardSwish(x), where the gate may be Clip(x + 3, 0, 6) / 6"""
    whole = unary("HardSwish", hard_swish_settings(gate, p, c, x), x)
    yield rule(self_gated(y, x, gate, c, p), then=union(y, whole), inverse=PRIMITIVES)


@hosted()
def mish_settings(gate: Gate, p: Coefficients, c: float, x: Fact) -> Settings | None:
    fits = gate == ("mish",) and p == (0.0, 1.0) and close(c, 1, x) and x.dtype != TensorProto.DOUBLE
    return () if fits else None


def _mish_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 3)), g.input(("N", 3))
    gate = tanh(softplus(x))
    yield g.fires(x * gate)
    yield g.fires(gate * x)
    yield g.near_miss(z * gate, why="a gate for another tensor")
    yield g.near_miss(x * tanh(relu(x)), why="no Softplus")


@law(source="ONNX, Mish", uses=(activations,), examples=_mish_examples)
def mish(y: Tensor, x: Tensor, gate: Gate, c: Float, p: Coefficients):
    """x * Tanh(Softplus(x)) = Mish(x)"""
    whole = unary("Mish", mish_settings(gate, p, c, x), x)
    yield rule(self_gated(y, x, gate, c, p), then=union(y, whole), inverse=PRIMITIVES)
