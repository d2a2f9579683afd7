"""A term and what laws made of it, run on the table of inputs and compared.

Models run in onnxruntime, node by node as they are written; where it has no kernel, or would end the
process, in ONNX's reference evaluator.  That one also checks some runs of onnxruntime's, with floats in
float64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

from egraph_opt.check.agreement import (
    Claim,
    are_alike,
    computed_from,
    difference,
    differs_as_halves,
    is_beyond_rounding,
    is_excused,
    is_no_rounding,
    overflows_with_inputs,
)
from egraph_opt.check.by_place import rounds_by_place
from egraph_opt.check.differing import described, on_one_line
from egraph_opt.check.inputs import ORDINARY, Feeds, Inputs, Kind
from egraph_opt.check.outcomes import Failure, Tally, Trial
from egraph_opt.check.reference import Outputs, Reference
from egraph_opt.check.roles import element_types
from egraph_opt.check.runner import TermRunner
from egraph_opt.check.sizes import ends_of_slices, most_elements, numbers_of_dims, sizes_of, symbols
from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.forking import cached_property
from egraph_opt.laws.exactness import Approximate, Numerics

CLAIMS: Mapping[Numerics, Claim] = {
    "bitwise": "every bit",
    "finite": "finite",
    "reassociates": "real",
    "approximate": "bound",
}
FOREIGN = "the reference does not know the operators of other domains"
"""The reason for which a check is left out where a law writes operators of a runtime's own."""

NO_KERNEL = (
    "onnxruntime has a kernel for the term and none for what was rewritten: say with kernel(..) what it has"
    " kernels for"
)
LARGEST_VALUE, MOST_ADDED = 10**7, 2**24 + 1
"""Of a value; of one that is there because floats do not count so far, which is tried with all at an end."""

USUAL = 2
"""The first sizes of symbols suit every term; of the others some are odd, and the term may not run."""


def _constants_of(model: onnx.ModelProto) -> Iterator[Any]:
    yield from map(numpy_helper.to_array, model.graph.initializer)
    for node in model.graph.node:
        yield from (numpy_helper.to_array(a.t) for a in node.attribute if a.HasField("t"))


