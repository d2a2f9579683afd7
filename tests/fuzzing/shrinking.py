"""A smaller case that fails in the same way: nodes, outputs and settings are taken away while it does.

The graph itself is cut, and not the choices that drew it: what is left is then as small as the failure allows,
whatever the drawing would have made of fewer choices.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .examining import Case, Examined
from .settings import Setting
from .workers import Task, Worker, case_of_task

MOST_SECONDS = 120.0
"""For one case."""

Change = Callable[[onnx.ModelProto], Iterator[onnx.ModelProto]]


def shrunk(task: Task, examined: Examined, patience: float) -> Examined:
    """A failing case as small as it gets in the time; where the process died its model is drawn here again."""
    worker = Worker(patience)
    try:
        if examined.case is None:
            drawn = case_of_task(task)
            if drawn is None:
                return examined
            stored = (drawn.model.SerializeToString(), drawn.setting, drawn.seed, drawn.metamorphic)
            examined = replace(examined, case=stored)
        return _Shrinking(worker, examined, time.monotonic() + MOST_SECONDS).shrunk()
    finally:
        worker.end()


@dataclass
class _Shrinking:
    """A case on its way down."""

    worker: Worker
    best: Examined
    end: float

    def __post_init__(self) -> None:
        self.kinds = {finding.kind for finding in self.best.notable}

    def shrunk(self) -> Examined:
        self._simplify_setting()
        changes: tuple[Change, ...] = (
            without_outputs,
            without_nodes,
            fewer_weights,
            plain_weights,
            small_dims,
        )
        smaller = True
        while smaller and time.monotonic() < self.end:
            smaller = False
            for change in changes:
                while self._step(change):
                    smaller = True
        self._simplify_setting()
        return self.best

    def _case(self) -> Case:
        assert self.best.case is not None
        data, setting, seed, metamorphic = self.best.case
        return Case(onnx.load_from_string(data), setting, seed, metamorphic)

    def _fails(self, case: Case) -> bool:
        """Whether a case fails as the best does; then it is the best."""
        if time.monotonic() > self.end:
            return False
        stored = (case.model.SerializeToString(), case.setting, case.seed, case.metamorphic)
        self.worker.give(stored)
        found = None
        while found is None:
            while not self.worker.pipe.poll(0.5) and not self.worker.late():
                if self.worker.process.exitcode is not None:
                    break
            found = self.worker.take()
        if not self.kinds & {finding.kind for finding in found.notable}:
            return False
        self.best = replace(found, case=stored)
        return True

    def _step(self, change: Change) -> bool:
        case = self._case()
        return any(self._fails(replace(case, model=model)) for model in change(case.model))

    def _simplify_setting(self) -> None:
        usual = Setting()
        for key in self._case().setting.told():
            case = self._case()
            self._fails(replace(case, setting=replace(case.setting, **{key: getattr(usual, key)})))
        case = self._case()
        if case.metamorphic and self.kinds != {"metamorphic"}:
            self._fails(replace(case, metamorphic=False))


def without_outputs(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """One output alone, or one output less."""
    count = len(model.graph.output)
    if count < 2:
        return
    for kept in [[k] for k in range(count)] + [[j for j in range(count) if j != k] for k in range(count)]:
        smaller = _copy(model)
        del smaller.graph.output[:]
        smaller.graph.output.extend(model.graph.output[k] for k in kept)
        yield pruned(smaller)


def without_nodes(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """A node less: its results are inputs, or an operand of the same type stands for it."""
    types = {v.name: v.type for v in _inferred(model)}
    for number in reversed(range(len(model.graph.node))):
        node = model.graph.node[number]
        if node.op_type == "Constant":
            continue
        outputs = [name for name in node.output if name]
        for name in node.input:
            same = len(outputs) == 1 and name in types and types[name] == types.get(outputs[0])
            if same and outputs[0] not in {v.name for v in model.graph.output}:
                smaller = _without(model, number)
                _rename(smaller.graph, outputs[0], name)
                yield pruned(smaller)
        if all(name in types for name in outputs):
            smaller = _without(model, number)
            given = [helper.make_value_info(name, types[name]) for name in outputs]
            smaller.graph.input.extend(given)
            shown = [v for v in smaller.graph.output if v.name not in outputs]
            if shown:
                del smaller.graph.output[:]
                smaller.graph.output.extend(shown)
                yield pruned(smaller)
        if node.op_type not in ("Identity", "Constant"):
            yield from _ending_before(model, number, types)


def _ending_before(
    model: onnx.ModelProto, number: int, types: dict[str, onnx.TypeProto]
) -> Iterator[onnx.ModelProto]:
    """The graph whose output is an operand of a node that made one."""
    node = model.graph.node[number]
    shown = {v.name for v in model.graph.output}
    made = {name for other in model.graph.node for name in other.output}
    if not shown & set(node.output):
        return
    for name in node.input:
        if name in types and name in made and name not in shown:
            smaller = _without(model, number)
            kept = [v for v in smaller.graph.output if v.name not in node.output]
            del smaller.graph.output[:]
            smaller.graph.output.extend([*kept, helper.make_value_info(name, types[name])])
            yield pruned(smaller)


def fewer_weights(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Constants instead of inputs are not tried; weights that are inputs as well lose that."""
    weights = {tensor.name for tensor in model.graph.initializer}
    both = [v for v in model.graph.input if v.name in weights]
    if both:
        smaller = _copy(model)
        plain = [v for v in model.graph.input if v.name not in weights]
        del smaller.graph.input[:]
        smaller.graph.input.extend(plain)
        yield smaller


