"""Knowledge base 10, DynamicReshape, and shape arithmetic: what is computed of shapes becomes constants.

A Reshape whose target is computed gets a constant one with 0 and -1 where the dims are proved; so do other
operators that take dims; arithmetic that has to stay is written in the shortest way.
"""

from collections import Counter
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from .graphs import OPSETS, Graph, check_settled, check_untouched, outcome

FAR = 2**63 - 1
ONE = Counter(Reshape=1)
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Shapes(Graph):
    """A graph with the arithmetic that exporters write."""

    opset = 17

    def dim(self, x: str, axis: int) -> str:
        """One dim as a scalar: Shape, Gather."""
        return self.add("Gather", self.add("Shape", x), self.constant(axis), axis=0)

    def vector(self, scalar: str) -> str:
        if self.opset < 13:
            return self.add("Unsqueeze", scalar, axes=[0])
        return self.add("Unsqueeze", scalar, self.constant([0]))

    def target(self, x: str, *dims: int | tuple[int, ...] | str) -> str:
        """A Concat of dims of x (by axis), constants (tuples) and computed scalars (names)."""
        parts = []
        for dim in dims:
            if isinstance(dim, tuple):
                parts.append(self.constant(list(dim)))
            else:
                parts.append(self.vector(self.dim(x, dim) if isinstance(dim, int) else dim))
        return self.add("Concat", *parts, axis=0)

    def filled(self, shape: str, value: float) -> str:
        tensor = helper.make_tensor("", FLOAT, [1], [value])
        return self.add("ConstantOfShape", shape, value=tensor)

    def part(self, x: str, start: str, end: str, axis: int) -> str:
        return self.add("Slice", x, start, end, self.constant([axis]))


def targets(model: onnx.ModelProto) -> list[list[int]]:
    """The targets of every Reshape."""
    known = {tensor.name: numpy_helper.to_array(tensor).tolist() for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            known[node.output[0]] = helper.get_node_attr_value(node, "value_ints")
    return [known[node.input[1]] for node in model.graph.node if node.op_type == "Reshape"]


@pytest.mark.parametrize("opset", OPSETS)
def test_heads_on_every_opset(opset: int) -> None:
    g = Shapes(x=["N", "L", 12])
    g.opset = opset
    heads = g.add("Reshape", "x", g.target("x", 0, 1, (3, 4)))
    heads = g.add("Softmax", heads, axis=2) if opset >= 13 else g.add("LpNormalization", heads, axis=2)
    # ONNX's own inference loses the rank on old opsets, and an output needs one.
    model = g.model(g.add("Reshape", heads, g.constant([-1, 2])), opset=opset)
    result = outcome(model)
    assert result.counts == Counter({"Reshape": 2, "Softmax" if opset >= 13 else "LpNormalization": 1})
    assert targets(result.model)[0] in ([0, 0, 3, 4], [0, -1, 3, 4])


def _merged(g: Shapes) -> str:
    return g.target("x", g.add("Mul", g.dim("x", 0), g.dim("x", 1)), (12,))


def _divided(g: Shapes) -> str:
    return g.target("x", 0, 1, (3,), g.add("Div", g.dim("x", 2), g.constant(3)))


def _there_and_back(g: Shapes) -> str:
    more = g.add("Sub", g.add("Add", g.dim("x", 1), g.constant(3)), g.constant(3))
    return g.target("x", 0, g.add("Div", g.add("Mul", more, g.constant(4)), g.constant(2)), (6,))


def _leading_dims(g: Shapes) -> str:
    leading = g.part(g.add("Shape", "x"), g.constant([0]), g.constant([-1]), 0)
    return g.add("Concat", leading, g.constant([3, 4]), axis=0)


def _with_where(g: Shapes) -> str:
    given = g.target("x", 0, 1, (3, 4))
    return g.add("Where", g.add("Equal", given, g.constant([-1])), g.constant([1, 1, 1, 1]), given)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (lambda g: g.target("x", 0, (-1, 3)), [[0, -1, 3]]),
        (lambda g: g.target("x", 0, (-1,), 1, (4,)), [[0, 3, -1, 4], [0, 3, 0, 4]]),
        (_merged, [[-1, 12]]),
        (_divided, [[0, 0, 3, 4], [0, -1, 3, 4]]),
        (_leading_dims, [[0, 0, 3, 4], [0, -1, 3, 4]]),
        (_with_where, [[0, 0, 3, 4], [0, -1, 3, 4]]),
    ],
)
def test_targets_by_arithmetic(target: Callable[[Shapes], str], expected: list[list[int]]) -> None:
    g = Shapes(x=["N", "L", 12])
    result = outcome(g.model(g.add("Reshape", "x", target(g))))
    assert result.counts == ONE
    assert targets(result.model)[0] in expected


