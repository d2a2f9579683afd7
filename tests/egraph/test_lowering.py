"""The same computation is the same term, whatever opset it is written in and however often."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser

from egraph_opt import optimize
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.pipeline import saturate


def model_of(opset: int, text: str, *initializers: TensorProto) -> ModelProto:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}, "other" : 1]> g {text}')
    model.graph.initializer.extend(initializers)
    return model


def lowered(model: ModelProto) -> Lowered:
    """The terms of a model's graph, as they go into the e-graph."""
    region = saturate(model, rewrites=[]).region
    assert region is not None
    return region.lowered


def written(graph: Lowered, term: int) -> str:
    """A term with its operands, inputs and constants by name."""
    entry = graph.terms[term]
    if entry.operator == "leaf":
        return str(graph.leaves[entry.attributes[0]].name)
    flat = [k for item in entry.operands for k in (item if isinstance(item, tuple) else (item,))]
    attributes = [] if entry.operator == "opaque" else [repr(a) for a in entry.attributes]
    name = graph.kept[entry.attributes[0]].op_type if entry.operator == "opaque" else entry.operator
    return f"{name}({', '.join([*attributes, *(written(graph, k) for k in flat)])})"


def output_of(opset: int, text: str) -> str:
    graph = lowered(model_of(opset, text))
    return written(graph, graph.outputs[0])


def ints(**named: list[int]) -> str:
    """Constants of int64, as nodes in ONNX's text format."""
    return " ".join(f"{name} = Constant <value_ints = {values}> ()" for name, values in named.items())


