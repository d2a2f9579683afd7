"""What runs have shown of an output so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from egraph_opt.verification.comparison import BLOCK, TOLERANCES, widened

TELLING = 100.0
"""An output below so many times the absolute tolerance tells little about relative errors."""


@dataclass
class Seen:
    """What has been seen of one output tensor of the original; `largest` up to the first above `floor`."""

    elements: int = 0
    unstable: int = 0
    largest: float = 0.0
    first: Any = None
    varies: bool = False
    floor: float = 0.0

    def look(self, leaf: Any) -> None:
        """See an output, as far as there is something to learn of it."""
        if not isinstance(leaf, np.ndarray) or leaf.size == 0:
            return
        flat = leaf.reshape(-1)
        if self.first is None:
            self.first = flat[0]
        if leaf.dtype in TOLERANCES:
            self.floor = TELLING * TOLERANCES[leaf.dtype].atol
        for k in range(0, flat.size, BLOCK):
            if not self.says_little and self.varies:
                return
            self._look_at(flat[k : k + BLOCK])

    def _look_at(self, flat: Any) -> None:
        if not self.varies:
            same = (flat == self.first) | ((flat != flat) & (self.first != self.first))
            self.varies = not bool(np.all(same))
        if self.largest < self.floor:
            magnitude = np.abs(widened(flat))
            self.largest = max(
                self.largest, float(np.max(magnitude, initial=0, where=np.isfinite(magnitude)))
            )

    @property
    def says_little(self) -> str:
        """Why a wrong model might give the same output; empty if there is no reason."""
        if self.elements > 1 and not self.varies:
            return "constant"
        return "tiny" if self.largest < self.floor else ""
