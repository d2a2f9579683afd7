"""Runs of an original and an optimized model on the same inputs, and what they have shown so far."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from egraph_opt.verification.budget import RunBudget
from egraph_opt.verification.comparison import compare, leaves, name_of, paired_leaves
from egraph_opt.verification.deployed import NotDeployableError, differences_as_deployed
from egraph_opt.verification.determinism import random_operators
from egraph_opt.verification.execution import ExecutionError, OutOfMemoryError, RunnableModel, Session, Value
from egraph_opt.verification.interface import Interface, interface
from egraph_opt.verification.seen import Seen
from egraph_opt.verification.sizes import Sizes, fits, sizes_text
from egraph_opt.verification.stability import UNSTABLE, Perturbed, judge, reproduces
from egraph_opt.verification.unrounded import Unrounded
from egraph_opt.verification.unsettled import around_one

AS_DEPLOYED = 2.0
"""How many times as long as a run one takes of a model that is loaded for it."""


class MismatchError(Exception):
    """The models differ; the message says where."""


class NotComparableError(Exception):
    """The models cannot be compared; the message says why."""


class NoMemoryError(NotComparableError):
    """There is not enough memory to run the models whole."""


@dataclass
class Runs:
    """Two sessions, and what was found of every output.

    Raises (on construction):
        NotComparableError: ONNX Runtime does not load the original.
        MismatchError: it loads the original, but not the optimized model.
    """

    before: RunnableModel
    after: RunnableModel
    seed: int
    compared: int = 0
    absolute: float = 0.0
    relative: float = 0.0
    approximate: bool = False
    budget: RunBudget = field(default_factory=RunBudget)
    deviations: dict[str, str] = field(default_factory=dict)
    """By output what differs, the first time, where values may."""
    notes: list[str] = field(default_factory=list)
    _seen: dict[str, Seen] = field(default_factory=dict)
    _last: tuple[dict[str, Value], list[Value]] | None = None
    """Inputs of the original and its outputs, until the next time."""

    def __post_init__(self) -> None:
        started = time.process_time()
        try:
            self.original = Session(self.before)
        except OutOfMemoryError as error:
            raise NoMemoryError(f"memory does not allow to load the original: {error}") from error
        except ExecutionError as error:
            raise NotComparableError(f"ONNX Runtime does not load the original: {error}") from error
        try:
            self.optimized = Session(self.after)
        except OutOfMemoryError as error:
            raise NoMemoryError(f"memory does not allow to load the optimized model: {error}") from error
        except ExecutionError as error:
            raise MismatchError(
                f"ONNX Runtime loads the original, but not the optimized model: {error}"
            ) from error
        self.loading = time.process_time() - started
        self.bytes = max(self.before.bytes, self.after.bytes)
        # Once it is called, the serialized models go.
        self._as_deployed = partial(differences_as_deployed, self.before, self.after)
        # The sessions have what they need; the serialized models would only take memory.
        self.before, self.after = (replace(model, content=b"") for model in (self.before, self.after))
        self.perturbed = Perturbed(self.before, self.original.run, self.seed)
        self.unrounded = Unrounded(self.before, self.after)
        self.random = random_operators(self.before.proto)
        self.loose = around_one(self.before.proto) | around_one(self.after.proto)
        if not self.perturbed.moves_weights:  # how far the original moves is not known
            self.loose.update(self.original.output_names)
        self._declared: tuple[Interface, Interface] = (
            interface(self.before.proto),
            interface(self.after.proto),
        )

    def compare(
        self, feeds: Mapping[str, Value], sizes: Sizes, where: str, *, must_reproduce: bool = False
    ) -> bool:
        """Runs both models and compares all outputs.

        Args:
            feeds: inputs by name.
            sizes: the numbers that symbolic dims have in them.
            where: what this run is, for messages.
            must_reproduce: inputs on which the original is random are left out, instead of a verdict.

        Returns:
            False if the original does not accept these inputs (or is random on them).

        Raises:
            MismatchError: outputs differ, or the optimized model does not run.
            NotComparableError: the original gives other outputs each time.
        """
        try:
            expected = self.run_original(feeds, sizes)
        except OutOfMemoryError as error:
            raise NoMemoryError(f"memory does not allow to run the original ({where}): {error}") from error
        except ExecutionError:
            return False
        where += f", sizes {sizes_text(sizes)}" if sizes else ""
        try:
            results = self.run_optimized(feeds, sizes)
        except OutOfMemoryError as error:
            raise NoMemoryError(f"memory does not allow to run the optimized model: {error}") from error
        except ExecutionError as error:
            raise MismatchError(f"the optimized model does not run ({where}): {error}") from error
        self._compare_declared(results, sizes, where)
        names = self.original.output_names
        if self.random:
            _compare_types(names, expected, results, where)
        else:
            found = self._differences(names, expected, results)
            if found and self.approximate:
                self._tolerate(found, where)
            elif found and not self._excused(found, feeds, expected, where, must_reproduce):
                return False
        self.compared += 1
        if self.compared == 1:
            self._compare_deployed(feeds, sizes, expected, where)
        return True

    def _compare_deployed(
        self, feeds: Mapping[str, Value], sizes: Sizes, expected: Sequence[Value], where: str
    ) -> None:
        """Compare once as users run models: the first inputs show what a fusion gets wrong."""
        if self.budget.lacks_time(AS_DEPLOYED):
            self.notes.append(
                "not compared with the optimisations of ONNX Runtime, as the limit of seconds was reached"
            )
            return
        run = partial(self._run, feeds=feeds, sizes=sizes)
        values = not (self.random or self.approximate)
        where += ", with the optimisations of ONNX Runtime"
        try:
            found = self._as_deployed(expected, run, values=values)
        except NotDeployableError as error:
            raise MismatchError(
                f"ONNX Runtime's own optimisations take the original, but not the optimized model: {error}"
            ) from error
        del self._as_deployed
        if found and values:
            self._excused(found, feeds, expected, where, must_reproduce=False)
        elif found:
            path, a, b = found[0]
            raise MismatchError(f"output {path!r} ({where}): {compare(a, b).message}")

    def run_original(self, feeds: Mapping[str, Value], sizes: Sizes) -> list[Value]:
        """The outputs of the original; what the last run has given is given once more on the same inputs.

        Raises:
            ExecutionError: it does not run on these inputs.
            BudgetError: it takes too long, or too much memory.
        """
        last, self._last = self._last, None
        if last is not None and _is_same(last[0], feeds):
            return last[1]
        del last  # not to have the outputs of both in memory
        found = self._run(self.original, feeds, sizes)
        self._last = dict(feeds), found
        return found

    def run_optimized(self, feeds: Mapping[str, Value], sizes: Sizes) -> list[Value]:
        """The outputs of the optimized model; raises as `run_original` does."""
        return self._run(self.optimized, feeds, sizes)

    def _run(self, session: Session, feeds: Mapping[str, Value], sizes: Sizes) -> list[Value]:
        most, started = self.budget.seconds(sizes), time.monotonic()
        results = session.run(feeds, seconds=most, bytes_=self.budget.most_bytes(sizes))
        self.budget.longest = max(self.budget.longest, time.monotonic() - started)
        return results

    def finish(self) -> None:
        """What can be said only after all runs.

        Raises:
            MismatchError: most of an output was excused, so that nothing was verified.
            NotComparableError: the models are random.
        """
        if self.random:
            raise NotComparableError(
                f"random operators: {', '.join(self.random[:3])}; "
                f"types of outputs agree in {self.compared} runs"
            )
        for path, seen in sorted(self._seen.items()):
            if seen.unstable > UNSTABLE * seen.elements:
                raise MismatchError(
                    f"output {path!r} differs, and the original itself changes {seen.unstable} of its "
                    f"{seen.elements} elements under a perturbation of one unit in the last place"
                )

    def uninformative(self) -> dict[str, str]:
        """Outputs that say little so far, with the reason: "constant" or "tiny"."""
        return {path: seen.says_little for path, seen in sorted(self._seen.items()) if seen.says_little}

    def _differences(
        self, names: Sequence[str], expected: Sequence[Value], results: Sequence[Value]
    ) -> list[tuple[str, Any, Any]]:
        found: list[tuple[str, Any, Any]] = []
        for path, a, b in paired_leaves(names, expected, results):
            difference = compare(a, b, loosely=name_of(path) in self.loose)
            seen = self._seen.setdefault(path, Seen())
            seen.elements += difference.elements
            seen.look(a)
            self.absolute = max(self.absolute, difference.absolute)
            self.relative = max(self.relative, difference.relative)
            if not difference.agrees:
                found.append((path, a, b))
        return found

    def _tolerate(self, found: Sequence[tuple[str, Any, Any]], where: str) -> None:
        """Note values that differ; types, shapes and what is no number may not.

        Raises:
            MismatchError: they do.
        """
        for path, a, b in found:
            difference = compare(a, b)
            if difference.bad is None:
                raise MismatchError(f"output {path!r} ({where}): {difference.message}")
            self.deviations.setdefault(path, f"{difference.message} ({where})")

    def _excused(
        self,
        found: Sequence[tuple[str, Any, Any]],
        feeds: Mapping[str, Value],
        expected: Sequence[Value],
        where: str,
        must_reproduce: bool,
    ) -> bool:
        """Whether the original moves as much by itself; False if it is random and that is no verdict."""
        names = self.original.output_names
        again = reproduces(expected, self.original.run(feeds), names)
        if again and must_reproduce:
            return False
        if again:
            raise NotComparableError(f"the original gives other outputs each time: {again}")
        by_inputs = [_by_path(names, outputs) for outputs in self.perturbed.by_inputs(feeds)]
        by_weights: list[dict[str, Any]] | None = None
        for path, a, b in found:
            inputs = [sample.get(path) for sample in by_inputs]
            loosely = name_of(path) in self.loose
            judgement = judge(a, b, inputs, [], loosely=loosely)
            if judgement.message:
                # Moving the weights needs sessions of their own: only where the inputs do not explain it.
                if by_weights is None:
                    by_weights = [_by_path(names, outputs) for outputs in self.perturbed.by_weights(feeds)]
                weights = [sample.get(path) for sample in by_weights]
                judgement = judge(a, b, inputs, weights, loosely=loosely)
            if judgement.message:
                raise MismatchError(f"output {path!r} ({where}): {judgement.message}")
            self._seen[path].unstable += judgement.unstable
        apart = [each for each in found if not compare(*each[1:], loosely=True).agrees]
        for path, a, b in apart:
            if self.unrounded(feeds, path):
                raise MismatchError(f"output {path!r} ({where}, nothing is rounded): {compare(a, b).message}")
        paths = ", ".join(repr(path) for path, _, _ in apart)
        if not paths:  # what is left of numbers that cancel
            return True
        self.notes.append(
            f"at {where}: {paths} differ, but no more than the original does under a perturbation of its "
            "inputs and weights by one unit in the last place"
        )
        return True

    def _compare_declared(self, results: Sequence[Value], sizes: Sizes, where: str) -> None:
        """A declared shape of the optimized model has to be true, unless the original says the same."""
        before, after = self._declared
        for old, new, value in zip(before.outputs, after.outputs, results, strict=True):
            if old.shape == new.shape or new.shape is None or not isinstance(value, np.ndarray):
                continue
            if not fits(new, value.shape, sizes):
                raise MismatchError(
                    f"output {new.name!r} ({where}) is declared {list(new.shape)}, "
                    f"but has shape {list(value.shape)}"
                )


def _is_same(a: Mapping[str, Value], b: Mapping[str, Value]) -> bool:
    """Whether inputs are the very same arrays."""
    return a.keys() == b.keys() and all(value is b[name] for name, value in a.items())


def _by_path(names: Sequence[str], outputs: Sequence[Value]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in zip(names, outputs, strict=True):
        found.update(leaves(name, value))
    return found


def _compare_types(
    names: Sequence[str], expected: Sequence[Value], results: Sequence[Value], where: str
) -> None:
    for name, before, after in zip(names, expected, results, strict=True):
        one, other = _type(before), _type(after)
        if one != other:
            raise MismatchError(f"output {name!r} ({where}): was {one} and is {other}")


def _type(value: Value) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return type(value).__name__
