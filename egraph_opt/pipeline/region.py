"""One graph of a model, saturated, with the bodies of its If, Loop and Scan nodes, each a graph of its own.

A body is optimised like any graph, with what is known of the values it captures passed in; of
loop-carried values only the type is known.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import onnx_ir as ir

from egraph_opt.cost.empty_dims import refused_by_original
from egraph_opt.cost.model import NodeView
from egraph_opt.cost.repricing import Compiled, CompiledCache, Key
from egraph_opt.egraph.lowering import Lowered, lower
from egraph_opt.egraph.saturation import SaturationReport
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.facts.assumption import Assumptions
from egraph_opt.facts.fact import CLASH, UNKNOWN, Fact, Shape
from egraph_opt.graph.code_motion import CodeMotion
from egraph_opt.graph.constants import Constants, byte_size, constants_of, fold_constants
from egraph_opt.graph.decided_bodies import Decided
from egraph_opt.graph.inlining import Inliner
from egraph_opt.graph.names import UniqueNames
from egraph_opt.graph.running import Scope
from egraph_opt.graph.walks import bodies
from egraph_opt.inference.constants import tensor_fact
from egraph_opt.inference.core import infer_node
from egraph_opt.inference.graph import attributes_of, infer_graph
from egraph_opt.inference.impossible import taken_branches
from egraph_opt.inference.onnx_inference import infer_by_onnx
from egraph_opt.laws.exactness import REAL, Exactness
from egraph_opt.memory import trace
from egraph_opt.memory.trace import Trace
from egraph_opt.model.reading import LoadedModel
from egraph_opt.pipeline.limits import Limits
from egraph_opt.pipeline.original import OriginalNode, with_shapes


@dataclass(frozen=True)
class Setting:
    """What all graphs of a model have in common.

    Attributes:
        opsets: by domain.
        assume: least and greatest number by name of input or symbolic dim.
        limits: how many bytes folding the constants of a graph may add, and take.
        exactness: what the result keeps.
        untouched: names of tensors: the nodes that make them stay as they came.
        inliner: of branches that are decided.
        motion: of work out of bodies.
        saturate: from terms to a snapshot: by the laws, or read from a file.
        warn: called with each oddity.
        clock: called with each stage that begins.
    """

    opsets: Mapping[str, int]
    ir_version: int
    functions: Mapping[ir.OperatorIdentifier, ir.Function]
    assume: Assumptions
    limits: Limits
    exactness: Exactness
    untouched: frozenset[str]
    inliner: Inliner
    motion: CodeMotion
    saturate: Callable[[Lowered], tuple[Snapshot, SaturationReport]]
    warn: Callable[[str], None]
    clock: Callable[[str], None]
    _tensor_facts: dict[int, tuple[ir.TensorProtocol, Fact]] = field(default_factory=dict, repr=False)

    def tensor_fact(self, tensor: ir.TensorProtocol) -> Fact:
        """The fact of a constant tensor, which is read once however often a graph is inferred."""
        if id(tensor) not in self._tensor_facts:
            self._tensor_facts[id(tensor)] = tensor, tensor_fact(tensor)
        return self._tensor_facts[id(tensor)][1]


@dataclass(frozen=True)
class Region:
    """A saturated graph.

    Attributes:
        original: of the main graph, its nodes as they came, with the shapes known in the end.
        memory: of the main graph, what it asks of memory as it came.
        inputs: the facts of the graph's inputs.
        bodies: by kept node its bodies.
        cache: of what does not depend on prices.
    """

    lowered: Lowered = field(repr=False)
    snapshot: Snapshot = field(repr=False)
    saturation: SaturationReport = field(repr=False)
    original: Sequence[OriginalNode] = field(repr=False)
    memory: Trace | None = field(repr=False)
    inputs: tuple[Fact, ...]
    bodies: Mapping[int, Sequence[Region]] = field(repr=False)
    cache: CompiledCache = field(default_factory=CompiledCache, repr=False, compare=False)

    def compiled(self, key: Key, late: Callable[[], bool] | None = None) -> Compiled:
        """The region ready for prices, worked out once for a setting."""
        return self.cache.compiled(self.lowered, self.snapshot, key, late)

    def saturated_again(self, saturate: Callable[[Lowered], tuple[Snapshot, SaturationReport]]) -> Region:
        """The same graph and bodies, saturated in another way."""
        made: dict[int, Region] = {}
        for part in reversed(self.walk()):
            snapshot, report = saturate(part.lowered)
            bodies = {key: [made[id(body)] for body in graphs] for key, graphs in part.bodies.items()}
            cache = CompiledCache()
            made[id(part)] = replace(part, snapshot=snapshot, saturation=report, bodies=bodies, cache=cache)
        return made[id(self)]

    def walk(self) -> list[Region]:
        """This region and all within it, in the order in which they were saturated."""
        found: list[Region] = []
        pending = [self]
        while pending:
            region = pending.pop()
            found.append(region)
            pending.extend(reversed([body for graphs in region.bodies.values() for body in graphs]))
        return found


def saturate_region(
    graph: ir.Graph,
    setting: Setting,
    outer_facts: Mapping[ir.Value, Fact],
    outer_constants: Constants,
    *,
    is_body: bool = False,
) -> Region:
    """Infer, fold, lower and saturate one graph, then its bodies."""
    setting.clock("lower")
    constants = constants_of(graph, setting.ir_version, outer_constants)
    contradicting: set[ir.Node] = set()
    inferred = partial(_infer, graph, setting, outer_facts, is_body=is_body, contradicting=contradicting)
    facts = inferred(constants)
    within: dict[ir.Value, Fact] = {}
    original = () if is_body else original_nodes(graph, ChainMap(facts), setting, constants, within)
    memory = None if is_body else trace(graph, ChainMap(within, facts))
    while True:
        setting.clock("fold")
        folded = fold_constants(
            *(graph, facts, constants, setting.opsets, setting.ir_version),
            fold_bytes=setting.limits.fold_bytes,
            fold_quantized=setting.limits.fold_quantized,
            memory_bytes=setting.limits.memory().left,
            untouched=setting.untouched,
            warn=setting.warn,
        )
        setting.clock("lower")
        new = folded.tensors.keys() - constants.tensors.keys()
        if new:
            sized = all(byte_size(facts.get(value, UNKNOWN)) is not None for value in new)
            facts = inferred(folded)
            if not sized:  # what is computed of them has a size only now
                constants = folded
                continue
        around = ChainMap(facts, dict(outer_facts))
        fits = partial(_fits, facts=around, setting=setting, constants=folded)
        inside = partial(_settle_inside, setting=setting, constants=folded)
        moved = setting.inliner.inline(graph, around, fits) or setting.motion.hoist(graph, around, inside)
        if not moved:
            gives = partial(_outputs_of, facts=around, setting=setting, constants=folded)
            quiet = replace(setting, warn=_ignore)
            supposing = partial(_supposing, graph, quiet, outer_facts, folded, is_body=is_body)
            taken = taken_branches(graph, around, gives, supposing)
            moved = bool(taken) and setting.inliner.inline(graph, around, fits, taken)
        if not moved:
            break
        constants = constants_of(graph, setting.ir_version, outer_constants)
        facts = inferred(constants)
    known = {**outer_facts, **facts}
    lowered = lower(
        graph,
        setting.opsets.get("", 1),
        known,
        folded,
        contradicting=contradicting,
        untouched=setting.untouched,
        functions=setting.functions,
    )
    lowered.own_types = setting.exactness != REAL
    lowered.fold_quantized = setting.limits.fold_quantized
    lowered.refused = refused_by_original(lowered)
    setting.clock("saturate")
    snapshot, report = setting.saturate(lowered)
    for dropped in report.dropped:
        setting.warn(f"a law was left out: {dropped}")
    for raised in report.raised:
        setting.warn(f"a law was left out where a function of it failed: {raised}")
    if report.rested:
        setting.warn(f"laws that matched too often were left out of some rounds: {', '.join(report.rested)}")
    inner: dict[int, list[Region]] = {}
    for key, node in enumerate(lowered.kept):
        graphs = bodies(node)
        if graphs:
            inner[key] = [saturate_region(body, setting, known, folded, is_body=True) for body in graphs]
    inputs = tuple(facts[v] for v in graph.inputs)
    region = Region(lowered, snapshot, report, original, memory, inputs, inner)
    if is_body:
        return region
    return replace(region, original=with_shapes(original, learned_shapes(region.walk())))


def _infer(
    graph: ir.Graph,
    setting: Setting,
    outer: Mapping[ir.Value, Fact],
    constants: Constants,
    *,
    is_body: bool,
    contradicting: set[ir.Node] | None = None,
    supposing: Mapping[ir.Value, Fact] | None = None,
) -> dict[ir.Value, Fact]:
    def constant(value: ir.Value) -> Fact | None:
        return setting.tensor_fact(constants.tensor(value)) if constants.has(value) else None

    facts = infer_graph(
        graph,
        setting.opsets,
        outer,
        constant,
        setting.warn,
        functions=setting.functions,
        is_body=is_body,
        assume=setting.assume,
        contradicting=contradicting,
        supposing=supposing,
    )
    for value in constants.tensors:
        if value in facts and not facts[value].const:
            facts[value] = tensor_fact(constants.tensor(value))
    return facts


def original_nodes(
    graph: ir.Graph, facts: Scope, setting: Setting, constants: Constants, within: dict[ir.Value, Fact]
) -> tuple[OriginalNode, ...]:
    """The nodes of a graph that run, as cost models see them; those of bodies within, whose facts it adds."""
    described = []
    for node in graph:
        results = [facts.get(v, UNKNOWN) for v in node.outputs]
        if all(fact.const for fact in results):
            continue
        inner = []
        for body in bodies(node):
            known = constants_of(body, setting.ir_version, constants)
            inferred = _infer(body, replace(setting, warn=_ignore), facts, known, is_body=True)
            within.update(inferred)
            inner.append(original_nodes(body, facts.new_child(inferred), setting, known, within))
        inputs = tuple(None if v is None else facts.get(v, UNKNOWN) for v in node.inputs)
        view = NodeView(
            node.op_type,
            node.domain,
            dict(attributes_of(node)),
            inputs,
            tuple(results),
            opset=setting.opsets.get("", 1),
        )
        described.append(OriginalNode(view, node.inputs, node.outputs, inner))
    return tuple(described)


def learned_shapes(regions: Sequence[Region]) -> dict[ir.Value, Shape]:
    """The shapes of the original's values as the saturated graphs have them: laws may have found more."""
    shapes: dict[ir.Value, Shape] = {}
    for region in regions:
        classes, facts = region.snapshot.term_classes, region.snapshot.facts
        for value, term in region.lowered.term_of.items():
            shape = facts[classes[term]].shape
            if shape is not None:
                shapes[value] = shape
    return shapes


