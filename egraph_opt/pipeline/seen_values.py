"""The values that an engine holds, in words: names of tensors, types, attributes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import onnx_ir as ir

from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.facts.fact import Fact
from egraph_opt.foreign_text import printable
from egraph_opt.forking import cached_property
from egraph_opt.operators.declaration import Literal, operators
from egraph_opt.operators.expressions import Constant, Expression

LONGEST = 8
"""Elements of a tuple that are shown."""


class SeenValues:
    """Puts values of an engine that holds a graph into words."""

    def __init__(self, engine: Engine, lowered: Lowered) -> None:
        self._engine, self._lowered = engine, lowered
        tables = engine.tables("node", "bundle_node", "fact", *operators())
        self._terms: defaultdict[Any, list[int]] = defaultdict(list)
        for table in ("node", "bundle_node"):
            for row in tables.get(table, ()):
                self._terms[row.output].append(engine.decode("int", row.inputs[0]))
        self._facts = {row.inputs[0]: row.output for row in tables.get("fact", ())}
        self._computed: defaultdict[Any, dict[str, None]] = defaultdict(dict)
        for name, declared in operators().items():
            for row in tables.get(name, ()):
                said = name
                if declared.op_types and declared.kinds[0] == "string":
                    said = engine.decode("string", row.inputs[0])
                self._computed[row.output][said] = None

    @cached_property
    def named(self) -> dict[str, Any]:
        """By name of a tensor or a node of the graph the value of its class."""
        classes = {term: value for value, terms in self._terms.items() for term in terms}
        found = {node.name: classes[term] for term, (node, _) in self._lowered.nodes.items() if node.name}
        for value, term in self._lowered.term_of.items():
            if value.name:
                found[value.name] = classes[term]
        return found

    def tensor(self, value: Any) -> str:
        """The name of a tensor."""
        for term in sorted(self._terms.get(value, ())):
            for original in self._lowered.names[term]:
                if original.name:
                    return printable(original.name)
            if term in self._lowered.nodes:
                return printable(self._lowered.nodes[term][0].name or self._lowered.nodes[term][0].op_type)
        made = ", ".join(self._computed.get(value, ()))
        return f"a tensor that laws made ({made})" if made else "a tensor that laws made"

    def is_named(self, value: Any) -> bool:
        return value in self._terms

    def operators_of(self, value: Any) -> str:
        """What computes a tensor: ONNX's operators in the model, or those of laws."""
        nodes = [
            self._lowered.nodes[term][0].op_type
            for term in self._terms.get(value, ())
            if term in self._lowered.nodes
        ]
        made = [name for name in self._computed.get(value, ()) if name not in ("output", "none")]
        if nodes:
            return nodes[0]
        return (
            {"leaf": "an input or a constant", "literal": "a constant"}.get(made[0], made[0])
            if made
            else "nothing"
        )

    def fact(self, value: Any) -> Fact | None:
        held = self._facts.get(value)
        return None if held is None else self._engine.decode("object", held)

    def words(self, expression: Expression, row: dict[str, Any]) -> str:
        """A variable or a constant of a rule in a row of a question."""
        if isinstance(expression.head, Constant):
            return value_text(expression.head.value)
        if str(expression.head) not in row:
            return "any"
        value, kind = row[str(expression.head)], expression.sort.kind
        if kind in ("object", "string", "int"):
            return value_text(self._engine.decode(kind, value))
        if kind != "tensor":
            return "a list" if kind == "tensors" else "several outputs"
        known = self.fact(value)
        return self.tensor(value) if known is None else f"{self.tensor(value)} {fact_text(known)}"

    def value(self, expression: Expression, row: dict[str, Any]) -> Any:
        """The Python value of an attribute or an answer."""
        if isinstance(expression.head, Constant):
            return expression.head.value
        return self._engine.decode(expression.sort.kind, row[str(expression.head)])


def fact_text(known: Fact) -> str:
    """``float32[1, 3, 8]``, with what is known of its elements."""
    if known.dtype <= 0:
        return "of unknown type"
    name = "float32" if known.dtype == 1 else ir.DataType(known.dtype).name.lower()
    dims = (
        "[?]"
        if known.shape is None
        else f"[{', '.join(str(d) if d is not None else '?' for d in known.shape)}]"
    )
    note = " constant" if known.const else ""
    items = known.data if known.data is not None else known.value
    if known.splat is not None:
        note += f" of {known.splat}"
    elif items is not None and len(items) <= LONGEST:
        note += f" {list(items)}"
    return f"{name}{dims}{note}"


def value_text(value: Any) -> str:
    """An attribute: of a window all that it has."""
    if isinstance(value, Fact):
        return fact_text(value)
    if isinstance(value, Literal):
        return f"{value_text(value.values)} of shape {value_text(value.dims)}"
    if is_dataclass(value) and not isinstance(value, type):
        shown = [
            f"{entry.name} = {value_text(getattr(value, entry.name))}"
            for entry in fields(value)
            if entry.default is MISSING or getattr(value, entry.name) != entry.default
        ]
        return f"({', '.join(shown)})"
    if isinstance(value, tuple):
        shown = [value_text(item) for item in value[:LONGEST]]
        return f"[{', '.join(shown)}{', ..' if len(value) > LONGEST else ''}]"
    return printable(str(value))
