"""Slices, splits, reductions and views at the edges of what ONNX allows: one term, or none."""

from __future__ import annotations

import onnx
import pytest
from onnx import parser

from egraph_opt.facts.fact import CLASH, Fact
from egraph_opt.operators.declaration import OnnxForm, operator_named
from egraph_opt.operators.slicing import normal_slice
from egraph_opt.operators.typing import infer_operator
from egraph_opt.pipeline import saturate


def kept(opset: int, text: str) -> list[str]:
    """The operators of the nodes that no term of the language says."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> g {text}')
    region = saturate(model, rewrites=[]).region
    assert region is not None
    return [node.op_type for node in region.lowered.kept]


def form_of(
    name: str, opset: int, attributes: tuple[object, ...], *shapes: tuple[int | str, ...]
) -> OnnxForm | None:
    form = operator_named(name).form
    assert form is not None
    return form(opset, attributes, tuple(Fact(onnx.TensorProto.FLOAT, shape) for shape in shapes))


@pytest.mark.parametrize(
    ("dim", "bounds", "normal"),
    [
        (10, (-3, 99, 1), (7, 10, 1)),
        (10, (8, 2, 1), (8, 8, 1)),
        (10, (-1, -99, -1), (9, None, -1)),
        (10, (99, 0, -2), (9, 0, -2)),
        (0, (5, -5, -1), None),
        (0, (5, 9, 1), (0, 0, 1)),
        ("N", (-2, 2**63 - 1, 1), (-2, None, 1)),
        ("N", (1, -1, 2), (1, -1, 2)),
        ("N", (-1, 0, -1), None),
    ],
)
def test_bounds_of_a_slice_have_one_form(
    dim: int | str, bounds: tuple[int, int, int], normal: tuple[int, int | None, int] | None
) -> None:
    assert normal_slice(dim, *bounds) == normal


@pytest.mark.parametrize(
    ("opset", "text", "operator"),
    [
        (17, "(float[] x, int64[1] s, int64[1] e) => (float y) { y = Slice (x, s, e) }", "Slice"),
        (
            17,
            "(float[N, 4] x) => (float y) { s = Constant <value_ints = [-1]> ()"
            "e = Constant <value_ints = [-9]> () a = Constant <value_ints = [0]> ()"
            "y = Slice (x, s, e, a, s) }",
            "Slice",
        ),
        (17, "(float[N, 4] x, int64[2] s) => (float a, float b) { a, b = Split (x, s) }", "Split"),
        (17, "(float[N, 4] x) => (float a, float b) { a, b = Split <axis = 0> (x) }", "Split"),
        (17, "(float[] x) => (float y) { y = Transpose (x) }", "Transpose"),
        (17, "(float[] x) => (int64[] y) { y = ArgMax (x) }", "ArgMax"),
        (17, "(float[] x) => (float y) { y = Softmax (x) }", "Softmax"),
        (17, "(float[] x) => (float y) { y = Concat <axis = -1> (x, x) }", "Concat"),
        (17, "(float[2, 3] x, int64[1] a) => (float y) { y = ReduceSum (x, a) }", "ReduceSum"),
    ],
    ids=[
        "bounds that are inputs",
        "downwards along a symbol",
        "lengths that are inputs",
        "halves of a symbol",
        "no rank to turn",
        "no rank to search",
        "no rank to count from the end",
        "no rank to join along the last",
        "axes that are inputs",
    ],
)
def test_what_depends_on_what_is_not_known_stays_as_it_is(opset: int, text: str, operator: str) -> None:
    assert operator in kept(opset, text)


@pytest.mark.parametrize(
    ("dims", "pads", "is_slice"),
    [
        ("6, 5", "-1, 0, -2, 0", True),
        ("6, 5", "-1, 0, 2, 0", False),
        ("6, 5", "-4, 0, -3, 0", False),
        ("N, 5", "0, -2, 0, -1", True),
        ("N, 5", "-1, 0, 0, 0", False),
    ],
)
def test_pads_that_only_take_elements_away_are_a_slice(dims: str, pads: str, is_slice: bool) -> None:
    text = f"(float[{dims}] x) => (float[M, K] y) <int64[4] p = {{{pads}}}> {{ y = Pad(x, p) }}"
    assert kept(17, text) == ([] if is_slice else ["Pad"])


@pytest.mark.parametrize(
    ("dims", "repeats", "is_expand"),
    [("1, 5", "n, one", True), ("M, 1", "one, n", True), ("M, 5", "n, one", False), ("1, 1", "n, n", True)],
)
def test_what_is_repeated_along_axes_of_1_is_expanded(dims: str, repeats: str, is_expand: bool) -> None:
    text = (
        f"(float[{dims}] x, float[N, K] like) => (float[a, b] y) "
        "<int64[1] one = {1}, int64[1] zero = {0}> { s = Shape(like) n = Gather <axis = 0> (s, zero)"
        f"r = Concat <axis = 0> ({repeats}) y = Tile(x, r) }}"
    )
    assert kept(17, text) == ([] if is_expand else ["Tile"])


def test_what_an_opset_cannot_say_has_no_form_there() -> None:
    every_second = (((1, 0, None, 2),),)
    assert form_of("slice_", 9, every_second, (2, 6)) is None
    assert form_of("slice_", 10, every_second, (2, 6)) is not None
    assert form_of("slice_", 9, ((),), (2, 6)) == OnnxForm("Identity", (0,))
    last = ("ArgMax", 1, 0, 1)
    assert form_of("arg_reduce", 11, last, (2, 6)) is None
    assert form_of("arg_reduce", 12, last, (2, 6)) is not None
    assert form_of("softmax", 12, ("Softmax", 0), (2, 6)) is None
    assert form_of("softmax", 13, ("Softmax", 0), (2, 6)) is not None
    assert form_of("split", 12, (1, (2, 4)), (2, 6)) == OnnxForm(
        "Split", (0,), (("axis", 1), ("split", (2, 4)))
    )


def test_a_view_without_elements_is_written_by_copies_or_from_opset_14_on() -> None:
    assert form_of("reshape", 13, ((0, 0),), (3, 0)) is None
    found = form_of("reshape", 14, ((0, 0),), (3, 0))
    assert found is not None
    assert found.attributes == (("allowzero", 1),)
    assert form_of("reshape", 14, (("N", 0),), (5, 0, "N")) is None
    for source, dims in (((3, 0), (0, 5)), (("N", 0, 5), ("N", 0))):
        copied = form_of("reshape", 13, (dims,), source)
        assert copied is not None
        assert copied.attributes == ()


def test_a_split_that_does_not_sum_up_is_no_type() -> None:
    x = Fact(onnx.TensorProto.FLOAT, (2, 6))
    assert infer_operator("split", 17, (1, (2, 3)), (x,)) == (CLASH, CLASH)
    assert infer_operator("split", 17, (2, (2, 4)), (x,)) == (CLASH, CLASH)
    assert [f.shape for f in infer_operator("split", 17, (1, (2, 4)), (x,))] == [(2, 2), (2, 4)]


@pytest.mark.parametrize("bounds", [(-2, None), (0.5, None), (None, 65504.0), (float("-inf"), 3)])
def test_a_bound_that_a_type_of_integers_does_not_have_is_not_written(
    bounds: tuple[float | None, float | None],
) -> None:
    form = operator_named("unary").form
    assert form is not None
    settings = tuple(zip(("min", "max"), bounds, strict=True))
    assert form(17, ("Clip", settings), (Fact(onnx.TensorProto.UINT8, (5,)),)) is None
    assert form(17, ("Clip", settings), (Fact(onnx.TensorProto.FLOAT, (5,)),)) is not None
    assert form(17, ("Clip", (("min", 0.0), ("max", 255))), (Fact(onnx.TensorProto.UINT8, (5,)),)) is not None
