"""Wrong laws are declared as laws are, fire on their witness, and compute something else there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from egraph_opt.laws.checking import check, unused
from egraph_opt.laws.law import registered
from egraph_opt.laws.statements import Equality

from . import wrong_laws
from .let_loose import harm_of
from .witnesses import saturation_of, shown

ALL = wrong_laws()
ENDLESS = [name for name, entry in ALL.items() if entry.endless]
WITNESSED = [name for name, entry in ALL.items() if not entry.endless]


@pytest.mark.parametrize("name", ALL)
def test_it_is_declared_as_a_law_is(name):
    law = ALL[name].law
    found = check(law)
    assert not unused(law)
    assert str(law.function.__doc__).count("\n") >= 2, "it says where it is wrong"
    for statement in found:
        one_way = not isinstance(statement, Equality) or not statement.both
        assert not one_way or statement.because


@pytest.mark.parametrize("name", WITNESSED)
def test_it_goes_wrong_on_its_witness(name):
    entry = ALL[name]
    report = saturation_of(entry.law, entry.witness, entry.opset)
    assert report.matches or report.dropped or entry.law.uses, "it does not fire"
    fired, told = shown(entry)
    if not fired and entry.law.uses:  # of what its auxiliaries say, no statement is matched as it is written
        told = harm_of(entry, verified=False)
    else:
        assert fired, "it does not fire as it is written"
    assert told, "both sides are the same"


@pytest.mark.parametrize("name", ENDLESS)
def test_it_grows_on_its_witness_without_end(name):
    entry = ALL[name]
    early, late = (saturation_of(entry.law, entry.witness, entry.opset, rounds) for rounds in (3, 6))
    assert (early.stop, late.stop) == ("rounds", "rounds")
    assert late.nodes > early.nodes


def test_laws_of_operators_that_they_declare_go_wrong_in_a_process_of_their_own():
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-m", "tests.wrong.own"], cwd=root, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "failed: none" in run.stdout


def test_none_of_them_is_registered():
    assert not any(key.startswith("wrong.") for key in registered)
