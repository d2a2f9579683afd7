"""Constants: what is known of them, and folding of constant subgraphs of the original in their own dtype."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnx_ir as ir

from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.graph.constant_runs import FEEDABLE, Run, by_onnxruntime, evaluated_nodes
from egraph_opt.graph.content import Contents
from egraph_opt.graph.isolation import CrashError
from egraph_opt.graph.walks import bodies, is_deterministic, tensor_of
from egraph_opt.graph.work import FoldingBudget
from egraph_opt.model.scratch import Scratch

_log = logging.getLogger(__name__)

_PLAIN = frozenset({"float", "double", *FEEDABLE} - {"float32", "float64"})
"""The same by ONNX's names."""

STORED = frozenset(
    getattr(ir.DataType, name)
    for name in (
        *("INT8", "UINT8", "INT4", "UINT4", "INT2", "UINT2", "BFLOAT16", "FLOAT4E2M1", "FLOAT8E8M0"),
        *("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"),
    )
    if hasattr(ir.DataType, name)
)
"""Types that weights are stored in to be small, and made wider where they are used."""
SMALL = 1024
"""Bytes that a constant may grow by where it is kept small on purpose, or has one value."""

BATCH_BYTES = 2**27
"""Constants of so many bytes are computed at a time."""


@dataclass
class Constants:
    """The tensors of the values that are constant: initializers, Constant nodes and folded values."""

    tensors: dict[ir.Value, ir.TensorProtocol] = field(default_factory=dict)
    _contents: Contents = field(default_factory=Contents, repr=False)

    def has(self, value: ir.Value) -> bool:
        return value in self.tensors

    def tensor(self, value: ir.Value) -> ir.TensorProtocol:
        return self.tensors[value]

    def content_key(self, value: ir.Value) -> Any:
        """Equal exactly for constants of equal dtype, shape and bytes; None for what is no constant."""
        tensor = self.tensors.get(value)
        return None if tensor is None else self._contents.key(tensor)


def constant_of_node(node: ir.Node) -> ir.TensorProtocol | None:
    """The tensor that a Constant node holds; None for sparse ones and for other nodes."""
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or len(node.attributes) != 1:
        return None
    (attribute,) = node.attributes.values()
    if attribute.is_ref():
        return None
    if attribute.type == ir.AttributeType.TENSOR:
        return attribute.value  # type: ignore[no-any-return]  # `as_tensor` checks a protocol, which takes a while
    kinds = {
        "value_float": np.float32,
        "value_floats": np.float32,
        "value_int": np.int64,
        "value_ints": np.int64,
    }
    if attribute.name in kinds:
        return ir.tensor(np.array(attribute.value, dtype=kinds[attribute.name]))
    if attribute.name in ("value_string", "value_strings"):
        return ir.tensor(np.array(attribute.value, dtype=object), dtype=ir.DataType.STRING)
    return None


def constants_of(graph: ir.Graph, ir_version: int, outer: Constants) -> Constants:
    """The constants that a graph has before any folding; those of outer scopes included.

    An initializer that is also an input is a default that a caller may override from IR version 4 on.
    """
    tensors = dict(outer.tensors)
    overridable = set(graph.inputs) if ir_version >= 4 else set()
    for value in graph.initializers.values():
        if value.const_value is not None and value not in overridable:
            tensors[value] = value.const_value
    for node in graph:
        tensor = constant_of_node(node)
        if tensor is not None:
            tensors[node.outputs[0]] = tensor
    return Constants(tensors)


def constant_bytes(graph: ir.Graph) -> int:
    """Bytes of the initializers and Constant nodes of a graph and its bodies."""
    total = 0
    pending = [graph]
    while pending:
        current = pending.pop()
        tensors = [value.const_value for value in current.initializers.values()]
        for node in current:
            tensors.append(constant_of_node(node))
            pending.extend(bodies(node))
        total += sum(stored_bytes(tensor) for tensor in tensors if tensor is not None)
    return total


def stored_bytes(tensor: ir.TensorProtocol) -> int:
    """The bytes of a tensor's elements; of strings those of their text."""
    if tensor.dtype == ir.DataType.STRING:
        return sum(len(text) for text in tensor.numpy().reshape(-1).tolist())
    return tensor.nbytes


