"""What an optimisation does, counted: figures that no machine has a say in, beside a committed baseline.

python benchmarks/counts.py [--only TEXT] [--renew]

Counted are calls of host functions, and distinct ones; rules of the engine; e-nodes, classes, rounds and
matches.  The models are those of the installed wheels and a few small graphs, under `nodes` and `ascend`;
each begins anew.  `--renew` writes `results/counts.json`, with which `tests/benchmarks` compares.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from built_graphs import built_models
from model_files import trained_models
from rich.console import Console
from rich.table import Table

from egraph_opt import Limits, Result, Saturated, saturate
from egraph_opt.egraph import saturation
from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.engines import forget_engines
from egraph_opt.egraph.objects import objects_of_thread
from egraph_opt.operators.expressions import Expression
from egraph_opt.operators.host import HostFunction

BASELINE = Path(__file__).resolve().parent / "results" / "counts.json"
COSTS = ("nodes", "ascend")
RISE = 0.1
"""What a count may rise by before that is a failure."""

RENEW = "if that is meant, `python benchmarks/counts.py --renew` writes a new baseline"
Counts = dict[str, int]


@contextmanager
def counted() -> Iterator[Counts]:
    """The calls of host functions and the rules of engines while the context is open, which begins anew."""
    found = {"host_calls": 0, "distinct_host_calls": 0, "rules": 0}
    forget_engines()
    call, engine_for = HostFunction.__call__, vars(saturation)["engine_for"]
    engines: list[Engine] = []

    def counting(function: HostFunction, *arguments: Any) -> Any:
        # Of patterns, and of nothing, it answers what a law states, which is asked for once in a process.
        on_values = bool(arguments) and not any(isinstance(a, Expression) for a in arguments)
        found["distinct_host_calls"] += on_values
        return call(function, *arguments)

    def recording(*arguments: Any, **named: Any) -> Engine:
        engines.append(engine_for(*arguments, **named))
        return engines[-1]

    with patch.object(HostFunction, "__call__", counting), patch.object(saturation, "engine_for", recording):
        yield found
    found["host_calls"] = objects_of_thread().asked
    found["rules"] = max(len(engine.rules) for engine in engines)


def counted_optimization(path: Path, cost: str) -> tuple[Saturated, Result, Counts]:
    """A model under a cost model as `optimize` has it, without a limit of time that could end it sooner."""
    with counted() as found:
        saturated = saturate(path, target=cost, limits=Limits(seconds=3600))
        result = saturated.extract(cost, verify=False, restarts=True)
    made = result.report.saturation
    found |= {
        "e_nodes": made.nodes,
        "classes": made.classes,
        "rounds": made.rounds,
        "matches": sum(ruleset.matches for ruleset in result.report.rulesets),
    }
    return saturated, result, found


def counts_of(path: Path) -> dict[str, Counts]:
    """One model under every cost model."""
    return {cost: counted_optimization(path, cost)[2] for cost in COSTS}


def baseline() -> dict[str, dict[str, Counts]]:
    """The committed counts, by model and cost model."""
    found: dict[str, dict[str, Counts]] = json.loads(BASELINE.read_text(encoding="utf-8"))
    return found


def risen(now: Mapping[str, Counts], before: Mapping[str, Counts]) -> list[str]:
    """Counts of a model that are more than `RISE` above the baseline, each as a line."""
    return [
        f"{cost}: {name} {before[cost][name]} -> {count}"
        for cost, counts in now.items()
        for name, count in counts.items()
        if count > before[cost][name] * (1 + RISE)
    ]


def table_of(counts: Mapping[str, Mapping[str, Counts]], before: Mapping[str, Mapping[str, Counts]]) -> Table:
    """A row per model and cost model; what differs from the baseline is followed by it."""
    names = list(next(iter(next(iter(counts.values())).values())))
    table = Table("model", "cost", *names, box=None)
    for model, by_cost in counts.items():
        for cost, row in by_cost.items():
            old = before.get(model, {}).get(cost, row)
            cells = [f"{n}" if old.get(k) == n else f"{n} (was {old.get(k)})" for k, n in row.items()]
            table.add_row(model, cost, *cells)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="models with this text in their name")
    parser.add_argument("--renew", action="store_true", help="write the baseline")
    given = parser.parse_args()
    old = baseline() if BASELINE.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        models = {**built_models(Path(folder)), **trained_models()}
        counts = {name: counts_of(path) for name, path in models.items() if given.only in name}
    Console(width=200).print(table_of(counts, old))
    if given.renew:
        kept = {name: found for name, found in old.items() if name in models} | counts
        BASELINE.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", encoding="utf-8")
    else:
        lines = [
            f"{name}: {line}" for name in counts if name in old for line in risen(counts[name], old[name])
        ]
        sys.exit("\n".join([*lines, RENEW]) if lines else 0)


if __name__ == "__main__":
    main()
