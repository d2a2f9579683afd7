"""Operators that keep all elements: transpose, and reshape with Squeeze, Unsqueeze and Flatten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import CLASH, Dim, Fact, Shape
from egraph_opt.inference.float_ranges import confined, interval_of
from egraph_opt.inference.ranges import narrowed, range_of
from egraph_opt.operators.declaration import OnnxForm, TermSpec, ints, lowers, operator
from egraph_opt.operators.expressions import Tensor
from egraph_opt.operators.sorts import Dims, Flag, Permutation

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader


def _transpose_form(opset: int, attributes: tuple[Any, ...], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Transpose", (0,), (("perm", attributes[0]),))


@operator(form=_transpose_form)
def transpose(x: Tensor, perm: Permutation) -> Tensor:
    """Axis i of the result is axis perm[i] of x."""


@lowers("Transpose")
def _lower_transpose(node: NodeReader) -> TermSpec | None:
    perm, rank = node.attribute("perm"), node.fact(0).rank
    if perm is None:
        if rank is None:
            return None
        perm = tuple(reversed(range(rank)))
    return TermSpec("transpose", (tuple(perm),), (0,))


def inserted_axes(short: Shape, long: Shape) -> tuple[int, ...] | None:
    """Axes of `long` that, taken away (each is 1), leave `short`; None if there are none such."""
    axes, k = [], 0
    for axis, dim in enumerate(long):
        if k < len(short) and symbolic.known_equal(short[k], dim):
            k += 1
        elif dim == 1:
            axes.append(axis)
        else:
            return None
    return tuple(axes) if k == len(short) else None


def reshape_target(source: Shape, dims: Shape) -> tuple[int, ...] | None:
    """The operand of Reshape, with 0 (copy) and -1 (infer), that makes `source` `dims`; None if none does.

    A dim of 0 is the copy of one, or the only one that is inferred: nothing is inferred beside a 0.
    """
    target: list[int] = []
    inferred = 0
    for axis, dim in enumerate(dims):
        if isinstance(dim, int) and dim != 0:
            target.append(dim)
        elif axis < len(source) and symbolic.known_equal(source[axis], dim):
            target.append(0)
        else:
            target.append(-1)
            inferred += 1
    if inferred == 0:
        return tuple(target)
    beside = [dim for dim, written in zip(dims, target, strict=True) if written != -1]
    alone = 0 not in beside and (0 not in dims or all(isinstance(dim, int) for dim in beside))
    return tuple(target) if inferred == 1 and alone else None


def bears_zero(target: Sequence[int], dims: Shape) -> bool:
    """No dim is inferred beside one that is copied, which fails where that is 0."""
    copied = (dim for dim, written in zip(dims, target, strict=True) if written == 0)
    return -1 not in target or all(symbolic.is_at_least(dim, 1) for dim in copied)


def flattened_axis(source: Shape, dims: Shape) -> int | None:
    """The axis of a Flatten that makes `source` `dims`, whatever its dims are; None if none does."""
    if len(dims) != 2:
        return None
    for axis in range(len(source) + 1):
        whole = (symbolic.product(source[:axis]), symbolic.product(source[axis:]))
        if all(map(symbolic.known_equal, whole, dims)):
            return axis
    return None


def in_place(source: Shape, dims: Shape, inferred: int | None) -> Shape | None:
    """`dims` with axes of 1 so that all that are copied, but for an inferred one, stand where x has them."""
    placed: list[Dim] = []
    for k, dim in enumerate(dims):
        if (not isinstance(dim, int) or dim == 0) and k != inferred:
            at = next(
                (a for a in range(len(placed), len(source)) if symbolic.known_equal(source[a], dim)), None
            )
            if at is None:
                return None
            placed.extend([1] * (at - len(placed)))
        placed.append(dim)
    return tuple(placed)


def refuses(source: Shape, dims: Shape, *, flattens: bool = True) -> frozenset[str]:
    """What may not be 0 for the node that makes `source` `dims`: symbols, or dims, beside an inferred one.

    >>> sorted(refuses(("N", 3, "L"), ("N", "3*L"))), sorted(refuses(("N", 3, 4, "L"), ("N", 3, "4*L")))
    ([], ['N'])

    Args:
        flattens: a Flatten takes the type.
    """
    short, long = sorted((source, dims), key=len)
    if len(short) < len(long) and inserted_axes(short, long) is not None:
        return frozenset()
    target = reshape_target(source, dims)
    if target is None or bears_zero(target, dims) or (flattens and flattened_axis(source, dims) is not None):
        return frozenset()
    return zeros_of(dim for dim, written in zip(dims, target, strict=True) if written != -1)


def zeros_of(dims: Iterable[Dim]) -> frozenset[str]:
    """What makes one of these dims 0 where it is: the symbols of a product, or a dim as it is."""
    found: set[str] = set()
    for dim in dims:
        if isinstance(dim, str) and not symbolic.is_at_least(dim, 1):
            names = {symbolic.symbol(name) for name in symbolic.symbols(dim)}
            factors = all(symbolic.exact_div(dim, name) is not None for name in names)
            found |= names if factors else {dim}
    return frozenset(found)


def by_way_of(source: Shape, dims: Shape, *, flattens: bool = True) -> Shape | None:
    """The dims between, if two nodes bear dims of 0 and the one there is does not.

    Axes of 1 bring copies in place.

    >>> by_way_of(("N", 4, "L"), ("N", 2, 2, "L"))
    ('N', 4, 1, 'L')
    """
    refused = partial(refuses, flattens=flattens)
    if None in source or None in dims or not refused(source, dims):
        return None
    for between in (in_place(source, dims, None), in_place(dims, source, None)):
        ends = () if between is None else ((source, between), (between, dims))
        if ends and all(is_one_node(*end, flattens=flattens) and not refused(*end) for end in ends):
            return between
    return None


def is_one_node(source: Shape, dims: Shape, *, flattens: bool = True) -> bool:
    """One node makes `source` `dims`, whichever it is, if not all dims are numbers."""
    short, long = sorted((source, dims), key=len)
    if len(short) < len(long) and inserted_axes(short, long) is not None:
        return True
    return reshape_target(source, dims) is not None or (flattens and flattened_axis(source, dims) is not None)


def _axes_form(op_type: str, axes: tuple[int, ...], opset: int) -> OnnxForm:
    if opset < 13:
        return OnnxForm(op_type, (0,), (("axes", axes),))
    return OnnxForm(op_type, (0, ints(axes)))


def has_flatten(opset: int, dtype: int) -> bool:
    """Whether a Flatten takes this type: before opset 9 floats, before 13 no bfloat16."""
    if opset < 9:
        return dtype in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
    return opset >= 13 or dtype != TensorProto.BFLOAT16


def _reshape_form(opset: int, attributes: tuple[Shape], facts: tuple[Fact, ...]) -> OnnxForm | None:
    dims, source = attributes[0], facts[0].shape
    if source is None:
        return None
    if len(dims) > len(source) and (axes := inserted_axes(source, dims)) is not None:
        return _axes_form("Unsqueeze", axes, opset)
    if len(dims) < len(source) and (axes := inserted_axes(dims, source)) is not None:
        return _axes_form("Squeeze", axes, opset)
    target = reshape_target(source, dims)
    if target is None or not bears_zero(target, dims):
        axis = flattened_axis(source, dims)
        if axis is not None and has_flatten(opset, facts[0].dtype):
            return OnnxForm("Flatten", (0,), (("axis", axis),))
    if target is None:
        if opset >= 14 and all(isinstance(d, int) for d in dims):
            return OnnxForm("Reshape", (0, ints(dims)), (("allowzero", 1),))  # type: ignore[arg-type]
        return None
    return OnnxForm("Reshape", (0, ints(target)))


def _infer_reshape(opset: int, attributes: tuple[Shape], facts: tuple[Fact, ...]) -> Fact:
    (dims,), (x,) = attributes, facts
    before = symbolic.product(x.shape) if x.shape is not None else None
    after = symbolic.product(dims)
    if isinstance(before, int) and isinstance(after, int) and before != after:
        return CLASH
    view = Fact(x.dtype, dims, x.const, x.value if len(dims) <= 1 else None, x.splat)
    return confined(narrowed(view, range_of(x)), interval_of(x))


@operator(form=_reshape_form, infer=_infer_reshape)
def reshape(x: Tensor, dims: Dims) -> Tensor:
    """The elements of x in row-major order with the dims given, all known as numbers or expressions.

    Squeeze, Unsqueeze and Flatten are this operator too; which one is written follows from the dims.
    """


def _reshape_to_form(opset: int, attributes: tuple[int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Reshape", (0, 1), (("allowzero", attributes[0]),) if opset >= 14 else ())


@operator(form=_reshape_to_form)
def reshape_to(x: Tensor, target: Tensor, allowzero: Flag) -> Tensor:
    """Reshape with a target that is computed at run time."""


def _without_elements(node: NodeReader) -> TermSpec | None:
    """A result that has dims of 0, as one or two Reshapes to known dims, however they are computed.

    Where all computed dims but one are numbers in the end, onnxruntime infers that one, which fails beside 0.
    """
    source, dims = node.fact(0).shape, node.out(0).shape
    if source is None or dims is None or 0 not in dims:
        return None
    if _is_one_node(node.opset, source, dims):
        return TermSpec("reshape", (dims,), (0,), (1,))
    between = in_place(source, dims, None)
    if between is None or not _is_one_node(node.opset, source, between):
        return None
    if not _is_one_node(node.opset, between, dims):
        return None
    return TermSpec("reshape", (dims,), (TermSpec("reshape", (between,), (0,)),), (1,))


def _is_one_node(opset: int, source: Shape, dims: Shape) -> bool:
    return _reshape_form(opset, (dims,), (Fact(shape=source),)) is not None


@lowers("Reshape", "Squeeze", "Unsqueeze", "Flatten")
def _lower_reshape(node: NodeReader) -> TermSpec | None:
    read = (1,) if node.count > 1 else ()
    known = node.fact(0).is_symbolic and node.out(0).is_symbolic
    if known and not (read and node.ints(1) is None):
        return TermSpec("reshape", (node.out(0).shape,), (0,), read)
    if known and (spec := _without_elements(node)) is not None:
        return spec
    if node.op_type == "Reshape":
        return TermSpec("reshape_to", (node.attribute("allowzero") or 0,), (0, 1))
    return None
