"""Another value of an attribute of one operator, and another operator instead of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from egraph_opt.check import tables
from egraph_opt.check.attributes import attribute_of
from egraph_opt.check.beside.changing import in_one_and_in_all, with_attribute, with_parts
from egraph_opt.check.beside.near_values import (
    is_of,
    near,
    near_equations,
    near_parts,
    near_permutations,
    near_slices,
)
from egraph_opt.check.operands import settings_of
from egraph_opt.check.scope import attributes_in, nodes_of, operators_in, roots_of
from egraph_opt.check.terms import Builder
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.declaration import operator_named
from egraph_opt.operators.expressions import Expression, constant

REDRAWN = 4
"""Values of an attribute from its table."""

NEAR_SORTS: dict[str, Callable[[Any], Iterator[Any]]] = {
    "Slices": near_slices,
    "Sizes": near_parts,
    "Permutation": near_permutations,
}
"""What is near an attribute of some sorts, beside what differs in one number."""

OF_FEW_NUMBERS = frozenset("Acos Acosh Asin Atanh Cosh Exp Log Reciprocal Sinh Sqrt Tan".split())
"""Operators of which ordinary numbers have no value, or none that floats have."""

PICKY = frozenset({"resize", "reverse_sequence"})
"""Operators of which scales make images of any size, and lengths below 1 end the process."""

Made = Callable[[], Example]
"""An example that is made when it is asked for: of many few are tried."""


def of_names(example: Example) -> Iterator[Made]:
    """Another operator of the same kind instead of one: a comparison, a reduction.

    Not of what may become scales or lengths: of powers of dims no machine holds the image.
    """
    for node in () if operators_in(roots_of(example)) & PICKY else nodes_of(example):
        for position, kind in enumerate(operator_named(node.head.name).kinds):
            if kind == "string":
                old = node.arguments[position]
                every = dict.fromkeys(settings_of(node.head.name))
                names = [name for name in every if name != old.head.value and name not in OF_FEW_NUMBERS]
                yield from (partial(_renamed, example, node, position, name) for name in names)


def _renamed(example: Example, node: Expression, position: int, name: str) -> Example:
    """One operator under another name, with settings that it has: as they are, where it has the same ones."""
    made = with_attribute(node, position, name)
    for k in attributes_in(made):
        if made.head.parameters[k][1].name == "Settings":
            drawn = next(_drawn(example, made, k, np.random.default_rng(0)), None)
            if drawn is not None and dict(drawn).keys() != dict(made.arguments[k].head.value).keys():
                made = with_attribute(made, k, drawn)
    return with_parts(example, {node: made})


def of_attributes(example: Example, numbers: Sequence[float]) -> Iterator[Made]:
    """Another value of an attribute of one operator, and of all that have the same one."""
    for node, position, value in _other_attributes(example, numbers):
        terms = in_one_and_in_all(example.term, node, position, value)
        yield from (partial(replace, example, term=term) for term in terms)


def _other_attributes(
    example: Example, numbers: Sequence[float]
) -> Iterator[tuple[Expression, int, Expression]]:
    """The operators of a term, the places of their attributes, and other values for these."""
    rng = np.random.default_rng(0)
    for node in nodes_of(example):
        for position in attributes_in(node):
            old, sort = node.arguments[position].head.value, node.head.parameters[position][1]
            for value in _other_values(example, node, position, numbers, rng):
                if repr(value) != repr(old) and is_of(sort, value):
                    yield node, position, constant(value, node.arguments[position].sort)


def _other_values(
    example: Example, node: Expression, position: int, numbers: Sequence[float], rng: np.random.Generator
) -> Iterator[Any]:
    """Values of an attribute: near the one it has, and from its table."""
    old, declared = node.arguments[position].head.value, operator_named(node.head.name)
    parameter = declared.names[position]
    if parameter == "to":
        yield from (int(to) for to in tables.CASTS if to != old)
        return
    if parameter == "equation":
        yield from (e for e in tables.EQUATIONS if e != old)
        yield from near_equations(old)
        return
    if declared.kinds[position] == "string":
        return  # another operator has other attributes
    known = NEAR_SORTS.get(node.head.parameters[position][1].name)
    yield from known(old) if known is not None else ()
    yield from near(old, numbers)
    yield from _drawn(example, node, position, rng)


def _drawn(example: Example, node: Expression, position: int, rng: np.random.Generator) -> Iterator[Any]:
    """Values of an attribute from its table, where there is one for operands as they are."""
    declared, before = operator_named(node.head.name), _attributes_before(example, node, position)
    for _ in range(REDRAWN):
        try:
            made = attribute_of(rng, declared.name, declared.names[position], before, _facts(example, node))
        except Exception:  # tables are made for operands that suit the operator
            return
        yield made


def _attributes_before(example: Example, node: Expression, position: int) -> dict[str, Any]:
    declared = operator_named(node.head.name)
    found: dict[str, Any] = {"opset": example.opset}
    for k in declared.attribute_positions:
        value = node.arguments[k].head.value
        found["op" if declared.kinds[k] == "string" else declared.names[k]] = value
    found.pop(declared.names[position], None)
    return found


def _facts(example: Example, node: Expression) -> list[Fact]:
    builder = Builder(example.operands, example.opset)
    found: list[Fact] = []
    for k in operator_named(node.head.name).operand_positions:
        operand = node.arguments[k]
        places = builder.list_of(operand) if operand.sort.kind == "tensors" else (builder.term(operand),)
        found += [fact for place in places if (fact := builder.lowered.facts[place]) is not None]
    return found
