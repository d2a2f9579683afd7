"""Random graphs on integers, with inputs that reach the ends of what is assumed of them."""

import random
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BOOL, INT32, INT64, UINT8 = TensorProto.BOOL, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8
INTEGERS: dict[int, type[np.integer[Any]]] = {INT64: np.int64, INT32: np.int32, UINT8: np.uint8}
WHOLE: dict[int | None, tuple[int, int]] = {
    INT64: (-(2**63), 2**63 - 1), INT32: (-(2**31), 2**31 - 1), UINT8: (0, 255), BOOL: (0, 1),
}  # fmt: skip
SHAPE = (2, 3)


class Drawn:
    """A random graph on integers; every value is a [2, 3] tensor, known by its type."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.feeds: dict[str, np.ndarray] = {}
        self.assume: dict[str, tuple[int, int]] = {}
        self.values: dict[int, list[str]] = {dtype: [] for dtype in (*INTEGERS, BOOL)}
        for dtype in (INT64, INT64, INT32, INT32, UINT8):
            self.input(dtype)
        for _ in range(25):
            self.step()

    def input(self, dtype: int) -> None:
        name = f"x{len(self.inputs)}"
        low = 0 if dtype == UINT8 else self.rng.choice((-(2**20), -100, -3, 0, 5))
        high = low + self.rng.choice((0, 1, 10, 200, 2**21)) if dtype != UINT8 else self.rng.choice((3, 255))
        self.inputs.append(helper.make_tensor_value_info(name, dtype, SHAPE))
        drawn = [[self.rng.choice((low, high, self.rng.randint(low, high))) for _ in range(3)] for _ in "ab"]
        self.feeds[name] = np.array(drawn, INTEGERS[dtype])
        self.assume[name] = (low, high)
        self.values[dtype].append(name)

    def constant(self, items, dtype) -> str:
        self.constants.append(numpy_helper.from_array(np.array(items, dtype), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def add(self, op_type: str, *operands: str, kind: int, shaped: bool = True, **attributes) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(operands), [name], **attributes))
        if shaped:
            self.values[kind].append(name)
        return name

    def some(self, dtype: int) -> str:
        return self.rng.choice(self.values[dtype][-12:])

    def step(self) -> None:
        kinds = [k for k in vars(Drawn) if k.startswith("draw_")]
        dtype = self.rng.choice((INT64, INT64, INT32, UINT8))
        getattr(self, self.rng.choice(kinds))(dtype)

    def draw_arithmetic(self, dtype: int) -> None:
        op = self.rng.choice(("Add", "Sub", "Mul", "Max", "Min") if dtype != UINT8 else ("Max", "Min"))
        self.add(op, self.some(dtype), self.some(dtype), kind=dtype)

    def draw_division(self, dtype: int) -> None:
        if dtype == UINT8:
            return
        divisor = self.constant(self.rng.choice((1, 2, 3, 7, 1000, -1, -5)), INTEGERS[dtype])
        if self.rng.random() < 0.5:
            positive = self.add("Abs", self.some(dtype), kind=dtype)
            divisor = self.add("Max", positive, self.constant(1, INTEGERS[dtype]), kind=dtype)
        op = self.rng.choice(("Div", "Mod", "Mod"))
        more: dict[str, Any] = {"fmod": self.rng.randint(0, 1)} if op == "Mod" else {}
        # The quotient of the least number and -1 is a trap.
        low = self.constant(WHOLE[dtype][0] + 1, INTEGERS[dtype])
        self.add(op, self.add("Max", self.some(dtype), low, kind=dtype), divisor, kind=dtype, **more)

    def draw_unary(self, dtype: int) -> None:
        if dtype != UINT8:
            self.add(self.rng.choice(("Neg", "Abs", "Sign")), self.some(dtype), kind=dtype)

    def draw_clip(self, dtype: int) -> None:
        if dtype == INT64:
            ends = sorted(self.rng.choice((-50, -1, 0, 3, 4000)) for _ in "ab")
            limits = [self.constant(end, np.int64) if self.rng.random() < 0.8 else "" for end in ends]
            self.add("Clip", self.some(dtype), *limits, kind=dtype)

    def draw_cast(self, dtype: int) -> None:
        source = self.rng.choice((*INTEGERS, BOOL))
        if self.values[source]:
            self.add("Cast", self.some(source), kind=dtype, to=dtype)

    def draw_truth(self, dtype: int) -> None:
        op = self.rng.choice(("Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"))
        if dtype != UINT8:
            self.add(op, self.some(dtype), self.some(dtype), kind=BOOL)
        if len(self.values[BOOL]) > 1:
            self.add(self.rng.choice(("And", "Or", "Xor")), self.some(BOOL), self.some(BOOL), kind=BOOL)
            self.add("Not", self.some(BOOL), kind=BOOL)

    def draw_where(self, dtype: int) -> None:
        if self.values[BOOL]:
            self.add("Where", self.some(BOOL), self.some(dtype), self.some(dtype), kind=dtype)

    def draw_move(self, dtype: int) -> None:
        """To another shape and back."""
        turned = self.add("Transpose", self.some(dtype), kind=dtype, shaped=False)
        self.add("Reshape", turned, self.constant(SHAPE, np.int64), kind=dtype)
        both = self.add("Concat", self.some(dtype), self.some(dtype), kind=dtype, shaped=False, axis=1)
        picked = self.constant([5, 0, -2], np.int64)
        self.add("Gather", both, picked, kind=dtype, axis=1)
        ends = [self.constant([n], np.int64) for n in (1, 4, 1)]
        self.add("Slice", both, *ends, kind=dtype)
        if dtype != UINT8:
            pads, filler = self.constant([0, 0, 0, 1], np.int64), self.constant(77, INTEGERS[dtype])
            cut = self.add(
                "Slice", self.some(dtype), *(self.constant([n], np.int64) for n in (0, 2, 1)), kind=dtype,
                shaped=False,
            )  # fmt: skip
            self.add("Pad", cut, pads, filler, kind=dtype)

    def draw_reduction(self, dtype: int) -> None:
        if dtype == UINT8:
            return
        op = self.rng.choice(("ReduceMax", "ReduceMin", "ReduceSum"))
        x = self.some(dtype)
        axes = [self.constant([1], np.int64)] if op == "ReduceSum" else []
        more = {} if axes else {"axes": [1]}
        least = self.add(op, x, *axes, kind=dtype, shaped=False, keepdims=1, **more)
        self.add("Expand", least, self.constant(SHAPE, np.int64), kind=dtype)
        axis = self.constant(self.rng.choice((0, 1, -1)), np.int64)
        self.add(
            "CumSum", x, axis, kind=dtype, exclusive=self.rng.randint(0, 1), reverse=self.rng.randint(0, 1)
        )

    def draw_position(self, dtype: int) -> None:
        x = self.some(INT32)
        best = self.add(self.rng.choice(("ArgMax", "ArgMin")), x, kind=INT64, shaped=False, axis=1)
        self.add("Expand", best, self.constant(SHAPE, np.int64), kind=INT64)
        places = self.add("NonZero", x, kind=INT64, shaped=False)
        self.add("Size", places, kind=INT64, shaped=False)
        self.add("Shape", places, kind=INT64, shaped=False)

    def model(self) -> onnx.ModelProto:
        """The graph; its outputs are the last values of every type."""
        last = [
            helper.make_tensor_value_info(n, kind, SHAPE)
            for kind in self.values
            for n in self.values[kind][-2:]
        ]
        outputs = [value for value in last if value.name.startswith("v")]
        graph = helper.make_graph(self.nodes, "integers", self.inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
