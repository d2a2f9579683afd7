"""What host functions are handed of a tensor whose dims are symbols: a `Fact` that answers when it is asked.

A question that the statement leaves open (the type, whether it is a constant, whether all elements are one
number) has several answers, and each of them is a path of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.proofs.numbers import number_of, truth_of
from egraph_opt.proofs.paths import Open
from egraph_opt.semantics.values import Value


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


UNKNOWN = ("units", "twice")
"""What a fact may say of elements, and no proof looks at."""


def fact_of(scene: Any, value: Value) -> LazyFact:
    """What host functions get of a tensor of a scene."""
    path = scene.path
    return LazyFact.of(
        dtype=value.dtype.asked,
        rank=lambda: value.rank,
        shape=lambda: scene.dims_of(value.shape),
        const=lambda: truth_of(path.fresh_truth("const"), path),
        splat=lambda: _splat(scene, value),
        data=lambda: _listed(scene, value, "data"),
        value=lambda: _listed(scene, value, "value"),
        range=_unknown(scene, "range") if value.known is None else value.known.range,
        interval=_unknown(scene, "interval") if value.known is None else value.known.interval,
        **{name: _unknown(scene, name) for name in UNKNOWN},
    )


def _splat(scene: Any, value: Value) -> Any:
    found = value.splat()
    if found is not None and z3.is_to_real(found):  # of a whole number
        found = found.arg(0)
    return None if found is None else number_of(found, scene.path)


def _listed(scene: Any, value: Value, part: str) -> Any:
    if value.listed is None:
        return _unknown(scene, part)()
    if part == "value" and (value.rank > 1 or value.dtype() in FLOATS):
        return None
    return value.listed()


def _unknown(scene: Any, part: str) -> Callable[[], None]:
    def answer() -> None:
        if scene.choose(2):
            raise Open(f"a host function looks at elements ({part})")

    return answer
