"""The results of models that `make bench` writes, as tables read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
GROUPS = ("trained", "exports", "light")
"""The files of results, in the order in which tables name their models."""

Row = dict[str, Any]


def results(group: str) -> dict[str, Any]:
    """One file of results: `versions`, and by name of a model `models`, `seconds`, `memory`."""
    found: dict[str, Any] = json.loads((RESULTS / f"{group}.json").read_text(encoding="utf-8"))
    return found


def rows(*groups: str) -> dict[str, Row]:
    """By name what was measured of the models of these groups, or of all: figures, `seconds`, `memory`.

    Models that failed are not among them.
    """
    found = {}
    for group in groups or GROUPS:
        table = results(group)
        for name, row in table["models"].items():
            if "error" in row:
                continue
            found[name.removesuffix(".onnx")] = row | {
                key: table[key].get(name, {}) for key in ("seconds", "memory")
            }
    return found
