"""Prices that are measured: what is timed, what is kept, what is estimated, and what they decide."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, parser

from egraph_opt import Limits, optimize
from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import measured as measured_runtime
from egraph_opt.cost_models.onnxruntime import OnnxRuntime
from egraph_opt.errors import LimitsError, UnknownSettingError
from egraph_opt.facts.fact import Fact
from egraph_opt.measurement.specimen import specimen_key
from egraph_opt.measurement.store import Store
from egraph_opt.measurement.timing import Answer, Measurement, Specimen

X = Fact(TensorProto.FLOAT, (1, 64, 56, 56))
BIG = NodeView("Exp", "", {}, (X,), (X,), opset=17)
SMALL = NodeView("Exp", "", {}, (Fact(TensorProto.FLOAT, (8,)),), (Fact(TensorProto.FLOAT, (8,)),), opset=17)


def model(store: Path | None = None, seconds: float = 20.0) -> OnnxRuntime:
    return OnnxRuntime(seconds=seconds, store=Store(store))


def ignore(done: float) -> None:
    pass


def test_prices_are_times() -> None:
    prices = model()
    prices.prepare([BIG, SMALL], ignore)
    assert prices.cost(BIG) > 5 * prices.cost(SMALL) > 0
    assert prices.cost(BIG) == prices.cost(BIG)


def test_what_was_measured_once_is_not_measured_again(tmp_path: Path) -> None:
    first = model(tmp_path / "m.sqlite")
    first.prepare([BIG, SMALL], ignore)
    later = model(tmp_path / "m.sqlite", seconds=0.0)
    later.prepare([BIG, SMALL], ignore)
    assert [later.cost(BIG), later.cost(SMALL)] == [first.cost(BIG), first.cost(SMALL)]
    assert not later.remarks([BIG, SMALL])


def test_what_was_not_measured_is_estimated_and_said() -> None:
    prices = model()
    prices.prepare([BIG], ignore)
    half = Fact(TensorProto.FLOAT, (1, 32, 56, 56))
    other = NodeView("Exp", "", {}, (half,), (half,), opset=17)
    assert 0.4 * prices.cost(BIG) < prices.cost(other) < 0.6 * prices.cost(BIG)
    assert list(prices.remarks([BIG, other])) == ["1 of 2 prices are estimated, not measured: Exp"]


def test_what_there_was_no_time_for_is_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An optimisation prepares prices for each of its choices, and may measure once."""
    asked: list[int] = []

    def first(specimens: list[Specimen], *arguments: Any) -> Iterator[dict[str, Answer]]:
        asked.append(len(specimens))
        yield {specimens[0].key: Measurement(1.0, 0.0, 0.0, 1, 0.0, 8)}

    monkeypatch.setattr(measured_runtime, "measured", first)
    model = OnnxRuntime(seconds=2.0, store=Store(None))
    x = Fact(TensorProto.FLOAT, (8,))
    views = [NodeView(name, "", {}, (x,), (x,), opset=17) for name in ("Relu", "Exp", "Tanh", "Sin")]
    for some in (views[:3], views[:3], views):
        model.prepare(some, lambda done: None)
    assert asked == [3, 1]


def test_an_operator_that_nobody_knows_has_a_price() -> None:
    strange = NodeView("Wobble", "some.domain", {}, (X,), (X,), opset=17)
    prices = model()
    prices.prepare([strange], ignore)
    assert 0 < prices.cost(strange) < 1e6
    assert prices.remarks([strange])


def test_threads_are_a_variant_with_times_of_their_own() -> None:
    two = OnnxRuntime("2", store=Store(None))
    assert two.name == "onnxruntime:2"
    assert two.runtime.threads == 2
    assert two.place != model().place
    assert "2" in OnnxRuntime.variants()


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"level": "bassic"}, UnknownSettingError, "did you mean 'basic'"),
        ({"provider": "CPUExecutionProvidor"}, UnknownSettingError, "did you mean 'CPUExecutionProvider'"),
        ({"variant": "0"}, LimitsError, "threads=0"),
        ({"seconds": -1.0}, LimitsError, "seconds=-1.0"),
        ({"seconds": float("nan")}, LimitsError, "seconds=nan"),
    ],
)
def test_a_setting_that_the_runtime_does_not_have_is_refused(
    arguments: dict[str, Any], error: type[Exception], said: str
) -> None:
    """The runtime itself would take another provider, and say nothing that a program can see."""
    with pytest.raises(error, match=said):
        OnnxRuntime(store=Store(None), **arguments)


