"""Files of laws: what they declare takes part; what is wrong with them is said with file and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from onnx import TensorProto, helper, parser
from typer.testing import CliRunner

from egraph_opt import optimize
from egraph_opt.check import check_law
from egraph_opt.cli import app
from egraph_opt.errors import (
    CostModelError,
    LawError,
    UnknownCostModelError,
    UnknownRulesetError,
    VerificationError,
)
from egraph_opt.laws.law import registered
from egraph_opt.laws.loading import load_laws
from egraph_opt.laws.selection import select

HEAD = """from egraph_opt.facts.fact import Fact
from egraph_opt.laws import *
from egraph_opt.operators import *
"""


HEADER = '<ir_version: 8, opset_import: ["" : 17]>'


def law_file(
    tmp_path: Path,
    body: str,
    *,
    parameters: str = "x: Tensor",
    above: str = "",
    options: str = "",
    numerics: str = "bitwise",
) -> Path:
    path = tmp_path / "laws.py"
    stated = numerics if "(" in numerics else repr(numerics)
    path.write_text(
        f"{HEAD}{above}\n@law('mine', numerics={stated}{options})\ndef mine({parameters}):\n"
        f"    '''A law'''\n    yield {body}\n",
        encoding="utf-8",
    )
    return path


def model(tmp_path: Path) -> Path:
    """Relu(x) - Cos(Neg(y))."""
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in ("x", "y", "z")]
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Neg", ["y"], ["b"]),
        helper.make_node("Cos", ["b"], ["c"]),
        helper.make_node("Sub", ["a", "c"], ["z"]),
    ]
    graph = helper.make_graph(nodes, "g", value[:2], value[2:])
    path = tmp_path / "model.onnx"
    path.write_bytes(
        helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
        ).SerializeToString()
    )
    return path


COSINE = {"body": "rewrite(unary('Cos', (), -x), unary('Cos', (), x), because='only with demand')"}


RELU = {"body": "rewrite(relu(relu(x)), relu(x), because='grows')"}


def test_a_law_in_a_file_takes_part(tmp_path: Path) -> None:
    source = model(tmp_path)
    assert optimize(source, "nodes").report.nodes.runtime_after == 4
    (found,) = load_laws(law_file(tmp_path, **COSINE))
    check_law(found, terms=16, conditions=False, neighbours=False)
    result = optimize(source, "nodes")
    assert result.report.nodes.runtime_after == 3
    assert "mine.mine" in {f"{r.ruleset}.{r.name}" for r in result.report.rewrites}


def test_the_command_line_loads_it(tmp_path: Path) -> None:
    laws, out = law_file(tmp_path, **COSINE), tmp_path / "out.onnx"
    run = CliRunner().invoke(
        app, ["optimize", "-v", str(model(tmp_path)), str(out), "--cost", "nodes", "--load", str(laws)]
    )
    assert run.exit_code == 0, run.output
    assert "mine" in run.output and out.exists()


def test_the_report_tells_of_a_law_that_only_saves_nodes(tmp_path: Path) -> None:
    whole = "unary('Ceil', (), unary('Abs', (), x))"
    load_laws(law_file(tmp_path, f"rewrite(unary('Abs', (), {whole}), {whole}, because='grows')"))
    graph = "g (float[2] x) => (float[2] z) { a = Abs (x) b = Ceil (a) c = Abs (b) z = Neg (c) }"
    report = optimize(parser.parse_model(HEADER + graph), "nodes").report
    assert report.nodes.runtime_after == 3
    assert re.search(r"^mine +mine +\d+ +1( +[\d.]+)?$", str(report), re.MULTILINE), str(report)


def test_a_law_that_made_two_values_of_the_model_one_is_used(tmp_path: Path) -> None:
    load_laws(law_file(tmp_path, "rewrite(unary('Exp', (), x), unary('Cosh', (), x), because='a lie')"))
    graph = """g (float[2] x) => (float[2] z) {
        a = Exp (x) b = Cosh (x) c = Erf (a) d = Sin (b) z = Sub (c, d)
    }"""
    report = optimize(parser.parse_model(HEADER + graph), "nodes", verify=False).report
    assert report.nodes.runtime_after == 4
    (row,) = (row for row in report.rewrites if row.ruleset == "mine")
    assert (row.matches, row.used) == (1, 1)


def test_the_report_tells_of_a_law_of_ones_own_that_never_matched(tmp_path: Path) -> None:
    load_laws(law_file(tmp_path, "rewrite(unary('Abs', (), relu(x)), relu(x), because='grows')"))
    report = optimize(model(tmp_path), "nodes").report
    assert re.search(r"^mine +mine +0 +0$", str(report), re.MULTILINE), str(report)


def test_a_law_that_changes_values_takes_part_where_it_is_named(tmp_path: Path) -> None:
    body = "rewrite(unary('Ceil', (), relu(x)), relu(x), because='forgets it')"
    (law,) = load_laws(law_file(tmp_path, body, numerics="approximate(1.0)"))
    assert (law.numerics, law.bound, law.exact) == ("approximate", 1.0, False)
    graph = "g (float[2] x) => (float[2] z) { a = Relu (x) b = Ceil (a) z = Neg (b) }"
    source = parser.parse_model(HEADER + graph)
    report = optimize(source, "nodes").report
    assert report.nodes.runtime_after == 3
    assert "mine.mine changes values, and takes part only where it is named" in report.warnings
    for names in (["default", "mine"], ["default", "mine.mine"]):
        report = optimize(source, "nodes", rewrites=names).report
        assert report.nodes.runtime_after == 2 and report.verification.status == "approximate"
    assert optimize(source, "nodes", rewrites=["-mine"]).report.warnings == ()


def test_rulesets_and_laws_are_left_out_by_name(tmp_path: Path) -> None:
    load_laws(law_file(tmp_path, **COSINE))
    keys = {law.key for law in select(None)}
    assert (
        keys - {law.key for law in select(["-mine", "-slice.compose"])}
        == {"mine.mine", "slice.compose"} & keys
    )
    assert keys - {law.key for law in select(["default", "-transpose"])} == {
        key for key in keys if key.startswith("transpose.")
    }
    assert {law.key for law in select(["mine.mine"])} == {"mine.mine"}
    with pytest.raises(UnknownRulesetError, match="transpose"):
        select(["-transpos"])


@pytest.mark.parametrize(
    ("settings", "line", "told"),
    [
        ({"body": "rewrite(transpos(x), x)"}, 8, "transpos.*is the operator 'transpose' meant"),
        ({"body": "rewrite(relu(x), y)", "parameters": "x: Tensor, y: Tensor"}, 8, "no pattern binds `y`"),
        ({"body": "rewrite(relu(x), x, limit('conv_kernl'))"}, 8, "conv_kernel"),
        ({"body": "rewrite(transpose(x, x), x)"}, 8, "is a Tensor, and not a Permutation"),
        (
            {"body": "rewrite(transpose(x, s), x)", "parameters": "x: Tensor, s: Slices"},
            8,
            "is a Slices, and not a Permutation",
        ),
        (
            {"body": "rewrite(relu(relu(x)), relu(x))"},
            8,
            r'mine: this rewrite does not say why it is not matched from the right: because=".*, or use eq',
        ),
        (
            {"body": "rule(eq(y, relu(x)), then=union(y, x))", "parameters": "x: Tensor, y: Tensor"},
            8,
            r"mine: this rule does not say why",
        ),
        ({"body": "rewrite(relu(relu(x)), relu(x), inverse='mien')"}, 8, "no law mien.*did you mean 'mine'"),
        ({"body": "equal(relu(x), x)"}, 8, "matches everything"),
        (
            {"body": "rewrite(relu(x), x, because='forgets x')", "parameters": "x: Tensor, y: Tensor"},
            5,
            "`y` is used nowhere",
        ),
        ({"body": "rewrite(relu(x), x)", "parameters": "x"}, 5, "x has no sort"),
        ({"body": "x + 2"}, 8, "write a number as a tensor"),
        ({"body": "(1, 2)"}, 8, "yields a tuple; a law yields its statements one by one"),
        ({"body": "rewrite(relu(x), x)", "above": "import missing_module"}, 4, "missing_module"),
        ({"body": "rewrite(relu(x), x)", "above": "1 / 0"}, 4, "ZeroDivisionError"),
        ({"body": "rewrite(relu(x), x"}, 8, "SyntaxError"),
        ({"body": "rewrite(trilu(x), x)"}, 8, "'trilu' is not defined; see `egraph-opt operators`"),
        ({"body": "rewrite(sigmoyd(x), x)"}, 8, "is 'sigmoid' meant"),
        ({**RELU, "parameters": "x: Tensr"}, 6, "is 'Tensor' meant"),
        (
            {**RELU, "above": "from egraph_opt.operators import trilu"},
            4,
            "'trilu'.*see `egraph-opt operators`",
        ),
        ({"body": "rewrite(relu(relu(x)), relu(x), x == 1)"}, 8, "comparison in Python.*write `eq`, or"),
        ({"body": "rewrite(relu(relu(x)), relu(x), x.rank > 1)"}, 8, "rank.*a function with @hosted"),
        ({"body": "rewrite(unary('Reluu', (), x), x)"}, 8, "Reluu.* in no model.* did you mean 'Relu'"),
        ({"body": "rewrite(unary('Trilu', (), x), x)"}, 8, "Trilu is lowered to an opaque one"),
        ({"body": "rewrite(unary('Softmax', (), x), x)"}, 8, "Softmax is lowered to `softmax`"),
        ({"body": "rewrite(unary('Transpose', (), x), x)"}, 8, "Transpose is lowered to another term"),
        (
            {"body": "rewrite(relu(x), unary('Elu', (), x))"},
            8,
            r"Elu has the settings \(alpha\), and not \(\)",
        ),
        ({"body": "rewrite(relu(x), unary('Clip', (('min', 0),), x))"}, 8, r"Clip has .* \(max, min\)"),
        ({"body": "rewrite(unary('Elu', 1.0, x), x)"}, 8, "1.0 is no Settings: that is a tuple of pairs"),
        ({**RELU, "numerics": "exact"}, 5, "numerics is 'exact', and not one of bitwise, finite, reass"),
        ({**RELU, "numerics": "approximate"}, 5, r"by how much: write numerics=approximate\(1e-2\)"),
        ({**RELU, "numerics": "approximate(-1)"}, 5, "is a positive number, and not -1"),
        ({**RELU, "numerics": "approximate('1%')"}, 5, "is a positive number, and not '1%'"),
        ({**RELU, "numerics": "approximate(1e-2, of='result')"}, 5, "one of value, operands, and not"),
        ({**RELU, "options": ", kind='eliminates'"}, 5, "kind is 'eliminates'.* did you mean 'eliminate'"),
        ({**RELU, "options": ", serves='speed'"}, 5, "serves is 'speed', and not one of arithmetic"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(
    tmp_path: Path, settings: dict[str, str], line: int, told: str
) -> None:
    path = law_file(tmp_path, **settings)
    before = dict(registered)
    with pytest.raises(LawError, match=told) as raised:
        load_laws(path)
    assert f"{path}:{line}" in str(raised.value)
    assert registered == before


def test_a_word_that_is_none_is_an_error_of_usage(tmp_path: Path) -> None:
    laws = law_file(tmp_path, "rewrite(relu(relu(x)), relu(x), because='grows')", numerics="exact")
    run = CliRunner().invoke(app, ["rules", "--load", str(laws)])
    assert run.exit_code == 2
    assert "numerics is 'exact'" in run.stderr and "Traceback" not in run.output


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    path = law_file(tmp_path, "rewrite(relu(x), x)")
    path.write_text(path.read_text() + path.read_text().removeprefix(HEAD))
    with pytest.raises(LawError, match=r"declared twice; first at .*laws\.py:5"):
        load_laws(path)


def test_a_law_that_returns_is_told_to_yield(tmp_path: Path) -> None:
    path = law_file(tmp_path, "rewrite(relu(relu(x)), relu(x))")
    path.write_text(path.read_text().replace("yield", "return"))
    with pytest.raises(LawError, match=r"laws\.py:5: mine: a law yields its statements"):
        load_laws(path)


def test_the_line_is_told_of_a_file_named_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    law_file(tmp_path, "rewrite(relu(x), x)", above="1 / 0")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LawError, match=r"^laws\.py:4: ZeroDivisionError"):
        load_laws("laws.py")


OWN = """@operator(form=lambda opset, attributes, facts: OnnxForm("Det", (0,)))
def det(x: Tensor) -> Tensor:
    'The determinant.'


