"""Every registered law passes the gate, and each of its conditions is there for something.

`make laws` tries all laws, or with WHICH=changed those that have changed, on all terms, and writes which of
them passed; otherwise a share of those that have not changed is tried as well, on fewer terms.  What could
not be checked is counted; the end of the run shows the counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from egraph_opt.check.dropping import missed
from egraph_opt.check.refusal import LawRefusedError
from egraph_opt.check.whole_law import TERMS as ALL_TERMS
from egraph_opt.check.whole_law import check_law
from egraph_opt.laws.law import Law
from egraph_opt.laws.proved import digest_of

from .accepted import LAWS, has_changed, tried_again
from .unnoticed import GROWS_ALONE, UNNOTICED, UNTRIED

WHICH = os.environ.get("LAWS", "")
TERMS = 8
"""Terms of a law that has not changed; others have all."""

EVERY = 8
"""The conditions of one law in so many of those that are tried again are dropped, and of all that changed.

Whether there is a term on which a condition alone fails is asked of laws that changed only: other tables find
other terms.
"""

TRIED = {"all": LAWS, "changed": list(filter(has_changed, LAWS))}.get(WHICH) or tried_again()
DROPPED = TRIED if WHICH else [law for k, law in enumerate(TRIED) if k % EVERY == 0 or has_changed(law)]

Record = Callable[[str, object], None]


@pytest.mark.parametrize("entry", TRIED, ids=lambda entry: entry.key)
def test_a_law_passes_the_gate(entry: Law, record_property: Record) -> None:
    terms = ALL_TERMS if WHICH or has_changed(entry) else TERMS
    record_property("passes", [entry.key, digest_of(entry)])
    try:
        report = check_law(entry, terms=terms, conditions=False, neighbours=False, partial=True, alone=True)
    except LawRefusedError as error:
        if entry.key in GROWS_ALONE and "grows without end" in str(error):
            return
        raise
    assert len(report.untried) <= UNTRIED.get(entry.key, 0), report.untried
    record_property("checks", {"made": dict(report.tally.made), "left out": dict(report.tally.left_out)})


@pytest.mark.parametrize("entry", DROPPED, ids=lambda entry: entry.key)
def test_each_condition_of_a_law_is_there_for_something(entry: Law, record_property: Record) -> None:
    record_property("passes", [entry.key, digest_of(entry)])
    whole = bool(WHICH) or has_changed(entry)
    found = [str(each) for each in missed(entry) if whole or each.reached]
    assert len(found) <= UNNOTICED.get(entry.key, 0), "\n".join(found)
