"""What is said of an exception in a file of laws: one line, and for common mistakes what is meant."""

from __future__ import annotations

import re
import sys

from egraph_opt.errors import LawError, nearest
from egraph_opt.operators.declaration import operators
from egraph_opt.operators.expressions import Expression

LONGEST = 30.0
"""Seconds in which a file of laws is run, and the examples of a law are made."""


class Endless(Exception):
    """What a user wrote does not come to an end."""

    def __init__(self) -> None:
        super().__init__(f"it is not done after {LONGEST:.0f} s")


HOSTED = "what is known of a tensor is asked by a function with @hosted(), which takes its `Fact`"
_OF_A_PATTERN = re.compile("'(Tensors?|Attribute|Bundle|String|Int)'")
_NOT_THERE = re.compile(r"cannot import name '(\w+)' from '(egraph_opt[\w.]*)'")
COMPUTED = "what is part of a pattern is computed with and compared by functions with @hosted()"


def told(error: BaseException) -> str:
    """What an exception says, in a line, and for common mistakes what is meant."""
    return " ".join(_told(error).split())


def _told(error: BaseException) -> str:
    if isinstance(error, (LawError, Endless)):
        return str(error)
    if isinstance(error, NameError) and error.name:
        words = (*operators(), *sys.modules["egraph_opt.laws"].__all__)
        near = nearest(error.name, words, cutoff=0.75)
        kind = "the operator " if near in operators() else ""
        return str(error) + (f"; is {kind}{near!r} meant?" if near else "; see `egraph-opt operators`")
    if isinstance(error, AttributeError) and isinstance(error.obj, Expression):
        return f"{error}; {HOSTED}"
    text = str(error.msg if isinstance(error, (SyntaxError, ImportError)) else error)
    hint = _hint(error, text)
    return f"{type(error).__name__}: {text}{hint}" if text else type(error).__name__


def _hint(error: BaseException, text: str) -> str:
    """What is meant, where Python says only what is wrong."""
    if isinstance(error, TypeError) and _OF_A_PATTERN.search(text):
        return f"; {COMPUTED}"
    missing = _NOT_THERE.match(text) if isinstance(error, ImportError) else None
    if missing is None:
        return ""
    name, module = missing.groups()
    near = nearest(name, getattr(sys.modules.get(module), "__all__", ()), cutoff=0.75)
    if near:
        return f"; is {near!r} meant?"
    return "; see `egraph-opt operators`" if module == "egraph_opt.operators" else ""
