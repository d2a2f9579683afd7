"""Reading a saturated e-graph out of egglog, as a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from egraph_opt.egraph.engine import Engine, Row
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Ints, Snapshot
from egraph_opt.facts.fact import UNKNOWN
from egraph_opt.operators.declaration import Operator, operators

_TERMS = (("tensor", "node"), ("bundle", "bundle_node"))
"""The tables of the classes of terms, by sort."""

_READ = (*(table for _, table in _TERMS), "nil", "cons", "fact")
"""The tables that are read besides those of operators."""

ClassKey = tuple[str, Any]
"""A class: its sort and egglog's value."""


@dataclass(frozen=True, eq=False)
class _Enode:
    """An e-node as it is read.

    Attributes:
        place: of its operator among all of them.
        written: its attributes as text.
        operands: lists are spliced in.
        made_by: see `Snapshot`.
    """

    place: int
    operator: str
    attributes: tuple[Any, ...]
    written: str
    operands: list[ClassKey]
    result: ClassKey
    made_by: int

    def order(self, numbers: Mapping[ClassKey, int]) -> tuple[int, list[int], str]:
        return self.place, [numbers[key] for key in self.operands], self.written


class _Reader:
    """The rows of an engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.tables = engine.tables(*_READ, *(name for op in operators() for name in (op, f"made_by_{op}")))
        self.lists = self._read_lists()
        self._decoded: dict[tuple[str, Any], Any] = {}

    def rows(self, table: str) -> list[Row]:
        return self.tables.get(table, [])

    def _read_lists(self) -> dict[Any, tuple[Any, ...]]:
        """The elements of every list class, built from the ends so that no list is walked twice."""
        elements: dict[Any, tuple[Any, ...]] = {row.output: () for row in self.rows("nil")}
        users: dict[Any, list[Row]] = {}
        for row in self.rows("cons"):
            users.setdefault(row.inputs[1], []).append(row)
        pending = list(elements)
        while pending:
            rest = pending.pop()
            for row in users.get(rest, ()):
                if row.output not in elements:
                    elements[row.output] = (row.inputs[0], *elements[rest])
                    pending.append(row.output)
        return elements

    def decode(self, kind: str, value: Any) -> Any:
        if (kind, value) not in self._decoded:
            self._decoded[kind, value] = self.engine.decode(kind, value)
        return self._decoded[kind, value]

    def attributes(self, declared: Operator, row: Row) -> tuple[Any, ...]:
        return tuple(self.decode(declared.kinds[k], row.inputs[k]) for k in declared.attribute_positions)

    def operands(self, declared: Operator, row: Row) -> list[ClassKey] | None:
        """The classes of the operands; None where a list is not computed to its end."""
        found: list[ClassKey] = []
        for k in declared.operand_positions:
            value = row.inputs[k]
            if declared.kinds[k] != "tensors":
                found.append((declared.kinds[k], value))
            elif value in self.lists:
                found.extend(("tensor", item) for item in self.lists[value])
            else:
                return None
        return found

    def classes_of_terms(self) -> list[ClassKey]:
        """The classes of the lowered graph's terms."""
        rows = ((sort, row) for sort, table in _TERMS for row in self.rows(table))
        found = {self.engine.decode("int", row.inputs[0]): (sort, row.output) for sort, row in rows}
        return [found[k] for k in sorted(found)]

    def enodes(self) -> Iterator[_Enode]:
        """All e-nodes, in the order in which egglog holds them, which is not always the same."""
        for place, declared in enumerate(operators().values()):
            stamps = {row.inputs: row.output for row in self.rows(f"made_by_{declared.name}")}
            for row in self.rows(declared.name):
                operands = self.operands(declared, row)
                if operands is not None:
                    stamp = stamps.get(row.inputs)
                    attributes = self.attributes(declared, row)
                    yield _Enode(
                        place,
                        declared.name,
                        attributes,
                        repr(attributes),
                        operands,
                        (declared.result, row.output),
                        0 if stamp is None else self.engine.decode("int", stamp),
                    )


