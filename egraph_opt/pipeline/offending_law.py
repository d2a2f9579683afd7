"""A wrong result: the laws that made it are found by leaving laws out, and left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from egraph_opt.laws.law import where
from egraph_opt.laws.selection import all_laws
from egraph_opt.pipeline.places import is_ours, needed
from egraph_opt.pipeline.result import Result

Run = Callable[[frozenset[str]], Result]
"""An optimization without some laws."""


@dataclass(frozen=True)
class Blamed:
    """What comes of leaving laws out.

    Attributes:
        text: names the laws; "" where none are to blame.
        are_ours: they are part of this package.
    """

    result: Result
    text: str = ""
    are_ours: bool = True


def without_offending_law(wrong: Result, matched: Iterable[str], run: Run) -> Blamed:
    """The result without the laws that make outputs wrong; a warning names them.

    Laws that are not part of this package are suspected first, and as few of them are left out as do.  Of our
    own one alone is suspected: where it takes several, numbers that leave their range are the likelier cause.

    Args:
        wrong: the result with all laws: the original, with the reason.
        matched: the laws that found something.
        run: optimises without the laws named.

    Returns:
        `wrong`, if no laws are to blame.
    """
    known: dict[frozenset[str], Result] = {}

    def without(keys: Iterable[str]) -> Result:
        out = frozenset(keys)
        if out not in known:
            known[out] = run(out)
        return known[out]

    def is_right(keys: Iterable[str]) -> bool:
        return without(keys).report.verification.status != "failed"

    foreign, every = _suspects(matched)
    suspects = next((group for group in (foreign, every) if group and is_right(group)), [])
    offending = needed([], suspects, is_right) if suspects else []
    are_foreign = set(offending) <= set(foreign)
    if not offending or (len(offending) > 1 and not are_foreign):
        return Blamed(wrong)
    blame = _blame(offending)
    left_out = "was left out" if len(offending) == 1 else "were left out"
    warning = f"{blame} and {left_out}: {wrong.report.verification.detail}"
    result = without(offending)
    report = replace(result.report, warnings=(*result.report.warnings, warning))
    return Blamed(replace(result, report=report), blame, not are_foreign)


def _blame(keys: Iterable[str]) -> str:
    laws = [law for law in all_laws() if law.key in set(keys)]
    if len(laws) == 1:
        return f"{where(laws[0].function)}: law {laws[0].key} ({laws[0].numerics}) makes the outputs wrong"
    named = ", ".join(f"{law.key} ({law.numerics}, {where(law.function)})" for law in laws)
    return f"the laws {named} make the outputs wrong"


def _suspects(matched: Iterable[str]) -> tuple[list[str], list[str]]:
    """The laws of others, and all."""
    keys = set(matched)
    laws = [law for law in all_laws() if law.key in keys]
    return [law.key for law in laws if not is_ours(law)], [law.key for law in laws]
