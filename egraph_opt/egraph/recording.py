"""Which statements of laws have matched, with what their variables were bound to: kept only where asked for.

Every rule of a law, and every rule that fills tables, then writes a row into a relation of its own.  egglog
keeps the classes in it canonical through all unions, as it does with `made_by_..`: a row says what was
matched in the end, not in which order things became equal, which `certifying` finds out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.notes import RELATION
from egraph_opt.laws.bindings import Columns
from egraph_opt.operators.expressions import OPERANDS, Function, functions

Row = tuple[Any, ...]


@dataclass(frozen=True)
class RecordedTerm:
    """A term that there is: of an operator, a list, a shorthand or a table of classes.

    Attributes:
        arguments: classes by number, other values as they are.
        owner: its class.
    """

    function: str
    arguments: Row
    owner: int


@dataclass(frozen=True)
class Record:
    """What a saturation did.

    Attributes:
        columns: by rule the variables that a row is of.
        matches: by rule its rows: classes by number, other values as they are.
        terms: all that there are in the end.
        nodes: by the number of a term of the lowered graph its class, of tensors and of bundles.
    """

    columns: Mapping[str, Columns]
    matches: Mapping[str, tuple[Row, ...]]
    terms: tuple[RecordedTerm, ...]
    nodes: Mapping[int, int]

    @property
    def size(self) -> int:
        return sum(map(len, self.matches.values()))


def read_record(engine: Engine, classes: dict[tuple[str, Any], int]) -> Record:
    """Read what an engine that records has noted.

    Args:
        classes: the numbers of classes in the snapshot; it gets those of lists and of what has no operator.
    """
    rules = engine.program.rules
    columns = {rule: noted for rule in engine.rules if (noted := rules[rule].columns) is not None}
    wanted = {f"{RELATION}{rule}": rule for rule in columns}
    reader = _RowReader(engine, classes)
    terms = _constructors()
    tables = engine.tables("node", "bundle_node", *terms, *wanted)
    found = {
        wanted[name]: tuple(
            reader.row([kind for _, kind in columns[wanted[name]]], row.inputs) for row in rows
        )
        for name, rows in tables.items()
        if name in wanted and rows
    }
    written = tuple(
        RecordedTerm(
            name,
            reader.row([sort.kind for _, sort in function.parameters], row.inputs),
            reader.value(function.result.kind, row.output),
        )
        for name, function in terms.items()
        for row in tables.get(name, ())
    )
    nodes = {
        engine.decode("int", row.inputs[0]): reader.value(kind, row.output)
        for kind, table in (("tensor", "node"), ("bundle", "bundle_node"))
        for row in tables.get(table, ())
    }
    return Record({rule: columns[rule] for rule in found}, found, written, nodes)


class _RowReader:
    """Numbers classes and decodes values, each once."""

    def __init__(self, engine: Engine, classes: dict[tuple[str, Any], int]) -> None:
        self._engine, self._classes = engine, classes
        self._known: dict[tuple[str, Any], Any] = {}

    def row(self, kinds: Iterable[str], values: Iterable[Any]) -> Row:
        return tuple(map(self.value, kinds, values))

    def value(self, kind: str, value: Any) -> Any:
        key = (kind, value)
        if kind in OPERANDS:
            return self._classes.setdefault(key, len(self._classes))
        if key not in self._known:
            self._known[key] = self._engine.decode(kind, value)
        return self._known[key]


@lru_cache(maxsize=1)
def _constructors_of(declared: int) -> dict[str, Function]:
    """What makes terms, by name."""
    return {
        function.name: function
        for function in functions().values()
        if function.merge is None and function.result.kind in OPERANDS
    }


def _constructors() -> dict[str, Function]:
    return _constructors_of(len(functions()))
