"""What activations share that a tensor opens for itself, x * gate(x): bookkeeping for `activations`.

Which classes are gates, which are products of a constant, an x and a gate in any association, and which are
polynomials of such an x, in whatever way they are computed.  Constants are brought to the right by the laws
of `constants`.
"""

from collections.abc import Iterator
from typing import Any

from onnx import TensorProto

from egraph_opt import compat as egglog
from egraph_opt.compat import Deduction, Equal, PyObject, closure, eq, holds, let, rule, set_
from egraph_opt.facts.fact import Fact
from egraph_opt.operators import binary, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.elementwise.identities import broadcasts_into

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


def close(found: float, wanted: float, x: Fact) -> bool:
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


def bookkeeping() -> Iterator[Deduction]:
    """The rules that fill the tables; one law yields them, its fellows name it as their partner."""
    yield from (*_gates(), *_products(), *_polynomials())


def self_gated(op: str, settings: Any) -> Deduction:
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
