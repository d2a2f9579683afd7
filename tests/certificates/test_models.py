"""Certificates of real models, as files, by the command line and by the library."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner

from egraph_opt import optimize
from egraph_opt.certificates.checking import check_certificate
from egraph_opt.cli import app
from tests.certificates.made_certificates import HEAD, MODELS
from tests.installed_models import installed

STEPS_A_NODE = 5
"""On the average, of models."""


@pytest.mark.parametrize(
    "name", ["rapidocr_onnxruntime/ch_ppocr_mobile_v2.0_cls_infer.onnx", "light/light_squeezenet.onnx"]
)
def test_a_model_gets_a_whole_certificate(name: str) -> None:
    path = installed(name)
    result = optimize(path, "nodes", verify=False, record=True)
    found = check_certificate(path, result.model, result.certificate(), strict=True)
    assert found.laws
    assert found.bound is not None
    assert found.bound.exact
    assert found.bound.accounted == found.nodes
    assert found.nodes == result.report.nodes.runtime_after
    assert found.steps <= STEPS_A_NODE * found.nodes


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    onnx.save(parser.parse_model(HEAD + MODELS["a normalisation"]), tmp_path / "model.onnx")
    names = [str(tmp_path / name) for name in ("model.onnx", "out.onnx", "out.cert")]
    asked = ["optimize", *names[:2], "--cost", "nodes", "--certificate", names[2], "--quiet"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    return names


def test_a_file_is_checked_by_the_command_line(files: list[str]) -> None:
    done = CliRunner().invoke(app, ["check-certificate", "--strict", *files])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("the result is equal to the model, by ")
    assert "  convolution.scale_after_conv: 1 time, tested" in done.output.splitlines()
    assert "the graph costs 2 (nodes); no graph of this e-graph is cheaper than 2" in done.output
    done = CliRunner().invoke(app, ["check", "--json", *files])
    found = json.loads(done.output)
    assert found["trusted"] == []
    assert (found["bound"]["lower_bound"], found["bound"]["exact"]) == (2.0, True)


def test_a_certificate_of_something_else_is_an_error_of_one_line(files: list[str]) -> None:
    done = CliRunner().invoke(app, ["check-certificate", files[0], files[0], files[2]])
    assert done.exit_code == 1
    assert "is not the result that the certificate is of" in done.output