@lowers("Det")
def _lower_det(node):
    return TermSpec("det", (), (0,))
"""


def test_an_operator_of_ones_own_is_declared_in_the_file_and_gone_where_that_fails(tmp_path: Path) -> None:
    with pytest.raises(LawError, match="no pattern binds"):
        load_laws(law_file(tmp_path, "rewrite(relu(x), y)", parameters="x: Tensor, y: Tensor", above=OWN))
    (found,) = load_laws(law_file(tmp_path, "rewrite(det(-(-x)), det(x), because='grows')", above=OWN))
    check_law(found, terms=16, conditions=False, neighbours=False)


def test_a_law_that_no_term_fits_needs_an_example(tmp_path: Path) -> None:
    never = "@hosted()\ndef never(x: Fact) -> bool:\n    return False"
    (found,) = load_laws(law_file(tmp_path, "rewrite(relu(x), x, never(x), because='odd')", above=never))
    with pytest.raises(LawError, match=r"laws\.py:\d+: mine\.mine: no term was found .* write an example"):
        check_law(found, terms=16, conditions=False, neighbours=False)
    run = CliRunner().invoke(
        app,
        ["optimize", str(model(tmp_path)), str(tmp_path / "out.onnx"), "--load", str(tmp_path / "laws.py")],
    )
    assert run.exit_code == 2
    assert "write an example" in " ".join(run.stderr.split()) and "Traceback" not in run.output


def test_a_file_that_is_not_there_or_declares_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LawError, match="cannot be read"):
        load_laws(tmp_path / "missing.py")
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(LawError, match="declares no law"):
        load_laws(tmp_path / "empty.py")


def test_a_cost_model_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "costs.py"
    path.write_text(
        "from egraph_opt import CostModel, NodeView\n\n\nclass Launches(CostModel):\n    '''One each.'''\n"
        "    name = 'launches'\n    unit = 'launches'\n\n    def cost(self, node: NodeView) -> float:\n"
        "        return 1.0\n"
    )
    result = optimize(model(tmp_path), cost=f"{path}:Launches")
    assert result.report.cost.unit == "launches"
    with pytest.raises(UnknownCostModelError, match="Launches"):
        optimize(model(tmp_path), cost=f"{path}:Lunches")
    with pytest.raises(CostModelError, match="cannot be read"):
        optimize(model(tmp_path), cost=f"{tmp_path / 'other.py'}:Launches")


def test_a_law_that_makes_outputs_wrong_is_named_and_left_out(tmp_path: Path) -> None:
    (wrong,) = load_laws(law_file(tmp_path, "rewrite(relu(x), x, because='wrong')"))
    result = optimize(model(tmp_path), "nodes")
    assert result.report.verification.status == "passed"
    (warning,) = (w for w in result.report.warnings if wrong.key in w)
    assert f"{tmp_path / 'laws.py'}:5" in warning and "makes the outputs wrong" in warning
    assert result.report.status != "fallback"


def test_a_strict_run_names_the_law_that_makes_outputs_wrong(tmp_path: Path) -> None:
    load_laws(law_file(tmp_path, "rewrite(relu(x), x, because='wrong')"))
    with pytest.raises(
        VerificationError, match=r"model\.onnx: .*laws\.py:5: law mine\.mine \(bitwise\) makes .* wrong"
    ):
        optimize(model(tmp_path), "nodes", strict=True)


def test_a_law_that_raises_is_named_and_left_out(tmp_path: Path) -> None:
    above = "@hosted()\ndef broken(x: Fact) -> bool:\n    raise KeyError('gone')"
    load_laws(law_file(tmp_path, "rewrite(relu(x), x, broken(x), because='wrong')", above=above))
    result = optimize(model(tmp_path), "nodes")
    (warning,) = (w for w in result.report.warnings if "mine.mine" in w)
    assert "left out" in warning and "KeyError" in warning and f"{tmp_path / 'laws.py'}:4" in warning
    assert result.report.verification.status == "passed"
