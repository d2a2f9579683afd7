"""Whether two models answer alike, by onnxruntime, with ONNX's reference as arbiter where they do not.

Nothing here is shared with the verification of the engine, which is under test as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

from egraph_opt.check.judging.runner import CRASHES_ON_NOTHING
from egraph_opt.forking import cached_property

from .feeding import Sizes, feeds_of, symbols_of
from .widening import widened_feeds, widened_model

Array = np.ndarray[Any, np.dtype[Any]]
Feeds = dict[str, Array]

Verdict = Literal[
    "alike", "rounding", "imprecise", "unstable", "empty", "infinite", "outputs", "run", "kernel"
]
"""What became of a comparison; the last three are failures.

`rounding` and `unstable` say that a difference is one of rounding, `imprecise` that only the optimised model is
far from what is meant, `infinite` that the original computes NaN or infinities on its way, and `empty` that they
differ where a symbolic dim is 0: a Reshape to a target that holds it means something else there, and one to -1 nothing.
"""

FAILURES = ("outputs", "run", "kernel")

ROUNDING: Mapping[str, tuple[float, float]] = {
    "float16": (2e-2, 2e-3),
    "float32": (1e-4, 1e-6),
    "float64": (1e-8, 1e-12),
}
"""By type the allowed error: a share of the largest magnitude in the tensor, and an absolute one."""

ARBITER = 1e-5
"""The same share for what the reference computes in float64: folded constants are rounded to float32 once."""

KNOWN = 1e-2
"""How far onnxruntime and the reference may be apart for an answer to be called precise."""

MOVED = 1e-6
"""By which share inputs are moved to see how far rounding carries."""


@dataclass(frozen=True)
class Judged:
    """A verdict with what was seen."""

    verdict: Verdict
    message: str = ""


class ModelRunner:
    """A model in onnxruntime, as it is written or with the runtime's own optimisations."""

    def __init__(self, model: onnx.ModelProto, *, optimized: bool = False) -> None:
        options = onnxruntime.SessionOptions()
        level = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = level.ORT_ENABLE_ALL if optimized else level.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        providers = ["CPUExecutionProvider"]
        self.session: Any = onnxruntime.InferenceSession(model.SerializeToString(), options, providers)

    def __call__(self, feeds: Feeds) -> list[Array]:
        return [np.asarray(output) for output in self.session.run(None, feeds)]


@dataclass(frozen=True)
class Trial:
    """Inputs, and what the original makes of them.

    Attributes:
        sizes: of symbolic dims.
        kind: of elements.
    """

    sizes: Mapping[str, int]
    kind: str
    feeds: Feeds
    expected: list[Array]


