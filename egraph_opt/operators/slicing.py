"""Operators that take parts of tensors and put parts together: slice, concat, split, gather."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import CLASH, Dim, Fact
from egraph_opt.inference.float_ranges import confined, interval_of
from egraph_opt.inference.ranges import narrowed, range_of
from egraph_opt.operators.declaration import Literal, OnnxForm, TermSpec, ints, lowers, operator
from egraph_opt.operators.expressions import Bundle, Tensor, Tensors
from egraph_opt.operators.sorts import Axes, Axis, Sizes, Slices, Steps

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader


BEYOND_ALL = (2**31 - 1, 2**63 - 1)
"""Ends of which a Slice downwards takes nothing by the words of the standard, and all in onnxruntime: such a
node stays as it is written."""


def normal_slice(dim: Dim, start: int, end: int, step: int) -> tuple[int, int | None, int] | None:
    """Bounds as ONNX reads them, in one form; None where it depends on a dim that is not a number.

    With a known dim both bounds lie within it.  Otherwise a start of 0 or more, or a negative one (from the
    end), and an end likewise or None (to the end).  Downwards (negative step) an end of None is the front.
    """
    if step < 0 and end in BEYOND_ALL:
        return None
    huge = 10**9  # as in `inference.slicing`
    if isinstance(dim, int):
        start, end = (v + dim if v < 0 else v for v in (start, end))
        if step > 0:
            start = min(max(start, 0), dim)
            return start, max(min(max(end, 0), dim), start), step
        start, end = min(max(start, 0), dim - 1), min(max(end, -1), dim - 1)
        return (start, None if end < 0 else end, step) if dim > 0 else None
    if step < 0:
        return _backwards(dim, start, None if end <= -huge else end, step)
    return start, (None if end >= huge else end), step


def _backwards(dim: Dim, start: int, end: int | None, step: int) -> tuple[int, int | None, int] | None:
    """A slice downwards of a dim that is no number: of all, or where both bounds are known to be within."""
    if (start, end, step) == (-1, None, -1):
        return start, end, step
    within = [start + 1 if start >= 0 else -start, 0 if end is None or end >= 0 else -1 - end]
    return (start, end, step) if symbolic.is_at_least(dim, max(within)) else None


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
def slice_(x: Tensor, spec: Slices) -> Tensor:
    """x[start:end:step] along axes; `spec` is a tuple of (axis, start, end or None, step) sorted by axis."""


def _slice_at_form(opset: int, attributes: tuple[Any, Any], facts: tuple[Fact, ...]) -> OnnxForm | None:
    """Bounds, axes and steps are of one type, the one that the bounds have."""
    given = attributes if set(attributes[1]) != {1} else attributes[:1]
    constants = (Literal(facts[1].dtype, (len(values),), values) for values in given)
    return OnnxForm("Slice", (0, 1, 2, *constants)) if opset >= 10 else None


@operator(form=_slice_at_form)
def slice_at(x: Tensor, starts: Tensor, ends: Tensor, axes: Axes, steps: Steps) -> Tensor:
    """x[start:end:step] along axes, the bounds being computed at run time."""


def _known_ends(
    x: Fact, ends: Fact, starts: tuple[int, ...] | None, given: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    """The ends as numbers; one that is the whole dim of x, whatever that is, is written as far away."""
    if ends.ints is not None or ends.value is None or x.shape is None or starts is None:
        return ends.ints
    axes = range(len(starts)) if given is None else given
    numbers: list[int] = []
    for axis, start, end in zip(axes, starts, ends.value, strict=True):
        if not isinstance(end, int) and (start < 0 or not symbolic.known_equal(end, x.shape[axis])):
            return None
        numbers.append(end if isinstance(end, int) else 2**63 - 1)
    return tuple(numbers)


@lowers("Slice")
def _lower_slice(node: NodeReader) -> TermSpec | None:
    x = node.fact(0)
    read: tuple[int, ...] = ()
    if node.opset < 10:
        starts, ends, given = (node.attribute(name) for name in ("starts", "ends", "axes"))
        steps: tuple[int, ...] | None = None
    else:
        read = tuple(k for k in range(1, node.count) if node.has(k))
        starts, given, steps = (node.ints(k) for k in (1, 3, 4))
        if any(node.ints(k) is None for k in read if k > 2):
            return None
        if starts is None:
            return _computed(node, given, steps)
        ends = _known_ends(x, node.fact(2), starts, given)
    if x.shape is None or starts is None:
        return None
    if ends is None:
        return None if node.opset < 10 else _computed(node, given, steps)
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


def _computed(
    node: NodeReader, given: tuple[int, ...] | None, steps: tuple[int, ...] | None
) -> TermSpec | None:
    """A Slice with bounds that are computed, along axes in ascending order."""
    x, starts = node.fact(0), node.fact(1)
    count = starts.shape[0] if starts.shape else None
    if x.shape is None or not isinstance(count, int) or count == 0:
        return None
    axes = tuple(range(count)) if given is None else tuple(a % len(x.shape) for a in given)
    if len(axes) != count or list(axes) != sorted(set(axes)):
        return None
    read = tuple(k for k in (3, 4) if k < node.count and node.has(k))
    return TermSpec("slice_at", (axes, (1,) * count if steps is None else steps), (0, 1, 2), read)


def _concat_form(opset: int, attributes: tuple[int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Concat", tuple(range(len(facts))), (("axis", attributes[0]),)) if facts else None


@operator(form=_concat_form)
def concat(xs: Tensors, axis: Axis) -> Tensor:
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
    parts = (Fact(x.dtype, shape, x.const, None, x.splat) for shape in shapes)
    return tuple(confined(narrowed(part, range_of(x)), interval_of(x)) for part in parts)


@operator(form=_split_form, infer=_infer_split)
def split(x: Tensor, axis: Axis, sizes: Sizes) -> Bundle:
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


def _gather_form(opset: int, attributes: tuple[int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("Gather", (0, 1), (("axis", attributes[0]),))


@operator(form=_gather_form)
def gather(x: Tensor, indices: Tensor, axis: Axis) -> Tensor:
    """The slices of x at `indices` along an axis (0 or more)."""


@lowers("Gather")
def _lower_gather(node: NodeReader) -> TermSpec | None:
    rank = node.fact(0).rank
    return None if rank is None else TermSpec("gather", (node.attribute("axis") % rank,), (0, 1))
