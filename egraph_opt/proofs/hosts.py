"""Host functions of a statement: how they are run on symbols, and what their answers say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from egraph_opt.operators.declaration import Literal
from egraph_opt.operators.host import HostFunction, calls
from egraph_opt.proofs.names import Name
from egraph_opt.proofs.numbers import SYMBOLS, TypeNumber
from egraph_opt.proofs.trail import Open

ANSWERS = (ZeroDivisionError, IndexError, KeyError, ValueError)
"""What host functions raise of values as well: they answer their default then."""


def with_types(answer: Any) -> Any:
    """An answer in which element types are known."""
    if type(answer) is TypeNumber:
        return answer.__index__()
    if type(answer) is tuple:
        return tuple(map(with_types, answer))
    return replace(answer, dtype=with_types(answer.dtype)) if isinstance(answer, Literal) else answer


def is_there(answer: Any) -> bool:
    return answer is not None


def is_nothing(answer: Any) -> bool:
    """Whether an answer may be none: what is a number is asked later."""
    return type(answer) in SYMBOLS or not answer


def named_on_way(made: Any) -> Any:
    """An argument of a host function, which on each way has a name where the pattern leaves it open."""
    if not isinstance(made, Name):
        return made
    return made.spelled() if made.scene.path.inner is None else made.on_way()


def computed_by(function: HostFunction, arguments: Sequence[Any]) -> Any:
    """What a host function computes."""
    calls.failures.clear()
    try:
        answer = function.computed(*arguments)
    except ANSWERS:  # of lengths and places, which are numbers on a path
        answer = function.default
    except Exception as error:
        raise Open(f"{function.name} cannot be run on symbols: {type(error).__name__}: {error}") from error
    if calls.failures:
        failed = next(iter(calls.failures))
        message = calls.failures.pop(failed)
        if not message.startswith(tuple(error.__name__ for error in ANSWERS)):
            raise Open(f"{failed.name} cannot be run on symbols: {message}")
    return answer


def is_question(condition: Any) -> bool:
    """Whether it is a host function that answers yes or no."""
    head = getattr(condition, "head", None)
    return isinstance(head, HostFunction) and head.is_condition
