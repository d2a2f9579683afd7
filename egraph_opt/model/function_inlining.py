"""Calls of a model's own functions, written out: laws look into them then, as runtimes do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnx import FunctionProto, ModelProto, NodeProto
from onnx.inliner import inline_local_functions

from egraph_opt.errors import InvalidModelError
from egraph_opt.model.encoding import bodies_of, graphs_of
from egraph_opt.model.functions import Name, called, name_of
from egraph_opt.model.structure import Structure, check_structure, opsets_of

MOST_NODES = 50_000
"""Of the functions with all calls written out; beyond, calls stay calls."""

MOST_BYTES = 2**31 - 1
"""Of a message that protobuf writes, as ONNX's inliner takes one."""

RUNTIME_DOMAINS = ("ai.onnx", "com.microsoft")
"""What such domains begin with: a function there is for runtimes that have no kernel of that name."""


def inlined(model: ModelProto, structure: Structure, nodes: int, source: str) -> tuple[ModelProto, Structure]:
    """A model with the calls of its functions written out, and its structure; as they were where that fails.

    Functions stay that are of another opset than the model's or of a runtime's domain, and those that hand on
    an operand, or one value twice, which ONNX's inliner gets wrong.

    Args:
        model: is only read.
        structure: what is known of it.
        nodes: of all functions, once per call.
        source: how messages name the model.
    """
    if not 0 < nodes <= MOST_NODES or not structure.sorted or model.ByteSize() > MOST_BYTES:
        return model, structure
    functions, opsets = {name_of(function): function for function in model.functions}, opsets_of(model)
    staying = [name for name, function in functions.items() if _stays(function, opsets)]
    copy = ModelProto()
    copy.CopyFrom(model)
    _give_defaults(copy, functions)
    _keep(copy, functions.keys() - set(staying))
    try:
        found = inline_local_functions(copy)
        del found.functions[:]
        found.functions.extend(functions[name] for name in _reached(staying, functions))
        return found, check_structure(found, source)
    except (InvalidModelError, RuntimeError, ValueError):  # of the inliner, which is written in C++
        return model, structure


def _stays(function: FunctionProto, opsets: Mapping[str, int]) -> bool:
    own, values = opsets_of(function), [*function.input, *function.output]
    is_of_runtimes = any(f"{function.domain}.".startswith(f"{known}.") for known in RUNTIME_DOMAINS)
    return (
        not function.domain
        or is_of_runtimes
        or bool(function.overload)
        or any(opsets.get(domain, version) != version for domain, version in own.items())
        or len(set(values)) < len(values)
    )


def _give_defaults(model: ModelProto, functions: Mapping[Name, FunctionProto]) -> None:
    """Write the defaults of a function's attributes into its calls: ONNX's inliner forgets them."""
    for node in _nodes(model):
        function = functions.get(name_of(node))
        if function is not None:
            given = {attribute.name for attribute in node.attribute}
            node.attribute.extend(a for a in function.attribute_proto if a.name not in given)


def _nodes(model: ModelProto) -> Iterator[NodeProto]:
    for graph in graphs_of(model.graph):
        yield from graph.node
    for function in model.functions:
        for node in function.node:
            yield node
            for body in bodies_of(node):
                for graph in graphs_of(body):
                    yield from graph.node


def _keep(model: ModelProto, names: set[Name]) -> None:
    kept = [function for function in model.functions if name_of(function) in names]
    del model.functions[:]
    model.functions.extend(kept)


def _reached(names: list[Name], functions: Mapping[Name, FunctionProto]) -> list[Name]:
    """These functions and those that they call, in the order of the model."""
    reached, pending = set(names), list(names)
    while pending:
        below = set(called(functions[pending.pop()].node, functions)) - reached
        reached |= below
        pending += sorted(below)
    return [name for name in functions if name in reached]
