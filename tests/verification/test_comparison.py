"""Tolerances: what counts as equal, and which scale an error is measured against."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from egraph_opt.verification.comparison import TOLERANCES, compare, leaves, scales


@pytest.mark.parametrize("dtype", sorted(TOLERANCES, key=str), ids=str)
def test_an_error_within_the_tolerance_agrees_and_one_beyond_does_not(dtype: np.dtype) -> None:
    tolerance = TOLERANCES[dtype]
    a = np.array([1.0, -2.0, 0.5, 2.0]).astype(dtype)
    allowed = tolerance.rtol * 2 + tolerance.atol
    for factor, agrees in ((0.4, True), (4.0, False)):
        b = (a.astype(np.complex128) + factor * allowed).real.astype(dtype)
        assert compare(a, b).agrees == agrees or np.array_equal(a, b)
    assert compare(a, a).agrees


def test_integers_booleans_and_unknown_floats_have_to_be_equal() -> None:
    for dtype in (np.int64, np.uint8, np.bool_, ml_dtypes.int4, ml_dtypes.float4_e2m1fn):
        a = np.array([0, 1, 1, 0]).astype(dtype)
        b = np.array([0, 1, 1, 1]).astype(dtype)
        assert compare(a, a).agrees
        difference = compare(a, b)
        assert not difference.agrees
        assert "1 of 4 elements differ; at [3]" in difference.message


def test_shape_dtype_and_presence_have_to_be_the_same() -> None:
    a = np.ones((2, 3), np.float32)
    assert "shape was [2, 3] and is [3, 2]" in compare(a, a.T).message
    assert "shape was [2, 3] and is [1, 2, 3]" in compare(a, a[None]).message
    assert "dtype was float32 and is float64" in compare(a, a.astype(np.float64)).message
    assert "is absent" in compare(a, None).message
    assert compare(None, None).agrees
    assert not compare(None, a).agrees


def test_an_empty_tensor_and_a_scalar_are_compared_too() -> None:
    empty = np.zeros((0, 3), np.float32)
    assert compare(empty, empty).agrees
    assert not compare(empty, np.zeros((3, 0), np.float32)).agrees
    assert compare(np.array(1, np.float32), np.array(1, np.float32)).agrees
    assert not compare(np.array(1, np.float32), np.array(1.1, np.float32)).agrees


def test_infinities_and_nan_are_equal_to_themselves_only() -> None:
    odd = [np.nan, np.inf, -np.inf, 0.0, 3.4e38]
    for i, x in enumerate(odd):
        for j, y in enumerate(odd):
            a, b = np.array([x, 1.0], np.float32), np.array([y, 1.0], np.float32)
            assert compare(a, b).agrees == (i == j), (x, y)


def test_boxes_in_pixels_do_not_hide_wrong_scores() -> None:
    generator = np.random.default_rng(0)
    boxes, scores = 640 * generator.random((1, 4, 1000)), generator.random((1, 3, 1000))
    a = np.concatenate([boxes, scores], axis=1).astype(np.float32)
    b = a.copy()
    b[0, 5] *= 1.01
    assert compare(a, a).agrees
    assert not compare(a, b).agrees
    assert not compare(np.swapaxes(a, 1, 2), np.swapaxes(b, 1, 2)).agrees


def test_a_mask_of_large_numbers_hides_nothing() -> None:
    a = np.array([-3.4e38, 0.5, 1.5, -1e9, 2.5], np.float32)
    b = a + np.array([0, 0, 0.01, 0, 0], np.float32)
    assert not compare(a, b).agrees
    assert compare(a, a * np.float32(1 + 1e-6)).agrees


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.floats(-30, 30))
def test_no_scale_is_above_the_largest_magnitude_nor_below_the_element(
    seed: int, rank: int, power: float
) -> None:
    generator = np.random.default_rng(seed)
    shape = tuple(generator.integers(1, 12, rank))
    a = (generator.standard_normal(shape) * 10.0 ** (power * generator.random(shape))).astype(np.float64)
    scale = np.broadcast_to(scales(a), a.shape)
    assert (scale <= np.abs(a).max()).all()
    assert (scale >= np.abs(a)).all()


def test_sequences_maps_and_absent_values_are_taken_apart() -> None:
    value = [np.ones(2), {"b": np.zeros(1), "a": np.zeros(1)}, None]
    found = leaves("y", value)
    assert list(found) == ["y (length)", "y[0]", "y[1] (keys)", "y[1]['a']", "y[1]['b']", "y[2]"]
    assert found["y (length)"] == "3"
    assert found["y[2]"] is None
    assert not compare(leaves("y", [1])["y (length)"], leaves("y", [1, 2])["y (length)"]).agrees
