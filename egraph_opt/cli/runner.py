"""`egraph-opt runner`: commands that time models, for `optimize --runner`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from egraph_opt.cli.application import (
    DimOption,
    JournalOption,
    app,
    errors_as_lines,
    parsed_dims,
    progress_on,
    say,
    tell,
    write_text,
)

if TYPE_CHECKING:
    from egraph_opt.graph.timed_runtime import Runtime

runner = typer.Typer(help="Try a command that times models, or be one.", no_args_is_help=True)
app.add_typer(runner, name="runner")

RUNTIMES = ("onnxruntime", "openvino")

SECONDS = 1.0
"""How long `time` times a model, about."""

TRIED = """
<ir_version: 8, opset_import: ["" : 13]>
tried (float[1, 8, 16, 16] x) => (float[1, 8, 16, 16] y) { a = Relu (x) y = Add (a, x) }
"""
"""What a command is tried on."""


@runner.command()
def check(
    command: Annotated[
        str, typer.Argument(help="Such as 'ssh board ./time.sh {model}'.", show_default=False)
    ],
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for a model.")] = 600.0,
) -> None:
    """Try a command on a small model: what it answers, or what is wrong with that."""
    from onnx import parser

    from egraph_opt.measurement.runner import Runner

    with errors_as_lines():
        asked = Runner(command, timeout=timeout, retries=0)
    with tempfile.TemporaryDirectory(prefix="egraph-opt-") as folder:
        file = Path(folder) / "model.onnx"
        file.write_bytes(parser.parse_model(TRIED).SerializeToString())
        (answer,) = asked.time([file])
    if answer.error:
        say("error", answer.error)
        raise typer.Exit(1)
    tell(f"{answer.micros:.6g} us{f' on {answer.device}' if answer.device else ''}")


@runner.command("time")
def time_(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL..", help="Files.", show_default=False)],
    runtime: Annotated[str, typer.Option(metavar="|".join(RUNTIMES))] = RUNTIMES[0],
    threads: Annotated[int, typer.Option(min=1, help="Of a run.")] = 1,
    nodes: Annotated[bool, typer.Option("--nodes", help="Print what each node takes, too.")] = False,
) -> None:
    """Time models here, and print what `--runner` reads: `ssh board egraph-opt runner time ..`.

    One line of JSON a model, when it is timed.
    """
    from egraph_opt.errors import ArgumentError, hint_of
    from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
    from egraph_opt.measurement.runtimes.openvino import OpenVinoRuntime

    with errors_as_lines():
        if runtime not in RUNTIMES:
            raise ArgumentError(
                f"unknown runtime {runtime!r}{hint_of(runtime, RUNTIMES)} (runtimes: {', '.join(RUNTIMES)})"
            )
        made: Runtime = OrtRuntime(threads) if runtime == RUNTIMES[0] else OpenVinoRuntime(threads)
        made.check()
    for model in models:
        print(json.dumps({"model": str(model), **_timed(model, made, nodes)}), flush=True)


@runner.command()
def script(
    name: Annotated[
        str | None, typer.Argument(help="Which one; all names are listed without.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.py", help="Write it to a file.")
    ] = None,
) -> None:
    """A script that times models with a vendor's tools, to be copied to where these are.

    `ssh board python3 FILE.py {models}` is a command for --runner then.
    """
    from egraph_opt.measurement.device_scripts import NAMES
    from egraph_opt.measurement.device_scripts import script as text_of

    if name is None:
        for known in NAMES:
            about = text_of(known).partition('"""')[2].splitlines()[0]
            tell(f"{known:<24}{about}")
        return
    with errors_as_lines():
        text = text_of(name)
        if output is not None:
            write_text(output, text)
        else:
            typer.echo(text, nl=False)


@runner.command()
def measure(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Whose nodes are timed.", show_default=False)
    ],
    command: Annotated[
        str, typer.Argument(help="Such as 'ssh board ./time.sh {models}'.", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE.csv", help="What `calibrate` reads.", show_default=False
        ),
    ],
    dims: DimOption = None,
    runner_journal: JournalOption = None,
) -> None:
    """Time each distinct node of a model by a command, as a model of its own."""
    sizes = parsed_dims(dims)
    with errors_as_lines(), progress_on(Console(stderr=True)) as progress:
        from egraph_opt.lab.calibration.collecting import collect, write_rows
        from egraph_opt.lab.calibration.model_nodes import read_nodes
        from egraph_opt.measurement.runner import Runner

        asked = Runner(command, journal=runner_journal)
        views = read_nodes(model, sizes).by_name.values()
        rows = collect(asked, views, lambda done: progress("measure", done))
        write_rows(rows, output)
    measured = sum(row[-1] is None for row in rows)
    tell(f"{measured} of {len(rows)} nodes measured, written to {output}")


def _timed(path: Path, runtime: Runtime, nodes: bool) -> dict[str, object]:
    import onnx

    from egraph_opt.measurement.places import by_name, profile
    from egraph_opt.measurement.store import machine_name
    from egraph_opt.measurement.whole import latencies

    try:
        proto = onnx.load(path, load_external_data=False)
        (found,) = latencies([str(path)], runtime, {}, proto, seconds=SECONDS)
        said: dict[str, object] = {"micros": found.micros, "device": machine_name()}
        if nodes:
            with tempfile.TemporaryDirectory(prefix="egraph-opt-") as folder:
                named = _with_names(path, Path(folder) / "named.onnx")
                found_nodes = profile(
                    *(str(named), proto, runtime, {}), seconds=SECONDS, prefix=str(Path(folder) / "profile")
                )
                graph = onnx.load(named, load_external_data=False).graph
            said["nodes"] = by_name(graph, found_nodes.kernels)
    except Exception as error:  # runtimes raise what they like
        return {"error": " ".join(str(error).split()) or type(error).__name__}
    return said


def _with_names(path: Path, target: Path) -> Path:
    """The file of a model, or a copy in which nodes without a name have that of their first result.

    A runtime names what it ran after nodes.
    """
    import onnx

    if all(node.name for node in onnx.load(path, load_external_data=False).graph.node):
        return path
    model = onnx.load(path)
    for node in model.graph.node:
        node.name = node.name or next(filter(None, node.output), "")
    onnx.save(model, target, save_as_external_data=True, location=f"{target.name}.data")
    return target
