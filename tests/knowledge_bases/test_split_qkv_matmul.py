"""Knowledge base 3, SplitQKVMatmul: parts of a product are products with parts of its weight.

Slice_last(x @ W) = x @ Slice_last(W); slices and gathers reach the product through Transpose, Reshape and
element-wise operators with constants.
"""

from collections import Counter
from dataclasses import dataclass

import onnx
import pytest

from .graphs import OPSETS, Graph, check_settled, check_untouched, optimized, outcome

ORDERS = {
    "part, head, element": ((3, 2, 4), (2, 0, 3, 1, 4)),
    "head, part, element": ((2, 3, 4), (3, 0, 2, 1, 4)),
    "head, element, part": ((2, 4, 3), (4, 0, 2, 1, 3)),
}
"""How the columns of the fused projection are told apart, and the transpose that brings parts to front."""


@dataclass(frozen=True)
class Attention:
    """A fused projection to queries, keys and values, two heads of four, and the attention behind it."""

    batch: int | str = "N"
    length: int | str = "L"
    order: str = "part, head, element"
    users: str = "gather"
    bias: str = "right"
    scale: str = "queries"
    opset: int = 17

    def model(self) -> onnx.ModelProto:
        g = Graph(x=[self.batch, self.length, 8])
        y = g.add("MatMul", "x", g.weight(8, 24))
        if self.bias != "none":
            b = g.weight(24)
            y = g.add("Add", b, y) if self.bias == "left" else g.add("Add", y, b)
        dims, perm = ORDERS[self.order]
        heads = g.add("Transpose", g.add("Reshape", y, g.constant([0, 0, *dims])), perm=perm)
        q, k, v = self._parts(g, heads)
        scale = g.constant(0.25)
        if self.scale in ("queries", "both"):
            q = g.add("Mul", q, scale)
        if self.scale in ("keys", "both"):
            k = g.add("Div", k, g.constant(2.0))
        scores = g.add("MatMul", q, g.add("Transpose", k, perm=[0, 1, 3, 2]))
        if self.scale == "scores":
            scores = g.add("Div", scores, g.constant(2.0))
        mixed = g.add("MatMul", g.add("Softmax", scores, axis=-1), v)
        back = g.add("Transpose", mixed, perm=[0, 2, 1, 3])
        return g.model(g.add("Reshape", back, g.constant([0, 0, 8])), opset=self.opset)

    def _parts(self, g: Graph, heads: str) -> list[str]:
        if self.users == "gather":
            return [g.add("Gather", heads, g.constant(k), axis=0) for k in range(3)]
        if self.users == "gather from the end":
            return [g.add("Gather", heads, g.constant(k - 3), axis=-5) for k in range(3)]
        if self.users == "gather of rank 1":
            parts = [g.add("Gather", heads, g.constant([k]), axis=0) for k in range(3)]
        elif self.users == "slice":
            zero = g.constant([0])
            parts = [g.add("Slice", heads, g.constant([k]), g.constant([k + 1]), zero) for k in range(3)]
        elif self.users == "mixed":
            parts = [
                g.add("Slice", heads, g.constant([k]), g.constant([k + 1]), g.constant([0])) for k in (0, 2)
            ]
            parts.insert(1, g.add("Gather", heads, g.constant([1]), axis=0))
        else:
            more = {"num_outputs": 3} if self.opset >= 18 else {}
            parts = g.add_many("Split", heads, outputs=3, axis=0, **more)
        if self.opset < 13:
            return [g.add("Squeeze", part, axes=[0]) for part in parts]
        return [g.add("Squeeze", part, g.constant([0])) for part in parts]


CASES = [
    Attention(users="gather"),
    Attention(users="slice"),
    Attention(users="mixed"),
    Attention(order="head, part, element", users="gather from the end"),
    Attention(order="head, element, part", users="gather of rank 1"),
]
"""Each kind of user, and each order of the columns; Split is in `test_every_opset`."""


