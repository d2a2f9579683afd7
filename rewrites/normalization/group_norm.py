"""Constants behind a GroupNormalization become part of its scale and bias.

    GroupNormalization(x; s, b) * c -> GroupNormalization(x; s * c, b * c), + c likewise

It is not written for what exporters spell by InstanceNormalization: onnxruntime has no kernel, and takes the
variance as a difference of squares, which is below 0 where all of a group is one large number.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.laws import Example, Operands, laws_of, rewrite
from egraph_opt.laws.sorts import Settings, Tensor
from egraph_opt.operators import binary, group_norm, reshape
from egraph_opt.rewrites.normalization.batchnorm import are_ordinary, scale_behind, shift_behind

law = laws_of("normalization", numerics="reassociates", kind="fuse", serves="launches")

THREE = (("epsilon", 1e-5), ("num_groups", 3))


def _behind(op: str) -> Any:
    def examples(rng: np.random.Generator) -> Iterator[Example]:
        g = Operands(rng)
        x, s, b = g.input(("N", 6, 2, "L")), g.random(6), g.random(6)
        y = group_norm(x, s, b, THREE)
        for c in (g.random(6, 1, 1), g.random(1)):
            yield replace(g.fires(binary(op, y, c)), opset=21)
        for z, why in (
            (binary(op, y, g.input((6, 1, 1))), "it is no constant"),
            (binary(op, y, g.random(2, 1)), "it varies along an image"),
            (binary(op, group_norm(x, g.input((6,)), b, THREE), g.random(1)), "the scale is no constant"),
        ):
            yield replace(g.near_miss(z, why), opset=21)
        if op == "Add":
            far, opposite = (g.constant(np.full(6, n)) for n in (2e38, -2e38))
            large = group_norm(x, opposite, far, THREE) + g.constant(2e38)
            yield replace(g.near_miss(large, why="the bias overflows"), opset=21)

    return examples


@law(examples=_behind("Mul"))
def scale_of_groups(x: Tensor, s: Tensor, b: Tensor, k: Settings, c: Tensor):
    """GroupNormalization(x; s, b) * c = GroupNormalization(x; s * c, b * c)"""
    factor = reshape(c, scale_behind(x, s, b, c))
    whole = group_norm(x, s * factor, b * factor, k)
    yield rewrite(group_norm(x, s, b, k) * c, whole, because="every factor of a scale would come out")


@law(examples=_behind("Add"))
def shift_of_groups(x: Tensor, s: Tensor, b: Tensor, k: Settings, c: Tensor):
    """GroupNormalization(x; s, b) + c = GroupNormalization(x; s, b + c)"""
    whole = group_norm(x, s, b + reshape(c, shift_behind(x, s, b, c)), k)
    known, why = are_ordinary(s, b, c), "every part of a bias would come out"
    yield rewrite(group_norm(x, s, b, k) + c, whole, known, because=why)
