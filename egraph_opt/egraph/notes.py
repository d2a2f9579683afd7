"""The relations in which rules note what they have matched, as egglog's text; see `recording`."""

from __future__ import annotations

from egraph_opt.egraph.vocabulary import EGGLOG_SORTS
from egraph_opt.laws.bindings import Columns

RELATION = "matched."
"""What the name of a relation of matches begins with; the name of the rule follows."""


def relation_text(rule: str, columns: Columns) -> str:
    """The command that declares the relation of a rule's matches."""
    return f"(relation {RELATION}{rule} ({' '.join(EGGLOG_SORTS[kind] for _, kind in columns)}))"


def row_text(rule: str, columns: Columns) -> str:
    """The action that notes a match."""
    return f"({RELATION}{rule} {' '.join(f'_{name}' for name, _ in columns)})"
