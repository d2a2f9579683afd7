"""What an optimization did, in figures: for programs (`Report.to_dict`) and for people (`str(report)`)."""

from __future__ import annotations

import dataclasses
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import onnx_ir as ir
from onnx import ModelProto
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from egraph_opt.carriage import CARRIER_DOMAIN, SPARSE_INITIALIZER, carry
from egraph_opt.verification import SKIPPED, Verification

RANDOM = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)
"""Operators of ONNX that give another result at every run."""

STAGES = ("load", "lower", "saturate", "price", "extract", "rebuild", "fold", "verify")
"""The stages of an optimization in order; the keys of `Report.seconds`."""

_FIRST_CONSTANT_INPUTS_IR = 4


@dataclass(frozen=True)
class CostReport:
    """Cost of the model before and after, in `unit`; no graph in the e-graph costs less than `lower_bound`.

    `gap` is `(after - lower_bound) / after`, between 0 (proved to be the cheapest) and 1.  `points` are the
    sizes at which symbolic dims of the inputs were priced.
    """

    model: str
    unit: str
    before: float
    after: float
    lower_bound: float = 0.0
    gap: float = 0.0
    points: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class NodesReport:
    """Numbers of nodes: in the file, and of those the ones that run (see `nodes_of`)."""

    before: int
    after: int
    runtime_before: int
    runtime_after: int


@dataclass(frozen=True)
class SaturationReport:
    """How far the e-graph grew; `stop` is why it stopped: `saturated`, `nodes`, `rounds` or `seconds`."""

    rounds: int = 0
    nodes: int = 0
    classes: int = 0
    stop: str = "saturated"


@dataclass(frozen=True)
class RewriteReport:
    """How often a law matched, and how many of the chosen nodes it made."""

    ruleset: str
    name: str
    matches: int
    used: int


@dataclass(frozen=True)
class OperatorCount:
    """How many nodes of one operator there are before and after (run-time nodes)."""

    before: int
    after: int


@dataclass(frozen=True)
class NodeCount:
    """What `nodes_of` counts.

    Attributes:
        file: all nodes of the model but Constant, those of bodies and local functions included.
        runtime: nodes that run: those of the main graph that depend on a graph input which is no constant,
            or are random, and all nodes of bodies; without Constant.
        operators: the run-time nodes by operator.
    """

    file: int
    runtime: int
    operators: Mapping[str, int]


