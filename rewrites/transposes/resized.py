"""Transposes of spatial axes move past Resize, whose factors move along.

Resize(Transpose_p(x)) = Transpose_p(Resize(x)) by the same factors along the axes where they are then
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Permutation, Settings, Tensor
from egraph_opt.operators import Literal, literal, none, resize, transpose
from egraph_opt.rewrites.conditions.values import is_float
from egraph_opt.rewrites.convolution.resized import CROPPED, NEAREST
from egraph_opt.rewrites.transposes.composition import invert
from egraph_opt.rewrites.transposes.windows import SWAP, keeps_channels


@hosted()
def moved_scales(p: Permutation, scales: Fact, s: Settings) -> Literal | None:
    """The factors of Transpose_p(x) for x, of a Resize by given factors that looks at nothing beyond."""
    numbers, given = scales.data, dict(s)
    if numbers is None or not keeps_channels.function(p) or len(numbers) != len(p) or given.get("axes"):
        return None
    crops = given.get("coordinate_transformation_mode") == "tf_crop_and_resize" or given.get("antialias")
    if given.get("mode") not in ("nearest", "linear") or crops or numbers[:2] != (1, 1) or len(p) != 4:
        return None
    moved = [0.0] * len(p)
    for axis, number in zip(p, numbers, strict=True):
        moved[axis] = float(number)
    return Literal(scales.dtype, (len(p),), tuple(moved))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, wide = g.input(("N", 3, 4, "L")), g.constant(np.array((1, 1, 2, 3), np.float32))
    linear = (("coordinate_transformation_mode", "half_pixel"), ("mode", "linear"))
    crop, roi = (("coordinate_transformation_mode", "tf_crop_and_resize"), *linear[1:]), g.constant(CROPPED)
    for s in (NEAREST, linear):
        yield g.fires(resize(transpose(x, SWAP), none(), wide, none(), s))
        yield g.fires(transpose(resize(x, none(), wide, none(), s), SWAP))
    yield from g.near_misses(
        (resize(transpose(x, SWAP), roi, wide, none(), crop), "where it looks would move, too"),
        (resize(transpose(x, (0, 2, 1, 3)), none(), wide, none(), NEAREST), "channels move"),
    )
    whole, thrice = g.input((2, 3, 8, 9), TensorProto.INT8), g.constant(np.array((1, 1, 3, 6), np.float32))
    yield from g.near_misses(
        (resize(transpose(whole, SWAP), none(), thrice, none(), linear), "means of integers are rounded"),
        (transpose(resize(whole, none(), thrice, none(), linear), SWAP), "means of integers are rounded"),
    )


@law("transpose", numerics="reassociates", kind="move", serves="traffic", examples=_examples)
def through_resize(x: Tensor, p: Permutation, scales: Tensor, s: Settings):
    """Resize(Transpose_p(x)) = Transpose_p(Resize(x)) by factors for images whose channels stay"""
    behind = transpose(resize(x, none(), literal(moved_scales(p, scales, s)), none(), s), p)
    once = (is_float(x), guard(varies(x)))
    yield rewrite(resize(transpose(x, p), none(), scales, none(), s), behind, *once, inverse="through_resize")
    q = invert(p)
    before = resize(transpose(x, p), none(), literal(moved_scales(q, scales, s)), none(), s)
    yield rewrite(transpose(resize(x, none(), scales, none(), s), p), before, *once, inverse="through_resize")
