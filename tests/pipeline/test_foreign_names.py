"""Names of models, metadata and certificates reach terminals and pages as text that is seen."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import onnx_ir as ir
import pytest
from onnx import ModelProto, parser
from typer.testing import CliRunner

from egraph_opt import optimize
from egraph_opt.certificates.checked import CheckedCertificate
from egraph_opt.cli import app
from egraph_opt.foreign_text import printable, printable_json, printable_lines
from egraph_opt.pipeline.compared_models import compared_page

EVIL = "\x1b[31m\u202ered\x9b\n1 of 9"
RAW = ("\x1b", "\u202e", "\x9b", "\n1 of 9")
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def model(last: str = "Exp", name: str = EVIL) -> ModelProto:
    text = f"g (float[4] x) => (float[4] y) {{ a = Neg(x) b = Neg(a) evil = {last}(b) y = Tanh(evil) }}"
    made = parser.parse_model(HEAD + text)
    made.graph.node[2].output[0] = made.graph.node[3].input[0] = made.graph.node[2].name = name
    return made


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = [str(tmp_path / name) for name in ("a.onnx", "b.onnx", "out.onnx")]
    onnx.save(model(), paths[0])
    onnx.save(model("Atan"), paths[1])
    optimize(model(), verify=False).save(paths[2])
    changed = onnx.load(paths[2])
    changed.metadata_props.add(key="egraph_opt", value=json.dumps({EVIL: EVIL}))
    for node in changed.graph.node:
        for key in ("laws", "nodes", "cost"):
            node.metadata_props.add(key=f"egraph_opt.{key}", value=EVIL)
    onnx.save(changed, paths[2])
    return paths


def test_commands_print_no_name_raw(files: list[str]) -> None:
    a, b, out = files
    commands = [["diff", a, b], ["show", out], ["explain", a], ["explain", a, "--node", EVIL]]
    commands += [["explain", a, "--law", "elementwise.involution", "--at", EVIL], ["alternatives", a, EVIL]]
    commands += [[*command, "--json"] for command in commands[:3]]
    commands += [["optimize", a, out, "--verbose", "--no-verify"], ["optimize", a, out, "--report", "-"]]
    for command in commands:
        run = CliRunner().invoke(app, command)
        assert run.exit_code == 0, (command, run.output)
        assert not [raw for raw in RAW if raw in run.output], (command, run.output)
        if command[-1] in ("--json", "-"):
            assert json.loads(run.stdout)


def test_reports_and_pages_have_no_name_raw() -> None:
    result = optimize(model(), verify=False)
    before, after = ir.from_proto(model()), ir.from_proto(model("Atan"))
    for text in (result.report.to_html(), compared_page(EVIL, before, after), str(result.report)):
        assert not [raw for raw in RAW if raw in text]


def test_reasons_of_certificates_are_escaped() -> None:
    lines = CheckedCertificate(1, 1, {EVIL: 1}, 0, (), 0, 0, (EVIL,)).lines()
    assert not [raw for raw in RAW if raw in "\n".join(lines)]


def test_what_is_seen_stays_as_it_is() -> None:
    assert printable("é\n\x1b") == "é\\n\\x1b"
    assert printable_lines("a\tb\n\u202e") == "a\tb\n\\u202e"
    text = json.dumps({"a": "é\x9b\U000e0001\u202e"}, indent=2, ensure_ascii=False)
    shown = printable_json(text)
    assert json.loads(shown) == json.loads(text)
    assert "é" in shown
    assert not [c for c in shown if c != "\n" and not c.isprintable()]
