"""An example with other types, sizes or ranks of its operands: what a law's author may not have thought of.

A law need not fire on a variant, and the variant need not be well-typed: then there is nothing to check.  But
where it fires both sides must agree, as on the example itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.check.feeds.sizes import ANY
from egraph_opt.check.scope import operators_in, roots_of
from egraph_opt.check.shorthands import transformed, with_arguments
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.inference.constants import tensor_fact
from egraph_opt.operators.expressions import Expression, Function, constant

if TYPE_CHECKING:
    from egraph_opt.laws.examples import Operands
    from egraph_opt.laws.law import Example

DTYPES = (TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8)

WHOLE = frozenset({TensorProto.INT32, TensorProto.INT64})
OF_WHOLE = (TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8)
"""What the operands of these are in turn."""

NARROW = (TensorProto.UINT16, TensorProto.INT16, TensorProto.UINT8, TensorProto.INT8)
"""What integers of few bits are in turn."""

OF_NARROW = "for narrow ones"
"""What the names of these variants end with."""

BYTES = frozenset({TensorProto.UINT8, TensorProto.INT8})
SIXTEEN_BITS: dict[int, int] = {TensorProto.UINT8: TensorProto.UINT16, TensorProto.INT8: TensorProto.INT16}

Dims = tuple[int | str | None, ...]

BEYOND_16_BITS, BEYOND_FLOATS = 70_001, 2**24 + 1
"""Lengths that some types of numbers cannot tell."""

EQUAL_SIZE = 3
"""What all sizes above 1 are at once."""

MOST_BEFORE_ONE_MORE = 6
"""Axes of inputs beyond which no other one is added."""

MOST_SMALL = 4
"""Axes of inputs that are tried with all sizes of 1 and 2."""

OF_ONE_BYTE = BYTES | {TensorProto.BOOL}
ADDING = frozenset({"reduce", "cumsum", "matmul"})
"""Types and operators of which so many elements are added that wider types are full."""

MOST_LONG = 600_000
"""Elements of an input one of whose axes is long."""


def dims_of(value: ir.Value) -> Dims:
    return tuple(d if isinstance(d, int) else d.value for d in value.shape or ())


def arrays_of(example: Example) -> dict[int, Any]:
    """The arrays of an example's constants, by place."""
    values = enumerate(example.operands.values)
    return {k: value.const_value.numpy() for k, value in values if value.const_value is not None}


def input_like(value: ir.Value, dims: Dims, dtype: int) -> tuple[ir.Value, Fact]:
    """An input of other dims, or of another type, under the same name."""
    shape = ir.Shape([d if d is not None else ir.SymbolicDim(None) for d in dims])
    made = ir.Value(name=value.name, type=ir.TensorType(ir.DataType(dtype)), shape=shape)
    known: tuple[Dim, ...] = tuple(symbolic.symbol(d) if isinstance(d, str) else d for d in dims)
    return made, Fact(dtype, known)


def constant_like(value: ir.Value, array: Any) -> tuple[ir.Value, Fact]:
    """A constant of other elements, under the same name."""
    tensor = ir.tensor(array)
    made = ir.Value(
        name=value.name, type=ir.TensorType(tensor.dtype), shape=ir.Shape(array.shape), const_value=tensor
    )
    return made, tensor_fact(tensor)


def with_leaves(example: Example, leaf: Callable[[ir.Value, Fact], tuple[ir.Value, Fact]]) -> Example:
    """The same term of other leaves."""
    operands: Operands = example.operands
    pairs = [leaf(v, f) for v, f in zip(operands.values, operands.facts, strict=True)]
    made = replace(operands, values=[v for v, _ in pairs], facts=[f for _, f in pairs])
    return replace(example, operands=made)


def in_dtype(example: Example, dtype: int, of: Collection[int] = (TensorProto.FLOAT,)) -> Example:
    """All operands of some types in another one; fractions are enlarged for integers."""
    kind = ir.DataType(dtype)

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        if known.dtype not in of:
            return value, known
        if value.const_value is None:
            return input_like(value, dims_of(value), dtype)
        array = value.const_value.numpy()
        whole = array == np.round(array)
        if not kind.is_floating_point() and not whole.all():
            array = np.round(array * 3)
        with np.errstate(all="ignore"):
            return constant_like(value, array.astype(kind.numpy()))

    return with_leaves(example, leaf)


def in_16_bits(example: Example) -> Example:
    """Quantised bytes as integers of 16 bits, which later opsets have."""

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        dtype = SIXTEEN_BITS.get(known.dtype)
        if dtype is None:
            return value, known
        if value.const_value is None:
            return input_like(value, dims_of(value), dtype)
        return constant_like(value, value.const_value.numpy().astype(ir.DataType(dtype).numpy()))

    wide = replace(with_leaves(example, leaf), opset=21)
    return replace(wide, term=transformed(wide.term, _written_in_16_bits))


