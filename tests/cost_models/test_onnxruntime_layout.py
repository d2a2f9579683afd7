"""The blocked layout: who pays for conversions, and that measuring says where there are any."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import optimize
from egraph_opt.cost.model import NodeView, Parts
from egraph_opt.cost_models.onnxruntime import OnnxRuntime
from egraph_opt.cost_models.onnxruntime_layout import BLOCK, DISPATCH, LEAST, measured_as, price
from egraph_opt.facts.fact import Fact
from egraph_opt.measurement.store import Store
from egraph_opt.measurement.timing import Measurement
from egraph_opt.operators.declaration import PSEUDO_DOMAIN
from egraph_opt.pipeline.stages import saturate

IMAGE = Fact(TensorProto.FLOAT, (1, 24, 8, 8))


def conversion(op_type: str, image: Fact = IMAGE) -> NodeView:
    settings = MappingProxyType({"layout": "NCHWc"})
    return NodeView(op_type, PSEUDO_DOMAIN, settings, (image,), (image,), opset=17)


def laid(op_type: str, kernel: str, *, enters: bool = True) -> NodeView:
    own = NodeView(op_type, "", MappingProxyType({}), (IMAGE,), (IMAGE,), opset=17)
    settings = MappingProxyType({"layout": "NCHWc", "kernel": kernel, "enters": int(enters)})
    parts = Parts((IMAGE,), (own,), ((0,),))
    return NodeView("Laid", PSEUDO_DOMAIN, settings, (IMAGE,), (IMAGE,), opset=17, parts=parts)


def test_a_conversion_is_timed_around_a_pool_of_whole_blocks() -> None:
    pool = measured_as(conversion("ToLayout"))
    assert pool.op_type == "MaxPool"
    assert pool.inputs[0] is not None and pool.inputs[0].shape == (1, 2 * BLOCK, 8, 8)
    times = Measurement(3.0, 5.0, 7.0, 1, 0.0, 8)
    prices = [price(conversion(way), lambda view: times) for way in ("ToLayout", "FromLayout")]
    assert prices == [DISPATCH + 5.0, DISPATCH + 7.0]


@pytest.mark.parametrize(
    ("entering", "leaving", "enters", "finite"),
    [
        (5.0, 7.0, True, True),
        (0.0, 7.0, False, True),
        (5.0, 7.0, False, False),
        (0.0, 7.0, True, False),
        (5.0, 0.0, True, False),
        (0.0, 0.0, False, False),
    ],
)
def test_a_kernel_is_in_the_layout_where_the_runtime_was_seen_to_convert(
    entering: float, leaving: float, enters: bool, finite: bool
) -> None:
    times = Measurement(3.0, entering, leaving, 1, 0.0, 8)
    found = price(laid("MaxPool", "pool", enters=enters), lambda view: times)
    assert found == (3.0 + DISPATCH if finite else math.inf)


def test_an_elementwise_operator_takes_what_is_in_the_layout_already() -> None:
    times = Measurement(3.0, 0.0, 0.0, 1, 0.0, 8)
    assert price(laid("Relu", "unary"), lambda view: times) == 3.0 + DISPATCH


@pytest.mark.parametrize("view", [conversion("ToLayout"), laid("MaxPool", "pool"), laid("Relu", "unary")])
def test_what_was_not_measured_is_not_in_a_layout(view: NodeView) -> None:
    assert price(view, lambda wanted: None) == math.inf


def chain(channels: int, *between: str) -> onnx.ModelProto:
    """Two convolutions with element-wise operators between them."""
    random = np.random.default_rng(0)
    nodes, value = [], "x"
    for number, op_type in enumerate(("Conv", *between, "Conv")):
        inputs = [value, "w"] if op_type == "Conv" else [value]
        settings: dict[str, Any] = {"pads": [1, 1, 1, 1]} if op_type == "Conv" else {}
        value = f"v{number}"
        nodes.append(helper.make_node(op_type, inputs, [value], **settings))
    shape = (1, channels, 20, 20)
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(random.standard_normal((channels, channels, 3, 3)).astype("f"), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def chosen(proto: onnx.ModelProto) -> list[str]:
    """What is chosen of the layout, by the runtime's own measurements on this machine."""
    model = OnnxRuntime(store=Store(None), seconds=30.0)
    found = saturate(proto, target=model).solve(model)
    nodes = found.choice.node
    snapshot = found.choice.snapshot
    return [snapshot.operator[k] for k in nodes.tolist() if k >= 0]


def converts() -> bool:
    """Whether this machine has kernels in the layout: processors without vectors have none."""
    model = OnnxRuntime(store=Store(None), seconds=30.0)
    view = conversion("ToLayout", Fact(TensorProto.FLOAT, (1, BLOCK, 20, 20)))
    model.prepare([view], lambda done: None)
    return math.isfinite(model.cost(view)) and model.cost(view) > LEAST


@pytest.mark.usefixtures("steady_clock")
@pytest.mark.parametrize(("between", "shared"), [((), True), (("Relu",), True), (("Sin",), False)])
def test_a_chain_converts_at_its_ends_and_around_what_has_no_such_kernel(
    between: tuple[str, ...], shared: bool
) -> None:
    if not converts():
        pytest.skip("the runtime has no blocked kernels on this processor")
    found = chosen(chain(16, *between))
    kernels, back = found.count("laid"), found.count("from_layout")
    assert (kernels > back) == shared  # an operator by itself costs the same in either form


@pytest.mark.usefixtures("steady_clock")
def test_what_is_laid_keeps_its_name_and_its_place() -> None:
    """Rebuilding drops the layout: an original that is best comes back as it was."""
    report = optimize(chain(16, "Relu"), cost=OnnxRuntime(store=Store(None)), measure=False).report
    assert report.status == "unchanged"


@pytest.mark.usefixtures("steady_clock")
def test_the_original_does_not_pay_for_conversions_that_the_runtime_leaves_out() -> None:
    if not converts():
        pytest.skip("the runtime has no blocked kernels on this processor")
    model = OnnxRuntime(store=Store(None), seconds=30.0)
    report = optimize(chain(16, "Relu"), cost=model, measure=False).report
    assert report.cost.after <= report.cost.before * (1 + 1e-9)
    one = optimize(chain(16), cost=model, measure=False).report.cost.before
    conv = NodeView(
        "Conv",
        "",
        MappingProxyType({"pads": (1, 1, 1, 1)}),
        (Fact(TensorProto.FLOAT, (1, 16, 20, 20)), Fact(TensorProto.FLOAT, (16, 16, 3, 3), const=True)),
        (Fact(TensorProto.FLOAT, (1, 16, 20, 20)),),
        opset=17,
    )
    model.prepare([conv], lambda done: None)
    assert one < 2 * model.cost(conv)
