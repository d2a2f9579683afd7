"""The light models of onnx come back smaller, with the same interface and answers."""

from __future__ import annotations

import onnx
import pytest
from model_files import light_models

from egraph_opt import optimize
from egraph_opt.verification import verify
from tests.installed_models import installed

RECORDED: dict[str, tuple[int, int]] = {
    "light/light_densenet121.onnx": (668, 367),
    "light/light_inception_v1.onnx": (143, 113),
    "light/light_inception_v2.onnx": (371, 131),
    "light/light_resnet50.onnx": (176, 122),
    "light/light_shufflenet.onnx": (203, 153),
    "light/light_squeezenet.onnx": (66, 57),
}
"""Run-time nodes before, and the most that may be left.  onnx may come with another version of a model: then
the number before differs, and only the rest is tested."""

E_NODES = {"light/light_densenet121.onnx": 3370}
"""How far the e-graph of a model grows under the default rulesets; no law may double that."""

HEAVY = {f"light/light_{name}.onnx" for name in ("bvlc_alexnet", "vgg19", "zfnet512")}
"""Hundreds of megabytes of weights and few nodes: `make bench` verifies them."""


@pytest.mark.parametrize("name", sorted({*RECORDED, *light_models()} - HEAVY))
def test_a_model_comes_back_smaller_and_answers_as_before(name: str) -> None:
    path = installed(name)
    result = optimize(path, "nodes", verify=False)
    report = result.report
    assert report.status in ("optimized", "unchanged"), report.reason
    assert not [warning for warning in report.warnings if "left out" in warning]
    assert report.saturation.nodes < 40 * report.nodes.before
    original = onnx.load(path)
    assert list(result.model.graph.input) == list(original.graph.input)
    assert list(result.model.graph.output) == list(original.graph.output)
    before, most = RECORDED.get(name, (-1, 0))
    if report.nodes.runtime_before == before:
        assert report.nodes.runtime_after <= most
        assert name not in E_NODES or report.saturation.nodes < 2 * E_NODES[name], report.rulesets
    assert report.nodes.runtime_after <= report.nodes.runtime_before
    checked = verify(path, result.model, seeds=1)
    assert checked.status == "passed", checked.detail


@pytest.mark.parametrize(
    "name", ["magika/standard_v3_3.onnx", "rapidocr_onnxruntime/ch_ppocr_mobile_v2.0_cls_infer.onnx"]
)
def test_a_target_with_pseudo_operators_of_its_own_gets_what_its_opset_can_say(name: str) -> None:
    report = optimize(installed(name), "ascend", strict=True).report
    assert report.verification.status == "passed"
    assert report.cost.after < 0.97 * report.cost.before < 0.8 * report.cost.written
