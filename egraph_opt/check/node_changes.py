"""Nodes of a model as ONNX's schemas allow them to be, and as no term has written them.

Each differs from one that is there in an attribute, or has an input more; the node may stand in a model
several times, and each of these changes, or all do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper

from egraph_opt.check.schema_values import default_of, is_along_axes, other_values
from egraph_opt.inference.onnx_inference import TYPE_NAMES
from egraph_opt.operators.node_reader import plain

Array = np.ndarray[Any, Any]
Shape = tuple[int | None, ...]

PREFERRED = (
    *(TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT32, TensorProto.UINT8),
    *(TensorProto.INT8, TensorProto.DOUBLE, TensorProto.FLOAT16),
)
"""Types of an input that may have several, those first that most models have."""

ADDED = 12
"""Arrays that are tried as an input; most have a shape that it cannot have."""

COUNTED = {TensorProto.INT32, TensorProto.INT64}
"""Types of places, lengths and axes, of which kernels do not take every number."""

LEAST, MOST = -1, 2
"""What such an input is kept between that only a run knows."""

CLIP_OF_INTEGERS = 12
"""The opset from which on there is one."""


@dataclass(frozen=True)
class NodeChange:
    """How a node differs from the one that was written.

    Attributes:
        attributes: by name; None leaves one out.
        position: of the input that is there as well; -1 for none.
        name: of that input.
        array: its elements, or some of its type and shape where only a run knows them.
    """

    attributes: tuple[tuple[str, Any], ...] = ()
    position: int = -1
    name: str = ""
    array: Any = None
    at_run_time: bool = False

    @property
    def counts_from_behind(self) -> bool:
        """Whether it is an axis below 0, or a list with one."""
        return any(
            is_along_axes(name) and isinstance(n, int) and n < 0
            for name, value in self.attributes
            for n in (value if isinstance(value, tuple) else (value,))
        )

    def advice(self, *, by_law: bool) -> str:
        """What the author may have forgotten of the node.

        Args:
            by_law: what was read is right, and what the law makes of it is not.
        """
        if self.position >= 0:
            return (
                f"`{self.name}` may be there: let the reader answer None where the term does not hold it"
                f" (`if node.has({self.position}): return None`)"
            )
        ((name, _),) = self.attributes
        if self.counts_from_behind:
            return (
                f"`{name}` may be counted from behind: let the reader answer it counted from the front"
                " (`axis % node.fact(0).rank`), or None"
            )
        if by_law:
            return f"ask for `{name}` in a condition, or let the reader answer None where the law is wrong"
        return (
            f"let the term hold `{name}`, and the form write it, or the reader answer None for other values"
        )


def changes_of(model: onnx.ModelProto, node: onnx.NodeProto) -> Iterator[NodeChange]:
    """What a node may have instead of what it has; inputs first, then axes."""
    opset = next(entry.version for entry in model.opset_import if entry.domain == "")
    schema = defs.get_schema(node.op_type, opset, "")
    known = _types_of(model)
    yield from _inputs(schema, node, known, clips=opset >= CLIP_OF_INTEGERS)
    rank = len(known.get(node.input[0], (0, ()))[1]) if node.input else 0
    given = {entry.name: plain(helper.get_attribute_value(entry)) for entry in node.attribute}
    for name in sorted(schema.attributes, key=lambda name: not is_along_axes(name)):
        for value in other_values(schema, name, given.get(name), rank):
            yield NodeChange(((name, value),))
        if name in given and not schema.attributes[name].required:
            yield NodeChange(((name, None),))
    left_out = {name: default_of(schema, name) for name in schema.attributes if name not in given}
    yield from (NodeChange(((name, value),)) for name, value in left_out.items() if value is not None)


def changed(model: onnx.ModelProto, places: Sequence[int], change: NodeChange) -> onnx.ModelProto:
    """A model with a change of the nodes at some places; types of what it computes are those that ONNX
    infers.

    Raises:
        Exception: ONNX's inference finds it wrong; its errors share no base class.
    """
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for place in places:
        _change(made.graph.node[place], change)
    if change.position >= 0:
        _add_input(made.graph, change)
    del made.graph.value_info[:]
    for value in made.graph.output:
        value.ClearField("type")
    inferred = onnx.shape_inference.infer_shapes(made, check_type=True, strict_mode=True, data_prop=True)
    for before, value in zip(made.graph.output, inferred.graph.output, strict=True):
        inferred_type = value.type.tensor_type
        before.type.tensor_type.elem_type = inferred_type.elem_type
        for _ in inferred_type.shape.dim:
            before.type.tensor_type.shape.dim.add()
    return made


def node_text(model: onnx.ModelProto, node: onnx.NodeProto) -> str:
    """A node as one reads it: Trilu(x0, k, upper=1)."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    inputs = []
    for name in node.input:
        tensor = constants.get(name)
        small = tensor is not None and not tensor.dims
        inputs.append(f"{name} = {numpy_helper.to_array(tensor).item()}" if small else name or "-")  # type: ignore[arg-type]
    attributes = (f"{a.name}={plain(helper.get_attribute_value(a))!r}" for a in node.attribute)
    return f"{node.op_type}({', '.join((*inputs, *attributes))})"


