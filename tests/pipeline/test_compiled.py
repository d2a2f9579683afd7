"""What a compiler gains by itself is worked out where it may gain anything, on what was read already."""

from __future__ import annotations

import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.egraph import saturation
from egraph_opt.pipeline import compiled

VIEWS = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 3, 4] x) => (float[2, 3, 4] y)
{
    t = Transpose <perm = [0, 2, 1]> (x)
    r = Sin (t)
    y = Transpose <perm = [0, 2, 1]> (r)
}"""

NORMALIZED = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 1, 4, 6] x) => (float[1, 1, 4, 6] y)
<float[1, 1, 1, 1] w = {2.0}, float[1] s = {3.0}, float[1] b = {1.0}, float[1] m = {0.5}, float[1] v = {1.0}>
{
    c = Conv (x, w)
    n = BatchNormalization (c, s, b, m, v)
    t = Transpose <perm = [0, 1, 3, 2]> (n)
    r = Sin (t)
    y = Transpose <perm = [0, 1, 3, 2]> (r)
}"""


@pytest.fixture
def saturations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each time that the compiler's laws are saturated by themselves; models are not read."""
    found: list[str] = []
    saturate = saturation.saturate_terms

    def counted(*args: object, **named: object) -> object:
        found.append("saturated")
        return saturate(*args, **named)  # type: ignore[arg-type]

    def never(*args: object) -> object:
        raise AssertionError("it was read before")

    monkeypatch.setattr(compiled, "saturate_terms", counted)
    monkeypatch.setattr(compiled, "read_model", never)
    return found


def test_a_graph_in_which_the_compiler_finds_nothing_is_saturated_once(saturations: list[str]) -> None:
    report = optimize(parser.parse_model(VIEWS), "ascend").report
    assert report.cost.after < report.cost.before
    assert not saturations


def test_what_the_compiler_gains_is_no_gain_of_ours(saturations: list[str]) -> None:
    report = optimize(parser.parse_model(NORMALIZED), "ascend").report
    assert saturations
    assert report.cost.before < report.cost.written
