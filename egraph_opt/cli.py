"""The command line: `egraph-opt optimize`, `alternatives`, `rules`, `operators`, `costs`.

Exit codes: 0 done (also when nothing changed), 1 the model could not be read or is invalid, 2 usage, 3 the
result was found to be wrong under --strict.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from egraph_opt import errors

app = typer.Typer(
    name="egraph-opt",
    help="Optimize ONNX models by equality saturation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_USAGE_ERRORS = (
    errors.LawError,
    errors.LimitsError,
    errors.ObjectiveError,
    errors.OutputError,
    errors.UnknownCostModelError,
    errors.UnknownExtractorError,
    errors.UnknownRulesetError,
    errors.UnknownTensorError,
)
_SOUNDNESS_ERRORS = (errors.UnsoundLawError, errors.VerificationError)

CostOption = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="The cost model, see `egraph-opt costs`, or a class: my_costs.py:Launches."
    ),
]
RewritesOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Rulesets and laws, separated by commas; `default` (if none is named): all exact ones;"
        " -NAME leaves a ruleset or a law out.",
    ),
]
LoadOption = Annotated[
    list[Path] | None, typer.Option(metavar="FILE.py", help="A file with laws of your own; may be repeated.")
]

ProgressCallback = Callable[[str, float | None], None]


def main() -> None:
    """The entry point `egraph-opt`."""
    app()


def exit_code(error: errors.EgraphOptError) -> int:
    """What the process exits with after an error: 2 usage, 3 wrong result, 1 anything about the model."""
    if isinstance(error, _USAGE_ERRORS):
        return 2
    return 3 if isinstance(error, _SOUNDNESS_ERRORS) else 1


@contextmanager
def _errors_as_lines() -> Iterator[None]:
    """Turn an error of this library into one line on stderr and an exit code."""
    try:
        yield
    except errors.EgraphOptError as error:
        _say("error", " ".join(str(error).split()))
        raise typer.Exit(exit_code(error)) from None


def _say(kind: str, text: str) -> None:
    typer.echo(f"egraph-opt: {kind}: {text}", err=True)


@contextmanager
def _progress(console: Console) -> Iterator[ProgressCallback]:
    """A line per stage while the work goes on, on a terminal only; it vanishes at the end."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, fraction: float | None) -> None:
            if stage not in tasks:
                for task in tasks.values():
                    bars.update(task, total=1.0, completed=1.0)
                tasks[stage] = bars.add_task(stage, total=None)
            if fraction is not None:
                bars.update(tasks[stage], total=1.0, completed=fraction)

        yield report


def parse_assumption(text: str) -> tuple[str, tuple[float, float]]:
    """`NAME=LO..HI`, or `NAME=VALUE` for a single one, as (name, (lo, hi)); whole numbers stay integers."""
    name, equals, values = text.rpartition("=")
    low, dots, high = values.partition("..")
    try:
        bounds = (_parse_number(low), _parse_number(high if dots else low))
    except ValueError:
        bounds = None
    if not name or not equals or bounds is None or not bounds[0] <= bounds[1]:
        raise typer.BadParameter(
            f"{text!r} is not NAME=LO..HI with two numbers in order", param_hint="--assume"
        )
    return name, bounds


def _parse_number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"egraph-opt {version('egraph-opt')}")
        raise typer.Exit


