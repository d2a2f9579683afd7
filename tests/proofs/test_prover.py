"""Laws are proved for all sizes, wrong ones never are, and what cannot be shown says why."""

from __future__ import annotations

import json
import os

import pytest
from typer.testing import CliRunner

from egraph_opt.cli import app
from egraph_opt.laws.law import registered
from egraph_opt.laws.selection import all_laws
from egraph_opt.proofs.prover import SECONDS, prove

from ..wrong import wrong_laws

LAWS = {law.key: law for law in all_laws()}
WRONG = wrong_laws()

PROVED = (
    "concat.single",
    "elementwise.few_operands",
    "concat.flatten",
    "concat.without_empty",
    "conv1d.past_concat",
    "elementwise.idempotent",
    "elementwise.relu_is_a_bound",
    "elementwise.square",
    "expand.tile_of_tile",
    "gemm.transposed_product",
    "logistic.softplus_of_size",
    "reduction.extreme_past_bias",
    "reduction.global_pool_is_reduction",
    "softmax.softmax_of_exponentials",
    "transpose.drop_identity",
    "transpose.of_product",
    "transpose.through_conv",
    "transpose.through_cast",
    "transpose.through_unary",
)
"""Of each kind of meaning one: movement, arithmetic, product, sum, exponential, window, cast, table."""

OUTSIDE = {
    "any_batchnorm_apart": "a constant overflows",
    "shift_behind_any_batchnorm": "a constant overflows",
    "shift_in_front_of_any_summand": "a constant overflows",
    "shift_behind_halves": "a constant overflows",
    "windows_on_pads_lifted": "a runtime counts windows otherwise than ONNX",
    "any_scale_beside_root": "a step overflows",
    "attention_of_doubles": "an operator rounds to float32",
    "celu_as_elu": "a constant overflows",
    "twice_the_lower_half": "a constant overflows",
    "written_out_elu": "a constant overflows",
    "hard_sigmoid_moved": "a constant overflows",
    "leaky_from_below": "a constant overflows",
    "reciprocal_of_scaled": "a constant overflows",
    "greater_before_cast": "it takes a type that a proof does not look at",
    "columns_of_large_product": "a runtime adds up large products in parts",
    "scales_of_which_one_is_known": "a constant overflows",
    "equality_of_wide_integers": "an old opset lacks the type",
    "cast_behind_choice": "a runtime takes -0.0 for 0.0",
    "cast_before_slice": "it takes a type that a proof does not look at",
    "cast_before_turn": "it takes a type that a proof does not look at",
    "constant_behind_as_pad": "a runtime lacks a kernel",
    "conv_between_turns": "it takes more axes than a proof looks at",
    "elements_exchanged_twice": "it takes more elements than a proof looks at",
    "even_places_first": "it takes more elements than a proof looks at",
    "exchanged_twice": "it takes more axes than a proof looks at",
    "factor_of_each_copy": "it takes more elements than a proof looks at",
    "factors_in_pairs": "it takes more elements than a proof looks at",
    "gather_backwards": "it takes more elements than a proof looks at",
    "its_own_inverse": "it takes more axes than a proof looks at",
    "leaky_relu_of_any_float": "a runtime lacks a kernel",
    "log_of_sum_of_exponentials": "a step has few digits",
    "logarithm_of_sum_of_exponentials": "a step overflows",
    "lower_bounds_below_upper": "it takes more elements than a proof looks at",
    "mean_before_turn": "it takes more axes than a proof looks at",
    "negated_comparison": "an old opset lacks the operator",
    "greatest_of_zero_and": "an old opset lacks the type",
    "neither_less_nor_greater": "an old opset lacks the type",
    "one_factor": "it takes more elements than a proof looks at",
    "one_of_equal_parts": "it takes more parts than a proof looks at",
    "pads_of_equal_values": "0.0 and -0.0 are one number",
    "pool_between_turns": "it takes more axes than a proof looks at",
    "product_of_any_sum": "a product of constants overflows",
    "product_turned_twice": "a runtime adds up large products in parts",
    "relu_of_last": "it takes more axes than a proof looks at",
    "relu_twice_of_either": "an auxiliary says that two operators are one",
    "rows_of_batches": "it takes more axes than a proof looks at",
    "scale_of_known_factor": "a constant overflows",
    "alpha_beside_zeros": "a constant overflows",
    "scale_overflows_in_weight": "a constant overflows",
    "scaled_there_and_back": "a step has few digits",
    "scales_in_a_row": "a constant overflows",
    "shift_of_known_summand": "a constant overflows",
    "shift_overflows_in_product": "a constant overflows",
    "shift_that_is_a_mask": "a constant is infinite",
    "softmax_after_turn": "it takes more axes than a proof looks at",
    "softmax_before_ones": "it takes more axes than a proof looks at",
    "softmax_of_last": "it takes more axes than a proof looks at",
    "softplus_of_any_type": "a runtime lacks a kernel",
    "pool_of_any_image": "a runtime has no kernel for images without channels",
    "softplus_spelled_out": "a step overflows",
    "sum_of_any_factors": "a constant overflows",
    "the_same_order_twice": "it takes more axes than a proof looks at",
    "there_and_back_again": "it takes more elements than a proof looks at",
    "three_terms_at_once": "an old opset does not broadcast",
    "transposes_by_digits": "it takes more axes than a proof looks at",
    "turned_operand_in_gemm": "a runtime adds up large products in parts",
    "turned_thrice": "it takes more axes than a proof looks at",
    "update_of_large_factors": "a product of weights overflows",
    "upward_between_turns": "it takes more axes than a proof looks at",
    "wide_and_back": "it takes a type that a proof does not look at",
}
"""Wrong laws that hold in the arithmetic that they claim, and why they are wrong all the same."""


