"""The tables of odd values, and how they are laid out over inputs."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from egraph_opt.verification import verify
from egraph_opt.verification.odd_values import (
    MOST_ROUNDS,
    integer_table,
    integers,
    rounds,
    special,
    special_floats,
    spread,
)
from egraph_opt.verification.roles import reached
from egraph_opt.verification.turning_points import turning_points

from .models import model

FLOATS = {"x": np.ones((3, 200), np.float32), "z": np.ones((3, 200), np.float32), "i": np.ones(4, np.int64)}


@pytest.mark.parametrize(("kind", "low", "high"), [("near", -3, 4), ("middle", -9, 9), ("wide", -30, 30)])
def test_every_decade_is_there_in_both_signs(kind: str, low: int, high: int) -> None:
    made = spread(FLOATS, kind, (), 0)  # type: ignore[arg-type]
    assert made["i"] is FLOATS["i"]
    for sign in (1, -1):
        found = made["x"][np.sign(made["x"]) == sign]
        decades = set(np.floor(np.log10(np.abs(found))).astype(int).tolist())
        assert decades >= set(range(low, high))
    assert not np.array_equal(made["x"], made["z"])


def test_a_scalar_has_every_decade_in_several_runs() -> None:
    scalar = {"x": np.ones((), np.float32)}
    count = rounds(scalar, "f", 40)
    assert count == MOST_ROUNDS
    made = [float(spread(scalar, "near", (), 0, part=(k, count))["x"]) for k in range(count)]
    assert {int(np.floor(np.log10(abs(v)))) for v in made} == set(range(-3, 4))


def test_constants_are_met_and_passed() -> None:
    made = spread(FLOATS, "near", (5.5,), 0)["x"]
    assert (np.abs(made) == 5.5).any()
    assert ((np.abs(made) > 5.4) & (np.abs(made) < 5.5)).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_the_special_floats_of_a_type_are_all_there(dtype: type) -> None:
    table = special_floats(np.dtype(dtype), "all")
    assert table.dtype == dtype
    wide = table.astype(np.float64)
    assert np.isnan(wide).any() and (wide == np.inf).any() and (wide == -np.inf).any()
    assert (np.signbit(wide) & (wide == 0)).any()
    tiny = float(ml_dtypes.finfo(dtype).tiny)
    assert ((np.abs(wide) < tiny) & (wide != 0)).any()
    assert float(ml_dtypes.finfo(dtype).max) in wide


def test_one_kind_of_special_value_is_at_a_few_places() -> None:
    made = special(FLOATS, "nans", 0)["x"]
    assert 0 < np.isnan(made).mean() < 0.1


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_integers_hold_the_ends_of_their_type(dtype: type) -> None:
    info, table = np.iinfo(dtype), integer_table(np.dtype(dtype), (20,))
    assert {int(info.min), int(info.max), 0, 1, 19, 20, 21} <= set(table)
    assert not any(v < info.min or v > info.max for v in table)
    if dtype == np.int64:
        assert {2**31, 2**53 + 1, 2**24 + 1, -1} <= set(table)


def test_integers_stay_within_a_range() -> None:
    made = integers({"i": np.zeros(100, np.int64)}, {"i": (-1, 7)}, (), 0)["i"]
    assert made.min() == -1 and made.max() == 7


def test_small_inputs_meet_what_is_beside_constants_before_the_table_ends() -> None:
    feeds, known = {"i": np.zeros(2, np.int64)}, (16777210, 16777300)
    made = [
        integers(feeds, {"i": (-(2**63), 2**63 - 1)}, known, s, part=(k, 4))["i"]
        for s in (0, 1)
        for k in range(4)
    ]
    for runs in (made[:4], made[4:]):
        assert sum(abs(abs(int(v)) - c) <= 1 for v in np.concatenate(runs) for c in known) == 4


def test_numbers_between_two_constants_that_are_close_are_turning_points() -> None:
    made = model(
        "g (float[4] x, int64[4] i) => (float[4] y, int64[4] j) { y = Clip (x, a, b) j = Clip (i, c, d) }",
        a=np.array(1000, np.float32),
        b=np.array(1001, np.float32),
        c=np.array(10**9, np.int64),
        d=np.array(10**9 + 90, np.int64),
    )
    found = turning_points([made])
    assert 1000.5 in found.thresholds and 10**9 + 45 in found.integers


def test_what_an_input_feeds_is_found_through_arithmetic_casts_and_bodies() -> None:
    made = model("""g (int64[4] i, int64[4] d, int64[4] n, int64[4] x, bool b) => (float[4] y, int64[4] z) {
        one = Constant <value_int = 1> ()
        j = Sub (i, one)
        f = Cast <to = 1> (j)
        k = Cast <to = 7> (f)
        t = Cast <to = 1> (x)
        y = If (b) <
            then_branch = t1 () => (float[4] p) { p = Gather (t, k) },
            else_branch = e1 () => (float[4] q) { q = Expand (t, n) }
        >
        z = Div (x, d)
    }""")
    found = reached([made], ["i", "d", "n", "x"])
    assert found == {"i": {("Gather", 1)}, "d": {("Div", 1)}, "n": {("Expand", 1)}, "x": {("Div", 0)}}


def test_what_is_divided_takes_all_numbers_only_where_no_divisor_is_minus_one() -> None:
    text = "g (int64[4] x) => (int64[4] z) {{ k = Constant <value_int = {}> () a = Neg (x) z = Div (a, k) }}"
    assert reached([model(text.format(3))], ["x"]) == {"x": set()}
    assert reached([model(text.format(-1))], ["x"]) == {"x": {("Div", 0)}}


@pytest.mark.parametrize(
    ("used", "operands"),
    [("Gather (x, j)", set()), ("Slice (x, j, j)", set()), ("Expand (x, j)", {("Expand", 1)})],
)
def test_what_a_clip_makes_small_is_no_index_of_an_input(used: str, operands: set[tuple[str, int]]) -> None:
    made = model(f"""g (float[9] x, int64[1] i) => (float[n] y) {{
        low = Constant <value_int = -1> ()
        high = Constant <value_int = 9> ()
        j = Clip (i, low, high)
        y = {used}
    }}""")
    assert reached([made], ["i"]) == {"i": operands}


@pytest.mark.parametrize(("low", "operands"), [(-1, {("Div", 1)}), (0, {("Div", 1)}), (1, set())])
def test_what_a_clip_makes_may_be_a_divisor_that_is_0(low: int, operands: set[tuple[str, int]]) -> None:
    made = model(f"""g (int64[4] x, int64[4] i) => (int64[4] z) {{
        low = Constant <value_int = {low}> ()
        high = Constant <value_int = 9> ()
        j = Clip (i, low, high)
        z = Div (x, j)
    }}""")
    assert reached([made], ["i"]) == {"i": operands}


def test_what_is_wrong_in_the_middle_of_a_range_only_is_seen() -> None:
    """13 * 10 is beyond int8, 23 * 0 is not."""
    text = "g (int64[8] x) => (int64[8] y) {{ i = Clip (x, zero, end) j = Sub (end, i) k = Mul (i, j) {} }}"
    ends: dict[str, Any] = {"zero": np.array(0, np.int64), "end": np.array(23, np.int64)}
    before = model(text.format("b = Cast <to = 3> (k) y = Cast <to = 7> (b)"), **ends)
    assert verify(before, before).status == "passed"
    assert verify(before, model(text.format("y = Identity (k)"), **ends)).status == "failed"


def test_constants_of_models_are_found_in_nodes_attributes_and_bodies() -> None:
    made = model(
        """g (float[n] x, bool b) => (float[m] y) {
            e = Constant <value_ints = [20]> ()
            z = Constant <value_ints = [0]> ()
            s = Slice (x, z, e, z)
            l = LeakyRelu <alpha = 0.3> (s)
            y = If (b) <
                then_branch = t () => (float[p] p1) { k = Constant <value_float = 5.5> () p1 = Add (l, k) },
                else_branch = f () => (float[p] q1) { q1 = Mul (l, w) }
            >
        }""",
        w=np.array([7.25], np.float32),
    )
    found = turning_points([made])
    assert {5.5, 7.25, 20.0} <= set(found.thresholds) and any(abs(v - 0.3) < 1e-6 for v in found.thresholds)
    assert set(found.integers) == {20, 10, 0}
    assert set(found.sizes) == {19, 20, 21, 41}