class Original:
    """A model as it came, run on some inputs."""

    def __init__(self, model: onnx.ModelProto, seed: int) -> None:
        self.model, self.seed = model, seed
        self.names = [value.name for value in model.graph.output]

    @cached_property
    def trials(self) -> list[Trial]:
        """Those inputs on which it runs."""
        run, found = ModelRunner(self.model), []
        for number, sizes in enumerate(Sizes.for_symbols(symbols_of(self.model))):
            kind = ("exact", "normal", "odd")[number % 3]
            if 0 in sizes.values() and CRASHES_ON_NOTHING & operators_of(self.model.graph):
                continue
            feeds = feeds_of(self.model, sizes, kind, self.seed)
            try:
                found.append(Trial(sizes, kind, feeds, run(feeds)))
            except Exception:  # onnxruntime's errors share no base class
                continue
        return found

    def judge(self, other: onnx.ModelProto, *, values: bool = True, as_it_runs: bool = True) -> Judged:
        """Whether another model answers like this one.

        Args:
            values: compare them, and not types and shapes only.
            as_it_runs: with the runtime's own optimisations, too.
        """
        try:
            run = ModelRunner(other)
        except Exception as error:  # onnxruntime's errors share no base class
            text = str(error)
            return Judged("kernel" if "implement" in text else "run", f"does not load: {text[:400]}")
        worst = Judged("alike")
        for trial in self.trials:
            found = self._judge_trial(other, run, trial, values)
            if found.verdict in FAILURES:
                return found
            worst = found if found.verdict != "alike" else worst
        return self._as_it_runs(other, values) if as_it_runs and worst.verdict == "alike" else worst

    def _as_it_runs(self, other: onnx.ModelProto, values: bool) -> Judged:
        """A second opinion on the first inputs: with the runtime's own optimisations, as users run models.

        Where these change what the original computes, or fail on it, nothing is said; nor of values where
        weights are quantised, of which it makes products that are less exact wherever it finds one.
        """
        values = values and "DequantizeLinear" not in operators_of(self.model.graph)
        try:
            before = ModelRunner(self.model, optimized=True)
            known = [trial for trial in self.trials[:1] if not _differ(trial.expected, before(trial.feeds))]
        except Exception:  # onnxruntime's errors share no base class
            return Judged("alike")
        try:
            after = ModelRunner(other, optimized=True)
        except Exception as error:  # onnxruntime's errors share no base class
            return Judged("run", f"does not load with the runtime's optimisations: {str(error)[:400]}")
        found = [self._judge_trial(other, after, trial, values) for trial in known]
        return found[0] if found else Judged("alike")

    def _judge_trial(self, other: onnx.ModelProto, run: ModelRunner, trial: Trial, values: bool) -> Judged:
        place = f"at {dict(trial.sizes)} on {trial.kind} inputs"
        try:
            answers = run(trial.feeds)
        except Exception as error:  # onnxruntime's errors share no base class
            nothing = 0 in trial.sizes.values()
            return Judged("empty" if nothing else "run", f"does not run {place}: {str(error)[:400]}")
        wrong = [
            f"output {name} {place}: {message}"
            for name, a, b in zip(self.names, trial.expected, answers, strict=True)
            if (message := difference(a, b, values=values))
        ]
        if not wrong:
            return Judged("alike")
        found = self._arbitrate(other, trial, wrong, answers)
        nothing = 0 in trial.sizes.values() and found.verdict in ("outputs", "imprecise")
        return Judged("empty", found.message) if nothing else found

    def _arbitrate(
        self, other: onnx.ModelProto, trial: Trial, wrong: Sequence[str], answers: list[Array]
    ) -> Judged:
        """What a difference is worth: the reference in float64 says whether both mean the same."""
        meant, found = (reference(model, trial.feeds) for model in (self.model, other))
        shaped = _all_alike(trial.expected, meant, share=np.inf)
        if shaped and _all_alike(meant, found, share=ARBITER):
            right, close = (_all_alike(meant, given, share=KNOWN) for given in (trial.expected, answers))
            return Judged("imprecise" if right and not close else "rounding", wrong[0])
        if not self._is_finite(trial):
            return Judged("infinite", wrong[0])
        if self._moves(trial, answers):
            return Judged("unstable", wrong[0])
        return Judged("outputs", "; ".join(wrong[:2]))

    def _is_finite(self, trial: Trial) -> bool:
        """Whether all that the original computes are numbers: laws promise little of what is none."""
        shown = onnx.ModelProto()
        shown.CopyFrom(self.model)
        known = set(self.names)
        inner = [name for node in shown.graph.node for name in node.output if name and name not in known]
        shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inner)
        try:
            values = ModelRunner(shown)(trial.feeds)
        except Exception:  # onnxruntime's errors share no base class
            values = trial.expected
        return all(bool(np.all(np.isfinite(v))) for v in values if v.dtype.kind == "f")

    def _moves(self, trial: Trial, answers: list[Array]) -> bool:
        """Whether inputs that are moved by next to nothing change the original as much."""
        rng = np.random.default_rng(self.seed)
        run = ModelRunner(self.model)
        reached = [np.zeros(a.shape) for a in trial.expected]
        for _ in range(4):
            moved = {name: _moved(rng, array) for name, array in trial.feeds.items()}
            try:
                results = run(moved)
            except Exception:  # onnxruntime's errors share no base class
                return False
            for k, (a, m) in enumerate(zip(trial.expected, results, strict=True)):
                if a.shape != m.shape:
                    return False
                reached[k] = np.fmax(reached[k], _apart(a, m))
        return all(
            a.shape == b.shape and bool(np.all(_apart(a, b).max(initial=0) <= 10 * r.max(initial=0)))
            for a, b, r in zip(trial.expected, answers, reached, strict=True)
            if difference(a, b)
        )


