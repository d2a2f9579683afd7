"""The commands that put a graph into an e-graph, one for each term: text would have to be parsed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from egraph_opt.egraph.lowering import Lowered, Term
from egraph_opt.imports import bindings
from egraph_opt.operators.declaration import operator_named

SPAN = bindings.RustSpan("egraph-opt", 0, 0)
"""Where commands come from."""

_NODE = {"tensor": "node", "bundle": "bundle_node"}


def commands_of(lowered: Lowered, limits: Mapping[str, int], handle: Callable[[object], str]) -> list[Any]:
    """The commands that load a graph.

    Args:
        limits: what the target publishes, by name.
        handle: of a Python object, by which the engine knows it.
    """
    return _Loading(lowered, handle).commands(limits)


def _integer(value: int) -> Any:
    return bindings.Lit(SPAN, bindings.Int(value))


def _string(value: str) -> Any:
    return bindings.Lit(SPAN, bindings.String(value))


def _apply(function: str, *arguments: Any) -> Any:
    return bindings.Call(SPAN, function, list(arguments))


def _set(function: str, key: list[Any], value: Any) -> Any:
    return bindings.ActionCommand(bindings.Set(SPAN, function, key, value))


class _Loading:
    """The commands of one graph; a list of operands is made once, however many terms have it."""

    def __init__(self, lowered: Lowered, handle: Callable[[object], str]) -> None:
        self._lowered, self._handle = lowered, handle
        self._lists: dict[tuple[int, ...], int] = {}
        self._commands: list[Any] = []

    def commands(self, limits: Mapping[str, int]) -> list[Any]:
        lowered, commands = self._lowered, self._commands
        commands.append(_set("opset", [], _integer(lowered.opset)))
        commands += [_set("limit", [_string(name)], _integer(limits[name])) for name in sorted(limits)]
        for index, term in enumerate(lowered.terms):
            self._load_term(index, term)
            known = lowered.facts[index]
            if known is not None:
                commands.append(_set("fact", [_apply("node", _integer(index))], self._object(known)))
        return commands

    def _object(self, value: object) -> Any:
        return _apply("py-object", _string(self._handle(value)))

    def _load_term(self, index: int, term: Term) -> None:
        declared = operator_named(term.operator)
        operands, attributes = iter(term.operands), iter(term.attributes)
        arguments = []
        for kind in declared.kinds:
            if kind == "object":
                arguments.append(self._object(next(attributes)))
            elif kind == "string":
                arguments.append(_string(next(attributes)))
            elif kind == "int":
                arguments.append(_integer(next(attributes)))
            elif kind == "tensors":
                arguments.append(self._load_list(next(operands)))
            else:
                arguments.append(_apply(_NODE[kind], _integer(next(operands))))
        made = _apply(term.operator, *arguments)
        self._commands.append(_set(_NODE[declared.result], [_integer(index)], made))

    def _load_list(self, items: tuple[int, ...]) -> Any:
        """A list, built from its end so that no expression nests deeply."""
        lists = self._lists
        for start in range(len(items), -1, -1):
            tail = items[start:]
            if tail in lists:
                continue
            if tail:
                rest = _apply("list_node", _integer(lists[tail[1:]]))
                value = _apply("cons", _apply("node", _integer(tail[0])), rest)
            else:
                value = _apply("nil")
            lists[tail] = len(lists)
            self._commands.append(_set("list_node", [_integer(lists[tail])], value))
        return _apply("list_node", _integer(lists[items]))
