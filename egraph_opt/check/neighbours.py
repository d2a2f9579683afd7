"""An example with one attribute, constant, size or opset changed: what is near what a law's author wrote.

Where the tables make no term of a law, its author's example is all there is, and a condition that is nearly
right holds on that: on other bounds, scales, pads or lengths it does not.  A law need not fire on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from egraph_opt.check import tables
from egraph_opt.check.attributes import attribute_of
from egraph_opt.check.choices import spread
from egraph_opt.check.scope import parts
from egraph_opt.check.shorthands import replaced
from egraph_opt.check.terms import Builder
from egraph_opt.check.variants import with_sizes
from egraph_opt.errors import LawError
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.declaration import operator_named, operators
from egraph_opt.operators.expressions import Expression, Function, Sort, coerced, constant

SHARES = (1.003, 0.997, 0.5, 2.0)
"""What a number is multiplied by: nearly 1, and clearly not."""

REDRAWN = 4
"""Values of an attribute from its table."""

APART = 10.0
"""By how much the last of several numbers is larger than the others."""

OPSETS = (11, 13, 21, 23)
"""Of the model that an example stands in."""

MOST = 64
"""Neighbours of one kind of an example."""


def neighbours(example: Example, named: Iterable[float] = ()) -> Iterator[Example]:
    """Examples beside one, each with one thing changed.

    Args:
        named: numbers that the law names: thresholds show next to them.
    """
    numbers = sorted({float(n) for n in named if 0 < abs(n) < 1e6})
    kinds = (_of_attributes(example, numbers), _of_constants(example, numbers), _of_sizes(example))
    for kind in kinds:
        yield from spread(list(kind), MOST)
    yield from (replace(example, opset=opset) for opset in OPSETS if opset != example.opset)


def _of_sizes(example: Example) -> Iterator[Example]:
    """Each size of an input one more, and four times as much."""
    return chain(with_sizes(example, lambda d: d + 1), with_sizes(example, lambda d: 4 * d))


def _of_constants(example: Example, numbers: Sequence[float]) -> Iterator[Example]:
    for place, value in enumerate(example.operands.values):
        if value.const_value is None:
            continue
        array = value.const_value.numpy()
        counts = array.dtype.kind in "iu" and bool((array > 0).all())
        for other in _other_arrays(array, numbers):
            if counts and (other <= 0).any():
                continue  # lengths below 1 end onnxruntime
            yield replace(example, operands=example.operands.with_constant(place, other))


def _other_arrays(array: np.ndarray[Any, Any], numbers: Sequence[float]) -> Iterator[np.ndarray[Any, Any]]:
    """Arrays of the type and shape of one."""
    if not array.size or array.dtype.kind not in "iuf":
        return
    with np.errstate(all="ignore"):
        if array.dtype.kind == "f":
            yield from ((array * share).astype(array.dtype) for share in SHARES)
            yield from (np.full_like(array, small) for small in tables.TOO_SMALL)
            made = (_but_last(array, array.flat[-1] * share) for share in (*SHARES, APART, 1 / APART))
        else:
            wide = array.astype(np.int64)
            yield from ((wide + step).astype(array.dtype) for step in (1, -1))
            made = (_but_last(array, wide.flat[-1] + step) for step in (1, -1, -2, 5, 128))
        if array.size > 1:
            yield from made
        for number in numbers if array.dtype.kind == "f" or array.size == 1 else ():
            yield from (np.full_like(array, number * share) for share in (1.0, *SHARES[:2]))


def _but_last(array: np.ndarray[Any, Any], last: Any) -> np.ndarray[Any, Any]:
    made = array.copy()
    made.flat[-1] = np.asarray(last).astype(array.dtype)
    return made


def _of_attributes(example: Example, numbers: Sequence[float]) -> Iterator[Example]:
    rng = np.random.default_rng(0)
    terms = example.term if isinstance(example.term, tuple) else (example.term,)
    for node in dict.fromkeys(part for term in terms for part in parts(term)):
        if not isinstance(node.head, Function) or node.head.name not in operators():
            continue
        if node.head.name in ("leaf", "output", "none"):
            continue
        for position in operator_named(node.head.name).attribute_positions:
            old = repr(node.arguments[position].head.value)
            for value in _other_values(example, node, position, numbers, rng):
                if repr(value) == old or not _is_of(node.head.parameters[position][1], value):
                    continue
                given = list(node.arguments)
                given[position] = constant(value, node.arguments[position].sort)
                made = type(node)(node.head, tuple(given), node.sort)
                yield replace(example, term=replaced(example.term, {node: made}))


def _is_of(sort: Sort, value: Any) -> bool:
    """Whether a value is one that terms have, in its normal form."""
    try:
        coerced(value, sort, "")
    except LawError:
        return False
    cut = [entry[0] for entry in value] if sort.name == "Slices" else []
    return cut == sorted(set(cut))


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
        yield from _with_a_letter_twice(old)
        return
    if declared.kinds[position] == "string":
        return  # another operator has other attributes
    yield from _near(old, numbers)
    before = _attributes_before(node, position)
    for _ in range(REDRAWN):
        try:
            made = attribute_of(rng, declared.name, parameter, before, _facts(example, node))
        except Exception:  # tables are made for operands that suit the operator
            return
        yield made


def _with_a_letter_twice(equation: str) -> Iterator[str]:
    """Equations in which a letter of the first operand stands for the one behind it, too."""
    inputs = equation.partition(",")[0].partition("->")[0]
    for one, other in pairwise(inputs):
        if one != other and one.isalpha() and other.isalpha():
            yield equation.replace(other, one, 1)


def _attributes_before(node: Expression, position: int) -> dict[str, Any]:
    declared = operator_named(node.head.name)
    found: dict[str, Any] = {"opset": 17}
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


def _near(value: Any, numbers: Sequence[float]) -> Iterator[Any]:
    """Values that differ from one in one number: of a tuple in one entry, of a dataclass in one field."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, int):
        yield from (value + 1, value - 1, value + 2, 2 * value)
        yield from (int(n) + step for n in numbers if n == int(n) for step in (0, -1, 1))
    elif isinstance(value, float):
        whole = value == int(value) if np.isfinite(value) else False
        yield from (float(np.float32(value * share)) for share in SHARES)
        yield from (n * share for n in numbers for share in (1.0, *SHARES[:2]))
        if whole:
            yield from (value + 1, value - 1)
    elif isinstance(value, tuple):
        for k, entry in enumerate(value):
            yield from ((*value[:k], other, *value[k + 1 :]) for other in _near(entry, numbers))
        if len(value) > 1 and all(isinstance(entry, int) for entry in value):
            yield (*value[:-2], value[-1], value[-2])
    elif is_dataclass(value):
        for entry in fields(value):
            for other in _near(getattr(value, entry.name), numbers):
                yield replace(value, **{entry.name: other})  # type: ignore[type-var]
