"""Knowledge base 8, ResizeModeToNearest: an opt-in rewrite that changes values, and says so."""

import json

import numpy as np
import onnx
import pytest

from egraph_opt import optimize
from egraph_opt.pipeline import Result

from .graphs import Graph, check_untouched, parsed
from .test_type_cast import run

OPSETS = (11, 13, 14, 17, 18, 19, 26)
ASKED = ["default", "approximate"]


def resized(
    opset: int = 17, *, by: str = "scales", dims=("N", 3, 6, 5), factor=2, **attributes
) -> onnx.ModelProto:
    """Relu, Resize, Sigmoid: the Resize reads and makes inner values."""
    g = Graph(x=list(dims))
    y = g.add("Relu", "x")
    spatial = len(dims) - 2
    if by == "scales":
        scales = g.constant([1.0, 1.0] + [float(factor)] * spatial)
        roi = "" if opset > 11 else g.constant(np.zeros(0, np.float32))
        y = g.add("Resize", y, roi, scales, **attributes)
    else:
        sizes = g.constant([d if k < 2 else factor * d for k, d in enumerate(dims)])
        y = g.add("Resize", y, "", "", sizes, **attributes)
    return g.model(g.add("Sigmoid", y), opset=opset)


def asked(model: onnx.ModelProto, cost: str = "ascend", **options) -> Result:
    return optimize(model, cost, rewrites=ASKED, strict=True, **options)


