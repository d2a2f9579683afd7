"""Operands that need not be there: given where an example leaves them out, and left out where it has them.

A law whose author thought of layers without lengths, or of a Gemm without a bias, may forget what these do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.check.beside.changing import with_changed, with_parts
from egraph_opt.check.beside.other_layers import ORDINARY, items_of
from egraph_opt.check.beside.variants import constant_like, input_like
from egraph_opt.check.layers import CELL, HIDDEN, LENGTHS
from egraph_opt.check.operands import operand_shapes
from egraph_opt.check.scope import nodes_of
from egraph_opt.check.shorthands import with_argument
from egraph_opt.check.terms import Builder
from egraph_opt.check.used_operands import with_used_operands
from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf, none
from egraph_opt.operators.declaration import operator_named
from egraph_opt.operators.expressions import Expression
from egraph_opt.operators.quantization import QUANTIZED
from egraph_opt.operators.terms import listed

Dims = tuple[Any, ...]
Array = np.ndarray[Any, Any]
Facts = Sequence[Fact]

LAYER_BIAS = 3
"""The number of the bias among the operands of a layer; peepholes are `other_layers`' matter."""

QUANTIZING = frozenset({"quantize", "dequantize"})
"""Operators of which the operand that need not be there is a zero point."""

BEYOND_MIDDLE = 3
"""How far zero points are from the middle of their type."""

BESIDE_BOUND = 1.0
"""How far the bound of a Clip that was not there is from the other one."""


def _drawn_alike(node: Expression, facts: Facts, number: int) -> list[Dims]:
    """The shape that terms of the tables have, where nothing about it is drawn."""
    rng = np.random.default_rng(0)
    shape = operand_shapes(rng, node.head.name, "", facts[:number], None)
    return [] if shape is None else [tuple(shape)]


def _of_transposed(node: Expression, facts: Facts, number: int) -> list[Dims]:
    weight, window = facts[1].shape, node.arguments[-1].head.value
    if weight is None or len(weight) < 2 or not isinstance(weight[1], int):
        return []
    return [(weight[1] * window.group,)]


def _of_gemm(node: Expression, facts: Facts, number: int) -> list[Dims]:
    """A row, and a number for each element."""
    (a, b), settings = (fact.shape for fact in facts[:2]), node.arguments[-1].head.value
    if a is None or b is None or len(a) != 2 or len(b) != 2:
        return []
    rows, columns = a[bool(settings.trans_a)], b[not settings.trans_b]
    return [(columns,), (rows, columns)]


def _of_layer(node: Expression, facts: Facts, number: int) -> list[Dims]:
    if number != LAYER_BIAS:
        is_cell_of_another = number == CELL and node.arguments[-1].head.value.kind != "LSTM"
        return [] if is_cell_of_another else _drawn_alike(node, facts, number)
    recurrence = facts[2].shape
    if recurrence is None or len(recurrence) != 3 or not isinstance(recurrence[1], int):
        return []
    return [(recurrence[0], 2 * recurrence[1])]


def _of_scales(node: Expression, facts: Facts, number: int) -> list[Dims]:
    scale = facts[1].shape
    return [] if scale is None or _type_of(node, facts, number) not in QUANTIZED else [scale]


OPTIONAL: dict[tuple[str, int], Callable[[Expression, Facts, int], list[Dims]]] = {
    ("conv", 2): _drawn_alike,
    ("conv_transpose", 2): _of_transposed,
    ("gemm", 2): _of_gemm,
    ("quantize", 2): _of_scales,
    ("dequantize", 2): _of_scales,
    **{("recurrent", number): _of_layer for number in (LAYER_BIAS, LENGTHS, HIDDEN, CELL)},
}
"""The operators' operands, counted from 0 with those in lists, that need not be there, and what shapes they
may have beside the others."""


