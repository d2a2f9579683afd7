"""Optimises every node test that onnx generates and compares the outputs on the test's own data.

python benchmarks/node_cases.py [--cost nodes,ascend] [--rewrites A,B] [--exactness bitwise,finite,real]
                                [--opsets 11,26] [--part K/N] [--only TEXT] [--json FILE]

A case takes part if onnxruntime runs it, once it is marked with an IR version that onnxruntime reads.  The
optimised model must have the same inputs and outputs, and give the same values; a case whose outputs differ
between two runs of the original (it draws random numbers) is compared by type and shape.  Prints one line a
failure and a line of counts; exits 1 if anything failed.

Of `bitwise` every bit has to be the same, unless onnxruntime rounds an element by its place in an array.
In another opset than its own a case takes part where that has the operators unchanged, or where onnx converts
the model, and onnxruntime runs what comes out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
from onnx.backend.test.loader import load_model_tests

from egraph_opt import optimize
from egraph_opt.check.judging.by_place import DOUBLES_BY_PLACE
from egraph_opt.laws.exactness import REAL, Exactness, exactness_named
from egraph_opt.laws.selection import ASSUME, all_laws
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
        matched: the rulesets of which a law matched.
        model: the optimised model, where there is one.
    """

    name: str
    cost: str
    status: str
    reason: str = ""
    random: bool = False
    optimized: str = ""
    matched: frozenset[str] = frozenset()
    model: onnx.ModelProto | None = field(default=None, repr=False)

    @property
    def failed(self) -> bool:
        return self.status in ("differs", "raised") or self.optimized == "fallback"


NEWEST_IR = 13
"""Of onnxruntime 1.31; onnx 1.23 marks its newest cases 14, though they use nothing of it."""


def node_cases() -> list[NodeCase]:
    """All node tests of the installed onnx, in its order."""
    return [NodeCase(*case[:2], tuple(tuple(inputs) for inputs, _ in case[2])) for case in loaded_cases()]