def test_a_view_costs_next_to_nothing_and_is_not_measured() -> None:
    """Within a model it copies nothing; alone it would."""
    prices, flat = model(), Fact(TensorProto.FLOAT, (64, 56 * 56))
    dims = Fact(TensorProto.INT64, (2,), const=True, value=(64, 3136), data=(64, 3136))
    view = NodeView("Reshape", "", {}, (X, dims), (flat,), opset=17)
    prices.prepare([view], ignore)
    assert 0 < prices.cost(view) < 1
    assert not prices.remarks([view])


def norms(rank: int) -> tuple[NodeView, NodeView]:
    """A normalisation of rows, and that of a sum of them in one kernel."""
    rows = Fact(TensorProto.FLOAT, (1,) * (rank - 2) + (128, 256))
    scale = Fact(TensorProto.FLOAT, (256,), const=True)
    settings = {"axis": -1, "epsilon": 1e-5}
    norm = NodeView("LayerNormalization", "", settings, (rows, scale, scale), (rows,), opset=17)
    inputs, settings = (rows, rows, scale, scale), {"epsilon": 1e-5}
    return norm, NodeView("SkipLayerNormalization", "com.microsoft", settings, inputs, (rows,), opset=17)


@pytest.mark.parametrize(("micros", "slower"), [(100.0, True), (12.0, False)])
def test_what_a_fusion_would_make_slower_is_priced_above_views_that_prevent_it(
    micros: float, slower: bool
) -> None:
    prices = model(seconds=0.0)
    (norm, fused), (apart, _) = norms(3), norms(4)
    times = ((norm, 10.0), (fused, micros), (apart, 10.0))
    prices.store.add(prices.place, {specimen_key(v): Measurement(t, 0.0, 0.0, 1, 0.0, 8) for v, t in times})
    view = NodeView("Unsqueeze", "", {}, norm.outputs, apart.outputs, opset=17)
    spelled_apart = prices.cost(apart) * (1 + prices.margin) + 2 * prices.cost(view)
    assert (spelled_apart < prices.cost(norm)) == slower


CHAIN = """
<ir_version: 8, opset_import: ["" : 17]>
chain (float[1,16,24,24] x) => (float[1,16,24,24] y)
<float[16,16,3,3] w>
{
    a = Conv <pads = [1, 1, 1, 1]> (x, w)
    y = Relu (a)
}
"""


def chain() -> onnx.ModelProto:
    proto = parser.parse_model(CHAIN)
    weight = np.random.default_rng(0).standard_normal((16, 16, 3, 3)).astype(np.float32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    return proto


@pytest.mark.usefixtures("steady_clock")
def test_what_the_runtime_fuses_costs_the_original_less() -> None:
    """Conv and Relu are one kernel there: the pair is cheaper than both, for the original as well."""
    prices = model()
    report = optimize(chain(), cost=prices, measure=False).report
    x = Fact(TensorProto.FLOAT, (1, 16, 24, 24))
    weight = Fact(TensorProto.FLOAT, (16, 16, 3, 3), const=True)
    conv = NodeView("Conv", "", {"pads": (1, 1, 1, 1)}, (x, weight), (x,), opset=17)
    relu = NodeView("Relu", "", {}, (x,), (x,), opset=17)
    prices.prepare([conv, relu], ignore)
    assert report.cost.before < prices.cost(conv) + prices.cost(relu)
    assert report.cost.after <= report.cost.before * (1 + 1e-9)
    assert report.verification.status == "passed"


@pytest.mark.parametrize(("level", "kernels"), [("disable", 2), ("basic", 2), ("extended", 1)])
def test_less_of_the_runtimes_own_optimisations_is_measured_as_such(level: str, kernels: int) -> None:
    prices = OnnxRuntime(store=Store(None), level=level)
    optimize(chain(), cost=prices, measure=False)
    known = prices.store.known(prices.place)
    pairs = [known[key] for key in known if '"Conv"' in key and '"Relu"' in key]
    assert {pair.kernels for pair in pairs if isinstance(pair, Measurement)} == {kernels}
    assert prices.place != model().place


SLOPES = """
<ir_version: 8, opset_import: ["" : 17]>
slopes (float[1,32,64,64] x) => (float[1,32,64,64] y)
<float[1] s = {0.25}>
{
    y = PRelu (x, s)
}
"""


def test_a_faster_spelling_is_found_and_confirmed_by_the_clock() -> None:
    result = optimize(parser.parse_model(SLOPES), cost=model())
    assert [node.op_type for node in result.model.graph.node] == ["LeakyRelu"]
    assert result.report.latency is not None
    assert result.report.latency.speedup > 1.5
    assert "times as fast" in str(result.report)


@pytest.mark.parametrize("seconds", [0.0, 1e-9])
def test_without_time_to_measure_the_model_still_comes_back(seconds: float) -> None:
    result = optimize(chain(), cost=model(seconds=seconds), limits=Limits(), measure=False)
    assert result.report.verification.status == "passed"
    assert any("estimated" in warning for warning in result.report.warnings)
