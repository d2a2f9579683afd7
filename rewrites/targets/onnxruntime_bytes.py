"""What ONNX Runtime computes in bytes: an operator between DequantizeLinear (DQ) and QuantizeLinear (Q).

op(DQ(x), DQ(y)) -> Kernel[op](x, y)        for convolutions, products, sums, functions and pools
f(Kernel[..](xs)) -> Kernel[.., f](xs)      for Relu and Clip
Q(Kernel[..](xs)) -> Kernel[.., Q](xs)

The runtime has one kernel for such a group (QLinearConv, QLinearMatMul ..), whose time has nothing to do with
that of its nodes.  The pseudo-operator is measured as the whole group, and expanded when the graph
is rebuilt; a DQ with several users is in each of their kernels, as it is there.
"""

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Axis, DataType, Settings, String, Tensor, Tensors
from egraph_opt.operators import (
    ConvWindow,
    OnnxForm,
    PoolWindow,
    binary,
    conv,
    dequantize,
    global_pool,
    matmul,
    none,
    operator,
    pool,
    quantize,
    unary,
)
from egraph_opt.operators.declaration import PSEUDO_DOMAIN, Earlier, Step
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.operators.quantization import BYTES
from egraph_opt.operators.terms import cons, limit, listed
from egraph_opt.rewrites.quantization.round_trips import parameters
from egraph_opt.rewrites.targets.stages import PSEUDO

Group = Annotated[tuple[Any, ...], attribute_sort("ByteGroup")]
"""Of a kernel: the operator with its attributes, of each of its operands the axis of its scales (None: it is
taken as it is), functions behind it, and of the Q at the end axis and type, or ()."""

BETWEEN = ("Clip", "Relu")
"""What the runtime leaves out, or does in the kernel, in front of a Q."""

FUNCTIONS = frozenset((*BETWEEN, "LeakyRelu", "Sigmoid", "Softmax"))
SUMS = frozenset(("Add", "Div", "Mul", "Sub"))

law = laws_of(
    "onnxruntime.bytes",
    numerics="bitwise",
    kind="fuse",
    serves="target",
    source="onnxruntime, optimizer/qdq_transformer",
)


def _expand(attributes: tuple[Group]) -> tuple[Step, ...]:
    name, settings, axes, functions, end = attributes[0]
    steps: list[Step] = []
    operands: list[int | Earlier] = []
    place = 2 if end else 0
    for axis in axes:
        if axis is None:
            operands.append(place)
            place += 1
            continue
        operands.append(Earlier(len(steps)))
        steps.append(Step("dequantize", (axis,), (place, place + 1, place + 2)))
        place += 3
    steps.append(Step(name, settings, tuple(operands)))
    for op, own in functions:
        steps.append(Step("unary", (op, own), (Earlier(len(steps) - 1),)))
    if end:
        steps.append(Step("quantize", end, (Earlier(len(steps) - 1), 0, 1)))
    return tuple(steps)


def _form(opset: int, attributes: tuple[Group], facts: tuple[Fact, ...]) -> OnnxForm:
    given = tuple(k for k, fact in enumerate(facts) if fact != ABSENT)
    return OnnxForm("ByteKernel", given, (("group", attributes[0]),), PSEUDO_DOMAIN)


@operator(form=_form, expand=_expand)
def byte_kernel(group: Group, operands: Tensors) -> Tensor:
    """An operator on dequantized operands, each with its scale and zero point; those of a Q behind it are in
    front."""


def _group(name: str, settings: tuple[Any, ...], axes: tuple[int | None, ...], *xs: Fact) -> Group | None:
    """A kernel on bytes that a run computes."""
    return (name, settings, axes, (), ()) if any(x.dtype in BYTES and not x.const for x in xs) else None


@hosted()
def conv_group(window: ConvWindow, x: Fact, b: Fact, a: Axis, c: Axis) -> Group | None:
    """A constant bias is quantized by the runtime, as floats or not."""
    return _group("conv", (window,), (a, c, None), x) if b.const or b == ABSENT else None


@hosted()
def product_group(x: Fact, y: Fact, a: Axis, c: Axis) -> Group | None:
    return _group("matmul", (), (a, c), x, y)


@hosted()
def sum_group(op: str, x: Fact, y: Fact, a: Axis, c: Axis) -> Group | None:
    return _group("binary", (op,), (a, c), x, y) if op in SUMS else None


@hosted()
def function_group(op: str, settings: Settings, x: Fact, a: Axis) -> Group | None:
    return _group("unary", (op, settings), (a,), x) if op in FUNCTIONS else None


@hosted()
def pool_group(kind: str, window: PoolWindow, x: Fact, a: Axis) -> Group | None:
    return _group("pool", (kind, window), (a,), x)


@hosted()
def global_group(kind: str, x: Fact, a: Axis) -> Group | None:
    return _group("global_pool", (kind,), (a,), x)


@hosted()
def then_function(group: Group, op: str, settings: Settings) -> Group | None:
    """The kernel with a function at its end, of which one is enough."""
    name, own, axes, functions, end = group
    if end or functions or name == "unary" or op not in BETWEEN:
        return None
    return (name, own, axes, ((op, settings),), ())


