"""Inputs on which an approximate law is off by the most: a bound that holds on a few numbers may not on all.

All numbers alike, in small steps, find where a function of one number is farthest off; from the best of these
a climb goes on with each number by itself.  Terms of several inputs are not looked at, of which it would find
where one that is no variance makes a divisor 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from egraph_opt.check.feeds.inputs import Feeds
from egraph_opt.check.judging.agreement import difference, share_of
from egraph_opt.check.judging.differing import described
from egraph_opt.check.judging.outcomes import Failure
from egraph_opt.check.judging.runner import TermRunner
from egraph_opt.laws.exactness import Approximate

if TYPE_CHECKING:
    from egraph_opt.check.judging.trials import Original

LEVELS = np.concatenate([np.linspace(-6, 6, 241), [-20.0, 20.0, 60.0, -60.0]])
"""Numbers of ordinary size, nearer to each other than functions turn."""

STEPS, FIRST, LESS = 60, 0.5, 0.93
"""Of a climb: how many, of which size at first, and by what they become smaller."""

MOST = 2**10
"""Elements of an input that is searched through."""


def worst_case(original: Original, runner: TermRunner, only: int | None) -> Failure | None:
    """The inputs that a climb finds on which what was rewritten is off by more than the law's bound."""
    bound, first = original.bound, original.trials[0]
    if runner.by_reference:  # which takes long for so many runs
        return None
    floats = [name for name, array in first.feeds.items() if array.dtype.kind == "f"]
    sizes = [array.size for array in first.feeds.values()]
    if bound is None or len(floats) != 1 or not 0 < min(sizes) <= max(sizes) <= MOST:
        return None
    best = first.feeds
    most = _share(original, runner, best, bound, only)
    for feeds in _levels(first.feeds, floats):
        share = _share(original, runner, feeds, bound, only)
        if share > most:
            best, most = feeds, share
    rng = np.random.default_rng(0)
    for step in FIRST * LESS ** np.arange(STEPS):
        feeds = {k: _moved(rng, v, step) if k in floats else v for k, v in best.items()}
        share = _share(original, runner, feeds, bound, only)
        if share > most:
            best, most = feeds, share
    return _failure(original, runner, best, bound, only) if most > bound.bound else None


def _levels(feeds: Feeds, floats: list[str]) -> Iterator[Feeds]:
    for level in LEVELS:
        yield {k: np.full_like(v, level) if k in floats else v for k, v in feeds.items()}


def _moved(rng: np.random.Generator, array: Any, step: float) -> Any:
    return (array + step * rng.standard_normal(array.shape)).astype(array.dtype)


def _outputs(original: Original, runner: TermRunner, feeds: Feeds, only: int | None) -> tuple[Any, Any]:
    assert original.runner is not None
    expected = original.runner.run(feeds)
    return (expected if only is None else [expected[only]]), runner.run(feeds)


def _share(
    original: Original, runner: TermRunner, feeds: Feeds, bound: Approximate, only: int | None
) -> float:
    """By how much outputs differ at most; nothing where one of both does not run."""
    try:
        pairs = zip(*_outputs(original, runner, feeds, only), strict=True)
        shares = (share_of(a, b, original.operands(feeds), bound)[0] for a, b in pairs if a.dtype.kind == "f")
        return max((float(share.max(initial=0)) for share in shares), default=0.0)
    except Exception:  # onnxruntime's errors share no base class
        return 0.0


def _failure(
    original: Original, runner: TermRunner, feeds: Feeds, bound: Approximate, only: int | None
) -> Failure | None:
    for a, b in zip(*_outputs(original, runner, feeds, only), strict=True):
        wrong = difference(a, b, "bound", original.operands(feeds), bound)
        if wrong is not None:
            return Failure(described(a, b, wrong, "on the worst inputs"), feeds, a, b)
    return None
