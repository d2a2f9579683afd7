"""The constants of a rebuilt graph: those of the original, and those that laws wrote, computed here."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import onnx_ir as ir

from egraph_opt.facts.fact import ABSENT
from egraph_opt.forking import cached_property
from egraph_opt.graph.constants import constant_of_node
from egraph_opt.graph.content import Contents
from egraph_opt.graph.names import Namer
from egraph_opt.model.scratch import Scratch
from egraph_opt.operators.declaration import Literal, operator_named
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.evaluation import (
    evaluate_form,
    evaluate_in_own_types,
    is_float,
    literal_array,
    rounded,
)
from egraph_opt.rebuild.labels import FOLDED, weight_behind

HELD = 64
"""Elements of constants of the original that are used again for what laws write."""

SPLAT_BYTES = 1024
"""Constants with one value in every element are written as ConstantOfShape above this size."""

READ_OTHERWISE = frozenset({"Resize"})
"""Operators that onnxruntime and ONNX's reference read differently, beyond rounding: which element is the
nearest where the corners are aligned and scales make a length that is no whole number."""

KEPT_BYTES = 2**26
"""Bytes of arrays that are kept for the next constant, which may be computed from them."""


class FoldedArrays:
    """The elements of constant classes, computed from the originals' on demand."""

    def __init__(self, choice: Choice) -> None:
        self._lowered, self._snapshot, self._computed = choice.lowered, choice.snapshot, choice.computed
        self._arrays: dict[int, np.ndarray[Any, Any]] = {}
        self._bytes = 0

    def of(self, root: int) -> np.ndarray[Any, Any]:
        """The elements of a constant class; floats in float64."""
        if self._bytes > KEPT_BYTES:
            self._arrays.clear()
            self._bytes = 0
        pending = [root]
        while pending:
            owner = pending[-1]
            if owner in self._arrays:
                pending.pop()
                continue
            node = int(self._computed[owner])
            children = [] if self.splat(owner) is not None else self._snapshot.children(node)
            missing = [c for c in children if c not in self._arrays and self._snapshot.facts[c] != ABSENT]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            self._arrays[owner] = self._compute(owner, node)
            self._bytes += self._arrays[owner].nbytes
        return self._arrays[root]

    def splat(self, owner: int) -> Literal | None:
        """A class with one value in every element, which needs no operands, however large they are."""
        fact = self._snapshot.facts[owner]
        if fact.splat is None or not fact.is_static:
            return None
        return Literal(fact.dtype, fact.shape, (fact.splat,))  # type: ignore[arg-type]

    def _compute(self, owner: int, node: int) -> np.ndarray[Any, Any]:
        name, attributes = self._snapshot.operator[node], self._snapshot.attributes[node]
        fact, lowered = self._snapshot.facts[owner], self._lowered
        splat = self.splat(owner)
        if splat is not None:
            array = literal_array(splat)
        elif name == "leaf":
            array = lowered.constants.tensor(lowered.leaves[attributes[0]]).numpy()
        elif name == "literal":
            array = literal_array(attributes[0])
        elif name == "reshape":
            return self._arrays[self._snapshot.children(node)[0]].reshape(attributes[0])
        else:
            children = self._snapshot.children(node)
            facts = tuple(self._snapshot.facts[c] for c in children)
            declared = operator_named(name)
            form = declared.form(lowered.opset, attributes, facts) if declared.form else None
            if form is None:
                raise AssertionError(f"a constant {name} cannot be written in opset {lowered.opset}")
            operands, dtypes = [self._arrays.get(c) for c in children], [f.dtype for f in facts]
            own = lowered.own_types or form.op_type in READ_OTHERWISE
            evaluate = evaluate_in_own_types if own else evaluate_form
            return evaluate(form, operands, dtypes, fact.dtype, lowered.opset)
        return np.asarray(array, dtype=np.float64) if is_float(fact.dtype) else np.asarray(array)


