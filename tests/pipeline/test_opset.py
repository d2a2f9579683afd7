"""A model is converted to an opset first, what that makes is compared, and a hint says where it pays."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner

from egraph_opt import optimize
from egraph_opt.cli import app
from egraph_opt.errors import OpsetError

SWISHES = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[N, 4] x) => (float[N, 4] y)
{
    a = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)
    b = Mul (x, a)
    c = HardSigmoid <alpha = 0.16666667, beta = 0.5> (b)
    d = Mul (b, c)
    e = HardSigmoid <alpha = 0.16666667, beta = 0.5> (d)
    y = Mul (d, e)
}
"""


def test_a_newer_opset_has_operators_that_the_hint_names() -> None:
    model = parser.parse_model(SWISHES)
    report = optimize(model, "nodes").report
    assert report.nodes.runtime_after == 6
    assert report.hints == ("3 HardSwish would be one node each: --opset 14 (now 13)",)
    newer = optimize(model, "nodes", opset=14)
    assert (newer.report.nodes.runtime_after, newer.report.verification.status) == (3, "passed")
    assert newer.model.opset_import[0].version == 14 and newer.report.hints == ()


@pytest.mark.parametrize(("opset", "problem"), [(3, "is not one of"), (99, "is not one of")])
def test_an_opset_that_there_is_not_is_one_line(tmp_path: Path, opset: int, problem: str) -> None:
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    onnx.save(parser.parse_model(SWISHES), source)
    done = CliRunner().invoke(app, ["optimize", str(source), str(target), "--opset", str(opset)])
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert problem in done.stderr and not target.exists()


def test_what_the_converter_does_not_reach_is_an_error() -> None:
    text = SWISHES.replace("13]", "18]").replace("y = Mul (d, e)", "y = Mish (d)")
    with pytest.raises(OpsetError, match="from opset 18 to 17: ONNX's converter fails"):
        optimize(parser.parse_model(text), "nodes", opset=17)