@hosted()
def then_bytes(group: Group, axis: Axis, to: DataType) -> Group | None:
    """The kernel with a Q at its end."""
    name, own, axes, functions, end = group
    return None if end or to not in BYTES else (name, own, axes, functions, (axis, to))


_LIMIT = {"byte_kernels": 1}
_BYTE = TensorProto.UINT8
_WINDOW = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))


def _image(g: Operands) -> Any:
    return dequantize(g.input((2, 3, 5, 4), _BYTE), *parameters(g), 0)


def _weight(g: Operands) -> Any:
    weights = g.constant(np.arange(-54, 54).astype(np.int8).reshape(4, 3, 3, 3))
    return dequantize(weights, *parameters(g, shape=(4,), dtype=np.int8, zero=0), 0)


def _examples(rng: np.random.Generator) -> Iterator[Any]:
    g = Operands(rng)
    x, w = _image(g), _weight(g)
    bias = dequantize(g.constant(np.arange(4, dtype=np.int32)), g.constant(np.float32(0.01)), none(), 0)
    found = [conv(x, w, none(), _WINDOW), conv(x, w, bias, _WINDOW), x + _image(g), unary("Sigmoid", (), x)]
    found += [pool("MaxPool", x, PoolWindow((2, 2), (2, 2), (0, 0, 0, 0), (1, 1)))]
    found += [
        global_pool("GlobalAveragePool", x),
        matmul(x, dequantize(g.input((4, 2), _BYTE), *parameters(g), 0)),
    ]
    for term in found:
        yield g.fires(term, **_LIMIT)
    yield g.near_miss(found[0], why="the target computes in floats")
    computed = conv(x, w, g.input((4,)), _WINDOW)
    yield g.near_miss(computed, why="the bias is no constant", **_LIMIT)
    yield g.near_miss(unary("Sin", (), x), why="no kernel on bytes", **_LIMIT)


@law(examples=_examples)
def kernels(
    x: Tensor, s: Tensor, z: Tensor, y: Tensor, t: Tensor, v: Tensor, b: Tensor, a: Axis, c: Axis,
    u: ConvWindow, w: PoolWindow, op: String, own: Settings,
):  # fmt: skip
    """op(DQ(x), DQ(y)) = Kernel[op](x, y)"""
    first, second = dequantize(x, s, z, a), dequantize(y, t, v, c)
    one, two = (x, s, z), (x, s, z, y, t, v)
    for term, group, operands in (
        (conv(first, second, b, u), conv_group(u, x, b, a, c), (*two, b)),
        (matmul(first, second), product_group(x, y, a, c), two),
        (binary(op, first, second), sum_group(op, x, y, a, c), two),
        (unary(op, own, first), function_group(op, own, x, a), one),
        (pool(op, first, w), pool_group(op, w, x, a), one),
        (global_pool(op, first), global_group(op, x, a), one),
    ):
        yield rewrite(
            term, byte_kernel(group, listed(*operands)), guard(limit("byte_kernels")), because=PSEUDO
        )


_REQUIRED = ("onnxruntime.bytes.kernels",)


def _function_examples(rng: np.random.Generator) -> Iterator[Any]:
    g = Operands(rng)
    product = conv(_image(g), _weight(g), none(), _WINDOW)
    yield g.fires(unary("Relu", (), product), **_LIMIT)
    yield g.fires(unary("Relu", (), _image(g) + _image(g)), **_LIMIT)
    yield g.near_miss(unary("Tanh", (), product), why="a kernel of its own", **_LIMIT)


@law(examples=_function_examples, required=_REQUIRED)
def functions(k: Group, xs: Tensors, op: String, s: Settings):
    """f(Kernel[..](xs)) = Kernel[.., f](xs)"""
    yield rewrite(unary(op, s, byte_kernel(k, xs)), byte_kernel(then_function(k, op, s), xs), because=PSEUDO)


def _byte_examples(rng: np.random.Generator) -> Iterator[Any]:
    g = Operands(rng)
    product = conv(_image(g), _weight(g), none(), _WINDOW)
    for term in (product, unary("Relu", (), product), unary("Sigmoid", (), _image(g))):
        yield g.fires(quantize(term, *parameters(g), 0, _BYTE), **_LIMIT)
    sine = unary("Sin", (), _image(g))
    yield g.near_miss(quantize(sine, *parameters(g), 0, _BYTE), why="no kernel on bytes", **_LIMIT)


@law(examples=_byte_examples, required=(*_REQUIRED, "onnxruntime.bytes.functions"))
def results(k: Group, xs: Tensors, s: Tensor, z: Tensor, a: Axis, to: DataType):
    """Q(Kernel[..](xs)) = Kernel[.., Q](xs)"""
    whole = byte_kernel(then_bytes(k, a, to), cons(s, cons(z, xs)))
    yield rewrite(quantize(byte_kernel(k, xs), s, z, a, to), whole, because=PSEUDO)