def loaded_cases() -> Iterator[tuple[str, onnx.ModelProto, Sequence[tuple[Sequence[Any], Sequence[Any]]]]]:
    """Name, model, and sets of inputs and outputs of every node test of the installed onnx."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    for case in found:
        model, data = case.model, case.data_sets
        if model is None or data is None:  # before 1.23 they are files
            folder = Path(str(case.model_dir))
            model = onnx.load(folder / "model.onnx")
            data = [
                (_tensors(model, one, "input"), _tensors(model, one, "output"))
                for one in sorted(folder.glob("test_data_set_*"))
            ]
        model.ir_version = min(model.ir_version, NEWEST_IR)
        yield case.name, model, data


def _tensors(model: onnx.ModelProto, folder: Path, of: str) -> list[Any]:
    """The inputs or outputs of a set, as messages of the types that the model declares."""
    found = []
    for number, value in enumerate(getattr(model.graph, of)):
        message: Any = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}.get(
            value.type.WhichOneof("value") or "", onnx.TensorProto
        )()
        file = folder / f"{of}_{number}.pb"
        if file.exists():
            message.ParseFromString(file.read_bytes())
            found.append(message)
    return found


def at_opset(case: NodeCase, opset: int) -> NodeCase | None:
    """The case in another opset of the default domain; None where it cannot be had in that one."""
    own = next((entry.version for entry in case.model.opset_import if entry.domain in ("", "ai.onnx")), None)
    if own is None or own == opset:
        return case if own == opset else None
    if _is_unchanged(case.model, own, opset):
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        for entry in model.opset_import:
            entry.version = opset if entry.domain in ("", "ai.onnx") else entry.version
        return replace(case, model=model)
    try:
        return replace(case, model=onnx.version_converter.convert_version(case.model, opset))
    except Exception:  # the converter raises what it likes where it has no adapter
        return None


def _is_unchanged(model: onnx.ModelProto, own: int, opset: int) -> bool:
    """Whether two opsets have the operators of a model in one version."""
    pending, names = [model.graph], set()
    if model.functions:
        return False
    while pending:
        for node in pending.pop().node:
            names.add((node.op_type, "" if node.domain == "ai.onnx" else node.domain))
            for attribute in node.attribute:
                pending += [attribute.g, *attribute.graphs]
    try:
        schemas = [[onnx.defs.get_schema(n, v, d) for v in (own, opset)] for n, d in names if not d]
    except onnx.defs.SchemaError:
        return False
    return all(one.since_version == other.since_version for one, other in schemas)


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
    names: Sequence[str], before: Sequence[Any], after: Sequence[Any], types_only: bool, bitwise: bool = False
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
            elif bitwise and not _same_bits(item, other):
                yield f"{path}: other bits"


def _same_bits(a: Any, b: Any) -> bool:
    """Whether two tensors have the same bits, but for those of a NaN."""
    if not isinstance(a, np.ndarray) or a.dtype == object:
        return bool(np.array_equal(a, b))
    unequal = np.frombuffer(a.tobytes(), np.uint8) != np.frombuffer(b.tobytes(), np.uint8)
    unequal = unequal.reshape(-1, a.dtype.itemsize).any(axis=1)
    with np.errstate(invalid="ignore"):
        nan = np.asarray((a != a) & (b != b)).reshape(-1)
    return not bool((unequal & ~nan).any())


def _hangs_on_its_outputs(model: onnx.ModelProto, feeds: Sequence[Any], before: Sequence[Any]) -> bool:
    """Whether onnxruntime gives other bits where values within are outputs as well.

    It computes stretches of nodes in float32 for which it has no kernels in float16.
    """
    shown = onnx.shape_inference.infer_shapes(model)
    halves = [v for v in shown.graph.value_info if v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16]
    if not halves:
        return False
    shown.graph.output.extend(halves)
    try:
        session = Session(load(shown))
        after = [session.run(feed)[: len(model.graph.output)] for feed in feeds]
    except ExecutionError:
        return False
    pairs = (pair for x, y in zip(before, after, strict=True) for pair in zip(x, y, strict=True))
    return not all(_same_bits(a, b) for a, b in pairs)


def _reason(error: BaseException) -> str:
    """An error with what caused it, and where it was raised."""
    while error.__cause__ is not None:
        error = error.__cause__
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"


def run_case(
    case: NodeCase, cost: str, rewrites: Sequence[str] | None = None, exactness: Exactness = REAL
) -> Outcome:
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
        result = optimize(case.model, cost, rewrites=rewrites, exactness=exactness, verify=False, strict=True)
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
    bitwise = exactness == "bitwise" and not random and DOUBLES_BY_PLACE.isdisjoint(case.operators)
    bitwise = bitwise and not _hangs_on_its_outputs(case.model, feeds, before)
    for a, b in zip(before, after, strict=True):
        for reason in _differences(names, a, b, types_only=random, bitwise=bitwise):
            return Outcome(case.name, cost, "differs", reason, random, status)
    matched = frozenset(entry.ruleset for entry in result.report.rulesets if entry.matches)
    return Outcome(case.name, cost, "same", "", random, status, matched, result.model)


@dataclass(frozen=True)
class Selection:
    """The rulesets of a run.

    Attributes:
        rewrites: their names; None for those that are on by default.
        alone: only cases take part in which it matches beside all others; for the rest it is `none`.
    """

    rewrites: tuple[str, ...] | None
    alone: bool = False

    def __str__(self) -> str:
        return "" if self.rewrites is None else ", " + ("+".join(self.rewrites) or "none")


def _selections(text: str | None) -> list[Selection]:
    if text == "each":
        exact = sorted({entry.ruleset for entry in all_laws() if entry.exact and entry.ruleset != ASSUME})
        return [Selection(tuple(exact)), *(Selection((name,), alone=True) for name in exact)]
    return [Selection(None if text is None else tuple(n for n in text.split(",") if n != "none"))]


def _takes_part(selection: Selection, matched: frozenset[str] | None) -> bool:
    return not selection.alone or bool(matched and matched.intersection(selection.rewrites or ()))


def main() -> None:
    os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")  # onnxruntime then runs newer opsets as well
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cost", default="nodes,ascend", help="names of cost models, separated by commas")
    parser.add_argument(
        "--rewrites",
        help="rulesets, separated by commas, none, or each: all exact ones, then each alone where it matches",
    )
    parser.add_argument("--exactness", default=REAL, help="of the results, separated by commas")
    parser.add_argument("--opsets", default="", help="separated by commas; by default each case in its own")
    parser.add_argument("--part", default="1/1", help="K/N: every N-th case from the K-th on")
    parser.add_argument("--only", default="", help="cases with this text in their name")
    parser.add_argument("--json", help="write all outcomes to this file")
    given = parser.parse_args()
    selections = _selections(given.rewrites)
    first, step = (int(number) for number in given.part.split("/"))
    every = [case for case in node_cases() if given.only in case.name][first - 1 :: step]
    opsets = [int(opset) for opset in given.opsets.split(",") if opset] or [0]
    outcomes: list[Outcome] = []
    costs, names = given.cost.split(","), given.exactness.split(",")
    matched: dict[tuple[int, str, str, str], frozenset[str]] = {}
    for opset, cost, name, selection in itertools.product(opsets, costs, names, selections):
        started = time.perf_counter()
        mine, exactness = [], exactness_named(name)
        where = f"{cost}, {exactness}" + (f", opset {opset}" if opset else "")
        where += str(selection)
        found = every if not opset else [at_opset(case, opset) for case in every]
        for case in found:
            if case is None or not _takes_part(selection, matched.get((opset, cost, name, case.name))):
                continue
            outcome = run_case(case, cost, selection.rewrites, exactness)
            matched.setdefault((opset, cost, name, case.name), outcome.matched)
            mine.append(outcome)
            if outcome.failed:
                what = f"{case.name} ({', '.join(case.operators)})"
                print(f"{where}: {what} {outcome.status}: {outcome.reason}", flush=True)
        counts = Counter(outcome.status for outcome in mine)
        print(
            f"{where}: {len(mine)} cases, {counts['same']} the same "
            f"({sum(o.random and o.status == 'same' for o in mine)} of them random, by type and shape), "
            f"{counts['unrunnable']} that onnxruntime does not run, "
            f"{sum(o.failed for o in mine)} failed; {time.perf_counter() - started:.0f} s",
            flush=True,
        )
        outcomes += mine
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            rows = [
                {k: v for k, v in vars(outcome).items() if k not in ("matched", "model")}
                for outcome in outcomes
            ]
            json.dump(rows, file, indent=1)
    sys.exit(any(outcome.failed for outcome in outcomes))


if __name__ == "__main__":
    main()
