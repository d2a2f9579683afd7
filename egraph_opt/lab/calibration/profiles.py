"""Profiles: what kernels took, as profilers and our own measurements have written it down.

- `op_summary` of msprof, with old and new headers, and `kernel_details` of torch_npu: a row a kernel;
- `op_statistic` of either: a row a type of kernel, without shapes;
- what `egraph-opt measurements export` writes: a row a node that was timed alone.

They are read as text first: their encoding, separator, columns under any of their names, units of time.
"""

from __future__ import annotations

import csv
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from egraph_opt.errors import ProfileError, nearest
from egraph_opt.lab.calibration.tensors import NOTHING, KernelTensor, kernel_tensors
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
    """The column of each meaning; the first of two columns with one meaning counts."""
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


KERNELS = ("type", "duration")
STATISTICS = ("type", "count", "average")
MEASUREMENTS = ("machine", "runtime", "setting", "key", "micros")

NO_TIME = "no time"
NO_TYPE = "no type of kernel"


@dataclass(frozen=True)
class ProfileRow:
    """What a kernel took.

    Attributes:
        line: its number in the file.
        name: of the operator, as far as it has one.
        type: of the kernel, or of the ONNX operator where `key` describes it.
        core: the unit that ran it; "" where nobody says.
        micros: the time of a run, the median of all.
        count: how often it ran.
        inputs, outputs: its operands; None where they are not known.
        total: it is about all kernels of a type, whose mean `micros` is.
        key: of a measurement of ours, what was timed.
    """

    line: int
    name: str
    type: str
    core: str
    micros: float
    count: int = 1
    inputs: tuple[KernelTensor, ...] | None = None
    outputs: tuple[KernelTensor, ...] | None = None
    total: bool = False
    key: str = ""


@dataclass(frozen=True)
class Profile:
    """The rows of one file, those of one kernel on the same operands put together.

    Attributes:
        label: the file.
        rows: in the order of the file.
        left_out: how many lines say nothing, by reason.
        remarks: what a user has to know of it.
    """

    label: str
    rows: tuple[ProfileRow, ...]
    left_out: Counter[str] = field(default_factory=Counter)
    remarks: tuple[str, ...] = ()

    @property
    def lines(self) -> int:
        """How many lines the file has below its header."""
        return sum(row.count if not row.total else 1 for row in self.rows) + self.left_out.total()


def read_profile(path: Path) -> Profile:
    """Read a profile of any kind.

    Raises:
        ProfileError: it cannot be read, columns are missing, or no line has a time.
    """
    table = read_table(path)
    if table.has(*MEASUREMENTS):
        found = _measurements(table)
    elif table.has(*KERNELS):
        found = _kernels(table)
    elif table.has(*STATISTICS):
        found = _statistics(table)
    else:
        raise ProfileError(f"{path}: {_missing(table)}")
    if not found.rows:
        reasons = "; ".join(f"{reason}: {count}" for reason, count in found.left_out.items())
        raise ProfileError(f"{path}: no row can be used ({reasons})")
    return found


def _missing(table: Table) -> str:
    """What is missing of the kind of table that this seems to be."""
    kinds = {
        KERNELS: "a profile of kernels (op_summary, kernel_details)",
        STATISTICS: "an op_statistic",
        MEASUREMENTS: "an export of measurements",
    }
    lacks = {kind: sum(meaning not in table.columns for meaning in kind) for kind in kinds}
    wanted = min(kinds, key=lambda kind: lacks[kind] / len(kind))
    return f"{table.missing(wanted)}: is it {kinds[wanted]}?"


def _kernels(table: Table) -> Profile:
    rows, left_out = [], Counter[str]()
    for line, cells in table.lines:
        kind, micros = table.cell(cells, "type"), table.number(cells, "duration")
        reason = _useless(kind, micros)
        if reason or micros is None:
            left_out[reason] += 1
            continue
        inputs, outputs = (
            kernel_tensors(*(table.cell(cells, f"{side} {what}") for what in ("shapes", "types", "formats")))
            if table.has(f"{side} shapes")
            else None
            for side in ("input", "output")
        )
        name, core = table.cell(cells, "name"), table.cell(cells, "core").upper()
        rows.append(ProfileRow(line, name, kind, core, micros, inputs=inputs, outputs=outputs))
    return Profile(table.label, _together(rows), left_out)


def _useless(kind: str, micros: float | None) -> str:
    """Why a line says nothing of a cost; "" where it does."""
    if kind.upper() in ("", *NOTHING):
        return NO_TYPE
    return "" if micros is not None and math.isfinite(micros) and micros > 0 else NO_TIME


def _together(rows: Iterable[ProfileRow]) -> tuple[ProfileRow, ...]:
    """One row for what ran often: in several steps, on several devices."""
    groups: dict[tuple[object, ...], list[ProfileRow]] = {}
    for row in rows:
        groups.setdefault((row.name, row.type, row.core, row.inputs, row.outputs), []).append(row)
    return tuple(
        replace(group[0], micros=statistics.median(row.micros for row in group), count=len(group))
        for group in groups.values()
    )


def _statistics(table: Table) -> Profile:
    rows, left_out = [], Counter[str]()
    for line, cells in table.lines:
        kind, micros = table.cell(cells, "type"), table.number(cells, "average")
        count = table.number(cells, "count")
        reason = _useless(kind, micros)
        if reason or micros is None or not count or not math.isfinite(count):
            left_out[reason or NO_TIME] += 1
            continue
        core = table.cell(cells, "core").upper()
        rows.append(ProfileRow(line, kind, kind, core, micros, int(count), total=True))
    return Profile(table.label, tuple(rows), left_out)


def _measurements(table: Table) -> Profile:
    """The measurements of the place that has most of them."""
    places: dict[tuple[str, ...], list[ProfileRow]] = {}
    left_out: Counter[str] = Counter()
    for line, cells in table.lines:
        micros = table.number(cells, "micros")
        if micros is None or not micros > 0:
            left_out["onnxruntime cannot run it alone" if table.cell(cells, "refusal") else NO_TIME] += 1
            continue
        place = tuple(table.cell(cells, part) for part in MEASUREMENTS[:3])
        row = ProfileRow(line, "", "", "", micros, key=table.cell(cells, "key"))
        places.setdefault(place, []).append(row)
    if not places:
        return Profile(table.label, (), left_out)
    chosen = max(places, key=lambda place: len(places[place]))
    others: Sequence[int] = [len(rows) for place, rows in places.items() if place != chosen]
    if others:
        left_out["measured on another machine, or in another setting"] += sum(others)
    return Profile(table.label, tuple(places[chosen]), left_out, (f"measured on {', '.join(chosen)}",))
