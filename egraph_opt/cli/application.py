"""What all commands share: the application, its options, errors as lines, progress, tables."""

from __future__ import annotations

import gc
import json
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from egraph_opt import errors
from egraph_opt.foreign_text import printable, printable_json, printable_lines
from egraph_opt.imports import load_onnx_ir
from egraph_opt.report.escaped import Escaped

if TYPE_CHECKING:
    from egraph_opt.cost.model import CostModel
    from egraph_opt.cost.parameters import Override
    from egraph_opt.laws.law import Law

app = typer.Typer(
    name="egraph-opt",
    help="Optimize ONNX models by equality saturation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_USAGE_ERRORS = (
    errors.AssumptionError,
    errors.CostModelError,
    errors.ExactnessError,
    errors.InputShapeError,
    errors.LawError,
    errors.LimitsError,
    errors.ObjectiveError,
    errors.OpsetError,
    errors.OutputError,
    errors.ProfileError,
    errors.RunsError,
    errors.SpecError,
    errors.TargetMismatchError,
    errors.UnknownCostModelError,
    errors.UnknownExtractorError,
    errors.UnknownModelError,
    errors.UnknownOrderError,
    errors.UnknownRulesetError,
    errors.UnknownSettingError,
    errors.UnknownTensorError,
    errors.UnknownToolError,
)
_SOUNDNESS_ERRORS = (errors.UnsoundLawError, errors.VerificationError)


def _names_of_costs(incomplete: str) -> list[str]:
    """What a shell completes `--cost` with."""
    from egraph_opt.cost.registry import SHORT, cost_models

    return [name for name in (*cost_models(), *SHORT) if name.startswith(incomplete)]


CostOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=_names_of_costs,
        help="The cost model, see `egraph-opt costs`; with a variant or a file of parameters"
        " (ascend:my310p.toml); or a class (my_costs.py:Launches, my_package.costs:Launches).",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the cost model, or an entry of a table (vector_cycles.Add=0.02);"
        " may be repeated.",
    ),
]
RewritesOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Rulesets and laws, separated by commas; `default` (if none is named): all exact ones;"
        " -NAME leaves a ruleset or a law out; +NAME applies one that changes values wherever it matches.",
    ),
]
LoadOption = Annotated[
    list[Path] | None, typer.Option(metavar="FILE.py", help="A file with laws of your own; may be repeated.")
]

ParametersOption = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Only these parameters.", show_default="all but the data sheet's"),
]
ParametersFileOption = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE.toml", help="The file of parameters to write.")
]

DimOption = Annotated[
    list[str] | None,
    typer.Option("--dim", metavar="NAME=NUMBER", help="A symbolic dim of the model; may be repeated."),
]

RunnerOption = Annotated[
    str | None,
    typer.Option(metavar="CMD", help="A command that times models: 'ssh board ./time.sh {model}'."),
]
JournalOption = Annotated[
    Path | None,
    typer.Option(
        "--runner-journal", metavar="FILE", help="Keep what --runner measures there, and go on from it."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

HtmlOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.html", help="Write a page with a picture of both graphs, too; it needs no network."
    ),
]

WIDTH = 80
"""Of lines that are wrapped where there is no terminal."""

ProgressCallback = Callable[[str, float | None], None]


def exit_code(error: errors.EgraphOptError) -> int:
    """What the process exits with after an error: 2 usage, 3 wrong result, 1 anything about the model."""
    if isinstance(error, _USAGE_ERRORS):
        return 2
    return 3 if isinstance(error, _SOUNDNESS_ERRORS) else 1


@contextmanager
def errors_as_lines() -> Iterator[None]:
    """Turn an error of this library into one line on stderr and an exit code.

    What is done meanwhile with onnxruntime is done in a process of its own.
    """
    from egraph_opt.graph.isolation import isolated

    try:
        with isolated():
            yield
    except errors.EgraphOptError as error:
        say("error", " ".join(str(error).split()))
        raise typer.Exit(exit_code(error)) from None


def say(kind: str, text: str) -> None:
    """A line on stderr; names in it that would steer a terminal are shown instead."""
    typer.echo(f"egraph-opt: {kind}: {printable(text)}", err=True)


def tell(text: str, *, err: bool = False) -> None:
    """Lines on stdout; names of models and files in them that would steer a terminal are shown instead."""
    typer.echo(printable_lines(text), err=err)


def tell_json(value: Any, **options: Any) -> None:
    """JSON on stdout, with what `json.dumps` takes; nothing in it steers a terminal."""
    typer.echo(printable_json(json.dumps(value, indent=2, ensure_ascii=False, **options)))


