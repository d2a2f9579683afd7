"""Names and settings of ONNX operators in laws: those that terms of a model have; others never match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx

from egraph_opt.errors import LawError, nearest
from egraph_opt.operators.declaration import Operator, lowering_of, operators
from egraph_opt.operators.expressions import Constant, Expression, Function

TYPES = {"FLOAT": float, "INT": int, "STRING": str}
"""Of settings, by what ONNX calls them."""

CLIP = ("max", "min")
"""The settings of Clip, which has its bounds as inputs."""


def check_names(expression: Expression) -> None:
    """Check the names and settings that stand in a term.

    Raises:
        LawError: no model is lowered to such a term.
    """
    declared = operators()
    pending = [expression]
    while pending:
        part = pending.pop()
        pending.extend(part.arguments)
        if isinstance(part.head, Function) and part.head.name in declared:
            _check_operator(declared[part.head.name], part)


def _check_operator(operator: Operator, part: Expression) -> None:
    values = {
        name: a.head.value for name, a in zip(operator.names, part.arguments, strict=True) if _is_value(a)
    }
    for name, kind in zip(operator.names, operator.kinds, strict=True):
        if kind != "string" or name not in values or not operator.op_types:
            continue
        if values[name] not in operator.op_types:
            raise LawError(_no_name(operator, values[name]))
        if "settings" in values:
            _check_settings(values[name], values["settings"])


def _is_value(argument: Expression) -> bool:
    return isinstance(argument.head, Constant)


def _no_name(operator: Operator, name: str) -> str:
    told = f'{operator.name}("{name}", ..) is in no model: '
    for other in operators().values():
        if name in other.op_types:
            return f"{told}{name} is lowered to `{other.name}`"
    if onnx.defs.has(name):
        known = "another term" if lowering_of(name) else "an opaque one, unless you declare it as an operator"
        return f"{told}{name} is lowered to {known}; see `egraph-opt operators`"
    near = nearest(name, operator.op_types)
    hint = f"; did you mean {near!r}?" if near else ""
    return f"{told}it is one of {', '.join(operator.op_types)}{hint}"


def _check_settings(op_type: str, settings: Any) -> None:
    """Raise where no opset has an operator with these settings; all that have a default are among them."""
    try:
        names = tuple(name for name, _ in settings)
    except (TypeError, ValueError):
        raise LawError(
            f"the settings of {op_type} are pairs of name and value, and not {settings!r}"
        ) from None
    wanted = [CLIP] if op_type == "Clip" else []
    for schema in _versions(op_type) if not wanted else ():
        least = {name for name, a in schema.attributes.items() if a.default_value.type}
        if names == tuple(sorted(names)) and least <= set(names) <= set(schema.attributes):
            _check_types(op_type, settings, schema)
            return
        wanted.append(tuple(sorted(least)))
    if names not in wanted:
        raise LawError(
            f"a model's {op_type} has the settings ({', '.join(wanted[0])}), and not ({', '.join(names)})"
        )


def _check_types(op_type: str, settings: Any, schema: Any) -> None:
    """Raise where a setting is of another type than ONNX has it: 1 is no float."""
    for name, value in settings:
        kind = schema.attributes[name].type.name
        wanted = TYPES.get(kind.removesuffix("S"))
        items = value if kind.endswith("S") and isinstance(value, tuple) else (value,)
        if wanted and value is not None and not all(type(item) is wanted for item in items):
            raise LawError(f"{name} of {op_type} is {value!r}, and no {kind.lower()} of ONNX")


def _versions(op_type: str) -> Iterator[Any]:
    """The schemas of an operator, the newest first."""
    schema = onnx.defs.get_schema(op_type)
    while schema is not None:
        yield schema
        try:
            schema = onnx.defs.get_schema(op_type, schema.since_version - 1)
        except onnx.defs.SchemaError:
            return
