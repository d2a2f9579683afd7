"""A graph under construction: every node is run when it is added, so that what is built is valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from egraph_opt.check.judging.runner import CRASHES_ON_NOTHING
from egraph_opt.verification.execution import ExecutionError, Session, load

from . import feeding
from .feeding import Sizes

SIZES = Sizes.TABLE[:2]
"""What symbolic dims stand for while a graph is drawn; every symbol differs between the two."""

MORE_SIZES = Sizes.TABLE
"""And when it is compared."""

OPSETS = (7, 8, 9, 10, *range(11, 27), 13, 17, 17, 18, 20, 21, 22)
"""Those that onnxruntime takes; what exporters write more often."""

MOST_ELEMENTS = 3000
FLOATS = (np.float32, np.float64, np.float16)
INTEGERS = (np.int64, np.int32)
IR_VERSION = 10

Array = np.ndarray[Any, np.dtype[Any]]


class Refused(Exception):
    """A motif does not fit here; the graph stays as it is so far."""


@dataclass
class Value:
    """A value of the graph: its elements for each of `SIZES`."""

    name: str
    arrays: tuple[Array, ...]
    constant: bool = False
    uses: int = 0

    @property
    def dtype(self) -> Any:
        return self.arrays[0].dtype.type

    @property
    def shape(self) -> tuple[int, ...]:
        return self.arrays[0].shape

    @property
    def rank(self) -> int:
        return self.arrays[0].ndim

    @property
    def static(self) -> tuple[bool, ...]:
        """Per axis whether its dim is one number."""
        return tuple(len(set(dims)) == 1 for dims in zip(*(a.shape for a in self.arrays), strict=True))

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def size(self) -> int:
        return max(a.size for a in self.arrays)


def session(model: onnx.ModelProto) -> Session:
    return Session(load(model))


@dataclass
class Drawing:
    """Nodes, constants and inputs drawn so far.

    Attributes:
        functions: of the model.
        foreign: domains besides ONNX's own that nodes are of, with their versions.
        planted: the laws of which an example is in it.
        attempts: nodes that were tried; `refused` those that do not run, or not sanely.
    """

    rng: np.random.Generator
    opset: int
    values: list[Value] = field(default_factory=list)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    functions: list[onnx.FunctionProto] = field(default_factory=list)
    foreign: dict[str, int] = field(default_factory=dict)
    counter: int = 0
    planted: list[str] = field(default_factory=list)
    attempts: int = 0
    refused: int = 0

    def opsets(self) -> dict[str, int]:
        """What a model of it imports."""
        return {"": self.opset, **self.foreign}

    # --- chance -----------------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def one_of(self, items: Sequence[Any]) -> Any:
        if not len(items):
            raise Refused("nothing to choose from")
        return items[int(self.rng.integers(len(items)))]

    def integer(self, low: int, high: int) -> int:
        """Between low and high, both included."""
        self.require(low <= high)
        return int(self.rng.integers(low, high + 1))

    def require(self, condition: object) -> None:
        if not condition:
            raise Refused("does not fit")

    def elements(self, shape: Sequence[int], dtype: Any = np.float32) -> Array:
        """See `feeding.elements`."""
        return feeding.elements(self.rng, shape, dtype)

    # --- leaves -----------------------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}{self.counter}"

    def input(self, shape: Sequence[int | str], dtype: Any = np.float32) -> Value:
        name = self.fresh("x")
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        arrays = tuple(
            self.elements([d if isinstance(d, int) else sizes[d] for d in shape], dtype) for sizes in SIZES
        )
        return self._placed(Value(name, arrays))

    def constant(self, array: Any, dtype: Any = None) -> Value:
        """An initializer, a Constant node, or one behind an Identity."""
        array = np.asarray(array, dtype=dtype)
        name = self.fresh("c")
        tensor = numpy_helper.from_array(array, name)
        kind = self.rng.random()
        if kind < 0.6 or (self.opset < 9 and array.dtype.kind != "f"):
            self.initializers.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        value = Value(name, (array,) * len(SIZES), constant=True)
        if kind > 0.95:
            other = self.fresh("c")
            self.nodes.append(helper.make_node("Identity", [name], [other]))
            value = Value(other, value.arrays, constant=True)
        return value

    def ints(self, values: Sequence[int]) -> Value:
        return self.constant(np.array(values, dtype=np.int64).reshape(len(values)))

    # --- choosing ---------------------------------------------------------------------------------------

    def pick(
        self,
        *,
        rank: int | None = None,
        at_least: int = 0,
        at_most: int = 6,
        floats: bool = False,
        dtype: Any = None,
        wanted: Any = None,
    ) -> Value:
        """A value that is there already; recent ones more often."""
        fitting = [
            v
            for v in self.values
            if (rank is None or v.rank == rank)
            and at_least <= v.rank <= at_most
            and (not floats or v.is_float)
            and (dtype is None or v.dtype == dtype)
            and (wanted is None or wanted(v))
        ]
        if not fitting:
            raise Refused("no such value")
        weights = np.arange(1, len(fitting) + 1, dtype=float) ** 1.5
        return fitting[int(self.rng.choice(len(fitting), p=weights / weights.sum()))]

    def axis(self, x: Value) -> int:
        self.require(x.rank)
        return self.integer(0, x.rank - 1)

    def maybe_negative(self, axis: int, rank: int) -> int:
        """The axis, sometimes counted from the end."""
        return axis - rank if self.chance(0.3) else axis

    # --- nodes ------------------------------------------------------------------------------------------

    def node(
        self, op_type: str, inputs: Sequence[Value | None], outputs: int = 1, **attributes: Any
    ) -> list[Value]:
        """Add a node, if it runs and gives sane numbers.

        Raises:
            Refused: it does not.
        """
        names = [self.fresh("v") for _ in range(outputs)]
        given = {k: v for k, v in attributes.items() if v is not None and v not in ([], ())}
        operands = ["" if v is None else v.name for v in inputs]
        while operands and not operands[-1]:
            operands.pop()
        made = helper.make_node(op_type, operands, names, **given)
        return self.add(made, [v for v in inputs if v is not None])

    def call(self, op_type: str, *inputs: Value | None, **attributes: Any) -> Value:
        """A node with one output."""
        return self.node(op_type, inputs, **attributes)[0]

    def add(self, made: onnx.NodeProto, used: Sequence[Value]) -> list[Value]:
        """Add a node that reads the values given (itself or in its bodies)."""
        results = self._run(made, used)
        self.nodes.append(made)
        for value in used:
            value.uses += 1
        constant = bool(used) and all(v.constant for v in used)
        return [
            self._placed(Value(name, arrays, constant=constant))
            for name, arrays in zip(made.output, results, strict=True)
        ]

    def _placed(self, value: Value) -> Value:
        self.values.append(value)
        return value

    def _run(self, made: onnx.NodeProto, used: Sequence[Value]) -> list[tuple[Array, ...]]:
        self.attempts += 1
        self.refused += 1
        _check_safe(made, used)
        feeds = {v.name: v for v in used}
        graph = helper.make_graph(
            [made],
            "one",
            [
                helper.make_tensor_value_info(
                    v.name, helper.np_dtype_to_tensor_dtype(v.arrays[0].dtype), None
                )
                for v in feeds.values()
            ],
            [onnx.ValueInfoProto(name=name) for name in made.output],
        )
        opsets = [helper.make_opsetid(name, version) for name, version in self.opsets().items()]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, functions=self.functions
        )
        try:
            ready = session(model)
            runs = [ready.run({n: v.arrays[k] for n, v in feeds.items()}) for k in range(len(SIZES))]
        except ExecutionError as error:
            raise Refused(str(error)) from error
        results = [tuple(np.asarray(a) for a in arrays) for arrays in zip(*runs, strict=True)]
        self.require(all(a.size <= MOST_ELEMENTS for arrays in results for a in arrays))
        self.require(all(a.ndim <= 6 for arrays in results for a in arrays))
        self.require(all(_is_tame(a) for arrays in results for a in arrays))
        self.refused -= 1
        return results


def _check_safe(made: onnx.NodeProto, used: Sequence[Value]) -> None:
    """Refuse what ends the process: nothing to some kernels, ranks, and integers divided by 0.

    Raises:
        Refused: it might.
    """
    if made.op_type in CRASHES_ON_NOTHING and not all(a.size for v in used for a in v.arrays):
        raise Refused("onnxruntime crashes on nothing")
    if made.op_type == "Einsum" and not _fits_subscripts(made, used):
        raise Refused("onnxruntime crashes on other ranks than an Einsum says")
    if made.op_type == "Conv" and min(v.arrays[0].ndim for v in used) < 2:
        raise Refused("onnxruntime crashes on images and kernels without channels")
    divisors = [v for v in used[-1:] if made.op_type in ("Div", "Mod") and not v.is_float]
    if not all(v.constant and all(np.all(a != 0) for a in v.arrays) for v in divisors):
        raise Refused("a division by what may be 0")


def _fits_subscripts(made: onnx.NodeProto, used: Sequence[Value]) -> bool:
    equation = next((a.s.decode() for a in made.attribute if a.name == "equation"), "")
    terms = equation.replace(" ", "").split("->")[0].split(",")
    ranks = [v.arrays[0].ndim for v in used]
    return len(terms) == len(ranks) and all(
        "." in t or len(t) == r for t, r in zip(terms, ranks, strict=True)
    )


def _is_tame(array: Array) -> bool:
    if not np.issubdtype(array.dtype, np.number):
        return True
    limit = 200 if array.dtype == np.float16 else 1e4
    return (
        bool(np.all(np.isfinite(array)))
        and float(np.max(np.abs(array.astype(np.float64)), initial=0)) <= limit
    )
