"""Sorts, functions and constants as egglog's text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from egraph_opt.egraph.objects import handle_in_rules
from egraph_opt.operators.expressions import Function, Sort
from egraph_opt.operators.host import host_function

EGGLOG_SORTS = {
    "tensor": "Tensor",
    "tensors": "Tensors",
    "bundle": "Bundle",
    "string": "String",
    "int": "i64",
    "object": "PyObject",
}


def quoted(text: str) -> str:
    """A string literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def object_text(value: object) -> str:
    """An object that a rule names, as egglog reads it."""
    return f"(py-object {quoted(handle_in_rules(value).text)})"


def host_text(function: Callable[..., Any]) -> str:
    """A reference to a host function."""
    return object_text(host_function(function))


NONE = object_text(None)


def constant_text(value: Any, sort: Sort) -> str:
    if sort.kind == "string":
        return quoted(value)
    return str(value) if sort.kind == "int" else object_text(value)


def declaration(function: Function) -> str:
    """The command that declares a function."""
    sorts = " ".join(EGGLOG_SORTS[sort.kind] for _, sort in function.parameters)
    if function.result.kind == "unit":
        return f"(relation {function.name} ({sorts}))"
    result = EGGLOG_SORTS[function.result.kind]
    if function.merge is None:
        return f"(constructor {function.name} ({sorts}) {result})"
    return f"(function {function.name} ({sorts}) {result} :merge {_merge(function)})"


def _merge(function: Function) -> str:
    if callable(function.merge):
        host_function(function.merge).merges = True
        return f"(py-call {host_text(function.merge)} old new)"
    return {"first": "old", "last": "new", "max": "(max old new)"}[str(function.merge)]