def _ignore(message: str) -> None:
    """Bodies are inferred again when they are saturated; their warnings come then."""


def _infer_inside(body: ir.Graph, facts: Scope, *, setting: Setting, constants: Constants) -> Scope:
    """The facts of a body's values and of those around it."""
    known = constants_of(body, setting.ir_version, constants)
    inferred = _infer(body, replace(setting, warn=_ignore), facts, known, is_body=True)
    return facts.new_child(inferred)


def _supposing(
    graph: ir.Graph,
    setting: Setting,
    outer: Mapping[ir.Value, Fact],
    constants: Constants,
    supposed: Mapping[ir.Value, Fact],
    /,
    *,
    is_body: bool,
) -> dict[ir.Value, Fact]:
    """The facts of a graph's values where some are given; what is constant within its bodies is known."""
    pending = [body for node in graph for body in bodies(node)]
    for body in pending:
        constants = constants_of(body, setting.ir_version, constants)
        pending += [inner for node in body for inner in bodies(node)]
    return _infer(graph, setting, outer, constants, is_body=is_body, supposing=supposed)


def _outputs_of(body: ir.Graph, *, facts: Scope, setting: Setting, constants: Constants) -> list[Fact]:
    """The facts of what a body gives."""
    inside = _infer_inside(body, facts, setting=setting, constants=constants)
    return [inside.get(value, UNKNOWN) for value in body.outputs]


