"""Activations as functions of real numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import z3

from egraph_opt.semantics.values import WIDE_EXP, WIDE_LOG, NoMeaningError

Real: TypeAlias = z3.ArithRef


def maximum(a: Real, b: Real) -> Real:
    return z3.If(a >= b, a, b)


def minimum(a: Real, b: Real) -> Real:
    return z3.If(a <= b, a, b)


def _finite(bound: Any, beyond: float) -> Any:
    """A bound; None where it is beyond all numbers on its side."""
    if type(bound) is float and math.isinf(bound):
        if bound != beyond:
            raise NoMeaningError("a bound beyond all numbers")
        return None
    return bound


def _clip(scene: Any, settings: dict[str, Any], a: Real) -> Real:
    low, high = (_finite(settings[name], beyond) for name, beyond in (("min", -math.inf), ("max", math.inf)))
    a = a if low is None else maximum(a, scene.real_formula(low))
    return a if high is None else minimum(a, scene.real_formula(high))


def _hard_sigmoid(scene: Any, settings: dict[str, Any], a: Real) -> Real:
    alpha, beta = (scene.real_formula(settings[name]) for name in ("alpha", "beta"))
    line = scene.add(scene.multiply(alpha, a), beta)
    return maximum(z3.RealVal(0), minimum(z3.RealVal(1), line))


def _leaky_relu(scene: Any, settings: dict[str, Any], a: Real) -> Real:
    return z3.If(a >= 0, a, scene.multiply(scene.real_formula(settings["alpha"]), a))


def _thresholded_relu(scene: Any, settings: dict[str, Any], a: Real) -> Real:
    return z3.If(a > scene.real_formula(settings["alpha"]), a, z3.RealVal(0))


def _elu(scene: Any, settings: dict[str, Any], a: Real) -> Real:
    alpha = scene.real_formula(settings["alpha"])
    return z3.If(a >= 0, a, scene.multiply(alpha, scene.function(WIDE_EXP, a) - 1))


def _celu(scene: Any, settings: dict[str, Any], a: Real) -> Real:
    alpha = scene.real_formula(settings["alpha"])
    inner = scene.multiply(a, scene.function("unary Reciprocal ()", alpha))
    below = scene.multiply(alpha, scene.function(WIDE_EXP, inner) - 1)
    return maximum(a, z3.RealVal(0)) + minimum(z3.RealVal(0), below)


def _selu(scene: Any, settings: dict[str, Any], a: Real) -> Real:
    return scene.multiply(scene.real_formula(settings["gamma"]), _elu(scene, settings, a))


def _softplus(scene: Any, a: Real) -> Real:
    """Log(1 + exp(a)), which is a + log(1 + exp(-a)) as well."""

    def log_of(b: Real) -> Real:
        return scene.function(WIDE_LOG, 1 + scene.function(WIDE_EXP, b))

    made = log_of(a)
    scene.known(made == a + log_of(z3.simplify(-a)))
    return made


def _sigmoid(scene: Any, a: Real) -> Real:
    below = z3.RealVal(1) + scene.function(WIDE_EXP, z3.simplify(-a))
    return scene.function("unary Reciprocal ()", below)


def _softsign(scene: Any, a: Real) -> Real:
    below = scene.add(z3.If(a >= 0, a, -a), z3.RealVal(1))
    if scene.reals:
        return scene.multiply(a, scene.function("unary Reciprocal ()", below))
    return scene.function("binary Div", a, below)


def _tanh(scene: Any, a: Real) -> Real:
    below = z3.RealVal(1) + scene.function(WIDE_EXP, z3.simplify(-2 * a))
    return 2 * scene.function("unary Reciprocal ()", below) - 1


DEFINED: dict[str, Callable[[Any, Real], Real]] = {
    "Sigmoid": _sigmoid,
    "Softplus": _softplus,
    "Softsign": _softsign,
    "Tanh": _tanh,
}
"""Functions in terms of others, in the reals."""

WITH_SETTINGS: dict[str, Callable[[Any, dict[str, Any], Real], Real]] = {
    "Clip": _clip,
    "HardSigmoid": _hard_sigmoid,
    "LeakyRelu": _leaky_relu,
    "ThresholdedRelu": _thresholded_relu,
}
OF_EXPONENTIALS: dict[str, Callable[[Any, dict[str, Any], Real], Real]] = {
    "Celu": _celu,
    "Elu": _elu,
    "Selu": _selu,
}
"""Likewise, in the reals."""
