"""How a result came about, kept so that it can be explained: each e-graph, and what was chosen and written.

Laws are found from what e-graphs record (`made_by`, see docs/pages/egglog.md): which law wrote an e-node
first.  Which one made two classes one is not recorded; of that the shortest chain of laws is given that
leads from an e-node of the model to the chosen one.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from egraph_opt.cost.constant_nodes import nodes_by_e_node
from egraph_opt.cost.model import CostModel
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.forking import cached_property
from egraph_opt.graph.differences import GraphDifference
from egraph_opt.laws.elimination import Head, merged_heads
from egraph_opt.laws.law import registered
from egraph_opt.operators.declaration import operator_named, operators
from egraph_opt.operators.expressions import declared_functions
from egraph_opt.pipeline.original import original_cost
from egraph_opt.pipeline.restarts import Iteration
from egraph_opt.pipeline.savings import nodes_before
from egraph_opt.pipeline.uses_of_laws import heads_of
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.value_info import NodeOrigin, law_at

MOST_MEMBERS = 400
"""E-nodes of a class among which a chain of laws is looked for."""

WRITTEN, REMOVED, OTHER, BACKWARDS = 1, 3, 4, 6
"""What a step of a chain weighs: by a law that wrote one of its two e-nodes, and by any other.

A law may find a tensor within its own term: it is taken to have removed the term rather than written it.
"""


@dataclass(frozen=True, eq=False)
class Derivation:
    """What was done to a model, one saturation after the other.

    Attributes:
        given: the model that the first one is of.
        model: the cost model.
        points: what symbolic dims are priced at.
    """

    given: ir.Model
    iterations: Sequence[Iteration]
    model: CostModel
    points: Mapping[str, int]

    @property
    def result(self) -> ir.Model:
        return self.iterations[-1].model

    @cached_property
    def same(self) -> Mapping[str, str]:
        """By name of a tensor of the model that of the tensor of the result that is equal to it."""
        names: dict[str, str] = {}
        for number, iteration in enumerate(self.iterations):
            step = dict(_same_in(iteration))
            names = {name: step[now] for name, now in names.items() if now in step}
            if number == 0:
                names = step
        return {name: now for name, now in names.items() if name != now}

    @cached_property
    def _graphs(self) -> list[_Written]:
        return [_Written(iteration) for iteration in self.iterations]

    def law_of(self, node: ir.Node) -> str:
        """The law that wrote a node of the result first; "" of one of the model."""
        names = [value.name for value in node.outputs if value.name]
        for written in reversed(self._graphs):
            origin = next((written.origins[name] for name in names if name in written.origins), None)
            if origin is not None and origin.law:
                return origin.law
        return ""

    def laws_written_into(self, node: ir.Node) -> list[str]:
        """The laws that wrote a node of the result and the constants that it reads."""
        laws = dict.fromkeys(filter(None, (self.law_of(node),)))
        for value in node.inputs:
            for written in self._graphs if value is not None else ():
                if value is not None and value.name in written.constants:
                    laws.update(dict.fromkeys(written.laws_of_constant(value.name)))
        return list(laws)

    def laws_of(self, difference: GraphDifference) -> tuple[list[str], list[str]]:
        """The laws that wrote nodes and constants of a difference, and those inferred to have joined them."""
        wrote: dict[str, None] = {}
        joined: dict[str, None] = {}
        constants = {v.name for node in difference.after for v in node.inputs if v is not None and v.name}
        for node in difference.after:
            wrote[self.law_of(node)] = None
        tensors = {v.name or "" for node in (*difference.before, *difference.after) for v in node.outputs}
        for written in self._graphs:
            for name in sorted(constants & written.constants.keys()):
                wrote.update(dict.fromkeys(written.laws_of_constant(name)))
            inner = tensors & written.origins.keys() if written is not self._graphs[-1] else ()
            for name in sorted({*difference.gives, *inner}):
                joined.update(dict.fromkeys(written.chains(self.same.get(name, name))))
                if name in inner and written.origins[name].law:
                    wrote[written.origins[name].law] = None
        wrote.pop("", None)
        return list(wrote), [law for law in joined if law not in wrote]

    def costs_before(self) -> dict[ir.Node, float]:
        """What nodes of the model cost, as the target's compiler runs them, conversions of formats apart."""
        found: defaultdict[ir.Node, float] = defaultdict(float)
        for part in self.iterations[0].extracted.walk():
            if part.original is None:
                continue
            sources = nodes_by_e_node(part.choice.lowered, part.choice.snapshot)
            names = part.choice.original_names()
            for owner, e_nodes in nodes_before(part, part.original).items():
                value = names.get(part.choice.snapshot.plain[owner])
                for e_node in e_nodes:
                    if is_conversion(part.choice.snapshot, e_node):
                        continue
                    cost = float(part.prices.cost[e_node])
                    computed = None if value is None else value.producer()
                    source = sources[e_node][0] if e_node in sources else computed
                    if source is not None and np.isfinite(cost):
                        found[source] += cost
        for node, cost in self._computed_before(found):
            found[node] = cost
        return found

    def _computed_before(self, known: Mapping[ir.Node, float]) -> Iterator[tuple[ir.Node, float]]:
        """What nodes cost that e-graphs have as constants, or once for several that are equal."""
        first = self.iterations[0].region
        lowered, snapshot = first.lowered, first.snapshot
        sources = nodes_by_e_node(lowered, snapshot)
        for entry in first.original:
            source = entry.outputs[0].producer() if entry.outputs else None
            term = lowered.term_of.get(entry.outputs[0]) if source is not None else None
            if source is None or term is None or source in known:
                continue
            owner = int(snapshot.term_classes[term])
            shared = sources.get(int(snapshot.term_node[term]), (source, True))[0] is not source
            if snapshot.facts[owner].const or shared:
                yield source, original_cost([entry], self.model, self.points)

    def costs_after(self) -> dict[ir.Node, float]:
        """What nodes of the result cost; a fused kernel is paid for at its last node."""
        last = self.iterations[-1]
        prices = {id(part.choice.snapshot): part.prices for part in last.extracted.walk()}
        paid: dict[tuple[int, int], ir.Node] = {}
        for node, origin in last.info.origins.items():
            paid[id(origin.snapshot), origin.chosen] = node
        return {
            node: float(prices[snapshot].cost[chosen])
            for (snapshot, chosen), node in paid.items()
            if snapshot in prices and chosen >= 0
        }


