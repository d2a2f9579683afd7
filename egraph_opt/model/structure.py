"""What has to hold of a model before anything is done with it: names, scopes, order, opsets.

These are the checks whose failure makes a model meaningless.  onnx's checker asks for more than onnxruntime
does (shapes of outputs, unique names of initializers, ...), so what only it complains about is no error here.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import onnx
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

from egraph_opt.errors import InvalidModelError
from egraph_opt.model.encoding import bodies_of, graphs_of

OLDEST_OPSET = 7
"""Operators of older opsets broadcast by attributes; nothing is known of them here."""


@dataclass
class Structure:
    """What the structural checks found out.

    Attributes:
        sorted: every node comes after the nodes whose outputs it, or a body of it, uses.
        warnings: oddities that do no harm.
    """

    sorted: bool = True
    warnings: list[str] = field(default_factory=list)


def describe(node: NodeProto) -> str:
    """How messages name a node: its operator, its name, and its first output where it has no name."""
    operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    if node.name:
        return f"node {node.name!r} ({operator})"
    output = next((name for name in node.output if name), None)
    return f"the {operator} node that makes {output!r}" if output else f"an unnamed {operator} node"


def default_opset(model: ModelProto) -> int | None:
    """The version of ONNX's own operators that a model imports."""
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx"):
            return int(entry.version)
    return None


def opsets_of(owner: ModelProto | FunctionProto) -> dict[str, int]:
    """The versions that a model or function imports, by domain; ONNX's own is ""."""
    return {"" if e.domain == "ai.onnx" else e.domain: e.version for e in owner.opset_import}


def check_structure(model: ModelProto, source: str) -> Structure:
    """Check a whole model.

    Args:
        model: is only read.
        source: how messages name the model.

    Raises:
        InvalidModelError: no graph, nothing in it, a name defined twice or nowhere, a cycle, an opset that
        the
            installed onnx does not know.
    """
    found = Structure()
    _check_versions(model, source)
    graph = model.graph
    if not graph.node and not graph.output:
        raise InvalidModelError(f"{source}: the graph is empty: it has neither nodes nor outputs")
    if not graph.output:
        raise InvalidModelError(f"{source}: the graph has no outputs, so no node of it is of any use")
    _Scopes(source, found).check(graph, "the graph")
    for function in model.functions:
        where = f"function {function.domain}.{function.name}"
        _Scopes(source, found).check(_as_graph(function), where)
    repeated = [name for name, n in Counter(node.name for node in graph.node if node.name).items() if n > 1]
    if repeated:
        found.warnings.append(
            f"{len(repeated)} node names are used more than once, the first is {repeated[0]!r}"
        )
    return found


def _check_versions(model: ModelProto, source: str) -> None:
    if model.ir_version > onnx.IR_VERSION:
        raise InvalidModelError(
            f"{source}: IR version {model.ir_version} is newer than the installed onnx {onnx.__version__}"
            f" knows ({onnx.IR_VERSION}): upgrade onnx"
        )
    if not model.opset_import:
        raise InvalidModelError(
            f"{source}: the model does not say which opset it uses (is the file truncated?)"
        )
    newest = onnx.defs.onnx_opset_version()
    for owner in (model, *model.functions):
        for entry in owner.opset_import:
            if entry.domain in ("", "ai.onnx") and not 1 <= entry.version <= newest:
                raise InvalidModelError(
                    f"{source}: opset {entry.version} is unknown: the installed onnx {onnx.__version__}"
                    f" knows 1 to {newest}; upgrade onnx or convert the model"
                )
    if default_opset(model) is None:
        for graph in graphs_of(model.graph):
            for node in graph.node:
                if node.domain in ("", "ai.onnx"):
                    raise InvalidModelError(f"{source}: {describe(node)} needs an import of ONNX's own opset")


def _as_graph(function: FunctionProto) -> GraphProto:
    graph = GraphProto(name=function.name, node=function.node)
    graph.input.extend(onnx.ValueInfoProto(name=name) for name in function.input)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in function.output)
    return graph


