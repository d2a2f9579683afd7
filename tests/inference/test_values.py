"""Elements and splats that are carried through nodes, and where they have to be given up."""

import itertools
import math

import numpy as np
import onnxruntime
import pytest
from onnx import parser

from egraph_opt.facts.fact import CLASH, UNKNOWN, Fact
from egraph_opt.inference import infer_node

FLOAT, INT32, INT64, BOOL, FLOAT16, DOUBLE, INT8 = 1, 6, 7, 9, 10, 11, 3


def vector(*items, dtype=INT64):
    return Fact(dtype, (len(items),), True, items, None, items)


def scalar(item, dtype=INT64):
    return Fact(dtype, (), True, (item,), None, (item,))


def splat(value, *shape, dtype=FLOAT):
    return Fact(dtype, shape, True, None, value)


def one(op_type, *inputs, opset=17, **attributes):
    return infer_node(op_type, "", tuple(sorted(attributes.items())), inputs, 1, opset=opset)[0]


def test_shape_arithmetic_of_a_dynamic_model_gives_the_target_of_a_reshape():
    x = Fact(FLOAT, ("batch", "seq", 256))
    shape = one("Shape", x)
    assert shape.value == ("batch", "seq", 256)
    seq = one("Unsqueeze", one("Gather", shape, scalar(1), axis=0), vector(0))
    target = one("Concat", one("Slice", shape, vector(0), vector(1)), seq, vector(4, -1), axis=0)
    assert target.value == ("batch", "seq", 4, -1)
    assert one("Reshape", x, target).shape == ("batch", "seq", 4, 64)


