"""Two models on odd inputs: every tensor of one name, as closely as can be asked for.

Of a large model outputs are compared first, and the tensors inside only where these differ: they tell whether
that counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from egraph_opt.forking import cached_property
from egraph_opt.verification.comparison import compare, compare_bits, name_of, paired_leaves
from egraph_opt.verification.execution import ExecutionError, OutOfMemoryError, Value
from egraph_opt.verification.inside import Inside, Tensors, Within, by_path, has_halves
from egraph_opt.verification.runs import MismatchError, Runs
from egraph_opt.verification.stability import Perturbed, judge
from egraph_opt.verification.unrounded import Unrounded
from egraph_opt.verification.unsettled import around_one, bits_open

Feeds = Mapping[str, Value]


@dataclass
class Closely:
    """Compares two models that are watched.

    Attributes:
        bitwise: every bit has to be the same, where kernels settle it.
        unrounded: says where nothing is rounded.
    """

    both: Inside
    bitwise: bool
    seed: int
    unrounded: Unrounded

    def __post_init__(self) -> None:
        models = (self.both.original.model.proto, self.both.optimized.model.proto)
        self.bitwise = self.bitwise and not any(map(has_halves, models))
        self._perturbed = Perturbed(self.both.original.model, self.both.original.run, self.seed)
        self._usual: set[str] = set()
        self._bits_open = set().union(*map(bits_open, models))
        self._loose = set().union(*map(around_one, models))

    def note_usual(self, feeds: Feeds, within: Within) -> None:
        """Tensors that leave a range of numbers on ordinary inputs, too, tell of nothing odd.

        Raises:
            ExecutionError: the original does not run on them.
        """
        found = self.both.original.tensors(feeds)
        self._usual = {name for name, value in found.items() if not within.holds(value)}

    def compare(self, feeds: Feeds, where: str, within: Within | None, *, wide: bool = False) -> bool:
        """Whether the original runs on these inputs.

        Args:
            within: what numbers a comparison in real arithmetic goes by.
            wide: integers are beyond what floats hold: what was not rounded has to be equal.

        Raises:
            MismatchError: the models differ.
        """
        original, optimized = self.both.original, self.both.optimized
        try:
            before = original.tensors(feeds)
        except OutOfMemoryError:
            raise
        except ExecutionError:
            return False
        try:
            after = optimized.tensors(feeds)
        except OutOfMemoryError:
            raise
        except ExecutionError as error:
            raise MismatchError(f"the optimized model does not run ({where}): {error}") from error
        apart = set() if within is None else self._beyond(feeds, before, after, within)
        rounded = original.rounded(before) if wide else None
        moved = _Moved(self._perturbed, original.session.output_names, feeds)
        for name, path, a, b in self.both.pairs(before, after):
            bitwise = self.bitwise and name not in self._bits_open
            if name in apart and not bitwise:
                continue
            loosely = name in self._loose
            difference = compare_bits(a, b) if bitwise else compare(a, b, loosely=loosely)
            if difference.agrees:
                continue
            strict = bitwise or (rounded is not None and name not in rounded)
            only_nan = within is not None and within.cancels
            message = difference.message if strict else moved.judged(path, a, b, loosely, only_nan=only_nan)
            if not message and self.unrounded(feeds, path):
                message = f"nothing is rounded: {difference.message}"
            if message:
                raise MismatchError(f"{self.both.kind(name)} {path!r} ({where}): {message}")
        return True

    def _beyond(self, feeds: Feeds, before: Tensors, after: Tensors, within: Within) -> set[str]:
        beyond = self.both.original.beyond(feeds, before, within, self._usual)
        if within.both:
            beyond |= self.both.optimized.beyond(feeds, after, within, self._usual)
        return beyond


@dataclass
class Cheaply:
    """Compares outputs, and more only where they differ.

    Attributes:
        closely: makes the other comparison; None where that cannot be had, and so no difference counts.
    """

    runs: Runs
    bitwise: bool
    closely: Callable[[], Closely | None]

    def compare(self, feeds: Feeds, where: str, within: Within | None, *, wide: bool = False) -> bool:
        """See `Closely.compare`."""
        try:
            before = self.runs.run_original(feeds, {})
        except OutOfMemoryError:
            raise
        except ExecutionError:
            return False
        try:
            after = self.runs.run_optimized(feeds, {})
        except OutOfMemoryError:
            raise
        except ExecutionError as error:
            raise MismatchError(f"the optimized model does not run ({where}): {error}") from error
        moved = _Moved(self.runs.perturbed, self.runs.original.output_names, feeds)
        for path, a, b in paired_leaves(self.runs.original.output_names, before, after):
            loosely = name_of(path) in self.runs.loose
            if self.bitwise and not compare_bits(a, b).agrees:
                break
            if compare(a, b, loosely=loosely).agrees:
                continue
            if moved.by_inputs_alone(path, a, b, loosely) or self.runs.unrounded(feeds, path):
                break
        else:
            return True
        pair = self.closely()
        return pair is None or pair.compare(feeds, where, within, wide=wide)


@dataclass
class _Moved:
    """How the original moves on some inputs, found when it is asked for."""

    perturbed: Perturbed
    names: Sequence[str]
    feeds: Feeds

    @cached_property
    def by_inputs(self) -> list[Tensors]:
        return [by_path(self.names, outputs) for outputs in self.perturbed.by_inputs(self.feeds)]

    @cached_property
    def by_weights(self) -> list[Tensors]:
        return [by_path(self.names, outputs) for outputs in self.perturbed.by_weights(self.feeds)]

    def judged(self, path: str, a: Any, b: Any, loosely: bool, *, only_nan: bool = False) -> str:
        """What is left of a difference once the original's own movement is taken off."""
        if not self.by_inputs_alone(path, a, b, loosely):
            return ""
        samples = [tensors.get(path) for tensors in self.by_inputs]
        weights = [tensors.get(path) for tensors in self.by_weights]
        return judge(a, b, samples, weights, loosely=loosely, only_nan=only_nan).message

    def by_inputs_alone(self, path: str, a: Any, b: Any, loosely: bool) -> str:
        """What is left once that is taken off by which it moves with its inputs."""
        samples = [tensors.get(path) for tensors in self.by_inputs]
        return judge(a, b, samples, [], loosely=loosely).message
