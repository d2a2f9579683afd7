"""`egraph-opt costs`: the cost models, and with `--parameters` what the prices of one depend on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sized
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from egraph_opt.cli.application import (
    WIDTH,
    JsonOption,
    SetOption,
    app,
    errors_as_lines,
    parsed_overrides,
    tell,
    tell_json,
    wrapped,
)

if TYPE_CHECKING:
    from egraph_opt.cost.parameters import Parameter

WIDEST = 100
VALUE = 36
"""Where values end."""


@app.command()
def costs(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Only this one, written as for --cost.", show_default=False),
    ] = None,
    parameters: Annotated[
        bool, typer.Option("--parameters", help="Its parameters: value, unit, range, confidence, source.")
    ] = False,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the cost models: name, unit, what it prices; or the parameters of one."""
    overrides = parsed_overrides(set_)
    if name is None and (parameters or overrides):
        raise typer.BadParameter("name a cost model: egraph-opt costs ascend --parameters")
    with errors_as_lines():
        from egraph_opt.cost.registry import SHORT, parameters_of

        found = {} if name is None else parameters_of(name, overrides)
        rows = _rows(name)
    if name is not None and parameters:
        _show(name, rows[0]["unit"], found, as_json)
    elif as_json:
        tell_json(rows)
    else:
        width = max(len("name"), *(len(row["name"]) for row in rows)) + 2
        tell(f"{'name':<{width}}{'unit':<7}what it prices")
        for row in rows:
            head = f"{row['name']:<{width}}{row['unit']:<7}{row['about']}"
            variants = f"variants: {', '.join(row['variants'])}" if row["variants"] else ""
            for line in (*wrapped(head, WIDTH, "", " " * (width + 7)), *wrapped(variants)):
                tell(line)
        for short, whole in SHORT.items() if name is None else ():
            tell(f"{short} is {whole}")


def _rows(name: str | None) -> list[dict[str, Any]]:
    """What is listed of each cost model, or of one."""
    from egraph_opt.cost.registry import cost_models, named

    return [_row(each, named(each).factory) for each in ([name] if name else cost_models())]


def _row(name: str, model: Any) -> dict[str, Any]:
    from egraph_opt.cost.model import CostModel
    from egraph_opt.cost.registry import cost_model, named

    if not (isinstance(model, type) and issubclass(model, CostModel) and hasattr(model, "unit")):
        model = cost_model(name)  # made only where the class does not say it all: chips have tables
    told = (model if isinstance(model, type) else type(model)).__doc__ or ""
    about = told.strip().splitlines() or [""]
    variants = [f"{named(name).base}:{variant}" for variant in model.variants()]
    return {"name": name, "unit": model.unit, "variants": variants, "about": about[0]}


def _show(name: str, unit: str, found: Mapping[str, Parameter], as_json: bool) -> None:
    """Print parameters."""
    from egraph_opt.cost.parameters import CONFIDENCES

    if as_json:
        told = {"model": name, "unit": unit, "parameters": [_as_json(entry) for entry in found.values()]}
        tell_json(told)
        return
    if not found:
        tell(f"{name} declares no parameters")
        return
    console = Console()
    width = min(console.width, WIDEST) if console.is_terminal else WIDTH
    tell(f"{'parameter':<{VALUE - 8}}{'value':>8}  unit\n    range; confidence: source")
    for entry in found.values():
        for line in _lines(entry, width):
            tell(line)
    for letter, meaning in CONFIDENCES.items():
        tell(f"{letter}: {meaning}")


def _lines(entry: Parameter, width: int) -> Iterator[str]:
    """A parameter: its value and unit on a line, and below what else is known of it."""
    value, parts = _value(entry.value)
    head = f"{entry.name}{value:>{max(VALUE - len(entry.name), len(value) + 1)}}  "
    yield from wrapped(head + entry.unit, width, "", " " * (VALUE + 2))
    for text in (f"{entry.domain}; {entry.confidence}: {entry.source or 'no source'}", *parts):
        yield from wrapped(text, width)


def _value(value: Any) -> tuple[str, list[str]]:
    """A value on a line; what takes more than that below it."""
    if isinstance(value, Mapping):
        entries = ((key, " ".join(part) if isinstance(part, tuple) else part) for key, part in value.items())
        return _count(value, "entry", "entries"), [", ".join(f"{key}={part}" for key, part in entries)]
    if isinstance(value, tuple) and any(isinstance(part, Mapping) for part in value):
        return _count(value, "rule", "rules"), [_rule(part) for part in value]
    if isinstance(value, tuple):
        return _count(value, "name", "names"), [", ".join(value)]
    return str(value), []


def _count(parts: Sized, one: str, many: str) -> str:
    return f"{len(parts)} {one if len(parts) == 1 else many}"


def _rule(rule: Mapping[str, Any]) -> str:
    fields = (f"{key} {', '.join(part)}" for key, part in rule.items() if isinstance(part, tuple))
    return f"- {'; '.join(fields)}; {rule.get('confidence', 'U')}: {rule.get('source', 'no source')}"


def _as_json(entry: Parameter) -> dict[str, Any]:
    numbers = entry.domain.numbers
    least, most = (None, None) if numbers is None else (numbers.least, numbers.most)
    return {
        "name": entry.name,
        "value": entry.value,
        "unit": entry.unit,
        "range": str(entry.domain),
        "least": least if least is not None and math.isfinite(least) else None,
        "most": most if most is not None and math.isfinite(most) else None,
        "confidence": entry.confidence,
        "source": entry.source,
    }