def test_a_length_by_arithmetic_is_inferred_where_the_batch_is_not_empty() -> None:
    g = Shapes(x=["N", "L", 12])
    result = outcome(g.model(g.add("Reshape", "x", _there_and_back(g))), assume={"N": (1, 8)})
    assert (result.counts, targets(result.model)) == (ONE, [[0, -1, 6]])


@pytest.mark.parametrize(
    ("dims", "wanted", "counts"),
    [
        ([1, "N", "L", 12], (1, 2, (3, 4)), Counter(Squeeze=1, Reshape=1)),
        (["N", "L", 12], ((1,), 0, 1, (3, 4)), Counter(Unsqueeze=1, Reshape=1)),
        (["N", "L", 12], (0, (1,), 1, (3, 4)), Counter(Unsqueeze=1, Reshape=1)),
        (["N", "L", 12], ((1,), 0, 1, (12,)), Counter(Unsqueeze=1)),
        (["N", 1, "L"], (0, 2), Counter(Squeeze=1)),
        ([2, 3, "N", "L"], ((6,), 2, 3), Counter(Reshape=1, Squeeze=1)),
    ],
)
def test_copies_of_dims_at_other_places_with_squeeze_or_unsqueeze(
    dims: list[int | str], wanted: tuple[int | tuple[int, ...], ...], counts: Counter[str]
) -> None:
    g = Shapes(x=dims)
    result = outcome(g.model(g.add("Reshape", "x", g.target("x", *wanted))))
    assert sum(result.counts.values()) == sum(counts.values())
    assert set(result.counts) <= {"Reshape", "Squeeze", "Unsqueeze"}


def test_rows_of_a_batch_beside_a_dim_that_moves_to_the_front() -> None:
    g = Shapes(x=["N", 2, "L"])
    rows = g.add("Mul", g.dim("x", 0), g.constant(2))
    model = g.model(g.add("Reshape", "x", g.target("x", rows, 2)))
    assert check_settled(model) == Counter(Flatten=1)


def test_dims_of_another_tensor_with_the_same_names() -> None:
    g = Shapes(x=["N", "L", 12], y=["N", "L"])
    target = g.add("Concat", g.add("Shape", "y"), g.constant([3, 4]), axis=0)
    model = g.model(g.add("Reshape", g.add("Relu", "x"), target))
    assert check_settled(model) == Counter(Relu=1, Reshape=1)


def test_dims_behind_a_convolution() -> None:
    g = Shapes(x=[2, 3, "H", "W"])
    y = g.add("Conv", "x", g.weight(4, 3, 3, 3), pads=[1, 1, 1, 1])
    area = g.add("Mul", g.dim(y, 2), g.dim(y, 3))
    model = g.model(g.add("Reshape", y, g.target(y, 0, (4,), area)))
    assert check_settled(model) == Counter(Conv=1, Reshape=1)


def test_views_that_undo_each_other_go_with_their_arithmetic() -> None:
    g = Shapes(x=["N", "L", 12])
    heads = g.add("Transpose", g.add("Reshape", "x", g.target("x", 0, 1, (3, 4))), perm=[0, 2, 1, 3])
    back = g.add("Transpose", heads, perm=[0, 2, 1, 3])
    model = g.model(g.add("Sin", g.add("Reshape", back, g.target("x", 0, 1, (12,)))))
    assert check_settled(model) == Counter(Sin=1)


def test_a_target_that_is_an_output_too_stays_for_it() -> None:
    g = Shapes(x=["N", "L", 12])
    target = g.target("x", 0, 1, (3, 4))
    result = outcome(g.model(g.add("Reshape", "x", target), target, dtypes={target: INT64}))
    assert result.counts["Reshape"] == 1
    assert result.model.graph.output[1].name == target


