"""Parts of the documentation that the code declares; mkdocs calls `on_page_markdown` for every page.

A line `<!-- table: laws -->` in a page becomes what the function of that name returns, so that nothing that
is registered is written down a second time.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from typing import Any, get_args

import egraph_opt
from egraph_opt.cost.domains import Numbers
from egraph_opt.cost.registry import cost_model, cost_models
from egraph_opt.cost_models import ascend_soc
from egraph_opt.extraction.registry import EXTRACTORS
from egraph_opt.laws.direction import direction_of
from egraph_opt.laws.exactness import CLASSES, told_class
from egraph_opt.laws.law import Law
from egraph_opt.laws.proved import is_proved, told_proof
from egraph_opt.laws.selection import all_laws, opt_in
from egraph_opt.operators import operators
from egraph_opt.operators import sorts as sorts_of_attributes
from egraph_opt.operators.expressions import Bundle, Int, String, Tensor, Tensors
from egraph_opt.report.law_picture import picture

MARKER = re.compile(r"^<!-- table: (\w+) -->$", re.MULTILINE)
LAW_COLUMNS = ("name", "law", "", "why", "kind", "serves", "exact", "known", "source")
EXAMPLE = "transpose.compose_transposes"
"""The law that is shown in full."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A page with its tables where their markers are.

    Raises:
        KeyError: a marker names no table.
    """
    return MARKER.sub(lambda marker: TABLES[marker[1]](), markdown)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def api() -> str:
    """The public names, each as mkdocstrings takes it for its docstring."""
    names = [name for name in egraph_opt.__all__ if not name.startswith("_")]
    found = [getattr(egraph_opt, name) for name in names]
    return "\n\n".join(f"::: {entry.__module__}.{entry.__name__}" for entry in found)


def _code(text: object) -> str:
    return f"`{' '.join(str(text).split())}`"


def _plain(text: str) -> str:
    """Text in which only code is taken for Markdown."""
    pieces = re.split(r"`+([^`]+)`+", " ".join(text.split()))
    escaped = (re.sub(r"([\\*_\[\]<>|])", r"\\\1", piece) for piece in pieces[::2])
    return "".join(
        outside + code for outside, code in zip(escaped, [*map(_code, pieces[1::2]), ""], strict=True)
    )


def _by_ruleset() -> dict[str, list[Law]]:
    found: dict[str, list[Law]] = {}
    for entry in all_laws():
        found.setdefault(entry.ruleset, []).append(entry)
    return found


def rulesets() -> str:
    """Every ruleset with the number of its laws."""
    rows = []
    for name, laws in _by_ruleset().items():
        counts = [sum(entry.numerics == kind for entry in laws) for kind in CLASSES]
        rows.append((_code(name), len(laws), *counts, "by name" if opt_in(name) else "always"))
    return _table(("ruleset", "laws", *CLASSES, "on"), rows)


def laws() -> str:
    """Every law, ruleset by ruleset, each with a picture of its sides that opens on a click."""
    parts = []
    for ruleset, entries in _by_ruleset().items():
        parts.append(f"## {ruleset}\n\n" + _table(LAW_COLUMNS, map(_law_row, entries)))
        parts.append("\n\n".join(map(_picture, entries)))
    return "\n\n".join(parts)


def _picture(entry: Law) -> str:
    return f"<details><summary>{entry.name}</summary>{picture(entry)}</details>"


def _law_row(entry: Law) -> tuple[str, ...]:
    way = direction_of(entry)
    exact = told_class(entry.numerics, entry.within)
    told = (_code(way.sign), _plain(way.reason), entry.kind, entry.serves, exact, told_proof(entry))
    return (_code(entry.name), _code(entry.formula), *told, _plain(entry.source))


def example_law() -> str:
    """The source of one law, with the host functions that it names."""
    (entry,) = (entry for entry in all_laws() if entry.key == EXAMPLE)
    module = inspect.getmodule(entry.function)
    assert module is not None
    named = [getattr(module, name, None) for name in entry.function.__code__.co_names]
    hosted = [
        found
        for found in named
        if callable(found) and hasattr(found, "__wrapped__") and found.__module__ == module.__name__
    ]
    source = "\n\n".join(inspect.getsource(part) for part in (*hosted, entry.function))
    return f"```python\n{source}```"


def term_language() -> str:
    """The operators that the term language has."""
    rows = []
    for entry in operators().values():
        kind = "pseudo-operator" if entry.expand is not None else entry.result
        rows.append((_code(entry.signature), kind, _plain(entry.doc.splitlines()[0])))
    return _table(("constructor", "result", "meaning"), rows)


def proofs() -> str:
    """By ruleset how many laws are proved, those with most first."""
    rows = [
        (ruleset, sum(map(is_proved, entries)), len(entries)) for ruleset, entries in _by_ruleset().items()
    ]
    some = sorted((row for row in rows if row[1]), key=lambda row: (-row[1], row[0]))
    of_others = sum(count for _, proved, count in rows if not proved)
    all_proved, every = sum(row[1] for row in rows), sum(row[2] for row in rows)
    listed = [(_code(name), proved, count) for name, proved, count in some]
    head = ("ruleset", "proved", "laws")
    return _table(head, [*listed, ("others", 0, of_others), ("all", all_proved, every)])


VALUES = {
    Tensor: "`Fact`",
    Tensors: "`tuple[Fact, ...]`",
    Bundle: "`tuple[Fact, ...]`",
    String: "`str`",
    Int: "`int`",
}
"""What a host function is handed for a variable that is no attribute."""


def sorts() -> str:
    """The sorts of pattern variables, and what a host function gets for them."""
    rows = [(_code(cls.__name__), value, _plain(_first(cls.__doc__))) for cls, value in VALUES.items()]
    for made, text in itertools.pairwise(ast.parse(inspect.getsource(sorts_of_attributes)).body):
        if isinstance(made, ast.Assign) and isinstance(text, ast.Expr):
            name = ast.unparse(made.targets[0])
            value = get_args(getattr(sorts_of_attributes, name))[0]
            rows.append((_code(name), _code(_type(value)), _plain(ast.literal_eval(text.value))))
    return _table(("sort", "to the host", "what it is"), rows)


def _type(value: Any) -> str:
    name = value.__name__ if isinstance(value, type) and not get_args(value) else str(value)
    return name.replace("typing.", "").replace("|", "\\|")


def _first(text: str | None) -> str:
    return (text or "").strip().splitlines()[0]


def extractors() -> str:
    """The extractors by name."""
    rows = [(_code(e.name), e.exact_for, "yes" if e.anytime else "no") for e in EXTRACTORS.values()]
    return _table(("extractor", "optimal for", "can be stopped early"), rows)


def models() -> str:
    """The installed cost models."""
    rows = []
    for name in cost_models():
        model = cost_model(name)
        about = (type(model).__doc__ or "").strip().splitlines()[0]
        rows.append((_code(name), model.unit, _plain(re.sub(r":\w+:", "", about))))
    return _table(("name", "unit", "what it prices"), rows)


def ascend_shared() -> str:
    """The parameters that all chips have in common, unless their own file says otherwise."""
    rows = []
    for name, entry in ascend_soc.shared().items():
        if isinstance(entry.domain, Numbers) and entry.value is not None:
            told = (entry.value, entry.unit, entry.domain, entry.confidence, _plain(entry.source))
            rows.append((_code(name), *told))
    return _table(("parameter", "value", "unit", "range", "confidence", "source"), rows)


def _of_chips() -> dict[str, dict[str, Any]]:
    """What the files of the chips say."""
    folder = files("egraph_opt.cost_models")
    return {
        chip: tomllib.loads((folder / f"ascend{chip}.toml").read_text(encoding="utf-8"))
        for chip in ascend_soc.socs()
    }


def ascend_chips() -> str:
    """The chips beside each other: what their own files say."""
    own = _of_chips()
    names = dict.fromkeys(name for table in own.values() for name in table)
    rows = []
    for name in names:
        values = [_value(table[name]["value"]) if name in table else "" for table in own.values()]
        rows.append((_code(name), ascend_soc.shared()[name].unit, *values))
    return _table(("parameter", "unit", *own), rows)


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


TABLES: dict[str, Callable[[], str]] = {
    table.__name__: table
    for table in (
        rulesets,
        laws,
        example_law,
        proofs,
        sorts,
        term_language,
        extractors,
        models,
        ascend_shared,
        ascend_chips,
        api,
    )
}
"""The tables by the name that a marker has."""
