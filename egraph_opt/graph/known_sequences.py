"""Sequences whose tensors are known: what is taken of them, or made of all of them, without the sequence.

SequenceAt, ConcatFromSequence and SequenceLength of what SequenceConstruct, SequenceEmpty, SequenceInsert,
SequenceErase and SplitToSequence make.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir

from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.graph.decided_bodies import Decided

Facts = Mapping[ir.Value, Fact]

MOST_PARTS = 1024
"""Outputs of a Split."""


@dataclass(frozen=True)
class Part:
    """A tensor that a SplitToSequence makes of x along an axis; `sizes` are those of all parts.

    Without its axis where it is one element alone that is `dropped`.
    """

    x: ir.Value
    axis: int
    sizes: tuple[int, ...]
    number: int
    dropped: bool


Item = ir.Value | Part


def unpacked(node: ir.Node, opset: int, facts: Facts) -> Decided | None:
    """What takes the place of a node that reads a sequence; None where its tensors are not known."""
    if not _is_plain(node) or not node.inputs or node.inputs[0] is None:
        return None
    if node.op_type not in ("SequenceAt", "ConcatFromSequence", "SequenceLength"):
        return None
    items = _items(node.inputs[0], facts)
    if items is None:
        return None
    taken = _Taken(opset, node.outputs[0].name or "")
    if node.op_type == "SequenceLength":
        return taken.decided(node, taken.constant(np.array(len(items), np.int64)))
    if node.op_type == "SequenceAt":
        place = _place(node, 1, len(items), facts)
        if place is None:
            return None
        item = items[place]
        if isinstance(item, ir.Value):
            return Decided(None, (), ((node.outputs[0], item, None),))
        return taken.decided(node, taken.tensor(item))
    if not items or "axis" not in node.attributes:
        return None
    axis, stacks = node.attributes["axis"].as_int(), node.attributes.get("new_axis")
    tensors = [taken.tensor(item) for item in items]
    if stacks is not None and stacks.as_int():
        tensors = [taken.with_axis(tensor, axis) for tensor in tensors]
    (made,) = taken.node("Concat", tensors, [ir.AttrInt64("axis", axis)])
    return taken.decided(node, made)


def _is_plain(node: ir.Node) -> bool:
    return node.domain in ("", "ai.onnx") and not any(a.is_ref() for a in node.attributes.values())


# --- the tensors of a sequence --------------------------------------------------------------------------


_FOLLOWED = ("SequenceInsert", "SequenceErase", "Identity")
"""What makes a sequence of another one."""


def _items(value: ir.Value, facts: Facts) -> list[Item] | None:
    """The tensors of a sequence, where they are known."""
    changes: list[ir.Node] = []
    made = value.producer()
    while made is not None and _is_plain(made) and made.op_type in _FOLLOWED:
        changes += [made] if made.op_type != "Identity" else []
        made = None if made.inputs[0] is None else made.inputs[0].producer()
    if made is None or not _is_plain(made):
        return None
    items: list[Item] | None = None
    if made.op_type == "SequenceEmpty":
        items = []
    elif made.op_type == "SequenceConstruct":
        items = [each for each in made.inputs if each is not None]
    elif made.op_type == "SplitToSequence":
        items = _parts(made, facts)
    for change in reversed(changes):
        if items is None or not _is_changed(items, change, facts):
            return None
    return items


def _is_changed(items: list[Item], change: ir.Node, facts: Facts) -> bool:
    """Insert or erase a tensor: whether it is known where."""
    if change.op_type == "SequenceErase":
        place = len(items) - 1 if _is_absent(change, 1) else _place(change, 1, len(items), facts)
        if place is None or not items:
            return False
        del items[place]
        return True
    number = None if _is_absent(change, 2) else _number(change, 2, facts)
    known = _is_absent(change, 2) or (number is not None and -len(items) <= number <= len(items))
    if not known or change.inputs[1] is None:
        return False
    items.insert(len(items) if number is None else number, change.inputs[1])
    return True


def _parts(node: ir.Node, facts: Facts) -> list[Item] | None:
    """The parts of a SplitToSequence, where the axis has a known length."""
    x = node.inputs[0]
    shape = None if x is None else facts.get(x, UNKNOWN).shape
    if x is None or not shape:
        return None
    axis = node.attributes["axis"].as_int() if "axis" in node.attributes else 0
    if not -len(shape) <= axis < len(shape) or not isinstance(dim := shape[axis], int):
        return None
    keeps, dropped = node.attributes.get("keepdims"), False
    if _is_absent(node, 1):
        sizes, dropped = _equal_parts(dim, 1), keeps is not None and not keeps.as_int()
    else:
        known = facts.get(node.inputs[1], UNKNOWN)  # type: ignore[arg-type]
        if known.ints is None or known.rank is None:
            return None
        sizes = known.ints
        if known.rank == 0:
            sizes = _equal_parts(dim, sizes[0])
    if not 0 < len(sizes) <= MOST_PARTS or sum(sizes) != dim or min(sizes) < 0:
        return None
    return [Part(x, axis % len(shape), sizes, k, dropped) for k in range(len(sizes))]


def _equal_parts(dim: int, size: int) -> tuple[int, ...]:
    """The sizes of parts of one size, of which the last may be less; () where there are none, or too many."""
    few = size > 0 and dim <= size * MOST_PARTS
    return tuple(min(size, dim - k) for k in range(0, dim, size)) if few else ()


def _is_absent(node: ir.Node, position: int) -> bool:
    return position >= len(node.inputs) or node.inputs[position] is None


def _number(node: ir.Node, position: int, facts: Facts) -> int | None:
    value = None if _is_absent(node, position) else node.inputs[position]
    known = None if value is None else facts.get(value, UNKNOWN).ints
    return known[0] if known is not None and len(known) == 1 else None


def _place(node: ir.Node, position: int, count: int, facts: Facts) -> int | None:
    """Which of so many tensors an operand says, from the end below 0."""
    number = _number(node, position, facts)
    return number % count if number is not None and -count <= number < count else None


# --- what is made of them -------------------------------------------------------------------------------


@dataclass
class _Taken:
    """What is taken of a sequence: nodes, as a body that is given what it reads.

    Attributes:
        result: the name of what it makes, which names in a model begin with that nothing else has.
    """

    opset: int
    result: str
    nodes: list[ir.Node] = field(default_factory=list)
    given: dict[ir.Value, ir.Value] = field(default_factory=dict)
    constants: list[ir.Value] = field(default_factory=list)
    splits: dict[Any, Sequence[ir.Value]] = field(default_factory=dict)

    def decided(self, node: ir.Node, made: ir.Value) -> Decided:
        inputs = list(self.given.values())
        graph = ir.Graph(inputs, [made], nodes=self.nodes, initializers=self.constants, name="sequence")
        given = tuple((inner, outer, None) for outer, inner in self.given.items())
        return Decided(graph, given, ((node.outputs[0], 0, None),))

    def read(self, outer: ir.Value) -> ir.Value:
        if outer not in self.given:
            name = f"{self.result}_given_{len(self.given)}"
            self.given[outer] = ir.Value(name=name, type=outer.type, shape=outer.shape)
        return self.given[outer]

    def constant(self, array: np.ndarray[Any, Any]) -> ir.Value:
        tensor = ir.Tensor(array)
        name = f"{self.result}_constant_{len(self.constants)}"
        made = ir.Value(
            name=name, type=ir.TensorType(tensor.dtype), shape=ir.Shape(array.shape), const_value=tensor
        )
        self.constants.append(made)
        return made

    def node(
        self, op_type: str, inputs: Sequence[ir.Value], attributes: Sequence[ir.Attr], count: int = 1
    ) -> Sequence[ir.Value]:
        outputs = [ir.Value(name=f"{self.result}_made_{len(self.nodes)}_{k}") for k in range(count)]
        name = f"{self.result}_node_{len(self.nodes)}"
        self.nodes.append(ir.Node("", op_type, inputs, attributes, outputs=outputs, name=name))
        return outputs

    def tensor(self, item: Item) -> ir.Value:
        """A tensor of a sequence."""
        if isinstance(item, ir.Value):
            return self.read(item)
        if item.dropped:
            index = self.constant(np.array(item.number, np.int64))
            return self.node("Gather", [self.read(item.x), index], [ir.AttrInt64("axis", item.axis)])[0]
        key = (item.x, item.axis, item.sizes)
        if key not in self.splits:
            inputs, attributes = [self.read(item.x)], [ir.AttrInt64("axis", item.axis)]
            if self.opset < 13:
                attributes.append(ir.AttrInt64s("split", item.sizes))
            else:
                inputs.append(self.constant(np.array(item.sizes, np.int64)))
            self.splits[key] = self.node("Split", inputs, attributes, len(item.sizes))
        return self.splits[key][item.number]

    def with_axis(self, tensor: ir.Value, axis: int) -> ir.Value:
        if self.opset < 13:
            return self.node("Unsqueeze", [tensor], [ir.AttrInt64s("axes", [axis])])[0]
        return self.node("Unsqueeze", [tensor, self.constant(np.array([axis], np.int64))], [])[0]
