"""Outputs that the original itself does not determine: judged by how far it moves.

Rounding differs between equal graphs, and some models magnify it: an ill-conditioned one, or one that rounds,
compares or sorts.  Where the plain comparison fails, the original is run again with its float inputs, and
then its float weights as well, moved by one unit in the last place.  What that does to an output is what the
output means:

- the tolerance grows to `FACTOR` times the movement, as long as that stays below `CAP` of the scale;
- up to the absolute tolerance, elements may be off by `FACTOR` times what others of their size move by;
- elements that move further, or that are no floats and change, are not compared, unless they are NaN now and
  were never;
- an output of which more than `UNSTABLE` of the elements is not compared has not been verified.

For an ordinary model the movement is of the order of the rounding error, so nothing is excused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from egraph_opt.model.external_data import external_tensors
from egraph_opt.verification.comparison import (
    TOLERANCES,
    Array,
    Mask,
    Value,
    allowed_error,
    compare,
    compare_floats,
    describe,
    loosest_error,
    paired_leaves,
    scales,
    widened,
)
from egraph_opt.verification.execution import ExecutionError, RunnableModel, Session, load
from egraph_opt.verification.moving import is_large, items, move_inputs, move_weights, moves

FACTOR = 4.0
"""An optimized graph rounds at every operator, the perturbation at the inputs and weights only."""
CAP = 0.02
"""Movements above this part of the scale are not a tolerance any more, but make an element unstable."""
UNSTABLE = 0.5
INPUT_SAMPLES = 4
WEIGHT_SAMPLES = 3
MAX_WEIGHT_BYTES = 2**28
FEW_WEIGHT_BYTES = 2**25
"""Above this size one sample of moved weights has to do, for the sake of memory."""

Run = Callable[[Mapping[str, Value]], list[Value]]


@dataclass
class Perturbed:
    """The original under perturbation; sessions with other weights are made once, when asked for."""

    model: RunnableModel
    run: Run
    seed: int
    _sessions: list[Session] | None = field(default=None, repr=False)

    @property
    def moves_weights(self) -> bool:
        """Whether weights can be moved: not in files, and not above `MAX_WEIGHT_BYTES`."""
        return self.model.bytes <= MAX_WEIGHT_BYTES and not external_tensors(self.model.proto)

    def by_inputs(self, feeds: Mapping[str, Value]) -> list[list[Value]]:
        """Outputs under moved inputs; none if no input can be moved."""
        if not any(moves(item) or is_large(item) for value in feeds.values() for item in items(value)):
            return []
        return self._runs([self.run] * INPUT_SAMPLES, feeds, 0)

    def by_weights(self, feeds: Mapping[str, Value]) -> list[list[Value]]:
        """Outputs under moved inputs and weights; none for a model above `MAX_WEIGHT_BYTES`."""
        if self._sessions is None:
            self._sessions = list(self._weight_sessions())
        return self._runs([session.run for session in self._sessions], feeds, INPUT_SAMPLES)

    def _runs(self, runs: Sequence[Run], feeds: Mapping[str, Value], first: int) -> list[list[Value]]:
        found = []
        for k, run in enumerate(runs):
            try:
                found.append(run(move_inputs(feeds, np.random.default_rng([self.seed, first + k]))))
            except ExecutionError:
                # An input at the border of what the model accepts, or a weight that is a size: nothing is
                # learned from this sample, and a difference is excused by the others or not at all.
                continue
        return found

    def _weight_sessions(self) -> Iterator[Session]:
        size = self.model.bytes
        samples = WEIGHT_SAMPLES if size <= FEW_WEIGHT_BYTES else 1
        for k in range(samples if size <= MAX_WEIGHT_BYTES else 0):
            moved = move_weights(self.model.proto, np.random.default_rng([self.seed, 1000 + k]))
            try:
                yield Session(load(moved, folder=self.model.folder))
            except ExecutionError:
                return


@dataclass(frozen=True)
class Judgement:
    """What is left of a difference once the original's own movement is taken off.

    Attributes:
        message: what differs beyond it; empty if nothing does.
        unstable: number of elements that could not be compared.
    """

    message: str
    unstable: int


def judge(
    a: Array | str | None,
    b: Array | str | None,
    by_inputs: Sequence[Array | str | None],
    by_weights: Sequence[Array | str | None],
    *,
    loosely: bool = False,
    only_nan: bool = False,
) -> Judgement:
    """Judges a difference between `a` and `b` by the samples of the same output of the perturbed original.

    Args:
        loosely: an absolute error is allowed whatever the original does.
        only_nan: numbers may differ, and what is not a float; NaN may not be where there was never any.
    """
    plain = compare(a, b, loosely=loosely)
    if plain.agrees:
        return Judgement("", 0)
    if not isinstance(a, np.ndarray) or any(_signature(s) != _signature(a) for s in by_inputs):
        # The number of elements itself (NonZero, NonMaxSuppression, the length of a sequence) is unstable.
        changes = any(not _equal(a, s) for s in by_inputs)
        return Judgement("", plain.elements) if changes else Judgement(plain.message, 0)
    if _signature(a) != _signature(b):
        return Judgement(plain.message, 0)
    assert isinstance(b, np.ndarray)
    arrays = [
        s for s in [*by_inputs, *by_weights] if isinstance(s, np.ndarray) and _signature(s) == _signature(a)
    ]
    if only_nan:
        appeared = _only_here(a, b, arrays)
        return Judgement(describe(a, b, appeared), 0) if appeared.any() else Judgement("", plain.elements)
    if a.dtype not in TOLERANCES:
        unstable = np.zeros(a.shape, np.bool_)
        for sample in arrays:
            unstable |= np.asarray(a != sample, np.bool_)
        bad = np.asarray(a != b, np.bool_) & ~unstable
        message = describe(a, b, bad) if bad.any() else ""
        return Judgement(message, int(np.count_nonzero(unstable)))
    return _judge_floats(a, b, arrays, loosely)


def _judge_floats(a: Array, b: Array, samples: Sequence[Array], loosely: bool) -> Judgement:
    tolerance, loosest = TOLERANCES[a.dtype], loosest_error(a)
    # What a relative error of one amounts to, with the absolute tolerance as its floor.
    unit = loosest / tolerance.rtol
    movements = np.zeros(a.shape)
    for sample in samples:
        movements = np.maximum(movements, _movement(a, sample))
    moved = movements / unit
    unstable: Mask = np.asarray(moved > max(CAP, tolerance.rtol), np.bool_)
    steady = moved[~unstable]
    movement = float(steady.max()) if steady.size else 0.0
    if FACTOR * movement > tolerance.rtol:
        allowed = np.asarray(FACTOR * movement * unit)
    else:
        earned = loosest if loosely or not samples else FACTOR * _of_their_size(a, movements)
        allowed = np.maximum(allowed_error(a), np.minimum(earned, loosest))
    difference = compare_floats(a, b, allowed)
    if difference.bad is None:
        return Judgement("", int(np.count_nonzero(unstable)))
    unstable &= ~_only_here(a, b, samples)
    bad = difference.bad & ~unstable
    if not bad.any():
        return Judgement("", int(np.count_nonzero(unstable)))
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(widened(a) - widened(b))
    return Judgement(describe(a, b, bad, error), int(np.count_nonzero(unstable)))


def _only_here(a: Array, b: Array, samples: Sequence[Array]) -> Mask:
    """Where there is NaN that the original has on none of its samples: a root below 0, say."""
    if a.dtype not in TOLERANCES:
        return np.zeros(a.shape, np.bool_)
    before = np.isnan(widened(a))
    for sample in samples:
        before |= np.isnan(widened(sample))
    return np.asarray(np.isnan(widened(b)) & ~before, np.bool_)


def _of_their_size(a: Array, movements: Array) -> Array:
    """For every element how far those move at most that are measured by the same scale."""
    known = np.where(np.isfinite(movements), movements, 0.0)
    found, group = np.unique(np.broadcast_to(scales(a), a.shape), return_inverse=True)
    largest = np.zeros(found.shape)
    np.maximum.at(largest, group.reshape(-1), known.reshape(-1))
    return np.asarray(largest[group.reshape(a.shape)])


def _movement(a: Array, sample: Array) -> Array:
    """How far each element moved; infinite where it became or stopped being NaN or infinite."""
    x, y = widened(a), widened(sample)
    with np.errstate(invalid="ignore", over="ignore"):
        moved = np.abs(x - y)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
    return np.asarray(np.where(same, 0.0, np.nan_to_num(moved, nan=np.inf, posinf=np.inf)), np.float64)


def _signature(value: Array | str | None) -> object:
    return (value.dtype, value.shape) if isinstance(value, np.ndarray) else type(value)


def _equal(a: Array | str | None, b: Array | str | None) -> bool:
    if _signature(a) != _signature(b):
        return False
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return a == b


def reproduces(first: Sequence[Value], second: Sequence[Value], names: Sequence[str]) -> str:
    """Why two runs of one model on equal inputs are not the same run; empty if they are."""
    for path, a, b in paired_leaves(names, first, second):
        difference = compare(a, b)
        if not difference.agrees:
            return f"{path}: {difference.message}"
    return ""


__all__ = ["Judgement", "Perturbed", "judge", "reproduces"]
