"""Choices of what is made alike, and choices within choices.

Where(c, f(x), f(y)) -> f(Where(c, x, y))                          likewise x op z, y op z
Where(c, Where(c, x, y), z) -> Where(c, x, z)                      likewise on the other side
Where(n, Where(m, x, v), v) -> Where(n and m, x, v)                likewise Where(n, v, Where(m, v, x))
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Int, Settings, String, Tensor
from egraph_opt.operators import binary, unary, where
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import broadcasts_into, of_one_type

law = laws_of("conditions", numerics="finite", kind="merge", serves="launches", source="algebra")

CHOSEN = KERNEL_FLOATS | {TensorProto.INT32, TensorProto.INT64}


@hosted()
def are_chosen(x: Fact) -> bool:
    """Of a type that onnxruntime chooses among."""
    return x.dtype in CHOSEN


@hosted()
def is_arithmetic(op: str) -> bool:
    return op in ("Add", "Sub", "Mul", "Div")


def _alike(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    c, x, y, z = g.input(("N", 1), TensorProto.BOOL), g.input(("N", 4)), g.input((4,)), g.input(("N", 4))
    wide = g.input((4,), TensorProto.DOUBLE)
    yield from g.all_fire(where(c, relu(x), relu(y)), where(c, x + z, y + z))
    yield from g.all_fire(where(c, z - x, z - y), where(c, x * z, g.constant(2.0) * z))
    yield from g.near_misses(
        (where(c, relu(x), unary("Tanh", (), y)), "two functions"),
        (where(c, unary("IsNaN", (), x), unary("IsNaN", (), wide)), "of two types"),
        (where(c, x - z, z - y), "on either side"),
        (where(c, x + z, y * z), "two operators"),
    )


@law(uses=(either_side,), examples=_alike)
def made_alike(op: String, s: Settings, c: Tensor, x: Tensor, y: Tensor, z: Tensor, k: Int):
    """Where(c, f(x), f(y)) = f(Where(c, x, y)), likewise x op z and y op z"""
    chosen, why = where(c, x, y), "one of them is not made"
    known = (kernel(are_chosen(x)), guard(varies(x)))
    functions = where(c, unary(op, s, x), unary(op, s, y))
    yield rewrite(functions, unary(op, s, chosen), of_one_type(x, y), *known, because=why)
    both = where(c, beside(op, x, z, k), beside(op, y, z, k))
    yield rewrite(both, beside(op, chosen, z, k), is_arithmetic(op), *known, because=why)


@hosted()
def leaves_shape(y: Fact, *others: Fact) -> bool:
    """Beside these, y makes nothing larger."""
    return any(broadcasts_into(y.shape, other.shape) for other in others)


def _nested(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    c, x, y = g.input(("N", 4), TensorProto.BOOL), g.input(("N", 4)), g.input((4,))
    large, other = g.input((3, 1, 4)), g.input(("N", 4), TensorProto.BOOL)
    d, few = g.input((2, 4), TensorProto.BOOL), g.input((2, 4))
    yield from g.all_fire(where(c, where(c, x, y), y), where(c, y, where(c, y, x)))
    yield g.near_miss(where(c, where(c, x, large), y), why="it would be smaller")
    yield g.near_miss(where(d, where(d, few, g.input((3, 2, 4))), few), why="it would be smaller")
    yield g.near_miss(where(d, few, where(d, g.input((3, 2, 4)), few)), why="it would be smaller")
    yield g.near_miss(where(c, where(other, x, y), x), why="another condition")


@law(kind="eliminate", examples=_nested)
def chosen_before(c: Tensor, x: Tensor, y: Tensor, z: Tensor):
    """Where(c, Where(c, x, y), z) = Where(c, x, z), Where(c, z, Where(c, y, x)) = Where(c, z, x)"""
    known, why = leaves_shape(y, x, c, z), "forgets what is never chosen"
    yield rewrite(where(c, where(c, x, y), z), where(c, x, z), known, because=why)
    yield rewrite(where(c, z, where(c, y, x)), where(c, z, x), known, because=why)


def _masks(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    m, n, x = g.input(("N", 1, 4), TensorProto.BOOL), g.input((5, 4), TensorProto.BOOL), g.input(("N", 5, 4))
    far, zero = g.constant(-1e9), g.constant(0.0)
    yield from g.all_fire(where(n, where(m, x, far), far), where(n, far, where(m, far, x)))
    yield from g.near_misses(
        (where(n, where(m, x, far), zero), "two numbers"),
        (where(n, far, where(m, x, far)), "on the other side"),
    )


@law(source="exporters' attention masks", examples=_masks)
def two_masks(m: Tensor, n: Tensor, x: Tensor, v: Tensor):
    """Where(n, Where(m, x, v), v) = Where(n and m, x, v), likewise Where(n, v, Where(m, v, x)) with or"""
    why = "forgets which of them"
    yield rewrite(where(n, where(m, x, v), v), where(binary("And", n, m), x, v), because=why)
    yield rewrite(where(n, v, where(m, v, x)), where(binary("Or", n, m), v, x), because=why)
