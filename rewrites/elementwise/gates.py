"""What activations share that a tensor opens for itself, x * gate(x); `activations` has the laws.

Which classes are gates, which are products of a constant, an x and a gate in any association, and which are
polynomials of such an x, in whatever way they are computed.  Constants are brought to the right by the laws
of `constants`.
"""

from typing import Annotated, Any

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.facts.numbers import as_float
from egraph_opt.laws import assign, auxiliary, eq, hosted, rule, table
from egraph_opt.laws.algebra import softplus, tanh
from egraph_opt.laws.sorts import Float, Int, Settings, String, Tensor, Unit
from egraph_opt.operators import binary, unary
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import broadcasts_into

EPSILON: dict[int, float] = {
    TensorProto.FLOAT: 2.0**-23,
    TensorProto.FLOAT16: 2.0**-10,
    TensorProto.DOUBLE: 2.0**-52,
}
"""Rounding by type."""

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
    return as_float(c.splat)


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
def raised_gate(op: str) -> Gate | None:
    """What 1 + op(w) is."""
    return (op.lower(),) if op in ("Erf", "Tanh") else None


@hosted()
def plain_gate(op: str, settings: Settings) -> Gate | None:
    """What op(w) is."""
    known = dict(settings)
    if op == "Clip":
        low, high = known.get("min"), known.get("max")
        return ("clip", high) if low == 0 and high is not None and high > 0 else None
    if op == "HardSigmoid" and known.keys() >= {"alpha", "beta"}:
        return ("hard", known["alpha"], known["beta"])
    return ("sigmoid",) if op == "Sigmoid" else None


def _trimmed(coefficients: list[float]) -> Coefficients | None:
    """A polynomial of degree 1 to 3."""
    while coefficients and coefficients[-1] == 0:
        coefficients.pop()
    return tuple(coefficients) if 2 <= len(coefficients) <= 4 else None


def _multiplied(p: Coefficients, q: Coefficients) -> Coefficients | None:
    answer = [0.0] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            answer[i + j] += a * b
    return _trimmed(answer)


def _power(p: Coefficients, exponent: float) -> Coefficients | None:
    if exponent not in (2, 3):
        return None
    answer: Coefficients | None = p
    for _ in range(int(exponent) - 1):
        answer = None if answer is None else _multiplied(answer, p)
    return answer


@hosted()
def with_number(op: str, p: Coefficients, x: Fact, c: Fact) -> Coefficients | None:
    """The polynomial that op makes of p and a number, if it makes one."""
    value = _constant(x, c) if op in ("Mul", "Add", "Pow") else None
    if value is None:
        return None
    if op == "Pow":
        return _power(p, value)
    return _trimmed([k * value for k in p] if op == "Mul" else [p[0] + value, *p[1:]])


@hosted()
def of_both(op: str, p: Coefficients, q: Coefficients) -> Coefficients | None:
    """The polynomial that op makes of two of them, if it makes one."""
    if op != "Add":
        return _multiplied(p, q) if op == "Mul" else None
    size = max(len(p), len(q))
    padded = [(*r, *(0.0,) * (size - len(r))) for r in (p, q)]
    return _trimmed([a + b for a, b in zip(*padded, strict=True)])


def close(found: float, expected: float, x: Fact) -> bool:
    """Equal but for the rounding of x's type."""
    return abs(found - expected) <= 4 * EPSILON.get(x.dtype, 0.0) * max(abs(expected), 1e-3)


# --- auxiliary relations -----------------------------------------------------------------------------------


@auxiliary()
def gates(g: Tensor, w: Tensor, c: Tensor, op: String, s: Settings):
    """Fills `opened`."""
    gate = raised_gate(op)
    yield rule(eq(g, unary(op, s, w) + c), gate, is_one(c, w), then=assign(opened(g, gate), w))
    yield rule(eq(g, unary(op, s, w)), then=assign(opened(g, plain_gate(op, s)), w))
    yield rule(eq(g, tanh(softplus(w))), then=assign(opened(g, ("mish",)), w))


@auxiliary(gates, either_side)
def products(
    y: Tensor, x: Tensor, g: Tensor, w: Tensor, u: Tensor, c: Tensor, gate: Gate, a: Float, i: Int
):  # fmt: skip
    """Fills `product`: c * x * g in every order and association, constants on the right."""
    is_gate, found = eq(w, opened(g, gate)), product(y, x, g)
    yield rule(is_gate, eq(y, beside("Mul", x, g, i)), is_open(x, g), then=assign(found, 1.0))
    for part, other in ((x, g), (g, x)):
        both = beside("Mul", part * c, other, i)
        yield rule(is_gate, eq(y, both), is_open(x, g), then=assign(found, times(1.0, x, c)))
    yield rule(eq(a, product(u, x, g)), eq(y, u * c), then=assign(found, times(a, x, c)))


@auxiliary(products)
def polynomials(
    y: Tensor, x: Tensor, g: Tensor, u: Tensor, v: Tensor, c: Tensor, p: Coefficients, q: Coefficients,
    k: Float, op: String,
):  # fmt: skip
    """Fills `polynomial`: whatever is computed of an x that a gate opens, up to its cube."""
    yield rule(eq(k, product(y, x, g)), then=assign(polynomial(x, x), (0.0, 1.0)))
    of_u, of_v, found = eq(p, polynomial(u, x)), eq(q, polynomial(v, x)), polynomial(y, x)
    yield rule(of_u, eq(y, binary(op, u, c)), then=assign(found, with_number(op, p, x, c)))
    yield rule(of_u, eq(y, binary(op, u, v)), of_v, then=assign(found, of_both(op, p, q)))


@auxiliary(gates, products, polynomials)
def activations(
    y: Tensor, x: Tensor, g: Tensor, w: Tensor, gate: Gate, c: Float, p: Coefficients
):  # fmt: skip
    """Fills `self_gated`."""
    found = (eq(c, product(y, x, g)), eq(w, opened(g, gate)), eq(p, polynomial(w, x)))
    yield rule(*found, then=self_gated(y, x, gate, c, p))
