"""Where a path can be taken up again: what was known at a point that the next path has in common with it.

A path that branches off late would else compute all again that it has in common with the one before.  A state
is what all objects remember whose attributes change along a path.  It is kept where each question that was
asked is part of an answer that is remembered, so that nothing in front of it is asked twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from egraph_opt.proofs.paths import Path

OF_PATH = ("_asked", "_assumed", "_made", "taken", "kept", "_merged")
"""What a path remembers of itself."""


@dataclass(frozen=True)
class State:
    """What was known at a point of a path.

    Attributes:
        asked: how many questions had been asked.
        branches: at how many of them other answers were left.
        remembered: by object what it remembered.
    """

    asked: int
    branches: int
    remembered: list[tuple[Any, dict[str, Any]]]


def _copied(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.copy() if type(value) in (dict, list, set) else value
        for name, value in attributes.items()
    }


class Resuming:
    """The points at which a path can be taken up again.

    Attributes:
        clean: how much was asked, assumed and named up to here, where all of that is remembered.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clean: tuple[int, int, int] = self.position()

    def position(self) -> tuple[int, int, int]:
        """How much was asked, assumed and named."""
        return self.path.position()

    def is_clean(self) -> bool:
        """Whether all that was asked is remembered."""
        return self.clean == self.position()

    def reached(self, owners: Iterable[Any]) -> None:
        """All that was asked is remembered by objects: the path can be taken up again here."""
        path = self.path
        self.clean = self.position()
        own = {name: vars(path)[name] for name in OF_PATH}
        remembered = [(path, _copied(own)), *((owner, _copied(vars(owner))) for owner in owners)]
        state = State(self.clean[0], path.trail.branches, remembered)
        if path.states and path.states[-1].branches == state.branches:
            path.states.pop()  # no path branches off between the two
        path.states.append(state)

    def back(self) -> bool:
        """Go to the last point that the path has in common with the one before; False where there is none."""
        if not self.path.states:
            return False
        for owner, attributes in self.path.states[-1].remembered:
            vars(owner).update(_copied(attributes))
        self.clean = self.position()
        return True
