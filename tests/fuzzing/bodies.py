"""Motifs with graphs inside: If and Loop, whose bodies capture values and constants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper

from . import elementwise, linear, slicing, views
from .drawing import Drawing, Refused, Value
from .elementwise import beside

_STEPS = (
    elementwise.scales_and_shifts,
    elementwise.function,
    elementwise.of_two,
    views.transposes,
    views.reshapes,
    views.shape_arithmetic,
    slicing.apart_and_together,
    linear.product,
)


class _Body(Drawing):
    """A graph inside another one: it sees the outer values and has no inputs of its own."""

    def input(self, shape: Sequence[int | str], dtype: object = np.float32) -> Value:
        raise Refused("a body has no inputs of its own")


def _body(g: Drawing, seen: Sequence[Value]) -> _Body:
    return _Body(g.rng, g.opset, values=list(seen), counter=g.counter)


def _captured(inner: _Body, g: Drawing) -> list[Value]:
    """The outer values that the nodes of a body read, directly or in bodies of theirs."""
    used = {name for node in inner.nodes for name in _reads(node)}
    return [v for v in g.values if v.name in used]


def _reads(node: onnx.NodeProto) -> list[str]:
    names = list(node.input)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inside in attribute.g.node:
                names += _reads(inside)
            names += [v.name for v in attribute.g.output]
    return names


def _graph(
    inner: _Body, name: str, outputs: Sequence[Value], inputs: Sequence[Value] = ()
) -> onnx.GraphProto:
    def info(v: Value, shape: Sequence[int] | None) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(
            v.name, helper.np_dtype_to_tensor_dtype(v.arrays[0].dtype), shape
        )

    return helper.make_graph(
        inner.nodes,
        name,
        [info(v, v.shape if v.rank == 0 else None) for v in inputs],
        [info(v, None) for v in outputs],
        inner.initializers,
    )


def _steps(g: Drawing, inner: _Body) -> None:
    for _ in range(g.integer(1, 2)):
        try:
            g.one_of(_STEPS)(inner)
        except Refused:
            continue


def _own(inner: _Body, value: Value) -> Value:
    """A value that the body makes itself: what it captures cannot be its output."""
    return inner.call("Identity", value) if not any(value.name in n.output for n in inner.nodes) else value


def branches(g: Drawing) -> None:
    flags = [v for v in g.values if v.dtype == np.bool_ and v.size == 1 and v.rank == 0]
    if flags and g.chance(0.5):
        flag = g.one_of(flags)
    elif g.chance(0.15):
        flag = g.constant(np.asarray(g.chance(0.5)))
    else:
        flag = g.input((), np.bool_)
    seen = [v for v in g.values if g.chance(0.7)]
    g.require(seen)
    then = _body(g, seen)
    _steps(g, then)
    result = _own(then, then.values[-1])
    other = _body(g, seen)
    other.counter = then.counter
    _steps(g, other)
    same = [v for v in other.values if v.dtype == result.dtype and v.rank == result.rank]
    if g.opset < 11:  # where both branches have one shape
        same = [v for v in same if v.shape == result.shape and v.static == result.static]
    answer = _own(other, g.one_of(same))
    g.counter = other.counter
    name = g.fresh("v")
    made = helper.make_node(
        "If",
        [flag.name],
        [name],
        then_branch=_graph(then, g.fresh("then"), [result]),
        else_branch=_graph(other, g.fresh("else"), [answer]),
    )
    used = {v.name: v for v in (flag, *_captured(then, g), *_captured(other, g))}
    g.add(made, list(used.values()))


def loop(g: Drawing) -> None:
    """A value that is carried through a few rounds, and collected."""
    g.require(g.opset >= 11)
    x = g.pick(floats=True)
    count = g.constant(np.asarray(g.integer(1, 3), np.int64))
    inner = _body(g, [v for v in g.values if g.chance(0.5) and v is not x])
    index = Value(inner.fresh("i"), (np.asarray(0, np.int64),) * len(x.arrays))
    going = Value(inner.fresh("b"), (np.asarray(True),) * len(x.arrays))
    carried = Value(inner.fresh("s"), x.arrays)
    inner.values += [carried]
    y = inner.call("Mul", carried, inner.constant(np.asarray(0.5, x.dtype)))
    if g.chance(0.5):
        y = inner.call("Add", y, beside(inner, y))
    before = len(inner.values)
    _steps(g, inner)
    same = [
        v
        for v in inner.values[before - 1 :]
        if v.dtype == x.dtype and all(a.shape == b.shape for a, b in zip(v.arrays, x.arrays, strict=True))
    ]
    result = _own(inner, g.one_of(same))
    kept = inner.call("Identity", going)
    g.counter = inner.counter
    outputs = [kept, result]
    names = [g.fresh("v")]
    if g.chance(0.4):
        outputs.append(inner.call("Identity", result))
        names.append(g.fresh("v"))
    g.counter = max(g.counter, inner.counter)
    body = _graph(inner, g.fresh("body"), outputs, [index, going, carried])
    made = helper.make_node("Loop", [count.name, "", x.name], names, body=body)
    used = {v.name: v for v in (count, x, *_captured(inner, g))}
    g.add(made, list(used.values()))


MOTIFS = {branches: 0.7, loop: 0.4}
