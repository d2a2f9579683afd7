"""Whether a body runs at all, and whether a node can fail: what has to be known before work leaves a loop."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import UNKNOWN, Fact

Facts = Mapping[ir.Value, Fact]
Scope = ChainMap[ir.Value, Fact]
"""Facts of the values of a graph, and behind them those of what is around it."""

SAFE = frozenset(
    (
        "Abs Acos Asin Atan Cast Ceil Clip Cos Elu Erf Exp Floor Gelu HardSigmoid HardSwish IsInf IsNaN "
        "LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shape Sigmoid Sign Sin Size Softplus "
        "Softsign Sqrt Tan Tanh ThresholdedRelu Add And Equal Greater GreaterOrEqual Less LessOrEqual "
        "Max Mean Min Mul Or PRelu Sub Sum Where Xor Concat Conv ConvTranspose Flatten Gemm MatMul "
        "Transpose LayerNormalization LogSoftmax LpNormalization Softmax AveragePool GlobalAveragePool "
        "GlobalMaxPool MaxPool BatchNormalization InstanceNormalization"
    ).split()
)
"""Operators that cannot fail on tensors of numbers that have elements and whose sizes are known and fit."""

SAFE_BY_SIZES = frozenset(
    (
        "Expand ReduceL1 ReduceL2 ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
        "ReduceSumSquare Reshape Slice Split Squeeze Tile Unsqueeze"
    ).split()
)
"""Likewise where the operands after the first, which are sizes or axes, are known as well."""


def cannot_fail(node: ir.Node, facts: Facts) -> bool:
    """Whether no elements make a node fail: its sizes are known, and found to fit."""
    known = [facts.get(value, UNKNOWN) for value in (*node.inputs, *node.outputs) if value is not None]
    if not all(fact.is_static and 0 not in (fact.shape or ()) for fact in known):
        return False
    if any(fact.dtype == TensorProto.STRING for fact in known):
        return False  # a text may be no number
    if node.op_type in SAFE_BY_SIZES:
        return all(fact.has_numbers for fact in known[1 : len(known) - len(node.outputs)])
    return node.op_type in SAFE or (node.op_type == "Div" and known[-1].dtype in FLOATS)


def runs_once(node: ir.Node, facts: Facts) -> bool:
    """Whether the body of a loop runs at least once whatever the inputs are."""
    if node.op_type == "Loop":
        trips, condition = (
            None if value is None else facts.get(value, UNKNOWN) for value in (*node.inputs, None, None)[:2]
        )
        return (trips is None or (known_number(trips) or 0) >= 1) and (
            condition is None or bool(known_number(condition))
        )
    if node.op_type == "Scan":
        scanned = node.attributes["num_scan_inputs"].as_int()
        axes = node.attributes.get("scan_input_axes")
        rows = node.inputs[-scanned:]
        along = axes.as_ints() if axes is not None else [0] * scanned
        shapes = [(facts.get(value, UNKNOWN) if value is not None else UNKNOWN).shape for value in rows]
        dims = [s[a] for s, a in zip(shapes, along, strict=True) if s is not None and -len(s) <= a < len(s)]
        return any(isinstance(dim, int) and dim >= 1 for dim in dims)
    return False


def known_number(fact: Fact) -> int | float | None:
    """The one number that a tensor is known to hold."""
    return fact.splat if fact.splat is not None else (fact.ints or (None,))[0]
