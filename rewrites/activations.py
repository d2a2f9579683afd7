"""Activations that a tensor opens for itself, x * gate(x), found under every spelling.

    c * x * (1 + Erf(x / sqrt 2)) = Gelu(x)                                   c = 1/2
    c * x * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) = Gelu_tanh(x)    c = 1/2
    x * Sigmoid(a * x) = Swish_a(x)
    c * x * Clip_0h(a * x + b) = HardSwish(x)                                 c a = 1/6, c b = 1/2, c h = 1
    x * HardSigmoid(x) = HardSwish(x)                                         with slope 1/6
    x * Tanh(Softplus(x)) = Mish(x)

What they share is bookkeeping: which classes are gates, which are products of a constant, x and a gate in any
association, and which are polynomials of such an x, in whatever way they are computed.  Constants are brought
to the right by the laws of `constants`.
"""

import math
from collections.abc import Iterator
from typing import Any

import egglog
import numpy as np
from egglog import PyObject, eq, set_
from onnx import TensorProto

from egraph_opt.host import hosted
from egraph_opt.law import Deduction, Equal, Example, closure, holds, law, let, rule
from egraph_opt.law_testing import Operands
from egraph_opt.operators import binary, unary
from egraph_opt.operators.activations import CUBE
from egraph_opt.rewrites.elementwise import broadcasts_into
from egraph_opt.terms import Tensor, fact
from egraph_opt.types import Fact

EPSILON: dict[int, float] = {
    TensorProto.FLOAT: 2.0**-23,
    TensorProto.FLOAT16: 2.0**-10,
    TensorProto.DOUBLE: 2.0**-23,
}
"""Rounding by type; exporters cast constants from float32."""

Gate = tuple[Any, ...]
"""("erf",) and ("tanh",): 1 + f(w); ("sigmoid",); ("clip", h): Clip(w) between 0 and h; ("hard", a, b):
HardSigmoid(w); ("mish",): Tanh(Softplus(w))."""

Coefficients = tuple[float, ...]
"""Of 1, x, x^2, x^3; the last one is not 0."""


@egglog.function(egg_fn="gate_operand", merge=lambda old, new: old)
def opened(g: Tensor, gate: PyObject) -> Tensor:
    """The w with g = gate(w)."""


@egglog.function(egg_fn="gated_product", merge=lambda old, new: old)
def product(y: Tensor, x: Tensor, g: Tensor) -> PyObject:
    """The c with y = c * x * g, g a gate."""


@egglog.function(egg_fn="gate_polynomial", merge=lambda old, new: old)
def polynomial(w: Tensor, x: Tensor) -> PyObject:
    """The `Coefficients` with which w is a polynomial of x."""


# --- what the host computes ------------------------------------------------------------------------------


def _constant(x: Fact, c: Fact) -> float | None:
    """The one value of a constant that leaves x its shape."""
    if x.dtype not in EPSILON or x.const or c.splat is None or not broadcasts_into(c.shape, x.shape):
        return None
    return float(c.splat)


@hosted()
def times(a: float, x: Fact, c: Fact) -> float | None:
    value = _constant(x, c)
    return None if value is None else a * value


@hosted(default=False)
def is_one(c: Fact, x: Fact) -> bool:
    return _constant(x, c) == 1


@hosted(default=False)
def is_open(x: Fact, g: Fact) -> bool:
    """Neither is a constant, so that x may be what the gate is for."""
    return x.dtype in EPSILON and not x.const and not g.const and x.shape == g.shape


@hosted()
def clip_gate(bounds: tuple[tuple[str, float | None], ...]) -> Gate | None:
    low, high = dict(bounds)["min"], dict(bounds)["max"]
    return ("clip", high) if low == 0 and high is not None and high > 0 else None


@hosted()
def hard_gate(settings: tuple[tuple[str, float], ...]) -> Gate | None:
    return ("hard", dict(settings)["alpha"], dict(settings)["beta"])


def _trimmed(coefficients: list[float]) -> Coefficients | None:
    """A polynomial of degree 1 to 3."""
    while coefficients and coefficients[-1] == 0:
        coefficients.pop()
    return tuple(coefficients) if 2 <= len(coefficients) <= 4 else None


