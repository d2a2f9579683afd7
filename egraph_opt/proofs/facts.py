"""What host functions are handed of a tensor whose dims are symbols: a `Fact` that answers when it is asked.

A question that the statement leaves open (the type, whether it is a constant, whether all elements are one
number) has several answers, and each of them is a path of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import z3

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.proofs.numbers import Truth, number_of
from egraph_opt.proofs.paths import NotHereError, Path
from egraph_opt.proofs.trail import Open
from egraph_opt.semantics.values import Value


class UnsettledError(NotHereError):
    """A part of a fact is needed first that is settled for the whole path.

    Attributes:
        place: the number of the fact, and the part.
    """

    def __init__(self, place: tuple[int, str]) -> None:
        super().__init__()
        self.place = place


class LazyFact(Fact):
    """A fact whose parts are computed where they are asked for, once.

    Attributes:
        path: where they are asked for.
        number: of the fact along the path.
        parts: by name.
    """

    def __init__(self, path: Path, number: int, **parts: Any) -> None:
        for name, value in (("path", path), ("number", number), ("parts", parts)):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, path: Path, number: int, plain: Collection[str], **parts: Callable[[], Any]) -> LazyFact:
        """The fact of which the parts given are what functions answer.

        Args:
            plain: the parts that take no question to answer.
        """
        asked = {name: _Asked(function, name in plain) for name, function in parts.items()}
        return cls(path, number, **asked)

    def __hash__(self) -> int:
        return id(self)  # what is kept of it is of its path

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Fact):
            return False
        return all(getattr(self, name) == getattr(other, name) for name in ("dtype", "shape", *_REST))


class _Asked:
    """A part that is not computed yet.

    Attributes:
        is_plain: that takes no question.
        on_way: answers it on a way through a function, where that is known already.
    """

    on_way: Callable[[], Any] | None = None

    def __init__(self, function: Callable[[], Any], is_plain: bool) -> None:
        self.function, self.is_plain = function, is_plain


_REST = {
    "const": False, "value": None, "splat": None, "data": None, "range": None, "interval": None,
    "units": None, "twice": None,
}  # fmt: skip


def _part(name: str, default: Any) -> Any:
    def read(self: LazyFact) -> Any:
        own = self.__dict__
        parts: dict[str, Any] = own["parts"]
        found = parts.get(name, default)
        if isinstance(found, _Asked):
            inner = own["path"].inner
            if not found.is_plain and inner is not None:
                answer = found.on_way() if found.on_way else None
                if answer is None:
                    raise UnsettledError((own["number"], name))
                return answer
            found = parts[name] = found.function()
        return found

    return property(read)


for _name, _default in {"rank": None, "dtype": 0, "shape": None, **_REST}.items():
    setattr(LazyFact, _name, _part(_name, _default))


class Facts:
    """What host functions get of the tensors of a scene."""

    def __init__(self, scene: Any) -> None:
        self.scene = scene
        self._facts: dict[int, LazyFact] = {}
        self._values: list[Value] = []

    def of(self, value: Value | None) -> Any:
        if value is None:
            return ABSENT
        if id(value) not in self._facts:
            made = _fact_of(self.scene, value, len(self._values))
            self._facts[id(value)] = made
            self.scene.remembering.append(made)
            self._values.append(value)
        return self._facts[id(value)]

    def settle(self, place: tuple[int, str]) -> None:
        """See to it that a part of a fact, by its number, has an answer on ways through functions."""
        value, part = self._values[place[0]], place[1]
        if not (part == "dtype" and self.scene.types.declare(value.dtype)):
            getattr(self.of(value), part)


UNKNOWN = ("units", "twice")
"""What a fact may say of elements, and no proof looks at."""


def _fact_of(scene: Any, value: Value, number: int) -> LazyFact:
    """What host functions get of a tensor of a scene, the facts of which are numbered."""
    path = scene.path
    made = LazyFact.of(
        path,
        number,
        {"const", "rank"} | (set() if scene.dims == "symbols" else {"shape"}),
        dtype=value.dtype.asked,
        rank=lambda: scene.rank_of(value.shape),
        shape=lambda: scene.shape_of(value.shape),
        const=lambda: Truth(z3.Bool(f"const.of {number}"), path),
        splat=lambda: _splat(scene, value),
        data=lambda: _listed(scene, value, "data"),
        value=lambda: _listed(scene, value, "value"),
        range=_unknown(scene, "range") if value.known is None else value.known.range,
        interval=_unknown(scene, "interval") if value.known is None else value.known.interval,
        **{name: _unknown(scene, name) for name in UNKNOWN},
    )
    made.__dict__["parts"]["shape"].on_way = lambda: scene.shape_of(value.shape)
    made.__dict__["parts"]["dtype"].on_way = lambda: scene.types.on_way(value.dtype)
    return made


def _splat(scene: Any, value: Value) -> Any:
    found = value.splat()
    if found is not None and z3.is_to_real(found):  # of a whole number
        found = found.arg(0)
    return None if found is None else number_of(found, scene.path)


def _listed(scene: Any, value: Value, part: str) -> Any:
    if value.listed is None:
        return _unknown(scene, part)()
    if part == "value" and (value.rank > 1 or scene.is_in(value.dtype, FLOATS)):
        return None
    return value.listed()


def _unknown(scene: Any, part: str) -> Callable[[], None]:
    def answer() -> None:
        if scene.choose(2):
            raise Open(f"a host function looks at elements ({part})")

    return answer
