"""Runs a model with every value as an output, and compares what is seen with what was inferred."""

from collections.abc import Iterable, Mapping

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
from onnx import helper

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.inference import constant_lookup, infer_graph
from egraph_opt.inference.ranges import range_of

PACKED = frozenset({"INT4", "UINT4", "INT2", "UINT2", "FLOAT4E2M1"})


def facts_by_name(model: onnx.ModelProto, warnings: list[str] | None = None) -> dict[str, Fact]:
    parsed = ir.from_proto(model)
    facts = infer_graph(
        parsed.graph,
        parsed.graph.opset_imports,
        {},
        constant_lookup(model.ir_version),
        (warnings if warnings is not None else []).append,
        functions=parsed.functions,
    )
    return {value.name: fact for value, fact in facts.items() if value.name}


def all_values(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every value that a node of the main graph gives, with onnxruntime's optimisations off."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    shown = {output.name for output in probe.graph.output}
    for node in probe.graph.node:
        for name in node.output:
            if name and name not in shown:
                shown.add(name)
                probe.graph.output.append(onnx.ValueInfoProto(name=name))
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(probe.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))


def bindings_of(facts: Mapping[str, Fact], feeds: Mapping[str, np.ndarray]) -> dict[str, int]:
    """The numbers that the symbols of the inputs stand for."""
    numbers: dict[str, int] = {}
    for name, array in feeds.items():
        shape = facts[name].shape
        for dim, length in zip(shape or (), array.shape, strict=False):
            for symbol in symbolic.symbols(dim):
                numbers[symbol] = length
    return numbers


def disagreements(fact: Fact, seen: np.ndarray, numbers: dict[str, int]) -> list[str]:
    """What the fact claims and the array does not show; symbols met for the first time are bound."""
    wrong = []
    if fact.dtype and ir.DataType(fact.dtype).name not in PACKED and seen.dtype.kind not in "OUS":
        expected = helper.tensor_dtype_to_np_dtype(fact.dtype)
        if seen.dtype != expected:
            wrong.append(f"dtype {expected}, seen {seen.dtype}")
    if fact.shape is not None:
        if len(fact.shape) != seen.ndim:
            return [f"shape {fact.shape}, seen {seen.shape}"]
        dims = [_number(dim, length, numbers) for dim, length in zip(fact.shape, seen.shape, strict=True)]
        if dims != list(seen.shape):
            wrong.append(f"shape {fact.shape} = {dims}, seen {seen.shape}")
    if fact.data is not None and seen.dtype.kind not in "OUS":
        items = seen.ravel().tolist()
        if len(items) != len(fact.data):
            return [*wrong, f"data {fact.data}, seen {items}"]
        data = [
            _number(item, seen_item, numbers) if isinstance(item, str) else item
            for item, seen_item in zip(fact.data, items, strict=True)
        ]
        if not np.allclose(np.array(data, dtype=float), np.array(items, dtype=float), rtol=1e-6, atol=0):
            wrong.append(f"data {fact.data}, seen {items}")
    known = range_of(fact)
    ends = (int(seen.min()), int(seen.max())) if seen.size and seen.dtype.kind in "biu" else None
    if known is not None and ends is not None and not known[0] <= ends[0] <= ends[1] <= known[1]:
        wrong.append(f"range {known}, seen {ends}")
    if fact.value is not None and (fact.value != fact.data or seen.ndim > 1):
        wrong.append(f"value {fact.value}, data {fact.data}")
    if fact.splat is not None and seen.size and not (seen == seen.dtype.type(fact.splat)).all():
        wrong.append(f"splat {fact.splat}, seen {seen.ravel()[:4]}")
    return wrong


def _number(dim: int | str | None, seen: int, numbers: dict[str, int]) -> int:
    if dim is None:
        return seen
    for name in symbolic.symbols(dim):
        if name not in numbers:
            if symbolic.symbol(name) != dim:
                return seen
            numbers[name] = seen
    return symbolic.evaluate(dim, numbers)


def all_disagreements(
    facts: Mapping[str, Fact], values: Mapping[str, np.ndarray], numbers: dict[str, int]
) -> list[str]:
    wrong = []
    for name, seen in values.items():
        if isinstance(seen, np.ndarray):
            wrong += [f"{name}: {text}" for text in disagreements(facts[name], seen, numbers)]
    return wrong


def with_symbols(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with a name for each dim of its inputs, and nothing declared of other values."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for value in result.graph.input:
        for k, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.dim_param = f"{value.name}_{k}"
    del result.graph.value_info[:]
    for value in result.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return result


def with_constants(model: onnx.ModelProto, arrays: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """The model with these arrays as initializers instead of inputs."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    kept: Iterable[onnx.ValueInfoProto] = [v for v in model.graph.input if v.name not in arrays]
    del result.graph.input[:]
    result.graph.input.extend(kept)
    result.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in arrays.items())
    result.ir_version = max(result.ir_version, 4)
    return result
