"""An example with other types, sizes or ranks of its operands: what a law's author may not have thought of.

A law need not fire on a variant, and the variant need not be well-typed: then there is nothing to check.  But
where it fires both sides must agree, as on the example itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.check.inputs import ANY
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.inference.constants import tensor_fact

if TYPE_CHECKING:
    from egraph_opt.laws.examples import Operands
    from egraph_opt.laws.law import Example

DTYPES = (TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8)

Dims = tuple[int | str | None, ...]


def _dims(value: ir.Value) -> Dims:
    return tuple(d if isinstance(d, int) else d.value for d in value.shape or ())


def _input(value: ir.Value, dims: Dims, dtype: int) -> tuple[ir.Value, Fact]:
    shape = ir.Shape([d if d is not None else ir.SymbolicDim(None) for d in dims])
    made = ir.Value(name=value.name, type=ir.TensorType(ir.DataType(dtype)), shape=shape)
    known: tuple[Dim, ...] = tuple(symbolic.symbol(d) if isinstance(d, str) else d for d in dims)
    return made, Fact(dtype, known)


def _constant(value: ir.Value, array: Any) -> tuple[ir.Value, Fact]:
    tensor = ir.tensor(array)
    made = ir.Value(
        name=value.name, type=ir.TensorType(tensor.dtype), shape=ir.Shape(array.shape), const_value=tensor
    )
    return made, tensor_fact(tensor)


def _with(example: Example, leaf: Callable[[ir.Value, Fact], tuple[ir.Value, Fact]]) -> Example:
    operands: Operands = example.operands
    pairs = [leaf(v, f) for v, f in zip(operands.values, operands.facts, strict=True)]
    made = replace(operands, values=[v for v, _ in pairs], facts=[f for _, f in pairs])
    return replace(example, operands=made)


def _in_dtype(example: Example, dtype: int) -> Example:
    """All float32 operands in another type; numbers are enlarged for integers."""
    kind = ir.DataType(dtype)

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        if known.dtype != TensorProto.FLOAT:
            return value, known
        if value.const_value is None:
            return _input(value, _dims(value), dtype)
        array = value.const_value.numpy()
        whole = array == np.round(array)
        if not kind.is_floating_point() and not whole.all():
            array = np.round(array * 3)
        with np.errstate(all="ignore"):
            return _constant(value, array.astype(kind.numpy()))

    return _with(example, leaf)


def _with_dims(example: Example, change: Callable[[Dims], Dims]) -> Example:
    """Inputs of other shapes; constants stay as they are."""

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        if value.const_value is not None:
            return value, known
        return _input(value, change(_dims(value)), known.dtype)

    return _with(example, leaf)


def _replaced(example: Example, old: int, new: int | str) -> Example:
    return _with_dims(example, lambda dims: tuple(new if d == old else d for d in dims))


def with_sizes(example: Example, change: Callable[[int], int]) -> Iterator[Example]:
    """Each size that inputs alone have changed to another one."""
    operands: Operands = example.operands
    inputs = [_dims(v) for v in operands.values if v.const_value is None]
    for size in sorted({d for dims in inputs for d in dims if isinstance(d, int)}):
        yield _replaced(example, size, change(size))


def _last(rank: int, dims: Dims) -> Dims:
    return dims[max(len(dims) - rank, 0) :]


def variants(example: Example) -> Iterator[tuple[str, Example]]:
    """Other types; each size of an input 0, 1 or a symbol; inputs of the last axes only."""
    operands: Operands = example.operands
    if any(known.dtype == TensorProto.FLOAT for known in operands.facts):
        for dtype in DTYPES:
            yield f"in {ir.DataType(dtype).name}", _in_dtype(example, dtype)
    inputs = [_dims(v) for v in operands.values if v.const_value is None]
    # onnxruntime may take an empty operand beside a constant of another size, which means nothing.
    fixed = {d for v in operands.values if v.const_value is not None for d in _dims(v)}
    for size in sorted({d for dims in inputs for d in dims if isinstance(d, int)}):
        if size not in fixed:
            yield f"{size} a symbol", _replaced(example, size, f"{ANY}{size}")
        for other in (0, 1):
            if size != other and (other or size not in fixed):
                yield f"{size} became {other}", _replaced(example, size, other)
    for rank in range(max((len(dims) for dims in inputs), default=0)):
        yield f"rank {rank}", _with_dims(example, partial(_last, rank))
