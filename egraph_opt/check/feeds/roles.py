"""What the elements of a graph's inputs are for: values, or indices, counts and divisors, which few numbers
suit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import onnx
from onnx import numpy_helper

from egraph_opt.facts.dtypes import ALL_FLOATS, INTEGERS
from egraph_opt.inference.elementwise import COMPARISONS
from egraph_opt.inference.numbers import integer_range
from egraph_opt.model.element_types import without_shapes

Role = Literal["value", "index", "count", "view", "divisor", "shift"]

_SECOND: Mapping[Role, str] = {
    "index": "Gather GatherElements GatherND ScatterElements ScatterND CumSum Unsqueeze Squeeze Trilu",
    "view": "Reshape",
    "count": "Expand Tile TopK Split OneHot",
    "shift": "BitShift",
    "divisor": "Div Mod",
}
"""What the second operand of an operator is, where it is no value."""

_ROLES: Mapping[str, Mapping[int, Role]] = {
    **{name: {1: role} for role, names in _SECOND.items() for name in names.split()},
    "Slice": {1: "index", 2: "index", 3: "index", 4: "count"},
    "Pad": {1: "count", 3: "index"},
    "Resize": {1: "count", 2: "count", 3: "count"},
    "ConstantOfShape": {0: "count"},
    "Range": {0: "count", 1: "count", 2: "count"},
}


MOST_COUNTED = 2**24 + 1
"""What a constant counts at most."""


def roles_of(model: onnx.ModelProto) -> dict[str, Role]:
    """The role of every graph input, through whatever is computed of it."""
    found = _special_roles(model)
    return {value.name: found.get(value.name, "value") for value in model.graph.input}


def counts_too_far(model: onnx.ModelProto) -> bool:
    """Whether something may be as long as a large constant says, such as a range from a number known later to
    2^40, for which a machine has no memory."""
    found = _special_roles(model)
    counts = (
        a for name, a in _constants(model).items() if found.get(name) == "count" and a.dtype.kind in "iu"
    )
    return any(bool((np.abs(array.astype(np.float64)) > MOST_COUNTED).any()) for array in counts)


def _special_roles(model: onnx.ModelProto) -> dict[str, Role]:
    """What tensors are for, where they are no values."""
    found: dict[str, Role] = {}
    for node in reversed(model.graph.node):
        passed = next((found[name] for name in node.output if name in found), None)
        if node.op_type == "Clip" and passed == "index":
            passed = "value"  # bounds see to it that it is one
        for position, name in enumerate(node.input):
            role = _ROLES.get(node.op_type, {}).get(position, passed)
            if role is not None and found.get(name) != "divisor":
                found[name] = role
    return found


ORDINARY = (1e-3, 1e4)
"""Divisors and summands of ordinary size, beside which inputs are made."""

DIVIDED, ADDING = frozenset({"Div", "Mod"}), frozenset({"Add", "Sub"})
"""Operators of which one operand is a divisor, and a summand."""

DIVIDING = frozenset({"Div", "Mod", "ReduceMean", "Mean"})


def divides_integers(model: onnx.ModelProto) -> bool:
    """Whether integers are divided by something that is computed, or by a constant that holds 0 or -1.

    Kernels end the process where the divisor is 0, as is the length of nothing of which a mean is taken, or
    where it is -1 of the least integer; the reference does not.
    """
    if not any(node.op_type in DIVIDING for node in model.graph.node):
        return False
    types = element_types(model)
    divided = [node for node in model.graph.node if node.op_type in DIVIDING and not _is_float(node, types)]
    return any(len(node.input) < 2 or node.op_type not in ("Div", "Mod") for node in divided) or any(
        _is_dangerous(model, node.input[1]) for node in divided
    )


def constants_of(model: onnx.ModelProto, operators: frozenset[str]) -> frozenset[float]:
    """Operands of some operators that are constants, all of one number."""
    constants = _constants(model)
    read = (name for n in model.graph.node if n.op_type in operators for name in n.input[-2:])
    numbers = _numbers_throughout(constants[name] for name in read if name in constants)
    return frozenset(n for n in numbers if ORDINARY[0] <= abs(n) <= ORDINARY[1])


def compared_with(model: onnx.ModelProto) -> frozenset[float]:
    """The numbers that constants of a model are throughout, where anything is compared in it."""
    if not any(node.op_type in COMPARISONS for node in model.graph.node):
        return frozenset()
    return _numbers_throughout(_constants(model).values())


def numbers_by_name(model: onnx.ModelProto) -> dict[str, float]:
    """The finite number that a constant of floats is throughout, by its name."""
    floats = {name: array for name, array in _constants(model).items() if array.dtype.kind == "f"}
    found = {name: _numbers_throughout((array,)) for name, array in floats.items()}
    return {name: next(iter(numbers)) for name, numbers in found.items() if numbers}


def _numbers_throughout(arrays: Iterable[np.ndarray[Any, Any]]) -> frozenset[float]:
    """The finite numbers that some arrays have in every element."""
    found = (array.ravel() for array in arrays if array.size and array.dtype.kind in "iuf")
    numbers = (float(array[0]) for array in found if (array == array[0]).all())
    return frozenset(filter(np.isfinite, numbers))


def _is_float(node: onnx.NodeProto, types: Mapping[str, int]) -> bool:
    return types.get(node.input[0]) in ALL_FLOATS or types.get(node.output[0]) in ALL_FLOATS


def _is_dangerous(model: onnx.ModelProto, name: str) -> bool:
    constants = _constants(model)
    if name in constants:
        return bool(np.isin(constants[name], (0, -1)).any())
    return name not in {value.name for value in model.graph.input}


def _constants(model: onnx.ModelProto) -> dict[str, np.ndarray[Any, Any]]:
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].HasField("t"):
            constants[node.output[0]] = node.attribute[0].t
    return {name: numpy_helper.to_array(tensor) for name, tensor in constants.items()}


def element_types(model: onnx.ModelProto) -> dict[str, int]:
    """The element types of a model's values, as ONNX infers them."""
    inferred = onnx.shape_inference.infer_shapes(without_shapes(model))
    graph = inferred.graph
    found = {v.name: v.type.tensor_type.elem_type for v in (*graph.input, *graph.value_info, *graph.output)}
    return found | {tensor.name: tensor.data_type for tensor in graph.initializer}


