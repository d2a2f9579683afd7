"""Tables of profilers as text: their encoding, separator, columns under any of their names, units of time."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from egraph_opt.errors import ProfileError, nearest
from egraph_opt.model.files import content_of

NAMES = {
    "name": ("Op Name", "Name"),
    "type": ("OP Type", "Type"),
    "core": ("Task Type", "Accelerator Core", "Core Type"),
    "duration": ("Task Duration", "Duration"),
    "input shapes": ("Input Shapes",),
    "input types": ("Input Data Types",),
    "input formats": ("Input Formats",),
    "output shapes": ("Output Shapes",),
    "output types": ("Output Data Types",),
    "output formats": ("Output Formats",),
    "count": ("Count",),
    "average": ("Avg Time", "Average Time", "Avg"),
    "machine": ("machine",),
    "runtime": ("runtime",),
    "setting": ("setting",),
    "key": ("key",),
    "micros": ("micros",),
    "refusal": ("refusal",),
}
"""What a column is called: first as msprof has it (op_summary, op_statistic), then as torch_npu does."""

UNITS = {"ns": 1e-3, "us": 1.0, "μs": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
"""Microseconds of what a header has in brackets; without brackets times are in microseconds."""

SEPARATORS = ",;\t"

MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
"""How a file begins that says its encoding."""

SIMILAR = 0.75
"""How similar a header has to be to be suggested, from 0 to 1."""

LONGEST = 10_000_000
"""Characters of one cell; no profiler writes as many."""


@dataclass(frozen=True)
class Table:
    """A table whose columns are known by what they mean.

    Attributes:
        label: the file, for errors.
        columns: meaning to place.
        header: the columns as the file names them.
        scale: microseconds of a unit, by meaning.
        lines: number and cells of each line.
    """

    label: str
    columns: Mapping[str, int]
    header: tuple[str, ...]
    scale: Mapping[str, float]
    lines: tuple[tuple[int, tuple[str, ...]], ...]

    def has(self, *meanings: str) -> bool:
        """Whether it has all of some columns."""
        return all(meaning in self.columns for meaning in meanings)

    def cell(self, cells: tuple[str, ...], meaning: str) -> str:
        """What a line says in a column; "" where it does not."""
        place = self.columns.get(meaning, len(cells))
        return cells[place] if place < len(cells) else ""

    def number(self, cells: tuple[str, ...], meaning: str) -> float | None:
        """A number, times in microseconds; None where there is none."""
        try:
            return float(self.cell(cells, meaning).replace(",", "")) * self.scale.get(meaning, 1.0)
        except ValueError:
            return None

    def missing(self, wanted: Iterable[str]) -> str:
        """The columns that are not there, each with the most similar that is."""
        return "; ".join(self._missing(wanted))

    def _missing(self, wanted: Iterable[str]) -> Iterator[str]:
        plain = {_plain(name): name for name in self.header}
        for meaning in wanted:
            if meaning not in self.columns:
                known = " or ".join(repr(name) for name in NAMES[meaning])
                near = nearest(_plain(NAMES[meaning][0]), plain, SIMILAR)
                yield f"no column {known}" + (f" (the nearest is {plain[near]!r})" if near else "")


def read_table(path: Path) -> Table:
    """A file as a table; lines before the header are passed over.

    Raises:
        ProfileError: it cannot be read, is no text, or has no line below a header.
    """
    text = _text(path)
    separator = max(SEPARATORS, key=text.split("\n", 1)[0].count)
    lines = tuple(_lines(text, separator, path))
    header = max(range(min(len(lines), 5)), key=lambda k: (len(_columns(lines[k][1])), -k), default=0)
    if len(lines) < header + 2:
        raise ProfileError(f"{path}: has no rows: there should be a header and a line for each kernel")
    names = lines[header][1]
    columns = _columns(names)
    scale = {meaning: _unit(names[place], path) for meaning, place in columns.items()}
    return Table(str(path), columns, names, scale, lines[header + 1 :])


def _text(path: Path) -> str:
    data = content_of(path, ProfileError)
    encoding = next((name for mark, name in MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ProfileError(f"{path}: is no text in {encoding.upper()} (byte {error.start})") from None
    if "\0" in text:
        raise ProfileError(f"{path}: is no table: give the CSV file that the profiler exports")
    return text


def _lines(text: str, separator: str, path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    csv.field_size_limit(LONGEST)
    reader = csv.reader(text.splitlines(keepends=True), delimiter=separator)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, tuple(cell.strip() for cell in cells)
    except csv.Error as error:
        raise ProfileError(f"{path}:{reader.line_num}: is no comma-separated table: {error}") from None


def _columns(cells: tuple[str, ...]) -> dict[str, int]:
    """Where each meaning stands; the first of two columns with one meaning counts."""
    plain = [_plain(cell) for cell in cells]
    places = {
        meaning: [plain.index(_plain(name)) for name in names if _plain(name) in plain]
        for meaning, names in NAMES.items()
    }
    return {meaning: found[0] for meaning, found in places.items() if found}


def _plain(name: str) -> str:
    """A header without its unit, case and spaces."""
    return re.sub(r"[\s_]+", " ", re.sub(r"\(.*\)", "", name)).strip().casefold()


def _unit(header: str, path: Path) -> float:
    found = re.search(r"\((.*)\)", header)
    if found is None:
        return 1.0
    if found[1].strip().lower() not in UNITS:
        raise ProfileError(f"{path}: column {header!r}: the unit is none of {', '.join(UNITS)}")
    return UNITS[found[1].strip().lower()]
