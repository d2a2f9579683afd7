"""Every registered law passes the gate, and each of its conditions is there for something.

What could not be checked is counted; the end of the run shows the counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from egraph_opt.check.dropping import missed
from egraph_opt.check.refusal import LawRefusedError
from egraph_opt.check.whole_law import check_law
from egraph_opt.laws.law import Law
from egraph_opt.laws.selection import all_laws

from .unnoticed import GROWS_ALONE, UNNOTICED, UNTRIED

ALL = bool(os.environ.get("ALL_LAWS"))
TERMS = 160 if ALL else 8
"""Terms of a law; `make laws` tries as many as `check_law`."""

EVERY = 1 if ALL else 24
"""The conditions of one law in so many are dropped; `make laws` drops those of all."""

LAWS = [entry for entry in all_laws() if not entry.ruleset.startswith("tests.")]
"""All but those that tests of other things declare."""

of_laws = pytest.mark.parametrize("entry", LAWS, ids=lambda entry: entry.key, scope="module")
"""The tests of a law run one after the other, for which its engine is made once."""

Record = Callable[[str, object], None]


@of_laws
def test_a_law_passes_the_gate(entry: Law, record_property: Record) -> None:
    try:
        report = check_law(entry, terms=TERMS, conditions=False, neighbours=False, partial=True)
    except LawRefusedError as error:
        if entry.key in GROWS_ALONE and "grows without end" in str(error):
            return
        raise
    assert len(report.untried) <= UNTRIED.get(entry.key, 0), report.untried
    record_property("checks", {"made": dict(report.tally.made), "left out": dict(report.tally.left_out)})


@pytest.mark.parametrize("entry", LAWS[::EVERY], ids=lambda entry: entry.key)
def test_each_condition_of_a_law_is_there_for_something(entry: Law) -> None:
    found = [str(each) for each in missed(entry)]
    assert len(found) <= UNNOTICED.get(entry.key, 0), "\n".join(found)
