"""Whether two models of an example compute the same, and a count of the checks that could not be made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

from egraph_opt.graph.runtime import plain_options, plain_session
from egraph_opt.laws.exactness import Approximate
from egraph_opt.testing.agreement import assert_equal, assert_finite_stays, assert_within, scale_of
from egraph_opt.testing.feeds import Feeds, Kind, feeds_of, sizes_of, symbols
from egraph_opt.testing.reference import Outputs, Reference

CRASHES_ON_NOTHING = frozenset({"Einsum", "InstanceNormalization"})
"""Operators with which onnxruntime ends the process where an operand has no elements (seen in 1.2x)."""

ROUNDED_BY_PLACE = frozenset("Acos Asin Atan Celu Cos Elu Log Pow Selu Sin Softplus Tan".split())
"""Operators of which onnxruntime rounds an element by its place in an array.

Pow goes by whether its exponent is a single number.
"""

DOUBLES_BY_PLACE = ROUNDED_BY_PLACE | {"Exp", "Sigmoid", "Tanh"}
"""The same for elements of 64 bits."""

SIZED: tuple[Kind, ...] = ("every size", "large")
"""Inputs on which the claim is about what is finite."""

FOREIGN = "the reference does not know the operators of other domains"
"""The reason for which a check is left out where a law writes operators of a runtime's own."""

ENOUGH = 8
"""Elements that an input has, over all sets of inputs of one kind and size."""


@dataclass
class Tally:
    """Checks that were made, and those that were left out, by what could not be done.

    A check is one comparison of all outputs of two models on one set of inputs, by one evaluator.
    """

    made: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        self.made.update(other.made)
        self.left_out.update(other.left_out)


def _session(model: onnx.ModelProto) -> Any:
    return plain_session(model.SerializeToString(), plain_options(threads=1))


def _run_session(session: Any, feeds: Feeds) -> Outputs:
    return [np.asarray(output) for output in session.run(None, feeds)]


def _may_crash(model: onnx.ModelProto, feeds: Feeds) -> bool:
    empty = any(array.size == 0 for array in feeds.values())
    return empty and any(node.op_type in CRASHES_ON_NOTHING for node in model.graph.node)


