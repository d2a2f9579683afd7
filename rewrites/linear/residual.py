"""What is added to a product of itself is one more element of each row of the weight.

x @ W + x = x @ (W + I)        x @ W - x = x @ (W - I)        x - x @ W = x @ (I - W)
x @ W + b + x = x @ (W + I) + b                 likewise, for a constant b
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import DataType, Int, Tensor
from egraph_opt.operators import Literal, binary, cast, literal
from egraph_opt.rewrites.conditions.chains import affine, chosen, of_weight, weights
from egraph_opt.rewrites.conditions.channels import is_float_constant, static_shape
from egraph_opt.rewrites.conditions.operands import beside, either_side

law = laws_of("matmul", numerics="reassociates", kind="fuse", serves="launches", source="linear algebra")

LARGEST = 2**20
"""Elements of a weight to which an identity is added."""


class Identity(NamedTuple):
    """A matrix that is 1 where its row is its column, else 0."""

    rows: Literal
    columns: Literal
    dtype: DataType


@hosted()
def identity_like(w: Fact, x: Fact) -> Identity | None:
    """The identity in the form of a square weight of what is no vector."""
    shape = static_shape(w)
    if shape is None or len(shape) != 2 or shape[0] != shape[1] or not is_float_constant(w):
        return None
    if not x.rank or not 1 < shape[0] ** 2 <= LARGEST:
        return None
    places = tuple(range(shape[0]))
    rows, columns = ((shape[0], 1), (1, shape[0]))
    return Identity(
        Literal(TensorProto.INT64, rows, places), Literal(TensorProto.INT64, columns, places), w.dtype
    )


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    w = g.random(4, 4)
    for x in (g.input(("N", 5, 4)), g.input((3, 4)), g.input((4,))):
        y = x @ w
        yield from g.all_fire(y + x, x + y, y - x, x - y)
        b = y + g.random(4)
        yield from g.all_fire(b + x, x + b, b - x, x - b)
    x, z, large = g.input(("N", 5, 4)), g.input(("N", 5, 4)), g.input((4, 4))
    yield from g.near_misses(
        (x @ w + z, "another tensor"),
        (x @ g.random(4, 1) + x, "a column is broadcast"),
        (x @ g.input((4, 4)) + x, "the weight varies"),
        (w @ large + large, "the weight stands on the left"),
        (x * g.random(4) + x, "no product of matrices"),
        ((x @ w + g.random(4)) + z, "another tensor behind a bias"),
        ((x @ w + z) + x, "the bias is no constant"),
    )


@law(examples=_examples, uses=(affine, weights, either_side))
def identity_branch(x: Tensor, w: Tensor, b: Tensor, i: Int):
    """x @ W + x = x @ (W + I), likewise x @ W - x and x - x @ W, and with a constant b beside x @ W"""
    found, why = identity_like(w, x), "forgets what was in the weight"
    ones = cast(binary("Equal", literal(found[0]), literal(found[1])), found[2])
    demand = (*guard(varies(x)), *of_weight(x, w, 0))
    yield rewrite(beside("Add", x @ w, x, i), x @ (w + ones), *demand, because=why)
    yield rewrite(x @ w - x, x @ (w - ones), *demand, because=why)
    yield rewrite(x - x @ w, x @ (ones - w), *demand, because=why)
    y, shifted = x @ w + b, (*demand, *chosen("Add", x @ w, b))
    yield rewrite(beside("Add", y, x, i), x @ (w + ones) + b, *shifted, because=why)
    yield rewrite(y - x, x @ (w - ones) + b, *shifted, because=why)
    yield rewrite(x - y, x @ (ones - w) - b, *shifted, because=why)
