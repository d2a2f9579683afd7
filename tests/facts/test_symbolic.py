"""Symbolic dims compute what the numbers would, and equal dims have equal texts."""

import operator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from egraph_opt.facts import symbolic

NAMES = ("L", "batch", "DynamicDimension.0", "2*L+1", "a`b", "max", "7")
OPERATIONS = {
    symbolic.add: operator.add,
    symbolic.sub: operator.sub,
    symbolic.mul: operator.mul,
    symbolic.floordiv: operator.floordiv,
    symbolic.maximum: max,
    symbolic.minimum: min,
}


@st.composite
def expressions(draw):
    """A dim, and the function of the bindings that it is."""
    pool: list[Any] = [(symbolic.symbol(n), lambda at, n=n: at[n]) for n in draw(st.permutations(NAMES))[:3]]
    pool.append((number := draw(st.integers(-4, 6)), lambda at: number))
    for _ in range(draw(st.integers(1, 7))):
        (a, f), (b, g) = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
        symbolically = draw(st.sampled_from(list(OPERATIONS)))
        dim = symbolically(a, b)
        if dim is not None:
            exactly = OPERATIONS[symbolically]
            pool.append((dim, lambda at, f=f, g=g, exactly=exactly: exactly(f(at), g(at))))
    return pool[-1]


@settings(max_examples=400, deadline=None)
@given(expressions(), st.lists(st.fixed_dictionaries({n: st.integers(0, 9) for n in NAMES}), min_size=3))
def test_a_dim_evaluates_to_what_its_numbers_give_and_stays_in_its_bounds(expression, bindings):
    dim, exactly = expression
    low, high = symbolic.lower_bound(dim), symbolic.upper_bound(dim)
    for at in bindings:
        try:
            number = exactly(at)
        except ZeroDivisionError:
            continue
        assert symbolic.evaluate(dim, at) == number
        assert low is None or low <= number
        assert high is None or high >= number


@settings(max_examples=200, deadline=None)
@given(expressions())
def test_a_text_reads_back_as_itself(expression):
    dim, _ = expression
    if isinstance(dim, str):
        assert symbolic.canonical(dim) == dim
        assert symbolic.symbols(dim) <= set(NAMES)


@settings(max_examples=200, deadline=None)
@given(expressions(), expressions())
def test_a_quotient_is_exact_or_not_known(a, b):
    product = symbolic.mul(a[0], b[0])
    quotient = symbolic.exact_div(product, b[0])
    if product is not None and b[0] != 0 and quotient is not None:
        assert symbolic.mul(quotient, b[0]) == product


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("(L - 1)//2 + 1", "(L + 1)//2"),
        ("((L - 1)//2)//3", "(L - 1)//6"),
        ("(2*L + 4)//2", "L + 2"),
        ("(L + M)*(L - M)", "L**2 - M**2"),
        ("min(5, L + 5)", 5),
        ("max(L, 0)", "L"),
        ("max(L - 1, 0) + 1", "max(L, 1)"),
        ("min(L, M)", "L + M - max(L, M)"),
        ("max(L, 256)//256", "max(L//256, 1)"),
        ("L - L", 0),
        ("3*L - -2*L", "5*L"),
    ],
)
def test_expressions_that_are_equal_have_one_text(text, normal):
    assert symbolic.canonical(text) == (symbolic.canonical(normal) if isinstance(normal, str) else normal)


def test_a_declared_name_is_one_symbol_whatever_it_looks_like():
    dim = symbolic.mul(symbolic.symbol("2*L+1"), 3)
    assert dim == "3*`2*L+1`"
    assert symbolic.symbols(dim) == {"2*L+1"}
    assert symbolic.evaluate(dim, {"2*L+1": 5, "L": 100}) == 15


def test_an_unknown_dim_equals_nothing_and_stays_unknown():
    assert not symbolic.known_equal(None, None)
    assert not symbolic.known_equal("L", "M")
    assert symbolic.known_equal("L", "L")
    assert symbolic.add(None, 1) is None
    assert symbolic.product(["L", None]) is None
    assert symbolic.product([0, None]) == 0


def test_division_is_refused_where_it_is_not_proved():
    assert symbolic.exact_div("L", 2) is None
    assert symbolic.exact_div("6*L*M", "3*M") == "2*L"
    assert symbolic.exact_div("L*M + L", "M + 1") == "L"
    assert symbolic.floordiv("L", 0) is None
    assert symbolic.ceildiv("L", 4) == "(L + 3)//4"


def test_evaluation_says_what_is_missing():
    with pytest.raises(KeyError):
        symbolic.evaluate("L + M", {"L": 1})
    with pytest.raises(ValueError, match="unknown"):
        symbolic.evaluate(None, {})
    with pytest.raises(ValueError, match="not a dimension"):
        symbolic.canonical("L +")
    with pytest.raises(ValueError, match="not a dimension"):
        symbolic.canonical("L $ M")


def test_an_expression_that_grows_without_end_becomes_unknown():
    dim: int | str | None = symbolic.symbol("x")
    for k in range(60):
        dim = symbolic.add(symbolic.mul(dim, symbolic.symbol(f"y{k}")), symbolic.symbol(f"z{k}"))
    assert dim is None


def test_a_minimum_is_recognised_as_a_limit():
    limited = symbolic.minimum("L", 512)
    assert symbolic.is_limited(limited, "L", least=2)
    assert symbolic.is_limited("L", "L", least=2)
    assert not symbolic.is_limited(symbolic.minimum("L", 1), "L", least=2)
    assert not symbolic.is_limited(limited, "M", least=2)
