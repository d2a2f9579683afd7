"""Tables and texts on a terminal that names in them cannot steer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from egraph_opt.foreign_text import printable_lines


@dataclass(frozen=True)
class Escaped:
    """Something for a console, of which what is not seen is escaped once it is laid out."""

    shown: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self.shown, options):
            yield segment if segment.control else Segment(printable_lines(segment.text), segment.style)
