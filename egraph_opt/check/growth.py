"""Whether a law ends: its terms, and the same with real neighbours under the default laws, saturate within
bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import onnx_ir as ir

from egraph_opt.check.batches import TermBatch, lowered_at
from egraph_opt.check.beside.large_numbers import with_large_numbers
from egraph_opt.check.choices import spread
from egraph_opt.check.terms import shown
from egraph_opt.check.tried_terms import Verdict, lowered_if_typed
from egraph_opt.check.trying import Trying
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import SaturationReport, saturate_terms
from egraph_opt.errors import UnsoundLawError
from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.laws.law import Example, Law
from egraph_opt.laws.selection import select

ALONE_ROUNDS = 8
"""Rounds within which a law alone has nothing more to add to a term of its own."""

MORE_ROUNDS = 64
"""The same of one that adds a little at a time."""

ALONE_NODES = 400
"""E-nodes for each of the term, of a law alone."""

BESIDE_ROUNDS = 8
BESIDE_NODES = 120
"""E-nodes for each of the term, of a law beside the default ones, beyond what these make without it."""

LEAST = 200
"""So many e-nodes are never too many."""

TERMS = 6
"""Terms of a law of which its growth is looked at."""

SHOWN, LARGE = 4, 32
"""Examples beside which there are terms with large numbers, and how many of these are looked at."""


@dataclass(frozen=True)
class Growth:
    """A term on which a law grows.

    Attributes:
        beside: whether that is beside the default laws.
    """

    nodes: int
    terms: int
    rounds: int
    stop: str
    beside: bool
    lowered: Lowered

    def __str__(self) -> str:
        where = "beside the default laws " if self.beside else ""
        return (
            f"{where}{shown(self.lowered)} became {self.nodes} e-nodes in"
            f" {self.rounds} rounds and did not end ({self.stop}); bound it with guard(..), or state it from"
            " one side only"
        )


def growth(
    trying: Trying, holds: Sequence[Verdict], firing: Sequence[Example], *, neighbours: bool
) -> Growth | None:
    """The first of some terms on which a law has no end; None where it ends on all of them.

    Args:
        firing: examples on which it does something.
        neighbours: look at it beside the default laws, too, and on constants of 0.
    """
    chosen = sorted(holds, key=lambda verdict: verdict.candidate.size)
    chosen = chosen[: max(len(chosen) // 2, 1)]  # of large ones even a finite group of transposes is large
    step = max(len(chosen) // TERMS, 1)
    for verdict in chosen[::step][:TERMS]:
        found = _alone(trying, verdict.candidate.example)
        if found is not None:
            return found
    found = _of_large_numbers(trying, spread(firing, SHOWN))
    if found is not None:
        return found
    for example in islice(_with_zeros(chosen), 2 * TERMS if neighbours else 0):
        found = _alone(trying, example)
        if found is not None:
            return found
    for verdict in chosen[:: max(len(chosen) // 2, 1)][:2] if neighbours else ():
        found = _beside(trying.law, verdict)
        if found is not None:
            return found
    return None


def _of_large_numbers(trying: Trying, examples: Sequence[Example]) -> Growth | None:
    """The first term with large numbers on which a law has no end, and has one where they are small."""
    bases = {id(other): (base, other) for base in examples for other in with_large_numbers(base)}
    large = spread([other for _, other in bases.values()], LARGE)
    typed = [example for example in large if lowered_if_typed(example)]
    for key in dict.fromkeys((example.opset, example.limits) for example in typed):
        alike = [example for example in typed if (example.opset, example.limits) == key]
        if _ends(trying, alike):  # all in one graph
            continue
        for example in alike:
            found = _alone(trying, example)
            if found is not None and _alone(trying, bases[id(example)][0]) is None:
                return found
    return None


def _ends(trying: Trying, examples: Sequence[Example]) -> bool:
    """Whether a law ends on several terms in one graph, as far as it does on each."""
    whole = TermBatch([lowered_at(example) for example in examples]).whole
    most = max(ALONE_NODES * len(whole.terms), LEAST)
    report = _saturated(trying.laws, whole, examples[0], MORE_ROUNDS, most)
    return report is not None and report.stop == "saturated"


def _with_zeros(verdicts: Iterable[Verdict]) -> Iterator[Example]:
    """Terms of which one input is 0: a factor that goes into it leaves it as it was, and may come again."""
    for verdict in verdicts:
        example = verdict.candidate.example
        for place, fact in enumerate(example.operands.facts):
            if fact.dtype not in FLOATS or fact.const or not fact.is_static:
                continue
            zeros = np.zeros(fact.shape, ir.DataType(fact.dtype).numpy())
            given = example.operands.with_constant(place, zeros)
            for other, factor in enumerate(example.operands.facts):
                if factor.dtype in FLOATS and factor.splat in (1, -1):  # it would come back
                    given = given.with_constant(other, 2 * given.values[other].const_value.numpy())
            yield replace(example, operands=given)


def _alone(trying: Trying, example: Example) -> Growth | None:
    lowered = lowered_at(example)
    terms = len(lowered.terms)
    most = max(ALONE_NODES * terms, LEAST)
    report = _saturated(trying.laws, lowered, example, ALONE_ROUNDS, most)
    if report is not None and report.stop == "rounds":  # step by step, perhaps to an end
        report = _saturated(trying.laws, lowered, example, MORE_ROUNDS, most)
    if report is None or report.stop == "saturated":
        return None
    return Growth(report.nodes, terms, report.rounds, report.stop, False, lowered)


def _beside(law: Law, verdict: Verdict) -> Growth | None:
    """A law that ends alone may feed another one that feeds it."""
    example = verdict.candidate.example
    lowered = lowered_at(example)
    terms, others = len(lowered.terms), tuple(each for each in select(None) if each.key != law.key)
    most = max(BESIDE_NODES * terms, LEAST)
    without = _saturated(others, lowered, example, BESIDE_ROUNDS, most)
    if without is None or without.stop not in ("saturated", "rounds"):
        return None  # these grow by themselves
    together = tuple(sorted((*others, law), key=lambda each: each.key))
    report = _saturated(together, lowered, example, BESIDE_ROUNDS, most + without.nodes)
    if report is None or report.stop in ("saturated", "rounds"):
        return None
    return Growth(report.nodes, terms, report.rounds, report.stop, True, lowered)


def _saturated(
    laws: tuple[Law, ...], lowered: Lowered, example: Example, rounds: int, nodes: int
) -> SaturationReport | None:
    """How a saturation went, with guards, as in an optimization; None where types clash on the way."""
    limits = dict(example.limits)
    try:
        return saturate_terms(
            lowered, laws, limits, nodes=nodes, rounds=rounds, seconds=20, strict=True, guards=True
        )[1]
    except UnsoundLawError:
        return None