@dataclass(frozen=True)
class OptionalPlace:
    """An operand of an operator of a term that need not be there.

    Attributes:
        facts: of all operands of the operator.
    """

    node: Expression
    number: int
    facts: tuple[Fact, ...]

    @property
    def kind(self) -> tuple[str, int]:
        return self.node.head.name, self.number

    @property
    def is_absent(self) -> bool:
        return self.facts[self.number] == ABSENT

    def shapes(self) -> list[Dims]:
        return OPTIONAL[self.kind](self.node, self.facts, self.number)

    def array(self, shape: Dims) -> Array:
        """Elements that suit the operand."""
        dtype = _type_of(self.node, self.facts, self.number)
        numbers = ir.DataType(dtype).numpy()
        if self.kind == ("recurrent", LENGTHS):
            return _lengths(int(self.facts[0].shape[0]), int(shape[0]))  # type: ignore[index,arg-type]
        if self.node.head.name in QUANTIZING:
            places = np.arange(int(np.prod(shape))).reshape(shape)
            least, most = QUANTIZED[dtype]
            return np.asarray((least + most) // 2 + BEYOND_MIDDLE + places % 2).astype(numbers)
        elements = np.resize(ORDINARY, shape)
        return (elements if dtype in ALL_FLOATS else np.abs(np.round(8 * elements))).astype(numbers)


def places_in(example: Example) -> list[OptionalPlace]:
    """The operands of an example's terms that need not be there."""
    names = {name for name, _ in OPTIONAL}
    nodes = [node for node in nodes_of(example) if node.head.name in names]
    if not nodes:
        return []
    builder = Builder(example.operands, example.opset)
    found = []
    for node in nodes:
        items = (operand for _, operand in _operands_of(node))
        known = tuple(builder.lowered.facts[builder.term(item)] or Fact(0) for item in items)
        numbers = (k for name, k in OPTIONAL if name == node.head.name and k < len(known))
        found += [OptionalPlace(node, number, known) for number in numbers]
    return found


def with_optional_operands(example: Example) -> Iterator[Example]:
    """Each operand that is not there, alone, in all operators of its kind, and all of them; each that is
    there left out, and all of them; and the same of the bounds of a Clip."""
    yield from _with_other_bounds(example)
    try:
        places = places_in(example)
    except Exception:  # operands that do not suit an operator make inference fail in many ways
        return
    absent = [place for place in places if place.is_absent]
    for place in absent:
        yield from (given(example, place, shape) for shape in place.shapes() if _is_known(place, shape))
    for kinds in ({kind} for kind in dict.fromkeys(place.kind for place in absent)):
        yield _all_given(example, kinds)
    for later in (False, True) if absent else ():
        yield _all_given(example, set(OPTIONAL), at_run_time=later)
    present = [place for place in places if not place.is_absent]
    for place in present:
        other = with_operand(place.node, place.number, none())
        yield with_used_operands(with_parts(example, {place.node: other}))
    if len(present) > 1:
        yield _all_left_out(example)


def given(example: Example, place: OptionalPlace, shape: Dims, *, at_run_time: bool = False) -> Example:
    """An example with an operand that was not there, as a constant or an input."""
    array = place.array(shape)
    made = ir.Value(name="given", type=ir.TensorType(ir.DataType.from_numpy(array.dtype)))
    dtype = int(ir.DataType.from_numpy(array.dtype))
    new = input_like(made, shape, dtype) if at_run_time else constant_like(made, array)
    operands = example.operands.with_leaf(*new)
    other = with_operand(place.node, place.number, leaf(len(operands.values) - 1))
    return with_parts(replace(example, operands=operands), {place.node: other})


def _all_given(example: Example, kinds: set[tuple[str, int]], *, at_run_time: bool = False) -> Example:
    """All operands of some kinds; of lengths, which kernels do not take as they come, only a constant."""
    for _ in range(len(places_in(example))):
        absent = (place for place in places_in(example) if place.is_absent and place.kind in kinds)
        left = [(place, shape) for place in absent for shape in place.shapes() if _is_known(place, shape)]
        if not left:
            break
        place, shape = left[0]
        later = at_run_time and place.kind != ("recurrent", LENGTHS)
        example = given(example, place, shape, at_run_time=later)
    return example


def _all_left_out(example: Example) -> Example:
    for _ in range(len(places_in(example))):
        present = [place for place in places_in(example) if not place.is_absent]
        if not present:
            break
        other = with_operand(present[0].node, present[0].number, none())
        example = with_parts(example, {present[0].node: other})
    return with_used_operands(example)


def _is_known(place: OptionalPlace, shape: Dims) -> bool:
    """Whether a constant can have a shape, and how many steps there are, where these are counted."""
    dims = (*shape, *(place.facts[0].shape or (None,))[:1]) if place.number == LENGTHS else shape
    return all(isinstance(d, int) and d > 0 for d in dims)


def _type_of(node: Expression, facts: Facts, number: int) -> int:
    if (node.head.name, number) == ("recurrent", LENGTHS):
        return TensorProto.INT32
    return int(node.arguments[-1].head.value) if node.head.name == "quantize" else facts[0].dtype


def _lengths(steps: int, batch: int) -> Array:
    """All steps, one less, and so on; less than all where there is one sequence only."""
    fewer = np.arange(batch) if batch > 1 else np.ones(1)
    return np.maximum(steps - fewer, 1).astype(np.int32)


def _operands_of(node: Expression) -> list[tuple[int, Expression]]:
    """The operands of an operator, those in lists one by one, and which of its arguments they are in."""
    positions = operator_named(node.head.name).operand_positions
    items = ((k, node.arguments[k]) for k in positions)
    return [
        (k, item)
        for k, argument in items
        for item in (items_of(argument) if argument.sort.kind == "tensors" else [argument])
    ]


def with_operand(node: Expression, number: int, value: Expression) -> Expression:
    """An operator with another operand, counted from 0 with those in lists."""
    operands = _operands_of(node)
    position = operands[number][0]
    changed = [(k, value if n == number else item) for n, (k, item) in enumerate(operands)]
    items = [item for k, item in changed if k == position]
    is_list = node.arguments[position].sort.kind == "tensors"
    return with_argument(node, position, listed(*items) if is_list else value)


# --- bounds that are attributes ----------------------------------------------------------------------------


def _with_other_bounds(example: Example) -> Iterator[Example]:
    """Each bound that a Clip has left out, and one that it has not, where the other one is a number."""
    for node in nodes_of(example):
        if node.head.name != "unary" or node.arguments[0].head.value != "Clip":
            continue
        bounds = dict(node.arguments[1].head.value)
        numbers = {name: n for name, n in bounds.items() if isinstance(n, int | float)}
        for name in numbers if len(numbers) > 1 else ():
            yield with_changed(example, node, 1, _sorted({**bounds, name: None}))
        for name in bounds.keys() - numbers.keys() if len(numbers) == 1 else ():
            ((_, other),) = numbers.items()
            beyond = type(other)(other + (BESIDE_BOUND if name == "max" else -BESIDE_BOUND))
            yield with_changed(example, node, 1, _sorted({**bounds, name: beyond}))


def _sorted(bounds: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(bounds.items()))
