"""What loops carry along unchanged, and what branches hand on alike: users take it from where it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir

from egraph_opt.graph.names import Namer
from egraph_opt.graph.walks import bodies


def is_if(node: ir.Node) -> bool:
    """An If that hands out all that its branches make: others run in onnxruntime, and stay as they are."""
    outputs = [len(body.outputs) for body in bodies(node)]
    return node.op_type == "If" and node.domain in ("", "ai.onnx") and outputs == [len(node.outputs)] * 2


def is_loop(node: ir.Node) -> bool:
    """A Loop or Scan whose body has the inputs and outputs of the node, as not in opset 8 nor a bad file."""
    if node.op_type not in ("Loop", "Scan") or node.domain not in ("", "ai.onnx"):
        return False
    made = len(node.outputs) + (node.op_type == "Loop")
    if [(len(body.inputs), len(body.outputs)) for body in bodies(node)] != [(len(node.inputs), made)]:
        return False
    if node.op_type == "Scan":
        scanned, axes = node.attributes["num_scan_inputs"].as_int(), node.attributes.get("scan_input_axes")
        if not 1 <= scanned <= len(node.inputs) or (axes is not None and len(axes.as_ints()) != scanned):
            return False
    return all(end < made for _, end in _carried(node))


def _carried(node: ir.Node) -> list[tuple[int, int]]:
    """The places of what a loop carries along: among the inputs, and among the outputs of the body."""
    if node.op_type == "Scan":
        return [(k, k) for k in range(len(node.inputs) - node.attributes["num_scan_inputs"].as_int())]
    return [(k, k - 1) for k in range(2, len(node.inputs))]


def drop_kept(node: ir.Node, graph: ir.Graph, namer: Namer, opset: int) -> bool:
    """Take from a loop what it carries along unchanged, and give users the first value: whether any was.

    Before opset 11 a Loop has to carry something.
    """
    carried = _carried(node)
    kept: dict[int, tuple[int, ir.Value]] = {}
    for place, end in carried:
        given, inside = node.inputs[place], graph.inputs[place]
        if given is not None and _source(graph, graph.outputs[end]) in (inside, given):
            kept[place] = end, given
    if node.op_type == "Loop" and opset < 11 and len(kept) == len(carried) and kept:
        del kept[min(kept)]
    if not kept:
        return False
    for place, (end, given) in reversed(kept.items()):
        inside = graph.inputs[place]
        del graph.inputs[place], graph.outputs[end]
        hand_on(graph, inside, given, namer)
    inputs = [value for k, value in enumerate(node.inputs) if k not in kept]
    first = carried[0][1]
    _replace(node, inputs, {end - first: given for end, given in kept.values()})
    return True


def drop_agreed(node: ir.Node, yes: ir.Graph, no: ir.Graph) -> bool:
    """Take from an If what both branches hand on from around it: whether there was any."""
    agreed: dict[int, ir.Value] = {}
    for k, (one, other) in enumerate(zip(yes.outputs, no.outputs, strict=True)):
        value = _source(yes, one)
        if value.graph is not yes and value is _source(no, other):
            agreed[k] = value
    if not agreed:
        return False
    for k in reversed(agreed):
        del yes.outputs[k], no.outputs[k]
    _replace(node, node.inputs, agreed)
    return True


def _replace(node: ir.Node, inputs: Sequence[ir.Value | None], given: Mapping[int, ir.Value]) -> None:
    """Put the node on other inputs, and without the outputs that users can be given from elsewhere."""
    outer = node.graph
    assert isinstance(outer, ir.Graph)
    attributes = list(node.attributes.values())
    node.attributes.clear()  # its bodies have one owner
    own = []
    for k, value in enumerate(node.outputs):
        made = ir.Value(name=value.name, type=value.type, shape=value.shape)
        source = given.get(k)
        if source is None:
            own.append(made)
        elif value.is_graph_output():
            outer.insert_before(node, ir.Node("", "Identity", [source], outputs=[made]))
        else:
            use_instead(value, source)
        if source is None or value.is_graph_output():
            value.replace_all_uses_with(made, replace_graph_outputs=True)
    if own:
        new = ir.Node(node.domain, node.op_type, inputs, attributes, outputs=own, name=node.name)
        outer.insert_before(node, new)
    outer.remove(node, safe=True)


def _source(graph: ir.Graph, value: ir.Value) -> ir.Value:
    """What a value of a graph is a copy of."""
    while value.graph is graph and (maker := value.producer()) is not None and maker.op_type == "Identity":
        if maker.inputs[0] is None:
            break  # what a model may say that no runtime takes
        value = maker.inputs[0]
    return value


def hand_on(graph: ir.Graph, old: ir.Value, new: ir.Value, namer: Namer) -> None:
    """Let the users of a value take another; what a graph hands out it must make itself, by an Identity."""
    if old.is_graph_output():
        inside = ir.Value(name=namer.fresh("handed_out"), type=old.type, shape=old.shape)
        graph.append(ir.Node("", "Identity", [new], outputs=[inside]))
        for k, output in enumerate(graph.outputs):
            if output is old:
                graph.outputs[k] = inside
    if old is not new:
        use_instead(old, new)


def use_instead(old: ir.Value, new: ir.Value) -> bool:
    """Let the nodes that use a value take another: whether there were any."""
    uses = tuple(old.uses())
    for use in uses:
        use.node.replace_input_with(use.idx, new)
    return bool(uses)
