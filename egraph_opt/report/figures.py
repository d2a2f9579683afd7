"""Figures as SVG files (extra `plots`): the same figures make the same bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from egraph_opt.model.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Canvas

SIZE = (7.0, 4.5)
"""Inches."""


@contextmanager
def svg(path: Path, *, size: tuple[float, float] = SIZE) -> Iterator[Canvas]:
    """What is drawn within becomes a file, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    import matplotlib
    from matplotlib.figure import Figure

    # No date, no ids by chance.
    with matplotlib.rc_context({"svg.hashsalt": "egraph-opt", "svg.fonttype": "none"}):
        figure = Figure(figsize=size, layout="constrained")
        yield figure.add_subplot()
        drawn = io.BytesIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    write_whole(path, drawn.getvalue())
