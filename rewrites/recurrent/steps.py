"""The last step of a recurrent layer is its state, and a layer on reversed steps is one in reverse.

all steps of RNN(x) at the last one -> last state       step -1 forwards, step 0 in reverse
all steps of RNN(x) -> last state                       where there is one step
halves of the last and the first step -> last states    of both directions
RNN(x[::-1]) = RNN in reverse(x), its steps [::-1]

A layer with lengths has zeros behind the last step of a short sequence; these laws leave it alone.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, eq, hosted, laws_of, rewrite, rule, union
from egraph_opt.laws.sorts import Bundle, Dims, Slices, Tensor, Tensors
from egraph_opt.operators import none, output, recurrent, reshape, slice_, transpose
from egraph_opt.operators.recurrent import GATES, OUTPUTS, RecurrentLayer
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.recurrent.layouts import Layout, layout, layouts
from egraph_opt.rewrites.recurrent.states import example_layer, fixed_steps

law = laws_of("recurrent", numerics="bitwise", serves="traffic")


# --- the last step --------------------------------------------------------------------------------------


def last_of(count: Dim) -> tuple[int, int | None, int]:
    """The bounds of a slice of the last one of so many."""
    return (count - 1, count, 1) if isinstance(count, int) else (-1, None, 1)


def is_last(axes: Layout, spec: Slices, s: RecurrentLayer, v: Fact) -> bool:
    """Whether a slice of all steps takes the last one: step -1, or 0 in reverse."""
    place = axes.find("S")
    if "D" in axes or "X" in axes:
        return False
    if len(spec) != 1 or spec[0][0] != place or axes.index("B") > axes.index("H") or not v.is_symbolic:
        return False
    count, bounds = v.shape[place], spec[0][1:]  # type: ignore[index]
    return bounds == ((0, 1, 1) if s.direction == "reverse" else last_of(count))


@hosted()
def dims_at_end(axes: Layout, spec: Slices, s: RecurrentLayer, v: Fact) -> Dims | None:
    """The dims of a slice of all steps that is the last one; there has to be one."""
    if not is_last(axes, spec, s, v) or not isinstance(v.shape[axes.index("S")], int):  # type: ignore[index]
        return None
    return tuple(1 if name == "S" else dim for name, dim in zip(axes, v.shape or (), strict=True))


@hosted()
def dims_with_a_step(axes: Layout, spec: Slices, s: RecurrentLayer, v: Fact, dims: Dims) -> Dims | None:
    """The dims of a view of the last step that has the elements of one, or fails."""
    if not is_last(axes, spec, s, v):
        return None
    step = [dim for name, dim in zip(axes, v.shape or (), strict=True) if name != "S"]
    return dims if symbolic.known_equal(symbolic.product(dims), symbolic.product(step)) else None


def _lasts(rng: np.random.Generator) -> Iterator[Example]:
    first, last = ((0, 0, 1, 1),), ((0, 4, 5, 1),)
    for kind in GATES:
        g = Operands(rng)
        yield g.fires(slice_(output(example_layer(g, kind, fixed_steps(g, 5)), 0), last))
    g = Operands(rng)
    x = fixed_steps(g, 5)
    steps, back = (output(example_layer(g, "LSTM", x, direction=d), 0) for d in ("forward", "reverse"))
    narrow = reshape(steps, (5, 4, 2))
    turned = transpose(narrow, (1, 0, 2))
    end = slice_(turned, ((1, 4, 5, 1),))
    yield from g.all_fire(slice_(back, first), slice_(narrow, last), end, reshape(end, (8,)))
    yield from g.near_misses(
        (slice_(narrow, first), "it is the first step"),
        (slice_(turned, ((0, 3, 4, 1),)), "it is another axis"),
        (slice_(narrow, ((0, 3, 5, 1),)), "two steps"),
        (slice_(transpose(narrow, (0, 2, 1)), last), "hidden units and batch are exchanged"),
        (slice_(reshape(steps, (5, 8)), last), "axes are joined"),
    )
    g = Operands(rng)
    short = g.constant(np.array([5, 2, 1, 3], np.int32))
    steps = output(example_layer(g, "LSTM", fixed_steps(g, 5), lengths=short), 0)
    yield g.near_miss(slice_(steps, last), why="some are shorter")


@law(kind="eliminate", source="the definition of RNN, GRU, LSTM", examples=_lasts, uses=(layouts,))
def last_step(v: Tensor, z: Tensor, s: RecurrentLayer, x: Tensor, w: Tensors, h: Tensor, c: Tensor, b: Bundle,
              t: Slices, d: Dims):  # fmt: skip
    """Slice(all steps of RNN(x), the last one) = last state of RNN(x), of one direction"""
    axes, made, part = layout(v, b, 0), eq(b, recurrent(x, w, none(), h, c, s)), slice_(v, t)
    state = reshape(output(b, 1), dims_at_end(axes, t, s, v))
    of_view = reshape(output(b, 1), dims_with_a_step(axes, t, s, v, d))
    yield rule(made, eq(z, part), then=union(z, state), because="forgets the other steps")
    yield rule(made, eq(z, reshape(part, d)), then=union(z, of_view), because="forgets the other steps")


@hosted()
def state_slice(spec: Slices, s: RecurrentLayer, steps: Fact) -> Slices | None:
    """The slice of the last state with the elements of a slice of all steps; None if it takes other steps."""
    if not steps.is_symbolic or not isinstance(steps.shape[0], int):  # type: ignore[index]
        return None
    count, entries = steps.shape[0], {entry[0]: entry for entry in spec}  # type: ignore[index]
    directions = range(
        *slice(*entries.get(1, (1, 0, None, 1))[1:]).indices(2 if s.direction == "bidirectional" else 1)
    )
    taken = range(*slice(*entries.get(0, (0, 0, None, 1))[1:]).indices(count))
    ends = {0 if s.direction == "reverse" or k == 1 else count - 1 for k in directions}
    if len(taken) != 1 or ends != {taken[0]}:
        return None
    return tuple((axis - 1, *rest) for axis, *rest in spec if axis)  # type: ignore[misc]


def _slices(rng: np.random.Generator) -> Iterator[Example]:
    for kind in GATES:
        g = Operands(rng)
        x = fixed_steps(g, 5)
        both = output(example_layer(g, kind, x, direction="bidirectional"), 0)
        steps, back = (output(example_layer(g, kind, x, direction=d), 0) for d in ("forward", "reverse"))
        yield from g.all_fire(
            slice_(steps, ((0, 4, 5, 1),)),
            slice_(back, ((0, 0, 1, 1), (2, 1, 3, 1))),
            slice_(both, ((0, 4, 5, 1), (1, 0, 1, 1))),
            slice_(both, ((0, 0, 1, 1), (1, 1, 2, 1))),
        )
        yield g.near_miss(slice_(steps, ((0, 3, 5, 1),)), why="two steps")
        yield g.near_miss(slice_(both, ((0, 4, 5, 1),)), why="one of them ends at the first step")
        yield g.near_miss(slice_(both, ((0, 4, 5, 1), (1, 1, 2, 1))), why="it is that direction's first step")
        yield g.near_miss(slice_(steps, ((2, 3, 4, 1),)), why="all steps")


@law(kind="eliminate", source="the definition of RNN, GRU, LSTM", examples=_slices)
def slice_last_step(x: Tensor, w: Tensors, h: Tensor, c: Tensor, s: RecurrentLayer, t: Slices):
    """Slice(all steps of RNN(x)) = Slice(last state of RNN(x)) where it takes what directions compute last"""
    whole = recurrent(x, w, none(), h, c, s)
    cut = slice_(output(whole, 0), t)
    state = slice_(output(whole, 1), state_slice(t, s, output(whole, 0)))
    yield rewrite(cut, reshape(state, known_dims(cut)), because="forgets the other steps")


@hosted()
def dims_of_one(steps: Fact) -> Dims | None:
    """The dims of all steps where there is one."""
    return steps.shape if steps.is_symbolic and steps.shape[:1] == (1,) else None  # type: ignore[index]


def _single(rng: np.random.Generator) -> Iterator[Example]:
    for kind in GATES:
        g = Operands(rng)
        yield g.fires(output(example_layer(g, kind, fixed_steps(g, 1), direction="bidirectional"), 0))
        yield g.near_miss(output(example_layer(g, kind, fixed_steps(g, 2)), 0), why="there are two steps")


@law(kind="eliminate", source="the definition of RNN, GRU, LSTM", examples=_single)
def single_step(x: Tensor, w: Tensors, h: Tensor, c: Tensor, s: RecurrentLayer):
    """all steps of RNN(x) = last state of RNN(x) where x has one step"""
    steps, state = (output(recurrent(x, w, none(), h, c, s), k) for k in (0, 1))
    yield rewrite(steps, reshape(state, dims_of_one(steps)), because="forgets that there is one step")


@hosted()
def direction_at_end(axes: Layout, spec: Slices, v: Fact, dims: Dims, half: Slices) -> Slices | None:
    """The part of the last state that half of the last step is, or the other half of the first step.

    Args:
        axes: of v, all steps.
        spec: what is taken of v, one step.
        dims: how that is viewed.
        half: what is taken of the view, the hidden units of one direction.
    """
    if axes.replace("1", "") not in ("SBX", "BSX") or not v.is_symbolic or len(spec) != 1 or len(half) != 1:
        return None
    shape = v.shape or ()
    place, count, width = axes.index("S"), shape[axes.index("S")], shape[axes.index("X")]
    axis, start, end, step = half[0]
    if spec[0][0] != place or not isinstance(width, int) or axis != len(dims) - 1 or dims[-1] != width:
        return None
    for direction, bounds in enumerate((last_of(count), (0, 1, 1))):
        units = (direction * width // 2, (direction + 1) * width // 2, 1)
        if spec[0][1:] == bounds and (start, end, step) == units:
            return ((0, direction, direction + 1, 1),)
    return None


def _ends(rng: np.random.Generator) -> Iterator[Example]:
    first, last = ((0, 0, 1, 1),), ((0, 4, 5, 1),)
    for kind in GATES:
        g = Operands(rng)
        steps = output(example_layer(g, kind, fixed_steps(g, 5), direction="bidirectional"), 0)
        both = reshape(transpose(steps, (0, 2, 1, 3)), (5, 4, 4))

        def part(t: Slices, *half: int, of: Any = both) -> Any:
            return slice_(reshape(slice_(of, t), (4, 4)), ((1, *half, 1),))

        rows = slice_(transpose(both, (1, 0, 2)), ((1, 4, 5, 1),))
        yield from g.all_fire(
            part(last, 0, 2), part(first, 2, 4), slice_(reshape(rows, (4, 4)), ((1, 0, 2, 1),))
        )
        yield from g.near_misses(
            (part(first, 0, 2), "the first step"),
            (part(last, 2, 4), "the first step in reverse"),
            (part(last, 1, 3), "of both directions"),
            (part(((0, 2, 3, 1),), 0, 2), "a step between"),
            (part(last, 0, 2, of=reshape(steps, (5, 4, 4))), "directions and sequences are mixed"),
        )


@law(
    kind="eliminate",
    source="PyTorch, what classifies by a bidirectional layer",
    examples=_ends,
    uses=(layouts,),
)
def ends_of_directions(v: Tensor, z: Tensor, s: RecurrentLayer, x: Tensor, w: Tensors, h: Tensor, c: Tensor,
                       b: Bundle, t: Slices, d: Dims, r: Slices):  # fmt: skip
    """the half of the last step (or of the first one) that a direction ends with = its last state"""
    made, axes = eq(b, recurrent(x, w, none(), h, c, s)), layout(v, b, 0)
    found = eq(z, slice_(reshape(slice_(v, t), d), r))
    state = slice_(output(b, 1), direction_at_end(axes, t, v, d, r))
    yield rule(made, found, then=union(z, reshape(state, known_dims(z))), because="forgets the other steps")


# --- reversed steps -------------------------------------------------------------------------------------


@hosted()
def turned(s: RecurrentLayer) -> RecurrentLayer | None:
    """The layer of the other direction."""
    other = {"forward": "reverse", "reverse": "forward"}.get(s.direction)
    settings = {**dict(s.settings), "direction": other}
    return None if other is None else RecurrentLayer(s.kind, tuple(sorted(settings.items())))


def backwards(x: Fact, axis: int) -> Slices:
    """All of an axis, the last element first."""
    count = (x.shape or ())[axis]
    return ((axis, count - 1 if isinstance(count, int) else -1, None, -1),)


@hosted()
def turns_steps(t: Slices, x: Fact) -> bool:
    """Whether a slice takes all steps of x, the last one first."""
    return bool(x.shape) and t == backwards(x, 0)


@hosted()
def turns_view(axes: Layout, t: Slices, v: Fact) -> bool:
    """Whether it takes those of a view of all steps, in which axes have their order."""
    return axes.replace("1", "") == "SBH" and v.is_symbolic and t == backwards(v, axes.index("S"))


def _turning(rng: np.random.Generator) -> Iterator[Example]:
    for kind in GATES:
        g = Operands(rng)
        x = slice_(fixed_steps(g, 5), ((0, 4, None, -1),))
        outputs = range(OUTPUTS[kind])
        yield from (g.fires(output(example_layer(g, kind, x), k)) for k in outputs)
        yield g.fires(output(example_layer(g, kind, x, direction="reverse"), 0))
        narrow = reshape(output(example_layer(g, kind, x), 0), (5, 4, 2))
        yield g.fires(slice_(narrow, ((0, 4, None, -1),)))
        yield g.fires(slice_(narrow, ((1, 3, None, -1),)))  # of the layer; the batch stays as it is
        part = slice_(fixed_steps(g, 6), ((0, 4, None, -1),))
        layer = example_layer(g, kind, part)
        yield from (g.near_miss(output(layer, k), why="a step is left out") for k in outputs)
        shorter = reshape(output(layer, 0), (5, 4, 2))
        yield g.near_miss(slice_(shorter, ((0, 4, None, -1),)), why="a step is left out")
        both = example_layer(g, kind, x, direction="bidirectional")
        yield g.near_miss(output(both, 0), why="both directions change places")


@law(
    numerics="reassociates",
    kind="move",
    source="TensorFlow and Keras exporters",
    examples=_turning,
    uses=(layouts,),
)
def reversed_steps(x: Tensor, v: Tensor, z: Tensor, w: Tensors, h: Tensor, c: Tensor, s: RecurrentLayer,
                   t: Slices, r: Slices, b: Bundle):  # fmt: skip
    """RNN(x[::-1]) = RNN of the other direction(x), its steps [::-1], for sequences of one length"""
    found = recurrent(slice_(x, t), w, none(), h, c, s)
    other, because = (recurrent(x, w, none(), h, c, turned(s)), "every layer is one on reversed steps")
    yield rewrite(output(found, 0), slice_(output(other, 0), t), turns_steps(t, x), because=because)
    for k in (1, 2):
        yield rewrite(output(found, k), output(other, k), turns_steps(t, x), because=because)
    view = (eq(b, found), turns_steps(t, x), eq(z, slice_(v, r)), turns_view(layout(v, b, 0), r, v))
    yield rule(*view, then=union(z, reshape(output(other, 0), known_dims(z))), because=because)
