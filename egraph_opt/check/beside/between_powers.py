"""Integers of which a type holds almost all: where a sign takes a bit, or a float has fewer digits than bits.

What is known of integers ends just beyond a power of two that some type does not hold, or half way to the
next one, and so does what becomes of them: sums, products, places along axes and counts of elements.  What is
cast is cast to each type of `BEYOND` with its own end, and with every end as it was before, since a law may
write a type that no example has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.check.beside.changing import with_attribute, with_parts
from egraph_opt.check.beside.variants import Dims, constant_like, dims_of, input_like, with_input, with_leaves
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.shorthands import transformed
from egraph_opt.facts.dtypes import BOOL, INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.kernels import FOUR_BITS
from egraph_opt.inference.numbers import integer_range
from egraph_opt.laws.law import Example
from egraph_opt.operators.elementwise import unary
from egraph_opt.operators.expressions import Expression, parts

BEYOND: dict[int, int] = {
    TensorProto.INT4: 2**3,
    TensorProto.UINT4: 2**4,
    TensorProto.INT8: 2**7,
    TensorProto.UINT8: 2**8,
    TensorProto.BFLOAT16: 2**8,
    TensorProto.FLOAT16: 2**11,
    TensorProto.INT16: 2**15,
    TensorProto.UINT16: 2**16,
    TensorProto.FLOAT: 2**24,
    TensorProto.INT32: 2**31,
    TensorProto.UINT32: 2**32,
    TensorProto.DOUBLE: 2**53,
}
"""By type a power of two up to which all integers are of it, and of those beyond some are not."""

ENDS = tuple(dict.fromkeys(BEYOND.values()))

LENGTHS = tuple(end + end // 2 + 1 for end in ENDS if end <= 2**16)
"""Of axes: between two powers of two, as far as memory goes."""

MOST_ELEMENTS = 200_000
"""Of an input of which one axis is so long."""

COUNTING = frozenset({"arg_reduce", "reduce", "shape_of", "cumsum"})
"""Operators that count along axes."""

MOST_TYPES, MOST_AXES, MOST_COMPUTED = 2, 2, 2
"""Types of casts, axes of inputs, and sums or products of an example that are changed."""

OPSET, OF_FOUR_BITS = 17, 21
"""Of all of them, which are saturated together, and of those with types of four bits."""

Changed = tuple[tuple[str, object], Example]
"""The kind of a change, what it is, and an example so changed: of those that say the same one will do."""

Ranges = dict[Expression, tuple[int, int]]


def with_integers_between_powers(example: Example) -> Iterator[Changed]:
    """Integers of an example that end there, of their own type and of the widest.

    What is cast to another type; what is known of all inputs; what is computed; what is counted.
    """
    late = replace(example, opset=OPSET)
    for made in (late, *_of_wide_integers(late)):
        for change in (_cast_ones, _known_ones, _computed_ones):
            for name, other in change(made):
                yield (change.__name__, (made is late, name)), other
    for name, other in _long_ones(late):
        yield (_long_ones.__name__, name), other


# --- what is cast -------------------------------------------------------------------------------------------


def _cast_ones(example: Example) -> Iterator[tuple[object, Example]]:
    casts = [node for node in nodes_of(example) if node.head.name == "cast"]
    types = list(dict.fromkeys(node.arguments[1].head.value for node in casts))[:MOST_TYPES]
    for old in types:
        alike = [node for node in casts if node.arguments[1].head.value == old]
        sites = _sites(example, alike)
        for to, end in BEYOND.items() if sites else ():
            for ends in ((0, end + 1), (0, end + end // 2 + 1), (-end - 1, 0)):
                ranges = {site: _shared(ends, site, alike, sites) for site in sites}
                yield (to, ends), cast_to(_with_ranges(example, ranges), old, to)


def _known_ones(example: Example) -> Iterator[tuple[object, Example]]:
    everywhere = _sites(example, nodes_of(example))
    for end in ENDS if everywhere else ():
        for ends in ((0, end + 1), (-end - 1, 0)):
            yield ends, _with_ranges(example, dict.fromkeys(everywhere, ends))


def _shared(
    ends: tuple[int, int], site: Expression, casts: Sequence[Expression], sites: Sequence[Expression]
) -> tuple[int, int]:
    """The range of what is cast, or of each of several of which the sum, or the product, has it."""
    node = next(cast for cast in casts if site in parts(cast))
    operand = node.arguments[0]
    if operand == site:
        return ends
    if operand.head.name == "binary" and operand.arguments[0].head.value == "Mul":
        return tuple(_root(n) for n in ends)  # type: ignore[return-value]
    each = sum(other in parts(operand) for other in sites)
    return ends[0] // max(each, 1), -(-ends[1] // max(each, 1))


def _root(number: int) -> int:
    return (math.isqrt(abs(number)) + 1) * (1 if number > 0 else -1) if number else 0


def cast_to(example: Example, old: int, to: int) -> Example:
    """All casts to one type to another one."""

    def change(part: Expression) -> Expression:
        same = getattr(part.head, "name", "") == "cast" and part.arguments[1].head.value == old
        return with_attribute(part, 1, to) if same else part

    opset = OF_FOUR_BITS if to in FOUR_BITS else example.opset
    return replace(example, term=transformed(example.term, change), opset=opset)


def _sites(example: Example, nodes: Sequence[Expression]) -> list[Expression]:
    """What is an input of integers, or one between bounds, beneath some nodes."""
    found = dict.fromkeys(part for node in nodes for part in parts(node) if _is_site(example, part))
    within = {site.arguments[2] for site in found if site.head.name == "unary"}
    return [site for site in found if site not in within]


def _is_site(example: Example, part: Expression) -> bool:
    name = getattr(part.head, "name", "")
    if name == "unary" and part.arguments[0].head.value == "Clip":
        part = part.arguments[2]
        name = part.head.name
    if name != "leaf":
        return False
    place = place_of_leaf(part)
    values, facts = example.operands.values, example.operands.facts
    return values[place].const_value is None and facts[place].dtype in INTEGERS


def _with_ranges(example: Example, ranges: Ranges) -> Example:
    """Other bounds; those that a type does not have make an example that nobody can write."""
    changed = {
        site: unary("Clip", (("max", high), ("min", low)), _leaf(site))
        for site, (low, high) in ranges.items()
    }
    return with_parts(example, changed)


def _of_wide_integers(example: Example) -> Iterator[Example]:
    """Inputs of fewer than 64 bits with them, and what was cast to their types."""
    pairs = zip(example.operands.values, example.operands.facts, strict=True)
    given = {known.dtype for value, known in pairs if value.const_value is None}
    narrow = given & (INTEGERS | {BOOL}) - {TensorProto.INT64, TensorProto.UINT64}
    if not narrow:
        return

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        if known.dtype not in narrow:
            return value, known
        if value.const_value is None:
            return input_like(value, dims_of(value), TensorProto.INT64)
        return constant_like(value, value.const_value.numpy().astype(np.int64))

    made = with_leaves(example, leaf)
    for old in sorted(narrow):
        made = cast_to(made, old, TensorProto.INT64)
    yield made


# --- what is computed ---------------------------------------------------------------------------------------


def _computed_ones(example: Example) -> Iterator[tuple[object, Example]]:
    """Sums and products that end beyond their own type, or its sign."""
    chosen = [node for node in nodes_of(example) if node.head.name in ("binary", "reduce")]
    found = 0
    for node in chosen:
        ranges = list(_ranges_of(example, node))
        found += bool(ranges)
        if found > MOST_COMPUTED:
            return
        name = node.arguments[0].head.value
        yield from (((name, k), _with_ranges(example, each)) for k, each in enumerate(ranges))


def _ranges_of(example: Example, node: Expression) -> Iterator[Ranges]:
    operands = [part for part in node.arguments if part.sort.kind == "tensor"]
    sites = [part for part in dict.fromkeys(operands) if _is_site(example, part)]
    if not sites:
        return
    function, end = node.arguments[0].head.value, _end_of(example, sites[0])
    if function == "Mul" and len(sites) == len(set(operands)):
        for power in (end, end + end // 2):
            root = math.isqrt(power) + 1
            yield dict.fromkeys(sites, (0, root))
            yield dict.fromkeys(sites, (-root, 0))
            yield {site: (-root, 0) if k else (0, root) for k, site in enumerate(sites)}
    elif function == "Mul":
        number = next((n for n in (_number(example, part) for part in operands) if n), 0)
        for power in (end, end + end // 2) if number else ():
            yield {sites[0]: (0, min(power // number + 1, end - 1))}
            yield {sites[0]: (-min(power // number + 1, end - 1), 0)}
    elif function == "Add" and len(sites) == len(operands):
        for share in (end // 2 + 1, end // 2 + end // 4):
            yield dict.fromkeys(sites, (0, share))
            yield dict.fromkeys(sites, (-share, 0))
    elif function == "ReduceSum":
        dims = dims_of(example.operands.values[place_of_leaf(_leaf(sites[0]))])
        count = math.prod(
            d for k, d in enumerate(dims) if k in node.arguments[2].head.value and isinstance(d, int)
        )
        if count > 1:
            yield {sites[0]: (0, end // count + 1)}
            yield {sites[0]: (0, min(end // count * 3 // 2, end - 1))}


def _leaf(site: Expression) -> Expression:
    return site.arguments[2] if site.head.name == "unary" else site


def _end_of(example: Example, site: Expression) -> int:
    """The first integer that a type does not have."""
    dtype = example.operands.facts[place_of_leaf(_leaf(site))].dtype
    return integer_range(dtype)[1] + 1


def _number(example: Example, part: Expression) -> int:
    """What a constant is throughout, without its sign; 0 of anything else."""
    place = place_of_leaf(part) if getattr(part.head, "name", "") == "leaf" else -1
    splat = example.operands.facts[place].splat if place >= 0 else None
    return abs(splat) if isinstance(splat, int) else 0


# --- what is counted ----------------------------------------------------------------------------------------


def _long_ones(example: Example) -> Iterator[tuple[object, Example]]:
    """Some axes so long along which is counted, the others that have no number of one element, or all others:
    what else is counted with them would be too many."""
    made = with_leaves(example, _without_symbols)
    casts = [node for node in nodes_of(example) if node.head.name == "cast"]
    types = tuple(dict.fromkeys(node.arguments[1].head.value for node in casts))[:MOST_TYPES]
    for place, axis in _counted(made)[:MOST_AXES]:
        value = made.operands.values[place]
        dims = dims_of(value)
        for length, others in product(LENGTHS, dict.fromkeys((dims, (1,) * len(dims)))):
            long = with_input(made, value, _with_length(others, axis, length))
            if _elements(long.operands.values[place]) > MOST_ELEMENTS:
                continue
            yield (length, types), long
            for to, end in BEYOND.items():
                if end < length < 2 * end:
                    yield from (((length, to, old), cast_to(long, old, to)) for old in types)


def _counted(example: Example) -> list[tuple[int, int]]:
    """The numbers of inputs and of their axes along which something is counted."""
    found = dict[tuple[int, int], None]()
    for node in nodes_of(example):
        if node.head.name in COUNTING:
            named = node.head.name in ("reduce", "arg_reduce")
            operand, axes = node.arguments[1 if named else 0], node.arguments[2].head.value if named else None
            while operand.head.name == "cast":
                operand = operand.arguments[0]
            place = place_of_leaf(operand) if operand.head.name == "leaf" else -1
            if place >= 0 and example.operands.values[place].const_value is None:
                every = range(len(dims_of(example.operands.values[place])))
                wanted = (axes,) if isinstance(axes, int) else every if axes is None else axes
                found |= dict.fromkeys((place, axis) for axis in wanted if axis in every)
    return list(found)


def _elements(value: ir.Value) -> int:
    return math.prod(d for d in dims_of(value) if isinstance(d, int))


def _with_length(dims: Dims, axis: int, length: int) -> Dims:
    return (*dims[:axis], length, *dims[axis + 1 :])


def _without_symbols(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
    if value.const_value is not None or value.shape is None:
        return value, known
    return input_like(value, tuple(d if isinstance(d, int) else 1 for d in dims_of(value)), known.dtype)
