"""Certificates with right digests, of results that are not equal to the model: each is refused.

Who forges one may write any step, so that what is read of the two models, and what constants are compared
with, is all that stands between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser

from egraph_opt import optimize
from egraph_opt.certificates.certificate import Certificate, ProofStep
from egraph_opt.certificates.checking import check_certificate
from egraph_opt.certificates.digests import digests_of_graph
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.model.reading import read_model
from tests.certificates.made_certificates import HEAD, made

OWN = '<ir_version: 8, opset_import: ["" : 17, "my" : 1]>\n'
READING: dict[str, Any] = {"assume": {}, "input_shapes": None, "fold_bytes": 1 << 20, "fold_quantized": False}


def forged(
    model: ModelProto, result: ModelProto, steps: Sequence[ProofStep] = (), terms: Sequence[Any] = ()
) -> Certificate:
    digests = [digests_of_graph(read_model(one)) for one in (model, result)]
    return Certificate(
        version=version("egraph-opt"),
        model=digests[0],
        result=digests[1],
        reading=READING,
        limits={},
        laws={},
        terms=tuple(terms),
        steps=tuple(steps),
    )


def _custom(alpha: str) -> ModelProto:
    return parser.parse_model(f"{OWN}g (float[2] x) => (float[2] y) {{ y = my.Scale<alpha = {alpha}>(x) }}")


def _random(scale: str) -> ModelProto:
    text = f"g (float[2] x) => (float[2] y) {{ y = RandomNormalLike<scale = {scale}>(x) }}"
    return parser.parse_model(OWN + text)


def _branch(number: str) -> ModelProto:
    return parser.parse_model(
        f"""{OWN}g (float[2] x, bool c) => (float[2] y) {{ y = If (c) <
        then_branch = t () => (float[2] p) {{ p = my.Own(x) }},
        else_branch = e () => (float[2] q) {{
            k = Constant<value = float {{{number}}}>() q = Add(x, k) }}> }}"""
    )


def _function(opset: int, number: str) -> ModelProto:
    return parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
        g (float[2] x) => (float[2] y) {{ y = my.F(x) }}
        <domain: "my", opset_import: ["" : {opset}]> F (a) => (b) {{
            c = Constant<value = float {{{number}}}>() b = Add(a, c) }}"""
    )


def _optional(dtype: int) -> ModelProto:
    nodes = [
        helper.make_node("Optional", [], ["o"], type=helper.make_tensor_type_proto(dtype, [2])),
        helper.make_node("OptionalHasElement", ["o"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.BOOL, [])]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _default(number: float | None) -> ModelProto:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", "w", "y")]
    weight = [] if number is None else [numpy_helper.from_array(np.full(2, number, np.float32), "w")]
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "w"], ["y"])], "g", values[:2], values[2:], weight
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("model", "result", "told"),
    [
        (_custom("1.0"), _custom("2.0"), "output 'y' is not shown"),
        (_random("1.0"), _random("100.0"), "output 'y' is not shown"),
        (_branch("1.0"), _branch("2.0"), "output 'y' is not shown"),
        *((_function(k, "1.0"), _function(k, "2.0"), "output 'y' is not shown") for k in (13, 15, 17)),
        (_optional(TensorProto.FLOAT), _optional(TensorProto.INT64), "output 'y' is not shown"),
        (_default(1.0), _default(2.0), "the default of input 'w' differs"),
        (_default(1.0), _default(None), "the default of input 'w' differs"),
    ],
)
def test_what_no_law_looks_into_is_compared_whole(model: ModelProto, result: ModelProto, told: str) -> None:
    with pytest.raises(CertificateError, match=told):
        check_certificate(model, result, forged(model, result))
    assert check_certificate(model, model, forged(model, model)).steps == 0


