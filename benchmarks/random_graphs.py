"""Random graphs of the operators that laws speak of, in chains and diamonds, with odd constants.

python benchmarks/random_graphs.py [--seeds FROM TO] [--cost nodes]

Every graph is optimised and compared with the original in onnxruntime; prints each failure with its seed.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import optimize

Shape = tuple[int, ...]

UNARY = ("Relu", "Neg", "Sigmoid", "Abs", "Identity", "Tanh", "HardSwish", "Softplus")
BINARY = ("Add", "Mul", "Sub", "Div", "Max", "Min")
SPECIAL = (0.0, 1.0, -1.0, 2.0, -0.0, 0.5)


class Maker:
    """Grows one graph; every value has a known shape, the first dim of some inputs is symbolic."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.opset = self.random.choice((9, 11, 12, 13, 17, 18, 21))
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.values: list[tuple[str, Shape]] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.count = 0

    def model(self, size: int) -> onnx.ModelProto:
        for k in range(self.random.choice((1, 1, 2))):
            shape = tuple(
                self.random.choice((1, 2, 3, 4, 6)) for _ in range(self.random.choice((2, 3, 4, 4)))
            )
            dims: list[int | str] = list(shape)
            if self.random.random() < 0.4:
                dims[0] = "N"
                shape = (2, *shape[1:])
            self.inputs.append(helper.make_tensor_value_info(f"x{k}", TensorProto.FLOAT, dims))
            self.values.append((f"x{k}", shape))
        steps = [getattr(self, name) for name in dir(self) if name.startswith("add_")]
        while len(self.nodes) < size:
            self.random.choice(steps)(*self.pick())
        used = {name for node in self.nodes for name in node.input}
        made = {name for node in self.nodes for name in node.output}
        ends = [(n, s) for n, s in self.values if n not in used and n in made]
        ends += [v for v in self.values if v[0] in used and v[0] in made and self.random.random() < 0.05]
        outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None] * len(s)) for n, s in ends]
        graph = helper.make_graph(self.nodes, "random", self.inputs, outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def pick(self) -> tuple[str, Shape]:
        recent = self.values[-4:] if self.random.random() < 0.7 else self.values
        return self.random.choice(recent)

    def node(self, op_type: str, inputs: list[str], *shapes: Shape, **attributes: Any) -> None:
        names = [f"v{self.count + k}" for k in range(len(shapes))]
        self.count += len(shapes)
        self.nodes.append(helper.make_node(op_type, inputs, names, **attributes))
        self.values += [pair for pair in zip(names, shapes, strict=True) if math.prod(pair[1]) <= 4096]

    def constant(self, array: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(array, f"c{len(self.weights)}"))
        return self.weights[-1].name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def floats(self, shape: Shape) -> str:
        if self.random.random() < 0.4:
            array = np.full(shape, self.random.choice(SPECIAL), np.float32)
        else:
            array = self.numbers.uniform(0.5, 2, shape).astype(np.float32) * self.random.choice((1, -1))
        return self.constant(array)

    def add_unary(self, x: str, shape: Shape) -> None:
        op = self.random.choice(UNARY if self.opset >= 14 else UNARY[:6])
        self.node(op, [x], shape)

    def add_clip(self, x: str, shape: Shape) -> None:
        low, high = self.random.choice(((0.0, 6.0), (-1.0, 1.0), (0.0, 1.0)))
        if self.opset < 11:
            self.node("Clip", [x], shape, min=low, max=high)
        else:
            bounds = [self.constant(np.array(v, np.float32)) for v in (low, high)]
            self.node("Clip", [x, *bounds], shape)

    def add_constant_operand(self, x: str, shape: Shape) -> None:
        """x op c, where c broadcasts to x or makes it larger."""
        kept = [d if self.random.random() < 0.5 else 1 for d in shape]
        cut = self.random.randrange(len(kept) + 1) if kept else 0
        other = tuple(kept[cut:])
        if self.random.random() < 0.1:
            other = (1,) * (len(shape) + 1 - len(other)) + other
        op = self.random.choice(BINARY[:4])
        operands = [x, self.floats(other)]
        if op == "Div" and any(0.0 in numpy_helper.to_array(w) for w in self.weights[-1:]):
            op = "Add"
        if self.random.random() < 0.3 and op != "Div":
            operands.reverse()
        self.node(op, operands, tuple(np.broadcast_shapes(shape, other)))

    def add_binary(self, x: str, shape: Shape) -> None:
        fitting = [(n, s) for n, s in self.values if _broadcasts(s, shape)]
        y, other = self.random.choice(fitting)
        self.node(
            self.random.choice(("Add", "Mul", "Sub", "Max", "Min")),
            [x, y],
            tuple(np.broadcast_shapes(shape, other)),
        )

    def add_transpose(self, x: str, shape: Shape) -> None:
        perm = list(range(len(shape)))
        self.random.shuffle(perm)
        self.node("Transpose", [x], tuple(shape[p] for p in perm), perm=perm)

    def add_reshape(self, x: str, shape: Shape) -> None:
        dims = list(shape)
        for _ in range(self.random.choice((1, 2))):
            if len(dims) > 1 and self.random.random() < 0.5:
                k = self.random.randrange(len(dims) - 1)
                dims[k : k + 2] = [dims[k] * dims[k + 1]]
            elif dims:
                k = self.random.randrange(len(dims))
                divisors = [d for d in range(1, dims[k] + 1) if dims[k] % d == 0]
                d = self.random.choice(divisors)
                dims[k : k + 1] = [d, dims[k] // d]
        target = list(dims)
        if target:
            target[self.random.randrange(len(target))] = -1
        if self.has_symbol() and target and -1 not in target[:1]:
            target = [-1 if k == 0 else d for k, d in enumerate(dims)]
        if len(dims) <= 5:
            self.node("Reshape", [x, self.ints(*target)], tuple(dims))

    def has_symbol(self) -> bool:
        return any(d.dim_param for info in self.inputs for d in info.type.tensor_type.shape.dim)

    def add_unsqueeze(self, x: str, shape: Shape) -> None:
        axis = self.random.randrange(len(shape) + 1)
        if len(shape) < 5:
            self._axes("Unsqueeze", x, (*shape[:axis], 1, *shape[axis:]), axis)

    def add_squeeze(self, x: str, shape: Shape) -> None:
        ones = [k for k, d in enumerate(shape) if d == 1 and k > 0]
        if ones and len(shape) > 2:
            axis = self.random.choice(ones)
            self._axes("Squeeze", x, (*shape[:axis], *shape[axis + 1 :]), axis)

    def _axes(self, op_type: str, x: str, shape: Shape, axis: int) -> None:
        if self.opset < 13:
            self.node(op_type, [x], shape, axes=[axis])
        else:
            self.node(op_type, [x, self.ints(axis)], shape)

    def add_slice(self, x: str, shape: Shape) -> None:
        axis = self.random.randrange(len(shape))
        if shape[axis] < 2 or (axis == 0 and self.has_symbol()):
            return
        start = self.random.randrange(shape[axis] - 1)
        end = self.random.randrange(start + 1, shape[axis] + 1)
        step = self.random.choice((1, 1, 1, 2)) if self.opset >= 10 else 1
        new = (*shape[:axis], -(-(end - start) // step), *shape[axis + 1 :])
        if self.opset < 10:
            self.node("Slice", [x], new, axes=[axis], starts=[start], ends=[end])
        else:
            bounds = [self.ints(v) for v in (start, end, axis, step)]
            self.node("Slice", [x, *bounds], new)

    def add_split(self, x: str, shape: Shape) -> None:
        axis = self.random.randrange(len(shape))
        if shape[axis] < 2 or (axis == 0 and self.has_symbol()):
            return
        first = self.random.randrange(1, shape[axis])
        sizes = [first, shape[axis] - first]
        shapes = [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]
        if self.opset < 13:
            self.node("Split", [x], *shapes, axis=axis, split=sizes)
        else:
            self.node("Split", [x, self.ints(*sizes)], *shapes, axis=axis)

    def add_concat(self, x: str, shape: Shape) -> None:
        axis = self.random.randrange(len(shape))
        fitting = [
            (n, s)
            for n, s in self.values
            if len(s) == len(shape)
            and all(a == b or k == axis for k, (a, b) in enumerate(zip(s, shape, strict=True)))
        ]
        chosen = [(x, shape), *(self.random.choice(fitting) for _ in range(self.random.choice((0, 1, 1, 2))))]
        self.random.shuffle(chosen)
        new = (*shape[:axis], sum(s[axis] for _, s in chosen), *shape[axis + 1 :])
        self.node("Concat", [n for n, _ in chosen], new, axis=axis)

    def add_gather(self, x: str, shape: Shape) -> None:
        axis = self.random.randrange(len(shape))
        if axis == 0 and self.has_symbol():
            return
        count = self.random.choice((0, 1, 2, 3))
        indices = [self.random.randrange(-shape[axis], shape[axis]) for _ in range(count)]
        array = np.array(indices if count else self.random.randrange(shape[axis]), np.int64)
        new = (*shape[:axis], *array.shape, *shape[axis + 1 :])
        if new:
            self.node("Gather", [x, self.constant(array)], new, axis=axis)

    def add_reduce(self, x: str, shape: Shape) -> None:
        axis = self.random.randrange(1, len(shape)) if len(shape) > 1 else 0
        if axis == 0:
            return
        keep = self.random.randrange(2)
        op = self.random.choice(("ReduceMean", "ReduceSum", "ReduceMax"))
        new = (*shape[:axis], *((1,) * keep), *shape[axis + 1 :])
        if self.opset >= (13 if op == "ReduceSum" else 18):
            self.node(op, [x, self.ints(axis)], new, keepdims=keep)
        else:
            self.node(op, [x], new, axes=[axis], keepdims=keep)

    def add_matmul(self, x: str, shape: Shape) -> None:
        if len(shape) >= 2:
            width = self.random.choice((2, 3, 4))
            self.node("MatMul", [x, self.floats((shape[-1], width))], (*shape[:-1], width))

    def add_gemm(self, x: str, shape: Shape) -> None:
        if len(shape) == 2:
            width, trans = self.random.choice((2, 3)), self.random.randrange(2)
            weight = self.floats((width, shape[1]) if trans else (shape[1], width))
            bias = self.floats(self.random.choice(((width,), (1, width), (1,))))
            self.node("Gemm", [x, weight, bias], (shape[0], width), transB=trans)

    def add_conv(self, x: str, shape: Shape) -> None:
        if len(shape) not in (3, 4) or min(shape[2:]) < 1:
            return
        axes = len(shape) - 2
        group = self.random.choice([g for g in (1, 1, shape[1]) if shape[1] % g == 0])
        out = group * self.random.choice((1, 2))
        kernel = self.random.choice((1, 3))
        inputs = [x, self.floats((out, shape[1] // group, *(kernel,) * axes))]
        if self.random.random() < 0.5:
            inputs.append(self.floats((out,)))
        self.node("Conv", inputs, (shape[0], out, *shape[2:]), pads=[kernel // 2] * (2 * axes), group=group)

    def add_batchnorm(self, x: str, shape: Shape) -> None:
        if len(shape) >= 2:
            arrays = [self.numbers.uniform(0.5, 2, shape[1]).astype(np.float32) for _ in range(4)]
            self.node("BatchNormalization", [x, *map(self.constant, arrays)], shape)

    def add_pool(self, x: str, shape: Shape) -> None:
        if len(shape) in (3, 4):
            axes = len(shape) - 2
            if self.random.random() < 0.3:
                self.node("GlobalAveragePool", [x], (*shape[:2], *(1,) * axes))
            else:
                op = self.random.choice(("AveragePool", "MaxPool"))
                self.node(op, [x], shape, kernel_shape=[3] * axes, pads=[1] * (2 * axes))

    def add_softmax(self, x: str, shape: Shape) -> None:
        self.node("Softmax", [x], shape, axis=len(shape) - 1)

    def add_cast(self, x: str, shape: Shape) -> None:
        dtype = self.random.choice((TensorProto.DOUBLE, TensorProto.INT32, TensorProto.FLOAT))
        self.node("Cast", [x], shape, to=dtype)
        self.node("Cast", [self.nodes[-1].output[0]], shape, to=TensorProto.FLOAT)
        del self.values[-2]

    def add_pad(self, x: str, shape: Shape) -> None:
        pads = [0] * len(shape) + [self.random.randrange(2) for _ in shape]
        if self.has_symbol():
            pads[len(shape)] = 0
        new = tuple(d + p for d, p in zip(shape, pads[len(shape) :], strict=True))
        if self.opset < 11:
            self.node("Pad", [x], new, pads=pads)
        else:
            self.node("Pad", [x, self.ints(*pads)], new)

    def add_where(self, x: str, shape: Shape) -> None:
        fitting = [(n, s) for n, s in self.values if _broadcasts(s, shape)]
        y, other = self.random.choice(fitting)
        mask = self.constant(self.numbers.integers(0, 2, shape[-1:]).astype(bool))
        self.node("Where", [mask, x, y], tuple(np.broadcast_shapes(shape, other, shape[-1:])))


def _broadcasts(a: Shape, b: Shape) -> bool:
    try:
        return len(np.broadcast_shapes(a, b)) <= max(5, len(b))
    except ValueError:
        return False


def random_model(seed: int, size: int | None = None) -> onnx.ModelProto:
    """A model of about `size` nodes."""
    return Maker(seed).model(size or 3 + seed % 23)


def failure(model: onnx.ModelProto, cost: str) -> str:
    """What is wrong with a model once it is optimised; empty if nothing is."""
    try:
        result = optimize(model, cost, strict=True)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    verdict = result.report.verification
    cost_report = result.report.cost
    if verdict.status == "passed" and cost_report.after <= cost_report.before * (1 + 1e-9):
        return ""
    return f"{verdict.status}: {verdict.detail} {cost_report}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 300), metavar=("FROM", "TO"))
    parser.add_argument("--cost", default="nodes")
    given = parser.parse_args()
    failed = 0
    for seed in range(*given.seeds):
        reason = failure(random_model(seed), given.cost)
        if reason:
            failed += 1
            print(f"seed {seed}: {reason}", flush=True)
    print(f"{given.seeds[1] - given.seeds[0]} graphs, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
