"""What activations share that a tensor opens for itself, x * gate(x); `activations` has the laws.

Which classes are gates, which are products of a constant, an x and a gate in any association, and which are
polynomials of such an x, in whatever way they are computed.  Constants are brought to the right by the laws
of `constants`.
"""

from typing import Annotated, Any

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import assign, auxiliary, eq, hosted, rule, table
from egraph_opt.laws.algebra import erf, sigmoid, softplus, tanh
from egraph_opt.laws.sorts import Float, Settings, Tensor, Unit
from egraph_opt.operators import binary, unary
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.rewrites.conditions.values import broadcasts_into

EPSILON: dict[int, float] = {
    TensorProto.FLOAT: 2.0**-23,
    TensorProto.FLOAT16: 2.0**-10,
    TensorProto.DOUBLE: 2.0**-23,
}
"""Rounding by type; exporters cast constants from float32."""

Gate = Annotated[tuple[Any, ...], attribute_sort("Gate")]
"""("erf",) and ("tanh",): 1 + f(w); ("sigmoid",); ("clip", h): Clip(w) between 0 and h; ("hard", a, b):
HardSigmoid(w); ("mish",): Tanh(Softplus(w))."""

Coefficients = Annotated[tuple[float, ...], attribute_sort("Coefficients")]
"""Of 1, x, x^2, x^3; the last one is not 0."""


@table(merge="first")
def opened(g: Tensor, gate: Gate) -> Tensor:
    """The w with g = gate(w)."""


@table(merge="first")
def product(y: Tensor, x: Tensor, g: Tensor) -> Float:
    """The c with y = c * x * g, g a gate."""


@table(merge="first")
def polynomial(w: Tensor, x: Tensor) -> Coefficients:
    """The `Coefficients` with which w is a polynomial of x."""


@table()
def self_gated(y: Tensor, x: Tensor, gate: Gate, c: Float, p: Coefficients) -> Unit:
    """y = c * x * gate(p(x))."""


# --- what the host computes ------------------------------------------------------------------------------


def _constant(x: Fact, c: Fact) -> float | None:
    """The one value of a constant that leaves x its shape."""
    if x.dtype not in EPSILON or x.const or c.splat is None or not broadcasts_into(c.shape, x.shape):
        return None
    return float(c.splat)


@hosted()
def times(a: Float, x: Fact, c: Fact) -> Float | None:
    value = _constant(x, c)
    return None if value is None else a * value


@hosted()
def is_one(c: Fact, x: Fact) -> bool:
    return _constant(x, c) == 1


@hosted()
def is_open(x: Fact, g: Fact) -> bool:
    """Neither is a constant, so that x may be what the gate is for."""
    return x.dtype in EPSILON and not x.const and not g.const and x.shape == g.shape


@hosted()
def clip_gate(bounds: Settings) -> Gate | None:
    low, high = dict(bounds).get("min"), dict(bounds).get("max")
    return ("clip", high) if low == 0 and high is not None and high > 0 else None


@hosted()
def hard_gate(settings: Settings) -> Gate | None:
    known = dict(settings)
    return ("hard", known["alpha"], known["beta"]) if known.keys() >= {"alpha", "beta"} else None


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


def close(found: float, expected: float, x: Fact) -> bool:
    """Equal but for the rounding of x's type."""
    return abs(found - expected) <= 4 * EPSILON.get(x.dtype, 0.0) * max(abs(expected), 1e-3)


# --- auxiliary relations -----------------------------------------------------------------------------------


@auxiliary()
def gates(g: Tensor, w: Tensor, c: Tensor, s: Settings):
    """Fills `opened`."""
    for name, shifted in (("erf", erf(w)), ("tanh", tanh(w))):
        yield rule(eq(g, shifted + c), is_one(c, w), then=assign(opened(g, (name,)), w))
    for name, plain in (("sigmoid", sigmoid(w)), ("mish", tanh(softplus(w)))):
        yield rule(eq(g, plain), then=assign(opened(g, (name,)), w))
    for op, gate in (("Clip", clip_gate(s)), ("HardSigmoid", hard_gate(s))):
        yield rule(eq(g, unary(op, s, w)), then=assign(opened(g, gate), w))


@auxiliary(gates)
def products(y: Tensor, x: Tensor, g: Tensor, w: Tensor, u: Tensor, c: Tensor, gate: Gate, a: Float):
    """Fills `product`: c * x * g in every order and association, constants on the right."""
    is_gate, found = eq(w, opened(g, gate)), product(y, x, g)
    for both in (x * g, g * x):
        yield rule(is_gate, eq(y, both), is_open(x, g), then=assign(found, 1.0))
    for part, other in ((x, g), (g, x)):
        for both in (part * c * other, other * (part * c)):
            yield rule(is_gate, eq(y, both), is_open(x, g), then=assign(found, times(1.0, x, c)))
    yield rule(eq(a, product(u, x, g)), eq(y, u * c), then=assign(found, times(a, x, c)))


@auxiliary(products)
def polynomials(
    y: Tensor, x: Tensor, g: Tensor, u: Tensor, v: Tensor, c: Tensor, p: Coefficients, q: Coefficients,
    k: Float,
):  # fmt: skip
    """Fills `polynomial`: whatever is computed of an x that a gate opens, up to its cube."""
    yield rule(eq(k, product(y, x, g)), then=assign(polynomial(x, x), (0.0, 1.0)))
    of_u, of_v, found = eq(p, polynomial(u, x)), eq(q, polynomial(v, x)), polynomial(y, x)
    for op, host in (("Mul", scaled), ("Add", raised), ("Pow", power)):
        yield rule(of_u, eq(y, binary(op, u, c)), then=assign(found, host(p, x, c)))
    for op, both in (("Mul", multiplied), ("Add", added)):
        yield rule(of_u, eq(y, binary(op, u, v)), of_v, then=assign(found, both(p, q)))


@auxiliary(gates, products, polynomials)
def activations(
    y: Tensor, x: Tensor, g: Tensor, w: Tensor, gate: Gate, c: Float, p: Coefficients
):  # fmt: skip
    """Fills `self_gated`."""
    found = (eq(c, product(y, x, g)), eq(w, opened(g, gate)), eq(p, polynomial(w, x)))
    yield rule(*found, then=self_gated(y, x, gate, c, p))
