"""Mutants are there to be run (`make mutants`), which takes long: here, that each is one, and one of them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from egraph_opt.laws.selection import all_laws

from .__main__ import ROOT, is_noticed, tree
from .declared import LAWS, MUTANTS, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what)
def test_a_mutant_changes_one_place(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1
    ast.parse(text.replace(mutant.old, mutant.new))
    assert all((ROOT / test.split("::")[0]).exists() for test in mutant.tests)


def test_mutants_of_laws_are_of_laws_that_there_are() -> None:
    known = {law.key for law in all_laws()}
    assert {mutant.what.split(":")[0] for mutant in LAWS} <= known


def test_a_mutant_is_noticed(tmp_path: Path) -> None:
    tree(tmp_path)
    test = is_noticed(LAWS[1], tmp_path, 0)
    assert test is not None and "test_a_law_passes_the_gate" in test
