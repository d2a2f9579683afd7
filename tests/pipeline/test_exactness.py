"""What a result keeps under each exactness, on NaN, infinities, zeros and numbers of all sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

from egraph_opt import Limits, Saturated, cost_model, optimize, saturate
from egraph_opt.cost.registry import cost_models
from egraph_opt.errors import ArgumentError, ExactnessError
from egraph_opt.laws.proved import was_proved

SPECIAL = np.array(
    [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.3,
        -0.7,
        100.0,
        1e-40,
        -1e-40,
        3.4e38,
        -3.4e38,
        1e30,
        7.3,
    ],
    np.float32,
)

MODELS = {
    "twice halved": "a = Mul (x, two) y = Mul (a, half)",
    "plus zero": "y = Add (x, zero)",
    "minus zero": "y = Sub (x, zero)",
    "times one": "y = Mul (one, x)",
    "root": "y = Pow (x, half)",
    "square": "y = Pow (x, two)",
    "inverse": "a = Pow (x, minus) y = Neg (a)",
    "third": "y = Div (x, three)",
    "bound": "y = Max (x, zero)",
    "bounds": "a = Clip (x, minus, infinity) y = Clip (a, zero, infinity)",
    "bound of Relu": "a = Relu (x) y = Clip (a, minus, infinity)",
    "softplus": "a = Exp (x) b = Add (a, one) y = Log (b)",
    "factors": "a = Mul (x, z) b = Mul (x, x) y = Add (a, b)",
    "decided": "c = IsNaN (one) a = Neg (x) y = Where (c, a, x)",
    "sums": "a = Add (x, three) b = Add (a, half) y = Add (b, z)",
    "gelu": "a = Mul (x, half) b = Erf (a) c = Add (b, one) d = Mul (x, c) y = Mul (d, half)",
    "images": "a = Transpose (m) b = Relu (a) c = Transpose (b) d = Add (c, zero) y = Reshape (d, flat)",
}
NUMBERS = {"zero": 0, "one": 1, "two": 2, "three": 3, "half": 0.5, "minus": -1, "infinity": "inf"}
DECLARED = ", ".join(f"float {name} = {{{value}}}" for name, value in NUMBERS.items() if value != "inf")


def model_of(body: str) -> onnx.ModelProto:
    head = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[16] x, float[16] z, float[4,4] m) => (float[16] y)'
    )
    model = parser.parse_model(f"{head} <{DECLARED}, int64[1] flat = {{16}}> {{ {body} }}")
    infinity = onnx.numpy_helper.from_array(np.array(np.inf, np.float32), "infinity")
    model.graph.initializer.append(infinity)
    return model


def answer(model: onnx.ModelProto) -> Any:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    feeds = {"x": SPECIAL, "z": SPECIAL[::-1].copy(), "m": SPECIAL.reshape(4, 4)}
    return session.run(None, {entry.name: feeds[entry.name] for entry in session.get_inputs()})[0]


def same_bits(a: Any, b: Any) -> Any:
    return (np.isnan(a) & np.isnan(b)) | (a.view(np.int32) == b.view(np.int32))


@pytest.mark.parametrize("name", MODELS)
def test_bitwise_keeps_every_bit(name: str) -> None:
    model = model_of(MODELS[name])
    result = optimize(model, "nodes", exactness="bitwise", strict=True)
    assert same_bits(answer(model), answer(result.model)).all()
    report = result.report.exactness
    assert report.asked == "bitwise" and {*report.used, *report.matched} <= {"bitwise"}


@pytest.mark.parametrize("name", MODELS)
def test_finite_keeps_every_element_up_to_rounding_where_all_is_finite(name: str) -> None:
    model = model_of(MODELS[name])
    result = optimize(model, "nodes", exactness="finite", strict=True)
    before, after = answer(model), answer(result.model)
    sound = np.isfinite(before) & np.isfinite(SPECIAL) & np.isfinite(SPECIAL[::-1])
    assert np.isfinite(after[sound]).all()
    np.testing.assert_allclose(after[sound], before[sound], rtol=1e-6, atol=1e-37)
    assert set(result.report.exactness.matched) <= {"bitwise", "finite"}


def nodes_under(body: str) -> list[int]:
    """Run-time nodes by exactness, the strictest first."""
    model = model_of(body)
    found = [optimize(model, "nodes", exactness=e) for e in ("bitwise", "finite", "real")]
    return [result.report.nodes.runtime_after for result in found]


def test_an_exactness_costs_what_its_laws_would_save() -> None:
    assert nodes_under("a = Mul (one, x) b = Sub (a, zero) y = Exp (b)") == [1, 1, 1]
    assert nodes_under("a = Exp (x) y = Add (a, zero)") == [2, 1, 1]
    assert nodes_under("a = Mul (x, two) b = Exp (x) c = Mul (a, half) y = Mul (b, c)") == [4, 4, 2]
    assert nodes_under(MODELS["softplus"]) == [3, 3, 1]


def test_the_report_names_the_classes_that_were_used() -> None:
    report = optimize(model_of(MODELS["softplus"]), "nodes").report
    assert report.exactness.asked == "real" and report.exactness.used == {"reassociates": 1}
    assert report.to_dict()["exactness"]["used"] == {"reassociates": 1}
    assert "laws used: 1 reassociates" in str(report)


def test_only_proved_laws_are_used_where_that_is_asked_for() -> None:
    model = model_of("a = Relu (x) b = Relu (a) y = Exp (b)")
    result = optimize(model, "nodes", laws="proved")
    assert result.report.nodes.runtime_after == 2
    matched = [f"{row.ruleset}.{row.name}" for row in result.report.rewrites]
    assert matched and all(map(was_proved, matched))
    assert result.report.exactness.proved == sum(result.report.exactness.used.values()) > 0
    assert "1 proved" in str(result.report)
    with pytest.raises(ArgumentError, match="laws='some'"):
        optimize(model, "nodes", laws="some")  # type: ignore[arg-type]


@pytest.mark.parametrize("cost", sorted(cost_models()))
def test_every_cost_model_prices_what_is_bitwise(cost: str) -> None:
    """Laws of its own rulesets that are left out are not missed."""
    saturated = saturate(
        model_of(MODELS["images"]), target=cost, exactness="bitwise", limits=Limits(seconds=20)
    )
    assert saturated.mismatch(cost) == ""
    assert saturate(model_of(MODELS["images"]), rewrites=[]).mismatch("nodes") == ""


def test_a_saturated_model_that_is_kept_knows_what_it_has_to_keep(tmp_path: Path) -> None:
    saturated = saturate(model_of(MODELS["softplus"]), target="nodes", exactness="bitwise")
    again = Saturated.load(saturated.save(tmp_path / "model.npz"))
    assert again.saturated_for == saturated.saturated_for
    assert again.extract(cost_model("nodes")).report.exactness.asked == "bitwise"


def test_an_exactness_that_is_none_is_refused_before_the_model_is_read() -> None:
    with pytest.raises(ExactnessError, match="exactness is 'exact', and not one of bitwise, finite, real"):
        saturate("no such model.onnx", exactness="exact")  # type: ignore[arg-type]
