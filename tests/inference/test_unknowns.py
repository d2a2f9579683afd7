"""What contradicts itself has no type, and what depends on what is not known has dims that are not known."""

from __future__ import annotations

from typing import Any

import pytest

from egraph_opt.facts.fact import CLASH, Fact
from egraph_opt.inference import infer_node

FLOAT, INT64, BOOL, DOUBLE = 1, 7, 9, 11


def vector(*items: Any, dtype: int = INT64) -> Fact:
    return Fact(dtype, (len(items),), True, items, None, items)


def number(item: Any, dtype: int = INT64) -> Fact:
    return Fact(dtype, (), True, (item,), None, (item,))


def of(*shape: Any, dtype: int = FLOAT) -> Fact:
    return Fact(dtype, shape)


def inferred(op_type: str, *inputs: Fact, outputs: int = 1, opset: int = 17, **attributes: Any) -> list[Fact]:
    return list(infer_node(op_type, "", tuple(sorted(attributes.items())), inputs, outputs, opset=opset))


NO_RANK = Fact(FLOAT)
LENGTH = Fact(INT64, (1,))


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes"),
    [
        ("Range", (number(0), number(4), number(0)), {}),
        ("ConstantOfShape", (vector(2, -1),), {}),
        ("Resize", (of(1, 2, 3), of(0), of(0), vector(2, 2)), {}),
        ("Resize", (of(1, 2, 3), of(0), vector(1.0, 1.0, -1.0, dtype=FLOAT)), {}),
        ("Slice", (of(4), vector(0), vector(4), vector(0), vector(0)), {}),
        ("Slice", (of(4, 4), vector(0, 0), vector(4)), {}),
        ("Gather", (vector(1, 2), vector(2)), {}),
        ("GatherND", (of(2, 3), of(2, 3, dtype=INT64)), {}),
        ("GatherND", (of(2, 3), of(2, 1, dtype=INT64)), {"batch_dims": -1}),
        ("Reshape", (of(2, 3), vector(-2, 3)), {}),
        ("Reshape", (of(2, 3), vector(2, 3, 0)), {}),
        ("Reshape", (of(2, 3), vector(4, -1)), {}),
        ("Flatten", (of(2, 3),), {"axis": 4}),
        ("Squeeze", (of(2, 3), vector(1)), {}),
        ("Conv", (of(1, 4, 9), of(3, 3, 2)), {}),
        ("Conv", (of(1, 4, 9), of(3, 2, 2)), {"group": 2}),
        ("Conv", (of(1, 4, 9), of(3, 4, 2)), {"kernel_shape": (3,)}),
        ("Conv", (of(1, 4, 9), of(3, 4, 2, 2)), {}),
        ("ConvTranspose", (of(1, 4, 9), of(3, 4, 2)), {}),
        ("ConvTranspose", (of(1, 4, 9, 9), of(4, 3, 2, 2)), {"output_shape": (20,)}),
        ("MatMul", (of(2, 3), of(4, 2)), {}),
        ("MatMul", (of(), of(3)), {}),
        ("Gemm", (of(2, 3, 4), of(4, 2)), {}),
        ("TopK", (of(2, 3), vector(4)), {"axis": 1}),
        ("Concat", (of(2, 3), of(2, 4)), {"axis": "one"}),
        ("Transpose", (of(2, 3),), {"perm": (0, 0)}),
    ],
)
def test_a_node_that_contradicts_itself_has_no_type(
    op_type: str, inputs: tuple[Fact, ...], attributes: dict[str, Any]
) -> None:
    outputs = 2 if op_type == "TopK" else 1
    assert inferred(op_type, *inputs, outputs=outputs, **attributes)[0] == CLASH


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "shape"),
    [
        ("Range", (number(0), number("N"), Fact(INT64, ())), {}, (None,)),
        ("Range", (number(0), number("N"), number("K")), {}, (None,)),
        ("Range", (number(0), number("N"), number(2)), {}, ("(N + 1)//2",)),
        ("Range", (number(0.0, FLOAT), number(5.0, FLOAT), number(2.0, FLOAT)), {}, (3,)),
        ("ConstantOfShape", (Fact(INT64, (3,)),), {}, (None, None, None)),
        ("ConstantOfShape", (Fact(INT64, (None,)),), {}, None),
        ("ConstantOfShape", (vector("N", "N-9"),), {}, ("N", None)),
        ("Resize", (NO_RANK, of(0), of(0), vector(2, 2)), {}, None),
        ("Resize", (of(1, 2), of(0), of(0), Fact(INT64, (2,))), {}, (None, None)),
        ("Resize", (of(1, 2), of(0), of(0), vector(3, 4)), {}, (3, 4)),
        ("Slice", (of(4, 5), LENGTH, LENGTH), {}, (None, 5)),
        ("Slice", (of(4, 5), vector(0), vector(2), LENGTH), {}, (None, None)),
        ("Slice", (of(4, 5), vector(0), vector(2), vector(1), LENGTH), {}, (4, None)),
        ("Slice", (NO_RANK, vector(0), vector(2)), {}, None),
        ("Slice", (of("N"), vector(-3), vector(2**63 - 1)), {}, ("N - max(0, N - 3)",)),
        ("Gather", (of(4, 5), NO_RANK), {}, None),
        ("GatherND", (of(4, 5), NO_RANK), {}, None),
        ("GatherND", (of(4, 5), of(2, 1, dtype=INT64)), {}, (2, 5)),
        ("Compress", (of(4, 5), of(3, dtype=BOOL)), {}, (None,)),
        ("Compress", (of(4, 5), of(3, dtype=BOOL)), {"axis": -1}, (4, None)),
        ("Reshape", (of(4, 5), Fact(INT64, (3,))), {}, (None, None, None)),
        ("Reshape", (of(4, 5), Fact(INT64, (None,))), {}, None),
        ("Reshape", (NO_RANK, vector(0, -1)), {}, (None, None)),
        ("Reshape", (of("N"), vector("N-9", 2)), {}, (None, 2)),
        ("Flatten", (NO_RANK,), {}, (None, None)),
        ("Flatten", (of("N", 3, 4),), {"axis": -1}, ("3*N", 4)),
        ("Squeeze", (of("N", 1),), {}, None),
        ("Squeeze", (of(3, 1),), {}, (3,)),
        ("Squeeze", (of(3, 1), vector()), {}, None),
        ("Conv", (NO_RANK, of(3, 4, 2)), {}, (None, None, None)),
        ("ConvTranspose", (NO_RANK, NO_RANK), {}, None),
        ("ConvTranspose", (of(1, 4, 9), of(4, 3, 2)), {"output_shape": (1, 3, 20)}, (1, 3, 20)),
        ("Gemm", (NO_RANK, of(3, 4)), {}, (None, 4)),
        ("MatMul", (NO_RANK, of(3, 4)), {}, None),
        ("ReduceSum", (of(2, 3), LENGTH), {"keepdims": 0}, None),
        ("ReduceSum", (of(2, 3), LENGTH), {}, (None, None)),
        ("ReduceSum", (of(2, 3), vector()), {"noop_with_empty_axes": 1}, (2, 3)),
        ("ReduceSum", (NO_RANK,), {"keepdims": 0}, ()),
        ("ArgMax", (NO_RANK,), {}, None),
        ("OneHot", (NO_RANK, number(3), of(2)), {}, None),
        ("OneHot", (of("N", dtype=INT64), number(3), of(2)), {"axis": 0}, (3, "N")),
        ("OneHot", (of("N", dtype=INT64), Fact(INT64, ()), of(2)), {}, ("N", None)),
    ],
)
def test_what_is_not_known_stays_open_and_the_rest_is_told(
    op_type: str, inputs: tuple[Fact, ...], attributes: dict[str, Any], shape: Any
) -> None:
    assert inferred(op_type, *inputs, **attributes)[0].shape == shape


def test_a_split_that_says_otherwise_is_no_split() -> None:
    for inputs in ((of(6), vector(2, 3)), (of(6), vector(2, 2, 2)), (of(6), vector(7, -1))):
        assert inferred("Split", *inputs, outputs=2) == [CLASH, CLASH]
    assert inferred("Split", of(7), outputs=2) == [CLASH, CLASH]
    assert inferred("Split", of(7), outputs=2, opset=18, num_outputs=3) == [CLASH, CLASH]
    assert inferred("Split", of(2), outputs=4, opset=18, num_outputs=4)[0] == CLASH
    assert [f.shape for f in inferred("Split", of(7), outputs=2, opset=18, num_outputs=2)] == [(4,), (3,)]
    assert [f.shape for f in inferred("Split", of(6), Fact(INT64, (2,)), outputs=2)] == [(None,), (None,)]
    assert [f.shape for f in inferred("Split", NO_RANK, outputs=2)] == [None, None]
