"""The form of `Report.to_dict` as JSON Schema: `python -m egraph_opt.report.schema` prints it.

It follows from the types of the report's fields.  A number that JSON cannot say is null.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from egraph_opt.report.optimization import Report

DIALECT = "https://json-schema.org/draft/2020-12/schema"

PLAIN: Mapping[Any, Any] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},
    str: {"type": "string"},
    type(None): {"type": "null"},
    Any: {},
}


def schema() -> dict[str, Any]:
    """What every report conforms to; a new field is an addition, and no other makes an old one invalid."""
    declared: dict[str, Any] = {}
    whole = _object(Report, declared)
    return {
        "$schema": DIALECT,
        "title": "egraph-opt report",
        **whole,
        "$defs": dict(sorted(declared.items())),
    }


def _object(cls: type, declared: dict[str, Any]) -> dict[str, Any]:
    """A dataclass: its fields, each of which is there."""
    hints = get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls) if not field.name.startswith("_")]
    properties = {name: _form(hints[name], declared) for name in names}
    return {"type": "object", "properties": properties, "required": names}


def _form(kind: Any, declared: dict[str, Any]) -> dict[str, Any]:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        if kind.__name__ not in declared:
            declared[kind.__name__] = {}  # it may hold others of its kind
            declared[kind.__name__] = _object(kind, declared)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": list(inside)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_form(part, declared) for part in inside]}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _form(inside[1], declared)}
    if origin is tuple and Ellipsis not in inside:
        return {"type": "array", "prefixItems": [_form(part, declared) for part in inside]}
    if isinstance(origin, type) and issubclass(origin, (Sequence, tuple)):
        return {"type": "array", "items": _form(inside[0], declared)}
    return dict(PLAIN[kind])


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
