"""`egraph-opt check-profile`: what was predicted of a model next to what a profiler measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from egraph_opt.cli.application import (
    CostOption,
    DimOption,
    JsonOption,
    SetOption,
    app,
    cost_of,
    errors_as_lines,
    parsed_dims,
    print_json,
    tell,
    wrapped,
)


@app.command("check-profile", no_args_is_help=True)
def check_profile(
    profile: Annotated[
        Path,
        typer.Argument(
            metavar="PROFILE.csv",
            help="op_summary of msprof, or kernel_details of torch_npu.",
            show_default=False,
        ),
    ],
    model: Annotated[
        Path, typer.Argument(metavar="MODEL.onnx", help="The model that ran.", show_default=False)
    ],
    cost: CostOption = "ascend",
    set_: SetOption = None,
    dims: DimOption = None,
    most: Annotated[int, typer.Option(metavar="N", min=1, help="Print so many kernels.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Compare what is predicted of a model's kernels with what a profile measured.

    Those that differ most come first.
    """
    sizes = parsed_dims(dims)
    with errors_as_lines():
        from egraph_opt.cost.registry import cost_model
        from egraph_opt.lab.calibration.checking import check_lines
        from egraph_opt.lab.calibration.checking import check_profile as check

        found = check(profile, model, cost_model(cost_of(cost, set_)), sizes)
    if as_json:
        sums = {"measured": found.measured, "predicted": found.predicted, "unpriced": found.unpriced}
        print_json({**vars(found), **sums})
        return
    for line in check_lines(found, most):
        for part in wrapped(line, first="", others=" " * 31) if len(line) > 80 else [line]:
            tell(part)
