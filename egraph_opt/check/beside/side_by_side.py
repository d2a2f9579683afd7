"""A term beside one that differs in one thing, on the same operands, both in one model.

What laws share, tables, relations and shorthands that auxiliaries fill, is keyed by some of what an operator
has.  A key that forgets an attribute makes two operators one, which no term shows that has one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

import onnx_ir as ir

from egraph_opt.check.beside.near_values import other_arrays
from egraph_opt.check.beside.other_attributes import PICKY, of_attributes, of_names
from egraph_opt.check.choices import spread
from egraph_opt.check.scope import nodes_of, operators_in, roots_of
from egraph_opt.check.shorthands import replaced, with_arguments
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf
from egraph_opt.operators.declaration import operator_named
from egraph_opt.operators.expressions import Expression

MOST = 6
"""Pairs of each kind of change of one example."""

WITH_KERNELS = frozenset({"conv", "conv_transpose"})

CONSTANTS = 3
"""Other values of a constant."""


def side_by_side(example: Example) -> list[list[Example]]:
    """An example with another term of its operands, by kind: another attribute or operator, swapped or other
    operands.

    What the two terms have in common is one in both.
    """
    terms = (
        dict.fromkeys(make().term for make in of_attributes(example, ())),
        dict.fromkeys(make().term for make in of_names(example)),
        dict.fromkeys(_swapped(example)),
    )
    kinds = [[replace(example, term=term) for term in kind] for kind in terms]
    return [
        [
            replace(other, term=(*roots_of(example), *roots_of(other)), fires=False)
            for other in islice((o for o in _from_afar(kind) if lowered_if_typed(o) is not None), MOST)
        ]
        for kind in (*kinds, list(_of_other_leaves(example)))
    ]


def _from_afar(items: Sequence[Example]) -> Iterator[Example]:
    """All of some, the first ones spread evenly."""
    turns = range(-(-len(items) // MOST))
    return chain.from_iterable(spread(items, MOST, turn) for turn in turns)


def _of_other_leaves(example: Example) -> Iterator[Example]:
    """Terms of which one leaf is another: an input of the same type, or another constant."""
    operands, picky = example.operands, operators_in(roots_of(example)) & PICKY
    for place, (value, known) in enumerate(zip(operands.values, operands.facts, strict=True)):
        if value.const_value is None:
            others = [operands.with_leaf(ir.Value(name="another", type=value.type, shape=value.shape), known)]
        else:
            arrays = () if picky else spread(list(other_arrays(value.const_value.numpy(), ())), CONSTANTS)
            changed = [operands.with_constant(place, array) for array in arrays]
            others = [operands.with_leaf(more.values[place], more.facts[place]) for more in changed]
        term = replaced(example.term, {leaf(place): leaf(len(operands.values))})
        yield from (replace(example, term=term, operands=more) for more in others)


def _swapped(example: Example) -> Iterator[Expression | tuple[Expression, ...]]:
    """Terms with two operands of one operator in each other's place, unless one of them is a kernel: as large
    as an image, onnxruntime does not come to an end of it."""
    for node in nodes_of(example):
        if node.head.name in WITH_KERNELS:
            continue
        declared = operator_named(node.head.name)
        places = [k for k in declared.operand_positions if declared.kinds[k] != "tensors"]
        if len(places) > 1 and node.arguments[places[0]] != node.arguments[places[1]]:
            given = list(node.arguments)
            given[places[0]], given[places[1]] = given[places[1]], given[places[0]]
            yield replaced(example.term, {node: with_arguments(node, tuple(given))})
