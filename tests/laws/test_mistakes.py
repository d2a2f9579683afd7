"""What people write by mistake: wrong constants, sides and host functions, told with file and line."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest

from egraph_opt.check import LawRefusedError, check_law
from egraph_opt.errors import LawError
from egraph_opt.laws import loading
from egraph_opt.laws.loading import load_laws
from egraph_opt.operators.values import plain_value

HEAD = """from egraph_opt.facts.fact import Fact
from egraph_opt.laws import *
from egraph_opt.operators import *
import numpy as np
"""


def written(
    tmp_path: Path, body: str, *, above: str = "", parameters: str = "x: Tensor", options: str = ""
) -> Path:
    """A file of one law, whose statement is on its last line."""
    path = tmp_path / "laws.py"
    path.write_text(
        f"{HEAD}{textwrap.dedent(above)}\n@law('mine', numerics='bitwise'{options})\n"
        f"def mine({parameters}):\n    '''A law'''\n    {body}\n",
        encoding="utf-8",
    )
    return path


def one(sides: str, *conditions: str) -> str:
    return f"yield rewrite({', '.join([sides, *conditions])}, because='odd')"


def last_line(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (one("relu(x) * 2, x"), r"Mul of .* and 2: write a number as a tensor, with `number_like`"),
        (one("2 * relu(x), x"), "Mul of 2 and .*: write a number as a tensor"),
        (one("np.float32(2) * relu(x), x"), r"Mul of np\.float32\(2\.0\) and"),
        (one("np.ones(3) - relu(x), x"), r"Sub of array\(\[1\., 1\., 1\.\]\) and"),
        (one("relu(x), relu(x) + number_like(x, 'two')"), "number_like: 'two' is no Number"),
        (one("softmax('Softmax', x, 'a'), x"), "axis: 'a' is no Axis"),
        (one("softmax('Softmax', x, 1.0), x"), r"axis: 1\.0 is no Axis"),
        (one("softmax('Softmax', x, -1), x"), "axis: -1 is no Axis: .* from the front"),
        (one("transpose(x, [1, 0]), x"), r"perm: \[1, 0\] is no Permutation: .*; write a tuple"),
        (one("transpose(x, np.array([1, 0])), x"), "perm: .* is no Permutation: .*; write a tuple"),
        (one("transpose(x, '10'), x"), "perm: '10' is no Permutation"),
        (one("transpose(x, (1.0, 0.0)), x"), "is no Permutation"),
        (one("transpose(x, (0, 0)), x"), r"\(0, 0\) is no Permutation: that is a tuple of all axes"),
        (one("slice_(x, (0, 1, 2, 1)), x"), "is no Slices: that is a tuple of"),
        (one("cast(x, 'float'), x"), "to: 'float' is no DataType"),
        (one("unary('Elu', [('alpha', 1.0)], x), x"), "is no Settings"),
        (one("unary('Elu', (('alpha', 1),), x), x"), "alpha of Elu is 1, and no float of ONNX"),
        (one("concat([x, x], 0), x"), "is no Tensors; write a list of operands with `listed`"),
        (one("relu(x), 1.0"), r"rewrite: 1\.0 is no Tensor; write a number as a tensor"),
        (one("1.0, relu(x)"), r"rewrite: 1\.0 is no Tensor"),
        (one("relu(x), None"), "rewrite: None is no Tensor"),
        (one("relu(x), fact(x)"), r"`fact\(x\)` is a Attribute, and not a Tensor"),
        (one("relu(x), x, eq(1, 2)"), "eq: neither 1 nor 2 is part of a pattern"),
        (one("relu(x), x, ne(3, x)"), "ne: 3 is no Tensor"),
        (one("relu(x), x, x"), "`x` alone is no condition"),
        (one("relu(x), x, absent(x)"), "absent takes what a host function answers, and not `x`"),
        (one("relu(x), x, limit(3)"), "there is no limit 3"),
        (one("relu(x), x, len(x) > 1"), r"no len\(\); .* functions with @hosted\(\)"),
        ("yield rule(eq(x, relu(x)), then=union(3, x), because='odd')", "union: 3 is no Tensor"),
        ("yield rewrite(relu(relu(x)), relu(x), because=3)", "the reason is 3, and no text"),
        ("yield rewrite(relu(relu(x)), relu(x), because=' ')", "does not say why"),
        ("raise ValueError('one\\n    two'); yield", "ValueError: one two"),
        ("import sys; sys.exit(3); yield", "SystemExit: 3"),
        ("assert False; yield", "AssertionError$"),
        ("while True: yield rewrite(relu(relu(x)), relu(x), because='odd')", "yields more than 1000 st"),
    ],
)
def test_a_mistake_in_a_statement_is_told(tmp_path: Path, body: str, told: str) -> None:
    path = written(tmp_path, body.replace("\\n    ", "\\n"))
    with pytest.raises(LawError, match=told) as raised:
        load_laws(path)
    assert str(raised.value).startswith(f"{path}:{last_line(path)}: mine: ")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (", uses='chains'", "mine: uses is a tuple of what @auxiliary"),
        (", required='slice.compose'", "mine: required is a tuple of names"),
        (", required=('slice.compos',)", "requires slice.compos, which is no law; did you mean 'slice.comp"),
        (", examples=3", "mine: examples is a function, and not 3"),
    ],
)
def test_a_setting_of_a_law_that_is_wrong_is_told(tmp_path: Path, options: str, told: str) -> None:
    with pytest.raises(LawError, match=rf"laws\.py:6: {told}|laws\.py:6: mine: {told}"):
        load_laws(written(tmp_path, one("relu(relu(x)), relu(x)"), options=options))


def test_numbers_of_numpy_are_numbers() -> None:
    assert repr(plain_value((np.int64(1), np.int64(0)), "Permutation", "")) == "(1, 0)"
    assert repr(plain_value(np.float32(0.5), "Float", "")) == "0.5"
    assert repr(plain_value(1, "Float", "")) == "1.0"
    assert repr(plain_value(1, "Number", "")) == "1"


HOST = """
@hosted()
def asked(p: Permutation{more}) -> {answer}:
    {body}
