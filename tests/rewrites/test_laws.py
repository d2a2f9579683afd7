"""Every registered law: it fires where it should, not on near-misses, and both sides compute the same.

What could not be checked is counted; the end of the run shows the counts, and `LEFT_OUT` bounds them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from egraph_opt.laws.law import Example, Law
from egraph_opt.laws.selection import all_laws
from egraph_opt.testing.comparison import FOREIGN, Tally
from egraph_opt.testing.drawn_checks import check_statements
from egraph_opt.testing.entries import tables_of
from egraph_opt.testing.harness import check_example, check_variant
from egraph_opt.testing.variants import variants

from .unexampled import UNDEMANDED, UNEXAMPLED, UNPINNED

VARIANTS = 1
"""Variants that are drawn of the examples of a law."""

ENTRIES = 1
"""Operators, modes or types of a statement about several on which it is checked, besides those drawn."""

ENTRY_TRIES = 40
"""Draws of an example of each; `check_law` tries longer."""

LEFT_OUT = 0.25
"""The most of a law's checks that may be left out; empty tensors, which onnxruntime refuses, are extra, and
operators of its own, which the reference does not know."""

EXTRA = ("a dim is 0", FOREIGN)
EVALUATORS = ("onnxruntime, normal", "reference")

LAWS = sorted(
    (entry for entry in all_laws() if not entry.ruleset.startswith("tests.")),
    key=lambda entry: entry.examples is None,
)
"""All but those that tests of other things declare, first those with examples written by hand."""

WRITTEN = [entry for entry in LAWS if entry.examples is not None]
"""Of other laws examples are drawn only."""

of_laws = pytest.mark.parametrize("entry", LAWS, ids=lambda entry: entry.key, scope="module")
of_written_laws = pytest.mark.parametrize("entry", WRITTEN, ids=lambda entry: entry.key, scope="module")
"""The tests of a law run one after the other, for which its engine is made once."""

Record = Callable[[str, object], None]


def _written(entry: Law) -> list[Example]:
    return list(entry.examples(np.random.default_rng(0))) if entry.examples else []


@cache
def _checked(entry: Law) -> tuple[Tally, frozenset[str]]:
    """What was checked of a law's written examples, and which of its rules match on them."""
    tally, rules = Tally(), set[str]()
    for example in _written(entry):
        checked = check_example(entry, example)
        tally.add(checked.tally)
        rules |= checked.rules.keys()
    return tally, frozenset(rules)


@of_written_laws
def test_a_law_holds_on_its_examples(entry: Law, record_property: Record) -> None:
    tally, _ = _checked(entry)
    record_property("checks", {"made": dict(tally.made), "left out": dict(tally.left_out)})
    if tally.made:
        _assert_bounds(entry, tally)


def _assert_bounds(entry: Law, tally: Tally) -> None:
    for evaluator in EVALUATORS if entry.exact and FOREIGN not in tally.left_out else EVALUATORS[:1]:
        assert tally.made[evaluator], f"{entry.key} was checked by no {evaluator}: {tally.left_out}"
    left_out = sum(n for reason, n in tally.left_out.items() if not any(e in reason for e in EXTRA))
    assert left_out <= LEFT_OUT * tally.made.total(), f"{entry.key}: {tally.left_out}"


@of_written_laws
def test_a_law_holds_in_other_types_sizes_and_ranks(entry: Law, record_property: Record) -> None:
    tally, rng = Tally(), np.random.default_rng(0)
    examples = [e for e in _written(entry) if e.fires]
    every = [variant for example in examples for _, variant in variants(example)]
    for k in sorted(rng.permutation(len(every))[:VARIANTS].tolist()):
        checked = check_variant(entry, every[k])
        if checked is not None:
            tally.add(checked.tally)
    record_property("checks", {"made": dict(tally.made), "left out of variants": dict(tally.left_out)})


@of_laws
def test_a_law_holds_on_examples_drawn_from_its_statements(entry: Law, record_property: Record) -> None:
    """Those on which one condition fails alone are no matches; what has no example of any kind is counted."""
    shown = check_statements(entry, _written(entry), _checked(entry)[1])
    tally = shown.tally
    record_property("checks", {"made on drawn": dict(tally.made), "left out of drawn": dict(tally.left_out)})
    for found, most, what in (
        (shown.unexampled, UNEXAMPLED, "without an example"),
        (shown.undemanded, UNDEMANDED, "never in demand"),
        (shown.unpinned, UNPINNED, "not pinned"),
    ):
        assert len(found) <= most.get(entry.key, 0), f"{entry.key}, {what}: {found}"


@of_laws
def test_a_law_holds_of_several_operators_that_it_is_about(entry: Law, record_property: Record) -> None:
    """Some of those that two random examples do not show; `check_law` asks for all."""
    tally = Tally()
    for entries in tables_of(entry, (), ENTRIES, ENTRY_TRIES):
        tally.add(entries.tally)
    record_property("checks", {"made of tables": dict(tally.made)})
