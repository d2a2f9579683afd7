"""A certificate from the records of an optimisation.

Each saturation is followed again on terms that both models are read into; what was folded is computed; what
is left open between a chosen e-node and the node that was written is a step that is trusted, and named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import onnx_ir as ir

from egraph_opt.certificates.certificate import Certificate, reading_as_json, version_of_project
from egraph_opt.certificates.digests import digests_of_graph
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.expansion import expanded
from egraph_opt.certificates.instances import Premises, StatedRules
from egraph_opt.certificates.numbers import ConstantNumbers
from egraph_opt.certificates.reading import ReadAs, ReadModel, folded_leaf, read_terms
from egraph_opt.certifying.bound import Selected, stated_bound
from egraph_opt.certifying.reasons import Needed, made_by_steps
from egraph_opt.certifying.replay import Replay
from egraph_opt.certifying.steps import BETWEEN, READ, ReplayCourse, TakenStep, WatchedKnowledge
from egraph_opt.certifying.writing import Writer, law_digests
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.recording import Record
from egraph_opt.facts.assumption import Assumptions
from egraph_opt.facts.fact import ABSENT
from egraph_opt.laws.selection import all_laws
from egraph_opt.model.reading import LoadedModel
from egraph_opt.operators.declaration import declared_operators


@dataclass(frozen=True)
class Recorded:
    """One saturation and what was written of it.

    Attributes:
        owners: of the tensors of the main graph that were written, by name, the class in the record.
        model: that was written.
    """

    lowered: Lowered
    record: Record
    owners: Mapping[str, int]
    model: LoadedModel


@dataclass(frozen=True)
class Optimized:
    """An optimisation that was recorded.

    Attributes:
        shapes: sizes that inputs have got.
        limits: what the target publishes.
        selected: what was chosen, and from what; None where nothing is said of cost.
    """

    model: LoadedModel
    result: LoadedModel
    recorded: Sequence[Recorded]
    assume: Assumptions
    shapes: Any
    fold_bytes: int
    fold_quantized: bool
    limits: Mapping[str, int]
    selected: Selected | None = None


def certificate_of(done: Optimized) -> Certificate:
    """Why the result of an optimisation is equal to its model.

    Raises:
        CertificateError: something in it contradicts itself.
    """
    return _Making(done).certificate()


def _said_equal(reason: str, pair: tuple[int, int]) -> TakenStep:
    """A step that nothing shows."""
    values = dict(zip("ab", pair, strict=True))
    return TakenStep("trusted", reason, values, frozenset(values), Premises())


class _Making:
    def __init__(self, done: Optimized) -> None:
        self._done = done
        self._digests = (
            digests_of_graph(done.model),
            digests_of_graph(done.result),
        )  # before types are forgotten
        self._knowledge = WatchedKnowledge(done.model.opset_imports.get("", 1))
        self._course, self._rules = ReplayCourse(self._knowledge), StatedRules(all_laws())
        self._numbers = ConstantNumbers(self._knowledge)
        self._how = ReadAs(done.assume, done.fold_bytes, done.fold_quantized)
        self._expanded = 0
        self._model = read_terms(done.model, self._knowledge, self._numbers, self._how)
        self._result = read_terms(
            done.result, self._knowledge, self._numbers, replace(self._how, believed=False)
        )

    def certificate(self) -> Certificate:
        read = self._model
        for number, recorded in enumerate(self._done.recorded):
            last = number + 1 == len(self._done.recorded)
            replay = Replay(self._course, recorded.record, self._rules, self._done.limits)
            self._place(replay, recorded, read)
            read = self._finish(replay, recorded, read) if last else self._go_through(replay, recorded)
        pairs = [
            (self._model.terms[name], self._result.terms[other])
            for name, other in zip(self._model.outputs, self._result.outputs, strict=True)
        ]
        for name, (a, b) in zip(self._model.outputs, pairs, strict=True):
            if not self._knowledge.same(a, b):
                self._trust(f"output {name}", a, b)
        needed = Needed(self._knowledge)
        try:
            for a, b in pairs:
                needed.equal(a, b)
        except CertificateError as error:  # what is between two saturations may have no steps
            reasons = [f"output {name}: {error}" for name in self._model.outputs]
            return self._written([_said_equal(*said) for said in zip(reasons, pairs, strict=True)])
        return self._written([self._knowledge.steps[k] for k in sorted(needed.steps)])

    def _written(self, steps: list[TakenStep]) -> Certificate:
        done = self._done
        writer = Writer(self._knowledge, self._model, self._result)
        written = tuple(writer.step(step) for step in steps)
        return Certificate(
            version=version_of_project(),
            model=self._digests[0],
            result=self._digests[1],
            reading=reading_as_json(done.assume, done.shapes, done.fold_bytes, done.fold_quantized),
            limits=dict(done.limits),
            laws=law_digests(steps, self._rules),
            terms=tuple(writer.terms),
            steps=written,
            bound=None if done.selected is None else stated_bound(done.selected, self._result.running),
        )

    # --- one saturation -------------------------------------------------------------------------------------

    def _finish(self, replay: Replay, recorded: Recorded, read: ReadModel) -> ReadModel:
        """The last saturation: its result is the one that the certificate is of."""
        pairs = [
            (read.terms[name], self._result.terms[other])
            for name, other in zip(read.outputs, self._result.outputs, strict=True)
        ]

        def is_done() -> bool:
            return all(self._knowledge.same(a, b) for a, b in pairs)

        replay.run(is_done)
        for _ in range(3):
            if is_done():
                return self._result
            self._fold(replay, recorded)
            self._expand()
            replay.run(is_done)
        self._close(replay, recorded, self._result)
        return self._result

    def _go_through(self, replay: Replay, recorded: Recorded) -> ReadModel:
        """A saturation that another one follows: what was written of it, as terms that there are."""
        replay.run(lambda: False)
        self._expand()
        replay.run(lambda: False)
        how = replace(self._how, believed=False, given=self._folded(replay, recorded))
        self._knowledge.step = BETWEEN
        found = read_terms(recorded.model, self._knowledge, self._numbers, how)
        self._knowledge.step = READ
        self._close(replay, recorded, found)
        return found

    def _folded(self, replay: Replay, recorded: Recorded) -> dict[str, int]:
        """The constants that a model between brings, each computed; by name."""
        found: dict[str, int] = {}
        for name, value in recorded.model.model.graph.initializers.items():
            owner, tensor = recorded.owners.get(name), value.const_value
            if name in self._model.constants:
                found[name] = self._model.constants[name]
                continue
            if owner is None or tensor is None:
                continue
            term = self._constant_in(replay, owner)
            if term is None or not self._is_given_by(term, tensor):
                continue
            number = self._begin("fold", "", {"term": term}, self._rests_on(term))
            self._knowledge.unite(term, folded_leaf(self._knowledge, self._numbers, term), number)
            self._numbers.forget()
            self._end()
            found[name] = term
        return found

    def _place(self, replay: Replay, recorded: Recorded, read: ReadModel) -> None:
        """Say which classes the terms of the model are in."""
        for index, values in enumerate(recorded.lowered.names):
            term = next((read.terms[v.name] for v in values if v.name and v.name in read.terms), None)
            if term is not None and index in recorded.record.nodes:
                replay.places.give(term, recorded.record.nodes[index])
        for index, (node, _) in recorded.lowered.nodes.items():
            name = next((v.name for v in node.outputs if v.name), None)
            if name in read.bundles and index in recorded.record.nodes:
                replay.places.give(read.bundles[name], recorded.record.nodes[index])

    def _fold(self, replay: Replay, recorded: Recorded) -> None:
        """Constants of the result are what the terms of their classes give."""
        for name, leaf in self._result.constants.items():
            owner = recorded.owners.get(name)
            members = replay.places.members.get(owner, ()) if owner is not None else ()
            if owner is None or any(self._knowledge.same(member, leaf) for member in members):
                continue
            term = self._constant_in(replay, owner)
            if term is not None and self._is_given_by(term, self._numbers.tensors[leaf]):
                self._numbers.folded(leaf, term)
                self._unite("fold", name, {"term": term}, (term, leaf), self._rests_on(term))

    def _is_given_by(self, term: int, tensor: ir.TensorProtocol) -> bool:
        """Whether the elements of a tensor are those of a constant term."""
        try:
            return not self._numbers.differ(term, tensor)
        except CertificateError:
            return False
        finally:
            self._numbers.forget()

    def _constant_in(self, replay: Replay, owner: int) -> int | None:
        """A term of a class that a constant can be computed by."""
        for member in replay.places.members.get(owner, ()):
            operator = declared_operators.get(self._knowledge.functions[member])
            known = self._knowledge.of(member)
            if operator is not None and operator.form is not None and known is not None and known.fact.const:
                return member
        return next((k for k in replay.places.members.get(owner, ()) if k in self._numbers.tensors), None)

    def _rests_on(self, term: int) -> Premises:
        """What computing a constant asks: the facts of all terms that it is computed from."""
        found, seen, pending = Premises(), {term}, [term]
        while pending:
            current = pending.pop()
            known = self._knowledge.of(current)
            if known is not None:
                found.known.append((current, known))
            found.terms.append(current)
            for operand, given in self._numbers.sources(current, found.equal):
                found.equal.append((operand, given))
                if (fact := self._knowledge.of(operand)) is not None:
                    found.known.append((operand, fact))
                if given not in seen and (fact is None or fact.fact != ABSENT):
                    seen.add(given)
                    pending.append(given)
        return found

    def _expand(self) -> None:
        """Pseudo-operators are what they stand for."""
        first, self._expanded = self._expanded, len(self._knowledge)
        for term in range(first, self._expanded):
            declared = declared_operators.get(self._knowledge.functions[term])
            if (
                declared is None
                or declared.expand is None
                or declared.expand(self._knowledge.attributes(term)) is None
            ):
                continue
            with suppress(CertificateError):  # a list whose end is not known
                premises = Premises(terms=[term])
                for operand in self._knowledge.each_operand(term, premises.equal):
                    known = self._knowledge.of(operand)
                    premises.known += [(operand, known)] if known is not None else []
                number = self._begin("expand", declared.name, {"term": term}, premises)
                self._knowledge.unite(term, expanded(self._knowledge, term), number)
            self._end()

    def _close(self, replay: Replay, recorded: Recorded, following: ReadModel) -> None:
        """What was written is what was chosen: trusted where nothing shows it, operands first."""
        for name, term in following.terms.items():
            owner = recorded.owners.get(name)
            members = replay.places.members.get(owner, ()) if owner is not None else ()
            if members and not any(self._knowledge.same(member, term) for member in members):
                self._trust(f"tensor {name}", members[0], term)

    def _trust(self, reason: str, a: int, b: int) -> None:
        """Say that two terms are equal; the second is there with this step where nothing else makes it."""
        number = self._begin("trusted", reason, {"a": a, "b": b}, Premises())
        pending = [b]
        while pending:
            term = pending.pop()
            if self._knowledge.made_in[term] == BETWEEN and made_by_steps(self._knowledge, term) is None:
                self._knowledge.made_in[term] = number
                pending += self._knowledge.operands[term]
        self._knowledge.unite(a, b, number)
        self._end()

    def _unite(
        self, kind: str, name: str, values: dict[str, Any], pair: tuple[int, int], premises: Premises
    ) -> None:
        self._knowledge.unite(*pair, self._begin(kind, name, values, premises))
        self._end()

    def _begin(self, kind: str, name: str, values: dict[str, Any], premises: Premises) -> int:
        self._knowledge.step = self._knowledge.take(
            TakenStep(kind, name, values, frozenset(values), premises)
        )
        return self._knowledge.step

    def _end(self) -> None:
        self._knowledge.settle()
        self._knowledge.step = READ
