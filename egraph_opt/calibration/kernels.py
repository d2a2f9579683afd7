"""Kernels of a profile as nodes that a cost model prices.

A profile has shapes and no attributes: what follows from the shapes is worked out (the permutation of a
Transpose, the strides of a convolution, which operand of a product is transposed), and a kernel whose price
would depend on more is left out, unless the model that ran is there (`matching`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import permutations

from egraph_opt.calibration.kernel_types import operator_of
from egraph_opt.calibration.products import convolution, product
from egraph_opt.calibration.profiles import ProfileRow
from egraph_opt.calibration.tensors import Dims, KernelTensor, elements
from egraph_opt.calibration.unusable import UnusableError
from egraph_opt.cost.model import KERNEL_DOMAIN, NodeView
from egraph_opt.facts.fact import Fact

MOST_AXES = 6
"""Permutations of more axes than these are not gone through."""

Tensors = tuple[KernelTensor, ...]


def view_of(row: ProfileRow) -> NodeView:
    """The node of a kernel, from its type and its shapes alone.

    Raises:
        UnusableError: the type is not known, the shapes are not, or do not say enough.
    """
    found = operator_of(row.type)
    if found is None:
        raise UnusableError(f"unknown type {row.type}")
    if row.inputs is None or row.outputs is None or not row.outputs:
        raise UnusableError("no shapes")
    if any(0 in tensor.stored for tensor in (*row.inputs, *row.outputs)):
        raise UnusableError("an operand without elements")
    family, op = found
    return _READERS[family](op, row.type, row.inputs, row.outputs)


def node(
    op: str, inputs: tuple[Fact | None, ...], outputs: tuple[Fact, ...], /, **attributes: object
) -> NodeView:
    """A node of ONNX's own operators."""
    return NodeView(op, "", attributes, inputs, outputs)


def _plain(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    return node(op, _facts(inputs), _facts(outputs))


def _with_scalar(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    if not inputs:
        raise UnusableError("no operand")
    scalar = Fact(inputs[0].dtype, (), const=True)
    return node(op, (*_facts(inputs[:1]), scalar), _facts(outputs))


def _normalization(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    parameters = tuple(tensor.fact(const=True) for tensor in inputs[1:])
    return node(op, (*_facts(inputs[:1]), *parameters), _facts(outputs))


def _move(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    facts = tuple(Fact(tensor.dtype, tensor.stored) for tensor in inputs)
    results = tuple(Fact(tensor.dtype, tensor.stored) for tensor in outputs)
    if op != "Gather":
        return node(op, facts, results)
    if len(inputs) < 2:
        raise UnusableError("a Gather without indices")
    data, indices, out = inputs[0].stored, inputs[1].stored, outputs[0].stored
    axes = [k for k in range(len(data)) if (*data[:k], *indices, *data[k + 1 :]) == out]
    if not axes:
        raise UnusableError("the axis of a Gather does not follow from its shapes")
    return node(op, facts[:2], results, axis=axes[0])


def _transpose(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    before, after = inputs[0].stored, outputs[0].stored
    perms = _permutations(before, after)
    if not perms:
        raise UnusableError("the permutation of a Transpose does not follow from its shapes")
    last = {perm[-1] == len(perm) - 1 for perm in perms}
    if len(last) > 1:
        raise UnusableError("several permutations of a Transpose have these shapes")
    return node(op, (inputs[0].raw,), (outputs[0].raw,), perm=perms[0])


def _permutations(before: Dims, after: Dims) -> list[tuple[int, ...]]:
    """Those that make one shape of the other, but for the one that moves nothing."""
    if len(before) > MOST_AXES or sorted(before) != sorted(after):
        return []
    axes = range(len(before))
    return [p for p in permutations(axes) if tuple(before[k] for k in p) == after and p != tuple(axes)]


def _pool(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    raise UnusableError("a pool, whose window no profile has: give the model")


def _conversion(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    """Between formats: of the two ways to store it the smaller one is the plain one."""
    if not inputs:
        raise UnusableError("no operand")
    plain, padded = sorted((inputs[0], outputs[0]), key=lambda tensor: elements(tensor.stored))
    return NodeView(op, KERNEL_DOMAIN, {}, (plain.raw,), (padded.raw,))


def _facts(tensors: Tensors) -> tuple[Fact, ...]:
    return tuple(tensor.fact() for tensor in tensors)


_READERS: Mapping[str, Callable[[str, str, Tensors, Tensors], NodeView]] = {
    "elementwise": _plain,
    "scalar": _with_scalar,
    "normalization": _normalization,
    "reduction": _plain,
    "move": _move,
    "product": product,
    "convolution": convolution,
    "pool": _pool,
    "transpose": _transpose,
    "conversion": _conversion,
}
