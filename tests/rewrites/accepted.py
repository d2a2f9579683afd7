"""Which laws passed the gate whole as they are written: `accepted.json`, which `make laws` writes.

A law whose text, or that of a function it names, has changed since is in it no more: it goes through the gate
with all its conditions dropped at the next `make test`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from egraph_opt.laws.law import Law
from egraph_opt.laws.proved import digest_of, digest_of_sources
from egraph_opt.laws.selection import all_laws

FILE = Path(__file__).with_name("accepted.json")

SHARE = 32
"""Of the laws that have not changed, one in so many is tried again; which, a digest of the gate says."""

LAWS = [entry for entry in all_laws() if not entry.ruleset.startswith("tests.")]
"""All but those that tests of other things declare."""


@lru_cache(maxsize=1)
def accepted() -> Mapping[str, str]:
    """The digest of each law's text when it passed, by key."""
    return json.loads(FILE.read_text())


def has_changed(law: Law) -> bool:
    """Whether a law did not pass as it is written now."""
    return accepted().get(law.key) != digest_of(law)


def renew(passed: Mapping[str, str]) -> None:
    """Write which laws passed, with those that passed before and are there still."""
    kept = {law.key: accepted()[law.key] for law in LAWS if law.key in accepted()}
    FILE.write_text(json.dumps(dict(sorted({**kept, **passed}.items())), indent=1) + "\n")


def tried_again() -> list[Law]:
    """The laws that have changed, and a share of the others: another one when the gate changes."""
    turn = int(digest_of_sources("check"), 16) % SHARE
    return [law for k, law in enumerate(LAWS) if k % SHARE == turn or has_changed(law)]
