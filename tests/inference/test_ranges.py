"""Ranges of integers: what onnxruntime computes lies within them, on random graphs and on chosen nodes."""

import random

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt.facts.assumption import assumptions_of
from egraph_opt.facts.fact import NO_NUMBER, Fact, meet
from egraph_opt.inference import constant_lookup, infer_graph, infer_node, intervals, tensor_fact
from egraph_opt.inference.ranges import narrowed, range_of

from .observed import all_values
from .random_integers import WHOLE, Drawn

BOOL, FLOAT, INT32, INT64, UINT8 = (
    *(TensorProto.BOOL, TensorProto.FLOAT),
    *(TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8),
)


def facts_of(model: onnx.ModelProto, assume=None) -> dict[str, Fact]:
    parsed = ir.from_proto(model)
    warnings: list[str] = []
    facts = infer_graph(
        parsed.graph,
        parsed.opset_imports,
        {},
        constant_lookup(8),
        warnings.append,
        assume=assumptions_of(assume),
    )
    assert warnings == []
    return {str(value.name): fact for value, fact in facts.items()}


@pytest.mark.parametrize("seed", range(60))
def test_every_value_that_is_computed_lies_in_its_range(seed: int) -> None:
    drawn = Drawn(seed)
    model = drawn.model()
    facts = facts_of(model, drawn.assume)
    for name, seen in all_values(model, drawn.feeds).items():
        fact = facts[name]
        known = range_of(fact)
        assert known is not None
        assert fact.range != NO_NUMBER, name
        if seen.size:
            assert known[0] <= int(seen.min()) and int(seen.max()) <= known[1], (name, fact)


def test_the_random_graphs_have_ranges_worth_testing() -> None:
    """Of many values more is known than their type says."""
    narrow, total = 0, 0
    for seed in range(60):
        drawn = Drawn(seed)
        for fact in facts_of(drawn.model(), drawn.assume).values():
            total += 1
            narrow += range_of(fact) != WHOLE.get(fact.dtype)
    assert narrow > 0.7 * total


def of(low: int, high: int, shape=(2, 3), dtype: int = INT64) -> Fact:
    return narrowed(Fact(dtype, shape), (low, high))


def answer(op: str, *operands: Fact | None, opset: int = 17, outputs: int = 1, bounds=(), **attributes):
    facts = infer_node(
        op, "", tuple(sorted(attributes.items())), operands, outputs, opset=opset, bounds=bounds
    )
    return range_of(facts[-1])


LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "expected"),
    [
        ("Add", (of(0, 5), of(-2, 7)), {}, (-2, 12)),
        ("Sub", (of(0, 5), of(-2, 7)), {}, (-7, 7)),
        ("Mul", (of(-3, 5), of(-2, 7)), {}, (-21, 35)),
        ("Div", (of(-7, 9), of(2, 4)), {}, (-3, 4)),
        ("Div", (of(-7, 9), of(-2, 4)), {}, (-9, 9)),
        ("Mod", (of(-7, 90), of(1, 8)), {}, (0, 7)),
        ("Mod", (of(1, 3), of(5, 8)), {}, (1, 3)),
        ("Mod", (of(-7, 90), of(-8, -2)), {}, (-7, 0)),
        ("Mod", (of(-3, 90), of(-8, 5)), {"fmod": 1}, (-3, 7)),
        ("Neg", (of(-7, 2),), {}, (-2, 7)),
        ("Abs", (of(-7, 2),), {}, (0, 7)),
        ("Sign", (of(2, 9),), {}, (1, 1)),
        ("Max", (of(-7, 2), of(0, 1), of(-1, 4)), {}, (0, 4)),
        ("Min", (of(-7, 2), of(0, 1)), {}, (-7, 1)),
        ("Clip", (of(-7, 20), of(0, 0, ()), of(5, 5, ())), {}, (0, 5)),
        ("Clip", (of(-7, 20), None, of(5, 5, ())), {}, (-7, 5)),
        ("Where", (Fact(BOOL, (2, 3)), of(0, 1), of(5, 9)), {}, (0, 9)),
        ("Less", (of(0, 4), of(5, 9)), {}, (1, 1)),
        ("Less", (of(5, 9), of(0, 5)), {}, (0, 0)),
        ("Less", (of(0, 5), of(5, 9)), {}, (0, 1)),
        ("GreaterOrEqual", (of(5, 9), of(0, 5)), {}, (1, 1)),
        ("Equal", (of(0, 4), of(5, 9)), {}, (0, 0)),
        ("Equal", (of(0, 5), of(5, 9)), {}, (0, 1)),
        ("Cast", (Fact(BOOL, (2,)),), {"to": INT64}, (0, 1)),
        ("Cast", (Fact(UINT8, (2,)),), {"to": INT32}, (0, 255)),
        ("Cast", (of(0, 300),), {"to": UINT8}, (0, 255)),
        ("Cast", (of(-3, 200),), {"to": INT32}, (-3, 200)),
        ("Cast", (Fact(FLOAT, (2,)),), {"to": INT64}, (-(2**63), LARGEST)),
        ("Cast", (of(1, 200),), {"to": BOOL}, (1, 1)),
        ("Gather", (of(-3, 200), Fact(INT64, (7,))), {}, (-3, 200)),
        ("Concat", (of(-3, 2), of(4, 6), Fact(INT64, (2, 0))), {"axis": 1}, (-3, 6)),
        ("ArgMax", (Fact(FLOAT, ("N", 10)),), {"axis": 1}, (0, 9)),
        ("ArgMax", (Fact(FLOAT, ("N", 10)),), {"axis": 0}, (0, LARGEST)),
        ("NonZero", (Fact(FLOAT, (4, 10)),), {}, (0, 9)),
        ("Size", (Fact(FLOAT, ("N", 10)),), {}, (0, LARGEST)),
        ("Shape", (Fact(FLOAT, (None, None)),), {}, (0, LARGEST)),
        ("ReduceSum", (of(-1, 3), Fact(INT64, (1,), True, (1,))), {}, (-3, 9)),
        ("ReduceSum", (of(2, 3, ("N", 3)), Fact(INT64, (1,), True, (1,))), {}, (6, 9)),
        ("ReduceMax", (of(2, 3, (2, "N")),), {"axes": (1,)}, (-(2**63), LARGEST)),
        ("ReduceMax", (of(2, 3, ("N", 2)),), {"axes": (1,)}, (2, 3)),
        ("CumSum", (of(0, 1, ("N", 12)), Fact(INT64, (), True, (1,), 1)), {}, (0, 12)),
        ("OneHot", (of(0, 1), of(5, 5, ()), Fact(INT64, (2,), True, (0, 9))), {}, (0, 9)),
        ("Range", (of(0, 0, ()), of(3, 20, ()), of(1, 1, ())), {}, (0, 19)),
        ("Range", (of(9, 9, ()), of(-3, 2, ()), of(-2, -1, ())), {}, (-2, 9)),
        ("Pad", (of(2, 3), Fact(INT64, (4,))), {}, (0, 3)),
        ("Pad", (of(2, 3), Fact(INT64, (4,))), {"mode": "edge"}, (2, 3)),
        ("ScatterND", (of(2, 3), Fact(INT64, (1, 2)), of(7, 8, (1,))), {}, (2, 8)),
        ("NonMaxSuppression", (Fact(FLOAT, (1, 500, 4)), Fact(FLOAT, (1, 80, 500))), {}, (0, 499)),
    ],
)
def test_what_a_node_makes_of_ranges(op: str, operands, attributes, expected) -> None:
    assert answer(op, *operands, **attributes) == expected


def test_indices_of_top_k_are_positions_and_its_values_those_of_the_input() -> None:
    k = Fact(INT64, (1,), True, (2,))
    values, indices = infer_node("TopK", "", (), (of(-4, 40, ("N", 7)), k), 2, opset=17)
    assert (range_of(values), range_of(indices)) == ((-4, 40), (0, 6))


def test_what_the_type_does_not_have_wraps_around_and_is_not_known() -> None:
    most = 2**31 - 1
    narrow = of(0, most, dtype=INT32)
    assert answer("Add", narrow, of(0, 1, dtype=INT32)) == (-(2**31), most)
    assert answer("Mul", of(0, 2**40), of(0, 2**40)) == (-(2**63), LARGEST)
    assert answer("Neg", Fact(INT64, (2,))) == (-(2**63), LARGEST)
    assert answer("Sub", of(0, 3, dtype=UINT8), of(0, 4, dtype=UINT8)) == (0, 255)


