"""Tables as comma-separated values: the one place that writes them.

A spreadsheet takes a cell that begins like a formula for one, and runs it: what is text, as the name of a
model is, is marked as text.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from typing import Any


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A header, and a line a row; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_cell, columns))
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


_FORMULA = re.compile(r"^ *(?=[=+\-@\t\r\n＝＋－＠])|(?<=.[;\t\r\n]) *(?=[=+\-@＝＋－＠])")
"""Where a formula begins: where decimals have commas, semicolons separate cells."""


def _cell(value: object) -> object:
    """A value as it is written: what could be a formula in it behind an apostrophe."""
    if isinstance(value, str) and not _is_number(value):
        return _FORMULA.sub(r"'\g<0>", value)
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def records_as_csv(rows: Sequence[Any], kind: type[Any]) -> str:
    """Records of one dataclass, a row each, with a header."""
    return csv_text((field.name for field in fields(kind)), map(astuple, rows))
