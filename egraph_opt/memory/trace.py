"""The memory trace of an ONNX graph, sizes left symbolic: which nodes run, what they read, what they make.

Weights, and what depends on constants alone, are not counted: they are there before a run (the report has
their bytes).  Nor are the inputs of the model, which are the caller's; those of a body are its own.  Reshape,
Squeeze, Unsqueeze, Flatten and Identity make nothing, unless an output is a view of something that is not
counted.  The bodies of a node are never run at once, so the one that needs the most counts; what happens
inside of a function of the model or of an operator's kernel is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from egraph_opt.cost.model import bind
from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.graph.constants import byte_size
from egraph_opt.graph.walks import bodies, captured_values, is_deterministic
from egraph_opt.memory.liveness import Liveness, RunStep, Usage, usage
from egraph_opt.memory.schedule import best_usage
from egraph_opt.operators.elementwise import BINARY, UNARY, VARIADIC

VIEWS = frozenset(("Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"))
"""Operators whose result shares the memory of their first operand."""

IN_PLACE = frozenset((*UNARY, *BINARY, *VARIADIC, "Cast", "CastLike", "Clip", "Where"))
"""Operators whose result may take the place of an operand with as many elements of the same width."""

Stored = Callable[[Fact, frozenset[str]], int | None]
"""Bytes of a tensor, by its type and the operators that write or read it; None for those of its type."""


def as_in_onnx(fact: Fact, operators: frozenset[str]) -> int | None:
    """A tensor takes the bytes of its type, whoever uses it."""
    return None


@dataclass(frozen=True)
class TraceStep:
    """A node that runs.

    Attributes:
        position: of the node in its graph.
        needs: indices of the steps whose results it uses.
        reads, writes: buffers; those that are not counted are left out.
        in_place: of `reads` the operands whose place the first of `writes` may take if the sizes allow it.
        bodies: of If, Loop and Scan.
    """

    position: int
    needs: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    in_place: tuple[int, ...]
    bodies: tuple[Trace, ...]


@dataclass(frozen=True)
class Trace:
    """The steps of a graph in its own order.

    Attributes:
        facts: per buffer its type.
        users: per buffer the operators that write or read it.
        values: per buffer the value that it was made for.
        start: buffers that are there before the first step: the inputs of a body.
        kept: buffers of the outputs.
    """

    facts: Sequence[Fact]
    users: Sequence[frozenset[str]]
    values: Sequence[ir.Value]
    steps: Sequence[TraceStep]
    start: tuple[int, ...]
    kept: frozenset[int]


class _Tracer:
    def __init__(self, graph: ir.Graph, facts: Mapping[ir.Value, Fact], is_body: bool) -> None:
        self.graph, self.known = graph, facts
        self.facts: list[Fact] = []
        self.users: list[set[str]] = []
        self.values: list[ir.Value] = []
        self.buffer: dict[ir.Value, int] = {}
        self.maker: dict[ir.Value, int] = {}
        self.inside: set[ir.Value] = set()
        self.running: set[ir.Value] = set()
        self.steps: list[TraceStep] = []
        self.start = tuple(self.new(value) for value in graph.inputs) if is_body else ()
        self.running.update(graph.inputs)

    def new(self, value: ir.Value) -> int:
        self.buffer[value] = len(self.facts)
        self.facts.append(self.known.get(value, UNKNOWN))
        self.users.append(set())
        self.values.append(value)
        return self.buffer[value]

    def is_constant(self, value: ir.Value) -> bool:
        if value in self.running:
            return bool(value.is_graph_input() and self.known.get(value, UNKNOWN).const)
        if value in self.inside or value.const_value is not None:
            return True
        return self.known.get(value, UNKNOWN).const

    def node(self, position: int, node: ir.Node) -> None:
        self.inside.update(node.outputs)
        captured = captured_values(node)
        operands = [v for v in (*node.inputs, *captured) if v is not None]
        if all(self.is_constant(value) for value in operands) and is_deterministic(node):
            return
        inner = tuple(trace(body, self.known, is_body=True) for body in bodies(node))
        needs = dict.fromkeys(self.maker[v] for v in operands if v in self.maker)
        reads = dict.fromkeys(self.buffer[v] for v in operands if v in self.buffer)
        standard = node.domain in ("", "ai.onnx")
        writes: list[int] = []
        for value in node.outputs:
            self.running.add(value)
            self.maker[value] = len(self.steps)
            source = node.inputs[0] if node.inputs else None
            if not (standard and node.op_type in VIEWS and source is not None):
                if value.name:
                    writes.append(self.new(value))
            elif source in self.buffer:
                self.buffer[value] = self.buffer[source]
            elif value.is_graph_output():
                writes.append(self.new(value))
        in_place: tuple[int, ...] = ()
        if standard and node.op_type in IN_PLACE:
            in_place = tuple(dict.fromkeys(self.buffer[v] for v in node.inputs if v in self.buffer))
        for buffer in (*reads, *writes):
            self.users[buffer].add(node.op_type)
        step = TraceStep(position, tuple(needs), tuple(reads), tuple(writes), in_place, inner)
        self.steps.append(step)


def trace(graph: ir.Graph, facts: Mapping[ir.Value, Fact], *, is_body: bool = False) -> Trace:
    """The steps and buffers of a graph.

    Args:
        facts: of its values and of those of its bodies; a value that is missing is of unknown size.
    """
    tracer = _Tracer(graph, facts, is_body)
    for position, node in enumerate(graph):
        tracer.node(position, node)
    kept = frozenset(tracer.buffer[value] for value in graph.outputs if value in tracer.buffer)
    users = [frozenset(operators) for operators in tracer.users]
    return Trace(tracer.facts, users, tracer.values, tracer.steps, tracer.start, kept)


def liveness(traced: Trace, points: Mapping[str, int], stored: Stored = as_in_onnx) -> Liveness:
    """The trace with symbols replaced by numbers; bodies run in the order in which they are written."""
    known: dict[tuple[Fact, frozenset[str]], tuple[int | None, int]] = {}
    buffers = list(zip(traced.facts, traced.users, strict=True))
    for fact, users in buffers:
        if (fact, users) not in known:
            known[fact, users] = _bytes_and_width(bind(fact, points), users, stored)
    # In place an element takes the place of one of the same width, and there are as many.
    kinds = [known[buffer] for buffer in buffers]
    sizes = [size for size, _ in kinds]
    unknown = sum(size is None for size in sizes)
    steps = []
    for step in traced.steps:
        inner = [liveness(body, points, stored) for body in step.bodies]
        unknown += sum(body.unknown for body in inner)
        reuse = tuple(b for b in step.in_place if sizes[b] is not None and kinds[b] == kinds[step.writes[0]])
        extra = max((usage(body).peak for body in inner), default=0)
        steps.append(RunStep(step.needs, step.reads, step.writes, reuse, extra))
    return Liveness([size or 0 for size in sizes], steps, traced.start, traced.kept, unknown)


def _bytes_and_width(fact: Fact, users: frozenset[str], stored: Stored) -> tuple[int | None, int]:
    """The bytes of a tensor and the bits of an element; None and 0 where they are not known."""
    size = byte_size(fact)
    if size is None:
        return None, 0
    own = stored(fact, users)
    return size if own is None else own, ir.DataType(fact.dtype).bitwidth


@dataclass(frozen=True)
class Arranged:
    """A graph in its order.

    Attributes:
        trace, liveness: of the graph as it was before.
        usage: in the order that it has now, by the steps and buffers of these.
    """

    trace: Trace
    liveness: Liveness
    usage: Usage


def arrange(
    graph: ir.Graph,
    facts: Mapping[ir.Value, Fact],
    points: Mapping[str, int],
    places: Mapping[str, int] | None = None,
    *,
    stored: Stored = as_in_onnx,
    is_body: bool = False,
) -> Arranged:
    """Put the nodes of a graph and of its bodies into an order that needs less memory, where one was found.

    Bodies come first, since what they need is needed by their node.

    Args:
        facts: of all values, see `trace`.
        points: what symbols stand for.
        stored: the bytes of a tensor on the target.
        places: where values were computed in another graph, see `places_in`: that order is tried, too.

    Returns:
        What the graph itself needs now.
    """
    graphs = [graph]
    for current in graphs:
        graphs.extend(body for node in current for body in bodies(node))
    for current in reversed(graphs):
        traced = trace(current, facts, is_body=is_body or current is not graph)
        sized = liveness(traced, points, stored)
        nodes = list(current)
        names = [nodes[step.position].outputs[0].name or "" for step in traced.steps]
        ranks = [(places or {}).get(name) for name in names]
        found = best_usage(sized, ranks if places else None)
        if list(found.order) != list(range(len(traced.steps))):
            _reorder(current, [traced.steps[k].position for k in found.order])
    return Arranged(traced, sized, found)  # the graph itself comes last


def places_in(graph: ir.Graph) -> dict[str, int]:
    """By name of a value where it is computed in a graph or in its bodies."""
    places: dict[str, int] = {}
    graphs = [graph]
    for current in graphs:
        for node in current:
            graphs.extend(bodies(node))
            places.update((v.name, len(places)) for v in node.outputs if v.name)
    return places


def _reorder(graph: ir.Graph, running: Sequence[int]) -> None:
    """Put the nodes at these positions into this order; what they need besides comes right before."""
    nodes = list(graph)
    place = {value: position for position, node in enumerate(nodes) for value in node.outputs}
    state = bytearray(len(nodes))
    order: list[ir.Node] = []
    for position in (*running, *range(len(nodes))):
        pending = [position]
        while pending:
            here = pending.pop()
            if state[here] == 2:
                continue
            if state[here] == 1:
                state[here] = 2
                order.append(nodes[here])
                continue
            state[here] = 1
            pending.append(here)
            used = [*nodes[here].inputs, *captured_values(nodes[here])]
            below = [place[v] for v in used if v is not None and v in place]
            pending.extend(k for k in reversed(below) if not state[k])
    graph.remove(nodes)
    graph.extend(order)