def _asked(outputs: Outputs, only: int | None) -> Outputs:
    """All outputs, or the one that is asked for."""
    return outputs if only is None else [outputs[only]]


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
    ) -> None:
        self.model, self.claimed, self.kinds, self._kernels = model, claimed, kinds, kernels
        self.turn = turn
        self._constants = [numpy_helper.to_array(tensor) for tensor in model.graph.initializer]
        self.bound = claimed if isinstance(claimed, Approximate) else None
        self.numerics: Numerics = "approximate" if isinstance(claimed, Approximate) else claimed
        self._inputs = Inputs(model, numbers)
        self._asks_reference, self._reference = reference and self.bound is None, Reference(model)
        self.tally, self._failed, self._ran = Tally(), False, list[Mapping[str, int]]()

    @cached_property
    def runner(self) -> TermRunner | None:
        try:
            return TermRunner(self.model)
        except Exception as error:  # onnxruntime's errors share no base class
            self.tally.left_out[f"onnxruntime does not load the term ({type(error).__name__})"] += 1
            return None

    @cached_property
    def is_valid(self) -> bool:
        """Whether ONNX's checker accepts the term, so that it has to accept what becomes of it."""
        try:
            onnx.checker.check_model(self.model, full_check=True)
        except Exception:  # the checker's errors and those of inference share no base class
            return False
        return True

    @cached_property
    def _types(self) -> frozenset[int]:
        """Of integers alone nothing is rounded; onnxruntime may compute in wider floats than 16 bits."""
        return frozenset(element_types(self.model).values())

    @cached_property
    def trials(self) -> list[Trial]:
        """Every set of inputs that the model runs on; others are counted as left out."""
        if self.runner is None:
            return []
        with np.errstate(all="ignore"):
            return [trial for trial in map(self._trial, self._sets()) if trial is not None]

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
            for kind in self.kinds[:1] if number > roomy else self.kinds:
                for k, feeds in enumerate(self._made(sizes, kind, turn)):
                    yield kind, sizes, feeds, kind == "normal" and k == 0 and number < USUAL
        if len(found) > roomy and self.turn is None and found[roomy] not in self._ran:
            for kind in self.kinds:
                for feeds in self._made(found[0], kind, None)[1:]:
                    yield kind, found[0], feeds, False

    def _made(self, sizes: Mapping[str, int], kind: Kind, turn: int | None) -> list[Feeds]:
        try:
            most = most_elements(self.model, sizes)
            if most <= LARGEST_VALUE:
                return list(self._inputs.feeds(sizes, kind, turn=turn))
            if most <= MOST_ADDED and kind == "ends":
                return list(islice(self._inputs.feeds(sizes, kind), 2))
        except ValueError:  # even of nothing, where axes are so long
            pass
        self.tally.left_out["the term is too large at a size"] += 1
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
        if kind == self.kinds[0]:
            self._ran.append(sizes)
        answers = None
        if checked and self._asks_reference and not self.runner.by_reference:
            answers = self._referred(feeds, expected)
        return Trial(kind, sizes, feeds, expected, answers)

    def _referred(self, feeds: Feeds, expected: Outputs) -> Outputs | None:
        try:
            answers = self._reference.run(feeds)
        except Exception:  # the reference has faults of its own, of any kind
            self.tally.left_out["the reference does not run the term"] += 1
            return None
        if not are_alike(answers, expected):
            self.tally.left_out["the reference computes something else of the term"] += 1
            return None
        return answers

    def compare(self, rewritten: onnx.ModelProto, tally: Tally, only: int | None = None) -> Failure | None:
        """Whether a rewritten model answers as the term does; None, or what is wrong.

        Args:
            tally: where to count checks.
            only: the number of the output that the rewritten model's only one is to equal.
        """
        if self.runner is None or not self.trials:
            return None
        try:
            if self.is_valid:
                onnx.checker.check_model(rewritten, full_check=True)
            runner = TermRunner(rewritten, by_reference=self.runner.by_reference)
        except NoKernel:
            return self._no_kernel(tally)
        except Exception as error:  # onnxruntime's errors share no base class
            return Failure(f"what was rewritten is refused: {on_one_line(error)}")
        if self._kernels and runner.lacks_kernel and not self.runner.by_reference:
            return Failure(NO_KERNEL)
        if runner.by_reference and not self.runner.by_reference:
            return self._compare_by_reference(rewritten, tally, only)
        claim = CLAIMS[self.numerics]
        if claim == "every bit" and rounds_by_place(self.model, rewritten):
            claim = "in place"
        reference = Reference(rewritten)
        for trial in self.trials:
            failure = self._compare_on(trial, runner, reference, claim, tally, only)
            if failure is not None:
                return failure
        return None

    def _no_kernel(self, tally: Tally) -> Failure | None:
        """Of operators of other domains, which the reference does not know."""
        if self._kernels:
            return Failure(NO_KERNEL)
        tally.left_out["onnxruntime has no kernel for what was rewritten"] += 1
        return None

    def _compare_by_reference(
        self, rewritten: onnx.ModelProto, tally: Tally, only: int | None
    ) -> Failure | None:
        """Of a model that only the reference runs: the term has to run there, too, to be compared."""
        other = Original(self.model, self.claimed, self.kinds)
        other.__dict__["runner"] = TermRunner(self.model, by_reference=True)
        other._inputs = self._inputs
        return other.compare(rewritten, tally, only)

    def _compare_on(
        self, trial: Trial, runner: TermRunner, reference: Reference, claim: Claim, *rest: Any
    ) -> Failure | None:
        tally, only = rest
        if trial.kind in ("alike", "large", "level", "every size", "cancelling") and claim == "real":
            claim = "stays finite"
        if trial.kind in ("wide", "ends") and claim == "real":
            claim = "real where finite"
        expected = _asked(trial.expected, only)
        try:
            found = runner.run(trial.feeds)
        except Exception as error:  # onnxruntime's errors share no base class
            if runner.by_reference:  # which has faults of its own
                tally.left_out["the reference does not run what was rewritten"] += 1
                return None
            failure: Failure | None = Failure(f"it does not run: {on_one_line(error)}", trial.feeds)
            if self._kernels and not trial.takes_nothing:
                return failure
        else:
            failure = self._differs(trial, expected, found, claim)
        if failure is not None and self._overflows(failure, reference.model):
            tally.left_out["a constant near the end of its type meets inputs"] += 1
            return None
        if failure is not None and (trial.is_empty or self._may_be_rounding(failure, claim)):
            return self._arbitrated(trial, reference, failure, claim, tally, only)
        tally.made[("reference, " if runner.by_reference else "onnxruntime, ") + trial.kind] += 1
        if failure is None and trial.kind in ("normal", "small values") and self.numerics == "reassociates":
            failure = self._drowned(trial, reference, expected, found, only)
        if failure is None and trial.reference is not None:
            failure = self._refer(trial, reference, tally, only)
        return failure

    def _differs(self, trial: Trial, expected: Outputs, found: Sequence[Any], claim: Claim) -> Failure | None:
        given = list(trial.feeds.values())
        more = () if claim == "bound" else (*trial.expected, *computed_from(given, self._constants))
        for a, b in zip(expected, found, strict=True):
            if a.shape != b.shape or a.dtype != b.dtype:
                told = f"{a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}"
                return Failure(f"{told} {trial}", trial.feeds, a, b)
            narrow = claim == "real" and a.dtype == np.float16  # where ordinary numbers overflow
            wrong = difference(a, b, "real where finite" if narrow else claim, (*given, *more), self.bound)
            if wrong is not None:
                return Failure(described(a, b, wrong, str(trial)), trial.feeds, a, b, trial.kind == "normal")
        return None

    def _arbitrated(
        self, trial: Trial, reference: Reference, failure: Failure, claim: Claim, *rest: Any
    ) -> Failure | None:
        """What the reference says of both sides: where an input has no elements, and of ties.

        Of nothing, onnxruntime may not run, or answer what was in memory: a mean is 0 to one kernel and NaN
        to another, and a MatMul does not broadcast a batch of none.  What differs by rounding is alike in
        float64, and what is equal in float32, which an ArgMax shows, need not be.
        """
        meant, (tally, only) = None, rest
        try:
            meant = self._reference.run(trial.feeds)
            found = reference.run(trial.feeds)
        except Exception as error:  # the reference has faults of its own, of any kind
            if trial.is_empty and meant is None and isinstance(error, ValueError):  # dims that do not fit
                tally.left_out["the term does not run where a dim is 0, says the reference"] += 1
                return None
            if failure.found is not None:
                return failure
            if all(array.size for array in _asked(trial.expected, only)):
                return failure
            tally.left_out["nobody runs what was rewritten where a dim is 0"] += 1
            return None
        meant = _asked(meant, only)
        expected = _asked(trial.expected, only)
        if trial.is_empty:
            tally.left_out["onnxruntime is wrong where a dim is 0, says the reference"] += 1
        elif not are_alike(meant, expected):
            return failure
        meant = [x.astype(y.dtype) for x, y in zip(meant, expected, strict=True)]
        found = [x.astype(y.dtype) for x, y in zip(found, expected, strict=True)]
        wider = claim if claim == "real where finite" else CLAIMS[self.numerics]
        return self._differs(trial, meant, found, wider)

    def _drowned(
        self, trial: Trial, reference: Reference, expected: Outputs, found: Outputs, only: int | None
    ) -> Failure | None:
        """A difference that large numbers on the way, as of a mask, excuse, and float64 does not."""
        if not any(map(is_excused, expected, found)) or not self._is_unfolded(reference.model):
            return None
        try:
            meant, other = self._reference.run(trial.feeds), reference.run(trial.feeds)
        except Exception:  # the reference has faults of its own, of any kind
            return None
        whole = (*trial.feeds.values(), *meant, *self._constants)
        meant = _asked(meant, only)
        if not are_alike(meant, expected) or not are_alike(other, found):
            return None
        for a, b, x, y in zip(meant, other, expected, found, strict=True):
            wrong = difference(a, b, "in float64", whole)
            if wrong is not None:
                return Failure(described(x, y, wrong, str(trial)), trial.feeds, x, y)
        return None

    def _overflows(self, failure: Failure, rewritten: onnx.ModelProto) -> bool:
        """Whether a number overflows that no law can keep from it."""
        if self.numerics != "reassociates" or not isinstance(failure.expected, np.ndarray):
            return False
        made = list(_constants_of(rewritten))
        return overflows_with_inputs(failure.expected, failure.found, self._constants, made)

    def _is_unfolded(self, rewritten: onnx.ModelProto) -> bool:
        """Whether no constant was computed on the way, in which float32 has left its rounding."""
        given = {(array.shape, array.tobytes()) for array in self._constants}
        made = (array for model in (self.model, rewritten) for array in _constants_of(model))
        return all(
            (array.shape, array.tobytes()) in given or np.array_equal(np.round(8 * array) / 8, array)
            for array in made
            if array.dtype.kind == "f"
        )

    def _may_be_rounding(self, failure: Failure, claim: Claim) -> bool:
        """Whether numbers differ that the law may round otherwise, or what is read off such numbers."""
        a, b = failure.expected, failure.found
        if not isinstance(a, np.ndarray) or a.shape != b.shape or ALL_FLOATS.isdisjoint(self._types):
            return False
        read_off = a.dtype.kind != "f" and claim == "in place"  # places and conditions have no last places
        widened = TensorProto.FLOAT16 in self._types and differs_as_halves(a, b)
        return (self.numerics == "reassociates" or read_off or widened) and not is_no_rounding(a, b)

    def _refer(self, trial: Trial, reference: Reference, tally: Tally, only: int | None) -> Failure | None:
        if any(node.domain for node in reference.model.graph.node):
            tally.left_out[FOREIGN] += 1
            return None
        try:
            found = reference.run(trial.feeds)
        except Exception:  # the reference has faults of its own, of any kind
            tally.left_out["the reference does not run what was rewritten"] += 1
            return None
        assert trial.reference is not None
        expected = _asked(trial.reference, only)
        if any(a.shape != b.shape for a, b in zip(found, expected, strict=True)):
            # onnxruntime has just said that these shapes are right.
            tally.left_out["the reference is wrong about a shape of what was rewritten"] += 1
            return None
        tally.made["reference"] += 1
        for k, (a, b) in enumerate(zip(expected, found, strict=True)):
            wrong = difference(a, b, "reference", expected)
            if wrong is not None:
                if is_beyond_rounding(a, b, trial.expected[k if only is None else only].dtype):
                    # onnxruntime has just said that both sides are alike.
                    tally.left_out["the reference contradicts onnxruntime"] += 1
                    return None
                return Failure(described(a, b, wrong, str(trial)) + ", in float64", trial.feeds, a, b)
        return None
