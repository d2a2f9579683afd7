"""Softmax along the last axis, which kernels read as it lies in memory.

Softmax_a(x) -> T'(Softmax_last(T(x)))    T: axis a becomes the last one
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.sorts import Axis, Permutation, String, Tensor
from egraph_opt.operators import softmax, transpose
from egraph_opt.rewrites.transposes.composition import invert


@hosted()
def to_the_end(x: Fact, axis: Axis) -> Permutation | None:
    """The transpose that makes an axis the last one; None where only axes of one element come after it."""
    if x.shape is None or x.const or all(dim == 1 for dim in x.shape[axis + 1 :]):
        return None
    return (*(k for k in range(len(x.shape)) if k != axis), axis)


@hosted()
def last_axis(p: Permutation) -> Axis:
    return len(p) - 1


def _inner_axes(rng: np.random.Generator) -> Iterator[Example]:
    for kind, shape, axis in (
        ("Softmax", (2, 5, 3), 1),
        ("LogSoftmax", (4, "L"), 0),
        ("Softmax", ("N", 3, 1, 2), 1),
    ):
        yield (g := Operands(rng)).fires(softmax(kind, g.input(shape), axis))
    g = Operands(rng)
    yield g.near_miss(softmax("Softmax", g.input((2, 5, 3)), 2), why="it is the last axis")
    yield g.near_miss(softmax("Softmax", g.input((2, 5, 1)), 1), why="nothing comes after the axis")


@law(
    "transpose",
    numerics="reassociates",
    kind="split",
    serves="target",
    source="onnxruntime, core/providers/cpu/math/softmax.cc",
    examples=_inner_axes,
)
def softmax_along_last(kind: String, x: Tensor, a: Axis):
    """Softmax_a(x) = T'(Softmax_last(T(x))) where T makes a the last axis"""
    p = to_the_end(x, a)
    turned = transpose(softmax(kind, transpose(x, p), last_axis(p)), invert(p))
    yield rewrite(softmax(kind, x, a), turned, inverse="through_softmax")
