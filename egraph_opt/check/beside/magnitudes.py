"""Constants of very different size: one near the end of its type, or of one that is cast to; all so large, or
so small, that two of them have a product and three have none; integers between floats; factors of high
powers, and many of them.

On such numbers an order of operations shows: what is combined first may leave the range of a type that the
term as it was written never leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations, product

import ml_dtypes
import numpy as np
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.check import tables
from egraph_opt.check.beside.changing import with_parts
from egraph_opt.check.beside.variants import resized
from egraph_opt.check.scope import attributes_in, nodes_of, place_of_leaf, roots_of
from egraph_opt.check.shorthands import transformed, with_arguments
from egraph_opt.facts.dtypes import ALL_FLOATS, HOLDS, INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.numbers import integer_range
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf
from egraph_opt.operators.expressions import Expression, Function, constant, parts

TOGETHER = (1e15, 1e-20)
"""All constants, of which the product of two is one of float32, and that of three is not."""

FEW_DIGITS = (1e-43, 1e38)
"""A subnormal number, of which products have few digits, and one that makes an ordinary number of these."""

LONGER = 2
"""The length of an axis of one, and of a symbolic one of a constant instead of an input."""

BEYOND: dict[int, tuple[float, float]] = {TensorProto.FLOAT16: (7e4, 1e-8), TensorProto.FLOAT: (1e40, 1e-46)}
"""What a type does not hold, and a wider one does."""

BETWEEN_FLOATS = {
    TensorProto.INT32: 2**24 + 1,
    TensorProto.UINT32: 2**24 + 1,
    TensorProto.INT64: 2**53 + 1,
    TensorProto.UINT64: 2**53 + 1,
}
"""Integers that floats of as many bits, in which a host function may compute, do not count to."""

WRAPPED = 3
"""What is added to the greatest integer of a type."""

TINY_BESIDE_LARGE = (1e-38, 1e25)
"""Numbers of which, or of whose roots, quotients leave the range of float32 and products do not."""

HIGH_POWER, BENEATH = 6, 1e-3
"""An exponent, and a factor of what is raised: without it large numbers leave the range of their type."""

EXPONENTS, RAISED = (3.0, 0.5, 2.0), 2
"""Exponents, and how many of a term are changed together."""

MANY = 200
"""Factors of which the product of twos is none."""

FACTORS = frozenset({"Mul", "Div"})
"""Operators of two operands which add nothing: of sums large numbers leave nothing else."""

SUMMANDS = frozenset({"Add", "Sub"})
LARGE, OPPOSITE = 0.38, (-0.6, 0.6)
"""Shares of the greatest number of a type: twice the first is one, three times it is none, but for the second
that is added in between."""

OPPOSED = 0.6
"""The same share: of two there is no sum, and of these and what is opposite to one there is one."""

ADDING_NOTHING = frozenset({"leaf", "unary", "expand", "reshape", "transpose", "slice_", "gather"})


def with_other_magnitudes(example: Example) -> Iterator[Example]:
    """Each small constant of floats near the end of its type, beside ones, or tiny beside a large one; all
    alike with one of several inputs, so that two have a product, or a sum; beyond the types that are cast to;
    integers between floats; beneath high powers; along axes of many factors.

    Axes of one are longer as well: a sum of one overflows nothing.
    """
    for sized in (example, resized(example, {1}, LONGER)):
        yield from _with_a_huge_one(sized)
        if consists_of(FACTORS, sized):
            yield from _all_alike(sized)
            yield from _of_few_digits(sized)
        if consists_of(SUMMANDS, sized):
            yield from _of_large_summands(sized)
        yield from _of_large_sums(sized)

    yield from _beyond_casts(example)
    yield from _between_floats(example)
    yield from _of_wrapping_sums(example)
    yield from _of_high_powers(example)
    yield from _with_roots_of_powers(example)
    yield from _of_many_factors(example)


def _beyond_casts(example: Example) -> Iterator[Example]:
    """Each constant a number that a narrower type, to which something is cast, does not hold; and of float64
    in any case one that float32 does not, in which a law may compute."""
    types = {node.arguments[1].head.value for node in nodes_of(example) if node.head.name == "cast"}
    for place in floats_of(example)[0]:
        own = example.operands.facts[place].dtype
        numbers = dict.fromkeys(BEYOND[TensorProto.FLOAT][:1] if own == TensorProto.DOUBLE else ())
        for dtype in sorted(types & set(BEYOND)):
            if own != dtype and own in HOLDS[dtype]:
                numbers |= dict.fromkeys(BEYOND[dtype])
        for number in numbers:
            yield replace(example, operands=with_numbers(example.operands, {place: number}))


def _between_floats(example: Example) -> Iterator[Example]:
    """Each constant of integers with which is computed a number that no float is, beside twos."""
    computing = (node.arguments for node in nodes_of(example) if node.head.name == "binary")
    facts, values = example.operands.facts, example.operands.values
    places = {place_of_leaf(operand) for arguments in computing for operand in arguments[1:]}
    known = [k for k in sorted(places) if k >= 0 and values[k].const_value is not None]
    integers = [k for k in known if facts[k].dtype in BETWEEN_FLOATS]
    for large in integers:
        numbers = dict.fromkeys(integers, 2) | {large: BETWEEN_FLOATS[facts[large].dtype]}
        yield replace(example, operands=with_numbers(example.operands, numbers))


def _of_wrapping_sums(example: Example) -> Iterator[Example]:
    """Two constants of integers of which the sum is small, since it is beyond their type."""
    facts, values = example.operands.facts, example.operands.values
    known = [k for k, value in enumerate(values) if value.const_value is not None]
    integers = [k for k in known if facts[k].dtype in INTEGERS]
    for large, other in permutations(integers, 2):
        if facts[large].dtype == facts[other].dtype:
            _, end = integer_range(facts[large].dtype)
            for numbers in ({large: end, other: WRAPPED}, {large: end // 2 + 1, other: end // 2 + 2}):
                yield replace(example, operands=with_numbers(example.operands, numbers))


def _of_high_powers(example: Example) -> Iterator[Example]:
    """Exponents that are constants, and attributes called power, high, and all other constants beneath 1."""
    constants, _ = floats_of(example)
    raised = exponents_of(example)
    term = transformed(example.term, _with_high_p)
    if raised or term != example.term:
        numbers = {place: HIGH_POWER if place in raised else BENEATH for place in constants}
        yield replace(example, term=term, operands=with_numbers(example.operands, numbers))


def exponents_of(example: Example) -> set[int]:
    """The places of constants of floats that something is raised to."""
    powers = (node for node in nodes_of(example) if node.head.name == "binary")
    raised = {place_of_leaf(node.arguments[2]) for node in powers if node.arguments[0].head.value == "Pow"}
    return raised.intersection(floats_of(example)[0])


def _with_roots_of_powers(example: Example) -> Iterator[Example]:
    """Exponents that are constants whole or not, each with each: a power leaves the range, its root comes
    back."""
    raised = sorted(exponents_of(example))[:RAISED]
    for exponents in product(EXPONENTS, repeat=len(raised)) if raised else ():
        numbers = dict(zip(raised, exponents, strict=True))
        yield replace(example, operands=with_numbers(example.operands, numbers))


def _with_high_p(part: Expression) -> Expression:
    given = list(part.arguments)
    for k in attributes_in(part):
        if part.head.parameters[k][0] == "power" and isinstance(given[k].head.value, int):
            given[k] = constant(HIGH_POWER, given[k].sort)
    return part if given == list(part.arguments) else with_arguments(part, tuple(given))


def _of_many_factors(example: Example) -> Iterator[Example]:
    """Of a product over axes each length of an input so long that powers of constants leave their range."""
    reduced = (node.arguments[0].head.value for node in nodes_of(example) if node.head.name == "reduce")
    if "ReduceProd" in reduced:
        shapes = [v.shape for v in example.operands.values if v.const_value is None and v.shape is not None]
        for size in sorted({d for shape in shapes for d in shape if isinstance(d, int) and d > 1}):
            yield resized(example, {size}, MANY)


def consists_of(functions: frozenset[str], example: Example) -> bool:
    """Whether all operators of two operands are some, and all others only move elements."""
    heads = (part for term in roots_of(example) for part in parts(term) if isinstance(part.head, Function))
    return all(
        part.arguments[0].head.value in functions
        if part.head.name == "binary"
        else part.head.name in ADDING_NOTHING
        for part in heads
    )


def floats_of(example: Example) -> tuple[list[int], list[int]]:
    """The places of constants of floats, and of inputs."""
    pairs = zip(example.operands.values, example.operands.facts, strict=True)
    floats = [(k, value) for k, (value, known) in enumerate(pairs) if known.dtype in ALL_FLOATS]
    constants = [k for k, value in floats if value.const_value is not None]
    return constants, [k for k, value in floats if value.const_value is None]


def _with_a_huge_one(example: Example) -> Iterator[Example]:
    constants, _ = floats_of(example)
    values = example.operands.values
    for huge in constants if len(constants) > 1 else ():
        if np.prod(_lengths(values[huge].shape)) <= tables.KNOWN_ELEMENTS:
            numbers = dict.fromkeys(constants, 1.0) | {huge: _most(values[huge])}
            yield replace(example, operands=with_numbers(example.operands, numbers))
    single = [k for k in constants if np.prod(_lengths(values[k].shape)) == 1]
    for pair in permutations(single, 2):
        numbers = dict.fromkeys(constants, 1.0) | dict(zip(pair, TINY_BESIDE_LARGE, strict=True))
        yield replace(example, operands=with_numbers(example.operands, numbers))


def _all_alike(example: Example) -> Iterator[Example]:
    constants, inputs = floats_of(example)
    for number in TOGETHER if constants else ():
        for also in ([], *([k] for k in inputs if len(inputs) > 1)):
            if len(constants) + len(also) > 1:
                numbers = dict.fromkeys((*constants, *also), number)
                yield replace(example, operands=with_numbers(example.operands, numbers))


def _of_few_digits(example: Example) -> Iterator[Example]:
    """Constants that are subnormal: all of them, or each beside such as make up for it."""
    constants, _ = floats_of(example)
    few, large = FEW_DIGITS
    for numbers in (
        *([dict.fromkeys(constants, few)] if constants else ()),
        *(dict.fromkeys(constants, large) | {k: few} for k in constants if len(constants) > 1),
    ):
        yield replace(example, operands=with_numbers(example.operands, numbers))


def _of_large_summands(example: Example) -> Iterator[Example]:
    """All constants large, and so is one of several inputs; to another one an opposite number is added."""
    constants, inputs = floats_of(example)
    for large, other in permutations(inputs, 2) if constants else ():
        end = _end(example.operands.values[other])
        operands = with_numbers(example.operands, dict.fromkeys((*constants, large), LARGE * end))
        for share in OPPOSITE:
            yield _with_shift(replace(example, operands=operands), other, share * end)


def _of_large_sums(example: Example) -> Iterator[Example]:
    """A constant that is added and another one so large that their sum is none, and opposite to them a third
    one or what is added to an input; of several inputs each is a constant, too."""
    constants, inputs = floats_of(example)
    operators = (node.arguments for node in nodes_of(example) if node.head.name == "binary")
    sums = (operands for name, *operands in operators if name.head.value in SUMMANDS)
    added = {place_of_leaf(operand) for operands in sums for operand in operands}
    for also in ([], *([k] for k in inputs if len(inputs) > 1)):
        known = (*constants, *also)
        for place, other in permutations(known, 2):
            if place not in added:
                continue
            large = OPPOSED * _end(example.operands.values[place])
            numbers = {k: _share(example.operands.values[k]) for k in known} | {place: large, other: large}
            large_ones = replace(example, operands=with_numbers(example.operands, numbers))
            for k in known:
                if k not in (place, other):
                    yield replace(large_ones, operands=with_numbers(large_ones.operands, {k: -large}))
            for k in inputs:
                if k not in also:
                    yield _with_shift(large_ones, k, -large)


def _share(value: ir.Value) -> float:
    """A number of which a sum along a row of a weight is one."""
    lengths = _lengths(value.shape)
    return 1.0 / max(int(np.prod(lengths[1:])) if len(lengths) > 2 else lengths[0] if lengths else 1, 1)


def _with_shift(example: Example, place: int, number: float) -> Example:
    """A number added to an input."""
    dtype = example.operands.facts[place].dtype
    value = ir.Value(name="shift", type=ir.TensorType(ir.DataType(dtype)), shape=ir.Shape(()))
    operands = example.operands.with_leaf(value, Fact(dtype, ()))
    new = len(operands.values) - 1
    shifted = with_parts(example, {leaf(place): leaf(place) + leaf(new)})
    return replace(shifted, operands=with_numbers(operands, {new: number}))


def _end(value: ir.Value) -> float:
    """The greatest number of a type."""
    assert value.dtype is not None
    return float(ml_dtypes.finfo(value.dtype.numpy()).max)  # type: ignore[no-untyped-call]


def _most(value: ir.Value) -> float:
    return min(tables.NEAR_THE_END, 0.9 * _end(value))


def with_numbers(operands: Operands, numbers: Mapping[int, float]) -> Operands:
    """The same leaves, some of which are one number throughout."""
    for place, number in numbers.items():
        value = operands.values[place]
        assert value.dtype is not None
        with np.errstate(all="ignore"):
            array = np.full(_lengths(value.shape), number).astype(value.dtype.numpy())
        operands = operands.with_constant(place, array)
    return operands


def _lengths(shape: ir.Shape | None) -> tuple[int, ...]:
    return tuple(d if isinstance(d, int) else LONGER for d in shape or ())
