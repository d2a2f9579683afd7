"""Each parameter of `ascend` decides somewhere, or the page says why it cannot."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from egraph_opt import saturate
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.errors import TargetMismatchError
from egraph_opt.lab.sweep.repricer import Repricer

from .ascend_flips import CASES, DECIDED, UNABLE, Case

PAGE = Path(__file__).parents[2] / "docs" / "pages" / "cost-models.md"
HEAD = "| parameter | value | instead | graph | what is chosen then |"


def chosen(repricer: Repricer, model: Ascend, case: Case) -> Counter[str]:
    """The operators of the cheapest graph; saturated again where the parameter is a limit of laws."""
    try:
        found, _ = repricer.solve(model)
    except TargetMismatchError:
        again = saturate(case.model(), target=model, assume=case.assume)
        found, _ = Repricer(again).solve(model)
    assert found.gap < 1e-9
    return Counter(found.graph.operators)


@pytest.mark.parametrize("case", CASES, ids=[case.told for case in CASES])
def test_another_value_chooses_other_operators(case: Case) -> None:
    model = Ascend(case.chip, **case.given)
    repricer = Repricer(saturate(case.model(), target=model, assume=case.assume))
    default = chosen(repricer, model, case)
    for flip in case.flips:
        other = chosen(repricer, Ascend(case.chip, **{**case.given, flip.parameter: flip.value}), case)
        changed = {name: other[name] - default[name] for name in sorted({*other, *default})}
        found = {name: count for name, count in changed.items() if count}
        assert (flip.parameter, found) == (flip.parameter, dict(flip.changes))


def test_every_parameter_decides_or_is_told_to_be_unable() -> None:
    moved = [flip.parameter for case in CASES for flip in case.flips]
    assert len(set(moved)) == len(moved)
    assert sorted([*moved, *DECIDED, *UNABLE]) == sorted(Ascend.declared_parameters())


def shown(value: Any) -> str:
    """A value in a table; of lists and tables what they become is enough."""
    if isinstance(value, (int, float)):
        return f"{value:,}"
    if not value:
        return "none"
    if any(isinstance(part, dict) for part in value):
        return "as declared"
    return f"`{value}`" if isinstance(value, str) or len(value) < 5 else "as declared"


def rows() -> list[str]:
    """The rows of the page's table."""
    found = []
    for case in CASES:
        for flip in case.flips:
            value = Ascend.declared_parameters(case.chip)[flip.parameter].value
            before, instead = shown(case.given.get(flip.parameter, value)), shown(flip.value)
            changes = ", ".join(f"{count:+d} {name}" for name, count in flip.changes.items())
            found.append(f"| `{flip.parameter}` | {before} | {instead} | {case.told} | {changes} |")
    return found


def test_the_page_has_a_row_for_each() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert HEAD in page
    assert [row for row in rows() if row not in page] == []
    assert [name for name, why in UNABLE.items() if f"| `{name}` | {why} |" not in page] == []
