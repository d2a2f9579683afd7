"""OpenVINO as a runtime: what it answers, what its profile says of a run, and what it decides."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, parser

from egraph_opt import optimize
from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.openvino import DISPATCH, OpenVino
from egraph_opt.errors import CostModelError, LimitsError, UnknownSettingError
from egraph_opt.facts.fact import Fact
from egraph_opt.graph.timed_runtime import Run
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
from egraph_opt.measurement.runtimes.openvino import OpenVinoRuntime, run_of
from egraph_opt.measurement.store import Store

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
example (float[N, 16, 24, 24] x) => (float[N, 16, 24, 24] y, float[N, 16] z)
<float[16, 16, 3, 3] w, float[16] b, float[16] scale, float[16] shift, float[16] mean, float[16] var>
{
    c = Conv <pads = [1, 1, 1, 1]> (x, w, b)
    n = BatchNormalization (c, scale, shift, mean, var)
    a = Relu (n)
    y = Relu (a)
    z = ReduceMean <axes = [2, 3], keepdims = 0> (y)
}
"""


@pytest.fixture(scope="module")
def model() -> onnx.ModelProto:
    made = parser.parse_model(MODEL)
    random = np.random.default_rng(0)
    for info in made.graph.value_info:
        shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        values = random.uniform(0.5, 1.5, shape).astype(np.float32)
        made.graph.initializer.append(onnx.numpy_helper.from_array(values, info.name))
    del made.graph.value_info[:]
    return made


@dataclass
class Node:
    node_type: str
    micros: int

    @property
    def exec_type(self) -> str:
        return "undef" if self.micros < 0 else "jit_avx2_f32"

    @property
    def real_time(self) -> timedelta:
        return timedelta(microseconds=self.micros)


def test_conversions_count_as_such_only_at_the_ends() -> None:
    names = ("Parameter", "Reorder", "Convolution", "Reorder", "Exp", "Relu", "Reorder", "Result")
    times = (0, 1, 2, 4, 8, -1, 32, 0)
    found = run_of([Node(name, micros) for name, micros in zip(names, times, strict=True)])
    assert found == Run(kernels=2 + 4 + 8, entering=1, leaving=32, count=3)
    assert run_of([Node("Reorder", 3)]) == Run(3, 0, 0, 1)
    assert run_of([]) == Run(0, 0, 0, 0)


def test_it_answers_as_onnxruntime_does(model: onnx.ModelProto) -> None:
    feeds = {"x": np.random.default_rng(0).standard_normal((2, 16, 24, 24)).astype(np.float32)}
    data = model.SerializeToString()
    expected = OrtRuntime().session(data).run(None, feeds)
    session = OpenVinoRuntime(precision="f32").session(data)
    for found, wanted in zip(session.run(None, feeds), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(session.run(["z"], feeds)[0], expected[1], rtol=1e-4, atol=1e-4)


def test_prices_are_times_of_its_own() -> None:
    shape = Fact(TensorProto.FLOAT, (1, 64, 56, 56))
    small = Fact(TensorProto.FLOAT, (1, 1, 8, 8))
    views = [NodeView("Exp", "", {}, (fact,), (fact,), opset=17) for fact in (shape, small)]
    prices = OpenVino(store=Store(None))
    prices.prepare(views, lambda done: None)
    large, little = map(prices.cost, views)
    assert large > 3 * little >= 3 * DISPATCH
    assert not prices.remarks(views)
    assert prices.place.runtime.startswith("openvino ")
    assert prices.place != OpenVino("2", store=Store(None)).place
    assert prices.place != OpenVino(precision="f32", store=Store(None)).place


def test_what_it_refuses_is_estimated_and_said() -> None:
    fact = Fact(TensorProto.FLOAT, (1, 8))
    strange = NodeView("Wobble", "some.domain", {}, (fact,), (fact,), opset=17)
    prices = OpenVino(store=Store(None))
    prices.prepare([strange], lambda done: None)
    assert 0 < prices.cost(strange) < 1e6
    assert list(prices.remarks([strange])) == ["1 of 1 prices are estimated, not measured: Wobble"]


def test_a_result_is_timed_in_it(model: onnx.ModelProto) -> None:
    result = optimize(model, cost=OpenVino(store=Store(None)))
    assert result.report.verification.status == "passed"
    latency = result.report.latency
    assert latency is not None
    assert (latency.runtime, latency.threads) == ("openvino", 1)
    assert latency.before > 0
    assert "openvino" in str(result.report)


def test_without_it_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(CostModelError, match=r"pip install 'egraph-opt\[openvino\]'"):
        OpenVino(store=Store(None))


def test_options_that_there_are_not_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownSettingError, match="did you mean 'bf16'"):
        OpenVino(precision="bf61")
    with pytest.raises(LimitsError, match="1 or more"):
        OpenVinoRuntime(0)
    with pytest.raises(Exception, match=r"no\.onnx"):
        OpenVinoRuntime().session(str(tmp_path / "no.onnx"))
