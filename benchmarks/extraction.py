"""What extraction reaches: costs, lower bounds, gaps and seconds, in one table for each kind of e-graph.

    python benchmarks/extraction.py bert.json.gz vgg.json.gz --seconds 60
    python benchmarks/extraction.py --random 2000
    python benchmarks/extraction.py --models FOLDER --wheels --cost nodes --cost ascend
    python benchmarks/extraction.py --residual 1000 --residual 10000 --residual 50000

E-graphs in files are in extraction-gym's JSON form, plain or .gz.  Random ones are compared with brute force.
Seeds are fixed; without --seconds the work is too.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from extraction_cases import brute_force, of_model, random_graph, residual, uneven
from model_files import light_models, models_of_folder, trained_models
from rich.console import Console
from rich.table import Table

from egraph_opt.extraction import EXTRACTORS, ExtractionProblem, check, extract, load_json
from egraph_opt.extraction.structure import Ints

CONSOLE = Console(width=120)


def _table(title: str) -> Table:
    columns = ("e-graph", "e-nodes", "e-classes", "extractor", "cost", "lower bound", "gap", "seconds")
    return Table(*columns, title=title)


def _run(
    table: Table,
    name: str,
    problem: ExtractionProblem,
    how: str,
    *,
    seconds: float | None,
    known: Ints | None = None,
) -> tuple[float, float]:
    """Extract, check and write a row; the gap and the seconds it took."""
    start = time.perf_counter()
    found = extract(problem, how, incumbent=known, seconds=seconds)
    took = time.perf_counter() - start
    check(problem, found)
    sizes = f"{problem.n_nodes}", f"{problem.n_classes}"
    costs = f"{found.cost:.6g}", f"{found.lower_bound:.6g}", f"{100 * found.gap:.2f} %"
    table.add_row(name, *sizes, how, *costs, f"{took:.2f}")
    return found.gap, took


def _files(files: list[Path], extractors: list[str], seconds: float | None) -> None:
    table = _table("E-graphs in files")
    for file in files:
        for how in extractors:
            _run(table, file.name, load_json(file), how, seconds=seconds)
    CONSOLE.print(table)


def _random(count: int) -> None:
    """Each of so many e-graphs, half of them cyclic, by all extractors against brute force."""
    table = Table("extractor", "e-graphs", "optimal", "proved", "below the optimum", "bound above it")
    problems = [random_graph(seed, cyclic=seed % 2 == 1) for seed in range(count)]
    best = [brute_force(problem) for problem in problems]
    for how in EXTRACTORS:
        figures = np.zeros(4, np.int64)
        for problem, optimum in zip(problems, best, strict=True):
            found = extract(problem, how)
            check(problem, found)
            slack = 1e-9 * max(1.0, optimum)
            optimal, wrong = abs(found.cost - optimum) <= slack, found.cost < optimum - slack
            figures += (optimal, found.proved, wrong, found.lower_bound > optimum + slack)
        table.add_row(how, str(count), *map(str, figures))
    CONSOLE.print(table)


def _models(files: list[Path], costs: list[str], seconds: float | None) -> None:
    for cost in costs:
        table, gaps, slowest = _table(f"Models under {cost}"), [], 0.0
        for file in files:
            worst = 0.0
            for problem, known in of_model(file, cost):
                gap, took = _run(table, file.stem, problem, "auto", seconds=seconds, known=known)
                worst, slowest = max(worst, gap), max(slowest, took)
            gaps.append(worst)
        CONSOLE.print(table)
        CONSOLE.print(
            f"{cost}: {len(gaps)} models, {sum(gap == 0 for gap in gaps)} without a gap, "
            f"largest gap {100 * max(gaps, default=0.0):.2f} %, slowest {slowest:.2f} s"
        )


def _residual(layers: list[int], extractors: list[str], seconds: float | None) -> None:
    """Residual networks, with the exponent of the time's growth (a fit to all sizes) and the peak memory."""
    for name, build in (("even", residual), ("uneven", uneven)):
        for how in extractors:
            table = _table(f"Residual networks, {name}")
            times = [_run(table, f"{count} nodes", build(count), how, seconds=seconds)[1] for count in layers]
            CONSOLE.print(table)
            if len(set(layers)) > 1:
                CONSOLE.print(
                    f"time grows with n to the {np.polyfit(np.log(layers), np.log(times), 1)[0]:.2f}"
                )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1 / 1024)
    CONSOLE.print(f"peak memory {peak / 2**20:.0f} MiB")


def main(
    files: Annotated[
        list[Path] | None, typer.Argument(help="E-graphs in extraction-gym's JSON form.")
    ] = None,
    *,
    extractor: Annotated[list[str] | None, typer.Option(help="Extractors to run; default: auto.")] = None,
    layers: Annotated[
        list[int] | None, typer.Option("--residual", help="Nodes of a residual network.")
    ] = None,
    count: Annotated[int, typer.Option("--random", help="Random e-graphs to compare with brute force.")] = 0,
    models: Annotated[list[Path] | None, typer.Option(help="A folder with models to saturate.")] = None,
    wheels: Annotated[bool, typer.Option(help="The models of wheels, trained and light.")] = False,
    cost: Annotated[
        list[str] | None, typer.Option(help="Cost models; default: nodes, flops, ascend.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Budget of each extraction.")] = None,
) -> None:
    """Run the extractors and print tables."""
    if not (files or layers or count or models or wheels):
        raise typer.BadParameter("give files, --random, --models, --wheels or --residual")
    extractors = extractor or ["auto"]
    if files:
        _files(files, extractors, seconds)
    if count:
        _random(count)
    if models or wheels:
        found = [path for folder in models or () for path in models_of_folder(folder).values()]
        found += [*trained_models().values(), *light_models().values()] if wheels else []
        _models(found, cost or ["nodes", "flops", "ascend"], seconds)
    if layers:
        _residual(layers, extractors, seconds)


if __name__ == "__main__":
    typer.run(main)
