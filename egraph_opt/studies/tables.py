"""Rows of a study as comma-separated values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import Any

from egraph_opt.report.tables import csv_text


def as_csv(rows: Sequence[Any], kind: type[Any]) -> str:
    """Records of one dataclass, a row each, with a header."""
    return csv_text((field.name for field in fields(kind)), map(astuple, rows))
