"""Twelve decisions under `ascend`, each on both sides of its flip: another chip, parameter or size.

Asserted is the graph that is chosen, and the kernels that it consists of, not what it costs.  That the laws
are right on all ranks and opsets is shown in tests/knowledge_bases.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import onnx
import pytest
from onnx import TensorProto

from egraph_opt import optimize
from egraph_opt.cost_models.ascend import Ascend

from ..knowledge_bases.graphs import Dims, Graph, Outcome, outcome

VIEWS = ("Reshape", "Squeeze", "Unsqueeze")


def kernels(found: Outcome) -> Counter[str]:
    """How many kernels of each kind run, with what they fuse; those that do not run are left out."""
    launched = (entry for entry in found.report.cost.by_operator if entry.operator not in VIEWS)
    return Counter({entry.operator: entry.nodes for entry in launched})


def without_views(found: Outcome) -> Counter[str]:
    """Operators but for Reshape, Squeeze and Unsqueeze."""
    return Counter({name: count for name, count in found.counts.items() if name not in VIEWS})


def attributes(model: onnx.ModelProto, op_type: str, name: str) -> list[Any]:
    """What an attribute is in the nodes of an operator, one after the other."""
    nodes = [node for node in model.graph.node if node.op_type == op_type]
    found = [onnx.helper.get_attribute_value(a) for node in nodes for a in node.attribute if a.name == name]
    return [tuple(value) if isinstance(value, list) else value for value in found]


def windows(found: Outcome) -> list[tuple[int, ...]]:
    """The sides of the convolutions' kernels."""
    dims = {tensor.name: tuple(tensor.dims) for tensor in found.model.graph.initializer}
    return [dims[node.input[1]][2:] for node in found.model.graph.node if node.op_type == "Conv"]


def order(found: Outcome) -> list[str]:
    """The operators in the order in which they are written."""
    return [node.op_type for node in found.model.graph.node]


def image(side: int, channels: int) -> Dims:
    return (1, channels, side, side)


