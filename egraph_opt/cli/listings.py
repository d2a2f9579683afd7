"""`egraph-opt rules` and `operators`."""

from __future__ import annotations

import typer
from rich.table import Table
from rich.text import Text

from egraph_opt.cli.application import LoadOption, app, errors_as_lines, load_files, print_table


@app.command()
def rules(load: LoadOption = None) -> None:
    """List every law: ruleset, name, formula, direction and why, kind, purpose, how exact it is."""
    from egraph_opt.laws.direction import direction_of
    from egraph_opt.laws.exactness import told_class
    from egraph_opt.laws.selection import all_laws, by_default
    from egraph_opt.rebuild.legalization import legalizations

    table = Table(box=None, pad_edge=False)
    for name in ("ruleset", "name", "law", "", "why", "kind", "serves", "exact", "on", "source"):
        table.add_column(name, overflow="fold")
    with errors_as_lines():
        load_files(load)
        laws = all_laws()
        for law in laws:
            on = "always" if by_default(law) else "by name"
            way = direction_of(law)
            exact = told_class(law.numerics, law.within)
            told = (law.formula, way.sign, way.reason, law.kind, law.serves, exact, on)
            cells = (law.ruleset, law.name, *told, law.source)
            table.add_row(*(Text(" ".join(cell.split())) for cell in cells))
    for step in legalizations():
        told = (step.formula, "->", "outside the standard", "replace", "target", "no", "by name")
        table.add_row(*(Text(cell) for cell in (step.ruleset, step.name, *told, step.source)))
    print_table(table)
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
    with errors_as_lines():
        all_laws()
        load_files(load)
        for entry in declared().values():
            cells = (entry.signature, entry.result, " ".join(entry.doc.split()))
            names = f" One of {', '.join(entry.op_types)}." if entry.op_types else ""
            table.add_row(*(Text(cell) for cell in (*cells[:2], cells[2] + names)))
    print_table(table)
    typer.echo(f"terms are made of {', '.join(lowered_op_types())}; other ONNX operators are opaque")
