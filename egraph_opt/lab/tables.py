"""Tables as comma-separated values: the one place that writes them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from typing import Any


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A header, and a line a row; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def records_as_csv(rows: Sequence[Any], kind: type[Any]) -> str:
    """Records of one dataclass, a row each, with a header."""
    return csv_text((field.name for field in fields(kind)), map(astuple, rows))
