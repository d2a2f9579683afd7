"""Runs on odd values, compared as closely as the laws that took part allow.

Random numbers of an ordinary size see the middle of what a model is for.  These runs see its ends: floats of
every magnitude, on both sides of the model's constants, whole ones and halves; integers over the whole range
that the original accepts; symbolic dims on both sides of what the model compares them with; and where every
bit is promised NaN, infinities, -0.0 and subnormal numbers.  They take a share of the time of the other runs,
the likeliest to find something first.

A run in real arithmetic goes by tensors of which all that they are computed from is finite and neither huge
nor tiny.  What the original does not settle is judged as ever, see `stability`, but a difference that it
excuses here says nothing: the other runs have to do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx

from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.forking import cached_property
from egraph_opt.laws.exactness import REAL, Exactness
from egraph_opt.verification.budget import BudgetError
from egraph_opt.verification.closely import Cheaply, Closely
from egraph_opt.verification.execution import ExecutionError, OutOfMemoryError, Value
from egraph_opt.verification.inputs import is_integer
from egraph_opt.verification.inside import Inside, Within, deciding, has_halves
from egraph_opt.verification.interface import ValueSpec
from egraph_opt.verification.odd_values import (
    FLOATS_END,
    LATTICE,
    Special,
    Spread,
    conditions,
    divisible,
    integer_table,
    integers,
    neighbours,
    rounds,
    special,
    special_floats,
    spread,
)
from egraph_opt.verification.roles import DIVISIONS, INDICES, divide_safely, reached
from egraph_opt.verification.runs import Runs
from egraph_opt.verification.sizes import Ranges, Sizes, around, shape_of
from egraph_opt.verification.turning_points import turning_points

SHARE, LEAST_SECONDS = 0.2, 0.1
"""Trials take this share of the time that all has taken before, or so many seconds: of the processor, so that
what else the machine does decides nothing."""

SMALL, SECONDS_IF_SMALL = 2**15, 1.0
"""Models of so few bytes have all trials, unless these take longer."""

LOADING = 0.05
"""Models are loaded once more where that takes so many seconds, or the share above."""

MOST_SIZES, FEW_ELEMENTS = 32, 2**14
"""Assignments of sizes that are tried, and what inputs may hold without a thought for time."""

ORDINARY = Within(1e-30, 1e18, both=False)
UNROUNDED = Within(1e-30, 1e18, both=False, cancels=True)
"""Numbers of which the rounding may decide: what differs counts where nothing is rounded, and NaN."""

REAL_RANGES: Mapping[Spread, Within] = {
    "near": ORDINARY,
    "positive": ORDINARY,
    "negative": ORDINARY,
    "alike": ORDINARY,
    "level": UNROUNDED,
    "lattice": ORDINARY,
    "ties": ORDINARY,
    "rising": UNROUNDED,
    "falling": UNROUNDED,
    "tiny": Within(1e-30, 1e30),
    "middle": Within(1e-30, 1e30),
    "wide": Within(1e-35, 1e35, zeros=False),
}
"""By spread what has to be so of all tensors on the way to those that are compared."""

MAGNIFIES = frozenset(
    "ArgMax ArgMin TopK Softmax LogSoftmax Hardmax Div Reciprocal Sqrt Pow LpNormalization RMSNormalization"
    " BatchNormalization GroupNormalization InstanceNormalization LayerNormalization"
    " MeanVarianceNormalization"
    " GlobalAveragePool AveragePool ReduceMean ReduceSum".split()
)
"""Operators that make small differences large, decide by them, or sum up many numbers that are alike."""

PLACES = frozenset({"ArgMax", "ArgMin", "TopK"})
"""Operators that answer where along an axis something is: of random numbers seldom at its end."""

SPREAD_OVER: Mapping[Spread, int] = {
    "lattice": len(LATTICE),
    "tiny": 4,
    "negative": 4,
    "alike": 8,
    "rising": 1,
    "falling": 1,
}
"""How many values are wanted of every input: small inputs take several runs."""

ALL_EQUAL_FIRST = 2
"""Runs on inputs that are alike: in the first they are equal."""

LEVELS = 4
"""Runs on inputs of one number for each first index: of most numbers rounding hides what a few show."""

WIDE_INTEGERS = Within(0.0, 1e30)

LADDER = ((-(2**63), 2**64), (-(2**31), 2**31 - 1), (-(2**15), 2**15), (-129, 129), (-3, 3), (0, 255))
"""Ranges of integers to try, the widest first."""

BEYOND_BYTES = (65_537, 257, 129)
"""Indices that types of fewer bits do not hold."""

INDICES_IN_TURN = 24
"""Small indices that inputs of few elements hold in turn, so that every two of them meet."""

NARROW_LADDER = ((-4097, 4097), (-129, 129), (-3, 3), (0, 255))
"""Ranges of integers of which float16 makes no infinity, and squares are no larger than int32."""

Feeds = dict[str, Value]


@dataclass
class Trials:
    """Odd inputs for two models, one trial after the other.

    Attributes:
        runs: both models.
        specs: of the inputs.
        feeds: ordinary inputs of some sizes.
        sizes: of symbolic dims in `feeds`.
        exactness: what the laws that took part promise.
        assume: what inputs stay within.
        inside: tensors of one name are equal in both models, and so are compared.
        small_integers: laws took for granted that integers are no larger than they mostly are.
        spent: seconds of the processor that verification took so far.
    """

    runs: Runs
    specs: Sequence[ValueSpec]
    feeds: Callable[[Sizes, int], Feeds]
    sizes: Sequence[Sizes]
    ranges: Mapping[str, tuple[int, int]]
    exactness: Exactness = REAL
    assume: Ranges = field(default_factory=dict)
    inside: bool = False
    small_integers: bool = False
    seed: int = 0
    spent: float = 0.0
    compared: int = 0

    def __post_init__(self) -> None:
        self._begun, self._longest = time.process_time(), 0.0
        self._models: tuple[onnx.ModelProto, ...] = (self.runs.before.proto, self.runs.after.proto)
        self._is_small = self.runs.bytes <= SMALL
        self._seconds = SECONDS_IF_SMALL if self._is_small else max(LEAST_SECONDS, SHARE * self.spent)
        self._constants = turning_points(self._models)
        self._base = self.feeds(self.sizes[0], self.seed)
        self._bitwise = self.exactness == "bitwise" and not any(map(has_halves, self._models))
        cheaply = Cheaply(self.runs, self._bitwise, lambda: self._closely)
        self._pair: Closely | Cheaply = (self._closely if self._is_small else None) or cheaply

    @cached_property
    def _closely(self) -> Closely | None:
        """Both models with all tensors; None where that cannot be had."""
        watched = Inside.of(self.runs.before, self.runs.after, names=self.inside)
        if watched is None:
            return None
        closely = Closely(watched, self._bitwise, self.seed, self.runs.unrounded)
        try:
            closely.note_usual(self._base, ORDINARY)
        except (ExecutionError, BudgetError):
            return None
        return closely

    def run(self) -> None:
        """All trials that there is time for.

        Raises:
            MismatchError: the models differ.
        """
        for trial in self._trials():
            if not self._has_time():
                return
            started = time.process_time()
            try:
                self.compared += trial()
            except (BudgetError, OutOfMemoryError):
                return
            self._longest = max(self._longest, time.process_time() - started)

    def _has_time(self) -> bool:
        return self._left() >= self._longest

    def _left(self) -> float:
        return self._begun + self._seconds - time.process_time()

    def _trials(self) -> Iterator[Callable[[], bool]]:
        base = self._base
        if self.inside:
            yield lambda: self._inside(base)
        lists = [
            *(self._floats(base), self._sizes(), self._integers(base), self._conditions(base)),
            self._special(base),
        ]
        # In turns, so that each kind has a run before one has all of its own.
        while lists:
            for trials in list(lists):
                trial = next(trials, None)
                if trial is None:
                    lists.remove(trials)
                else:
                    yield trial
        if self._is_small and self.inside:
            for sizes in self.sizes[1:]:
                yield lambda sizes=sizes: self._inside(self.feeds(sizes, self.seed))  # type: ignore[misc]

    def _inside(self, feeds: Feeds) -> bool:
        """Ordinary inputs, with the tensors inside: of large models those that outputs tell little of."""
        pair = self._closely if self._is_small else self._decisions()
        return pair is not None and pair.compare(feeds, f"seed {self.seed}", None)

    def _decisions(self) -> Closely | None:
        """Both models with the tensors that are rounded or compared; None where there are none."""
        only = deciding(self._models)
        if not only or self.runs.loading > max(LOADING, SHARE * self.spent):
            return None
        watched = Inside.of(self.runs.before, self.runs.after, names=True, only=only)
        return None if watched is None else Closely(watched, False, self.seed, self.runs.unrounded)

    def _floats(self, base: Feeds) -> Iterator[Callable[[], bool]]:
        known = self._constants.thresholds
        operators = {node.op_type for model in self._models for node in model.graph.node}
        for kind, within in REAL_RANGES.items():
            if kind == "alike" and not self._several_of_a_shape(base):
                continue
            if kind in ("tiny", "wide", "negative") and not MAGNIFIES.isdisjoint(operators):
                continue  # rounding is all that is left of numbers that are alike
            if kind in ("rising", "falling") and PLACES.isdisjoint(operators):
                continue
            count = LEVELS if kind == "level" else rounds(base, "f", SPREAD_OVER.get(kind, 40))
            count = max(count, ALL_EQUAL_FIRST) if kind == "alike" else count
            for k in range(count):
                feeds = spread(base, kind, known, self.seed, part=(k, count), bounds=self.assume)
                where = f"{kind} floats, seed {self.seed}"
                yield lambda f=feeds, w=where, r=within: self._pair.compare(f, w, r)  # type: ignore[misc]

    def _conditions(self, base: Feeds) -> Iterator[Callable[[], bool]]:
        """A mask that hides all, of which random ones hide some."""
        names = [s.name for s in self.specs if s.dtype == onnx.TensorProto.BOOL and s.name not in self.assume]
        if names:
            feeds = {**base, **conditions({name: base[name] for name in names})}
            yield lambda: self._pair.compare(
                feeds, f"conditions that do not hold, seed {self.seed}", ORDINARY
            )

    def _special(self, base: Feeds) -> Iterator[Callable[[], bool]]:
        if not self._bitwise:
            return
        kinds: tuple[Special, ...] = ("all", "zeros", "nans", "infinities", "subnormals", "largest")
        for kind in kinds:
            count = rounds(base, "f", len(special_floats(np.dtype(np.float32), kind)))
            for k in range(count):
                feeds = special(base, kind, self.seed, part=(k, count), bounds=self.assume)
                where = f"special floats ({kind}), seed {self.seed}"
                yield lambda f=feeds, w=where: self._pair.compare(f, w, ORDINARY)  # type: ignore[misc]

    def _sizes(self) -> Iterator[Callable[[], bool]]:
        base = self.sizes[0]
        if not base:
            return
        wanted = (1, *self._constants.sizes)
        known, elements = [*self.sizes], self._elements(base)
        for sizes in around(self.specs, base, wanted, self.assume, MOST_SIZES):
            larger = self._elements(sizes)
            takes_long = larger > FEW_ELEMENTS and self._longest * larger / elements > self._left() / 4
            if not (sizes in known or takes_long or self.runs.budget.beyond(self.specs, sizes)):
                known.append(sizes)
                yield lambda sizes=sizes: self.runs.compare(  # type: ignore[misc]
                    self.feeds(sizes, self.seed), sizes, f"seed {self.seed}", must_reproduce=True
                )

    def _elements(self, sizes: Sizes) -> float:
        """How many elements the inputs have, and one."""
        shapes = (shape_of(spec, sizes) for spec in self.specs)
        return 1.0 + sum(math.prod(shape) for shape in shapes)

    def _integers(self, base: Feeds) -> Iterator[Callable[[], bool]]:
        names = [s.name for s in self.specs if is_integer(s) and s.name not in self.assume]
        if not names or self.small_integers:
            return
        feeds_to = reached(self._models, names)
        free = [name for name in names if not feeds_to[name]]
        indices = {
            n: (-1, self.ranges.get(n, (0, 1))[1]) for n in names if n not in free and feeds_to[n] <= INDICES
        }
        picking = self._accepted(base, indices, (), [(end - 2, end) for end in BEYOND_BYTES])
        known = self._constants.integers
        for ladder in (LADDER, NARROW_LADDER):
            ranges = self._accepted(base, free, known, ladder)
            if ladder is LADDER and len(ranges) > len({np.shape(base[name]) for name in ranges}):
                count = rounds({n: base[n] for n in ranges}, "iu", 2 * len(FLOATS_END))
                for k in range(max(count, ALL_EQUAL_FIRST)):
                    alike = neighbours(base, ranges, self.seed, k)
                    where = f"integers one apart, seed {self.seed}"
                    yield lambda f=alike, w=where: self._pair.compare(f, w, WIDE_INTEGERS, wide=True)  # type: ignore[misc]
            count = rounds({n: base[n] for n in ranges}, "iu", len(integer_table(np.dtype(np.int64), known)))
            for k in range(count):
                feeds = integers(base, ranges, known, self.seed, part=(k, count))
                where = f"integers, seed {self.seed}"
                yield lambda f=feeds, w=where: self._pair.compare(f, w, WIDE_INTEGERS, wide=True)  # type: ignore[misc]
                if ladder is NARROW_LADDER and rounds(base, "f", 1):
                    both = spread(
                        feeds,
                        "near",
                        self._constants.thresholds,
                        self.seed,
                        part=(k, count),
                        bounds=self.assume,
                    )
                    where = f"near floats and integers, seed {self.seed}"
                    yield lambda f=both, w=where: self._pair.compare(f, w, REAL_RANGES["near"])  # type: ignore[misc]
        count = rounds({n: base[n] for n in indices}, "iu", INDICES_IN_TURN)
        for k in range(count):
            feeds = integers(base, indices, known, self.seed, part=(k, count))
            where = f"indices from -1 on, seed {self.seed}"
            yield lambda f=feeds, w=where: self._pair.compare(f, w, ORDINARY)  # type: ignore[misc]
        dividing = [n for n in names if feeds_to[n] and feeds_to[n] <= DIVISIONS]
        if dividing and divide_safely(self._models, dividing):
            both_signs = divisible(base, dividing, self.seed)
            where = f"quotients below 0, seed {self.seed}"
            yield lambda: self._pair.compare(both_signs, where, WIDE_INTEGERS)
        if picking:
            far = integers(base, picking, BEYOND_BYTES, self.seed)
            yield lambda: self._pair.compare(far, f"indices beyond bytes, seed {self.seed}", ORDINARY)

    def _several_of_a_shape(self, base: Feeds) -> bool:
        shapes = [np.shape(base[s.name]) for s in self.specs if s.dtype in ALL_FLOATS and s.kind == "tensor"]
        return len(set(shapes)) < len(shapes)

    def _accepted(
        self, base: Feeds, names: Collection[str], known: Sequence[int], ladder: Sequence[tuple[int, int]]
    ) -> dict[str, tuple[int, int]]:
        """The widest of some ranges that the original runs on, of each of these inputs."""
        together = dict.fromkeys(names, ladder[0])
        if not names or self._runs(integers(base, together, known, self.seed)):
            return together
        found: dict[str, tuple[int, int]] = {}
        for name in names:
            for wider in ladder:
                if not self._has_time():
                    return found
                if self._runs(integers(base, {**found, name: wider}, known, self.seed)):
                    found[name] = wider
                    break
        return found

    def _runs(self, feeds: Feeds) -> bool:
        try:
            self.runs.run_original(feeds, {})
        except ExecutionError:
            return False
        return True
