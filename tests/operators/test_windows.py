"""Pooling windows: ONNX's ways to say pads are one term, and what no term says stays as it is."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

from egraph_opt import optimize
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import operator_named
from egraph_opt.operators.windows import PoolWindow
from egraph_opt.pipeline import saturate


def pooled(shape: str, node: str, opset: int = 19, outputs: str = "float y") -> onnx.ModelProto:
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[{shape}] x) => ({outputs}) {{ {node} }}'
    return parser.parse_model(text)


def lowered(model: onnx.ModelProto) -> Lowered:
    region = saturate(model, rewrites=[]).region
    assert region is not None
    return region.lowered


def windows(model: onnx.ModelProto) -> list[PoolWindow]:
    return [term.attributes[1] for term in lowered(model).terms if term.operator == "pool"]


@pytest.mark.parametrize(
    ("shape", "settings", "pads"),
    [
        ("1, 2, 7", "kernel_shape = [4], strides = [2], auto_pad = 'SAME_UPPER'", (1, 2)),
        ("1, 2, 7", "kernel_shape = [4], strides = [2], auto_pad = 'SAME_LOWER'", (2, 1)),
        ("1, 2, 6", "kernel_shape = [3], strides = [3], auto_pad = 'SAME_UPPER'", (0, 0)),
        ("1, 2, 7", "kernel_shape = [4], auto_pad = 'VALID'", (0, 0)),
        ("1, 2, 7", "kernel_shape = [4], auto_pad = 'NOTSET', pads = [1, 0]", (1, 0)),
        ("1, 2, 7", "kernel_shape = [4]", (0, 0)),
        ("1, 2, L", "kernel_shape = [4], auto_pad = 'SAME_UPPER'", (1, 2)),
        ("1, 2, 7, W", "kernel_shape = [3, 2], auto_pad = 'SAME_LOWER'", (1, 1, 1, 0)),
    ],
)
def test_automatic_pads_are_written_as_numbers(shape: str, settings: str, pads: tuple[int, ...]) -> None:
    model = pooled(shape, f"y = MaxPool <{settings.replace(chr(39), chr(34))}> (x)")
    (window,) = windows(model)
    assert window.pads == pads
    sizes = {"L": 9, "W": 5}
    result = optimize(
        model, cost="nodes", strict=True, assume={s: (n, n) for s, n in sizes.items() if s in shape}
    )
    assert result.report.verification.status == "passed"


@pytest.mark.parametrize(
    ("shape", "node", "outputs"),
    [
        (
            "1, 2, L",
            'y = MaxPool <kernel_shape = [4], strides = [2], auto_pad = "SAME_UPPER"> (x)',
            "float y",
        ),
        ("1, 2, 8", "y, i = MaxPool <kernel_shape = [4]> (x)", "float y, int64 i"),
        (
            "1, 2, 8",
            'y = MaxPool <kernel_shape = [3], strides = [2], ceil_mode = 1, auto_pad = "SAME_UPPER"> (x)',
            "float y",
        ),
    ],
    ids=["pads that depend on a symbol", "indices that are used", "both kinds of rounding"],
)
def test_a_pool_that_no_window_describes_stays_as_it_is(shape: str, node: str, outputs: str) -> None:
    graph = lowered(pooled(shape, node, outputs=outputs))
    assert [kept.op_type for kept in graph.kept] == ["MaxPool"]


def test_dilated_and_rounded_up_pools_are_written_where_the_opset_has_them() -> None:
    dilated = "y = MaxPool <kernel_shape = [3], dilations = [2], strides = [2], ceil_mode = 1> (x)"
    (window,) = windows(pooled("1, 2, 10", dilated))
    assert (window.dilations, window.ceil_mode) == ((2,), 1)
    result = optimize(pooled("1, 2, 10", dilated), cost="nodes", strict=True)
    (node,) = result.model.graph.node
    written = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    assert written["dilations"] == [2]
    assert written["ceil_mode"] == 1
    assert result.report.verification.status == "passed"


def test_an_average_of_dilated_windows_has_no_form_before_opset_19() -> None:
    window = PoolWindow((3,), (1,), (0, 0), (2,))
    form = operator_named("pool").form
    x = (Fact(1, (1, 2, 10)),)
    assert form is not None
    assert form(18, ("AveragePool", window), x) is None
    assert form(19, ("AveragePool", window), x) is not None
    assert form(9, ("MaxPool", window), x) is None
    rounded = PoolWindow((3,), (2,), (0, 0), (1,), ceil_mode=1)
    assert form(9, ("MaxPool", rounded), x) is None
    assert form(10, ("MaxPool", rounded), x) is not None


def test_pooling_with_automatic_pads_computes_what_onnx_says() -> None:
    model = pooled(
        "2, 3, 7, 5", 'y = AveragePool <kernel_shape = [3, 2], strides = [2, 3], auto_pad = "SAME_UPPER"> (x)'
    )
    result = optimize(model, cost="nodes", strict=True)

    x = np.random.default_rng(0).standard_normal((2, 3, 7, 5)).astype(np.float32)
    (before,), (after,) = (ReferenceEvaluator(m).run(None, {"x": x}) for m in (model, result.model))
    np.testing.assert_allclose(np.asarray(before), np.asarray(after), rtol=1e-6)
