"""Activations and questions with a setting that is unusual: thresholds below 0, an approximation."""

from typing import Any

import numpy as np

from egraph_opt.laws import Settings, Tensor, number_like, relu, rewrite
from egraph_opt.operators import unary

from . import fires_on, of_one, wrong


def function(op: str, **settings: Any):
    return lambda x: unary(op, tuple(sorted(settings.items())), x)


def bent(alpha: float):
    return of_one(lambda x: relu(function("Elu", alpha=alpha)(x)))


@wrong("bitwise", bent(-1.0), examples=fires_on(bent(1.0), bent(0.25)))
def above_elu(x: Tensor, s: Settings):
    """Relu(Elu(x)) = Relu(x)

    Wrong for an alpha below 0, of which Elu is above 0 throughout.
    """
    yield rewrite(relu(unary("Elu", s, x)), relu(x), because="any alpha")


def above(alpha: float):
    return of_one(lambda x: relu(function("ThresholdedRelu", alpha=alpha)(x)))


@wrong("finite", above(-2.0), examples=fires_on(above(1.0), above(0.0), above(3.5)))
def above_a_threshold(x: Tensor, s: Settings):
    """Relu(ThresholdedRelu(x)) = ThresholdedRelu(x)

    Wrong for a threshold below 0.
    """
    y = unary("ThresholdedRelu", s, x)
    yield rewrite(relu(y), y, because="not below 0")


def mirrored(alpha: float, beta: float):
    return of_one(lambda x: function("HardSigmoid", alpha=alpha, beta=beta)(-x))


@wrong("reassociates", mirrored(0.25, 0.4), examples=fires_on(mirrored(0.2, 0.5), mirrored(1 / 6, 0.5)))
def mirrored_hard_sigmoid(x: Tensor, s: Settings):
    """HardSigmoid(-x) = 1 - HardSigmoid(x)

    Wrong where beta is not a half.
    """
    yield rewrite(
        unary("HardSigmoid", s, -x), number_like(x, 1.0) - unary("HardSigmoid", s, x), because="no Neg"
    )


def gelu(approximate: str):
    return of_one(function("Gelu", approximate=approximate))


@wrong("reassociates", gelu("tanh"), examples=fires_on(gelu("none"), opset=20))
def gelu_by_erf(x: Tensor, s: Settings):
    """Gelu(x) = x * (Erf(x * 0.7071..) + 1) / 2

    Wrong of the approximation.
    """
    inner = unary("Erf", (), x * number_like(x, 0.5**0.5)) + number_like(x, 1.0)
    yield rewrite(unary("Gelu", s, x), x * inner * number_like(x, 0.5), because="one operator")


def infinite(negative: int, positive: int):
    settings = {"detect_negative": negative, "detect_positive": positive}
    return lambda g: function("IsInf", **settings)(unary("Abs", (), g.input((2, 5))))


@wrong("bitwise", infinite(1, 0), values=(np.inf, 1.0, -np.inf, np.nan), examples=fires_on(infinite(1, 1)))
def infinity_of_magnitude(x: Tensor, s: Settings):
    """IsInf(Abs(x)) = IsInf(x)

    Wrong where only one infinity is asked for.
    """
    yield rewrite(unary("IsInf", s, unary("Abs", (), x)), unary("IsInf", s, x), because="no Abs")
