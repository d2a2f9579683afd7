"""Equations of Einsum with points for any number of axes, in front of the letters, in the middle or behind.

Where the points are is said of every operand and of the result by itself, and so is how many axes they are;
those that several operands have are broadcast, from the last one on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import product
from typing import NamedTuple

from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.beside.other_layers import items_of
from egraph_opt.check.beside.variants import Dims, dims_of, with_shape
from egraph_opt.check.choices import spread
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression

POINTS, ARROW = "...", "->"

ALIKE, OTHER = (2, 2, 2), (1, 2, 3)
"""What the points are, the last ones of these: as long as every letter, so that one axis is told from another
by what is in it alone, or of other lengths."""

MOST = 100
"""Equations that are made of one, where points are one axis, and where they are several."""

Sizes = Mapping[str, int | str | None]


class Equation(NamedTuple):
    """An equation of leaves, without its points.

    Attributes:
        result: letters in the order of the alphabet, where none is written.
    """

    node: Expression
    operands: tuple[str, ...]
    result: str
    leaves: tuple[int, ...]


def with_points_for_axes(example: Example) -> Iterator[Example]:
    """Each equation with the points of each operand in every place, and with as many axes as there may be."""
    for node in nodes_of(example):
        given = _parsed(node)
        if given is not None:
            yield from spread(list(_in_other_places(example, given)), MOST)
            yield from spread(list(_of_other_axes(example, given)), MOST)


def _parsed(node: Expression) -> Equation | None:
    if node.head.name != "einsum":
        return None
    left, arrow, right = node.arguments[0].head.value.replace(POINTS, "").partition(ARROW)
    operands, leaves = left.split(","), [place_of_leaf(item) for item in items_of(node.arguments[1])]
    if len(operands) != len(leaves) or min(leaves) < 0:
        return None
    once = "".join(sorted(c for c in {*left} - {","} if left.count(c) == 1))
    return Equation(node, tuple(operands), right if arrow else once, tuple(leaves))


def _in_other_places(example: Example, given: Equation) -> Iterator[Example]:
    """Each operand has its points somewhere, or none, for one axis; all axes are of one length."""
    sizes = dict.fromkeys("".join(given.operands), ALIKE[0])
    for texts in product(*((text, *_places(text)) for text in given.operands)):
        shapes = [_shape(text, sizes, ALIKE[:1]) for text in texts]
        for result in (f"{ARROW}{given.result}", *_results(given.result)):
            yield _made(example, given, ",".join(texts) + result, shapes)


def _of_other_axes(example: Example, given: Equation) -> Iterator[Example]:
    """All points are in front, or all behind, and are up to three axes of each operand."""
    sizes = _sizes(example, given)
    for axes in product(range(len(OTHER) + 1), repeat=len(given.operands)):
        for end in (0, -1):
            texts = [_places(text)[end] for text in given.operands]
            shapes = [
                _shape(text, sizes, OTHER[len(OTHER) - n :]) for text, n in zip(texts, axes, strict=True)
            ]
            for result in _results(given.result):
                yield _made(example, given, ",".join(texts) + result, shapes)


def _places(text: str) -> list[str]:
    """Letters with points in front, in the middle and behind."""
    return list(dict.fromkeys(text[:k] + POINTS + text[k:] for k in (0, len(text) // 2, len(text))))


def _results(letters: str) -> Iterator[str]:
    """What is behind the operands, with points, and nothing, as where points come in front."""
    yield from (ARROW + text for text in _places(letters))
    yield ""


def _shape(text: str, sizes: Sizes, points: Dims) -> Dims:
    front, there, behind = text.partition(POINTS)
    return (*(sizes[c] for c in front), *(points if there else ()), *(sizes[c] for c in behind))


def _sizes(example: Example, given: Equation) -> Sizes:
    """How long letters are, as far as operands without points say so."""
    known: dict[str, int | str | None] = dict.fromkeys("".join(given.operands), ALIKE[0])
    for text, leaf in zip(given.operands, given.leaves, strict=True):
        dims = dims_of(example.operands.values[leaf])
        if len(text) == len(dims):
            known.update(zip(text, dims, strict=True))
    return known


def _made(example: Example, given: Equation, equation: str, shapes: list[Dims]) -> Example:
    made = with_changed(example, given.node, 0, equation)
    pairs = zip(given.leaves, shapes, strict=True)
    return reduce(lambda other, pair: with_shape(other, *pair), pairs, made)
