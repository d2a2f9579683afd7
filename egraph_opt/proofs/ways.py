"""What a host function answers, whichever way it takes through its questions: one answer is one case.

A function that compares dims has many ways to say yes, and what comes after it is the same for all of them.
So it is run by itself along all its ways first, and the path goes on once for each answer, with the
condition that one of the ways to it is taken.  Paths that begin alike share what was found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from egraph_opt.proofs.facts import UnsettledError
from egraph_opt.proofs.merging import Answered, is_data, looking, note
from egraph_opt.proofs.numbers import Truth
from egraph_opt.proofs.paths import Dead, NotHereError


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
        scene.types.narrow()
    return chosen.answer


def _all_answers(path: Any, run: Callable[[], Any]) -> list[Answered] | tuple[int, str] | None:
    """All answers; or which part of a fact they need first; or None where they cannot be found apart."""
    try:
        ways = looking.ways_through(path, run)
    except UnsettledError as error:
        return error.place
    except NotHereError:
        return None
    found: list[Answered] = []
    for answer, way in ways:
        if not is_data(answer):
            return None
        if type(answer) is Truth:
            note(found, True, z3.And(way, answer.formula))
            note(found, False, z3.And(way, z3.Not(answer.formula)))
        else:
            note(found, answer, way)
    return found
