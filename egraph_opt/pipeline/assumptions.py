"""What is assumed of inputs and symbolic dims, as ranges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx

from egraph_opt.graph.runtime import RuntimeSetting
from egraph_opt.measurement.feeds import feeds_for


def ranges_of(assume: Mapping[str, Any] | None) -> dict[str, tuple[float, float]]:
    """Every assumption as least and largest value; a number is both."""
    return {name: (v, v) if isinstance(v, (int, float)) else v for name, v in (assume or {}).items()}


def sizes_of(ranges: Mapping[str, tuple[float, float]]) -> dict[str, int]:
    """The assumptions that give a symbolic dim one size."""
    return {name: int(low) for name, (low, high) in ranges.items() if low == high}


def sizes_that_run(
    model: Path | onnx.ModelProto, points: Mapping[str, int], setting: RuntimeSetting
) -> dict[str, int]:
    """Numbers for symbolic dims at which a model runs, these if it does: what is measured has to exist.

    Those given where it cannot be run at all.
    """
    content = str(model) if isinstance(model, Path) else model.SerializeToString()
    proto = onnx.load(model, load_external_data=False) if isinstance(model, Path) else model
    try:
        _, sizes = feeds_for(proto, setting.session(content), points)
    except Exception:  # the runtime raises what it likes
        return dict(points)
    return {name: sizes.get(name, number) for name, number in points.items()}
