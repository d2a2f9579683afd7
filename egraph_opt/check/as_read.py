"""Settings that readers of nodes give operators which files declare: those of a schema, defaults filled in.

A term that no reader makes of a node is in no model.  A law that asks for a setting which is always there, or
for an axis that is always counted from the front, is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onnx import TensorProto, defs

from egraph_opt.check.choices import Random, chance, pick
from egraph_opt.check.schema_values import default_of, other_values
from egraph_opt.egraph.lowering import Lowered, Term
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.imports import onnx_ir as ir
from egraph_opt.inference.onnx_inference import schema
from egraph_opt.operators.constants import literal_fact
from egraph_opt.operators.declaration import (
    Attributes,
    Literal,
    OnnxForm,
    Operator,
    TermSpec,
    declared_outside,
    lowering_of,
    lowerings,
    operator_named,
)
from egraph_opt.operators.node_reader import NodeReader
from egraph_opt.rebuild.evaluation import literal_array

USUAL = 0.6
"""The share of attributes that are as the schema has them by default."""

SPARE = 0.3
"""The share of attributes without a default that are there."""


def declares_operators() -> bool:
    """Whether a file has declared how nodes of an operator are read."""
    return any(declared_outside(reader.__module__) for reader in lowerings.values())


def drawn_settings(
    rng: Random, operator: str, parameter: str, before: Mapping[str, Any], operands: Sequence[Fact]
) -> Attributes:
    """Settings of an operator that a file declares, on operands of which the facts are given.

    Args:
        before: the attributes that the operator has already, see `attribute_of`.

    Raises:
        LookupError: no node is read as one with settings.
    """
    declared, opset = operator_named(operator), before.get("opset", 17)
    for op_type in _op_types(declared):
        found = schema(op_type, "", opset)
        if found is None:
            continue
        drawn = _drawn(rng, found, operands[0].rank or 0 if operands else 0)
        attributes = _attributes(declared, parameter, before, drawn)
        form = _form(declared, opset, attributes, operands)
        if form is not None and form.op_type == op_type:
            read = _read(form, opset, operands, drawn)
            if read is not None and read.operator == operator:
                names = [declared.names[k] for k in declared.attribute_positions]
                settings: Attributes = read.attributes[names.index(parameter)]
                return settings
    raise LookupError(f"no node is read as {operator}")


def is_as_read(lowered: Lowered) -> bool:
    """Whether operators that files declare have attributes that their readers give nodes."""
    return all(
        _is_term_as_read(term, _facts_of(lowered, term), lowered.opset)
        for term in lowered.terms
        if declared_outside(operator_named(term.operator).module)
    )


def _facts_of(lowered: Lowered, term: Term) -> list[Fact]:
    places = (k for item in term.operands for k in (item if isinstance(item, tuple) else (item,)))
    return [fact for fact in map(lowered.facts.__getitem__, places) if fact is not None]


def _is_term_as_read(term: Term, operands: Sequence[Fact], opset: int) -> bool:
    form = _form(operator_named(term.operator), opset, term.attributes, operands)
    if form is None or form.domain or lowering_of(form.op_type) is None:
        return True  # what only laws write is as they write it
    read = _read(form, opset, operands, form.attributes)
    if read is None or read.operator != term.operator:
        return read is not None
    return all(map(_is_part, term.attributes, read.attributes))


def _is_part(written: Any, read: Any) -> bool:
    """Whether an attribute is as it is read, of settings as far as they were written."""
    if isinstance(written, tuple) and isinstance(read, tuple) and all(map(_is_pair, (*written, *read))):
        return {*map(repr, written)} <= {*map(repr, read)}
    return repr(written) == repr(read)


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)


def _op_types(declared: Operator) -> Iterator[str]:
    """ONNX operators that are read where an operator is declared."""
    return (name for name, reader in lowerings.items() if reader.__module__ == declared.module)


def _attributes(
    declared: Operator, parameter: str, before: Mapping[str, Any], drawn: Attributes
) -> tuple[Any, ...]:
    values: list[Any] = []
    for k in declared.attribute_positions:
        name = declared.names[k]
        key = "op" if declared.kinds[k] == "string" else name
        if name != parameter and key not in before:
            raise LookupError(f"{name} of {declared.name} is not there yet")
        values.append(drawn if name == parameter else before[key])
    return tuple(values)


def _drawn(rng: Random, found: defs.OpSchema, rank: int) -> Attributes:
    """Attributes of a node, sorted by name."""
    made: dict[str, Any] = {}
    for name in sorted(found.attributes):
        default, others = default_of(found, name), other_values(found, name, None, rank)
        share = 1.0 if found.attributes[name].required else SPARE if default is None else 1 - USUAL
        if others and chance(rng, share):
            made[name] = pick(rng, *others)
        elif default is not None:
            made[name] = default
    return tuple(made.items())


def _form(
    declared: Operator, opset: int, attributes: tuple[Any, ...], operands: Sequence[Fact]
) -> OnnxForm | None:
    """How an operator is written; None where it cannot be, or not with such attributes."""
    try:
        return declared.form(opset, attributes, tuple(operands)) if declared.form is not None else None
    except Exception:  # a form is the author's, and these attributes are not
        return None


def _read(form: OnnxForm, opset: int, operands: Sequence[Fact], attributes: Attributes) -> TermSpec | None:
    """What a node of a form is read as, with some attributes."""
    facts: dict[ir.Value, Fact] = {}
    inputs = [_input(item, operands, facts) for item in form.inputs]
    made = [ir.convenience.convert_attribute(*pair) for pair in attributes if pair[1] != ()]
    node = ir.Node("", form.op_type, inputs, made, num_outputs=1)
    reader = lowering_of(form.op_type)
    try:
        spec: TermSpec | None = None if reader is None else reader(NodeReader(node, opset, facts))
    except Exception:  # a reader is the author's, and this node is not
        return None
    return spec


def _input(item: int | Literal | None, operands: Sequence[Fact], facts: dict[ir.Value, Fact]) -> Any:
    if item is None or (isinstance(item, int) and operands[item] == ABSENT):
        return None
    value = ir.Value(name=f"i{len(facts)}")
    if isinstance(item, int):
        facts[value] = operands[item]
        return value
    facts[value] = literal_fact(item)
    if item.dtype != TensorProto.STRING:
        value.const_value = ir.tensor(literal_array(item))
    return value