@pytest.mark.parametrize(
    ("op", "number", "rounded", "known"),
    [
        ("Mul", 1 / 32, "Floor", True),
        ("Div", 32, "Ceil", True),
        ("Div", 32, "", True),
        ("Div", 32, "Round", False),
    ],
)
def test_a_dim_that_is_divided_in_floats(op: str, number: float, rounded: str, known: bool) -> None:
    g = Shapes(x=[1, 3, "H", 8])
    rows = g.add(op, g.add("Cast", g.dim("x", 2), to=FLOAT), g.constant(float(number)))
    rows = g.add("Cast", g.add(rounded, rows) if rounded else rows, to=INT64)
    model = g.model(g.add("Reshape", "x", g.target("x", (1, 3), rows, (32, 8))))
    assert (outcome(model, assume={"H": "32*..640*"}).counts == ONE) is known
    assert outcome(model, assume={"H": "32*"}).counts["Cast"] == 2, "float32 has 24 bits"


@pytest.mark.parametrize("cost", ["flops", "bytes", "ascend"])
def test_every_target_wants_it(cost: str) -> None:
    g = Shapes(x=["N", "L", 12])
    model = g.model(g.add("Reshape", "x", g.target("x", 0, 1, (3, 4))))
    assert check_settled(model, cost)["Reshape"] == 1


def test_two_dims_that_the_operand_does_not_have_stay_computed() -> None:
    g = Shapes(x=["N", 3, "H", "W"])
    flat = g.add("Sin", g.add("Reshape", "x", g.constant([0, 3, -1])))
    model = g.model(g.add("Cos", g.add("Reshape", flat, g.target("x", 0, (3,), 2, 3))))
    counts = check_settled(model)
    assert counts["Reshape"] + counts["Flatten"] <= 2
    g = Shapes(x=["N", "L", 12])
    t = g.input("t", [2], INT64)
    out = g.add("Reshape", "x", g.add("Concat", t, g.constant([-1]), axis=0))
    check_untouched(g.model(out), assume={"t": (1, 1)})


# --- other operators that take dims ---------------------------------------------------------------------


def test_an_expand_to_the_dims_of_a_partner_is_nothing() -> None:
    g = Shapes(x=["N", 1, 4], y=["N", "L", 4])
    expanded = g.add("Expand", "x", g.add("Shape", "y"))
    assert check_settled(g.model(g.add("Add", expanded, "y"))) == Counter(Add=1)


def test_an_expand_to_known_dims_beside_its_own_has_a_constant_target() -> None:
    g = Shapes(x=["N", 1, 4], y=[2, 5])
    expanded = g.add("Expand", "x", g.target("y", g.dim("x", 0), 1, (4,)))
    assert check_settled(g.model(g.add("Relu", expanded))) == Counter(Expand=1, Relu=1)


def test_pytorchs_expand_as_with_its_where_is_nothing() -> None:
    g = Shapes(x=["N", "L", 4])
    ones = g.constant(np.ones(3, np.int64))
    shape = g.add("Shape", "x")
    kept = g.add("Where", g.add("Equal", shape, g.add("Mul", ones, g.constant(-1))), ones, shape)
    assert check_settled(g.model(g.add("Relu", g.add("Expand", "x", kept)))) == Counter(Relu=1)


def test_slices_with_computed_ends() -> None:
    g = Shapes(x=["N", "L", 4])
    whole = g.part("x", g.constant([0]), g.vector(g.dim("x", 1)), 1)
    assert check_settled(g.model(g.add("Relu", whole))) == Counter(Relu=1)
    g = Shapes(x=["N", 8, 4])
    half = g.vector(g.add("Div", g.dim("x", 1), g.constant(2)))
    first, second = g.part("x", g.constant([0]), half, 1), g.part("x", half, g.constant([FAR]), 1)
    model = g.model(g.add("Mul", first, g.add("Sigmoid", second)))
    assert check_settled(model) == Counter(Split=1, Sigmoid=1, Mul=1)
    g = Shapes(x=["N", "L", 4])
    table = g.constant(np.arange(256, dtype=np.float32).reshape(1, 64, 4))
    positions = g.part(table, g.constant([0]), g.vector(g.dim("x", 1)), 1)
    assert check_settled(g.model(g.add("Add", "x", positions))) == Counter(Shape=1, Slice=1, Add=1)


