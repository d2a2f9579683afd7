"""Attributes and facts as JSON, for files."""

from __future__ import annotations

import dataclasses
from typing import Any

from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import attribute_classes


def encode(value: Any) -> Any:
    """An attribute or fact as JSON: tuples as lists, dataclasses as objects."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {item.name: encode(getattr(value, item.name)) for item in dataclasses.fields(value)}
        return {"class": type(value).__name__, "fields": fields}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value).__name__} is no attribute value; declare it with @attribute_class")


def decode(value: Any) -> Any:
    """The inverse of `encode`."""
    if isinstance(value, dict):
        declared = Fact if value["class"] == "Fact" else attribute_classes[value["class"]]
        return declared(**{name: decode(item) for name, item in value["fields"].items()})
    return tuple(decode(item) for item in value) if isinstance(value, list) else value