def test_a_slice_with_known_bounds_has_the_elements_that_onnxruntime_gives():
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (int64[3] x, int64[1] s, int64[1] e, int64[1] a, int64[1] d) => (int64[n] y) {
            y = Slice(x, s, e, a, d)
        }
    """)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    items = (5, 7, 9)
    for start, end, step in itertools.product(range(-8, 9), range(-8, 9), (-4, -2, -1, 1, 2, 4)):
        values = {"x": items, "s": (start,), "e": (end,), "a": (0,), "d": (step,)}
        expected = session.run(None, {name: np.array(value) for name, value in values.items()})[0]
        found = one("Slice", *(vector(*value) for value in values.values()))
        assert (found.shape, found.value) == (expected.shape, tuple(expected.tolist())), (start, end, step)


def test_a_minus_one_is_found_from_symbolic_volumes():
    x = Fact(FLOAT, ("N", 3, "H", "W"))
    assert one("Reshape", x, vector(0, -1)).shape == ("N", "3*H*W")
    assert one("Reshape", x, vector(-1, 3)).shape == ("H*N*W", 3)
    assert one("Reshape", Fact(FLOAT, ("N", None)), vector(0, -1, 2)).shape == ("N", None, 2)
    assert one("Reshape", Fact(FLOAT, (4, 3)), vector(5, -1)) == CLASH
    assert one("Reshape", Fact(FLOAT, (4, 3)), vector(-1, -1)) == CLASH


def test_part_of_a_shape_is_taken_from_opset_15_on():
    x = Fact(FLOAT, ("N", 3, "H", "W"))
    assert one("Shape", x, start=1, end=-1).value == (3, "H")
    assert one("Shape", x, start=3, end=1).value == ()


@pytest.mark.parametrize(
    ("a", "b", "quotient"),
    [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), ("N", 2, "N//2"), ("6*N", 3, "2*N")],
)
def test_integers_divide_towards_zero(a, b, quotient):
    assert one("Div", vector(a), vector(b)).value == (quotient,)


def test_a_division_that_may_round_either_way_is_not_known():
    assert one("Div", vector("N - 5"), vector(2)).value is None
    assert one("Div", vector(7), vector(0)).value is None


@pytest.mark.parametrize(("a", "b", "fmod", "rest"), [(-7, 3, 0, 2), (-7, 3, 1, -1), (7, -3, 0, -2)])
def test_a_remainder_has_the_sign_that_the_attribute_says(a, b, fmod, rest):
    assert one("Mod", vector(a), vector(b), fmod=fmod).value == (rest,)


def test_what_leaves_the_range_of_its_type_is_not_kept():
    assert one("Add", vector(2**31 - 1, dtype=INT32), vector(1, dtype=INT32)).value is None
    assert one("Add", vector(2**31 - 1), vector(1)).value == (2**31,)
    assert one("Cast", vector(300), to=INT8).value is None
    assert one("Cast", vector("N"), to=INT8).value is None
    assert one("Cast", vector("N"), to=INT32).value == ("N",)
    assert one("Mul", splat(2**62, 3, dtype=INT64), splat(4, 3, dtype=INT64)).splat is None


def test_a_cast_of_floats_truncates_and_one_to_bool_tests():
    x = Fact(FLOAT, (3,), True, None, None, (2.9, -2.9, 0.5))
    assert one("Cast", x, to=INT64).value == (2, -2, 0)
    assert one("Cast", x, to=BOOL).value == (1, 1, 1)
    assert one("Cast", vector("N", 2, 0), to=BOOL).value is None
    assert one("Cast", vector("N + 1"), to=BOOL).value == (1,)


def test_a_number_goes_through_floats_and_back_but_a_symbol_does_not():
    half = Fact(FLOAT, (), True, None, 0.5, (0.5,))
    length = one("Cast", scalar(7), to=FLOAT)
    assert one("Cast", one("Floor", one("Mul", length, half)), to=INT64).value == (3,)
    assert one("Cast", one("Cast", scalar("N"), to=FLOAT), to=INT64).value is None


def test_comparisons_of_symbols_are_decided_by_their_bounds():
    assert one("Equal", vector("N", 3), vector(-1, 3)).value == (0, 1)
    assert one("Equal", vector("N"), vector("M")).value is None
    assert one("Less", vector("N"), vector("N + 1")).value == (1,)
    assert one("GreaterOrEqual", vector("N"), vector(0)).value == (1,)
    chosen = one("Where", vector(0, 1, dtype=BOOL), vector(1, 1), vector("N", "M"))
    assert chosen.value == ("N", 1)


def test_splats_are_computed_in_the_type_of_the_elements():
    total = one("Add", splat(0.1, 4, 4), splat(0.2, 4))
    assert total.splat != 0.1 + 0.2
    assert math.isclose(total.splat, 0.3, rel_tol=1e-7)
    assert one("Add", splat(2048.0, 2, dtype=FLOAT16), splat(1.0, 2, dtype=FLOAT16)).splat == 2048.0
    assert one("Div", splat(1.0, 300), splat(0.0, 300)).splat == math.inf


def test_nan_and_negative_zero_are_never_splats():
    assert one("Div", splat(0.0, 3), splat(0.0, 3)).splat is None
    assert one("Neg", splat(0.0, 3)).splat is None
    assert one("Mul", splat(0.0, 3), splat(-1.0, 3)).splat is None
    assert one("Sqrt", splat(-1.0, 3)).splat is None


def test_zeros_times_what_is_above_0_are_zeros():
    zeros, row = splat(0.0, 4, 3), Fact(FLOAT, (3,), True, None, None, (0.5, 2.0, 7.0))
    assert one("Mul", zeros, row).splat == one("Mul", row, zeros).splat == 0.0
    assert one("Mul", zeros, Fact(FLOAT, (3,), interval=(0.5, 4.0, False))).splat == 0.0
    for low, high, may_be_nan in (
        (0.0, 4.0, False),
        (-1.0, 4.0, False),
        (0.5, math.inf, False),
        (0.5, 4.0, True),
    ):
        x = Fact(FLOAT, (3,), interval=(low, high, may_be_nan))
        assert one("Mul", zeros, x).splat is None, "it may be -0.0 or NaN"
    assert one("Mul", splat(1.0, 4, 3), row).splat is None


def test_operators_that_move_elements_keep_a_splat_and_those_that_round_their_own_way_do_not():
    x = splat(2.0, 4, 6, 2)
    assert one("Transpose", x, perm=(2, 0, 1)).splat == 2.0
    assert one("Concat", x, x, axis=1).splat == 2.0
    assert one("Concat", x, splat(3.0, 4, 6, 2), axis=1).splat is None
    assert one("Pad", x, vector(0, 0, 1, 0, 0, 0), opset=13).splat is None
    assert one("Pad", splat(0.0, 2, 2), vector(0, 1, 0, 0), opset=13).splat == 0.0
    assert one("ReduceMax", x, axes=(1,)).splat == 2.0
    assert one("Exp", x).splat is None
    assert one("ConstantOfShape", vector(2, 3), value=(INT64, 5)).splat == 5


def test_const_needs_constants_alone_and_no_chance():
    assert one("Exp", splat(2.0, 3)).const
    assert not one("Add", splat(2.0, 3), Fact(FLOAT, (3,))).const
    assert not one("RandomNormalLike", splat(2.0, 3)).const
    training = Fact(BOOL, (), True, (1,), 1, (1,))
    assert not one("Dropout", splat(2.0, 3), None, training).const


def test_dims_broadcast_where_it_is_known_what_they_give():
    def added(a, b):
        return one("Add", Fact(FLOAT, a), Fact(FLOAT, b)).shape

    assert added(("N", 1), (4,)) == ("N", 4)
    assert added(("N",), (4,)) == (4,)
    assert added(("N",), ("M",)) == (None,)
    assert added(("N",), ("N",)) == ("N",)
    assert added(("N",), ("N - max(0, N - 512)",)) == ("N",)
    assert added((None,), (1,)) == (None,)
    assert added((None,), (0,)) == (0,)
    assert one("Add", Fact(FLOAT, (3,)), Fact(FLOAT, (4,))) == CLASH


def test_operands_of_wrong_types_clash():
    assert one("Add", Fact(FLOAT, (3,)), Fact(INT64, (3,))) == CLASH
    assert one("Relu", Fact(BOOL, (3,))) == CLASH
    assert one("Add", Fact(FLOAT, (3,)), None) == CLASH
    assert one("Relu", CLASH) == CLASH


def test_an_operator_that_onnx_does_not_know_is_unknown():
    assert infer_node("Frobnicate", "", (), (Fact(FLOAT, (3,)),), 2, opset=17) == (UNKNOWN, UNKNOWN)
    assert infer_node("Gelu", "com.microsoft", (), (Fact(FLOAT, (3,)),), 1, opset=1) == (UNKNOWN,)


def test_attributes_that_became_inputs_are_read_from_either():
    x = Fact(FLOAT, ("N", 1, 8))
    assert one("Squeeze", x, opset=11, axes=(1,)).shape == ("N", 8)
    assert one("Squeeze", x, vector(1), opset=13).shape == ("N", 8)
    assert one("ReduceMean", x, opset=17, axes=(-1,), keepdims=0).shape == ("N", 1)
    assert one("ReduceMean", x, vector(-1), opset=18, keepdims=0).shape == ("N", 1)
    assert one("Slice", x, opset=9, starts=(2,), ends=(7,), axes=(2,)).shape == ("N", 1, 5)
    assert one("Pad", x, opset=10, pads=(0, 0, 1, 0, 0, 2)).shape == ("N", 1, 11)
    assert one("Upsample", Fact(FLOAT, (1, 2, "H")), opset=7, scales=(1.0, 1.0, 2.0)).shape == (1, 2, "2*H")


def test_a_squeeze_of_no_axes_is_not_decided():
    assert one("Squeeze", Fact(FLOAT, (1, 3)), vector()).shape is None
    assert one("Squeeze", Fact(FLOAT, (1, 3))).shape == (3,)
    assert one("Squeeze", Fact(FLOAT, (1, "N"))).shape is None


def test_a_split_may_be_uneven_from_opset_18_on():
    x = Fact(FLOAT, ("N", 7))
    parts = infer_node("Split", "", (("axis", 1), ("num_outputs", 3)), (x,), 3, opset=18)
    assert [part.shape for part in parts] == [("N", 3), ("N", 3), ("N", 1)]
    assert infer_node("Split", "", (("axis", 1),), (x,), 3, opset=13)[0] == CLASH
    given = infer_node("Split", "", (("axis", 1),), (x, vector(2, 5)), 2, opset=13)
    assert [part.shape for part in given] == [("N", 2), ("N", 5)]


@pytest.mark.parametrize("c", [(), (1,), (4,), (1, 4), (3, 1), (3, 4), ("M",), ("M", 4)])
def test_what_gemm_adds_broadcasts_into_the_product(c):
    found = one("Gemm", Fact(FLOAT, (3, 5)), Fact(FLOAT, (4, 5)), Fact(FLOAT, c), transB=1)
    assert found == Fact(FLOAT, (3, 4))


@pytest.mark.parametrize("c", [(3,), (2, 4), (4, 3), (1, 3, 4)])
def test_what_gemm_adds_may_not_be_larger_or_of_another_size(c):
    assert one("Gemm", Fact(FLOAT, (3, 5)), Fact(FLOAT, (5, 4)), Fact(FLOAT, c)) == CLASH


def test_a_row_of_one_is_not_widened_by_what_gemm_adds():
    assert one("Gemm", Fact(FLOAT, (1, 5)), Fact(FLOAT, (5, 4)), Fact(FLOAT, (3, 4))) == CLASH
    assert one("Gemm", Fact(FLOAT, ("N", 5)), Fact(FLOAT, (5, 4)), Fact(FLOAT, (3, 4))).shape == ("N", 4)
