"""What authors of laws call: everything about a law at once, and whole models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from egraph_opt.check import LawRefusedError, assert_sound, check_law, equal_graphs
from egraph_opt.errors import LawError
from egraph_opt.facts.fact import Fact
from egraph_opt.facts.numbers import as_float
from egraph_opt.laws import (
    Example,
    Float,
    Law,
    Operands,
    String,
    Tensor,
    equal,
    guard,
    hosted,
    law,
    number_like,
    relu,
    rewrite,
)
from egraph_opt.laws.exactness import Numerics
from egraph_opt.laws.selection import all_laws
from egraph_opt.operators import unary
from egraph_opt.operators.composites import scores
from egraph_opt.rewrites.conditions.values import broadcasts_into

HEADER = '<ir_version: 8, opset_import: ["" : 17]>'
MODEL = HEADER + "g (float[2, 3] x) => (float[2, 3] y) { a = Relu (x) b = Relu (a) y = Neg (b) }"


ROUNDED = {(f, g) for f in ("Ceil", "Floor", "Round") for g in ("Ceil", "Floor", "Round", "Sign")}


def declared(function: Callable[..., Any], examples: Any = None, numerics: Numerics = "bitwise") -> Law:
    return law("testing_of_testing", numerics=numerics, examples=examples)(function)


def law_named(key: str) -> Law:
    (found,) = (entry for entry in all_laws() if entry.key == key)
    return found


def test_a_law_is_checked_as_a_whole() -> None:
    report = check_law(law_named("transpose.through_unary"), terms=96)
    assert report.terms >= 48 and report.checks and not report.untried and not report.needless
    assert "transpose.through_unary" in str(report)


def test_a_wrong_law_is_refused() -> None:
    def forgets(x: Tensor):
        """Relu(x) = x"""
        yield rewrite(relu(x), x, because="wrong")

    with pytest.raises(
        AssertionError,
        match=r"test_gate\.py:\d+: testing_of_testing\.forgets \(bitwise\) is wrong on Relu\(x0\): ",
    ):
        check_law(declared(forgets))


def test_rounding_is_told_from_other_differences() -> None:
    def rounds(x: Tensor, y: Tensor, z: Tensor):
        """(x + y) + z = x + (y + z), claimed for every bit"""
        yield rewrite((x + y) + z, x + (y + z), because="the other way is the same law")

    with pytest.raises(AssertionError, match="by rounding only: is it numerics='finite' or 'reassociates'"):
        check_law(declared(rounds))


def test_a_symbol_that_examples_do_not_have_is_refused() -> None:
    with pytest.raises(LawError, match="no symbol 'batch' in examples; there are L, M, N"):
        Operands(np.random.default_rng(0)).input(("batch", 3))


@hosted()
def rounds_what_is_round(f: str, g: str) -> bool:
    return (f, g) in ROUNDED


def rounded_twice(f: String, g: String, x: Tensor):
    """f(g(x)) = g(x)"""
    yield rewrite(
        unary(f, (), unary(g, (), x)),
        unary(g, (), x),
        rounds_what_is_round(f, g),
        because="one side is enough here",
    )


@pytest.mark.parametrize(
    "wrong", [("Floor", "Abs"), ("Ceil", "Relu"), ("Round", "Neg"), ("Neg", "Floor"), ("Sign", "Exp")]
)
def test_a_table_with_one_wrong_entry_is_refused(monkeypatch: pytest.MonkeyPatch, wrong: Any) -> None:
    monkeypatch.setitem(globals(), "ROUNDED", ROUNDED | {wrong})
    with pytest.raises(AssertionError):
        check_law(declared(rounded_twice))


def test_a_statement_that_is_checked_on_nothing_is_refused() -> None:
    def never(x: Tensor):
        """Relu(x) = Relu(Relu(x)), asked of nothing"""
        yield rewrite(relu(x), relu(relu(x)), is_impossible(x), because="grows")

    with pytest.raises(
        AssertionError, match=r"no term was found to try statement 0 \(line \d+: yield rewrite"
    ):
        check_law(declared(never))


@hosted()
def is_impossible(x: Fact) -> bool:
    return x.rank == 17


@hosted()
def has_a_name(x: Fact) -> bool:
    return bool(x.name)  # type: ignore[attr-defined]


def test_a_host_function_that_raises_is_named() -> None:
    def named(x: Tensor):
        """Relu(x) = Relu(Relu(x)), of tensors with a name"""
        yield rewrite(relu(x), relu(relu(x)), has_a_name(x), because="grows")

    told = r"(\d+) of \1 calls of has_a_name raised AttributeError: 'Fact' object has no attribute 'name'"
    with pytest.raises(AssertionError, match=told):
        check_law(declared(named))


def test_a_written_near_miss_on_which_the_host_raises_is_none() -> None:
    def named(x: Tensor):
        """Relu(x) = Relu(Relu(x)), of tensors with a name"""
        yield rewrite(relu(x), relu(relu(x)), has_a_name(x), because="grows")

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        g = Operands(rng)
        yield g.near_miss(relu(g.input((2, 3))), why="it has no name")

    with pytest.raises(AssertionError, match="has_a_name raised AttributeError"):
        check_law(declared(named, examples))


@hosted()
def is_short(x: Fact) -> bool:
    return x.rank is not None and x.rank < 4


def test_a_condition_without_which_a_law_is_right_is_named() -> None:
    def short(x: Tensor):
        """Relu(Relu(x)) = Relu(x), of fewer than four axes"""
        yield rewrite(relu(relu(x)), relu(x), is_short(x), because="forgets how often")

    report = check_law(declared(short), terms=48)
    assert [str(each.dropped.expression) for each in report.needless] == ["is_short(x)"]
    assert "without is_short(x) the law is right" in str(report)


def test_a_condition_that_is_for_growth_need_not_be_missed() -> None:
    def short(x: Tensor):
        """Relu(Relu(x)) = Relu(x), looked at where there are few axes"""
        yield rewrite(relu(relu(x)), relu(x), guard(is_short(x)), because="forgets how often")

    assert not check_law(declared(short), terms=48).needless


def test_a_refusal_shows_the_inputs_and_both_sides() -> None:
    def beyond(x: Tensor):
        """|x + 5.5| = x + 5.5"""
        moved = x + number_like(x, 5.5)
        yield rewrite(unary("Abs", (), moved), moved, because="wrong below -5.5")

    with pytest.raises(LawRefusedError) as refusal:
        check_law(declared(beyond))
    lines = str(refusal.value).splitlines()
    assert any(line.startswith("  input x0 = [") for line in lines)
    assert any(line.startswith("  left  [") for line in lines)
    assert any(line.startswith("  right [") for line in lines)


@hosted()
def is_of_floats(x: Fact) -> bool:
    return x.dtype == onnx.TensorProto.FLOAT


def test_a_law_that_grows_is_refused() -> None:
    def endless(x: Tensor):
        """|x| = |-x|"""
        yield equal(unary("Abs", (), x), unary("Abs", (), -x), is_of_floats(x))

    with pytest.raises(LawRefusedError, match="grows without end: Abs"):
        check_law(declared(endless))


@hosted()
def scaled(s: Float, c: Fact, x: Fact) -> Float | None:
    """A scale times a constant of one value, which leaves the shape of x alone and does not overflow."""
    if x.dtype != onnx.TensorProto.FLOAT:
        return None
    if c.splat is None or not 0 < abs(as_float(c.splat)) <= 100 or not broadcasts_into(c.shape, x.shape):
        return None
    return s * as_float(c.splat)


def test_a_law_that_grows_on_a_constant_of_0_only_is_refused() -> None:
    """0 times any scale is 0, which so has all of them."""

    def endless(q: Tensor, k: Tensor, c: Tensor, s: Float):
        """Scores(q, k * c; s) = Scores(q, k; s * c)"""
        yield rewrite(scores(q, k * c, s), scores(q, k, scaled(s, c, k)), because="any scale is a product")

    with pytest.raises(LawRefusedError, match="grows without end: scores"):
        check_law(declared(endless, numerics="reassociates"), terms=60, conditions=False)


def test_graphs_are_equal_whatever_the_names() -> None:
    one = parser.parse_model(MODEL)
    other = parser.parse_model(MODEL.replace("a ", "first ").replace("(a)", "(first)"))
    third = parser.parse_model(MODEL.replace("Neg", "Abs"))
    assert equal_graphs(one, other) and not equal_graphs(one, third)


def test_a_model_is_optimised_compared_and_left_alone() -> None:
    result = assert_sound(parser.parse_model(MODEL))
    assert [node.op_type for node in result.model.graph.node] == ["Relu", "Neg"]
    assert isinstance(result.model, onnx.ModelProto)
