"""What the gate does not reach of laws: these numbers may only shrink."""

from __future__ import annotations

UNTRIED: dict[str, int] = {
    "batchnorm.expand_batchnorm": 1,
    "gather.from_slice": 1,
    "shapes.dims_of_input": 2,
    "normalization.inner_axes": 1,
    "split.from_slices": 1,
}
"""Statements of which no term was found to try, nor an example of the author shows any."""

UNNOTICED: dict[str, int] = {
    "activations.gate_apart": 2,
    "approximate.double_in_float": 1,
    "approximate.steep_in_float": 1,
    "attention.attend": 3,  # a rounded scale shows where a mask takes scores away
    "attention.masks_meet": 1,  # of constants that take each other away it goes wrong
    "batchnorm.shift_after_batchnorm": 1,  # of constants that take each other away it goes wrong
    "bounds.bound_of_choice": 1,  # where ONNX has no Max of a type
    "composites.primitives.normalisation_parts": 1,  # onnxruntime normalises a scalar, which is no model
    "constants.scale_of_products": 4,  # of constants that are too large it goes wrong
    "constants.scales_meet": 1,  # of constants of which products are infinite
    "constants.shifts_meet": 1,  # of constants that take each other away it goes wrong
    "contracted.constant_channels": 2,
    "contracted.constant_columns": 2,
    "contracted.zeros_beside": 4,
    "convolution.of_convolution": 2,  # of constants near the end of their type
    "convolution.point_behind_transposed": 1,  # a bias that is computed, of which no term was found
    "convolution.scale_before_conv_transpose": 1,  # of constants that are too large it goes wrong
    "convolution.scale_below_shift": 1,  # of constants near the end of their type
    "convolution.shift_before_conv": 4,  # of weights that are too large it goes wrong
    "convolution_sums.of_one_weight": 2,  # of constants near the end of their type
    "elementwise.one_slope_for_all": 1,
    "expand.past_where": 1,
    "gather.operands_in_order": 1,  # two ranks of which both have the axis, permuted alike
    "gemm.gemm_apart": 1,  # of constants near the end of their type
    "halves.scaled_halves": 1,  # of constants near the end of their type
    "logistic.sigmoid_of_exponential": 1,
    "logistic.softplus_below": 4,
    "matmul.low_rank_update": 2,
    "matmul.scalars_reach_factors": 4,  # of constants that overflow beside an input, which is excused
    "narrowing.narrow_indices": 2,  # no axis of 2^31 elements is ever made
    "normalization.centred_before_scaling": 3,  # of constants near the end of their type
    "normalization.inner_axes": 3,  # an epsilon of 0 shows where roundings do
    "normalization.scale": 6,  # of constants, those without elements only
    "normalization.scale_with_bias": 2,
    "normalization.shift_of_instances": 1,  # of constants that take each other away it goes wrong
    "normalization.variance": 1,  # of constants alone it goes wrong
    "onnxruntime.operators.norm_of_residual": 3,  # of a level row, where roundings show
    "pooling.cascade_of_pools": 1,  # windows beyond a target's limits that are larger than their images
    "recurrent.product_into_weights": 1,  # of constants near the end of their type
    "recurrent.shift_into_bias": 2,  # of weights that are too large it goes wrong
    "resize.pooled_repetition": 1,
    "resize.repeated_elements": 2,
    "resize.sliced_repetition": 1,
    "resize.sum_of_resizes": 1,
    "selection.scale_of_part": 4,  # of constants near the end of their type
    "shapes.dims_of_input": 4,
    "signs.elu_by_sign": 1,
    "softmax.level_shift": 1,
    "sums_of_parts.of_neighbouring_channels": 2,
    "tables.normalized_rows": 1,
    "tables.product_of_rows": 2,
    "transpose.through_resize": 1,
}
"""Conditions without which a law goes wrong nowhere, or that no term was found to try."""

GROWS_ALONE = frozenset({"transpose.through_conv", "transpose.through_conv_transpose"})
"""Laws that end beside those only that make their terms one: transposes in a row are one by another law."""