def plain_weights(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Floats that are 1 everywhere."""
    for number, tensor in enumerate(model.graph.initializer):
        array = numpy_helper.to_array(tensor)
        if array.dtype.kind == "f" and array.size > 1 and not np.all(array == 1):
            smaller = _copy(model)
            plain = numpy_helper.from_array(np.ones_like(array), tensor.name)
            smaller.graph.initializer[number].CopyFrom(plain)
            yield smaller


def small_dims(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """A symbol that is a number, a dim of inputs that is 1."""
    for place, value in enumerate(model.graph.input):
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            for size in {2, 1} if dim.dim_param else {1}:
                if dim.dim_param or dim.dim_value > 1:
                    smaller = _copy(model)
                    given = smaller.graph.input[place].type.tensor_type.shape.dim[axis]
                    given.Clear()
                    given.dim_value = size
                    for shown in smaller.graph.output:
                        for told in shown.type.tensor_type.shape.dim:
                            told.Clear()
                    yield smaller


def pruned(model: onnx.ModelProto) -> onnx.ModelProto:
    """Without the nodes, weights, inputs and functions that no output needs."""
    needed = {v.name for v in model.graph.output}
    kept = []
    for node in reversed(model.graph.node):
        if needed & set(node.output):
            kept.append(node)
            needed.update(_reads(node))
    nodes = kept[::-1]
    inputs = [v for v in model.graph.input if v.name in needed]
    weights = [t for t in model.graph.initializer if t.name in needed]
    called = {(node.domain, node.op_type) for node in nodes}
    functions = [f for f in model.functions if (f.domain, f.name) in called]
    for field, items in (
        (model.graph.node, nodes),
        (model.graph.input, inputs),
        (model.graph.initializer, weights),
        (model.functions, functions),
    ):
        copies = [type(item).FromString(item.SerializeToString()) for item in items]
        del field[:]
        field.extend(copies)
    return model


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    yield from node.input
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inner in attribute.g.node:
                yield from _reads(inner)
            yield from (v.name for v in attribute.g.output)


def _inferred(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    try:
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except Exception:  # of several kinds
        graph = model.graph
    found = [*graph.input, *graph.value_info, *graph.output]
    return [v for v in found if v.type.HasField("tensor_type") and _all_known(v.type.tensor_type)]


def _all_known(kind: onnx.TypeProto.Tensor) -> bool:
    symbols = ("N", "M", "L")
    dims = kind.shape.dim
    return kind.HasField("shape") and all(d.HasField("dim_value") or d.dim_param in symbols for d in dims)


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def _without(model: onnx.ModelProto, number: int) -> onnx.ModelProto:
    smaller = _copy(model)
    del smaller.graph.node[number]
    return smaller


def _rename(graph: onnx.GraphProto, old: str, new: str) -> None:
    for node in graph.node:
        node.input[:] = [new if name == old else name for name in node.input]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename(attribute.g, old, new)
