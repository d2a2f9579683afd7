"""A saturated e-graph as plain arrays: all that pricing, extraction and rebuilding need of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from egraph_opt.egraph.engine import Engine, Row
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.facts.fact import CLASH, UNKNOWN, Fact
from egraph_opt.operators.declaration import Operator, operator_named, operators

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Snapshot:
    """E-nodes and e-classes, numbered.

    Attributes:
        operator: per e-node its operator's name.
        attributes: per e-node its attributes, in the operator's order.
        node_class: per e-node its class.
        child_ptr, child: the classes of node k's operands are ``child[child_ptr[k]:child_ptr[k + 1]]``; lists
            are spliced in.
        made_by: per e-node 0 if it is of the original graph, else 1 + the index in `laws`.
        facts: per class; UNKNOWN for bundles.
        laws: the keys of the laws it was saturated under.
        term_node: per term of the lowered graph its e-node.
    """

    operator: tuple[str, ...]
    attributes: tuple[tuple[Any, ...], ...]
    node_class: Ints
    child_ptr: Ints
    child: Ints
    made_by: Ints
    facts: tuple[Fact, ...]
    laws: tuple[str, ...]
    term_node: Ints

    @property
    def n_nodes(self) -> int:
        return len(self.operator)

    @property
    def n_classes(self) -> int:
        return len(self.facts)

    def children(self, node: int) -> list[int]:
        return self.child[self.child_ptr[node] : self.child_ptr[node + 1]].tolist()  # type: ignore[no-any-return]

    @cached_property
    def term_classes(self) -> Ints:
        """Per term of the lowered graph its class."""
        return self.node_class[self.term_node]

    @cached_property
    def _index(self) -> dict[tuple[str, str, tuple[int, ...]], int]:
        return {
            (name, repr(self.attributes[k]), tuple(self.children(k))): k
            for k, name in enumerate(self.operator)
        }

    def find(self, operator: str, attributes: tuple[Any, ...], operands: tuple[int, ...]) -> int:
        """The e-node of an operator on the classes given, or -1."""
        return self._index.get((operator, repr(attributes), operands), -1)

    def clashes(self) -> list[int]:
        """Classes whose nodes contradict each other in type: an unsound law fired."""
        return [c for c, known in enumerate(self.facts) if known.dtype == CLASH.dtype]


class _Reader:
    """Numbers classes and reads the rows of an engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.tables = engine.tables()
        self.lists = self._read_lists()
        self.classes: dict[tuple[str, Any], int] = {}
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

    def class_of(self, sort: str, value: Any) -> int:
        return self.classes.setdefault((sort, value), len(self.classes))

    def decode(self, kind: str, value: Any) -> Any:
        if (kind, value) not in self._decoded:
            self._decoded[kind, value] = self.engine.decode(kind, value)
        return self._decoded[kind, value]

    def attributes(self, declared: Operator, row: Row) -> tuple[Any, ...]:
        return tuple(self.decode(declared.kinds[k], row.inputs[k]) for k in declared.attribute_positions)

    def operands(self, declared: Operator, row: Row) -> list[int] | None:
        """The classes of the operands; None where a list is not computed to its end."""
        found: list[int] = []
        for k in declared.operand_positions:
            value = row.inputs[k]
            if declared.kinds[k] != "tensors":
                found.append(self.class_of(declared.kinds[k], value))
            elif value in self.lists:
                found.extend(self.class_of("tensor", item) for item in self.lists[value])
            else:
                return None
        return found


def take_snapshot(engine: Engine, lowered: Lowered) -> Snapshot:
    """Read everything out of an engine that holds `lowered`, saturated as far as it is."""
    reader = _Reader(engine)
    for sort, table in (("tensor", "node"), ("bundle", "bundle_node")):
        for row in sorted(reader.rows(table), key=lambda r: engine.decode("int", r.inputs[0])):
            reader.class_of(sort, row.output)
    names: list[str] = []
    attributes: list[tuple[Any, ...]] = []
    node_class: list[int] = []
    children: list[list[int]] = []
    made_by: list[int] = []
    for declared in operators().values():
        stamps = {row.inputs: row.output for row in reader.rows(f"made_by_{declared.name}")}
        for row in reader.rows(declared.name):
            operands = reader.operands(declared, row)
            if operands is None:
                continue
            names.append(declared.name)
            attributes.append(reader.attributes(declared, row))
            node_class.append(reader.class_of(declared.result, row.output))
            children.append(operands)
            stamp = stamps.get(row.inputs)
            made_by.append(0 if stamp is None else engine.decode("int", stamp))
    facts = [UNKNOWN] * len(reader.classes)
    for row in reader.rows("fact"):
        found = reader.classes.get(("tensor", row.inputs[0]))
        if found is not None:
            facts[found] = reader.decode("object", row.output)
    counts = [len(c) for c in children]
    stamps_array = np.array(made_by, dtype=np.int32)
    term_node = _term_nodes(reader, lowered, names, attributes, children, made_by=stamps_array)
    return Snapshot(
        operator=tuple(names),
        attributes=tuple(attributes),
        node_class=np.array(node_class, dtype=np.int32),
        child_ptr=np.concatenate(([0], np.cumsum(counts))).astype(np.int32),
        child=np.array([c for row in children for c in row], dtype=np.int32),
        made_by=stamps_array,
        facts=tuple(facts),
        laws=tuple(entry.key for entry in engine.laws),
        term_node=term_node,
    )


def _term_nodes(
    reader: _Reader,
    lowered: Lowered,
    names: Sequence[str],
    attributes: Sequence[tuple[Any, ...]],
    children: Sequence[Sequence[int]],
    *,
    made_by: Ints,
) -> Ints:
    """Per original term its e-node; also marks those e-nodes as original ones.

    Attributes go by how they are written, as in egglog: 0.0 and -0.0 are two, and NaN is one.
    """
    where: dict[Any, int] = {}
    for k in range(len(names)):
        where.setdefault((names[k], repr(attributes[k]), tuple(children[k])), k)
    of_term: dict[int, int] = {}
    for sort, table in (("tensor", "node"), ("bundle", "bundle_node")):
        for row in reader.rows(table):
            of_term[reader.engine.decode("int", row.inputs[0])] = reader.class_of(sort, row.output)
    answer = np.empty(len(lowered.terms), dtype=np.int32)
    for index, term in enumerate(lowered.terms):
        flat: list[int] = []
        for item in term.operands:
            flat.extend(of_term[k] for k in item) if isinstance(item, tuple) else flat.append(of_term[item])
        answer[index] = where[term.operator, repr(term.attributes), tuple(flat)]
    made_by[answer] = 0
    return answer


__all__ = ["Snapshot", "operator_named", "take_snapshot"]
