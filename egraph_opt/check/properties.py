"""What can be said of a term in the words of conditions: types, ranks, dims, constants, attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from egraph_opt.check.tried_terms import TriedTerm
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import operator_named


def properties_of(candidate: TriedTerm) -> set[str]:
    """Properties of a term, as a person would write them."""
    lowered = candidate.lowered
    found: set[str] = set()
    leaves = [
        (str(lowered.leaves[term.attributes[0]].name), fact)
        for term, fact in zip(lowered.terms, lowered.facts, strict=True)
        if term.operator == "leaf" and fact is not None
    ]
    for name, fact in leaves:
        found.update(f"{name} {text}" for text in _of_fact(fact))
    for text in set.intersection(*(set(_of_fact(fact)) for _, fact in leaves)) if leaves else ():
        found.add(f"every operand {text}")
    if len({fact.shape for _, fact in leaves}) == 1:
        found.add("all operands have one shape")
    if len({fact.rank for _, fact in leaves}) == 1:
        found.add("all operands have one rank")
    found.add(f"the opset is {'13 or later' if lowered.opset >= 13 else 'before 13'}")
    found.update(_of_attributes(lowered))
    return found


def _of_fact(fact: Fact) -> Iterator[str]:
    yield "is of floats" if fact.dtype in ALL_FLOATS else "is not of floats"
    shape = fact.shape or ()
    yield f"has rank {len(shape)}"
    yield "is a scalar" if not shape else "is no scalar"
    yield "has known dims" if all(isinstance(d, int) for d in shape) else "has a symbolic dim"
    if 1 not in shape:
        yield "has no dim of 1"
    if 0 not in shape:
        yield "has elements"
    yield "is constant" if fact.const else "is no constant"
    if fact.splat is not None and isinstance(fact.splat, (int, float)):
        yield "is one number"
        yield f"is {fact.splat}"
        if fact.splat > 0:
            yield "is positive"
        if fact.splat != 0:
            yield "is not 0"


def _of_attributes(lowered: Lowered) -> Iterator[str]:
    for term in lowered.terms:
        if term.operator in ("leaf", "literal", "output"):
            continue
        declared = operator_named(term.operator)
        names = [declared.names[k] for k in declared.attribute_positions]
        for name, value in zip(names, term.attributes, strict=True):
            yield from _of_value(f"{name} of {term.operator}", value)


def _of_value(name: str, value: Any) -> Iterator[str]:
    if is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from _of_value(f"{each.name} of {name}", getattr(value, each.name))
    elif isinstance(value, (int, str)):
        yield f"{name} is {value}"
        if isinstance(value, int) and value >= 0:
            yield f"{name} is not negative"
    elif isinstance(value, float):
        yield f"{name} is {'positive' if value > 0 else 'not positive'}"
    elif isinstance(value, tuple) and all(isinstance(v, int) for v in value):
        yield f"{name} has length {len(value)}"
        for number in (0, 1):
            if all(v == number for v in value):
                yield f"{name} is all {number}"
        if len(set(value)) <= 1:
            yield f"{name} is alike throughout"
        if value == tuple(range(len(value))):
            yield f"{name} is in order"