@dataclass(frozen=True)
class Report:
    """What an optimization did.

    Attributes:
        status: `optimized`, `unchanged` (nothing better was found, or `reason`), or `fallback` (the result
            was wrong, so it is the original).
        reason: why, where the status is not `optimized`.
        operators: run-time nodes by operator.
        seconds: by stage, see `STAGES`.
    """

    status: str
    reason: str
    cost: CostReport
    nodes: NodesReport
    saturation: SaturationReport = SaturationReport()
    rewrites: tuple[RewriteReport, ...] = ()
    verification: Verification = SKIPPED
    seconds: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    operators: Mapping[str, OperatorCount] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON has it: dicts, lists, strings and finite numbers; NaN and infinity are None."""
        plain = {item.name: _plain(getattr(self, item.name)) for item in dataclasses.fields(self)}
        plain["seconds"] = {stage: plain["seconds"].get(stage, 0.0) for stage in STAGES} | plain["seconds"]
        return plain

    def __str__(self) -> str:
        text = io.StringIO()
        Console(file=text, width=100, color_system=None, force_terminal=False).print(self)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

    def __rich__(self) -> RenderableType:
        return _render(self)


def _plain(value: Any) -> Any:
    """`value` without numpy, dataclasses, tuples and numbers that JSON lacks."""
    if dataclasses.is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str) or value is None:
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Iterable):
        return [_plain(item) for item in value]
    return str(value)


def nodes_of(model: ir.Model | ModelProto) -> NodeCount:
    """Count the nodes of a model.

    An initializer that is also an input is a default that a caller may override from IR version 4 on, so what
    depends on it runs; below, it is a constant.
    """
    if isinstance(model, ModelProto):
        copy = ModelProto()
        copy.CopyFrom(model)
        carry(copy)
        model = ir.from_proto(copy)
    graph = model.graph
    live: set[ir.Value] = set(graph.inputs)
    if model.ir_version < _FIRST_CONSTANT_INPUTS_IR:
        live = {value for value in live if value.name not in graph.initializers}
    running: list[ir.Node] = []
    in_bodies: dict[ir.Node, list[ir.Node]] = {}
    for node in graph:
        body_nodes = in_bodies[node] = _body_nodes(node)
        used = [*node.inputs, *(value for inner in body_nodes for value in inner.inputs)]
        used += [value for body in _bodies(node) for value in body.outputs]
        is_random = any(inner.op_type in RANDOM and not inner.domain for inner in (node, *body_nodes))
        if is_random or any(value in live for value in used if value is not None):
            live.update(node.outputs)
            running.append(node)
        running += body_nodes
    functions = [node for function in model.functions.values() for node in function.all_nodes()]
    in_file = [*graph, *(inner for nodes in in_bodies.values() for inner in nodes), *functions]
    counted = [node for node in running if not _is_constant(node)]
    return NodeCount(
        file=sum(not _is_constant(node) for node in in_file),
        runtime=len(counted),
        operators=dict(sorted(Counter(map(_operator, counted)).items())),
    )


def _is_constant(node: ir.Node) -> bool:
    if node.domain == CARRIER_DOMAIN:
        return node.op_type in ("Constant", SPARSE_INITIALIZER)
    return node.op_type == "Constant" and not node.domain


def _operator(node: ir.Node) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", CARRIER_DOMAIN) else node.op_type


def _bodies(node: ir.Node) -> list[ir.Graph]:
    found: list[ir.Graph] = []
    for attribute in node.attributes.values():
        if attribute.is_ref():
            continue
        if attribute.type == ir.AttributeType.GRAPH:
            found.append(attribute.as_graph())
        elif attribute.type == ir.AttributeType.GRAPHS:
            found.extend(attribute.as_graphs())
    return found


def _body_nodes(node: ir.Node) -> list[ir.Node]:
    return [inner for body in _bodies(node) for inner in body.all_nodes()]


def operators_between(before: NodeCount, after: NodeCount) -> dict[str, OperatorCount]:
    """The counts of all operators that either side has, the most frequent of `before` first."""
    names = before.operators.keys() | after.operators.keys()
    counts = {
        name: OperatorCount(before.operators.get(name, 0), after.operators.get(name, 0)) for name in names
    }
    return dict(sorted(counts.items(), key=lambda item: (-item[1].before, -item[1].after, item[0])))


def _render(report: Report) -> RenderableType:
    parts: list[RenderableType] = [_headline(report), _figures(report)]
    if report.operators:
        parts += [Text(), _operators(report.operators)]
    if used := [law for law in report.rewrites if law.used]:
        parts += [Text(), _laws(used)]
    if report.warnings:
        parts.append(Text())
    parts += [Text(f"warning: {warning}", style="yellow") for warning in report.warnings]
    return Group(*parts)


def _headline(report: Report) -> Text:
    style = {"optimized": "bold green", "fallback": "bold red"}.get(report.status, "bold")
    text = Text(report.status, style=style)
    if report.reason:
        text.append(f": {report.reason}", style="")
    return text


def _change(before: float, after: float) -> str:
    if not before or not math.isfinite(after / before):
        return ""
    percent = 100 * (after - before) / before
    return f"{percent:+.1f} %" if abs(percent) >= 0.05 else "="


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "?"
    return f"{value:,.0f}" if abs(value) >= 1e6 or value == round(value) else f"{value:,.2f}"


def _figures(report: Report) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in ("before", "after", "change"):
        table.add_column(name, justify="right")
    table.add_column("")
    nodes, cost, saturation, check = report.nodes, report.cost, report.saturation, report.verification
    for name, before, after, note in (
        ("run-time nodes", nodes.runtime_before, nodes.runtime_after, ""),
        ("nodes in the file", nodes.before, nodes.after, ""),
        ("cost", cost.before, cost.after, f"{cost.model}, in {cost.unit}"),
    ):
        table.add_row(name, _number(before), _number(after), _change(before, after), note)
    gap = "nothing in the e-graph is cheaper" if cost.gap == 0 else f"gap at most {cost.gap:.1%}"
    table.add_row("lower bound", "", _number(cost.lower_bound), "", gap)
    if cost.points:
        table.add_row(
            "priced at", "", "", "", ", ".join(f"{name} = {size}" for name, size in cost.points.items())
        )
    grown = f"{saturation.classes:,} classes, {saturation.rounds} rounds, stop: {saturation.stop}"
    table.add_row("e-nodes", "", _number(saturation.nodes), "", grown)
    error = f"largest error {check.max_abs_error:.3g}" if check.status in ("passed", "failed") else ""
    detail = "; ".join(part for part in (error, check.detail) if part)
    table.add_row("verification", "", check.status, "", Text(detail))
    slowest = sorted(report.seconds.items(), key=lambda item: (-item[1], item[0]))[:3]
    stages = ", ".join(f"{name} {value:.2f}" for name, value in slowest)
    table.add_row("seconds", "", f"{sum(report.seconds.values()):.2f}", "", stages)
    return table


def _operators(counts: Mapping[str, OperatorCount]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("run-time nodes by operator")
    for name in ("before", "after", "change"):
        table.add_column(name, justify="right")
    for name, count in counts.items():
        change = count.after - count.before
        style = "green" if change < 0 else "cyan" if change > 0 else ""
        table.add_row(
            name, str(count.before), str(count.after), f"{change:+d}" if change else "", style=style
        )
    return table


def _laws(laws: Iterable[RewriteReport]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("applied: ruleset")
    table.add_column("law")
    for name in ("matches", "nodes used"):
        table.add_column(name, justify="right")
    for law in sorted(laws, key=lambda law: (-law.used, law.ruleset, law.name)):
        table.add_row(law.ruleset, law.name, f"{law.matches:,}", str(law.used))
    return table
