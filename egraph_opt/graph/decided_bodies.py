"""Bodies that run once, or not at all: what takes the place of their node.

An If whose condition is known, of which one branch is impossible, or whose branches are equal; a Loop of one
trip or none; a Scan over one element or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx_ir as ir

from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.graph.body_equality import bodies_key
from egraph_opt.graph.running import known_number
from egraph_opt.graph.walks import captured_values, is_deterministic


@dataclass(frozen=True)
class Decided:
    """What a node computes without its bodies.

    Attributes:
        body: the one that runs; None if none does.
        given: per input of the body what it is: a value around it, without an axis where one is named, or a
            constant.
        results: per output of the node what it is: an output of the body by number, with an axis more where
            one is named, or a value around it.
    """

    body: ir.Graph | None
    given: tuple[tuple[ir.Value, ir.Value | ir.TensorProtocol, int | None], ...]
    results: tuple[tuple[ir.Value, int | ir.Value, int | None], ...]

    def with_values(self, instead: Mapping[ir.Value, ir.Value]) -> Decided:
        """The same where values around it have been replaced."""
        if not instead:
            return self

        def now(value: Any) -> Any:
            return instead.get(value, value) if isinstance(value, ir.Value) else value

        given = [(inner, now(outer), axis) for inner, outer, axis in self.given]
        results = [(value, now(made), axis) for value, made, axis in self.results]
        return replace(self, given=tuple(given), results=tuple(results))


def decided(
    node: ir.Node, opset: int, facts: Mapping[ir.Value, Fact], then: bool | None = None
) -> Decided | None:
    """What takes the place of a node; None where its bodies have to stay.

    Args:
        then: which branch of an If runs, where that is known other than by its condition.
    """
    if node.domain not in ("", "ai.onnx") or any(a.is_ref() for a in node.attributes.values()):
        return None
    if node.op_type == "If":
        return _if(node, facts, then)
    if node.op_type == "Loop":
        return _loop(node, facts)
    return _scan(node, opset, facts) if node.op_type == "Scan" else None


def _if(node: ir.Node, facts: Mapping[ir.Value, Fact], then: bool | None) -> Decided | None:
    if not node.inputs or node.inputs[0] is None:
        return None
    known = known_number(facts.get(node.inputs[0], UNKNOWN)) if then is None else then
    branch, other = (node.attributes[name].as_graph() for name in ("then_branch", "else_branch"))
    if known is None and not _equal(node, branch, other):
        return None
    taken = branch if known is None or known else other
    # Of branches that make more than the If hands out onnxruntime runs some; they stay branches.
    if len(taken.outputs) != len(node.outputs):
        return None
    return Decided(taken, (), tuple((value, k, None) for k, value in enumerate(node.outputs)))


def _equal(node: ir.Node, a: ir.Graph, b: ir.Graph) -> bool:
    """Whether two branches compute the same."""
    if len(a) != len(b) or not is_deterministic(node):
        return False
    captured = {value: (k,) for k, value in enumerate(captured_values(node))}
    key = bodies_key([a], captured)
    return key is not None and key == bodies_key([b], captured)


def _loop(node: ir.Node, facts: Mapping[ir.Value, Fact]) -> Decided | None:
    if "body" not in node.attributes or len(node.inputs) < 2:
        return None
    body, states = node.attributes["body"].as_graph(), node.inputs[2:]
    most, first = (_number(node, k, facts) for k in (0, 1))
    if not _are_tensors(states, facts) or len(body.inputs) != len(states) + 2:
        return None
    if len(body.outputs) <= max(len(states), len(node.outputs)):
        return None
    if most == 0 or first == 0:
        return _none(node, states)
    if most != 1 or (first is None and node.inputs[1] is not None):
        return None
    counters = (_like(body.inputs[0], np.int64(0)), _like(body.inputs[1], np.bool_(True)))
    given = zip(body.inputs, (*counters, *states), strict=True)
    results = ((value, k + 1, 0 if k >= len(states) else None) for k, value in enumerate(node.outputs))
    return Decided(body, tuple((inner, outer, None) for inner, outer in given), tuple(results))  # type: ignore[misc]


def _scan(node: ir.Node, opset: int, facts: Mapping[ir.Value, Fact]) -> Decided | None:
    # Before 9 it has batches, before 11 no axis is counted from the end.
    if opset < 11 or not {"body", "num_scan_inputs"} <= node.attributes.keys():
        return None
    body, count = node.attributes["body"].as_graph(), node.attributes["num_scan_inputs"].as_int()
    if not 0 < count <= len(node.inputs) == len(body.inputs) or len(node.outputs) > len(body.outputs):
        return None
    states, scanned = node.inputs[: len(node.inputs) - count], node.inputs[len(node.inputs) - count :]
    axes, behind = (
        _axes(node, f"scan_{name}_axes", number)
        for name, number in (("input", count), ("output", len(node.outputs) - len(states)))
    )
    if len(axes) != count or len(behind) != len(node.outputs) - len(states):
        return None
    lengths = {_length(facts.get(value, UNKNOWN), axis) for value, axis in zip(scanned, axes, strict=True)}  # type: ignore[arg-type]
    if not _are_tensors(node.inputs, facts):
        return None
    if 0 in lengths:
        return _none(node, states)
    if lengths != {1}:
        return None
    given = zip(body.inputs, node.inputs, (*[None] * len(states), *axes), strict=True)
    results = zip(node.outputs, range(len(node.outputs)), (*[None] * len(states), *behind), strict=True)
    return Decided(body, tuple(given), tuple(results))  # type: ignore[arg-type]


def _none(node: ir.Node, states: Iterable[ir.Value | None]) -> Decided | None:
    """The states as they were; what is gathered has no elements, and dims that only the body knows."""
    known = tuple(states)
    if len(node.outputs) > len(known):
        return None
    results = zip(node.outputs, known, strict=False)
    return Decided(None, (), tuple((value, state, None) for value, state in results))  # type: ignore[misc]


def _number(node: ir.Node, position: int, facts: Mapping[ir.Value, Fact]) -> int | float | None:
    value = node.inputs[position]
    return None if value is None else known_number(facts.get(value, UNKNOWN))


def _are_tensors(values: Iterable[ir.Value | None], facts: Mapping[ir.Value, Fact]) -> bool:
    return all(value is not None and facts.get(value, UNKNOWN).dtype > 0 for value in values)


def _like(value: ir.Value, number: np.generic) -> ir.TensorProtocol:
    """What a Loop counts in, of the rank that its body declares."""
    rank = 0 if value.shape is None else len(value.shape)
    return ir.Tensor(np.full((1,) * rank, number))


def _axes(node: ir.Node, name: str, count: int) -> tuple[int, ...]:
    attribute = node.attributes.get(name)
    return (0,) * count if attribute is None else tuple(attribute.as_ints())


def _length(fact: Fact, axis: int) -> object:
    shape = fact.shape
    return shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
