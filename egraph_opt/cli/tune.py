"""`egraph-opt tune`: the parameters under which what is chosen runs fastest in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from egraph_opt.cli.application import (
    CostOption,
    JsonOption,
    LoadOption,
    ParametersFileOption,
    ParametersOption,
    RewritesOption,
    SetOption,
    app,
    errors_as_lines,
    installed,
    kept_lines,
    load_files,
    names_of,
    parsed_overrides,
    print_json,
    progress_on,
    say,
    tell,
    wrapped,
)
from egraph_opt.errors import NothingFasterError

if TYPE_CHECKING:
    from egraph_opt.lab.tuning import Tuning


@app.command(no_args_is_help=True)
def tune(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help="ONNX models.", show_default=False)
    ],
    output: ParametersFileOption = None,
    cost: CostOption = "ascend",
    set_: SetOption = None,
    parameters: ParametersOption = None,
    within: Annotated[
        float, typer.Option(metavar="FACTOR", help="How far a parameter may move, up and down.")
    ] = 10.0,
    trials: Annotated[int, typer.Option(min=2, help="How many values are tried.")] = 100,
    seconds: Annotated[float, typer.Option(metavar="S", help="Of timing, for each new graph.")] = 1.0,
    threads: Annotated[int, typer.Option(min=1, help="Of onnxruntime.")] = 1,
    rewrites: RewritesOption = None,
    load: LoadOption = None,
    seed: Annotated[int, typer.Option(help="Of the search.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Search parameters of a cost model under which the chosen graphs run fastest in onnxruntime here.

    What is given with --set stays as it is.  Ctrl-C ends the search with the best so far.
    """
    installed("optuna", "tune")
    if not within > 1:
        raise typer.BadParameter("must be above 1", param_hint="--within")
    if not 0 < seconds < float("inf"):
        raise typer.BadParameter("must be above 0", param_hint="--seconds")
    held, only = parsed_overrides(set_), tuple(names_of(parameters) or ())
    with errors_as_lines(), progress_on(Console(stderr=True)) as progress:
        from egraph_opt.cost.registry import cost_model
        from egraph_opt.lab.calibration.writing import base_of
        from egraph_opt.lab.tuning import TuneRequest, tune, write_tuning

        load_files(load)
        if output is not None:
            base_of(cost, output)  # said before the work
        if cost_model(cost, held).elsewhere:
            say("note", f"{cost} prices another machine: it is tuned to this one")
        request = TuneRequest(
            tuple(models), cost, held, only, within, trials, seconds, names_of(rewrites), threads, seed
        )
        try:
            found = tune(request, progress)
        except NothingFasterError as error:
            if as_json:
                print_json({"cost": cost, "reason": str(error), "models": [], "parameters": {}})
            else:
                for line in wrapped(f"{error}: nothing is written", first=""):
                    tell(line)
            raise typer.Exit from None
        if output is not None:
            write_tuning(found, output)
    if as_json:
        print_json(_as_json(found))
        return
    for line in _lines(found):
        tell(line)
    if output is not None:
        tell(f"written to {output}: --cost {found.space.model.base}:{output}")


def _as_json(found: Tuning) -> dict[str, Any]:
    """What is faster, by which values of parameters."""
    changed = {name: {"before": found.defaults[name], "after": value} for name, value in found.values.items()}
    return {
        "cost": found.request.cost,
        "trials": found.trials,
        "stopped": found.stopped,
        "gain": found.gain,
        "models": found.models,
        "parameters": changed,
        "kept": found.kept,
    }


def _lines(found: Tuning) -> Iterator[str]:
    """How much faster each model is, what changed, and what did not."""
    from egraph_opt.lab.calibration.writing import by_reason

    yield f"{found.request.cost}: {found.trials} trials{' until it was stopped' if found.stopped else ''}"
    yield f"{'model':<24}{'graphs':>8}{'times as fast as before':>25}{'at least':>10}{'as original':>13}"
    for model in found.models:
        numbers = f"{model.graphs:>8}{model.gain:>25.3f}{model.low:>10.3f}{model.beside_original:>13.3f}"
        yield f"{model.name[-23:]:<24}{numbers}"
    yield f"{'mean':<24}{'':>8}{found.gain:>25.3f}"
    yield f"{'parameter':<32}{'before':>12}{'after':>12}"
    for name, value in found.values.items():
        yield f"{name:<32}{found.defaults[name]:>12.4g}{value:>12.4g}"
    yield from kept_lines(by_reason(found.kept))
