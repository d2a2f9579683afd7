"""`egraph-opt explain`: what was done to a model and by which laws, or what became of one law."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from egraph_opt.cli.application import (
    CostOption,
    JsonOption,
    LoadOption,
    RewritesOption,
    SetOption,
    app,
    errors_as_lines,
    names_of,
    target_of,
    tell,
    tell_json,
)
from egraph_opt.cost import DEFAULT_COST


@app.command(no_args_is_help=True)
def explain(
    source: Annotated[Path, typer.Argument(metavar="MODEL", help="The model.", show_default=False)],
    node: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what this node or tensor is part of.")
    ] = None,
    law: Annotated[
        str | None,
        typer.Option(metavar="RULESET.NAME", help="What became of this law, and why it did not match."),
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --law: at this tensor or node only.")
    ] = None,
    cost: CostOption = DEFAULT_COST,
    set_: SetOption = None,
    rewrites: RewritesOption = None,
    load: LoadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show where the result differs from the model, by which laws, and what that saves."""
    if at is not None and law is None:
        raise typer.BadParameter("is for --law", param_hint="--at")
    if node is not None and law is not None:
        raise typer.BadParameter("say --at NAME with --law", param_hint="--node")
    names = names_of(rewrites)
    with errors_as_lines():
        model = target_of(cost, set_, load)
        from egraph_opt.pipeline.law_questions import law_named
        from egraph_opt.pipeline.stages import saturate

        if law is not None:
            law_named(law)  # before the work
        saturated = saturate(source, rewrites=names, target=model)
        found = saturated.explain(model, node) if law is None else saturated.explain_law(law, model, at)
    if as_json:
        tell_json(asdict(found), default=str)
        return
    for line in found.lines():
        tell(line)
