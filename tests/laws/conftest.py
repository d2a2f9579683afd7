"""What a test declares or loads is forgotten after it."""

from collections.abc import Iterator

import pytest

from egraph_opt.laws.law import registered
from egraph_opt.laws.selection import all_laws


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    all_laws()
    before = dict(registered)
    yield
    registered.clear()
    registered.update(before)
