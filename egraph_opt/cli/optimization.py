"""`egraph-opt optimize` and `alternatives`."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from egraph_opt import errors
from egraph_opt.cli.application import (
    WIDTH,
    CostOption,
    HtmlOption,
    JournalOption,
    JsonOption,
    LoadOption,
    RewritesOption,
    RunnerOption,
    SetOption,
    all_imported,
    app,
    cost_of,
    errors_as_lines,
    load_files,
    names_of,
    progress_on,
    say,
    target_of,
    tell,
    tell_json,
    wrapped,
    write_text,
)
from egraph_opt.cli.options import (
    AssumeOption,
    ExactnessOption,
    ExtractorOption,
    FoldQuantizedOption,
    InputShapeOption,
    LawsOption,
    LimitMemoryOption,
    LimitNodesOption,
    LimitSecondsOption,
    MemoryLimitOption,
    ObjectiveOption,
    OpsetOption,
    SeedOption,
    SizesOption,
    assumptions_of,
    input_shapes_of,
    limits_of,
    objective_of,
    sizes_of,
)
from egraph_opt.cli.which_cost import as_text
from egraph_opt.cost import DEFAULT_COST
from egraph_opt.foreign_text import printable_json
from egraph_opt.imports import load_onnx_ir
from egraph_opt.model.streams import STDIO as STDOUT
from egraph_opt.model.streams import is_stdout

FIRST_TIME = "nodes are timed on this machine, which takes 20 to 140 s the first time; what was timed is kept"


@app.command(
    no_args_is_help=True,
    help=f"Optimize a model and write the result.\n\nWhich --cost:\n\n\b\n{as_text()}",
    short_help="Optimize a model and write the result.",
)
def optimize(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="The model to optimize; - is stdin.", show_default=False)
    ],
    target: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="The file to write; - is stdout.", show_default=False)
    ] = None,
    cost: CostOption = DEFAULT_COST,
    set_: SetOption = None,
    rewrites: RewritesOption = None,
    exactness: ExactnessOption = "real",
    laws: LawsOption = "all",
    load: LoadOption = None,
    objective: ObjectiveOption = "cost",
    memory_limit: MemoryLimitOption = None,
    extractor: ExtractorOption = "auto",
    limit_nodes: LimitNodesOption = None,
    limit_seconds: LimitSecondsOption = None,
    limit_memory: LimitMemoryOption = None,
    fold_quantized: FoldQuantizedOption = False,
    assume: AssumeOption = None,
    input_shape: InputShapeOption = None,
    sizes: SizesOption = None,
    opset: OpsetOption = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Allow OUT to be IN.")] = False,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Do not compare outputs.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing and exit with 3 if the result is wrong.")
    ] = False,
    measure: Annotated[
        bool | None,
        typer.Option(
            "--measure/--no-measure",
            help="Time the result against the original in onnxruntime; a slower one is not handed out.",
            show_default="as the cost model asks",
        ),
    ] = None,
    measure_best: Annotated[
        int | None, typer.Option(metavar="K", min=1, help="Time the K best graphs and take the fastest.")
    ] = None,
    runner: RunnerOption = None,
    runner_journal: JournalOption = None,
    report: Annotated[
        Path | None,
        typer.Option(
            *("--report", "--json"),
            metavar="FILE.json",
            help="Write the report as JSON, too; - writes that alone to stdout.",
        ),
    ] = None,
    html: HtmlOption = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write why OUT is equal to IN and as cheap as can be.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print one line.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print the whole report.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write no model; OUT may be left out.")] = False,
    no_metadata: Annotated[
        bool, typer.Option("--no-metadata", help="Write no laws and original nodes into OUT.")
    ] = False,
    seed: SeedOption = 0,
) -> None:
    """Optimize a model and write the result."""
    if sizes and certificate is not None:
        raise typer.BadParameter(
            "what is chosen for several --sizes is no bound at one", param_hint="--certificate"
        )
    if target is None and not dry_run:
        raise typer.BadParameter("the file to write is missing; --dry-run writes none", param_hint="OUT")
    written = None if dry_run else STDOUT if is_stdout(target) else target
    report, html = (STDOUT if is_stdout(page) else page for page in (report, html))
    assumptions = assumptions_of(assume)
    names = names_of(rewrites)
    load_onnx_ir()
    with errors_as_lines():
        wanted = objective_of(objective, memory_limit)
        shapes, several = input_shapes_of(input_shape), sizes_of(sizes)
        if [written, report, html].count(STDOUT) > 1:
            raise errors.OutputError("-: one thing is written to stdout: name another file for the report")
        for page in (report, html, certificate):
            _check_files(source, written, page, in_place)
        _check_different([report, html, certificate])
        # Imported here, so that usage errors and --help do not wait for egglog and onnxruntime.
        from egraph_opt.cost.registry import cost_model
        from egraph_opt.laws.exactness import exactness_named
        from egraph_opt.pipeline.stages import optimize as run

        all_imported()
        load_files(load)
        limits = limits_of(limit_nodes, limit_seconds, limit_memory, fold_quantized)
        model = cost_model(cost_of(cost, set_))
        timer = None
        if runner is not None:
            from egraph_opt.measurement.runner import Runner

            count = {} if measure_best is None else {"graphs": measure_best}
            timer = Runner(runner, journal=runner_journal, **count)
        if model.runtime is not None:
            say("note", FIRST_TIME)
        with progress_on(Console(stderr=True)) as progress:
            result = run(
                source,
                model,
                rewrites=names,
                exactness=exactness_named(exactness),
                laws=laws,  # type: ignore[arg-type]  # said where it is none
                limits=limits,
                extractor=extractor,
                objective=wanted,
                assume=assumptions,
                input_shapes=shapes,
                opset=opset,
                verify=not no_verify,
                strict=strict,
                seed=seed,
                progress=progress,
                measure=timer or (measure if measure_best is None else measure_best),
                isolate=True,
                metadata=not no_metadata,
                record=certificate is not None,
                sizes=several,
            )
        if result.report.command and written not in (None, STDOUT):
            named = model.build_command(result.report.inputs, str(written))
            result = replace(result, report=replace(result.report, command=named))
        if written == STDOUT:
            _print_bytes(result.to_bytes())
        elif written is not None:
            result.save(written, in_place=in_place)
        if html is not None:
            write_text(html, result.report.to_html(), source, written)
        if certificate is not None:
            result.certificate().save(certificate)
        if report is not None and report != STDOUT:
            write_text(report, _json(result.report.to_dict()))
    if result.report.status == "fallback":
        what = "nothing" if written is None else "the original"
        say("warning", f"{source}: {what} was written: {result.report.reason}")
    if report == STDOUT:
        typer.echo(_json(result.report.to_dict()), nl=False)
    elif verbose:
        Console(highlight=False, stderr=written == STDOUT).print(result.report, crop=False)
    else:
        from egraph_opt.report.summary import first_screen, headline

        if quiet:
            tell(f"{source}: {headline(result.report)}", err=written == STDOUT)
            return
        for line in first_screen(result.report, _written(written)):
            tell(line, err=written == STDOUT)


def _written(path: Path | None) -> str:
    """What became of the file, in a line; of a long path the end."""
    if path is None:
        return "no file is written: --dry-run"
    text, room = "stdout" if path == STDOUT else str(path), WIDTH - len("written to ")
    return f"written to {text if len(text) <= room else f'..{text[2 - room :]}'}"


def _print_bytes(data: bytes) -> None:
    try:
        stream = typer.get_binary_stream("stdout")
        stream.write(data)
        stream.flush()
    except OSError as error:
        raise errors.OutputError(f"stdout: cannot be written: {error.strerror or error}") from error


def _check_files(source: Path, target: Path | None, report: Path | None, in_place: bool) -> None:
    """What can be known to go wrong at the end is said at the start."""
    from egraph_opt.model.streams import is_stream
    from egraph_opt.model.writing import check_target

    if target is not None and target != STDOUT:
        check_target(target, source, in_place=in_place)
    if report is None:
        return
    if report != STDOUT and not is_stream(report):
        if not report.parent.is_dir() or report.is_dir():
            raise errors.OutputError(f"{report}: the report cannot be written there")
        if report.resolve() in [path.resolve() for path in (source, target) if path is not None]:
            raise errors.OutputError(f"{report}: the report would overwrite a model")


def _check_different(pages: list[Path | None]) -> None:
    """Two pages may go into one stream, and not into one file."""
    from egraph_opt.model.streams import is_stream

    files = [page.resolve() for page in pages if page is not None and not is_stream(page)]
    for page in {file for file in files if files.count(file) > 1}:
        raise errors.OutputError(f"{page}: two things would be written there: name another file for one")


def _json(report: dict[str, object]) -> str:
    return printable_json(json.dumps(report, indent=2, allow_nan=False, ensure_ascii=False)) + "\n"


@app.command(no_args_is_help=True)
def alternatives(
    source: Annotated[Path, typer.Argument(metavar="MODEL", help="The model.", show_default=False)],
    tensor: Annotated[
        str, typer.Argument(metavar="TENSOR", help="A tensor or node in it, or in what becomes of it.")
    ],
    cost: CostOption = DEFAULT_COST,
    set_: SetOption = None,
    rewrites: RewritesOption = None,
    load: LoadOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what could compute a tensor, and what the cheapest graph with each would cost."""
    names = names_of(rewrites)
    with errors_as_lines():
        model = target_of(cost, set_, load)
        from egraph_opt.pipeline.stages import saturate

        found = saturate(source, rewrites=names, target=model).alternatives(model, tensor)
    if as_json:
        told = [{**asdict(way), "computed_by": str(way)} for way in found]
        tell_json(told, default=str)
        return
    tell(f"{model.unit:>12}{'more':>12}  law\n    computed by")
    for way in found:
        note = " (chosen)" if way.chosen else "" if way.proved else " (not proved)"
        tell(f"{way.cost:>12.6g}{way.difference:>+12.6g}  {way.law}{note}")
        for line in wrapped(str(way)):
            tell(line)