"""
COMPOSED = "transpose(transpose(x, p), q), transpose(x, asked(p))"


@pytest.mark.parametrize(
    ("answer", "body", "told"),
    [
        ("Permutation", "raise KeyError('gone')", "raised KeyError: 'gone'"),
        ("Permutation", "import sys; sys.exit(4)", "raised SystemExit: 4"),
        ("Permutation", "return asked.function(p)", "raised RecursionError"),
        ("Permutation", "return list(p)", r"raised TypeError: its answer: \[.*\] is no Permutation"),
        ("Permutation", "return 3", "raised TypeError: its answer: 3 is no Permutation"),
        ("Permutation", "return np.array(p)", r"raised TypeError: .* is no Perm.*; write a tuple"),
    ],
)
def test_a_host_function_that_goes_wrong_is_told(tmp_path: Path, answer: str, body: str, told: str) -> None:
    above = HOST.format(more="", answer=answer, body=body)
    path = written(
        tmp_path, one(COMPOSED), above=above, parameters="x: Tensor, p: Permutation, q: Permutation"
    )
    (law,) = load_laws(path)
    with pytest.raises(LawError, match=rf"laws\.py:\d+: mine\.mine: no term was .* calls of asked {told}"):
        check_law(law)


def test_a_condition_answers_true_or_false(tmp_path: Path) -> None:
    above = "@hosted()\ndef asked(x: Fact) -> bool:\n    return 'yes'"
    (law,) = load_laws(written(tmp_path, one("relu(relu(x)), relu(x), asked(x)"), above=above))
    with pytest.raises(LawError, match="asked raised TypeError: it answers 'yes', and not True or False"):
        check_law(law)


def test_host_functions_are_declared_with_parentheses(tmp_path: Path) -> None:
    above = "@hosted\ndef asked(x: Fact) -> bool:\n    return True"
    with pytest.raises(LawError, match=r"laws\.py:5: write `@hosted\(\)`, with parentheses"):
        load_laws(written(tmp_path, one("relu(relu(x)), relu(x), asked(x)"), above=above))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise KeyError('gone')\n    yield", "its examples raise KeyError: 'gone'"),
        ("yield 3", "3 is no example: yield what"),
    ],
)
def test_examples_that_go_wrong_are_told(tmp_path: Path, body: str, told: str) -> None:
    above = f"def shown(rng):\n    {body}"
    path = written(tmp_path, one("relu(relu(x)), relu(x)"), above=above, options=", examples=shown")
    (law,) = load_laws(path)
    with pytest.raises(LawError, match=rf"laws\.py:\d+: mine: {told}"):
        check_law(law)


@pytest.mark.parametrize(
    ("body", "above"), [("while True: pass\n    yield", ""), (one("relu(x), x"), "while True: pass")]
)
def test_a_file_that_does_not_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, above: str
) -> None:
    monkeypatch.setattr(loading, "LONGEST", 0.5)
    with pytest.raises(LawError, match=r"laws\.py:\d+: .*it is not done after"):
        load_laws(written(tmp_path, body, above=above))


def test_what_onnx_refuses_is_told_of_the_law(tmp_path: Path) -> None:
    above = "@hosted()\ndef asked(x: Fact) -> Settings:\n    return (('alpha', 'x'),)"
    (law,) = load_laws(written(tmp_path, one("relu(relu(x)), unary('Elu', asked(x), x)"), above=above))
    with pytest.raises(LawRefusedError, match=r"laws\.py:\d+: mine\.mine .* is wrong on .*alpha"):
        check_law(law)