def byte_size(fact: Fact) -> int | None:
    """Bytes of a tensor of known static type."""
    if not fact.is_static or fact.dtype <= 0 or fact.dtype == ir.DataType.STRING:
        return None
    count = math.prod(dim for dim in fact.shape or () if isinstance(dim, int))
    return -(-count * ir.DataType(fact.dtype).bitwidth // 8)


def most_growth(operator: str, dtype: int, fold_bytes: int) -> int:
    """How many bytes larger than its operands the result of an operator on constants may be.

    Args:
        operator: of ONNX.
        dtype: of its first operand.
        fold_bytes: what it is for weights that are not quantised.
    """
    if operator == "DequantizeLinear":
        return 0
    if operator in ("Cast", "CastLike") and dtype in STORED:
        return min(SMALL, fold_bytes)
    return fold_bytes


def _foldable_nodes(
    graph: ir.Graph,
    facts: Mapping[ir.Value, Fact],
    constants: Constants,
    *,
    fold_bytes: int,
    memory_bytes: float,
    fold_quantized: bool,
    untouched: Collection[str],
    warn: Callable[[str], None],
) -> list[ir.Node]:
    """Deterministic nodes on constants that add at most `fold_bytes`; what takes too much is reported."""
    known = set(constants.tensors)
    chosen = []
    left, budget = fold_bytes, FoldingBudget(memory=memory_bytes)
    for node in graph:
        if not node.outputs or node.outputs[0] in known or bodies(node) or node.domain not in ("", "ai.onnx"):
            continue
        inputs = [v for v in node.inputs if v is not None]
        if not all(v in known for v in inputs) or not is_deterministic(node) or tensor_of(node) in untouched:
            continue
        used = [v for v in node.outputs if v.name]
        results = [_at_most(node, facts.get(v, UNKNOWN), facts) for v in used]
        sizes = [byte_size(result) for result in results]
        if any(size is None for size in sizes):
            continue
        before = sum(byte_size(facts.get(v, UNKNOWN)) or 0 for v in inputs if len(v.uses()) == 1)
        growth = sum(size for size in sizes if size is not None) - before
        splat = all(result.splat is not None for result in results)
        if growth > left or (splat and growth > SMALL):
            continue
        dtype = facts.get(inputs[0], UNKNOWN).dtype if inputs else 0
        if not fold_quantized and growth > most_growth(node.op_type, dtype, left):
            continue
        operands = [None if v is None else _type_of(v, facts, constants) for v in node.inputs]
        plain = {name: attribute.value for name, attribute in node.attributes.items()}
        reason = budget.takes(node.op_type, plain, operands, results)
        if reason:
            warn(f"node {node.name!r} ({node.op_type}) depends on constants, and is not computed: {reason}")
            continue
        left -= max(growth, 0)
        known.update(used)
        chosen.append(node)
    return chosen


SELECTING = frozenset(("Compress", "NonZero", "Unique"))
"""Operators of which the elements of the first operand say how many elements their results have."""


def _at_most(node: ir.Node, result: Fact, facts: Mapping[ir.Value, Fact]) -> Fact:
    """A result, or what is no smaller where its size depends on the elements of the operands."""
    first = node.inputs[0] if node.inputs else None
    operand = facts.get(first, UNKNOWN) if first is not None else UNKNOWN
    if byte_size(result) is not None or node.op_type not in SELECTING or not operand.is_static:
        return result
    count = math.prod(dim for dim in operand.shape or () if isinstance(dim, int))
    return Fact(result.dtype, (max(operand.rank or 0, 1), count), const=result.const)


def _type_of(value: ir.Value, facts: Mapping[ir.Value, Fact], constants: Constants) -> Fact:
    """What is known of a value, or the type of a constant of an outer graph."""
    if value in facts or not constants.has(value):
        return facts.get(value, UNKNOWN)
    tensor = constants.tensor(value)
    return Fact(int(tensor.dtype), tuple(int(dim) for dim in tensor.shape.numpy()))


def fold_constants(
    graph: ir.Graph,
    facts: Mapping[ir.Value, Fact],
    constants: Constants,
    opsets: Mapping[str, int],
    ir_version: int,
    *,
    fold_bytes: int,
    memory_bytes: float = math.inf,
    fold_quantized: bool = False,
    untouched: Collection[str] = (),
    warn: Callable[[str], None] = lambda message: None,
    run: Run = by_onnxruntime,
) -> Constants:
    """The constants of a graph with those that its constant nodes compute, and those that types tell.

    What makes quantised weights wider stays unless the result is smaller, or `fold_quantized` asks for it.
    Nodes that onnxruntime cannot run stay as they are, those that make what `untouched` names, and those that
    would take too much memory, of which `warn` is told.
    """
    told = known_results(graph, facts, constants).items()
    constants = Constants({**constants.tensors, **{v: made for v, made in told if v.name not in untouched}})
    nodes = _foldable_nodes(
        *(graph, facts, constants),
        fold_bytes=fold_bytes,
        memory_bytes=memory_bytes,
        fold_quantized=fold_quantized,
        untouched=untouched,
        warn=warn,
    )
    if not nodes:
        return constants
    known, scratch = Constants(dict(constants.tensors)), Scratch()
    for batch in _batches(nodes, facts):
        wanted = _seen_outside(batch)
        try:
            arrays = evaluated_nodes(batch, wanted, known.tensors, (opsets, ir_version), run)
        except Exception as error:  # onnxruntime raises many types; one node without a kernel fails them all
            _log.info("folding constants at once failed (%s); folding one by one", error)
            known_to = partial(evaluated_nodes, tensors=known.tensors, made_for=(opsets, ir_version), run=run)
            _fold_singly(batch, facts, known, scratch, evaluate=known_to, warn=warn)
            continue
        for value, array in zip(wanted, arrays, strict=True):
            known.tensors[value] = _as_tensor(array, value, facts, scratch)
    return known


def known_results(
    graph: ir.Graph, facts: Mapping[ir.Value, Fact], constants: Constants
) -> dict[ir.Value, ir.TensorProtocol]:
    """Results of nodes of which types alone say the elements: there are none, or small integers that are one
    number.

    Laws could do anything to them, and each would find another spelling of the same.
    """
    found = {}
    for node in graph:
        if node.domain not in ("", "ai.onnx") or bodies(node):
            continue
        for value in node.outputs:
            array = None if not value.name or constants.has(value) else _array_of(facts.get(value, UNKNOWN))
            if array is not None:
                found[value] = ir.tensor(array, name=value.name)
    return found


def _array_of(fact: Fact) -> np.ndarray | None:
    size = byte_size(fact)
    if size is None or fact.const or ir.DataType(fact.dtype).name.lower() not in _PLAIN:
        return None
    dtype, dims = ir.DataType(fact.dtype).numpy(), tuple(d for d in fact.shape or () if isinstance(d, int))
    if 0 in dims:
        return np.zeros(dims, dtype)
    whole = dtype.kind in "biu" and fact.splat is not None and size <= SMALL
    return np.full(dims, fact.splat, dtype) if whole else None


def _batches(nodes: list[ir.Node], facts: Mapping[ir.Value, Fact]) -> Iterator[list[ir.Node]]:
    """Nodes that are evaluated together, in order: as many as make so much."""
    batch: list[ir.Node] = []
    made = 0
    for node in nodes:
        size = sum(byte_size(facts.get(value, UNKNOWN)) or 0 for value in node.outputs if value.name)
        if batch and made + size > BATCH_BYTES:
            yield batch
            batch, made = [], 0
        batch.append(node)
        made += size
    if batch:
        yield batch


def _seen_outside(nodes: list[ir.Node]) -> list[ir.Value]:
    """What others see of the outputs of nodes."""
    inside = set(nodes)
    return [
        value
        for node in nodes
        for value in node.outputs
        if value.name and (value.is_graph_output() or any(use.node not in inside for use in value.uses()))
    ]


def _as_tensor(
    array: np.ndarray, value: ir.Value, facts: Mapping[ir.Value, Fact], scratch: Scratch
) -> ir.TensorProtocol:
    """An array as a tensor of the dtype known of the value."""
    dtype = facts.get(value, UNKNOWN).dtype
    return scratch.keep(array, ir.DataType(dtype) if dtype > 0 else None, value.name)


def _fold_singly(
    nodes: list[ir.Node],
    facts: Mapping[ir.Value, Fact],
    constants: Constants,
    scratch: Scratch,
    *,
    evaluate: Callable[[list[ir.Node], list[ir.Value]], list[np.ndarray]],
    warn: Callable[[str], None],
) -> None:
    """Add to the constants what can be computed."""
    for node in nodes:
        if not all(v is None or constants.has(v) for v in node.inputs):
            continue
        wanted = [v for v in node.outputs if v.name]
        try:
            arrays = evaluate([node], wanted)
        except CrashError as error:
            warn(f"node {node.name!r} ({node.op_type}) depends on constants, and is not computed: {error}")
            continue
        except Exception as error:  # no kernel, or an error of the model's own: the node stays
            _log.info("%s %s is not folded: %s", node.op_type, node.name, error)
            continue
        for value, array in zip(wanted, arrays, strict=True):
            constants.tensors[value] = _as_tensor(array, value, facts, scratch)
