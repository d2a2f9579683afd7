"""Random nodes with operands, for comparing what is inferred with what onnxruntime computes."""

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


@dataclass
class Case:
    """A node, the arrays that are fed to it, and those that are constants, all by input name in order."""

    op_type: str
    arrays: dict[str, np.ndarray]
    constant: set[str] = field(default_factory=set)
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1

    def model(self, opset: int, named: bool) -> onnx.ModelProto:
        """A model of this node alone; ``named``: the dims of its inputs are symbols."""
        inputs = [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(a.dtype),
                [f"{name}.{k}" if named else n for k, n in enumerate(a.shape)],
            )
            for name, a in self.arrays.items()
            if name not in self.constant
        ]
        outputs = [f"y{k}" for k in range(self.outputs)]
        graph = helper.make_graph(
            [helper.make_node(self.op_type, list(self.arrays), outputs, **self.attributes)],
            "one",
            inputs,
            [helper.make_empty_tensor_value_info(name) for name in outputs],
            [numpy_helper.from_array(self.arrays[name], name) for name in sorted(self.constant)],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)

    @property
    def fed(self) -> dict[str, np.ndarray]:
        return {name: a for name, a in self.arrays.items() if name not in self.constant}


def window(rng: random.Random) -> Case:
    """A convolution or pooling whose window fits."""
    rank = rng.choice((1, 2))

    def some(low: int, high: int, count: int = rank) -> list[int]:
        return [rng.randint(low, high) for _ in range(count)]

    kernel, dilations = some(1, 4), some(1, 3)
    spatial = [d * (k - 1) + 1 + rng.randint(0, 9) for k, d in zip(kernel, dilations, strict=True)]
    attributes: dict[str, Any] = {"strides": some(1, 4), "dilations": dilations}
    auto_pad = rng.choice(("NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"))
    if auto_pad == "NOTSET":
        attributes["pads"] = some(0, min(kernel) - 1, 2 * rank)
    else:
        attributes["auto_pad"] = auto_pad
    x = np.ones((rng.randint(1, 2), 4, *spatial), np.float32)
    op_type = rng.choice(("Conv", "ConvTranspose", "MaxPool", "AveragePool"))
    if op_type in ("MaxPool", "AveragePool"):
        attributes |= {"kernel_shape": kernel, "ceil_mode": rng.randint(0, 1)}
        return Case(op_type, {"x": x}, attributes=attributes)
    if op_type == "ConvTranspose":
        strides = zip(attributes["strides"], dilations, strict=True)
        attributes["output_padding"] = [rng.randint(0, max(s, d) - 1) for s, d in strides]
        return Case(op_type, {"x": x, "w": np.ones((4, 3, *kernel), np.float32)}, {"w"}, attributes)
    w = np.ones((6, 2, *kernel), np.float32)
    return Case(op_type, {"x": x, "w": w}, {"w"}, {**attributes, "group": 2})


def slicing(rng: random.Random) -> Case:
    """A Slice with starts, ends and steps of every sign, of dims that may be zero."""
    rank = rng.randint(1, 3)
    shape = [rng.randint(0, 6) for _ in range(rank)]
    x = np.arange(int(np.prod(shape))).reshape(shape)
    axes = rng.sample(range(rank), rng.randint(1, rank))
    ends = [rng.choice((rng.randint(-8, 8), 2**62, -(2**62), 2**31 - 1)) for _ in axes]
    arrays = {
        "x": x,
        "starts": np.array([rng.randint(-8, 8) for _ in axes]),
        "ends": np.array(ends),
        "axes": np.array([a - rank if rng.random() < 0.3 else a for a in axes]),
        "steps": np.array([rng.choice((1, 1, 2, -1, -2, 3)) for _ in axes]),
    }
    return Case("Slice", arrays, set(arrays) - ({"x"} if rng.random() < 0.6 else set()))


BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Less", "Greater", "Equal", "LessOrEqual", "Mod")


def arithmetic(rng: random.Random) -> Case:
    """An element-wise operator on small constants that broadcast, in several element types."""
    dtype = rng.choice((np.int64, np.int32, np.float32, np.float64, np.float16))
    integer = np.issubdtype(dtype, np.integer)
    unary = ("Neg", "Abs", "Sign") if integer else ("Neg", "Abs", "Relu", "Floor", "Ceil", "Round", "Sqrt")
    op_type = rng.choice((*BINARY[: 11 if integer else 10], *unary, "Where"))
    shape = [rng.randint(0, 3) for _ in range(rng.randint(0, 3))]

    def operand() -> np.ndarray:
        dims = [n if rng.random() < 0.7 else 1 for n in shape][rng.randint(0, 1) if shape else 0 :]
        scale = 1 if integer else rng.choice((1, 0.5, 0.1))
        if rng.random() < 0.5:
            return np.full(dims, rng.choice((-3, -2, 1, 2, 5)) * scale, dtype)
        items = [rng.choice((-7, -4, -1, 1, 2, 3, 6)) * scale for _ in range(int(np.prod(dims)))]
        return np.array(items).reshape(dims).astype(dtype)

    count = 1 if op_type in unary else 3 if op_type == "Where" else 2
    arrays = {f"i{k}": operand() for k in range(count)}
    if op_type == "Where":
        arrays["i0"] = np.asarray(arrays["i0"] > 0)
    attributes: dict[str, Any] = {"fmod": rng.randint(0, 1)} if op_type == "Mod" else {}
    return Case(op_type, arrays, {n for n in arrays if rng.random() < 0.8}, attributes)


def casting(rng: random.Random) -> Case:
    source = rng.choice((np.int64, np.float32, np.float64, np.int32, np.bool_, np.float16))
    x = np.array([rng.choice((-300, -2.5, -1, 0.4, 1, 7.9, 100)) for _ in range(rng.randint(0, 4))])
    targets = (TensorProto.INT64, TensorProto.FLOAT, TensorProto.INT32, TensorProto.BOOL, TensorProto.FLOAT16)
    return Case("Cast", {"x": x.astype(source)}, {"x"}, {"to": rng.choice(targets)})


def reshaping(rng: random.Random) -> Case:
    """A Reshape with copies and a -1."""
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
    target = [*shape[: rng.randint(0, len(shape))]]
    rest = int(np.prod(shape[len(target) :]))
    target = [0 if rng.random() < 0.5 else n for n in target] + [rng.choice((-1, rest))]
    x = np.arange(int(np.prod(shape))).reshape(shape)
    constant = {"shape", "x"} if rng.random() < 0.4 else {"shape"}
    return Case("Reshape", {"x": x, "shape": np.array(target)}, constant)


FAMILIES = (window, slicing, arithmetic, casting, reshaping)
