"""Compare the extractors on e-graphs in extraction-gym's JSON form (plain or .gz).

    python benchmarks/extraction.py bert.json.gz vgg.json.gz --extractor auto --extractor ilp --iterations 50
    python benchmarks/extraction.py --residual 3000

Prints one line per e-graph and extractor: cost, lower bound, gap, and the seconds that it took.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from egraph_opt.extraction import EXTRACTORS, ExtractionProblem, check, extract, load_json


def residual(layers: int) -> ExtractionProblem:
    """A residual network of so many layers with every tensor in two layouts.

    An operator costs 1, each third one 10 in the first layout; a conversion costs 0.5; every second layer
    adds the tensor two layers before.
    """
    owner, children, cost = [0, 1, 0], [[], [0], [1]], [0.0, 0.5, 0.5]
    for layer in range(1, layers + 1):
        for layout in (0, 1):
            here = 2 * layer + layout
            skip = [here - 4] if layer % 2 == 0 else []
            owner += [here, here]
            children += [[here - 2, *skip], [here + 1 - 2 * layout]]
            cost += [10.0 if layer % 3 == 0 and layout == 0 else 1.0, 0.5]
    return ExtractionProblem(
        node_class=np.array(owner, np.int32),
        child_ptr=np.cumsum([0, *map(len, children)]).astype(np.int32),
        child=np.array([child for below in children for child in below], np.int32),
        cost=np.array(cost),
        roots=np.array([2 * layers], np.int32),
    )


def main(
    files: Annotated[
        list[Path] | None, typer.Argument(help="E-graphs in extraction-gym's JSON form.")
    ] = None,
    extractor: Annotated[list[str] | None, typer.Option(help="Extractors to run; default: all.")] = None,
    layers: Annotated[
        list[int] | None, typer.Option("--residual", help="Layers of a residual network.")
    ] = None,
    iterations: Annotated[int, typer.Option(help="Programs per piece, at most.")] = 200,
    seconds: Annotated[float | None, typer.Option(help="Emergency stop of each extraction.")] = None,
    seed: int = 0,
) -> None:
    """Run the extractors and print a table."""
    problems = [(file.name, load_json(file)) for file in files or []]
    problems += [(f"residual {count}", residual(count)) for count in layers or []]
    if not problems:
        raise typer.BadParameter("give files, or --residual with a number of layers")
    table = Table("e-graph", "e-nodes", "e-classes", "extractor", "cost", "lower bound", "gap", "seconds")
    for name, problem in problems:
        for how in extractor or list(EXTRACTORS):
            start = time.perf_counter()
            found = extract(problem, how, iterations=iterations, seconds=seconds, seed=seed)
            took = time.perf_counter() - start
            check(problem, found)
            sizes = f"{problem.n_nodes}", f"{problem.n_classes}"
            costs = f"{found.cost:.6g}", f"{found.lower_bound:.6g}", f"{100 * found.gap:.2f} %"
            table.add_row(name, *sizes, how, *costs, f"{took:.2f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    typer.run(main)
