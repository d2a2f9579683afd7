"""Sequences of which all tensors are known are taken apart; others stay."""

import onnx
import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.verification import verify


def _types(
    body: str,
    opset: int = 17,
    declared: str = "float[N, 6] x, float[N, 6] z, int64 i",
    results: str = "float[A, B] y",
) -> list[str]:
    """The nodes that are left of a model that makes `y`, and computes the same."""
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]> agraph ({declared}) => ({results}) {{ {body} }}'
    )
    result = optimize(model, cost="nodes", strict=True)
    checked = verify(model, result.model)
    assert checked.status == "passed", checked.detail
    onnx.checker.check_model(result.model)
    return sorted(n.op_type for n in result.model.graph.node if n.op_type not in ("Constant", "Identity"))


def _constant(name: str, value: str) -> str:
    return f"{name} = Constant <value = {value}> () "


ONE, LAST, TWO = (_constant(n, f"int64 {{{v}}}") for n, v in (("one", 1), ("last", -1), ("two", 2)))


@pytest.mark.parametrize("index", ["one", "last"])
def test_a_tensor_of_a_known_sequence_is_that_tensor(index: str) -> None:
    assert _types(f"{ONE}{LAST} q = SequenceConstruct (x, z) e = SequenceAt (q, {index}) y = Relu (e)") == [
        "Relu"
    ]


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_parts_of_a_split_sequence_are_those_of_a_split(opset: int) -> None:
    assert _types(
        f"{ONE}{TWO} q = SplitToSequence <axis = -1> (x, two) a = SequenceAt (q, one) "
        f"{_constant('zero', 'int64 {0}')} b = SequenceAt (q, zero) y = Sub (a, b)",
        opset,
    ) == ["Split", "Sub"]


def test_parts_of_one_element_lose_their_axis() -> None:
    body = f"{LAST} q = SplitToSequence <axis = 1, keepdims = 0> (x) y = SequenceAt (q, last)"
    assert _types(body, declared="float[N, 6, L] x, float[N, 6] z, int64 i") == ["Gather"]


@pytest.mark.parametrize(("axis", "new", "left"), [(1, 0, ["Concat"]), (-1, 0, ["Concat"])])
@pytest.mark.parametrize("opset", [11, 17])
def test_a_joined_sequence_is_a_concat(axis: int, new: int, left: list[str], opset: int) -> None:
    body = f"q = SequenceConstruct (x, z) y = ConcatFromSequence <axis = {axis}, new_axis = {new}> (q)"
    assert _types(body, opset) == left


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("opset", [11, 17])
def test_a_stacked_sequence_is_a_concat_of_views(axis: int, opset: int) -> None:
    body = (
        f"q = SequenceConstruct (x, z) r = ConcatFromSequence <axis = {axis}, new_axis = 1> (q) y = Relu (r)"
    )
    assert "ConcatFromSequence" not in _types(body, opset, results="float[A, B, C] y")


def test_what_is_inserted_and_erased_is_followed() -> None:
    assert _types(
        f"{ONE}{LAST} q = SequenceEmpty () a = SequenceInsert (q, x) b = SequenceInsert (a, z, last) "
        "c = SequenceInsert (b, z) r = SequenceErase (c) d = Identity (r) "
        "e = SequenceAt (d, one) y = Relu (e)"
    ) == ["Relu"]
    assert _types(
        f"{LAST}{_constant('zero', 'int64 {0}')} q = SequenceConstruct (x, z) a = SequenceErase (q, zero) "
        "e = SequenceAt (a, last) y = Sin (e)"
    ) == ["Sin"]


def test_a_known_number_of_tensors_is_a_constant() -> None:
    body = "q = SequenceConstruct (x, z) n = SequenceLength (q) f = Cast <to = 1> (n) y = Mul (x, f)"
    assert _types(body) == ["Mul"]


def test_what_is_not_known_stays() -> None:
    assert "SequenceAt" in _types("q = SequenceConstruct (x, z) y = SequenceAt (q, i)")
    assert "SplitToSequence" in _types(
        f"{ONE} q = SplitToSequence <axis = 0> (x, one) y = SequenceAt (q, one)"
    )
    late = f"{TWO} q = SequenceConstruct (x, z) a = SequenceInsert (q, x, i) y = SequenceAt (a, two)"
    assert "SequenceInsert" in _types(late)


def test_a_sequence_that_is_an_output_stays_beside_its_tensor() -> None:
    body = f"{ONE} s = SequenceConstruct (x, z) e = SequenceAt (s, one) y = Relu (e)"
    left = _types(body, results="float[A, B] y, seq(float[A, B]) s")
    assert left == ["Relu", "SequenceConstruct"]


def test_a_body_reads_a_sequence_around_it() -> None:
    body = (
        f"{ONE} q = SequenceConstruct (x, z) zero = Constant <value = int64 {{0}}> () "
        "c = Equal (i, zero) y = If (c) < "
        "then_branch = t () => (float[A, B] p) { e = SequenceAt (q, one) p = Exp (e) }, "
        "else_branch = f () => (float[A, B] r) { d = SequenceAt (q, zero) r = Sin (d) } >"
    )
    assert _types(body) == ["Equal", "If"]
