"""What holds of every declared law: it reads like a law, says its directions, and shares its relations."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from egraph_opt.laws.checking import check, unused
from egraph_opt.laws.direction import check_named_laws
from egraph_opt.laws.law import Law, auxiliaries
from egraph_opt.laws.selection import all_laws

MOST_RULES = 1928
MEDIAN_LINES = 56
"""Both may only shrink, but for what a new family of laws or tables that end growth bring."""

BUILT_IN = [law for law in all_laws() if law.function.__module__.startswith("egraph_opt.rewrites.")]


@pytest.mark.parametrize("entry", BUILT_IN, ids=lambda entry: entry.key)
def test_a_law_is_declared_well(entry: Law) -> None:
    check(entry)
    check_named_laws(entry)
    assert not unused(entry)


def test_no_auxiliary_has_parameters_that_it_does_not_use() -> None:
    found = {entry.name: unused(entry) for entry in auxiliaries(BUILT_IN)}
    assert not {name: names for name, names in found.items() if names}


def test_the_number_of_rules_does_not_grow_unseen() -> None:
    """Relations that laws share are registered once; a law that is matched from both sides has two rules."""
    # In a process of its own: other tests declare operators, each of which has a rule.
    asked = (
        "from egraph_opt.egraph.commands import rule_texts; from egraph_opt.laws.selection import all_laws;"
        "print(sum(text.startswith('(rule ') for text in rule_texts(all_laws())))"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert int(told.stdout) <= MOST_RULES


def test_laws_stay_short() -> None:
    """A law's share of its file: law, host functions, examples, imports and text; 30 is the aim."""
    files = Counter(inspect.getsourcefile(law.function) for law in BUILT_IN)
    lines = {file: len(Path(file).read_text(encoding="utf-8").splitlines()) for file in files if file}
    assert median(lines[file] / files[file] for file in files.elements() if file) <= MEDIAN_LINES
