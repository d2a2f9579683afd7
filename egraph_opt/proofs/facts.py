"""What host functions are handed of a tensor whose dims are symbols: a `Fact` that answers when it is asked.

A question that the statement leaves open (the type, whether it is a constant, whether all elements are one
number) has several answers, and each of them is a path of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from egraph_opt.facts.fact import Fact


class LazyFact(Fact):
    """A fact whose parts are computed where they are asked for, once."""

    def __init__(self, **parts: Any) -> None:
        object.__setattr__(self, "parts", parts)

    @classmethod
    def of(cls, **parts: Callable[[], Any]) -> LazyFact:
        """The fact of which the parts given are what functions answer."""
        return cls(**{name: _Asked(function) for name, function in parts.items()})

    def __hash__(self) -> int:
        return id(self)  # what is kept of it is of its path

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Fact):
            return False
        return all(getattr(self, name) == getattr(other, name) for name in ("dtype", "shape", *_REST))


class _Asked:
    """A part that is not computed yet."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function


_REST = {
    "const": False, "value": None, "splat": None, "data": None, "range": None, "interval": None,
    "units": None, "twice": None,
}  # fmt: skip


def _part(name: str, default: Any) -> Any:
    def read(self: LazyFact) -> Any:
        parts: dict[str, Any] = self.__dict__["parts"]
        found = parts.get(name, default)
        if isinstance(found, _Asked):
            found = parts[name] = found.function()
        return found

    return property(read)


for _name, _default in {"rank": None, "dtype": 0, "shape": None, **_REST}.items():
    setattr(LazyFact, _name, _part(_name, _default))