class _Scopes:
    """Walks nested graphs; the depth of nesting is bounded by protobuf itself, at less than 100."""

    def __init__(self, source: str, found: Structure) -> None:
        self.source = source
        self.found = found

    def fail(self, problem: str) -> InvalidModelError:
        return InvalidModelError(f"{self.source}: {problem}")

    def check(self, graph: GraphProto, where: str, outer: Mapping[str, int] | None = None) -> set[str]:
        """Check one graph and its bodies; the names that it takes from `outer`."""
        defined = self._definitions(graph, where)
        scope = ChainMap(defined, *(outer.maps if isinstance(outer, ChainMap) else ()))
        captured: set[str] = set()
        needs: list[set[int]] = []
        for index, node in enumerate(graph.node):
            used = {name for name in node.input if name}
            for body in bodies_of(node):
                used |= self.check(body, f"a body of {describe(node)}", scope)
            needs.append(self._resolve(used, defined, scope, captured, describe(node)))
            if any(producer >= index for producer in needs[-1]):
                self.found.sorted = False
        for info in graph.output:
            if info.name not in defined:
                outside = (
                    "comes from outside: put an Identity between"
                    if info.name in scope
                    else "nothing defines it"
                )
                raise self.fail(f"{where} has an output {info.name!r}, but {outside}")
        if not self.found.sorted:
            self._check_acyclic(graph, needs)
        return captured

    def _definitions(self, graph: GraphProto, where: str) -> dict[str, int]:
        """Name -> index of the node that defines it, -1 for inputs and initializers."""
        defined: dict[str, int] = {}
        for info in graph.input:
            if info.name in defined:
                raise self.fail(f"{where} has two inputs of the name {info.name!r}")
            defined[info.name] = -1
        initialized: set[str] = set()
        for name in (
            *(t.name for t in graph.initializer),
            *(t.values.name for t in graph.sparse_initializer),
        ):
            if not name:
                raise self.fail(f"{where} has an initializer without a name")
            if name in initialized:
                self.found.warnings.append(f"initializer {name!r} is there twice; the last one counts")
            initialized.add(name)
            defined[name] = -1
        for index, node in enumerate(graph.node):
            for name in node.output:
                if not name:
                    continue
                if name in defined:
                    first = defined[name]
                    before = describe(graph.node[first]) if first >= 0 else "an input or initializer"
                    raise self.fail(
                        f"the name {name!r} is defined twice: by {before} and by {describe(node)}"
                    )
                defined[name] = index
        return defined

    def _resolve(
        self,
        used: Iterable[str],
        defined: Mapping[str, int],
        scope: Mapping[str, int],
        captured: set[str],
        user: str,
    ) -> set[int]:
        """The nodes of this graph that make `used`; what comes from outside is added to `captured`."""
        producers: set[int] = set()
        for name in sorted(used):
            if name in defined:
                if defined[name] >= 0:
                    producers.add(defined[name])
            elif name in scope:
                captured.add(name)
            else:
                raise self.fail(f"{user} uses {name!r}, which nothing defines")
        return producers

    def _check_acyclic(self, graph: GraphProto, needs: list[set[int]]) -> None:
        users: list[list[int]] = [[] for _ in needs]
        for index, producers in enumerate(needs):
            for producer in producers:
                users[producer].append(index)
        waits = [len(producers) for producers in needs]
        ready = [index for index, count in enumerate(waits) if count == 0]
        done = 0
        while ready:
            done += 1
            for user in users[ready.pop()]:
                waits[user] -= 1
                if waits[user] == 0:
                    ready.append(user)
        if done == len(needs):
            return
        raise self.fail(f"the graph has a cycle: {self._cycle(graph, needs, waits)}")

    @staticmethod
    def _cycle(graph: GraphProto, needs: list[set[int]], waits: list[int]) -> str:
        """Walk producers that never became ready until one comes again."""
        current = next(index for index, count in enumerate(waits) if count)
        seen: dict[int, int] = {}
        path: list[int] = []
        while current not in seen:
            seen[current] = len(path)
            path.append(current)
            current = min(producer for producer in needs[current] if waits[producer])
        loop = path[seen[current] :][::-1]
        start = loop.index(min(loop))
        loop = loop[start:] + loop[:start]
        names = [describe(graph.node[index]) for index in loop[:4]]
        return " -> ".join([*names, *(["..."] if len(loop) > 4 else []), names[0]])
