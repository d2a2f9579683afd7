"""Rows of a study as comma-separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import Any


def as_csv(rows: Sequence[Any], kind: type[Any]) -> str:
    """Records of one dataclass, a row each, with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(kind))
    writer.writerows(map(astuple, rows))
    return text.getvalue()