def _settle_inside(body: ir.Graph, facts: Scope, *, setting: Setting, constants: Constants) -> Scope:
    """Inline the decided Ifs of a body, of which the branch not taken shares nothing: the facts inside."""
    while True:
        known = constants_of(body, setting.ir_version, constants)
        inside = _infer_inside(body, facts, setting=setting, constants=constants)
        fits = partial(_fits, facts=inside, setting=setting, constants=known)
        if not setting.inliner.inline(body, inside, fits):
            return inside


def _fits(node: ir.Node, known: Decided, *, facts: Scope, setting: Setting, constants: Constants) -> bool:
    """Whether the users of a node's outputs are well typed on what its body gives."""
    inside = facts
    if known.body is not None:
        around = facts.new_child({inner: _given(outer, axis, facts) for inner, outer, axis in known.given})
        inside = _infer_inside(known.body, around, setting=setting, constants=constants)
    outputs: dict[ir.Value, Fact] = {}
    for value, source, axis in known.results:
        made = known.body.outputs[source] if known.body is not None and isinstance(source, int) else source
        fact = inside.get(made, UNKNOWN)  # type: ignore[arg-type]
        outputs[value] = fact if axis is None else _with_axis(fact, axis)
    for user in {use.node for value in node.outputs for use in value.uses()}:
        if bodies(user):
            continue
        operands = tuple(None if v is None else outputs.get(v) or facts.get(v, UNKNOWN) for v in user.inputs)
        opset = setting.opsets.get("" if user.domain == "ai.onnx" else user.domain, 0)
        signature = (user.op_type, user.domain, attributes_of(user), operands, len(user.outputs))
        facts_of_user = (*infer_node(*signature, opset=opset), *infer_by_onnx(*signature, opset=opset))
        # ONNX's checker is stricter than what runs, and is asked about the result.
        if any(fact.dtype == CLASH.dtype for fact in facts_of_user):
            return False
    return True


