"""Every e-node of a saturated graph is run on the values of its operands' classes.

An e-class is one value: whatever e-node extraction picks has to compute it.  One model computes every class
once, by some e-node, and then every other e-node from the classes that are its operands.  This finds an
unsound law whatever it costs, and names it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from egraph_opt.cost.expansion import is_pseudo
from egraph_opt.cost.pricing import original_choice, price
from egraph_opt.cost.registry import cost_model
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.graph.names import Namer, names_in
from egraph_opt.operators.declaration import operator_named
from egraph_opt.pipeline.region import Region
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.nodes import NodeWriter
from egraph_opt.rebuild.value_info import ValueInfo
from egraph_opt.verification.comparison import TOLERANCES, compare, compare_floats, scales
from egraph_opt.verification.execution import ExecutionError

from .drawing import Array, session

NAME = re.compile(
    r"(?:node_name|Node(?: name)?|node|name)[:=]?\s*\(?['\"]?(alt_\d+|rep_\d+)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Finding:
    """Something that must not be: its kind ("values", "type", "run", ...) and what was seen."""

    kind: str
    message: str


def _no_body(choice: Choice, captured: Mapping[ir.Value, ir.Value]) -> ir.Graph:
    raise AssertionError("graphs with bodies are left out")


class _EveryNode(NodeWriter):
    """Writes a representative of every class, then all other e-nodes that can be written."""

    def __init__(self, choice: Choice, ir_version: int, writable: np.ndarray[Any, Any]) -> None:
        namer = Namer(names_in(choice.lowered.graph))
        super().__init__(choice, ir_version, namer, {}, info=ValueInfo(), rebuild_body=_no_body)
        self.inputs = [self.constants.copied(value) for value in self.lowered.graph.inputs]
        self.writable = writable
        self.tested: dict[int, str] = {}

    def _new_value(self, owner: int, stem: str) -> ir.Value:
        return ir.Value(name=self.namer.fresh(f"{stem}_{owner}"))

    def _rename(self, value: ir.Value, owner: int) -> None:
        pass

    def write_all(self) -> ir.Graph:
        for owner in self._sequence():
            before = len(self.nodes)
            self.write(owner)
            for written in self.nodes[before:]:
                written.name = self.namer.fresh(f"rep_{int(self.choice.node[owner])}")
        for node in range(self.snapshot.n_nodes):
            owner = int(self.snapshot.node_class[node])
            # What was folded is computed by onnxruntime, too.
            other = node != self.choice.node[owner] or self.choice.computed[owner] >= 0
            if owner in self.values and other and self._can_test(node):
                self._write_other(owner, node)
        outputs = [
            value
            for value in self.values.values()
            if value.producer() is not None or value.const_value is not None
        ]
        outputs = [v for v in outputs if v.producer() is not None]
        others = [self.others[k] for k in self.tested]
        names = {v.name: v for v in (*outputs, *others)}
        return ir.Graph(
            self.inputs,
            list(names.values()),
            nodes=self.nodes,
            initializers=list(self.initializers.values()),
            opset_imports=dict(self.lowered.graph.opset_imports),
            name="classes",
        )

    def _sequence(self) -> list[int]:
        """All classes that can be computed, operands first."""
        done: list[int] = []
        seen: set[int] = set()
        pending = set(range(self.snapshot.n_classes))
        grown = True
        while grown:
            grown = False
            for owner in sorted(pending):
                node = int(self.choice.node[owner])
                if node < 0:
                    node = self._first_ready(owner, seen)
                    if node < 0:
                        continue
                    self.choice.node[owner] = node
                folded = self.choice.computed[owner] >= 0
                if folded or all(c in seen for c in self.snapshot.children(node)):
                    pending.discard(owner)
                    seen.add(owner)
                    done.append(owner)
                    grown = True
        return done

    def _first_ready(self, owner: int, seen: set[int]) -> int:
        for node in np.flatnonzero(self.snapshot.node_class == owner).tolist():
            if self.writable[node] and all(c in seen for c in self.snapshot.children(node)):
                return int(node)
        return -1

    def _can_test(self, node: int) -> bool:
        name = self.snapshot.operator[node]
        if name in ("leaf", "none", "literal") or operator_named(name).result == "bundle":
            return False
        ready = all(
            c in self.values or c in self.bundles or self._absent(c) for c in self.snapshot.children(node)
        )
        return bool(self.writable[node]) and ready

    others: dict[int, ir.Value]

    def _write_other(self, owner: int, node: int) -> None:
        kept, chosen = self.values[owner], self.choice.node[owner]
        if not hasattr(self, "others"):
            self.others = {}
        self.choice.node[owner] = node
        before = len(self.nodes)
        if self.snapshot.operator[node] == "output":
            bundle = self.bundles[self.snapshot.children(node)[0]]
            self.values[owner] = bundle.outputs[self.snapshot.attributes[node][0]]
        elif is_pseudo(self.snapshot, node, self.lowered.opset):
            self._erase(owner, node)
        else:
            self._write_structured(owner, node, self._operands(node))
        for made in self.nodes[before:]:
            made.name = self.namer.fresh(f"alt_{node}")
        self.others[node] = self.values[owner]
        self.tested[node] = self.values[owner].name or ""
        self.values[owner], self.choice.node[owner] = kept, chosen


def describe(snapshot: Snapshot, node: int) -> str:
    """An e-node with the types of its operands, its maker, and what else is in its class."""

    def one(k: int) -> str:
        made = int(snapshot.made_by[k])
        maker = snapshot.laws[made - 1] if made else "the original"
        shapes = ", ".join(
            f"{snapshot.facts[c].dtype}{list(snapshot.facts[c].shape or ())}" for c in snapshot.children(k)
        )
        return f"{snapshot.operator[k]}{snapshot.attributes[k]} of ({shapes}) by {maker}"

    owner = snapshot.node_class[node]
    rest = [one(k) for k in np.flatnonzero(snapshot.node_class == owner).tolist() if k != node]
    return f"{one(node)} in {snapshot.facts[int(owner)]} beside " + "; ".join(rest[:6])


def every_node_agrees(
    region: Region, feeds: Mapping[str, Array], bindings: Mapping[str, int]
) -> list[Finding]:
    """What e-nodes of the main graph compute something else than their class, or are of another type."""
    lowered, snapshot = region.lowered, region.snapshot
    prices = price(lowered, snapshot, cost_model("nodes"), {}, [()] * len(lowered.kept), fold_bytes=1 << 20)
    choice = Choice(lowered, snapshot, original_choice(snapshot, prices.computed).copy(), prices.computed, {})
    if any(r is not region for r in region.walk()):
        return []  # bodies are graphs of their own, which this does not write
    writer = _EveryNode(choice, 10, np.isfinite(prices.cost))
    graph = writer.write_all()
    if not len(graph):
        return []  # all are constants, and onnxruntime takes no graph without nodes
    model = ir.to_proto(ir.Model(graph, ir_version=10))
    return _compare(model, writer, feeds, bindings)


def _compare(
    model: onnx.ModelProto, writer: _EveryNode, feeds: Mapping[str, Array], bindings: Mapping[str, int]
) -> list[Finding]:
    snapshot = writer.snapshot
    found: list[Finding] = []
    while True:
        try:
            ready = session(model)
            given = {v.name: feeds[v.name] for v in model.graph.input}
            results = dict(zip(ready.output_names, ready.run(given), strict=True))
            break
        except ExecutionError as error:
            named = NAME.search(str(error)) or re.search(r"(alt_\d+)", str(error))
            if named is None or not named.group(1).startswith("alt_"):
                return [*found, Finding("unusable", str(error)[:300])]
            node = int(named.group(1)[4:])
            if node not in writer.tested:
                return [*found, Finding("unusable", str(error)[:300])]
            kind = "kernel" if "implementation" in str(error) or "not supported" in str(error) else "run"
            found.append(Finding(kind, f"{str(error)[:200]} :: {describe(snapshot, node)}"))
            _without(model, writer.tested.pop(node))
    values: dict[int, Array] = {}
    for owner, value in writer.values.items():
        if value.name in results:
            values[owner] = results[value.name]
        elif value.const_value is not None:
            values[owner] = value.const_value.numpy()
        elif value.name is not None and value.name in feeds:
            values[owner] = feeds[value.name]
    for owner, array in values.items():
        wrong = _contradicts(snapshot.facts[owner], array, bindings)
        node = int(writer.choice.node[owner])
        operands = [values[c] for c in snapshot.children(node) if c in values]
        if wrong and not (snapshot.operator[node] == "reduce" and any(o.size == 0 for o in operands)):
            found.append(Finding("fact", f"{wrong} :: {describe(snapshot, node)}"))
    halves = [_largest(v) for v in values.values() if v.dtype == np.float16]
    ambient = min(max(halves, default=0.0), 64.0)  # errors of float16 are inherited
    for node, name in writer.tested.items():
        owner = int(snapshot.node_class[node])
        if owner in values:
            operands = [values[c] for c in snapshot.children(node) if c in values]
            if snapshot.operator[node] in ("pool", "global_pool") and not all(
                np.all(np.isfinite(o)) for o in operands
            ):
                continue  # onnxruntime's pools start from the lowest finite number
            message = _differs(values[owner], results[name], operands, ambient)
            if message:
                found.append(Finding("values", f"{message} :: {describe(snapshot, node)}"))
    return found


def _without(model: onnx.ModelProto, name: str) -> None:
    """Take the node that makes a value out of a model."""
    for k, node in enumerate(model.graph.node):
        if name in node.output:
            del model.graph.node[k]
            break
    for k, value in enumerate(model.graph.output):
        if value.name == name:
            del model.graph.output[k]
            break


def _differs(a: Array, b: Array, operands: list[Array], ambient: float = 0.0) -> str:
    """How an e-node's value differs from its class's: errors are judged by the size of what went in, too."""
    if a.dtype != b.dtype or a.shape != b.shape or a.dtype not in TOLERANCES:
        return compare(a, b).message
    largest = max([_largest(o) for o in operands if o.dtype == a.dtype], default=0.0)
    if a.dtype == np.float16:
        largest = max(largest, ambient)
    tolerance = TOLERANCES[a.dtype]
    scale = np.maximum(scales(a), largest)
    return compare_floats(a, b, np.asarray(tolerance.rtol * scale + tolerance.atol)).message


def _largest(array: Array) -> float:
    magnitude = np.abs(array.astype(np.float64))
    return float(np.max(magnitude[np.isfinite(magnitude)], initial=0))


def _contradicts(fact: Fact, array: Array, bindings: Mapping[str, int]) -> str:
    """What a fact says that is not so."""
    if fact.dtype > 0 and onnx.helper.np_dtype_to_tensor_dtype(array.dtype) != fact.dtype:
        return f"the type is {array.dtype}"
    if fact.shape is not None:
        if len(fact.shape) != array.ndim:
            return f"the shape is {array.shape}"
        for dim, size in zip(fact.shape, array.shape, strict=True):
            known = _number(dim, bindings)
            if known is not None and known != size:
                return f"the shape is {array.shape}"
    if fact.value is not None:
        known_values = [_number(v, bindings) for v in fact.value]
        if len(known_values) != array.size or any(
            k is not None and k != int(v) for k, v in zip(known_values, array.ravel(), strict=True)
        ):
            return f"the elements are {array.tolist()}"
    if fact.splat is not None and array.size:
        wanted = np.full(array.shape, fact.splat).astype(array.dtype)
        if _differs(wanted, array, []):
            return f"not all elements are {fact.splat}: {array.ravel()[:8].tolist()}"
    return ""


def _number(dim: int | str | None, bindings: Mapping[str, int]) -> int | None:
    if dim is None or isinstance(dim, int):
        return dim
    if not symbolic.symbols(dim) <= bindings.keys():
        return None
    try:
        return int(symbolic.evaluate(dim, dict(bindings)))
    except ArithmeticError:
        return None
