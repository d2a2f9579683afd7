"""Functions of a model: which calls which, and how much that is when all calls are written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

from egraph_opt.errors import InvalidModelError
from egraph_opt.model.encoding import bodies_of, graphs_of

Name = tuple[str, str, str]

MOST_NODES = 2_000_000
"""Of a model with all calls written out, as runtimes write them."""

DEEPEST = 100
"""Calls within each other; ONNX's own inference follows no more."""


class Calls(NamedTuple):
    """What the calls of functions in a model come to.

    Attributes:
        nodes: of the functions, once per call.
        problem: why nothing can be done with the model but hand it on, or None.
    """

    nodes: int
    problem: str | None = None


def check_functions(model: ModelProto, source: str) -> Calls:
    """Check the functions of a model.

    Raises:
        InvalidModelError: two functions of a name, or one that calls itself, be it through others.
    """
    functions: dict[Name, FunctionProto] = {}
    for function in model.functions:
        name = name_of(function)
        if name in functions:
            raise InvalidModelError(f"{source}: there are two functions {_written(name)}")
        functions[name] = function
    calls = {name: called(function.node, functions) for name, function in functions.items()}
    sizes: dict[Name, int] = {}
    depths: dict[Name, int] = {}
    for name in _callees_first(calls, source):
        sizes[name] = len(functions[name].node) + sum(sizes[called] for called in calls[name])
        depths[name] = 1 + max((depths[called] for called in calls[name]), default=0)
    size = sum(sizes[name] for graph in graphs_of(model.graph) for name in _named(graph.node, functions))
    deepest = max(depths.values(), default=0)
    if deepest > DEEPEST:
        return Calls(size, f"its functions call each other {deepest} deep, and not {DEEPEST} at most")
    if size > MOST_NODES:
        told = f"its functions are {size:.3g} nodes when every call is written out"
        return Calls(size, f"{told}, and not {MOST_NODES} at most")
    return Calls(size)


def name_of(of: FunctionProto | NodeProto) -> Name:
    """What a function is called by: domain, name and overload."""
    return of.domain, of.op_type if isinstance(of, NodeProto) else of.name, of.overload


def _written(name: Name) -> str:
    return repr(":".join(part for part in name if part))


def called(nodes: Iterable[NodeProto], functions: Mapping[Name, FunctionProto]) -> list[Name]:
    """The functions that nodes and the bodies in them call, once per call."""
    found = list(_named(nodes, functions))
    for node in nodes:
        graphs: list[GraphProto] = [graph for body in bodies_of(node) for graph in graphs_of(body)]
        for graph in graphs:
            found.extend(_named(graph.node, functions))
    return found


def _named(nodes: Iterable[NodeProto], functions: Mapping[Name, FunctionProto]) -> Iterator[Name]:
    for node in nodes:
        name = name_of(node)
        if name in functions:
            yield name


def _callees_first(calls: Mapping[Name, list[Name]], source: str) -> Iterator[Name]:
    """All functions, each after those that it calls."""
    done: set[Name] = set()
    for root in calls:
        path: dict[Name, Iterator[Name]] = {}
        if root not in done:
            path[root] = iter(calls[root])
        while path:
            name = next(reversed(path))
            below = next((called for called in path[name] if called not in done), None)
            if below is None:
                path.popitem()
                done.add(name)
                yield name
            elif below in path:
                round_ = " -> ".join(_written(step) for step in [*path, below][:8])
                raise InvalidModelError(f"{source}: functions must not call themselves: {round_}")
            else:
                path[below] = iter(calls[below])
