"""Models of a few nodes for the tests of the knowledge bases, and what is asserted of every optimisation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

from egraph_opt import optimize
from egraph_opt.cost.model import CostModel
from egraph_opt.report.optimization import Report
from egraph_opt.verification import verify

OPSETS = (11, 26)
"""What the knowledge bases are tested with: of the oldest, and the newest that onnxruntime 1.31 runs."""

Dims = Sequence[int | str]


class Graph:
    """A model in the making: `add` nodes, name the outputs in `model`; weights are drawn from one seed.

    >>> g = Graph(x=[1, 3, 8])
    >>> y = g.add("Conv", "x", g.weight(4, 3, 3), pads=[1, 1])
    >>> [node.op_type for node in g.model(y, opset=13).graph.node]
    ['Conv']
    """

    def __init__(self, **inputs: Dims) -> None:
        self._rng = np.random.default_rng(0)
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._inputs = [self._value(name, dims) for name, dims in inputs.items()]

    @staticmethod
    def _value(name: str, dims: Dims | None, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, dtype, dims)

    def input(self, name: str, dims: Dims, dtype: int = TensorProto.FLOAT) -> str:
        """A further graph input, of any type."""
        self._inputs.append(self._value(name, dims, dtype))
        return name

    def constant(self, array: Any, dtype: Any = None) -> str:
        """An initializer; Python ints become int64, floats float32."""
        array = np.asarray(array, dtype)
        if dtype is None and array.dtype == np.float64:
            array = array.astype(np.float32)
        self._constants.append(numpy_helper.from_array(array, f"c{len(self._constants)}"))
        return self._constants[-1].name

    def weight(self, *shape: int, positive: bool = False) -> str:
        """Random float32 elements, scaled so that a product with them keeps its inputs' size."""
        array = self._rng.standard_normal(shape)
        return self.constant(np.abs(array) + 0.5 if positive else array / np.sqrt(np.prod(shape[1:])))

    def add(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """A node of one output, which is returned; "" is an absent operand."""
        return self.add_many(op_type, *inputs, outputs=1, **attributes)[0]

    def add_many(self, op_type: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        """A node of several outputs."""
        names = [f"v{len(self._nodes)}_{k}" for k in range(outputs)]
        self._nodes.append(helper.make_node(op_type, list(inputs), names, **attributes))
        return names

    def model(
        self, *outputs: str, opset: int = 17, dtypes: Mapping[str, int] | None = None
    ) -> onnx.ModelProto:
        """The model, checked, with the shapes that ONNX infers; `dtypes` of outputs that are not float32."""
        results = [self._value(name, None, (dtypes or {}).get(name, TensorProto.FLOAT)) for name in outputs]
        graph = helper.make_graph(self._nodes, "graph", self._inputs, results, self._constants)
        opsets = [helper.make_opsetid("", opset)]
        made = helper.make_model(
            graph, opset_imports=opsets, ir_version=helper.find_min_ir_version_for(opsets)
        )
        made = onnx.shape_inference.infer_shapes(made, strict_mode=True)
        onnx.checker.check_model(made)
        return made


def parsed(body: str, opset: int = 17) -> onnx.ModelProto:
    """A model in ONNX's text format, from `name (inputs) => (outputs) {nodes}`."""
    opsets = [helper.make_opsetid("", opset)]
    version = helper.find_min_ir_version_for(opsets)
    made = parser.parse_model(f'<ir_version: {version}, opset_import: ["" : {opset}]>\n{body}')
    onnx.checker.check_model(made)
    return made


class Outcome(NamedTuple):
    """What an optimisation gave: run-time nodes by operator, the model, the report."""

    counts: Counter[str]
    model: onnx.ModelProto
    report: Report


def outcome(model: onnx.ModelProto, target: str | CostModel = "nodes", **options: Any) -> Outcome:
    """Optimise; laws that contradict each other and outputs that differ from the original's are errors."""
    result = optimize(model, cost=target, strict=True, verify=False, **options)
    if result.model.graph != model.graph:
        checked = verify(model, result.model, seeds=1, assume=options.get("assume"))
        assert checked.status == "passed", checked.detail
    cost = result.report.cost
    assert cost.after <= cost.before * (1 + 1e-9)
    counts = {name: count.after for name, count in result.report.operators.items() if count.after}
    return Outcome(Counter(counts), result.model, result.report)


def optimized(model: onnx.ModelProto, cost: str | CostModel = "nodes", **options: Any) -> Counter[str]:
    """Run-time nodes by operator after an optimisation that passed verification."""
    return outcome(model, cost, **options).counts


def counts_of(model: onnx.ModelProto) -> Counter[str]:
    """Nodes by operator as a model has them, constants left out."""
    return Counter(node.op_type for node in model.graph.node if node.op_type != "Constant")


def check_settled(model: onnx.ModelProto, cost: str | CostModel = "nodes", **options: Any) -> Counter[str]:
    """A second optimisation changes nothing; returns the run-time nodes by operator."""
    first = outcome(model, cost, **options)
    second = outcome(first.model, cost, **options)
    assert second.counts == first.counts
    assert second.report.nodes.runtime_after == first.report.nodes.runtime_after
    assert abs(second.report.cost.after - first.report.cost.after) <= 1e-6 * max(first.report.cost.after, 1.0)
    return first.counts


def check_untouched(model: onnx.ModelProto, cost: str | CostModel = "nodes", **options: Any) -> None:
    """An optimisation finds nothing to do: a near miss, or a target that does not want the rewrite."""
    assert optimized(model, cost, **options) == counts_of(model)
