"""The check itself: interface, checker, and outputs in ONNX Runtime on random inputs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from egraph_opt.verification.checking import checker_error
from egraph_opt.verification.comparison import compare, leaves
from egraph_opt.verification.determinism import random_operators
from egraph_opt.verification.execution import ExecutionError, LoadedModel, ModelLike, Session, Value, load
from egraph_opt.verification.inputs import Distribution, UnsupportedInputError, random_inputs
from egraph_opt.verification.interface import Interface, ValueSpec, differences, interface
from egraph_opt.verification.overriding import overrides
from egraph_opt.verification.planning import Plan, Search
from egraph_opt.verification.sizes import Ranges, Sizes, dim_name
from egraph_opt.verification.stability import UNSTABLE, Perturbed, judge, reproduces

Status = Literal["passed", "failed", "skipped", "not_comparable"]


@dataclass(frozen=True)
class Verification:
    """Whether an optimized model is the original.

    Attributes:
        status: "passed"; "failed"; "skipped" (nobody asked); "not_comparable" (the original is random, or
            does not run in ONNX Runtime; everything that could be checked was right).
        max_abs_error: largest error of a float element over all runs.
        max_rel_error: largest error over the largest magnitude of its output.
        seeds: the seeds of the runs that were compared.
        detail: what was compared, or what differs and where: output, seed, sizes, error.
    """

    status: Status
    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    seeds: list[int] = field(default_factory=list)
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The fields, JSON-able."""
        return {
            "status": self.status,
            "max_abs_error": self.max_abs_error,
            "max_rel_error": self.max_rel_error,
            "seeds": list(self.seeds),
            "detail": self.detail,
        }


SKIPPED = Verification("skipped", detail="verification was switched off")


def verify(
    original: ModelLike,
    optimized: ModelLike,
    *,
    seed: int = 0,
    seeds: int = 3,
    assume: Ranges | None = None,
    inputs: Sequence[Mapping[str, Value]] = (),
    override_defaults: bool = True,
    folder: str | os.PathLike[str] | None = None,
) -> Verification:
    """Compares an optimized model with the original.

    Interface first, then ONNX's checker (as far as the original passes it), then the outputs in ONNX Runtime
    with its graph optimisations off, on random inputs of several seeds and two sizes for every symbolic dim.

    Args:
        original: a ModelProto, a serialized model, or a path (needed above 2 GB).
        optimized: likewise.
        seed: the first seed; the others follow it.
        seeds: number of runs on random inputs; there are more if the sizes need more.
        assume: least and largest value by name of input, or size by name of symbolic dim.
        inputs: further inputs to compare on, by name, such as samples of real data.
        override_defaults: also run once with other values for inputs that have a default.
        folder: where the external data of models given in memory is.

    Returns:
        The verdict; a mismatch is a status, not an exception.

    Raises:
        ModelReadError: the original cannot be read.
    """
    before = load(original, folder=folder)
    after = load(optimized, folder=folder)
    a, b = interface(before.proto), interface(after.proto)
    changed = differences(a, b)
    if changed:
        return Verification("failed", detail="; ".join(changed))
    invalid = checker_error(before, after)
    if invalid:
        return Verification("failed", detail=f"onnx.checker refuses the optimized model: {invalid}")
    return _Comparison(before, after, a, b, seed, seeds, assume, override_defaults).verdict(inputs)


class _MismatchError(Exception):
    """The models differ; the message says where."""


class _NotComparableError(Exception):
    """The models cannot be compared; the message says why."""


