"""Narrow integers: what follows from the laws together, and that e-graphs grow with the chain alone."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import saturate
from egraph_opt.check.proving import proves
from egraph_opt.laws.examples import Operands
from egraph_opt.operators import (
    binary,
    cast,
    concat,
    gather,
    reduce,
    reshape,
    slice_,
    transpose,
    unary,
    where,
)
from egraph_opt.operators.terms import listed

INT8, INT32, INT64, FLOAT = TensorProto.INT8, TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT


def wide(x):
    return cast(x, INT64)


def narrow(x):
    return cast(x, INT32)


def operands() -> Operands:
    return Operands(np.random.default_rng(0))


def test_a_chain_on_eight_bits_is_one_on_thirty_two() -> None:
    """Arithmetic, moves and constants in a row, of which each operator alone is a step."""
    g = operands()
    x = g.input((3, 4), INT8)
    c = g.constant(np.array([3, -1, 7, 2]))
    y = binary("Mul", transpose(binary("Add", wide(x), c), (1, 0)), g.constant(np.array(5)))
    z = binary("Mul", transpose(binary("Add", narrow(x), narrow(c)), (1, 0)), narrow(g.constant(np.array(5))))
    assert proves(g, y, wide(z), guards=False)
    assert proves(g, cast(y, FLOAT), cast(z, FLOAT), guards=False)


def test_comparisons_and_choices_of_positions() -> None:
    g = operands()
    x, table = g.input((2, 5), TensorProto.UINT8), g.input((300, 4))
    limit = g.constant(np.array(200))
    chosen = where(binary("Less", wide(x), limit), wide(x), limit)
    small = where(binary("Less", narrow(x), narrow(limit)), narrow(x), narrow(limit))
    assert proves(g, gather(table, chosen, 0), gather(table, small, 0), guards=False)


def test_casts_leave_by_either_side_of_what_moves_data() -> None:
    g = operands()
    x, y = g.input((2, 6), INT32), g.input((2, 6), INT64)
    assert proves(g, narrow(slice_(reshape(wide(x), (3, 4)), ((0, 1, 3, 1),))),
                  slice_(reshape(x, (3, 4)), ((0, 1, 3, 1),)), guards=False)  # fmt: skip
    assert proves(g, narrow(concat(listed(wide(x), y), 0)), concat(listed(x, narrow(y)), 0), guards=False)


def test_sums_of_bounded_numbers_are_bounded() -> None:
    g = operands()
    x = g.input((4, 100), INT8)
    total = reduce("ReduceSum", wide(x), (1,), 0)
    assert proves(g, total, wide(reduce("ReduceSum", narrow(x), (1,), 0)), guards=False)


@pytest.mark.parametrize("op", ["Add", "Mul"])
def test_what_may_overflow_is_not_equal(op: str) -> None:
    g = operands()
    x = g.input((3,), INT64)
    assert not proves(g, binary(op, x, x), wide(binary(op, narrow(x), narrow(x))), guards=False)
    big = unary("Clip", (("max", 2**31 - 1), ("min", 0)), x)
    assert not proves(g, binary(op, big, big), wide(binary(op, narrow(big), narrow(big))), guards=False)


def test_a_way_through_a_narrow_type_is_no_identity() -> None:
    g = operands()
    x, f = g.input((3,), INT64), g.input((3,))
    assert not proves(g, wide(narrow(x)), x, guards=False)
    assert not proves(g, cast(cast(f, INT64), FLOAT), f, guards=False)


def chain(length: int):
    """Alternating arithmetic and moves on token ids."""
    nodes, name = [], "ids"
    for k in range(length):
        op = ("Add", "Sub", "Max")[k % 3]
        nodes.append(helper.make_node(op, [name, "c"], [f"a{k}"]))
        nodes.append(helper.make_node("Transpose", [f"a{k}"], [f"t{k}"], perm=[1, 0]))
        name = f"t{k}"
    x = helper.make_tensor_value_info("ids", INT64, [4, 4])
    y = helper.make_tensor_value_info(name, INT64, None)
    constants = [numpy_helper.from_array(np.array([1, 5, 2, 3]), "c")]
    graph = helper.make_graph(nodes, "chain", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_growth_is_linear_in_the_length_of_a_chain() -> None:
    sizes = []
    for length in (4, 8, 16):
        saturated = saturate(
            chain(length), rewrites=["cast", "narrowing"], target="ascend", assume={"ids": (0, 30522)}
        )
        assert saturated.region is not None
        account = saturated.region.saturation
        assert account.stop == "saturated" and account.dropped == ()
        sizes.append(account.nodes / (2 * length))
    assert max(sizes) < 12
    assert sizes[2] <= sizes[0] * 1.1
