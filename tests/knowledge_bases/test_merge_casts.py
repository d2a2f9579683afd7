"""Knowledge base 14, MergeCasts: pairs of which the first loses nothing, and casts to the own type."""

from collections import Counter

import pytest
from onnx import TensorProto

from .graphs import OPSETS, Graph, check_settled, check_untouched, optimized

T = TensorProto
LOSSLESS = [
    (T.BOOL, T.FLOAT, T.INT64),
    (T.BOOL, T.INT32, T.FLOAT),
    (T.INT32, T.INT64, T.FLOAT),
    (T.INT32, T.DOUBLE, T.INT64),
    (T.UINT8, T.FLOAT16, T.INT32),
    (T.INT16, T.FLOAT, T.INT64),
    (T.FLOAT, T.DOUBLE, T.FLOAT16),
    (T.FLOAT16, T.FLOAT, T.DOUBLE),
    (T.INT64, T.INT32, T.INT8),
    (T.INT64, T.UINT32, T.INT32),
    (T.INT32, T.INT8, T.UINT8),
]
"""From, through, to: the one cast from the first to the last does the same."""

IDENTITIES = [
    (T.INT32, T.INT64),
    (T.FLOAT, T.DOUBLE),
    (T.FLOAT16, T.FLOAT),
    (T.BOOL, T.INT64),
    (T.INT64, T.UINT64),
    (T.INT16, T.FLOAT),
]
"""There and back loses nothing."""

LOSSES = [
    (T.FLOAT, T.INT32, T.FLOAT),
    (T.FLOAT, T.INT64, T.BOOL),
    (T.FLOAT, T.BOOL, T.FLOAT),
    (T.FLOAT, T.FLOAT16, T.FLOAT),
    (T.DOUBLE, T.FLOAT, T.DOUBLE),
    (T.FLOAT, T.DOUBLE, T.INT32),
    (T.INT64, T.INT32, T.INT64),
    (T.INT64, T.FLOAT, T.INT64),
    (T.INT32, T.FLOAT, T.INT32),
    (T.INT32, T.BOOL, T.INT32),
    (T.INT64, T.DOUBLE, T.FLOAT),
    (T.INT32, T.INT8, T.INT16),
    (T.UINT8, T.INT8, T.INT32),
]


def named(case) -> str:
    return "-".join(T.DataType.Name(kind) for kind in case)


def chain(opset: int, start: int, *kinds: int, dims=("N", 3)):
    """Casts one after the other, from a graph input to a graph output."""
    g = Graph()
    y = g.input("x", list(dims), start)
    for kind in kinds:
        y = g.add("Cast", y, to=kind)
    return g.model(y, opset=opset, dtypes={y: kinds[-1]})


@pytest.mark.parametrize("case", LOSSLESS, ids=named)
def test_two_casts_are_one_where_the_first_loses_nothing(case) -> None:
    assert optimized(chain(17, *case)) == Counter(Cast=1)


@pytest.mark.parametrize("case", IDENTITIES, ids=named)
def test_there_and_back_is_where_it_was(case) -> None:
    assert optimized(chain(17, *case, case[0])) == Counter(Identity=1)


@pytest.mark.parametrize("case", LOSSES, ids=named)
def test_two_casts_stay_where_the_first_loses_something(case) -> None:
    check_untouched(chain(17, *case))


@pytest.mark.parametrize("opset", OPSETS)
def test_long_chains_and_casts_to_the_own_type(opset: int) -> None:
    long = chain(opset, T.INT32, T.INT64, T.DOUBLE, T.INT64, T.INT32, T.FLOAT)
    assert check_settled(long) == Counter(Cast=1)
    assert check_settled(chain(opset, T.FLOAT, T.FLOAT, dims=(2, 3, "L"))) == Counter(Identity=1)


@pytest.mark.parametrize("dims", [(), (5,), ("N", 2, 3, 4, 5)])
def test_of_every_rank(dims) -> None:
    assert optimized(chain(17, T.BOOL, T.INT32, T.FLOAT, dims=dims)) == Counter(Cast=1)


def test_ranges_show_that_nothing_is_lost() -> None:
    """Positions of the greatest of ten, through eight bits and through float16."""
    g = Graph(x=["N", 10])
    best = g.add("ArgMax", "x", axis=1)
    y = g.add("Cast", g.add("Cast", g.add("Cast", best, to=T.INT8), to=T.FLOAT16), to=T.INT64)
    assert check_settled(g.model(y, dtypes={y: T.INT64})) == Counter(ArgMax=1)
    nothing = Counter(Identity=1)
    through_int, through_float = chain(17, T.INT64, T.INT32, T.INT64), chain(17, T.INT64, T.FLOAT, T.INT64)
    assert optimized(through_int, assume={"x": (-5, 2**31 - 1)}) == nothing
    check_untouched(through_int, assume={"x": (-5, 2**31)})
    assert optimized(through_float, assume={"x": (0, 2**24 - 1)}) == nothing
    check_untouched(through_float, assume={"x": (0, 2**24 + 1)})


def test_a_sibling_is_computed_once() -> None:
    g = Graph()
    x = g.input("x", ["N", 3], T.INT32)
    first, second = g.add("Cast", x, to=T.FLOAT), g.add("Cast", x, to=T.FLOAT)
    y = g.add("Mul", g.add("Relu", first), g.add("Abs", second))
    assert check_settled(g.model(y)) == Counter(Cast=1, Relu=1, Abs=1, Mul=1)


def test_a_cast_that_is_an_output_too_stays_and_the_pair_is_still_one() -> None:
    g = Graph()
    wide = g.add("Cast", g.input("x", ["N", 3], T.INT32), to=T.INT64)
    y = g.add("Relu", g.add("Cast", wide, to=T.FLOAT))
    model = g.model(wide, y, dtypes={wide: T.INT64})
    assert check_settled(model) == Counter(Cast=2, Relu=1)


def test_a_cast_that_is_used_twice_is_left_by_both_users() -> None:
    g = Graph()
    wide = g.add("Cast", g.input("x", ["N", 3], T.INT16), to=T.INT64)
    y = g.add("Mul", g.add("Cast", wide, to=T.FLOAT), g.add("Relu", g.add("Cast", wide, to=T.FLOAT)))
    assert check_settled(g.model(y)) == Counter(Cast=1, Relu=1, Mul=1)


@pytest.mark.parametrize("opset", OPSETS)
def test_indices_need_no_cast(opset: int) -> None:
    g = Graph(x=["N", 5])
    wide = g.add("Cast", g.input("i", [2, 2], T.INT32), to=T.INT64)
    assert check_settled(g.model(g.add("Gather", "x", wide, axis=1), opset=opset)) == Counter(Gather=1)
