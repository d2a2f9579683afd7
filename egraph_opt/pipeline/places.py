"""One place that spoils a result is left as it came, and the rest of the model is optimized.

A law may not fit one place, by what a runtime makes of it, or some node may meet a mistake of ours.  Which
nodes these are is found by leaving parts of the model as they came.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import onnx_ir as ir

from egraph_opt.graph.walks import nodes_within, tensor_of
from egraph_opt.laws.law import Law, registered
from egraph_opt.pipeline.result import Result
from egraph_opt.pipeline.saturated import Saturated

SHOWN = 3
"""So many places a warning names."""


@dataclass(frozen=True)
class Attempt:
    """An optimization, and why its result is of no use; "" where it is."""

    result: Result
    trouble: str = ""


def trouble_of_attempt(saturated: Saturated, result: Result, failure: str = "") -> str:
    """Why a result is not what it could be: it is wrong, or something went wrong inside.

    Args:
        failure: what went wrong after saturation.
    """
    if result.report.verification.status == "failed":
        return str(result.report.verification.detail)
    if failure or saturated.failure:
        return failure or saturated.reason
    regions = saturated.region.walk() if saturated.region is not None else []
    dropped = (text for region in regions for text in region.saturation.dropped)
    return next((text for text in dropped if _is_of_ours(text)), "")


def _is_of_ours(dropped: str) -> bool:
    """Whether the laws that were left out, which a text begins with, are part of this package."""
    keys = dropped.partition(":")[0].split(", ")
    return all(key in registered and is_ours(registered[key]) for key in keys)


def places_of(model: ir.Model) -> list[str]:
    """Nodes by the first tensor that they make, those within bodies behind what they are in."""
    found: dict[str, None] = {}
    for node in model.graph:
        for part in (node, *nodes_within(node)):
            if part.op_type != "Constant" and (name := tensor_of(part)):
                found[name] = None
    return list(found)


def is_ours(law: Law) -> bool:
    """Whether a law is part of this package."""
    return str(law.function.__module__).startswith("egraph_opt.rewrites.")


class _OutOfTimeError(Exception):
    """No other part can be tried."""


def with_places_kept(
    places: Sequence[str], run: Callable[[frozenset[str]], Attempt], seconds: float
) -> tuple[Result, tuple[str, ...]] | None:
    """A result of which as few nodes as do stay as they came, and these; None where no part helps.

    Args:
        run: optimises with some places as they came.
        seconds: that the search may take; then the smallest part that was seen to do is taken.
    """
    end, longest = time.monotonic() + seconds, 0.0
    right: dict[frozenset[str], Result] = {}
    wrong: set[frozenset[str]] = set()

    def is_right(kept: Iterable[str]) -> bool:
        nonlocal longest
        part, started = frozenset(kept), time.monotonic()
        if part in right or part in wrong:
            return part in right
        if (right or wrong) and started + longest > end:
            raise _OutOfTimeError
        attempt = run(part)
        longest = max(longest, time.monotonic() - started)
        if attempt.trouble:
            wrong.add(part)
        else:
            right[part] = attempt.result
        return part in right

    if not places or not is_right(places):
        return None
    with suppress(_OutOfTimeError):
        is_right(needed([], list(places), is_right))
    best = min(right, key=len)
    return right[best], tuple(name for name in places if name in best)


def needed(taken: list[str], suspects: list[str], is_right: Callable[[Iterable[str]], bool]) -> list[str]:
    """A smallest part of the suspects that it takes besides others (Junker's QuickXplain, 2004)."""
    if len(suspects) == 1:
        return suspects
    first, second = suspects[: len(suspects) // 2], suspects[len(suspects) // 2 :]
    later = [] if is_right([*taken, *first]) else needed([*taken, *first], second, is_right)
    earlier = [] if later and is_right([*taken, *later]) else needed([*taken, *later], first, is_right)
    return [*earlier, *later]


def with_remark(result: Result, places: Sequence[str], blame: str, trouble: str) -> Result:
    """A result whose warning says where what went wrong was left out.

    Args:
        blame: names the law, where one is known.
    """
    named = ", ".join(map(repr, places[:SHOWN])) + (
        f" and {len(places) - SHOWN} more" if places[SHOWN:] else ""
    )
    text = f"{blame} at {named}, and was left out there" if blame else f"what makes {named} stays as it came"
    report = result.report
    return replace(result, report=replace(report, warnings=(*report.warnings, f"{text}: {trouble}")))


def is_cheaper(one: Result, other: Result) -> bool:
    """Whether one result is of use, and costs less than another."""
    if one.report.status != "optimized" or other.report.status != "optimized":
        return one.report.status == "optimized"
    return one.report.cost.after < other.report.cost.after
