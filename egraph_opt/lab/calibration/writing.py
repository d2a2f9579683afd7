"""Values that were found, as a file of parameters which `--cost ascend:./my310p.toml` takes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from egraph_opt.cost.parameter_files import EXTENDS, SUFFIX, read_values
from egraph_opt.cost.parameters import Override
from egraph_opt.cost.registry import named
from egraph_opt.errors import OutputError
from egraph_opt.lab.calibration.calibrating import Calibration, Learned
from egraph_opt.model.files import write_whole

WIDTH = 110


@dataclass(frozen=True)
class ParameterFile:
    """What a file of parameters says.

    Attributes:
        heading: comments at its beginning.
        base: what it goes on from; "" for the default.
        held: what was set before, and stays.
        values: what was found, by name of a parameter or of an entry.
        confidence: how far that can be trusted.
        sources: where it comes from, by parameter.
        kept: why the others keep their defaults, by name.
    """

    heading: tuple[str, ...]
    base: str
    held: tuple[Override, ...]
    values: Mapping[str, float]
    confidence: str
    sources: Mapping[str, str]
    kept: Mapping[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write it whole or not at all.

        Raises:
            OutputError: it cannot be written.
        """
        write_whole(path, ("\n".join(self.lines()) + "\n").encode())

    def lines(self) -> Iterator[str]:
        """It as TOML."""
        yield from (f"# {_line(text)}" for text in self.heading)
        if self.base:
            yield f"{EXTENDS} = {_text(self.base)}"
        held = {override.name: override.value for override in self.held}
        for table in dict.fromkeys(map(parameter_of, (*held, *self.values))):
            yield from ("", f"[{_key(table)}]", *self._parameter(table, held))
        yield from _comments(self.kept)

    def _parameter(self, table: str, held: Mapping[str, object]) -> Iterator[str]:
        """A value, or entries of a table, with their confidence and source."""
        stays = {name: value for name, value in held.items() if parameter_of(name) == table}
        values = {**stays, **{name: v for name, v in self.values.items() if parameter_of(name) == table}}
        if table in values:
            yield f"value = {_toml(values[table])}"
        else:
            yield f"value = {_toml({entry_of(name): value for name, value in values.items()})}"
        told = [f"{entry_of(name) or name}: --set" for name in stays]
        if table in self.sources:
            yield f'confidence = "{self.confidence}"'
            told.insert(0, self.sources[table])
        yield f"source = {_text('; '.join(told))}"


def parameter_of(name: str) -> str:
    """The parameter that an entry belongs to, which is itself where it is no entry."""
    return name.partition(".")[0]


def entry_of(name: str) -> str:
    """The entry within its table; "" where it is none."""
    return name.partition(".")[2]


def base_of(cost: str, output: Path) -> str:
    """What the written file goes on from: the variant or the file behind a cost model's name; "" for none.

    Raises:
        OutputError: it would go on from itself, or its name is not that of a file of parameters.
    """
    if output.suffix != SUFFIX:
        raise OutputError(f"{output}: a file of parameters ends in {SUFFIX}")
    if not cost.endswith(SUFFIX):
        return named(cost).variant
    behind = Path(cost.rpartition(":")[2]).resolve()
    if output.resolve() in (path.resolve() for path in read_values(behind, {}).files):
        raise OutputError(f"{output}: is read for {cost}: write the result to another one")
    relative = Path(os.path.relpath(behind, output.resolve().parent)).as_posix()
    return relative if "/" in relative else f"./{relative}"


def write_calibration(found: Calibration, output: Path) -> None:
    """Write what was learned.

    Raises:
        OutputError: it cannot be written.
    """
    seen, total, name = found.observations, found.total, Path(found.observations.label).name
    heading = (
        f"{found.cost} fitted to {name}: {total.kernels} kernels in {seen.rows} rows.",
        f"Prices were wrong {total.before:.3g} times in the middle, and are now {total.after:.3g} times.",
    )
    tables: dict[str, list[Learned]] = {}
    for entry in found.learned:
        tables.setdefault(parameter_of(entry.name), []).append(entry)
    kernels = f"{name}, fit of {total.kernels} kernels"
    sources = {table: f"{kernels}: {', '.join(map(_told, entries))}" for table, entries in tables.items()}
    values = {entry.name: entry.value for entry in found.learned}
    base = base_of(found.cost, output)
    ParameterFile(heading, base, found.space.held, values, "M", sources, found.kept).write(output)


def _told(entry: Learned) -> str:
    """How exactly it is known, and what it was before."""
    name = f"{entry_of(entry.name)} " if entry_of(entry.name) else ""
    remark = f", {entry.remark}" if entry.remark else ""
    return f"{name}+-{100 * entry.error:.2g} %{remark} (before {entry.coordinate.default:g})"


def _comments(kept: Mapping[str, str]) -> Iterator[str]:
    """The parameters that keep their defaults, by reason."""
    if kept:
        yield from ("", "# Not determined, and as before:")
    for reason, names in by_reason(kept).items():
        line = f"# {_line(reason)}:"
        for name in map(_line, names):
            if len(line) + len(name) > WIDTH:
                yield line
                line = "#  "
            line += f" {name}" if name == _line(names[-1]) else f" {name},"
        yield line


def by_reason(kept: Mapping[str, str]) -> dict[str, list[str]]:
    """Names by the reason why they are kept."""
    found: dict[str, list[str]] = {}
    for name, reason in kept.items():
        found.setdefault(reason, []).append(name)
    return found


def _line(text: str) -> str:
    """A text that fits in a line."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _text(value: str) -> str:
    """A TOML string."""
    escaped = _line(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _key(name: str) -> str:
    """A key, in quotes where TOML needs them."""
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _text(name)


def _toml(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, Iterable):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value)
