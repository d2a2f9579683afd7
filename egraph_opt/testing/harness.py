"""Generated tests of laws: saturate an example with its law alone, compare both sides in numbers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost.pricing import Prices, original_choice, price, problem_of, with_given
from egraph_opt.egraph.lowering import Lowered, Term
from egraph_opt.egraph.saturation import saturate_terms
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.registry import extract
from egraph_opt.facts.fact import Fact
from egraph_opt.graph.constants import Constants
from egraph_opt.graph.names import Namer
from egraph_opt.laws.examples import SIZES, Operands
from egraph_opt.laws.law import Example, Law
from egraph_opt.laws.selection import select
from egraph_opt.operators.declaration import operator_named, operators
from egraph_opt.operators.terms import cons
from egraph_opt.operators.typing import infer_operator
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.graph import rebuild_graph


def _copy(value: ir.Value) -> ir.Value:
    """The same leaf for another graph: a value belongs to one."""
    return ir.Value(name=value.name, type=value.type, shape=value.shape, const_value=value.const_value)


class _Builder:
    """A term of an example, lowered."""

    def __init__(self, operands: Operands, opset: int) -> None:
        values = [_copy(v) for v in operands.values]
        inputs = [v for v in values if v.const_value is None]
        constants = [v for v in values if v.const_value is not None]
        output = ir.Value(name="y")
        graph = ir.Graph(
            inputs, [output], nodes=[], initializers=constants, opset_imports={"": opset}, name="example"
        )
        tensors = {v: v.const_value for v in constants if v.const_value is not None}
        self.lowered = Lowered(graph, opset, leaves=values, constants=Constants(tensors))
        self.operands = operands
        self.index: dict[Term, int] = {}
        self.bundles: dict[int, tuple[Fact, ...]] = {}

    def add(self, term: Term, fact: Fact | None) -> int:
        if term not in self.index:
            self.index[term] = len(self.lowered.terms)
            self.lowered.terms.append(term)
            self.lowered.facts.append(fact)
            self.lowered.names.append([])
        return self.index[term]

    def list_of(self, expression: Any) -> tuple[int, ...]:
        items = []
        while expression.head is cons:
            first, expression = expression.arguments
            items.append(self.term(first))
        return tuple(items)

    def term(self, expression: Any) -> int:
        """The index of an expression (examples are small, so this descends into them)."""
        operator = operator_named(expression.head.name)
        attributes: list[Any] = []
        operands: list[Any] = []
        facts: list[Fact] = []
        for kind, argument in zip(operator.kinds, expression.arguments, strict=True):
            if kind == "tensors":
                operands.append(self.list_of(argument))
                facts.extend(self.lowered.facts[k] for k in operands[-1])
            elif kind in ("tensor", "bundle"):
                operands.append(self.term(argument))
                if kind == "tensor":
                    facts.append(self.lowered.facts[operands[-1]])
            else:
                attributes.append(argument.head.value)
        term = Term(operator.name, tuple(attributes), tuple(operands))
        if operator.name == "leaf":
            return self.add(term, self.operands.facts[attributes[0]])
        if operator.name == "output":
            return self.add(term, self.bundles[operands[0]][attributes[0]])
        inferred = infer_operator(operator.name, self.lowered.opset, tuple(attributes), tuple(facts))
        if operator.result == "bundle":
            index = self.add(term, None)
            self.bundles[index] = inferred
            return index
        return self.add(term, inferred)


def lower_example(example: Example, opset: int = 17) -> Lowered:
    """The term of an example as the engine takes it."""
    builder = _Builder(example.operands, opset)
    root = builder.term(example.term)
    builder.lowered.outputs = [root]
    fact = builder.lowered.facts[root]
    assert fact is not None and fact.dtype > 0, f"the example is ill-typed: {example.term}"
    output = builder.lowered.graph.outputs[0]
    output.type = ir.TensorType(ir.DataType(fact.dtype))
    output.shape = ir.Shape([d if isinstance(d, int) else None for d in fact.shape or ()])
    return builder.lowered


def _model(choice: Choice, opset: int) -> onnx.ModelProto:
    graph = rebuild_graph(choice, 10, Namer(choice.lowered.graph))
    return ir.to_proto(ir.Model(graph, ir_version=10))


def _alternatives(lowered: Lowered, snapshot: Snapshot, prices: Prices) -> list[Choice]:
    """The graph with the class of the root, or one below it, written by another node than the original."""
    original = set(snapshot.term_node.tolist())
    ways = Counter(snapshot.node_class[sorted(original)].tolist())  # of which a law made one class
    root_node = int(snapshot.term_node[lowered.outputs[0]])
    root = int(snapshot.node_class[root_node])
    found = []
    for owner in dict.fromkeys((root, *snapshot.term_classes.tolist())):
        for node in np.flatnonzero(snapshot.node_class == owner).tolist():
            if (
                node == root_node
                or not np.isfinite(prices.cost[node])
                or (owner != root and node in original and ways[owner] == 1)
            ):
                continue
            cost = prices.cost.copy()
            cost[(snapshot.node_class == owner) & (np.arange(snapshot.n_nodes) != node)] = np.inf
            forced = Prices(cost, prices.tie, prices.computed)
            try:
                solution = extract(problem_of(lowered, snapshot, forced), "auto")
            except ExtractionError:
                if owner == root:
                    raise
                continue  # this node of an inner class is part of every cycle that the root could use
            if solution.choice[owner] == node:
                chosen = with_given(snapshot, forced, solution.choice)
                found.append(Choice(lowered, snapshot, chosen, prices.computed))
    return found


class _EveryNode(CostModel):
    """1 for every node, so that all can be chosen, pseudo-operators as well."""

    name = "every-node"
    unit = "nodes"

    def __init__(self) -> None:
        self.pseudo_operators = frozenset(operators())

    def cost(self, node: NodeView) -> float:
        return 1.0 + node.body_cost


def _prices(lowered: Lowered, snapshot: Snapshot) -> Prices:
    return price(lowered, snapshot, _EveryNode(), {}, [], fold_bytes=1 << 30)


def check_example(entry: Law, example: Example, opset: int = 17) -> int:
    """Assert what an example says of a law; returns the number of alternatives that were compared.

    Raises:
        AssertionError: the law did not fire, or fired on a near-miss, or a side computes something else.
    """
    laws = tuple(
        law
        for law in select([entry.ruleset, *_rulesets(entry.required)])
        if law.key in (entry.key, *entry.required)
    )
    lowered = lower_example(example, opset)
    snapshot, report = saturate_terms(
        lowered, laws, dict(example.limits), nodes=5000, rounds=3, seconds=60, strict=True
    )
    matched = report.matches.get(entry.key, 0)
    if not example.fires:
        assert matched == 0, f"{entry.key} fired where it must not ({example.why}): {example.term}"
        return 0
    assert matched > 0, f"{entry.key} did not fire: {example.term}"
    prices = _prices(lowered, snapshot)
    alternatives = _alternatives(lowered, snapshot, prices)
    assert alternatives, (
        f"{entry.key} fired and added nothing that can be written to the class of {example.term}"
    )
    original = _model(Choice(lowered, snapshot, original_choice(snapshot, prices), prices.computed), opset)
    for alternative in alternatives:
        rewritten = _model(alternative, opset)
        if entry.exact:
            compare(original, rewritten, entry.numerics == "bitwise")
        else:
            compare_types(original, rewritten)
    return len(alternatives)


def rebuilt_original(lowered: Lowered, opset: int) -> onnx.ModelProto:
    """A lowered example as ONNX again, no law applied; pseudo-operators are erased."""
    snapshot, _ = saturate_terms(lowered, (), {}, nodes=5000, rounds=1, seconds=60, strict=True)
    prices = _prices(lowered, snapshot)
    choice = Choice(lowered, snapshot, original_choice(snapshot, prices), prices.computed)
    return _model(choice, opset)


def _rulesets(keys: Iterable[str]) -> list[str]:
    return [key.rsplit(".", 1)[0] for key in keys]


def _random_feeds(model: onnx.ModelProto, sizes: Mapping[str, int]) -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    feeds = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else sizes[d.dim_param] for d in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if np.issubdtype(dtype, np.floating):
            feeds[value.name] = rng.standard_normal(shape).astype(dtype)
        else:
            feeds[value.name] = rng.integers(0, 2, shape).astype(dtype)
    return feeds


def _run(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, dict(feeds))[0])


def _run_reference(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    outputs: Any = ReferenceEvaluator(model).run(None, dict(feeds))
    return np.asarray(outputs[0])


def compare_types(original: onnx.ModelProto, rewritten: onnx.ModelProto) -> None:
    """Assert that two models compute something of the same type and shape in onnxruntime.

    Raises:
        AssertionError: they do not.
    """
    onnx.checker.check_model(rewritten, full_check=True)
    for sizes in SIZES:
        feeds = _random_feeds(original, sizes)
        a, b = _run(original, feeds), _run(rewritten, feeds)
        assert a.shape == b.shape and a.dtype == b.dtype, f"{a.dtype}{a.shape} became {b.dtype}{b.shape}"


def compare(original: onnx.ModelProto, rewritten: onnx.ModelProto, bitwise: bool) -> None:
    """Assert that two models compute the same: in onnxruntime, and for floats in float64 by ONNX's reference.

    Raises:
        AssertionError: they differ.
    """
    onnx.checker.check_model(rewritten, full_check=True)
    names = {d.dim_param for v in original.graph.input for d in v.type.tensor_type.shape.dim if d.dim_param}
    for sizes in SIZES if names else SIZES[:1]:
        feeds = _random_feeds(original, sizes)
        a, b = _run(original, feeds), _run(rewritten, feeds)
        assert a.shape == b.shape and a.dtype == b.dtype, f"{a.dtype}{a.shape} became {b.dtype}{b.shape}"
        if bitwise or not np.issubdtype(a.dtype, np.floating):
            np.testing.assert_array_equal(a, b)
        else:
            scale = float(np.nanmax(np.abs(a), initial=0))
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * scale + 1e-6)
        doubled = [_in_float64(m) for m in (original, rewritten)]
        wide = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in feeds.items()}
        x, y = (_run_reference(m, wide) for m in doubled)
        if x.shape != a.shape or y.shape != b.shape:
            continue  # ONNX's reference has faults of its own: GlobalMaxPool of rank 3, say
        if np.issubdtype(x.dtype, np.floating):
            # Constants that were folded have been rounded to float32 once.
            np.testing.assert_allclose(
                x, y, rtol=1e-5, atol=1e-6 * (1 + float(np.nanmax(np.abs(x), initial=0)))
            )
        else:
            np.testing.assert_array_equal(x, y)


def _in_float64(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model with float64 in the place of float32."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for value in (*wide.graph.input, *wide.graph.output, *wide.graph.value_info):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    tensors = list(wide.graph.initializer)
    for node in wide.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
            if attribute.HasField("t"):
                tensors.append(attribute.t)
    for tensor in tensors:
        if tensor.data_type == TensorProto.FLOAT:
            array = onnx.numpy_helper.to_array(tensor).astype(np.float64)
            tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    return wide


@dataclass(frozen=True)
class Proof:
    """What became of an attempt to prove two terms equal.

    Attributes:
        proved: they are one class.
        stop: why saturation ended: "proved", "saturated", or the limit ("nodes", "rounds", "seconds").
        nodes: e-nodes at the end.
    """

    proved: bool
    stop: str
    nodes: int


def prove(
    operands: Operands,
    left: Any,
    right: Any,
    rulesets: Iterable[str] | None = None,
    *,
    guards: bool = True,
    nodes: int = 20_000,
    seconds: float = 60,
    **limits: int,
) -> Proof:
    """Try to prove two terms equal: saturate a little, look, and saturate more; see `proves`."""
    pairs = list(zip(left, right, strict=True)) if isinstance(left, tuple) else [(left, right)]
    builder = _Builder(operands, 17)
    roots = [builder.term(side) for pair in pairs for side in pair]
    builder.lowered.outputs = roots
    deadline = time.monotonic() + seconds
    for rounds in (2, 4, 8, 16):
        snapshot, report = saturate_terms(
            builder.lowered,
            select(rulesets),
            limits,
            nodes=nodes,
            rounds=rounds,
            seconds=deadline - time.monotonic(),
            strict=True,
            guards=guards,
        )
        classes = snapshot.term_classes[roots].tolist()
        if classes[::2] == classes[1::2]:
            return Proof(True, "proved", report.nodes)
        if report.stop != "rounds":
            break
    return Proof(False, report.stop, report.nodes)


def proves(
    operands: Operands,
    left: Any,
    right: Any,
    rulesets: Iterable[str] | None = None,
    *,
    guards: bool = True,
    nodes: int = 20_000,
    **limits: int,
) -> bool:
    """Whether two terms are one class after saturation under the rulesets (default: all exact ones).

    Both are in the e-graph from the start.  Without `guards` laws fire wherever they hold.
    `left` and `right` may be tuples of terms of one length: then each pair is to be one class.
    """
    return prove(operands, left, right, rulesets, guards=guards, nodes=nodes, **limits).proved
