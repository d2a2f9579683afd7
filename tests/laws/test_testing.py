"""What authors of laws call: everything about a law at once, and whole models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from egraph_opt.errors import LawError
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Law, Mode, Operands, Pads, String, Tensor, hosted, law, relu, rewrite
from egraph_opt.laws.law import registered
from egraph_opt.laws.selection import all_laws
from egraph_opt.operators import pad, unary
from egraph_opt.testing import assert_sound, check_law, equal_graphs

HEADER = '<ir_version: 8, opset_import: ["" : 17]>'
MODEL = HEADER + "g (float[2, 3] x) => (float[2, 3] y) { a = Relu (x) b = Relu (a) y = Neg (b) }"


ROUNDED = {(f, g) for f in ("Ceil", "Floor", "Round") for g in ("Ceil", "Floor", "Round", "Sign")}


def declared(function: Callable[..., Any], examples: Any = None) -> Law:
    return law("testing_of_testing", numerics="bitwise", examples=examples)(function)


def law_named(key: str) -> Law:
    (found,) = (entry for entry in all_laws() if entry.key == key)
    return found


def test_a_law_is_checked_as_a_whole() -> None:
    report = check_law(law_named("transpose.through_unary"))
    assert report.drawn and report.checks and not report.unexampled
    assert "transpose.through_unary" in str(report)


def test_a_wrong_law_is_refused() -> None:
    def forgets(x: Tensor):
        """Relu(x) = x"""
        yield rewrite(relu(x), x, because="wrong")

    with pytest.raises(AssertionError, match=r"testing_of_testing\.forgets, line \d+, on Relu\(x0\): "):
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


def test_every_entry_of_a_table_is_checked() -> None:
    report = check_law(declared(rounded_twice))
    assert len(report.entries[0].checked) == len(ROUNDED)
    assert "12 of 12 pairs of `f` and `g` checked" in str(report)


@pytest.mark.parametrize("wrong", [("Floor", "Abs"), ("Ceil", "Relu"), ("Round", "Neg"), ("Neg", "Floor")])
def test_a_table_with_one_wrong_entry_is_refused(monkeypatch: pytest.MonkeyPatch, wrong: Any) -> None:
    monkeypatch.setitem(globals(), "ROUNDED", ROUNDED | {wrong})
    with pytest.raises(AssertionError):
        check_law(declared(rounded_twice))


@hosted()
def pads_alone(m: str, p: tuple[int, ...]) -> tuple[int, ...] | None:
    return p if m in ("constant", "edge") else None


def test_every_mode_that_the_host_is_asked_about_is_checked() -> None:
    def padded(x: Tensor, m: Mode, p: Pads):
        """Pad(Relu(x)) = Relu(Pad(x)), for a constant of 0 and edges"""
        yield rewrite(
            pad(relu(x), m, p, 0.0), relu(pad(x, m, pads_alone(m, p), 0.0)), because="one side is enough here"
        )

    report = check_law(declared(padded))
    (modes,) = report.entries
    assert [list(entry.values()) for entry in modes.checked] == [["constant"], ["edge"]]
    assert "no example where m = 'reflect'" in str(report)


def test_a_statement_that_is_checked_on_nothing_is_refused() -> None:
    def never(x: Tensor):
        """Relu(x) = Relu(Relu(x)), asked of nothing"""
        yield rewrite(relu(x), relu(relu(x)), is_impossible(x), because="grows")

    with pytest.raises(AssertionError, match=r"statement 0 \(line \d+: yield rewrite.* has no example"):
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
def is_thirteen(x: Fact) -> bool:
    return x.shape != (13,)


def test_a_written_near_miss_pins_its_condition() -> None:
    def thirteen(x: Tensor):
        """Relu(Relu(x)) = Relu(x), but of thirteen elements"""
        yield rewrite(relu(relu(x)), relu(x), is_thirteen(x), because="forgets how often")

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        g = Operands(rng)
        yield g.near_miss(relu(relu(g.input((13,)))), why="there are thirteen")

    assert check_law(declared(thirteen)).unpinned
    del registered["testing_of_testing.thirteen"]
    assert not check_law(declared(thirteen, examples)).unpinned


def test_graphs_are_equal_whatever_the_names() -> None:
    one = parser.parse_model(MODEL)
    other = parser.parse_model(MODEL.replace("a ", "first ").replace("(a)", "(first)"))
    third = parser.parse_model(MODEL.replace("Neg", "Abs"))
    assert equal_graphs(one, other) and not equal_graphs(one, third)


def test_a_model_is_optimised_compared_and_left_alone() -> None:
    result = assert_sound(parser.parse_model(MODEL))
    assert [node.op_type for node in result.model.graph.node] == ["Relu", "Neg"]
    assert isinstance(result.model, onnx.ModelProto)
