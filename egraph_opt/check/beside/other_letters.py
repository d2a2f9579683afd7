"""Equations of Einsum in other letters: in the order of the alphabet backwards, and with two more that change
places in the middle of a result; with one letter for two, on axes of one length; and with a letter in both
cases for two.

Where an equation has no arrow, the order of the alphabet is that of its result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from string import ascii_letters, ascii_lowercase

from egraph_opt.check.beside.changing import with_attribute, with_parts
from egraph_opt.check.beside.variants import EQUAL_SIZE, arrays_of, dims_of, resized, with_dims
from egraph_opt.check.scope import nodes_of
from egraph_opt.check.shorthands import replaced
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression

MORE = (2, 3)
"""Dims of letters that are added."""


def with_other_letters(example: Example) -> Iterator[Example]:
    """Each equation of an example."""
    for node in nodes_of(example):
        if node.head.name == "einsum":
            equation = node.arguments[0].head.value
            letters = sorted({*equation} & {*ascii_letters})
            backwards = str.maketrans(dict(zip(letters, reversed(letters), strict=True)))
            other = _with(node, equation.translate(backwards))
            yield with_parts(example, {node: other})
            yield from _of_two_more(example, node, equation)
            yield from _of_one_less(example, node, equation)
            yield from _in_both_cases(example, node, equation)


def _with(node: Expression, equation: str) -> Expression:
    return with_attribute(node, 0, equation)


def _of_one_less(example: Example, node: Expression, equation: str) -> Iterator[Example]:
    """Each letter instead of another one, all axes being of one length."""
    sizes = {d for value in example.operands.values for d in dims_of(value) if isinstance(d, int) and d > 1}
    alike = resized(example, sizes, EQUAL_SIZE)
    for one, other in combinations(sorted({*equation} & {*ascii_letters}), 2):
        made = equation.replace(other, one)
        result = made.partition("->")[2]
        if len({*result} & {*ascii_letters}) == len(equation.partition("->")[2].replace(".", "")):
            yield with_parts(alike, {node: _with(node, made)})


def _in_both_cases(example: Example, node: Expression, equation: str) -> Iterator[Example]:
    """Of each two letters the other one is the first one in upper case."""
    for one, other in combinations(sorted({*equation} & {*ascii_lowercase}), 2):
        if one.upper() not in equation:
            yield with_parts(example, {node: _with(node, equation.replace(other, one.upper()))})


def _of_two_more(example: Example, node: Expression, equation: str) -> Iterator[Example]:
    """In the middle of every operand two letters that none of them has, exchanged in the result."""
    left, _, right = equation.partition("->")
    ranks = {len(letters) for letters in left.split(",")}
    if len(right) < 2 or "." in equation or len(ranks) > 1 or arrays_of(example):
        return
    one, other = [letter for letter in ascii_letters if letter not in equation][:2]
    (rank,), at = ranks, len(right) // 2
    if {len(dims_of(value)) for value in example.operands.values} != {rank}:
        return
    middle = rank // 2
    longer = (letters[:middle] + one + other + letters[middle:] for letters in left.split(","))
    turned = f"{','.join(longer)}->{right[:at]}{other}{one}{right[at:]}"
    made = with_dims(example, lambda dims: (*dims[:middle], *MORE, *dims[middle:]))
    yield replace(made, term=replaced(example.term, {node: _with(node, turned)}))
