"""How far parameters may move before another graph is chosen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from egraph_opt import cost_model, saturate
from egraph_opt.cli import app
from egraph_opt.errors import UnknownParameterError
from egraph_opt.lab.sweep.sensitivity import NO_PRICE, SAME_GRAPH, Examination, midpoint, steps

from .small import write_example

RUNNER = CliRunner()

BODY = """
<ir_version: 8, opset_import: ["" : 17]>
branches (bool c, float[4, 8] x, float[4, 8] z) => (float[4, 8] y)
{
    y = If (c) <
        then_branch = one () => (float[4, 8] a) { n = Neg (z)  a = Add (x, n) },
        else_branch = two () => (float[4, 8] b) { b = Relu (x) }
    >
}
"""


def examined(folder: Path, *options: str) -> dict[str, Any]:
    write_example(folder)
    command = [
        "sensitivity",
        f"{folder}/small.onnx",
        "--cost",
        f"{folder}/costs.py:Trade",
        "--json",
        *options,
    ]
    result = RUNNER.invoke(app, command)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    return {entry["name"]: entry for entry in told["parameters"]} | {"": told}


def test_the_interval_ends_where_another_graph_is_cheaper(tmp_path: Path) -> None:
    found = examined(tmp_path)
    sub = found["sub_us"]
    assert 1.98 <= sub["high"] <= 2.0 < sub["above"]["at"] <= 2.02
    assert (sub["low"], sub["below"]) == (0.01, None)
    assert sub["above"]["operators"] == {"Add": 1, "Neg": 1, "Sub": -1}
    assert sub["above"]["laws"] == {"constants.difference_adds": -1}
    assert found["mode"]["others"][0]["at"] == "odd"
    assert found["mode"]["others"][0]["operators"] == {"Add": 1, "Neg": 1, "Sub": -1}


def test_what_changes_nothing_is_told_with_the_reason(tmp_path: Path) -> None:
    found = examined(tmp_path)
    reasons = {name: entry["reason"] for name, entry in found.items() if name and entry["reason"]}
    assert reasons == {
        "idle_us": NO_PRICE,
        "stride": SAME_GRAPH,
        "by_type.Neg": SAME_GRAPH,
        "by_type.Add": SAME_GRAPH,
        "named": "it is no number but a list",
    }


def test_entries_of_tables_and_other_starting_points(tmp_path: Path) -> None:
    found = examined(tmp_path, "--set", "sub_us=5.0", "--parameters", "by_type,sub_us")
    assert set(found) == {"", "sub_us", "by_type.Neg", "by_type.Add"}
    assert found["by_type.Add"]["above"]["at"] == pytest.approx(4.0, rel=0.011)  # Neg and Add are a Sub
    assert found["by_type.Neg"]["above"]["at"] == pytest.approx(1.02, rel=0.011)  # -z is z * -1
    assert found["by_type.Neg"]["above"]["operators"] == {"Mul": 1, "Neg": -1}
    assert found["sub_us"]["below"]["at"] == pytest.approx(2.0, rel=0.011)
    assert found["sub_us"]["above"] is None


def test_no_farther_than_asked_for(tmp_path: Path) -> None:
    found = examined(tmp_path, "--within", "1.5")
    assert found["sub_us"]["reason"] == SAME_GRAPH
    assert (found["sub_us"]["least"], found["sub_us"]["most"]) == pytest.approx((1 / 1.5, 1.5))


def test_limits_that_laws_look_at_are_examined_in_e_graphs_of_their_own(tmp_path: Path) -> None:
    write_example(tmp_path)
    asked = []

    def saturated(model: Any) -> Any:
        asked.append(dict(model.limits))
        return saturate(tmp_path / "small.onnx", target=model)

    (window,) = Examination(saturated, f"{tmp_path}/costs.py:Limited").report(("window",)).parameters
    assert window.reason == NO_PRICE
    assert asked == [{"pool_window": 8}, {"pool_window": 1}, {"pool_window": 64}]


def test_prices_of_bodies_are_seen(tmp_path: Path) -> None:
    import onnx
    from onnx import parser

    write_example(tmp_path)
    onnx.save(parser.parse_model(BODY), tmp_path / "branches.onnx")
    name = f"{tmp_path}/costs.py:Trade"
    examination = Examination(lambda model: saturate(tmp_path / "branches.onnx", target=model), name)
    sub, idle = examination.report(("sub_us", "idle_us")).parameters
    assert sub.above is not None
    assert sub.above.operators == {"Add": 1, "Neg": 1, "Sub": -1}
    assert idle.reason == NO_PRICE
    assert (
        examination.chosen.price == saturate(tmp_path / "branches.onnx").solve(cost_model(name)).solution.cost
    )


def test_steps_are_in_order_and_never_beyond_the_end() -> None:
    for value, end in ((3.0, 900.0), (3.0, 0.01), (3.0, 0.0), (0.0, 5.0), (-2.0, -90.0), (-2.0, 7.0)):
        found = list(steps(value, end))
        assert found == sorted(found, reverse=end < value)
        assert all(min(value, end) <= step <= max(value, end) for step in found)
    assert (midpoint(1.0, 9.0), midpoint(-1.0, -9.0), midpoint(0.0, 9.0)) == (3.0, -3.0, 4.5)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--parameters", "sub"], "did you mean 'sub_us'?"),
        (["--within", "0.5"], "must be above 1"),
        (["--extractor", "exat"], "did you mean 'exact'"),
        (["--set", "sub_us=-1"], "must be 0.01 to 100"),
    ],
)
def test_what_there_is_not_is_refused(tmp_path: Path, options: list[str], told: str) -> None:
    write_example(tmp_path)
    command = ["sensitivity", f"{tmp_path}/small.onnx", "--cost", f"{tmp_path}/costs.py:Trade", *options]
    result = RUNNER.invoke(app, command)
    assert result.exit_code == 2
    assert told in result.output


def test_an_unknown_parameter_is_an_error_in_python_too(tmp_path: Path) -> None:
    write_example(tmp_path)
    name = f"{tmp_path}/costs.py:Trade"
    examination = Examination(lambda model: saturate(tmp_path / "small.onnx", target=model), name)
    with pytest.raises(UnknownParameterError, match="by_type"):
        examination.report(("by_typ",))
