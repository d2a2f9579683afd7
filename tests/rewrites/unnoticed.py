"""What the gate does not reach of laws: these numbers may only shrink."""

from __future__ import annotations

UNTRIED: dict[str, int] = {"batchnorm.expand_batchnorm": 1, "gather.from_slice": 1, "split.from_slices": 1}
"""Statements of which no term was found to try, nor an example of the author shows any."""

UNNOTICED: dict[str, int] = {
    "composites.primitives.normalisation_parts": 1,  # onnxruntime normalises a scalar, which is no model
    "contracted.zeros_beside": 4,  # beside an infinite weight nothing is finite, of which more is excused
    "elementwise.one_slope_for_all": 1,  # onnxruntime widens the x of a PRelu, which is no model
    "stacks.chain_is_a_sum": 1,  # no Sum is drawn before opset 8, where it broadcasts nothing
    "matmul.scalars_reach_factors": 2,  # infinity times a sum is not finite, of which more is excused
    "narrowing.narrow_indices": 2,  # no axis of 2^31 elements is ever made
    "pooling.cascade_of_pools": 1,  # ONNX leaves open what a window is that is larger than its image
}
"""Conditions without which a law goes wrong nowhere, or that no term was found to try."""

GROWS_ALONE = frozenset({"transpose.through_conv", "transpose.through_conv_transpose"})
"""Laws that end beside those only that make their terms one: transposes in a row are one by another law."""
