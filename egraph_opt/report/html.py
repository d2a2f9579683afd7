"""A report as one HTML page that needs nothing else: figures, the differences, and a picture of them.

The picture is drawn by Cytoscape.js, its layers are found by dagre; both are in the page, with their
licences.  What comes of models (names of nodes and tensors) gets into the page as text only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from egraph_opt.foreign_text import printable, printable_lines
from egraph_opt.report.diff_view import DiffView
from egraph_opt.report.explanation import NO_LAW, NOT_RECORDED, Explanation
from egraph_opt.report.text import change_text, number_text

SCRIPTS = ("cytoscape.min.js", "cytoscape-dagre.min.js", "page.js")
LICENCES = ("LICENSE.cytoscape", "LICENSE.cytoscape-dagre", "LICENSE.dagre")


def html_page(
    title: str,
    explanation: Explanation,
    view: DiffView | None,
    report: Any = None,
    costs: Sequence[tuple[str, float, float]] = (),
) -> str:
    """The page of a result, or of two models that are compared.

    Args:
        view: the picture; None for none.
        report: the `Report` of the optimisation; None where the models are anybody's.
        costs: by operator before and after.
    """
    data = {"view": None if view is None else view.to_dict()}
    page: str = _template().render(
        title=printable(title),
        explanation=explanation,
        report=report,
        costs=costs,
        figures=[] if report is None else _figures(report),
        has_view=view is not None,
        data=_embedded(data),
        scripts=[_text(name) for name in SCRIPTS],
        style=_text("page.css"),
        licences=[_text(name) for name in LICENCES],
        no_law=NO_LAW,
        not_recorded=NOT_RECORDED,
    )
    return page


@cache
def _text(name: str) -> str:
    return (resources.files("egraph_opt.report") / "page" / name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_shown
    )
    environment.filters |= {"number": number_text, "bars": _bars}
    return environment.from_string(_text("page.html"))


def _shown(value: Any) -> Any:
    """What comes of models, of which nothing may reverse a line or hide; our own scripts stay as they are."""
    return printable_lines(value) if type(value) is str else value


def _embedded(data: Any) -> str:
    """JSON that ends no script element, whatever is in it."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _figures(report: Any) -> list[tuple[str, str, str, str]]:
    """Rows of what was before, what is after, and the change."""
    nodes, cost, memory = report.nodes, report.cost, report.memory
    rows = [
        ("run-time nodes", nodes.runtime_before, nodes.runtime_after),
        ("nodes in the file", nodes.before, nodes.after),
        (f"cost, {cost.model}, {cost.unit}", cost.before, cost.after),
        ("peak memory, bytes", memory.before, memory.after),
        ("constants, bytes", memory.constants_before, memory.constants_after),
    ]
    if report.latency is not None:
        rows.append(("measured, us", report.latency.before, report.latency.after))
    return [
        (name, number_text(before), number_text(after), change_text(before, after))
        for name, before, after in rows
        if before is not None and after is not None
    ]


def _bars(values: dict[str, float]) -> list[tuple[str, float, float]]:
    """Name, value, and share of the largest in per cent, the largest first."""
    largest = max(values.values(), default=0.0) or 1.0
    ordered = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    return [(name, value, round(100 * value / largest, 1)) for name, value in ordered if value > 0]
