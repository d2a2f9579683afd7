"""Attributes and operands of operators that move elements in blocks: pixels, parts that are overwritten,
sequences, tiles, groups of channels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from egraph_opt.check import tables
from egraph_opt.check.choices import Random, chance, pick, picks
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.operators.expressions import Constant, Expression


def block_settings(rng: Random, shape: Shape, before: Mapping[str, Any], *_: Any) -> Any:
    size = ("blocksize", int(pick(rng, *tables.BLOCKS)))
    if before.get("op") == "SpaceToDepth":
        return (size,)
    return (size, ("mode", pick(rng, *tables.BLOCK_MODES)))


def image_of_blocks(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    """Channels and pixels that blocks of 2, and some of 3, divide."""
    if wish is not None and len(wish) == 4:
        return tuple(wish)
    batch: Dim = pick(rng, "N", 1, 2)
    return (batch, pick(rng, 4, 8, 16, 36), *picks(rng, (2, 4, 6, 8), 2))


def group_settings(rng: Random, shape: Shape, *_: Any) -> Any:
    channels = shape[1] if len(shape) > 1 and isinstance(shape[1], int) else 1
    groups = [n for n in dict.fromkeys((1, 2, 3, channels // 2, channels)) if n and channels % n == 0]
    return (("epsilon", pick(rng, *tables.EPSILONS)), ("num_groups", int(pick(rng, *groups))))


def repeats(rng: Random, shape: Shape, *_: Any) -> tuple[int, ...]:
    return tuple(picks(rng, (1, 1, 2, 3), len(shape)))


def updates(rng: Random, known: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    """What is overwritten, then a part of it: as long along the last axes, and sometimes another view."""
    if not known:
        return None if wish is None else tuple(wish)
    shape = known[0]
    if not shape:
        return None
    cut = int(pick(rng, *range(1, len(shape) + 1)))
    part = [pick(rng, *range(1, d), d, *_in_steps(d)) if isinstance(d, int) and d else d for d in shape[:cut]]
    known_part = all(isinstance(d, int) for d in part)
    way = pick(rng, "as it is", "as it is", "merged", "one more") if known_part else "as it is"
    if way == "merged" and cut > 1:
        part = [int(part[0] or 0) * int(part[1] or 0), *part[2:]]
    elif way == "one more":
        part = [1, *part]
    return (*part, *shape[cut:])


def _lengths(rng: Random, shape: Shape, part: Shape) -> tuple[Shape, int]:
    """Of updates that may be a view of a block how long this is, and how many of its axes are in the view."""
    if len(part) == len(shape):
        return part, 0
    if len(part) == len(shape) + 1 and part[0] == 1:
        return part[1:], 1
    if len(part) != len(shape) - 1 or not isinstance(part[0], int):
        raise LookupError("a block of a tensor of other axes")
    most = [d for d in shape[:2] if isinstance(d, int)]
    pairs = [(a, part[0] // a) for a in range(1, most[0] + 1) if not part[0] % a and part[0] // a <= most[1]]
    return (*pick(rng, *pairs), *part[1:]), 2


def _in_steps(dim: int) -> tuple[int, ...]:
    """How many elements of a dim there are in steps of 2, and of 3 from the second on."""
    return (-(-dim // 2), max((dim + 1) // 3, 1)) if dim > 2 else ()


def block_of(rng: Random, shape: Shape, before: Mapping[str, Any], operands: Sequence[Fact]) -> Any:
    """Where updates go: all of a ScatterElements at their own places but along one axis."""
    if not all(isinstance(d, int) for d in shape):
        raise LookupError("a block of a tensor of unknown dims")
    part, viewed = _lengths(rng, shape, operands[1].shape or ())
    elements = before.get("op") == "ScatterElements"
    if elements and viewed:
        raise LookupError("updates of a ScatterElements have all axes")
    shorter = [k for k, (d, n) in enumerate(zip(shape, part, strict=True)) if d != n]
    named = (
        len(shape) if elements else int(pick(rng, *range(max([*shorter, viewed - 1, 0]) + 1, len(shape) + 1)))
    )
    moved = {int(pick(rng, *range(named)))} if elements else {*range(named)}
    begun = {entry[0]: (entry[1], entry[3]) for spec in before.get("slices", ()) for entry in spec}
    return tuple(
        (k, *_places(rng, int(shape[k] or 0), int(part[k] or 0), moves=k in moved, beside=begun.get(k)))
        for k in range(named)
    )


def slices_in(chosen: Iterable[Expression]) -> list[Any]:
    """The attributes of a term that are axes with the start, end and step of a slice."""
    values = (each.head.value for each in chosen if isinstance(each.head, Constant))
    tuples = (value for value in values if value and isinstance(value, tuple))
    return [value for value in tuples if isinstance(value[0], tuple) and len(value[0]) == 4]


_BESIDE = ("the same", "moved", "longer", "in steps", "in other steps")


def beside_block(rng: Random, spec: Any) -> Any:
    """Slices that a term has, or what differs from them along one axis."""
    k, kind = int(pick(rng, *range(len(spec)))), pick(rng, *_BESIDE)
    axis, start, end, step = spec[k]
    if kind == "the same" or end is None or start < 0 or end < 0:
        return spec
    entry = {
        "moved": (axis, start + 1, end + 1, step),
        "longer": (axis, start, end + 1, step),
        "in steps": (axis, start, 2 * end - start, 2 * step),
        "in other steps": (axis, start, end, step + 1),
    }[kind]
    return (*spec[:k], entry, *spec[k + 1 :])


def _places(
    rng: Random, dim: int, count: int, *, moves: bool, beside: tuple[int, int] | None
) -> tuple[int, int, int]:
    """Start, end and step of so many elements of a dim; `beside` are start and step of a slice of the term,
    which begins at the same element, or one on, and as a rule takes the same steps."""
    steps = [step for step in (1, 2, 3) if moves and count > 1 and (count - 1) * step < dim]
    if beside is not None and beside[1] in steps and chance(rng, 0.5):
        step = beside[1]
    else:
        step = int(pick(rng, *steps, steps[-1])) if steps else 1
    taken = max(count - 1, 0) * step + 1
    start = 0 if beside is None else beside[0] + int(pick(rng, 0, 0, 1, -1))
    if not moves:
        start = 0
    elif beside is None or not 0 <= start <= dim - taken or chance(rng, 0.3):
        start = int(pick(rng, *range(max(dim - taken, 0) + 1)))
    return start, start + taken, step


def sequence_lengths(rng: Random, shape: Shape) -> np.ndarray[Any, Any]:
    """The lengths of the sequences along one of the first two axes, in batches along the other."""
    if len(shape) < 2 or not all(isinstance(d, int) and d for d in shape[:2]):
        return np.array([1], np.int64)
    time = int(pick(rng, 0, 1))
    steps, batch = int(shape[time] or 1), int(shape[1 - time] or 1)
    kind = pick(rng, "all", "some", "some")
    return np.array([steps] * batch if kind == "all" else picks(rng, range(1, steps + 1), batch), np.int64)


def time_axis(rng: Random, shape: Shape, before: Mapping[str, Any], operands: Sequence[Fact]) -> int:
    """The axis of which there are as many steps as the lengths say."""
    lengths = operands[1]
    count, longest = (lengths.shape or (0,))[0], max(lengths.data or (1,))
    fitting = [
        time
        for time in (0, 1)
        if len(shape) > 1 and shape[1 - time] == count and isinstance(shape[time], int)
        if longest <= shape[time]  # type: ignore[operator]
    ]
    if not fitting:
        raise LookupError("lengths that suit neither axis")
    return int(pick(rng, *fitting))
