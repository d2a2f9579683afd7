"""Names, settings and types that a pattern leaves open: each is chosen when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

SETTINGS = {
    "Celu": ("alpha",), "Elu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "LeakyRelu": ("alpha",),
    "Selu": ("alpha", "gamma"), "Swish": ("alpha",), "ThresholdedRelu": ("alpha",),
}  # fmt: skip
"""The settings of element-wise operators that are numbers."""

WITH_SETTINGS = frozenset((*SETTINGS, "Clip", "Gelu", "IsInf"))


class Name:
    """The name of an operator that the pattern leaves open."""

    def __init__(self, names: Sequence[str], scene: Any) -> None:
        self.names, self.scene = names, scene
        self.chosen: str | None = None
        self.number = scene.path.number()
        self.waiting: list[tuple[bool, Callable[[str], None]]] = []

    def spelled(self) -> str:
        if self.chosen is None:
            self.chosen = self.names[self.scene.choose(len(self.names))]
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
