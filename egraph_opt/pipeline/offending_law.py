"""A wrong result: the law that made it is found by leaving laws out, and left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from egraph_opt.laws.law import where
from egraph_opt.laws.selection import all_laws
from egraph_opt.pipeline.result import Result

Run = Callable[[frozenset[str]], Result]
"""An optimization without some laws."""


def without_offending_law(wrong: Result, matched: Iterable[str], run: Run) -> tuple[Result, str]:
    """The result without the law that makes outputs wrong, and what names that law; a warning does as well.

    Laws that are not part of this package are suspected first; then halves of the suspects are left out.

    Args:
        wrong: the result with all laws: the original, with the reason.
        matched: the laws that found something.
        run: optimises without the laws named.

    Returns:
        `wrong` and "", if no single law is to blame.
    """
    suspects = _suspects(matched, run)
    while len(suspects) > 1:
        half = suspects[: len(suspects) // 2]
        suspects = suspects[len(half) :] if _is_wrong(run(frozenset(half))) else half
    if not suspects:
        return wrong, ""
    result = run(frozenset(suspects))
    if _is_wrong(result):
        return wrong, ""
    (offending,) = (law for law in all_laws() if law.key == suspects[0])
    blame = f"{where(offending.function)}: law {offending.key} makes the outputs wrong"
    warning = f"{blame} and was left out: {wrong.report.verification.detail}"
    report = replace(result.report, warnings=(*result.report.warnings, warning))
    return replace(result, report=report), blame


def _suspects(matched: Iterable[str], run: Run) -> list[str]:
    """The laws of others if the result is right without them, else all."""
    keys = set(matched)
    laws = [law for law in all_laws() if law.key in keys]
    foreign = [law.key for law in laws if not law.function.__module__.startswith("egraph_opt.rewrites.")]
    if foreign and not _is_wrong(run(frozenset(foreign))):
        return foreign
    return [law.key for law in laws if law.key not in foreign]


def _is_wrong(result: Result) -> bool:
    return result.report.verification.status == "failed"