def test_ranges_and_fillings_of_known_lengths_are_constants() -> None:
    g = Shapes(x=["N", 6, 4])
    steps = g.add("Cast", g.add("Range", g.constant(0), g.dim("x", 1), g.constant(1)), to=FLOAT)
    ramp = g.add("Add", "x", g.add("Unsqueeze", steps, g.constant([1])))
    model = g.model(g.add("Mul", ramp, g.filled(g.target("x", 1, 2), 2.0)))
    assert check_settled(model) == Counter(Add=1, Mul=1)


def test_a_filling_beside_an_operand_of_its_dims_is_a_number() -> None:
    g = Shapes(x=["N", "L", 4])
    assert check_settled(g.model(g.add("Mul", "x", g.filled(g.add("Shape", "x"), 2.0)))) == Counter(Mul=1)
    g = Shapes(x=["N", "L", 4])
    zeros = g.filled(g.add("Shape", "x"), 0.0)
    assert check_settled(g.model(g.add("Relu", g.add("Add", zeros, "x")))) == Counter(Relu=1)


def test_tiles_and_resizes() -> None:
    g = Shapes(x=["N", 6, 4])
    once = g.target("x", (1,), g.add("Div", g.dim("x", 1), g.constant(6)), (1,))
    assert check_settled(g.model(g.add("Relu", g.add("Tile", "x", once)))) == Counter(Relu=1)
    g = Shapes(x=["N", 1, 4], y=["N", 6])
    repeats = g.target("y", (1,), 1, (1,))
    assert sum(check_settled(g.model(g.add("Relu", g.add("Tile", "x", repeats)))).values()) == 2
    g = Shapes(x=["N", 3, 8, 8], y=[2, 3, 16, 16])
    sizes = [
        g.part(g.add("Shape", v), g.constant([a]), g.constant([b]), 0)
        for v, a, b in (("x", 0, 2), ("y", 2, 4))
    ]
    joined = g.add("Concat", *sizes, axis=0)
    counts = check_settled(g.model(g.add("Resize", "x", "", "", joined, mode="nearest")))
    assert counts["Resize"] == 1
    assert sum(counts.values()) <= 3


# --- the arithmetic itself ------------------------------------------------------------------------------


def arithmetic(dims: list[int | str], value: Callable[[Shapes], str]) -> Counter[str]:
    g = Shapes(x=dims)
    out = value(g)
    return check_settled(g.model(out, dtypes={out: INT64}))


def test_arithmetic_on_static_shapes_is_one_constant() -> None:
    def much(g: Shapes) -> str:
        half = g.add("Div", g.add("Mul", g.dim("x", 1), g.dim("x", 2)), g.constant(2))
        padded = g.add("Concat", g.vector(half), g.add("Shape", g.add("Relu", "x")), g.constant([7]), axis=0)
        chosen = g.add("Where", g.add("Greater", padded, g.constant([4])), padded, g.constant([1]))
        return g.add("Cast", g.add("Cast", g.add("ReduceProd", chosen, keepdims=0), to=FLOAT), to=INT64)

    assert not arithmetic([2, 5, 12], much)


def test_symbolic_arithmetic_is_written_in_the_shortest_way() -> None:
    def one_dim(g: Shapes) -> str:
        more = g.add("Add", g.dim("x", 1), g.dim("x", 0))
        return g.vector(g.add("Sub", more, g.dim("x", 0)))

    assert arithmetic(["N", "L", 12], one_dim) == Counter(Shape=1)

    def all_dims(g: Shapes) -> str:
        return g.target(g.add("Relu", "x"), 0, 1, (12,))

    assert arithmetic(["N", "L", 12], all_dims) == Counter(Shape=1)

    def two_ways(g: Shapes) -> str:
        once = g.add("Mul", g.dim("x", 0), g.dim("x", 1))
        again = g.add("Mul", g.dim("x", 1), g.dim("x", 0))
        return g.add("Sub", once, again)

    assert sum(arithmetic(["N", "L", 12], two_ways).values()) <= 1


def test_nothing_is_assumed_of_dims_without_names() -> None:
    g = Shapes(x=["N", "L"], y=["M", "K"])
    target = g.target("y", 0, 1)
    original = g.model(g.add("Add", g.add("Expand", g.constant(np.ones((1, 1), np.float32)), target), "y"))
    assert check_settled(original)["Add"] == 1
    g = Shapes(x=["N", 1], y=["M", 1])
    check_untouched(g.model(g.add("Expand", "x", g.add("Shape", g.add("Concat", "y", "y", axis=1)))))