@dataclass
class _Comparison:
    """One original, one optimized model, and what their runs have shown so far."""

    before: LoadedModel
    after: LoadedModel
    interface_before: Interface
    interface_after: Interface
    seed: int
    count: int
    assume: Ranges | None
    override_defaults: bool
    seeds: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    runs: int = 0
    absolute: float = 0.0
    relative: float = 0.0
    elements: dict[str, int] = field(default_factory=dict)
    unstable: dict[str, int] = field(default_factory=dict)
    first: dict[str, Any] = field(default_factory=dict)
    varying: set[str] = field(default_factory=set)

    def verdict(self, inputs: Sequence[Mapping[str, Value]]) -> Verification:
        try:
            self._start()
            for k, feeds in enumerate(inputs):
                self._compare(feeds, {}, f"given input {k}")
            self._compare_random(bool(inputs))
            self._refuse_unstable()
        except _MismatchError as mismatch:
            return self._result("failed", [str(mismatch)])
        except _NotComparableError as reason:
            return self._result("not_comparable", [str(reason)])
        summary = [f"{self.runs} runs agree", *self.notes]
        still = sorted(path for path in self.first if path not in self.varying and self.elements[path] > 1)
        if still:
            summary.append(f"outputs that are constant whatever the input: {', '.join(still)}")
        return self._result("passed", summary)

    def _result(self, status: Status, details: Sequence[str]) -> Verification:
        return Verification(status, self.absolute, self.relative, list(self.seeds), "; ".join(details))

    def _start(self) -> None:
        try:
            self.original = Session(self.before)
        except ExecutionError as error:
            raise _NotComparableError(f"ONNX Runtime does not load the original: {error}") from error
        try:
            self.optimized = Session(self.after)
        except ExecutionError as error:
            raise _MismatchError(
                f"ONNX Runtime loads the original, but not the optimized model: {error}"
            ) from error
        self.random = random_operators(self.before.proto)
        self.perturbed = Perturbed(self.before, self.original.run, self.seed)

    def _compare_random(self, some_already: bool) -> None:
        specs = self.interface_before.required
        try:
            plan = Search(specs, self.original.run, self.seed, self.assume).plan()
        except UnsupportedInputError as error:
            if some_already:
                self.notes.append(str(error))
                return
            raise _NotComparableError(str(error)) from error
        except ExecutionError as error:
            if some_already:
                self.notes.append(f"no random inputs run: {error}")
                return
            raise _NotComparableError(f"the original does not run on any inputs tried: {error}") from error
        sizes: Sizes = plan.sizes[0]
        for k in range(max(self.count, len(plan.sizes))):
            sizes = plan.sizes[k % len(plan.sizes)]
            distribution: Distribution = ("normal", "uniform")[(k + k // len(plan.sizes)) % 2]
            self._compare_first_accepted(plan, sizes, distribution, self.seed + k)
        if not self.runs and not some_already:
            raise _NotComparableError("the original does not run on any inputs tried")
        if self.override_defaults and self.interface_before.overridable:
            self._compare_overridden(plan, sizes)
        if any(plan.sizes):
            self.notes.append("sizes " + " and ".join(_sizes_text(sizes) for sizes in plan.sizes))

    def _compare_first_accepted(
        self, plan: Plan, sizes: Sizes, distribution: Distribution, seed: int
    ) -> None:
        for integers, floats in (
            (plan.integers, distribution),
            (plan.fallback[0], distribution),
            plan.fallback,
            (dict.fromkeys(plan.integers, (0, 0)), plan.fallback[1]),
        ):
            feeds = self._feeds(plan, sizes, floats, seed, integers)
            if self._compare(feeds, sizes, f"seed {seed}"):
                self.seeds.append(seed)
                return

    def _feeds(
        self, plan: Plan, sizes: Sizes, distribution: Distribution, seed: int, integers: Any
    ) -> dict[str, Value]:
        return random_inputs(
            self.interface_before.required,
            seed=seed,
            sizes=sizes,
            distribution=distribution,
            integers=integers,
            assume=self.assume,
            rank=plan.rank,
        )

    def _compare_overridden(self, plan: Plan, sizes: Sizes) -> None:
        base = self._feeds(plan, sizes, plan.fallback[1], self.seed, plan.fallback[0])
        accepted = 0
        for changed in overrides(self.before, self.interface_before, self.seed):
            # All of them at once comes first; if that runs there is no need for the parts.
            where = f"seed {self.seed} with {len(changed)} defaults overridden"
            accepted += self._compare({**base, **changed}, sizes, where, must_reproduce=True)
            if accepted == 1 and set(changed) == self.interface_before.overridable:
                break
        if not accepted:
            self.notes.append("defaults could not be overridden: the original runs with no other values")

    def _compare(
        self, feeds: Mapping[str, Value], sizes: Sizes, where: str, *, must_reproduce: bool = False
    ) -> bool:
        """Runs both models and compares; False if the original does not accept these inputs."""
        try:
            expected = self.original.run(feeds)
        except ExecutionError:
            return False
        where += f", sizes {_sizes_text(sizes)}" if sizes else ""
        try:
            results = self.optimized.run(feeds)
        except ExecutionError as error:
            raise _MismatchError(f"the optimized model does not run ({where}): {error}") from error
        pairs = list(zip(self.original.output_names, expected, results, strict=True))
        self._compare_declared(expected, results, sizes, where)
        if self.random:
            self._compare_types(pairs, where)
            self.runs += 1
            return True
        found: list[tuple[str, Any, Any, str]] = []
        for name, before, after in pairs:
            a, b = leaves(name, before), leaves(name, after)
            for path in sorted(a.keys() | b.keys()):
                difference = compare(a.get(path), b.get(path))
                self.elements[path] = self.elements.get(path, 0) + difference.elements
                self._watch(path, a.get(path))
                self.absolute = max(self.absolute, difference.absolute)
                self.relative = max(self.relative, difference.relative)
                if not difference.agrees:
                    found.append((path, a.get(path), b.get(path), difference.message))
        if found and not self._excused(found, feeds, expected, where, must_reproduce):
            return False
        self.runs += 1
        return True

    def _excused(
        self,
        found: Sequence[tuple[str, Any, Any, str]],
        feeds: Mapping[str, Value],
        expected: Sequence[Value],
        where: str,
        must_reproduce: bool,
    ) -> bool:
        """Whether the original moves as much by itself; raises where it does not."""
        names = self.original.output_names
        again = reproduces(expected, self.original.run(feeds), names)
        if again and must_reproduce:
            return False
        if again:
            raise _NotComparableError(f"the original gives other outputs each time: {again}")
        by_inputs, by_weights = self.perturbed.outputs(feeds)
        samples = [
            [
                {
                    path: leaf
                    for name, value in zip(names, run, strict=True)
                    for path, leaf in leaves(name, value).items()
                }
                for run in runs
            ]
            for runs in (by_inputs, by_weights)
        ]
        for path, a, b, _ in found:
            judgement = judge(a, b, [s.get(path) for s in samples[0]], [s.get(path) for s in samples[1]])
            if judgement.message:
                raise _MismatchError(f"output {path!r} ({where}): {judgement.message}")
            self.unstable[path] = self.unstable.get(path, 0) + judgement.unstable
        self.notes.append(
            f"at {where} the outputs {sorted({path for path, *_ in found})} differ no more than those of the "
            "original under a perturbation by one unit in the last place"
        )
        return True

    def _watch(self, path: str, leaf: Any) -> None:
        """Notes whether an output ever has two different elements: one that has not shows little."""
        if not isinstance(leaf, np.ndarray) or leaf.size == 0 or path in self.varying:
            return
        flat = leaf.reshape(-1)
        first = self.first.setdefault(path, flat[0])
        same = (flat == first) | ((flat != flat) & (first != first))
        if not bool(np.all(same)):
            self.varying.add(path)

    def _compare_types(self, pairs: Sequence[tuple[str, Value, Value]], where: str) -> None:
        for name, before, after in pairs:
            one, other = _type(before), _type(after)
            if one != other:
                raise _MismatchError(f"output {name!r} ({where}): was {one} and is {other}")

    def _compare_declared(
        self, expected: Sequence[Value], results: Sequence[Value], sizes: Sizes, where: str
    ) -> None:
        """A declared shape of the optimized model has to be true, unless the original says the same."""
        specs = zip(self.interface_before.outputs, self.interface_after.outputs, results, strict=True)
        for old, new, value in specs:
            if old.shape == new.shape or new.shape is None or not isinstance(value, np.ndarray):
                continue
            if not _fits(new, value.shape, sizes):
                raise _MismatchError(
                    f"output {new.name!r} ({where}) is declared {list(new.shape)}, "
                    f"but has shape {list(value.shape)}"
                )

    def _refuse_unstable(self) -> None:
        if self.random:
            raise _NotComparableError(
                f"random operators: {', '.join(self.random[:3])}; types of outputs agree in {self.runs} runs"
            )
        for path, unstable in sorted(self.unstable.items()):
            if unstable > UNSTABLE * self.elements[path]:
                raise _MismatchError(
                    f"output {path!r} differs, and the original itself changes {unstable} of its "
                    f"{self.elements[path]} elements under a perturbation of one unit in the last place"
                )


def _type(value: Value) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return type(value).__name__


def _fits(spec: ValueSpec, shape: tuple[int, ...], sizes: Sizes) -> bool:
    assert spec.shape is not None
    if len(spec.shape) != len(shape):
        return False
    for axis, (declared, real) in enumerate(zip(spec.shape, shape, strict=True)):
        name = dim_name(spec, axis)
        known = declared if name is None else sizes.get(name, real)
        if known != real:
            return False
    return True


def _sizes_text(sizes: Sizes) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())
