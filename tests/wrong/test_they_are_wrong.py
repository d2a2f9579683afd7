"""Wrong laws are declared as laws are, fire on their witness, and compute something else there."""

from __future__ import annotations

import pytest

from egraph_opt.laws.checking import check, unused
from egraph_opt.laws.law import registered
from egraph_opt.laws.statements import Equality

from . import wrong_laws
from .witnesses import shown

ALL = wrong_laws()
WITNESSED = [name for name, entry in ALL.items() if not entry.endless]


@pytest.mark.parametrize("name", ALL)
def test_it_is_declared_as_a_law_is(name):
    law = ALL[name].law
    found = check(law)
    assert not unused(law)
    assert law.function.__doc__.count("\n") >= 2, "it says where it is wrong"
    for statement in found:
        one_way = not isinstance(statement, Equality) or not statement.both
        assert not one_way or statement.because


@pytest.mark.parametrize("name", WITNESSED)
def test_it_goes_wrong_on_its_witness(name):
    entry = ALL[name]
    fired, told = shown(entry.law, entry.witness, entry.opset, entry.values)
    assert fired, "it does not fire"
    assert told, "both sides are the same"


def test_none_of_them_is_registered():
    assert not any(key.startswith("wrong.") for key in registered)
