"""Reading a saturated e-graph out of egglog, as a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from egraph_opt.egraph.engine import Engine, Row
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Ints, Snapshot
from egraph_opt.facts.fact import UNKNOWN
from egraph_opt.operators.declaration import Operator, operators

_READ = ("node", "bundle_node", "nil", "cons", "fact")
"""The tables that are read besides those of operators."""


class _Reader:
    """Numbers classes and reads the rows of an engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.tables = engine.tables(*_READ, *(name for op in operators() for name in (op, f"made_by_{op}")))
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


def take_snapshot(
    engine: Engine, lowered: Lowered, classes: dict[tuple[str, Any], int] | None = None
) -> Snapshot:
    """Read everything out of an engine that holds `lowered`, saturated as far as it is.

    Args:
        classes: filled with the number of each class, by its sort and egglog's value.
    """
    reader = _Reader(engine)
    if classes is not None:
        reader.classes = classes
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
    kept = _written(node_class, children, len(reader.classes))
    if len(kept) < len(names):
        names, attributes = [names[k] for k in kept], [attributes[k] for k in kept]
        node_class, children = [node_class[k] for k in kept], [children[k] for k in kept]
        made_by = [made_by[k] for k in kept]
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


def _written(node_class: Sequence[int], children: Sequence[Sequence[int]], classes: int) -> list[int]:
    """The e-nodes whose operands have e-nodes.

    What laws compute part by part has none before its end, which a limit may keep it from.
    """
    left = np.bincount(node_class, minlength=classes).tolist() if node_class else [0] * classes
    pending = [c for c in range(classes) if not left[c]]
    if not pending:
        return list(range(len(node_class)))
    users: list[list[int]] = [[] for _ in range(classes)]
    for node, operands in enumerate(children):
        for operand in operands:
            users[operand].append(node)
    dropped: set[int] = set()
    while pending:
        for node in users[pending.pop()]:
            if node not in dropped:
                dropped.add(node)
                left[node_class[node]] -= 1
                if not left[node_class[node]]:
                    pending.append(node_class[node])
    return [node for node in range(len(node_class)) if node not in dropped]


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
