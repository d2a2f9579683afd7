"""A comparison step by step, each in a process with limits: whatever a tool does ends its own row only."""

from __future__ import annotations

import pickle
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from egraph_opt.lab.comparison.tools import Answer, Tool, assess, respond, run_tool, time_models
from egraph_opt.measurement.worker import COMMAND

ORIGINAL = "original"


@dataclass(frozen=True)
class Contender:
    """What one tool made of one model.

    Attributes:
        tool: its name, with the cost model in brackets where it makes a graph for each.
        version: of its package; "" for ours.
        problem: why there is nothing more to say: not installed, an error, a limit.
        correct: "passed", or the verdict of the verification.
        prices: under each cost model; None where it cannot be priced.
        micros, speedup, low, high: measured in onnxruntime, beside the original; None where not measured.
    """

    model: str
    tool: str
    version: str = ""
    problem: str = ""
    nodes: int | None = None
    file_nodes: int | None = None
    bytes: int | None = None
    prices: Mapping[str, float | None] = field(default_factory=dict)
    correct: str = ""
    detail: str = ""
    seconds: float | None = None
    mib: float | None = None
    micros: float | None = None
    speedup: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Bounds:
    """What any step of a comparison may take: seconds, and MiB of memory (0: any)."""

    seconds: float = 300.0
    mib: int = 8192


def compare_tools(
    path: Path,
    tools: Sequence[Tool],
    costs: Sequence[str],
    *,
    orders: int = 0,
    bounds: Bounds = Bounds(),
    measure: float = 0.0,
    progress: Callable[[str, float], None] = lambda step, share: None,
) -> list[Contender]:
    """The original of a model, and what each tool makes of it.

    Args:
        costs: names of cost models: every result is priced under each.
        orders: how many random ones `best-order` tries beside those of known optimizers.
        measure: seconds of timing for each result that is correct; 0 for none.
        progress: called with the tool that runs, and the share that is done.
    """
    with tempfile.TemporaryDirectory(prefix="egraph-opt-") as folder:
        found = [_assessed(Contender(path.stem, ORIGINAL), path, path, costs, bounds)]
        made = {ORIGINAL: path}
        runs = list(_runs(tools, costs))
        for number, (name, tool, cost) in enumerate(runs):
            progress(name, number / len(runs))
            made[name] = Path(folder) / f"{number}.onnx"
            paths = path, made[name]
            row = contender_of(
                Contender(path.stem, name, _version(tool)), tool, paths, bounds, cost=cost, orders=orders
            )
            found.append(row if row.problem else _assessed(row, path, made[name], costs, bounds))
        return _measured(found, made, measure, bounds) if measure else found


def _runs(tools: Sequence[Tool], costs: Sequence[str]) -> Iterator[tuple[str, Tool, str]]:
    for tool in tools:
        if tool.priced:
            yield from ((f"{tool.name} ({cost})", tool, cost) for cost in costs)
        else:
            yield tool.name, tool, ""


def _version(tool: Tool) -> str:
    try:
        return version(tool.package) if tool.package else ""
    except PackageNotFoundError:
        return ""


def contender_of(
    row: Contender,
    tool: Tool,
    paths: tuple[Path, Path],
    bounds: Bounds = Bounds(),
    *,
    cost: str = "",
    orders: int = 0,
) -> Contender:
    """A tool on the model at the first path; its result goes to the second."""
    if tool.missing:
        return replace(row, problem=tool.missing)
    source, target = map(str, paths)
    arguments = {"tool": tool.name, "cost": cost, "orders": orders, "source": source, "target": target}
    answer = _ask(run_tool, arguments, bounds)
    if "error" not in answer and not paths[1].exists():
        answer = {"error": "it wrote no model"}
    return replace(row, problem=answer.get("error", ""), seconds=answer.get("seconds"), mib=answer.get("mib"))


def _assessed(row: Contender, original: Path, path: Path, costs: Sequence[str], bounds: Bounds) -> Contender:
    answer = _ask(assess, {"original": str(original), "path": str(path), "costs": list(costs)}, bounds)
    if "error" in answer:
        return replace(row, problem=f"its result is no model: {answer['error']}", correct="failed")
    return replace(row, **answer)


def _measured(
    rows: Sequence[Contender], made: Mapping[str, Path], seconds: float, bounds: Bounds
) -> list[Contender]:
    """The rows with their times; those of wrong or missing results have none."""
    timed = [row for row in rows if not row.problem and row.correct in ("passed", "not_comparable")]
    arguments = {"paths": [str(made[row.tool]) for row in timed], "seconds": seconds * len(timed)}
    longer = replace(bounds, seconds=bounds.seconds + 3 * seconds * len(timed))
    answer = _ask(time_models, arguments, longer) if len(timed) > 1 else {"latencies": [{}] * len(timed)}
    times = dict(zip((row.tool for row in timed), answer.get("latencies", ()), strict=False))
    return [replace(row, **times.get(row.tool, {})) for row in rows]


def _ask(step: Callable[..., Answer], arguments: Mapping[str, Any], bounds: Bounds) -> Answer:
    """What a process of its own answers, or the error that it ended with."""
    request = pickle.dumps((respond, (step, arguments, bounds.mib)))
    try:
        done = subprocess.run(
            COMMAND, input=request, capture_output=True, timeout=bounds.seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": f"took longer than {bounds.seconds:g} s"}
    try:
        found: Answer = pickle.loads(done.stdout)
    except (EOFError, pickle.UnpicklingError):
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["without a word"]
        return {"error": f"ended with code {done.returncode}: {last[0]}"[:300]}
    return found
