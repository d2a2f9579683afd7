"""Terms in the opsets from 7 to 10, in which operators take fewer types, do not broadcast, or are not there.

A law writes there what it writes in later ones.  Terms that the tables make are of later opsets, in which
more of them can be written; what is here are the same terms, where an older opset can say them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import onnx

from egraph_opt.check.beside.opsets import in_opset
from egraph_opt.check.beside.variants import variants, with_one_size
from egraph_opt.check.choices import spread
from egraph_opt.check.tried_terms import FiredTerm
from egraph_opt.cost.expansion import form_of
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.laws.law import Example

LATER, OLD = 11, (10, 9, 8, 7)
"""An opset that is tried anyhow, and those before it of which models are optimised, too."""

WRITTEN, TYPED, BROADCAST = 12, 2, 6
"""Terms that are tried as they are, in each other type, and with one size of one input that became 1."""

MOST = 24
"""Terms in old opsets that are run."""


def in_old_opsets(examples: Sequence[Example]) -> Iterator[Example]:
    """Some terms, and what differs from them in types and in what is broadcast, in each old opset.

    In the later one as well, which says what is the same there: see `unlike_later`.
    """
    by_type: dict[str, list[Example]] = {}
    for name, other in (named for each in examples for named in variants(each)):
        if name.startswith("in "):
            by_type.setdefault(name, []).append(other)
    typed = (other for alike in by_type.values() for other in spread(alike, TYPED))
    broadcast = [other for each in examples for other in with_one_size(each, lambda size: 1)]
    chosen = (*spread(examples, WRITTEN), *typed, *spread(broadcast, BROADCAST))
    for opset in (LATER, *OLD):
        yield from (in_opset(opset, example) for example in chosen)


def unlike_later(fired: Iterable[FiredTerm]) -> list[FiredTerm]:
    """The terms of which an operator, or one that the law writes, is another in an old opset than later.

    Of those that are run a term of each type comes first.
    """
    known: dict[object, set[object]] = {}
    found: list[FiredTerm] = []
    for term in fired:
        if term.snapshot is None:
            found.append(term)
            continue
        versions = known.setdefault((id(term.example.operands), term.example.term), set())
        version = _versions(term.snapshot, term.example.opset)
        if version not in versions and term.example.opset != LATER:
            found.append(term)
        versions.add(version)
    by_types: dict[object, FiredTerm] = {}
    others = []
    for term in found:
        types = tuple(fact.dtype for fact in term.example.operands.facts)
        if by_types.setdefault(types, term) is not term:
            others.append(term)
    return [*by_types.values(), *spread(others, max(MOST - len(by_types), 1))]


def _versions(snapshot: Snapshot, opset: int) -> object:
    """The operators of all that a law made of a term, with the opsets that they are of as they are."""
    found = set[object]()
    for node in range(snapshot.n_nodes):
        form = form_of(snapshot, node, opset)
        written = None if form is None else (form.op_type, len(form.inputs), form.attributes)
        version = None if form is None else _version(form.domain, form.op_type, opset)
        found.add((snapshot.operator[node], written, version))
    return frozenset(found)


@lru_cache(1 << 10)
def _version(domain: str, op_type: str, opset: int) -> int:
    try:
        return int(onnx.defs.get_schema(op_type, opset, domain).since_version)
    except onnx.defs.SchemaError:
        return 0