def counted(case: Attention, cost: str) -> Counter[str]:
    """What is left, without views that only drop or insert an axis."""
    counts = optimized(case.model(), cost)
    return Counter({name: count for name, count in counts.items() if name != "Squeeze"})


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.order}; {case.users}")
def test_where_arithmetic_is_counted_the_scale_is_in_a_weight(case: Attention) -> None:
    """One product costs what three do: either will do."""
    counts = counted(case, "flops")
    assert not any(counts[name] for name in ("Mul", "Div"))
    assert (counts["MatMul"], counts["Add"]) in ((5, 3), (3, 1))


@pytest.mark.parametrize("case", CASES[-2:], ids=lambda case: f"{case.order}; {case.users}")
def test_where_products_cost_a_start_one_product_and_a_split(case: Attention) -> None:
    counts = counted(case, "ascend")
    assert (counts["MatMul"], counts["Add"], counts["Split"]) == (3, 1, 1)
    assert not any(counts[name] for name in ("Gather", "Slice"))
    assert counts["Mul"] <= 1  # the kernel of attention scales for nothing


@pytest.mark.parametrize("opset", OPSETS)
def test_every_opset(opset: int) -> None:
    counts = counted(Attention(users="split", opset=opset), "flops")
    assert counts["Mul"] == 0
    assert counts["Attention"] or counts["MatMul"] in (3, 5)


@pytest.mark.parametrize(("batch", "length"), [(2, 16), (1, 2)])
def test_known_sizes_like_symbolic_ones(batch: int | str, length: int | str) -> None:
    counts = counted(Attention(batch, length), "flops")
    assert counts["Mul"] == 0
    assert counts["MatMul"] in (3, 5)


def test_of_one_token_only_its_value_is_left() -> None:
    """The softmax of one score is 1, for all scales and masks."""
    counts = counted(Attention(1, 1), "flops")
    assert counts["Softmax"] == counts["Attention"] == 0
    assert counts["MatMul"] + counts["Gemm"] <= 2


@pytest.mark.parametrize(
    ("scale", "bias", "cost"),
    [
        ("queries", "none", "flops"),
        ("keys", "right", "flops"),
        ("keys", "left", "flops"),
        ("both", "none", "flops"),
        ("scores", "left", "flops"),
    ],
)
def test_scales_wherever_they_stand_go_into_the_weights(scale: str, bias: str, cost: str) -> None:
    counts = counted(Attention(bias=bias, scale=scale), cost)
    assert counts["Mul"] == counts["Div"] == 0
    assert counts["Add"] in ((0,) if bias == "none" else (1, 3))


@pytest.mark.parametrize("cost", ["flops", "nodes", "ascend"])
def test_a_second_optimisation_changes_nothing(cost: str) -> None:
    check_settled(Attention().model(), cost)


def test_where_nodes_are_counted_one_split_is_the_fewest_and_the_scale_goes() -> None:
    expected = Counter(MatMul=3, Add=1, Split=1, Squeeze=1, Softmax=1, Reshape=2, Transpose=3)
    assert optimized(Attention().model(), "nodes") == expected


def test_a_projection_that_is_an_output_too_stays_whole() -> None:
    g = Graph(x=["N", 8])
    y = g.add("MatMul", "x", g.weight(8, 24))
    a, b = (g.add("Gather", y, g.constant([k]), axis=1) for k in (0, 5))
    result = outcome(g.model(y, g.add("Sin", a), g.add("Cos", b)), "flops")
    assert result.counts["MatMul"] == 1


@pytest.mark.parametrize("opset", [11, 17])
def test_a_gemm_with_a_turned_weight(opset: int) -> None:
    g = Graph(x=["N", 8])
    y = g.add("Gemm", "x", g.weight(24, 8), g.weight(24), transB=1)
    heads = g.add("Reshape", y, g.constant([0, 3, 2, 4]))
    outputs = [
        g.add(op, g.add("Gather", heads, g.constant(k), axis=1))
        for k, op in enumerate(("Sin", "Cos", "Tanh"))
    ]
    counts = check_settled(g.model(*outputs, opset=opset), "flops")
    products = counts["Gemm"] + counts["MatMul"]
    found = products, counts["Gather"], counts["Split"]
    assert found in ((3, 0, 0), (1, 3, 0), (1, 0, 1))  # all are as much arithmetic
    assert counts.total() <= 3 + 1 + 1 + 3


