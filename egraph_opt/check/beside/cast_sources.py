"""What is cast, in another type: of all operands of that type at once a term may suit none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.check.beside.variants import constant_like, dims_of, input_like
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example

SOURCES = (
    *(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.INT32),
    *(TensorProto.UINT8, TensorProto.INT8, TensorProto.BOOL),
)


def with_other_sources(example: Example) -> Iterator[Example]:
    """Each leaf that is cast, in every type, alone."""
    operands: Operands = example.operands
    cast = {place_of_leaf(node.arguments[0]) for node in nodes_of(example) if node.head.name == "cast"}
    for place in sorted(cast - {-1}):
        value, known = operands.values[place], operands.facts[place]
        for dtype in SOURCES:
            if dtype == known.dtype:
                continue
            values, facts = [*operands.values], [*operands.facts]
            if value.const_value is None:
                values[place], facts[place] = input_like(value, dims_of(value), dtype)
            else:
                with np.errstate(all="ignore"):
                    array = value.const_value.numpy().astype(ir.DataType(dtype).numpy())
                values[place], facts[place] = constant_like(value, array)
            yield replace(example, operands=replace(operands, values=values, facts=facts))