def _given(outer: ir.Value | ir.TensorProtocol, axis: int | None, facts: Scope) -> Fact:
    """The fact of what a body is given."""
    if not isinstance(outer, ir.Value):
        return tensor_fact(outer)
    fact = facts.get(outer, UNKNOWN)
    if axis is None or fact.shape is None:
        return fact
    axis %= len(fact.shape)
    return Fact(fact.dtype, (*fact.shape[:axis], *fact.shape[axis + 1 :]))


def _with_axis(fact: Fact, axis: int) -> Fact:
    if fact.shape is None:
        return Fact(fact.dtype)
    axis %= len(fact.shape) + 1
    return Fact(fact.dtype, (*fact.shape[:axis], 1, *fact.shape[axis:]))


def region_of(
    loaded: LoadedModel,
    limits: Limits,
    assume: Assumptions,
    saturate_one: Callable[[Lowered], tuple[Snapshot, SaturationReport]],
    *,
    exactness: Exactness,
    warnings: list[str],
    clock: Callable[[str], None],
    untouched: frozenset[str] = frozenset(),
) -> Region:
    """The graph of a model and its bodies, saturated; `warnings` grows, `untouched` is as in `Setting`."""

    def warn(message: str) -> None:
        if message not in warnings:
            warnings.append(message)

    names, opset = UniqueNames(loaded.model.graph), loaded.opset_imports.get("", 1)
    setting = Setting(
        opsets=loaded.opset_imports,
        ir_version=loaded.ir_version,
        functions=loaded.model.functions,
        assume=assume,
        limits=limits,
        exactness=exactness,
        untouched=untouched,
        inliner=Inliner(names, opset, untouched),
        motion=CodeMotion(names, opset, untouched),
        saturate=saturate_one,
        warn=warn,
        clock=clock,
    )
    return saturate_region(loaded.model.graph, setting, {}, Constants())
