"""What was learned as a file of parameters, which `--cost ascend:./my310p.toml` takes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from egraph_opt.calibration.calibrating import Calibration, Learned
from egraph_opt.cost.parameter_files import EXTENDS, SUFFIX, read_values
from egraph_opt.cost.registry import named
from egraph_opt.errors import OutputError
from egraph_opt.model.files import write_whole

WIDTH = 110


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
    """Write a file of parameters, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    write_whole(output, written(found, base_of(found.cost, output)).encode())


def written(found: Calibration, base: str) -> str:
    """The file as text: what was learned, what is held, and as comments what keeps its default."""
    return "\n".join(_lines(found, base)) + "\n"


def _lines(found: Calibration, base: str) -> Iterator[str]:
    seen, total = found.observations, found.total
    yield f"# {_line(found.cost)} fitted to {_name(found)}: {total.kernels} kernels in {seen.rows} rows."
    yield f"# Prices were wrong {total.before:.3g} times in the middle, and are now {total.after:.3g} times."
    if base:
        yield f"{EXTENDS} = {_text(base)}"
    names = dict.fromkeys(_table(name) for name in (*_held(found), *(entry.name for entry in found.learned)))
    for name in names:
        yield from ("", f"[{name}]", *_parameter(name, found))
    yield from _kept(found.kept)


def _name(found: Calibration) -> str:
    """The profile's file, without its folder."""
    return _line(Path(found.observations.label).name)


def _line(text: str) -> str:
    """A text that fits in a comment."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _held(found: Calibration) -> dict[str, object]:
    """What was set, and stays, by name."""
    return {override.name: override.value for override in found.space.held}


def _table(name: str) -> str:
    """The parameter that an entry belongs to."""
    return name.partition(".")[0]


def _parameter(name: str, found: Calibration) -> Iterator[str]:
    """A value, or entries of a table, with their confidence and source."""
    held = {key: value for key, value in _held(found).items() if _table(key) == name}
    learned = [entry for entry in found.learned if _table(entry.name) == name]
    values = {**held, **{entry.name: entry.value for entry in learned}}
    if name in values:
        yield f"value = {_toml(values[name])}"
    else:
        yield f"value = {_toml({key.partition('.')[2]: value for key, value in values.items()})}"
    told = [f"{key.partition('.')[2] or key}: --set" for key in held]
    if learned:
        yield 'confidence = "M"'
        told.insert(0, f"{_name(found)}, {_told(learned, found)}")
    yield f"source = {_text('; '.join(told))}"


def _told(entries: list[Learned], found: Calibration) -> str:
    """From how many kernels, and how exactly; what it was before."""
    kernels = f"fit of {found.total.kernels} kernels"
    parts = []
    for entry in entries:
        name = f"{entry.name.partition('.')[2]} " if "." in entry.name else ""
        bound = ", at the end of its range" if entry.at_bound else ""
        before = f"before {entry.coordinate.default:g}"
        parts.append(f"{name}+-{100 * entry.error:.2g} %{bound} ({before})")
    return f"{kernels}: {', '.join(parts)}"


def _kept(kept: Mapping[str, str]) -> Iterator[str]:
    """The parameters that keep their defaults, by reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in kept.items():
        reasons.setdefault(reason, []).append(name)
    if reasons:
        yield from ("", "# Not determined, and as before:")
    for reason, names in reasons.items():
        line = f"# {reason}:"
        for name in names:
            if len(line) + len(name) > WIDTH:
                yield line.rstrip(",")
                line = "#  "
            line += f" {name},"
        yield line.rstrip(",")


def _text(value: str) -> str:
    """A TOML string."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'


def _toml(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(part)}" for key, part in value.items()) + " }"
    return repr(value)