@dataclass(frozen=True)
class Trial:
    """One set of inputs, and what the example as it was written answers.

    Attributes:
        usual: whether symbolic dims stand for sizes that suit every example, none of them 0.
    """

    kind: Kind
    sizes: Mapping[str, int]
    feeds: Feeds
    expected: Outputs
    reference: Outputs | None = None
    usual: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether an input has no elements."""
        return not all(array.size for array in self.feeds.values())

    def of(self, output: int) -> Trial:
        """The same for one of the outputs."""
        reference = None if self.reference is None else [self.reference[output]]
        return replace(self, expected=[self.expected[output]], reference=reference)


class Original:
    """An example as it was written, run once on every set of inputs.

    Args:
        kinds: the kinds of inputs; the reference evaluator runs those that are `normal`.
    """

    def __init__(
        self, model: onnx.ModelProto, kinds: tuple[Kind, ...] = ("normal",), *, reference: bool = True
    ) -> None:
        self.model, self.kinds = model, kinds
        self._asks_reference, self._reference = reference, Reference(model)
        self.tally = Tally()

    @cached_property
    def trials(self) -> list[Trial]:
        """Every set of inputs that onnxruntime runs the model on; others are counted as left out."""
        try:
            session = _session(self.model)
        except Exception as error:  # onnxruntime's errors share no base class
            self.tally.left_out[f"onnxruntime does not load the example ({type(error).__name__})"] += 1
            return []
        found = []
        for number, sizes in enumerate(sizes_of(symbols(self.model))):
            for kind in self.kinds:
                for seed in self._seeds(kind, sizes):
                    trial = self._trial(session, kind, sizes, seed, must=number < 2)
                    if trial is not None:
                        found.append(trial)
        return found

    def _seeds(self, kind: Kind, sizes: Mapping[str, int]) -> range:
        """More of them for inputs of few elements: one scalar says little."""
        arrays = feeds_of(self.model, sizes, kind).values()
        least = min((array.size for array in arrays if array.size), default=ENOUGH)
        return range(-(-ENOUGH // least))

    def _trial(
        self, session: Any, kind: Kind, sizes: Mapping[str, int], seed: int, must: bool
    ) -> Trial | None:
        feeds = feeds_of(self.model, sizes, kind, seed)
        size = "" if must else " where a dim is 0"
        if _may_crash(self.model, feeds):
            self.tally.left_out["onnxruntime crashes on the example where a dim is 0"] += 1
            return None
        try:
            expected = _run_session(session, feeds)
        except Exception:  # onnxruntime's errors share no base class
            self.tally.left_out[f"onnxruntime does not run the example{size} on {kind} inputs"] += 1
            return None
        if not self._asks_reference or kind != "normal":
            return Trial(kind, sizes, feeds, expected, usual=must)
        try:
            answers = self._reference.run(feeds)
        except Exception:  # the reference has faults of its own, of any kind
            self.tally.left_out[f"the reference does not run the example{size}"] += 1
            return Trial(kind, sizes, feeds, expected, usual=must)
        if any(a.shape != b.shape for a, b in zip(answers, expected, strict=True)):
            self.tally.left_out[f"the reference is wrong about a shape{size}"] += 1
            return Trial(kind, sizes, feeds, expected, usual=must)
        return Trial(kind, sizes, feeds, expected, answers, must)

    def compare(
        self, rewritten: onnx.ModelProto, numerics: str | Approximate, only: int | None = None
    ) -> Tally:
        """Assert that a rewritten model answers as the example does; returns what was checked.

        Args:
            only: the number of the output that the rewritten model's only one is to equal.

        Raises:
            AssertionError: it does not.
        """
        tally = Tally()
        onnx.checker.check_model(rewritten, full_check=True)
        if not self.trials:
            return tally
        try:
            session = _session(rewritten)
        except NoKernel:
            tally.left_out["onnxruntime has no kernel for what was rewritten"] += 1
            return tally
        if numerics == "bitwise" and _rounds_by_place(self.model, rewritten):
            numerics = "in place"
        reference = Reference(rewritten)
        for whole in self.trials:
            trial = whole if only is None else whole.of(only)
            if _may_crash(rewritten, trial.feeds):
                tally.left_out["onnxruntime crashes on what was rewritten where a dim is 0"] += 1
                continue
            if trial.is_empty:
                self._compare_empty(trial, session, reference, numerics, tally, only)
            else:
                _assert_answers(trial, _run_session(session, trial.feeds), numerics)
                tally.made["onnxruntime, " + trial.kind] += 1
            if not isinstance(numerics, Approximate):
                self._compare_reference(trial, reference, tally)
        return tally

    def _compare_empty(
        self, trial: Trial, session: Any, reference: Reference, numerics: str | Approximate, *rest: Any
    ) -> None:
        """Compare where an input has no elements: onnxruntime may not run, or answer what was in memory.

        A mean of nothing is 0 to one kernel and NaN to another, and a MatMul does not broadcast a batch of
        none; the reference says what is meant, of both sides.
        """
        tally, only = rest
        try:
            _assert_answers(trial, _run_session(session, trial.feeds), numerics)
            tally.made["onnxruntime, " + trial.kind] += 1
            return
        except Exception as error:  # onnxruntime's errors share no base class
            failure = error
        try:
            meant, found = self._reference.run(trial.feeds), reference.run(trial.feeds)
        except Exception:  # the reference has faults of its own, of any kind
            if isinstance(failure, AssertionError):
                raise failure from None
            tally.left_out["nobody runs what was rewritten where a dim is 0"] += 1
            return
        meant = meant if only is None else [meant[only]]
        expected = [x.astype(y.dtype) for x, y in zip(meant, trial.expected, strict=True)]
        found = [x.astype(y.dtype) for x, y in zip(found, trial.expected, strict=True)]
        _assert_answers(replace(trial, expected=expected), found, numerics)
        tally.left_out["onnxruntime is wrong where a dim is 0, says the reference"] += 1

    def _compare_reference(self, trial: Trial, reference: Reference, tally: Tally) -> None:
        if trial.reference is None:
            return
        if any(node.domain for node in reference.model.graph.node):
            tally.left_out[FOREIGN] += 1
            return
        try:
            found = reference.run(trial.feeds)
        except Exception:  # the reference has faults of its own, of any kind
            tally.left_out["the reference does not run what was rewritten"] += 1
            return
        if any(a.shape != b.shape for a, b in zip(found, trial.expected, strict=True)):
            # onnxruntime has just said that these shapes are right.
            tally.left_out["the reference is wrong about a shape of what was rewritten"] += 1
            return
        for x, y in zip(trial.reference, found, strict=True):
            if np.issubdtype(x.dtype, np.floating) and np.issubdtype(y.dtype, np.floating):
                # Constants that were folded have been rounded to float32 once; float16 is computed in itself.
                half = x.dtype == np.float16
                np.testing.assert_allclose(
                    x.astype(np.float64),
                    y.astype(np.float64),
                    rtol=1e-2 if half else 1e-5,
                    atol=(1e-2 if half else 1e-6) * (1 + scale_of(x)),
                )
            else:
                np.testing.assert_array_equal(x, y)
        tally.made["reference"] += 1


def _rounds_by_place(*models: onnx.ModelProto) -> bool:
    inputs = {value.type.tensor_type.elem_type for model in models for value in model.graph.input}
    inexact = DOUBLES_BY_PLACE if TensorProto.DOUBLE in inputs else ROUNDED_BY_PLACE
    return any(node.op_type in inexact for model in models for node in model.graph.node)


def _assert_answers(trial: Trial, found: Outputs, numerics: str | Approximate) -> None:
    where = f"on {trial.kind} inputs, {dict(trial.sizes)}"
    _assert_types(trial.expected, found, where)
    inputs = tuple(trial.feeds.values())
    for a, b in zip(trial.expected, found, strict=True):
        if isinstance(numerics, Approximate):
            assert_within(a, b, numerics, inputs, where)
        elif trial.kind in SIZED or numerics == "finite":
            assert_finite_stays(a, b, (*inputs, *trial.expected), where, rounds=numerics == "finite")
        else:
            assert_equal(a, b, numerics, where)


def _assert_types(expected: Outputs, found: Outputs, where: str) -> None:
    for a, b in zip(expected, found, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype, (
            f"{a.dtype}{a.shape} became {b.dtype}{b.shape} {where}"
        )
