"""The priced e-graph for other programs: what is written is read back, and has the same optimum."""

from __future__ import annotations

import json
import re
from pathlib import Path

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner

from egraph_opt import saturate
from egraph_opt.cli import app
from egraph_opt.errors import UnknownTensorError
from egraph_opt.extraction import extract, load_json

MODELS = {
    "a scale goes into a convolution": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 2, 6, 6] x) => (float[1, 2, 6, 6] y)
        <float[2, 2, 1, 1] w = {1,2,3,4}, float k = {2}> {
            a = Conv (x, w)
            b = Mul (a, k)
            c = Transpose <perm = [0, 2, 3, 1]> (b)
            d = Relu (c)
            y = Transpose <perm = [0, 3, 1, 2]> (d)
        }""",
    "a branch of its own": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[3, 4] x, bool p) => (float[3, 4] y) {
            y = If (p) <
                then_branch = one () => (float[3, 4] a) { t = Neg (x) a = Neg (t) },
                else_branch = other () => (float[3, 4] b) { b = Exp (x) }
            >
        }""",
}


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
@pytest.mark.parametrize("text", MODELS.values(), ids=MODELS)
def test_what_is_written_has_the_same_optimum(text: str, cost: str, tmp_path: Path) -> None:
    priced = saturate(parser.parse_model(text), target=cost).priced(cost)
    file = tmp_path / "egraph.json"
    file.write_text(priced.to_json())
    problem = load_json(file)
    assert extract(problem).cost == pytest.approx(priced.extracted.solution.cost)
    written = json.loads(file.read_text())
    assert {node["eclass"] for node in written["nodes"].values()} >= set(written["root_eclasses"])
    assert any(said["type"] == "float32[1, 2, 6, 6]" for said in written["class_data"].values()) == (
        "Conv" in text
    )


def test_a_drawing_has_what_is_near_a_tensor_and_who_wrote_it() -> None:
    priced = saturate(parser.parse_model(MODELS["a scale goes into a convolution"])).priced()
    near, whole = priced.to_dot("c", steps=0), priced.to_dot("c", steps=9)
    assert 'label="c float32[1, 6, 6, 2]"' in near
    assert "Transpose" in near and "Conv" not in near and "Conv" in whole
    assert "transpose.through_unary" in whole and "bold" in whole
    boxes = re.findall(r"^    (n\d+) \[label=", whole, re.MULTILINE)
    arrows = re.findall(r"^  (n\d+) -> (n\d+) ", whole, re.MULTILINE)
    assert arrows and {end for arrow in arrows for end in arrow} <= set(boxes)
    with pytest.raises(UnknownTensorError, match="cc"):
        priced.to_dot("cc")


def test_the_commands_write_egraphs_and_rules(tmp_path: Path) -> None:
    model, file = tmp_path / "m.onnx", tmp_path / "e.json"
    onnx.save(parser.parse_model(MODELS["a branch of its own"]), model)
    done = CliRunner().invoke(app, ["egraph", str(model), "-o", str(file)])
    assert (done.exit_code, done.stdout) == (0, "") and load_json(file).n_nodes > 1
    drawn = CliRunner().invoke(app, ["egraph", str(model), "--around", "y"])
    assert drawn.exit_code == 0 and drawn.stdout.startswith("digraph")
    rules = CliRunner().invoke(app, ["rules", "--grep", "compose_transposes", "--egglog"])
    assert rules.exit_code == 0 and "(rule ((= " in rules.stdout and "compose_transposes#0" in rules.stdout
