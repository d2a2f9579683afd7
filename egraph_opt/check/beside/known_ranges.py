"""An example whose operands lie between other bounds: each bound one more or less, two of them at once, at
the end of a type or of what the law names, and where one range begins beside the end of another, or is
divided by a part of it.

What a law asks of ranges is as a rule a sum or an order of their ends, and off by one at one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice, permutations, product

from onnx import TensorProto

from egraph_opt.check.beside.changing import with_parts
from egraph_opt.check.beside.magnitudes import with_numbers
from egraph_opt.check.beside.variants import arrays_of, dims_of, input_like
from egraph_opt.check.divisors import divisor_of
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.shorthands import replaced
from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf
from egraph_opt.operators.elementwise import unary
from egraph_opt.operators.expressions import Expression

Range = tuple[float, float]

MOST = 3
"""Operands of known ranges that are moved."""

FRACTION = 0.25
"""What is one more or less of floats."""

SMALL = 1
"""The end of one range where another ends at a number that the law names."""

ENDS = (2**31 - 1, 2**63 - 1)
"""The greatest integers of types."""

FAR: dict[int, int] = {TensorProto.INT32: 2_000_000_000, TensorProto.INT64: 2**40}
"""An end that a type has, and no narrower one."""

WAVES, PERIOD = frozenset({"Cos", "Sin"}), 6.25
"""Functions that are what they were after a period, which Clips round to a number of few bits."""

WITHIN_ONE = frozenset({"Sigmoid", "HardSigmoid"})
"""Functions of floats that lie between 0 and 1, as a Clip in their place does."""


def with_other_ranges(example: Example, numbers: Sequence[float]) -> Iterator[Example]:
    """Each example that differs in one range, or in two.

    Args:
        numbers: those that the law names.
    """
    found = ((node, _range(node)) for node in nodes_of(example))
    known = dict(islice(((node, ends) for node, ends in found if ends is not None), MOST))
    named = sorted({int(n) for n in (*numbers, *ENDS) if 1 < n < 2**63 and n == int(n)})
    for node in known:
        for other in _moved(known[node], named):
            yield _with_ranges(example, {node: other})
    for one, two in permutations(known, 2):
        low, high = known[one]
        for step in (-1, 0, 1):  # one begins where the other ends
            yield _with_ranges(example, {one: (known[two][1] + step, max(high, known[two][1] + step))})
        for number in named:
            yield _with_ranges(example, {one: (low, number - 1), two: (min(known[two][0], SMALL), SMALL)})
        for more in ENDS:
            for other in _moved(known[two], ()):
                yield _with_ranges(example, {one: (low, more), two: other})
    for one, two in combinations(known, 2):
        for ranges in product(_moved(known[one], ()), _moved(known[two], ())):
            yield _with_ranges(example, dict(zip((one, two), ranges, strict=True)))
    yield from _of_wide_inputs(example)
    yield from _divided(example, known, named)
    yield from _of_a_period_more(example, known)
    yield from _followed(example, known)


def _divided(example: Example, known: dict[Expression, Range], named: Sequence[int]) -> Iterator[Example]:
    """What is divided by a constant ends at a number that the law names, and the divisor is a part of it."""
    facts, values = example.operands.facts, example.operands.values
    for node in nodes_of(example):
        place = divisor_of(node)
        if place < 0 or node.arguments[1] not in known:
            continue
        if values[place].const_value is None or facts[place].dtype not in INTEGERS:
            continue
        for number in named:
            made = _with_ranges(example, {node.arguments[1]: (known[node.arguments[1]][0], number)})
            for divisor in (number // 4, number // 2 + 1):
                yield replace(made, operands=with_numbers(made.operands, {place: divisor}))


def _of_a_period_more(example: Example, known: dict[Expression, Range]) -> Iterator[Example]:
    """Waves have at both ends what they had there, and all else in between."""
    if any(node.head.name == "unary" and node.arguments[0].head.value in WAVES for node in nodes_of(example)):
        for node, (low, high) in known.items():
            yield _with_ranges(example, {node: (low, high + PERIOD)})
            yield _with_ranges(example, {node: (low - PERIOD, high)})


def _followed(example: Example, known: dict[Expression, Range]) -> Iterator[Example]:
    """Constants that are the greatest number of a range stay it where that is larger: what both make is as it
    was at the ends, and larger in between."""
    for node, (low, high) in known.items():
        places = [
            place for place, array in arrays_of(example).items() if array.size and (array == high).all()
        ]
        for end in (2 * high, 5 * high, high + (high + 1) // 2) if places else ():
            made = _with_ranges(example, {node: (low, end)})
            numbers = dict.fromkeys(places, end)
            yield replace(made, operands=with_numbers(made.operands, numbers))


def _of_wide_inputs(example: Example) -> Iterator[Example]:
    """An input of integers that a cast widens as one of the wider type, of which one end is far from 0."""
    for node in nodes_of(example):
        place = place_of_leaf(node.arguments[0]) if node.head.name == "cast" else -1
        if place < 0:
            continue
        to = node.arguments[1].head.value
        old = example.operands.values[place]
        if to in FAR and example.operands.facts[place].dtype in INTEGERS and old.const_value is None:
            value, known = input_like(old, dims_of(old), to)
            operands = example.operands.with_leaf(value, known)
            for low, high in ((-FAR[to], 5), (-5, FAR[to])):
                bounded = unary("Clip", (("max", high), ("min", low)), leaf(len(operands.values) - 1))
                yield replace(example, term=replaced(example.term, {node: bounded}), operands=operands)


def _range(node: Expression) -> Range | None:
    """Between which finite bounds a node puts its operand."""
    if node.head.name != "unary":
        return None
    if node.arguments[0].head.value in WITHIN_ONE:
        return 0.0, 1.0
    bounds = dict(node.arguments[1].head.value) if node.arguments[0].head.value == "Clip" else {}
    low, high = bounds.get("min"), bounds.get("max")
    return None if low is None or high is None else (low, high)


def _moved(known: Range, named: Sequence[int]) -> Iterator[Range]:
    low, high = known
    step = FRACTION if isinstance(low, float) or isinstance(high, float) else 1
    yield from ((low - step, high), (low + step, high), (low, high + step), (low, high - step))
    yield from ((-high, -low), (-high - step, -low - step))
    for number in named if step == 1 else ():
        yield from ((low, number), (low, number - 1), (-number, high))


def _with_ranges(example: Example, ranges: dict[Expression, Range]) -> Example:
    """Other bounds; those that are none, such as a lower one above the upper, make an example nobody runs."""
    changed = {
        node: unary("Clip", (("max", high), ("min", low)), node.arguments[2])
        for node, (low, high) in ranges.items()
    }
    return with_parts(example, changed)
