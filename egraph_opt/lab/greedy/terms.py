"""A chosen graph as terms again: what it was chosen from is forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import onnx_ir as ir

from egraph_opt.cost.expansion import expand_pseudo, is_pseudo
from egraph_opt.egraph.lowering import Lowered, Term
from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.operators.constants import literal_fact
from egraph_opt.operators.declaration import Earlier, Operator, Scalar, Step, operator_named
from egraph_opt.operators.typing import infer_operator, scalar_type
from egraph_opt.rebuild.choice import Choice

TermKey = tuple[str, str, tuple[Any, ...]]


def terms_of(choice: Choice) -> Lowered:
    """The chosen graph, lowered: pseudo-operators as the nodes that they are, constants not yet computed.

    Inputs, constants, kept nodes and the names of values stay those of the graph it was chosen from.
    """
    return _Chosen(choice).run()


def graph_fingerprint(graph: Lowered) -> tuple[TermKey, ...]:
    """Equal for graphs that compute their outputs alike."""
    needed = _needed(graph)
    number = {term: k for k, term in enumerate(needed)}
    return (
        *(
            _key(graph.terms[k].operator, graph.terms[k].attributes, _renumbered(graph, k, number))
            for k in needed
        ),
        ("outputs", "", tuple(number[k] for k in graph.outputs)),
    )


class _Chosen:
    def __init__(self, choice: Choice) -> None:
        self.choice, self.before, self.snapshot = choice, choice.lowered, choice.snapshot
        self.after = replace(self.before, terms=[], facts=[], names=[], nodes={}, outputs=[], term_of={})
        self.index: dict[TermKey, int] = {}
        self.term: dict[int, int] = {}  # by class
        self.sources = {int(self.snapshot.term_node[t]): s for t, s in reversed(self.before.nodes.items())}

    def run(self) -> Lowered:
        for number, term in enumerate(self.before.terms):
            if not term.operands:  # nodes that are written as they were may read any of them
                made = self.add(term.operator, term.attributes, (), self.before.facts[number])
                self.term.setdefault(int(self.snapshot.term_classes[number]), made)
        for owner in self._order():
            if owner not in self.term:
                self.term[owner] = self._place(owner, self._node(owner))
        self.after.outputs.extend(
            self.term[int(owner)] for owner in self.snapshot.term_classes[self.before.outputs]
        )
        self._name()
        return self.after

    def add(
        self, operator: str, attributes: tuple[Any, ...], operands: tuple[Any, ...], fact: Fact | None
    ) -> int:
        key = _key(operator, attributes, operands)
        if key not in self.index:
            self.index[key] = len(self.after.terms)
            self.after.terms.append(Term(operator, attributes, operands))
            self.after.facts.append(fact)
            self.after.names.append([])
        return self.index[key]

    def _node(self, owner: int) -> int:
        """The e-node of a class; of a constant, one that computes it."""
        computed = int(self.choice.computed[owner])
        return computed if computed >= 0 else int(self.choice.node[owner])

    def _order(self) -> Iterator[int]:
        """The classes that the outputs need, operands first."""
        begun: set[int] = set()
        pending = [(int(owner), False) for owner in self.snapshot.term_classes[self.before.outputs][::-1]]
        while pending:
            owner, ready = pending.pop()
            if ready:
                yield owner
            elif owner not in begun:
                begun.add(owner)
                pending.append((owner, True))
                pending.extend((c, False) for c in reversed(self.snapshot.children(self._node(owner))))

    def _place(self, owner: int, node: int) -> int:
        operands = [self.term[c] for c in self.snapshot.children(node)]
        _, is_verbatim = self.sources.get(node, (None, False))
        if not is_verbatim and is_pseudo(self.snapshot, node, self.before.opset):
            return self._expanded(node, operands)
        declared = operator_named(self.snapshot.operator[node])
        fact = None if declared.result == "bundle" else self.snapshot.facts[owner]
        made = self.add(declared.name, self.snapshot.attributes[node], nested(declared, operands), fact)
        if node in self.sources:
            self.after.nodes.setdefault(made, self.sources[node])
        return made

    def _expanded(self, node: int, operands: Sequence[int]) -> int:
        found: list[int] = []
        for part in expand_pseudo(self.snapshot, node, self.before.opset):
            found.append(self._step(part.step, operands, found))
            if part.node >= 0:
                self.term.setdefault(int(self.snapshot.node_class[part.node]), found[-1])
            if part.node in self.sources:
                self.after.nodes.setdefault(found[-1], self.sources[part.node])
        return found[-1] if found else operands[0]

    def _step(self, step: Step, operands: Sequence[int], found: Sequence[int]) -> int:
        facts = ([self.after.facts[k] or UNKNOWN for k in terms] for terms in (operands, found))
        dtype = scalar_type(step, *facts)
        given: list[int] = []
        for operand in step.operands:
            if isinstance(operand, Scalar):
                literal = operand.literal(dtype)
                given.append(self.add("literal", (literal,), (), literal_fact(literal)))
            else:
                given.append(found[operand.step] if isinstance(operand, Earlier) else operands[operand])
        known = tuple(fact for k in given if (fact := self.after.facts[k]) is not None)
        fact = infer_operator(step.operator, self.before.opset, step.attributes, known)
        return self.add(step.operator, step.attributes, nested(operator_named(step.operator), given), fact)

    def _name(self) -> None:
        """Give values their terms, where they are still computed."""
        values: Iterator[tuple[ir.Value, int]] = iter(self.before.term_of.items())
        for value, number in values:
            made = self.term.get(int(self.snapshot.term_classes[number]))
            if made is not None:
                self.after.term_of[value] = made
                self.after.names[made].append(value)


def nested(declared: Operator, operands: Sequence[int]) -> tuple[Any, ...]:
    """The operands of an operator, a list among them as a tuple of its own."""
    kinds = [declared.kinds[k] for k in declared.operand_positions]
    left, answer = list(operands), []
    for position, kind in enumerate(kinds):
        length = len(left) - (len(kinds) - 1 - position) if kind == "tensors" else 1
        taken, left = left[:length], left[length:]
        answer.append(tuple(taken) if kind == "tensors" else taken[0])
    return tuple(answer)


def _key(operator: str, attributes: tuple[Any, ...], operands: tuple[Any, ...]) -> TermKey:
    """Attributes go by how they are written: 0.0 and -0.0 are two."""
    return operator, repr(attributes), operands


def _flat(term: Term) -> Iterator[int]:
    for item in term.operands:
        yield from item if isinstance(item, tuple) else (item,)


def _needed(graph: Lowered) -> list[int]:
    """The terms that the outputs need, operands first: the same order for the same graph."""
    order: list[int] = []
    begun: set[int] = set()
    pending = [(term, False) for term in reversed(graph.outputs)]
    while pending:
        term, ready = pending.pop()
        if ready:
            order.append(term)
        elif term not in begun:
            begun.add(term)
            pending.append((term, True))
            pending.extend((k, False) for k in reversed(list(_flat(graph.terms[term]))))
    return order


def _renumbered(graph: Lowered, term: int, number: Mapping[int, int]) -> tuple[Any, ...]:
    return tuple(
        tuple(number[k] for k in item) if isinstance(item, tuple) else number[item]
        for item in graph.terms[term].operands
    )
