"""`egraph-opt check-certificate`: a certificate is checked, without what found it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from egraph_opt.cli.application import (
    JsonOption,
    LoadOption,
    app,
    errors_as_lines,
    load_files,
    tell,
    tell_json,
)
from egraph_opt.imports import load_onnx_ir


@app.command("check", hidden=True, no_args_is_help=True)  # for short
@app.command("check-certificate", no_args_is_help=True)
def check_certificate(
    source: Annotated[Path, typer.Argument(metavar="MODEL", help="The model.", show_default=False)],
    result: Annotated[Path, typer.Argument(metavar="OUT", help="What optimize wrote.", show_default=False)],
    certificate: Annotated[
        Path, typer.Argument(metavar="CERT", help="The certificate of both.", show_default=False)
    ],
    load: LoadOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse steps that nothing shows.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a certificate: a result is equal to its model, by which laws, and nothing is cheaper."""
    with errors_as_lines():
        load_onnx_ir()
        from egraph_opt.certificates.certificate import Certificate
        from egraph_opt.certificates.checking import check_certificate as check

        load_files(load)
        found = check(source, result, Certificate.load(certificate), strict=strict)
    if as_json:
        tell_json(asdict(found))
        return
    for line in found.lines():
        tell(line)