def test_bounds_of_symbols_bound_shapes_and_positions() -> None:
    x = Fact(FLOAT, ("N", "2*L"))
    bounds = (("L", 1, 64), ("N", 1, 8))
    assert answer("Shape", x, bounds=bounds) == (1, 128)
    assert answer("Size", x, bounds=bounds) == (2, 1024)
    assert answer("ArgMax", x, axis=1, bounds=bounds) == (0, 127)
    assert answer("NonZero", x, bounds=bounds) == (0, 127)
    assert answer("ReduceMax", of(2, 3, ("N", "L")), axes=(1,), bounds=bounds) == (2, 3)


def test_constants_of_any_size_have_the_range_of_their_elements() -> None:
    items = np.arange(-500, 40_000).reshape(-1, 2)
    fact = tensor_fact(ir.tensor(items))
    assert fact.data is None and fact.range == (-500, 39_999)
    assert range_of(tensor_fact(ir.tensor(items[:3]))) == (-500, -495)
    assert tensor_fact(ir.tensor(items.astype(np.float32))).range is None


def test_a_decided_comparison_is_a_known_constant() -> None:
    (fact,) = infer_node("Less", "", (), (of(0, 4, (2,)), of(5, 9, (2,))), 1, opset=17)
    assert fact.splat == 1 and fact.ints == (1, 1) and fact.range is None


def test_equal_knowledge_is_written_alike() -> None:
    """Else the e-class analysis would not come to an end."""
    whole = Fact(INT64, (2,))
    assert narrowed(whole, WHOLE[INT64]) == whole
    assert narrowed(of(0, 9), (0, 12)) == of(0, 9)
    assert narrowed(whole, (4, 4)).range is None
    known = Fact(INT64, (2,), value=(1, 3), data=(1, 3))
    assert meet(known, of(0, 9, (2,))) == known == meet(of(0, 9, (2,)), known)
    assert narrowed(known, (0, 2)) == known
    empty = Fact(INT64, (2, 0))
    assert narrowed(empty, (0, 2)) == empty


def test_ranges_meet_and_contradictions_say_nothing() -> None:
    assert meet(of(0, 9), of(4, 20)) == of(4, 9)
    apart = meet(of(0, 3), of(7, 9))
    assert apart.range == NO_NUMBER and range_of(apart) == WHOLE[INT64]
    assert meet(apart, of(0, 3)) == apart == meet(of(0, 3), apart)


@pytest.mark.parametrize("seed", range(20))
def test_rounded_ends_lie_outside_and_are_few(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        ends = sorted(rng.choice((-1, 1)) * rng.randint(0, 2 ** rng.randint(1, 64)) for _ in "ab")
        low, high = intervals.coarse((ends[0], ends[1]))
        assert low <= ends[0] and ends[1] <= high
        assert intervals.coarse((low, high)) == (low, high)
        for end, rounded in zip(ends, (low, high), strict=True):
            assert abs(end - rounded) <= abs(end) / 16
            assert rounded == end or abs(end) > intervals.EXACT


def test_a_symbolic_dim_has_a_least_but_no_greatest_length() -> None:
    assert range_of(Fact(INT64, (2,), data=("N", 7), value=("N", 7))) == (0, LARGEST)
    assert range_of(Fact(INT64, (1,), data=("N + 3",), value=("N + 3",))) == (3, LARGEST)
    assert range_of(Fact(FLOAT, (2,))) is None


def test_an_assumption_about_an_input_reaches_what_is_computed_of_it() -> None:
    x = helper.make_tensor_value_info("ids", INT64, ["N", 4])
    nodes = [helper.make_node("Add", ["ids", "c"], ["y"]), helper.make_node("Shape", ["ids"], ["s"])]
    c = numpy_helper.from_array(np.array(10), "c")
    outputs = [helper.make_empty_tensor_value_info(name) for name in ("y", "s")]
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], outputs, [c]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    facts = facts_of(model, {"ids": (0, 30522), "N": (1, 64)})
    assert range_of(facts["ids"]) == (0, 30522)
    assert range_of(facts["y"]) == (10, 30532)
    assert range_of(facts["s"]) == (1, 64)
    assert range_of(facts_of(model)["y"]) == WHOLE[INT64]
