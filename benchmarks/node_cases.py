"""Optimises every node test that onnx generates and compares the outputs on the test's own data.

python benchmarks/node_cases.py [--cost nodes,ascend] [--rewrites A,B] [--only TEXT] [--json FILE]

A case takes part if onnxruntime runs it, once it is marked with an IR version that onnxruntime reads.  The
optimised model must have the same inputs and outputs, and give the same values; a case whose outputs differ
between two runs of the original (it draws random numbers) is compared by type and shape.  Prints one line a
failure and a line of counts; exits 1 if anything failed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

from egraph_opt import optimize
from egraph_opt.verification.comparison import compare, leaves
from egraph_opt.verification.execution import ExecutionError, Session, load


@dataclass(frozen=True)
class NodeCase:
    """One of onnx's node tests: a model and the inputs it is tested with."""

    name: str
    model: onnx.ModelProto
    inputs: tuple[tuple[Any, ...], ...]

    @property
    def operators(self) -> tuple[str, ...]:
        return tuple(sorted({node.op_type for node in self.model.graph.node}))


@dataclass(frozen=True)
class Outcome:
    """How one case went.

    Attributes:
        status: "same", "unrunnable" (onnxruntime does not run the original), "differs", or "raised".
        reason: why, for all but "same".
        random: the original itself gives other values each time.
        optimized: of the report: "optimized", "unchanged" or "fallback".
        model: the optimised model, where there is one.
    """

    name: str
    cost: str
    status: str
    reason: str = ""
    random: bool = False
    optimized: str = ""
    model: onnx.ModelProto | None = field(default=None, repr=False)

    @property
    def failed(self) -> bool:
        return self.status in ("differs", "raised") or self.optimized == "fallback"


NEWEST_IR = 13
"""Of onnxruntime 1.31; onnx 1.23 marks its newest cases 14, though they use nothing of it."""


def node_cases() -> list[NodeCase]:
    """All node tests of the installed onnx, in its order."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    cases = []
    for case in found:
        assert case.model is not None
        assert case.data_sets is not None
        case.model.ir_version = min(case.model.ir_version, NEWEST_IR)
        cases.append(NodeCase(case.name, case.model, tuple(tuple(inputs) for inputs, _ in case.data_sets)))
    return cases


def _feeds(model: onnx.ModelProto, inputs: Sequence[Any]) -> dict[str, Any]:
    """The case's inputs by name, as onnxruntime takes them; an absent optional is None."""
    return {info.name: _fed(value) for info, value in zip(model.graph.input, inputs, strict=False)}


def _fed(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def _interface(model: onnx.ModelProto) -> tuple[list[bytes], list[bytes]]:
    graph = model.graph
    return [i.SerializeToString() for i in graph.input], [o.SerializeToString() for o in graph.output]


def _differences(
    names: Sequence[str], before: Sequence[Any], after: Sequence[Any], types_only: bool
) -> Iterator[str]:
    for name, a, b in zip(names, before, after, strict=True):
        left, right = leaves(name, a), leaves(name, b)
        if left.keys() != right.keys():
            yield f"{name}: another structure"
            continue
        for path, item in left.items():
            other = right[path]
            if types_only and isinstance(item, np.ndarray) and isinstance(other, np.ndarray):
                if (item.dtype, item.shape) != (other.dtype, other.shape):
                    yield f"{path}: another type"
            elif not (found := compare(item, other)).agrees:
                yield f"{path}: {found.message}"


def _reason(error: BaseException) -> str:
    """An error with what caused it, and where it was raised."""
    while error.__cause__ is not None:
        error = error.__cause__
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"


def run_case(case: NodeCase, cost: str, rewrites: Sequence[str] | None = None) -> Outcome:
    """Optimise one case and compare it with the original."""
    feeds = [_feeds(case.model, inputs) for inputs in case.inputs]
    try:
        original = Session(load(case.model))
        before = [original.run(feed) for feed in feeds]
        again = [original.run(feed) for feed in feeds]
    except ExecutionError as error:
        return Outcome(case.name, cost, "unrunnable", str(error))
    names = original.output_names
    random = any(
        True for a, b in zip(before, again, strict=True) for _ in _differences(names, a, b, types_only=False)
    )
    try:
        result = optimize(case.model, cost, rewrites=rewrites, verify=False, strict=True)
    except Exception as error:
        return Outcome(case.name, cost, "raised", _reason(error), random)
    status = result.report.status
    if _interface(case.model) != _interface(result.model):
        return Outcome(case.name, cost, "differs", "the interface changed", random, status)
    try:
        onnx.checker.check_model(case.model)
        check = True
    except onnx.checker.ValidationError:
        check = False
    try:
        if check:
            onnx.checker.check_model(result.model)
        session = Session(load(result.model))
        after = [session.run(feed) for feed in feeds]
    except (ExecutionError, onnx.checker.ValidationError) as error:
        return Outcome(case.name, cost, "differs", f"does not run: {error}", random, status)
    for a, b in zip(before, after, strict=True):
        for reason in _differences(names, a, b, types_only=random):
            return Outcome(case.name, cost, "differs", reason, random, status)
    return Outcome(case.name, cost, "same", "", random, status, result.model)


def main() -> None:
    os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")  # onnxruntime then runs newer opsets as well
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cost", default="nodes,ascend", help="names of cost models, separated by commas")
    parser.add_argument("--rewrites", help="names of rulesets, separated by commas, or none; by default all")
    parser.add_argument("--only", default="", help="cases with this text in their name")
    parser.add_argument("--json", help="write all outcomes to this file")
    given = parser.parse_args()
    rewrites = None if given.rewrites is None else [n for n in given.rewrites.split(",") if n != "none"]
    cases = [case for case in node_cases() if given.only in case.name]
    outcomes: list[Outcome] = []
    for cost in given.cost.split(","):
        started = time.perf_counter()
        mine = []
        for case in cases:
            outcome = run_case(case, cost, rewrites)
            mine.append(outcome)
            if outcome.failed:
                what = f"{case.name} ({', '.join(case.operators)})"
                print(f"{cost}: {what} {outcome.status}: {outcome.reason}", flush=True)
        counts = Counter(outcome.status for outcome in mine)
        print(
            f"{cost}: {len(mine)} cases, {counts['same']} the same "
            f"({sum(o.random and o.status == 'same' for o in mine)} of them random, by type and shape), "
            f"{counts['unrunnable']} that onnxruntime does not run, "
            f"{sum(o.failed for o in mine)} failed; {time.perf_counter() - started:.0f} s",
            flush=True,
        )
        outcomes += mine
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            rows = [{k: v for k, v in vars(outcome).items() if k != "model"} for outcome in outcomes]
            json.dump(rows, file, indent=1)
    sys.exit(any(outcome.failed for outcome in outcomes))


if __name__ == "__main__":
    main()
