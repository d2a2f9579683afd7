"""What a host function answers, whichever way it takes through its questions: one answer is one case.

A function that compares dims has many ways to say yes, and what comes after it is the same for all of them.
So it is run by itself along all its ways first, and the path goes on once for each answer, with the
condition that one of the ways to it is taken.  Paths that begin alike share what was found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import z3

from egraph_opt.proofs.facts import LazyFact, UnsettledError
from egraph_opt.proofs.numbers import Fraction, Truth, Whole
from egraph_opt.proofs.paths import Dead, NotHereError

PLAIN = (type(None), bool, int, float, str, range)
SYMBOLS = (Whole, Fraction, Truth)


@dataclass
class Answered:
    """An answer, and the conditions of the ways to it."""

    answer: Any
    ways: list[z3.BoolRef]


def answer_of(scene: Any, name: str, run: Callable[[], Any], wanted: Callable[[Any], bool]) -> Any:
    """What a function answers along a path, which goes on for each answer that is wanted.

    Args:
        name: of the function.
    """
    path = scene.path
    while True:
        found = path.once(name, lambda: _all_answers(path, run))
        if found is None:
            answer = run()
            if not wanted(answer):
                raise Dead
            return answer
        if isinstance(found, list):
            break
        scene.facts.settle(found)
    few = [each for each in found if wanted(each.answer)]
    chosen = few[path.choose(len(few))]
    if len(found) > 1:
        path.assume_any(chosen.ways)
        scene.types.narrow(chosen.ways)
    return chosen.answer


def _all_answers(path: Any, run: Callable[[], Any]) -> list[Answered] | tuple[int, str] | None:
    """All answers; or which part of a fact they need first; or None where they cannot be found apart."""
    try:
        ways = path.ways_through(run)
    except UnsettledError as error:
        return error.place
    except NotHereError:
        return None
    found: list[Answered] = []
    for answer, way in ways:
        if not is_data(answer):
            return None
        same = next((each for each in found if is_same(each.answer, answer)), None)
        if same is None:
            found.append(Answered(answer, [way]))
        else:
            same.ways.append(way)
    return found


def is_data(value: Any) -> bool:
    """Whether a value keeps nothing that hangs on the way on which it was made, or is looked at."""
    if type(value) is frozenset or isinstance(value, tuple):
        return all(map(is_data, value))
    if is_dataclass(value) and not isinstance(value, (type, LazyFact)):
        return all(is_data(getattr(value, field.name)) for field in fields(value))
    return type(value) in (*PLAIN, *SYMBOLS)


def is_handed(value: Any) -> bool:
    """Whether a value is data, a fact or several."""
    if type(value) is tuple:
        return all(map(is_handed, value))
    return isinstance(value, LazyFact) or is_data(value)


def is_same(a: Any, b: Any) -> bool:
    """Whether two answers are written alike."""
    if type(a) is not type(b):
        return False
    if type(a) in SYMBOLS:
        return bool(z3.eq(a.formula, b.formula))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(is_same, a, b))
    if is_dataclass(a):
        return all(is_same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    if type(a) is float:
        return repr(a) == repr(b)  # 0.0 is not -0.0
    return bool(a == b)
