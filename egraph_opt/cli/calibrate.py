"""`egraph-opt calibrate`: the parameters of a cost model from what kernels took."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from egraph_opt.cli.application import (
    WIDTH,
    CostOption,
    DimOption,
    JournalOption,
    JsonOption,
    ParametersFileOption,
    ParametersOption,
    RunnerOption,
    SetOption,
    app,
    errors_as_lines,
    installed,
    kept_lines,
    names_of,
    parsed_dims,
    parsed_overrides,
    print_json,
    progress_on,
    tell,
    wrapped,
)

if TYPE_CHECKING:
    from egraph_opt.lab.calibration.calibrating import Calibration, Learned, OperatorError


@app.command(no_args_is_help=True)
def calibrate(
    profile: Annotated[
        Path,
        typer.Argument(
            metavar="PROFILE.csv",
            help="op_summary or op_statistic of msprof, kernel_details of torch_npu, or what"
            " `egraph-opt measurements export` or `runner measure` wrote; with --runner a model.",
            show_default=False,
        ),
    ],
    model: Annotated[
        Path | None,
        typer.Argument(
            metavar="[MODEL.onnx]", help="The model that ran, for shapes and attributes.", show_default=False
        ),
    ] = None,
    output: ParametersFileOption = None,
    cost: CostOption = "ascend",
    set_: SetOption = None,
    parameters: ParametersOption = None,
    dims: DimOption = None,
    runner: RunnerOption = None,
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit the parameters of a cost model to a profile, and write those that it determines.

    What is given with --set stays as it is. With --runner the profile is made: each node of a model is timed
    by itself.
    """
    installed("scipy", "calibrate")
    if runner is not None and model is not None:
        raise typer.BadParameter("times the nodes of one model: give that alone", param_hint="--runner")
    if dims and model is None and runner is None:
        raise typer.BadParameter("is a dim of a model: give the model, too", param_hint="--dim")
    held, sizes = parsed_overrides(set_), parsed_dims(dims)
    only = tuple(names_of(parameters) or ())
    with errors_as_lines(), progress_on(Console(stderr=True)) as progress:
        from egraph_opt.lab.calibration.calibrating import CalibrationRequest, calibrate
        from egraph_opt.lab.calibration.writing import base_of, write_calibration

        if output is not None:
            base_of(cost, output)  # said before the work
        with profile_of(profile, sizes, runner, journal, progress) as made:
            found = calibrate(CalibrationRequest(made, cost, held, only, model, sizes), progress)
        if output is not None:
            write_calibration(found, output)
    if as_json:
        print_json(_as_json(found))
        return
    for line in _lines(found):
        tell(line)
    if output is not None:
        tell(f"written to {output}: --cost {found.space.model.base}:{output}")


@contextmanager
def profile_of(
    given: Path,
    sizes: Mapping[str, int],
    command: str | None,
    journal: Path | None,
    progress: Callable[[str, float | None], None],
) -> Iterator[Path]:
    """A profile: the given one, or what a command says of the nodes of the given model."""
    if command is None:
        yield given
        return
    from egraph_opt.lab.calibration.collecting import collect, write_rows
    from egraph_opt.lab.calibration.model_nodes import read_nodes
    from egraph_opt.measurement.runner import Runner

    views = read_nodes(given, sizes).by_name.values()
    rows = collect(Runner(command, journal=journal), views, lambda done: progress("measure", done))
    with tempfile.TemporaryDirectory(prefix="egraph-opt-") as folder:
        made = Path(folder) / f"{given.stem}.csv"
        write_rows(rows, made)
        yield made


def _as_json(found: Calibration) -> dict[str, Any]:
    """What was learned, the errors by operator, and what was left out."""
    seen = found.observations
    learned = {
        entry.name: {
            "before": entry.coordinate.default,
            "after": entry.value,
            "error": entry.error,
            "unit": entry.coordinate.unit,
            "remark": entry.remark,
        }
        for entry in found.learned
    }
    return {
        "cost": found.cost,
        "profile": seen.label,
        "kernels": len(seen.used),
        "rows": seen.rows,
        "remarks": seen.remarks,
        "left_out": seen.left_out,
        "operators": found.operators,
        "total": found.total,
        "parameters": learned,
        "kept": found.kept,
    }


def _lines(found: Calibration) -> Iterator[str]:
    """What was used, the errors by operator, the parameters that changed, and those that did not."""
    from egraph_opt.lab.calibration.writing import by_reason

    seen = found.observations
    yield f"{seen.label}: {len(seen.used):,} kernels in {seen.rows:,} rows, {found.cost}"
    for remark in seen.remarks:
        yield f"({remark})"
    if seen.left_out:
        count = sum(seen.left_out.values())
        yield f"left out {count:,} row{'s' if count > 1 else ''}:"
        for reason, count in seen.left_out.items():
            yield from wrapped(f"{count:,}: {reason}")
    yield f"{'operator':<32}{'kernels':>8}{'wrong by, before':>20}{'after':>12}"
    for entry in (*found.operators, found.total):
        yield _error(entry)
    yield f"{'parameter':<28}{'before':>10}{'after':>10}{'error':>9}  unit"
    for learned in found.learned:
        yield from _parameter(learned)
    yield from kept_lines(by_reason(found.kept))


def _error(entry: OperatorError) -> str:
    before, after = f"{entry.before:.2f} times", f"{entry.after:.2f} times"
    return f"{entry.operator:<32}{entry.kernels:>8,}{before:>20}{after:>12}"


def _parameter(entry: Learned) -> Iterator[str]:
    error = f"{100 * entry.error:.2g} %"
    numbers = f"{entry.coordinate.default:>10.4g}{entry.value:>10.4g}{error:>9}"
    yield f"{entry.name:<28}{numbers}  {_short(entry.coordinate.unit, WIDTH - 59)}"
    if entry.remark:
        yield f"    {entry.remark}"


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 2].rstrip()}.."
