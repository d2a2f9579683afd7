"""`egraph-opt sensitivity`: how far each parameter may move before another graph is chosen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from egraph_opt.cli.application import (
    CostOption,
    LoadOption,
    RewritesOption,
    SetOption,
    app,
    errors_as_lines,
    load_files,
    names_of,
    parsed_overrides,
    print_json,
    progress_on,
    tell,
    wrapped,
)

if TYPE_CHECKING:
    from egraph_opt.lab.sweep.sensitivity import Change, Sensitivity, SensitivityReport


@app.command(no_args_is_help=True)
def sensitivity(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="An ONNX model.", show_default=False)],
    cost: CostOption = "ascend",
    set_: SetOption = None,
    parameters: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these parameters.", show_default="all")
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(metavar="FACTOR", help="Look at most so many times up and down: 2 for half to double."),
    ] = None,
    rewrites: RewritesOption = None,
    load: LoadOption = None,
    extractor: Annotated[str, typer.Option(metavar="NAME", help="How to choose.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the interval of each parameter in which the chosen graph stays, and what changes at its ends."""
    if within is not None and not within > 1:
        raise typer.BadParameter("must be above 1", param_hint="--within")
    overrides = parsed_overrides(set_)
    with errors_as_lines(), progress_on(Console(stderr=True)) as bar:
        from egraph_opt.extraction.registry import extractor_named
        from egraph_opt.lab.sweep.sensitivity import Examination
        from egraph_opt.pipeline.stages import saturate

        load_files(load)
        extractor_named(extractor)
        examination = Examination(
            lambda target: saturate(model, rewrites=names_of(rewrites), target=target),
            cost,
            overrides,
            within=within or math.inf,
            extractor=extractor,
        )
        report = examination.report(tuple(names_of(parameters) or ()), lambda share: bar("parameters", share))
    if as_json:
        print_json(_as_json(report))
        return
    for line in _lines(report, model.name):
        tell(line)


def _as_json(report: SensitivityReport) -> dict[str, Any]:
    chosen = report.chosen
    return {
        "model": report.model,
        "cost": report.cost,
        "unit": report.unit,
        "price": chosen.price,
        "gap": chosen.gap,
        "nodes": chosen.graph.nodes,
        "graph": chosen.graph.key,
        "parameters": report.parameters,
    }


def _lines(report: SensitivityReport, name: str) -> Iterator[str]:
    """A table of what changes the graph, and below it the others, by reason."""
    from egraph_opt.lab.sweep.sensitivity import REASONS

    chosen = report.chosen
    yield f"{name}, {report.cost}: {chosen.price:,.4g} {report.unit}, {chosen.graph.nodes} nodes"
    if chosen.gap > 1e-9:
        yield f"(not proved to be the cheapest: {chosen.gap:.1%} at most are left)"
    moving = [entry for entry in report.parameters if not entry.reason]
    if moving:
        yield f"{'parameter':<32}{'value':>12}{'stays from':>16}{'to':>16}"
    for entry in moving:
        yield from _moving(entry)
    found = {entry.reason for entry in report.parameters if entry.reason}
    for reason in [*(reason for reason in REASONS if reason in found), *sorted(found.difference(REASONS))]:
        names = [entry.name for entry in report.parameters if entry.reason == reason]
        yield f"{len(names)} change nothing, {reason}:" if len(names) > 1 else f"1 changes nothing, {reason}:"
        yield from wrapped(", ".join(names))


def _moving(entry: Sensitivity) -> Iterator[str]:
    if entry.others or isinstance(entry.value, str):
        yield f"{entry.name:<32}{entry.value!s:>12}"
        for change in entry.others:
            yield from _change(f"{change.at}", change)
        return
    low = "-" if entry.below is None else f"{entry.low:.4g}"
    high = "-" if entry.above is None else f"{entry.high:.4g}"
    yield f"{entry.name:<32}{entry.value:>12.4g}{low:>16}{high:>16}"
    if entry.below is not None:
        yield from _change("below", entry.below)
    if entry.above is not None:
        yield from _change("above", entry.above)


def _change(where: str, change: Change) -> Iterator[str]:
    """What another graph has more and less of."""
    operators = ", ".join(f"{number:+} {name}" for name, number in change.operators.items())
    laws = ", ".join(f"{name} {number:+}" for name, number in change.laws.items())
    parts = [operators or "the same operators, otherwise connected", f"laws: {laws}" if laws else ""]
    yield from wrapped(f"{where}: {'; '.join(part for part in parts if part)}", others=" " * 8)