def _numbered(enodes: Sequence[_Enode], known: Iterable[ClassKey]) -> dict[ClassKey, int]:
    """A number for each class, by what is in it: those given come first, then those of e-nodes whose operands
    have numbers, wave by wave.

    What laws compute part by part has no e-node before its end, which a limit may keep it from: it, and what
    is made of it, gets none.
    """
    numbers = {key: k for k, key in enumerate(dict.fromkeys(known))}
    users: dict[ClassKey, list[_Enode]] = {}
    ready: list[_Enode] = []
    waiting: dict[_Enode, int] = {}
    for enode in enodes:
        unknown = {key for key in enode.operands if key not in numbers}
        waiting[enode] = len(unknown)
        for key in unknown:
            users.setdefault(key, []).append(enode)
        if not unknown:
            ready.append(enode)
    while ready:
        new = [enode for enode in ready if enode.result not in numbers]
        ready = []
        for enode in sorted(new, key=lambda enode: enode.order(numbers)):
            if enode.result in numbers:
                continue
            numbers[enode.result] = len(numbers)
            for user in users.get(enode.result, ()):
                waiting[user] -= 1
                if not waiting[user]:
                    ready.append(user)
    return numbers


def take_snapshot(engine: Engine, lowered: Lowered, classes: dict[ClassKey, int] | None = None) -> Snapshot:
    """Read everything out of an engine that holds `lowered`, saturated as far as it is.

    Classes and e-nodes are in an order that follows from what they are: egglog's depends on what the engine
    held before.

    Args:
        classes: filled with the number of each class, by its sort and egglog's value.
    """
    reader = _Reader(engine)
    terms = reader.classes_of_terms()
    enodes = list(reader.enodes())
    numbers = _numbered(enodes, terms)
    if classes is not None:
        classes.update(numbers)
    enodes = [enode for enode in enodes if all(key in numbers for key in enode.operands)]
    enodes.sort(key=lambda enode: enode.order(numbers))
    children = [[numbers[key] for key in enode.operands] for enode in enodes]
    facts = [UNKNOWN] * len(numbers)
    for row in reader.rows("fact"):
        found = numbers.get(("tensor", row.inputs[0]))
        if found is not None:
            facts[found] = reader.decode("object", row.output)
    made_by = np.array([enode.made_by for enode in enodes], dtype=np.int32)
    of_term = [numbers[key] for key in terms]
    return Snapshot(
        operator=tuple(enode.operator for enode in enodes),
        attributes=tuple(enode.attributes for enode in enodes),
        node_class=np.array([numbers[enode.result] for enode in enodes], dtype=np.int32),
        child_ptr=np.concatenate(([0], np.cumsum([len(row) for row in children]))).astype(np.int32),
        child=np.array([c for row in children for c in row], dtype=np.int32),
        made_by=made_by,
        facts=tuple(facts),
        laws=tuple(entry.key for entry in engine.laws),
        term_node=_term_nodes(of_term, lowered, enodes, children, made_by),
    )


def _term_nodes(
    of_term: Sequence[int],
    lowered: Lowered,
    enodes: Sequence[_Enode],
    children: Sequence[Sequence[int]],
    made_by: Ints,
) -> Ints:
    """Per original term its e-node; also marks those e-nodes as original ones.

    Attributes go by how they are written, as in egglog: 0.0 and -0.0 are two, and NaN is one.
    """
    where: dict[Any, int] = {}
    for k, (enode, operands) in enumerate(zip(enodes, children, strict=True)):
        where.setdefault((enode.operator, enode.written, tuple(operands)), k)
    answer = np.empty(len(lowered.terms), dtype=np.int32)
    for index, term in enumerate(lowered.terms):
        flat: list[int] = []
        for item in term.operands:
            flat.extend(of_term[k] for k in item) if isinstance(item, tuple) else flat.append(of_term[item])
        answer[index] = where[term.operator, repr(term.attributes), tuple(flat)]
    made_by[answer] = 0
    return answer
