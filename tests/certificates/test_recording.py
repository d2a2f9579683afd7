"""What laws match is noted where that is asked for, and nothing else changes by it."""

from __future__ import annotations

import pytest
from onnx import parser

from egraph_opt import saturate
from egraph_opt.laws.demand import rules_of_growth
from egraph_opt.laws.law import registered
from egraph_opt.laws.selection import all_laws
from tests.certificates.made_certificates import HEAD, MODELS


@pytest.mark.parametrize("name", MODELS)
def test_an_e_graph_is_the_same_whether_it_is_recorded_or_not(name: str) -> None:
    model = parser.parse_model(HEAD + MODELS[name])
    plain, recorded = saturate(model).region, saturate(model, record=True).region
    assert plain is not None
    assert recorded is not None
    assert plain.saturation.record is None
    assert recorded.snapshot.operator == plain.snapshot.operator
    assert recorded.snapshot.node_class.tolist() == plain.snapshot.node_class.tolist()
    assert recorded.saturation.matches == plain.saturation.matches


def test_a_row_has_what_variables_were() -> None:
    region = saturate(parser.parse_model(HEAD + MODELS["reshapes"]), record=True).region
    assert region is not None
    record = region.saturation.record
    assert record is not None
    columns = dict(record.columns["reshape.compose_reshapes#0"])
    assert columns == {"a": "object", "b": "object", "whole__": "tensor", "x": "tensor"}
    names = list(columns)
    rows = [dict(zip(names, row, strict=True)) for row in record.matches["reshape.compose_reshapes#0"]]
    assert {(row["a"], row["b"]) for row in rows} >= {((6, 4), (24,))}


def test_tables_that_only_serve_growth_are_not_recorded() -> None:
    left_out = rules_of_growth(all_laws())
    assert "egraph_opt.rewrites.conditions.chains.standing#0" in left_out
    shorthand = "egraph_opt.rewrites.conditions.operands.either_side#0"
    assert shorthand not in left_out
    pieces = rules_of_growth((registered["split.outputs"],))
    assert not pieces, "the parts of a Split are what the law says them to be"


def test_a_saturation_that_was_recorded_can_be_kept_in_a_file(tmp_path) -> None:
    saturated = saturate(parser.parse_model(HEAD + MODELS["reshapes"]), record=True)
    saturated.save(tmp_path / "kept.npz")
    region = type(saturated).load(tmp_path / "kept.npz").region
    assert region is not None
    assert region.saturation.record is None