def _scaled(*weights: np.ndarray[Any, Any], node: str = "Mul") -> ModelProto:
    """A product with the last of some constants."""
    names = [*(f"c{k}" for k in range(len(weights) - 1)), "w"]
    dtype = helper.np_dtype_to_tensor_dtype(weights[0].dtype)
    values = [helper.make_tensor_value_info(name, dtype, list(weights[0].shape)) for name in ("x", "y")]
    constants = [numpy_helper.from_array(w, name) for w, name in zip(weights, names, strict=True)]
    nodes = [helper.make_node(node, ["x", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_weight_of_the_model_is_no_other_one_however_near() -> None:
    weight = np.linspace(1, 2, 100).astype(np.float32)
    weight[0] = 1e5
    other = weight.copy()
    other[1:] = weight[1:][::-1]
    model, result = _scaled(weight), _scaled(other)
    steps, terms = [ProofStep("fold", "w", {"term": 0})], [["model", "w"], ["result", "w"]]
    with pytest.raises(CertificateError, match="'w' is not what its operands give"):
        check_certificate(model, result, forged(model, result, steps, terms))


def test_small_errors_do_not_add_up_over_constants_of_the_result() -> None:
    drifting = [np.linspace(1, 2, 100).astype(np.float16)]
    for _ in range(60):
        drifting.append((drifting[-1].astype(np.float32) * 1.008).astype(np.float16))
    model, result = _scaled(drifting[0]), _scaled(*drifting[1:])
    terms = [["model", "w"], *(["result", f"c{k}"] for k in range(59))]
    steps = [ProofStep("fold", f"c{k + 1}" if k < 58 else "w", {"term": k + 1}) for k in range(59)]
    with pytest.raises(CertificateError, match="is not of the model, and nothing is computed from it"):
        check_certificate(model, result, forged(model, result, steps, terms))


def test_what_is_assumed_and_what_is_approximate_is_said() -> None:
    model = parser.parse_model(
        HEAD
        + "g (float[2] x) => (float[2] y) <float a = {0}, float b = {6}> { c = Clip(x, a, b) y = Exp(c) }"
    )
    result = optimize(model, "nodes", verify=False, record=True, assume={"x": (0, 6)})
    found = check_certificate(model, result.model, result.certificate())
    assert len(result.model.graph.node) == 1
    assert found.lines()[1] == "as it was read: x is assumed to be 0 to 6"
    double = parser.parse_model(
        HEAD
        + "g (double[2,3] x) => (double[2,3] y) <double k = {2}> { a = Exp(x) b = Mul(a, k) y = Tanh(b) }"
    )
    result = optimize(double, "ascend", verify=False, record=True, rewrites=["default", "approximate"])
    found = check_certificate(double, result.model, result.certificate())
    assert found.within
    assert found.lines()[0].startswith("the result is approximately equal to the model, by ")
    assert any(", values within " in line for line in found.lines())


def test_what_nothing_shows_is_said_first() -> None:
    model, result = _custom("1.0"), _custom("2.0")
    terms = [["model", "y"], ["result", "y"]]
    steps = [ProofStep("trusted", "because", {"a": 0, "b": 1})]
    found = check_certificate(model, result, forged(model, result, steps, terms))
    told = "not shown: that the result is equal to the model, as nothing shows 1 of 1 steps"
    assert found.lines()[0] == told


def test_another_version_and_another_model_are_refused_with_what_differs() -> None:
    one = made("a scale")
    with pytest.raises(CertificateError, match=r"made by version 9\.9\.9 of egraph-opt, and this is"):
        one.checked(replace(one.certificate, version="9.9.9"))
    weights = ModelProto()
    weights.CopyFrom(one.model)
    weights.graph.initializer[0].CopyFrom(
        numpy_helper.from_array(np.ones((1, 1, 3, 3), np.float32), weights.graph.initializer[0].name)
    )
    with pytest.raises(CertificateError, match=r"is not the model that .*: it has other constants$"):
        check_certificate(weights, one.result, one.certificate)
