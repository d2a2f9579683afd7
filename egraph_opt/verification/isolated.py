"""Verification in a process of its own: what crashes there is left out, and the node is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import onnx

from egraph_opt.graph.isolation import CrashError, RuntimeTask, Worker, apart, current_worker
from egraph_opt.verification.budget import BudgetError, RunBudget
from egraph_opt.verification.execution import ExecutionError, ModelLike, RunnableModel, Session, Value, load
from egraph_opt.verification.result import Verification
from egraph_opt.verification.running import trouble_of
from egraph_opt.verification.verifier import verify

LONGEST_PROBE = 10.0
"""Seconds that a run may take by which the node is looked for."""

MOST_CRASHES = 4
"""After so many it is left at that the models cannot be compared."""


def verify_apart(original: ModelLike, optimized: ModelLike, budget: RunBudget, **named: Any) -> Verification:
    """As `verify`, in the process for onnxruntime, where there is one.

    Inputs on which a kernel of the original crashes are left out, as those that it does not take; an
    optimized model that crashes is wrong.  Models of which one does not end in time are not compared.
    """
    worker = current_worker()
    if worker is None:
        return verify(original, optimized, budget=budget, **named)
    skipped: dict[int, str] = {}
    task = RuntimeTask(
        _verify, (original, optimized, (budget.bytes, budget.end), named), asks=True, skipped=skipped
    )
    while True:
        try:
            found: Verification = worker.do(task, budget.needs)
        except CrashError as crash:
            if crash.late:
                return Verification("not_comparable", detail=str(crash))
            if crash.step in (0, *skipped) or len(skipped) == MOST_CRASHES:
                told = dict.fromkeys(skipped.values()) or [str(crash)]
                return Verification("not_comparable", detail="; ".join(told))
            skipped[crash.step] = f"{crash}{_place(worker, replace(task, shown=crash.step), budget)}"
            continue
        crashes = [text for text in dict.fromkeys(skipped.values()) if text not in found.detail]
        return replace(found, detail="; ".join([found.detail, *crashes])) if crashes else found


def _verify(
    original: ModelLike, optimized: ModelLike, limits: tuple[float, float], named: Mapping[str, Any], ask: Any
) -> Verification:
    """In the other process: what a run needs is known in this one."""
    return verify(original, optimized, budget=RunBudget(ask, *limits), **named)


def _place(worker: Worker, task: RuntimeTask, budget: RunBudget) -> str:
    """At which node a step crashes, for messages; nothing where that cannot be found."""
    try:
        shown = worker.do(task, budget.needs)
    except CrashError:
        return ""
    if isinstance(shown, Verification):  # the clock decided otherwise this time
        return ""
    model, as_written, feeds = shown
    node = crashing_node(worker, model, as_written, feeds)
    return "" if node is None else f" at node {node.name or ', '.join(node.output)!r} ({node.op_type})"


def trouble_apart(model: ModelLike) -> str:
    """As `trouble_of`, in the process for onnxruntime, where there is one."""
    try:
        return str(apart(trouble_of, model))
    except CrashError as crash:
        return str(crash)


def crashing_node(
    worker: Worker, model: RunnableModel, as_written: bool, feeds: Mapping[str, Value] | None
) -> onnx.NodeProto | None:
    """The first node with which a model crashes; None where it does not crash again.

    Args:
        feeds: what it is run on; None where loading it is enough.
    """
    nodes: list[onnx.NodeProto] = list(model.proto.graph.node)

    def crashes(count: int) -> bool:
        part = load(_beginning(model.proto, count), folder=model.folder)
        try:
            worker.do(RuntimeTask(_run, (part, as_written, feeds)))
        except CrashError as crash:
            return not crash.late
        except Exception:  # a part need not run
            return False
        return False

    if not crashes(len(nodes)):
        return None
    least, most = 0, len(nodes)
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if crashes(middle) else (middle, most)
    return nodes[most - 1]


def _beginning(proto: onnx.ModelProto, count: int) -> onnx.ModelProto:
    """A model of the first nodes of another, whose outputs are what none of them reads."""
    part = onnx.ModelProto()
    part.CopyFrom(proto)
    del part.graph.node[count:]
    if count < len(proto.graph.node):
        read = {name for node in part.graph.node for name in node.input}
        made = [name for node in part.graph.node for name in node.output if name and name not in read]
        del part.graph.output[:]
        part.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made)
    return part


def _run(model: RunnableModel, as_written: bool, feeds: Mapping[str, Value] | None) -> None:
    """In the other process."""
    session = Session(model, as_written=as_written)
    if feeds is not None:
        try:
            given = {name: value for name, value in feeds.items() if name in session.input_names}
            session.run(given, seconds=LONGEST_PROBE)
        except (BudgetError, ExecutionError):
            return
