"""`egraph-opt show` and `egraph-opt diff`: what a file says of its making, and where two models differ."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from egraph_opt.cli.application import (
    HtmlOption,
    JsonOption,
    all_imported,
    app,
    errors_as_lines,
    tell,
    tell_json,
    wrapped,
    write_text,
)
from egraph_opt.foreign_text import printable
from egraph_opt.imports import load_onnx_ir

if TYPE_CHECKING:
    import onnx_ir as ir


def _read(path: Path) -> ir.Model:
    from egraph_opt.model.reading import read_model

    return read_model(path).model


@app.command(no_args_is_help=True)
def show(
    source: Annotated[
        Path, typer.Argument(metavar="OUT", help="A model that optimize wrote.", show_default=False)
    ],
    as_json: JsonOption = False,
) -> None:
    """Print what an optimized model says of its making: options, and laws and original nodes by node."""
    with errors_as_lines():
        load_onnx_ir()
        from egraph_opt.graph.walks import nodes_within
        from egraph_opt.model.provenance import provenance_of, said_of
        from egraph_opt.report.node_text import node_text

        model = _read(source)
        said = said_of(model.metadata_props)
        nodes = [inner for node in model.graph for inner in (node, *nodes_within(node))]
        found = [(node, known) for node in nodes if (known := provenance_of(node.metadata_props)) is not None]
        lines = [(node.name or "", node_text(node), known) for node, known in found]
    if as_json:
        told = [{"name": name, "node": text, **asdict(known)} for name, text, known in lines]
        tell_json({"model": said, "nodes": told})
        return
    if not said and not lines:
        why = "egraph-opt has not written it, or --no-metadata was said"
        tell("\n".join(wrapped(f"the model says nothing of its making: {why}", first="")))
        return
    for key, value in said.items():
        tell("\n".join(wrapped(printable(f"{key}: {value}"), first="", others="    ")))
    tell(f"{len(nodes) - len(lines):,} nodes are as they came, {len(lines):,} are new:")
    for _, text, known in lines:
        tell("\n".join(wrapped(text, first="  ", others="      ")))
        instead = f"instead of {', '.join(map(printable, known.nodes))}" if known.nodes else "new"
        by = f" by {', '.join(map(printable, known.laws))}" if known.laws else ""
        tell(
            "\n".join(
                wrapped(f"{instead}{by}; {printable(known.cost)}".removesuffix("; "), others="        ")
            )
        )


@app.command(no_args_is_help=True)
def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="A model.", show_default=False)],
    after: Annotated[Path, typer.Argument(metavar="B", help="What became of it.", show_default=False)],
    html: HtmlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print where two models differ, whoever made them: regions of nodes between tensors that both have."""
    with errors_as_lines():
        load_onnx_ir()
        from egraph_opt.pipeline.compared_models import compared, compared_page

        all_imported()
        models = _read(before), _read(after)
        if html is not None:
            write_text(html, compared_page(f"{before.name} and {after.name}", *models), before, after)
        found = compared(*models)
    if as_json:
        tell_json(asdict(found), default=str)
        return
    for line in found.lines():
        tell(line)