class ConstantWriter:
    """Writes the constants, and copies the inputs, of one graph that is being rebuilt.

    Args:
        nodes: of the new graph so far; Constant and ConstantOfShape are added to them.
        compute: whether what laws wrote is computed; otherwise values without data stand for it.

    Attributes:
        initializers: that the new graph has so far, by name.
    """

    def __init__(
        self, choice: Choice, ir_version: int, namer: Namer, nodes: list[ir.Node], *, compute: bool = True
    ) -> None:
        self.initializers: dict[str, ir.Value] = {}
        self._compute = compute
        self._lowered, self._facts = choice.lowered, choice.snapshot.facts
        self._initializers_allowed = ir_version >= 4
        self._namer, self._nodes = namer, nodes
        self._names, self._choice = choice.original_names(), choice
        self._output_names = {value.name for value in choice.lowered.graph.outputs}
        self._arrays = FoldedArrays(choice)
        self._scratch = Scratch()
        self._literals: dict[Any, ir.Value] = {}
        self._contents = Contents()
        self._of_content: dict[Hashable, ir.Value] = {}
        self._of_leaf: dict[ir.Value, ir.Value] = {}

    def copied(self, value: ir.Value) -> ir.Value:
        """A value of the new graph with the name, type and data of an original one."""
        if value not in self._of_leaf:
            self._of_leaf[value] = ir.Value(
                name=value.name,
                shape=value.shape,
                type=value.type,
                doc_string=value.doc_string,
                const_value=value.const_value,
                metadata_props=dict(value.metadata_props),
            )
            if value.is_initializer() and value.graph is self._lowered.graph:
                self.initializers[value.name or ""] = self._of_leaf[value]
        return self._of_leaf[value]

    def original(self, value: ir.Value) -> ir.Value:
        """The new value of an input or constant of the original; of a constant that was folded, too."""
        if value in self._of_leaf:
            return self._of_leaf[value]
        if value.graph is self._lowered.graph and (value.is_graph_input() or value.is_initializer()):
            return self.copied(value)
        node = value.producer()
        tensor = self._lowered.constants.tensors.get(value)
        if tensor is None:
            raise AssertionError(f"{value.name} is neither of this graph nor captured")
        is_node = node is not None and node.op_type == "Constant" and node.graph is self._lowered.graph
        if node is not None and is_node and self._holds(tensor):  # one of ours need not be of this opset
            return self._constant_node(value, node)
        return self._constant(tensor, value.name if node is not None else None, "constant")

    def _constant_node(self, value: ir.Value, node: ir.Node) -> ir.Value:
        """A Constant node of the original, as it was."""
        made = ir.Value(name=value.name, shape=value.shape, type=value.type)
        attributes = dict(node.attributes)
        self._nodes.append(ir.Node("", "Constant", [], attributes, outputs=[made], name=node.name))
        self._of_leaf[value] = made
        return made

    def _constant(self, tensor: ir.TensorProtocol, name: str | None, stem: str) -> ir.Value:
        """A new constant: an initializer, or a Constant node where initializers would have to be inputs."""
        if name is None or name in self.initializers or name in self._output_names:
            name = self._namer.named(stem) if stem.endswith(FOLDED) else self._namer.fresh(stem)
        kind, shape = ir.TensorType(tensor.dtype), tensor.shape
        if self._initializers_allowed:
            made = ir.Value(name=name, type=kind, shape=shape, const_value=tensor)  # type: ignore[arg-type]
            self.initializers[name] = made
            return made
        made = ir.Value(name=name, type=kind, shape=shape)  # type: ignore[arg-type]
        self.write(tensor, made, stem)
        return made

    def write(self, tensor: ir.TensorProtocol, made: ir.Value, stem: str) -> None:
        """A Constant node for a value.

        Before opset 9 these are floats only: others are copies of initializers, or integers are cast from
        float64, where that holds them.
        """
        name = self._namer.fresh(stem)
        if self._initializers_allowed and not self._holds(tensor):
            kind, shape = ir.TensorType(tensor.dtype), tensor.shape
            held = ir.Value(name=name, type=kind, shape=shape, const_value=tensor)  # type: ignore[arg-type]
            self.initializers[name] = held
            copy = self._namer.fresh("identity")
            self._nodes.append(ir.Node("", "Identity", [held], outputs=[made], name=copy))
            return
        wide = self._as_float64(tensor)
        if wide is None:
            self._nodes.append(
                ir.Node("", "Constant", [], [ir.AttrTensor("value", tensor)], outputs=[made], name=name)
            )
            return
        source = ir.Value(name=self._namer.fresh(stem), type=ir.TensorType(wide.dtype), shape=made.shape)
        self._nodes.append(
            ir.Node("", "Constant", [], [ir.AttrTensor("value", wide)], outputs=[source], name=name)
        )
        to = ir.AttrInt64("to", int(tensor.dtype))
        self._nodes.append(
            ir.Node("", "Cast", [source], [to], outputs=[made], name=self._namer.fresh("cast"))
        )

    def _holds(self, tensor: ir.TensorProtocol) -> bool:
        """Whether a Constant node of this opset can be of a tensor's type."""
        return self._lowered.opset >= 9 or is_float(tensor.dtype)

    def _as_float64(self, tensor: ir.TensorProtocol) -> ir.TensorProtocol | None:
        """An integer tensor in float64, where Constant has no integers and nothing is lost."""
        if self._holds(tensor) or tensor.dtype == ir.DataType.STRING:
            return None
        array = tensor.numpy()
        wide = array.astype(np.float64)
        exact = np.array_equal(wide.astype(array.dtype), array) and float(np.abs(wide).max(initial=0)) < 2**53
        return ir.tensor(wide) if exact else None

    def literal(self, literal: Literal, stem: str = "constant", name: str | None = None) -> ir.Value:
        """A literal, one value for all that are equal: a constant of the original, if it has that."""
        key = (literal.dtype, literal.dims, repr(literal.values))  # 0.0 and -0.0 are equal, not the same
        small = literal.dtype == ir.DataType.INT64 and math.prod(literal.dims) <= HELD
        if key not in self._literals and small:
            held = self._held.get((literal.dims, *literal_array(literal).reshape(-1).tolist()))
            if held is not None:
                self._literals[key] = self.original(held)
        if key not in self._literals:
            size = math.prod(literal.dims) * ir.DataType(literal.dtype).itemsize
            if size > SPLAT_BYTES and len(literal.values) == 1 and self._lowered.opset >= 9:
                self._literals[key] = self._splat(literal, stem, name)
            else:
                tensor = ir.Tensor(literal_array(literal), dtype=ir.DataType(literal.dtype))
                self._literals[key] = self._constant(tensor, None, stem)
        return self._literals[key]

    def literal_of(self, owner: int, literal: Literal) -> ir.Value:
        """A class that is a literal, by the name that it has in the original where it takes a node."""
        original = self._names.get(owner)
        return self.literal(literal, name=original.name if original else None)

    @cached_property
    def _held(self) -> dict[Hashable, ir.Value]:
        """The axes, dims and bounds among the constants of the original, by their dims and elements."""
        found: dict[Hashable, ir.Value] = {}
        graph = self._lowered.graph
        written = [node.outputs[0] for node in graph if constant_of_node(node) is not None]
        for value in (*graph.initializers.values(), *written):
            tensor = self._lowered.constants.tensors.get(value)
            if tensor is None or value.is_graph_output() or tensor.dtype != ir.DataType.INT64:
                continue
            if tensor.size <= HELD:
                dims = tuple(int(dim) for dim in tensor.shape.numpy())
                found.setdefault((dims, *tensor.numpy().reshape(-1).tolist()), value)
        return found

    def _splat(self, literal: Literal, stem: str, name: str | None) -> ir.Value:
        shape = self.literal(Literal(ir.DataType.INT64, (len(literal.dims),), literal.dims), "shape")
        element = literal_array(Literal(literal.dtype, (1,), literal.values))
        value = ir.AttrTensor("value", ir.tensor(element, dtype=ir.DataType(literal.dtype)))
        made = ir.Value(
            name=self._namer.fresh(stem) if name is None or name in self._output_names else name,
            type=ir.TensorType(ir.DataType(literal.dtype)),
            shape=ir.Shape(literal.dims),
        )
        node = ir.Node("", "ConstantOfShape", [shape], [value], outputs=[made], name=self._namer.fresh(stem))
        self._nodes.append(node)
        return made

    def folded(self, owner: int) -> ir.Value:
        """A constant class whose chosen node is computed now; one value for all of equal elements."""
        fact = self._facts[owner]
        splat = self._arrays.splat(owner)
        if splat is not None:
            return self.literal_of(owner, splat)
        source = weight_behind(self._choice, owner).removesuffix(FOLDED)
        stem = f"{source}{FOLDED}" if source else "folded"
        if not self._compute:
            return ir.Value(name=self._namer.named(stem))
        array = rounded(self._arrays.of(owner), fact.dtype)
        tensor = self._scratch.keep(array, ir.DataType(fact.dtype))
        key = self._contents.key(tensor)
        if key not in self._of_content:
            original = self._names.get(owner)
            self._of_content[key] = self._constant(tensor, original.name if original else None, stem)
        return self._of_content[key]
