"""What ONNX Runtime's own optimisations get wrong is found, unless they get the original wrong as well."""

from __future__ import annotations

import onnx
import pytest

from egraph_opt import optimize
from egraph_opt.errors import VerificationError
from egraph_opt.verification import deployed, execution
from egraph_opt.verification.deployed import differences_as_deployed
from egraph_opt.verification.execution import ExecutionError, load
from egraph_opt.verification.verifier import verify

from ..knowledge_bases.graphs import parsed

OF_A_SLICE = parsed("""g (float[N, 1, L, 5] x) => (float[a, b, c, d] y)
<int64[1] zero = {0}, int64[1] axis = {1}>
{
    r = Relu (x)
    none = Slice (r, zero, zero, axis)
    s = Shape (none)
    e = Expand (r, s)
    y = Neg (e)
}""")
"""ONNX Runtime takes an Expand to a *constant* 0 for one that changes nothing; this one is computed."""

TO_NOTHING = parsed("""g (float[N, 1, L, 5] x) => (float[a, b, c, d] y)
<int64[4] s = {1, 0, 1, 5}>
{
    r = Relu (x)
    e = Expand (r, s)
    y = Neg (e)
}""")


def test_an_optimisation_that_is_wrong_on_the_result_alone_is_found() -> None:
    found = verify(OF_A_SLICE, TO_NOTHING)
    assert found.status == "failed"
    assert "with the optimisations of ONNX Runtime" in found.detail
    assert "shape was [2, 0, " in found.detail


@pytest.mark.parametrize(
    ("before", "after"),
    [(TO_NOTHING, TO_NOTHING), (TO_NOTHING, OF_A_SLICE), (OF_A_SLICE, OF_A_SLICE)],
    ids=["both", "the original", "none"],
)
def test_what_is_wrong_with_the_original_is_not_the_results_fault(
    before: onnx.ModelProto, after: onnx.ModelProto
) -> None:
    assert verify(before, after).status == "passed"


def test_a_model_that_does_not_load_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(execution.Session):
        def __init__(self, model: execution.RunnableModel, *, as_written: bool = True) -> None:
            super().__init__(model, as_written=as_written)
            if len(model.proto.graph.node) < len(OF_A_SLICE.graph.node):
                raise ExecutionError("no such pads")

    monkeypatch.setattr(deployed, "Session", Refusing)
    found = verify(OF_A_SLICE, TO_NOTHING)
    assert found.status == "failed"
    assert "take the original, but not the optimized model: no such pads" in found.detail
    assert verify(TO_NOTHING, TO_NOTHING).status == "passed"


def test_large_models_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployed, "MOST_BYTES", 10)
    models = load(OF_A_SLICE), load(TO_NOTHING)

    def never(session: execution.Session) -> list[execution.Value]:
        raise AssertionError(session)

    assert differences_as_deployed(*models, [], never, values=True) == []


def test_the_model_comes_back_unchanged_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def differs(*_: object, **__: object) -> list[deployed.Difference]:
        raise deployed.NotDeployableError("no such pads")

    monkeypatch.setattr("egraph_opt.verification.runs.differences_as_deployed", differs)
    model = parsed("""g (float[2, 3] x) => (float[2, 3] y)
{
    a = Relu (x)
    y = Relu (a)
}""")
    result = optimize(model)
    assert result.report.status == "fallback"
    assert result.model == model
    assert any("no such pads" in warning for warning in result.report.warnings)
    with pytest.raises(VerificationError, match="no such pads"):
        optimize(model, strict=True)
