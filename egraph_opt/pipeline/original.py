"""The model as it came: what is known of it, its nodes as cost models see them, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import onnx_ir as ir

from egraph_opt.cost.asking import price_of, price_of_bodies
from egraph_opt.cost.model import CostModel, NodeView, bind
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.graph.node_counts import NodeCount
from egraph_opt.laws.exactness import Exactness
from egraph_opt.model.reading import LoadedModel
from egraph_opt.pipeline.limits import Limits
from egraph_opt.report.figures import RewriteReport


@dataclass(frozen=True)
class GivenModel:
    """The model as it came, and what was found on the way to its e-graph.

    Attributes:
        counts: its nodes.
        constant_bytes: of all its constants.
        exactness: what a result keeps.
        seconds: by stage.
        reason: why nothing can be done; mostly "".
        legalize: results are to be made what the target's compiler takes, outside the standard.
        strict: what goes wrong while a chosen graph is saturated again is raised.
        required: the laws that were applied before, since they were required.
        left_out: rulesets and laws that were left out by name.
        target_limits: what the target publishes.
    """

    loaded: LoadedModel
    counts: NodeCount
    constant_bytes: int
    limits: Limits
    exactness: Exactness
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]
    reason: str
    legalize: bool
    strict: bool
    required: tuple[RewriteReport, ...] = ()
    left_out: frozenset[str] = frozenset()
    target_limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class OriginalNode:
    """A node of the input, for its price.

    Attributes:
        inputs, outputs: the values whose facts the view has.
        bodies: the nodes of its bodies.
    """

    view: NodeView
    inputs: Sequence[ir.Value | None]
    outputs: Sequence[ir.Value]
    bodies: Sequence[Sequence[OriginalNode]]


def with_shapes(nodes: Sequence[OriginalNode], shapes: Mapping[ir.Value, Shape]) -> tuple[OriginalNode, ...]:
    """The original with the shapes that what is chosen is priced with, so that the two costs compare."""

    def known(value: ir.Value | None, fact: Fact | None) -> Fact | None:
        shape = None if value is None else shapes.get(value)
        return fact if fact is None or shape is None else replace(fact, shape=shape)

    informed = []
    for node in nodes:
        inputs = tuple(map(known, node.inputs, node.view.inputs))
        outputs = tuple(
            known(v, fact) or fact for v, fact in zip(node.outputs, node.view.outputs, strict=True)
        )
        view = replace(node.view, inputs=inputs, outputs=outputs)
        bodies = tuple(with_shapes(body, shapes) for body in node.bodies)
        informed.append(replace(node, view=view, bodies=bodies))
    return tuple(informed)


def original_cost(nodes: Sequence[OriginalNode], model: CostModel, points: Mapping[str, int]) -> float:
    """What nodes of the input cost, their bodies included."""
    total = 0.0
    for node in nodes:
        bound = bound_view(node.view, points)
        if node.bodies:
            costs = [original_cost(body, model, points) for body in node.bodies]
            bound = replace(bound, body_cost=price_of_bodies(model, bound, costs))
        total += price_of(model, bound)
    return total


def totals_of(nodes: Sequence[OriginalNode], model: CostModel, points: Mapping[str, int]) -> dict[str, float]:
    """What each side of the target has to do for all nodes of the input, those of bodies aside."""
    views = [bound_view(node.view, points) for node in nodes] if model.sides else []
    return {side: math.fsum(model.time_of(view, side) for view in views) for side in model.sides}


def settled(
    model: CostModel, nodes: Sequence[OriginalNode], points: Callable[[], Mapping[str, int]]
) -> CostModel:
    """A cost model as it prices the graphs of one model."""
    return model.settled(totals_of(nodes, model, points())) if model.sides and nodes else model


def bound_view(view: NodeView, points: Mapping[str, int]) -> NodeView:
    """A node with numbers for its symbols, as it is priced."""
    return replace(
        view,
        inputs=tuple(None if fact is None else bind(fact, points) for fact in view.inputs),
        outputs=tuple(bind(fact, points) for fact in view.outputs),
    )
