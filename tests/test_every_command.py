"""Every command prints 80 columns where there is no terminal, and with `--json` JSON and nothing else."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
import typer
from onnx import parser
from typer.testing import CliRunner, Result

from egraph_opt import cost_model, optimize
from egraph_opt.cli import app
from egraph_opt.measurement.store import Store

from .lab.calibration.made_profiles import Kernel, write

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
a_graph_with_a_long_name (float[1, 4, 8, 8] the_image_that_comes_in) => (float[1, 4, 8, 8] y)
<float[4, 4, 1, 1] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, float k = {2}> {
    a_convolution_with_a_name_that_is_as_long_as_those_of_exporters = Conv (the_image_that_comes_in, w)
    r = Relu (a_convolution_with_a_name_that_is_as_long_as_those_of_exporters)
    y = Mul (r, k)
}"""

COMMANDS = {
    "optimize": "model.onnx out.onnx --cost ascend",
    "optimize --verbose": "model.onnx out.onnx --cost ascend",
    "optimize --report -": "model.onnx out.onnx --cost ascend",
    "alternatives": "model.onnx y --cost ascend",
    "egraph": "model.onnx",
    "explain": "model.onnx",
    "explain --law": "convolution.scale_after_conv model.onnx",
    "show": "made.onnx",
    "diff": "model.onnx made.onnx",
    "check-certificate": "model.onnx certified.onnx out.cert",
    "check": "model.onnx certified.onnx out.cert",
    "rules": "--ruleset conv1d",
    "operators": "",
    "costs": "",
    "costs --parameters": "ascend",
    "measurements list": "",
    "measurements export": "measured.csv",
    "measurements merge": "other.sqlite",
    "measurements clear": "",
    "runner check": "'sh time.sh {model}'",
    "runner measure": "model.onnx 'sh time.sh {model}' -o nodes.csv",
    "runner script": "",
    "runner time": "model.onnx",
    "study orders": "model.onnx --random 1 --rewrites convolution",
    "study ablate": "model.onnx --only convolution",
    "study growth": "model.onnx",
    "sweep": "spec.toml --jobs 1",
    "sensitivity": "model.onnx --parameters view_us",
    "calibrate": "op_summary.csv -o mine.toml",
    "check-profile": "op_summary.csv model.onnx",
    "tune": "model.onnx --cost ascend --parameters fixed_vector_us --trials 2 --seconds 0.01",
}
"""Commands with their arguments, a row each time they print something else."""

ELSEWHERE = {"compare": "lab/test_comparison.py", "prove": "proofs/test_prover.py"}
"""Commands that take longer, and where they are tried."""

NO_JSON = {
    "optimize",
    "optimize --verbose",
    "egraph",
    "measurements export",
    "measurements merge",
    "measurements clear",
    "runner check",
    "runner measure",
    "runner script",
}
"""Those of `optimize --report -`, what is JSON unasked, and commands that print a line."""

ONLY_JSON = {"optimize --report -", "egraph", "runner time"}
"""Those that print nothing else, unasked; JSON is as long as its texts are."""

NAMES_A_FILE = ("in /", "written to ")
"""How lines begin that are as long as the path of a file."""

NEEDS = {"tune": "optuna", "calibrate": "scipy"}
"""Packages of extras."""


@pytest.fixture(scope="module")
def made() -> bytes:
    """The file of what becomes of a model whose scale a convolution takes in."""
    given = parser.parse_model(MODEL.replace("Relu", "Identity"))
    return optimize(given, "nodes").model.SerializeToString()


@pytest.fixture(scope="module")
def certified() -> tuple[bytes, str]:
    """The file of what becomes of `model.onnx`, and its certificate."""
    result = optimize(parser.parse_model(MODEL), "nodes", record=True)
    return result.model.SerializeToString(), result.certificate().to_json()


@pytest.fixture(autouse=True)
def folder(
    tmp_path: Path, made: bytes, certified: tuple[bytes, str], monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EGRAPH_OPT_CACHE", str(tmp_path / "cache"))
    onnx.save(parser.parse_model(MODEL), tmp_path / "model.onnx")
    (tmp_path / "made.onnx").write_bytes(made)
    (tmp_path / "certified.onnx").write_bytes(certified[0])
    (tmp_path / "out.cert").write_text(certified[1])
    (tmp_path / "time.sh").write_text("""echo '{"micros": 12.5, "device": "a board"}'\n""")
    list(Store(tmp_path / "other.sqlite").rows())
    kernels = [
        Kernel("Relu", f"{2**k}", f"{2**k}", core="AI_VECTOR_CORE", name="Relu_1") for k in range(4, 20)
    ]
    write(tmp_path / "op_summary.csv", kernels, cost_model("ascend", {"fixed_vector_us": 3.1}))
    (tmp_path / "spec.toml").write_text(
        'models = ["model.onnx"]\n[[cost]]\nmodel = "ascend"\ngrid = {view_us = [0.05, 0.5]}\n'
    )
    return tmp_path


def run(command: str, *more: str) -> Result:
    words = [*command.split(), *shlex.split(COMMANDS[command]), *more]
    return CliRunner().invoke(app, words)


def names_of_commands() -> Iterator[str]:
    pending = [("", typer.main.get_command(app))]
    for name, command in pending:
        if isinstance(command, typer.core.TyperGroup):
            pending += [(f"{name} {child}".strip(), found) for child, found in command.commands.items()]
        else:
            yield name


def test_every_command_is_tried_here() -> None:
    tried = {command.partition(" --")[0] for command in COMMANDS}
    assert tried | set(ELSEWHERE) == set(names_of_commands())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_prints_80_columns_in_a_pipe(command: str) -> None:
    pytest.importorskip(NEEDS.get(command, "onnx"))
    done = run(command)
    assert done.exit_code == 0, done.output
    assert "\x1b" not in done.stdout
    if command not in ONLY_JSON:
        own = [line for line in done.stdout.splitlines() if not line.startswith(NAMES_A_FILE)]
        assert [line for line in own if len(line) > 80] == []


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in NO_JSON])
def test_a_command_prints_json_and_nothing_else(command: str) -> None:
    pytest.importorskip(NEEDS.get(command, "onnx"))
    done = run(command, *(() if command in ONLY_JSON else ("--json",)))
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) is not None


@pytest.mark.parametrize("command", sorted({command.partition(" --")[0] for command in COMMANDS}))
def test_help_has_80_columns(command: str) -> None:
    done = CliRunner().invoke(app, [*command.split(), "--help"])
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
