"""Reports conform to the schema that is published, which follows from their types."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from onnx import parser

from egraph_opt import Limits, optimize
from egraph_opt.report.schema import schema

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "pages" / "report.schema.json"

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 4, N] x) => (float[1, 4, N] y) {
        a = Transpose <perm = [0, 2, 1]> (x)
        b = Relu (a)
        y = Transpose <perm = [0, 2, 1]> (b)
    }"""


def test_what_is_published_is_what_the_types_say() -> None:
    command = "python -m egraph_opt.report.schema > docs/pages/report.schema.json"
    assert json.loads(PUBLISHED.read_text()) == schema(), f"renew it: {command}"


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_reports_conform(cost: str) -> None:
    model = parser.parse_model(MODEL)
    reports = [optimize(model, cost).report, optimize(model, cost, limits=Limits(seconds=0)).report]
    for report in reports:
        said = json.loads(json.dumps(report.to_dict(), allow_nan=False))
        jsonschema.validate(said, schema(), cls=jsonschema.Draft202012Validator)
        assert said["made"]["cost"] == cost and said["made"]["version"]
        assert len(said["made"]["input_sha256"]) == 64


def test_a_report_without_a_field_or_with_another_type_does_not_conform() -> None:
    said = optimize(parser.parse_model(MODEL)).report.to_dict()
    broken: list[dict[str, object]] = [{"status": None}, {"nodes": {}}, {"warnings": "none"}, {"made": []}]
    for wrong in broken:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**said, **wrong}, schema())