@app.callback()
def _common(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Optimize ONNX models by equality saturation."""


@app.command(no_args_is_help=True)
def optimize(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The model to optimize.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.", show_default=False)],
    cost: CostOption = "ascend",
    rewrites: RewritesOption = None,
    load: LoadOption = None,
    objective: Annotated[
        str, typer.Option(metavar="cost|memory", help="What to keep small: cost, or peak memory near it.")
    ] = "cost",
    memory_limit: Annotated[
        str | None,
        typer.Option(metavar="BYTES", help="The cheapest that needs at most so much at its peak: 512MiB."),
    ] = None,
    extractor: Annotated[
        str, typer.Option(metavar="NAME", help="How to choose: auto, draft, exact, ilp, greedy-dag, tree.")
    ] = "auto",
    limit_nodes: Annotated[int | None, typer.Option(metavar="N", help="Stop growing at N e-nodes.")] = None,
    limit_seconds: Annotated[
        float | None, typer.Option(metavar="S", help="Emergency stop after S seconds.")
    ] = None,
    assume: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LO..HI",
            help="Bounds of an input or a symbolic dim, within which the result is right; may be repeated.",
        ),
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Allow OUT to be IN.")] = False,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Do not compare outputs.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing and exit with 3 if the result is wrong.")
    ] = False,
    measure: Annotated[
        bool | None,
        typer.Option(
            "--measure/--no-measure",
            help="Time the result beside the original in onnxruntime; a slower one is not handed out.",
            show_default="as the cost model asks",
        ),
    ] = None,
    measure_best: Annotated[
        int | None, typer.Option(metavar="K", min=1, help="Time the K best graphs and take the fastest.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Write the report as JSON, too.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the inputs for verification.")] = 0,
) -> None:
    """Optimize a model and write the result."""
    assumptions = dict(parse_assumption(text) for text in assume or [])
    names = _names(rewrites)
    with _errors_as_lines():
        wanted = _objective(objective, memory_limit)
        _check_files(source, target, report, in_place)
        # Imported here, so that usage errors and --help do not wait for egglog and onnxruntime.
        from egraph_opt.pipeline.limits import Limits
        from egraph_opt.pipeline.stages import optimize as run

        _load(load)
        limits = Limits()
        if limit_nodes is not None:
            limits = replace(limits, nodes=limit_nodes)
        if limit_seconds is not None:
            limits = replace(limits, seconds=limit_seconds)
        with _progress(Console(stderr=True)) as progress:
            result = run(
                source,
                cost,
                rewrites=names,
                limits=limits,
                extractor=extractor,
                objective=wanted,
                assume=assumptions or None,
                verify=not no_verify,
                strict=strict,
                seed=seed,
                progress=progress,
                measure=measure if measure_best is None else measure_best,
            )
        result.save(target, in_place=in_place)
        if report is not None:
            _write_json(result.report.to_dict(), report)
    if result.report.status == "fallback":
        _say("warning", f"{source}: the original was written: {result.report.reason}")
    Console(highlight=False).print(result.report)


def _names(rewrites: str | None) -> list[str] | None:
    return None if rewrites is None else [name.strip() for name in rewrites.split(",") if name.strip()]


def _load(files: list[Path] | None) -> None:
    """Register the laws of files, each of which has to fire on an example."""
    for file in files or ():
        from egraph_opt.laws.loading import load_laws
        from egraph_opt.testing.firing import check_fires

        for law in load_laws(file):
            check_fires(law)


def _objective(name: str, limit: str | None) -> str | tuple[str, float]:
    """The objective of two options, of which only one may be given."""
    from egraph_opt.memory.objective import bytes_of

    if limit is None:
        return name
    if name != "cost":
        raise errors.ObjectiveError(f"--memory-limit is for --objective cost, not for {name!r}")
    return "cost", bytes_of(limit)


def _check_files(source: Path, target: Path, report: Path | None, in_place: bool) -> None:
    """What can be known to go wrong at the end is said at the start."""
    from egraph_opt.model.writing import check_target

    check_target(target, source, in_place=in_place)
    if report is not None:
        if not report.parent.is_dir() or report.is_dir():
            raise errors.OutputError(f"{report}: the report cannot be written there")
        if report.resolve() in (source.resolve(), target.resolve()):
            raise errors.OutputError(f"{report}: the report would overwrite a model")


def _write_json(report: dict[str, object], path: Path) -> None:
    from egraph_opt.model.files import replacing

    text = json.dumps(report, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    try:
        with replacing(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise errors.OutputError(f"{path}: cannot be written: {error.strerror or error}") from error


def _print_table(table: Table) -> None:
    """On a terminal as wide as that is; elsewhere every row is one line."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 10_000
        for column in table.columns:
            column.no_wrap = True
    console.print(table)


@app.command(no_args_is_help=True)
def alternatives(
    source: Annotated[Path, typer.Argument(metavar="MODEL", help="The model.", show_default=False)],
    tensor: Annotated[
        str, typer.Argument(metavar="TENSOR", help="A tensor or node in it, or in what becomes of it.")
    ],
    cost: CostOption = "ascend",
    rewrites: RewritesOption = None,
    load: LoadOption = None,
) -> None:
    """List what could compute a tensor, and what the cheapest graph with each would cost."""
    names = _names(rewrites)
    table = Table(box=None, pad_edge=False)
    with _errors_as_lines():
        from egraph_opt.cost.model import cost_model
        from egraph_opt.pipeline.stages import saturate

        _load(load)
        model = cost_model(cost)
        found = saturate(source, rewrites=names, target=model).alternatives(model, tensor)
        for column in ("computed by", "law", model.unit, "more", ""):
            table.add_column(column, overflow="fold")
        for way in found:
            note = "chosen" if way.chosen else "" if way.proved else "not proved"
            numbers = f"{way.cost:.6g}", f"{way.difference:+.6g}"
            table.add_row(*(Text(cell) for cell in (str(way), way.law, *numbers, note)))
    _print_table(table)


@app.command()
def rules(load: LoadOption = None) -> None:
    """List every law: ruleset, name, formula, direction and why, kind, purpose, exact or not."""
    from egraph_opt.laws.direction import direction_of
    from egraph_opt.laws.selection import all_laws, opt_in
    from egraph_opt.rebuild.legalization import legalizations

    exactness = {"bitwise": "bit by bit", "reassociates": "in real arithmetic", "approximate": "no"}
    table = Table(box=None, pad_edge=False)
    for name in ("ruleset", "name", "law", "", "why", "kind", "serves", "exact", "on", "source"):
        table.add_column(name, overflow="fold")
    with _errors_as_lines():
        _load(load)
        laws = all_laws()
        for law in laws:
            on = "by name" if opt_in(law.ruleset) else "always"
            way = direction_of(law)
            told = (law.formula, way.sign, way.reason, law.kind, law.serves, exactness[law.numerics], on)
            cells = (law.ruleset, law.name, *told, law.source)
            table.add_row(*(Text(" ".join(cell.split())) for cell in cells))
    for step in legalizations():
        told = (step.formula, "->", "outside the standard", "replace", "target", "no", "by name")
        table.add_row(*(Text(cell) for cell in (step.ruleset, step.name, *told, step.source)))
    _print_table(table)
    typer.echo(f"{len(laws)} laws in {len({law.ruleset for law in laws})} rulesets")


@app.command()
def operators(load: LoadOption = None) -> None:
    """List what laws are written with: constructors and sorts, ONNX operators by name, meaning."""
    from egraph_opt.laws.selection import all_laws
    from egraph_opt.operators.declaration import lowered_op_types
    from egraph_opt.operators.declaration import operators as declared

    table = Table(box=None, pad_edge=False)
    for name in ("constructor", "is", "meaning"):
        table.add_column(name, overflow="fold")
    with _errors_as_lines():
        all_laws()
        _load(load)
        for entry in declared().values():
            cells = (entry.signature, entry.result, " ".join(entry.doc.split()))
            names = f" One of {', '.join(entry.op_types)}." if entry.op_types else ""
            table.add_row(*(Text(cell) for cell in (*cells[:2], cells[2] + names)))
    _print_table(table)
    typer.echo(f"terms are made of {', '.join(lowered_op_types())}; other ONNX operators are opaque")


@app.command()
def costs() -> None:
    """List the cost models: name, unit, what it prices."""
    from egraph_opt.cost.model import cost_model, cost_models

    table = Table(box=None, pad_edge=False)
    for name in ("name", "unit", "variants", "what it prices"):
        table.add_column(name, overflow="fold")
    with _errors_as_lines():
        for name in cost_models():
            model = cost_model(name)
            about = (type(model).__doc__ or "").strip().splitlines() or [""]
            variants = ", ".join(f"{name}:{variant}" for variant in model.variants())
            table.add_row(*(Text(cell) for cell in (name, model.unit, variants, about[0])))
    _print_table(table)


if __name__ == "__main__":
    main()