FORMS: dict[str, tuple[Any, ...]] = {
    "slice": (
        "slice_(((1, 1, 3, 1),), x)",
        (9, "y = Slice <axes = [1], starts = [1], ends = [3]> (x)"),
        (9, "y = Slice <axes = [0, 1], starts = [0, -4], ends = [9, -2]> (x)"),
        (11, ints(s=[1], e=[3], a=[1]) + "y = Slice (x, s, e, a)"),
        (13, ints(s=[1], e=[-2], a=[-2], d=[1]) + "y = Slice (x, s, e, a, d)"),
        (13, ints(s=[0, 1], e=[2, 3]) + "y = Slice (x, s, e)"),
    ),
    "squeeze": (
        "reshape((2, 5), reduce('ReduceMax', (2,), 1, x))",
        (9, "r = ReduceMax <axes = [2]> (x) y = Squeeze <axes = [2]> (r)"),
        (11, "r = ReduceMax <axes = [2]> (x) y = Squeeze <axes = [-1]> (r)"),
        (13, "r = ReduceMax <axes = [2]> (x)" + ints(a=[2]) + "y = Squeeze (r, a)"),
        (17, "r = ReduceMax <axes = [-1]> (x) y = Squeeze (r)"),
        (17, "r = ReduceMax <axes = [-1]> (x)" + ints(d=[2, 5]) + "y = Reshape (r, d)"),
    ),
    "unsqueeze": (
        "reshape((2, 1, 5, 4), x)",
        (9, "y = Unsqueeze <axes = [1]> (x)"),
        (11, "y = Unsqueeze <axes = [-3]> (x)"),
        (13, ints(a=[1]) + "y = Unsqueeze (x, a)"),
        (13, ints(d=[0, 1, -1, 4]) + "y = Reshape (x, d)"),
    ),
    "flatten": (
        "reshape((2, 20), x)",
        (9, "y = Flatten (x)"),
        (13, "y = Flatten <axis = -2> (x)"),
        (13, ints(d=[0, -1]) + "y = Reshape (x, d)"),
    ),
    "pad": (
        "pad('constant', (0, 0, 1, 0, 0, 2), 0.5, x)",
        (9, "y = Pad <pads = [0, 0, 1, 0, 0, 2], value = 0.5> (x)"),
        (11, ints(p=[0, 0, 1, 0, 0, 2]) + "v = Constant <value_float = 0.5> () y = Pad (x, p, v)"),
        (18, ints(p=[1, 2], a=[-1]) + "v = Constant <value_float = 0.5> () y = Pad (x, p, v, a)"),
    ),
    "pad by zeros": (
        "pad('constant', (0, 0, 1, 0, 0, 2), 0.0, x)",
        (9, "y = Pad <pads = [0, 0, 1, 0, 0, 2]> (x)"),
        (9, "y = Pad <pads = [0, 0, 1, 0, 0, 2], value = 0.0> (x)"),
        (11, ints(p=[0, 0, 1, 0, 0, 2]) + "y = Pad (x, p)"),
        (11, ints(p=[0, 0, 1, 0, 0, 2]) + "v = Constant <value_float = 0.0> () y = Pad (x, p, v)"),
    ),
    "pad by the edge": (
        "pad('edge', (0, 0, 1, 0, 0, 2), 0.0, x)",
        (11, ints(p=[0, 0, 1, 0, 0, 2]) + 'y = Pad <mode = "edge"> (x, p)'),
        (
            11,
            ints(p=[0, 0, 1, 0, 0, 2])
            + 'v = Constant <value_float = 2.0> () y = Pad <mode = "edge"> (x, p, v)',
        ),
    ),
    "pad integers": (
        "cast(1, pad('constant', (0, 0, 1, 0, 0, 2), 0, cast(7, x)))",
        (13, ints(p=[0, 0, 1, 0, 0, 2]) + "w = Cast <to = 7> (x) z = Pad (w, p) y = Cast <to = 1> (z)"),
        (
            13,
            ints(p=[0, 0, 1, 0, 0, 2])
            + "v = Constant <value_int = 0> () w = Cast <to = 7> (x) z = Pad (w, p, v) y = Cast <to = 1> (z)",
        ),
    ),
    "clip": (
        "unary('Clip', (('max', 6.0), ('min', 0.5)), x)",
        (9, "y = Clip <min = 0.5, max = 6.0> (x)"),
        (13, "a = Constant <value_float = 0.5> () b = Constant <value_float = 6.0> () y = Clip (x, a, b)"),
    ),
    "sum": (
        "reduce('ReduceSum', (1, 2), 0, x)",
        (11, "y = ReduceSum <axes = [2, -2], keepdims = 0> (x)"),
        (13, ints(a=[1, 2]) + "y = ReduceSum <keepdims = 0> (x, a)"),
        (18, ints(a=[-1, 1]) + "y = ReduceSum <keepdims = 0> (x, a)"),
    ),
    "mean of all": (
        "reduce('ReduceMean', (0, 1, 2), 1, x)",
        (11, "y = ReduceMean (x)"),
        (13, "y = ReduceMean <axes = [0, 1, -1]> (x)"),
        (18, "y = ReduceMean (x)"),
        (18, ints(a=[2, 1, 0]) + "y = ReduceMean (x, a)"),
    ),
    "softmax": (
        "softmax('Softmax', 2, x)",
        (11, "y = Softmax <axis = 2> (x)"),
        (11, "y = Softmax <axis = -1> (x)"),
        (13, "y = Softmax (x)"),
    ),
    "dropout": (
        "unary('Relu', (), x)",
        (9, "d = Dropout <ratio = 0.5> (x) y = Relu (d)"),
        (13, "r = Constant <value_float = 0.5> () d = Dropout (x, r) y = Relu (d)"),
        (
            17,
            "r = Constant <value_float = 0.5> () zero = Constant <value_int = 0> () t = Cast <to = 9> (zero)"
            "d = Dropout (x, r, t) y = Relu (d)",
        ),
    ),
    "identity": (
        "unary('Relu', (), x)",
        (9, "a = Identity (x) b = Identity (a) y = Relu (b)"),
        (17, "y = Relu (x)"),
    ),
    "transpose": (
        "transpose((2, 1, 0), x)",
        (9, "y = Transpose (x)"),
        (17, "y = Transpose <perm = [2, 1, 0]> (x)"),
    ),
    "gather and concat": (
        "concat(2, gather(1, x, i), x)",
        (9, "g = Gather <axis = 1> (x, i) y = Concat <axis = 2> (g, x)"),
        (17, "g = Gather <axis = -2> (x, i) y = Concat <axis = -1> (g, x)"),
    ),
}
CASES = [
    pytest.param(expected, opset, body, id=f"{name}-{k}-opset{opset}")
    for name, (expected, *forms) in FORMS.items()
    for k, (opset, body) in enumerate(forms)
]


@pytest.mark.parametrize(("expected", "opset", "body"), CASES)
def test_opsets_have_one_form(expected: str, opset: int, body: str) -> None:
    signature = "(float[2, 5, 4] x, int64[5] i) => (float y)"
    assert output_of(opset, f"{signature} {{ {body} }}") == expected


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("y = Softmax <axis = 1> (x)", id="a softmax over several axes"),
        pytest.param("y, m = Dropout (x) z = Cast <to = 1> (m) w = Add (y, z)", id="a mask that is used"),
        pytest.param("y = LpNormalization (x)", id="an operator that laws do not know"),
    ],
)
def test_what_has_no_form_stays_as_it_is(body: str) -> None:
    result = "w" if "w =" in body else "y"
    graph = lowered(model_of(11, f"(float[2, 5, 4] x) => (float {result}) {{ {body} }}"))
    assert [node.op_type for node in graph.kept] == [body.split("= ")[1].split(" ")[0]]


