"""What is assumed of inputs and symbolic dims, as ranges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def ranges_of(assume: Mapping[str, Any] | None) -> dict[str, tuple[float, float]]:
    """Every assumption as least and largest value; a number is both."""
    return {name: (v, v) if isinstance(v, (int, float)) else v for name, v in (assume or {}).items()}


def sizes_of(ranges: Mapping[str, tuple[float, float]]) -> dict[str, int]:
    """The assumptions that give a symbolic dim one size."""
    return {name: int(low) for name, (low, high) in ranges.items() if low == high}
