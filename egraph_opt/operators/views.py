"""Operators that move data: reshape (Squeeze, Unsqueeze, Flatten), transpose, slice, concat, split, ..."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from egglog import PyObject
from onnx import TensorProto

from egraph_opt import symbolic
from egraph_opt.operators.declaration import Literal, OnnxForm, TermSpec, lowers, operator
from egraph_opt.terms import Bundle, Tensor, Tensors
from egraph_opt.types import CLASH, Dim, Fact, Shape

if TYPE_CHECKING:
    from egraph_opt.lowering import NodeReader

Slices = tuple[tuple[int, int, int | None, int], ...]


def ints(values: tuple[int, ...]) -> Literal:
    """A constant int64 vector."""
    return Literal(TensorProto.INT64, (len(values),), values or (0,))


# --- transpose ------------------------------------------------------------------------------------------


def _transpose_form(opset: int, attributes: tuple[Any, ...], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Transpose", (0,), (("perm", attributes[0]),))


@operator(form=_transpose_form)
def transpose(x: Tensor, perm: PyObject) -> Tensor:
    """Axis i of the result is axis perm[i] of x."""


@lowers("Transpose")
def _lower_transpose(node: NodeReader) -> TermSpec | None:
    perm, rank = node.attribute("perm"), node.fact(0).rank
    if perm is None:
        if rank is None:
            return None
        perm = tuple(reversed(range(rank)))
    return TermSpec("transpose", (tuple(perm),), (0,))


# --- reshape --------------------------------------------------------------------------------------------


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
    """The operand of Reshape, with 0 (copy) and -1 (infer), that makes `source` `dims`; None if none does."""
    if 0 in dims:
        return None
    target: list[int] = []
    inferred = 0
    for axis, dim in enumerate(dims):
        if isinstance(dim, int):
            target.append(dim)
        elif axis < len(source) and symbolic.known_equal(source[axis], dim):
            target.append(0)
        else:
            target.append(-1)
            inferred += 1
    return tuple(target) if inferred <= 1 else None


def _axes_form(op_type: str, axes: tuple[int, ...], opset: int) -> OnnxForm:
    if opset < 13:
        return OnnxForm(op_type, (0,), (("axes", axes),))
    return OnnxForm(op_type, (0, ints(axes)))


def _reshape_form(opset: int, attributes: tuple[Shape], facts: tuple[Fact, ...]) -> OnnxForm | None:
    dims, source = attributes[0], facts[0].shape
    if source is None:
        return None
    if len(dims) > len(source) and (axes := inserted_axes(source, dims)) is not None:
        return _axes_form("Unsqueeze", axes, opset)
    if len(dims) < len(source) and (axes := inserted_axes(dims, source)) is not None:
        return _axes_form("Squeeze", axes, opset)
    target = reshape_target(source, dims)
    if target is None:
        if 0 in dims and opset >= 14 and all(isinstance(d, int) for d in dims):
            return OnnxForm("Reshape", (0, ints(dims)), (("allowzero", 1),))  # type: ignore[arg-type]
        return None
    return OnnxForm("Reshape", (0, ints(target)))


def _infer_reshape(opset: int, attributes: tuple[Shape], facts: tuple[Fact, ...]) -> Fact:
    (dims,), (x,) = attributes, facts
    before = symbolic.product(x.shape) if x.shape is not None else None
    after = symbolic.product(dims)
    if isinstance(before, int) and isinstance(after, int) and before != after:
        return CLASH
    return Fact(x.dtype, dims, x.const, x.value if len(dims) <= 1 else None, x.splat)


@operator(form=_reshape_form, infer=_infer_reshape)
def reshape(x: Tensor, dims: PyObject) -> Tensor:
    """The elements of x in row-major order with the dims given, all known as numbers or expressions.

    Squeeze, Unsqueeze and Flatten are this operator too; which one is written follows from the dims.
    """


def _reshape_to_form(opset: int, attributes: tuple[int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Reshape", (0, 1), (("allowzero", attributes[0]),) if opset >= 14 else ())


@operator(form=_reshape_to_form)
def reshape_to(x: Tensor, target: Tensor, allowzero: PyObject) -> Tensor:
    """Reshape with a target that is computed at run time."""


@lowers("Reshape", "Squeeze", "Unsqueeze", "Flatten")
def _lower_reshape(node: NodeReader) -> TermSpec | None:
    read = (1,) if node.count > 1 else ()
    known = node.fact(0).is_symbolic and node.out(0).is_symbolic
    if known and not (read and node.ints(1) is None):
        return TermSpec("reshape", (node.out(0).shape,), (0,), read)
    if node.op_type == "Reshape":
        return TermSpec("reshape_to", (node.attribute("allowzero") or 0,), (0, 1))
    return None


# --- slice ----------------------------------------------------------------------------------------------


def normal_slice(dim: Dim, start: int, end: int, step: int) -> tuple[int, int | None, int] | None:
    """Bounds as ONNX reads them, in one form; None where it depends on a dim that is not a number.

    With a known dim both bounds lie within it.  Otherwise a start of 0 or more, or a negative one (from the
    end), and an end likewise or None (to the end).  Downwards (negative step) an end of None is the front.
    """
    huge = 2**31 - 1
    if isinstance(dim, int):
        start, end = (v + dim if v < 0 else v for v in (start, end))
        if step > 0:
            start = min(max(start, 0), dim)
            return start, max(min(max(end, 0), dim), start), step
        start, end = min(max(start, 0), dim - 1), min(max(end, -1), dim - 1)
        return (start, None if end < 0 else end, step) if dim > 0 else None
    if step < 0:
        return None
    return start, (None if end >= huge else end), step


def _slice_form(opset: int, attributes: tuple[Slices], facts: tuple[Fact, ...]) -> OnnxForm | None:
    spec = attributes[0]
    if not spec:
        return OnnxForm("Identity", (0,))
    largest = 2**63 - 1
    axes = tuple(s[0] for s in spec)
    starts = tuple(s[1] for s in spec)
    ends = tuple((largest if s[3] > 0 else -largest) if s[2] is None else s[2] for s in spec)
    steps = tuple(s[3] for s in spec)
    if opset < 10:
        if any(step != 1 for step in steps):
            return None
        return OnnxForm("Slice", (0,), (("axes", axes), ("ends", ends), ("starts", starts)))
    if all(step == 1 for step in steps):
        return OnnxForm("Slice", (0, ints(starts), ints(ends), ints(axes)))
    return OnnxForm("Slice", (0, ints(starts), ints(ends), ints(axes), ints(steps)))


@operator(form=_slice_form)
def slice_(x: Tensor, spec: PyObject) -> Tensor:
    """x[start:end:step] along axes; `spec` is a tuple of (axis, start, end or None, step) sorted by axis."""


@lowers("Slice")
def _lower_slice(node: NodeReader) -> TermSpec | None:
    x = node.fact(0)
    read: tuple[int, ...] = ()
    if node.opset < 10:
        starts, ends, given = (node.attribute(name) for name in ("starts", "ends", "axes"))
        steps: tuple[int, ...] | None = None
    else:
        read = tuple(k for k in range(1, node.count) if node.has(k))
        if any(node.ints(k) is None for k in read):
            return None
        starts, ends, given, steps = (node.ints(k) for k in range(1, 5))
    if x.shape is None or starts is None or ends is None:
        return None
    axes = range(len(starts)) if given is None else [a % len(x.shape) for a in given]
    steps = (1,) * len(starts) if steps is None else steps
    spec = []
    for axis, start, end, step in sorted(zip(axes, starts, ends, steps, strict=True)):
        bounds = normal_slice(x.shape[axis], start, end, step)
        if bounds is None:
            return None
        if bounds not in ((0, None, 1), (0, x.shape[axis], 1)):
            spec.append((axis, *bounds))
    return TermSpec("slice_", (tuple(spec),), (0,), read)


# --- concat, split --------------------------------------------------------------------------------------


def _concat_form(opset: int, attributes: tuple[int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Concat", tuple(range(len(facts))), (("axis", attributes[0]),)) if facts else None


@operator(form=_concat_form)
def concat(xs: Tensors, axis: PyObject) -> Tensor:
    """The operands one after the other along an axis (0 or more)."""


@lowers("Concat")
def _lower_concat(node: NodeReader) -> TermSpec | None:
    axis, rank = node.attribute("axis"), node.fact(0).rank
    if axis < 0:
        if rank is None:
            return None
        axis += rank
    return TermSpec("concat", (axis,), (tuple(range(node.count)),))


def _split_form(
    opset: int, attributes: tuple[int, tuple[int, ...]], facts: tuple[Fact, ...]
) -> OnnxForm | None:
    axis, sizes = attributes
    if opset < 13:
        return OnnxForm("Split", (0,), (("axis", axis), ("split", sizes)))
    return OnnxForm("Split", (0, ints(sizes)), (("axis", axis),))


def _infer_split(
    opset: int, attributes: tuple[int, tuple[int, ...]], facts: tuple[Fact, ...]
) -> tuple[Fact, ...]:
    axis, sizes = attributes
    x = facts[0]
    if x.shape is None or axis >= len(x.shape):
        return tuple(CLASH for _ in sizes)
    dim = x.shape[axis]
    if isinstance(dim, int) and dim != sum(sizes):
        return tuple(CLASH for _ in sizes)
    shapes = [(*x.shape[:axis], size, *x.shape[axis + 1 :]) for size in sizes]
    return tuple(Fact(x.dtype, shape, x.const, None, x.splat) for shape in shapes)


@operator(form=_split_form, infer=_infer_split)
def split(x: Tensor, axis: PyObject, sizes: PyObject) -> Bundle:
    """Consecutive parts of x along an axis, of the sizes given (which sum to the dim)."""


@lowers("Split")
def _lower_split(node: NodeReader) -> TermSpec | None:
    shape = node.fact(0).shape
    if shape is None:
        return None
    axis = (node.attribute("axis") or 0) % len(shape)
    read = (1,) if node.opset >= 13 and node.has(1) else ()
    if read and node.ints(1) is None:
        return None
    sizes = []
    for k in range(node.output_count):
        out = node.out(k)
        if out.shape is None or not isinstance(out.shape[axis], int):
            return None
        sizes.append(out.shape[axis])
    return TermSpec("split", (axis, tuple(sizes)), (0,), read)


# --- gather, expand, pad, shape ---------------------------------------------------------------------------


def _gather_form(opset: int, attributes: tuple[int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Gather", (0, 1), (("axis", attributes[0]),))


@operator(form=_gather_form)
def gather(x: Tensor, indices: Tensor, axis: PyObject) -> Tensor:
    """The slices of x at `indices` along an axis (0 or more)."""


@lowers("Gather")
def _lower_gather(node: NodeReader) -> TermSpec | None:
    rank = node.fact(0).rank
    return None if rank is None else TermSpec("gather", (node.attribute("axis") % rank,), (0, 1))


def _expand_form(opset: int, attributes: tuple[tuple[int, ...]], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Expand", (0, ints(attributes[0]))) if opset >= 8 else None


@operator(form=_expand_form)
def expand(x: Tensor, dims: PyObject) -> Tensor:
    """x broadcast against the dims given, all numbers."""


def _expand_to_form(opset: int, attributes: tuple[()], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Expand", (0, 1)) if opset >= 8 else None


@operator(form=_expand_to_form)
def expand_to(x: Tensor, target: Tensor) -> Tensor:
    """x broadcast against dims that are computed at run time."""


@lowers("Expand")
def _lower_expand(node: NodeReader) -> TermSpec | None:
    dims = node.ints(1)
    return TermSpec("expand_to", (), (0, 1)) if dims is None else TermSpec("expand", (dims,), (0,), (1,))


def _pad_form(opset: int, attributes: tuple[Any, ...], facts: tuple[Fact, ...]) -> OnnxForm | None:
    mode, pads, value = attributes
    if opset < 11:
        settings = (("mode", mode), ("pads", pads), ("value", float(value)))
        return OnnxForm("Pad", (0,), settings)
    if facts[0].dtype <= 0:
        return None
    inputs: tuple[int | Literal | None, ...] = (0, ints(pads))
    if mode == "constant":
        inputs = (*inputs, Literal(facts[0].dtype, (), (value,)))
    return OnnxForm("Pad", inputs, (("mode", mode),))


@operator(form=_pad_form)
def pad(x: Tensor, mode: PyObject, pads: PyObject, value: PyObject) -> Tensor:
    """x with `pads` (all begins, then all ends; 0 or more) elements added at the borders."""


@lowers("Pad")
def _lower_pad(node: NodeReader) -> TermSpec | None:
    rank = node.fact(0).rank
    mode = node.attribute("mode") or "constant"
    value: float | int = 0
    read: tuple[int, ...] = ()
    if node.opset < 11:
        pads, value, axes = node.attribute("pads"), node.attribute("value") or 0.0, None
    else:
        read = tuple(k for k in range(1, node.count) if node.has(k))
        pads, axes = node.ints(1), node.ints(3)
        if node.has(3) and axes is None:
            return None
        if node.has(2):
            fact = node.fact(2)
            if not fact.const or fact.splat is None:
                return None
            value = fact.splat
    if rank is None or pads is None or any(p < 0 for p in pads):
        return None
    if axes is not None:
        full = [0] * (2 * rank)
        for k, axis in enumerate(axes):
            full[axis % rank] = pads[k]
            full[axis % rank + rank] = pads[k + len(axes)]
        pads = tuple(full)
    return TermSpec("pad", (mode, tuple(pads), value), (0,), read)


def _shape_form(opset: int, attributes: tuple[int, int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    start, end = attributes
    if (start, end) == (0, facts[0].rank):
        return OnnxForm("Shape", (0,))
    return OnnxForm("Shape", (0,), (("end", end), ("start", start))) if opset >= 15 else None


@operator(form=_shape_form)
def shape_of(x: Tensor, start: PyObject, end: PyObject) -> Tensor:
    """The dims of x from axis `start` up to `end`, int64."""


@lowers("Shape")
def _lower_shape(node: NodeReader) -> TermSpec | None:
    rank = node.fact(0).rank
    if rank is None:
        return None
    start, end = node.attribute("start") or 0, node.attribute("end")
    end = rank if end is None else end
    start, end = (min(max(v + rank if v < 0 else v, 0), rank) for v in (start, end))
    return TermSpec("shape_of", (start, max(start, end)), (0,))
