"""What laws made of a term, compared with it on its inputs.

Where onnxruntime's answers differ by what may be rounding, and on some inputs besides, ONNX's reference
evaluator says what is meant, with floats in float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

from egraph_opt.check.feeds.roles import element_types
from egraph_opt.check.judging.agreement import Claim, difference
from egraph_opt.check.judging.by_place import loses_places, rounds_by_place
from egraph_opt.check.judging.differing import described, on_one_line
from egraph_opt.check.judging.excuses import (
    adds_integers_as_doubles,
    are_alike,
    computes_no_more,
    differs_as_halves,
    flushed,
    is_beyond_rounding,
    is_excused,
    is_no_rounding,
    may_be_a_step,
    nearer,
    overflows_with_inputs,
    reason_of_the_machine,
    stay_in_range,
)
from egraph_opt.check.judging.onnx_checker import assert_valid
from egraph_opt.check.judging.outcomes import Failure, Tally, Trial
from egraph_opt.check.judging.reference import Outputs, Reference
from egraph_opt.check.judging.runner import TermRunner
from egraph_opt.check.judging.trials import Original
from egraph_opt.check.judging.worst_case import worst_case
from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.forking import cached_property
from egraph_opt.laws.exactness import Numerics

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


FLOAT_SETTINGS = {onnx.AttributeProto.FLOAT, onnx.AttributeProto.FLOATS}
NARROW = ALL_FLOATS - {TensorProto.DOUBLE}

EXACT = 2.0**20
"""Below this float32 has eighths."""

UNDERFLOWS = "a step on the way underflows: is what is written closer to the exact value, serves='accuracy'?"


def _constants_of(model: onnx.ModelProto) -> Iterator[Any]:
    yield from map(numpy_helper.to_array, model.graph.initializer)
    for node in model.graph.node:
        yield from (numpy_helper.to_array(a.t) for a in node.attribute if a.HasField("t"))


def _is_exact(array: Any) -> bool:
    """Whether numbers have so few digits that float32 has rounded nothing: large ones are all whole there."""
    small = bool((np.abs(array) < EXACT).all())
    return small and np.array_equal(np.round(8 * array) / 8, array)


def compare(
    original: Original, rewritten: onnx.ModelProto, tally: Tally, only: int | None = None
) -> Failure | None:
    """Whether a rewritten model answers as the term does; None, or what is wrong.

    Args:
        tally: where to count checks.
        only: the number of the output that the rewritten model's only one is to equal.
    """
    if original.runner is None or not original.trials:
        return None
    by_reference = original.runner.by_reference
    try:
        if original.is_valid:
            assert_valid(rewritten)
        runner = TermRunner(rewritten, by_reference=by_reference)
    except NoKernel:
        if original.needs_kernels:
            return Failure(NO_KERNEL)
        # Of operators of other domains, which the reference does not know.
        tally.left_out["onnxruntime has no kernel for what was rewritten"] += 1
        return None
    except Exception as error:  # onnxruntime's errors share no base class
        return Failure(f"what was rewritten is refused: {on_one_line(error)}")
    if original.needs_kernels and runner.lacks_kernel and not by_reference:
        return Failure(NO_KERNEL)
    if runner.by_reference and not by_reference:
        return compare(original.by_reference(), rewritten, tally, only)
    comparison = _Comparison(original, rewritten, runner, tally, only)
    failures = filter(None, map(comparison.on, original.trials))
    return next(failures, None) or worst_case(original, runner, only)


class _Comparison:
    """A term and what was rewritten, on one set of inputs after the other."""

    def __init__(
        self,
        original: Original,
        rewritten: onnx.ModelProto,
        runner: TermRunner,
        tally: Tally,
        only: int | None,
    ) -> None:
        self._original, self._rewritten, self._runner = original, rewritten, runner
        self._tally, self._only = tally, only
        self._reference = Reference(rewritten)
        self._numerics = original.numerics
        self._claim = CLAIMS[original.numerics]
        if self._claim == "every bit" and rounds_by_place(original.model, rewritten):
            self._claim = "in place"
        if self._claim == "finite" and loses_places(original.model, rewritten):
            self._claim = "finite in place"

    def on(self, trial: Trial) -> Failure | None:
        """Whether both answer alike on a set of inputs; None, or what is wrong."""
        claim, kind = self._claim, trial.kind
        if kind in ("alike", "large", "level", "every size", "cancelling", "zeros") and claim == "real":
            claim = "stays finite"
        if kind in ("wide", "ends", "points") and claim == "real":
            claim = "real where finite"
        if kind == "underflow" and claim == "real":
            claim = "apart" if self._original.adds_nothing else "real where finite"
        expected = self._asked(trial.expected)
        try:
            found = self._runner.run(trial.feeds)
        except Exception as error:  # onnxruntime's errors share no base class
            if self._runner.by_reference:  # which has faults of its own
                self._tally.left_out["the reference does not run what was rewritten"] += 1
                return None
            known = reason_of_the_machine(error, self._rewritten)
            if known:
                self._tally.left_out[known] += 1
                return None
            failure: Failure | None = Failure(f"it does not run: {on_one_line(error)}", trial.feeds)
            if self._original.needs_kernels and not trial.takes_nothing:
                return failure
        else:
            if kind == "underflow":
                meant = self._asked(self._original.meant(trial))
                expected = list(map(nearer, expected, meant, found))
            failure = self._differs(trial, expected, found, claim)
        if failure is not None and self._overflows(failure):
            self._tally.left_out["a constant near the end of its type meets inputs"] += 1
            return None
        if failure is not None and kind == "underflow" and not trial.is_empty:
            return replace(failure, message=f"{failure.message}; {UNDERFLOWS}")
        if failure is not None and (trial.is_empty or self._may_be_rounding(failure, claim)):
            return self._arbitrated(trial, failure, claim)
        self._tally.made[("reference, " if self._runner.by_reference else "onnxruntime, ") + kind] += 1
        if (
            failure is None
            and kind in ("normal", "small values", "zeros")
            and self._numerics == "reassociates"
        ):
            failure = self._drowned(trial, expected, found)
        if failure is None and trial.reference is not None:
            failure = self._refer(trial)
        return failure

    @cached_property
    def _is_double_throughout(self) -> bool:
        """Whether neither side has a setting that is a float, or an operand of a narrower type."""
        models = (self._original.model, self._rewritten)
        nodes = (node for model in models for node in model.graph.node)
        settings = any(a.type in FLOAT_SETTINGS for node in nodes for a in node.attribute)
        return not settings and not any(NARROW & set(element_types(m).values()) for m in models)

    def _asked(self, outputs: Outputs) -> Outputs:
        """All outputs, or the one that is asked for."""
        return outputs if self._only is None else [outputs[self._only]]

    def _differs(self, trial: Trial, expected: Outputs, found: Sequence[Any], claim: Claim) -> Failure | None:
        for k, (a, b) in enumerate(zip(expected, found, strict=True)):
            if a.shape != b.shape or a.dtype != b.dtype:
                became = f"{a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}"
                return Failure(f"{became} {trial}", trial.feeds, a, b)
            narrow = claim in ("real", "real where finite") and a.dtype == np.float16
            asked: Claim = claim
            if narrow:  # ordinary numbers overflow; a large constant excuses no quotient by it
                asked = "apart" if self._original.adds_nothing else "real where finite"
            elif claim == "real" and a.dtype == np.float64 and self._is_double_throughout:
                asked = "real in double"
            wrong = difference(a, b, asked, trial.computed, self._original.bound)
            if wrong is None:
                continue
            large = trial.kind == "large" and claim == "stays finite"
            if large and self._is_by_rounding(trial, k, a, wrong.bad):
                self._tally.left_out["rounding makes something infinite"] += 1
                continue
            return Failure(described(a, b, wrong, str(trial)), trial.feeds, a, b, trial.kind == "normal")
        return None

    def _arbitrated(self, trial: Trial, failure: Failure, claim: Claim) -> Failure | None:
        """What the reference says of both sides: where an input has no elements, and of ties.

        Of nothing, onnxruntime may not run, or answer what was in memory: a mean is 0 to one kernel and NaN
        to another, and a MatMul does not broadcast a batch of none.  What differs by rounding is alike in
        float64, and what is equal in float32, which an ArgMax shows, need not be.
        """
        meant = None
        try:
            meant = self._original.reference.run(trial.feeds)
            found = self._reference.run(trial.feeds)
        except Exception as error:  # the reference has faults of its own, of any kind
            if trial.is_empty and meant is None and isinstance(error, ValueError):  # dims that do not fit
                self._tally.left_out["the term does not run where a dim is 0, says the reference"] += 1
                return None
            if failure.found is not None:
                return failure
            if all(array.size for array in self._asked(trial.expected)):
                return failure
            self._tally.left_out["nobody runs what was rewritten where a dim is 0"] += 1
            return None
        meant = self._asked(meant)
        expected = self._asked(trial.expected)
        if trial.is_empty:
            self._tally.left_out["onnxruntime is wrong where a dim is 0, says the reference"] += 1
        elif not (TensorProto.FLOAT16 in self._original.types or are_alike(meant, expected)):
            return failure  # halves are rounded by the reference, and between some nodes by onnxruntime
        meant = [x.astype(y.dtype) for x, y in zip(meant, expected, strict=True)]
        found = [x.astype(y.dtype) for x, y in zip(found, expected, strict=True)]
        wider = claim if claim == "real where finite" else CLAIMS[self._numerics]
        return self._differs(trial, meant, found, wider)

    def _drowned(self, trial: Trial, expected: Outputs, found: Outputs) -> Failure | None:
        """A difference that large numbers on the way, as of a mask, excuse, and float64 does not."""
        if not any(map(is_excused, expected, found)) or not self._is_unfolded():
            return None
        try:
            meant, other = self._original.reference.run(trial.feeds), self._reference.run(trial.feeds)
        except Exception:  # the reference has faults of its own, of any kind
            return None
        whole = (*trial.feeds.values(), *meant, *self._original.constants)
        meant = self._asked(meant)
        if not are_alike(meant, expected) or not are_alike(other, found):
            return None
        for a, b, x, y in zip(meant, other, expected, found, strict=True):
            wrong = difference(a, b, "beside zeros" if trial.kind == "zeros" else "in float64", whole)
            if wrong is not None:
                return Failure(described(x, y, wrong, str(trial)), trial.feeds, x, y)
        return None

    def _overflows(self, failure: Failure) -> bool:
        """Whether a number overflows that no law can keep from it."""
        if self._numerics != "reassociates" or not isinstance(failure.expected, np.ndarray):
            return False
        made = list(_constants_of(self._rewritten))
        return overflows_with_inputs(failure.expected, failure.found, self._original.constants, made)

    def _is_unfolded(self) -> bool:
        """Whether no constant was computed on the way, in which float32 has left its rounding."""
        given = {(array.shape, array.tobytes()) for array in self._original.constants}
        made = (array for model in (self._original.model, self._rewritten) for array in _constants_of(model))
        return all(
            (array.shape, array.tobytes()) in given or _is_exact(array)
            for array in made
            if array.dtype.kind == "f"
        )

    def _may_be_rounding(self, failure: Failure, claim: Claim) -> bool:
        """Whether numbers differ that the law may round otherwise, or what is read off such numbers."""
        a, b = failure.expected, failure.found
        if not isinstance(a, np.ndarray) or a.shape != b.shape:
            return False
        if ALL_FLOATS.isdisjoint(self._original.types):
            return all(map(adds_integers_as_doubles, (self._original.model, self._rewritten)))
        read_off = a.dtype.kind != "f" and claim == "in place"  # places and conditions have no last places
        widened = TensorProto.FLOAT16 in self._original.types and (
            differs_as_halves(a, b) or may_be_a_step(a, b, self._original.model)
        )
        return widened or ((self._numerics == "reassociates" or read_off) and not is_no_rounding(a, b))

    def _is_by_rounding(self, trial: Trial, number: int, a: Any, bad: Any) -> bool:
        """Whether rounding made elements infinite, as powers of what large numbers leave of a sum: they are
        alike in float64, and all on the way is within the type."""
        if not computes_no_more(self._rewritten):
            return False
        try:
            meant = self._asked(self._original.reference.run(trial.feeds))[number][bad]
            found = self._reference.run(trial.feeds)[number][bad]
            on_the_way = list(self._reference.on_the_way(trial.feeds).values())
        except Exception:  # the reference has faults of its own, of any kind
            return False
        return are_alike([found], [meant]) and stay_in_range(bad, on_the_way, a.dtype)

    def _refer(self, trial: Trial) -> Failure | None:
        if any(node.domain for node in self._rewritten.graph.node):
            self._tally.left_out[FOREIGN] += 1
            return None
        try:
            found = self._reference.run(trial.feeds)
        except Exception:  # the reference has faults of its own, of any kind
            self._tally.left_out["the reference does not run what was rewritten"] += 1
            return None
        assert trial.reference is not None
        expected = self._asked(trial.reference)
        if any(a.shape != b.shape for a, b in zip(found, expected, strict=True)):
            # onnxruntime has just said that these shapes are right.
            self._tally.left_out["the reference is wrong about a shape of what was rewritten"] += 1
            return None
        self._tally.made["reference"] += 1
        halves = (array for array in trial.feeds.values() if array.dtype == np.float16)
        computed = (*expected, *halves)
        for k, (a, b) in enumerate(zip(expected, found, strict=True)):
            own = trial.expected[self._only or k].dtype
            halves_only = own == np.float16 and self._numerics == "finite"  # which onnxruntime may not round
            claim: Claim = "finite" if halves_only else "reference"
            wrong = difference(flushed(a, own), flushed(b, own), claim, computed)
            if wrong is not None:
                if is_beyond_rounding(a, b, own):
                    # onnxruntime has just said that both sides are alike.
                    self._tally.left_out["the reference contradicts onnxruntime"] += 1
                    return None
                return Failure(described(a, b, wrong, str(trial)) + ", in float64", trial.feeds, a, b)
        return None
