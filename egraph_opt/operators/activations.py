"""Activations that ONNX took in late, written out for the opsets that do not have them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from egraph_opt.operators.declaration import Attributes, Earlier, Scalar, Step

ACTIVATIONS = ("Gelu", "HardSigmoid", "HardSwish", "Mish", "Softplus", "Swish")
"""Unary operators that ONNX defines as functions of simpler ones."""

CUBE = 0.044715
"""In Gelu's approximation by tanh: sqrt(2 / pi) * (x + CUBE * x^3)."""


def _chain(*steps: tuple[str, Any]) -> tuple[Step, ...]:
    """Steps that take the one before them first: (unary operator, settings) or (binary operator, operand)."""
    made: list[Step] = []
    for op, other in steps:
        before: int | Earlier = Earlier(len(made) - 1) if made else 0
        if isinstance(other, tuple):
            made.append(Step("unary", (op, other), (before,)))
        else:
            made.append(Step("binary", (op,), (before, other)))
    return tuple(made)


def _gelu(settings: Mapping[str, Any]) -> tuple[Step, ...]:
    if settings.get("approximate", "none") == "none":
        inner: tuple[tuple[str, Any], ...] = (("Div", Scalar(math.sqrt(2))), ("Erf", ()))
    else:
        cube = (("Mul", 0), ("Mul", 0), ("Mul", Scalar(CUBE)), ("Add", 0))
        inner = (*cube, ("Mul", Scalar(math.sqrt(2 / math.pi))), ("Tanh", ()))
    return _chain(*inner, ("Add", Scalar(1.0)), ("Mul", 0), ("Mul", Scalar(0.5)))


def _hard_swish(settings: Mapping[str, Any]) -> tuple[Step, ...]:
    return _chain(("HardSigmoid", (("alpha", 1 / 6), ("beta", 0.5))), ("Mul", 0))


def _mish(settings: Mapping[str, Any]) -> tuple[Step, ...]:
    return _chain(("Softplus", ()), ("Tanh", ()), ("Mul", 0))


def _swish(settings: Mapping[str, Any]) -> tuple[Step, ...]:
    alpha = settings.get("alpha", 1.0)
    scaled = () if alpha == 1 else (("Mul", Scalar(alpha)),)
    return _chain(*scaled, ("Sigmoid", ()), ("Mul", 0))


_EXPANSIONS: dict[str, Callable[[Mapping[str, Any]], tuple[Step, ...]]] = {
    "Gelu": _gelu,
    "HardSwish": _hard_swish,
    "Mish": _mish,
    "Swish": _swish,
}


def expand_activation(op: str, settings: Attributes) -> tuple[Step, ...] | None:
    """An activation in operators that every opset in use has; None if it is none that came late."""
    expansion = _EXPANSIONS.get(op)
    return None if expansion is None else expansion(dict(settings))
