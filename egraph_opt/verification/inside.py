"""Two models with the tensors inside of them as outputs, compared where both have one of the same name.

A name that the optimized model kept is that of an equal value.  What is inside shows what outputs hide: one
wrong element in front of an ArgMax.  It shows as well how far a comparison goes: what is computed from
numbers that overflow on the way is equal in real arithmetic only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from egraph_opt.model.encoding import bodies_of, graphs_of
from egraph_opt.verification.budget import BudgetError
from egraph_opt.verification.comparison import TOLERANCES, leaves, name_of, widened
from egraph_opt.verification.execution import ExecutionError, RunnableModel, Session, Value, load

MOST_BYTES = 2**26
"""Models above this size are not loaded once more."""

MOST_BYTES_INSIDE = 2.0**29
"""What the tensors of one run may take together."""

LONGEST_SECONDS = 60.0

EXACT = frozenset(
    {
        *("Abs", "ArgMax", "ArgMin", "Cast", "CastLike", "Ceil", "Clip", "Compress", "Concat", "Constant"),
        *(
            "ConstantOfShape",
            "DepthToSpace",
            "Equal",
            "Expand",
            "Flatten",
            "Floor",
            "Gather",
            "GatherElements",
        ),
        *("GatherND", "Greater", "GreaterOrEqual", "Identity", "If", "IsInf", "IsNaN", "Less", "LessOrEqual"),
        *(
            "Max",
            "MaxPool",
            "Min",
            "Neg",
            "NonZero",
            "Not",
            "OneHot",
            "Pad",
            "ReduceMax",
            "ReduceMin",
            "Relu",
        ),
        *("Reshape", "Round", "ScatterElements", "ScatterND", "Shape", "Sign", "Slice", "SpaceToDepth"),
        *("Split", "Squeeze", "Tile", "TopK", "Transpose", "Trilu", "Unsqueeze", "Where"),
    }
)
"""Operators that round nothing, but for casts to fewer bits, which are meant."""

Tensors = dict[str, Any]
"""Tensors by path, see `leaves`."""


@dataclass(frozen=True)
class Within:
    """Which numbers a comparison in real arithmetic goes by; others let nothing be said of what follows.

    Attributes:
        least, largest: magnitudes of finite numbers.
        zeros: zero is among them (where magnitudes are so far apart that products vanish it is not).
        both: the optimized model has to keep to it as well: groups of factors may overflow there alone.
        cancels: what is left of numbers is their rounding, and only NaN is a difference.
    """

    least: float
    largest: float
    zeros: bool = True
    both: bool = True
    cancels: bool = False

    def holds(self, value: Any) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype not in TOLERANCES or value.size == 0:
            return True
        with np.errstate(invalid="ignore", over="ignore"):
            magnitude = np.abs(widened(value))
        # A comparison with NaN is False.
        if not float(magnitude.max()) <= min(self.largest, _end_of(value.dtype)):
            return False
        small = magnitude < self.least
        return not bool((small if not self.zeros else small & (magnitude > 0)).any())


def _end_of(dtype: np.dtype[Any]) -> float:
    return 3e4 if dtype.itemsize <= 2 and dtype == np.float16 else np.inf


@dataclass
class Watched:
    """One model whose tensors are outputs."""

    session: Session
    model: RunnableModel
    reads: list[tuple[onnx.NodeProto, set[str]]]

    @classmethod
    def of(cls, model: RunnableModel, only: Collection[str] | None = None) -> Watched:
        """All tensors of a model or only some; raises ExecutionError where ONNX Runtime does not take it."""
        copy = onnx.ModelProto()
        copy.CopyFrom(model.proto)
        outputs = {value.name for value in copy.graph.output}
        for node in copy.graph.node:
            names = [n for n in node.output if n and n not in outputs and (only is None or n in only)]
            copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
            outputs.update(names)
        watched = load(copy, folder=model.folder)
        reads = [(node, _read(node)) for node in copy.graph.node]
        return cls(Session(watched), watched, reads)

    def run(self, feeds: Mapping[str, Value]) -> list[Value]:
        return self.session.run(feeds, seconds=LONGEST_SECONDS, bytes_=MOST_BYTES_INSIDE)

    def tensors(self, feeds: Mapping[str, Value]) -> Tensors:
        return by_path(self.session.output_names, self.run(feeds))

    def beyond(
        self, feeds: Mapping[str, Value], found: Tensors, within: Within, usual: Collection[str] = ()
    ) -> set[str]:
        """Tensors out of a range of numbers, or computed from such; constants and usual ones may be."""
        out = {name for name, value in feeds.items() if not all(map(within.holds, _arrays(value)))}
        for node, read in self.reads:
            if not out.isdisjoint(read) or (
                read and not all(name in usual or within.holds(found.get(name)) for name in node.output)
            ):
                out.update(node.output)
        return out

    def rounded(self, found: Tensors) -> set[str]:
        """Tensors that floats went into which arithmetic has rounded."""
        rounded: set[str] = set()
        for node, read in self.reads:
            is_exact = node.op_type in EXACT or not any(map(_is_float, map(found.get, [*node.output, *read])))
            if not is_exact or not rounded.isdisjoint(read):
                rounded.update(node.output)
        return rounded


@dataclass
class Inside:
    """An original and an optimized model, both watched.

    Attributes:
        outputs: the names of the outputs that they have by themselves.
        names: tensors inside that have one name are one value.
    """

    original: Watched
    optimized: Watched
    outputs: frozenset[str]
    names: bool = False
    shared: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        names = [set(watched.session.output_names) for watched in (self.original, self.optimized)]
        self.shared = frozenset(names[0] & names[1]) if self.names else self.outputs

    @classmethod
    def of(
        cls, before: RunnableModel, after: RunnableModel, *, names: bool, only: Collection[str] | None = None
    ) -> Inside | None:
        """Both, all tensors or only some; None for large models, and where they do not load."""
        if max(before.bytes, after.bytes) > MOST_BYTES:
            return None
        try:
            outputs = frozenset(value.name for value in before.proto.graph.output)
            return cls(Watched.of(before, only), Watched.of(after, only), outputs, names)
        except (ExecutionError, BudgetError):
            return None

    def kind(self, name: str) -> str:
        """What a tensor is, for messages."""
        return "output" if name in self.outputs else "tensor"

    def pairs(self, before: Tensors, after: Tensors) -> Iterator[tuple[str, str, Any, Any]]:
        """Name, path and values of the tensors that both have."""
        for path, a in before.items():
            name = name_of(path)
            if name in self.shared:
                yield name, path, a, after.get(path)


DECIDING = frozenset(
    {
        *("ArgMax", "ArgMin", "Cast", "Ceil", "Compress", "Equal", "Floor", "Greater", "GreaterOrEqual"),
        *("Hardmax", "Less", "LessOrEqual", "NonMaxSuppression", "NonZero", "QuantizeLinear", "Round"),
        *("Sign", "TopK"),
    }
)
"""Operators that most errors of what they are given do not get past."""


def deciding(models: Sequence[onnx.ModelProto]) -> set[str]:
    """The tensors of all models, of one name, that such an operator reads in one of them."""
    made = [{name for node in model.graph.node for name in node.output} for model in models]
    read = {
        name
        for model in models
        for node in model.graph.node
        if node.op_type in DECIDING and not (node.op_type == "Cast" and _is_to_float(node))
        for name in node.input[: 1 if node.op_type == "TopK" else 2]
    }
    return read.intersection(*made)


def _is_to_float(node: onnx.NodeProto) -> bool:
    kinds = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE)
    return any(attribute.name == "to" and attribute.i in kinds for attribute in node.attribute)


def has_halves(model: onnx.ModelProto) -> bool:
    """Whether floats of 16 bits are computed with, which are rounded otherwise where one is an output."""
    halves = (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
    tensors = (tensor.data_type for graph in graphs_of(model.graph) for tensor in graph.initializer)
    inputs = (value.type.tensor_type.elem_type for value in model.graph.input)
    casts = (
        attribute.i
        for graph in graphs_of(model.graph)
        for node in graph.node
        for attribute in node.attribute
        if attribute.name in ("to", "dtype")
    )
    return any(kind in halves for kinds in (tensors, inputs, casts) for kind in kinds)


def by_path(names: Sequence[str], outputs: Sequence[Value]) -> Tensors:
    """All tensors of some outputs, those in sequences and maps included."""
    found: Tensors = {}
    for name, value in zip(names, outputs, strict=True):
        found.update(leaves(name, value))
    return found


def _read(node: onnx.NodeProto) -> set[str]:
    """The names that a node reads, in its bodies too."""
    names = set(node.input)
    for body in bodies_of(node):
        for graph in graphs_of(body):
            names.update(name for inner in graph.node for name in inner.input)
            names.update(output.name for output in graph.output)
    return names - {""}


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype in TOLERANCES


def _arrays(value: Value) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]
