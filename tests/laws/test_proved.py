"""Answers of proofs are of laws as they are now, and a choice of laws is made by them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from egraph_opt.errors import ArgumentError
from egraph_opt.laws import proved
from egraph_opt.laws.selection import all_laws

LAWS = {law.key: law for law in all_laws() if not law.ruleset.startswith("tests.")}
"""All but those that tests of other things declare."""


def test_no_answer_is_stale() -> None:
    stale = proved.stale(LAWS.values())
    assert not stale, f"laws or the prover have changed: `make proofs` answers for {len(stale)}: {stale[:20]}"
    assert proved.answers()["laws"].keys() == LAWS.keys()


def test_an_answer_is_of_the_text_of_a_law() -> None:
    law = next(law for law in LAWS.values() if proved.is_proved(law))
    other = LAWS["slice.compose"]
    assert proved.digest_of(law) != proved.digest_of(replace(law, function=other.function))
    assert not proved.is_proved(replace(law, function=other.function))
    assert not proved.is_proved(replace(law, dropped=(0, 0)))
    assert not proved.is_proved(replace(law, name="unheard_of"))
    assert proved.told_proof(law).startswith("proved") and len(proved.among(LAWS.values(), "all")) == len(
        LAWS
    )


def test_only_proved_laws_take_part_where_that_is_asked_for() -> None:
    known = {law.key for law in proved.among(LAWS.values(), "proved")}
    assert 50 < len(known) < len(LAWS)
    assert all(proved.answers()["laws"][key]["status"] == "proved" for key in known)
    with pytest.raises(ArgumentError, match="laws='some': is none of all, proved"):
        proved.among(LAWS.values(), "some")