def resize_of(model: onnx.ModelProto) -> tuple[onnx.NodeProto, dict]:
    (node,) = [node for node in model.graph.node if node.op_type == "Resize"]
    return node, {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("opset", OPSETS)
def test_interpolation_becomes_the_nearest_element_on_every_opset(opset: int, mode: str) -> None:
    result = asked(resized(opset, mode=mode))
    _, attributes = resize_of(result.model)
    assert attributes["mode"] == b"nearest"
    # Twice as large by half pixels: every element twice.
    x = np.random.default_rng(0).standard_normal((2, 3, 6, 5)).astype(np.float32)
    (y,) = run(result.model, x=x)
    expected = 1 / (1 + np.exp(-np.maximum(x, 0).repeat(2, axis=2).repeat(2, axis=3)))
    np.testing.assert_allclose(y, expected, rtol=1e-6)


@pytest.mark.parametrize("by", ["scales", "sizes"])
@pytest.mark.parametrize("dims", [(2, 3, 8), (2, 3, 8, 5), (1, 2, 4, 5, 6)])
def test_of_every_rank_and_way_to_say_how_large(by: str, dims) -> None:
    model = resized(by=by, dims=dims, mode="linear")
    result = asked(model, "flops")
    assert resize_of(result.model)[1]["mode"] == b"nearest"
    kept, written = resize_of(model)[0], resize_of(result.model)[0]
    assert [bool(name) for name in written.input] == [bool(name) for name in kept.input]


@pytest.mark.parametrize(
    "where", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"]
)
def test_where_elements_lie_stays_as_it_was(where: str) -> None:
    settings = {"mode": "linear", "coordinate_transformation_mode": where}
    result = asked(resized(19, by="sizes", dims=(1, 3, 6, 5), **settings))
    assert resize_of(result.model)[1]["coordinate_transformation_mode"] == where.encode()


def test_attributes_of_interpolation_are_left_out_and_others_are_kept() -> None:
    g = Graph(x=[1, 3, 8, 6])
    scales = g.constant([0.5, 0.5])
    cubic = {"mode": "cubic", "antialias": 1, "cubic_coeff_a": -0.5, "exclude_outside": 1}
    y = g.add("Resize", "x", "", scales, axes=[2, 3], **cubic)
    result = asked(g.model(y, opset=18), "flops")
    _, attributes = resize_of(result.model)
    assert attributes["mode"] == b"nearest" and list(attributes["axes"]) == [2, 3]
    assert not attributes.keys() & {"antialias", "cubic_coeff_a", "exclude_outside", "extrapolation_value"}
    onnx.checker.check_model(result.model, full_check=True)


def test_the_first_resize_of_onnx() -> None:
    """Opset 10 has scales and a mode, nothing else."""
    model = parsed(
        """g (float[N,2,4,4] x) => (float[N,2,8,8] y) <float[4] s = {1.0, 1.0, 2.0, 2.0}>
           { y = Resize <mode = "linear"> (x, s) }""",
        opset=10,
    )
    result = asked(model, "flops")
    node, attributes = resize_of(result.model)
    assert attributes == {"mode": b"nearest"} and len(node.input) == 2
    x = np.random.default_rng(0).standard_normal((2, 2, 4, 4)).astype(np.float32)
    np.testing.assert_array_equal(run(result.model, x=x)[0], x.repeat(2, axis=2).repeat(2, axis=3))


def test_a_second_optimisation_changes_nothing() -> None:
    first = asked(resized(mode="linear"))
    again = asked(first.model)
    assert again.report.status == "unchanged"
    assert again.report.verification.status == "passed"
    assert again.model == first.model


def test_a_resize_that_is_used_twice_and_is_an_output() -> None:
    g = Graph(x=["N", 2, 4, 4])
    y = g.add("Resize", "x", "", g.constant([1.0, 1.0, 2.0, 2.0]), mode="linear")
    result = asked(g.model(y, g.add("Mul", y, g.add("Relu", y))))
    assert resize_of(result.model)[1]["mode"] == b"nearest"
    assert [v.name for v in result.model.graph.output] == [y, "v2_0"]


@pytest.mark.parametrize("cost", ["ascend", "nodes", "flops"])
def test_it_does_not_happen_by_itself(cost: str) -> None:
    check_untouched(resized(mode="linear"), cost)


def test_who_counts_nodes_gains_nothing_by_it() -> None:
    result = asked(resized(mode="linear"), "nodes")
    assert resize_of(result.model)[1]["mode"] == b"linear"
    assert result.report.verification.status == "passed"


def test_what_is_nearest_or_crops_stays() -> None:
    result = asked(resized(mode="nearest", nearest_mode="floor"))
    assert resize_of(result.model)[1]["nearest_mode"] == b"floor"
    assert result.report.verification.status == "passed"
    g = Graph(x=[1, 2, 4, 4])
    roi = g.constant([0.0, 0.0, 0.25, 0.25, 1.0, 1.0, 0.75, 0.75])
    scales = g.constant([1.0, 1.0, 2.0, 2.0])
    cropping = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    result = asked(g.model(g.add("Resize", "x", roi, scales, **cropping)), "flops")
    assert resize_of(result.model)[1]["mode"] == b"linear"


def test_the_report_says_what_was_done_and_how_far_values_are_off() -> None:
    result = asked(resized(mode="linear"))
    report = result.report
    assert report.status == "optimized"
    assert report.verification.status == "approximate"
    assert report.verification.max_abs_error > 0.01
    matches = {(law.ruleset, law.name): law.matches for law in report.rewrites}
    assert matches["approximate", "resize_to_nearest"] == 1
    assert report.exactness.matched["approximate"] == 1
    (warning,) = (w for w in report.warnings if "approximate.resize_to_nearest" in w)
    assert "values differ" in warning
    assert json.loads(json.dumps(report.to_dict()))["verification"]["status"] == "approximate"
    assert "approximate" in str(report)


def test_the_error_is_that_of_the_two_modes() -> None:
    model = resized(dims=(1, 3, 6, 5), mode="linear")
    result = asked(model)
    x = np.random.default_rng(1).standard_normal((1, 3, 6, 5)).astype(np.float32)
    (linear,), (nearest,) = run(model, x=x), run(result.model, x=x)
    assert 0.01 < np.abs(linear - nearest).max() < 1
    assert linear.dtype == nearest.dtype == np.float32
