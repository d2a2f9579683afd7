"""The chosen e-nodes as ONNX nodes, operands first; constants that laws wrote are computed on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from egraph_opt.cost.constant_nodes import nodes_by_e_node
from egraph_opt.cost.expansion import Expanded, expand_pseudo, is_pseudo
from egraph_opt.facts.fact import ABSENT, CLASH, UNKNOWN, Fact, meet
from egraph_opt.graph.names import Namer, rename_all
from egraph_opt.model.encoding import ENCODED_DOMAIN
from egraph_opt.operators.availability import has_optional_outputs
from egraph_opt.operators.declaration import Earlier, Literal, OnnxForm, Scalar, operator_named
from egraph_opt.operators.typing import infer_operator, infer_steps, scalar_type, step_operands
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.constants import ConstantWriter
from egraph_opt.rebuild.labels import labels
from egraph_opt.rebuild.value_info import NodeOrigin, ValueInfo, described

RebuildBody = Callable[[Choice, Mapping[ir.Value, ir.Value]], ir.Graph]
"""From what was chosen for a body, and the new values of those that it captures."""


class NodeWriter:
    """Writes one class after the other.

    Attributes:
        nodes: what was written, in order.
        values: per class the value that stands for it.
        constants: writes initializers and constants.
    """

    def __init__(
        self,
        choice: Choice,
        ir_version: int,
        namer: Namer,
        outer: Mapping[ir.Value, ir.Value],
        *,
        info: ValueInfo,
        rebuild_body: RebuildBody,
    ) -> None:
        self.choice, self.namer, self.outer = choice, namer, outer
        self.info, self.rebuild_body = info, rebuild_body
        self.lowered, self.snapshot = choice.lowered, choice.snapshot
        self.ir_version = ir_version
        self.nodes: list[ir.Node] = []
        self.constants = ConstantWriter(choice, ir_version, namer, self.nodes, compute=not info.dry_run)
        self.initializers = self.constants.initializers
        self.values: dict[int, ir.Value] = {}
        self.bundles: dict[int, ir.Node] = {}
        self.written: set[int] = set()
        self.expanded: dict[int, Fact] = {}
        self.chosen = self.owner = -1
        self.original = nodes_by_e_node(self.lowered, self.snapshot)
        self.names = choice.original_names()
        self.labels = labels(choice)

    # --- values -----------------------------------------------------------------------------------------

    def _new_value(self, owner: int, stem: str) -> ir.Value:
        """The value of a class, named after the original one where there is one."""
        original = self.names.get(owner)
        if original is None:
            return self._inner_value(self.fact(owner), stem, self.labels.get(owner, ""))
        kind, shape = described(self.fact(owner) if _is_plain(original) else UNKNOWN)
        return ir.Value(
            name=original.name,
            shape=original.shape if original.shape is not None else shape,
            type=original.type if original.type is not None else kind,
            doc_string=original.doc_string,
            metadata_props=dict(original.metadata_props),
        )

    def _name(self, stem: str, label: str) -> str:
        """A new name, after the tensor that what it names is needed for."""
        return self.namer.named(f"{label}.{stem}") if label else self.namer.fresh(stem)

    def _inner_value(self, fact: Fact, stem: str, label: str = "") -> ir.Value:
        """A value under a new name."""
        kind, shape = described(fact)
        value = ir.Value(name=self._name(stem, label), type=kind, shape=shape)
        self.info.facts[value] = fact
        return value

    def _label(self, owner: int) -> str:
        """The tensor of the model that a class is, or is needed for."""
        original = self.names.get(owner)
        return self.labels.get(owner, "") if original is None else original.name or ""

    def fact(self, owner: int) -> Fact:
        """What is known of a class's value as it is written: pseudo-operators may have types of their own."""
        return self.expanded.get(owner, self.snapshot.facts[owner])

    def _leaf(self, index: int) -> ir.Value:
        value = self.lowered.leaves[index]
        return self.outer[value] if value in self.outer else self.constants.original(value)

    # --- nodes ------------------------------------------------------------------------------------------

    def write(self, owner: int) -> None:
        """Write a class: after this `values`, or `bundles`, has it."""
        node = int(self.choice.node[owner])
        self.chosen, self.owner = node, owner
        name, attributes = self.snapshot.operator[node], self.snapshot.attributes[node]
        if name == "leaf":
            self.values[owner] = self._leaf(attributes[0])
        elif name == "none":
            return
        elif name == "literal":
            self.values[owner] = self.constants.literal_of(owner, attributes[0])
        elif self.choice.computed[owner] >= 0:
            self.values[owner] = self.constants.folded(owner)
        elif name == "output":
            bundle = self.bundles[self.snapshot.children(node)[0]]
            value = bundle.outputs[attributes[0]]
            self._rename(value, owner)
            self.values[owner] = value
        elif name == "opaque":
            self._write_kept(owner, node, attributes[0])
        elif not self._is_verbatim(node) and is_pseudo(self.snapshot, node, self.lowered.opset):
            self._erase(owner, node)
        else:
            self._write_structured(owner, node, self._operands(node))

    def _is_verbatim(self, node: int) -> bool:
        """Whether an e-node is written back as the original has it, of whatever types."""
        source = self.original.get(node)
        return source is not None and source[1]

    def _rename(self, value: ir.Value, owner: int) -> None:
        """Give an output of a bundle the name of its class."""
        model = self._new_value(owner, "output")
        value.name, value.type, value.shape = model.name, model.type, model.shape
        value.doc_string = model.doc_string
        value.metadata_props.update(model.metadata_props)

    def _operands(self, node: int) -> list[ir.Value | None]:
        return [None if self._absent(c) else self.values[c] for c in self.snapshot.children(node)]

    def _absent(self, owner: int) -> bool:
        return self.snapshot.facts[owner] == ABSENT

    def _write_kept(self, owner: int, node: int, key: int) -> None:
        source = self.lowered.kept[key]
        operands = self._operands(node)
        inputs, captured = operands[: len(source.inputs)], operands[len(source.inputs) :]
        inside = dict(self.outer)
        pairs = zip(self.lowered.captures[key], captured, strict=True)
        inside.update((original, value) for original, value in pairs if value is not None)
        attributes = self._attributes(source, key, inside)
        original = self.original.get(node, (source, True))[0]  # equal nodes share a key, not a name
        self._add(original, source.op_type, source.domain, inputs, attributes, owner=owner, e_node=node)

    def _attributes(self, source: ir.Node, key: int, outer: Mapping[ir.Value, ir.Value]) -> list[ir.Attr]:
        """The attributes of a kept node, its bodies rebuilt."""
        chosen = self.choice.bodies.get(key, ())
        graphs = [self.rebuild_body(body, outer) for body in chosen]
        if key in self.written:  # equal bodies on other operands: names belong to the first
            for graph in graphs:
                rename_all(graph, self.namer)
        self.written.add(key)
        made = iter(graphs)
        attributes = []
        for name in sorted(source.attributes):
            attribute = source.attributes[name]
            if not attribute.is_ref() and attribute.type == ir.AttributeType.GRAPH:
                attribute = ir.AttrGraph(name, next(made))
            elif not attribute.is_ref() and attribute.type == ir.AttributeType.GRAPHS:
                attribute = ir.AttrGraphs(name, [next(made) for _ in attribute.as_graphs()])
            attributes.append(attribute)
        return attributes

    def _write_structured(self, owner: int, node: int, operands: Sequence[ir.Value | None]) -> None:
        source = self.original.get(node)
        name, attributes = self.snapshot.operator[node], self.snapshot.attributes[node]
        if source is not None and self._is_verbatim(node):
            original = source[0]
            inputs = self._verbatim_inputs(node, original, operands)
            self._add(
                original,
                original.op_type,
                original.domain,
                inputs,
                list(original.attributes.values()),
                owner=owner,
                e_node=node,
            )
            return
        facts = tuple(self.fact(c) for c in self.snapshot.children(node))
        form, inputs, converted = self._form(name, attributes, facts, operands)
        original_node = source[0] if source else None
        self._add(*(original_node, form.op_type, form.domain, inputs, converted), owner=owner, e_node=node)

    def _form(
        self,
        name: str,
        attributes: tuple[Any, ...],
        facts: tuple[Fact, ...],
        operands: Sequence[ir.Value | None],
    ) -> tuple[OnnxForm, list[ir.Value | None], list[ir.Attr]]:
        """An operator as an ONNX node in the model's opset, with its inputs and attributes."""
        declared = operator_named(name)
        form = declared.form(self.lowered.opset, attributes, facts) if declared.form else None
        if form is None:
            raise AssertionError(f"{name} was chosen and cannot be written in opset {self.lowered.opset}")
        inputs: list[ir.Value | None] = []
        for item in form.inputs:
            if isinstance(item, Literal):
                inputs.append(self.constants.literal(item))
            else:
                inputs.append(None if item is None else operands[item])
        converted = [
            ir.convenience.convert_attribute(key, value, _attribute_type(value))
            for key, value in form.attributes
        ]
        return form, inputs, converted

    def _erase(self, owner: int, node: int) -> None:
        """The nodes that a pseudo-operator stands for; inner values are shared with what else uses them."""
        operands, children = self._operands(node), self.snapshot.children(node)
        parts = expand_pseudo(self.snapshot, node, self.lowered.opset)
        steps = [part.step for part in parts]
        facts = tuple(self.fact(c) for c in children)
        inferred = infer_steps(steps, self.lowered.opset, facts)
        result = (*facts[:1], *inferred)[-1]
        if meet(result, self.snapshot.facts[owner]) == CLASH:
            self.expanded[owner] = result
        results: list[ir.Value | None] = []
        for k, part in enumerate(parts):
            dtype = scalar_type(part.step, facts, inferred)
            given: list[ir.Value | None] = []
            for position, item in enumerate(part.step.operands):
                if isinstance(item, Scalar):
                    given.append(self._number(item, dtype, part.node, position))
                else:
                    given.append(results[item.step] if isinstance(item, Earlier) else operands[item])
            known = step_operands(part.step, facts, inferred)
            place = self.snapshot.plain[owner] if k + 1 == len(parts) else self._place(part.node)
            results.append(self._write_step(part, given, known, inferred[k], place))
        last = results[-1] if parts else operands[0]
        assert last is not None
        self.values[owner] = last

    def _number(self, number: Scalar, dtype: int, node: int, position: int) -> ir.Value:
        """A constant of a step: the initializer that its e-node has there, or a new one."""
        owner = self.snapshot.children(node)[position] if node >= 0 else -1
        for leaf in self.snapshot.numbers(dtype, number.value):
            if int(self.snapshot.node_class[leaf]) == owner:
                if owner not in self.values:
                    self.values[owner] = self._leaf(self.snapshot.attributes[leaf][0])
                return self.values[owner]
        return self.constants.literal(number.literal(dtype))

    def _place(self, node: int) -> int | None:
        """The class of an inner e-node, unless another e-node was chosen for it."""
        if node < 0:
            return None
        owner = int(self.snapshot.node_class[node])
        return owner if int(self.choice.node[owner]) in (-1, node) else None

    def _write_step(
        self,
        part: Expanded,
        operands: Sequence[ir.Value | None],
        facts: tuple[Fact, ...],
        result: Fact,
        place: int | None,
    ) -> ir.Value | None:
        """A step of a pseudo-operator, as the value of the class `place` or under a name of its own."""
        step = part.step
        if step.operator == "none":
            return None
        if step.operator == "literal":
            return self.constants.literal(step.attributes[0])
        if place is not None and place in self.values:
            return self.values[place]
        if place is not None and part.node >= 0:
            self._write_structured(place, part.node, operands)
            return self.values[place]
        form, inputs, attributes = self._form(step.operator, step.attributes, facts, operands)
        if place is not None:
            self._add(*(None, form.op_type, form.domain, inputs, attributes), owner=place, e_node=part.node)
            return self.values[place]
        stem = form.op_type.lower()
        label = self._label(self.owner)
        value, name = self._inner_value(result, stem, label), self._name(stem, label)
        made = ir.Node(form.domain, form.op_type, inputs, attributes, outputs=[value], name=name)
        self.nodes.append(made)
        self.info.origins[made] = NodeOrigin(self.snapshot, self.chosen, part.node)
        return value

    def _verbatim_inputs(
        self, node: int, original: ir.Node, operands: Sequence[ir.Value | None]
    ) -> list[ir.Value | None]:
        """The inputs of an original node: operands as chosen, constants that were read as they were."""
        classes = self.snapshot.term_classes
        by_class = dict(zip(self.snapshot.children(node), operands, strict=True))
        inputs: list[ir.Value | None] = []
        for value in original.inputs:
            if value is None:
                inputs.append(None)
                continue
            owner = int(classes[self.lowered.term_of[value]])
            inputs.append(by_class[owner] if owner in by_class else self._read_constant(value, owner))
        return inputs

    def _read_constant(self, value: ir.Value, owner: int) -> ir.Value:
        """A constant operand whose value went into a term's attributes."""
        if owner not in self.values:
            term = self.lowered.terms[self.lowered.term_of[value]]
            if term.operator == "literal":
                self.values[owner] = self.constants.literal_of(owner, term.attributes[0])
            else:
                self.values[owner] = self._leaf(term.attributes[0])
        return self.values[owner]

    def _add(
        self,
        source: ir.Node | None,
        op_type: str,
        domain: str,
        inputs: Sequence[ir.Value | None],
        attributes: Sequence[ir.Attr],
        *,
        owner: int,
        e_node: int,
    ) -> None:
        chosen = int(self.choice.node[owner])  # -1: an inner value of a pseudo-operator
        several = chosen >= 0 and operator_named(self.snapshot.operator[chosen]).result == "bundle"
        if several:
            outputs = self._bundle_outputs(owner, source, op_type)
        else:
            outputs = [self._new_value(owner, op_type.lower())]
        made = ir.Node(
            domain,
            op_type,
            list(inputs),
            list(attributes),
            overload=source.overload if source is not None else "",
            outputs=outputs,
            name=source.name if source is not None else self._name(op_type.lower(), self._label(owner)),
            doc_string=source.doc_string if source is not None else None,
            metadata_props=dict(source.metadata_props) if source is not None else None,
        )
        self.nodes.append(made)
        self.info.origins[made] = NodeOrigin(self.snapshot, self.chosen, e_node)
        if several:
            self.bundles[owner] = made
        else:
            self.values[owner] = outputs[0]

    def _bundle_outputs(self, owner: int, source: ir.Node | None, op_type: str) -> list[ir.Value]:
        """Outputs with names of their own, but for optional ones; `write` names those that are used.

        Laws may use outputs that a node of the original left out.
        """
        chosen = int(self.choice.node[owner])
        outputs: list[ir.Value] = []
        facts: list[Fact] = []
        for value in source.outputs if source is not None else ():
            outputs.append(ir.Value(name=self.namer.fresh("unused") if value.name else ""))
            term = self.lowered.term_of.get(value)
            facts.append(UNKNOWN if term is None else self.lowered.facts[term] or UNKNOWN)
        name, attributes = self.snapshot.operator[chosen], self.snapshot.attributes[chosen]
        if name != "opaque":
            operands = tuple(self.fact(c) for c in self.snapshot.children(chosen))
            more = infer_operator(name, self.lowered.opset, attributes, operands)[len(outputs) :]
            optional = has_optional_outputs(op_type, self.lowered.opset)
            outputs.extend(ir.Value(name="" if optional else self.namer.fresh(name)) for _ in more)
            facts.extend(more)
        self.info.facts.update(zip(outputs, facts, strict=True))
        return outputs


def _is_plain(value: ir.Value) -> bool:
    """Whether what is known of a value is its type: a carrier's value may be a sparse tensor."""
    node = value.producer()
    return node is None or node.domain != ENCODED_DOMAIN


_SINGLE = {int: ir.AttributeType.INT, float: ir.AttributeType.FLOAT, str: ir.AttributeType.STRING}
_SEVERAL = {int: ir.AttributeType.INTS, float: ir.AttributeType.FLOATS, str: ir.AttributeType.STRINGS}


def _attribute_type(value: Any) -> ir.AttributeType | None:
    """The type of a plain value, which onnx_ir would find by checks of protocols; None for any other."""
    if isinstance(value, tuple):
        kinds = {type(item) for item in value} or {int}
        return _SEVERAL.get(kinds.pop()) if len(kinds) == 1 else None
    return _SINGLE.get(type(value))
