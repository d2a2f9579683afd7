"""Graphs of operators with random weights: what networks are written down with.

Weights are drawn by a seed and the name of the network, and scaled by how many values they sum, so that
results neither vanish nor grow without end; the same call gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack
from zlib import crc32

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 17, 8
"""Old enough for every tool that is compared."""


@dataclass(frozen=True)
class Value:
    """A tensor of a network: its name and its shape."""

    name: str
    shape: tuple[int, ...]


class Sliding(TypedDict, total=False):
    """How a kernel slides; by default `same` keeps the size, but for the stride."""

    stride: int
    groups: int
    same: bool


class Network:
    """A network under construction; every method adds a node and hands back what it computes."""

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name = name
        self.random = np.random.default_rng([seed, crc32(name.encode())])
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[Value] = []
        self.integers: set[str] = set()
        self.weights: list[onnx.TensorProto] = []

    def input(self, *shape: int) -> Value:
        value = Value(f"input_{len(self.inputs)}", shape)
        self.inputs.append(value)
        return value

    def integer_input(self, *shape: int) -> Value:
        value = self.input(*shape)
        self.integers.add(value.name)
        return value

    def weight(self, *shape: int, variance: float = 1.0) -> Value:
        """Normal values."""
        drawn = self.random.standard_normal(shape, dtype=np.float32)
        drawn *= np.float32(math.sqrt(variance))
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(drawn, name))
        return Value(name, shape)

    def node(self, op_type: str, inputs: Sequence[Value], shape: Sequence[int], **attributes: Any) -> Value:
        """Any operator whose result has this shape."""
        value = Value(f"{op_type.lower()}_{len(self.nodes)}", tuple(shape))
        names = [given.name for given in inputs]
        self.nodes.append(helper.make_node(op_type, names, [value.name], value.name, **attributes))
        return value

    def constant(self, numbers: Sequence[int]) -> Value:
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(numbers, dtype=np.int64), name))
        return Value(name, (len(numbers),))

    def unary(self, op_type: str, x: Value) -> Value:
        return self.node(op_type, [x], x.shape)

    def relu(self, x: Value) -> Value:
        return self.unary("Relu", x)

    def add(self, a: Value, b: Value) -> Value:
        return self.node("Add", [a, b], a.shape)

    def mul(self, a: Value, b: Value) -> Value:
        return self.node("Mul", [a, b], a.shape)

    def matmul(self, a: Value, b: Value) -> Value:
        return self.node("MatMul", [a, b], (*a.shape[:-1], b.shape[-1]))

    def linear(self, x: Value, wide: int) -> Value:
        """A product with a weight."""
        return self.matmul(x, self.weight(x.shape[-1], wide, variance=1 / x.shape[-1]))

    def reshape(self, x: Value, *shape: int) -> Value:
        return self.node("Reshape", [x, self.constant(shape)], shape)

    def transpose(self, x: Value, *perm: int) -> Value:
        return self.node("Transpose", [x], [x.shape[axis] for axis in perm], perm=perm)

    def concat(self, *values: Value) -> Value:
        """Along the channels."""
        first = values[0].shape
        channels = sum(value.shape[1] for value in values)
        return self.node("Concat", values, (first[0], channels, *first[2:]), axis=1)

    def conv(
        self,
        x: Value,
        wide: int,
        kernel: int | tuple[int, int] = 1,
        *,
        gain: float = 1.0,
        **how: Unpack[Sliding],
    ) -> Value:
        """A convolution without bias; `gain` is the variance of what comes out over that of what goes in."""
        kernels = (kernel, kernel) if isinstance(kernel, int) else kernel
        groups = how.get("groups", 1)
        narrow = x.shape[1] // groups
        w = self.weight(wide, narrow, *kernels, variance=gain / (narrow * math.prod(kernels)))
        settings = _window(kernels, how.get("stride", 1), how.get("same", True))
        return self.node("Conv", [x, w], _after(x.shape, wide, settings), group=groups, **settings)

    def conv_relu(
        self, x: Value, wide: int, kernel: int | tuple[int, int] = 1, **how: Unpack[Sliding]
    ) -> Value:
        """TASO's convolution with an activation, which is a second node in ONNX and halves the variance."""
        return self.relu(self.conv(x, wide, kernel, gain=2.0, **how))

    def pool(self, kind: str, x: Value, kernel: int, *, stride: int = 1, same: bool = True) -> Value:
        """MaxPool, or AveragePool, which does not count what is padded."""
        settings = _window((kernel, kernel), stride, same)
        return self.node(kind, [x], _after(x.shape, x.shape[1], settings), **settings)

    def model(self, *outputs: Value) -> onnx.ModelProto:
        """The finished network.

        Raises:
            onnx.checker.ValidationError, onnx.shape_inference.InferenceError: a definition is wrong.
        """
        types = dict.fromkeys(self.integers, TensorProto.INT64)
        given, made = (
            [
                helper.make_tensor_value_info(v.name, types.get(v.name, TensorProto.FLOAT), v.shape)
                for v in values
            ]
            for values in (self.inputs, outputs)
        )
        graph = helper.make_graph(self.nodes, self.name, given, made, self.weights)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
        )
        onnx.checker.check_model(model)
        return model


def _window(kernels: tuple[int, int], stride: int, same: bool) -> dict[str, Any]:
    """Attributes of a sliding window; TASO's SAME pads both sides alike, by half of an odd kernel."""
    half = [(kernel - 1) // 2 if same else 0 for kernel in kernels]
    return {"kernel_shape": kernels, "strides": (stride, stride), "pads": (*half, *half)}


def _after(shape: tuple[int, ...], channels: int, window: dict[str, Any]) -> tuple[int, ...]:
    """The shape of an image after a window slid over it."""
    sizes = [
        (size + 2 * pad - kernel) // stride + 1
        for size, pad, kernel, stride in zip(
            shape[2:], window["pads"], window["kernel_shape"], window["strides"], strict=False
        )
    ]
    return (shape[0], channels, *sizes)
