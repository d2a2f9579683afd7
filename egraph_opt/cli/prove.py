"""`egraph-opt prove`: laws as theorems about all sizes."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from egraph_opt.cli.application import (
    LoadOption,
    app,
    errors_as_lines,
    installed,
    say,
    tell,
    tell_json,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from egraph_opt.proofs.prover import LawProof


@app.command()
def prove(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LAW|RULESET]..", help="Which (all if none is named).", show_default=False),
    ] = None,
    load: LoadOption = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="For one law, of processor time.")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="A list of records, as JSON.")] = False,
) -> None:
    """Prove laws for all sizes: proved, refuted with an example, or open with the reason."""
    installed("z3", "prove")
    with errors_as_lines():
        from egraph_opt.laws.loading import load_laws
        from egraph_opt.laws.selection import all_laws, select

        loaded = [law for file in load or () for law in load_laws(file)]
        laws = list(select(names)) if names else loaded or all_laws()
    from egraph_opt.proofs.prover import prove as proof_of

    records, counts = [], Counter[str]()
    for law in laws:
        proof = proof_of(law, seconds)
        counts[proof.status] += 1
        records.append(asdict(proof))
        if not as_json:
            for line in _lines(proof):
                tell(line)
    if as_json:
        tell_json(records)
    else:
        tell(", ".join(f"{counts[status]} {status}" for status in ("proved", "refuted", "open")))
    if counts["refuted"]:
        say("error", "a law is wrong")
        raise typer.Exit(3)


def _lines(proof: LawProof) -> Iterator[str]:
    """What is listed of a law in 80 columns."""
    yield from wrapped(f"{proof.status} {proof.name} ({proof.seconds:.1f} s)", first="", others="  ")
    if proof.status == "proved":
        yield from wrapped(f"{proof.arithmetic}, ranks 0 to {proof.ranks}, {proof.cases} cases")
    else:
        yield from wrapped(" ".join(proof.reason.split()))