@pytest.mark.parametrize("key", PROVED)
def test_a_law_is_proved(key: str) -> None:
    proof = prove(LAWS[key], 30.0)
    assert proof.status == "proved", proof.reason
    assert proof.cases > 1 and proof.ranks >= 2


NEARLY_PROVED = (
    "difference_above_zero", "exponential_of_sum", "function_in_wider_float", "global_pool_as_mean",
    "pads_in_a_row", "product_of_transposed", "quotient_in_double", "sigmoid_by_exponentials",
    "sign_of_difference", "slice_behind_the_first", "slice_of_transposed", "sum_of_any_two",
    "sum_of_one_element", "sum_past_transpose", "three_together", "scale_before_resize",
    "shift_before_resize", "offsets_in_turn", "wrapped_by_slices", "parts_by_choice", "half_twice",
    "maximum_of_one",
)  # fmt: skip
"""Wrong of kernels that add up in another order, of modes, permutations, bounds, types, steps and -0.0, of
integers that wrap around before they are compared, of parts that are not named, of what is outside of an
image, of whole numbers that go through floats, of pads that go round more than once, of indices that are not
within an axis, of integers that are halved, and of types that an operator does not take."""


ALL = "ALL_WRONG_LAWS" in os.environ
"""All wrong laws have as much time as others: 3 minutes."""


@pytest.mark.parametrize("name", sorted({n for n in WRONG if not WRONG[n].endless} - {*OUTSIDE}))
def test_a_wrong_law_is_not_proved(name: str) -> None:
    assert prove(WRONG[name].law, SECONDS if ALL else 0.5, refute=False).status != "proved"


@pytest.mark.parametrize("name", NEARLY_PROVED)
def test_what_a_weaker_arithmetic_would_prove_is_not_proved(name: str) -> None:
    assert prove(WRONG[name].law, 3.0, refute=False).status != "proved"


def test_what_a_proof_cannot_see_is_listed() -> None:
    for name in OUTSIDE:
        assert name in WRONG and not WRONG[name].endless


@pytest.mark.parametrize("name", ["batch_moved_by_view", "clip_as_minimum", "sum_of_sizes"])
def test_what_holds_of_other_numbers_only_is_open(name: str) -> None:
    if name in WRONG:
        proof = prove(WRONG[name].law, 20.0, refute=False)
        assert proof.status == "open" and proof.reason


WRONG_FILE = """
from egraph_opt.laws import law, rewrite
from egraph_opt.laws.sorts import Permutation, Tensor
from egraph_opt.operators import transpose


@law("proved_here", numerics="bitwise")
def same_twice(x: Tensor, p: Permutation):
    '''Transpose_p(Transpose_p(x)) = x'''
    yield rewrite(transpose(transpose(x, p), p), x, because="every x would be a Transpose")
"""


def test_a_law_of_ones_own_is_refuted_with_an_example(tmp_path) -> None:
    file = tmp_path / "own.py"
    file.write_text(WRONG_FILE)
    result = CliRunner().invoke(app, ["prove", "--load", str(file), "--json"])
    registered.pop("proved_here.same_twice")
    assert result.exit_code == 3
    (record,) = json.loads(result.stdout)
    assert (record["name"], record["status"]) == ("proved_here.same_twice", "refuted")
    assert "transpose" in record["reason"]


def test_the_command_lists_in_80_columns() -> None:
    result = CliRunner().invoke(app, ["prove", "transpose.through_unary", "recurrent.last_step"])
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "1 proved, 0 refuted, 1 open" in result.stdout
    assert "recurrent has no meaning yet" in result.stdout
    assert CliRunner().invoke(app, ["prove", "no.such_law"]).exit_code == 2