def _change(node: onnx.NodeProto, change: NodeChange) -> None:
    for name, value in change.attributes:
        kept = [entry for entry in node.attribute if entry.name != name]
        del node.attribute[:]
        node.attribute.extend(kept)
        if value is not None:
            node.attribute.append(helper.make_attribute(name, value))
    if change.position >= 0:
        node.input.extend([""] * (change.position + 1 - len(node.input)))
        node.input[change.position] = change.name


def _add_input(graph: onnx.GraphProto, change: NodeChange) -> None:
    tensor = numpy_helper.from_array(change.array, change.name)
    if not change.at_run_time:
        graph.initializer.append(tensor)
        return
    counted = tensor.data_type in COUNTED
    name = f"{change.name}_given" if counted else change.name
    graph.input.append(helper.make_tensor_value_info(name, tensor.data_type, change.array.shape))
    if counted:
        bounds = [f"{change.name}_{end}" for end in ("least", "most")]
        for bound, number in zip(bounds, (LEAST, MOST), strict=True):
            graph.initializer.append(numpy_helper.from_array(np.array(number, change.array.dtype), bound))
        graph.node.insert(0, helper.make_node("Clip", [name, *bounds], [change.name]))


def _types_of(model: onnx.ModelProto) -> dict[str, tuple[int, Shape]]:
    """The element types and shapes of values, as far as a model says them."""
    graph = model.graph
    found: dict[str, tuple[int, Shape]] = {t.name: (t.data_type, tuple(t.dims)) for t in graph.initializer}
    for value in (*graph.input, *graph.output, *graph.value_info):
        tensor = value.type.tensor_type
        dims = (d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim)
        found[value.name] = tensor.elem_type, tuple(dims)
    return found


def _inputs(
    schema: defs.OpSchema, node: onnx.NodeProto, known: Mapping[str, tuple[int, Shape]], *, clips: bool
) -> Iterator[NodeChange]:
    """Each optional input that is not there, as a constant and as what only a run knows."""
    given = dict(enumerate(node.input))
    bound = {
        schema.inputs[k].type_str: known[name][0]
        for k, name in given.items()
        if k < len(schema.inputs) and name in known
    }
    shape = known.get(node.input[0], (0, ()))[1] if node.input else ()
    for position, formal in enumerate(schema.inputs):
        if given.get(position) or formal.option != defs.OpSchema.FormalParameterOption.Optional:
            continue
        types = [t for t in PREFERRED if TYPE_NAMES[t] in formal.types]
        for dtype in [bound[formal.type_str]] if formal.type_str in bound else types[:2]:
            name = formal.name if formal.name not in known else f"{formal.name}_added"
            later = set[tuple[int, ...]]()
            for array in _arrays(dtype, shape):
                yield NodeChange(position=position, name=name, array=array)
                if array.shape not in later and (clips or dtype not in COUNTED):
                    later.add(array.shape)
                    yield NodeChange(position=position, name=name, array=array, at_run_time=True)


def _arrays(dtype: int, shape: Shape) -> list[Array]:
    """Small arrays of a type: a number, and rows and masks as long as the first operand is."""
    kind = helper.tensor_dtype_to_np_dtype(dtype)
    sizes = [d for d in shape if d]
    shapes: list[tuple[int, ...]] = [(), (1,), *((d,) for d in reversed(sizes))]
    if sizes and len(sizes) == len(shape):
        shapes += [tuple(sizes[-2:]), tuple(sizes)]
    found = [_array(kind, dims) for dims in dict.fromkeys(shapes)]
    if dtype in COUNTED:
        found += [np.full(dims, number, kind) for number in (-1, 2) for dims in ((), (1,))]
    return found[:ADDED]


def _array(kind: np.dtype[Any], dims: tuple[int, ...]) -> Array:
    """No element is 0 but those of a mask, and few are equal."""
    count = int(np.prod(dims))
    places = np.arange(count).reshape(dims)
    if kind.kind == "b":
        return np.asarray(places % 2 == 0)
    return np.asarray(places % 3 + 1 if kind.kind in "iu" else 0.5 + 0.25 * (places % 5)).astype(kind)
