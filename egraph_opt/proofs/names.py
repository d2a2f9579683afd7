"""Names, settings and types that a pattern leaves open: each is chosen when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import z3

from egraph_opt.operators.elementwise import UNARY
from egraph_opt.proofs.paths import Path

T = TypeVar("T")

SETTINGS = {
    "Celu": ("alpha",), "Elu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "LeakyRelu": ("alpha",),
    "Selu": ("alpha", "gamma"), "Swish": ("alpha",), "ThresholdedRelu": ("alpha",),
}  # fmt: skip
"""The settings of element-wise operators that are numbers."""

WITH_SETTINGS = frozenset((*SETTINGS, "Clip", "Gelu", "IsInf"))


class Name:
    """The name of an operator that the pattern leaves open.

    Attributes:
        symbol: its place among the names, to the solver, where a host function was asked of it.
    """

    def __init__(self, names: Sequence[str], scene: Any) -> None:
        self.names, self.scene = names, scene
        self.chosen: str | None = None
        self.number = scene.path.number()
        self.symbol: z3.ArithRef | None = None
        self.waiting: list[tuple[bool, Callable[[str], None]]] = []

    def declare(self) -> None:
        """Let the solver know of it."""
        if self.chosen is None and self.symbol is None:
            self.symbol = self.scene.path.fresh("name")
            self.scene.path.assume(z3.And(self.symbol >= 0, self.symbol < len(self.names)), possible=True)

    def on_way(self) -> str:
        """The name on a way through a host function: all are tried."""
        if self.chosen is not None:
            return self.chosen
        path, key = self.scene.path, ("name", self.number)
        known: int | None = path.kept_on_way(key)
        if known is None:
            way = path.innermost
            way.kept[key] = known = way.one_of(len(self.names), lambda k: self.symbol == k)
        return self.names[known]

    def spelled(self) -> str:
        if self.chosen is None:
            places = list(range(len(self.names)))
            if self.symbol is not None:
                places = self.scene.path.possible(self.symbol, places)
            place = places[self.scene.choose(len(places))]
            self.chosen = self.names[place]
            if self.symbol is not None:
                self.scene.path.assume(self.symbol == place, possible=True)
            showing = self.scene.showing
            for was_showing, function in self.waiting:
                self.scene.showing = was_showing
                function(self.chosen)
            self.scene.showing = showing
        return self.chosen


class Settings:
    """The settings of an operator that the pattern leaves open."""

    def __init__(self, op: Any, scene: Any) -> None:
        self.op, self.scene = op, scene
        self.number = scene.path.number()
        self.chosen: Any = None

    def settled(self) -> Any:
        """What they are: nothing but where the operator has some."""
        if self.chosen is None:
            name = self.scene.spelled(self.op)
            if name == "Clip":
                self.chosen = tuple((side, self._bound(side)) for side in ("max", "min"))
            elif name == "IsInf":
                self.chosen = (
                    ("detect_negative", self.scene.choose(2)),
                    ("detect_positive", self.scene.choose(2)),
                )
            elif name == "Gelu":
                self.chosen = (("approximate", ("none", "tanh")[self.scene.choose(2)]),)
            elif name in SETTINGS:
                self.chosen = tuple((key, self.scene.real(key)) for key in SETTINGS[name])
            else:
                self.chosen = ()
        return self.chosen

    def _bound(self, side: str) -> Any:
        return self.scene.real(side) if self.scene.choose(2) else None


class TypeName:
    """An element type that the pattern leaves open."""

    def __init__(self, types: Sequence[int], scene: Any) -> None:
        self.types, self.scene = types, scene
        self.chosen: int | None = None
        self.number = scene.path.number()

    def settled(self) -> int:
        if self.chosen is None:
            self.chosen = self.types[self.scene.choose(len(self.types))]
        return self.chosen


class Naming:
    """Where names, settings and types are left open.

    Attributes:
        path: along which they are chosen.
        showing: whether what operators ask of them has to be shown.
        remembering: objects that change along the path.
    """

    path: Path
    showing: bool
    remembering: list[Any]
    must: Callable[[z3.BoolRef], None]
    _names: list[Name]

    def name(self, names: Sequence[str]) -> Name:
        self._names.append(Name(names, self))
        return self._remembering(self._names[-1])

    def _remembering(self, made: T) -> T:
        self.remembering.append(made)
        return made

    def spelled(self, op: Any) -> str:
        return op.spelled() if isinstance(op, Name) else op

    def once_named(self, op: Any, function: Callable[[str], None]) -> None:
        """Run a function with the name, as soon as it is chosen."""
        if isinstance(op, Name) and op.chosen is None:
            op.waiting.append((self.showing, function))
        else:
            function(self.spelled(op))

    def must_if_named(self, op: Any, name: str, condition: z3.BoolRef) -> None:
        """What an operator asks of operands if it has a name."""
        if self.name_so_far(op) == name:
            self.must(condition)
        elif isinstance(op, Name) and op.chosen is None and name in op.names:
            op.declare()
            self.must(z3.Implies(op.symbol == list(op.names).index(name), condition))

    def name_so_far(self, op: Any) -> str:
        """The name, or of one that is not chosen yet what means any."""
        if not isinstance(op, Name):
            return op
        return op.chosen or f"any.{op.number}"

    def type_name(self, types: Sequence[int]) -> TypeName:
        return self._remembering(TypeName(types, self))

    def type_so_far(self, to: Any) -> Any:
        """The type, or of one that is not chosen yet what means any."""
        if not isinstance(to, TypeName):
            return to
        return f"any.{to.number}" if to.chosen is None else to.chosen

    def settings(self, op: Any) -> Any:
        if isinstance(op, str) and op not in WITH_SETTINGS:
            return ()
        return self._remembering(Settings(op, self))

    def settings_so_far(self, settings: Any) -> Any:
        if not isinstance(settings, Settings):
            return settings
        name = self.name_so_far(settings.op)
        if settings.chosen is None and name in UNARY and name not in WITH_SETTINGS:
            return ()
        return settings.chosen if settings.chosen is not None else f"any.{settings.number}"