def _differ(expected: Sequence[Array], found: Sequence[Array]) -> bool:
    return any(difference(a, b) for a, b in zip(expected, found, strict=True))


def operators_of(graph: onnx.GraphProto) -> set[str]:
    """The operators of a graph, those in its bodies as well."""
    found = {node.op_type for node in graph.node}
    for node in graph.node:
        for attribute in node.attribute:
            found |= operators_of(attribute.g) if attribute.HasField("g") else set()
    return found


def _moved(rng: np.random.Generator, array: Array) -> Array:
    if not np.issubdtype(array.dtype, np.floating):
        return array
    share = 1e-3 if array.dtype == np.float16 else 1e-12 if array.dtype == np.float64 else MOVED
    return np.asarray(array * (1 + share * rng.uniform(-1, 1, array.shape))).astype(array.dtype)


def _apart(a: Array, b: Array) -> Array:
    """Per element how far two tensors are apart; infinite where one of them only is a number."""
    with np.errstate(all="ignore"):
        x, y = a.astype(np.float64), b.astype(np.float64)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        found = np.where(same, 0.0, np.abs(x - y))
    return np.asarray(np.where(np.isnan(found), np.inf, found))


def _all_alike(expected: Sequence[Array] | None, found: Sequence[Array] | None, share: float) -> bool:
    """Whether tensors agree up to a share of the largest magnitude; not where one of the models does not run."""
    if expected is None or found is None:
        return False
    return not any(difference(a, b, share=share) for a, b in zip(expected, found, strict=True))


def difference(a: Array, b: Array, *, values: bool = True, share: float | None = None) -> str:
    """How a tensor differs from the one that is expected; "" where it does not.

    Args:
        values: compare elements, too.
        share: of the largest magnitude that elements may be apart; types may then differ as well.
    """
    if a.shape != b.shape:
        return f"the shape was {list(a.shape)} and is {list(b.shape)}"
    if share is None and a.dtype != b.dtype:
        return f"the type was {a.dtype} and is {b.dtype}"
    if not values or not a.size:
        return ""
    if a.dtype.kind in "OUS":
        return "" if np.array_equal(a, b) else "the texts differ"
    apart = _apart(a, b)
    bad = apart > _allowed(a, share)
    if not np.any(bad):
        return ""
    place = tuple(int(k) for k in np.unravel_index(int(np.argmax(np.where(bad, apart, -1))), a.shape))
    return f"{int(bad.sum())} of {a.size} elements differ: at {list(place)} was {a[place]} and is {b[place]}"


def _allowed(a: Array, share: float | None) -> float:
    if a.dtype.kind != "f":
        return 0.0
    usual, least = ROUNDING.get(str(a.dtype), ROUNDING["float32"])
    if a.dtype == np.float64 and share is not None:
        usual, least = share, share
    magnitude = np.abs(a[np.isfinite(a)].astype(np.float64))
    return max(usual, share or 0.0) * float(magnitude.max(initial=0)) + max(least, (share or 0.0) / 10)


def reference(model: onnx.ModelProto, feeds: Feeds) -> list[Array] | None:
    """What ONNX's reference computes in float64; None where it cannot."""
    try:
        with np.errstate(all="ignore"):
            outputs: Any = ReferenceEvaluator(widened_model(model)).run(None, widened_feeds(feeds))
    except Exception:  # the reference has faults of its own, of any kind
        return None
    found = [np.asarray(output) for output in outputs]
    return None if any(a.dtype.kind == "O" for a in found) else found
