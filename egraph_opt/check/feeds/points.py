"""Points of functions: where a result vanishes, turns, reaches what it never passes, or leaves a type.

A law that is right but for a narrow region is wrong beside one of these: just within a bound that was
rounded, next to a zero of which nothing but a difference is left.  Inputs are aimed at them, through sums and
products with constants in front of a function; constants and bounds lie between them and what a law names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import onnx

from egraph_opt.check.feeds.lines import lines_of
from egraph_opt.check.feeds.roles import ORDINARY, numbers_by_name

GELU, GELU_BY_TANH, SILU, MISH = -0.7517915247, -0.7524614221, -1.2784645428, -1.1924312145
"""Where these are least."""

EXP_ENDS, SINH_ENDS, EXP_IS_SUBNORMAL, EXP_IS_0 = (
    88.7228390520,
    89.4159862326,
    -87.3365447506,
    -103.9720770839,
)
"""Beyond which float32 has no exponential, or no normal one."""

TURNS: Mapping[str, tuple[float, ...]] = {
    "Acos": (1.0, -1.0),
    "Acosh": (1.0,),
    "Asin": (1.0, -1.0),
    "Atanh": (1.0, -1.0),
    "Cos": (math.pi, math.pi / 2),
    "Cosh": (SINH_ENDS,),
    "Erf": (GELU * math.sqrt(0.5),),
    "Exp": (EXP_ENDS, -1.0),
    "Gelu": (GELU, GELU_BY_TANH),
    "HardSwish": (-1.5, -3.0, 3.0),
    "Log": (1.0, 1 / math.e),
    "Mish": (MISH,),
    "Sigmoid": (SILU,),
    "Sin": (math.pi / 2, -math.pi / 2, math.pi),
    "Sinh": (SINH_ENDS,),
    "Softplus": (MISH,),
    "Swish": (SILU,),
    "Tan": (math.pi / 2, -math.pi / 2, math.pi),
}
"""Operands of functions of which the result turns or ends, or that of x times the function: the product with
Sigmoid is least where Swish is, that with Exp at -1."""

ZEROS: Mapping[str, tuple[float, ...]] = {
    "Acos": (1.0,),
    "Acosh": (1.0,),
    "Cos": (math.pi / 2, -math.pi / 2),
    "HardSwish": (-3.0,),
    "Log": (1.0,),
    "Sin": (math.pi,),
    "Tan": (math.pi,),
}
"""Operands of functions of which the result is 0, but for 0 itself."""

KNOWN = (
    *(math.pi, math.pi / 2, math.pi / 4, 2 * math.pi, math.e, 1 / math.e, math.log(2), math.log(10)),
    *(math.sqrt(2), math.sqrt(0.5), math.sqrt(2 / math.pi), math.sqrt(math.pi), math.sqrt(3)),
    *(EXP_ENDS, SINH_ENDS, EXP_IS_SUBNORMAL, EXP_IS_0, 709.7827128934, 11.0898664885),
    *(GELU, -0.1699712075, GELU_BY_TANH, -0.1700407506, SILU, -0.2784645428, MISH, -0.3088434130),
    *(1.0507009874, 1.6732632423, 1.7580993408, 65504.0, 3.4028234664e38),
)
"""Numbers that nobody writes with all their digits: those points, what functions are there, the constants of
Selu and what it never reaches, and ends of types."""

NEARLY = 0.03
"""A number within this share of one that is known may stand for it."""

BETWEEN = (0.5, 0.02)
"""How far from one that is known, towards what stands for it."""

AROUND = (4.3e-4, 5.7e-5, 1.1e-6)
"""Shares of a point by which numbers around it differ from it: bounds are rounded to three to six digits.  Of
powers of two many sums are exact."""

BESIDE = (4.3e-4, 7e-6)
"""The same around a zero, all elements of an input alike: of a tensor the greatest element counts."""


def numbers_between(numbers: Iterable[float]) -> Iterator[float]:
    """What lies between a number that is known and one that nearly is it, which may be its rounded bound."""
    for number in numbers:
        for size in KNOWN:
            known = math.copysign(size, number)
            if 0 < abs(number - known) <= NEARLY * abs(known):
                yield from (known + share * (number - known) for share in BETWEEN)


SCALED, LARGEST = (0.7, -0.11), 1e9
"""What products with constants of no ordinary size are to be, and how large their inputs may be for that."""


HALVES = (0.5, 1.5, -2.5, 3.5, 5.5, -7.5)
"""Multiples of a scale that are rounded to either side."""


class Points(NamedTuple):
    """Inputs at which an operator of a model is at one of its points: where it turns, where it is 0, and
    where it jumps, for which the next number counts."""

    turns: tuple[float, ...]
    zeros: tuple[float, ...]
    jumps: tuple[float, ...]


def points_of(model: onnx.ModelProto) -> Points:
    """The inputs at which operators of a model have their points, as far as lines lead there."""
    turns, zeros, scaled, jumps = set[float](), set[float](), set[float](), set[float]()
    numbers = numbers_by_name(model)
    lines = lines_of(model, numbers)
    for node in model.graph.node:
        line = next((lines[name] for name in node.input if name in lines), None)
        if line is None:
            continue
        made = lines.get(node.output[0])
        if made is not None and made.shift and node.op_type in ("Add", "Sub"):
            zeros.add(made.where(0.0))
        if made is not None and not ORDINARY[0] <= abs(made.slope) <= ORDINARY[1]:
            scaled.update(map(made.where, SCALED))
        turns.update(map(line.where, _turns_of(node)))
        zeros.update(map(line.where, _zeros_of(node)))
        jumps.update(map(line.where, _jumps_of(node, numbers)))
    products = (node for node in model.graph.node if node.op_type in ("Mul", "Div", "Pow"))
    if any(node.output[0] not in lines for node in products):
        scaled.clear()  # of two such inputs the product may be none
    return Points((*_ordinary(turns), *_ordinary(scaled, LARGEST)), _ordinary(zeros), _ordinary(jumps))


def _ordinary(points: Iterable[float], most: float = ORDINARY[1]) -> tuple[float, ...]:
    return tuple(sorted(p for p in points if ORDINARY[0] <= abs(p) <= most))


def _turns_of(node: onnx.NodeProto) -> Iterator[float]:
    given = _settings(node)
    yield from TURNS.get(node.op_type, ())
    if node.op_type == "HardSigmoid" and given.get("alpha", 0.2):
        yield (1 - given.get("beta", 0.5)) / given.get("alpha", 0.2)
    elif node.op_type == "ThresholdedRelu":
        yield given.get("alpha", 1.0)
    elif node.op_type == "Shrink":
        yield from (given.get("lambd", 0.5), -given.get("lambd", 0.5))


def _jumps_of(node: onnx.NodeProto, numbers: Mapping[str, float]) -> Iterator[float]:
    """Operands between which a result leaps."""
    if node.op_type == "ThresholdedRelu":
        yield _settings(node).get("alpha", 1.0)
    elif node.op_type == "QuantizeLinear" and node.input[1] in numbers:
        yield from (half * numbers[node.input[1]] for half in HALVES)


def _zeros_of(node: onnx.NodeProto) -> Iterator[float]:
    given = _settings(node)
    yield from ZEROS.get(node.op_type, ())
    if node.op_type == "HardSigmoid" and given.get("alpha", 0.2):
        yield -given.get("beta", 0.5) / given.get("alpha", 0.2)
    elif node.op_type == "Shrink" and given.get("bias"):
        yield from (given["bias"], -given["bias"])


def _settings(node: onnx.NodeProto) -> dict[str, Any]:
    return {attribute.name: attribute.f for attribute in node.attribute}
