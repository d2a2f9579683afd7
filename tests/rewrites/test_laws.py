"""Every registered law: it fires where it should, not on near-misses, and both sides compute the same.

What could not be checked is counted; the end of the run shows the counts, and `LEFT_OUT` bounds them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from egraph_opt.laws.law import Law
from egraph_opt.laws.selection import all_laws
from egraph_opt.testing.comparison import FOREIGN, Tally
from egraph_opt.testing.drawing import sides_of
from egraph_opt.testing.drawn_checks import FEW, MISS_TRIES, check_near_misses, check_positives, pinned_by
from egraph_opt.testing.harness import check_example, check_variant, fired_on
from egraph_opt.testing.variants import variants

from .unexampled import UNEXAMPLED, UNPINNED

SEEDS = (0, 1)
"""Of the examples, which draw their constants, and of the elements of inputs; odd ones for the first only."""

VARIANTS = 1
"""Variants that are drawn of the examples of a law."""

LEFT_OUT = 0.25
"""The most of a law's checks that may be left out; empty tensors, which onnxruntime refuses, are extra, and
operators of its own, which the reference does not know."""

EXTRA = ("a dim is 0", FOREIGN)
EVALUATORS = ("onnxruntime, normal", "reference")

LAWS = [entry for entry in all_laws() if not entry.ruleset.startswith("tests.")]
"""All but those that tests of other things declare."""

WRITTEN = [entry for entry in LAWS if entry.examples is not None]
"""Laws with examples written by hand; of others they are drawn."""

Record = Callable[[str, object], None]


@pytest.mark.parametrize("entry", WRITTEN, ids=lambda entry: entry.key)
def test_a_law_holds_on_its_examples(entry: Law, record_property: Record) -> None:
    assert entry.examples is not None
    tally = Tally()
    for seed in SEEDS:
        for example in entry.examples(np.random.default_rng(seed)):
            checked = check_example(entry, example, seeds=(seed,), kinds=seed == SEEDS[0])
            tally.add(checked.tally)
    record_property("checks", {"made": dict(tally.made), "left out": dict(tally.left_out)})
    if tally.made:
        _assert_bounds(entry, tally)


def _assert_bounds(entry: Law, tally: Tally) -> None:
    for evaluator in EVALUATORS if entry.exact and FOREIGN not in tally.left_out else EVALUATORS[:1]:
        assert tally.made[evaluator], f"{entry.key} was checked by no {evaluator}: {tally.left_out}"
    left_out = sum(n for reason, n in tally.left_out.items() if not any(e in reason for e in EXTRA))
    assert left_out <= LEFT_OUT * tally.made.total(), f"{entry.key}: {tally.left_out}"


@pytest.mark.parametrize("entry", WRITTEN, ids=lambda entry: entry.key)
def test_a_law_holds_in_other_types_sizes_and_ranks(entry: Law, record_property: Record) -> None:
    assert entry.examples is not None
    tally, rng = Tally(), np.random.default_rng(0)
    examples = [e for e in entry.examples(np.random.default_rng(0)) if e.fires]
    every = [variant for example in examples for _, variant in variants(example)]
    for k in sorted(rng.permutation(len(every))[:VARIANTS].tolist()):
        checked = check_variant(entry, every[k])
        if checked is not None:
            tally.add(checked.tally)
    record_property("checks", {"made": dict(tally.made), "left out of variants": dict(tally.left_out)})


@pytest.mark.parametrize("entry", LAWS, ids=lambda entry: entry.key)
def test_a_law_holds_on_examples_drawn_from_its_statements(entry: Law, record_property: Record) -> None:
    """Those on which one condition fails alone are no matches; what has no example of any kind is counted."""
    tally, undrawn, unpinned = Tally(), set[str](), list[str]()
    by_hand = list(entry.examples(np.random.default_rng(0))) if entry.examples else []
    for side in sides_of(entry):
        found, made = check_positives(entry, side)
        tally.add(made)
        if not found:
            undrawn.add(side.rule)
        pinned = check_near_misses(entry, side, MISS_TRIES if found else FEW)
        if len(pinned) < len(side.conditions):
            pinned |= pinned_by(side, [example for example in by_hand if not example.fires])
        unpinned += [f"{side.rule}: {c}" for k, c in enumerate(side.conditions) if k not in pinned]
    if undrawn:
        undrawn -= fired_on(entry, [example for example in by_hand if example.fires])
    record_property("checks", {"made on drawn": dict(tally.made), "left out of drawn": dict(tally.left_out)})
    assert len(undrawn) <= UNEXAMPLED.get(entry.key, 0), f"{entry.key}, without an example: {undrawn}"
    assert len(unpinned) <= UNPINNED.get(entry.key, 0), f"{entry.key}, not pinned: {unpinned}"