def _written_in_16_bits(part: Expression) -> Expression:
    """An operator that writes integers of 16 bits where it wrote bytes."""
    names = [name for name, _ in part.head.parameters] if isinstance(part.head, Function) else []
    if "to" not in names:
        return part
    given = zip(names, part.arguments, strict=True)
    return with_arguments(part, tuple(_in_place_of_bytes(a) if name == "to" else a for name, a in given))


def _in_place_of_bytes(to: Expression) -> Expression:
    wide = SIXTEEN_BITS.get(getattr(to.head, "value", 0))
    return to if wide is None else constant(wide, to.sort)


def _pairs(example: Example) -> Iterator[tuple[ir.Value, Fact]]:
    return zip(example.operands.values, example.operands.facts, strict=True)


def _of_wider_integers(example: Example) -> Example:
    """Inputs of bytes as integers of 32 bits, which have larger ones."""

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        if value.const_value is not None or known.dtype not in BYTES:
            return value, known
        return input_like(value, dims_of(value), TensorProto.INT32)

    return with_leaves(example, leaf)


def resized(example: Example, sizes: Collection[int | str], new: int, *, continued: bool = False) -> Example:
    """Some sizes of inputs and of constants changed to one.

    Args:
        continued: integers in even steps go on, as in ranges; else elements begin again.
    """

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        dims = tuple(new if d in sizes else d for d in dims_of(value))
        if value.const_value is None:
            return input_like(value, dims, known.dtype)
        return constant_like(value, of_dims(value.const_value.numpy(), dims, continued=continued))

    return with_leaves(example, leaf)


def of_dims(array: Any, dims: Dims, *, continued: bool = False) -> Any:
    """An array with more or fewer elements along its axes, whose elements begin again or, `continued`, go on
    where they are integers in even steps."""
    for axis, (old, new) in enumerate(zip(array.shape, dims, strict=True)):
        if old == new or not isinstance(new, int):
            continue
        steps = np.diff(array, axis=axis) if continued and array.dtype.kind == "i" else np.zeros(0)
        if steps.size and (steps == np.take(steps, [0], axis)).all() and (steps >= 0).all():
            order = np.arange(new).reshape(-1, *(1,) * (array.ndim - 1 - axis))
            array = np.take(array, [0], axis) + np.take(steps, [0], axis) * order
        else:
            array = np.take(array, np.arange(new) % old, axis)
    return array


def with_dims(example: Example, change: Callable[[Dims], Dims]) -> Example:
    """Inputs of other shapes; constants stay as they are."""

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        if value.const_value is not None:
            return value, known
        return input_like(value, change(dims_of(value)), known.dtype)

    return with_leaves(example, leaf)


def with_shape(example: Example, place: int, shape: Dims) -> Example:
    """The same term, of one leaf of another shape; elements of a constant begin again."""
    old = example.operands.values[place]

    return with_leaves(
        example, lambda value, known: of_shape(value, known, shape) if value is old else (value, known)
    )


def of_shape(value: ir.Value, known: Fact, shape: Dims) -> tuple[ir.Value, Fact]:
    """A leaf of another shape; elements of a constant begin again."""
    if value.const_value is None:
        return input_like(value, shape, known.dtype)
    array = value.const_value.numpy()
    return constant_like(value, np.resize(array if array.size else np.ones(1, array.dtype), shape))


def without_names(example: Example) -> Example:
    """All dims of inputs unknown, and not known to be equal."""
    return with_dims(example, lambda dims: (None,) * len(dims))


def _replaced(example: Example, old: int, new: int | str) -> Example:
    return with_dims(example, lambda dims: tuple(new if d == old else d for d in dims))


def with_sizes(example: Example, change: Callable[[int], int]) -> Iterator[Example]:
    """Each size that inputs alone have changed to another one."""
    operands: Operands = example.operands
    inputs = [dims_of(v) for v in operands.values if v.const_value is None]
    for size in sorted({d for dims in inputs for d in dims if isinstance(d, int)}):
        yield _replaced(example, size, change(size))


def with_long_sums(example: Example, size: int) -> Iterator[Example]:
    """All sizes above 1 changed to one, or each of them where that would be too large."""
    shapes = [tuple(d for d in dims_of(v) if isinstance(d, int)) for v in example.operands.values]
    sizes = {d for dims in shapes for d in dims if d > 1}

    def fits(old: Collection[int]) -> bool:
        return all(math.prod(size if d in old else d for d in dims) <= MOST_LONG for dims in shapes)

    for old in [sizes] if fits(sizes) else [{d} for d in sorted(sizes)]:
        if fits(old):
            yield resized(example, old, size)


def with_one_size(example: Example, change: Callable[[int], int]) -> Iterator[Example]:
    """Each size of one input alone changed to another one."""
    for value in example.operands.values:
        for axis, size in enumerate(dims_of(value) if value.const_value is None else ()):
            if isinstance(size, int):
                yield with_input(
                    example, value, (*dims_of(value)[:axis], change(size), *dims_of(value)[axis + 1 :])
                )


