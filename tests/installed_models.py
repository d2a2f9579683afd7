"""Real models that wheels hold, by name; a test of one that is not installed is skipped with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_files import light_models, trained_models

PATHS = trained_models() | light_models()


def installed(name: str) -> Path:
    if name not in PATHS:
        pytest.skip(f"{name} is not installed: pip install --no-deps -r tests/models.txt")
    return PATHS[name]