@hosted()
def scaled(p: Coefficients, x: Fact, c: Fact) -> Coefficients | None:
    value = _constant(x, c)
    return None if value is None else _trimmed([k * value for k in p])


@hosted()
def raised(p: Coefficients, x: Fact, c: Fact) -> Coefficients | None:
    value = _constant(x, c)
    return None if value is None else _trimmed([p[0] + value, *p[1:]])


@hosted()
def multiplied(p: Coefficients, q: Coefficients) -> Coefficients | None:
    answer = [0.0] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            answer[i + j] += a * b
    return _trimmed(answer)


@hosted()
def added(p: Coefficients, q: Coefficients) -> Coefficients | None:
    size = max(len(p), len(q))
    padded = [(*r, *(0.0,) * (size - len(r))) for r in (p, q)]
    return _trimmed([a + b for a, b in zip(*padded, strict=True)])


@hosted()
def power(p: Coefficients, x: Fact, c: Fact) -> Coefficients | None:
    exponent = _constant(x, c)
    if exponent not in (2, 3):
        return None
    answer: Coefficients | None = p
    for _ in range(int(exponent) - 1):
        answer = None if answer is None else multiplied(answer, p)
    return answer


def _close(found: float, wanted: float, x: Fact) -> bool:
    return abs(found - wanted) <= 4 * EPSILON[x.dtype] * max(abs(wanted), 1e-3)


# --- bookkeeping -----------------------------------------------------------------------------------------


def _gates() -> Iterator[Deduction]:
    g, w, c = (egglog.var(name, Tensor) for name in ("g", "w", "c"))
    s, gate = egglog.var("s", PyObject), egglog.var("gate", PyObject)
    for op, name in (("Erf", "erf"), ("Tanh", "tanh")):
        shifted = eq(g).to(binary("Add", unary(op, (), w), c))
        then = set_(opened(g, PyObject((name,)))).to(w)
        yield closure(shifted, holds(is_one, fact(c), fact(w)), then=then)
    plain = eq(g).to(unary("Sigmoid", (), w))
    yield closure(plain, then=set_(opened(g, PyObject(("sigmoid",)))).to(w))
    soft = eq(g).to(unary("Tanh", (), unary("Softplus", (), w)))
    yield closure(soft, then=set_(opened(g, PyObject(("mish",)))).to(w))
    for op, host in (("Clip", clip_gate), ("HardSigmoid", hard_gate)):
        bounded = eq(g).to(unary(op, s, w))
        yield closure(bounded, let(gate, host, s), then=set_(opened(g, gate)).to(w))


def _products() -> Iterator[Deduction]:
    """c * x * g in every order and association, constants on the right."""
    y, x, g, w, u, c = (egglog.var(name, Tensor) for name in "yxgwuc")
    gate, a, b = (egglog.var(name, PyObject) for name in ("gate", "a", "b"))
    is_gate = eq(w).to(opened(g, gate))
    one = PyObject(1.0)
    open_ = holds(is_open, fact(x), fact(g))
    for left, right in ((x, g), (g, x)):
        both = eq(y).to(binary("Mul", left, right))
        yield closure(is_gate, both, open_, then=set_(product(y, x, g)).to(one))
    scale = let(b, times, one, fact(x), fact(c))
    for part, other in ((x, g), (g, x)):
        part_scaled = eq(u).to(binary("Mul", part, c))
        for left, right in ((u, other), (other, u)):
            both = eq(y).to(binary("Mul", left, right))
            yield closure(is_gate, part_scaled, both, open_, scale, then=set_(product(y, x, g)).to(b))
    before = eq(a).to(product(u, x, g))
    behind = eq(y).to(binary("Mul", u, c))
    yield closure(before, behind, let(b, times, a, fact(x), fact(c)), then=set_(product(y, x, g)).to(b))


