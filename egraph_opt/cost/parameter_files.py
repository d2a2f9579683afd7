"""Parameters of cost models in TOML: a file that declares them, and files that change some.

A file of values says what it goes on from, and then a value, or a value with its confidence and source:

    extends = "310p3"          # a variant, or another file: "./other.toml", as seen from this one
    l2_share = 0.6
    vector_cycles.Add = 0.02   # an entry of a table

    [fixed_vector_us]
    value = 1.8
    confidence = "M"
    source = "median of our profile"
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from egraph_opt.cost.domains import Domain, ListOf, Names, RecordsOf, RefusedError, TableOf
from egraph_opt.cost.domains import Path as KeyPath
from egraph_opt.cost.parameters import CONFIDENCES, Override, Parameter, domain_of
from egraph_opt.errors import CostModelError, ParameterError, nearest
from egraph_opt.foreign_text import parsed_toml

EXTENDS = "extends"
"""The key that names what a file goes on from."""

SUFFIX = ".toml"

TYPES: dict[str, object] = {"integer": 0, "number": 0.0, "name": ""}
"""What stands for a default that a declaration leaves to the variants."""

ABOUT = ("value", "unit", "confidence", "source")
"""What a file may say of a value."""


@dataclass(frozen=True)
class TomlFile:
    """A file of parameters; its lines are looked for where an error has to name one."""

    label: str
    text: str

    def __str__(self) -> str:
        return self.label

    def at(self, path: KeyPath) -> str:
        line = _line(self.text, path)
        return f"{self.label}:{line}" if line else self.label

    def table(self) -> dict[str, Any]:
        """What is in it.

        Raises:
            CostModelError: it is no TOML; the message names the line.
        """
        try:
            return parsed_toml(self.text)
        except ValueError as error:  # integers and nesting have limits of their own
            told, _, place = str(error).partition(" (at ")
            line = re.match(r"line (\d+)", place)
            number = line[1] if line else len(self.text.splitlines())  # at the end of the document
            raise CostModelError(f"{self.label}:{number}: is no TOML: {told}") from None


def _line(text: str, path: KeyPath) -> int | None:
    """The line in which the value at a path begins: behind the longest beginning of the file without it."""
    without = 0
    lines = text.splitlines()
    for count in range(1, len(lines) + 1):
        try:
            table: Any = parsed_toml("\n".join(lines[:count]))
        except ValueError:
            continue
        if _has(table, path):
            return without + 1
        without = count
    return None


def _has(table: Any, path: KeyPath) -> bool:
    for key in path:
        try:
            table = table[key]
        except LookupError:
            return False
    return True


def read_toml(path: Path) -> TomlFile:
    """A file as text.

    Raises:
        CostModelError: it cannot be read.
    """
    try:
        return TomlFile(str(path), path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CostModelError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise CostModelError(f"{path}: is no TOML: it is not text in UTF-8") from None


@dataclass(frozen=True)
class Values:
    """What a file, and those that it goes on from, set.

    Attributes:
        variant: what all of them go on from; "" where no file says.
        origin: where that is said.
        overrides: the first are those of the file that is gone on from first.
        files: all that were read, each of which goes on from the next.
    """

    variant: str
    origin: str
    overrides: tuple[Override, ...]
    files: tuple[Path, ...] = ()


def read_values(path: Path, declared: Mapping[str, Parameter]) -> Values:
    """Read a file of values and those that it extends.

    Raises:
        CostModelError: one of them cannot be read, is no TOML, or extends itself.
        ParameterError: an entry without a value, in another unit, or of unknown confidence.
    """
    chain: list[Path] = []
    overrides: tuple[Override, ...] = ()
    origin = ""
    while True:
        if path.resolve() in [known.resolve() for known in chain]:
            names = " -> ".join(str(known) for known in (*chain, path))
            raise CostModelError(f"{origin}: {EXTENDS} itself: {names}")
        chain.append(path)
        file = read_toml(path)
        table = file.table()
        overrides = (*overrides_in(file, table, declared), *overrides)
        base = table.get(EXTENDS, "")
        if not isinstance(base, str):
            raise ParameterError(f"{file.at((EXTENDS,))}: {EXTENDS} = {base!r}: must be a name or a file")
        origin = file.at((EXTENDS,)) if base else origin
        if not base.endswith(SUFFIX):
            return Values(base, origin, overrides, tuple(chain))
        path = path.parent / base


def overrides_in(
    file: TomlFile, table: Mapping[str, Any], declared: Mapping[str, Parameter]
) -> tuple[Override, ...]:
    """The values of one file, in its order.

    Raises:
        ParameterError: an entry without a value, in another unit, or of unknown confidence.
    """
    return tuple(
        _override(file, name, raw, declared.get(name)) for name, raw in table.items() if name != EXTENDS
    )


def _override(file: TomlFile, name: str, raw: Any, declared: Parameter | None) -> Override:
    """A value, or one with what is said of it; of a table entries, or one with what is said of them."""
    is_table = declared is not None and isinstance(declared.domain, TableOf)
    if declared is None or not isinstance(raw, Mapping) or (is_table and "value" not in raw):
        return Override(name, raw, file, (name,))
    for key in raw:
        if key not in ABOUT:
            near = nearest(key, ABOUT)
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(ABOUT)}"
            raise ParameterError(f"{file.at((name, key))}: {name} has no {key!r}: {hint}")
    if "value" not in raw:
        raise ParameterError(f"{file.at((name,))}: {name} has no value")
    if raw.get("unit", declared.unit) != declared.unit:
        place = file.at((name, "unit"))
        raise ParameterError(f"{place}: {name} is in {declared.unit!r}, not in {raw['unit']!r}")
    confidence, source = _trust(file, name, raw)
    return Override(name, raw["value"], file, (name, "value"), confidence, source)


def _trust(file: TomlFile, name: str, entry: Mapping[str, Any]) -> tuple[str, str]:
    """Confidence and source of an entry."""
    confidence, source = entry.get("confidence", "U"), entry.get("source", "")
    if confidence not in CONFIDENCES:
        place = file.at((name, "confidence"))
        raise ParameterError(
            f"{place}: {name}: confidence {confidence!r} is not one of {', '.join(CONFIDENCES)}"
        )
    if not isinstance(source, str):
        raise ParameterError(f"{file.at((name, 'source'))}: {name}: source {source!r} is no text")
    return confidence, source


def read_declarations(file: TomlFile, names: Mapping[str, Names]) -> dict[str, Parameter]:
    """The parameters that a file declares, each once: value, unit, range, confidence, source.

    `range` bounds numbers, `choices` and `keys` say which names there are in values and in a table, as a list
    or by a name in `names` or of a table in the file; `fields` those in rules.  What has no value for all
    variants has a `type`, one of `TYPES`.

    Raises:
        ParameterError: a default is not in its range.
    """
    tables = file.table()
    own = {
        name: Names(f"entries of {name}", tuple(entry["value"]))
        for name, entry in tables.items()
        if isinstance(entry.get("value"), dict)
    }
    return {name: _declared(file, name, entry, {**names, **own}) for name, entry in tables.items()}


def _declared(file: TomlFile, name: str, entry: Mapping[str, Any], names: Mapping[str, Names]) -> Parameter:
    domain = _domain(entry, names)
    value = entry.get("value")
    try:
        value = None if value is None else domain.taken(value)
    except RefusedError as error:
        raise ParameterError(f"{file.at((name, 'value', *error.path))}: {name}: {error}") from None
    confidence, source = _trust(file, name, entry)
    return Parameter(name, value, entry["unit"], domain, confidence, source)


def _domain(entry: Mapping[str, Any], names: Mapping[str, Names]) -> Domain:
    if "fields" in entry:
        return RecordsOf({field: ListOf(names[called]) for field, called in entry["fields"].items()})
    example = entry["value"] if "value" in entry else TYPES[entry["type"]]
    least, most = entry.get("range", (0.0, float("inf")))
    choices = _names(entry.get("choices", ()), names)
    keys = names[entry["keys"]] if "keys" in entry else None
    return domain_of(example, (least, most), choices, keys)


def _names(choices: str | Sequence[str], names: Mapping[str, Names]) -> Names:
    return names[choices] if isinstance(choices, str) else Names("names", tuple(choices))
