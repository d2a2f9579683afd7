"""What a law yields: equalities and rules, and the conditions under which they hold.

    equal(a, b, *conditions)                      a = b, matched from both sides
    rewrite(a, b, *conditions, because="...")     a = b, matched from a only; the reason is told
    rule(*conditions, then=union(y, b))           more than one term has to be there

A condition is what a host function answers (`True`, or anything but None), `eq(x, term)`, `ne(x, y)`, an
entry of a relation, a `limit`, or `absent(answer)`.  Without those in `guard(..)`, which bound growth, and
`kernel(..)`, which are there because of what a target has kernels for, the law is as true.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from egraph_opt.errors import LawError
from egraph_opt.operators.expressions import Expression, Function, coerced
from egraph_opt.operators.host import HostFunction


@dataclass(frozen=True)
class Equals:
    """Both are one class or one value; a variable on the left is bound by what is on the right."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Differs:
    """They are two classes or two values, as far as is known."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Absent:
    """A host function answers False, or nothing."""

    answer: Expression


@dataclass(frozen=True)
class Guard:
    """A condition without which the law is as true; see `guard` and `kernel`."""

    condition: Any
    purpose: Literal["growth", "kernel"] = "growth"


@dataclass(frozen=True)
class Union:
    """The action that makes two terms one class."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Assignment:
    """The action that gives an entry of a table its value."""

    entry: Expression
    value: Expression


@dataclass(frozen=True)
class Equality:
    """left = right where the conditions hold.

    Attributes:
        both: whether it is matched from both sides, and not from the left only.
        because: why it is not.
        inverse: the law that states the other direction, for which other conditions hold.
        line: of the file where it is yielded.
    """

    left: Expression
    right: Expression
    conditions: tuple[Any, ...]
    both: bool = False
    because: str = ""
    inverse: str = ""
    line: int = field(default=0, compare=False)

    def without(self, condition: int) -> Equality:
        """The statement with one condition fewer."""
        kept = (*self.conditions[:condition], *self.conditions[condition + 1 :])
        return replace(self, conditions=kept)


@dataclass(frozen=True)
class Rule:
    """Where the conditions hold, do the actions."""

    conditions: tuple[Any, ...]
    actions: tuple[Any, ...]
    because: str = ""
    inverse: str = ""
    line: int = field(default=0, compare=False)

    def without(self, condition: int) -> Rule:
        """The statement with one condition fewer."""
        kept = (*self.conditions[:condition], *self.conditions[condition + 1 :])
        return replace(self, conditions=kept)


def flattened(conditions: Iterable[Any]) -> tuple[Any, ...]:
    """Conditions, of which any may be a tuple of several."""
    flat: list[Any] = []
    for condition in conditions:
        flat.extend(flattened(condition) if isinstance(condition, (tuple, list)) else (condition,))
    return tuple(flat)


def equal(left: Any, right: Any, *conditions: Any) -> Equality:
    """left = right where the conditions hold, matched from either side."""
    return Equality(*_sides(left, right, "equal"), flattened(conditions), both=True)


def rewrite(left: Any, right: Any, *conditions: Any, because: str = "", inverse: str = "") -> Equality:
    """left = right where the conditions hold, matched from the left only.

    Args:
        because: why not from the right as well: what that does not know, or why it would grow without end.
        inverse: instead of a reason, the law (its name, or ruleset.name) that finds the left again.
    """
    return Equality(*_sides(left, right, "rewrite"), flattened(conditions), because=because, inverse=inverse)


def _sides(left: Any, right: Any, where: str) -> tuple[Expression, Expression]:
    """Two expressions of one sort, of which one may be written as a value.

    Raises:
        LawError: they are of two sorts, or neither is an expression.
    """
    if not isinstance(left, Expression) and not isinstance(right, Expression):
        raise LawError(f"{where}: neither {left!r} nor {right!r} is part of a pattern")
    if not isinstance(left, Expression):
        return coerced(left, right.sort, where), right
    return left, coerced(right, left.sort, where)


def rule(*conditions: Any, then: Any, because: str = "", inverse: str = "") -> Rule:
    """Where the conditions hold, `then`: one action or several.

    An action is `union`, `assign`, or an entry of a relation; `because` and `inverse`: see `rewrite`.
    """
    return Rule(flattened(conditions), flattened([then]), because, inverse)


def union(left: Any, right: Any) -> Union:
    """Make two terms one class."""
    return Union(*_sides(left, right, "union"))


def assign(entry: Any, value: Any) -> Assignment:
    """Give an entry of a table its value."""
    if not isinstance(entry, Expression) or not isinstance(entry.head, Function):
        raise LawError(f"`{entry!r}` is no entry of a table")
    return Assignment(entry, coerced(value, entry.sort, entry.head.name))


def eq(left: Any, right: Any) -> Equals:
    """The condition that both are one; binds the variables of either side."""
    return Equals(*_sides(left, right, "eq"))


def ne(left: Any, right: Any) -> Differs:
    """The condition that the two are not known to be one."""
    return Differs(*_sides(left, right, "ne"))


def absent(answer: Any) -> Absent:
    """The condition that a host function answers False, or None."""
    if not isinstance(answer, Expression) or not isinstance(answer.head, HostFunction):
        raise LawError(f"absent takes what a host function answers, and not `{answer!r}`")
    return Absent(answer)


def guard(*conditions: Any) -> tuple[Guard, ...]:
    """Conditions without which the law still holds: they keep it from firing where there is no demand.

    `testing.proves(.., guards=False)` leaves them out.  They may not bind variables that are used elsewhere.
    """
    return _marked(conditions, "growth")


def kernel(*conditions: Any) -> tuple[Guard, ...]:
    """Conditions without which the law still holds: a target has a kernel for the result only where they do.

    Such are the types that a kernel of onnxruntime takes, and the sizes that a fused kernel of Ascend takes.
    They are left out where `guard`s are, and may not bind variables that are used elsewhere.
    """
    return _marked(conditions, "kernel")


def _marked(conditions: Iterable[Any], purpose: Literal["growth", "kernel"]) -> tuple[Guard, ...]:
    """Conditions with what they are for, but for those that say so already."""
    return tuple(c if isinstance(c, Guard) else Guard(c, purpose) for c in flattened(conditions))


def without_guards(conditions: Iterable[Any]) -> tuple[Any, ...]:
    """Only what soundness asks for: none of `guard` and of `kernel`."""
    return tuple(c for c in conditions if not isinstance(c, Guard))


def unguarded(conditions: Iterable[Any]) -> tuple[Any, ...]:
    """All conditions, those of guards and kernels as well, in order."""
    return tuple(c.condition if isinstance(c, Guard) else c for c in conditions)


def with_kernels_asked(statement: Equality | Rule) -> Equality | Rule:
    """A statement with the conditions of `kernel` unmarked, which are then asked as those of truth are."""
    asked = (
        c.condition if isinstance(c, Guard) and c.purpose == "kernel" else c for c in statement.conditions
    )
    return replace(statement, conditions=tuple(asked))