def _polynomials() -> Iterator[Deduction]:
    """Whatever is computed of an x that a gate opens, up to its cube."""
    y, x, g, u, v, c = (egglog.var(name, Tensor) for name in "yxguvc")
    p, q, r = (egglog.var(name, PyObject) for name in "pqr")
    yield closure(eq(p).to(product(y, x, g)), then=set_(polynomial(x, x)).to(PyObject((0.0, 1.0))))
    of_u, of_v = eq(p).to(polynomial(u, x)), eq(q).to(polynomial(v, x))
    then = set_(polynomial(y, x)).to(r)
    for op, host in (("Mul", scaled), ("Add", raised), ("Pow", power)):
        yield closure(of_u, eq(y).to(binary(op, u, c)), let(r, host, p, fact(x), fact(c)), then=then)
    for op, both in (("Mul", multiplied), ("Add", added)):
        yield closure(of_u, eq(y).to(binary(op, u, v)), of_v, let(r, both, p, q), then=then)


# --- laws ------------------------------------------------------------------------------------------------


def _self_gated(op: str, settings: Any) -> Deduction:
    """y = c * x * gate(polynomial of x) is `op` of x, with the settings that the host finds."""
    y, x, g, w = (egglog.var(name, Tensor) for name in "yxgw")
    gate, c, p, s = (egglog.var(name, PyObject) for name in ("gate", "c", "p", "s"))
    return rule(
        eq(c).to(product(y, x, g)),
        eq(w).to(opened(g, gate)),
        eq(p).to(polynomial(w, x)),
        let(s, settings, gate, p, c, fact(x)),
        then=Equal(y, unary(op, s, x)),
    )


@hosted()
def gelu_settings(gate: Gate, p: Coefficients, c: float, x: Fact) -> Any:
    if not _close(c, 0.5, x):
        return None
    if gate == ("erf",) and len(p) == 2 and p[0] == 0 and _close(p[1], math.sqrt(0.5), x):
        return (("approximate", "none"),)
    inner = math.sqrt(2 / math.pi)
    wanted = (0.0, inner, 0.0, inner * CUBE)
    if gate == ("tanh",) and len(p) == 4 and all(_close(a, b, x) for a, b in zip(p, wanted, strict=True)):
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
    yield from (*_gates(), *_products(), *_polynomials())
    yield _self_gated("Gelu", gelu_settings)


_SHARED = ("activations.gelu",)


@hosted()
def swish_settings(gate: Gate, p: Coefficients, c: float, x: Fact) -> Any:
    fits = gate == ("sigmoid",) and len(p) == 2 and p[0] == 0 and _close(c, 1, x)
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


@law("activations", numerics="reassociates", examples=_swish_examples, partners=_SHARED)
def swish() -> Iterator[Any]:
    """x * Sigmoid(a * x) = Swish_a(x)

    Source: ONNX, Swish (SiLU where a = 1).
    """
    yield _self_gated("Swish", swish_settings)


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
    return () if all(_close(a, b, x) for a, b in zip(found, (1 / 6, 0.5, 1.0), strict=True)) else None


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


@law("activations", numerics="reassociates", examples=_hard_swish_examples, partners=_SHARED)
def hard_swish() -> Iterator[Any]:
    """x * HardSigmoid(x) = HardSwish(x), where the gate may be Clip(x + 3, 0, 6) / 6

    Source: ONNX, HardSwish; Howard et al., Searching for MobileNetV3.
    """
    yield _self_gated("HardSwish", hard_swish_settings)


@hosted()
def mish_settings(gate: Gate, p: Coefficients, c: float, x: Fact) -> Any:
    fits = gate == ("mish",) and p == (0.0, 1.0) and _close(c, 1, x) and x.dtype != TensorProto.DOUBLE
    return () if fits else None


def _mish_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 3)), g.input(("N", 3))
    gate = unary("Tanh", (), unary("Softplus", (), x))
    yield g.fires(binary("Mul", x, gate))
    yield g.fires(binary("Mul", gate, x))
    yield g.near_miss(binary("Mul", z, gate), why="a gate for another tensor")
    yield g.near_miss(binary("Mul", x, unary("Tanh", (), unary("Relu", (), x))), why="no Softplus")


@law("activations", numerics="reassociates", examples=_mish_examples, partners=_SHARED)
def mish() -> Iterator[Any]:
    """x * Tanh(Softplus(x)) = Mish(x)

    Source: ONNX, Mish.
    """
    yield _self_gated("Mish", mish_settings)