@contextmanager
def progress_on(console: Console) -> Iterator[ProgressCallback]:
    """A line per stage while the work goes on, on a terminal only; it vanishes at the end."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
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


def all_imported() -> None:
    """From here on cycles are looked for in what is made, and not in what was imported."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def target_of(cost: str, set_: list[str] | None, load: list[Path] | None) -> CostModel:
    """The cost model that a model is to be saturated for, once the engine and laws of files are there."""
    load_onnx_ir()
    import egraph_opt.pipeline.stages  # noqa: F401 - before `all_imported`
    from egraph_opt.cost.registry import cost_model

    all_imported()
    load_files(load)
    return cost_model(cost_of(cost, set_))


def names_of(rewrites: str | None) -> list[str] | None:
    return None if rewrites is None else [name.strip() for name in rewrites.split(",") if name.strip()]


def parsed_overrides(texts: list[str] | None) -> tuple[Override, ...]:
    """The values of `--set`, as TOML has them; what is none is a name, which needs no quotes."""
    from egraph_opt.cost.parameters import Option, Override
    from egraph_opt.foreign_text import parsed_toml

    found = []
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--set")
        try:
            (read,) = parsed_toml(f"value = {value}").values()
        except ValueError:
            read = value.strip()
        found.append(Override(name.strip(), read, Option(text)))
    return tuple(found)


def parsed_dims(texts: list[str] | None) -> dict[str, int]:
    """The sizes of `--dim`."""
    return dict(map(_dim, texts or ()))


def _dim(text: str) -> tuple[str, int]:
    name, equals, number = text.partition("=")
    if not equals or not name.strip() or not number.strip().isdecimal():
        raise typer.BadParameter(f"{text!r} is not NAME=NUMBER", param_hint="--dim")
    return name.strip(), int(number)


def cost_of(name: str, texts: list[str] | None) -> str | CostModel:
    """The cost model of `--cost` and `--set`; its name alone where nothing is set."""
    from egraph_opt.cost.registry import cost_model

    overrides = parsed_overrides(texts)
    return cost_model(name, overrides) if overrides else name


LOADED_TERMS = 48
"""Terms on which a law of a file is tried when it is loaded, in about a second; `check_law` tries more."""


def load_files(files: list[Path] | None) -> None:
    """Register the laws of files, each of which has to pass the gate, or has as it is written now."""
    for file in files or ():
        from egraph_opt.laws.loading import load_laws

        laws = load_laws(file)
        tried = [law for law in laws if not _passed(law)]
        if sys.stderr.isatty():
            say("note", f"{file}: laws accepted before: {len(laws) - len(tried)}, tried now: {len(tried)}")


def _passed(law: Law) -> bool:
    """Whether a law was accepted before; otherwise it is now, or refused."""
    from egraph_opt.laws.verdicts import note_of
    from egraph_opt.measurement.store import machine_key

    note = note_of(law, LOADED_TERMS, machine_key())
    if note is not None and note.is_kept():
        return True
    from egraph_opt.check.whole_law import check_law

    check_law(law, terms=LOADED_TERMS, conditions=False, neighbours=False)
    if note is not None:
        note.keep()
    return False


def installed(module: str, extra: str) -> None:
    """Refuse an option whose package is not there, before the work and not after it."""
    if find_spec(module) is None:
        raise typer.BadParameter(f"{module} is not installed: pip install 'egraph-opt[{extra}]'")


_redirected = ExitStack()
"""What is redirected until the command is done."""


def write_text(path: Path, text: str, *models: Path | None) -> None:
    """Write a file, whole or not at all, that is none of some models.

    What the command prints behind what it has written to stdout goes to stderr.

    Raises:
        OutputError: it cannot be written, or is one of the models; a stream is none.
    """
    from egraph_opt.model.files import write_whole
    from egraph_opt.model.streams import is_stdout, is_stream

    known = [model.resolve() for model in models if model is not None]
    if not is_stream(path) and path.resolve() in known:
        raise errors.OutputError(f"{path}: would overwrite a model")
    write_whole(path, text.encode())
    if is_stdout(path):
        _redirected.enter_context(redirect_stdout(sys.stderr))


def wrapped(text: str, width: int = WIDTH, first: str = "    ", others: str = "    ") -> list[str]:
    """A text in lines, with names in it that would steer a terminal escaped."""
    shown = printable_lines(text)
    return textwrap.wrap(shown, width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


def kept_lines(kept: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The parameters that stay as they were, by the reason."""
    for reason, names in kept.items():
        yield f"{len(names)} as before, {reason}:"
        yield from wrapped(", ".join(names))


def print_json(value: Any) -> None:
    """A value, dataclasses and numbers of numpy too, as JSON on stdout; what is no finite number is null."""
    from egraph_opt.report.plain import plain

    tell_json(plain(value), allow_nan=False)


def print_table(table: Table) -> None:
    """On a terminal as wide as that is, elsewhere in 80 columns; cells that are too long are wrapped."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    for column in table.columns:
        column.overflow = "fold"
    console.print(Escaped(table))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"egraph-opt {version('egraph-opt')}")
        raise typer.Exit


@app.callback()
def _common(
    context: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Optimize ONNX models by equality saturation."""
    context.call_on_close(_redirected.close)
