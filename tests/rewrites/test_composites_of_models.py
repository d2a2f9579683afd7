"""Trained models: every composite function that their architecture has is found."""

from __future__ import annotations

import pytest
from composites import EXPECTED, composites_of
from model_files import trained_models


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED if "/" in name))
def test_all_composites_of_a_trained_model_are_found(name: str) -> None:
    models = trained_models()
    if name not in models:
        pytest.skip("the wheels of tests/models.txt are not installed")
    assert dict(composites_of(models[name])) == EXPECTED[name]