def test_constants_of_every_kind_are_leaves_with_their_elements() -> None:
    text = """() => (float a, float[2] b, int64 c, int64[2] d, string e, float[1, 1] f) {
        a = Constant <value_float = 1.5> ()
        b = Constant <value_floats = [1.5, 2.5]> ()
        c = Constant <value_int = 3> ()
        d = Constant <value_ints = [3, 4]> ()
        e = Constant <value_string = "word"> ()
        f = Constant <value = float[1, 1] {1.5}> ()
    }"""
    graph = lowered(model_of(17, text))
    tensors = [
        graph.constants.tensor(graph.leaves[graph.terms[k].attributes[0]]).numpy() for k in graph.outputs
    ]
    assert [(t.dtype.name, t.tolist()) for t in tensors[:4]] == [
        ("float32", 1.5),
        ("float32", [1.5, 2.5]),
        ("int64", 3),
        ("int64", [3, 4]),
    ]
    assert tensors[4].tolist() in ("word", b"word")
    assert tensors[5].tolist() == [[1.5]]
    assert len(set(graph.outputs)) == 6


def test_equal_nodes_are_one_term_with_all_their_names() -> None:
    text = """(float[2, 3] x) => (float[2, 3] y) {
        a = Relu (x) b = Relu (x) c = LpNormalization (a) d = LpNormalization (b) y = Add (c, d)
    }"""
    graph = lowered(model_of(17, text))
    assert written(graph, graph.outputs[0]).count("Relu") == 2
    assert [entry.operator for entry in graph.terms] == ["leaf", "unary", "opaque", "output", "binary"]
    assert [[v.name for v in names] for names in graph.names] == [["x"], ["a", "b"], [], ["c", "d"], ["y"]]


def test_nodes_of_other_attributes_are_not_equal() -> None:
    text = """(float[2, 3] x) => (float[2, 3] y) {
        a = LpNormalization <p = 1> (x) b = LpNormalization <p = 2> (x) y = Add (a, b)
    }"""
    graph = lowered(model_of(17, text))
    assert [node.op_type for node in graph.kept] == ["LpNormalization"] * 2


@pytest.mark.parametrize(
    "body",
    [
        "a = RandomNormalLike (x) b = RandomNormalLike (x)",
        "a = RandomUniform <shape = [2, 3]> () b = RandomUniform <shape = [2, 3]> ()",
        "a = other.Thing (x) b = other.Thing (x)",
        "a, m = Dropout (x, r, t) b, n = Dropout (x, r, t)",
    ],
)
def test_nodes_that_may_draw_are_never_one(body: str) -> None:
    text = f"(float[2, 3] x, float r, bool t) => (float[2, 3] y) {{ {body} y = Add (a, b) }}"
    graph = lowered(model_of(17, text))
    assert len(graph.kept) == 2
    add = next(entry for entry in graph.terms if entry.operator == "binary")
    assert len(set(add.operands)) == 2


def test_constants_of_equal_bytes_are_one_leaf() -> None:
    array = np.array([1.0, 2.0], np.float32)
    same = [numpy_helper.from_array(array, name) for name in ("a", "b")]
    others = [
        numpy_helper.from_array(array.reshape(2, 1), "shape"),
        numpy_helper.from_array(array.view(np.int32), "dtype"),
        numpy_helper.from_array(np.array([1.0, -2.0], np.float32), "element"),
    ]
    graph = lowered(model_of(17, "(float[2] x) => (float[2] y) { y = Sum (x, a, b) }", *same, *others))
    assert [leaf.name for leaf in graph.leaves] == ["x", "a", "shape", "dtype", "element"]


def test_zeros_of_both_signs_are_two_constants() -> None:
    zeros = [numpy_helper.from_array(np.array([v], np.float32), n) for v, n in ((0.0, "p"), (-0.0, "n"))]
    graph = lowered(model_of(17, "(float[2] x) => (float[2] y) { a = Div (x, p) y = Div (a, n) }", *zeros))
    assert [leaf.name for leaf in graph.leaves] == ["x", "p", "n"]


@pytest.mark.parametrize(("first", "second"), [("0.0", "-0.0"), ("nan", "0.0"), ("nan", "nan")])
def test_borders_keep_sign_and_nan(first: str, second: str) -> None:
    nodes = [
        helper.make_node("Pad", ["x"], [name], pads=[0, 0, 0, 1], value=float(value))
        for name, value in (("y", first), ("z", second))
    ]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "yz"]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=7)
    optimized = optimize(model, "nodes", strict=True).model
    pads = [node for node in optimized.graph.node if node.op_type == "Pad"]
    kept = [repr(a.f) for node in pads for a in node.attribute if a.name == "value"]
    assert kept == ([first] if first == second else [first, second])
    onnx.checker.check_model(optimized, full_check=True)
