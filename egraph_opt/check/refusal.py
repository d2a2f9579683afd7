"""How a refused law is reported: the smallest term that it is wrong on, the inputs and both results.

And a condition that would exclude all such terms and none of those on which the law is right, where one of
the known ones does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from egraph_opt.check.judging.outcomes import Failure
from egraph_opt.check.properties import properties_of
from egraph_opt.check.terms import shown
from egraph_opt.check.tried_terms import Verdict
from egraph_opt.check.trying import place_of
from egraph_opt.errors import LawError
from egraph_opt.laws.law import Law

MOST_SHOWN = 8
"""Elements of an array that are shown."""


class LawRefusedError(LawError, AssertionError):
    """The gate refuses a law; the message names file and line, the term, the inputs and both results."""


def refused(law: Law, rule: str, failures: Sequence[Verdict], holds: Sequence[Verdict]) -> LawRefusedError:
    """The error for a law that is wrong on some terms.

    Args:
        rule: the statement; "" where none is known.
        failures, holds: terms on which it is wrong, and right.
    """
    worst = min(failures, key=_easy_to_read)
    failure = worst.failure
    assert failure is not None
    lines = [
        f"{place_of(law, rule)}: {law.key} ({law.numerics}) is wrong on {shown(worst.candidate.lowered)}:"
        f" {failure.message}",
        *details(worst),
    ]
    condition = _missing(failures, holds)
    if condition:
        lines.append(
            f"  it holds on all {len(holds)} terms tried of which {condition}: is that the condition?"
        )
    return LawRefusedError("\n".join(lines))


def _easy_to_read(verdict: Verdict) -> tuple[bool, int]:
    """Ordinary numbers first, then what is small."""
    return verdict.failure is None or not verdict.failure.ordinary, verdict.candidate.size


def details(verdict: Verdict) -> Iterator[str]:
    """What the leaves of a term are, its inputs and both results, a line each."""
    assert verdict.failure is not None
    yield from _facts(verdict)
    yield from _arrays(verdict.failure)


def _facts(verdict: Verdict) -> Iterable[str]:
    """What the leaves of a term are."""
    lowered = verdict.candidate.lowered
    for term, fact in zip(lowered.terms, lowered.facts, strict=True):
        if term.operator == "leaf" and fact is not None:
            value = lowered.leaves[term.attributes[0]]
            kind = np.dtype(value.dtype.numpy()).name if value.dtype is not None else "?"
            dims = ", ".join(map(str, fact.shape or ()))
            constant = "" if value.const_value is None else f" = {_short(value.const_value.numpy())}"
            yield f"  {value.name}: {kind}[{dims}]{constant}"


def _arrays(failure: Failure) -> Iterable[str]:
    for name, array in failure.feeds.items():
        yield f"  input {name} = {_short(array)}"
    if failure.expected is not None:
        yield f"  left  {_short(failure.expected)}"
        yield f"  right {_short(failure.found)}"


def _short(array: Any) -> str:
    flat = np.asarray(array).ravel()
    inside = ", ".join(str(x) for x in flat[:MOST_SHOWN].tolist())
    return f"[{inside}{', ..' if flat.size > MOST_SHOWN else ''}]"


def _missing(failures: Sequence[Verdict], holds: Sequence[Verdict]) -> str:
    """A property of terms that all have on which the law is right, and none on which it is wrong."""
    if len(holds) < 2:
        return ""
    common: set[str] | None = None
    for verdict in holds:
        found = properties_of(verdict.candidate)
        common = found if common is None else common & found
    bad = set().union(*(properties_of(verdict.candidate) for verdict in failures))
    return min((common or set()) - bad, key=lambda text: (len(text), text), default="")