def with_input(example: Example, old: ir.Value, dims: Dims) -> Example:
    """The same term, with an input of some dims instead of a leaf."""

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        return input_like(value, dims, known.dtype) if value is old else (value, known)

    return with_leaves(example, leaf)


def small_ones(example: Example) -> Iterator[Example]:
    """Inputs whose axes, counted from the last, are of 1 or 2 elements."""
    rank = max((len(dims_of(v)) for v in example.operands.values if v.const_value is None), default=0)
    for sizes in product((1, 2), repeat=rank) if rank <= MOST_SMALL else ():
        yield with_dims(example, partial(_as_many, sizes))


def _as_many(sizes: Dims, dims: Dims) -> Dims:
    return _last(len(dims), sizes)


def long_ones(example: Example) -> Iterator[Example]:
    """Sizes that integers of 16 bits do not count to, and what float32 does not, of which nothing is made."""
    single, nothing = (
        with_dims(example, lambda dims, to=to: tuple(to if isinstance(d, str) else d for d in dims))  # type: ignore[misc]
        for to in (1, 0)
    )
    for made in with_sizes(single, lambda size: BEYOND_16_BITS if size > 1 else size):
        if _elements(made) <= MOST_LONG:
            yield made
    yield from with_sizes(nothing, lambda size: BEYOND_FLOATS if size else 0)
    inputs = [known.dtype for value, known in _pairs(example) if value.const_value is None]
    if OF_ONE_BYTE.issuperset(inputs) and operators_in(roots_of(example)) & ADDING:
        one = with_dims(single, lambda dims: tuple(1 if k else BEYOND_FLOATS for k in range(len(dims))))
        yield from (one, with_dims(one, lambda dims: dims[::-1]))


def _elements(example: Example) -> int:
    """Of the largest input, symbols aside."""
    inputs = (dims_of(v) for v in example.operands.values if v.const_value is None)
    return max((math.prod(d for d in dims if isinstance(d, int)) for dims in inputs), default=0)


def _axis_twice(most: int, axis: int, dims: Dims) -> Dims:
    """Shapes of the highest rank with one of another axis beside an axis that is as long."""
    return (*dims[: axis + 1], *dims[axis:]) if len(dims) == most else dims


def _last(rank: int, dims: Dims) -> Dims:
    return dims[max(len(dims) - rank, 0) :]


def variants(example: Example) -> Iterator[tuple[str, Example]]:
    """Other types; each size of an input 0, 1 or a symbol; all alike; inputs of the last axes only."""
    operands: Operands = example.operands
    if any(known.dtype == TensorProto.FLOAT for known in operands.facts):
        for dtype in DTYPES:
            yield f"in {ir.DataType(dtype).name}", in_dtype(example, dtype)
    if any(known.dtype in WHOLE for known in operands.facts):
        for dtype in OF_WHOLE:
            yield f"in {ir.DataType(dtype).name} for integers", in_dtype(example, dtype, WHOLE)
    if any(known.dtype in NARROW for known in operands.facts):
        for dtype in NARROW:
            yield f"in {ir.DataType(dtype).name} {OF_NARROW}", in_dtype(example, dtype, NARROW)
    if any(known.dtype in SIXTEEN_BITS for known in operands.facts):
        yield "in 16 bits", in_16_bits(example)
        yield "in 16 bits, with float16", in_dtype(in_16_bits(example), TensorProto.FLOAT16)
    if any(v.const_value is None and known.dtype in BYTES for v, known in _pairs(example)):
        yield "of wider integers", _of_wider_integers(example)
    sizes = sorted({d for v in operands.values for d in dims_of(v) if isinstance(d, int) and d > 1})
    for size in sizes:
        yield f"longer constants: {size} became {size + 2}", resized(example, {size}, size + 2)
        if any(fact.ints is not None and fact.rank for fact in operands.facts):
            yield f"more of {size} in order", resized(example, {size}, size + 2, continued=True)
    if len(sizes) > 1:  # of equal sizes axes are told apart by what is in them alone
        yield f"all sizes {EQUAL_SIZE}", resized(example, sizes, EQUAL_SIZE)
    inputs = [dims_of(v) for v in operands.values if v.const_value is None]
    # onnxruntime may take an empty operand beside a constant of another size, which means nothing.
    fixed = {d for v in operands.values if v.const_value is not None for d in dims_of(v)}
    for size in sorted({d for dims in inputs for d in dims if isinstance(d, int)}):
        if size not in fixed:
            yield f"{size} a symbol", _replaced(example, size, f"{ANY}{size}")
        for other in (0, 1):
            if size != other and (other or size not in fixed):
                yield f"{size} became {other}", _replaced(example, size, other)
    if any(inputs):
        yield "dims without names", without_names(example)
    most = max((len(dims) for dims in inputs), default=0)
    for axis in range(most) if most < MOST_BEFORE_ONE_MORE else ():
        yield f"axis {axis} twice", with_dims(example, partial(_axis_twice, most, axis))
    for rank in range(most):
        yield f"rank {rank}", with_dims(example, partial(_last, rank))
