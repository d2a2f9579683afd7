"""Wrong laws as somebody may write them, each with a small model on which it changes an output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import parser

HEAD = """from onnx import TensorProto as T
from egraph_opt.laws import *
from egraph_opt.operators import *
"""


@dataclass(frozen=True)
class Wrong:
    """A law, and where it shows.

    Attributes:
        parameters: of the law.
        body: the law, after `yield`.
        graph: a model in ONNX's text format that it changes.
        witness: inputs on which outputs differ.
        numerics: what the law claims.
        exactness: what is asked for.
        above: what is in the file before the law.
        weights: initializers of the model.
    """

    parameters: str
    body: str
    graph: str
    witness: dict[str, Any]
    numerics: str = "bitwise"
    exactness: str = "real"
    above: str = ""
    weights: dict[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> str:
        return (
            f"{HEAD}\n{self.above}\n@law('mine', numerics='{self.numerics}')\n"
            f"def wrong({self.parameters}):\n    '''A wrong law'''\n    yield {self.body}\n"
        )

    @property
    def model(self) -> onnx.ModelProto:
        made = parser.parse_model('<ir_version: 8, opset_import: ["" : 18]>\n' + self.graph)
        made.graph.initializer.extend(onnx.numpy_helper.from_array(v, k) for k, v in self.weights.items())
        return made


def _floats(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


F = "g (float[4] x) => (float[4] y)"
CAST_BACK = "rewrite(cast(cast(x, a), b), x, eq(a, {a}), eq(b, {b}), because='nothing is lost')"
OF = "x: Tensor, a: DataType, b: DataType"
"""The parameters of laws of two casts."""


def _casts(outer: str, inner: str, dtype: str, witness: Any) -> Wrong:
    """To a narrower type and back."""
    numpy = {"INT64": np.int64, "INT32": np.int32, "UINT8": np.uint8, "INT16": np.int16, "UINT32": np.uint32}
    number = {
        "INT64": 7,
        "INT32": 6,
        "FLOAT": 1,
        "DOUBLE": 11,
        "UINT8": 2,
        "INT16": 5,
        "UINT32": 12,
        "INT8": 3,
    }
    text = dtype.lower()
    graph = (
        f"g ({text}[4] x) => ({text}[4] y) {{ c = Cast <to = {number[inner]}> (x)"
        f" d = Cast <to = {number[outer]}> (c) y = Add (d, x) }}"
    )
    found = CAST_BACK.format(a=f"T.{inner}", b=f"T.{outer}")
    return Wrong(OF, found, graph, {"x": np.array([0, 1, witness, 2], numpy[dtype])})


SPECIAL = _floats(-0.0, float("nan"), float("inf"), 1.0)

WRONG: dict[str, Wrong] = {
    "far below zero": Wrong(
        "x: Tensor, c: Tensor",
        "rewrite(unary('Abs', (), x + c), x + c, is_constant(c), because='positive mostly')",
        f"{F} {{ s = Add (x, c) y = Abs (s) }}",
        {"x": _floats(-9, 1, 2, 3)},
        weights={"c": _floats(5.5)},
    ),
    "far above": Wrong(
        "x: Tensor, c: Tensor",
        "rewrite(variadic('Min', listed(x, c)), x, is_constant(c), because='it is never as large')",
        f"{F} {{ s = Min (x, c) y = Neg (s) }}",
        {"x": _floats(1, 2, 9000, 3)},
        weights={"c": _floats(5000)},
    ),
    "a threshold near zero": Wrong(
        "x: Tensor, c: Tensor",
        "rewrite(variadic('Max', listed(unary('Abs', (), x), c)), unary('Abs', (), x), is_constant(c),"
        " because='no')",
        f"{F} {{ a = Abs (x) s = Max (a, c) y = Neg (s) }}",
        {"x": _floats(1e-5, 2, 0, 3)},
        weights={"c": _floats(2e-3)},
    ),
    "a sign where all is tiny": Wrong(
        "x: Tensor, c: Tensor",
        "rewrite(unary('Abs', (), x) * c, x * c, is_constant(c), because='all the same so small')",
        f"{F} {{ a = Abs (x) y = Mul (a, c) }}",
        {"x": _floats(-1, 2, 3, 4)},
        weights={"c": _floats(1e-9)},
    ),
    "NaN is itself": Wrong(
        "x: Tensor",
        "rewrite(unary('Not', (), unary('IsNaN', (), x * x)), unary('IsInf', "
        "(('detect_negative', 1), ('detect_positive', 1)), x - x), because='a square is a number')",
        "g (float[4] x) => (bool[4] y, float[4] z) {"
        " s = Mul (x, x) n = IsNaN (s) y = Not (n) z = Sub (x, x) }",
        {"x": SPECIAL},
        exactness="bitwise",
    ),
    "the sign of a zero": Wrong(
        "x: Tensor, c: Tensor",
        "rewrite(x + c, x, is_zero(c), because='no')",
        f"{F} {{ a = Add (x, c) y = Neg (a) }}",
        {"x": SPECIAL},
        exactness="bitwise",
        above="@hosted()\ndef is_zero(c) -> bool:\n    return c.splat == 0\n",
        weights={"c": _floats(0)},
    ),
    "infinity less itself": Wrong(
        "x: Tensor, c: Tensor",
        "rewrite(x * c, c, is_zero(c), because='no')",
        f"{F} {{ a = Mul (x, c) b = Neg (a) y = Add (b, x) }}",
        {"x": SPECIAL},
        exactness="bitwise",
        above="@hosted()\ndef is_zero(c) -> bool:\n    return c.splat == 0 and c.shape == (4,)\n",
        weights={"c": _floats(0, 0, 0, 0)},
    ),
    "int32 on the way": _casts("INT64", "INT32", "INT64", 2**40 + 3),
    "float on the way": _casts("INT32", "FLOAT", "INT32", 2**24 + 1),
    "float on the way, between two bounds far from zero": Wrong(
        "x: Tensor, t: DataType",
        "rewrite(cast(cast(x, t), 7), x, narrow(x, t), because='a range so narrow')",
        "g (int64[2] x) => (int64[2] z) { c = Clip (x, a, b) f = Cast <to = 1> (c) z = Cast <to = 7> (f) }",
        {"x": np.array([16777217, 0])},
        above="from egraph_opt.facts.fact import Fact\nfrom egraph_opt.inference.ranges import range_of\n"
        "@hosted()\ndef narrow(x: Fact, t: int) -> bool:\n    r = range_of(x)\n"
        "    return x.dtype == 7 and t == 1 and r is not None and r[1] - r[0] <= 2**24\n",
        weights={"a": np.int64(16777210), "b": np.int64(16777300)},
    ),
    "double on the way": _casts("INT64", "DOUBLE", "INT64", 2**53 + 1),
    "uint8 on the way": _casts("INT32", "UINT8", "INT32", 300),
    "int16 on the way": _casts("UINT32", "INT16", "UINT32", 40000),
    "integers that wrap": Wrong(
        "x: Tensor",
        "rewrite(unary('Abs', (), x * x), x * x, because='squares are positive')",
        "g (int32[4] x) => (int32[4] y) { a = Mul (x, x) y = Abs (a) }",
        {"x": np.array([46341, 2, 50000, 3], np.int32)},
    ),
    "unsigned numbers below zero": Wrong(
        "x: Tensor, y: Tensor",
        "rewrite(unary('Relu', (), cast(x - y, T.FLOAT)), cast(x - y, T.FLOAT) , because='unsigned')",
        "g (int64[4] x, int64[4] y) => (float[4] z) { a = Sub (x, y) b = Cast <to = 1> (a) z = Relu (b) }",
        {"x": np.array([1, 2, 3, 4]), "y": np.array([5, 0, 0, 0])},
    ),
    "differences that wrap": Wrong(
        "x: Tensor, y: Tensor",
        "rewrite(binary('Greater', x - y, z_of(x)), binary('Greater', x, y), because='no')".replace(
            "z_of(x)", "x - x"
        ),
        "g (uint32[4] x, uint32[4] y) => (bool[4] b) { z = Sub (x, x) a = Sub (x, y) b = Greater (a, z) }",
        {"x": np.array([1, 2, 3, 9], np.uint32), "y": np.array([5, 0, 0, 0], np.uint32)},
    ),
    "a slice of a batch": Wrong(
        "x: Tensor, s: Slices",
        "rewrite(slice_(x, s), x, to_twenty(s), because='no')",
        "g (float[n, 3] x) => (float[m, 3] y) { i = Constant <value_ints = [0]> ()"
        " e = Constant <value_ints = [20]> () a = Slice (x, i, e, i) y = Neg (a) }",
        {"x": np.ones((40, 3), np.float32)},
        above="@hosted()\ndef to_twenty(s) -> bool:\n    return s[0][2] == 20\n",
    ),
    "a slice behind a concat": Wrong(
        "x: Tensor, y: Tensor, s: Slices, a: Axis",
        "rewrite(slice_(concat(listed(x, y), a), s), x, starts_there(s), because='no')",
        "g (float[n] x, float[n] y) => (float[m] z) { i = Constant <value_ints = [0]> ()"
        " e = Constant <value_ints = [2]> ()"
        " c = Concat <axis = 0> (x, y) a = Slice (c, i, e, i) z = Neg (a) }",
        {"x": np.ones(5, np.float32), "y": np.ones(5, np.float32)},
        above="@hosted()\ndef starts_there(s) -> bool:\n    return s[0][1:] == (0, 2, 1)\n",
    ),
    "one element in front of an ArgMax": Wrong(
        "x: Tensor, c: Tensor",
        "rewrite(x + c, x, is_small(c), because='no')",
        "g (float[2, 1000] x) => (int64[2, 1] y) { a = Add (x, c) b = Neg (a) y = ArgMax <axis = 1> (b) }",
        {"x": np.zeros((2, 1000), np.float32)},
        numerics="reassociates",
        above="@hosted()\ndef is_small(c) -> bool:\n    return c.shape == (1000,)\n",
        weights={"c": np.eye(1, 1000, 500, dtype=np.float32)[0] * np.float32(-0.01)},
    ),
    "the first and the last of equals": Wrong(
        "x: Tensor, a: Axis, k: Flag",
        "rewrite(arg_reduce('ArgMin', -x, a, k, one()), arg_reduce('ArgMax', x, a, k, zero()), because='no')",
        "g (float[2, 6] x) => (int64[2, 1] y) {"
        " n = Neg (x) y = ArgMin <axis = 1, select_last_index = 1> (n) }",
        {"x": np.ones((2, 6), np.float32)},
        above="@hosted()\ndef zero() -> int:\n    return 0\n@hosted()\ndef one() -> int:\n    return 1\n",
    ),
    "the axis before": Wrong(
        "x: Tensor, a: Axis",
        "rewrite(softmax('Softmax', -x, a), softmax('Softmax', x, other(a)), because='no')",
        "g (float[3, 3] x) => (float[3, 3] y) { n = Neg (x) y = Softmax <axis = 1> (n) }",
        {"x": np.arange(9, dtype=np.float32).reshape(3, 3) ** 0.5},
        numerics="reassociates",
        above="@hosted()\ndef other(a) -> int:\n    return 1 - a\n",
    ),
    "the second output": Wrong(
        "x: Tensor",
        "rewrite(unary('Floor', (), x), unary('Ceil', (), x), because='no')",
        "g (float[4] x, float[4] u) => (float[4] y, float[4] z) {"
        " y = Relu (u) a = Sqrt (x) b = Ceil (a) c = Floor (a) z = Add (b, c) }",
        {"x": _floats(2, 3, 5, 6), "u": _floats(1, 1, 1, 1)},
    ),
    "inside a branch": Wrong(
        "x: Tensor",
        "rewrite(unary('Abs', (), unary('Ceil', (), x)), unary('Ceil', (), x), because='no')",
        """g (bool b, float[4] x) => (float[4] y) {
            y = If (b) <
                then_branch = t () => (float[4] p) { a = Ceil (x) p = Abs (a) },
                else_branch = e () => (float[4] q) { q = Neg (x) }
            >
        }""",
        {"b": np.array(True), "x": _floats(-3, 1, 2, 4)},
    ),
    "a division by what is zero": Wrong(
        "x: Tensor, y: Tensor",
        "rewrite((x * y) / y, x, because='cancelled')",
        "g (int64[4] x, int64[4] k) => (int64[4] z) { one = Constant <value_int = 3> () a = Mul (x, one)"
        " b = Div (a, one) z = Add (b, k) }",
        {"x": np.array([2**62, 1, 2, 3]), "k": np.array([0, 0, 0, 0])},
    ),
    "negative integers are cut": Wrong(
        "x: Tensor, y: Tensor",
        "rewrite(x - (x / y) * y, binary('Mod', x, y), because='by definition')",
        "g (int64[4] x) => (int64[4] z) { k = Constant <value_int = 3> () a = Div (x, k)"
        " b = Mul (a, k) z = Sub (x, b) }",
        {"x": np.array([-4, 1, 2, 3])},
    ),
    "halves": Wrong(
        "x: Tensor, c: Tensor",
        "rewrite(unary('Floor', (), x + c), unary('Round', (), x), is_half(c), because='as at school')",
        f"{F} {{ a = Add (x, c) y = Floor (a) }}",
        {"x": _floats(0.5, 2.5, 4.5, 1)},
        above="@hosted()\ndef is_half(c) -> bool:\n    return c.splat == 0.5\n",
        weights={"c": _floats(0.5)},
    ),
    "pads above all of an image": Wrong(
        "x: Tensor, m: Mode, p: Pads, v: Number",
        "rewrite(global_pool('GlobalMaxPool', pad(x, m, p, v)), global_pool('GlobalMaxPool', x),"
        " because='no')",
        "g (float[1, 1, 2, 2] x) => (float[1, 1, 1, 1] y) {"
        " k = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> () p = Pad (x, k) y = GlobalMaxPool (p) }",
        {"x": np.full((1, 1, 2, 2), -1, np.float32)},
        numerics="finite",
    ),
    "a mask that hides all": Wrong(
        "c: Tensor, x: Tensor, b: Tensor, z: Tensor, a: Axis",
        "rewrite(where(c, softmax('Softmax', where(c, x, b), a), z), softmax('Softmax', where(c, x, b), a),"
        " is_low(b), because='no')",
        "g (bool[2, 3] c, float[2, 3] x) => (float[2, 3] y) {"
        " w = Where (c, x, low) s = Softmax <axis = 1> (w) y = Where (c, s, zero) }",
        {"c": np.zeros((2, 3), np.bool_), "x": np.ones((2, 3), np.float32)},
        numerics="reassociates",
        above="@hosted()\ndef is_low(b) -> bool:\n    return b.splat is not None and b.splat < -1e30\n",
        weights={"low": np.float32(-3e38), "zero": np.float32(0)},
    ),
    "inputs close to each other": Wrong(
        "x: Tensor, y: Tensor",
        "rewrite(exp(x - y), exp(x) / exp(y), because='no')",
        "g (float[4] x, float[4] y) => (float[4] a, float[4] b, float[4] z) {"
        " a = Exp (x) b = Exp (y) d = Sub (x, y) z = Exp (d) }",
        {"x": _floats(200, 1, 2, 3), "y": _floats(199, 1, 2, 3)},
        numerics="reassociates",
    ),
    "an end that is far": Wrong(
        "x: Tensor, s: Slices",
        "rewrite(slice_(x, s), x, is_far(s), because='no')",
        "g (float[n] x) => (float[m] y) { i = Constant <value_ints = [0]> ()"
        " e = Constant <value_ints = [4096]> () a = Slice (x, i, e, i) y = Neg (a) }",
        {"x": np.ones(5000, np.float32)},
        above="@hosted()\ndef is_far(s) -> bool:\n    return s[0][2] == 4096\n",
    ),
    "quotients below zero": Wrong(
        "x: Tensor, y: Tensor, f: DataType, t: DataType",
        "rewrite(cast(unary('Floor', (), cast(x, f) / cast(y, f)), t), x / y, eq(t, T.INT64), because='no')",
        "g (int64[4] x, int64[4] y) => (int64[4] z) { a = Cast <to = 1> (x) b = Cast <to = 1> (y)"
        " q = Div (a, b) f = Floor (q) z = Cast <to = 7> (f) }",
        {"x": np.array([-7, 1, 2, 3]), "y": np.array([2, 1, 1, 1])},
    ),
    "indices beyond bytes": Wrong(
        "x: Tensor, i: Tensor, a: Axis, t: DataType, s: DataType",
        "rewrite(gather(x, cast(cast(i, t), s), a), gather(x, i, a), because='they are small')",
        "g (float[300] x, int64[2] i) => (float[2] y) {"
        " b = Cast <to = 2> (i) j = Cast <to = 7> (b) y = Gather (x, j) }",
        {"x": np.arange(300, dtype=np.float32), "i": np.array([299, 1])},
    ),
}
