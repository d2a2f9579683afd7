"""An example with one attribute, constant, size or opset changed: what is near what a law's author wrote.

Where the tables make no term of a law, its author's example is all there is, and a condition that is nearly
right holds on that: on other bounds, scales, pads or lengths it does not.  A law need not fire on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from onnx import TensorProto

from egraph_opt.check import tables
from egraph_opt.check.beside.all_numbers import with_all_numbers_changed
from egraph_opt.check.beside.near_values import other_arrays
from egraph_opt.check.beside.opsets import in_opset
from egraph_opt.check.beside.other_attributes import PICKY, Made, of_attributes, of_names
from egraph_opt.check.beside.shared_numbers import with_other_shared_numbers
from egraph_opt.check.beside.variants import with_one_size, with_sizes
from egraph_opt.check.choices import spread
from egraph_opt.check.divisors import with_other_divisors
from egraph_opt.check.scope import operators_in, roots_of
from egraph_opt.check.shorthands import replaced
from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf
from egraph_opt.operators.elementwise import unary
from egraph_opt.operators.expressions import Expression, Function, parts

OPSETS = (11, 13, 21, 23)
"""Of the model that an example stands in."""

UNSIGNED = frozenset({TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64})

MOST_NAMED, NAMED = 5_000, 4
"""The largest of the numbers that a law names which sizes are, and how many of them."""

LARGEST_END = 2**54
"""The largest constant of a term at which the range of an input ends."""

BITS = (7, 8, 15, 16, 31)
"""Where a law names these, it may mean powers of two."""

LARGEST_SCALE = 32
"""What a constant of a term with a Resize may hold, which may be its scale."""

MOST = 192
"""Neighbours of one kind of an example."""


def neighbours(example: Example, named: Iterable[float] = ()) -> tuple[Sequence[Made], ...]:
    """Examples beside one, each with one thing changed, or all numbers at once, by kind of change.

    Args:
        named: numbers that the law names: thresholds show next to them.
    """
    given = {float(n) for n in named if 0 < abs(n) < 1e6}
    numbers = sorted(given | {2.0**n for n in given.intersection(BITS)})
    kinds = (
        *(of_attributes(example, numbers), _of_constants(example, numbers), _of_sizes(example, numbers)),
        *(_of_ends(example, numbers), _of_shared_numbers(example), _of_all_numbers(example)),
        *(with_other_divisors(example), _of_divisors_within(example, numbers)),
        of_names(example),
        (partial(in_opset, opset, example) for opset in _opsets(given) if opset != example.opset),
    )
    return tuple(spread(list(kind), MOST) for kind in kinds)


def _opsets(named: Iterable[float]) -> list[int]:
    """Opsets in which operators changed most, and those beside numbers that the law names."""
    beside = (int(n) + step for n in named for step in (-1, 0, 1) if n == int(n))
    return list(dict.fromkeys((*OPSETS, *(n for n in beside if OPSETS[0] <= n <= OPSETS[-1]))))


def _of_sizes(example: Example, numbers: Sequence[float]) -> Iterator[Made]:
    """Each size of an input one more, four times as much, as much as another one, and as what is named."""
    operands = example.operands
    dims = {d for v in operands.values if v.const_value is None for d in v.shape or () if isinstance(d, int)}
    as_others = (with_sizes(example, lambda d, other=other: other) for other in sorted(dims))  # type: ignore[misc]
    named = sorted({int(n) for n in numbers if n == int(n) and 8 <= n < MOST_NAMED})[-NAMED:]
    as_named = (with_sizes(example, lambda d, to=n + k: to) for n in named for k in (0, 1))  # type: ignore[misc]
    changes = (lambda d: d + 1, lambda d: 4 * d, lambda d: 2)
    others = (with_sizes(example, change) for change in changes)
    alone = (with_one_size(example, change) for change in (lambda d: d + 1, lambda d: 0))
    return (partial(replace, sized) for sized in chain(*others, *alone, *as_others, *as_named))


def _of_ends(example: Example, numbers: Sequence[float], *, plain: bool = False) -> Iterator[Made]:
    """Inputs that are bounded by a number that the law names; integers by the next ones, or far from 0.

    Args:
        plain: integers from 0 to these numbers only.
    """
    splats = (fact.splat for fact in example.operands.facts)
    given = (*numbers, *(n for n in splats if isinstance(n, int | float) and abs(n) < LARGEST_END))
    whole = sorted({int(abs(n)) for n in given if n == int(n) and abs(n) > 1})
    ends: Iterable[tuple[float | None, float | None]]
    for place, (value, known) in enumerate(zip(example.operands.values, example.operands.facts, strict=True)):
        if value.const_value is not None:
            continue
        if known.dtype in INTEGERS:
            least = 0 if known.dtype in UNSIGNED else -1
            around = [
                (end, n)
                for number in whole
                for n in (number, number - 1, number + 1)
                for end in dict.fromkeys((least * n, 0))
            ]
            around += [(-n, n - 1) for n in whole if least]  # as two's complement has
            ends = [(0, int(n)) for n in numbers if n > 1 and n == int(n)] if plain else around
        elif known.dtype == TensorProto.FLOAT:
            ends = (
                e for n in numbers for e in ((n, None), (None, n), (-abs(n), abs(n)), (-abs(n) / 2, abs(n)))
            )
        else:
            continue
        bounded = [unary("Clip", (("max", most), ("min", least)), leaf(place)) for least, most in ends]
        functions = () if plain else tables.within_bounds(known.dtype)
        bounded += [unary(*function, leaf(place)) for function in functions]
        for old in (leaf(place), *_made_of(leaf(place), example)):
            yield from (partial(replace, example, term=replaced(example.term, {old: b})) for b in bounded)


def _made_of(leaf: Expression, example: Example) -> list[Expression]:
    """What single operators make of a leaf, one after the other, within a term."""
    inner = (part for term in roots_of(example) for top in term.arguments for part in parts(top))
    after = {
        part.arguments[-1]: part
        for part in inner
        if isinstance(part.head, Function) and part.head.name == "unary"
    }
    found = list[Expression]()
    while (last := found[-1] if found else leaf) in after:
        found.append(after[last])
    return found


def _of_constants(example: Example, numbers: Sequence[float]) -> Iterator[Made]:
    picky = operators_in(roots_of(example)) & PICKY
    for place, value in enumerate(example.operands.values):
        if value.const_value is None:
            continue
        array = value.const_value.numpy()
        counts = "reverse_sequence" in picky and array.dtype.kind in "iu" and bool((array > 0).all())
        scales = "resize" in picky and array.dtype.kind == "f" and array.ndim == 1 and array.size > 2
        others = chain(other_arrays(array, numbers), _larger_and_smaller(array) if scales else ())
        for other in others:
            if "resize" in picky and other.size and not 0 < other.min() <= other.max() <= LARGEST_SCALE:
                continue
            if counts and (other <= 0).any():
                continue  # lengths below 1 end onnxruntime
            yield partial(_with_constant, example, place, other)


def _of_divisors_within(example: Example, numbers: Sequence[float]) -> Iterator[Made]:
    """Other divisors of inputs that are as large as a number that the law names."""
    for bounded in _of_ends(example, numbers, plain=True) if any(with_other_divisors(example)) else ():
        yield from with_other_divisors(bounded())


def _larger_and_smaller(scales: Any) -> Iterator[Any]:
    """Scales of which one is above 1 and another below."""
    for both in ((4.0, 0.5), (0.5, 4.0)):
        made = scales.copy()
        made[-2:] = both
        yield made


def _with_constant(example: Example, place: int, array: Any) -> Example:
    return replace(example, operands=example.operands.with_constant(place, array))


def _of_all_numbers(example: Example) -> Iterator[Made]:
    """All numbers changed, where none is a scale or a length."""
    return iter(()) if operators_in(roots_of(example)) & PICKY else with_all_numbers_changed(example)


def _of_shared_numbers(example: Example) -> Iterator[Made]:
    return (partial(replace, example, term=term) for term in with_other_shared_numbers(example.term))
