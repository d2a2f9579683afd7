"""A term as it was written, run on the table of inputs.

Models run in onnxruntime, node by node as they are written; where it has no kernel, or would end the
process, in ONNX's reference evaluator.  That one also checks some runs of onnxruntime's, with floats in
float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from egraph_opt.check.feeds.inputs import Feeds, Inputs
from egraph_opt.check.feeds.kinds import ORDINARY, Kind
from egraph_opt.check.feeds.roles import counts_too_far, element_types
from egraph_opt.check.feeds.sizes import ends_of_slices, most_elements, numbers_of_dims, sizes_of, symbols
from egraph_opt.check.feeds.underflow import adds_nothing
from egraph_opt.check.judging.computed import NORMALIZATIONS, Computed, before_subtracted, computed_from
from egraph_opt.check.judging.excuses import are_alike
from egraph_opt.check.judging.onnx_checker import assert_valid
from egraph_opt.check.judging.outcomes import Tally, Trial
from egraph_opt.check.judging.reference import Outputs, Reference
from egraph_opt.check.judging.runner import TermRunner
from egraph_opt.forking import cached_property
from egraph_opt.laws.exactness import Approximate, Numerics

LARGEST_VALUE, MOST_ADDED = 10**7, 2**24 + 1
"""Of a value; of one that is there because floats do not count so far, which is tried with all at an end."""

MOST_HELD = 2**29
"""Bytes of all results of a term."""

_HALF = onnx.TensorProto.FLOAT16

TOO_LARGE = "the term is too large at a size"

USUAL = 2
"""The first sizes of symbols suit every term; of the others some are odd, and the term may not run."""


class Original:
    """A term as it was written, run on the table of inputs.

    Args:
        model: every inner value is an output.
        claimed: what the law claims.
        kinds: of inputs, the usual one first.
        numbers: those that the law names.
        reference: whether the reference evaluator checks some runs.
        kernels: whether what is rewritten is to have kernels where the term has.
        turn: of each table only the part that is its turn; None is all of them.
        closer: the law promises what is closer to the exact values than the term is.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        claimed: Numerics | Approximate,
        kinds: tuple[Kind, ...],
        *,
        numbers: Iterable[float] = (),
        reference: bool = True,
        kernels: bool = False,
        turn: int | None = None,
        closer: bool = False,
    ) -> None:
        self.closer = closer
        self.model, self.claimed, self.kinds, self.needs_kernels = model, claimed, kinds, kernels
        self.turn = turn
        self.constants = [numpy_helper.to_array(tensor) for tensor in model.graph.initializer]
        self.bound = claimed if isinstance(claimed, Approximate) else None
        self.numerics: Numerics = "approximate" if isinstance(claimed, Approximate) else claimed
        self._inputs = Inputs(model, numbers)
        self._asks_reference, self.reference = reference and self.bound is None, Reference(model)
        self.tally, self._failed, self._ran = Tally(), False, list[Mapping[str, int]]()
        self._held = 0

    @cached_property
    def runner(self) -> TermRunner | None:
        if counts_too_far(self.model):
            self.tally.left_out[TOO_LARGE] += 1
            return None
        try:
            return TermRunner(self.model)
        except Exception as error:  # onnxruntime's errors share no base class
            self.tally.left_out[f"onnxruntime does not load the term ({type(error).__name__})"] += 1
            return None

    @cached_property
    def is_valid(self) -> bool:
        """Whether ONNX's checker accepts the term, so that it has to accept what becomes of it."""
        try:
            assert_valid(self.model)
        except Exception:  # the checker's errors and those of inference share no base class
            return False
        return True

    @cached_property
    def types(self) -> frozenset[int]:
        """Of integers alone nothing is rounded; onnxruntime may compute in wider floats than 16 bits."""
        return frozenset(element_types(self.model).values())

    @cached_property
    def trials(self) -> list[Trial]:
        """Every set of inputs that the model runs on; others are counted as left out."""
        if self.runner is None:
            return []
        with np.errstate(all="ignore"):
            return [trial for trial in map(self._trial, self._sets()) if trial is not None]

    @cached_property
    def adds_nothing(self) -> bool:
        return adds_nothing(self.model)

    def meant(self, trial: Trial) -> Outputs:
        """What the term is meant to answer, as float64 says, where a law promises what is closer to that."""
        if not self.closer:
            return trial.expected
        try:
            meant = self.reference.run(trial.feeds)
        except Exception:  # the reference has faults of its own, of any kind
            return trial.expected
        with np.errstate(all="ignore"):
            return [x.astype(y.dtype) for x, y in zip(meant, trial.expected, strict=True)]

    @property
    def runs(self) -> bool:
        return bool(self.trials)

    def _sets(self) -> Iterator[tuple[Kind, dict[str, int], Feeds, bool]]:
        """Kinds, sizes and inputs: all kinds at the first sizes, and at the second, then the first one.

        The tables are whole where there is room for much of them at once: at the second sizes, or at the
        first ones where the term runs at no others.
        """
        found, roomy = list(self._sizes()), 1
        for number, sizes in enumerate(found):
            if 0 in sizes.values() and (self.kinds == ORDINARY or self._failed):
                continue  # what does not run at every size may run at 0 by accident
            whole = self.turn is None and number == min(roomy, len(found) - 1)
            turn = None if whole else number + (self.turn or 0)
            most = self._most_elements(sizes)
            for kind in self.kinds[:1] if number > roomy else self.kinds:
                for k, feeds in enumerate(self._made(sizes, kind, turn, most)):
                    yield kind, sizes, feeds, self._is_checked(kind, k) and number < USUAL
        if len(found) > roomy and self.turn is None and found[roomy] not in self._ran:
            most = self._most_elements(found[0])
            for kind in self.kinds:
                for feeds in self._made(found[0], kind, None, most)[1:]:
                    yield kind, found[0], feeds, False

    def _is_checked(self, kind: Kind, number: int) -> bool:
        """Whether the reference is asked, too: once, but of halves, which onnxruntime rounds less, often."""
        return kind == "normal" and (not number or (self.numerics == "finite" and _HALF in self.types))

    def _most_elements(self, sizes: Mapping[str, int]) -> float:
        try:
            return most_elements(self.model, sizes)
        except ValueError:  # even of nothing, where axes are so long
            return math.inf

    def _made(self, sizes: Mapping[str, int], kind: Kind, turn: int | None, most: float) -> list[Feeds]:
        """Inputs of a kind at some sizes, at which values have so many elements at most."""
        with suppress(ValueError):  # as above, of an input
            if most <= LARGEST_VALUE:
                return list(self._inputs.feeds(sizes, kind, turn=turn))
            if most <= MOST_ADDED and kind == "ends":
                return list(islice(self._inputs.feeds(sizes, kind), 2))
        self.tally.left_out[TOO_LARGE] += 1
        return []

    def _sizes(self) -> Iterator[dict[str, int]]:
        return sizes_of(symbols(self.model), numbers_of_dims(self.model), ends_of_slices(self.model))

    def _trial(self, given: tuple[Kind, dict[str, int], Feeds, bool]) -> Trial | None:
        kind, sizes, feeds, checked = given
        assert self.runner is not None
        if self.kinds == ORDINARY and not all(array.size for array in feeds.values()):
            return None  # what is taken for granted says nothing of what is empty
        try:
            expected = self.runner.run(feeds)
        except Exception:  # onnxruntime's errors share no base class
            self.tally.left_out[f"the term does not run on {kind} inputs"] += 1
            self._failed |= kind == self.kinds[0]
            return None
        self._held += sum(array.nbytes for array in expected)
        if self._held > MOST_HELD:  # a Range is as long as numbers say
            self.tally.left_out[TOO_LARGE] += 1
            return None
        if kind == self.kinds[0]:
            self._ran.append(sizes)
        answers = None
        if checked and self._asks_reference and not self.runner.by_reference:
            answers = self._referred(feeds, expected)
        return Trial(kind, sizes, feeds, expected, self._computed(feeds, expected), answers)

    def _computed(self, feeds: Feeds, expected: Outputs) -> Computed:
        """Where a law has a bound, what its operands are is all that counts."""
        given = list(feeds.values())
        if self.bound is not None:
            return Computed(lambda: self.operands(feeds))
        return Computed(
            lambda: (*given, *expected, *computed_from(given, self.constants), *self._divided(feeds))
        )

    def _divided(self, feeds: Feeds) -> list[Any]:
        """See `before_subtracted`; nothing where the reference does not run."""
        if all(node.op_type not in NORMALIZATIONS for node in self.model.graph.node):
            return []
        try:
            return list(before_subtracted(self.model, self.reference.on_the_way(feeds)))
        except Exception:  # the reference has faults of its own, of any kind
            return []

    def operands(self, feeds: Feeds) -> list[Any]:
        """What a term is computed from."""
        return [*feeds.values(), *self.constants]

    def _referred(self, feeds: Feeds, expected: Outputs) -> Outputs | None:
        try:
            answers = self.reference.run(feeds)
        except Exception:  # the reference has faults of its own, of any kind
            self.tally.left_out["the reference does not run the term"] += 1
            return None
        if not are_alike(answers, expected):
            self.tally.left_out["the reference computes something else of the term"] += 1
            return None
        return answers

    def by_reference(self) -> Original:
        """The same term, run by the reference only, to be compared with what only that runs."""
        other = Original(self.model, self.claimed, self.kinds)
        other.__dict__["runner"] = TermRunner(self.model, by_reference=True)
        other._inputs = self._inputs
        return other
