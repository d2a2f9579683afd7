"""Does a law apply to anything?  What is asked of a law of one's own before it is used."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import islice

import numpy as np

from egraph_opt.egraph.saturation import saturate_terms
from egraph_opt.egraph.watchdog import watched
from egraph_opt.errors import LawError
from egraph_opt.laws.law import Example, Law, where, written_examples
from egraph_opt.laws.selection import all_laws
from egraph_opt.testing.drawn_examples import drawn
from egraph_opt.testing.scope import host_tally
from egraph_opt.testing.sides import sides_of
from egraph_opt.testing.terms import lower_example

DRAWS = 500
"""How often a statement is drawn until an example of it is found."""


def check_fires(entry: Law) -> None:
    """See a law apply to its examples: those that its author wrote, else one that is drawn from its pattern.

    Raises:
        LawError: there is none, or it does not apply to one of them; the message names file and line.
    """
    with watched():
        _check(entry)


def _check(entry: Law) -> None:
    written = [e for e in written_examples(entry, np.random.default_rng(0)) if e.fires]
    with host_tally() as tally:
        examples = written or list(first_drawn(entry))
    place = f"{where(entry.function)}: {entry.key}"
    if not examples:
        why = "".join(f"; {line}" for line in tally.told())
        raise LawError(
            f"{place}: none of {DRAWS} random terms meets its conditions{why}; write an example (`examples=`)"
            " on which it applies"
        )
    for example in examples:
        _check_fires(entry, example, place)


def first_drawn(entry: Law) -> Iterator[Example]:
    """An example of some statement of a law, if one is found."""
    rng = np.random.default_rng(zlib.crc32(entry.key.encode()))
    found = (example for side in sides_of(entry) for example in drawn(side, rng, DRAWS))
    yield from islice(found, 1)


def _check_fires(entry: Law, example: Example, place: str) -> None:
    laws = tuple(law for law in all_laws() if law.key in (entry.key, *entry.required))
    _, report = saturate_terms(
        lower_example(example), laws, dict(example.limits), nodes=5000, rounds=3, seconds=60
    )
    if not report.matches.get(entry.key):
        why = "".join(f"; {line}" for line in report.dropped)
        raise LawError(f"{place}: does not apply to its example {example.term!r}{why}")
