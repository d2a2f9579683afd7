"""Wrong laws that no gate has refused change no model: verification sees what they do, on its own."""

from __future__ import annotations

import pytest

from . import wrong_laws
from .let_loose import harm_of

LAWS = {name: entry for name, entry in wrong_laws().items() if not entry.endless}

BELOW = "what is small beside the largest element, or is left of what cancels, counts as rounding"
LONG = "no run has so many elements"
EDGE = "few numbers are so near to where a step overflows, vanishes or changes its sign"
OPEN = "how kernels round, which onnxruntime leaves open"
EMPTY = "dims of 0 are not run"
RELATION = "targets that a run is given are seldom in this relation"
MEANT = "a cast to fewer bits counts as rounding on floats in order"
TIES = "numbers that are equal once they are rounded decide"
SIGN = "the sign of a zero counts only where every bit is promised"
WITHIN = "what it changes is less than the error that tolerances allow"

NOT_SEEN = {
    **dict.fromkeys(("all_of_softmax", "pool_of_any_image"), EMPTY),
    **dict.fromkeys(("dims_as_floats",), LONG),
    **dict.fromkeys(("bound_of_exponentials", "bound_of_probabilities", "factor_in_front"), BELOW),
    **dict.fromkeys(("groups_of_channels", "mirrored_sigmoid", "softplus_as_it_is"), BELOW),
    **dict.fromkeys(("summand_below_exponentials", "variance_around_mean", "softplus_of_mirrored"), BELOW),
    **dict.fromkeys(("shift_into_any_bias",), BELOW),
    **dict.fromkeys(("logarithm_of_any_exponential",), EDGE),
    **dict.fromkeys(("element_at_greatest_place", "exponential_of_shifted", "root_as_power"), EDGE),
    **dict.fromkeys(
        ("power_of_two_into_scale", "zeros_are_nothing", "less_by_difference", "product_of_products"), EDGE
    ),
    **dict.fromkeys(("gelu_is_above", "cosine_of_hardly_shifted", "hard_sigmoid"), EDGE),
    **dict.fromkeys(("power_of_a_half", "scale_of_known_factor", "shift_of_known_summand"), EDGE),
    **dict.fromkeys(("log_of_sum_of_exponentials", "power_of_whole_power", "root_of_exponential"), EDGE),
    **dict.fromkeys(("product_of_bytes", "product_turned_twice", "scale_into_weight"), OPEN),
    **dict.fromkeys(("few_products_of_bytes", "products_of_signed_bytes"), OPEN),
    **dict.fromkeys(("turned_operand_in_gemm", "weights_first"), OPEN),
    **dict.fromkeys(("last_expansion_wins", "last_view_alone", "sums_broadcast_anyway"), RELATION),
    **dict.fromkeys(("between_by_distance", "layer_norm_twice", "log_of_safe_softmax"), EDGE),
    **dict.fromkeys(("unit_length_without_bound", "whole_numbers_are_finite"), EDGE),
    **dict.fromkeys(("mask_of_bounded",), SIGN),
    **dict.fromkeys(("range_in_halves",), MEANT),
    **dict.fromkeys(("floor_by_reciprocal", "place_of_scaled_neighbours", "place_of_what_is_cast"), TIES),
    **dict.fromkeys(("floor_of_quotient", "whole_part_of_quotient"), TIES),
    **dict.fromkeys(("places_of_scaled", "sign_of_scaled_number", "bound_of_scaled_and"), TIES),
    **dict.fromkeys(("float_by_way_of_double", "place_of_whole_numbers"), TIES),
    **dict.fromkeys(("bytes_of_multiples", "threshold_of_multiples"), TIES),
    **dict.fromkeys(("factor_of_one_up_to_rounding", "leaky_as_greatest"), WITHIN),
    **dict.fromkeys(("flat_tanh", "flat_erf", "scaled_softplus", "straight_swish"), WITHIN),
    **dict.fromkeys(("negligible_summand",), WITHIN),
}
"""Wrong laws whose results come back as right, and why; there may only be fewer."""


@pytest.mark.parametrize("name", sorted(LAWS))
def test_what_a_wrong_law_does_is_seen(name: str) -> None:
    harm = harm_of(LAWS[name])
    assert bool(harm) == (name in NOT_SEEN), harm