def _same_in(iteration: Iteration) -> Iterator[tuple[str, str]]:
    """The tensors that an iteration began with, each with the one of its result that is equal to it."""
    info = iteration.info
    written = {(id(info.choices[value]), owner): value.name for value, owner in info.owners.items()}
    for part in iteration.extracted.walk():
        classes, lowered = part.choice.snapshot.term_classes, part.choice.lowered
        for value, term in lowered.term_of.items():
            now = written.get((id(part.choice), int(classes[term])))
            if value.name and value.graph is lowered.graph and now:
                yield value.name, now


class _Written:
    """What an iteration wrote, by the names of tensors.

    Attributes:
        origins: of the nodes that compute them.
        places: the class of each tensor, with what was chosen for its graph.
        constants: those of constants.
    """

    def __init__(self, iteration: Iteration) -> None:
        self._iteration = iteration
        self.origins: dict[str, NodeOrigin] = {}
        for node, origin in iteration.info.origins.items():
            self.origins.update((value.name, origin) for value in node.outputs if value.name)
        self.constants: dict[str, tuple[Choice, int]] = {}
        self.places: dict[str, tuple[Choice, int]] = {}
        for value, owner in iteration.info.owners.items():
            if value.name:
                self.places[value.name] = iteration.info.choices[value], owner
            if value.const_value is not None and value.name:
                self.constants[value.name] = iteration.info.choices[value], owner
        for part in iteration.extracted.walk():  # an output that Identity writes names its class, too
            lowered, classes = part.choice.lowered, part.choice.snapshot.term_classes
            for output, term in zip(lowered.graph.outputs, lowered.outputs, strict=True):
                if output.name:
                    self.places.setdefault(output.name, (part.choice, int(classes[term])))

    def laws_of_constant(self, name: str) -> Iterator[str]:
        """The laws that wrote what a constant is computed by."""
        choice, owner = self.constants[name]
        snapshot, computed = choice.snapshot, choice.computed
        pending, seen = [owner], {owner}
        while pending:
            node = int(computed[pending.pop()])
            if node < 0:
                continue
            if law := law_at(snapshot, node):
                yield law
            new = [c for c in snapshot.children(node) if c not in seen]
            seen.update(new)
            pending += new

    @cached_property
    def _merging(self) -> Mapping[tuple[Head, Head | None], list[str]]:
        """By the operators that a law makes equal the laws that do, of those that have matched."""
        found: defaultdict[tuple[Head, Head | None], list[str]] = defaultdict(list)
        matches: set[str] = set()
        for region in self._iteration.region.walk():
            matches.update(key for key, count in region.saturation.matches.items() if count)
        for key in sorted(matches & registered.keys()):
            for one, other in merged_heads(registered[key]):
                found[_plain(one), other and _plain(other)].append(key)
        return found

    def chains(self, name: str) -> Iterator[str]:
        """The laws that led from the model's e-nodes of a tensor to the one that was written.

        The law that wrote that wrote operands, too: where one of them is a tensor that is computed
        otherwise, so do the laws that led to it.
        """
        if name not in self.places:
            return
        choice, owner = self.places[name]
        origin = self.origins.get(name)
        snapshot, written = choice.snapshot, int(choice.node[owner]) if origin is None else origin.written
        if written < 0:
            return
        original = frozenset(snapshot.term_node.tolist())
        members = np.flatnonzero(snapshot.node_class == snapshot.node_class[written]).tolist()
        yield from self._shortest(snapshot, members, original & {*members} - {written}, [written])
        maker = int(snapshot.made_by[written])
        for child in dict.fromkeys(snapshot.children(written)) if maker else ():
            members = np.flatnonzero(snapshot.node_class == child).tolist()
            targets = [node for node in members if int(snapshot.made_by[node]) == maker]
            yield from self._shortest(snapshot, members, original & {*members}, targets)

    def _shortest(
        self, snapshot: Snapshot, members: Sequence[int], sources: Set[int], targets: Sequence[int]
    ) -> list[str]:
        """The laws of the shortest chain within a class from one of the sources to one of the targets."""
        if not sources or not targets or len(members) > MOST_MEMBERS:
            return []
        target = -1
        heads = {node: tuple(map(_plain, heads_of(snapshot, node))) for node in members}
        makers = {node: law_at(snapshot, node) for node in members}
        best: dict[int, int] = dict.fromkeys(sources, 0)
        came: dict[int, tuple[int, str]] = {}
        pending = [(0, node) for node in sorted(sources)]
        while pending:
            weight, node = heapq.heappop(pending)
            if node in targets:
                target = node
                break
            if weight > best[node]:
                continue
            for other in members:
                for law, own in self._between(heads[node], heads[other]) if other != node else ():
                    wrote = own == OTHER and law in (makers[node], makers[other])
                    step = weight + (WRITTEN if wrote else own)
                    if step < best.get(other, step + 1):
                        best[other], came[other] = step, (node, law)
                        heapq.heappush(pending, (step, other))
        chain: list[str] = []
        while target in came:
            target, law = came[target]
            chain.append(law)
        return chain[::-1]

    def _between(self, a: Sequence[Head], b: Sequence[Head]) -> Iterator[tuple[str, int]]:
        """The laws that make e-nodes with these operators equal, each with its weight."""
        for one in a:
            for other in b:
                for pair in ((one, other), (other, one)):
                    yield from ((law, OTHER) for law in self._merging.get(pair, ()))
            yield from ((law, REMOVED) for law in self._merging.get((one, None), ()))
        for other in b:
            yield from ((law, BACKWARDS) for law in self._merging.get((other, None), ()))


def _plain(head: Head) -> Head:
    """An operator by ONNX's name alone where that says enough: laws may write it as a shorthand."""
    function = declared_functions.get(head[0])
    named = head[1] and (operators().get(head[0]) or (function is not None and function.shorthand))
    return ("", head[1]) if named else head


def is_conversion(snapshot: Snapshot, node: int) -> bool:
    """Whether an e-node is its operand in another format, for which no node is written."""
    expand = operator_named(snapshot.operator[node]).expand
    return expand is not None and expand(snapshot.attributes[node]) == ()