def test_unused_parts_are_not_computed() -> None:
    g = Graph(x=["N", "L", 8])
    y = g.add("Add", g.add("MatMul", "x", g.weight(8, 24)), g.weight(24))
    first = g.add("Slice", g.add("Relu", y), g.constant([2]), g.constant([6]), g.constant([-1]))
    result = outcome(g.model(first), "flops")
    assert result.counts == Counter(MatMul=1, Add=1, Relu=1)
    assert result.report.cost.after < 0.2 * result.report.cost.before


@pytest.mark.parametrize("indices", [[0, 7, 3], [-1, -24, 5, 5], [[1, 2], [3, 4]]])
def test_columns_in_any_order(indices: list[int]) -> None:
    g = Graph(x=["N", 8])
    y = g.add("Sigmoid", g.add("Mul", g.add("MatMul", "x", g.weight(8, 24)), g.weight(24)))
    model = g.model(g.add("Gather", y, g.constant(indices), axis=1))
    counts = check_settled(model, "flops")
    if isinstance(indices[0], int):
        assert counts == Counter(MatMul=1, Sigmoid=1)


def test_a_gated_unit_loses_its_split_where_products_are_free_to_start() -> None:
    g = Graph(x=["N", "L", 8])
    y = g.add("Add", g.add("MatMul", "x", g.weight(8, 32)), g.weight(32))
    value, gate = g.add_many("Split", y, outputs=2, axis=-1)
    model = g.model(g.add("Mul", value, g.add("Sigmoid", gate)))
    assert check_settled(model, "nodes") == Counter(MatMul=1, Add=1, Split=1, Sigmoid=1, Mul=1)
    assert check_settled(model, "bytes") in (
        Counter(MatMul=1, Add=1, Split=1, Sigmoid=1, Mul=1),
        Counter(MatMul=2, Add=2, Sigmoid=1, Mul=1),
    )


def test_the_views_of_pytorchs_multi_head_attention_are_one_each() -> None:
    """Length first, heads beside the batch: [L, N*h, d], turned, viewed as [N, h, L, d]."""
    g = Graph(x=["L", 2, 8])
    y = g.add("Add", g.add("MatMul", "x", g.weight(8, 24)), g.weight(24))
    split = g.add("Unsqueeze", g.add("Reshape", y, g.constant([0, 0, 3, 8])), g.constant([0]))
    parts = g.add("Squeeze", g.add("Transpose", split, perm=[3, 1, 2, 0, 4]), g.constant([3]))
    q, k, v = (
        g.add("Transpose", g.add("Reshape", part, g.constant([0, 4, 4])), perm=[1, 0, 2])
        for part in (g.add("Gather", parts, g.constant(k), axis=0) for k in range(3))
    )
    q, k, v = (g.add("Reshape", part, g.constant([2, 2, -1, 4])) for part in (q, k, v))
    scores = g.add("MatMul", g.add("Mul", q, g.constant(0.5)), g.add("Transpose", k, perm=[0, 1, 3, 2]))
    model = g.model(g.add("MatMul", g.add("Softmax", scores, axis=-1), v))
    expected = Counter(MatMul=3, Add=1, Split=1, Squeeze=1, Reshape=1, Transpose=2, Softmax=1)
    assert optimized(model, "nodes") == expected


def test_separate_projections_of_one_input_become_one() -> None:
    g = Graph(x=["N", "L", 8])
    outputs = [g.add(op, g.add("MatMul", "x", g.weight(8, 8))) for op in ("Sin", "Cos", "Tanh")]
    model = g.model(*outputs)
    assert check_settled(model, "nodes") == Counter(MatMul=1, Split=1, Sin=1, Cos=1, Tanh=1)
    assert check_settled(model, "flops")["MatMul"] in (1, 3)


def test_nothing_happens_to_rows_nor_to_weights_that_are_computed() -> None:
    g = Graph(x=["N", 6, 8])
    y = g.add("Softmax", g.add("MatMul", "x", g.weight(8, 24)), axis=-1)
    check_untouched(g.model(g.add("Gather", y, g.constant(3), axis=2)))
    g = Graph(x=["N", 8], w=[8, 24])
    y = g.add("MatMul", "x", "w")
    check_untouched(g.model(g.add("Slice", y, g.constant([1]), g.constant([9]), g.constant([1]))))
