"""`egraph-opt egraph`: the priced e-graph of a model, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from egraph_opt.cli.application import (
    CostOption,
    LoadOption,
    RewritesOption,
    SetOption,
    app,
    errors_as_lines,
    names_of,
    target_of,
    tell,
    write_text,
)
from egraph_opt.cost import DEFAULT_COST


@app.command(no_args_is_help=True)
def egraph(
    source: Annotated[Path, typer.Argument(metavar="MODEL", help="The model.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it there, not to stdout.")
    ] = None,
    around: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Draw what is near this tensor or node, in Graphviz's language."),
    ] = None,
    steps: Annotated[int, typer.Option(metavar="N", min=0, help="With --around: how far it goes.")] = 1,
    cost: CostOption = DEFAULT_COST,
    set_: SetOption = None,
    rewrites: RewritesOption = None,
    load: LoadOption = None,
) -> None:
    """Write the priced e-graph of a model as JSON (egraph-serialize), or a part of it as DOT."""
    names = names_of(rewrites)
    with errors_as_lines():
        model = target_of(cost, set_, load)
        from egraph_opt.pipeline.stages import saturate

        priced = saturate(source, target=model, rewrites=names).priced(model)
        text = priced.to_json() if around is None else priced.to_dot(around, steps)
        if output is None:
            tell(text)
        else:
            write_text(output, text + "\n", source)
