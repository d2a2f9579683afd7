"""Operators that the engine understands, by its own declarations: each with random operands and attributes.

The families of motifs beside this one make what laws look for; this one leaves no operator out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import helper

from egraph_opt.check.attributes import attribute_of
from egraph_opt.check.operands import may_be_absent, operand_dtype, operand_shapes
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import ABSENT, Dim, Fact
from egraph_opt.operators.declaration import Literal, OnnxForm, Operator, operators

from .drawing import FLOATS, SIZES, Drawing, Refused, Value

LEFT_OUT = frozenset({"leaf", "none", "literal", "opaque", "output", "split", "resize"})
"""Constructors that are no operators by themselves, or whose operands are numbers that mean something."""


def _drawable() -> list[Operator]:
    return [
        declared
        for name, declared in sorted(operators().items())
        if name not in LEFT_OUT and declared.form is not None and declared.result == "tensor"
        if "string" not in declared.kinds or declared.op_types  # others are of targets
    ]


def fact_of(value: Value) -> Fact:
    """What an author of a pattern would know of a value; dims that differ by size are symbols."""
    kind = helper.np_dtype_to_tensor_dtype(value.arrays[0].dtype)
    dims: list[Dim] = []
    for sizes in zip(*(a.shape for a in value.arrays), strict=True):
        named = [name for name in SIZES[0] if tuple(s[name] for s in SIZES) == sizes]
        dims.append(sizes[0] if len(set(sizes)) == 1 else symbolic.symbol(named[0]) if named else None)
    return Fact(kind, tuple(dims))


def any_operator(g: Drawing) -> None:
    """An operator on values that are there, or on constants and inputs that suit it."""
    declared = g.one_of(_drawable())
    name = g.one_of(declared.op_types) if declared.op_types else ""
    dtype = g.one_of(
        (np.float32, np.float32, np.float32, np.float64, np.float16, np.int64, np.int32, np.bool_)
    )
    kinds = [k for k, kind in enumerate(declared.kinds) if kind in ("tensor", "tensors")]
    found: list[Value | None] = []
    for number, k in enumerate(kinds):
        count = g.integer(1, 3) if declared.kinds[k] == "tensors" else 1
        for _ in range(count):
            found.append(_operand(g, declared, name, found, (number, dtype)))
            dtype = found[0].dtype if found[0] is not None else dtype
    facts = [ABSENT if v is None else fact_of(v) for v in found]
    form = _form(g, declared, name, facts)
    operands = [
        _literal(g, k) if isinstance(k, Literal) else None if k is None else found[k] for k in form.inputs
    ]
    g.node(form.op_type, operands, **dict(form.attributes))


def _operand(
    g: Drawing, declared: Operator, name: str, before: Sequence[Value | None], place: tuple[int, Any]
) -> Value | None:
    number, dtype = place
    if may_be_absent(declared.name, number) and g.chance(0.3):
        return None
    usual = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    kind = helper.tensor_dtype_to_np_dtype(operand_dtype(declared.name, number, usual)).type
    facts = [ABSENT if v is None else fact_of(v) for v in before]
    shape = operand_shapes(g.rng, declared.name, name, facts, None)
    if shape is None or (not before and g.chance(0.7)):
        return g.pick(dtype=kind) if g.chance(0.9) or not g.values else g.one_of(g.values)
    dims = [d if isinstance(d, int) else _symbol(d) for d in shape]
    sizes = [tuple(d if isinstance(d, int) else s[d] for d in dims) for s in SIZES]
    fitting = [v for v in g.values if v.dtype == kind and [a.shape for a in v.arrays] == sizes]
    if fitting and g.chance(0.7):
        return g.one_of(fitting)
    if all(isinstance(d, int) for d in dims) and g.chance(0.8):
        return g.constant(g.elements(sizes[0], kind))
    g.require(len(g.inputs) < 5)
    return g.input(dims, kind)


def _symbol(dim: Dim) -> str:
    if dim not in SIZES[0]:
        raise Refused("a dim that is computed")
    return str(dim)


def _form(g: Drawing, declared: Operator, name: str, facts: list[Fact]) -> OnnxForm:
    """The ONNX node of an operator with random attributes."""
    attributes: list[Any] = []
    before: dict[str, Any] = {"op": name, "opset": g.opset}
    for kind, parameter in zip(declared.kinds, declared.names, strict=True):
        if kind == "string":
            attributes.append(name)
        elif kind in ("object", "int"):
            try:
                before[parameter] = attribute_of(g.rng, declared.name, parameter, before, facts)
                attributes.append(before[parameter])
            except LookupError as error:
                raise Refused(str(error)) from error
    assert declared.form is not None
    try:
        form = declared.form(g.opset, tuple(attributes), tuple(facts))
    except Exception as error:  # operands that do not suit an operator make its form fail in many ways
        raise Refused(str(error)) from error
    if form is None or form.domain:
        raise Refused("this opset cannot say it")
    return form


def _literal(g: Drawing, item: Literal) -> Value:
    """A constant of a form."""
    dtype = helper.tensor_dtype_to_np_dtype(item.dtype)
    size = int(np.prod(item.dims))
    flat = item.values * size if len(item.values) == 1 else item.values
    try:
        array = np.array(flat[:size], dtype).reshape(item.dims)
    except (TypeError, ValueError, OverflowError) as error:  # a symbol, or what this type does not have
        raise Refused(str(error)) from error
    return g.constant(array)


def cumulated(g: Drawing) -> None:
    """CumSum along an axis, exclusive and reverse or not."""
    g.require(g.opset >= 11)
    x = g.pick(at_least=1, wanted=lambda v: v.dtype in (*FLOATS, np.int64, np.int32))
    axis = g.constant(np.asarray(g.maybe_negative(g.axis(x), x.rank), np.int64))
    g.call("CumSum", x, axis, exclusive=g.integer(0, 1), reverse=g.integer(0, 1))


def resized(g: Drawing) -> None:
    """Resize by scales or to sizes, by every way to find coordinates."""
    g.require(g.opset >= 11)
    x = g.pick(dtype=np.float32, at_least=3, at_most=4, wanted=lambda v: v.size)
    mode = g.one_of(("nearest", "linear"))
    way = g.one_of(("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    attributes = {"mode": mode, "coordinate_transformation_mode": way}
    if mode == "nearest":
        attributes["nearest_mode"] = g.one_of(("floor", "ceil", "round_prefer_floor"))
    roi = None if g.opset >= 13 else g.constant(np.zeros(0, np.float32))
    scales = [1.0, 1.0, *(float(g.one_of((1, 2, 0.5, 3))) for _ in range(x.rank - 2))]
    if g.chance(0.7) or not all(x.static):
        g.call("Resize", x, roi, g.constant(np.array(scales, np.float32)), **attributes)
        return
    sizes = [max(int(d * s), 1) for d, s in zip(x.shape, scales, strict=True)]
    nothing = None if g.opset >= 13 else g.constant(np.zeros(0, np.float32))
    g.call("Resize", x, roi, nothing, g.ints(sizes), **attributes)


MOTIFS = {any_operator: 8, cumulated: 0.5, resized: 0.7}
