"""Random damage: bytes of a good file are changed, or fields of its message; equal for equal seeds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnx import ModelProto, helper, numpy_helper

from .making import text_model

NUMBERS = (
    0,
    1,
    2,
    3,
    -1,
    -2,
    -4,
    7,
    13,
    64,
    255,
    10**5,
    10**9,
    2**31 - 1,
    -(2**31),
    2**31,
    2**62,
    2**63 - 1,
    -(2**63),
)
TEXTS = (
    "",
    "x",
    "y",
    "N",
    "Neg",
    "If",
    "Concat",
    "ai.onnx",
    "axis",
    "\0",
    "\n",
    "a" * 3000,
    "\u202e",
    "(((",
    "`",
)
FLOATS = (0.0, -0.0, 1.0, -1.5, 1e30, float("inf"), float("-inf"), float("nan"))
BYTES = (b"", b"\0", b"\xff\xfe", b"Neg", bytes(1000))

_INTEGERS = {
    getattr(FieldDescriptor, f"TYPE_{name}")
    for name in ("INT32", "INT64", "UINT32", "UINT64", "SINT32", "SINT64", "ENUM")
}


def originals() -> list[ModelProto]:
    """Good models of many operators, with bodies, functions, strings and weights."""
    weight = numpy_helper.from_array(np.linspace(-1, 1, 4 * 3 * 9, dtype=np.float32).reshape(4, 3, 3, 3), "w")
    scale = numpy_helper.from_array(np.array([1.0, 2.0, 0.5, 1.5], np.float32), "s")
    image = text_model(
        """(float[N, 3, 8, 8] x) => (float[N, 4, 8, 8] y) {
            a = Conv <pads = [1, 1, 1, 1]> (x, w) b = BatchNormalization (a, s, s, s, s) r = Relu (b)
            t = Transpose <perm = [0, 2, 3, 1]> (r) y = Transpose <perm = [0, 3, 1, 2]> (t) }""",
        *(weight, scale),
    )
    branch = text_model(
        """(bool c, float[2, 3] x) => (float[6] y) {
            two = Constant <value_float = 2.0> () one = Constant <value_ints = [-1]> ()
            y = If (c) < then_branch = t () => (float[6] a) { p = Mul (x, two) a = Reshape (p, one) },
                else_branch = e () => (float[6] b) { n = Neg (x) m = Neg (n) b = Reshape (m, one) }> }"""
    )
    shapes = text_model(
        """(float[N, M] x, int64[2] i) => (float[K, M] y, int64 n) {
            s = Shape (x) z = Constant <value_int = 0> () n = Gather <axis = 0> (s, z)
            g = Gather <axis = 0> (x, i) c = Concat <axis = 0> (x, g, x) d = Unsqueeze (c, u)
            e = Squeeze (d, u) f = Slice (e, u, h, u, o) l = Concat <axis = 0> (f, f)
            p, q = Split <axis = 0> (l) y = Add (p, q) }""",
        *(
            numpy_helper.from_array(np.array([value], np.int64), name)
            for name, value in (("u", 0), ("h", 9), ("o", 1))
        ),
    )
    quantized = text_model(
        """(float[2, 4] x) => (float[2, 4] y, string[2] z) {
            q = QuantizeLinear (x, k, b) d = DequantizeLinear (q, k, b) m = MatMul (d, v)
            h = Cast <to = 10> (m) y = Cast <to = 1> (h) z = Identity (t) }""",
        numpy_helper.from_array(np.array(0.1, np.float32), "k"),
        numpy_helper.from_array(np.array(3, np.int8), "b"),
        numpy_helper.from_array(np.eye(4, dtype=np.float32), "v"),
        numpy_helper.from_array(np.array(["one", "two"], dtype=object), "t"),
    )
    return [image, branch, shapes, quantized, _with_function(), _loop()]


def _with_function() -> ModelProto:
    model = text_model("(float[2, 3] x) => (float[2, 3] y) { a = own.twice (x) b = Neg (a) y = Neg (b) }")
    nodes = [helper.make_node("Add", ["v", "v"], ["u"]), helper.make_node("LeakyRelu", ["u"], ["r"])]
    attribute = nodes[1].attribute.add(name="alpha", type=1, ref_attr_name="slope")
    assert attribute.ref_attr_name
    imports = [helper.make_opsetid("", 17)]
    model.functions.append(helper.make_function("own", "twice", ["v"], ["r"], nodes, imports, ["slope"]))
    model.opset_import.append(helper.make_opsetid("own", 1))
    return model


def _loop() -> ModelProto:
    return text_model(
        """(float[2, 3] x, int64 n, bool go) => (float[2, 3] y) {
            z = Loop (n, go, x) < body = b (int64 i, bool c, float[2, 3] v) => (bool k, float[2, 3] w) {
                k = Identity (c) a = Relu (v) w = Relu (a) }>
            m = Neg (z) y = Neg (m) }"""
    )


def mutated(seed: int) -> bytes:
    """The bytes of a damaged model."""
    lot = random.Random(seed)
    models = originals()
    model = models[seed % len(models)]
    if lot.random() < 0.3:
        return damaged(lot, model.SerializeToString())
    for _ in range(lot.randrange(1, 4)):
        change(lot, model)
    return model.SerializeToString()


def damaged(lot: random.Random, data: bytes) -> bytes:
    """Bytes cut off, changed, left out or put in."""
    content = bytearray(data)
    for _ in range(lot.randrange(1, 5)):
        place = lot.randrange(len(content) + 1)
        length = lot.choice((1, 1, 2, 8, 40))
        kind = lot.randrange(5)
        if kind == 0:
            content[place : place + length] = lot.randbytes(len(content[place : place + length]))
        elif kind == 1:
            del content[place : place + length]
        elif kind == 2:
            content[place:place] = lot.randbytes(length)
        elif kind == 3:
            other = lot.randrange(len(content) + 1)
            content[place : place + length] = content[other : other + length]
        else:
            del content[max(place, 1) :]
    return bytes(content)


def change(lot: random.Random, model: ModelProto) -> None:
    """Change one field of a message, wherever it is, in place; what cannot be set stays."""
    message, field = lot.choice(list(_fields(model)))
    try:
        if _is_repeated(field):
            _change_list(lot, getattr(message, field.name), field)
        elif lot.random() < 0.2:
            message.ClearField(field.name)
        elif field.message_type is None:
            setattr(message, field.name, _value(lot, field))
    except (ValueError, TypeError, DecodeError):
        return


def _fields(message: Message) -> Iterator[tuple[Message, FieldDescriptor]]:
    pending = [message]
    while pending:
        current = pending.pop()
        for field, value in current.ListFields():
            yield current, field
            if field.message_type is not None:
                pending.extend(value if _is_repeated(field) else [value])


def _is_repeated(field: FieldDescriptor) -> bool:
    return bool(field.is_repeated) if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED


def _change_list(lot: random.Random, items: Any, field: FieldDescriptor) -> None:
    place, kind = lot.randrange(len(items)), lot.randrange(4)
    if kind == 0:
        del items[place]
    elif kind == 1 and field.message_type is not None:
        items.add().CopyFrom(items[lot.randrange(len(items))])
    elif kind == 1:
        items.append(items[place])
    elif field.message_type is not None:
        other = type(items[place])()
        other.CopyFrom(items[lot.randrange(len(items))])
        items[place].CopyFrom(other)
    elif kind == 2 and field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
        items[place] = items[lot.randrange(len(items))]
    else:
        items[place] = _value(lot, field)


def _value(lot: random.Random, field: FieldDescriptor) -> Any:
    if field.type in _INTEGERS:
        return lot.choice(NUMBERS)
    if field.type == FieldDescriptor.TYPE_STRING:
        return lot.choice(TEXTS)
    return lot.choice(BYTES if field.type == FieldDescriptor.TYPE_BYTES else FLOATS)
