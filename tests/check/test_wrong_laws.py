"""The gate refuses wrong laws but for a list; see `tests/wrong`.  The end of the run counts the accepted.

Few of them are tried each time (`tests/dealt_variations.py`), all by `make wrong`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from egraph_opt.check import LawRefusedError, check_law

from ..wrong import wrong_laws

LAWS = wrong_laws()

NOT_WRONG = "no term was found"
"""What the gate says of a law that it could not try."""

STILL_ACCEPTED: frozenset[str] = frozenset()
"""Wrong laws that the gate accepts, which it has to meet yet."""

Record = Callable[[str, object], None]


@pytest.mark.parametrize("name", sorted(LAWS))
def test_a_wrong_law_is_refused(name: str, record_property: Record) -> None:
    record_property("wrong law", "accepted")
    if name in STILL_ACCEPTED:
        _is_accepted(name, record_property)
        return
    with pytest.raises(LawRefusedError) as error:
        check_law(LAWS[name].law, conditions=False, neighbours=False, alone=True)
    refusal = str(error.value)
    record_property("wrong law", "not tried" if NOT_WRONG in refusal else "refused")


def _is_accepted(name: str, record_property: Record) -> None:
    """The list shrinks as the gate learns."""
    try:
        check_law(LAWS[name].law, conditions=False, neighbours=False, alone=True)
    except LawRefusedError as refusal:
        record_property("wrong law", "refused")
        pytest.fail(f"the gate refuses {name} now: take it off STILL_ACCEPTED\n{refusal}")


def test_what_is_still_accepted_is_a_wrong_law() -> None:
    assert set(LAWS) >= STILL_ACCEPTED


@pytest.mark.parametrize("name", ["bounds_are_bounds", "by_way_of_fewer_bits", "greater_operand"])
def test_the_verdict_depends_on_no_name(name: str) -> None:
    messages = set()
    for other in (name, "renamed", "x"):
        law = replace(LAWS[name].law, name=other)
        with pytest.raises(LawRefusedError) as refusal:
            check_law(law, conditions=False, neighbours=False, alone=True)
        messages.add(str(refusal.value).replace(f"wrong.{other}", "wrong.law"))
    assert len(messages) == 1
