"""Words that many laws use: functions of tensors, numbers as tensors, and the plainest conditions."""

from __future__ import annotations

from typing import Any

from egraph_opt.facts.fact import Fact
from egraph_opt.operators.constants import literal
from egraph_opt.operators.declaration import Literal
from egraph_opt.operators.elementwise import unary
from egraph_opt.operators.expressions import Expression, Tensor
from egraph_opt.operators.host import hosted
from egraph_opt.operators.values import plain_value


def relu(x: Tensor) -> Any:
    return unary("Relu", (), x)


def sqrt(x: Tensor) -> Any:
    return unary("Sqrt", (), x)


def exp(x: Tensor) -> Any:
    return unary("Exp", (), x)


def log(x: Tensor) -> Any:
    return unary("Log", (), x)


def sigmoid(x: Tensor) -> Any:
    return unary("Sigmoid", (), x)


def tanh(x: Tensor) -> Any:
    return unary("Tanh", (), x)


def erf(x: Tensor) -> Any:
    return unary("Erf", (), x)


def softplus(x: Tensor) -> Any:
    return unary("Softplus", (), x)


def reciprocal(x: Tensor) -> Any:
    return unary("Reciprocal", (), x)


@hosted()
def number_literal(like: Fact, value: float) -> Literal | None:
    """One number, in the type of another value."""
    return Literal(like.dtype, (), (value,)) if like.dtype > 0 else None


def number_like(x: Tensor, value: Any) -> Any:
    """A tensor of rank 0 with a number, in the type of x; the number may be an attribute of the pattern.

    Raises:
        LawError: it is no number.
    """
    if not isinstance(value, Expression):
        value = plain_value(value, "Number", "number_like")
    return literal(number_literal(x, value))


@hosted()
def is_constant(x: Fact) -> bool:
    """x depends on constants only."""
    return x.const


def is_uniform(x: Fact) -> bool:
    """All elements of x are one known number, or it has none.

    Whatever laws move or combine of such values is the same value again, without an end.
    """
    return x.splat is not None or 0 in (x.shape or ())


@hosted()
def differs(x: Fact) -> bool:
    """x may have several elements that differ."""
    return not is_uniform(x)


@hosted()
def varies(x: Fact) -> bool:
    """x does not depend on constants only, and is not one number throughout."""
    return not (x.const or is_uniform(x))


@hosted()
def is_same(a: Any, b: Any) -> bool:
    """Two values are the same.

    A network has few permutations, windows and axes: atoms that share nothing but one of these are joined
    over all pairs.  Two variables that are compared are not.
    """
    return bool(a == b)
