"""What a test declares or loads is forgotten after it."""

import pytest


@pytest.fixture(autouse=True)
def _nothing_stays(restored_laws: None) -> None:
    """As `restored_laws` says, in every test of this folder."""
