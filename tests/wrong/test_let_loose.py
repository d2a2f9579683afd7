"""Wrong laws that no gate has refused change no model: verification sees what they do, on its own."""

from __future__ import annotations

import os

import pytest

from . import wrong_laws
from .let_loose import harm_of

LAWS = {name: entry for name, entry in wrong_laws().items() if not entry.endless}
EVERY = 1 if os.environ.get("ALL_WRONG_LAWS") else 64
"""One wrong law in so many is let loose; `make wrong` lets all."""

NOT_SEEN: dict[str, str] = {}
"""Wrong laws whose results come back as right, and why; there may only be fewer."""


@pytest.mark.parametrize("name", sorted(LAWS)[::EVERY])
def test_what_a_wrong_law_does_is_seen(name: str) -> None:
    harm = harm_of(LAWS[name])
    assert bool(harm) == (name in NOT_SEEN), harm
