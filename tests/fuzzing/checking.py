"""What has to hold of a model that was optimised, whatever it cost: of every e-node, too.

Slower than `examining`, and more than the result: what extraction did not choose is run as well.
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from egraph_opt.cost.model import CostModel
from egraph_opt.errors import UnsoundLawError
from egraph_opt.pipeline import Result, Saturated, saturate
from egraph_opt.verification import verify
from egraph_opt.verification.comparison import compare, leaves
from egraph_opt.verification.execution import ExecutionError

from .classes import Finding, every_node_agrees
from .drawing import MORE_SIZES, Array, session
from .feeding import feeds_of
from .settings import HashCost


def runs(model: onnx.ModelProto, seed: int) -> list[tuple[dict[str, int], dict[str, Array], list[object]]]:
    """What the original computes: sizes, inputs and outputs, where it runs at all."""
    try:
        ready = session(model)
    except ExecutionError:
        return []
    found = []
    for sizes, kind in zip(MORE_SIZES, ("exact", "normal", "odd"), strict=True):
        feeds = feeds_of(model, sizes, kind, seed)
        try:
            found.append((dict(sizes), feeds, ready.run(feeds)))
        except ExecutionError:
            continue
    return found


def check(model: onnx.ModelProto, seed: int, *, costs: int = 1, every_node: bool = True) -> Iterator[Finding]:
    """Everything that is wrong with the optimised forms of a model.

    Args:
        costs: how many cost models drawn at random are tried besides the real ones.
        every_node: run every e-node as well.
    """
    expected = runs(model, seed)
    if not expected:
        return
    seen: set[tuple[str, str]] = set()
    for target in (None, "ascend"):
        try:
            saturated = saturate(model, target=target, strict=True)
        except UnsoundLawError as error:
            yield Finding("type", str(error))
            continue
        yield from _grown(model, saturated)
        names: list[str | CostModel] = ["ascend"] if target else ["nodes", "flops", "bytes"]
        names += [HashCost(seed * 100 + k) for k in range(costs)]
        for cost in names:
            yield from _check_result(model, saturated, cost, expected, seed)
        if every_node and saturated.region is not None:
            for sizes, feeds, _ in expected:
                for finding in every_node_agrees(saturated.region, feeds, sizes):
                    about = (finding.kind, finding.message.split("::")[-1].split(" beside ")[0])
                    if about not in seen:
                        seen.add(about)
                        yield finding


def _grown(model: onnx.ModelProto, saturated: Saturated) -> Iterator[Finding]:
    """Whether the e-graph is far bigger than the graph, did not come to rest, or a law failed."""
    if saturated.region is None:
        return
    for region in saturated.region.walk():
        report, terms = region.saturation, len(region.lowered.terms)
        yield from (Finding("crash", text) for text in report.failed)
        if report.nodes > 60 * terms + 400 or report.stop != "saturated":
            most = sorted(report.matches.items(), key=lambda item: -item[1])[:4]
            yield Finding(
                "growth",
                f"{terms} terms became {report.nodes} e-nodes in {report.rounds} rounds ({report.stop}): {most}",
            )


def _check_result(
    model: onnx.ModelProto,
    saturated: Saturated,
    cost: str | CostModel,
    expected: list[tuple[dict[str, int], dict[str, Array], list[object]]],
    seed: int,
) -> Iterator[Finding]:
    label = cost if isinstance(cost, str) else f"{cost.name}"
    try:
        result = saturated.extract(cost, verify=False, strict=True, seed=seed)
    except Exception as error:  # nothing may be raised
        yield Finding("crash", f"{label}: {type(error).__name__}: {error}")
        return
    optimized = result.model
    if list(optimized.graph.input) != list(model.graph.input) or list(optimized.graph.output) != list(
        model.graph.output
    ):
        yield Finding("interface", f"{label}: inputs or outputs changed")
    if [(o.domain, o.version) for o in optimized.opset_import] != [
        (o.domain, o.version) for o in model.opset_import
    ]:
        yield Finding("interface", f"{label}: opsets changed")
    try:
        onnx.checker.check_model(optimized, full_check=True)
    except Exception as error:
        yield Finding("checker", f"{label}: {error}")
    used = ", ".join(f"{r.ruleset}.{r.name}" for r in result.report.rewrites if r.used)
    if isinstance(cost, str) and result.report.cost.after > result.report.cost.before * (1 + 1e-9) + 1e-9:
        yield Finding(
            "cost", f"{label}: {result.report.cost.before} became {result.report.cost.after} by {used}"
        )
    yield from _compare(model, result, label, expected, used, seed)


def _compare(
    model: onnx.ModelProto,
    result: Result,
    label: str,
    expected: list[tuple[dict[str, int], dict[str, Array], list[object]]],
    used: str,
    seed: int,
) -> Iterator[Finding]:
    try:
        ready = session(result.model)
        computed = [ready.run(feeds) for _, feeds, _ in expected]
    except ExecutionError as error:
        yield Finding("kernel" if "implementation" in str(error) else "run", f"{label}: {error} by {used}")
        return
    names = [v.name for v in model.graph.output]
    for (sizes, _, wanted), got in zip(expected, computed, strict=True):
        for name, a, b in zip(names, wanted, got, strict=True):
            one, other = leaves(name, a), leaves(name, b)
            difference = next((d for path in one if (d := compare(one[path], other.get(path))).message), None)
            if difference is None:
                continue
            second = verify(model, result.model, seed=seed)
            kind = "outputs" if second.status == "failed" else "unstable"
            yield Finding(
                kind, f"{label} at {sizes}: {name}: {difference.message} by {used} ({second.status})"
            )
            return
