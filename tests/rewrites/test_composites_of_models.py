"""Trained models: every composite function that their architecture has is found."""

from __future__ import annotations

import pytest
from composites import EXPECTED, composites_of

from tests.installed_models import installed


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED if "/" in name))
def test_all_composites_of_a_trained_model_are_found(name: str) -> None:
    assert dict(composites_of(installed(name))) == EXPECTED[name]