def convolved(g: Graph, x: str, inputs: int, outputs: int, side: int = 3, **attributes: Any) -> str:
    """A convolution that keeps height and width but for strides."""
    weight = g.weight(outputs, inputs, side, side)
    return g.add("Conv", x, weight, pads=[side // 2] * 4, **attributes)


# --- 1: the mean of a whole image, or pools one after the other


@pytest.mark.parametrize(("efficiency", "pooled"), [(0.135, "GlobalAveragePool"), (0.58, "AveragePool")])
def test_a_pool_of_the_whole_image_is_a_mean_or_a_cascade(efficiency: float, pooled: str) -> None:
    """As pools were before and after their rework (ASPLOS 2025): 4.3 times faster."""
    g = Graph(x=image(64, 16))
    y = g.add("AveragePool", convolved(g, "x", 16, 64), kernel_shape=[64, 64])
    found = outcome(g.model(y), Ascend("310", pool_efficiency=efficiency))
    cascade = pooled == "AveragePool"
    assert found.counts == {"Conv": 1, pooled: 2 if cascade else 1}
    sides = [side for window in attributes(found.model, pooled, "kernel_shape") for side in window]
    assert len(sides) == 4 * cascade
    assert all(first * second == 64 for first, second in zip(sides[:2], sides[2:], strict=True))


# --- 2: 1-D convolutions as images


@pytest.mark.parametrize(
    ("count", "view_us", "lifted"), [(1, 0.05, True), (1, 3.0, False), (2, 3.0, True)], ids=str
)
def test_a_conv1d_and_its_activation_are_an_image_where_views_cost_less_than_a_kernel(
    count: int, view_us: float, lifted: bool
) -> None:
    g = Graph(x=[1, 64, 512])
    y = "x"
    for _ in range(count):
        y = g.add("Relu", g.add("Conv", y, g.weight(64, 64, 3), pads=[1, 1]))
    found = outcome(g.model(y), Ascend(view_us=view_us))
    assert without_views(found) == {"Conv": count, "Relu": count}
    assert found.counts.total() - 2 * count == 2 * lifted
    assert windows(found) == [(1, 3) if lifted else (3,)] * count
    # As an image the activation is fused; a Conv1d has its conversions within.
    expected = {"Conv": count, "TransData": 2} if lifted else {"Conv": count, "Relu": count}
    assert kernels(found) == expected


# --- 3: Q, K and V


@pytest.mark.parametrize(("chip", "products"), [("310p3", 3), ("910b1", 1)])
def test_a_projection_is_split_where_memory_is_slow(chip: str, products: int) -> None:
    """Two products more, or all of the result read and written once more."""
    g = Graph(x=[1, 512, 768])
    parts = g.add_many("Split", g.add("MatMul", "x", g.weight(768, 2304)), outputs=3, axis=-1)
    found = outcome(g.model(*(g.add("Softmax", part, axis=-1) for part in parts)), Ascend(chip))
    expected = Counter(MatMul=products, Softmax=3, Split=int(products == 1))
    assert found.counts == +expected
    assert kernels(found) == +expected


# --- 4: wide images


def wide(width: int) -> onnx.ModelProto:
    """Convolutions with a residual, then a pool along the width, twice."""
    g = Graph(x=[1, 16, 6, width])
    x = "x"
    for _ in range(2):
        y = g.add("Selu", g.add("Conv", x, g.weight(16, 16, 2, 3), pads=[1, 1, 1, 1]))
        y = g.add("Conv", y, g.weight(16, 16, 2, 3), pads=[0, 1, 0, 1])
        x = g.add("MaxPool", g.add("Add", y, x), kernel_shape=[1, 3], strides=[1, 3])
    return g.model(x)


@pytest.mark.parametrize(("width", "cap", "turned"), [(200, 4.0, 0), (20_000, 4.0, 2), (20_000, 2.0, 0)])
def test_wide_images_lie_on_their_side(width: int, cap: float, turned: int) -> None:
    found = outcome(wide(width), Ascend(wide_row_cap=cap))
    assert found.counts["Transpose"] == turned
    assert kernels(found)["Transpose"] == turned
    kernel, window = ((3, 2), (3, 1)) if turned else ((2, 3), (1, 3))
    assert windows(found) == [kernel] * 4
    assert attributes(found.model, "MaxPool", "kernel_shape") == [window] * 2


# --- 5: large kernels


@pytest.mark.parametrize(("size", "limit", "parts"), [(31, 255, 1), (401, 255, 2), (401, 511, 1)])
def test_kernels_beyond_the_limit_are_split(size: int, limit: int, parts: int) -> None:
    g = Graph(x=[1, 8, 2400])
    y = g.add("Sin", g.add("Conv", "x", g.weight(16, 8, size), g.weight(16)))
    found = outcome(g.model(y), Ascend(conv_kernel=limit))
    assert (found.counts["Conv"], found.counts["Slice"]) == (parts, parts if parts > 1 else 0)
    sizes = [max(sides) for sides in windows(found)]
    assert sum(sizes) == size and max(sizes) <= limit


# --- 6: integers


@pytest.mark.parametrize(
    ("dims", "op", "launch_us", "narrowed"),
    [
        ([100_000], "Div", 3.0, True),
        ([], "Div", 3.0, False),
        ([100_000], "Div", 101.0, True),
        ([], "Div", 101.0, True),
        ([100_000], "Add", 101.0, False),
    ],
    ids=["big, cheap launch", "scalar, cheap launch", "big", "scalar", "on AI cores"],
)
def test_int64_is_narrowed_where_the_ai_cpu_takes_longer_than_two_casts(
    dims: Dims, op: str, launch_us: float, narrowed: bool
) -> None:
    """AI cores divide no int64."""
    g = Graph()
    x = g.input("x", dims, TensorProto.INT64)
    y = g.add(op, g.add("Mul", x, g.constant(3)), g.constant(7))
    model = g.model(y, dtypes={y: TensorProto.INT64})
    found = outcome(model, Ascend(fixed_aicpu_us=launch_us), assume={"x": (0, 100)})
    assert found.counts == +Counter({"Mul": 1, op: 1, "Cast": 2 * narrowed})
    to = [TensorProto.INT32, TensorProto.INT64] if narrowed else []
    assert attributes(found.model, "Cast", "to") == to


# --- 7: parts of a tensor


@pytest.mark.parametrize(("chip", "taken"), [("310p3", "Slice"), ("910b1", "Split")])
@pytest.mark.parametrize("rows", [16, 512, 4096])
def test_gathers_are_a_split_where_what_nobody_reads_is_copied_in_less_than_a_launch(
    chip: str, taken: str, rows: int
) -> None:
    """Of 16 rows all are read, of more than 16 a part; a Split copies the rest, too."""
    g = Graph(x=[rows, 1024])
    parts = [g.add("Gather", "x", g.constant(range(k, k + 8)), axis=0) for k in (0, 8)]
    model = g.model(g.add("Softmax", parts[0], axis=-1), g.add("Softmax", parts[1], axis=0))
    found = outcome(model, Ascend(chip))
    taken = {16: "Split", 512: taken, 4096: "Slice"}[rows]
    assert found.counts == {taken: 1 if taken == "Split" else 2, "Softmax": 2}
    outputs = [len(node.output) for node in found.model.graph.node if node.op_type == "Split"]
    assert outputs == ([] if taken == "Slice" else [2] if rows == 16 else [3])


# --- 8: BatchNormalization


@pytest.mark.parametrize(("chip", "folded"), [("310p3", True), ("910b1", False)])
def test_a_batchnorm_is_folded_where_convolving_again_costs_less_than_its_kernel(
    chip: str, folded: bool
) -> None:
    """A residual block whose activations come first: the convolution's own result is added at the end."""
    g = Graph(x=image(56, 16))
    y = convolved(g, "x", 16, 256)
    parameters = [g.weight(256) for _ in range(3)]
    z = g.add("BatchNormalization", y, *parameters, g.weight(256, positive=True))
    z = convolved(g, g.add("Relu", z), 256, 256, 1)
    found = outcome(g.model(g.add("Add", z, y)), Ascend(chip))
    assert (found.counts["Conv"], found.counts["Mul"]) == ((3, 0) if folded else (2, 1))
    # The residual and Relu are stages of convolutions; what is not folded is a kernel with Relu.
    expected = Counter({"Conv": 3 if folded else 2, "TransData": 2, "fused element-wise": int(not folded)})
    assert kernels(found) == +expected


# --- 9: Resize


@pytest.mark.parametrize("chip", ["310", "310p3", "910b1"])
@pytest.mark.parametrize(
    ("rulesets", "mode", "last"),
    [
        (["default"], b"linear", ["Resize", "Sigmoid"]),
        (["default", "approximate"], b"nearest", ["Sigmoid", "Resize"]),
    ],
    ids=["default", "approximate"],
)
def test_a_resize_stays_unless_other_values_are_asked_for(
    chip: str, rulesets: list[str], mode: bytes, last: list[str]
) -> None:
    """On each chip the nearest element is cheaper, and a function of fewer elements."""
    g = Graph(x=image(28, 64))
    y = g.add("Relu", convolved(g, "x", 64, 64))
    y = g.add("Resize", y, "", g.constant([1.0, 1.0, 2.0, 2.0]), mode="linear")
    result = optimize(g.model(g.add("Sigmoid", y)), Ascend(chip), rewrites=rulesets, strict=True)
    assert attributes(result.model, "Resize", "mode") == [mode]
    assert [node.op_type for node in result.model.graph.node] == ["Conv", "Relu", *last]


# --- 10: the order of a Concat


@pytest.mark.parametrize("between", [(), ("Relu",)], ids=["", "Relu"])
@pytest.mark.parametrize(
    ("first", "float_bytes", "turned"), [(24, 2, True), (32, 2, False), (24, 4, False), (20, 4, True)]
)
def test_images_are_joined_with_the_one_that_ends_within_a_block_last(
    first: int, float_bytes: int, turned: bool, between: tuple[str, ...]
) -> None:
    """In blocks of 16 channels, or of 8 where they have 4 bytes each; what is joined stays in blocks."""
    g = Graph(x=image(28, 64))
    window = {"kernel_shape": [2, 2], "strides": [2, 2]}
    parts = [
        g.add(pool, convolved(g, "x", 64, channels), **window)
        for pool, channels in (("MaxPool", first), ("AveragePool", 48))
    ]
    y = g.add("Concat", *parts, axis=1)
    for op in between:
        y = g.add(op, y)
    model = g.model(convolved(g, y, first + 48, 32))
    found = outcome(model, Ascend(float_bytes=float_bytes))
    pools = {node.output[0]: node.op_type for node in found.model.graph.node}
    joined = next(node for node in found.model.graph.node if node.op_type == "Concat")
    names = ["MaxPool", "AveragePool"]
    assert [pools[name] for name in joined.input] == (names[::-1] if turned else names)
    assert kernels(found)["TransData"] == 2


# --- 11: fused pairs


@pytest.mark.parametrize(
    ("model", "together"),
    [(Ascend("310p3"), True), (Ascend("310p3", fused_operators=["Relu"]), False), (Ascend("910b1"), False)],
    ids=["310p3", "310p3 that fuses Relu only", "910b1"],
)
def test_a_pair_that_is_one_kernel_is_kept_together(model: Ascend, together: bool) -> None:
    """A function of two parts, or of both joined: where a convolution takes it in, each takes in its own."""
    g = Graph(x=image(56, 32), z=image(28, 16))
    parts = convolved(g, "x", 32, 32, strides=[2, 2]), convolved(g, "z", 16, 32, 1)
    found = outcome(g.model(g.add("Concat", *(g.add("Sigmoid", part) for part in parts), axis=1)), model)
    assert found.counts == {"Conv": 2, "Concat": 1, "Sigmoid": 2 if together else 1}
    assert order(found)[-1] == ("Concat" if together else "Sigmoid")
    assert kernels(found)["Sigmoid"] == int(not together)


# --- 12: formats of products


@pytest.mark.parametrize(
    ("chip", "dims", "converted"),
    [
        ("310p3", (192, 768), 0),
        ("310p3", (197, 768), 1),
        ("910b1", (197, 768), 0),
        ("910b1", (1000, 100), 1),
        ("310p3", (1000, 100), 1),
    ],
)
def test_products_run_in_tiles_where_a_chip_takes_no_such_rows_in_nd(
    chip: str, dims: tuple[int, int], converted: int
) -> None:
    """197 are the tokens of a ViT; what is between the two products stays in tiles."""
    g = Graph(x=dims)
    y = g.add("Sigmoid", g.add("MatMul", "x", g.weight(dims[1], 3072)))
    y = g.add("Softmax", g.add("MatMul", y, g.weight(3072, 768)), axis=-1)
    found = outcome(g.model(y), Ascend(chip))
    assert found.counts == {"MatMul": 2, "Sigmoid": 1, "Softmax": 1}
    assert kernels(found)["TransData"] == converted
    tensors = [entry.tensors for entry in found.report.cost.by_operator if entry.operator == "TransData"]
    assert [list(names) for names in tensors] == [["x"]] * converted