NO_LARGER = frozenset(
    "Cast Ceil Floor Identity Max Min Relu Reshape Round Slice Squeeze Transpose Unsqueeze".split()
)
"""Operators whose results are no larger than their operands."""

LARGEST_HALF = 65_000

LARGEST_CAST = 127
"""Floats are not larger where something that is computed from them is cast to integers."""


def cast_range(model: onnx.ModelProto, *, adds: bool) -> tuple[float, float]:
    """The floats that may go into a model: what is beyond the range of a type that it is cast to becomes
    anything.

    Args:
        adds: the model adds numbers up, of which infinite ones make no number.  Onnxruntime leaves out casts
            to float16 and back between some nodes and not others, and numbers are infinite or not by that.
    """
    given, low, high = {value.name for value in model.graph.input}, -np.inf, np.inf
    halves = set[str]()
    for node in model.graph.node:
        if node.op_type in NO_LARGER and all(name in given for name in node.input if name):
            given.update(node.output)
        to = next((a.i for a in node.attribute if a.name == "to"), 0) if node.op_type == "Cast" else 0
        if to == onnx.TensorProto.FLOAT16:
            halves.update(node.output)
            if adds and node.input[0] in given:  # 0 * infinity, where the cast is not left out
                low, high = max(low, -LARGEST_HALF), min(high, LARGEST_HALF)
        if to in INTEGERS:
            least, most = integer_range(to)
            if halves:  # an infinite one becomes anything
                least, most = max(least, -LARGEST_HALF), min(most, LARGEST_HALF)
            if node.input[0] not in given:
                least, most = max(least, -LARGEST_CAST), min(most, LARGEST_CAST)
            low, high = max(low, least), min(high, most - (most >> 20))  # floats round
    return float(low), float(high)
